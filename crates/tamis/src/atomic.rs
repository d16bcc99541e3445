//! Files that appear whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::NamedTempFile;

use crate::{Error, Result};

/// A file that is written under a temporary name beside its place and renamed when it is whole. Dropped without
/// [`AtomicFile::commit`] it leaves nothing behind, and what was there before stays.
///
/// A place that is no file (a pipe, `/dev/null`) is written to directly.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    target: Target,
    /// Only held: what it names is unfinished as long as it lives.
    _unfinished: Option<Unfinished>,
}

/// Temporary files and folders of this process that are not in their place yet.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Notes a temporary file or folder as long as it lives.
#[derive(Debug)]
pub(crate) struct Unfinished(PathBuf);

impl Unfinished {
    pub(crate) fn new(path: &Path) -> Self {
        // Another folder may be the current one when it is removed.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
        Self(path)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).retain(|path| *path != self.0);
    }
}

/// Removes what was begun and is not in its place yet: for a process that ends without unwinding, after a signal.
pub fn remove_unfinished() {
    for path in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // The process ends; there is nobody to tell.
        let _ = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
    }
}

#[derive(Debug)]
enum Target {
    Temporary(BufWriter<NamedTempFile>),
    Direct(BufWriter<File>),
}

impl AtomicFile {
    /// Begins a file.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let error = |e| Error::io(path, e);
        let existing = std::fs::metadata(path);
        if existing.as_ref().is_ok_and(std::fs::Metadata::is_dir) {
            return Err(error(io::ErrorKind::IsADirectory.into()));
        }
        if existing.as_ref().is_ok_and(|data| !data.is_file()) {
            let file = File::options().write(true).open(path).map_err(error)?;
            return Ok(Self { path: path.to_owned(), target: Target::Direct(BufWriter::new(file)), _unfinished: None });
        }
        // A link keeps pointing where it points: the file behind it is replaced.
        let place = if existing.is_ok() { path.canonicalize().map_err(error)? } else { path.to_owned() };
        let folder = place.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            let reason = format!("there is no folder {}", folder.display());
            return Err(error(io::Error::new(io::ErrorKind::NotFound, reason)));
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(".tamis-").suffix(".part");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // What any new file gets; the umask is taken off by the system.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder).map_err(error)?;
        let unfinished = Some(Unfinished::new(file.path()));
        let target = Target::Temporary(BufWriter::with_capacity(128 * 1024, file));
        Ok(Self { path: place, target, _unfinished: unfinished })
    }

    /// Brings what was written to the disk, so that [`AtomicFile::commit`] has nothing left to do but to rename.
    pub(crate) fn sync(&mut self) -> Result<()> {
        let done = match &mut self.target {
            Target::Direct(file) => file.flush(),
            Target::Temporary(writer) => writer.flush().and_then(|()| writer.get_ref().as_file().sync_all()),
        };
        done.map_err(|e| Error::io(&self.path, e))
    }

    /// Puts the file in its place.
    pub fn commit(self) -> Result<()> {
        let Self { path, target, _unfinished } = self;
        let done = match target {
            Target::Direct(mut file) => file.flush(),
            Target::Temporary(writer) => writer.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| {
                file.as_file().sync_all()?;
                file.persist(&path).map(|_| ()).map_err(|e| e.error)
            }),
        };
        done.map_err(|e| Error::io(path, e))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Temporary(writer) => writer.write(bytes),
            Target::Direct(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Temporary(writer) => writer.flush(),
            Target::Direct(writer) => writer.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        std::fs::write(&path, "old").unwrap();
        let mut dropped = AtomicFile::create(&path).unwrap();
        dropped.write_all(b"half").unwrap();
        drop(dropped);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        let mut whole = AtomicFile::create(&path).unwrap();
        whole.write_all(b"new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        whole.commit().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
    }

    #[test]
    fn what_is_unfinished_can_be_removed() {
        let folder = tempfile::tempdir().unwrap();
        let begun = AtomicFile::create(folder.path().join("a")).unwrap();
        let temporary = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let listed = || UNFINISHED.lock().unwrap().contains(&temporary);
        assert!(listed());
        drop(begun);
        assert!(!listed());
    }

    #[test]
    fn a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no/a.txt");
        let error = AtomicFile::create(&path).unwrap_err().to_string();
        assert_eq!(error, format!("{}: there is no folder {}", path.display(), folder.path().join("no").display()));
        let error = AtomicFile::create(folder.path()).unwrap_err();
        assert!(error.is_input(), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_and_permissions_are_usual() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a"), folder.path().join("b"));
        AtomicFile::create(&path).unwrap().commit().unwrap();
        std::fs::write(folder.path().join("c"), "").unwrap();
        let mode = |p: &Path| std::fs::metadata(p).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&folder.path().join("c")));
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mut file = AtomicFile::create(&link).unwrap();
        file.write_all(b"x").unwrap();
        file.commit().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "x");
        assert!(link.is_symlink());
    }
}
