//! Files that are read whole: plans, taxonomies, lists of words. Each kind has a limit, so that a wrong name (a corpus, a
//! device) is an error and not the end of the memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::{Error, Result};

/// Longest plan of a study, in bytes.
pub const MAX_PLAN: u64 = 4 << 20;

/// Longest list of words: stop words, a vocabulary.
pub const MAX_WORDS: u64 = 1 << 30;

/// Longest taxonomy.
pub const MAX_TAXONOMY: u64 = 1 << 30;

/// Longest table of scores.
pub const MAX_SCORES: u64 = 16 << 30;

/// The text of a file that has at most `limit` bytes; `what` it is stands in the message about a longer one.
pub fn read_text(path: impl AsRef<Path>, what: &'static str, limit: u64) -> Result<String> {
    let path = path.as_ref();
    let mut text = String::new();
    let read = File::open(path).and_then(|file| Limited::new(file, what, limit).read_to_string(&mut text));
    read.map_err(|e| Error::io(path, e))?;
    Ok(text)
}

/// A stream that fails where it is longer than it may be.
pub(crate) struct Limited<R> {
    inner: R,
    what: &'static str,
    limit: u64,
    left: u64,
}

impl<R: Read> Limited<R> {
    pub(crate) fn new(inner: R, what: &'static str, limit: u64) -> Self {
        Self { inner, what, limit, left: limit }
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            let reason =
                format!("is longer than {} MiB, and {} never is; is it the right file?", self.limit >> 20, self.what);
            io::Error::new(io::ErrorKind::InvalidData, reason)
        })?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_text(&path, "a plan", 5).unwrap(), "12345");
        let error = read_text(&path, "a plan", 4).unwrap_err();
        assert!(error.is_input() && error.to_string().contains("a plan never is"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_without_end_is_refused() {
        assert!(read_text("/dev/zero", "a plan", MAX_PLAN).is_err());
    }
}
