//! Parquet: string columns for text, id, split and date; labels as strings, numbers, booleans or lists of them; tokens as
//! lists of strings. Needs the cargo feature `parquet`.

mod classes;
mod guarded;
mod values;

use std::borrow::Cow;
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array as _, RecordBatch};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Compression as ParquetCodec;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};

use self::classes::class_names;
use self::guarded::guarded;
use self::values::{label, label_list, list, mistyped, string, weight};
use super::blocks::{FileContext, Visit, too_long};
use super::dates::date_of;
use super::fields::{Role, part_of, tidy_labels};
use super::source::{Compression, Source};
use super::{Batch, Body, Document, ReadOptions};
use crate::{Error, Result};

/// Rows of a batch: a few hundred kilobytes of usual documents.
const ROWS: usize = 512;

/// What the batches of a file share.
struct RowGroups {
    context: FileContext,
    separator: String,
    fields: super::Fields,
    columns: Vec<Column>,
}

/// A column that is read.
struct Column {
    /// Its place in the batch.
    at: usize,
    name: String,
    role: Role,
    /// Names of the classes that its numbers stand for; empty where they are the labels themselves.
    classes: Vec<String>,
}

/// The rows of a file, one row group after the other: damage is somewhere.
pub(crate) struct Rows {
    reading: Arc<RowGroups>,
    file: File,
    metadata: ArrowReaderMetadata,
    mask: ProjectionMask,
    /// The row group that is read next, or is being read.
    group: usize,
    reader: Option<ParquetRecordBatchReader>,
    next: u64,
}

impl Rows {
    pub(crate) fn open(context: &FileContext, options: &ReadOptions) -> Result<Self> {
        let file = file(context)?;
        guarded(|| Self::begin(context, options, file)).unwrap_or_else(|panic| Err(not_whole(&context.path, &panic)))
    }

    fn begin(context: &FileContext, options: &ReadOptions, file: File) -> Result<Self> {
        let path = &context.path;
        // Without the Arrow schema that writers embed, every string is a plain string: no dictionaries, no views.
        let plain = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = ArrowReaderMetadata::load(&file, plain).map_err(|e| not_whole(path, &e.to_string()))?;
        let schema = Arc::clone(metadata.schema());
        let header: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let roles = options.fields.roles(&header).map_err(|reason| Error::malformed_file(path, reason))?;
        for &(column, role) in &roles {
            let (name, found) = (&header[column], schema.field(column).data_type());
            if let Some(expected) = mistyped(role, found) {
                let reason = format!("{name:?} must be {expected}, found a column of type {found}");
                return Err(Error::malformed_file(path, reason));
            }
        }
        refuse_codecs(path, metadata.metadata())?;
        let mut projected: Vec<usize> = roles.iter().map(|(column, _)| *column).collect();
        projected.sort_unstable();
        let place = |column: usize| projected.iter().position(|&p| p == column).unwrap_or_default();
        let column = |&(at, role): &(usize, Role)| {
            let name = header[at].clone();
            let classes = match role {
                Role::Labels => class_names(metadata.metadata().file_metadata(), &name),
                _ => Vec::new(),
            };
            Column { at: place(at), name, role, classes }
        };
        let columns = roles.iter().map(column).collect();
        let mask = ProjectionMask::roots(metadata.parquet_schema(), projected.iter().copied());
        let (separator, fields) = (options.label_separator.clone(), options.fields.clone());
        let reading = Arc::new(RowGroups { context: context.clone(), separator, fields, columns });
        Ok(Self { reading, file, metadata, mask, group: 0, reader: None, next: 1 })
    }

    fn groups(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    pub(crate) fn next(&mut self) -> Result<Option<RowBatch>> {
        while self.group < self.groups() {
            let batch = match guarded(|| self.read()) {
                Ok(Ok(Some(batch))) => batch,
                Ok(Ok(None)) => {
                    self.reader = None;
                    self.group += 1;
                    continue;
                }
                Ok(Err(why)) | Err(why) => {
                    let reason = format!(
                        "damaged Parquet data in row group {} of {} ({}); fetch or write the file again",
                        self.group + 1,
                        self.groups(),
                        brief(&why)
                    );
                    // What a panic left behind is not used.
                    (self.reader, self.group) = (None, self.groups());
                    return Err(self.reading.context.error(self.next, reason));
                }
            };
            let first = self.next;
            self.next += batch.num_rows() as u64;
            return Ok(Some(RowBatch { reading: Arc::clone(&self.reading), batch, first }));
        }
        Ok(None)
    }

    /// The next rows of the row group.
    fn read(&mut self) -> Result<Option<RecordBatch>, String> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            none => {
                let file = self.file.try_clone().map_err(|e| e.to_string())?;
                let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
                let builder = builder.with_projection(self.mask.clone()).with_batch_size(ROWS);
                none.insert(builder.with_row_groups(vec![self.group]).build().map_err(|e| e.to_string())?)
            }
        };
        reader.next().transpose().map_err(|e| e.to_string())
    }
}

fn not_whole(path: &Path, why: &str) -> Error {
    Error::malformed_file(path, format!("not a whole Parquet file ({}); fetch or write it again", brief(why)))
}

