//! Score tables as text: a header, a `truth` column of 0 and 1, one column of scores for each level.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use super::scores::{ScoreTable, in_unit_interval};
use crate::whole::{Limited, MAX_SCORES};
use crate::{Error, Result};

impl ScoreTable {
    /// Reads a TSV or CSV file; see [`ScoreTable::read`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        Self::read(Limited::new(file, "a table of scores", MAX_SCORES), path)
    }

    /// Reads TSV (when the first line has a tab) or CSV; `path` is for messages. The header names the columns: `truth`
    /// holds 0 or 1, `id` is passed over, every other column is a level, root first from left to right.
    pub fn read(input: impl Read, path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut input = BufReader::new(input);
        let tabs = input.fill_buf().map_err(|e| Error::io(path, e))?;
        let first_line = tabs.split(|&b| b == b'\n').next().unwrap_or_default();
        let delimiter = if first_line.contains(&b'\t') { b'\t' } else { b',' };
        let mut reader =
            csv::ReaderBuilder::new().delimiter(delimiter).flexible(true).has_headers(false).from_reader(input);
        let mut record = csv::StringRecord::new();
        if !read_record(&mut reader, &mut record, path)? {
            return Err(Error::malformed(path, 1, "no header; expected a truth column and one column for each level"));
        }
        let header = Header::parse(&record, path)?;
        let mut columns: Vec<Vec<f64>> = vec![Vec::new(); header.levels.len()];
        let mut truth = Vec::new();
        while read_record(&mut reader, &mut record, path)? {
            let line = record.position().map_or(0, csv::Position::line);
            if record.len() != header.names.len() {
                let reason = format!("{} fields, but the header has {}", record.len(), header.names.len());
                return Err(Error::malformed(path, line, reason));
            }
            let wrong = |column: usize, reason: String| {
                Error::malformed(path, line, format!("column {} ({}): {reason}", column + 1, header.names[column]))
            };
            truth.push(match record[header.truth].trim() {
                "0" => false,
                "1" => true,
                other => return Err(wrong(header.truth, format!("truth must be 0 or 1, found {other:?}"))),
            });
            for (scores, &column) in columns.iter_mut().zip(&header.levels) {
                let field = record[column].trim();
                let score: f64 =
                    field.parse().map_err(|_| wrong(column, format!("expected a score in [0,1], found {field:?}")))?;
                if !in_unit_interval(score) {
                    return Err(wrong(column, format!("the score {field} is not in [0,1]")));
                }
                scores.push(score);
            }
        }
        let levels = header.levels.iter().map(|&c| header.names[c].clone()).collect();
        Self::new(levels, columns.concat(), truth)
    }

    /// Writes the table as TSV; [`ScoreTable::read`] gives the same documents back (weights are not written).
    pub fn write_tsv(&self, mut out: impl Write) -> std::io::Result<()> {
        writeln!(out, "truth\t{}", self.levels().join("\t"))?;
        for document in 0..self.documents() {
            write!(out, "{}", u8::from(self.truth()[document]))?;
            for level in 0..self.depth() {
                write!(out, "\t{}", self.level(level)[document])?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

struct Header {
    names: Vec<String>,
    truth: usize,
    levels: Vec<usize>,
}

impl Header {
    fn parse(record: &csv::StringRecord, path: &Path) -> Result<Self> {
        let names: Vec<String> = record.iter().map(|n| n.trim_start_matches('\u{feff}').trim().to_owned()).collect();
        let named = |name: &str| {
            names.iter().enumerate().filter(|(_, n)| n.eq_ignore_ascii_case(name)).map(|(at, _)| at).collect::<Vec<_>>()
        };
        let truth = match named("truth")[..] {
            [at] => at,
            [] => {
                let reason = format!("no column is called \"truth\"; the header names {}", names.join(", "));
                return Err(Error::malformed(path, 1, reason));
            }
            [_, second, ..] => {
                return Err(Error::malformed(path, 1, format!("column {} is a second \"truth\" column", second + 1)));
            }
        };
        let passed_over = named("id");
        let levels: Vec<usize> = (0..names.len()).filter(|c| *c != truth && !passed_over.contains(c)).collect();
        if levels.is_empty() {
            return Err(Error::malformed(
                path,
                1,
                "no column of scores beside \"truth\"; a pipeline has at least one level",
            ));
        }
        for (at, &c) in levels.iter().enumerate() {
            if names[c].is_empty() {
                return Err(Error::malformed(path, 1, format!("column {} has no name", c + 1)));
            }
            if levels[..at].iter().any(|&d| names[d] == names[c]) {
                return Err(Error::malformed(path, 1, format!("column {} repeats the name {:?}", c + 1, names[c])));
            }
        }
        Ok(Self { names, truth, levels })
    }
}

fn read_record(reader: &mut csv::Reader<impl Read>, record: &mut csv::StringRecord, path: &Path) -> Result<bool> {
    reader.read_record(record).map_err(|error| {
        let line = error.position().map(csv::Position::line);
        match error.into_kind() {
            csv::ErrorKind::Io(source) => Error::io(path, source),
            csv::ErrorKind::Utf8 { err, .. } => {
                Error::malformed(path, line.unwrap_or(1), format!("column {}: not UTF-8", err.field() + 1))
            }
            other => Error::malformed(path, line.unwrap_or(1), format!("{other:?}")),
        }
    })
}
