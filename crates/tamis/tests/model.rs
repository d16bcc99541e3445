//! Models: fitting on the built-in corpus, the file, and what it promises.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use tamis::Silent;
use tamis::corpus::synth::{self, Generator, Shape, SynthOptions};
use tamis::counts::{CountOptions, Counts, count};
use tamis::features::Size;
use tamis::model::{FitOptions, Model, Trained};

fn corpus(documents: u64) -> Counts {
    let options = SynthOptions { documents, ..SynthOptions::of(Shape::Topics) };
    count(synth::batches(&options).unwrap(), &CountOptions::default(), &Silent).unwrap().0
}

fn options(classifier: &str, threshold: &str) -> FitOptions {
    FitOptions {
        by: Some("chi2max@1".parse().unwrap()),
        features: Some(Size::Top(300)),
        classifier: Some(classifier.parse().unwrap()),
        threshold: Some(threshold.parse().unwrap()),
        folds: Some(if threshold.starts_with("scut") { 3 } else { 0 }),
        ..FitOptions::default()
    }
}

fn trained(counts: &Counts, classifier: &str, threshold: &str) -> Trained {
    options(classifier, threshold).fit(counts, &counts.training(), &Silent).unwrap()
}

/// What a model says about the first documents of the corpus.
fn answers(model: &Model) -> Vec<(Vec<(u32, u64)>, Vec<u32>)> {
    let generator = Generator::new(&SynthOptions::of(Shape::Topics)).unwrap();
    let mut labeller = model.labeller();
    (0..40)
        .map(|number| {
            let labelled = labeller.label(&generator.document(number).body);
            let ranked = labelled.ranked.iter().map(|s| (s.label, s.score.to_bits())).collect();
            (ranked, labelled.decided.to_vec())
        })
        .collect()
}

#[test]
fn what_was_written_is_what_is_read() {
    let counts = corpus(400);
    for (classifier, threshold) in [
        ("svm", "scut"),
        ("svm(multi=ovo)", "rcut(2)"),
        ("bayes", "rcut(1)"),
        ("bayes(multi=ovr)", "scut"),
        ("knn(20)", "rcut(2)"),
        ("wknn", "scut"),
    ] {
        let model = trained(&counts, classifier, threshold).model;
        let bytes = model.to_bytes().unwrap();
        let read = Model::from_bytes(&bytes).unwrap();
        assert_eq!(answers(&read), answers(&model), "{classifier}");
        assert_eq!(read.to_bytes().unwrap(), bytes, "{classifier}: writing again gives the same bytes");
        assert_eq!(read.summary, model.summary);
    }
}

#[test]
fn eight_bits_change_little_and_are_stored() {
    let counts = corpus(600);
    let options = options("svm", "rcut(1)");
    let model = options.fit(&counts, &counts.training(), &Silent).unwrap().model;
    let quantised = FitOptions { quantise: true, ..options }.fit(&counts, &counts.training(), &Silent).unwrap();
    let small = quantised.model;
    assert!(quantised.unchanged.unwrap() > 0.95);
    let read = Model::from_bytes(&small.to_bytes().unwrap()).unwrap();
    assert_eq!(answers(&read), answers(&small));
    assert!(small.to_bytes().unwrap().len() < model.to_bytes().unwrap().len());
    let same = answers(&small).iter().zip(answers(&model)).filter(|(a, b)| a.1 == b.1).count();
    assert!(same >= 38, "{same} of 40 first labels are the same");
}

#[test]
fn any_changed_byte_is_an_error_and_never_a_panic() {
    let counts = corpus(200);
    for classifier in ["svm", "knn(5)"] {
        let bytes = trained(&counts, classifier, "rcut(1)").model.to_bytes().unwrap();
        for at in (0..bytes.len()).step_by(bytes.len() / 400) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(Model::from_bytes(&damaged).is_err(), "{classifier}: byte {at}");
        }
        assert!(Model::from_bytes(&bytes[..bytes.len() / 2]).is_err());
    }
}

#[test]
fn threads_do_not_change_a_model() {
    let counts = corpus(400);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| trained(&counts, "svm", "scut").model.to_bytes().unwrap())
    };
    assert!(with(1) == with(3));
}

#[test]
fn what_is_left_open_is_chosen_and_explained() {
    let counts = corpus(500);
    let options = FitOptions { folds: Some(3), ..FitOptions::default() };
    let trained = options.fit(&counts, &counts.training(), &Silent).unwrap();
    assert!(trained.trials.len() >= 8);
    assert!(trained.model.summary.choices[0].contains("cross-validation"));
    assert_eq!(trained.model.summary.quality.len(), 3);
    assert!(trained.model.summary.quality.iter().all(|(_, value)| *value > 0.5), "{:?}", trained.model.summary.quality);
}

