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

use arrow_array::{Array as _, ArrayRef, RecordBatch};
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
        Self::of_file(context, options, file(context)?, false)
    }

    /// Reads a file that is open: what documents are made of, or with `whole` all columns.
    pub(crate) fn of_file(context: &FileContext, options: &ReadOptions, file: File, whole: bool) -> Result<Self> {
        let begin = || Self::begin(context, options, file, whole);
        guarded(begin).unwrap_or_else(|panic| Err(not_whole(&context.path, &panic)))
    }

    /// Names of all columns of the file.
    pub(super) fn names(&self) -> Vec<String> {
        self.metadata.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn begin(context: &FileContext, options: &ReadOptions, file: File, whole: bool) -> Result<Self> {
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
        let mut projected: Vec<usize> =
            if whole { (0..header.len()).collect() } else { roles.iter().map(|(column, _)| *column).collect() };
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

    /// The description of the file.
    pub(crate) fn metadata(&self) -> &ArrowReaderMetadata {
        &self.metadata
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
            return Ok(Some(RowBatch { reading: Arc::clone(&self.reading), batch, first, group: self.group }));
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

/// Names of all columns, and the first rows as text; what is neither a text, a number nor a list of them is empty. An error for what is no whole
/// file, which whoever opens it can tell better.
pub(super) fn first_rows(path: &Path, most: usize) -> std::result::Result<(Vec<String>, Vec<Vec<String>>), String> {
    let read = || -> std::result::Result<_, String> {
        let file = File::open(path).map_err(|e| e.to_string())?;
        let plain = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = ArrowReaderMetadata::load(&file, plain).map_err(|e| e.to_string())?;
        let names: Vec<String> = metadata.schema().fields().iter().map(|field| field.name().clone()).collect();
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata).with_batch_size(most);
        let Some(batch) = builder.with_limit(most).build().map_err(|e| e.to_string())?.next() else {
            return Ok((names, Vec::new()));
        };
        let batch = batch.map_err(|e| e.to_string())?;
        let cell = |array: &ArrayRef, row: usize| {
            if array.is_null(row) {
                return String::new();
            }
            let items = list(array, row).unwrap_or_default();
            items
                .map(|items| items.join(";"))
                .or_else(|| label(array, row, &[]).ok()?.map(Cow::into_owned))
                .unwrap_or_default()
        };
        let row = |row: usize| batch.columns().iter().map(|array| cell(array, row)).collect();
        Ok((names, (0..batch.num_rows()).map(row).collect()))
    };
    guarded(read).and_then(|read| read)
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
    /// The row group it is in, counted from 0.
    pub(crate) group: usize,
}

impl Batch for RowBatch {
    fn visit(&self, visit: &mut Visit<'_>) {
        for row in 0..self.batch.num_rows() {
            if let ControlFlow::Break(()) = visit(self.guarded(row, || self.document(row))) {
                return;
            }
        }
    }
}

impl RowBatch {
    fn guarded<T>(&self, row: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
        guarded(work).unwrap_or_else(|panic| {
            let reason = format!("damaged Parquet data ({}); fetch or write the file again", brief(&panic));
            Err(self.reading.context.error(self.first + row as u64, reason))
        })
    }

    /// The rows with the columns that are read.
    pub(crate) fn rows(&self) -> &RecordBatch {
        &self.batch
    }

    /// What a row says, and nothing else of it; none where its text is null.
    pub(crate) fn body(&self, row: usize) -> Result<Option<Body<'_>>> {
        self.guarded(row, || {
            let mut texts = Texts::default();
            for column in &self.reading.columns {
                texts.read(self, row, column)?;
            }
            texts.body(self, row)
        })
    }

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
        let mut texts = Texts::default();
        for column in &reading.columns {
            texts.read(self, row, column)?;
            let Column { at, name, role, classes } = column;
            let array = self.batch.column(*at);
            if array.is_null(row) {
                continue;
            }
            let error = |reason: String| reading.context.error(number, format!("{name:?} {reason}"));
            let one = || string(array, row).map_err(error);
            match role {
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
                Role::Text | Role::Field(_) | Role::Tokens | Role::Counts => {}
            }
        }
        document.body = texts.body(self, row)?.ok_or_else(|| reading.context.error(number, "the row has no text"))?;
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

/// What the text columns of a row hold.
#[derive(Default)]
struct Texts<'a> {
    text: Option<Cow<'a, str>>,
    named: Vec<(usize, Cow<'a, str>)>,
    tokens: Option<Vec<Cow<'a, str>>>,
}

impl<'a> Texts<'a> {
    /// Takes what a column has, where it is one of texts.
    fn read(&mut self, batch: &'a RowBatch, row: usize, Column { at, name, role, .. }: &Column) -> Result<()> {
        let array = batch.batch.column(*at);
        if !matches!(role, Role::Text | Role::Field(_) | Role::Tokens) || array.is_null(row) {
            return Ok(());
        }
        let error =
            |reason: String| batch.reading.context.error(batch.first + row as u64, format!("{name:?} {reason}"));
        let one = || string(array, row).map_err(error);
        match role {
            Role::Text => self.text = Some(one()?),
            Role::Field(field) => self.named.push((*field, one()?)),
            _ => {
                self.tokens = Some(match list(array, row).map_err(error)? {
                    Some(list) => list.into_iter().map(Cow::Owned).collect(),
                    None => one()?.split_whitespace().map(|t| Cow::Owned(t.to_owned())).collect(),
                });
            }
        }
        Ok(())
    }

    fn body(self, batch: &RowBatch, row: usize) -> Result<Option<Body<'a>>> {
        let Self { text, named, tokens } = self;
        let context = &batch.reading.context;
        let long = |text: &Cow<'_, str>| text.len() > context.limit;
        if text.iter().chain(named.iter().map(|(_, text)| text)).any(long) {
            return Err(context.error(batch.first + row as u64, too_long(context.limit)));
        }
        Ok(batch.reading.fields.body(text, named).or_else(|| tokens.map(Body::Tokens)))
    }
}
