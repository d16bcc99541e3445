//! Parquet as other programs write it.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, Int64Builder, ListBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float32Array, Float64Array, Int8Array, Int64Array, LargeStringArray,
    RecordBatch, StringArray, TimestampMillisecondArray, UInt64Array,
};
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;
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
fn weights_in_columns_of_several_types() {
    let folder = Folder::new();
    let columns: [(ArrayRef, [Option<f64>; 2]); 3] = [
        (Arc::new(Float64Array::from(vec![Some(0.25), None])), [Some(0.25), None]),
        (Arc::new(Int64Array::from(vec![3, 0])), [Some(3.0), Some(0.0)]),
        (Arc::new(StringArray::from(vec!["1.5", " "])), [Some(1.5), None]),
    ];
    for (at, (column, expected)) in columns.into_iter().enumerate() {
        let path = folder.path(&format!("{at}.parquet"));
        write(&path, vec![("text", Arc::new(StringArray::from(vec!["a", "b"]))), ("weight", column)]);
        let fields = Fields { weight: Some("weight".into()), ..Fields::default() };
        let documents = read_with(&path, &ReadOptions { fields, ..ReadOptions::default() }).unwrap();
        assert_eq!(documents.iter().map(|d| d.weight).collect::<Vec<_>>(), expected);
        assert!(read(&path).iter().all(|d| d.weight.is_none()), "unasked for, it is a column like others");
    }
    let path = folder.path("bad.parquet");
    let weights: ArrayRef = Arc::new(Float64Array::from(vec![1.0, -1.0]));
    write(&path, vec![("text", Arc::new(StringArray::from(vec!["a", "b"]))), ("weight", weights)]);
    let fields = Fields { weight: Some("weight".into()), ..Fields::default() };
    let error = read_with(&path, &ReadOptions { fields, ..ReadOptions::default() }).unwrap_err().to_string();
    assert!(error.contains("between 0 and 1e9"), "{error}");
}

#[test]
fn wrong_columns_and_rows() {
    let folder = Folder::new();
    let path = folder.path("a.parquet");
    let message = || folder.message(&read_with(&path, &ReadOptions::default()).unwrap_err());
    let text: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
    write(&path, vec![("text", Arc::clone(&text)), ("labels", Arc::new(Date32Array::from(vec![1, 2])))]);
    assert_eq!(
        message(),
        "a.parquet: \"labels\" must be a string, a number or a boolean, or a list of them, found a column of type Date32"
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

#[test]
fn numbers_and_booleans_are_labels() {
    let folder = Folder::new();
    let path = folder.path("a.parquet");
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c"]));
    let labels = |column: ArrayRef| {
        write(&path, vec![("text", Arc::clone(&text)), ("label", column)]);
        read(&path).iter().map(|d| d.labels.join("|")).collect::<Vec<_>>()
    };
    assert_eq!(labels(Arc::new(Int64Array::from(vec![Some(3), None, Some(-1)]))), ["3", "", "-1"]);
    assert_eq!(labels(Arc::new(Int8Array::from(vec![0, 1, 2]))), ["0", "1", "2"]);
    assert_eq!(labels(Arc::new(UInt64Array::from(vec![0, 1, u64::MAX]))), ["0", "1", "18446744073709551615"]);
    assert_eq!(labels(Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))), ["true", "false", ""]);
    assert_eq!(labels(Arc::new(Float64Array::from(vec![2.0, f64::NAN, 0.1]))), ["2", "", "0.1"]);
    assert_eq!(labels(Arc::new(Float32Array::from(vec![2.0, -0.0, 0.1]))), ["2", "0", "0.1"]);
    let mut lists = ListBuilder::new(Int32Builder::new());
    lists.append_value([Some(4), None, Some(5)]);
    lists.append_value([]);
    lists.append_null();
    assert_eq!(labels(Arc::new(lists.finish())), ["4|5", "", ""]);
}

