//! Files that appear whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

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
            return Ok(Self { path: path.to_owned(), target: Target::Direct(BufWriter::new(file)) });
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
        Ok(Self { path: place, target: Target::Temporary(BufWriter::with_capacity(128 * 1024, file)) })
    }

    /// Puts the file in its place.
    pub fn commit(self) -> Result<()> {
        let Self { path, target } = self;
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
