//! Parquet shards. Where all rows are kept, columns are copied as they lie in the file, unread and with their compression, and
//! only the texts are decoded; the added columns join them row group by row group. Where rows are left out, all columns are
//! read, and written anew.

use std::fs::File;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use parquet::arrow::arrow_writer::{
    ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriter, ArrowWriterOptions, compute_leaves,
};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue, ParquetMetaData, RowGroupMetaData};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::Shard;
use super::lane::{Failure, Tally};
use super::lines::already_there;
use super::row::{Asked, Asker, Column, Row};
use super::watched::{Refused, Watched};
use crate::corpus::ReadOptions;
use crate::corpus::blocks::FileContext;
use crate::corpus::parquet::{RowBatch, Rows};
use crate::{Error, Result};

/// Bytes of a row group that is written anew, about.
const GROUP_BYTES: usize = 64 << 20;

/// Reads the rows of a shard.
pub(super) struct ParquetReader {
    rows: Rows,
    metadata: Arc<ParquetMetaData>,
    /// The columns as they are read, where all are.
    whole: Option<SchemaRef>,
}

impl ParquetReader {
    /// Opens a shard: the columns of texts, or with `whole` all.
    pub(super) fn open(shard: &Shard, read: &ReadOptions, whole: bool) -> Result<Self> {
        let context =
            FileContext { path: shard.input.clone(), name: String::new(), part: None, limit: read.max_record_bytes };
        let file = File::open(&shard.input).map_err(|e| Error::io(&shard.input, e))?;
        let rows = Rows::of_file(&context, read, file, whole)?;
        let metadata = Arc::clone(rows.metadata().metadata());
        let whole = whole.then(|| Arc::clone(rows.metadata().schema()));
        Ok(Self { rows, metadata, whole })
    }

    pub(super) fn next(&mut self) -> Result<Option<RowBatch>> {
        self.rows.next()
    }
}

/// What was made of a batch of rows.
pub(super) enum MadeRows {
    /// The added columns.
    Beside { group: usize, rows: u64, columns: Vec<ArrayRef> },
    /// The rows that are kept, with the added columns.
    Kept(RecordBatch),
}

/// Labels a batch.
pub(super) fn label(batch: &RowBatch, asker: &mut Asker<'_>, asked: &Asked<'_>) -> Result<(MadeRows, Tally)> {
    let mut tally = Tally::default();
    let mut builders: Vec<Builder> = asked.columns.iter().map(|(column, _)| Builder::new(*column)).collect();
    let rows = batch.rows().num_rows();
    let mut kept = Vec::with_capacity(rows);
    for at in 0..rows {
        let body = batch.body(at)?;
        let row = asker.row(body.as_ref());
        tally.saw(row);
        kept.push(row.kept);
        if row.kept {
            builders.iter_mut().for_each(|builder| builder.append(row, asked));
        }
    }
    let columns: Vec<ArrayRef> = builders.into_iter().map(Builder::finish).collect();
    if asked.keep.is_none() {
        return Ok((MadeRows::Beside { group: batch.group, rows: rows as u64, columns }, tally));
    }
    let kept = joined(batch.rows(), &BooleanArray::from(kept), columns, asked)
        .map_err(|error| Error::data(format!("rows could not be left out: {error}")))?;
    Ok((MadeRows::Kept(kept), tally))
}

/// The rows that are kept, with columns that were made for them.
fn joined(
    rows: &RecordBatch,
    kept: &BooleanArray,
    columns: Vec<ArrayRef>,
    asked: &Asked<'_>,
) -> Result<RecordBatch, ArrowError> {
    let rows = arrow_select::filter::filter_record_batch(rows, kept)?;
    let schema = with_added(&rows.schema(), asked);
    RecordBatch::try_new(Arc::new(schema), rows.columns().iter().cloned().chain(columns).collect())
}

/// A schema with the added columns at its end.
fn with_added(schema: &Schema, asked: &Asked<'_>) -> Schema {
    let fields = schema.fields().iter().map(|field| field.as_ref().clone()).chain(added_fields(asked));
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
}

fn added_fields(asked: &Asked<'_>) -> Vec<Field> {
    let list = |item: DataType| DataType::List(Arc::new(Field::new_list_field(item, true)));
    let kind = |column: Column| match column {
        Column::Labels | Column::Ranked => list(DataType::Utf8),
        Column::Scores | Column::Probabilities => list(DataType::Float64),
        Column::Known => DataType::Boolean,
        Column::Score | Column::Probability => DataType::Float64,
    };
    asked.columns.iter().map(|(column, name)| Field::new(name, kind(*column), true)).collect()
}

/// Collects a column.
enum Builder {
    Names(Column, ListBuilder<StringBuilder>),
    Numbers(Column, ListBuilder<Float64Builder>),
    Known(BooleanBuilder),
    Number(Column, Float64Builder),
}

