//! A folder for each label: every file is a document, its folder is its label, its path is its id.
//!
//! Top folders `train` (or `training`) and `test` give the parts. A folder within a label folder is a label of its own,
//! named by the path (`sport/tennis`). Files at the top, and names that begin with a dot, are passed over.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::blocks::{HAS_NUL, Visit, too_long, utf16};
use super::fields::part_of;
use super::source::{Compression, Encoding, Source, not_utf8};
use super::{BATCH_BYTES, Batch, Body, Document, Part};
use crate::{Error, Result};

/// Files of a batch at most, however small they are.
const BATCH_FILES: usize = 256;

/// A document that is a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentFile {
    pub(crate) path: PathBuf,
    /// The path below the corpus folder, with `/` on every system.
    pub(crate) id: String,
    /// None for a plain text.
    pub(crate) labels: Vec<String>,
    pub(crate) part: Option<Part>,
    pub(crate) bytes: u64,
}

/// A file found below a folder.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    /// Names of the folders between, and of the file.
    pub(crate) below: Vec<String>,
    pub(crate) bytes: u64,
}

/// All files below a folder in order of their paths; names that begin with a dot are passed over.
pub(crate) fn walk(root: &Path) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    let real = root.canonicalize().map_err(|e| Error::io(root, e))?;
    descend(root, &mut Vec::new(), &mut vec![real], &mut found)?;
    found.sort_by(|a, b| a.below.cmp(&b.below));
    Ok(found)
}

/// `above` holds the real paths of the folders we are in: a link back to one of them is not followed.
fn descend(folder: &Path, below: &mut Vec<String>, above: &mut Vec<PathBuf>, found: &mut Vec<Found>) -> Result<()> {
    for entry in std::fs::read_dir(folder).map_err(|e| Error::io(folder, e))? {
        let path = entry.map_err(|e| Error::io(folder, e))?.path();
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with('.') {
            continue;
        }
        let data = std::fs::metadata(&path).map_err(|e| Error::io(&path, e))?;
        below.push(name);
        if data.is_dir() {
            let real = path.canonicalize().map_err(|e| Error::io(&path, e))?;
            if !above.contains(&real) {
                above.push(real);
                descend(&path, below, above, found)?;
                above.pop();
            }
        } else if data.is_file() {
            found.push(Found { path, below: below.clone(), bytes: data.len() });
        }
        below.pop();
    }
    Ok(())
}

/// Whether the top folders are parts of a split: all of them are named so, and something lies deeper.
pub(crate) fn parted(found: &[Found], depth: usize) -> bool {
    let mut tops = found.iter().filter(|file| file.below.len() >= 2).map(|file| part_of(&file.below[0]));
    let all = tops.all(|part| part.is_ok());
    let some = found.iter().any(|file| file.below.len() >= depth && part_of(&file.below[0]).is_ok_and(|p| p.is_some()));
    all && some
}

/// The documents of a corpus folder.
pub(crate) fn documents(found: Vec<Found>) -> Vec<DocumentFile> {
    let parted = parted(&found, 3);
    let mut documents = Vec::with_capacity(found.len());
    let mut at_the_top = 0;
    for Found { path, below, bytes } in found {
        let above_labels = usize::from(parted);
        if below.len() < above_labels + 2 {
            at_the_top += 1;
            continue;
        }
        let part = if parted { part_of(&below[0]).ok().flatten() } else { None };
        let label = below[above_labels..below.len() - 1].join("/");
        documents.push(DocumentFile { path, id: below.join("/"), labels: vec![label], part, bytes });
    }
    if at_the_top > 0 && !documents.is_empty() {
        tracing::info!("{at_the_top} files outside any label folder are passed over");
    }
    documents
}

/// The documents of a folder of plain texts.
pub(crate) fn texts(found: Vec<Found>) -> Vec<DocumentFile> {
    let text = |Found { path, below, bytes }| DocumentFile {
        path,
        id: below.join("/"),
        labels: Vec::new(),
        part: None,
        bytes,
    };
    found.into_iter().map(text).collect()
}

