//! Cutting a stream into blocks of whole records: what every text format shares.
//!
//! A block is about [`BATCH_BYTES`] long and ends where a record ends. A record longer than the bound never sits in
//! memory: its bytes are read and dropped, and an error stands in its place.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use memchr::{memchr, memchr_iter, memmem};

use super::cut::{Cut, csv_records};
use super::source::{Source, not_utf8};
use super::{BATCH_BYTES, Batch, Document, Part};
use crate::{Error, Place, Result};

/// What a batch calls with each document, or the error in its place.
pub(crate) type Visit<'v> = dyn FnMut(Result<Document<'_>>) -> ControlFlow<()> + 'v;

/// Whole records, not yet parsed.
#[derive(Debug)]
pub(crate) struct Block {
    bytes: Vec<u8>,
    /// Where the first record begins: after a header, if there was one.
    start: usize,
    /// The line of the first byte of `bytes[start..]`.
    pub(crate) line: u64,
}

impl Block {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Drops the first bytes.
    pub(crate) fn advance(&mut self, count: usize) {
        self.line += lines(&self.bytes()[..count]);
        self.start += count;
    }

    /// The parts of the block that begin at lines with `start`, with their lines; what is before the first is left out.
    pub(crate) fn starting_with(&self, start: &'static [u8]) -> impl Iterator<Item = (u64, &[u8])> {
        let bytes = self.bytes();
        let mut starts = memmem::find_iter(bytes, start).filter(|&at| at == 0 || bytes[at - 1] == b'\n').peekable();
        let (mut line, mut counted) = (self.line, 0);
        std::iter::from_fn(move || {
            let from = starts.next()?;
            let to = starts.peek().copied().unwrap_or(bytes.len());
            line += lines(&bytes[counted..from]);
            counted = from;
            Some((line, &bytes[from..to]))
        })
    }
}

fn lines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

/// A block, or a record that cannot be one.
pub(crate) enum Piece {
    Block(Block),
    Bad(BadRecord),
}

/// A batch that is one malformed record.
pub(crate) struct BadRecord {
    place: Place,
    reason: String,
}

impl BadRecord {
    pub(crate) fn error(&self) -> Error {
        Error::Malformed { place: self.place.clone(), reason: self.reason.clone() }
    }
}

impl Batch for BadRecord {
    fn visit(&self, visit: &mut Visit<'_>) {
        let _ = visit(Err(self.error()));
    }
}

/// Cuts a source into blocks.
pub(crate) struct Blocks {
    source: Source,
    cut: Cut,
    limit: usize,
    /// Read, not yet in a block.
    tail: Vec<u8>,
    /// The line `tail` begins in.
    line: u64,
    /// Within a record that was too long.
    skipping: bool,
    begun: bool,
    ended: bool,
}

impl Blocks {
    pub(crate) fn new(source: Source, cut: Cut, limit: usize) -> Self {
        Self { source, cut, limit, tail: Vec::new(), line: 1, skipping: false, begun: false, ended: false }
    }

