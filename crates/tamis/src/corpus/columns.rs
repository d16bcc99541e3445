//! Which columns of somebody's table are text and labels, where they do not have the usual names.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Map, Value};

use super::detect::by_name;
use super::dialect::Dialect;
use super::source::Source;
use super::{Fields, Format, ReadOptions};
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
    /// Looks at a table; none where the file is none (CSV, TSV, JSONL or Parquet by name or by `options.from`), has no names of columns,
    /// or cannot be read twice.
    pub fn of(path: &Path, options: &ReadOptions) -> Result<Option<Self>> {
        let Some(format) = options.from.or_else(|| by_name(path)) else { return Ok(None) };
        if !options.columns.is_empty() || !path.is_file() {
            return Ok(None);
        }
        let found = match format {
            Format::Csv | Format::Tsv => separated(&head_of(path, options)?, format, options),
            Format::Jsonl => Some(objects(&head_of(path, options)?)),
            #[cfg(feature = "parquet")]
            // Whoever opens it says what is wrong with it.
            Format::Parquet => super::parquet::first_rows(path, ROWS).ok(),
            _ => None,
        };
        let Some((names, rows)) = found else { return Ok(None) };
        // A column without a name is passed over: pandas writes its index so, spreadsheets an empty column at the end.
        let named = || names.iter().filter(|name| !name.is_empty());
        let distinct: HashSet<&String> = named().collect();
        let is_name = |name: &String| name.chars().count() <= 40 && name.parse::<f64>().is_err();
        if rows.is_empty() || distinct.len() < named().count() || !named().all(is_name) || distinct.is_empty() {
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
        let labels = if given(&fields.labels, &["label", "labels"]) {
            Guess::Named
        } else {
            // A field of an object may be anything: there, looks alone do not make it a label.
            let by_looks = matches!(format, Format::Csv | Format::Tsv);
            labels_of(&names, &rows, taken, fields, by_looks)
        };
        let first = rows.into_iter().next().unwrap_or_default();
        Ok(Some(Self { names, first, text, labels }))
    }
}

/// The beginning of a file.
fn head_of(path: &Path, options: &ReadOptions) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    Source::open(path, options.encoding)?.read_into(&mut head, HEAD, 1)?;
    if head.starts_with(b"\xef\xbb\xbf") {
        head.drain(..3);
    }
    Ok(head)
}

/// Names and rows as wide as they are.
type Table = (Vec<String>, Vec<Vec<String>>);

fn separated(head: &[u8], format: Format, options: &ReadOptions) -> Option<Table> {
    let dialect = Dialect::of(head, format, options);
    let skipped = if dialect.says_delimiter { head.iter().position(|&b| b == b'\n').map_or(0, |at| at + 1) } else { 0 };
    let mut rows = dialect.rows(&head[skipped..], ROWS).into_iter();
    let names = rows.next()?;
    let rows = rows.filter(|row| row.len() == names.len()).collect();
    Some((names, rows))
}

/// Objects as rows, their keys as columns; what is cut at the end, or is no object, is passed over.
fn objects(head: &[u8]) -> Table {
    let lines = head.split(|&b| b == b'\n').take(ROWS);
    let objects: Vec<Map<String, Value>> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let mut names: Vec<String> = Vec::new();
    for key in objects.iter().flat_map(Map::keys) {
        if !names.contains(key) {
            names.push(key.clone());
        }
    }
    let cell = |object: &Map<String, Value>, name: &String| match object.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
            .collect::<Vec<_>>()
            .join(";"),
        None | Some(Value::Null | Value::Object(_)) => String::new(),
        Some(other) => other.to_string(),
    };
    let rows = objects.iter().map(|object| names.iter().map(|name| cell(object, name)).collect()).collect();
    (names, rows)
}

/// The place of the best of the usual names.
fn usual(names: &[String], usual: &[&str], taken: Option<usize>) -> Option<usize> {
    let place = |wanted: &&str| names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
    usual.iter().filter_map(place).find(|at| Some(*at) != taken)
}

fn mean_length(rows: &[Vec<String>], at: usize) -> usize {
    rows.iter().map(|row| row[at].chars().count()).sum::<usize>() / rows.len()
}

