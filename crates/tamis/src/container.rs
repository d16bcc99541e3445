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
//! the end by the length. The file is read whole: what takes a section makes its own structures of it.
//!
//! In small files (asked for by the writer) a section is compressed with Zstandard where that helps. The last byte of
//! its name, a blank otherwise, is then a digit: the width of the numbers whose first, second, … bytes were put
//! together before compressing. The hash is of what lies in the file.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::{Error, Result};

const MAGIC: [u8; 8] = *b"tamis\r\n\x1a";
const ALIGN: usize = 64;
const ENTRY: usize = 64;
const HEAD: usize = 32;
const HASH: usize = 32;
/// Beyond this level models become hardly smaller and writing them much slower.
const COMPRESSION: i32 = 15;

/// A file being put together.
pub(crate) struct Builder {
    kind: [u8; 8],
    version: u32,
    small: bool,
    /// Name, width of its numbers, content.
    sections: Vec<([u8; 16], usize, Vec<u8>)>,
}

impl Builder {
    /// An empty file of a kind (at most 8 ASCII characters).
    pub(crate) fn new(kind: &str, version: u32) -> Self {
        Self { kind: padded(kind), version, small: false, sections: Vec::new() }
    }

    /// Sections will be compressed where that makes them smaller.
    pub(crate) fn small(mut self) -> Self {
        self.small = true;
        self
    }

    /// Adds a section; names have at most 15 ASCII characters and are used once.
    pub(crate) fn add(&mut self, name: &str, bytes: Vec<u8>) {
        self.add_numbers(name, 1, bytes);
    }

    fn add_numbers(&mut self, name: &str, width: usize, bytes: Vec<u8>) {
        let name = padded(name);
        debug_assert!(name[15] == b' ' && self.sections.iter().all(|(other, ..)| *other != name));
        self.sections.push((name, width, bytes));
    }

    /// Adds all sections of another builder.
    pub(crate) fn append(&mut self, other: Self) {
        self.sections.extend(other.sections);
    }

    /// Adds numbers as a section.
    pub(crate) fn add_slice<T: IntoBytes + Immutable>(&mut self, name: &str, values: &[T]) {
        self.add_numbers(name, size_of::<T>(), values.as_bytes().to_vec());
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
        let mut sections = Vec::with_capacity(self.sections.len());
        for (name, width, bytes) in &self.sections {
            let compressed = if self.small { compress(*name, *width, bytes)? } else { None };
            sections.push(compressed.unwrap_or((*name, Cow::Borrowed(bytes))));
        }
        for (name, bytes) in &sections {
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
        for (_, bytes) in &sections {
            out.write_all(bytes)?;
            written += bytes.len();
            gap(out, &mut written)?;
        }
        Ok(())
    }
}

/// Numbers that are close to each other differ in their low bytes: with all first bytes together, then all second
/// ones, the rest compresses to nothing.
fn shuffled(bytes: &[u8], width: usize) -> Vec<u8> {
    (0..width).flat_map(|byte| bytes.iter().skip(byte).step_by(width).copied()).collect()
}

fn unshuffled(bytes: &[u8], width: usize) -> Vec<u8> {
    shuffled(bytes, (bytes.len() / width).max(1))
}

/// The section under its new name, if it becomes smaller.
fn compress(name: [u8; 16], width: usize, bytes: &[u8]) -> io::Result<Option<([u8; 16], Cow<'static, Vec<u8>>)>> {
    let mut best: Option<(usize, Vec<u8>)> = None;
    for width in if matches!(width, 2 | 4 | 8) { vec![1, width] } else { vec![1] } {
        let packed = zstd::bulk::compress(&shuffled(bytes, width), COMPRESSION)?;
        if packed.len() < best.as_ref().map_or(bytes.len(), |(_, b)| b.len()) {
            best = Some((width, packed));
        }
    }
    Ok(best.map(|(width, packed)| {
        let mut name = name;
        name[15] = b'0' + width as u8;
        (name, Cow::Owned(packed))
    }))
}

/// What [`compress`] packed; `None` when it is not that.
fn decompress(packed: &[u8], width: usize) -> Option<Held> {
    let length = usize::try_from(zstd::zstd_safe::get_frame_content_size(packed).ok()??).ok()?;
    // Zstandard cannot do better than this, so a larger claim is false and would only take memory.
    if length > packed.len().saturating_mul(1 << 17) || !length.is_multiple_of(width) {
        return None;
    }
    let bytes = zstd::bulk::decompress(packed, length).ok().filter(|b| b.len() == length)?;
    Some(Held::new(&unshuffled(&bytes, width)))
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

/// Longest file that is read from a pipe.
const MOST_STREAMED: u64 = 64 << 30;

/// Bytes held as wide integers, so that sections, which begin at multiples of 64, are aligned for any number.
struct Held(Vec<u128>, usize);

impl Held {
    fn new(bytes: &[u8]) -> Self {
        let mut words = vec![0u128; bytes.len().div_ceil(16)];
        words.as_mut_bytes()[..bytes.len()].copy_from_slice(bytes);
        Self(words, bytes.len())
    }

    /// Reads a file to its end.
    fn read(mut file: File) -> io::Result<Self> {
        let data = file.metadata()?;
        if !data.is_file() {
            // What does not begin as one of our files is not read on: it may have no end.
            let mut bytes = Vec::new();
            io::Read::by_ref(&mut file).take(64).read_to_end(&mut bytes)?;
            if Container::kind_of_bytes(&bytes).is_some() {
                crate::whole::Limited::new(file, "a model", MOST_STREAMED).read_to_end(&mut bytes)?;
            }
            return Ok(Self::new(&bytes));
        }
        let length = usize::try_from(data.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let mut held = Self(vec![0u128; length.div_ceil(16)], length);
        file.read_exact(&mut held.0.as_mut_bytes()[..length])?;
        Ok(held)
    }
}

/// Where a section's content is.
enum Section {
    InFile(Range<usize>),
    Unpacked(Held),
}

impl std::ops::Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0.as_bytes()[..self.1]
    }
}

/// An opened, verified file.
pub(crate) struct Container {
    path: PathBuf,
    bytes: Held,
    version: u32,
    /// Name, size in the file, content.
    sections: Vec<(String, usize, Section)>,
}

impl Container {
    /// Whether a file begins as one of ours, and of which kind it is. A pipe is not looked into: what is read from it to
    /// recognise it would be missing when it is read as a corpus.
    pub(crate) fn kind_of(path: &Path) -> Option<String> {
        if !std::fs::metadata(path).ok()?.is_file() {
            return None;
        }
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
        Self::verified(path, Held::read(file).map_err(|e| Error::io(path, e))?, kind, newest)
    }

