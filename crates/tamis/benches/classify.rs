//! How fast: neighbours, training of the linear SVM, classification from raw text, and growth with the corpus.
//!
//! The peer works on the very same vectors: this half leaves them in `target/bench-classify`. Arguments choose parts
//! (`knn svm text growth`); without any, all run.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use common::{best, data, peak_mb, report, with_threads};
use tamis::Silent;
use tamis::classify::svm::Loss;
use tamis::classify::{
    BayesOptions, ClassifierSpec, Knn, KnnOptions, Problem, SvmOptions, Weighter, Weighting, rank_documents,
};
use tamis::corpus::synth::{self, Shape, SynthOptions};
use tamis::corpus::{Body, Corpus, Encoding, Part, ReadOptions, open};
use tamis::counts::SplitPlan;
use tamis::counts::{CountOptions, Counts, count};
use tamis::features::Selector;
use tamis::features::Size;
use tamis::model::{FitOptions, Model, Ranker};
use tamis::threshold::Threshold;

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/bench-classify");
    std::fs::create_dir_all(&folder).expect("a folder for what the peer reads");
    folder
}

fn corpus(path: PathBuf, encoding: Option<Encoding>) -> Corpus {
    open(&[path], &ReadOptions { encoding, ..ReadOptions::default() }).expect("a corpus")
}

fn newsgroups() -> Corpus {
    corpus(data("20news-bydate"), Some("latin1".parse().expect("an encoding")))
}

fn counts(corpus: &Corpus) -> Counts {
    count(corpus.batches().expect("batches"), &CountOptions::default(), &Silent).expect("counts").0
}

fn write<T: Copy, const N: usize>(name: &str, values: impl IntoIterator<Item = T>, bytes: impl Fn(T) -> [u8; N]) {
    let all: Vec<u8> = values.into_iter().flat_map(bytes).collect();
    std::fs::write(folder().join(name), all).expect("a file for the peer");
}

/// Vectors and labels of a problem, for numpy.
fn hand_over(name: &str, problem: &Problem, weighter: &Weighter) {
    let mut weights = Vec::new();
    let (mut starts, mut columns, mut values) = (vec![0i64], Vec::new(), Vec::new());
    let (mut label_starts, mut labels) = (vec![0i64], Vec::new());
    for row in 0..problem.documents() {
        let query = problem.query(row);
        weighter.weigh(query, &mut weights);
        columns.extend(query.features.iter().map(|&t| t as i32));
        values.extend_from_slice(&weights);
        starts.push(columns.len() as i64);
        labels.extend(problem.assignments.row_indices(row).iter().map(|&l| l as i32));
        label_starts.push(labels.len() as i64);
    }
    write(&format!("{name}.starts"), starts, i64::to_le_bytes);
    write(&format!("{name}.columns"), columns, i32::to_le_bytes);
    write(&format!("{name}.values"), values, f64::to_le_bytes);
    write(&format!("{name}.label_starts"), label_starts, i64::to_le_bytes);
    write(&format!("{name}.labels"), labels, i32::to_le_bytes);
}

/// The best terms by a selector, over training documents.
fn top(counts: &Counts, rows: &[usize], by: &str, size: usize) -> Vec<u32> {
    let table = tamis::counts::Contingency::of_rows(counts, rows);
    let ranking = by.parse::<Selector>().expect("a selector").rank(&table).expect("a ranking");
    ranking.terms().iter().copied().take(size).collect()
}

fn knn() {
    let counts = counts(&newsgroups());
    let (train, test) = (counts.part(Part::Train), counts.part(Part::Test));
    for by in ["chi2max", "df"] {
        let terms = top(&counts, &train, by, 5000);
        let (train, test) = (Problem::new(&counts, &train, &terms), Problem::new(&counts, &test, &terms));
        let weighter = Weighter::fit(Weighting::Okapi, &train);
        hand_over(&format!("knn-{by}-train"), &train, &weighter);
        hand_over(&format!("knn-{by}-test"), &test, &weighter);
        let model = Knn::fit(&train, &KnnOptions::KNN).expect("neighbours");
        let (seconds, right) = with_threads(2, || {
            best(3, || {
                let right = rank_documents(&model, &test, |_, ranked, truth| {
                    ranked.first().is_some_and(|best| truth.contains(&best.label))
                });
                right.iter().filter(|r| **r).count()
            })
        });
        let note = format!("accuracy {:.4}", right as f64 / test.documents() as f64);
        report(
            &format!("20news, 5,000 words by {by}: knn(100), 2 threads"),
            test.documents() as f64 / seconds,
            "docs/s",
            &note,
        );
    }
}

