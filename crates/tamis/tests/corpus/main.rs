//! Reading, writing and splitting corpora, from the outside.
#![allow(clippy::unwrap_used, clippy::format_push_string)]

mod bad_input;
mod formats;
mod opened;
#[cfg(feature = "parquet")]
mod parquet;
mod round_trip;
mod splits;
mod weights;

use std::io::Write;
use std::path::{Path, PathBuf};

use tamis::corpus::{Corpus, Document, ReadOptions, open};

/// A folder that lives as long as the test.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Writes a file, with the folders above it.
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// An error without the folder's own path.
    fn message(&self, error: &tamis::Error) -> String {
        error.to_string().replace(&format!("{}/", self.0.path().display()), "")
    }
}

fn corpus(path: &Path) -> Corpus {
    open(&[path.to_owned()], &ReadOptions::default()).unwrap()
}

fn read_with(path: &Path, options: &ReadOptions) -> tamis::Result<Vec<Document<'static>>> {
    let mut documents = Vec::new();
    open(&[path.to_owned()], options)?.for_each(|document| {
        documents.push(document.into_owned());
        Ok(())
    })?;
    Ok(documents)
}

fn read(path: &Path) -> Vec<Document<'static>> {
    read_with(path, &ReadOptions::default()).unwrap()
}

/// The content compressed as an ending says.
fn compressed(content: &[u8], ending: &str) -> Vec<u8> {
    match ending {
        "" => content.to_vec(),
        ".gz" => {
            // Two members, as `cat a.gz b.gz` makes them.
            let member = |part: &[u8]| {
                let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                out.write_all(part).unwrap();
                out.finish().unwrap()
            };
            let (a, b) = content.split_at(content.len() / 3);
            [member(a), member(b)].concat()
        }
        ".zst" => zstd::encode_all(content, 1).unwrap(),
        ".bz2" => {
            let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            out.write_all(content).unwrap();
            out.finish().unwrap()
        }
        other => panic!("unknown ending {other}"),
    }
}
