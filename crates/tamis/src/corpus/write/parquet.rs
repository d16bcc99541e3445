//! Parquet output: columns `id`, `text` (or one for each field), `tokens`, `labels` (a list), `date`, `split`.

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
    /// Fields with a column each; none: the text has one.
    fields: Vec<String>,
    rows: usize,
}

#[derive(Default)]
struct Columns {
    id: StringBuilder,
    texts: Vec<StringBuilder>,
    tokens: ListBuilder<StringBuilder>,
    labels: ListBuilder<StringBuilder>,
    date: StringBuilder,
    split: StringBuilder,
}

impl ParquetWriter {
    pub(super) fn create(path: &Path, fields: &[String]) -> Result<Self> {
        let list = || DataType::List(Arc::new(Field::new("item", DataType::Utf8, true)));
        let usual = ["text".to_owned()];
        let texts = if fields.is_empty() { &usual } else { fields };
        let mut columns = vec![Field::new("id", DataType::Utf8, false)];
        columns.extend(texts.iter().map(|name| Field::new(name, DataType::Utf8, true)));
        columns.extend([
            Field::new("tokens", list(), true),
            Field::new("labels", list(), true),
            Field::new("date", DataType::Utf8, true),
            Field::new("split", DataType::Utf8, true),
        ]);
        let schema = Arc::new(Schema::new(columns));
        let columns = Columns { texts: texts.iter().map(|_| StringBuilder::default()).collect(), ..Columns::default() };
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let writer = ArrowWriter::try_new(AtomicFile::create(path)?, Arc::clone(&schema), Some(properties))
            .map_err(|e| failed(path, e))?;
        Ok(Self { path: path.to_owned(), writer, schema, columns, fields: fields.to_vec(), rows: 0 })
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
        if self.fields.is_empty() {
            columns.texts[0].append_option(if tokens.is_some() { None } else { Some(text_of(&document.body)) });
        }
        for (column, field) in columns.texts.iter_mut().zip(&self.fields) {
            column.append_option(document.body.field(field));
        }
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
        let mut arrays: Vec<ArrayRef> = vec![Arc::new(columns.id.finish())];
        arrays.extend(columns.texts.iter_mut().map(|text| Arc::new(text.finish()) as ArrayRef));
        let rest: [ArrayRef; 4] = [
            Arc::new(columns.tokens.finish()),
            Arc::new(columns.labels.finish()),
            Arc::new(columns.date.finish()),
            Arc::new(columns.split.finish()),
        ];
        arrays.extend(rest);
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
