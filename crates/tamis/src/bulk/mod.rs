//! Labelling at the scale of a crawl: shards in, shards of the same names out, with columns added.
//!
//! A shard is a Parquet or JSONL file. Rows keep their order and all their columns; a finished shard appears whole under the
//! name of its input, so that a run that was stopped goes on where it was. `lane.rs` is the way of one shard: reading has a
//! thread, labelling a pool that all shards share, writing another thread, and bounded queues between them keep memory constant.
//! `row.rs` asks the model, `lines.rs` and `parquet.rs` are the two formats, `keep.rs` says which rows are kept, `folder.rs`
//! remembers how the output was made.

mod folder;
mod keep;
mod lane;
mod lines;
#[cfg(feature = "parquet")]
mod parquet;
mod row;
mod watched;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

pub use self::keep::Keep;

use self::folder::Folder;
use self::lane::{Failure, Lanes, Tally};
use self::row::Asked;
use crate::corpus::{Format, ReadOptions, Skipped};
use crate::model::Model;
use crate::{Error, Progress, Result};

/// Which columns are added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added {
    /// `labels`, a list, and `known`: whether the document has a word that the model knows.
    Labels {
        /// So many of the best labels, whatever the thresholds say.
        best: Option<usize>,
        /// Also so many of the best labels with their scores and, where the model has them, probabilities: the lists `ranked`,
        /// `scores` and `probabilities`.
        ranked: Option<usize>,
    },
    /// `score`: that of one label, and nothing else is computed where the classifier allows it.
    Score {
        /// The label.
        label: String,
        /// Also `probability`.
        probability: bool,
    },
}

impl Default for Added {
    fn default() -> Self {
        Self::Labels { best: None, ranked: None }
    }
}

/// How shards are labelled.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkOptions {
    /// The columns that are added.
    pub added: Added,
    /// What their names begin with.
    pub prefix: String,
    /// The rows that are kept; all when not given.
    pub keep: Option<Keep>,
    /// Threads that label; 0 takes one for each core. What is written does not depend on it.
    pub workers: usize,
    /// How shards are read: fields of the text, encoding, what a malformed line does.
    pub read: ReadOptions,
}

impl Default for BulkOptions {
    fn default() -> Self {
        Self { added: Added::default(), prefix: "tamis_".into(), keep: None, workers: 0, read: ReadOptions::default() }
    }
}

/// What a run did.
#[derive(Debug, Default)]
pub struct BulkReport {
    /// Shards that were labelled.
    pub labelled: usize,
    /// Shards that were there already.
    pub already: usize,
    /// Rows of the shards that were labelled.
    pub rows: u64,
    /// Of them, those that were kept.
    pub kept: u64,
    /// Rows without text: what is added to them is null.
    pub without_text: u64,
    /// Rows without a word that the model knows.
    pub unknown: u64,
    /// Malformed lines that were left out.
    pub skipped: Skipped,
    /// Shards that could not be labelled, in their order: nothing was written for them.
    pub broken: Vec<Error>,
}

/// A shard: what is read, what is written.
#[derive(Debug, Clone)]
struct Shard {
    input: PathBuf,
    output: PathBuf,
    format: Format,
}

