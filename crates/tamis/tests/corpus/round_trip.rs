//! What is written is read back, as far as a format can hold it.

use std::borrow::Cow;
use std::path::Path;

use proptest::prelude::*;
use tamis::corpus::{Body, Document, Format, Part, ReadOptions, WriteOptions, Writer};

use super::{Folder, read, read_with};

fn write(path: &Path, documents: &[Document<'_>], options: &WriteOptions) -> tamis::Result<u64> {
    let mut writer = Writer::create(path, options)?;
    documents.iter().try_for_each(|document| writer.write(document))?;
    writer.finish()
}

fn documents() -> impl Strategy<Value = Vec<Document<'static>>> {
    let word = "[a-zA-Zäß0-9,.;'\"#:-]{1,8}";
    let text = prop::collection::vec((word, prop::sample::select(vec![" ", "\n", "\t", "  ", ", "])), 1..12)
        .prop_map(|words| words.into_iter().map(|(word, gap)| word + gap).collect::<String>().trim().to_owned() + ".");
    let labels = prop::collection::btree_set("[a-zA-Z][a-zA-Z0-9._é-]{0,6}", 0..4);
    let part = prop::sample::select(vec![None, Some(Part::Train), Some(Part::Test)]);
    let date = prop::sample::select(vec![None, Some("2024-05-31"), Some("1999")]);
    prop::collection::vec((text, labels, part, date), 1..20).prop_map(|rows| {
        rows.into_iter()
            .enumerate()
            .map(|(i, (text, labels, part, date))| Document {
                id: format!("doc/{i}").into(),
                body: Body::Text(text.into()),
                labels: labels.into_iter().map(Cow::Owned).collect(),
                part,
                date: date.map(Cow::Borrowed),
                weight: None,
            })
            .collect()
    })
}

/// The words of a body with their counts, sorted.
fn bag(body: &Body<'_>) -> Vec<(String, u32)> {
    let mut bag = std::collections::BTreeMap::<String, u32>::new();
    match body {
        Body::Text(text) => text.split_whitespace().for_each(|w| *bag.entry(w.to_owned()).or_default() += 1),
        Body::Tokens(tokens) => tokens.iter().for_each(|w| *bag.entry(w.to_string()).or_default() += 1),
        Body::Fields(fields) => panic!("no field was named, and here are {fields:?}"),
        Body::Counts(counts) => counts.iter().for_each(|(w, n)| *bag.entry(w.to_string()).or_default() += n),
    }
    bag.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn fields_survive_jsonl_csv_and_tsv(documents in documents()) {
        let folder = Folder::new();
        let mut before = folder.path("0.jsonl");
        write(&before, &documents, &WriteOptions::default()).unwrap();
        let names = ["1.csv", "2.tsv.gz", "3.jsonl.zst", "4.csv.bz2", "5.tsv", "6.jsonl"];
        for name in names {
            let path = folder.path(name);
            write(&path, &read(&before), &WriteOptions::default()).unwrap();
            prop_assert_eq!(&read(&path), &documents, "{}", name);
            before = path;
        }
        #[cfg(feature = "parquet")]
        {
            let path = folder.path("7.parquet");
            write(&path, &documents, &WriteOptions::default()).unwrap();
            prop_assert_eq!(&read(&path), &documents);
        }
    }

    #[test]
    fn words_and_labels_survive_fasttext_and_svmlight(documents in documents()) {
        for name in ["a.ft", "a.svm", "a.svm.gz"] {
            let folder = Folder::new();
            let path = folder.path(name);
            write(&path, &documents, &WriteOptions::default()).unwrap();
            let back = read(&path);
            prop_assert_eq!(back.len(), documents.len());
            for (a, b) in back.iter().zip(&documents) {
                prop_assert_eq!(&a.labels, &b.labels);
                prop_assert_eq!(bag(&a.body), bag(&b.body));
            }
        }
    }

    #[test]
    fn text_label_and_part_survive_folders(documents in documents()) {
        let folder = Folder::new();
        let path = folder.path("corpus/");
        let one_label: Vec<_> = documents
            .into_iter()
            .map(|d| Document { labels: vec![d.labels.first().cloned().unwrap_or("none".into())], ..d })
            .collect();
        write(&path, &one_label, &WriteOptions::default()).unwrap();
        let mut expected: Vec<_> = one_label.iter().map(|d| (format!("{:?}", d.body), d.labels.clone(), d.part)).collect();
        let mut back: Vec<_> = read(&path).iter().map(|d| (format!("{:?}", d.body), d.labels.clone(), d.part)).collect();
        expected.sort();
        back.sort();
        prop_assert_eq!(back, expected);
    }
}

