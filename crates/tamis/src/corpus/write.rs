//! Writing documents: what `convert` does. The output appears when it is whole.

mod folders;
mod lines;
#[cfg(feature = "parquet")]
mod parquet;

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Read as _, Seek as _, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use self::folders::FolderWriter;
use self::lines::LineWriter;
use super::detect::by_name;
use super::source::Compression;
use super::{Body, Document, Format};
use crate::atomic::AtomicFile;
use crate::{Error, Result};

/// How documents are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WriteOptions {
    /// The format; `None` tells it from the ending of the file, a name with a final slash being folders.
    pub to: Option<Format>,
    /// What separates labels in a column (CSV, TSV).
    pub label_separator: String,
    /// What labels begin with (fastText).
    pub label_prefix: String,
    /// Fields of the text that get a column each, instead of one for `text` (CSV, TSV, Parquet; JSONL keeps what documents have).
    pub fields: Vec<String>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { to: None, label_separator: ";".into(), label_prefix: "__label__".into(), fields: Vec::new() }
    }
}

/// Takes documents one after the other; [`Writer::finish`] puts the output in its place.
pub struct Writer {
    path: PathBuf,
    documents: u64,
    /// Whether the format has a place for weights of documents.
    holds_weights: bool,
    kind: Kind,
}

enum Kind {
    Lines(Box<LineWriter>, Box<Output>),
    /// svmlight: what stands in its first line is known after the last one, so records wait in a file without a name.
    WithTerms(Box<LineWriter>, BufWriter<File>),
    Folders(FolderWriter),
    #[cfg(feature = "parquet")]
    Parquet(Box<self::parquet::ParquetWriter>),
}

impl Writer {
    /// Begins a file or folder. Its ending tells the compression, and the format unless that is given.
    pub fn create(path: &Path, options: &WriteOptions) -> Result<Self> {
        let is_folder = path.as_os_str().to_string_lossy().ends_with('/') || path.is_dir();
        let format = options.to.or_else(|| if is_folder { Some(Format::Folders) } else { by_name(path) });
        let Some(format) = format else {
            let reason = format!("the ending tells no format; give one of {} with the option `to`", written());
            return Err(Error::malformed_file(path, reason));
        };
        if !options.fields.is_empty() && !matches!(format, Format::Jsonl | Format::Csv | Format::Tsv | Format::Parquet)
        {
            let reason = format!("{format} has no room for fields; write JSONL, CSV, TSV or Parquet");
            return Err(Error::malformed_file(path, reason));
        }
        let kind = match format {
            Format::Folders => Kind::Folders(FolderWriter::create(path)?),
            #[cfg(feature = "parquet")]
            Format::Parquet => Kind::Parquet(Box::new(self::parquet::ParquetWriter::create(path, &options.fields)?)),
            Format::SvmLight => {
                let lines = Box::new(LineWriter::new(path, format, options)?);
                // Whether the file can be written is found out before the work.
                drop(Output::create(path)?);
                let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let records = tempfile::tempfile_in(folder).map_err(|e| Error::io(path, e))?;
                Kind::WithTerms(lines, BufWriter::new(records))
            }
            _ => Kind::Lines(Box::new(LineWriter::new(path, format, options)?), Box::new(Output::create(path)?)),
        };
        let mut writer = Self { path: path.to_owned(), documents: 0, holds_weights: format == Format::Jsonl, kind };
        writer.begin()?;
        Ok(writer)
    }

    /// Writes to a stream, such as standard output; only formats with one document in each record can.
    pub fn to_stream(stream: Box<dyn Write + Send>, options: &WriteOptions) -> Result<Self> {
        let path = Path::new("-");
        let format = options.to.unwrap_or(Format::Jsonl);
        if matches!(format, Format::Folders | Format::Parquet | Format::SvmLight) {
            let reason = format!("{format} cannot be written to a stream; name a file");
            return Err(Error::malformed_file(path, reason));
        }
        let kind = Kind::Lines(Box::new(LineWriter::new(path, format, options)?), Box::new(Output::Stream(stream)));
        let mut writer = Self { path: path.to_owned(), documents: 0, holds_weights: format == Format::Jsonl, kind };
        writer.begin()?;
        Ok(writer)
    }

    fn begin(&mut self) -> Result<()> {
        if let Kind::Lines(lines, output) = &mut self.kind {
            output.write_all(&lines.header()?).map_err(|e| Error::io(&self.path, e))?;
        }
        Ok(())
    }

