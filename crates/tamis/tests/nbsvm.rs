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

/// The folds are ours, words are tokens without punctuation, and the ratio counts documents, with ½ for zeros instead of 1 more for all. So the
/// numbers are held to within 0.01 for reviews, and to within 0.02 for subjectivity, where punctuation tells more. Twice the standard error of these
/// accuracies is 0.008 and 0.005.
///
/// Both corpora have as many documents of one label as of the other. Where they do not (cr, mpqa), the interpolation with the
/// paper's 0.25 moves the values away from the bias that was learned, and is far below what was published; a plain copy of the method on
/// scikit-learn's LinearSVC shows the same.
#[test]
fn nbsvm_is_as_good_as_was_published() {
    let Ok(data) = std::env::var("TAMIS_DATA") else {
        println!("TAMIS_DATA is not set: skipped");
        return;
    };
    let classifier: ClassifierSpec = "svm(vectors=binary*lpr(per=label),beta=0.25)".parse().unwrap();
    for (name, published, within) in [("mr", 0.794, 0.01), ("subj", 0.932, 0.02)] {
        let path = Path::new(&data).join("sentences").join(format!("{name}.jsonl"));
        let corpus = open(&[path], &ReadOptions::default()).unwrap();
        let options = CountOptions { text: "words(1-2)".parse().unwrap(), ..CountOptions::default() };
        let (counts, _) = count(corpus.batches().unwrap(), &options, &Silent).unwrap();
        let found = accuracy(&counts, &classifier);
        println!("{name}: {found:.4}, published {published}");
        assert!((found - published).abs() <= within, "{name}: {found} against {published}");
    }
}