impl Builder {
    fn new(column: Column) -> Self {
        match column {
            Column::Labels | Column::Ranked => Self::Names(column, ListBuilder::default()),
            Column::Scores | Column::Probabilities => Self::Numbers(column, ListBuilder::default()),
            Column::Known => Self::Known(BooleanBuilder::new()),
            Column::Score | Column::Probability => Self::Number(column, Float64Builder::new()),
        }
    }

    fn append(&mut self, row: &Row, asked: &Asked<'_>) {
        let name = |label: u32| Some(asked.model.labels.name(label));
        match self {
            Self::Names(_, list) if !row.has_text => list.append_null(),
            Self::Numbers(_, list) if !row.has_text => list.append_null(),
            Self::Names(Column::Labels, list) => list.append_value(row.labels.iter().map(|&label| name(label))),
            Self::Names(_, list) => list.append_value(row.ranked.iter().map(|ranked| name(ranked.0))),
            Self::Numbers(Column::Scores, list) => list.append_value(row.ranked.iter().map(|ranked| Some(ranked.1))),
            Self::Numbers(_, list) => list.append_value(row.ranked.iter().map(|ranked| Some(ranked.2))),
            Self::Known(known) => known.append_option(row.has_text.then_some(row.known)),
            Self::Number(Column::Score, numbers) => numbers.append_option(row.score),
            Self::Number(_, numbers) => numbers.append_option(row.probability),
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Names(_, mut list) => Arc::new(list.finish()),
            Self::Numbers(_, mut list) => Arc::new(list.finish()),
            Self::Known(mut known) => Arc::new(known.finish()),
            Self::Number(_, mut numbers) => Arc::new(numbers.finish()),
        }
    }
}

/// Writes a shard.
pub(super) struct ParquetWriter {
    shard: Shard,
    refused: Refused,
    how: How,
}

enum How {
    Beside(Box<Beside>),
    Anew(Box<ArrowWriter<Watched>>),
}

/// Copies the columns of the input and puts the added ones beside them.
struct Beside {
    /// The input, opened once more: where a file is read is shared by those who share it.
    input: File,
    metadata: Arc<ParquetMetaData>,
    writer: SerializedFileWriter<Watched>,
    added: SchemaRef,
    factory: ArrowRowGroupWriterFactory,
    /// The row group whose columns are being collected.
    group: usize,
    rows: u64,
    columns: Vec<ArrowColumnWriter>,
}

impl ParquetWriter {
    pub(super) fn create(shard: &Shard, reader: &ParquetReader, asked: &Asked<'_>) -> Result<Self, Failure> {
        let broken = |reason: String| Failure::Broken(Error::malformed_file(&shard.input, reason));
        let said = |error: ParquetError| broken(format!("cannot be copied: {error}"));
        let metadata = &reader.metadata;
        let root = metadata.file_metadata().schema();
        if let Some((_, name)) =
            asked.columns.iter().find(|(_, name)| root.get_fields().iter().any(|field| field.name() == name))
        {
            return Err(broken(already_there(name)));
        }
        let properties = properties(reader, asked).map_err(said)?;
        let file = Watched::create(&shard.output).map_err(Failure::Fatal)?;
        let refused = file.refused();
        let failed = |error: ParquetError| {
            refused.or(|| Error::malformed_file(&shard.input, format!("cannot be copied: {error}")))
        };
        let how = if let Some(schema) = &reader.whole {
            let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
            let schema = Arc::new(with_added(schema, asked));
            How::Anew(Box::new(ArrowWriter::try_new_with_options(file, schema, options).map_err(failed)?))
        } else {
            let mut columns = metadata.row_groups().iter().flat_map(RowGroupMetaData::columns);
            if columns.any(|column| column.file_path().is_some()) {
                return Err(broken("its columns lie in other files; write it as one file".to_owned()));
            }
            let input = File::open(&shard.input).map_err(|e| Failure::Broken(Error::io(&shard.input, e)))?;
            let added = Arc::new(Schema::new(added_fields(asked)));
            let beside = ArrowSchemaConverter::new().convert(&added).map_err(said)?;
            let fields = root.get_fields().iter().chain(beside.root_schema().get_fields()).cloned().collect();
            let schema = Type::group_type_builder(root.name()).with_fields(fields).build().map_err(said)?;
            let properties = Arc::new(properties);
            // What encodes the added columns knows of no others.
            let alone = SerializedFileWriter::new(std::io::sink(), beside.root_schema_ptr(), Arc::clone(&properties));
            let factory = ArrowRowGroupWriterFactory::new(&alone.map_err(said)?, Arc::clone(&added));
            let columns = factory.create_column_writers(0).map_err(said)?;
            let writer = SerializedFileWriter::new(file, Arc::new(schema), properties).map_err(failed)?;
            let metadata = Arc::clone(metadata);
            How::Beside(Box::new(Beside { input, metadata, writer, added, factory, group: 0, rows: 0, columns }))
        };
        Ok(Self { shard: shard.clone(), refused, how })
    }

