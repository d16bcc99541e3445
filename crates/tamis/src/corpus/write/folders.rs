//! A folder for each label, a file for each document; below `train`, `test` and `unused` when documents have parts.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::lines::part_name;
use super::{cannot_hold, text_of};
use crate::atomic::Unfinished;
use crate::corpus::Document;
use crate::{Error, Result};

/// File names longer than this are cut and told apart by a hash: file systems allow 255 bytes.
const LONGEST_NAME: usize = 200;

/// Where documents without a part are collected: the whole corpus, or `unused` beside the parts.
const NO_PART: &str = "unused";

pub(super) struct FolderWriter {
    path: PathBuf,
    temporary: TempDir,
    /// Only held, so that a signal removes the folder.
    _unfinished: Unfinished,
    has_parts: bool,
}

impl FolderWriter {
    pub(super) fn create(path: &Path) -> Result<Self> {
        if path.is_file() {
            return Err(Error::malformed_file(path, "is a file, and a folder is to be written; name a new one"));
        }
        if path.is_dir() {
            let mut entries = fs::read_dir(path).map_err(|e| Error::io(path, e))?;
            if entries.next().is_some() {
                return Err(Error::malformed_file(path, "the folder exists and is not empty; name a new one"));
            }
        }
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let temporary =
            tempfile::Builder::new().prefix(".tamis-").tempdir_in(parent).map_err(|e| Error::io(path, e))?;
        let unfinished = Unfinished::new(temporary.path());
        Ok(Self { path: path.to_owned(), temporary, _unfinished: unfinished, has_parts: false })
    }

    pub(super) fn write(&mut self, document: &Document<'_>) -> Result<()> {
        let [label] = &document.labels[..] else {
            let reason = format!(
                "has {} labels, and a folder for each label holds one; write another format, such as jsonl",
                document.labels.len()
            );
            return Err(cannot_hold(&self.path, document, &reason));
        };
        if label.split('/').any(|name| name.is_empty() || name.starts_with('.') || name.contains('\0')) {
            let reason = format!("has the label {label:?}, which cannot be the name of a folder");
            return Err(cannot_hold(&self.path, document, &reason));
        }
        self.has_parts |= document.part.is_some();
        let folder = self.temporary.path().join(document.part.map_or(NO_PART, part_name)).join(&**label);
        fs::create_dir_all(&folder).map_err(|e| Error::io(&folder, e))?;
        let file = folder.join(file_name(&document.id));
        let mut out = match fs::File::create_new(&file) {
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(cannot_hold(&self.path, document, "is there twice with the same label"));
            }
            other => other.map_err(|e| Error::io(&file, e))?,
        };
        out.write_all(text_of(&document.body).as_bytes()).map_err(|e| Error::io(&file, e))
    }

    pub(super) fn finish(self) -> Result<()> {
        let root = self.temporary.path();
        let whole = if self.has_parts { root.to_owned() } else { root.join(NO_PART) };
        fs::create_dir_all(&whole).map_err(|e| Error::io(&self.path, e))?;
        #[cfg(unix)]
        if self.has_parts {
            use std::os::unix::fs::PermissionsExt;
            // Temporary folders are private; `train` within has what any new folder gets.
            let usual = fs::read_dir(root).ok().and_then(|mut e| e.next()?.ok()?.metadata().ok());
            let mode = usual.map_or(0o755, |data| data.permissions().mode());
            fs::set_permissions(root, fs::Permissions::from_mode(mode)).map_err(|e| Error::io(&self.path, e))?;
        }
        fs::rename(&whole, &self.path).map_err(|e| Error::io(&self.path, e))?;
        if self.has_parts {
            // Renamed: nothing is left to remove.
            let _ = self.temporary.keep();
        }
        Ok(())
    }
}

/// An id as a file name: slashes and what hides a file are written as `%XX`.
fn file_name(id: &str) -> String {
    use std::fmt::Write as _;
    let mut name = String::with_capacity(id.len() + 4);
    for (at, c) in id.char_indices() {
        match c {
            '/' | '\\' | '%' | '\0'..='\x1f' => {
                // Writing to memory does not fail.
                let _ = write!(name, "%{:02X}", c as u32);
            }
            '.' if at == 0 => name.push_str("%2E"),
            _ => name.push(c),
        }
    }
    if name.len() > LONGEST_NAME {
        let hash = blake3::hash(id.as_bytes()).to_hex();
        let mut end = LONGEST_NAME - 40;
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        name.truncate(end);
        name.push('-');
        name.push_str(&hash[..32]);
    }
    // Without an ending, an id such as "a.csv" would make the folder look like files of a corpus.
    name.push_str(".txt");
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_become_file_names() {
        assert_eq!(file_name("training/alt.atheism/49960"), "training%2Falt.atheism%2F49960.txt");
        assert_eq!(file_name("../x"), "%2E.%2Fx.txt");
        let (a, b) = (file_name(&"é".repeat(300)), file_name(&"é".repeat(301)));
        assert!(a.len() <= 255 && b.len() <= 255 && a != b);
    }
}