/// What other crates say, in one line of sensible length.
fn brief(why: &str) -> String {
    let line = why.lines().next().unwrap_or_default();
    match line.char_indices().nth(200) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// A codec that is not compiled in is no damage.
fn refuse_codecs(path: &Path, metadata: &ParquetMetaData) -> Result<()> {
    let mut codecs =
        metadata.row_groups().iter().flat_map(RowGroupMetaData::columns).map(ColumnChunkMetaData::compression);
    match codecs.find(|codec| matches!(codec, ParquetCodec::LZO)) {
        None => Ok(()),
        Some(codec) => {
            let reason =
                format!("is compressed with {codec}, which this build cannot read; write it with zstd or snappy");
            Err(Error::malformed_file(path, reason))
        }
    }
}

/// The file itself, or its decompressed content in a temporary file: Parquet is read from its end.
fn file(context: &FileContext) -> Result<File> {
    let path = &context.path;
    let io = |e| Error::io(path, e);
    let mut source = Source::open(path, None)?;
    if source.compression == Compression::Plain {
        return File::open(path).map_err(io);
    }
    let mut plain = tempfile::tempfile().map_err(io)?;
    let mut buffer = Vec::new();
    while source.read_into(&mut buffer, 1 << 20, 1)? > 0 {
        plain.write_all(&buffer).map_err(io)?;
        buffer.clear();
    }
    plain.rewind().map_err(io)?;
    Ok(plain)
}

/// Consecutive rows.
pub(crate) struct RowBatch {
    reading: Arc<RowGroups>,
    batch: RecordBatch,
    /// The number of the first row, counted from 1.
    first: u64,
}

impl Batch for RowBatch {
    fn visit(&self, visit: &mut Visit<'_>) {
        for row in 0..self.batch.num_rows() {
            let damaged = |panic: String| {
                let reason = format!("damaged Parquet data ({}); fetch or write the file again", brief(&panic));
                Err(self.reading.context.error(self.first + row as u64, reason))
            };
            if let ControlFlow::Break(()) = visit(guarded(|| self.document(row)).unwrap_or_else(damaged)) {
                return;
            }
        }
    }
}

impl RowBatch {
    fn document(&self, row: usize) -> Result<Document<'_>> {
        let reading = &*self.reading;
        let number = self.first + row as u64;
        let mut document = Document {
            id: Cow::Borrowed(""),
            body: Body::Text(Cow::Borrowed("")),
            labels: Vec::new(),
            part: reading.context.part,
            date: None,
            weight: None,
        };
        let (mut text, mut named, mut tokens) = (None, Vec::new(), None);
        for Column { at, name, role, classes } in &reading.columns {
            let array = self.batch.column(*at);
            if array.is_null(row) {
                continue;
            }
            let error = |reason: String| reading.context.error(number, format!("{name:?} {reason}"));
            let one = || string(array, row).map_err(error);
            match role {
                Role::Text => text = Some(one()?),
                Role::Field(field) => named.push((*field, one()?)),
                Role::Tokens => {
                    tokens = Some(match list(array, row).map_err(error)? {
                        Some(list) => list.into_iter().map(Cow::Owned).collect(),
                        None => one()?.split_whitespace().map(|t| Cow::Owned(t.to_owned())).collect(),
                    });
                }
                Role::Labels => match label_list(array, row, classes).map_err(error)? {
                    Some(list) => document.labels.extend(list.into_iter().map(Cow::Owned)),
                    None if classes.is_empty() => {
                        let label = label(array, row, classes).map_err(error)?;
                        label.into_iter().for_each(|field| self.split_labels(field, &mut document.labels));
                    }
                    // A name is one label, whatever characters it has.
                    None => document.labels.extend(label(array, row, classes).map_err(error)?),
                },
                Role::Id => document.id = one()?,
                Role::Split => document.part = part_of(&one()?).map_err(error)?.or(document.part),
                Role::Date => document.date = date_of(one()?, reading.fields.date_order).map_err(error)?,
                Role::Weight => document.weight = weight(array, row).map_err(error)?,
                Role::Counts => {}
            }
        }
        let long = |text: &Cow<'_, str>| text.len() > reading.context.limit;
        if text.iter().chain(named.iter().map(|(_, text)| text)).any(long) {
            return Err(reading.context.error(number, too_long(reading.context.limit)));
        }
        document.body = match (reading.fields.body(text, named), tokens) {
            (Some(body), _) => body,
            (None, Some(tokens)) => Body::Tokens(tokens),
            (None, None) => return Err(reading.context.error(number, "the row has no text")),
        };
        tidy_labels(&mut document.labels);
        if document.id.is_empty() {
            document.id = reading.context.id_of_line(number).into();
        }
        Ok(document)
    }

    fn split_labels<'a>(&self, field: Cow<'a, str>, labels: &mut Vec<Cow<'a, str>>) {
        let separator = self.reading.separator.as_str();
        match field {
            field if separator.is_empty() || !field.contains(separator) => labels.push(field),
            Cow::Borrowed(text) => labels.extend(text.split(separator).map(Cow::Borrowed)),
            Cow::Owned(text) => labels.extend(text.split(separator).map(|label| Cow::Owned(label.to_owned()))),
        }
    }
}
