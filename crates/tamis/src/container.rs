//! One file, many sections: the form of counts and model files.
//!
//! ```text
//! magic "tamis\r\n\x1a"   8 bytes; the line end shows damage by text-mode transfers
//! kind                    8 bytes of ASCII, such as "counts  "
//! version                 u32, of the kind's content
//! sections                u32
//! length of the file      u64
//! table                   for each section: name (16 bytes), offset u64, length u64, BLAKE3 (32 bytes)
//! BLAKE3 of all above     32 bytes
//! sections                each begins at a multiple of 64; gaps are zero
//! ```
//!
//! Integers are little-endian. Opening verifies every byte: header and sections by their hashes, gaps by being zero,
//! the end by the length. Sections are used where they lie in the memory map, without copies.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::{Error, Result};

const MAGIC: [u8; 8] = *b"tamis\r\n\x1a";
const ALIGN: usize = 64;
const ENTRY: usize = 64;
const HEAD: usize = 32;
const HASH: usize = 32;

/// A file being put together.
pub(crate) struct Builder {
    kind: [u8; 8],
    version: u32,
    sections: Vec<([u8; 16], Vec<u8>)>,
}

impl Builder {
    /// An empty file of a kind (at most 8 ASCII characters).
    pub(crate) fn new(kind: &str, version: u32) -> Self {
        Self { kind: padded(kind), version, sections: Vec::new() }
    }

    /// Adds a section; names have at most 16 ASCII characters and are used once.
    pub(crate) fn add(&mut self, name: &str, bytes: Vec<u8>) {
        debug_assert!(self.sections.iter().all(|(other, _)| *other != padded::<16>(name)));
        self.sections.push((padded(name), bytes));
    }

    /// Adds all sections of another builder.
    pub(crate) fn append(&mut self, other: Self) {
        self.sections.extend(other.sections);
    }

    /// Adds numbers as a section.
    pub(crate) fn add_slice<T: IntoBytes + Immutable>(&mut self, name: &str, values: &[T]) {
        self.add(name, values.as_bytes().to_vec());
    }

    /// Writes the file.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut header = Vec::new();
        header.extend(MAGIC);
        header.extend(self.kind);
        header.extend(self.version.to_le_bytes());
        header.extend((self.sections.len() as u32).to_le_bytes());
        let mut at = aligned(HEAD + self.sections.len() * ENTRY + HASH);
        let mut table = Vec::new();
        for (name, bytes) in &self.sections {
            table.extend(name);
            table.extend((at as u64).to_le_bytes());
            table.extend((bytes.len() as u64).to_le_bytes());
            table.extend(blake3::hash(bytes).as_bytes());
            at = aligned(at + bytes.len());
        }
        header.extend((at as u64).to_le_bytes());
        header.extend(table);
        header.extend(*blake3::hash(&header).as_bytes());
        out.write_all(&header)?;
        let mut written = header.len();
        let gap = |out: &mut dyn Write, written: &mut usize| -> io::Result<()> {
            let zeros = aligned(*written) - *written;
            *written += zeros;
            out.write_all(&[0; ALIGN][..zeros])
        };
        gap(out, &mut written)?;
        for (_, bytes) in &self.sections {
            out.write_all(bytes)?;
            written += bytes.len();
            gap(out, &mut written)?;
        }
        Ok(())
    }
}

fn aligned(at: usize) -> usize {
    at.next_multiple_of(ALIGN)
}

fn padded<const N: usize>(name: &str) -> [u8; N] {
    debug_assert!(name.len() <= N && name.is_ascii());
    let mut out = [b' '; N];
    out[..name.len()].copy_from_slice(name.as_bytes());
    out
}

enum Bytes {
    Mapped(Mmap),
    /// Held as wide integers, so that sections are aligned as in a map.
    Held(Vec<u128>, usize),
}

impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Held(words, length) => &words.as_bytes()[..*length],
        }
    }
}

