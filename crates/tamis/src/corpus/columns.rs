//! Which columns of somebody's table are text and labels, where they do not have the usual names.

use std::collections::HashSet;
use std::path::Path;

use super::dialect::Dialect;
use super::source::Source;
use super::{Format, ReadOptions};
use crate::Result;

/// A guess at the columns of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// All columns, by their names in the header.
    pub names: Vec<String>,
    /// The first row below the header.
    pub first: Vec<String>,
    /// Which one is the text.
    pub text: Guess,
    /// Which one has the labels.
    pub labels: Guess,
}

/// A guess at one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guess {
    /// The header has the usual name, or the caller gave one: nothing to guess.
    Named,
    /// This one, without doubt.
    Sure(usize),
    /// Perhaps this one.
    Perhaps(usize),
    /// No column looks like it.
    None,
}

/// Names that people give to a column of texts and of labels, best first.
const TEXTS: [&str; 20] = [
    "text",
    "body",
    "message",
    "content",
    "document",
    "abstract",
    "description",
    "review",
    "comment",
    "sentence",
    "question",
    "utterance",
    "post",
    "tweet",
    "mail",
    "email",
    "summary",
    "title",
    "subject",
    "headline",
];
const LABELS: [&str; 18] = [
    "label",
    "labels",
    "category",
    "categories",
    "class",
    "topic",
    "topics",
    "tag",
    "tags",
    "target",
    "sentiment",
    "intent",
    "polarity",
    "subject",
    "department",
    "rating",
    "genre",
    "type",
];
/// Bytes and rows that are looked at.
const HEAD: usize = 256 << 10;
const ROWS: usize = 500;
/// Mean characters of a column that may be text.
const TEXT_LENGTH: usize = 20;

impl Columns {
    /// Looks at a table; none where the file is none (CSV or TSV by name or by `options.from`), has no header, or cannot be read
    /// twice.
    pub fn of(path: &Path, options: &ReadOptions) -> Result<Option<Self>> {
        let Some(format) = options.from.or_else(|| table(path)) else { return Ok(None) };
        if !matches!(format, Format::Csv | Format::Tsv) || !options.columns.is_empty() || !path.is_file() {
            return Ok(None);
        }
        let mut head = Vec::new();
        Source::open(path, options.encoding)?.read_into(&mut head, HEAD, 1)?;
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
        let dialect = Dialect::of(head, format, options);
        let skipped =
            if dialect.says_delimiter { head.iter().position(|&b| b == b'\n').map_or(0, |at| at + 1) } else { 0 };
        let mut rows = dialect.rows(&head[skipped..], ROWS).into_iter();
        let Some(names) = rows.next() else { return Ok(None) };
        let rows: Vec<Vec<String>> = rows.filter(|row| row.len() == names.len()).collect();
        let distinct: HashSet<&String> = names.iter().collect();
        let is_name = |name: &String| !name.is_empty() && name.chars().count() <= 40 && name.parse::<f64>().is_err();
        if rows.is_empty() || distinct.len() < names.len() || !names.iter().all(is_name) {
            return Ok(None);
        }
        let fields = &options.fields;
        let given = |name: &Option<String>, usual: &[&str]| {
            name.is_some() || names.iter().any(|n| usual.iter().any(|u| n.eq_ignore_ascii_case(u)))
        };
        let text = if given(&fields.text, &["text", "tokens"]) { Guess::Named } else { text_of(&names, &rows) };
        let taken = match text {
            Guess::Sure(at) | Guess::Perhaps(at) => Some(at),
            Guess::Named | Guess::None => None,
        };
        let labels =
            if given(&fields.labels, &["label", "labels"]) { Guess::Named } else { labels_of(&names, &rows, taken) };
        let first = rows.into_iter().next().unwrap_or_default();
        Ok(Some(Self { names, first, text, labels }))
    }
}

