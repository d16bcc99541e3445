//! JSONL shards: fields are added at the end of each object, the rest of the line stays as it is.

use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use memchr::memmem;
use serde_json::Value;

use super::Shard;
use super::lane::{Failure, Tally};
use super::row::{Asked, Asker, Column, Row};
use super::watched::Watched;
use crate::corpus::blocks::{Block, Blocks, FileContext, ParseLine as _, Piece, each_line};
use crate::corpus::cut::Cut;
use crate::corpus::jsonl::Jsonl;
use crate::corpus::source::{Compression, Source};
use crate::corpus::{OnError, ReadOptions};
use crate::{Error, Result};

/// What the pieces of a shard share.
struct Shared {
    jsonl: Jsonl,
    on_error: OnError,
    /// Names of the fields that are added.
    names: Vec<String>,
    /// Whether pieces are compressed where they are made: a gzip file may have several members.
    gzip: bool,
}

/// Cuts a shard into pieces.
pub(super) struct LineReader {
    blocks: Blocks,
    shared: Arc<Shared>,
}

/// Whole lines.
pub(super) struct LinePiece {
    shared: Arc<Shared>,
    piece: Piece,
}

impl LineReader {
    pub(super) fn open(shard: &Shard, read: &ReadOptions, asked: &Asked<'_>) -> Result<Self> {
        let source = Source::open(&shard.input, read.encoding)?;
        let context =
            FileContext { path: shard.input.clone(), name: String::new(), part: None, limit: read.max_record_bytes };
        let shared = Shared {
            jsonl: Jsonl::new(context, &read.fields),
            on_error: read.on_error,
            names: asked.columns.iter().map(|(_, name)| name.clone()).collect(),
            gzip: Compression::of_name(&shard.output).0 == Compression::Gzip,
        };
        let blocks = Blocks::new(source, Cut::Lines, read.max_record_bytes);
        Ok(Self { blocks, shared: Arc::new(shared) })
    }

    pub(super) fn next(&mut self) -> Result<Option<LinePiece>> {
        Ok(self.blocks.next()?.map(|piece| LinePiece { shared: Arc::clone(&self.shared), piece }))
    }
}