    /// The next block, or `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Piece>> {
        if self.skipping {
            self.skip()?;
        }
        let mut target = BATCH_BYTES;
        loop {
            if self.tail.len() < target && !self.ended {
                let missing = target - self.tail.len();
                self.ended = self.source.read_into(&mut self.tail, missing, self.line)? < missing;
            }
            if !self.begun {
                self.begun = true;
                self.strip_mark()?;
            }
            if self.tail.is_empty() && self.ended {
                return Ok(None);
            }
            if self.ended {
                return Ok(Some(self.last()));
            }
            if let Some(end) = self.cut.last(&self.tail) {
                return Ok(Some(Piece::Block(self.take(end))));
            }
            if self.tail.len() > self.limit {
                self.skipping = true;
                let mut reason = too_long(self.limit);
                if matches!(self.cut, Cut::Csv { quotes: true, .. }) {
                    reason += "; a quote that opens a field and never closes makes one record of many, and the option \
                               `quotes=false` reads quotes as plain characters";
                }
                return Ok(Some(Piece::Bad(BadRecord { place: Place::line(&self.source.path, self.line), reason })));
            }
            target = (2 * self.tail.len()).clamp(BATCH_BYTES, self.limit.max(BATCH_BYTES) + 1);
        }
    }

    /// What is left at the end of the file; a CSV record that ends within quotes comes on its own.
    fn last(&mut self) -> Piece {
        if let Cut::Csv { delimiter, quotes: true } = self.cut {
            match csv_records(&self.tail, delimiter) {
                (None | Some(0), true) => {
                    let place = Place::line(&self.source.path, self.line);
                    // Only this line is lost: nothing after it is within quotes.
                    let end = memchr(b'\n', &self.tail).map_or(self.tail.len(), |at| at + 1);
                    self.take(end);
                    let reason = "a quoted field begins in this record and never ends; double the quotes within \
                                  fields, or read quotes as plain characters with the option `quotes=false`"
                        .into();
                    return Piece::Bad(BadRecord { place, reason });
                }
                (Some(end), true) => return Piece::Block(self.take(end)),
                (_, false) => {}
            }
        }
        Piece::Block(self.take(self.tail.len()))
    }

    fn take(&mut self, end: usize) -> Block {
        let mut rest = Vec::with_capacity(BATCH_BYTES.max(self.tail.len() - end));
        rest.extend_from_slice(&self.tail[end..]);
        let mut bytes = std::mem::replace(&mut self.tail, rest);
        bytes.truncate(end);
        let line = self.line;
        self.line += lines(&bytes);
        Block { bytes, start: 0, line }
    }

    /// Reads on to the end of a record that was too long. One without an end is no record, and no reason to read forever.
    fn skip(&mut self) -> Result<()> {
        let (line, most) = (self.line, most_skipped(self.limit));
        let mut skipped = 0;
        loop {
            let found = self.cut.resume(&self.tail);
            // What may be the beginning of the next record stays.
            let drop = found.unwrap_or_else(|| self.tail.len().saturating_sub(self.cut.overlap()));
            self.line += lines(&self.tail[..drop]);
            self.tail.drain(..drop);
            skipped += drop;
            if found.is_none() && skipped > most {
                self.ended = true;
                self.tail = Vec::new();
                let reason = format!("a record begins here and does not end within {}; reading stops", in_bytes(most));
                return Err(Error::malformed(&self.source.path, line, reason));
            }
            if found.is_some() || self.ended {
                if found.is_none() {
                    self.tail.clear();
                }
                self.tail.shrink_to(BATCH_BYTES);
                self.skipping = false;
                return Ok(());
            }
            self.ended = self.source.read_into(&mut self.tail, BATCH_BYTES, self.line)? < BATCH_BYTES;
        }
    }

    fn strip_mark(&mut self) -> Result<()> {
        if self.tail.starts_with(b"\xef\xbb\xbf") {
            self.tail.drain(..3);
        } else if self.tail.starts_with(b"\xff\xfe") || self.tail.starts_with(b"\xfe\xff") {
            return Err(utf16(&self.source.path));
        }
        Ok(())
    }
}

/// The error for a file with the mark of UTF-16.
pub(crate) fn utf16(path: &Path) -> Error {
    Error::malformed_file(path, "the file is UTF-16, not UTF-8; read it with the option `encoding=utf-16`")
}

/// The message for a record beyond the bound.
pub(crate) fn too_long(limit: usize) -> String {
    let bound = in_bytes(limit);
    format!("the record is longer than {bound}; raise the option `max_record` if it is really one document")
}

fn in_bytes(bytes: usize) -> String {
    if bytes.is_multiple_of(1 << 20) { format!("{} MiB", bytes >> 20) } else { format!("{bytes} bytes") }
}

/// How far the end of a record beyond the bound is looked for: 64 times as far as it should be, and at least 256 MiB.
fn most_skipped(limit: usize) -> usize {
    limit.saturating_mul(64).max(256 << 20)
}

/// The message for text with NUL bytes: no text has them, but files with holes and other encodings do.
pub(crate) const HAS_NUL: &str = "has NUL bytes: the file has a hole (fetch or write it again), or another encoding, such as \
                                  the option `encoding=utf-16le`";

/// What the reader of a file knows beside its records.
#[derive(Debug, Clone)]
pub(crate) struct FileContext {
    /// As the user named it.
    pub(crate) path: PathBuf,
    /// Names documents without an id: `name:line`. Distinct for the files of a corpus.
    pub(crate) name: String,
    /// The part all documents of the file are in.
    pub(crate) part: Option<Part>,
    /// Bytes a record may have.
    pub(crate) limit: usize,
}

impl FileContext {
    pub(crate) fn error(&self, line: u64, reason: impl Into<String>) -> Error {
        Error::malformed(&self.path, line, reason)
    }

    /// The id of the document that begins in a line and has no id of its own.
    pub(crate) fn id_of_line(&self, line: u64) -> String {
        format!("{}:{line}", self.name)
    }

    /// Bytes of a record as text.
    pub(crate) fn text<'a>(&self, line: u64, bytes: &'a [u8]) -> Result<&'a str> {
        if memchr(0, bytes).is_some() {
            return Err(self.error(line, HAS_NUL));
        }
        std::str::from_utf8(bytes).map_err(|e| self.error(line, not_utf8(bytes, e)))
    }
}

/// Turns a block into documents.
pub(crate) trait Parse: Send + Sync {
    fn parse(&self, block: &Block, visit: &mut Visit<'_>) -> ControlFlow<()>;
}

/// A block with its parser.
pub(crate) struct Parsed {
    pub(crate) block: Block,
    pub(crate) parser: std::sync::Arc<dyn Parse>,
}

impl Batch for Parsed {
    fn visit(&self, visit: &mut Visit<'_>) {
        let _ = self.parser.parse(&self.block, visit);
    }
}

/// Turns one line into a document.
pub(crate) trait ParseLine: Send + Sync {
    fn context(&self) -> &FileContext;
    /// `None` when the line holds no document. Lines are not empty and have no line end.
    fn parse_line<'a>(&self, number: u64, line: &'a str) -> Result<Option<Document<'a>>>;
}