    fn failed(&self, error: &ParquetError) -> Failure {
        self.refused.or(|| Error::malformed_file(&self.shard.input, format!("cannot be copied: {error}")))
    }

    pub(super) fn write(&mut self, made: MadeRows) -> Result<(), Failure> {
        let done = match (&mut self.how, made) {
            (How::Beside(beside), MadeRows::Beside { group, rows, columns }) => beside.write(group, rows, &columns),
            (How::Anew(writer), MadeRows::Kept(rows)) => writer.write(&rows).and_then(|()| {
                // By what was written and not by time, so that every run cuts alike.
                if writer.in_progress_size() > GROUP_BYTES { writer.flush() } else { Ok(()) }
            }),
            _ => Err(ParquetError::General("rows of another kind".into())),
        };
        done.map_err(|error| self.failed(&error))
    }

    pub(super) fn finish(mut self) -> Result<(), Failure> {
        if let How::Beside(beside) = &mut self.how {
            let groups = beside.metadata.num_row_groups();
            beside.go_to(groups).map_err(|error| self.refused.or(|| copied(&self.shard, &error)))?;
        }
        let Self { shard, refused, how } = self;
        let file = match how {
            How::Beside(beside) => beside.writer.into_inner(),
            How::Anew(writer) => writer.into_inner(),
        };
        let file = file.map_err(|error| refused.or(|| copied(&shard, &error)))?;
        file.commit().map_err(Failure::Fatal)
    }
}

fn copied(shard: &Shard, error: &ParquetError) -> Error {
    Error::malformed_file(&shard.input, format!("cannot be copied: {error}"))
}

impl Beside {
    fn write(&mut self, group: usize, rows: u64, columns: &[ArrayRef]) -> Result<(), ParquetError> {
        self.go_to(group)?;
        self.rows += rows;
        let mut writers = self.columns.iter_mut();
        for (field, column) in self.added.fields().iter().zip(columns) {
            for (leaf, writer) in compute_leaves(field, column)?.iter().zip(&mut writers) {
                writer.write(leaf)?;
            }
        }
        Ok(())
    }

    /// Ends the row groups before this one.
    fn go_to(&mut self, group: usize) -> Result<(), ParquetError> {
        while self.group < group {
            let of_input = self.metadata.row_group(self.group);
            self.group += 1;
            let columns = std::mem::replace(&mut self.columns, self.factory.create_column_writers(self.group)?);
            let rows = std::mem::take(&mut self.rows);
            if i64::try_from(rows) != Ok(of_input.num_rows()) {
                let message = format!("row group {} has {rows} rows instead of {}", self.group, of_input.num_rows());
                return Err(ParquetError::General(message));
            }
            if rows == 0 {
                continue;
            }
            let mut output = self.writer.next_row_group()?;
            for column in of_input.columns() {
                output.append_column(&self.input, as_it_is(column, rows))?;
            }
            for column in columns {
                let mut chunk = column.close()?;
                // A file has indexes of pages for all columns or for none.
                (chunk.close_mut().column_index, chunk.close_mut().offset_index) = (None, None);
                chunk.append_to_row_group(&mut output)?;
            }
            output.close()?;
        }
        Ok(())
    }
}

/// A column that is copied; its indexes and filters are not.
fn as_it_is(column: &ColumnChunkMetaData, rows: u64) -> ColumnCloseResult {
    ColumnCloseResult {
        bytes_written: column.compressed_size() as u64,
        rows_written: rows,
        metadata: column.clone(),
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    }
}

/// How a shard is written: what the input says about itself stays, and what it says about its columns is said of the added ones,
/// too.
fn properties(reader: &ParquetReader, asked: &Asked<'_>) -> Result<WriterProperties, ParquetError> {
    let file = reader.metadata.file_metadata();
    let said: Vec<KeyValue> = file.key_value_metadata().cloned().unwrap_or_default();
    let has_schema = said.iter().any(|pair| pair.key == ARROW_SCHEMA_META_KEY);
    // Written anew, all columns are compressed as the first one was.
    let codec = reader.metadata.row_groups().first().and_then(|group| group.columns().first());
    let usual = || Compression::ZSTD(ZstdLevel::default());
    let codec = codec.filter(|_| reader.whole.is_some()).map_or_else(usual, ColumnChunkMetaData::compression);
    let others: Vec<KeyValue> = said.iter().filter(|pair| pair.key != ARROW_SCHEMA_META_KEY).cloned().collect();
    let builder = WriterProperties::builder().set_compression(codec);
    let mut properties = builder.set_key_value_metadata((!others.is_empty()).then_some(others)).build();
    if has_schema {
        let schema = parquet::arrow::parquet_to_arrow_schema(file.schema_descr(), Some(&said))?;
        add_encoded_arrow_schema_to_metadata(&with_added(&schema, asked), &mut properties);
    }
    Ok(properties)
}
