//! Opening: plain or compressed, a file or standard input, in UTF-8 or anything else, as one stream of bytes.
//!
//! Compression is told by the first bytes, never by the name. What comes out is UTF-8 when an encoding was named, and
//! the file's own bytes otherwise: the readers check those line by line, so that an error knows its line.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use encoding_rs::{Decoder, DecoderResult};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    Plain,
    Gzip,
    Zstd,
    Bzip2,
}

impl Compression {
    /// From the first bytes of a file.
    pub(crate) fn of_bytes(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            // The level, then the magic of a block, or of the end for an empty file: text may begin with "BZh".
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, ..] => Self::Bzip2,
            _ => Self::Plain,
        }
    }

    /// From the ending of a name, and the name without that ending.
    pub(crate) fn of_name(path: &Path) -> (Self, PathBuf) {
        let compression = match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("gz") => Self::Gzip,
            Some("zst" | "zstd") => Self::Zstd,
            Some("bz2") => Self::Bzip2,
            _ => return (Self::Plain, path.to_owned()),
        };
        (compression, path.with_extension(""))
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
        })
    }
}

/// A character encoding by any of its usual names (`utf-8`, `latin1`, `windows-1252`, `utf-16`, `shift_jis`, …).
///
/// Names mean what they mean on the web: `latin1` is read as its superset windows-1252.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding(&'static encoding_rs::Encoding);

impl Encoding {
    /// UTF-8.
    pub const UTF_8: Self = Self(encoding_rs::UTF_8);

    /// The encoding that the mark at the beginning of a file says; UTF-8 needs none.
    pub(crate) fn of_mark(head: &[u8]) -> Option<Self> {
        match head {
            [0xff, 0xfe, ..] => Some(Self(encoding_rs::UTF_16LE)),
            [0xfe, 0xff, ..] => Some(Self(encoding_rs::UTF_16BE)),
            _ => None,
        }
    }

    fn decoder(self) -> Decoder {
        self.0.new_decoder()
    }

    /// The text of a whole file, without a byte order mark; `None` when the bytes are not of the encoding.
    pub(crate) fn decode(self, bytes: Vec<u8>) -> Option<String> {
        match self.0.decode(&bytes) {
            (_, _, true) => None,
            // Nothing to change, so the bytes are the text.
            (Cow::Borrowed(text), ..) if text.len() == bytes.len() => String::from_utf8(bytes).ok(),
            (text, ..) => Some(text.into_owned()),
        }
    }

    /// What to say of bytes that are not of the encoding.
    pub(crate) fn mismatch(self) -> String {
        format!("{}; is the option `encoding` right?", NotInEncoding(self))
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl FromStr for Encoding {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        const KNOWN: [&str; 10] = [
            "utf-8",
            "latin1",
            "windows-1252",
            "iso-8859-15",
            "windows-1251",
            "utf-16le",
            "utf-16be",
            "shift_jis",
            "gb18030",
            "euc-kr",
        ];
        encoding_rs::Encoding::for_label_no_replacement(name.as_bytes())
            .map(Self)
            .ok_or_else(|| Error::unknown("encoding", name, KNOWN))
    }
}

impl Serialize for Encoding {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl<'de> Deserialize<'de> for Encoding {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// An open file, decompressed and, when an encoding was named, in UTF-8.
pub(crate) struct Source {
    /// As the user named it; `-` is standard input.
    pub(crate) path: PathBuf,
    pub(crate) compression: Compression,
    /// Bytes looked at by [`Source::peek`] and not read yet.
    peeked: Cursor<Vec<u8>>,
    inner: Box<dyn Read + Send>,
}

impl Source {
    /// Opens a file, or standard input for `-`.
    pub(crate) fn open(path: &Path, encoding: Option<Encoding>) -> Result<Self> {
        if path.as_os_str() == "-" {
            return Self::new(path, io::stdin(), encoding);
        }
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        Self::new(path, file, encoding)
    }

