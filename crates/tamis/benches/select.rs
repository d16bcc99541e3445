//! Selectors, against scikit-learn's chi2 and mutual_info_classif on the same counts.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::PathBuf;

use common::{best, data, peak_mb, report, with_threads};
use tamis::Silent;
use tamis::corpus::{Encoding, ReadOptions, open};
use tamis::counts::{Contingency, CountOptions, Counts, count};
use tamis::features::{Selector, rank_all};

const ALL: [&str; 13] = [
    "df",
    "ig",
    "ig-presence",
    "chi2max",
    "chi2avg",
    "mimax",
    "miavg",
    "bns",
    "wllr",
    "wfo(0.3)",
    "or",
    "ib",
    "lr(chi2max,ig)",
];

fn counts(path: PathBuf, encoding: Option<Encoding>) -> Counts {
    let options =
        CountOptions { text: "words(kind=letters)".parse().expect("an expression"), ..CountOptions::default() };
    let corpus = open(&[path], &ReadOptions { encoding, ..ReadOptions::default() }).expect("a corpus");
    count(corpus.batches().expect("batches"), &options, &Silent).expect("counts").0
}

fn main() {
    let latin1 = "latin1".parse().expect("an encoding");
    for (name, counts) in [
        ("advisories", counts(data("advisories/advisories.jsonl"), None)),
        ("20news", counts(data("20news-bydate"), Some(latin1))),
    ] {
        let parse = |names: &[&str]| names.iter().map(|n| n.parse().expect("a selector")).collect::<Vec<Selector>>();
        let (seconds, table) = with_threads(2, || best(3, || Contingency::of(&counts)));
        let note = format!(
            "{} terms, {} labels, {} meetings",
            table.terms(),
            table.labels().len(),
            table.meetings().entries()
        );
        report(&format!("{name}: contingency"), seconds, "s", &note);
        let time = |names: &[&str]| {
            let selectors = parse(names);
            with_threads(2, || best(5, || rank_all(&selectors, &table).expect("rankings"))).0
        };
        report(&format!("{name}: χ² with its contingency"), seconds + time(&["chi2max"]), "s", "counts in both");
        report(&format!("{name}: χ² alone"), time(&["chi2max"]), "s", "");
        report(&format!("{name}: information gain"), time(&["ig"]), "s", "");
        report(&format!("{name}: all of method 2 and a combination"), time(&ALL), "s", "peer is chi2 alone");
        report(&format!("{name}: ib"), time(&["ib"]), "s", "");
        report(&format!("{name}: peak memory"), peak_mb(), "MB", "corpus, counts and all selectors");
    }
}
