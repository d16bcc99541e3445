//! Parquet shards: columns of any type stay as they are, row groups too, and what is added are the model's answers.
#![allow(clippy::unwrap_used)]
#![cfg(feature = "parquet")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{
    Array as _, ArrayRef, BooleanArray, Float64Array, LargeStringArray, RecordBatch, StructArray,
    TimestampMillisecondArray,
};
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::metadata::{KeyValue, RowGroupMetaData};
use parquet::file::properties::WriterProperties;
use tamis::bulk::{Added, BulkOptions, BulkReport, label_shards};
use tamis::corpus::{Body, ReadOptions, open};
use tamis::counts::{CountOptions, count};
use tamis::model::{FitOptions, How, Model};
use tamis::{Result, Silent};

struct Setting {
    folder: tempfile::TempDir,
    model: Model,
}

impl Setting {
    fn new() -> Self {
        let corpus = open(&["synth:topics:300".into()], &ReadOptions::default()).unwrap();
        let (counts, _) = count(corpus.batches().unwrap(), &CountOptions::default(), &Silent).unwrap();
        let options = FitOptions { classifier: Some("svm".parse().unwrap()), ..FitOptions::default() };
        let model = options.fit(&counts, &counts.training(), &Silent).unwrap().model;
        let folder = tempfile::tempdir().unwrap();
        model.write(&folder.path().join("m.model")).unwrap();
        Self { folder, model }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn label(&self, inputs: &[&str], output: &str, options: &BulkOptions) -> Result<BulkReport> {
        let inputs: Vec<PathBuf> = inputs.iter().map(|name| self.path(name)).collect();
        label_shards(&self.model, &self.path("m.model"), &inputs, &self.path(output), options, &Silent)
    }
}

/// Documents of the built-in corpus, one without a text.
fn texts() -> Vec<Option<String>> {
    let mut texts: Vec<Option<String>> = Vec::new();
    let corpus = open(&["synth:topics:1500".into()], &ReadOptions { seed: 7, ..ReadOptions::default() }).unwrap();
    corpus
        .for_each(|document| {
            match document.body {
                Body::Text(text) => texts.push(Some(text.into_owned())),
                other => panic!("{other:?}"),
            }
            Ok(())
        })
        .unwrap();
    texts[700] = None;
    texts
}

/// Columns of many types beside the text.
fn columns(texts: &[Option<String>]) -> RecordBatch {
    let n = texts.len() as i64;
    let mut categories = StringDictionaryBuilder::<Int32Type>::new();
    let mut lists = ListBuilder::new(Int64Builder::new());
    for row in 0..n {
        categories.append_value(["web", "news", "books"][row as usize % 3]);
        lists.append_value((0..row % 4).map(Some));
    }
    let deep: ArrayRef =
        Arc::new((0..n).map(|row| (row % 5 > 0).then_some(row as f64 / 7.0)).collect::<Float64Array>());
    let nested = StructArray::from(vec![(Arc::new(Field::new("deep", DataType::Float64, true)), deep)]);
    let times = TimestampMillisecondArray::from_iter_values((0..n).map(|row| row * 86_400_000)).with_timezone("+02:00");
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("source", Arc::new(categories.finish())),
        ("text", Arc::new(LargeStringArray::from(texts.to_vec()))),
        ("numbers", Arc::new(lists.finish())),
        ("nested", Arc::new(nested)),
        ("crawled", Arc::new(times)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn write(path: &Path, batch: &RecordBatch, rows: usize) {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(rows))
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(vec![KeyValue::new("origin".to_owned(), "a test".to_owned())]))
        .build();
    let mut writer =
        ArrowWriter::try_new(std::fs::File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

/// All rows of a file, the rows of its row groups, and what it says about itself.
fn read(path: &Path) -> (RecordBatch, Vec<i64>, String) {
    let builder = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path).unwrap()).unwrap();
    let metadata = Arc::clone(builder.metadata());
    let groups = metadata.row_groups().iter().map(RowGroupMetaData::num_rows).collect();
    let said = metadata.file_metadata().key_value_metadata().unwrap();
    let origin = said.iter().find(|pair| pair.key == "origin").and_then(|pair| pair.value.clone()).unwrap_or_default();
    let rows = usize::try_from(metadata.file_metadata().num_rows()).unwrap();
    let mut reader = builder.with_batch_size(rows.max(1)).build().unwrap();
    let batch = reader.next().unwrap().unwrap();
    assert!(reader.next().is_none());
    (batch, groups, origin)
}

#[test]
fn columns_stay_and_answers_join_them() {
    let setting = Setting::new();
    let texts = texts();
    let batch = columns(&texts);
    write(&setting.path("a.parquet"), &batch, 400);
    let added = Added::Labels { best: None, ranked: Some(2) };
    let options = BulkOptions { added, workers: 3, ..BulkOptions::default() };
    let report = setting.label(&["a.parquet"], "out", &options).unwrap();
    assert_eq!((report.labelled, report.rows, report.kept, report.without_text), (1, 1500, 1500, 1));
    let (found, groups, origin) = read(&setting.path("out/a.parquet"));
    assert_eq!((groups, origin.as_str()), (vec![400, 400, 400, 300], "a test"));
    let names: Vec<&str> = batch.schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(found.project(&[0, 1, 2, 3, 4]).unwrap(), batch, "{names:?}");
    // What is added is what the model says of each document by itself.
    let column = |name: &str| found.column_by_name(name).unwrap().clone();
    let (labels, scores, known) = (column("tamis_labels"), column("tamis_scores"), column("tamis_known"));
    let mut labeller = setting.model.labeller();
    for (row, text) in texts.iter().enumerate() {
        let Some(text) = text else {
            assert!(labels.is_null(row) && scores.is_null(row) && known.is_null(row));
            continue;
        };
        let how = How { ranked: 2, ..How::default() };
        let answer = labeller.answer(None, &Body::Text(text.into()), &how);
        let row_labels = labels.as_list::<i32>().value(row);
        assert_eq!(row_labels.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), answer.labels);
        let row_scores = scores.as_list::<i32>().value(row);
        let expected: Vec<f64> = answer.ranked.unwrap().iter().map(|ranked| ranked.score).collect();
        assert_eq!(row_scores.as_primitive::<Float64Type>().values().to_vec(), expected);
        assert_eq!(known.as_boolean().value(row), answer.known);
    }
    // Once more: nothing is to do.
    let again = setting.label(&["a.parquet"], "out", &options).unwrap();
    assert_eq!((again.labelled, again.already, again.rows), (0, 1, 0));
}