fn svm() {
    let reuters = counts(&corpus(data("reuters21578"), None));
    let news = counts(&newsgroups());
    let advisories = counts(&corpus(data("advisories/advisories.jsonl"), None));
    let newest = SplitPlan::Newest(0.2).splits(&advisories, 1).expect("a split").remove(0);
    for (name, counts, rows) in [
        ("reuters", &reuters, reuters.part(Part::Train)),
        ("20news", &news, news.part(Part::Train)),
        ("advisories", &advisories, newest.train),
    ] {
        let rows: Vec<usize> = rows.into_iter().filter(|&r| !counts.assignments.range(r).is_empty()).collect();
        let terms = top(counts, &rows, "df@1", usize::MAX);
        let problem = Problem::new(counts, &rows, &terms);
        hand_over(&format!("svm-{name}"), &problem, &Weighter::fit(Weighting::default(), &problem));
        for loss in [Loss::Hinge, Loss::Squared] {
            let options = SvmOptions { loss, ..SvmOptions::default() };
            let what = format!("{name}: svm, loss={}", if loss == Loss::Hinge { "hinge" } else { "squared" });
            let (one, solved) = with_threads(1, || best(2, || options.fit(&problem, &Silent).expect("a fit")));
            let lower: Vec<f64> = {
                let mut bounds = vec![f64::NAN; problem.labels()];
                solved.solutions.iter().for_each(|s| bounds[s.label as usize] = s.primal - s.gap);
                bounds
            };
            let file = format!("svm-{name}-{}.bounds", if loss == Loss::Hinge { "hinge" } else { "squared" });
            write(&file, lower, f64::to_le_bytes);
            let worst = solved.solutions.iter().map(tamis::classify::svm::Solution::relative_gap).fold(0.0, f64::max);
            let (two, _) = with_threads(2, || best(2, || options.fit(&problem, &Silent).expect("a fit")));
            let note = format!("{} labels, largest relative gap {worst:.0e}", solved.solutions.len());
            report(&format!("{what}, 1 thread"), one, "s", &note);
            report(&format!("{what}, 2 threads"), two, "s", &format!("{:.2} x one thread", one / two));
        }
    }
}