/// Labels shards into a folder. `model_file` is where the model was read from: what is in the folder was made by that file and
/// these options, or is refused.
///
/// A shard that cannot be read is named in the report, and the others are done. A disk that takes no more ends the run; nothing
/// is half written, and the next run goes on.
pub fn label_shards(
    model: &Model,
    model_file: &Path,
    inputs: &[PathBuf],
    folder: &Path,
    options: &BulkOptions,
    progress: &dyn Progress,
) -> Result<BulkReport> {
    let asked = Asked::new(model, options)?;
    let shards = shards(inputs, folder, options.read.from)?;
    let folder = Folder::open(folder, model_file, options, &shards)?;
    let mut report = BulkReport::default();
    let mut missing: Vec<Shard> = Vec::new();
    for shard in shards {
        if is_done(&shard)? {
            report.already += 1;
        } else {
            missing.push(shard);
        }
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let workers = if options.workers == 0 { cores } else { options.workers.min(MOST_WORKERS) };
    let lanes = Lanes {
        asked: &asked,
        read: reading(model, &options.read),
        shards: &missing,
        next: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        waiting: workers + 2,
        progress,
    };
    progress.start("labelling", None);
    let finished = Mutex::new((Tally::default(), Vec::new(), None));
    let (send, jobs) = mpsc::channel();
    let jobs = Mutex::new(jobs);
    let (lanes, done) = (&lanes, &finished);
    std::thread::scope(|threads| {
        for _ in 0..workers {
            threads.spawn(|| lanes.work(&jobs));
        }
        // While one shard is brought to the disk, another is read.
        for _ in 0..(2 + workers / 4).min(missing.len()) {
            let send = send.clone();
            threads.spawn(move || {
                while let Some((at, outcome)) = lanes.next_shard(&send) {
                    let (tally, broken, fatal) = &mut *done.lock().unwrap_or_else(PoisonError::into_inner);
                    match outcome {
                        Ok(of_shard) => tally.add(of_shard),
                        Err(Failure::Broken(error)) => broken.push((at, error)),
                        Err(Failure::Fatal(error)) => {
                            lanes.stop.store(true, Ordering::Relaxed);
                            fatal.get_or_insert(error);
                        }
                        Err(Failure::Stopped) => {}
                    }
                }
            });
        }
        drop(send);
    });
    progress.finish();
    drop(folder);
    let (tally, mut broken, fatal) = finished.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = fatal {
        return Err(error);
    }
    if progress.cancelled() {
        return Err(Error::Interrupted);
    }
    broken.sort_by_key(|(at, _)| *at);
    report.labelled = missing.len() - broken.len();
    report.broken = broken.into_iter().map(|(_, error)| error).collect();
    let Tally { rows, kept, without_text, unknown, skipped } = tally;
    Ok(BulkReport { rows, kept, without_text, unknown, skipped, ..report })
}

/// More threads only take memory.
const MOST_WORKERS: usize = 1024;

/// What is read of a shard: the texts, and no other field.
fn reading(model: &Model, read: &ReadOptions) -> ReadOptions {
    let mut read = read.clone();
    let unread = || Some(String::new());
    (read.fields.id, read.fields.labels, read.fields.split, read.fields.date) =
        (unread(), unread(), unread(), unread());
    read.fields.weight = None;
    if model.text.has_fields() {
        read.fields.texts = model.text.fields().into_iter().map(str::to_owned).collect();
    }
    read
}

/// Whether a shard is there, and not older than what it was made of.
fn is_done(shard: &Shard) -> Result<bool> {
    let Ok(output) = std::fs::metadata(&shard.output) else { return Ok(false) };
    let input = std::fs::metadata(&shard.input).map_err(|e| Error::io(&shard.input, e))?;
    // Systems without such times do not say that anything changed.
    Ok(match (input.modified(), output.modified()) {
        (Ok(input), Ok(output)) => output >= input,
        _ => true,
    })
}

/// The shards of files and of the folders that hold them.
fn shards(inputs: &[PathBuf], folder: &Path, from: Option<Format>) -> Result<Vec<Shard>> {
    let mut files = Vec::new();
    for input in inputs {
        let data = std::fs::metadata(input).map_err(|e| Error::io(input, e))?;
        if !data.is_dir() {
            files.push(input.clone());
            continue;
        }
        let mut within = Vec::new();
        for entry in std::fs::read_dir(input).map_err(|e| Error::io(input, e))? {
            let path = entry.map_err(|e| Error::io(input, e))?.path();
            let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(['.', '_']));
            if path.is_file() && !hidden && matches!(Format::of_path(&path), Some(Format::Parquet | Format::Jsonl)) {
                within.push(path);
            }
        }
        if within.is_empty() {
            return Err(Error::malformed_file(input, "no file in the folder ends in .parquet or .jsonl"));
        }
        within.sort();
        files.append(&mut within);
    }
    let mut shards: Vec<Shard> = Vec::new();
    for input in files {
        let name = input.file_name().ok_or_else(|| Error::malformed_file(&input, "this is no file"))?;
        let format = from.or_else(|| Format::of_path(&input));
        let Some(format @ (Format::Parquet | Format::Jsonl)) = format else {
            let reason = "shards are Parquet or JSONL files; `tamis convert` makes them, and the option `from=jsonl` reads \
                          files with other endings as JSONL";
            return Err(Error::malformed_file(&input, reason));
        };
        #[cfg(not(feature = "parquet"))]
        if format == Format::Parquet {
            return Err(Error::malformed_file(&input, "this build has no Parquet; convert the file to JSONL"));
        }
        let output = folder.join(name);
        if let (Ok(read), Ok(written)) = (input.canonicalize(), output.canonicalize())
            && read == written
        {
            return Err(Error::malformed_file(&output, "this would be written over what is read; name another folder"));
        }
        shards.push(Shard { input, output, format });
    }
    let mut names: Vec<&Shard> = shards.iter().collect();
    names.sort_by(|a, b| a.output.cmp(&b.output));
    if let Some(pair) = names.windows(2).find(|pair| pair[0].output == pair[1].output) {
        let reason = format!("has the name of {}, and both would be one shard", pair[0].input.display());
        return Err(Error::malformed_file(&pair[1].input, reason));
    }
    Ok(shards)
}
