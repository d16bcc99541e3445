//! The CWE tree on advisories, newest 20 % as test: progressive filtering, and the flat svm beside it.
#![allow(clippy::unwrap_used)]

mod common;

use std::time::Instant;

use common::{data, peak_mb, report};
use tamis::Silent;
use tamis::classify::{ClassifierSpec, Fitted, Problem, Scratch};
use tamis::corpus::{ReadOptions, open};
use tamis::counts::SplitPlan;
use tamis::counts::{CountOptions, Counts, count};
use tamis::hierarchy::pipeline::Method;
use tamis::hierarchy::progressive::Answers;
use tamis::hierarchy::{ProgressiveOptions, Taxonomy, TaxonomyOptions};
use tamis::model::{FitOptions, Model, Size, fit, fit_taxonomy};
use tamis::threshold::Threshold;

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

const PARTS: [&str; 3] = ["progressive", "progressive, 200 words and 1000 documents a node", "flat svm"];

/// Progressive filtering of a part; none for the flat one.
fn options_of(part: &str) -> Option<ProgressiveOptions> {
    match PARTS.iter().position(|p| *p == part).expect("a part of this benchmark") {
        0 => Some(ProgressiveOptions { method: Method::Tsa, ..ProgressiveOptions::default() }),
        1 => Some(ProgressiveOptions { least_utility: 0.1, ..ProgressiveOptions::paper() }),
        _ => None,
    }
}

/// Newest fifth of the given documents as test.
fn newest(counts: &Counts, rows: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let split = SplitPlan::Newest(0.2).splits(&counts.select(rows), 1).unwrap().remove(0);
    let rows = |places: Vec<usize>| places.into_iter().map(|p| rows[p]).collect();
    (rows(split.train), rows(split.test))
}

/// Without arguments all parts, each in its own process. `PART` runs one. `validate PART [JSON]` runs it on training
/// documents only, their newest fifth as test, with options as JSON: how defaults were chosen.
fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    if args.is_empty() {
        for name in PARTS {
            let status = std::process::Command::new(std::env::current_exe().unwrap()).arg(name).status().unwrap();
            assert!(status.success(), "{name}");
        }
        return;
    }
    let validate = args[0] == "validate";
    if validate {
        args.remove(0);
    }
    let name = args[0].as_str();
    let options = match args.get(1) {
        Some(json) => Some(serde_json::from_str(json).unwrap()),
        None => options_of(name),
    };
    let corpus = open(&[data("advisories/advisories.jsonl")], &ReadOptions::default()).unwrap();
    let (counts, _) = count(corpus.batches().unwrap(), &CountOptions::default(), &Silent).unwrap();
    let taxonomy = Taxonomy::open(data("advisories/cwe.taxonomy.tsv"), &TaxonomyOptions::default()).unwrap();
    let (mut train, mut test) = newest(&counts, &(0..counts.len()).collect::<Vec<_>>());
    if validate {
        (train, test) = newest(&counts, &train);
    }
    let text = CountOptions::default().text;
    let begin = Instant::now();
    let mut model = match options {
        Some(options) => fit_taxonomy(&counts, &train, &text, &taxonomy, &options, &Silent).unwrap().model,
        None => {
            let flat = FitOptions {
                selector: Some("chi2max".parse().unwrap()),
                size: Size::All,
                classifier: Some("svm".parse::<ClassifierSpec>().unwrap()),
                threshold: Some(Threshold::rcut(1)),
                folds: 0,
                ..FitOptions::default()
            };
            fit(&counts, &train, &text, Some(taxonomy.clone()), &flat, &Silent).unwrap().model
        }
    };
    report(&format!("{name}: fit"), begin.elapsed().as_secs_f64(), "s", "");
    report(&format!("{name}: peak memory"), peak_mb(), "MB", "corpus included");
    let Fitted::Progressive(filter) = &model.classifier else {
        let begin = Instant::now();
        let (hf1, exact) = judge(&model, &taxonomy, &counts, &test);
        let seconds = begin.elapsed().as_secs_f64();
        report(&format!("{name}: classify the test part"), seconds, "s", "one thread");
        report(&format!("{name}: hF1"), hf1, "score", "");
        report(&format!("{name}: exact node"), exact, "score", "");
        return;
    };
    let filter = filter.clone();
    for (answers, what) in
        [(Answers::Best, "best path"), (Answers::One, "tsa, one path"), (Answers::All, "tsa, all paths")]
    {
        model.classifier = Fitted::Progressive(Box::new(filter.clone().with_answers(answers)));
        let begin = Instant::now();
        let (hf1, exact) = judge(&model, &taxonomy, &counts, &test);
        if answers == Answers::Best {
            report(&format!("{name}: classify the test part"), begin.elapsed().as_secs_f64(), "s", "one thread");
        }
        report(&format!("{name}, {what}: hF1"), hf1, "score", "");
        report(&format!("{name}, {what}: exact node"), exact, "score", "");
    }
}
