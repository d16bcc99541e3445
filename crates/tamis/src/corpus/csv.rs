//! CSV and TSV: a document in each record, fields by the names of the header, or by names that are given.
//!
//! Several labels stand in one field, separated by [`ReadOptions::label_separator`](super::ReadOptions). Records may
//! span lines within quotes. A stray quote makes one record of many: it is told by a quote that closes where no field ends.

use std::borrow::Cow;
use std::ops::ControlFlow;

use csv::ByteRecord;
use memchr::{memchr, memchr_iter};

use super::blocks::{Block, FileContext, Parse, Visit, too_long};
use super::dates::date_of;
use super::dialect::{self, Dialect};
use super::fields::{Fields, Role, part_of, tidy_labels, weight_in};
use super::{Body, Document, ReadOptions};
use crate::Result;

pub(crate) struct Csv {
    context: FileContext,
    dialect: Dialect,
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
        dialect: Dialect,
        options: &ReadOptions,
        first: &mut Block,
    ) -> Result<Self> {
        if dialect.says_delimiter {
            let line = memchr(b'\n', first.bytes()).map_or(first.bytes().len(), |at| at + 1);
            first.advance(line);
        }
        let mut csv = Self {
            context,
            dialect,
            separator: options.label_separator.clone(),
            fields: options.fields.clone(),
            header: Vec::new(),
            roles: Vec::new(),
        };
        let line = first.line;
        let mut record = ByteRecord::new();
        let mut reader = dialect.reader(first.bytes());
        reader.read_byte_record(&mut record).map_err(|e| csv.context.error(line, e.to_string()))?;
        let end = reader.position().byte() as usize;
        let mut header = Vec::new();
        for field in &record {
            header.push(csv.context.text(line, field)?.trim().to_owned());
        }
        let given = &options.columns;
        let same = |(a, b): (&String, &String)| a.eq_ignore_ascii_case(b);
        let is_header = given.is_empty() || (given.len() == header.len() && given.iter().zip(&header).all(same));
        csv.header = if given.is_empty() { header } else { given.clone() };
        let roles = csv.fields.roles(&csv.header).map_err(|reason| {
            let hint = if given.is_empty() {
                "; where the first row is no header, name the columns with the option `columns=text,label`"
            } else {
                ""
            };
            csv.context.error(line, format!("{reason}{hint}; {}", dialect.shown(first.bytes())))
        });
        csv.roles = roles?;
        if is_header {
            first.advance(end);
        }
        Ok(csv)
    }

    /// Names of the columns.
    pub(super) fn header(&self) -> &[String] {
        &self.header
    }

    fn document<'r>(&self, line: u64, record: &'r ByteRecord) -> Result<Document<'r>> {
        let error = |reason: String| self.context.error(line, reason);
        if record.len() != self.header.len() {
            let shown: Vec<_> = record.iter().map(String::from_utf8_lossy).collect();
            return Err(error(format!(
                "{} fields, but the header has {}; quote fields that hold the delimiter {:?}; found {}",
                record.len(),
                self.header.len(),
                char::from(self.dialect.delimiter),
                dialect::fields(shown.iter().map(AsRef::as_ref))
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
            weight: None,
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
                Role::Weight => document.weight = weight_in(value).map_err(named)?,
                Role::Date => document.date = date_of(value.trim().into(), self.fields.date_order).map_err(named)?,
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
        let mut record = ByteRecord::new();
        let (mut line, mut counted) = (block.line, 0);
        // Where the reader began: anew after a record that cannot be one.
        let mut base = 0;
        let mut reader = self.dialect.reader(bytes);
        loop {
            match reader.read_byte_record(&mut record) {
                Ok(false) => return ControlFlow::Continue(()),
                Ok(true) => {
                    // The reader's own line is where the record before ended: before `\n` of `\r\n`, before empty lines.
                    let mut start = base + record.position().map_or(0, |position| position.byte() as usize);
                    start += bytes[start..].iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
                    line += memchr_iter(b'\n', &bytes[counted..start]).count() as u64;
                    counted = start;
                    let end = base + reader.position().byte() as usize;
                    if let Some(lines) = self.swallowed(&bytes[start..end]) {
                        let reason = format!(
                            "a quote opens a field here and closes {lines} lines below, where no field ends: it swallowed \
                             records; double the quotes within fields, or read quotes as plain characters with the \
                             option `quotes=false`"
                        );
                        visit(Err(self.context.error(line, reason)))?;
                        base = start + memchr(b'\n', &bytes[start..]).map_or(bytes.len() - start, |at| at + 1);
                        reader = self.dialect.reader(&bytes[base..]);
                        continue;
                    }
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

impl Csv {
    /// How many lines below its beginning a quoted field closes, where that is another line and no field ends there.
    fn swallowed(&self, record: &[u8]) -> Option<usize> {
        let record = record.trim_ascii_end();
        if !self.dialect.quotes || memchr(b'\n', record).is_none() {
            return None;
        }
        let mut at = 0;
        loop {
            if record.get(at) == Some(&b'"') {
                let begin = at;
                at += 1;
                loop {
                    at += memchr(b'"', &record[at..])? + 1;
                    if record.get(at) != Some(&b'"') {
                        break;
                    }
                    at += 1;
                }
                let lines = memchr_iter(b'\n', &record[begin..at]).count();
                let ends = record.get(at).is_none_or(|&b| b == self.dialect.delimiter || matches!(b, b'\r' | b'\n'));
                if !ends && lines > 0 {
                    return Some(lines);
                }
            }
            at += memchr(self.dialect.delimiter, &record[at..])? + 1;
        }
    }
}
