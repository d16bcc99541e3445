//! Why a label: words add up to scores, places are those of the words, curves tell what thresholds do.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use tamis::Silent;
use tamis::classify::Fitted;
use tamis::corpus::Body;
use tamis::corpus::synth::{self, Generator, Shape, SynthOptions};
use tamis::counts::{CountOptions, Counts, count};
use tamis::features::Size;
use tamis::hierarchy::{GivenTaxonomy, ProgressiveMemory, Separator, Taxonomy};
use tamis::model::{FitOptions, Model, Ranker};
use tamis::terms::TextOptions;

fn text_options() -> TextOptions {
    "words(1-2)".parse().unwrap()
}

fn corpus() -> Counts {
    let options = SynthOptions { documents: 300, ..SynthOptions::of(Shape::Topics) };
    let counting = CountOptions { text: text_options(), ..CountOptions::default() };
    count(synth::batches(&options).unwrap(), &counting, &Silent).unwrap().0
}

fn model(classifier: &str, threshold: &str) -> Model {
    let counts = corpus();
    let options = FitOptions {
        by: Some("chi2max".parse().unwrap()),
        features: Some(Size::Top(400)),
        classifier: Some(classifier.parse().unwrap()),
        threshold: Some(threshold.parse().unwrap()),
        folds: Some(2),
        ..FitOptions::default()
    };
    options.fit(&counts, &counts.training(), &Silent).unwrap().model
}

fn documents(n: u64) -> Vec<String> {
    let generator = Generator::new(&SynthOptions::of(Shape::Topics)).unwrap();
    let text = |number| match generator.document(number).body {
        Body::Text(text) => text.into_owned(),
        other => panic!("text, not {other:?}"),
    };
    (0..n).map(text).collect()
}

#[test]
fn words_and_bias_add_up_to_the_score() {
    let model = model("svm", "scut");
    let mut labeller = model.labeller();
    for text in documents(10) {
        let ranked = labeller.label(&Body::Text(text.into())).ranked.to_vec();
        for place in ranked.iter().step_by(7) {
            let why = labeller.why(place.label);
            let sum: f64 = why.words.iter().map(|w| w.adds).sum();
            assert!((why.bias.unwrap() + sum - place.score).abs() < 1e-9);
            assert!(why.words.windows(2).all(|w| w[0].adds.abs() >= w[1].adds.abs()));
            assert!(why.neighbours.is_empty());
        }
    }
}

#[test]
fn neighbours_add_up_and_a_word_is_worth_what_is_lost_without_it() {
    for classifier in ["knn(9)", "wknn(9)"] {
        let model = model(classifier, "scut");
        let mut labeller = model.labeller();
        let known = |text: &String| labeller.label(&Body::Text(text.as_str().into())).ranked.first().copied();
        let first = documents(20).iter().find_map(known).unwrap();
        let why = labeller.why(first.label);
        let sum: f64 = why.neighbours.iter().map(|n| n.adds).sum();
        assert!((sum - first.score).abs() < 1e-9, "{classifier}");
        // The slow way: count the document's features without the word.
        let query = labeller.query();
        let names = model.features();
        let word = why.words[0];
        let rest: Vec<_> = query
            .features
            .iter()
            .zip(query.counts)
            .filter(|(f, _)| **f != word.feature)
            .map(|(&f, &n)| (names[f as usize].to_owned().into(), n))
            .chain([("not a word of the model".into(), query.length - query.counts.iter().sum::<u32>())])
            .collect();
        let without = labeller.label(&Body::Counts(rest)).ranked.iter().find(|s| s.label == first.label).copied();
        assert!((first.score - without.map_or(0.0, |s| s.score) - word.adds).abs() < 1e-9, "{classifier}");
    }
}

#[test]
fn places_hold_the_features_of_the_document() {
    let model = model("bayes", "rcut(1)");
    let mut labeller = model.labeller();
    let names: Vec<String> = model.features().into_iter().map(str::to_owned).collect();
    for text in documents(10) {
        labeller.label(&Body::Text(text.as_str().into()));
        let expected: BTreeMap<u32, u32> =
            labeller.query().features.iter().copied().zip(labeller.query().counts.iter().copied()).collect();
        let mut found: BTreeMap<u32, u32> = BTreeMap::new();
        for (range, feature) in labeller.places(&text) {
            *found.entry(feature).or_default() += 1;
            let words: Vec<String> = text[range]
                .split(|c: char| !c.is_alphanumeric())
                .map(str::to_lowercase)
                .filter(|w| w.len() > 1)
                .collect();
            let name = &names[feature as usize];
            assert!(words.first().is_some_and(|w| name.starts_with(w.as_str())), "{name}: {words:?}");
        }
        assert_eq!(found, expected);
    }
}