    /// Wraps a stream; `path` names it in errors. Where no encoding was named, the mark of UTF-16 names it.
    pub(crate) fn new(path: &Path, mut raw: impl Read + Send + 'static, encoding: Option<Encoding>) -> Result<Self> {
        let mut head = Vec::with_capacity(16);
        raw.by_ref().take(16).read_to_end(&mut head).map_err(|e| Error::io(path, e))?;
        let compression = Compression::of_bytes(&head);
        let raw = Cursor::new(head).chain(raw);
        let buffered = |raw| BufReader::with_capacity(128 * 1024, raw);
        let mut plain: Box<dyn Read + Send> = match compression {
            Compression::Plain => Box::new(raw),
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(buffered(raw))),
            Compression::Zstd => {
                Box::new(zstd::stream::read::Decoder::with_buffer(buffered(raw)).map_err(|e| Error::io(path, e))?)
            }
            Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(buffered(raw))),
        };
        let mut encoding = encoding;
        if encoding.is_none() {
            let mut mark = Vec::with_capacity(2);
            let read = plain.by_ref().take(2).read_to_end(&mut mark);
            encoding = Encoding::of_mark(&mark);
            // An error comes when the stream is read, and then with its line.
            plain = match read {
                Ok(_) => Box::new(Cursor::new(mark).chain(plain)),
                Err(error) => Box::new(Cursor::new(mark).chain(Failing(Some(error)))),
            };
        }
        let inner = match encoding {
            Some(encoding) if encoding != Encoding::UTF_8 => Box::new(Decoding::new(plain, encoding)),
            _ => plain,
        };
        Ok(Self { path: path.to_owned(), compression, peeked: Cursor::new(Vec::new()), inner })
    }

    /// The first bytes, up to `length`, without taking them.
    pub(crate) fn peek(&mut self, length: usize) -> Result<&[u8]> {
        debug_assert_eq!(self.peeked.position(), 0, "peek comes before the first read");
        let missing = length.saturating_sub(self.peeked.get_ref().len()) as u64;
        if let Err(error) = self.inner.by_ref().take(missing).read_to_end(self.peeked.get_mut()) {
            return Err(self.read_error(1 + line_ends(self.peeked.get_ref()), error));
        }
        Ok(self.peeked.get_ref())
    }

    /// Appends up to `length` bytes; fewer only at the end. `line` is where the buffer begins, for errors.
    pub(crate) fn read_into(&mut self, buffer: &mut Vec<u8>, length: usize, line: u64) -> Result<usize> {
        let before = buffer.len();
        buffer.reserve(length);
        let head = self.peeked.by_ref().take(length as u64).read_to_end(buffer);
        let rest = head.and_then(|n| self.inner.by_ref().take((length - n) as u64).read_to_end(buffer));
        let got = buffer.len() - before;
        match rest {
            Ok(_) => Ok(got),
            Err(error) => Err(self.read_error(line + line_ends(buffer), error)),
        }
    }

    /// Everything, when it is not longer than `limit`.
    pub(crate) fn read_all(&mut self, limit: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        loop {
            let want = bytes.len().clamp(16 * 1024, 1 << 20);
            if self.read_into(&mut bytes, want, 1)? < want {
                return Ok(bytes);
            }
            if bytes.len() > limit {
                return Err(Error::malformed_file(&self.path, super::blocks::too_long(limit)));
            }
        }
    }

    /// An error of the stream as the user should see it.
    fn read_error(&self, line: u64, error: io::Error) -> Error {
        if let Some(inner) = error.get_ref()
            && inner.is::<NotInEncoding>()
        {
            return Error::malformed(&self.path, line, format!("{error}; is the option `encoding` right?"));
        }
        let compression = self.compression;
        match (compression, error.kind()) {
            (Compression::Plain, _) | (_, io::ErrorKind::Interrupted | io::ErrorKind::PermissionDenied) => {
                Error::io(&self.path, error)
            }
            (_, io::ErrorKind::UnexpectedEof) => Error::malformed(
                &self.path,
                line,
                format!("the {compression} stream breaks off: the file is truncated; fetch or write it again"),
            ),
            _ => Error::malformed(
                &self.path,
                line,
                format!("damaged {compression} stream ({error}); fetch or write the file again"),
            ),
        }
    }
}

/// A stream that ends with an error.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

fn line_ends(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Bytes that the named encoding does not have.
#[derive(Debug)]
struct NotInEncoding(Encoding);

impl fmt::Display for NotInEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytes that are not {}", self.0)
    }
}

impl std::error::Error for NotInEncoding {}

/// Turns bytes of an encoding into UTF-8 as they are read. A byte order mark is dropped.
struct Decoding<R> {
    inner: R,
    encoding: Encoding,
    decoder: Decoder,
    input: Box<[u8]>,
    /// The part of `input` not yet decoded.
    waiting: std::ops::Range<usize>,
    /// Decoded, not yet handed out.
    output: Cursor<Vec<u8>>,
    ended: bool,
    /// Bytes that are not of the encoding come after `output`.
    malformed: bool,
}

