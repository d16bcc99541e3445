//! Selectors against slow, obvious versions of the same numbers, and against properties of method 2 and 3.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod combinations;
mod edges;
mod expressions;
mod learned;
mod scores;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tamis::counts::{Contingency, Counts};
use tamis::features::{Ranking, Selector};

/// A random corpus. Words and labels are drawn unevenly, so that some are rare, some everywhere; some documents have no
/// label, some labels no document among the rows that are counted.
pub fn random_table(seed: u64, documents: usize, words: usize, labels: usize) -> Contingency {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut uneven = |below: usize| {
        let x: f64 = random.random();
        ((x * x * x * below as f64) as usize).min(below - 1)
    };
    let corpus: Vec<(Vec<String>, Vec<String>)> = (0..documents)
        .map(|_| {
            let length = uneven(40);
            let terms = (0..length).map(|_| format!("w{:04}", uneven(words))).collect();
            let count = uneven(4);
            (terms, (0..count).map(|_| format!("l{:03}", uneven(labels))).collect())
        })
        .collect();
    let counts = Counts::from_rows(&corpus);
    let rows: Vec<usize> = (0..counts.len()).filter(|row| row % 7 != 3).collect();
    Contingency::of_rows(&counts, &rows)
}

/// Whether selectors that need a contrast can be computed at all.
pub fn has_contrast(table: &Contingency) -> bool {
    table.label_documents().iter().any(|&n| n > 0 && u64::from(n) < table.documents())
}

/// A selector that must parse.
pub fn selector(expression: &str) -> Selector {
    expression.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// A ranking that must exist.
pub fn rank(expression: &str, table: &Contingency) -> Ranking {
    selector(expression).rank(table).unwrap_or_else(|error| panic!("{error}"))
}

/// Scores by term number; `None` for terms that are cut.
pub fn by_term(ranking: &Ranking, table: &Contingency) -> Vec<Option<f64>> {
    let mut scores = vec![None; table.terms()];
    for (&term, &score) in ranking.terms().iter().zip(ranking.scores()) {
        scores[term as usize] = Some(score);
    }
    scores
}
