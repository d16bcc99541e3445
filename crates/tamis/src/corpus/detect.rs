//! Telling the format of a file or folder from its name and its first bytes.

use std::path::Path;

use super::annif;
use super::blocks::utf16;
use super::dialect::{Dialect, known};
use super::fields::{part_of, quoted};
use super::folders::{Found, parted, walk};
use super::source::{Compression, Source};
use super::svmlight::is_pair;
use super::{Fields, Format, Part, ReadOptions};
use crate::container::Container;
use crate::{Error, Result};

/// How much of a file is looked at.
pub(super) const HEAD_BYTES: usize = 16 * 1024;

/// Rows that are looked at to tell a table from prose.
const TABLE_ROWS: usize = 20;

/// A file of a corpus, before it is opened.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) path: std::path::PathBuf,
    pub(crate) part: Option<Part>,
}

/// What a folder is.
#[derive(Debug)]
pub(crate) enum Folder {
    /// Files of one format.
    Files(Format, Vec<Listed>),
    /// A folder for each label.
    Labels(Vec<Found>),
    /// Plain texts, each a document.
    Texts(Vec<Found>),
    /// Plain texts with lists of their subjects beside them.
    Subjects(Vec<Found>),
}

/// The format that the ending of a name says, compression aside.
pub(crate) fn by_name(path: &Path) -> Option<Format> {
    let plain = Compression::of_name(path).1;
    Format::of_ending(&plain.extension()?.to_str()?.to_ascii_lowercase())
}

/// What the first bytes look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Nothing else begins so.
    Surely(Format),
    /// Text that could be it.
    Maybe(Format),
    Unknown,
}

/// Whether a line is a header: a name that is looked for stands in it, and says what stands between the fields.
fn names_fields(line: &str, delimiter: char) -> bool {
    let columns: Vec<&str> = line.split(delimiter).map(|column| column.trim().trim_matches('"')).collect();
    columns.len() > 1 && known(&columns, &Fields::default()) > 0
}

/// Whether this is a table although nothing in its header is known: three rows or more of the same two columns or more, below short names. Prose
/// does not have as many commas in every line.
fn is_table(head: &[u8], format: Format, options: &ReadOptions) -> bool {
    let dialect = Dialect::of(head, format, options);
    let rows = dialect.rows(head, TABLE_ROWS);
    let Some((names, rows)) = rows.split_first() else { return false };
    let is_name = |name: &String| name.chars().count() <= 40 && !name.ends_with(['.', '!', '?']);
    names.len() > 1 && rows.len() >= 3 && names.iter().all(is_name) && rows.iter().all(|row| row.len() == names.len())
}

/// The first line that says something, where it is text.
fn first_line(head: &[u8]) -> &str {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let line = head.split(|&b| b == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty());
    line.and_then(|line| std::str::from_utf8(line).ok()).unwrap_or_default()
}

fn by_content(head: &[u8], prefix: &str) -> Look {
    use Format::{Csv, FastText, Jsonl, Lyrl, Parquet, Reuters, Review, SvmLight, Tsv};
    if head.starts_with(b"PAR1") {
        return Look::Surely(Parquet);
    }
    let text = String::from_utf8_lossy(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head));
    let text = text.trim_start_matches(['\r', '\n']);
    let line = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#')).unwrap_or("");
    let start = line.trim_start();
    if start.starts_with('{') {
        return Look::Surely(Jsonl);
    }
    if start.starts_with("<!DOCTYPE lewis") || start.starts_with("<REUTERS") {
        return Look::Surely(Reuters);
    }
    if start.starts_with("<reviews>") || start.starts_with("<review>") {
        return Look::Surely(Review);
    }
    if line.starts_with(".I ") {
        return Look::Surely(Lyrl);
    }
    if !prefix.is_empty() && start.starts_with(prefix) {
        return Look::Surely(FastText);
    }
    let mut words: Vec<&str> = line.split_ascii_whitespace().take_while(|word| !word.starts_with('#')).collect();
    if head.len() >= HEAD_BYTES && !text.contains('\n') {
        // The last word may be cut where the head ends.
        words.pop();
    }
    words.retain(|word| !word.starts_with("qid:"));
    if let [first, rest @ ..] = words.as_slice()
        && (is_pair(first) || !rest.is_empty())
        && rest.iter().all(|word| is_pair(word))
    {
        return Look::Surely(SvmLight);
    }
    let has_names = |delimiter: char| names_fields(line, delimiter);
    if annif::is_line(line) && !has_names('\t') {
        return Look::Surely(Format::Annif);
    }
    if start.starts_with("sep=") || has_names(';') || has_names('|') {
        return Look::Maybe(Csv);
    }
    match (line.contains('\t'), line.contains(',')) {
        (true, true) if has_names('\t') => Look::Maybe(Tsv),
        (true, true) if has_names(',') => Look::Maybe(Csv),
        (true, false) => Look::Maybe(Tsv),
        (false, true) => Look::Maybe(Csv),
        _ => Look::Unknown,
    }
}