/// An opened, verified file.
pub(crate) struct Container {
    path: PathBuf,
    bytes: Bytes,
    version: u32,
    sections: Vec<(String, Range<usize>)>,
}

impl Container {
    /// Whether a file begins as one of ours, and of which kind it is.
    pub(crate) fn kind_of(path: &Path) -> Option<String> {
        let mut head = [0; 16];
        io::Read::read_exact(&mut File::open(path).ok()?, &mut head).ok()?;
        Self::kind_of_bytes(&head)
    }

    /// The kind that the first bytes of a file of ours name.
    pub(crate) fn kind_of_bytes(head: &[u8]) -> Option<String> {
        let kind = head.strip_prefix(&MAGIC)?.get(..8)?;
        Some(String::from_utf8_lossy(kind).trim_end().to_owned())
    }

    /// Maps and verifies a file of a kind; versions above `newest` are refused.
    pub(crate) fn open(path: &Path, kind: &str, newest: u32) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        if file.metadata().is_ok_and(|data| data.is_dir()) {
            return Err(Error::File {
                path: path.to_owned(),
                reason: format!("a folder; a {kind} file is needed here"),
            });
        }
        // SAFETY: the map is read only. Files are replaced by renaming, never written in place, so what is mapped
        // does not change; a foreign program that truncates the file under us could still end the process, as with
        // any memory-mapped file.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(&file) }.map_err(|e| Error::io(path, e))?;
        Self::verified(path, Bytes::Mapped(map), kind, newest)
    }

    /// Verifies a file that is in memory already; `path` is for messages.
    pub(crate) fn from_bytes(path: &Path, bytes: &[u8], kind: &str, newest: u32) -> Result<Self> {
        let mut words = vec![0u128; bytes.len().div_ceil(16)];
        words.as_mut_bytes()[..bytes.len()].copy_from_slice(bytes);
        Self::verified(path, Bytes::Held(words, bytes.len()), kind, newest)
    }

    fn verified(path: &Path, bytes: Bytes, kind: &str, newest: u32) -> Result<Self> {
        let bad = |reason: String| Error::File { path: path.to_owned(), reason };
        let damaged = |what: String| bad(format!("damaged: {what}; fetch or make the file again"));
        if cfg!(target_endian = "big") {
            return Err(bad("this file is little-endian and this machine is not".into()));
        }
        if bytes.len() < HEAD + HASH || bytes[..8] != MAGIC {
            return Err(bad(format!("not a tamis {kind} file")));
        }
        let found = String::from_utf8_lossy(&bytes[8..16]).trim_end().to_owned();
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        let version = u32_at(16);
        let count = u32_at(20) as usize;
        let table_end = count
            .checked_mul(ENTRY)
            .and_then(|table| table.checked_add(HEAD))
            .filter(|end| end + HASH <= bytes.len())
            .ok_or_else(|| damaged("the header is cut off or changed".into()))?;
        let hash_end = table_end + HASH;
        if *blake3::hash(&bytes[..table_end]).as_bytes() != bytes[table_end..hash_end] {
            return Err(damaged("the header is not what was written".into()));
        }
        // Only a header that is intact can be believed about kind and version.
        if found != kind {
            return Err(bad(format!("this is a tamis {found} file; a {kind} file is needed here")));
        }
        if version > newest {
            return Err(bad(format!(
                "written in version {version} of the {kind} format, and this program knows up to {newest}; update tamis"
            )));
        }
        if u64_at(24) != bytes.len() as u64 {
            return Err(damaged(format!("{} bytes long instead of {}", bytes.len(), u64_at(24))));
        }
        let mut sections = Vec::with_capacity(count);
        let mut end = hash_end;
        for entry in (HEAD..table_end).step_by(ENTRY) {
            let name = String::from_utf8_lossy(&bytes[entry..entry + 16]).trim_end().to_owned();
            let start = u64_at(entry + 16) as usize;
            let length = u64_at(entry + 24) as usize;
            let range = start..start.saturating_add(length);
            if start != aligned(end) || range.end > bytes.len() {
                return Err(damaged(format!("section {name} is out of place")));
            }
            if bytes[end..start].iter().any(|&b| b != 0)
                || *blake3::hash(&bytes[range.clone()]).as_bytes() != bytes[entry + 32..entry + 64]
            {
                return Err(damaged(format!("section {name} is not what was written")));
            }
            end = range.end;
            sections.push((name, range));
        }
        if aligned(end) != bytes.len() || bytes[end..].iter().any(|&b| b != 0) {
            return Err(damaged("the end is not what was written".into()));
        }
        Ok(Self { path: path.to_owned(), bytes, version, sections })
    }

    /// Version of the content.
    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    /// The file's size.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Names and sizes of the sections.
    pub(crate) fn sections(&self) -> impl Iterator<Item = (&str, usize)> {
        self.sections.iter().map(|(name, range)| (name.as_str(), range.len()))
    }

    /// The bytes of a section.
    pub(crate) fn section(&self, name: &str) -> Result<&[u8]> {
        self.sections
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, range)| &self.bytes[range.clone()])
            .ok_or_else(|| self.error(format!("section {name} is missing")))
    }

    /// A section as numbers, where it lies.
    pub(crate) fn slice<T: FromBytes + Immutable + KnownLayout>(&self, name: &str) -> Result<&[T]> {
        <[T]>::ref_from_bytes(self.section(name)?)
            .map_err(|_| self.error(format!("section {name} has a size that does not fit its content")))
    }

    /// A section as text.
    pub(crate) fn text(&self, name: &str) -> Result<&str> {
        std::str::from_utf8(self.section(name)?).map_err(|_| self.error(format!("section {name} is not UTF-8")))
    }

    /// An error about this file.
    pub(crate) fn error(&self, reason: impl Into<String>) -> Error {
        Error::File { path: self.path.clone(), reason: reason.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let mut builder = Builder::new("sample", 3);
        builder.add("meta", b"{}".to_vec());
        builder.add_slice("numbers", &[1u32, 2, 3]);
        builder.add("empty", Vec::new());
        let mut out = Vec::new();
        builder.write(&mut out).unwrap();
        out
    }

    fn open(bytes: &[u8]) -> Result<Container> {
        Container::from_bytes(Path::new("x"), bytes, "sample", 3)
    }

    #[test]
    fn what_was_written_is_read() {
        let file = open(&sample()).unwrap();
        assert_eq!(file.version(), 3);
        assert_eq!(file.text("meta").unwrap(), "{}");
        assert_eq!(file.slice::<u32>("numbers").unwrap(), [1, 2, 3]);
        assert_eq!(file.section("empty").unwrap(), b"");
        assert!(file.section("other").unwrap_err().to_string().contains("other is missing"));
    }

    #[test]
    fn any_changed_byte_is_an_error() {
        let good = sample();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            assert!(open(&bad).is_err(), "byte {at}");
        }
    }

    #[test]
    fn any_cut_or_addition_is_an_error() {
        let good = sample();
        for end in 0..good.len() {
            assert!(open(&good[..end]).is_err(), "cut at {end}");
        }
        assert!(open(&[good, vec![0]].concat()).is_err());
    }

    #[test]
    fn another_kind_or_a_newer_version_is_named() {
        let bytes = sample();
        let kind = Container::from_bytes(Path::new("x"), &bytes, "model", 3).err().unwrap();
        assert_eq!(kind.to_string(), "x: this is a tamis sample file; a model file is needed here");
        let version = Container::from_bytes(Path::new("x"), &bytes, "sample", 2).err().unwrap();
        assert!(version.to_string().contains("version 3 of the sample format, and this program knows up to 2"));
    }
}
