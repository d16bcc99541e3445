//! Text → sparse counts, against scikit-learn's CountVectorizer with the same tokenisation.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::BufRead;
use std::sync::Arc;

use common::{Texts, best, data, newsgroups, peak_mb, report, with_threads};
use tamis::Silent;
use tamis::corpus::synth::{self, Shape, SynthOptions};
use tamis::corpus::{ReadOptions, open};
use tamis::counts::{Contingency, CountOptions, count};

fn advisories() -> Vec<String> {
    let file = std::fs::File::open(data("advisories/advisories.jsonl")).expect("advisories");
    std::io::BufReader::new(file)
        .lines()
        .map(|line| {
            let value: serde_json::Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
            value["text"].as_str().expect("text").to_owned()
        })
        .collect()
}

fn main() {
    // Parts of the bench by name, all without one.
    let parts: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|p| p == part);
    let options =
        CountOptions { text: "words(kind=letters)".parse().expect("an expression"), ..CountOptions::default() };
    for (name, load) in [("advisories", advisories as fn() -> Vec<String>), ("20news", newsgroups)] {
        if !wanted(name) {
            continue;
        }
        let texts = Arc::new(load());
        let megabytes = texts.iter().map(String::len).sum::<usize>() as f64 / 1e6;
        let run = |options| count(Box::new(Texts(Arc::clone(&texts), 0)), options, &Silent).expect("counts").0;
        if name == "advisories" {
            let counts = with_threads(2, || run(&options));
            report("advisories: peak memory with the texts", peak_mb(), "MB", "");
            drop(counts);
        }
        for (words, options) in [("", &options), (", Unicode words", &CountOptions::default())] {
            for threads in [1, 2] {
                let (seconds, counts) = with_threads(threads, || best(5, || run(options)));
                let (terms, entries) = (counts.vocabulary.len(), counts.matrix.entries());
                let note = format!("{megabytes:.0} MB, {terms} terms, {entries} entries");
                let what = format!("{name}: text to counts{words}, {threads} thread(s)");
                report(&what, megabytes / seconds, "MB/s", &note);
            }
        }
    }
    if wanted("file") {
        file(&options);
    }
    if wanted("rcv1") {
        rcv1();
    }
}

fn file(options: &CountOptions) {
    let path = data("advisories/advisories.jsonl");
    let megabytes = std::fs::metadata(&path).expect("advisories").len() as f64 / 1e6;
    for threads in [1, 2] {
        let (seconds, _) = with_threads(threads, || {
            best(5, || {
                let corpus = open(std::slice::from_ref(&path), &ReadOptions::default()).expect("a corpus");
                count(corpus.batches().expect("batches"), options, &Silent).expect("counts").0
            })
        });
        report(&format!("advisories.jsonl: file to counts, {threads} thread(s)"), megabytes / seconds, "MB/s", "");
    }
}

/// The size of RCV1-v2, never in memory as a whole: only counts and contingency are.
fn rcv1() {
    let rcv1 = SynthOptions::of(Shape::Rcv1);
    let start = std::time::Instant::now();
    let (counts, _) =
        with_threads(2, || count(synth::batches(&rcv1).expect("batches"), &CountOptions::default(), &Silent))
            .expect("counts");
    let table = with_threads(2, || Contingency::of(&counts));
    report(
        "804,414 rcv1-shaped documents: generate, count, contingency",
        start.elapsed().as_secs_f64(),
        "s",
        &format!("{} entries, {} meetings", counts.matrix.entries(), table.meetings().entries()),
    );
    report("804,414 rcv1-shaped documents: peak memory", peak_mb(), "MB", "");
}
