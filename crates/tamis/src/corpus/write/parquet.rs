//! Parquet output: columns `id`, `text` or `tokens`, `labels` (a list), `date`, `split`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::lines::part_name;
use super::text_of;
use crate::atomic::AtomicFile;
use crate::corpus::{Body, Document};
use crate::{Error, Result};

/// Rows that are collected before they are handed on.
const ROWS: usize = 1024;

pub(super) struct ParquetWriter {
    path: PathBuf,
    writer: ArrowWriter<AtomicFile>,
    schema: Arc<Schema>,
    columns: Columns,
    rows: usize,
}

#[derive(Default)]
struct Columns {
    id: StringBuilder,
    text: StringBuilder,
    tokens: ListBuilder<StringBuilder>,
    labels: ListBuilder<StringBuilder>,
    date: StringBuilder,
    split: StringBuilder,
}

impl ParquetWriter {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let list = || DataType::List(Arc::new(Field::new("item", DataType::Utf8, true)));
        let schema = Arc::new(Schema::new(vec![
            Field::new("id", DataType::Utf8, false),
            Field::new("text", DataType::Utf8, true),
            Field::new("tokens", list(), true),
            Field::new("labels", list(), true),
            Field::new("date", DataType::Utf8, true),
            Field::new("split", DataType::Utf8, true),
        ]));
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let writer = ArrowWriter::try_new(AtomicFile::create(path)?, Arc::clone(&schema), Some(properties))
            .map_err(|e| failed(path, e))?;
        Ok(Self { path: path.to_owned(), writer, schema, columns: Columns::default(), rows: 0 })
    }

    pub(super) fn write(&mut self, document: &Document<'_>) -> Result<()> {
        let columns = &mut self.columns;
        columns.id.append_value(&document.id);
        let tokens: Option<Vec<&str>> = match &document.body {
            Body::Text(_) | Body::Fields(_) => None,
            Body::Tokens(tokens) => Some(tokens.iter().map(AsRef::as_ref).collect()),
            Body::Counts(counts) => {
                Some(counts.iter().flat_map(|(term, n)| std::iter::repeat_n(term.as_ref(), *n as usize)).collect())
            }
        };
        columns.text.append_option(match &document.body {
            body @ (Body::Text(_) | Body::Fields(_)) => Some(text_of(body)),
            _ => None,
        });
        let has_tokens = tokens.is_some();
        tokens.into_iter().flatten().for_each(|token| columns.tokens.values().append_value(token));
        columns.tokens.append(has_tokens);
        document.labels.iter().for_each(|label| columns.labels.values().append_value(label));
        columns.labels.append(true);
        columns.date.append_option(document.date.as_deref());
        columns.split.append_option(document.part.map(part_name));
        self.rows += 1;
        if self.rows == ROWS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let columns = &mut self.columns;
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(columns.id.finish()),
            Arc::new(columns.text.finish()),
            Arc::new(columns.tokens.finish()),
            Arc::new(columns.labels.finish()),
            Arc::new(columns.date.finish()),
            Arc::new(columns.split.finish()),
        ];
        self.rows = 0;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays)
            .map_err(|e| Error::malformed_file(&self.path, e.to_string()))?;
        self.writer.write(&batch).map_err(|e| failed(&self.path, e))
    }

    pub(super) fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.writer.into_inner().map_err(|e| failed(&self.path, e))?.commit()
    }
}

fn failed(path: &Path, error: ParquetError) -> Error {
    Error::io(path, std::io::Error::other(error))
}