#[test]
fn words_of_a_label_are_those_with_the_largest_weights() {
    let model = model("svm", "rcut(1)");
    let Ranker::Flat(Fitted::Linear(linear)) = &model.ranker else { panic!("linear") };
    let labels = [0, 5, 17];
    for (&label, words) in labels.iter().zip(model.label_words(&labels, 6).unwrap()) {
        let mut all: Vec<(u32, f64)> = (0..linear.features() as u32).map(|f| (f, linear.weight(label, f))).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        // A label without a training document has no word for it.
        let best: Vec<(u32, f64)> = all.iter().copied().filter(|w| w.1 > 0.0).take(6).collect();
        assert_eq!(words.for_it, best);
        let worst: Vec<f64> = all.iter().rev().map(|w| w.1).filter(|w| *w < 0.0).take(6).collect();
        assert_eq!(words.against.iter().map(|w| w.1).collect::<Vec<_>>(), worst);
        let both = words.clone().largest(4);
        assert!(both.windows(2).all(|w| w[0].1.abs() >= w[1].1.abs()) && both.len() == 4);
    }
    let knn = self::model("knn(5)", "rcut(1)");
    assert!(knn.label_words(&[0], 3).unwrap_err().to_string().contains("neighbours"));
}

#[test]
fn every_cross_validated_model_knows_what_thresholds_would_do() {
    for threshold in ["scut", "rcut(1)", "rcut", "fixed(0)"] {
        let model = model("svm", threshold);
        assert_eq!(model.curves.len(), model.labels.len(), "{threshold}");
        let read = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
        assert_eq!(read.curves, model.curves);
        let label = (0..model.labels.len() as u32).max_by_key(|&l| model.label_facts(l).documents).unwrap();
        let curve = model.curve(label).unwrap();
        let facts = model.label_facts(label);
        assert_eq!(facts.threshold, model.thresholds.of(label));
        let quality = facts.quality.unwrap();
        match (threshold, curve.best) {
            ("scut" | "rcut(1)" | "rcut", Some(best)) => assert_eq!(quality, best, "{threshold}"),
            _ => assert!(quality.threshold <= 0.0 || quality == *curve.points.last().unwrap()),
        }
        // Higher than all: the first point. Lower than all: the last.
        assert_eq!(curve.at(f64::INFINITY), curve.points.first());
        assert_eq!(curve.at(f64::NEG_INFINITY), curve.points.last());
    }
}

#[test]
fn along_a_taxonomy_steps_decide_and_curves_agree_with_tuning() {
    let counts = corpus();
    let taxonomy = Taxonomy::from_names(counts.labels.iter(), Separator::Auto).unwrap();
    let options = FitOptions {
        features: Some(Size::Top(60)),
        folds: Some(2),
        taxonomy: Some(GivenTaxonomy::Tree(taxonomy.clone())),
        ..FitOptions::default()
    };
    let model = options.fit(&counts, &counts.training(), &Silent).unwrap().model;
    let Ranker::Along(filter) = &model.ranker else { panic!("a filter") };
    let mut memory = ProgressiveMemory::default();
    let mut labeller = model.labeller();
    for text in documents(20) {
        let decided = labeller.label(&Body::Text(text.into())).decided.to_vec();
        let scores = filter.node_scores(labeller.query(), &mut memory);
        assert!(scores.iter().all(|s| (0.0..=1.0).contains(s)));
        for node in taxonomy.nodes() {
            let steps = filter.steps(node, &scores);
            assert_eq!(steps.last().unwrap().node, node);
            let passes = steps.iter().all(|s| s.threshold.is_some_and(|t| s.score >= t));
            if decided.len() > 1 && decided.contains(&node) {
                assert!(passes, "{}", taxonomy.id(node));
            }
        }
    }
    let mut compared = 0;
    for node in taxonomy.nodes() {
        let (Some(tuned), Some(curve)) = (filter.tuned(node), model.curve(node)) else { continue };
        let outcome = tuned.outcome;
        let threshold = *tuned.thresholds.last().unwrap();
        let at = curve.at(threshold).unwrap();
        let recall = outcome.true_positives as f64 / (outcome.true_positives + outcome.false_negatives) as f64;
        // A node with few documents has the threshold of its like, which may lie above all points of its own curve.
        if curve.points[0].threshold < threshold {
            assert!(recall <= f64::from(at.recall) + 1e-6, "{}: {at:?} {outcome:?}", taxonomy.id(node));
            continue;
        }
        // The curve is thinned and in single precision, and shared thresholds lie between its points: near by a document or a tenth.
        let near = (1.01 / (outcome.true_positives + outcome.false_negatives) as f64).max(0.1);
        assert!((f64::from(at.recall) - recall).abs() < near, "{}: {at:?} {outcome:?}", taxonomy.id(node));
        compared += 1;
    }
    assert!(compared > 10);
}

#[test]
fn a_labeller_leaves_what_it_knows_and_changes_nothing() {
    let model = model("bayes", "rcut(1)");
    let texts = documents(5);
    let answers = || -> Vec<Vec<u32>> {
        let mut labeller = model.labeller();
        texts.iter().map(|text| labeller.label(&Body::Text(text.as_str().into())).decided.to_vec()).collect()
    };
    let first = answers();
    assert_eq!(answers(), first);
    let copy = model.clone();
    let elsewhere = std::thread::spawn(move || copy.labeller().label(&Body::Text("".into())).decided.to_vec());
    elsewhere.join().unwrap();
    assert_eq!(answers(), first);
}
