//! Answers as files: JSONL as the server streams them, or tables for spreadsheets and data frames.
//!
//! A table has a row for each document, or with scores a row for each label of a document.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::{Answer, How, Model};
use crate::corpus::{Format, Output};
use crate::threshold::Threshold;
use crate::{Error, Result};

/// What stands between the labels of a document in CSV and TSV.
const BETWEEN_LABELS: &str = ";";

/// What stands between the nodes of a path in CSV and TSV.
const BETWEEN_NODES: &str = " > ";

/// What is answered in CSV and TSV where no label can be trusted.
const NONE_OF_THESE: &str = "none of these";

/// How answers are written: as which format, and with which columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerForm {
    format: Format,
    paths: bool,
    scores: bool,
    /// What stands where a document gets no label.
    none: &'static str,
}

impl AnswerForm {
    /// The form of a model's answers in a format: jsonl, csv, tsv or parquet.
    pub fn new(format: Format, model: &Model, how: &How) -> Result<Self> {
        let is_table = match format {
            Format::Jsonl => false,
            Format::Csv | Format::Tsv | Format::Parquet => true,
            other => {
                let reason = "answers are written as jsonl, csv, tsv or parquet";
                return Err(Error::invalid("format", other, reason));
            }
        };
        if is_table && how.reasons.is_some() {
            return Err(Error::invalid("format", format, "reasons do not fit into a table; write them as jsonl"));
        }
        let scores = how.ranked > 0;
        if matches!(format, Format::Csv | Format::Tsv)
            && !scores
            && let Some(label) = model.labels.iter().find(|label| label.contains(BETWEEN_LABELS))
        {
            let reason = format!(
                "labels are separated by {BETWEEN_LABELS}, and the label {label:?} has one in it; write jsonl or parquet"
            );
            return Err(Error::invalid("format", format, reason));
        }
        // Who asks for precision wants to hear it when there is no answer.
        let none = if matches!(model.thresholds.policy(), Threshold::Precision(_)) { NONE_OF_THESE } else { "" };
        Ok(Self { format, paths: model.taxonomy.is_some(), scores, none })
    }

    fn columns(self) -> Vec<&'static str> {
        match (self.scores, self.paths) {
            (true, _) => vec!["id", "label", "score", "threshold", "probability", "decided", "known"],
            (false, true) => vec!["id", "labels", "paths", "known"],
            (false, false) => vec!["id", "labels", "known"],
        }
    }

    /// What stands before the first answer.
    pub fn header(self) -> Vec<u8> {
        let mut header = Vec::new();
        if matches!(self.format, Format::Csv | Format::Tsv) {
            self.row(&mut header, &self.columns());
        }
        header
    }

    /// Adds the lines of an answer; Parquet has none.
    pub fn append(self, lines: &mut Vec<u8>, answer: &Answer<'_>) {
        if self.format == Format::Jsonl {
            serde_json::to_writer(&mut *lines, answer).expect("an answer is JSON, and memory takes it");
            lines.push(b'\n');
            return;
        }
        let id = answer.id.as_deref().unwrap_or_default();
        let known = if answer.known { "true" } else { "false" };
        if self.scores {
            let number = |value: Option<f64>| value.map_or(String::new(), |v| v.to_string());
            for ranked in answer.ranked.iter().flatten() {
                let (score, threshold) = (ranked.score.to_string(), number(ranked.threshold));
                let (probability, decided) =
                    (number(ranked.probability), if ranked.decided { "true" } else { "false" });
                self.row(lines, &[id, ranked.label, &score, &threshold, &probability, decided, known]);
            }
            return;
        }
        let labels = match answer.labels.as_slice() {
            [] => self.none.to_owned(),
            labels => labels.join(BETWEEN_LABELS),
        };
        let paths = answer
            .paths
            .as_ref()
            .map(|paths| paths.iter().map(|path| path.join(BETWEEN_NODES)).collect::<Vec<_>>().join(BETWEEN_LABELS));
        match &paths {
            Some(paths) => self.row(lines, &[id, &labels, paths, known]),
            None => self.row(lines, &[id, &labels, known]),
        }
    }

    fn row(self, lines: &mut Vec<u8>, fields: &[&str]) {
        let delimiter = if self.format == Format::Tsv { b'\t' } else { b',' };
        let mut csv = csv::WriterBuilder::new().delimiter(delimiter).from_writer(lines);
        let done = csv.write_record(fields).map_err(std::io::Error::from).and_then(|()| csv.flush());
        done.expect("memory takes it");
    }
}