    /// One more document.
    pub fn write(&mut self, document: &Document<'_>) -> Result<()> {
        if document.weight.is_some() && !self.holds_weights {
            let reason = "has a weight, which only JSONL holds; write a file that ends in .jsonl, or leave the option `weight_field` out";
            return Err(cannot_hold(&self.path, document, reason));
        }
        self.documents += 1;
        match &mut self.kind {
            Kind::Lines(lines, output) => {
                let record = lines.record(document)?;
                output.write_all(record).map_err(|e| Error::io(&self.path, e))
            }
            Kind::WithTerms(lines, records) => {
                let record = lines.record(document)?;
                records.write_all(record).map_err(|e| Error::io(&self.path, e))
            }
            Kind::Folders(folders) => folders.write(document),
            #[cfg(feature = "parquet")]
            Kind::Parquet(parquet) => parquet.write(document),
        }
    }

    /// Puts the output in its place; returns how many documents it has.
    pub fn finish(self) -> Result<u64> {
        match self.kind {
            Kind::Lines(lines, output) => {
                lines.finish()?;
                output.finish(&self.path)?;
            }
            Kind::WithTerms(lines, records) => {
                let io = |e| Error::io(&self.path, e);
                let mut output = Output::create(&self.path)?;
                let terms = lines.finish()?;
                if let Some((_, header)) = &terms {
                    output.write_all(header.as_bytes()).map_err(io)?;
                }
                let mut records = records.into_inner().map_err(|e| io(e.into_error()))?;
                records.rewind().map_err(io)?;
                let mut buffer = vec![0; 1 << 16];
                loop {
                    match records.read(&mut buffer).map_err(io)? {
                        0 => break,
                        n => output.write_all(&buffer[..n]).map_err(io)?,
                    }
                }
                // The records first: they name the terms that belong to them, so that old terms beside them are noticed. Old
                // records beside new terms might name none.
                output.finish(&self.path)?;
                if let Some((terms, _)) = terms {
                    terms.commit()?;
                }
            }
            Kind::Folders(folders) => folders.finish()?,
            #[cfg(feature = "parquet")]
            Kind::Parquet(parquet) => parquet.finish()?,
        }
        Ok(self.documents)
    }
}

/// The names of the formats that can be written.
fn written() -> String {
    let names: Vec<&str> = Format::ALL.iter().map(|f| f.spec()).filter(|s| s.written).map(|s| s.name).collect();
    names.join(" ")
}

/// A file, compressed as its ending says, or a stream.
pub(crate) enum Output {
    Plain(AtomicFile),
    Gzip(flate2::write::GzEncoder<AtomicFile>),
    Zstd(zstd::Encoder<'static, AtomicFile>),
    Bzip2(bzip2::write::BzEncoder<AtomicFile>),
    Stream(Box<dyn Write + Send>),
}

impl Output {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let file = AtomicFile::create(path)?;
        Ok(match Compression::of_name(path).0 {
            Compression::Plain => Self::Plain(file),
            Compression::Gzip => Self::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
            Compression::Zstd => Self::Zstd(zstd::Encoder::new(file, 0).map_err(|e| Error::io(path, e))?),
            Compression::Bzip2 => Self::Bzip2(bzip2::write::BzEncoder::new(file, bzip2::Compression::default())),
        })
    }

    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Self::Plain(out) => out.write_all(bytes),
            Self::Gzip(out) => out.write_all(bytes),
            Self::Zstd(out) => out.write_all(bytes),
            Self::Bzip2(out) => out.write_all(bytes),
            Self::Stream(out) => out.write_all(bytes),
        }
    }

    pub(crate) fn finish(self, path: &Path) -> Result<()> {
        let error = |e| Error::io(path, e);
        match self {
            Self::Plain(file) => file.commit(),
            Self::Gzip(out) => out.finish().map_err(error)?.commit(),
            Self::Zstd(out) => out.finish().map_err(error)?.commit(),
            Self::Bzip2(out) => out.finish().map_err(error)?.commit(),
            Self::Stream(mut out) => out.flush().map_err(error),
        }
    }
}

/// A document that the format of the output cannot hold.
fn cannot_hold(path: &Path, document: &Document<'_>, reason: &str) -> Error {
    Error::malformed_file(path, format!("document {:?} {reason}", document.id))
}

/// The words of a body as text; ready tokens are joined by spaces.
fn text_of<'b>(body: &'b Body<'_>) -> Cow<'b, str> {
    match body {
        Body::Text(text) => Cow::Borrowed(text),
        Body::Fields(fields) => Cow::Owned(fields.iter().map(|(_, text)| text.as_ref()).collect::<Vec<_>>().join("\n")),
        Body::Tokens(tokens) => Cow::Owned(tokens.join(" ")),
        Body::Counts(counts) => {
            let words: Vec<&str> =
                counts.iter().flat_map(|(term, n)| std::iter::repeat_n(term.as_ref(), *n as usize)).collect();
            Cow::Owned(words.join(" "))
        }
    }
}