    /// Verifies a file that is in memory already; `path` is for messages.
    pub(crate) fn from_bytes(path: &Path, bytes: &[u8], kind: &str, newest: u32) -> Result<Self> {
        Self::verified(path, Held::new(bytes), kind, newest)
    }

    fn verified(path: &Path, bytes: Held, kind: &str, newest: u32) -> Result<Self> {
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
            let name = String::from_utf8_lossy(&bytes[entry..entry + 15]).trim_end().to_owned();
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
            let section = match bytes[entry + 15] {
                b' ' => Section::InFile(range),
                width @ (b'1' | b'2' | b'4' | b'8') => Section::Unpacked(
                    decompress(&bytes[range], usize::from(width - b'0'))
                        .ok_or_else(|| damaged(format!("section {name} cannot be unpacked")))?,
                ),
                _ => return Err(damaged(format!("section {name} is packed in an unknown way"))),
            };
            sections.push((name, length, section));
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

    /// Names of the sections and their sizes in the file.
    pub(crate) fn sections(&self) -> impl Iterator<Item = (&str, usize)> {
        self.sections.iter().map(|(name, size, _)| (name.as_str(), *size))
    }

    /// The bytes of a section.
    pub(crate) fn section(&self, name: &str) -> Result<&[u8]> {
        self.sections
            .iter()
            .find(|(n, ..)| n == name)
            .map(|(_, _, section)| match section {
                Section::InFile(range) => &self.bytes[range.clone()],
                Section::Unpacked(held) => held,
            })
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

    fn small() -> Vec<u8> {
        let mut builder = Builder::new("sample", 3).small();
        builder.add("meta", b"{}".to_vec());
        builder.add("text", b"again ".repeat(50));
        builder.add_slice("numbers", &(0..500u64).map(|n| n * 1000).collect::<Vec<_>>());
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
    fn small_files_are_smaller_and_say_the_same() {
        let file = open(&small()).unwrap();
        assert_eq!(file.text("meta").unwrap(), "{}");
        assert_eq!(file.section("text").unwrap(), b"again ".repeat(50));
        assert_eq!(file.slice::<u64>("numbers").unwrap(), (0..500).map(|n| n * 1000).collect::<Vec<u64>>());
        let sizes: Vec<usize> = file.sections().map(|(_, size)| size).collect();
        assert!(sizes[0] == 2 && sizes[1] < 60 && sizes[2] < 1500, "{sizes:?}");
    }

    #[test]
    fn any_changed_byte_is_an_error() {
        for good in [sample(), small()] {
            for at in 0..good.len() {
                let mut bad = good.clone();
                bad[at] ^= 1 << (at % 8);
                assert!(open(&bad).is_err(), "byte {at}");
            }
        }
    }

    /// A writer who computes the hashes anew can still not make the reader take memory or panic.
    #[test]
    fn packed_nonsense_is_refused() {
        for packed in [&b""[..], b"nonsense", &[0x28, 0xb5, 0x2f, 0xfd, 0xe0, 255, 255, 255, 255, 255, 255, 255, 0]] {
            assert!(decompress(packed, 1).is_none());
        }
        let odd = zstd::bulk::compress(b"123", 1).unwrap();
        assert!(decompress(&odd, 2).is_none() && decompress(&odd, 1).is_some());
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