/// Whether a file whose name says plain text is something else beyond doubt: prose may begin with a brace or a time of day.
fn beyond_doubt(format: Format, head: &[u8]) -> bool {
    let line = head.split(|&b| b == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty()).unwrap_or_default();
    match format {
        Format::Jsonl => serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line).is_ok(),
        Format::SvmLight => {
            let words = line.split(u8::is_ascii_whitespace).filter_map(|word| std::str::from_utf8(word).ok());
            let numbers: Vec<u64> =
                words.filter(|w| is_pair(w)).filter_map(|w| w.split_once(':')?.0.parse().ok()).collect();
            numbers.len() >= 3 && numbers.is_sorted()
        }
        _ => true,
    }
}

/// The format of an open file, told by name and content; they must not contradict each other.
pub(crate) fn of_source(source: &mut Source, options: &ReadOptions) -> Result<Format> {
    let prefix = options.label_prefix.as_str();
    let path = source.path.clone();
    let compression = source.compression;
    let head = source.peek(HEAD_BYTES)?;
    if let Some(kind) = Container::kind_of_bytes(head) {
        let reason = format!("this is a tamis {kind} file, not a corpus; give the documents");
        return Err(Error::malformed_file(&path, reason));
    }
    if let Some(format) = options.from {
        return Ok(format);
    }
    let (ending, _) = Compression::of_name(&path);
    if ending != Compression::Plain && compression == Compression::Plain {
        return Err(Error::malformed_file(
            &path,
            format!(
                "the ending says {ending}, but the content is not compressed; rename the file, or give the option `from`"
            ),
        ));
    }
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return Err(utf16(&path));
    }
    let look = by_content(head, prefix);
    let Some(named) = by_name(&path) else {
        return match look {
            Look::Surely(format) if !options.prose || beyond_doubt(format, head) => Ok(format),
            Look::Maybe(format)
                if !options.prose || [',', ';', '\t', '|'].iter().any(|&c| names_fields(first_line(head), c)) =>
            {
                Ok(format)
            }
            Look::Maybe(format) if is_table(head, format, options) => Ok(format),
            Look::Unknown if is_table(head, Format::Csv, options) => Ok(Format::Csv),
            _ if options.prose => Ok(Format::Text),
            Look::Surely(format) | Look::Maybe(format) => Ok(format),
            Look::Unknown => Err(Error::malformed_file(
                &path,
                format!(
                    "neither the ending nor the content tells the format; give it with the option `from` ({}): text is one \
                     document, lines is one in each line",
                    names()
                ),
            )),
        };
    };
    if named == Format::Text {
        return Ok(match look {
            Look::Surely(seen) if beyond_doubt(seen, head) => seen,
            _ => Format::Text,
        });
    }
    // Nothing else is written so, and its files are called like any other of tabs.
    if look == Look::Surely(Format::Annif) && named == Format::Tsv {
        return Ok(Format::Annif);
    }
    let fits = match (named, look) {
        (_, Look::Surely(seen)) | (Format::Tsv, Look::Maybe(seen)) => seen == named,
        // What stands between the fields is found out.
        (Format::Csv, Look::Maybe(_)) => true,
        // Lines without labels, and headers with one column, look like nothing.
        (Format::FastText | Format::SvmLight, _) | (Format::Csv | Format::Tsv, Look::Unknown) => true,
        _ => false,
    };
    if fits {
        return Ok(named);
    }
    let advice = match look {
        _ if named == Format::Jsonl && head.trim_ascii_start().starts_with(b"[") => {
            "is one JSON list; write one object in each line (jq -c '.[]')".to_owned()
        }
        Look::Surely(seen) | Look::Maybe(seen) => {
            format!("looks like {seen}; rename the file, or give the option `from={seen}`")
        }
        Look::Unknown => {
            let begin = String::from_utf8_lossy(&head[..head.len().min(200)]).into_owned();
            let begin = begin.lines().next().unwrap_or_default().to_owned();
            format!("begins with {}; give its format with the option `from`", quoted(&begin))
        }
    };
    Err(Error::malformed_file(&path, format!("the ending says {named}, but the content {advice}")))
}

