//! Thresholds along pipelines, judged on documents that they were not selected on.
#![allow(clippy::unwrap_used)]

use tamis::Silent;
use tamis::hierarchy::pipeline::{Method, Options, Outcome, ScoreTable, judged_apart, select_with};

/// Scores that say nothing: numbers that jump about.
fn noise(documents: usize, every: usize) -> ScoreTable {
    let number = |n: usize| (n.wrapping_mul(2_654_435_761) >> 7) % 1000;
    let row = |n: usize| {
        let scores = (0..3).map(|k| number(n * 3 + k + 1) as f64 / 1000.0).collect::<Vec<_>>();
        (scores, n.is_multiple_of(every))
    };
    ScoreTable::from_rows(&(0..documents).map(row).collect::<Vec<_>>()).unwrap()
}

#[test]
fn luck_with_few_documents_does_not_count() {
    let table = noise(400, 40);
    for method in Method::ALL {
        let options = Options { step: None, ..Options::default() };
        let here = select_with(&table, method, &options, &Silent).unwrap().outcome.f1();
        let apart = judged_apart(&table, method, &options, 0.0, &Silent).unwrap();
        assert_eq!(apart.true_positives + apart.false_negatives, 10, "every positive is judged once");
        assert!(apart.f1() < here, "{method}: {} where selected, {} apart", here, apart.f1());
    }
}

#[test]
fn what_scores_tell_is_found_again() {
    let rows: Vec<(Vec<f64>, bool)> =
        (0..40).map(|n| (vec![0.9, if n % 4 == 0 { 0.8 } else { 0.3 }], n % 4 == 0)).collect();
    let table = ScoreTable::from_rows(&rows).unwrap();
    let apart = judged_apart(&table, Method::GreedyExact, &Options::default(), 0.1, &Silent).unwrap();
    assert_eq!(apart, Outcome { true_positives: 10, false_positives: 0, false_negatives: 0 });
    // One positive is in one half alone: the thresholds of the other accept nothing.
    let one = table.select_rows(&[0, 1, 2, 3]);
    let apart = judged_apart(&one, Method::GreedyExact, &Options::default(), 0.1, &Silent).unwrap();
    assert_eq!((apart.true_positives, apart.false_negatives), (0, 1));
    assert_eq!(apart.f1(), 0.0);
}
