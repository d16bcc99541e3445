//! What an opened corpus knows: where it is from, and what a malformed record does.

use std::path::PathBuf;

use tamis::Silent;
use tamis::corpus::synth::{Shape, SynthOptions, documents};
use tamis::corpus::{Document, Format, OnError, ReadOptions, open};
use tamis::counts::{CountOptions, Counted, count, count_contingency};

use super::{Folder, read_with};

#[test]
fn built_in_corpora_are_opened_like_all_others() {
    let options = ReadOptions { seed: 7, ..ReadOptions::default() };
    let path = PathBuf::from("synth:topics:1_200");
    let expected = SynthOptions { documents: 1200, seed: 7, ..SynthOptions::of(Shape::Topics) };
    let same: Vec<Document<'static>> = documents(&expected).unwrap().collect();
    assert_eq!(read_with(&path, &options).unwrap(), same);

    let corpus = open(&[path], &options).unwrap();
    assert_eq!((corpus.format(), corpus.built_in()), (None, Some(&expected)));
    assert_eq!(corpus.to_string(), "built-in (topics)");
    assert!(corpus.is_rereadable());
    assert!(corpus.no_labels().to_string().starts_with("synth:topics:1_200: no document has a label"));
    let usual = open(&["synth:rcv1".into()], &ReadOptions::default()).unwrap();
    assert_eq!(usual.built_in(), Some(&SynthOptions::of(Shape::Rcv1)));
}

#[test]
fn names_of_built_in_corpora_are_checked() {
    let folder = Folder::new();
    let file = folder.file("a.jsonl", "{\"text\": \"a\"}\n");
    let error = |paths: &[PathBuf]| open(paths, &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(error(&["synth:topics:many".into()]), "synth:topics:many: \"many\" is not a number of documents");
    assert!(error(&["synth:topic".into()]).starts_with("synth:topic: unknown shape \"topic\"; did you mean topics?"));
    assert!(error(&["synth:topics:0".into()]).starts_with("synth:topics:0: "));
    assert!(error(&[file, "synth:topics:5".into()]).contains("cannot be mixed"));
}

#[test]
fn what_a_malformed_record_does_is_said_once() {
    let folder = Folder::new();
    let file = folder.file("a.jsonl", "{\"text\": \"a b\", \"label\": \"x\"}\n{\"text\": 5}\n{\"text\": \"b\"}\n");
    let folders = folder.file("tree/x/1.txt", "a").parent().unwrap().parent().unwrap().to_owned();
    for (path, format) in [(&file, Format::Jsonl), (&folders, Format::Folders)] {
        for on_error in [OnError::Stop, OnError::Skip] {
            let corpus = open(std::slice::from_ref(path), &ReadOptions { on_error, ..ReadOptions::default() }).unwrap();
            assert_eq!((corpus.format(), corpus.batches().unwrap().on_error()), (Some(format), on_error));
        }
    }

    let skip = ReadOptions { on_error: OnError::Skip, ..ReadOptions::default() };
    let (stops, skips) =
        (open(std::slice::from_ref(&file), &ReadOptions::default()).unwrap(), open(&[file], &skip).unwrap());
    let options = CountOptions::default();
    assert!(count(stops.batches().unwrap(), &options, &Silent).is_err());
    let (counts, report) = count(skips.batches().unwrap(), &options, &Silent).unwrap();
    assert_eq!((counts.len(), report.skipped.count), (2, 1));
    let counted = |corpus: &tamis::corpus::Corpus| {
        count_contingency(corpus.batches().unwrap(), Counted::All, &options, &Silent)
            .map(|(table, _)| table.documents())
    };
    assert!(counted(&stops).is_err());
    assert_eq!(counted(&skips).unwrap(), 2);
}