/// The parser of a format with a document in each line.
pub(crate) struct Lines<P>(pub(crate) P);

/// Hands every line of a block to `visit`, with its number and without its end; empty ones are left out.
pub(crate) fn each_line<'b>(
    block: &'b Block,
    context: &FileContext,
    mut visit: impl FnMut(u64, Result<&'b str>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let bytes = block.bytes();
    // One check for the block is cheaper than one for each line; only a bad block pays for finding the line.
    let whole = if memchr(0, bytes).is_none() { std::str::from_utf8(bytes).ok() } else { None };
    let mut number = block.line;
    let mut start = 0;
    while start < bytes.len() {
        let end = memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |at| start + at);
        let line = match whole {
            Some(text) => Ok(&text[start..end]),
            None => context.text(number, &bytes[start..end]),
        };
        match line {
            Ok(line) if line.len() > context.limit => {
                visit(number, Err(context.error(number, too_long(context.limit))))?;
            }
            Ok(line) => {
                let line = line.strip_suffix('\r').unwrap_or(line);
                if !line.is_empty() {
                    visit(number, Ok(line))?;
                }
            }
            Err(error) => visit(number, Err(error))?,
        }
        start = end + 1;
        number += 1;
    }
    ControlFlow::Continue(())
}

impl<P: ParseLine> Parse for Lines<P> {
    fn parse(&self, block: &Block, visit: &mut Visit<'_>) -> ControlFlow<()> {
        each_line(block, self.0.context(), |number, line| {
            match line.and_then(|line| self.0.parse_line(number, line)).transpose() {
                Some(document) => visit(document),
                None => ControlFlow::Continue(()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    fn blocks(bytes: &[u8], cut: Cut, limit: usize) -> Vec<(u64, Result<String, String>)> {
        let source = Source::new(Path::new("x"), Cursor::new(bytes.to_vec()), None).unwrap();
        let mut blocks = Blocks::new(source, cut, limit);
        let mut out = Vec::new();
        while let Some(piece) = blocks.next().unwrap() {
            out.push(match piece {
                Piece::Block(block) => (block.line, Ok(String::from_utf8(block.bytes().to_vec()).unwrap())),
                Piece::Bad(bad) => (bad.place.line.unwrap(), Err(bad.reason)),
            });
        }
        out
    }

    #[test]
    fn a_long_record_is_dropped_and_the_next_ones_are_read() {
        let text = format!("a\n{}\nb\n", "x".repeat(3 * BATCH_BYTES));
        let got = blocks(text.as_bytes(), Cut::Lines, 2 * BATCH_BYTES);
        assert_eq!(got.len(), 3);
        assert_eq!(got[0], (1, Ok("a\n".into())));
        assert_eq!(got[1].0, 2);
        assert!(got[1].1.as_ref().unwrap_err().starts_with("the record is longer than 1 MiB"));
        assert_eq!(got[2], (3, Ok("b\n".into())));
        let long = format!(".I 1\n{}\n.I 2\ny\n", "x\n".repeat(2 * BATCH_BYTES));
        let got = blocks(long.as_bytes(), Cut::Before(b".I "), BATCH_BYTES);
        assert!(got[0].1.is_err());
        assert_eq!(got[1], (2 * BATCH_BYTES as u64 + 3, Ok(".I 2\ny\n".into())));
    }

    #[test]
    fn quotes_hide_line_feeds_only_at_the_start_of_a_field() {
        let cut = Cut::Csv { delimiter: b',', quotes: true };
        assert_eq!(cut.last(b"a,\"b\nc\"\nd,"), Some(8));
        assert_eq!(cut.last(b"a,\"b\n\"\"c\n"), None);
        assert_eq!(cut.last(b"a 5\" pipe\nd"), Some(10));
        let got = blocks(b"t\na\n\"b\nc\n", cut, 100);
        assert_eq!(got[0], (1, Ok("t\na\n".into())));
        assert_eq!(got[1].0, 3);
        assert!(got[1].1.is_err());
    }

    proptest! {
        #[test]
        fn blocks_are_the_whole_input(lines in prop::collection::vec(("[a-z.I]{1,4}", 1usize..40_000), 0..80)) {
            let text: String = lines.iter().map(|(word, n)| word.repeat(*n) + "\n").collect();
            for cut in [Cut::Lines, Cut::Before(b".I"), Cut::Csv { delimiter: b',', quotes: true }] {
                let got = blocks(text.as_bytes(), cut, 1 << 24);
                let whole: String = got.iter().map(|(_, block)| block.as_deref().unwrap()).collect();
                prop_assert_eq!(&whole, &text);
                let mut line = 1;
                for (at, block) in got {
                    prop_assert_eq!(at, line);
                    line += block.unwrap().matches('\n').count() as u64;
                }
            }
        }
    }
}
