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

/// Documents in memory: id, text and labels.
fn in_memory(documents: &[(&str, &[&str])]) -> Box<dyn tamis::corpus::Batches> {
    let document = |(n, (text, labels)): (usize, &(&str, &[&str]))| tamis::corpus::Document {
        id: n.to_string().into(),
        body: tamis::corpus::Body::Text((*text).to_owned().into()),
        labels: labels.iter().map(|label| (*label).to_owned().into()).collect(),
        part: None,
        date: None,
        weight: None,
    };
    let documents: Vec<tamis::corpus::Document<'static>> = documents.iter().enumerate().map(document).collect();
    Box::new(tamis::corpus::InMemory(documents.into_iter()))
}

fn two_kinds(threshold: &str) -> Trained {
    let kinds: [(&str, &[&str]); 3] =
        [("puck ice goal", &["a"]), ("oil price barrel", &["b"]), ("puck ice rink", &["a"])];
    let documents: Vec<(&str, &[&str])> = kinds.iter().copied().cycle().take(30).collect();
    let (counts, _) = count(in_memory(&documents), &CountOptions::default(), &Silent).unwrap();
    let options = FitOptions {
        classifier: Some("bayes".parse().unwrap()),
        threshold: Some(threshold.parse().unwrap()),
        ..FitOptions::default()
    };
    options.fit(&counts, &counts.training(), &Silent).unwrap()
}

/// Ranked measures leave documents without a label out, and so does what they are compared with.
#[test]
fn the_baseline_of_a_ranked_measure_is_over_the_same_documents() {
    use tamis::model::EvaluateOptions;
    let model = two_kinds("rcut(1)").model;
    let judged = |documents: &[(&str, &[&str])]| {
        let quality = model.evaluate(in_memory(documents), &EvaluateOptions::default(), &Silent).unwrap();
        quality.report(false, None).unwrap()
    };
    let some = judged(&[("puck", &["a"]), ("ice", &["a"]), ("oil", &[]), ("price", &[])]);
    let baseline = some.baseline.unwrap();
    assert_eq!((baseline.label.as_str(), baseline.share), ("a", 1.0));
    assert_eq!((some.documents, some.labelled), (4, Some(2)));
    let all = judged(&[("puck", &["a"]), ("oil", &["b"])]);
    assert_eq!((all.baseline.unwrap().share, all.labelled), (0.5, None));
}

/// A model without a threshold decides nothing: that is no failure, and nothing is said of decisions.
#[test]
fn a_model_that_only_ranks_is_not_judged_by_decisions() {
    use tamis::model::EvaluateOptions;
    let trained = two_kinds("none");
    let model = &trained.model;
    assert!(model.only_ranks() && !two_kinds("rcut(1)").model.only_ranks());
    assert!(model.summary.choices.iter().all(|reason| !reason.contains("never answered")));
    assert!(model.summary.quality.iter().all(|(name, _)| !name.starts_with("F1")), "{:?}", model.summary.quality);
    let documents: [(&str, &[&str]); 2] = [("puck", &["a"]), ("oil", &["b"])];
    let judge = |options: &EvaluateOptions| model.evaluate(in_memory(&documents), options, &Silent);
    let quality = judge(&EvaluateOptions::default()).unwrap();
    let report = quality.report(true, None).unwrap();
    assert!(report.only_ranks && report.never_decided.is_empty() && report.labels.is_none());
    let names: Vec<&str> = report.measures.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.contains(&"RPrec") && names.contains(&"P@1"), "{names:?}");
    for left_out in ["F1@micro", "Answered", "Accuracy", "Recall@micro"] {
        assert!(!names.contains(&left_out), "{names:?}");
    }
    let asked = EvaluateOptions { measures: vec!["F1@micro".parse().unwrap()], ..EvaluateOptions::default() };
    let refused = judge(&asked).unwrap_err();
    assert!(refused.is_input() && refused.to_string().contains("only ranks"), "{refused}");
    let mut page = tamis::report::Page::new("a", "b");
    let html = page.model(model, &quality).unwrap().finish();
    assert!(html.contains("only ranks") && !html.contains("Quality by label"));
}

/// What a file of fewer terms is promised to have is what it has, whatever else is in it.
#[test]
fn sizes_that_are_promised_are_kept() {
    use tamis::hierarchy::{GivenTaxonomy, Taxonomy};
    let counts = corpus(800);
    let taxonomy = || Some(GivenTaxonomy::Tree(Taxonomy::built_in(Shape::Topics).unwrap()));
    let usual = FitOptions { folds: Some(3), ..FitOptions::default() };
    let scut = Some("scut(goal=micro+macro,rare=5)".parse().unwrap());
    let tree = Some("tree(svm,by=flat+taxonomy)".parse().unwrap());
    let mut compared = 0;
    for (what, options) in [
        ("svm", FitOptions { classifier: Some("svm".parse().unwrap()), threshold: scut, ..usual.clone() }),
        ("bayes", FitOptions { classifier: Some("bayes".parse().unwrap()), ..usual.clone() }),
        ("knn", FitOptions { classifier: Some("knn(10)".parse().unwrap()), ..usual.clone() }),
        ("8 bits", FitOptions { classifier: Some("svm".parse().unwrap()), quantise: true, ..usual.clone() }),
        (
            "tree",
            FitOptions {
                classifier: tree,
                taxonomy: taxonomy(),
                hierarchy: tamis::model::HierarchyOptions {
                    goal: Some(tamis::hierarchy::Goal::Hf1),
                    ..Default::default()
                },
                ..usual.clone()
            },
        ),
    ] {
        let trained = options.fit(&counts, &counts.training(), &Silent).unwrap();
        let taken = trained.model.terms.len();
        assert!(taken > 400 && !trained.frontier.is_empty(), "{what}: {taken} terms");
        assert_eq!(trained.bytes_with(taken).unwrap(), trained.model.to_bytes().unwrap().len() as u64, "{what}");
        assert!(trained.bytes_with(2 * taken).unwrap() > trained.bytes_with(taken).unwrap());
        // What `fit` prints: sizes that keep most of the quality.
        for size in trained.frontier.iter().filter(|p| !p.all && p.size < taken && p.kept >= 0.9).map(|p| p.size) {
            let again = FitOptions {
                by: Some(trained.model.summary.selector.parse().unwrap()),
                features: Some(Size::Top(size)),
                classifier: Some(trained.model.summary.classifier.clone()),
                ..options.clone()
            };
            let real = again.fit(&counts, &counts.training(), &Silent).unwrap().model.to_bytes().unwrap().len() as f64;
            let promised = trained.bytes_with(size).unwrap() as f64;
            println!("{what}, {size} of {taken}: {promised} promised, {real} real");
            assert!(
                (promised / real - 1.0).abs() < 0.15,
                "{what}, {size} of {taken}: {promised} promised, {real} real"
            );
            compared += 1;
        }
    }
    assert!(compared >= 8, "{compared} sizes");
}
