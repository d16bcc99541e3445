//! How often a document counts, from a field of the corpus to the model.

use tamis::Silent;
use tamis::corpus::{Body, Fields, ReadOptions, WriteOptions, Writer, open};
use tamis::counts::{CountOptions, count};
use tamis::model::FitOptions;

use super::{Folder, read, read_with};

fn weighed() -> ReadOptions {
    ReadOptions { fields: Fields { weight: Some("times".into()), ..Fields::default() }, ..ReadOptions::default() }
}

#[test]
fn a_field_says_how_often_a_document_counts() {
    let folder = Folder::new();
    let json = folder.file(
        "a.jsonl",
        "{\"text\": \"a\", \"times\": 2}\n{\"text\": \"b\", \"times\": 0.5}\n{\"text\": \"c\", \"times\": null}\n{\"text\": \"d\"}\n",
    );
    let csv = folder.file("a.csv", "text,times\na,2\nb,0.5\nc, \nd,\n");
    for path in [&json, &csv] {
        let found: Vec<Option<f64>> = read_with(path, &weighed()).unwrap().iter().map(|d| d.weight).collect();
        assert_eq!(found, [Some(2.0), Some(0.5), None, None]);
        let (counts, _) = count(
            open(std::slice::from_ref(path), &weighed()).unwrap().batches().unwrap(),
            &CountOptions::default(),
            &Silent,
        )
        .unwrap();
        assert_eq!(counts.weights, [2.0, 0.5, 1.0, 1.0]);
        assert_eq!(counts.select(&[1, 3]).weights, [0.5, 1.0]);
        let (counts, _) = count(
            open(std::slice::from_ref(path), &ReadOptions::default()).unwrap().batches().unwrap(),
            &CountOptions::default(),
            &Silent,
        )
        .unwrap();
        assert!(counts.weights.is_empty());
    }
}

#[test]
fn what_is_no_weight_is_said() {
    let folder = Folder::new();
    for (name, content, expected) in [
        ("a.jsonl", "{\"text\": \"a\", \"times\": -1}\n", "\"times\" must be a number between 0 and 1e9, found -1"),
        ("a.jsonl", "{\"text\": \"a\", \"times\": \"2\"}\n", "\"times\" must be a number, 0 or more, found a string"),
        ("a.csv", "text,times\na,often\n", "\"times\" must be a number, 0 or more, found \"often\""),
        ("a.csv", "text,times\na,inf\n", "\"times\" must be a number between 0 and 1e9, found inf"),
        ("a.csv", "text,label\na,b\n", "no column \"times\" (the option `weight_field`)"),
    ] {
        let error = read_with(&folder.file(name, content), &weighed()).unwrap_err();
        assert!(folder.message(&error).contains(expected), "{error}");
    }
}

#[test]
fn weights_are_written_where_they_can_be_read_again() {
    let folder = Folder::new();
    let documents = read_with(&folder.file("a.csv", "text,times\na,2\nb,\n"), &weighed()).unwrap();
    let to = folder.path("b.jsonl");
    let mut writer = Writer::create(&to, &WriteOptions::default()).unwrap();
    documents.iter().for_each(|d| writer.write(d).unwrap());
    writer.finish().unwrap();
    let fields = Fields { weight: Some("weight".into()), ..Fields::default() };
    assert_eq!(read_with(&to, &ReadOptions { fields, ..ReadOptions::default() }).unwrap(), documents);
    assert!(read(&to).iter().all(|d| d.weight.is_none()));
    let mut writer = Writer::create(&folder.path("b.csv"), &WriteOptions::default()).unwrap();
    let error = writer.write(&documents[0]).unwrap_err().to_string();
    assert!(error.contains("only JSONL holds"), "{error}");
}

/// A document of weight 0 is not there, and one of weight 2 is there twice, for the whole of a fit with words as they are.
#[test]
fn a_model_of_weighed_documents_is_that_of_repeated_ones() {
    let folder = Folder::new();
    let line = |text: &str, label: &str, times: usize| {
        format!("{{\"text\": \"{text}\", \"label\": \"{label}\", \"times\": {times}}}\n")
    };
    let documents = [
        ("ship port", "sea", 2),
        ("ship crew oil", "sea", 1),
        ("oil price", "trade", 3),
        ("price", "trade", 1),
        ("ship", "trade", 0),
    ];
    let once: String = documents.iter().map(|(t, l, n)| line(t, l, *n)).collect();
    let often: String = documents.iter().map(|(t, l, n)| line(t, l, 1).repeat(*n)).collect();
    let fit = |name: &str, content: &str, read: &ReadOptions, classifier: &str| {
        let corpus = open(&[folder.file(name, content)], read).unwrap();
        let (counts, _) = count(corpus.batches().unwrap(), &CountOptions::default(), &Silent).unwrap();
        let options = FitOptions {
            by: Some("df".parse().unwrap()),
            features: Some("all".parse().unwrap()),
            classifier: Some(classifier.parse().unwrap()),
            folds: Some(0),
            ..FitOptions::default()
        };
        options.fit(&counts, &counts.rows(), &Silent).unwrap().model
    };
    for classifier in ["svm(vectors=tf,gap=1e-9)", "logistic(vectors=tf,gap=1e-12)", "bayes"] {
        let weighed = fit("once.jsonl", &once, &weighed(), classifier);
        let repeated = fit("often.jsonl", &often, &ReadOptions::default(), classifier);
        let score = |model: &tamis::model::Model, words: &str| {
            let mut labeller = model.labeller();
            labeller.label(&Body::Text(words.into())).ranked.iter().map(|s| (s.label, s.score)).collect::<Vec<_>>()
        };
        for words in ["ship", "oil price", "crew"] {
            for (a, b) in score(&weighed, words).iter().zip(score(&repeated, words)) {
                assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-3, "{classifier}: {a:?} {b:?}");
            }
        }
        if classifier.starts_with("logistic") {
            assert!(weighed.has_probabilities());
            let (mut labeller, mut p) = (weighed.labeller(), Vec::new());
            assert!(weighed.probabilities(labeller.label(&Body::Text("oil".into())).ranked, &mut p));
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            let back = tamis::model::Model::from_bytes(&weighed.to_bytes().unwrap()).unwrap();
            assert_eq!(score(&back, "oil crew"), score(&weighed, "oil crew"));
        }
    }
}