/// The metadata that Hugging Face's `datasets` writes.
fn described(path: &Path, feature: &str, labels: ArrayRef) {
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c"]));
    let batch = RecordBatch::try_from_iter(vec![("text", text), ("label", labels)]).unwrap();
    let note = format!(
        r#"{{"info": {{"features": {{"text": {{"dtype": "string", "_type": "Value"}}, "label": {feature}}}}}}}"#
    );
    let metadata = std::collections::HashMap::from([("huggingface".to_owned(), note)]);
    let schema = Arc::new(batch.schema().as_ref().clone().with_metadata(metadata));
    let batch = batch.with_schema(Arc::clone(&schema)).unwrap();
    let mut writer = ArrowWriter::try_new(std::fs::File::create(path).unwrap(), schema, None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn class_names_of_hugging_face() {
    let folder = Folder::new();
    let path = folder.path("a.parquet");
    let class = r#"{"names": ["neg", "a;b"], "_type": "ClassLabel"}"#;
    let labels = || read(&path).iter().map(|d| d.labels.join("|")).collect::<Vec<_>>();
    described(&path, class, Arc::new(Int64Array::from(vec![1, 0, -1])));
    assert_eq!(labels(), ["a;b", "neg", ""]);
    let mut lists = ListBuilder::new(Int64Builder::new());
    lists.append_value([Some(1), Some(0)]);
    lists.append_value([]);
    lists.append_value([Some(0)]);
    described(&path, &format!(r#"{{"feature": {class}, "_type": "Sequence"}}"#), Arc::new(lists.finish()));
    assert_eq!(labels(), ["a;b|neg", "", "neg"]);
    described(&path, class, Arc::new(Int64Array::from(vec![1, 0, 2])));
    let error = read_with(&path, &ReadOptions::default()).unwrap_err();
    assert_eq!(folder.message(&error), "a.parquet:3: \"label\" is class 2, and the file names 2 classes from 0");
    described(&path, r#"{"dtype": "int64", "_type": "Value"}"#, Arc::new(Int64Array::from(vec![1, 0, 2])));
    assert_eq!(labels(), ["1", "0", "2"]);
}

fn compressed_with(codec: Compression) -> Vec<u8> {
    let words = |i: usize| format!("document {i} has words such as {}", "abcdefgh".repeat(i % 7));
    let texts: Vec<String> = (0..200).map(words).collect();
    let labels: Vec<&str> = (0..200).map(|i| ["x", "y", "z"][i % 3]).collect();
    let columns: Vec<(&str, ArrayRef)> =
        vec![("text", Arc::new(StringArray::from(texts))), ("label", Arc::new(StringArray::from(labels)))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let groups = WriterProperties::builder().set_compression(codec).set_max_row_group_row_count(Some(100)).build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(groups)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn every_usual_codec_is_read() {
    let folder = Folder::new();
    let plain = read(&folder.file("a.parquet", compressed_with(Compression::UNCOMPRESSED)));
    assert_eq!(plain.len(), 200);
    for codec in [
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
    ] {
        assert_eq!(read(&folder.file("a.parquet", compressed_with(codec))), plain, "{codec}");
    }
}

/// Whatever happens to a file, reading it gives documents or an error that says where.
#[test]
fn damaged_files_are_errors_and_not_panics() {
    let folder = Folder::new();
    let mut seed = 12345u64;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let (mut good, mut groups) = (0, 0);
    for codec in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::LZ4_RAW] {
        let whole = compressed_with(codec);
        for _ in 0..700 {
            let mut bytes = whole.clone();
            for _ in 0..=random(3) {
                let at = random(bytes.len());
                bytes[at] = random(256) as u8;
            }
            match read_with(&folder.file("a.parquet", bytes), &ReadOptions::default()) {
                Ok(_) => good += 1,
                Err(error) => {
                    assert!(error.is_input(), "{error}");
                    let message = folder.message(&error);
                    assert!(message.starts_with("a.parquet"), "{message}");
                    assert!(message.len() < 1000, "{message}");
                    groups += usize::from(message.contains("in row group 2 of 2"));
                }
            }
        }
    }
    assert!(good > 0 && groups > 0, "{good} good, {groups} with their row group");
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