/// Writes answers; a file appears when [`AnswerWriter::finish`] puts it in its place.
pub struct AnswerWriter {
    path: PathBuf,
    form: AnswerForm,
    kind: Kind,
}

enum Kind {
    Lines(Output),
    #[cfg(feature = "parquet")]
    Parquet(Box<super::table_parquet::ParquetAnswers>),
}

impl AnswerWriter {
    /// Begins a file. Its ending tells the compression, and the format unless that is given.
    pub fn create(path: &Path, format: Option<Format>, model: &Model, how: &How) -> Result<Self> {
        let format = format.or_else(|| Format::of_path(path)).ok_or_else(|| {
            let reason = "the ending tells no format; give jsonl, csv, tsv or parquet with the option `format`";
            Error::malformed_file(path, reason)
        })?;
        let form = AnswerForm::new(format, model, how)?;
        let kind = match format {
            #[cfg(feature = "parquet")]
            Format::Parquet => {
                Kind::Parquet(Box::new(super::table_parquet::ParquetAnswers::create(path, form.paths, form.scores)?))
            }
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => {
                return Err(Error::malformed_file(path, "this build writes no Parquet; write jsonl"));
            }
            _ => Kind::Lines(Output::create(path)?),
        };
        Self { path: path.to_owned(), form, kind }.begun()
    }

    /// Writes to a stream, such as standard output.
    pub fn to_stream(stream: Box<dyn Write + Send>, format: Option<Format>, model: &Model, how: &How) -> Result<Self> {
        let form = AnswerForm::new(format.unwrap_or(Format::Jsonl), model, how)?;
        if form.format == Format::Parquet {
            return Err(Error::invalid("format", form.format, "Parquet cannot be written to a stream; name a file"));
        }
        Self { path: "-".into(), form, kind: Kind::Lines(Output::Stream(stream)) }.begun()
    }

    fn begun(mut self) -> Result<Self> {
        let header = self.form.header();
        self.lines(&header)?;
        Ok(self)
    }

    /// The form that [`AnswerForm::append`] makes lines of, on any thread; none where the writer wants the answers themselves.
    pub fn form(&self) -> Option<AnswerForm> {
        matches!(self.kind, Kind::Lines(_)).then_some(self.form)
    }

    /// Writes finished lines.
    pub fn lines(&mut self, lines: &[u8]) -> Result<()> {
        match &mut self.kind {
            Kind::Lines(output) => output.write_all(lines).map_err(|e| Error::io(&self.path, e)),
            #[cfg(feature = "parquet")]
            Kind::Parquet(_) => Ok(()),
        }
    }

    /// Writes answers.
    pub fn answers(&mut self, answers: &[Answer<'_>]) -> Result<()> {
        match &mut self.kind {
            Kind::Lines(_) => {
                let mut lines = Vec::new();
                answers.iter().for_each(|answer| self.form.append(&mut lines, answer));
                self.lines(&lines)
            }
            #[cfg(feature = "parquet")]
            Kind::Parquet(parquet) => answers.iter().try_for_each(|answer| parquet.write(answer)),
        }
    }

    /// Puts the file in its place.
    pub fn finish(self) -> Result<()> {
        match self.kind {
            Kind::Lines(output) => output.finish(&self.path),
            #[cfg(feature = "parquet")]
            Kind::Parquet(parquet) => parquet.finish(),
        }
    }
}