/// What all batches of a corpus folder share.
#[derive(Debug)]
pub(crate) struct FolderFiles {
    pub(crate) documents: Vec<DocumentFile>,
    pub(crate) encoding: Option<Encoding>,
    pub(crate) limit: usize,
}

/// Consecutive files, read where the batch is visited.
pub(crate) struct Files {
    reading: Arc<FolderFiles>,
    range: std::ops::Range<usize>,
}

impl Files {
    /// The batch that begins at a document, or `None` at the end; and where the next one begins.
    pub(crate) fn from(reading: &Arc<FolderFiles>, start: usize) -> Option<(Self, usize)> {
        let mut bytes = 0;
        let count = reading.documents[start..]
            .iter()
            .take(BATCH_FILES)
            .take_while(|file| {
                let room = bytes < BATCH_BYTES as u64;
                bytes += file.bytes;
                room
            })
            .count();
        let end = start + count;
        (count > 0).then(|| (Self { reading: Arc::clone(reading), range: start..end }, end))
    }
}

impl FolderFiles {
    /// How many labels there are.
    pub(crate) fn labels(&self) -> usize {
        let labels: BTreeSet<&str> =
            self.documents.iter().flat_map(|file| file.labels.iter().map(String::as_str)).collect();
        labels.len()
    }

    /// The decompressed content. Files are small and many, so the usual case is one read without buffers between.
    fn read_bytes(&self, file: &DocumentFile) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.limit.min(file.bytes as usize) + 1);
        let open = File::open(&file.path).and_then(|open| open.take(self.limit as u64 + 1).read_to_end(&mut bytes));
        open.map_err(|e| Error::io(&file.path, e))?;
        if bytes.len() > self.limit {
            return Err(Error::malformed_file(&file.path, too_long(self.limit)));
        }
        if Compression::of_bytes(&bytes) == Compression::Plain {
            return Ok(bytes);
        }
        Source::new(&file.path, Cursor::new(bytes), Some(Encoding::UTF_8))?.read_all(self.limit)
    }

    fn read(&self, file: &DocumentFile) -> Result<String> {
        let bytes = self.read_bytes(file)?;
        let encoding = self.encoding.or_else(|| Encoding::of_mark(&bytes));
        if let Some(encoding) = encoding.filter(|encoding| *encoding != Encoding::UTF_8) {
            return encoding.decode(bytes).ok_or_else(|| Error::malformed_file(&file.path, encoding.mismatch()));
        }
        if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
            return Err(utf16(&file.path));
        }
        if let Some(at) = memchr::memchr(0, &bytes) {
            let line = memchr::memchr_iter(b'\n', &bytes[..at]).count() as u64 + 1;
            return Err(Error::malformed(&file.path, line, HAS_NUL));
        }
        let mut text = String::from_utf8(bytes).map_err(|error| {
            let (at, bytes) = (error.utf8_error().valid_up_to(), error.as_bytes());
            let begin = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |lf| lf + 1);
            let line = memchr::memchr_iter(b'\n', &bytes[..at]).count() as u64 + 1;
            match std::str::from_utf8(&bytes[begin..]) {
                Err(error) => Error::malformed(&file.path, line, not_utf8(&bytes[begin..], error)),
                Ok(_) => Error::malformed(&file.path, line, "not UTF-8"),
            }
        })?;
        if text.starts_with('\u{feff}') {
            text.drain(..3);
        }
        Ok(text)
    }
}

impl Batch for Files {
    fn visit(&self, visit: &mut Visit<'_>) {
        for file in &self.reading.documents[self.range.clone()] {
            let document = self.reading.read(file).map(|text| Document {
                id: file.id.as_str().into(),
                body: Body::Text(text.into()),
                labels: file.labels.iter().map(|label| label.as_str().into()).collect(),
                part: file.part,
                date: None,
                weight: None,
            });
            if visit(document).is_break() {
                return;
            }
        }
    }
}