/// Two files cannot be renamed at once: whatever a kill leaves of two pairs, words are never another corpus's.
#[test]
fn terms_of_another_svmlight_file_are_refused() {
    let folder = Folder::new();
    let path = folder.path("a.svm");
    let beside = folder.path("a.svm.terms");
    let text = |words: &'static str| Document { body: Body::Text(words.into()), ..document("d", &["x"]) };
    let both = || (std::fs::read(&path).unwrap(), std::fs::read(&beside).unwrap());
    write(&path, &[text("old words here")], &WriteOptions::default()).unwrap();
    let old = both();
    write(&path, &[text("new sea ships")], &WriteOptions::default()).unwrap();
    let new = both();
    for (records, terms) in [(&new.0, Some(&old.1)), (&old.0, Some(&new.1)), (&new.0, None)] {
        std::fs::write(&path, records).unwrap();
        match terms {
            Some(terms) => std::fs::write(&beside, terms).unwrap(),
            None => std::fs::remove_file(&beside).unwrap(),
        }
        let error = read_with(&path, &ReadOptions::default()).unwrap_err();
        assert!(error.is_input() && error.to_string().contains("names of "), "{error}");
    }
    // Files of before and of others have no such line.
    std::fs::write(&path, "x 1:1 2:1\n").unwrap();
    std::fs::write(&beside, "sea\nships\n").unwrap();
    let counts = vec![("sea".into(), 1), ("ships".into(), 1)];
    assert_eq!(read(&path)[0].body, Body::Counts(counts));
}

fn document(id: &'static str, labels: &[&'static str]) -> Document<'static> {
    let labels = labels.iter().map(|l| Cow::Borrowed(*l)).collect();
    Document { id: id.into(), body: Body::Text("some words".into()), labels, part: None, date: None, weight: None }
}

#[test]
fn tokens_and_counts_survive_jsonl() {
    let folder = Folder::new();
    let tokens = Document { body: Body::Tokens(vec!["a b".into(), "c".into()]), ..document("1", &["x"]) };
    let counts = Document { body: Body::Counts(vec![("a".into(), 3), ("\"".into(), 1)]), ..document("2", &[]) };
    let path = folder.path("a.jsonl");
    write(&path, &[tokens.clone(), counts.clone()], &WriteOptions::default()).unwrap();
    assert_eq!(read(&path), [tokens, counts]);
}

#[test]
fn what_a_format_cannot_hold_is_an_error_and_leaves_nothing() {
    let folder = Folder::new();
    let cases = [
        (
            "a.csv",
            vec!["x;y"],
            "document \"d\" has the label \"x;y\" with \";\" in it; choose another with the option `to_separator`",
        ),
        (
            "a.ft",
            vec!["x y"],
            "document \"d\" has the label \"x y\" with a space in it, which fastText lines cannot hold",
        ),
        ("a.svm", vec!["x,y"], "document \"d\" has the label \"x,y\", which svmlight lines cannot hold"),
        ("a.svm", vec!["1:2"], "document \"d\" has the label \"1:2\", which svmlight lines cannot hold"),
        (
            "a/",
            vec!["x", "y"],
            "document \"d\" has 2 labels, and a folder for each label holds one; write another format, such as jsonl",
        ),
        ("a/", vec!["../x"], "document \"d\" has the label \"../x\", which cannot be the name of a folder"),
    ];
    for (name, labels, reason) in cases {
        let error = write(&folder.path(name), &[document("d", &labels)], &WriteOptions::default()).unwrap_err();
        assert_eq!(folder.message(&error), format!("{name}: {reason}"));
    }
    let error = write(&folder.path("a.sgm"), &[], &WriteOptions::default()).unwrap_err();
    assert!(
        folder.message(&error).starts_with("a.sgm: reuters is read but not written; give one of jsonl csv tsv"),
        "{error}"
    );
    let error = write(&folder.path("a.xyz"), &[], &WriteOptions::default()).unwrap_err();
    assert!(folder.message(&error).starts_with("a.xyz: the ending tells no format; give one of "), "{error}");
    assert_eq!(std::fs::read_dir(folder.path("")).unwrap().count(), 0);
    folder.file("full/x", "1");
    let error = write(&folder.path("full"), &[], &WriteOptions::default()).unwrap_err();
    assert_eq!(folder.message(&error), "full: the folder exists and is not empty; name a new one");
}

#[test]
fn options_of_writing_and_reading_agree() {
    let folder = Folder::new();
    let documents = [document("1", &["x;y", "z"]), document("2", &[])];
    let to = WriteOptions { label_separator: "|".into(), to: Some(Format::Tsv), ..WriteOptions::default() };
    let path = folder.path("a.data");
    write(&path, &documents, &to).unwrap();
    let from = ReadOptions { label_separator: "|".into(), ..ReadOptions::default() };
    assert_eq!(read_with(&path, &from).unwrap(), documents);
}

#[test]
fn a_stream_takes_lines() {
    use std::sync::{Arc, Mutex};
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let out = Shared::default();
    let mut writer = Writer::to_stream(Box::new(out.clone()), &WriteOptions::default()).unwrap();
    writer.write(&document("1", &["x"])).unwrap();
    assert_eq!(writer.finish().unwrap(), 1);
    let written = String::from_utf8(out.0.lock().unwrap().clone()).unwrap();
    assert_eq!(written, "{\"id\":\"1\",\"text\":\"some words\",\"labels\":[\"x\"]}\n");
    let parquet = WriteOptions { to: Some(Format::Parquet), ..WriteOptions::default() };
    let error = Writer::to_stream(Box::new(out), &parquet).err().unwrap();
    assert_eq!(error.to_string(), "-: parquet cannot be written to a stream; name a file");
}
