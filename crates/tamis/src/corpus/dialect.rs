//! How a CSV file is written: what stands between fields, told by its first rows.

use csv::{ByteRecord, ReaderBuilder};

use super::fields::quoted;
use super::{Fields, Format, ReadOptions};

/// How the fields of a file are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) delimiter: u8,
    pub(crate) quotes: bool,
    /// The first line is Excel's `sep=;`, and no record.
    pub(crate) says_delimiter: bool,
}

/// What files have between fields, the usual one first.
const DELIMITERS: [u8; 4] = *b",;\t|";

/// Rows that are looked at.
const ROWS: usize = 30;

impl Dialect {
    /// The dialect of a file that begins so.
    pub(crate) fn of(head: &[u8], format: Format, options: &ReadOptions) -> Self {
        let mut dialect = Self { delimiter: b',', quotes: options.quotes, says_delimiter: false };
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        if let [b's', b'e', b'p', b'=', delimiter, b'\r' | b'\n', ..] = *head {
            return Self { delimiter, says_delimiter: true, ..dialect };
        }
        dialect.delimiter = match (options.delimiter, format) {
            (Some(given), _) => given as u8,
            (None, Format::Tsv) => b'\t',
            // Of candidates that are as good, the last is taken: the usual one is looked at last.
            _ => DELIMITERS
                .into_iter()
                .rev()
                .max_by_key(|&delimiter| Self { delimiter, ..dialect }.likelihood(head, options))
                .unwrap_or(b','),
        };
        dialect
    }

    pub(crate) fn reader<'b>(&self, bytes: &'b [u8]) -> csv::Reader<&'b [u8]> {
        ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(self.delimiter)
            .quoting(self.quotes)
            .buffer_capacity(64 * 1024)
            .from_reader(bytes)
    }

    /// How well rows fit: columns of known names, then rows as wide as the first one, or as the columns that were named.
    fn likelihood(&self, head: &[u8], options: &ReadOptions) -> (usize, usize) {
        let rows = self.rows(head, ROWS);
        let Some(first) = rows.first() else { return (0, 0) };
        let names = known(first, &options.fields);
        let width = if options.columns.is_empty() { first.len() } else { options.columns.len() };
        let fitting = rows.iter().filter(|row| row.len() == width).count();
        (
            names,
            if width > 1 && fitting == rows.len() { ROWS + width } else { fitting.min(ROWS) * usize::from(width > 1) },
        )
    }

    /// The first rows; the last one may be cut, and is left out where there are others.
    pub(crate) fn rows(&self, head: &[u8], most: usize) -> Vec<Vec<String>> {
        let mut reader = self.reader(head);
        let mut record = ByteRecord::new();
        let mut rows: Vec<Vec<String>> = Vec::new();
        while rows.len() < most && matches!(reader.read_byte_record(&mut record), Ok(true)) {
            rows.push(record.iter().map(|field| String::from_utf8_lossy(field).trim().to_owned()).collect());
        }
        if reader.is_done() && !head.ends_with(b"\n") && rows.len() > 1 {
            rows.pop();
        }
        rows
    }

    /// The first rows as they are understood, to show them where something is in doubt.
    pub(crate) fn shown(&self, head: &[u8]) -> String {
        let mut shown =
            format!("the first rows, with {} between fields:", quoted(&char::from(self.delimiter).to_string()));
        for row in self.rows(&head[..head.len().min(16 * 1024)], 3) {
            shown.push_str("\n  ");
            shown.push_str(&fields(row.iter().map(String::as_str)));
        }
        shown
    }
}

/// Fields of a row for people.
pub(crate) fn fields<'f>(row: impl ExactSizeIterator<Item = &'f str>) -> String {
    let more = row.len().saturating_sub(8);
    let mut shown: Vec<String> = row.take(8).map(quoted).collect();
    if more > 0 {
        shown.push(format!("… {more} more"));
    }
    shown.join(" | ")
}

/// How many columns have names that are looked for.
pub(crate) fn known<S: AsRef<str>>(header: &[S], fields: &Fields) -> usize {
    let names = fields.names();
    header.iter().filter(|column| names.iter().any(|(name, _)| name.eq_ignore_ascii_case(column.as_ref()))).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delimiter(head: &str) -> char {
        Dialect::of(head.as_bytes(), Format::Csv, &ReadOptions::default()).delimiter.into()
    }

    #[test]
    fn rows_tell_the_delimiter() {
        assert_eq!(delimiter("id,text,label\n1,a;b,x\n"), ',');
        assert_eq!(delimiter("id;text;label\n1;a, b, c;x\n"), ';');
        assert_eq!(delimiter("id\ttext\tlabel\n1\ta, b, c\tx;y\n"), '\t');
        assert_eq!(delimiter("id|text\n1|a, b, c\n"), '|');
        assert_eq!(delimiter("text\na, b\nc; d\n"), ',');
        assert_eq!(delimiter("a;1\nb, c;2\nd;3\n"), ';');
        assert_eq!(delimiter("\u{feff}sep=|\r\nid|text\n"), '|');
        assert_eq!(delimiter(""), ',');
        let columns = ReadOptions { columns: vec!["text".into(), "label".into()], ..ReadOptions::default() };
        assert_eq!(Dialect::of(b"a, b, c;x\nd, e, f;y\n", Format::Csv, &columns).delimiter, b';');
    }
}
