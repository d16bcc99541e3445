//! Formats with a document in each record: JSONL, CSV, TSV, fastText, svmlight.

use std::borrow::Cow;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use serde::Serialize;
use serde::ser::SerializeMap as _;

use super::{WriteOptions, cannot_hold, text_of, written};
use crate::atomic::AtomicFile;
use crate::corpus::svmlight::{header, is_pair, terms_file};
use crate::corpus::{Body, Document, Format, Part};
use crate::{Error, Result};

pub(super) struct LineWriter {
    path: PathBuf,
    format: Format,
    options: WriteOptions,
    /// The record in the making, kept for its memory.
    buffer: Vec<u8>,
    /// Numbers of terms from 1 in the order of their first use (svmlight).
    terms: FxHashMap<String, u32>,
    /// Documents that are nothing but an empty line.
    blank: u64,
}

impl LineWriter {
    pub(super) fn new(path: &Path, format: Format, options: &WriteOptions) -> Result<Self> {
        if !matches!(
            format,
            Format::Jsonl | Format::Csv | Format::Tsv | Format::FastText | Format::SvmLight | Format::Annif
        ) {
            let here = if format == Format::Parquet { " by this build" } else { "" };
            let reason =
                format!("{format} is read but not written{here}; give one of {} with the option `to`", written());
            return Err(Error::malformed_file(path, reason));
        }
        if options.label_separator.is_empty() && matches!(format, Format::Csv | Format::Tsv) {
            return Err(Error::invalid("to_separator", "\"\"", "writing several labels needs a separator"));
        }
        Ok(Self {
            path: path.to_owned(),
            format,
            options: options.clone(),
            buffer: Vec::new(),
            terms: FxHashMap::default(),
            blank: 0,
        })
    }

    /// The line before all others: the names of the columns.
    pub(super) fn header(&self) -> Result<Vec<u8>> {
        let delimiter = match self.format {
            Format::Csv => b',',
            Format::Tsv => b'\t',
            _ => return Ok(Vec::new()),
        };
        let fields = &self.options.fields;
        let texts: Vec<&str> =
            if fields.is_empty() { vec!["text"] } else { fields.iter().map(String::as_str).collect() };
        let names = ["id"].into_iter().chain(texts).chain(["labels", "date", "split"]);
        let mut header = Vec::new();
        self.line(&mut header, delimiter, names)?;
        Ok(header)
    }

