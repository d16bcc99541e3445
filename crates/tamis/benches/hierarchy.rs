//! The CWE tree on advisories, newest 20 % as test: progressive filtering, and the flat svm beside it.
#![allow(clippy::unwrap_used)]

mod common;

use std::time::Instant;

use common::{data, peak_mb, report};
use tamis::Silent;
use tamis::corpus::{ReadOptions, SplitPlan, open};
use tamis::counts::{CountOptions, Counts, count};
use tamis::label::progressive::Answers;
use tamis::label::threshold::Threshold;
use tamis::label::{
    ClassifierSpec, FitOptions, Model, Problem, ProgressiveOptions, Scratch, Size, Taxonomy, TaxonomyOptions, fit,
    fit_taxonomy,
};

/// hF1, and the share of documents whose decided labels are exactly the true ones.
fn judge(model: &Model, taxonomy: &Taxonomy, counts: &Counts, test: &[usize]) -> (f64, f64) {
    let terms: Vec<u32> = model.features().iter().map(|t| counts.vocabulary.id(t).unwrap()).collect();
    let problem = Problem::new(counts, test, &terms);
    let (mut scratch, mut ranked, mut decided) = (Scratch::default(), Vec::new(), Vec::new());
    let (mut shared, mut given, mut wanted, mut exact) = (0, 0, 0, 0);
    for (at, &row) in test.iter().enumerate() {
        model.rank_and_decide(problem.query(at), &mut scratch, &mut ranked, &mut decided);
        let node = |name: &str| taxonomy.node(name).unwrap();
        let mut answer: Vec<u32> = decided.iter().map(|&l| node(model.labels.name(l))).collect();
        answer.sort_unstable();
        let labels = counts.assignments.row_indices(row);
        let mut truth: Vec<u32> = labels.iter().map(|&l| node(counts.labels.name(l))).collect();
        truth.sort_unstable();
        exact += usize::from(answer == truth);
        let (answer, truth) = (taxonomy.closure(answer), taxonomy.closure(truth));
        shared += answer.iter().filter(|n| truth.binary_search(n).is_ok()).count();
        given += answer.len();
        wanted += truth.len();
    }
    (2.0 * shared as f64 / (given + wanted) as f64, exact as f64 / test.len() as f64)
}

fn main() {
    let corpus = open(&[data("advisories/advisories.jsonl")], &ReadOptions::default()).unwrap();
    let (counts, _) = count(corpus.batches().unwrap(), &CountOptions::default(), &Silent).unwrap();
    let taxonomy = Taxonomy::open(data("advisories/cwe.taxonomy.tsv"), &TaxonomyOptions::default()).unwrap();
    let split = SplitPlan::Newest(0.2).splits(&counts, 1).unwrap().remove(0);
    let text = CountOptions::default().text;

    for (name, options) in [
        ("progressive", ProgressiveOptions::default()),
        ("progressive, all documents", ProgressiveOptions { per_node: None, features: 2000, ..Default::default() }),
    ] {
        let options = ProgressiveOptions { answers: Answers::of_documents(&counts, &split.train), ..options };
        let begin = Instant::now();
        let trained = fit_taxonomy(&counts, &split.train, &text, &taxonomy, &options, &Silent).unwrap();
        report(&format!("{name}: fit"), begin.elapsed().as_secs_f64(), "s", "");
        let (hf1, exact) = judge(&trained.model, &taxonomy, &counts, &split.test);
        report(&format!("{name}: hF1"), hf1, "score", "");
        report(&format!("{name}: exact node"), exact, "score", "");
        report(&format!("{name}: peak memory"), peak_mb(), "MB", "corpus included");
    }

    let flat = FitOptions {
        selector: Some("chi2max".parse().unwrap()),
        size: Size::All,
        classifier: Some("svm".parse::<ClassifierSpec>().unwrap()),
        threshold: Some(Threshold::rcut(1)),
        folds: 0,
        ..FitOptions::default()
    };
    let begin = Instant::now();
    let flat = fit(&counts, &split.train, &text, Some(taxonomy.clone()), &flat, &Silent).unwrap().model;
    report("flat svm: fit", begin.elapsed().as_secs_f64(), "s", "");
    let (hf1, exact) = judge(&flat, &taxonomy, &counts, &split.test);
    report("flat svm: hF1", hf1, "score", "");
    report("flat svm: exact node", exact, "score", "");
}