/// The names of all formats.
fn names() -> String {
    Format::ALL.map(|format| format.spec().name).join(" ")
}

/// What a folder holds.
pub(crate) fn of_folder(root: &Path, from: Option<Format>, prefix: &str) -> Result<Folder> {
    let found = walk(root)?;
    match from {
        Some(Format::Folders) => return Ok(Folder::Labels(found)),
        Some(Format::Text) => return Ok(Folder::Texts(found)),
        None | Some(Format::Annif) if annif::is_folder(&found) => return Ok(Folder::Subjects(found)),
        _ => {}
    }
    let nothing = |what: &str| Err(Error::malformed_file(root, what.to_owned()));
    if found.is_empty() {
        return nothing("the folder is empty: there is no document to read");
    }
    let named: Vec<Option<Format>> = found
        .iter()
        .map(|file| {
            // A taxonomy beside its corpus is not a corpus.
            let name = file.below.last().map_or("", String::as_str);
            // Plain texts are what a label's folder holds, and notes beside files of other formats.
            by_name(&file.path).filter(|format| *format != Format::Text && !name.contains(".taxonomy"))
        })
        .collect();
    let files = |format: Format| {
        let parted = parted(&found, 2);
        let of_format = found.iter().zip(&named).filter(|(_, name)| **name == Some(format));
        let listed = of_format.map(|(file, _)| Listed {
            path: file.path.clone(),
            part: if parted && file.below.len() > 1 { part_of(&file.below[0]).ok().flatten() } else { None },
        });
        Folder::Files(format, listed.collect())
    };
    let holds = |format: Format| named.contains(&Some(format));
    if let Some(format) = from {
        return if holds(format) { Ok(files(format)) } else { by_sniffing(root, &found, Some(format), prefix) };
    }
    for format in [Format::Reuters, Format::Review] {
        if holds(format) {
            return Ok(files(format));
        }
    }
    if found.iter().zip(&named).any(|(file, name)| file.below.len() >= 2 && name.is_none()) {
        return Ok(Folder::Labels(found));
    }
    let formats: Vec<Format> = Format::ALL.into_iter().filter(|format| holds(*format)).collect();
    match formats[..] {
        [format] => Ok(files(format)),
        [] => by_sniffing(root, &found, None, prefix).or_else(|nothing_found| {
            let all = found.len();
            let texts: Vec<Found> =
                found.into_iter().filter(|file| by_name(&file.path) == Some(Format::Text)).collect();
            if !texts.is_empty() && texts.len() < all {
                let others = all - texts.len();
                tracing::warn!(
                    "{others} files whose names do not end as texts do are passed over; name them to read them"
                );
            }
            if texts.is_empty() { Err(nothing_found) } else { Ok(Folder::Texts(texts)) }
        }),
        [one, ..] => {
            let all: Vec<String> = formats.iter().map(ToString::to_string).collect();
            nothing(&format!(
                "the folder holds files of several formats ({}); choose one, as with the option `from={one}`",
                all.join(", ")
            ))
        }
    }
}

/// Files that are called after the parts of a split, as `train.jsonl` and `test.jsonl` or `train-00000-of-00001.parquet`, are
/// these parts, when all of them are called so and there is something to train on and something else.
pub(crate) fn parts_by_name(files: &mut [Listed]) {
    let named = |file: &Listed| {
        let plain = Compression::of_name(&file.path).1;
        let stem = plain.file_stem()?.to_str()?.to_owned();
        let mut parts = stem.split(|c: char| !c.is_alphanumeric()).filter_map(|word| part_of(word).ok().flatten());
        let part = parts.next()?;
        parts.all(|other| other == part).then_some(part)
    };
    if files.iter().any(|file| file.part.is_some()) {
        return;
    }
    let Some(parts) = files.iter().map(named).collect::<Option<Vec<Part>>>() else { return };
    if !parts.contains(&Part::Train) || parts.iter().all(|&part| part == Part::Train) {
        return;
    }
    for (file, part) in files.iter_mut().zip(parts) {
        file.part = Some(part);
    }
}

