//! Tables for people, TSV and JSON for programs.

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write};

use clap::ValueEnum;
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;

use crate::global::Global;

/// Form of the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Table,
    /// Tab-separated, with a header line.
    Tsv,
    /// For programs.
    Json,
}

/// Standard output, buffered. A reader that went away is not an error (see [`is_broken_pipe`]).
pub(crate) fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// Whether the error is only that nobody reads on.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
            || matches!(cause.downcast_ref::<tamis::Error>(),
                Some(tamis::Error::Io { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// Prints an error for people.
pub(crate) fn print_error(error: &anyhow::Error) {
    let mut message = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        // Errors that quote their cause need it only once.
        if !message.ends_with(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    // Where standard error is full or gone, the exit code must do.
    let _ = writeln!(io::stderr(), "tamis: {}", cut(&visible(&flags(&message), &['\n', '\t'])));
}

/// Characters of a message at most.
const LONGEST_MESSAGE: usize = 4_000;

/// A message of sensible length: who reads a name of a megabyte?
fn cut(message: &str) -> String {
    match message.char_indices().nth(LONGEST_MESSAGE) {
        None => message.to_owned(),
        Some((at, _)) => format!("{}… ({} characters more)", &message[..at], message[at..].chars().count()),
    }
}

/// A text without characters that a terminal obeys: they are shown as escapes. Names come from files of others.
pub(crate) fn visible<'t>(text: &'t str, kept: &[char]) -> Cow<'t, str> {
    let obeyed = |c: char| {
        (c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')) && !kept.contains(&c)
    };
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let show = |c: char| if obeyed(c) { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(show).collect())
}

/// A message of the library with its options as flags.
pub(crate) fn flags(message: &str) -> String {
    tamis::spell_options(message, |option, value| {
        let flag = flag(option);
        match value {
            None => flag,
            Some(value) if value.is_empty() || value.contains([' ', '(', '[', '\'', '*']) => {
                format!("{flag} {value:?}")
            }
            Some(value) => format!("{flag} {value}"),
        }
    })
}

/// The flag of an option.
pub(crate) fn flag(option: &str) -> String {
    format!("--{}", option.replace('_', "-"))
}

/// Rows under a header, in any format.
pub(crate) struct Rows {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Rows {
    /// No rows yet.
    pub(crate) fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn push<S: Into<String>>(&mut self, row: impl IntoIterator<Item = S>) {
        let row: Vec<String> = row.into_iter().map(Into::into).collect();
        debug_assert_eq!(row.len(), self.header.len());
        self.rows.push(row);
    }

    /// As JSON objects, one for each row; values stay text.
    pub(crate) fn objects(&self) -> Vec<serde_json::Map<String, serde_json::Value>> {
        let object = |row: &Vec<String>| {
            self.header.iter().cloned().zip(row.iter().map(|v| serde_json::Value::String(v.clone()))).collect()
        };
        self.rows.iter().map(object).collect()
    }

    /// As a table; columns of numbers are right-aligned.
    pub(crate) fn table(&self, global: &Global) -> Table {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        if global.colors_on_stdout() {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        table.set_header(self.header.iter().map(|h| Cell::new(h).add_attribute(Attribute::Bold)));
        for row in &self.rows {
            table.add_row(row.iter().map(|cell| visible(cell, &[])));
        }
        for column in 0..self.header.len() {
            let numeric = self.rows.iter().map(|r| r[column].as_str()).filter(|c| !c.is_empty());
            if numeric.clone().next().is_some()
                && numeric.clone().all(looks_numeric)
                && let Some(column) = table.column_mut(column)
            {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
    }

    /// As TSV. Tabs and line ends inside values become blanks, so that a row stays a line.
    pub(crate) fn write_tsv(&self, out: &mut impl Write) -> io::Result<()> {
        let on_terminal = io::stdout().is_terminal();
        for row in std::iter::once(&self.header).chain(&self.rows) {
            let line: Vec<String> = row.iter().map(|v| v.replace(['\t', '\n', '\r'], " ")).collect();
            let line = line.join("\t");
            writeln!(out, "{}", if on_terminal { visible(&line, &['\t']) } else { Cow::Borrowed(line.as_str()) })?;
        }
        Ok(())
    }
}

fn looks_numeric(text: &str) -> bool {
    text.trim_end_matches(['%', 's', 'x']).replace([',', '±', ' '], "").parse::<f64>().is_ok()
}

/// Prints a value as JSON, with a line end.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut out = stdout();
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}

/// Prints rows as a table or TSV.
pub(crate) fn print_rows(rows: &Rows, format: Format, global: &Global) -> anyhow::Result<()> {
    let mut out = stdout();
    match format {
        Format::Table | Format::Json => writeln!(out, "{}", trimmed(&rows.table(global)))?,
        Format::Tsv => rows.write_tsv(&mut out)?,
    }
    out.flush()?;
    Ok(())
}

/// A table without the blanks at line ends.
pub(crate) fn trimmed(table: &Table) -> String {
    table.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// 1234567 as 1,234,567.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_short_and_harmless() {
        assert_eq!(visible("a\u{1b}[31mb\nc", &['\n']), "a\\u{1b}[31mb\nc");
        assert_eq!(visible("a\u{202e}b\u{9b}", &[]), "a\\u{202e}b\\u{9b}");
        assert_eq!(visible("naïve 手机", &[]), "naïve 手机");
        let long = cut(&"x".repeat(150_000));
        assert!(long.len() < 5_000 && long.ends_with("… (146000 characters more)"), "{long}");
    }

    #[test]
    fn groups_of_three() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