impl<R: Read> Decoding<R> {
    fn new(inner: R, encoding: Encoding) -> Self {
        Self {
            inner,
            encoding,
            decoder: encoding.decoder(),
            input: vec![0; 64 * 1024].into_boxed_slice(),
            waiting: 0..0,
            output: Cursor::new(Vec::new()),
            ended: false,
            malformed: false,
        }
    }

    fn refill(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            let n = self.inner.read(&mut self.input)?;
            self.ended = n == 0;
            self.waiting = 0..n;
        }
        let mut output = std::mem::take(self.output.get_mut());
        // Enough for any encoding: a byte becomes at most three.
        output.resize(3 * self.input.len() + 16, 0);
        let (result, read, written) =
            self.decoder.decode_to_utf8_without_replacement(&self.input[self.waiting.clone()], &mut output, self.ended);
        // What stands before is handed out first, so that the error knows its line.
        self.malformed = matches!(result, DecoderResult::Malformed(..));
        self.waiting.start += read;
        output.truncate(written);
        self.output = Cursor::new(output);
        Ok(())
    }
}

impl<R: Read> Read for Decoding<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.output.read(buffer)?;
            if n > 0 || buffer.is_empty() {
                return Ok(n);
            }
            if self.malformed {
                return Err(io::Error::new(io::ErrorKind::InvalidData, NotInEncoding(self.encoding)));
            }
            if self.ended {
                return Ok(0);
            }
            self.refill()?;
        }
    }
}

/// Bytes as text for corpora that are mostly UTF-8 with stray Latin-1 bytes: UTF-8 when valid, else windows-1252.
pub(crate) fn forgiving(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0,
    }
}

/// The message for bytes that are not UTF-8.
pub(crate) fn not_utf8(bytes: &[u8], error: std::str::Utf8Error) -> String {
    let byte = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
    format!(
        "not UTF-8: byte 0x{byte:02x} at column {}; name the encoding of the file, such as the option `encoding=latin1`",
        error.valid_up_to() + 1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(source: &mut Source) -> Vec<u8> {
        let mut bytes = Vec::new();
        while source.read_into(&mut bytes, 7, 1).unwrap() > 0 {}
        bytes
    }

    fn source(bytes: &[u8], encoding: Option<&str>) -> Source {
        Source::new(Path::new("x"), Cursor::new(bytes.to_vec()), encoding.map(|e| e.parse().unwrap())).unwrap()
    }

    #[test]
    fn utf16_becomes_utf8_with_or_without_its_mark() {
        let big: Vec<u8> = [0xfe, 0xff].into_iter().chain("né\n".encode_utf16().flat_map(u16::to_be_bytes)).collect();
        assert_eq!(all(&mut source(&big, Some("utf-16"))), "né\n".as_bytes());
        let little: Vec<u8> = "né\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(all(&mut source(&little, Some("utf-16"))), "né\n".as_bytes());
        let mut odd = source(&little[..5], Some("utf-16"));
        let error = odd.read_into(&mut Vec::new(), 9, 3).unwrap_err();
        assert_eq!(error.to_string(), "x:3: bytes that are not UTF-16LE; is the option `encoding` right?");
    }

    #[test]
    fn the_mark_of_utf16_names_it() {
        for to_bytes in [u16::to_be_bytes, u16::to_le_bytes] {
            let bytes: Vec<u8> = "\u{feff}né\n".encode_utf16().flat_map(to_bytes).collect();
            assert_eq!(all(&mut source(&bytes, None)), "né\n".as_bytes());
        }
        assert_eq!(all(&mut source(b"\xff", None)), b"\xff");
        assert_eq!(all(&mut source(b"", None)), b"");
    }

    #[test]
    fn long_latin1_is_decoded_whole_after_a_peek() {
        let bytes: Vec<u8> = (0..300_000u32).map(|i| (i % 251) as u8).collect();
        let mut latin1 = source(&bytes, Some("latin1"));
        assert_eq!(latin1.peek(3).unwrap().len(), 3);
        let expected = encoding_rs::WINDOWS_1252.decode(&bytes).0.into_owned();
        let mut got = Vec::new();
        latin1.read_into(&mut got, 10_000_000, 1).unwrap();
        assert_eq!(String::from_utf8(got).unwrap(), expected);
    }

    #[test]
    fn unknown_encodings_list_known_ones() {
        let error = "latin".parse::<Encoding>().unwrap_err().to_string();
        assert!(error.starts_with("unknown encoding \"latin\"; did you mean latin1?"), "{error}");
    }
}
