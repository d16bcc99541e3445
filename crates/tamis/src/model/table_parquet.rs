//! Answers as Parquet: labels are a list, paths a list of lists; with scores a row for each label of a document.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::Answer;
use crate::atomic::AtomicFile;
use crate::{Error, Result};

/// Rows that are collected before they are handed on.
const ROWS: usize = 4096;

pub(super) struct ParquetAnswers {
    path: PathBuf,
    paths: bool,
    scores: bool,
    columns: Columns,
    rows: usize,
    writer: ArrowWriter<AtomicFile>,
}

#[derive(Default)]
struct Columns {
    id: StringBuilder,
    labels: ListBuilder<StringBuilder>,
    paths: ListBuilder<ListBuilder<StringBuilder>>,
    label: StringBuilder,
    score: Float64Builder,
    threshold: Float64Builder,
    probability: Float64Builder,
    decided: BooleanBuilder,
    known: BooleanBuilder,
}

impl ParquetAnswers {
    pub(super) fn create(path: &Path, paths: bool, scores: bool) -> Result<Self> {
        let mut columns = Columns::default();
        let schema = columns.batch(paths, scores).map_err(|e| failed(path, e))?.schema();
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let writer = ArrowWriter::try_new(AtomicFile::create(path)?, schema, Some(properties));
        let writer = writer.map_err(|e| failed(path, e))?;
        Ok(Self { path: path.to_owned(), paths, scores, columns, rows: 0, writer })
    }

    pub(super) fn write(&mut self, answer: &Answer<'_>) -> Result<()> {
        let columns = &mut self.columns;
        let id = answer.id.as_deref().unwrap_or_default();
        if self.scores {
            for ranked in answer.ranked.iter().flatten() {
                columns.id.append_value(id);
                columns.label.append_value(ranked.label);
                columns.score.append_value(ranked.score);
                columns.threshold.append_option(ranked.threshold);
                columns.probability.append_option(ranked.probability);
                columns.decided.append_value(ranked.decided);
                columns.known.append_value(answer.known);
                self.rows += 1;
            }
        } else {
            columns.id.append_value(id);
            columns.labels.append_value(answer.labels.iter().map(Some));
            for path in answer.paths.iter().flatten() {
                columns.paths.values().append_value(path.iter().map(Some));
            }
            columns.paths.append(true);
            columns.known.append_value(answer.known);
            self.rows += 1;
        }
        if self.rows >= ROWS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.rows = 0;
        let batch = self.columns.batch(self.paths, self.scores).map_err(|e| failed(&self.path, e))?;
        self.writer.write(&batch).map_err(|e| failed(&self.path, e))
    }

    pub(super) fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.writer.into_inner().map_err(|e| failed(&self.path, e))?.commit()
    }
}

impl Columns {
    /// What was collected, which is then gone.
    fn batch(&mut self, paths: bool, scores: bool) -> Result<RecordBatch, arrow_schema::ArrowError> {
        let mut columns: Vec<(&str, ArrayRef)> = vec![("id", Arc::new(self.id.finish()))];
        if scores {
            columns.push(("label", Arc::new(self.label.finish())));
            columns.push(("score", Arc::new(self.score.finish())));
            columns.push(("threshold", Arc::new(self.threshold.finish())));
            columns.push(("probability", Arc::new(self.probability.finish())));
            columns.push(("decided", Arc::new(self.decided.finish())));
        } else {
            columns.push(("labels", Arc::new(self.labels.finish())));
            let of_paths = self.paths.finish();
            if paths {
                columns.push(("paths", Arc::new(of_paths)));
            }
        }
        columns.push(("known", Arc::new(self.known.finish())));
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
    }
}

fn failed(path: &Path, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::io(path, std::io::Error::other(error))
}
