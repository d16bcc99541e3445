//! CSV and TSV with a header: a document in each record, fields by the names of the header.
//!
//! Several labels stand in one field, separated by [`ReadOptions::label_separator`](super::ReadOptions). Records may
//! span lines within quotes.

use std::borrow::Cow;
use std::ops::ControlFlow;

use csv::{ByteRecord, ReaderBuilder};
use memchr::memchr_iter;

use super::blocks::{Block, FileContext, Parse, Visit, too_long};
use super::fields::{Fields, Role, date_of, part_of, tidy_labels};
use super::{Body, Document};
use crate::Result;

pub(crate) struct Csv {
    context: FileContext,
    delimiter: u8,
    quotes: bool,
    /// Label separator; empty: the field is one label.
    separator: String,
    fields: Fields,
    header: Vec<String>,
    /// Column and role, for the columns that are read.
    roles: Vec<(usize, Role)>,
}

impl Csv {
    /// Takes the header off the first block of a file.
    pub(crate) fn new(
        context: FileContext,
        (delimiter, quotes): (u8, bool),
        separator: &str,
        fields: &Fields,
        first: &mut Block,
    ) -> Result<Self> {
        let mut csv = Self {
            context,
            delimiter,
            quotes,
            separator: separator.to_owned(),
            fields: fields.clone(),
            header: Vec::new(),
            roles: Vec::new(),
        };
        let line = first.line;
        let mut record = ByteRecord::new();
        let mut reader = csv.reader(first.bytes());
        reader.read_byte_record(&mut record).map_err(|e| csv.context.error(line, e.to_string()))?;
        let end = reader.position().byte() as usize;
        for field in &record {
            csv.header.push(csv.context.text(line, field)?.trim().to_owned());
        }
        first.advance(end);
        csv.roles = fields.roles(&csv.header).map_err(|reason| csv.context.error(line, reason))?;
        Ok(csv)
    }

    fn reader<'b>(&self, bytes: &'b [u8]) -> csv::Reader<&'b [u8]> {
        ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(self.delimiter)
            .quoting(self.quotes)
            .buffer_capacity(64 * 1024)
            .from_reader(bytes)
    }

    fn document<'r>(&self, line: u64, record: &'r ByteRecord) -> Result<Document<'r>> {
        let error = |reason: String| self.context.error(line, reason);
        if record.len() != self.header.len() {
            return Err(error(format!(
                "{} fields, but the header has {}; quote fields that hold the delimiter",
                record.len(),
                self.header.len()
            )));
        }
        if record.as_slice().len() > self.context.limit {
            return Err(error(too_long(self.context.limit)));
        }
        let mut document = Document {
            id: Cow::Borrowed(""),
            body: Body::Text(Cow::Borrowed("")),
            labels: Vec::new(),
            part: self.context.part,
            date: None,
        };
        let (mut text, mut named_texts) = (None, Vec::new());
        for &(column, role) in &self.roles {
            let value = self.context.text(line, &record[column])?;
            let named = |reason: String| error(format!("{:?} {reason}", self.header[column]));
            match role {
                Role::Id => document.id = value.trim().into(),
                Role::Text => text = Some(value.into()),
                Role::Field(at) => named_texts.push((at, value.into())),
                Role::Tokens => {
                    document.body = Body::Tokens(value.split_whitespace().map(Cow::Borrowed).collect());
                }
                Role::Counts => {}
                Role::Labels if self.separator.is_empty() => document.labels.push(value.into()),
                Role::Labels => document.labels.extend(value.split(&*self.separator).map(Cow::Borrowed)),
                Role::Split => document.part = part_of(value).map_err(named)?.or(document.part),
                Role::Date => document.date = date_of(value.trim().into()).map_err(named)?,
            }
        }
        if let Some(body) = self.fields.body(text, named_texts) {
            document.body = body;
        }
        tidy_labels(&mut document.labels);
        if document.id.is_empty() {
            document.id = self.context.id_of_line(line).into();
        }
        Ok(document)
    }
}

impl Parse for Csv {
    fn parse(&self, block: &Block, visit: &mut Visit<'_>) -> ControlFlow<()> {
        let bytes = block.bytes();
        let mut reader = self.reader(bytes);
        let mut record = ByteRecord::new();
        let (mut line, mut counted) = (block.line, 0);
        loop {
            match reader.read_byte_record(&mut record) {
                Ok(false) => return ControlFlow::Continue(()),
                Ok(true) => {
                    // The reader's own line is where the record before ended: before `\n` of `\r\n`, before empty lines.
                    let mut start = record.position().map_or(0, |position| position.byte() as usize);
                    start += bytes[start..].iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
                    line += memchr_iter(b'\n', &bytes[counted..start]).count() as u64;
                    counted = start;
                    visit(self.document(line, &record))?;
                }
                // The source is in memory and any width is allowed: nothing is left that could fail.
                Err(error) => {
                    visit(Err(self.context.error(line, error.to_string())))?;
                    return ControlFlow::Continue(());
                }
            }
        }
    }
}