    /// A line of columns.
    fn line<'f>(&self, into: &mut Vec<u8>, delimiter: u8, columns: impl Iterator<Item = &'f str>) -> Result<()> {
        let mut csv = csv::WriterBuilder::new().delimiter(delimiter).from_writer(into);
        let done = csv.write_record(columns).map_err(std::io::Error::from);
        done.and_then(|()| csv.flush()).map_err(|e| Error::io(&self.path, e))
    }

    /// The bytes of a document with its line end.
    pub(super) fn record(&mut self, document: &Document<'_>) -> Result<&[u8]> {
        self.buffer.clear();
        match self.format {
            Format::Csv => self.columns(document, b',')?,
            Format::Tsv => self.columns(document, b'\t')?,
            Format::FastText => self.fasttext(document)?,
            Format::Annif => self.annif(document)?,
            Format::SvmLight => self.svmlight(document)?,
            _ => {
                serde_json::to_writer(&mut self.buffer, &Record(document))
                    .map_err(|e| Error::io(&self.path, e.into()))?;
                self.buffer.push(b'\n');
            }
        }
        Ok(&self.buffer)
    }

    fn columns(&mut self, document: &Document<'_>, delimiter: u8) -> Result<()> {
        let separator = self.options.label_separator.as_str();
        if let Some(label) = document.labels.iter().find(|label| label.contains(separator)) {
            let reason = format!(
                "has the label {label:?} with {separator:?} in it; choose another with the option `to_separator`"
            );
            return Err(cannot_hold(&self.path, document, &reason));
        }
        let labels = document.labels.join(separator);
        let fields = &self.options.fields;
        let whole = if fields.is_empty() { Some(text_of(&document.body)) } else { None };
        let texts = whole.as_deref().into_iter().chain(fields.iter().map(|f| document.body.field(f).unwrap_or("")));
        let date = document.date.as_deref().unwrap_or("");
        let split = document.part.map_or("", part_name);
        let mut record = std::mem::take(&mut self.buffer);
        let columns = [&*document.id].into_iter().chain(texts).chain([&*labels, date, split]);
        self.line(&mut record, delimiter, columns)?;
        self.buffer = record;
        Ok(())
    }

    fn annif(&mut self, document: &Document<'_>) -> Result<()> {
        let text = text_of(&document.body);
        for word in text.split_whitespace() {
            self.buffer.extend_from_slice(word.as_bytes());
            self.buffer.push(b' ');
        }
        if text.split_whitespace().next().is_some() {
            self.buffer.pop();
        }
        self.buffer.push(b'\t');
        for (at, label) in document.labels.iter().enumerate() {
            if label.contains(['<', '>']) || label.contains(char::is_whitespace) {
                let reason = format!("has the label {label:?}, which cannot stand between < and >");
                return Err(cannot_hold(&self.path, document, &reason));
            }
            let gap = if at > 0 { " " } else { "" };
            self.buffer.extend_from_slice(format!("{gap}<{label}>").as_bytes());
        }
        self.end_line();
        Ok(())
    }

    fn fasttext(&mut self, document: &Document<'_>) -> Result<()> {
        let prefix = self.options.label_prefix.as_str();
        for label in &document.labels {
            if label.contains(char::is_whitespace) {
                let reason = format!("has the label {label:?} with a space in it, which fastText lines cannot hold");
                return Err(cannot_hold(&self.path, document, &reason));
            }
            self.buffer.extend_from_slice(prefix.as_bytes());
            self.buffer.extend_from_slice(label.as_bytes());
            self.buffer.push(b' ');
        }
        let text = text_of(&document.body);
        for word in text.split_whitespace() {
            if word.starts_with(prefix) {
                let reason = format!(
                    "has the word {word:?}, which would be read as a label; choose another prefix with the option `to_prefix`"
                );
                return Err(cannot_hold(&self.path, document, &reason));
            }
            self.buffer.extend_from_slice(word.as_bytes());
            self.buffer.push(b' ');
        }
        self.end_line();
        Ok(())
    }

    fn svmlight(&mut self, document: &Document<'_>) -> Result<()> {
        let bad =
            |label: &&Cow<'_, str>| label.contains([',', '#']) || label.contains(char::is_whitespace) || is_pair(label);
        if let Some(label) = document.labels.iter().find(bad) {
            let reason = format!("has the label {label:?}, which svmlight lines cannot hold");
            return Err(cannot_hold(&self.path, document, &reason));
        }
        let terms = &mut self.terms;
        let mut counts: Vec<(u32, u32)> = match &document.body {
            Body::Text(text) => text.split_whitespace().map(|word| (number(terms, word), 1)).collect(),
            Body::Tokens(tokens) => tokens.iter().map(|word| (number(terms, word), 1)).collect(),
            Body::Fields(fields) => {
                let words = fields.iter().flat_map(|(_, text)| text.split_whitespace());
                words.map(|word| (number(terms, word), 1)).collect()
            }
            Body::Counts(bag) => bag.iter().map(|(term, count)| (number(terms, term), *count)).collect(),
        };
        counts.sort_unstable();
        counts.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
        self.buffer.extend_from_slice(document.labels.join(",").as_bytes());
        self.buffer.push(b' ');
        for (term, count) in counts {
            // Writing to memory does not fail.
            let _ = write!(self.buffer, "{term}:{count} ");
        }
        if document.labels.is_empty() && self.buffer.len() > 1 {
            // The space before the first pair says that there are no labels.
            self.buffer.truncate(self.buffer.len() - 1);
            self.buffer.push(b'\n');
        } else {
            self.end_line();
        }
        Ok(())
    }

    /// Takes off the last space and ends the line.
    fn end_line(&mut self) {
        if self.buffer.last() == Some(&b' ') {
            self.buffer.pop();
        }
        self.blank += u64::from(self.buffer.is_empty());
        self.buffer.push(b'\n');
    }

    /// What stands beside the records, written but not in its place yet, and the line that names it before them.
    pub(super) fn finish(self) -> Result<Option<(AtomicFile, String)>> {
        if self.blank > 0 {
            tracing::warn!(
                "{}: {} documents without words and labels are empty lines, which are not read back",
                self.path.display(),
                self.blank
            );
        }
        if self.format != Format::SvmLight {
            return Ok(None);
        }
        let mut names: Vec<(u32, String)> = self.terms.into_iter().map(|(name, number)| (number, name)).collect();
        names.sort_unstable();
        let beside = terms_file(&self.path);
        let mut file = AtomicFile::create(&beside)?;
        let mut hash = blake3::Hasher::new();
        for (_, name) in names {
            if name.contains('\n') {
                return Err(Error::malformed_file(&beside, format!("the term {name:?} has a line end in it")));
            }
            let line = name + "\n";
            hash.update(line.as_bytes());
            file.write_all(line.as_bytes()).map_err(|e| Error::io(&beside, e))?;
        }
        file.sync()?;
        Ok(Some((file, header(&hash.finalize()))))
    }
}

/// The number of a term, new ones from 1 up.
fn number(terms: &mut FxHashMap<String, u32>, term: &str) -> u32 {
    if let Some(&known) = terms.get(term) {
        return known;
    }
    let new = terms.len() as u32 + 1;
    terms.insert(term.to_owned(), new);
    new
}

pub(super) fn part_name(part: Part) -> &'static str {
    match part {
        Part::Train => "train",
        Part::Validation => "validation",
        Part::Test => "test",
    }
}

/// A document as a JSON object.
struct Record<'d, 'a>(&'d Document<'a>);

impl Serialize for Record<'_, '_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let document = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &document.id)?;
        if let Some(date) = &document.date {
            map.serialize_entry("date", date)?;
        }
        if let Some(weight) = document.weight {
            map.serialize_entry("weight", &weight)?;
        }
        if let Some(part) = document.part {
            map.serialize_entry("split", part_name(part))?;
        }
        match &document.body {
            Body::Text(text) => map.serialize_entry("text", text)?,
            Body::Fields(fields) => {
                for (field, text) in fields {
                    map.serialize_entry(field, text)?;
                }
            }
            Body::Tokens(tokens) => map.serialize_entry("tokens", tokens)?,
            Body::Counts(counts) => map.serialize_entry("counts", &Counts(counts))?,
        }
        map.serialize_entry("labels", &document.labels)?;
        map.end()
    }
}

/// Terms and counts as a JSON object.
struct Counts<'d, 'a>(&'d [(Cow<'a, str>, u32)]);

impl Serialize for Counts<'_, '_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(term, count)| (term, count)))
    }
}