#[test]
fn one_score_and_rows_by_it() {
    let setting = Setting::new();
    let texts = texts();
    let batch = columns(&texts);
    write(&setting.path("a.parquet"), &batch, 256);
    let label = setting.model.labels.name(0).to_owned();
    let added = Added::Score { label: label.clone(), probability: setting.model.has_probabilities() };
    let options = BulkOptions { added, prefix: "q_".into(), ..BulkOptions::default() };
    setting.label(&["a.parquet"], "all", &options).unwrap();
    let (all, ..) = read(&setting.path("all/a.parquet"));
    let scores = all.column_by_name("q_score").unwrap().as_primitive::<Float64Type>().clone();
    let mut labeller = setting.model.labeller();
    for (row, text) in texts.iter().enumerate().filter_map(|(row, text)| Some((row, text.as_ref()?))) {
        let ranked = labeller.label(&Body::Text(text.into())).ranked;
        let expected = ranked.iter().find(|scored| scored.label == 0).unwrap().score;
        assert_eq!(scores.value(row).to_bits(), expected.to_bits());
    }
    let keep = BulkOptions { keep: Some("score > -0.5".parse().unwrap()), ..options };
    let report = setting.label(&["a.parquet"], "kept", &keep).unwrap();
    let (kept, _, origin) = read(&setting.path("kept/a.parquet"));
    let wanted = (0..1500).map(|row| Some(!scores.is_null(row) && scores.value(row) > -0.5)).collect::<BooleanArray>();
    let expected = arrow_select::filter::filter_record_batch(&all, &wanted).unwrap();
    assert!(expected.num_rows() > 0 && expected.num_rows() < 1499, "the test tells nothing");
    assert_eq!((kept, origin.as_str()), (expected.clone(), "a test"));
    assert_eq!((report.rows, report.kept), (1500, expected.num_rows() as u64));
}

#[test]
fn broken_shards_are_named_and_the_others_are_done() {
    let setting = Setting::new();
    let batch = columns(&texts());
    for name in ["a", "b", "c", "d", "e"] {
        write(&setting.path(&format!("{name}.parquet")), &batch, 500);
    }
    let whole = std::fs::read(setting.path("b.parquet")).unwrap();
    std::fs::write(setting.path("b.parquet"), &whole[..whole.len() / 2]).unwrap();
    // Damage within a page of texts: the description of the file is whole.
    let mut damaged = whole;
    let middle = damaged.len() / 2;
    damaged[middle - 3000..middle].fill(0x5a);
    std::fs::write(setting.path("d.parquet"), &damaged).unwrap();
    let without_text = batch.project(&[0, 2]).unwrap();
    write(&setting.path("c.parquet"), &without_text, 500);
    let names = ["a.parquet", "b.parquet", "c.parquet", "d.parquet", "e.parquet"];
    let report = setting.label(&names, "out", &BulkOptions::default()).unwrap();
    let messages: Vec<String> = report.broken.iter().map(ToString::to_string).collect();
    assert_eq!((report.labelled, messages.len()), (2, 3), "{messages:?}");
    assert!(messages[0].contains("b.parquet: not a whole Parquet file"), "{messages:?}");
    assert!(messages[1].contains("c.parquet: no column \"text\"; the columns are source, numbers"), "{messages:?}");
    assert!(messages[2].contains("d.parquet"), "{messages:?}");
    let mut left: Vec<String> = std::fs::read_dir(setting.path("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["_tamis.json", "a.parquet", "e.parquet"]);
}

#[test]
fn a_column_of_the_same_name_is_not_lost() {
    let setting = Setting::new();
    let mut builder = StringBuilder::new();
    builder.append_value("words");
    let text: ArrayRef = Arc::new(builder.finish());
    let batch = RecordBatch::try_from_iter([("text", Arc::clone(&text)), ("tamis_labels", text)]).unwrap();
    write(&setting.path("a.parquet"), &batch, 10);
    let report = setting.label(&["a.parquet"], "out", &BulkOptions::default()).unwrap();
    let message = report.broken[0].to_string();
    assert!(message.contains("\"tamis_labels\" is there already") && message.contains("`prefix`"), "{message}");
    let other = BulkOptions { prefix: "second_".into(), ..BulkOptions::default() };
    assert_eq!(setting.label(&["a.parquet"], "second", &other).unwrap().labelled, 1);
}

#[test]
fn a_file_without_rows_is_a_shard() {
    let setting = Setting::new();
    write(&setting.path("a.parquet"), &columns(&[]), 10);
    let options = BulkOptions::default();
    assert_eq!(setting.label(&["a.parquet"], "out", &options).unwrap().labelled, 1);
    let file = std::fs::File::open(setting.path("out/a.parquet")).unwrap();
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    assert_eq!(builder.schema().fields().len(), 7);
    assert_eq!(builder.metadata().file_metadata().num_rows(), 0);
}
