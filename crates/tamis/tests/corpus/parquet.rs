//! Parquet as other programs write it.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, Date32Array, Float64Array, Int64Array, LargeStringArray, RecordBatch, StringArray,
    TimestampMillisecondArray,
};
use parquet::arrow::ArrowWriter;
use tamis::corpus::{Body, Fields, Part, ReadOptions};

use super::{Folder, compressed, read, read_with};

fn write(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, a)| (name, a, true))).unwrap();
    let mut writer = ArrowWriter::try_new(std::fs::File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn columns_of_many_types() {
    let folder = Folder::new();
    let path = folder.path("a.parquet");
    let mut categories = StringDictionaryBuilder::<Int32Type>::new();
    categories.append_value("train");
    categories.append_value("test");
    let mut lists = ListBuilder::new(StringBuilder::new());
    lists.append_value([Some("x"), None, Some(" y ")]);
    lists.append_null();
    write(
        &path,
        vec![
            ("unused", Arc::new(Float64Array::from(vec![0.5, 1.5]))),
            ("id", Arc::new(Int64Array::from(vec![Some(-7), None]))),
            ("text", Arc::new(LargeStringArray::from(vec!["hello", ""]))),
            ("split", Arc::new(categories.finish())),
            ("labels", Arc::new(lists.finish())),
            ("date", Arc::new(Date32Array::from(vec![Some(19_874), None]))),
        ],
    );
    let documents = read(&path);
    assert_eq!(documents.iter().map(|d| &*d.id).collect::<Vec<_>>(), ["-7", "a:2"]);
    assert_eq!(documents[0].body, Body::Text("hello".into()));
    assert_eq!(documents[0].labels, ["x", "y"]);
    assert!(documents[1].labels.is_empty());
    assert_eq!(documents.iter().map(|d| d.part).collect::<Vec<_>>(), [Some(Part::Train), Some(Part::Test)]);
    assert_eq!(documents[0].date.as_deref(), Some("2024-05-31"));
    for ending in [".gz", ".zst", ".bz2"] {
        let bytes = compressed(&std::fs::read(&path).unwrap(), ending);
        assert_eq!(read(&folder.file(&format!("a.parquet{ending}"), bytes)), documents);
    }
}

#[test]
fn labels_in_one_string_and_dates_with_time() {
    let folder = Folder::new();
    let path = folder.path("a.parquet");
    write(
        &path,
        vec![
            ("body", Arc::new(StringArray::from(vec!["hello"]))),
            ("label", Arc::new(StringArray::from(vec!["x; y"]))),
            ("date", Arc::new(TimestampMillisecondArray::from(vec![951_782_399_123]))),
        ],
    );
    let fields = Fields { text: Some("body".into()), ..Fields::default() };
    let documents = read_with(&path, &ReadOptions { fields, ..ReadOptions::default() }).unwrap();
    assert_eq!(documents[0].labels, ["x", "y"]);
    assert_eq!(documents[0].date.as_deref(), Some("2000-02-28T23:59:59"));
}

#[test]
fn wrong_columns_and_rows() {
    let folder = Folder::new();
    let path = folder.path("a.parquet");
    let message = || folder.message(&read_with(&path, &ReadOptions::default()).unwrap_err());
    let text: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
    write(&path, vec![("text", Arc::clone(&text)), ("labels", Arc::new(Float64Array::from(vec![0.5, 1.5])))]);
    assert_eq!(
        message(),
        "a.parquet: \"labels\" must be a list of strings or a string, found a column of type Float64"
    );
    write(&path, vec![("text", Arc::clone(&text))]);
    assert_eq!(message(), "a.parquet:2: the row has no text");
    write(&path, vec![("words", text)]);
    assert_eq!(
        message(),
        "a.parquet: no column \"text\"; the columns are words; name the one with the text with the option `text_field`"
    );
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.truncate(bytes.len() - 10);
    std::fs::write(&path, bytes).unwrap();
    assert!(message().starts_with("a.parquet: not a whole Parquet file ("), "{}", message());
}

#[cfg(unix)]
#[test]
fn not_from_a_stream() {
    let folder = Folder::new();
    let path = folder.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let writer = std::thread::spawn({
        let path = path.clone();
        move || std::fs::write(path, b"PAR1 and more")
    });
    let error = read_with(&path, &ReadOptions::default()).unwrap_err();
    assert_eq!(
        folder.message(&error),
        "pipe: Parquet cannot be read from a stream, since its index is at the end; save it to a file first"
    );
    let _ = writer.join().unwrap();
}

/// Columns that a terms expression names; null is a field that the document lacks.
#[test]
fn fields_are_columns() {
    let folder = Folder::new();
    let path = folder.path("a.parquet");
    write(
        &path,
        vec![
            ("title", Arc::new(StringArray::from(vec![Some("Sea"), None, None]))),
            ("body", Arc::new(LargeStringArray::from(vec![Some("ships sail"), Some("sea"), None]))),
            ("text", Arc::new(StringArray::from(vec!["unread"; 3]))),
        ],
    );
    let counted = |terms: &str| {
        let text: tamis::terms::TextOptions = terms.parse().unwrap();
        let options = tamis::counts::CountOptions { text, ..tamis::counts::CountOptions::default() };
        let corpus = tamis::corpus::open(std::slice::from_ref(&path), &ReadOptions::default())?;
        tamis::counts::count(corpus.batches_for(&options.text)?, &options, &tamis::Silent)
    };
    let (counts, _) = counted("title:words+body:words").unwrap();
    let shown: Vec<_> = counts.vocabulary.iter().map(|term| counts.text.shown(term).into_owned()).collect();
    assert_eq!(shown, ["title:sea", "body:sail", "body:sea", "body:ships"]);
    assert_eq!(counts.lengths, [3, 1, 0]);
    let error = counted("titel:words").unwrap_err().to_string();
    assert!(error.contains("\"titel\"") && error.contains("the columns are title, body, text"), "{error}");
}