fn text() {
    let binary = std::env::var_os("TAMIS_BIN").expect("TAMIS_BIN is set by cargo xtask bench");
    let source = newsgroups();
    let counts = counts(&source);
    let (train, test) = (counts.part(Part::Train), counts.part(Part::Test));
    // The test documents as JSONL, four times over, so that starting the program does not count.
    let mut lines = String::new();
    let mut texts = Vec::new();
    let mut batches = source.batches().expect("batches");
    while let Some(batch) = batches.next_batch().expect("a batch") {
        batch.visit(&mut |document| {
            let document = document.expect("a document");
            if let (Some(Part::Test), Body::Text(text)) = (document.part, &document.body) {
                let line = serde_json::json!({ "id": document.id, "text": text, "labels": document.labels });
                lines.push_str(&line.to_string());
                lines.push('\n');
                texts.push(text.to_string());
            }
            std::ops::ControlFlow::Continue(())
        });
    }
    let input = folder().join("test.jsonl");
    std::fs::write(&input, lines.repeat(4)).expect("documents");
    let documents = test.len() * 4;
    for (name, size) in
        [("all words", Size::All), ("20,000 words", Size::Top(20_000)), ("5,000 words", Size::Top(5000))]
    {
        let options = FitOptions {
            by: Some("chi2max".parse().expect("a selector")),
            features: Some(size),
            classifier: Some("svm(loss=squared)".parse::<ClassifierSpec>().expect("a classifier")),
            threshold: Some(Threshold::rcut(1).into()),
            folds: Some(0),
            ..FitOptions::default()
        };
        for quantise in [false, true] {
            let options = FitOptions { quantise, ..options.clone() };
            let model = options.fit(&counts, &train, &Silent).expect("a model").model;
            let what = format!("20news, {name}{}", if quantise { ", 8 bits" } else { "" });
            let path = folder().join("model.tamis");
            model.write(&path).expect("a model file");
            report(
                &format!("{what}: model file"),
                std::fs::metadata(&path).expect("a model file").len() as f64 / 1e6,
                "MB",
                &format!("accuracy {:.4}", accuracy(&model, &counts, &test)),
            );
            let (seconds, ()) = best(3, || {
                let done = Command::new(&binary)
                    .args(["classify", "--quiet", "--threads", "2"])
                    .arg(&path)
                    .arg(&input)
                    .stdout(Stdio::null())
                    .status()
                    .expect("tamis classify");
                assert!(done.success());
            });
            report(
                &format!("{what}: tamis classify of raw JSONL, 2 threads"),
                documents as f64 / seconds,
                "docs/s",
                "the whole program, start and model included",
            );
            let mut labeller = model.labeller();
            let (seconds, ()) = best(3, || {
                for text in &texts {
                    std::hint::black_box(labeller.label(&Body::Text(text.as_str().into())));
                }
            });
            report(&format!("{what}: one document at a time"), seconds / texts.len() as f64 * 1e3, "ms", "1 thread");
        }
    }
}

fn accuracy(model: &Model, counts: &Counts, test: &[usize]) -> f64 {
    let terms: Vec<u32> = model.features().iter().filter_map(|t| counts.vocabulary.id(t)).collect();
    let test = Problem::new(counts, test, &terms);
    let Ranker::Flat(classifier) = &model.ranker else { unreachable!("no taxonomy was given") };
    let right = rank_documents(classifier, &test, |_, ranked, truth| {
        ranked.first().is_some_and(|best| truth.contains(&best.label))
    });
    right.iter().filter(|r| **r).count() as f64 / test.documents() as f64
}

fn growth() {
    for documents in [10_000, 40_000, 160_000, 640_000] {
        let options = SynthOptions { documents, ..SynthOptions::of(Shape::Rcv1) };
        let counts =
            count(synth::batches(&options).expect("batches"), &CountOptions::default(), &Silent).expect("counts").0;
        let rows: Vec<usize> = (0..counts.len()).collect();
        let terms: Vec<u32> = (0..counts.vocabulary.len() as u32).collect();
        let problem = Problem::new(&counts, &rows, &terms);
        drop(counts);
        let start = Instant::now();
        let bayes = with_threads(2, || BayesOptions::default().fit(&problem).expect("a fit"));
        let seconds = start.elapsed().as_secs_f64();
        drop(bayes);
        let each = |seconds: f64| format!("{:.2} µs a document", seconds / documents as f64 * 1e6);
        report(&format!("{documents} rcv1-shaped documents: bayes"), seconds, "s", &each(seconds));
        let start = Instant::now();
        let options = SvmOptions { loss: Loss::Squared, gap: Some(1e-2), ..SvmOptions::default() };
        let svm = with_threads(2, || options.fit(&problem, &Silent).expect("a fit"));
        let seconds = start.elapsed().as_secs_f64();
        let note = format!("{}; {} labels, gap 1e-2, peak {:.0} MB", each(seconds), svm.solutions.len(), peak_mb());
        report(&format!("{documents} rcv1-shaped documents: svm, squared"), seconds, "s", &note);
    }
}

fn main() {
    let parts: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    for (name, run) in [("knn", knn as fn()), ("svm", svm), ("text", text), ("growth", growth)] {
        if parts.is_empty() || parts.iter().any(|p| p == name) {
            run();
        }
    }
}
