//! The CWE tree on advisories, newest 20 % as test: progressive filtering, and the flat svm beside it.
#![allow(clippy::unwrap_used)]

mod common;

use std::time::Instant;

use common::{data, peak_mb, report};
use tamis::Silent;
use tamis::classify::{ClassifierSpec, Problem};
use tamis::corpus::{ReadOptions, open};
use tamis::counts::SplitPlan;
use tamis::counts::{CountOptions, Counts, count};
use tamis::features::Size;
use tamis::hierarchy::pipeline::Method;
use tamis::hierarchy::progressive::Answers;
use tamis::hierarchy::{GivenTaxonomy, Taxonomy, TaxonomyOptions};
use tamis::model::{FitOptions, HierarchyOptions, Memory, Model, ModelParts, Ranker};
use tamis::threshold::Threshold;

/// hF1, and the share of documents whose decided labels are exactly the true ones.
fn judge(model: &Model, taxonomy: &Taxonomy, counts: &Counts, test: &[usize]) -> (f64, f64) {
    let terms: Vec<u32> = model.features().iter().map(|t| counts.vocabulary.id(t).unwrap()).collect();
    let problem = Problem::new(counts, test, &terms);
    let (mut scratch, mut ranked, mut decided) = (Memory::default(), Vec::new(), Vec::new());
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

/// The options of a part.
fn options_of(part: &str, taxonomy: Taxonomy) -> FitOptions {
    let along = FitOptions {
        taxonomy: Some(GivenTaxonomy::Tree(taxonomy)),
        threshold: Some(Method::Tsa.into()),
        ..FitOptions::default()
    };
    match PARTS.iter().position(|p| *p == part).expect("a part of this benchmark") {
        0 => along,
        1 => FitOptions {
            by: Some("ig".parse().unwrap()),
            features: Some(Size::Top(200)),
            hierarchy: HierarchyOptions { per_node: Some(1000), ..HierarchyOptions::default() },
            ..along
        },
        _ => FitOptions {
            by: Some("chi2max".parse().unwrap()),
            features: Some(Size::All),
            classifier: Some("svm".parse::<ClassifierSpec>().unwrap()),
            threshold: Some(Threshold::rcut(1).into()),
            folds: Some(0),
            ..along
        },
    }
}

/// Newest fifth of the given documents as test.
fn newest(counts: &Counts, rows: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let split = SplitPlan::Newest(0.2).splits_of(counts, rows, 1).unwrap().remove(0);
    (split.train, split.test)
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
    let corpus = open(&[data("advisories/advisories.jsonl")], &ReadOptions::default()).unwrap();
    let (counts, _) = count(corpus.batches().unwrap(), &CountOptions::default(), &Silent).unwrap();
    let taxonomy = Taxonomy::open(data("advisories/cwe.taxonomy.tsv"), &TaxonomyOptions::default()).unwrap();
    let (mut train, mut test) = newest(&counts, &counts.rows());
    if validate {
        (train, test) = newest(&counts, &train);
    }
    let options = match args.get(1) {
        Some(json) => {
            FitOptions { taxonomy: Some(GivenTaxonomy::Tree(taxonomy.clone())), ..serde_json::from_str(json).unwrap() }
        }
        None => options_of(name, taxonomy.clone()),
    };
    let begin = Instant::now();
    let model = options.fit(&counts, &train, &Silent).unwrap().model;
    report(&format!("{name}: fit"), begin.elapsed().as_secs_f64(), "s", "");
    report(&format!("{name}: peak memory"), peak_mb(), "MB", "corpus included");
    let Ranker::Along(filter) = &model.ranker else {
        let begin = Instant::now();
        let (hf1, exact) = judge(&model, &taxonomy, &counts, &test);
        let seconds = begin.elapsed().as_secs_f64();
        report(&format!("{name}: classify the test part"), seconds, "s", "one thread");
        report(&format!("{name}: hF1"), hf1, "score", "");
        report(&format!("{name}: exact node"), exact, "score", "");
        return;
    };
    for (answers, what) in
        [(Answers::Best, "best path"), (Answers::One, "tsa, one path"), (Answers::All, "tsa, all paths")]
    {
        let ranker = Ranker::Along(Box::new((*filter).clone().with_answers(answers)));
        let model = Model::new(ModelParts { ranker, ..(*model).clone() }).unwrap();
        let begin = Instant::now();
        let (hf1, exact) = judge(&model, &taxonomy, &counts, &test);
        if answers == Answers::Best {
            report(&format!("{name}: classify the test part"), begin.elapsed().as_secs_f64(), "s", "one thread");
        }
        report(&format!("{name}, {what}: hF1"), hf1, "score", "");
        report(&format!("{name}, {what}: exact node"), exact, "score", "");
    }
}
