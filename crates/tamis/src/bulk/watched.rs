//! A file that remembers why it could not be written: a full disk ends a run, a broken shard does not.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::lane::Failure;
use crate::atomic::AtomicFile;
use crate::{Error, Result};

/// A file that appears when it is whole.
pub(super) struct Watched {
    file: AtomicFile,
    refused: Refused,
}

/// What the system said when it took no more.
#[derive(Clone)]
pub(super) struct Refused {
    path: PathBuf,
    why: Arc<Mutex<Option<io::Error>>>,
}

impl Refused {
    /// Whose fault an error is: the disk's that is written to, or what `otherwise` says.
    pub(super) fn or(&self, otherwise: impl FnOnce() -> Error) -> Failure {
        match self.why.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Failure::Fatal(Error::io(&self.path, error)),
            None => Failure::Broken(otherwise()),
        }
    }
}

impl Watched {
    pub(super) fn create(path: &Path) -> Result<Self> {
        Ok(Self { file: AtomicFile::create(path)?, refused: Refused { path: path.to_owned(), why: Arc::default() } })
    }

    pub(super) fn refused(&self) -> Refused {
        self.refused.clone()
    }

    pub(super) fn commit(self) -> Result<()> {
        self.file.commit()
    }

    fn note<T>(&self, done: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &done
            && error.kind() != io::ErrorKind::Interrupted
        {
            let same = io::Error::new(error.kind(), error.to_string());
            self.refused.why.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(same);
        }
        done
    }
}

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.file.write(bytes);
        self.note(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.file.flush();
        self.note(done)
    }
}
