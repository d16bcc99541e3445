//! Parquet: string columns for text, id, split and date; labels and tokens as lists of strings. Needs the cargo feature
//! `parquet`.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Date32Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;

use super::blocks::{FileContext, Visit, too_long};
use super::fields::{Role, date_of, part_of, tidy_labels};
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
    /// Column of the batch, its name, its role.
    columns: Vec<(usize, String, Role)>,
}

/// The rows of a file.
pub(crate) struct Rows {
    reading: Arc<RowGroups>,
    reader: ParquetRecordBatchReader,
    next: u64,
}

impl Rows {
    pub(crate) fn open(context: &FileContext, options: &ReadOptions) -> Result<Self> {
        let path = &context.path;
        let error = |e: ParquetError| {
            Error::malformed_file(path, format!("not a whole Parquet file ({e}); fetch or write it again"))
        };
        // Without the Arrow schema that writers embed, every string is a plain string: no dictionaries, no views.
        let plain = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(file(context)?, plain).map_err(error)?;
        let schema = Arc::clone(builder.schema());
        let header: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let roles = options.fields.roles(&header).map_err(|reason| Error::malformed_file(path, reason))?;
        for &(column, role) in &roles {
            let (name, found) = (&header[column], schema.field(column).data_type());
            if let Some(expected) = mistyped(role, found) {
                let reason = format!("{name:?} must be {expected}, found a column of type {found}");
                return Err(Error::malformed_file(path, reason));
            }
        }
        let mut projected: Vec<usize> = roles.iter().map(|(column, _)| *column).collect();
        projected.sort_unstable();
        let place = |column: usize| projected.iter().position(|&p| p == column).unwrap_or_default();
        let columns = roles.iter().map(|&(c, role)| (place(c), header[c].clone(), role)).collect();
        let mask = ProjectionMask::roots(builder.parquet_schema(), projected.iter().copied());
        let reader = builder.with_projection(mask).with_batch_size(ROWS).build().map_err(error)?;
        let (separator, fields) = (options.label_separator.clone(), options.fields.clone());
        let reading = RowGroups { context: context.clone(), separator, fields, columns };
        Ok(Self { reading: Arc::new(reading), reader, next: 1 })
    }

    pub(crate) fn next(&mut self) -> Result<Option<RowBatch>> {
        let Some(batch) = self.reader.next() else { return Ok(None) };
        let batch = batch.map_err(|e| {
            let reason = format!("damaged Parquet data ({e}); fetch or write the file again");
            self.reading.context.error(self.next, reason)
        })?;
        let first = self.next;
        self.next += batch.num_rows() as u64;
        Ok(Some(RowBatch { reading: Arc::clone(&self.reading), batch, first }))
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

/// What a column must be, when it is something else.
fn mistyped(role: Role, found: &DataType) -> Option<&'static str> {
    let is_text = |kind: &DataType| matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary);
    let is_list = |kind: &DataType| match kind {
        DataType::List(item) => is_text(item.data_type()),
        _ => false,
    };
    let is_whole =
        |kind: &DataType| matches!(kind, DataType::Int32 | DataType::Int64 | DataType::UInt32 | DataType::UInt64);
    let is_date = |kind: &DataType| matches!(kind, DataType::Date32 | DataType::Timestamp(..));
    let (fits, expected) = match role {
        Role::Text | Role::Field(_) | Role::Split | Role::Counts => (is_text(found), "a string"),
        Role::Id => (is_text(found) || is_whole(found), "a string or a whole number"),
        Role::Labels => (is_text(found) || is_list(found), "a list of strings or a string"),
        Role::Tokens => (is_text(found) || is_list(found), "a list of strings"),
        Role::Date => (is_text(found) || is_date(found), "a string or a date"),
    };
    (!fits).then_some(expected)
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
            if let ControlFlow::Break(()) = visit(self.document(row)) {
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
        };
        let (mut text, mut named, mut tokens) = (None, Vec::new(), None);
        for (column, name, role) in &reading.columns {
            let array = self.batch.column(*column);
            if array.is_null(row) {
                continue;
            }
            let error = |reason: String| reading.context.error(number, format!("{name:?} {reason}"));
            let one = || string(array, row).map_err(error);
            match role {
                Role::Text => text = Some(one()?),
                Role::Field(at) => named.push((*at, one()?)),
                Role::Tokens => {
                    tokens = Some(match list(array, row).map_err(error)? {
                        Some(list) => list.into_iter().map(Cow::Owned).collect(),
                        None => one()?.split_whitespace().map(|t| Cow::Owned(t.to_owned())).collect(),
                    });
                }
                Role::Labels => match list(array, row).map_err(error)? {
                    Some(list) => document.labels.extend(list.into_iter().map(Cow::Owned)),
                    None => self.split_labels(one()?, &mut document.labels),
                },
                Role::Id => document.id = one()?,
                Role::Split => document.part = part_of(&one()?).map_err(error)?.or(document.part),
                Role::Date => document.date = date_of(one()?).map_err(error)?,
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

/// The value of a column as a string.
fn string(array: &ArrayRef, row: usize) -> Result<Cow<'_, str>, String> {
    Ok(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).into(),
        DataType::Binary => {
            std::str::from_utf8(array.as_binary::<i32>().value(row)).map_err(|_| "is not UTF-8".to_owned())?.into()
        }
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).to_string().into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).to_string().into(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).to_string().into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).to_string().into(),
        DataType::Date32 => iso_day(i64::from(array.as_primitive::<Date32Type>().value(row))).into(),
        DataType::Timestamp(unit, _) => {
            let (ticks, per_second) = match unit {
                TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().value(row), 1),
                TimeUnit::Millisecond => (array.as_primitive::<TimestampMillisecondType>().value(row), 1_000),
                TimeUnit::Microsecond => (array.as_primitive::<TimestampMicrosecondType>().value(row), 1_000_000),
                TimeUnit::Nanosecond => (array.as_primitive::<TimestampNanosecondType>().value(row), 1_000_000_000),
            };
            iso_second(ticks.div_euclid(per_second)).into()
        }
        other => return Err(format!("cannot be read from a column of type {other}")),
    })
}

/// The value of a list column; `None` when the column is no list.
fn list(array: &ArrayRef, row: usize) -> Result<Option<Vec<String>>, String> {
    let Some(lists) = array.as_list_opt::<i32>() else { return Ok(None) };
    let items = lists.value(row);
    let owned = |at: usize| string(&items, at).map(Cow::into_owned);
    (0..items.len()).filter(|&at| !items.is_null(at)).map(owned).collect::<Result<_, _>>().map(Some)
}

/// Days since 1970 as a date of the Gregorian calendar, by counting in eras of 400 years that begin in March.
fn iso_day(days: i64) -> String {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year_of_era + next_year)
}

fn iso_second(seconds: i64) -> String {
    let of_day = seconds.rem_euclid(86_400);
    let time = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{}T{:02}:{:02}:{:02}", iso_day(seconds.div_euclid(86_400)), time.0, time.1, time.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        let cases = [(0, "1970-01-01"), (-1, "1969-12-31"), (11_016, "2000-02-29"), (19_874, "2024-05-31")];
        for (days, date) in cases {
            assert_eq!(iso_day(days), date);
        }
        assert_eq!(iso_second(951_782_399), "2000-02-28T23:59:59");
        // Every day follows the one before, over four centuries.
        let mut before = iso_day(-150_000);
        for days in -149_999..150_000 {
            let day = iso_day(days);
            assert!(day > before, "{day}");
            before = day;
        }
    }
}
