//! A fit in parts, as a cluster goes through it, beside one machine: label trees, and answers along a taxonomy.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use tamis::Silent;
use tamis::classify::parts::{Packer, Part, Plan, Scorers, fingerprint_of, fold_of, part_of, pieces};
use tamis::corpus::Body;
use tamis::corpus::synth::{self, Shape, SynthOptions};
use tamis::counts::{Contingency, CountOptions, Counts, Csr, count};
use tamis::hierarchy::{GivenTaxonomy, ParentPolicy, Taxonomy};
use tamis::model::{FitOptions, LabelTally, Model, PartedFit, PartedTables, Trained, learned_labels};

fn corpus(documents: u64) -> Counts {
    let options = SynthOptions { documents, ..SynthOptions::of(Shape::Topics) };
    count(synth::batches(&options).unwrap(), &CountOptions::default(), &Silent).unwrap().0
}

/// The same documents with one label each: the first of their most specific ones.
fn with_one_label(counts: &Counts, taxonomy: &Taxonomy) -> Counts {
    let specific = learned_labels(taxonomy, &counts.assignments, &counts.labels, true).unwrap();
    let mut one = Csr::new(taxonomy.len());
    (0..counts.len()).for_each(|row| one.push_row(specific.row(row).take(1)));
    let labelled: Vec<usize> = (0..counts.len()).filter(|&row| one.row(row).len() == 1).collect();
    let all = Counts { assignments: one, labels: Arc::new(taxonomy.ids().clone()), ..counts.clone() };
    all.select(&labelled)
}

/// What a driver and its executors do, in one process.
fn in_parts(options: &FitOptions, counts: &Counts, taxonomy: Option<&Taxonomy>, parts: usize) -> Trained {
    let (tally, counts) = match taxonomy {
        Some(taxonomy) => {
            let mut tally = LabelTally::new(taxonomy.len());
            // As two parts tell it.
            let (some, others): (Vec<usize>, Vec<usize>) = (0..counts.len()).partition(|row| row % 3 == 0);
            for rows in [some, others] {
                let part = counts.assignments.select_rows(&rows);
                tally.merge(&LabelTally::of(taxonomy, &part, &counts.labels).unwrap()).unwrap();
            }
            let assignments = learned_labels(taxonomy, &counts.assignments, &counts.labels, tally.is_one()).unwrap();
            let labels = Arc::new(taxonomy.ids().clone());
            (Some(tally), Counts { assignments, labels, ..counts.clone() })
        }
        None => (None, counts.clone()),
    };
    let labels_of = |row: usize| counts.assignments.row_indices(row).len();
    let folds = options.folds.unwrap();
    let tables = PartedTables {
        folds: (0..folds.max(1))
            .map(|fold| {
                let own = (0..counts.len()).filter(|&row| fold_of(counts.fingerprints[row], folds) == fold);
                Contingency::of_rows(&counts, &own.collect::<Vec<_>>())
            })
            .collect(),
        unlabelled: (0..counts.len()).filter(|&row| labels_of(row) == 0).count() as u64,
        several: (0..counts.len()).filter(|&row| labels_of(row) > 1).count() as u64,
        tally,
    };
    let mut fit = PartedFit::new(options.clone(), (*counts.text).clone(), tables, parts, 2000, &Silent).unwrap();
    let packer = Packer::from_bytes(&fit.packer().to_bytes().unwrap()).unwrap();
    let packed = packer.pack_counted(&counts);
    let report = fit.report();
    let parts: Vec<Part> = (0..parts)
        .map(|number| {
            let own = packed.iter().filter(|d| part_of(fingerprint_of(d).unwrap(), parts) == number);
            let pieces = pieces(own.map(Vec::as_slice).collect());
            Part::read(pieces.iter().map(Vec::as_slice), report.united, report.labels).unwrap()
        })
        .collect();
    let plan = Plan::from_bytes(&fit.plan().unwrap().to_bytes()).unwrap();
    let mut kept = vec![Vec::new(); parts.len()];
    let mut gap = f64::INFINITY;
    while let Some(message) = fit.message() {
        let mut answers = Vec::new();
        for (part, kept) in parts.iter().zip(&mut kept) {
            let (next, answer) = plan.step(part, kept, &message, &Silent).unwrap();
            *kept = next;
            answers.push(answer);
        }
        gap = fit.add(&answers).unwrap().gap;
    }
    assert!(gap <= report.gap, "{gap}");
    if let Some(scorers) = fit.scorers(1 << 24).unwrap() {
        let scorers = Scorers::from_bytes(&scorers.to_bytes().unwrap()).unwrap();
        parts.iter().for_each(|part| fit.add_scores(&scorers.score(part)).unwrap());
    }
    let mut prints = counts.fingerprints.clone();
    prints.sort_unstable();
    prints.truncate(512);
    fit.finish(prints).unwrap()
}

fn options(json: &str) -> FitOptions {
    serde_json::from_str(json).unwrap()
}

fn quality(trained: &Trained, name: &str) -> f64 {
    let quality = &trained.model.summary.quality;
    quality.iter().find(|(measure, _)| measure == name).unwrap_or_else(|| panic!("{name} in {quality:?}")).1
}

fn answers(model: &Model, counts: &Counts) -> Vec<Vec<u32>> {
    let mut labeller = model.labeller();
    let body = |row: usize| {
        let words = counts.matrix.row(row).map(|(term, n)| (counts.vocabulary.name(term).to_owned().into(), n));
        Body::Counts(words.collect())
    };
    (0..200.min(counts.len())).map(|row| labeller.label(&body(row)).decided.to_vec()).collect()
}