/// The files at the top of a folder whose content tells a format.
fn by_sniffing(root: &Path, found: &[Found], from: Option<Format>, prefix: &str) -> Result<Folder> {
    let mut listed: Vec<(Format, Listed)> = Vec::new();
    for file in found.iter().filter(|file| file.below.len() == 1) {
        let look = |head: &[u8]| match by_content(head, prefix) {
            Look::Surely(format) if by_name(&file.path) == Some(Format::Text) && !beyond_doubt(format, head) => {
                Look::Unknown
            }
            look => look,
        };
        let head = Source::open(&file.path, None).and_then(|mut s| Ok(look(s.peek(HEAD_BYTES)?)));
        if let Ok(Look::Surely(format)) = head
            && from.is_none_or(|wanted| wanted == format)
        {
            listed.push((format, Listed { path: file.path.clone(), part: None }));
        }
    }
    let Some(format) = listed.first().map(|(format, _)| *format) else {
        let kind = from.map_or("corpus".to_owned(), |format| format!("{format} file"));
        return Err(Error::malformed_file(
            root,
            format!(
                "no {kind} was found in the folder; name the file, or give its format with the option `from` (text where every \
                 file is a document)"
            ),
        ));
    };
    if let Some((other, _)) = listed.iter().find(|(other, _)| *other != format) {
        let reason =
            format!("the folder holds files of several formats ({format}, {other}); choose one with the option `from`");
        return Err(Error::malformed_file(root, reason));
    }
    Ok(Folder::Files(format, listed.into_iter().map(|(_, file)| file).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_tells_the_format() {
        let look = |text: &str| by_content(text.as_bytes(), "__label__");
        assert_eq!(look("\u{feff}{\"text\": 1}"), Look::Surely(Format::Jsonl));
        assert_eq!(look("<!DOCTYPE lewis SYSTEM \"lewis.dtd\">\n"), Look::Surely(Format::Reuters));
        assert_eq!(look("<reviews>\n<review>\n"), Look::Surely(Format::Review));
        assert_eq!(look(".I 2286\n.W\n"), Look::Surely(Format::Lyrl));
        assert_eq!(look("__label__a b c"), Look::Surely(Format::FastText));
        assert_eq!(look("# svm\nC11,CCAT 440:0.03 587:1\n"), Look::Surely(Format::SvmLight));
        assert_eq!(look(" 1:2 3:4 # note\n"), Look::Surely(Format::SvmLight));
        assert_eq!(look("id,text\n"), Look::Maybe(Format::Csv));
        assert_eq!(look("id\ttext\n"), Look::Maybe(Format::Tsv));
        assert_eq!(look("id;text;label\n1;a, b;x\n"), Look::Maybe(Format::Csv));
        assert_eq!(look("id,text\tlabel\n"), Look::Maybe(Format::Tsv));
        assert_eq!(look("Hello there\n"), Look::Unknown);
        assert_eq!(look(""), Look::Unknown);
        let long = format!("A {}", "12:0.5 ".repeat(HEAD_BYTES));
        assert_eq!(look("A 12:0.5 12"), Look::Unknown, "a short file is not cut");
        assert_eq!(look(&long[..HEAD_BYTES]), Look::Surely(Format::SvmLight));
    }

    #[test]
    fn files_called_after_parts_are_these_parts() {
        let parts = |names: &[&str]| {
            let mut files: Vec<Listed> = names.iter().map(|name| Listed { path: name.into(), part: None }).collect();
            parts_by_name(&mut files);
            files.iter().map(|file| file.part).collect::<Vec<_>>()
        };
        let (train, validation, test) = (Some(Part::Train), Some(Part::Validation), Some(Part::Test));
        assert_eq!(parts(&["d/train.jsonl", "d/val.jsonl.gz", "d/test.jsonl"]), [train, validation, test]);
        assert_eq!(
            parts(&["train-00000-of-00002.parquet", "train-00001-of-00002.parquet", "test-0.parquet"]),
            [train, train, test]
        );
        assert_eq!(parts(&["reviews_train.csv", "reviews_test.csv"]), [train, test]);
        assert_eq!(parts(&["test.csv"]), [None], "one file is what it is asked for");
        assert_eq!(parts(&["train-0.csv", "train-1.csv"]), [None, None]);
        assert_eq!(parts(&["train.csv", "test.csv", "more.csv"]), [None; 3], "not all are called so");
        assert_eq!(parts(&["train_test.csv", "test.csv"]), [None, None]);
        assert_eq!(parts(&["contest.csv", "train.csv"]), [None, None]);
    }

    #[test]
    fn endings_tell_the_format_whatever_the_compression() {
        assert_eq!(by_name(Path::new("a/b.jsonl.gz")), Some(Format::Jsonl));
        assert_eq!(by_name(Path::new("B.CSV")), Some(Format::Csv));
        assert_eq!(by_name(Path::new("train.txt.zst")), Some(Format::Text));
        assert_eq!(by_name(Path::new("gz")), None);
    }
}
