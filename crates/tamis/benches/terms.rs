//! What a term is: text → counts with n-grams and characters against CountVectorizer, memory of long n-grams, and how good `tamis fit`
//! is on scripts without blanks when nobody says anything.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use common::{Texts, best, data, newsgroups, peak_mb, report, with_threads};
use tamis::Silent;
use tamis::corpus::{Body, ReadOptions, open};
use tamis::counts::{CountOptions, Counts, count};

fn texts(path: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let corpus = open(&[data(path)], &ReadOptions::default()).expect("a corpus");
    corpus
        .for_each(|document| {
            if let Body::Text(text) = document.body {
                texts.push(text.into_owned());
            }
            Ok(())
        })
        .expect("documents");
    texts
}

/// `words(1-3)` of 25,000 long reviews. There are 2,000 of them in the folder; the others are made of their sentences, so that
/// n-grams are as rare as they are in language.
fn reviews() -> Vec<String> {
    let sentences: Vec<String> = texts("movie_reviews")
        .iter()
        .flat_map(|text| text.split(['.', '!', '?']).map(str::to_owned).collect::<Vec<_>>())
        .filter(|sentence| sentence.split_whitespace().count() > 4)
        .collect();
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    (0..25_000)
        .map(|_| {
            // The first and the second half of two sentences: about 230 words of which many pairs are new.
            let halves = (0..11).flat_map(|_| {
                let [first, second] = [0, 1].map(|_| sentences[next() % sentences.len()].split_whitespace());
                let half = first.clone().count() / 2;
                first.take(half + 1).chain(second.skip(3)).map(str::to_owned).collect::<Vec<_>>()
            });
            halves.take(230).collect::<Vec<_>>().join(" ")
        })
        .collect()
}

fn counting(texts: &Arc<Vec<String>>, terms: &str) -> Counts {
    let options = CountOptions { text: terms.parse().expect("an expression"), ..CountOptions::default() };
    count(Box::new(Texts(Arc::clone(texts), 0)), &options, &Silent).expect("counts").0
}

fn main() {
    // Parts of the bench by name, all without one.
    let parts: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|p| p == part);
    // First, for the peak is that of the process.
    if wanted("memory") {
        let texts = Arc::new(reviews());
        let before = peak_mb();
        let counts = with_threads(2, || counting(&texts, "words(1-3)"));
        let note =
            format!("{} terms, {} entries; {before:.0} MB before", counts.vocabulary.len(), counts.matrix.entries());
        report("25,000 reviews: peak memory of words(1-3)", peak_mb(), "MB", &note);
    }
    if wanted("counting") {
        let corpora: [(&str, Arc<Vec<String>>, &[&str]); 2] = [
            ("20news", Arc::new(newsgroups()), &["words(1-2)", "words", "words(kind=letters)"]),
            ("shopping", Arc::new(texts("shopping/shopping.jsonl")), &["chars(1-2,kind=text)", "chars(1-2)", "words"]),
        ];
        for (name, texts, expressions) in corpora {
            let megabytes = texts.iter().map(String::len).sum::<usize>() as f64 / 1e6;
            for terms in expressions {
                for threads in [1, 2] {
                    let (seconds, counts) = with_threads(threads, || best(3, || counting(&texts, terms)));
                    let note = format!("{} terms, {} entries", counts.vocabulary.len(), counts.matrix.entries());
                    let what = format!("{name}: {terms}, {threads} thread(s)");
                    report(&what, megabytes / seconds, "MB/s", &note);
                }
            }
        }
    }
    if wanted("quality") {
        for (corpus, field) in [("shopping", Some("category")), ("shopping", Some("polarity")), ("wisesight", None)] {
            quality(corpus, field);
        }
    }
}

/// The command with nothing but the corpus and the field of the label.
fn quality(corpus: &str, field: Option<&str>) {
    let folder = tempfile::tempdir().expect("a folder");
    let (model, file) = (folder.path().join("model"), data(corpus).join(format!("{corpus}.jsonl")));
    let tamis = |arguments: &[&Path]| {
        let mut command = Command::new(std::env::var_os("TAMIS_BIN").expect("cargo xtask bench sets TAMIS_BIN"));
        command.args(arguments).args(["--quiet"]);
        if let Some(field) = field {
            command.args(["--labels-field", field]);
        }
        command
    };
    let start = std::time::Instant::now();
    let fit = tamis(&["fit".as_ref(), file.as_ref(), "-o".as_ref(), model.as_ref()]).status().expect("tamis");
    assert!(fit.success());
    let seconds = start.elapsed().as_secs_f64();
    let judged = tamis(&["evaluate".as_ref(), model.as_ref(), file.as_ref(), "--format=json".as_ref()]).output();
    let judged: serde_json::Value = serde_json::from_slice(&judged.expect("tamis").stdout).expect("JSON");
    let accuracy = judged["Accuracy"].as_f64().expect("accuracy");
    let note = format!("{seconds:.0} s to fit");
    let what = format!("{corpus}{}: Accuracy of fit", field.map_or(String::new(), |field| format!(" by {field}")));
    report(&what, accuracy, "score", &note);
}