/// The format of a table by its name.
fn table(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let plain = [".gz", ".bz2", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    match plain.rsplit('.').next()? {
        "csv" => Some(Format::Csv),
        "tsv" => Some(Format::Tsv),
        _ => None,
    }
}

/// The place of the best of the usual names.
fn by_name(names: &[String], usual: &[&str], taken: Option<usize>) -> Option<usize> {
    let place = |wanted: &&str| names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
    usual.iter().filter_map(place).find(|at| Some(*at) != taken)
}

fn mean_length(rows: &[Vec<String>], at: usize) -> usize {
    rows.iter().map(|row| row[at].chars().count()).sum::<usize>() / rows.len()
}

fn text_of(names: &[String], rows: &[Vec<String>]) -> Guess {
    let mut by_length: Vec<(usize, usize)> = (0..names.len()).map(|at| (mean_length(rows, at), at)).collect();
    by_length.sort_unstable_by_key(|&(length, at)| (std::cmp::Reverse(length), at));
    let longest = by_length.first().copied().filter(|(length, _)| *length >= TEXT_LENGTH);
    let second = by_length.get(1).map_or(0, |(length, _)| *length);
    match (by_name(names, &TEXTS, None), longest) {
        // A name and the looks agree.
        (Some(named), Some((_, at))) if named == at => Guess::Sure(at),
        (None, Some((length, at))) if length >= 2 * second.max(1) => Guess::Sure(at),
        (Some(named), None) => Guess::Perhaps(named),
        (_, Some((_, at))) => Guess::Perhaps(at),
        (None, None) => Guess::None,
    }
}

fn labels_of(names: &[String], rows: &[Vec<String>], text: Option<usize>) -> Guess {
    let few = |at: &usize| {
        let values: HashSet<&str> =
            rows.iter().map(|row| row[*at].as_str()).filter(|value| !value.is_empty()).collect();
        !values.is_empty() && 2 * values.len() <= rows.len() && mean_length(rows, *at) <= 40
    };
    let candidates: Vec<usize> = (0..names.len()).filter(|at| Some(*at) != text).filter(few).collect();
    match (by_name(names, &LABELS, text), candidates.as_slice()) {
        (Some(named), found) if found.contains(&named) => Guess::Sure(named),
        (Some(named), _) => Guess::Perhaps(named),
        (None, [one]) => Guess::Sure(*one),
        (None, [first, ..]) => Guess::Perhaps(*first),
        (None, []) => Guess::None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::format_collect)]
mod tests {
    use super::*;

    fn guess(name: &str, content: &str) -> Option<Columns> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        Columns::of(&path, &ReadOptions::default()).unwrap()
    }

    const LONG: &str = "a letter of more than twenty characters";

    #[test]
    fn names_and_looks_agree() {
        let rows: String = (0..10).map(|i| format!("{i},{LONG} {i},{}\n", ["red", "blue"][i % 2])).collect();
        let found = guess("t.csv", &format!("nr,message,topic\n{rows}")).unwrap();
        assert_eq!((found.text, found.labels), (Guess::Sure(1), Guess::Sure(2)));
        let found = guess("t.csv", &format!("nr,what they wrote,kind of it\n{rows}")).unwrap();
        assert_eq!((found.text, found.labels), (Guess::Sure(1), Guess::Sure(2)), "by their looks alone");
        let found = guess("t.csv", &format!("id,Text,label\n{rows}")).unwrap();
        assert_eq!((found.text, found.labels), (Guess::Named, Guess::Named));
    }

    #[test]
    fn excel_and_windows() {
        let rows: String = (0..10).map(|i| format!("{i};\"{LONG}; {i}\";{}\r\n", ["red", "blue"][i % 2])).collect();
        let found = guess("t.csv", &format!("\u{feff}sep=;\r\nnr;message;topic\r\n{rows}")).unwrap();
        assert_eq!((found.text, found.labels), (Guess::Sure(1), Guess::Sure(2)));
        assert_eq!(found.first, ["0", &format!("{LONG}; 0"), "red"]);
    }

    #[test]
    fn doubt_is_said() {
        let rows: String = (0..10).map(|i| format!("{LONG} {i},{LONG} {i}!,a,b\n")).collect();
        let found = guess("t.csv", &format!("one,two,three,four\n{rows}")).unwrap();
        assert_eq!((found.text, found.labels), (Guess::Perhaps(1), Guess::Perhaps(2)));
    }

    #[test]
    fn what_is_no_table_is_left_alone() {
        assert_eq!(guess("t.jsonl", "{}"), None);
        assert_eq!(guess("t.csv", "1,2\n3,4\n"), None, "numbers are no header");
        assert_eq!(guess("t.csv", "message,topic\n"), None, "no rows");
        assert_eq!(guess("t.csv", "a,a\nx,y\n"), None, "a name twice");
    }
}