/// The share of documents to which two models answer the same.
fn same(a: &Model, b: &Model, counts: &Counts) -> f64 {
    let (a, b) = (answers(a, counts), answers(b, counts));
    a.iter().zip(&b).filter(|(a, b)| a == b).count() as f64 / a.len() as f64
}

/// Micro-averaged F1 of the answers.
fn f1(model: &Model, counts: &Counts) -> f64 {
    let (mut hits, mut all) = (0, 0);
    for (row, answer) in answers(model, counts).iter().enumerate() {
        let truth = counts.assignments.row_indices(row);
        hits += answer.iter().filter(|label| truth.contains(label)).count();
        all += answer.len() + truth.len();
    }
    2.0 * hits as f64 / all as f64
}

#[test]
fn trees_in_parts_are_those_of_one_machine() {
    let counts = corpus(900);
    let classifiers = [
        ("tree(svm(gap=0.0001),by=flat)", 0.95),
        // Means of labels are made of counts where documents are not at hand, so trees that halve them part labels otherwise.
        ("tree(svm(gap=0.0001),by=means,trees=2,leaf=3)", 0.5),
        ("tree(logistic(gap=0.0001),by=means,trees=1,leaf=3)", 0.5),
    ];
    for (classifier, least) in classifiers {
        let options = options(&format!(
            r#"{{"by": "chi2max@1", "features": 600, "classifier": "{classifier}", "threshold": "rcut(2)", "folds": 0}}"#
        ));
        let alone = options.fit(&counts, &counts.rows(), &Silent).unwrap();
        let one = in_parts(&options, &counts, None, 1);
        let three = in_parts(&options, &counts, None, 3);
        let shared = same(&alone.model, &one.model, &counts);
        assert!(shared > least, "{classifier}: {shared}");
        let (ours, theirs) = (f1(&one.model, &counts), f1(&alone.model, &counts));
        assert!((ours - theirs).abs() < 0.03, "{classifier}: {ours} {theirs}");
        let shared = same(&one.model, &three.model, &counts);
        assert!(shared > 0.95, "{classifier}: only the gap is between them, and {shared} are the same");
    }
}

#[test]
fn a_tree_along_the_taxonomy_is_the_same_to_the_gap() {
    let taxonomy = Taxonomy::built_in(Shape::Topics).unwrap();
    let counts = with_one_label(&corpus(1200), &taxonomy);
    let mut options = options(
        r#"{"by": "chi2max@1", "features": 800, "classifier": "tree(svm(gap=0.001),by=flat+taxonomy)", "folds": 3,
            "hierarchy": {"goal": "hf1"}}"#,
    );
    options.taxonomy = Some(GivenTaxonomy::Tree(taxonomy.clone()));
    let alone = options.fit(&counts, &counts.rows(), &Silent).unwrap();
    let parted = in_parts(&options, &counts, Some(&taxonomy), 3);
    assert_eq!(parted.model.labels.len(), taxonomy.len());
    assert_eq!(parted.model.summary.label_documents, alone.model.summary.label_documents);
    // Folds are others, and what answers need to be worth is learned from them.
    assert!((quality(&parted, "hF1") - quality(&alone, "hF1")).abs() < 0.03);
    assert!(same(&parted.model, &alone.model, &counts) > 0.93);
    // The same parts make the same file.
    let again = in_parts(&options, &counts, Some(&taxonomy), 3);
    assert_eq!(again.model.to_bytes().unwrap(), parted.model.to_bytes().unwrap());
}

#[test]
fn several_labels_along_a_taxonomy_come_with_their_ancestors_or_without() {
    let taxonomy = Taxonomy::built_in(Shape::Topics).unwrap();
    let counts = corpus(1200);
    let specific = learned_labels(&taxonomy, &counts.assignments, &counts.labels, true).unwrap();
    let closed = learned_labels(&taxonomy, &counts.assignments, &counts.labels, false).unwrap();
    let labels = Arc::new(taxonomy.ids().clone());
    let [specific, closed] =
        [specific, closed].map(|assignments| Counts { assignments, labels: Arc::clone(&labels), ..counts.clone() });
    let mut options = options(
        r#"{"by": "chi2max@1", "features": 800, "classifier": "svm(gap=0.01)", "folds": 3, "hierarchy": {"goal": "hf1"}}"#,
    );
    options.taxonomy = Some(GivenTaxonomy::Tree(taxonomy.clone()));
    let [a, b] = [&specific, &closed].map(|counts| in_parts(&options, counts, Some(&taxonomy), 2));
    assert_eq!(quality(&a, "hF1"), quality(&b, "hF1"), "the form of the labels does not show");
    // One machine may answer by thresholds of labels side by side, where these do better.
    let alone = options.fit(&closed, &closed.rows(), &Silent).unwrap();
    let (ours, theirs) = (f1(&b.model, &closed), f1(&alone.model, &closed));
    assert!((ours - theirs).abs() < 0.03, "{ours} {theirs}");
    let (short, long) = (answers(&a.model, &counts), answers(&b.model, &counts));
    for (short, long) in short.iter().zip(&long) {
        assert_eq!(&taxonomy.closure(short.iter().copied()), long, "answers have the form of the labels");
    }
}

#[test]
fn labels_of_another_taxonomy_are_refused() {
    let taxonomy = Taxonomy::built_in(Shape::Topics).unwrap();
    let counts = corpus(100);
    let few = Taxonomy::from_pairs([("a", None::<&str>)], ParentPolicy::Refuse).unwrap();
    let error = LabelTally::of(&few, &counts.assignments, &counts.labels).unwrap_err().to_string();
    assert!(error.contains("are not in the taxonomy"), "{error}");
    let mut tally = LabelTally::new(taxonomy.len());
    let error = tally.merge(&LabelTally::new(3)).unwrap_err().to_string();
    assert!(error.contains("another taxonomy"), "{error}");
}
