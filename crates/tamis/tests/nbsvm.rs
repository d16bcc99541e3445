//! NBSVM against its published numbers (Wang & Manning 2012, table 2), where the corpora are there.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::Path;

use tamis::Silent;
use tamis::classify::{ClassifierSpec, Problem, rank_documents};
use tamis::corpus::{ReadOptions, open};
use tamis::counts::{CountOptions, Counts, CrossValidation, count};

/// Accuracy in ten folds over all single words and pairs.
fn accuracy(counts: &Counts, classifier: &ClassifierSpec) -> f64 {
    let terms: Vec<u32> = (0..counts.vocabulary.len() as u32).collect();
    let rows = counts.rows();
    let folds = CrossValidation::stratified(counts, &rows, 10, 0).splits().unwrap();
    let mut right = 0;
    for split in folds {
        let fitted = classifier.fit(&Problem::new(counts, &split.train, &terms), &Silent).unwrap();
        let test = Problem::new(counts, &split.test, &terms);
        let found = rank_documents(&fitted, &test, |_, ranked, truth| {
            ranked.first().map(|s| s.label) == truth.first().copied()
        });
        right += found.into_iter().filter(|right| *right).count();
    }
    right as f64 / counts.len() as f64
}

/// Folds, the tokens and the smoothing of the ratio (½ for zeros instead of 1 for all) are ours, so the numbers are held to 0.015:
/// twice the standard error of an accuracy of 0.8 on 3,772 sentences is 0.013.
#[test]
fn nbsvm_is_as_good_as_was_published() {
    let Ok(data) = std::env::var("TAMIS_DATA") else {
        println!("TAMIS_DATA is not set: skipped");
        return;
    };
    let classifier: ClassifierSpec = "svm(vectors=binary*lpr(per=label),beta=0.25)".parse().unwrap();
    for (name, published) in [("cr", 0.818), ("subj", 0.932)] {
        let path = Path::new(&data).join("sentences").join(format!("{name}.jsonl"));
        let corpus = open(&[path], &ReadOptions::default()).unwrap();
        let options = CountOptions { text: "words(1-2)".parse().unwrap(), ..CountOptions::default() };
        let (counts, _) = count(corpus.batches().unwrap(), &options, &Silent).unwrap();
        let found = accuracy(&counts, &classifier);
        println!("{name}: {found:.4}, published {published}");
        assert!(found >= published - 0.015, "{name}: {found} against {published}");
    }
}