impl LinePiece {
    /// The lines with what is added, compressed where that is done here.
    pub(super) fn label(&self, asker: &mut Asker<'_>, asked: &Asked<'_>) -> Result<(Vec<u8>, Tally)> {
        let mut tally = Tally::default();
        let block = match &self.piece {
            Piece::Block(block) => block,
            Piece::Bad(bad) if self.shared.on_error == OnError::Skip => {
                tally.skipped.add(&bad.error());
                return Ok((Vec::new(), tally));
            }
            Piece::Bad(bad) => return Err(bad.error()),
        };
        let mut lines = String::with_capacity(block.bytes().len() * 9 / 8);
        let mut failure = None;
        let clash = self.may_clash(block);
        let _ = each_line(block, self.shared.jsonl.context(), |number, line| {
            match line.and_then(|line| self.line(number, line, clash, asker, asked, &mut lines, &mut tally)) {
                Ok(()) => {}
                Err(error) if self.shared.on_error == OnError::Skip => tally.skipped.add(&error),
                Err(error) => {
                    failure = Some(error);
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        match failure {
            Some(error) => Err(error),
            None if self.shared.gzip && !lines.is_empty() => Ok((gzip(lines.as_bytes()), tally)),
            None => Ok((lines.into_bytes(), tally)),
        }
    }

    fn line(
        &self,
        number: u64,
        line: &str,
        clash: bool,
        asker: &mut Asker<'_>,
        asked: &Asked<'_>,
        lines: &mut String,
        tally: &mut Tally,
    ) -> Result<()> {
        let Shared { jsonl, names, .. } = &*self.shared;
        let body = match jsonl.parse_line(number, line) {
            Ok(None) => return Ok(()),
            Ok(Some(document)) => Some(document.body),
            Err(_) if jsonl.has_null_text(line) => None,
            Err(error) => return Err(error),
        };
        if clash
            && let Ok(Value::Object(object)) = serde_json::from_str(line)
            && let Some(name) = names.iter().find(|name| object.contains_key(name.as_str()))
        {
            return Err(jsonl.context().error(number, already_there(name)));
        }
        let row = asker.row(body.as_ref());
        tally.saw(row);
        if row.kept {
            // An object, and not an empty one: it has a field of the text.
            lines.push_str(line.trim_end().strip_suffix('}').unwrap_or(line).trim_end());
            append(lines, row, asked);
            lines.push_str("}\n");
        }
        Ok(())
    }

    /// Whether a field that is added may be there already.
    fn may_clash(&self, block: &Block) -> bool {
        let quoted = |name: &String| Value::from(name.as_str()).to_string();
        self.shared.names.iter().any(|name| memmem::find(block.bytes(), quoted(name).as_bytes()).is_some())
    }
}

/// The message for a column or field that is there already.
pub(super) fn already_there(name: &str) -> String {
    format!("{name:?} is there already; give added columns other names with the option `prefix`")
}

/// Appends the fields of a row.
fn append(lines: &mut String, row: &Row, asked: &Asked<'_>) {
    let label = |label: u32| Value::from(asked.model.labels.name(label)).to_string();
    // Infinite scores are no JSON.
    let number = |x: f64| if x.is_finite() { Value::from(x).to_string() } else { "null".to_owned() };
    let optional = |x: Option<f64>| x.map_or("null".to_owned(), number);
    for (column, name) in &asked.columns {
        let _ = write!(lines, ",{}:", Value::from(name.as_str()));
        if !row.has_text {
            lines.push_str("null");
            continue;
        }
        match column {
            Column::Labels => list(lines, row.labels.iter().map(|&l| label(l))),
            Column::Known => lines.push_str(if row.known { "true" } else { "false" }),
            Column::Ranked => list(lines, row.ranked.iter().map(|r| label(r.0))),
            Column::Scores => list(lines, row.ranked.iter().map(|r| number(r.1))),
            Column::Probabilities => list(lines, row.ranked.iter().map(|r| number(r.2))),
            Column::Score => lines.push_str(&optional(row.score)),
            Column::Probability => lines.push_str(&optional(row.probability)),
        }
    }
}

fn list(lines: &mut String, items: impl Iterator<Item = String>) {
    lines.push('[');
    for (at, item) in items.enumerate() {
        if at > 0 {
            lines.push(',');
        }
        lines.push_str(&item);
    }
    lines.push(']');
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut member = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let done = member.write_all(bytes).and_then(|()| member.finish());
    done.expect("memory takes it")
}

/// Writes lines, compressed as the name of the shard says.
pub(super) struct LineWriter {
    output: Output,
    refused: super::watched::Refused,
    empty: bool,
}

enum Output {
    Plain(Watched),
    /// What is written is compressed already.
    Gzip(Watched),
    Zstd(Box<zstd::Encoder<'static, Watched>>),
    Bzip2(bzip2::write::BzEncoder<Watched>),
}

impl LineWriter {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let file = Watched::create(path)?;
        let refused = file.refused();
        let output = match Compression::of_name(path).0 {
            Compression::Plain => Output::Plain(file),
            Compression::Gzip => Output::Gzip(file),
            Compression::Zstd => Output::Zstd(Box::new(zstd::Encoder::new(file, 0).map_err(|e| Error::io(path, e))?)),
            Compression::Bzip2 => Output::Bzip2(bzip2::write::BzEncoder::new(file, bzip2::Compression::default())),
        };
        Ok(Self { output, refused, empty: true })
    }

    pub(super) fn write(&mut self, lines: &[u8]) -> Result<(), Failure> {
        self.empty &= lines.is_empty();
        let done = match &mut self.output {
            Output::Plain(out) | Output::Gzip(out) => out.write_all(lines),
            Output::Zstd(out) => out.write_all(lines),
            Output::Bzip2(out) => out.write_all(lines),
        };
        done.map_err(|error| self.failed(error))
    }

    /// Nothing but writing can fail here.
    fn failed(&self, error: std::io::Error) -> Failure {
        match self.refused.or(|| Error::io("an output", error)) {
            Failure::Broken(error) => Failure::Fatal(error),
            other => other,
        }
    }

    pub(super) fn finish(mut self) -> Result<(), Failure> {
        if self.empty && matches!(self.output, Output::Gzip(_)) {
            self.write(&gzip(b""))?;
        }
        let Self { output, refused, .. } = self;
        let failed = |error: std::io::Error| match refused.or(|| Error::io("an output", error)) {
            Failure::Broken(error) => Failure::Fatal(error),
            other => other,
        };
        let file = match output {
            Output::Plain(file) | Output::Gzip(file) => file,
            Output::Zstd(out) => out.finish().map_err(failed)?,
            Output::Bzip2(out) => out.finish().map_err(failed)?,
        };
        file.commit().map_err(Failure::Fatal)
    }
}