fn text_of(names: &[String], rows: &[Vec<String>]) -> Guess {
    let named = (0..names.len()).filter(|&at| !names[at].is_empty());
    let mut by_length: Vec<(usize, usize)> = named.map(|at| (mean_length(rows, at), at)).collect();
    by_length.sort_unstable_by_key(|&(length, at)| (std::cmp::Reverse(length), at));
    let longest = by_length.first().copied().filter(|(length, _)| *length >= TEXT_LENGTH);
    let second = by_length.get(1).map_or(0, |(length, _)| *length);
    match (usual(names, &TEXTS, None), longest) {
        // A name and the looks agree.
        (Some(named), Some((_, at))) if named == at => Guess::Sure(at),
        (None, Some((length, at))) if length >= 2 * second.max(1) => Guess::Sure(at),
        (Some(named), None) => Guess::Perhaps(named),
        (_, Some((_, at))) => Guess::Perhaps(at),
        (None, None) => Guess::None,
    }
}

fn labels_of(names: &[String], rows: &[Vec<String>], text: Option<usize>, fields: &Fields, by_looks: bool) -> Guess {
    // What is read as something else, such as the part of a split, is no label.
    let known = fields.names();
    let is_other = |at: usize| known.iter().any(|(name, _)| name.eq_ignore_ascii_case(&names[at]));
    let few = |at: &usize| {
        let values: HashSet<&str> =
            rows.iter().map(|row| row[*at].as_str()).filter(|value| !value.is_empty()).collect();
        !values.is_empty() && 2 * values.len() <= rows.len() && mean_length(rows, *at) <= 40
    };
    let candidates: Vec<usize> =
        (0..names.len()).filter(|&at| Some(at) != text && !names[at].is_empty() && !is_other(at)).filter(few).collect();
    match (usual(names, &LABELS, text), candidates.as_slice()) {
        (Some(named), found) if found.contains(&named) => Guess::Sure(named),
        (Some(named), _) => Guess::Perhaps(named),
        _ if !by_looks => Guess::None,
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
    fn columns_without_a_name_are_passed_over() {
        let row = |i: usize| format!("{i},{LONG} {i},{},\n", ["red", "blue"][i % 2]);
        let rows: String = (0..10).map(row).collect();
        let found = guess("t.csv", &format!(",message,topic,\n{rows}")).unwrap();
        assert_eq!((found.text, found.labels), (Guess::Sure(1), Guess::Sure(2)));
        assert_eq!(guess("t.csv", ",,,\n1,2,3,4\n"), None, "no name at all");
    }

    #[test]
    fn objects_have_columns_too() {
        let row = |i: usize| {
            format!("{{\"nr\":{i},\"message\":\"{LONG} {i}\",\"topic\":[\"{}\"]}}\n", ["red", "blue"][i % 2])
        };
        let mut rows: String = (0..10).map(row).collect();
        rows.push_str("{\"nr\":10,\"mess");
        let found = guess("t.jsonl", &rows).unwrap();
        let place = |name: &str| Guess::Sure(found.names.iter().position(|known| known == name).unwrap());
        assert_eq!((found.text, found.labels), (place("message"), place("topic")));
        // What is read as something else, or may be anything, is no label.
        let found = guess("t.jsonl", &rows.replace("topic", "colour")).unwrap();
        assert_eq!(found.labels, Guess::None);
        let row = |i: usize| format!("{LONG} {i},{}\n", ["train", "test"][i % 2]);
        let found = guess("t.csv", &format!("text,split\n{}", (0..10).map(row).collect::<String>())).unwrap();
        assert_eq!(found.labels, Guess::None);
        let found = guess("t.jsonl", &rows.replace("message", "text").replace("topic", "labels")).unwrap();
        assert_eq!((found.text, found.labels), (Guess::Named, Guess::Named));
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn columns_of_parquet() {
        use std::sync::Arc;

        use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let text = StringArray::from_iter_values((0..10).map(|i| format!("{LONG} {i}")));
        let topic = StringArray::from_iter_values((0..10).map(|i| ["red", "blue"][i % 2]));
        let columns: [(&str, ArrayRef); 3] = [
            ("nr", Arc::new(Int64Array::from_iter_values(0..10))),
            ("message", Arc::new(text)),
            ("topic", Arc::new(topic)),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut writer =
            parquet::arrow::ArrowWriter::try_new(std::fs::File::create(&path).unwrap(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let found = Columns::of(&path, &ReadOptions::default()).unwrap().unwrap();
        assert_eq!((found.text, found.labels), (Guess::Sure(1), Guess::Sure(2)));
        std::fs::write(&path, b"PAR1 and nothing else").unwrap();
        assert_eq!(Columns::of(&path, &ReadOptions::default()).unwrap(), None);
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
        assert_eq!(guess("t.txt", "message,topic\na,b\n"), None);
        assert_eq!(guess("t.csv", "1,2\n3,4\n"), None, "numbers are no header");
        assert_eq!(guess("t.csv", "message,topic\n"), None, "no rows");
        assert_eq!(guess("t.csv", "a,a\nx,y\n"), None, "a name twice");
    }
}
