//! A small study: two selectors, three sizes, two classifiers, five splits; rows as they are finished.
//!
//! `cargo run --release -p tamis --example study [CORPUS]`; without one on the built-in corpus.
#![allow(clippy::print_stdout)]

use std::path::Path;

use tamis::Silent;
use tamis::corpus::{ReadOptions, open};
use tamis::counts::{CountOptions, count};
use tamis::study::{Plan, Row, run};

const PLAN: &str = r#"
name = "example"
title = "Two selectors, three sizes"

[splits]
plan = "random(0.3,5)"

[selectors]
list = ["chi2max@1", "ig@1"]

[sizes]
at = [50, 200, "all"]

[classifiers]
list = ["bayes", "svm"]

[measures]
list = ["RPrec", "MAP"]
"#;

fn main() -> tamis::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "synth:topics:600".into());
    let plan = Plan::parse(PLAN, Path::new("example.toml"))?;
    let corpus = open(&[path.into()], &ReadOptions::default())?;
    let (counts, _) = count(corpus.batches()?, &CountOptions::default(), &Silent)?;
    let mut rows: Vec<Row> = Vec::new();
    run(&plan, Some(&counts), 1, &mut rows, &Silent)?;
    for row in &rows {
        if let Row::Result(r) = row {
            println!("{} {:>10} {:>5} {:6} {:?}", r.split, r.selector, r.size.to_string(), r.classifier, r.values);
        }
    }
    Ok(())
}
