//! The folder that is written to: how its shards were made, and that only one run writes to it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Added, BulkOptions, Shard};
use crate::atomic::AtomicFile;
use crate::corpus::OnError;
use crate::{Error, Result};

/// The name of the file that says how shards were made. Readers of folders pass names over that begin so.
const NAME: &str = "_tamis.json";

/// How the shards of a folder were made.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Made {
    /// The program that began it; another one may go on.
    program: String,
    /// BLAKE3 of the model file.
    model: String,
    /// What is added, which rows are kept, how shards are read.
    options: BTreeMap<String, String>,
}

impl Made {
    fn new(model_file: &Path, options: &BulkOptions) -> Result<Self> {
        let mut hasher = blake3::Hasher::new();
        let file = File::open(model_file).map_err(|e| Error::io(model_file, e))?;
        hasher.update_reader(file).map_err(|e| Error::io(model_file, e))?;
        let number = |n: usize| if n == usize::MAX { "all".to_owned() } else { n.to_string() };
        let added = match &options.added {
            Added::Labels { best, ranked } => {
                let best = best.map_or("labels".to_owned(), |n| format!("the {} best labels", number(n)));
                ranked.map_or(best.clone(), |n| format!("{best}; scores of {}", number(n)))
            }
            Added::Score { label, probability: false } => format!("score of {label:?}"),
            Added::Score { label, probability: true } => format!("score and probability of {label:?}"),
        };
        let read = &options.read;
        let field = |name: &Option<String>| name.clone().unwrap_or_default();
        let options = [
            ("columns", added),
            ("prefix", options.prefix.clone()),
            ("keep", options.keep.as_ref().map(ToString::to_string).unwrap_or_default()),
            ("text_field", field(&read.fields.text)),
            ("tokens_field", field(&read.fields.tokens)),
            ("encoding", read.encoding.map(|encoding| encoding.to_string()).unwrap_or_default()),
            ("malformed lines", if read.on_error == OnError::Skip { "skip" } else { "stop" }.to_owned()),
        ];
        Ok(Self {
            program: format!("tamis {}", env!("CARGO_PKG_VERSION")),
            model: hasher.finalize().to_hex().to_string(),
            options: options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        })
    }

    /// What is different in another one.
    fn difference(&self, other: &Self) -> Option<String> {
        if self.model != other.model {
            let short = |hash: &str| hash.chars().take(12).collect::<String>();
            return Some(format!("another model (BLAKE3 {} instead of {})", short(&other.model), short(&self.model)));
        }
        let of = |name: &str| other.options.get(name).map(String::as_str);
        let changed = self.options.iter().find(|(name, value)| of(name) != Some(value));
        changed.map(|(name, value)| {
            let shown = |text: &str| if text.is_empty() { "none".to_owned() } else { text.to_owned() };
            format!("another choice of {name} ({} instead of {})", shown(of(name).unwrap_or_default()), shown(value))
        })
    }
}

/// A folder that this run alone writes to, as long as it is held.
pub(super) struct Folder {
    _lock: File,
}

impl Folder {
    /// Makes the folder where it is not there, and refuses one whose shards were made in another way.
    pub(super) fn open(folder: &Path, model_file: &Path, options: &BulkOptions, shards: &[Shard]) -> Result<Self> {
        let made = Made::new(model_file, options)?;
        std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        let path = folder.join(NAME);
        if path.exists() {
            let text = crate::whole::read_text(&path, "the record of a folder", 1 << 20)?;
            let before: Made = serde_json::from_str(&text).map_err(|error| {
                Error::malformed_file(
                    &path,
                    format!("does not say how the folder was made ({error}); name another folder"),
                )
            })?;
            if let Some(difference) = made.difference(&before) {
                let reason = format!(
                    "the shards of this folder were made with {difference}; name another folder, or remove this one to make all anew"
                );
                return Err(Error::malformed_file(&path, reason));
            }
        } else {
            if let Some(shard) = shards.iter().find(|shard| shard.output.exists()) {
                let reason =
                    format!("is there already, and no {NAME} beside it says how it was made; name another folder");
                return Err(Error::malformed_file(&shard.output, reason));
            }
            let mut file = AtomicFile::create(&path)?;
            let text = serde_json::to_string_pretty(&made).map_err(|e| Error::io(&path, e.into()))?;
            file.write_all(text.as_bytes()).and_then(|()| file.write_all(b"\n")).map_err(|e| Error::io(&path, e))?;
            file.commit()?;
        }
        let lock = File::open(&path).map_err(|e| Error::io(&path, e))?;
        match lock.try_lock() {
            Ok(()) => remove_left_over(folder),
            Err(std::fs::TryLockError::WouldBlock) => {
                return Err(Error::malformed_file(&path, "another run is writing to this folder; wait for its end"));
            }
            // File systems without locks: runs are kept apart by whoever starts them.
            Err(std::fs::TryLockError::Error(_)) => {}
        }
        Ok(Self { _lock: lock })
    }
}

/// Removes what a run left that was killed: nobody else writes here.
fn remove_left_over(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let left = |path: &PathBuf| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with(".tamis-") && Path::new(name).extension().is_some_and(|e| e == "part"))
    };
    for path in entries.flatten().map(|entry| entry.path()).filter(left) {
        // What cannot be removed only takes room.
        let _ = std::fs::remove_file(path);
    }
}