/// A size that was asked for is the size, whatever terms there are, and the sentences are about it.
#[test]
fn a_size_beyond_all_terms_is_all_terms() {
    let counts = pairs_of_words(120);
    for features in [Size::Top(50), Size::Top(1_000_000), Size::All] {
        let options = FitOptions { features: Some(features), folds: Some(0), ..FitOptions::default() };
        let trained = options.fit(&counts, &counts.training(), &Silent).unwrap();
        assert!(trained.model.terms.len() <= features.of(usize::MAX));
        assert!(trained.frontier.iter().all(|p| p.size <= features.of(usize::MAX)));
        if features == Size::Top(50) {
            assert!(trained.model.summary.choices[0].contains("with 50 terms"), "{:?}", trained.model.summary.choices);
        }
    }
}

fn pairs_of_words(documents: u64) -> Counts {
    let options = SynthOptions { documents, ..SynthOptions::of(Shape::Topics) };
    let text = "words(1-2)".parse().unwrap();
    let counting = CountOptions { text, ..CountOptions::default() };
    count(synth::batches(&options).unwrap(), &counting, &Silent).unwrap().0
}

/// Dropping pairs of words gives what counting single words gives, in scripts with and without blanks.
#[test]
fn narrowed_counts_are_those_of_the_narrow_terms() {
    let count_as = |terms: &str, texts: &[&str]| {
        let document = |(n, text): (usize, &&str)| tamis::corpus::Document {
            id: n.to_string().into(),
            body: tamis::corpus::Body::Text((*text).to_owned().into()),
            labels: vec![format!("l{}", n % 2).into()],
            part: None,
            date: None,
            weight: None,
        };
        let documents: Vec<_> = texts.iter().enumerate().map(document).collect();
        let counting = CountOptions { text: terms.parse().unwrap(), ..CountOptions::default() };
        count(Box::new(tamis::corpus::InMemory(documents.into_iter())), &counting, &Silent).unwrap().0
    };
    let texts =
        ["The big ship, the sea!", "手机很好 iPhone手机", "größer als alle", "ship sea ship", "안녕하세요 세계"];
    let wide = count_as("words(1-2)", &texts);
    assert!(wide.narrowed(&wide.text).unwrap().is_none());
    for wide in [wide, count_as("words(1-2)+chars(1-2)", &texts)] {
        for text in wide.text.narrower() {
            let narrow = wide.narrowed(&text).unwrap().unwrap_or_else(|| wide.clone());
            assert_eq!(narrow, count_as(&text.to_string(), &texts), "{text}");
        }
    }
}

#[test]
fn lambda_is_learned_for_the_size_and_classifier() {
    let counts = corpus(300);
    let options = FitOptions {
        by: Some("wfo(auto)@1".parse().unwrap()),
        features: Some(Size::Top(100)),
        classifier: Some("bayes".parse().unwrap()),
        folds: Some(0),
        threshold: Some("rcut(1)".parse().unwrap()),
        ..FitOptions::default()
    };
    let model = options.fit(&counts, &counts.training(), &Silent).unwrap().model;
    assert!(
        model.summary.selector.starts_with("wfo(0") && model.summary.selector.ends_with(")@1"),
        "{}",
        model.summary.selector
    );
    assert!(model.summary.choices.iter().any(|c| c.contains("was learned")));
}

#[test]
fn nothing_to_tell_apart_is_explained() {
    let counts = Counts::from_rows(&[(vec!["a", "b"], vec!["x"]), (vec!["b", "c"], vec!["x"])]);
    let error = FitOptions::default().fit(&counts, &[0, 1], &Silent).unwrap_err().to_string();
    assert!(error.contains("every training document has the same labels (x)"), "{error}");
    let counts = Counts::from_rows::<&str, &str>(&[(vec!["a"], vec![]), (vec!["b"], vec![])]);
    let error = FitOptions::default().fit(&counts, &[0, 1], &Silent).unwrap_err().to_string();
    assert!(error.contains("no training document has a label"), "{error}");
}

/// The first published format must stay readable. The file was written by
/// `tamis fit synth:topics:300 --by chi2max@1 --features 60 --classifier svm --threshold 'scut' --folds 3`.
#[test]
fn a_file_of_version_1_is_read() {
    let model = Model::read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/version-1.model"))).unwrap();
    assert_eq!(model.terms.len(), 60);
    assert_eq!(model.summary.classifier.to_string(), "svm");
    let mut labeller = model.labeller();
    let labelled = labeller.label(&tamis::corpus::Body::Text("goalkeeper striker referee penalty league".into()));
    let best = model.labels.name(labelled.ranked[0].label);
    assert!(best.starts_with("sport/"), "{best}");
}
