//! Bayes, SVM, logistic regression and the linear model against scikit-learn (frozen numbers), against slow obvious versions, and at the edges.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod bayes;
mod logistic;
mod model;
mod own_vectors;
mod real;
mod svm;
mod weights;

use proptest::prelude::*;
use tamis::classify::{BayesOptions, Classifier, Problem, Query, Scored, Scratch, SvmOptions};
use tamis::counts::Csr;
use tamis::{Error, Silent};

/// 60 documents, 15 features, 4 labels (0 to 4 for a document), from a linear congruential generator.
///
/// The numbers of the golden tests come from scikit-learn 1.9.1 on the same data:
/// ```python
/// import numpy as np
/// from sklearn.svm import LinearSVC
/// from sklearn.naive_bayes import MultinomialNB
/// state = 7
/// def draw(n):
///     global state
///     state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
///     return (state >> 33) % n
/// X = np.zeros((60, 15)); Y = np.zeros((60, 4))
/// for d in range(60):
///     for l in range(4): Y[d, l] = draw(10) < (2, 3, 5, 1)[l]
///     for _ in range(4 + draw(8)):
///         topic = draw(4)
///         X[d, 3 * topic + draw(3) if Y[d, topic] else draw(15)] += 1
/// for loss in ('hinge', 'squared_hinge'):
///     for c in (0.05, 1.0):
///         for l in range(4):
///             m = LinearSVC(loss=loss, C=c, tol=1e-9, max_iter=10**6, dual=True).fit(X, Y[:, l])
///             w, b = m.coef_[0], m.intercept_[0]
///             e = np.maximum(0, 1 - (2 * Y[:, l] - 1) * (X @ w + b))
///             p = (w @ w + b * b) / 2 + c * (e.sum() if loss == 'hinge' else (e * e).sum())
///             print(loss, c, p, b, w[0], w[7])
/// D, L = np.nonzero(Y)          # a document with several labels is a row for each of them
/// prior = (1 + Y.sum(0)) / (4 + Y.sum())
/// print(MultinomialNB(alpha=1, class_prior=prior).fit(X[D], L).predict_log_proba(X[[0, 1, 59]]))
/// print(MultinomialNB(alpha=1, class_prior=prior).fit(X[D][:, :5], L).predict_log_proba(X[[0]][:, :5]))
/// for l in range(4):            # one-vs-rest
///     p = (1 + Y[:, l].sum()) / 62
///     print(MultinomialNB(alpha=1, class_prior=[1 - p, p]).fit(X, Y[:, l]).predict_log_proba(X[[0, 59]])[:, 1])
/// ```
fn golden() -> Problem {
    problem(&golden_rows())
}

fn golden_rows() -> Vec<(Vec<u32>, Vec<bool>)> {
    let mut state = 7u64;
    let mut draw = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut rows = Vec::new();
    for _ in 0..60 {
        let labels: Vec<bool> = [2, 3, 5, 1].into_iter().map(|share| draw(10) < share).collect();
        let mut counts = vec![0u32; 15];
        for _ in 0..4 + draw(8) {
            let topic = draw(4);
            let feature = if labels[topic as usize] { 3 * topic + draw(3) } else { draw(15) };
            counts[feature as usize] += 1;
        }
        rows.push((counts, labels));
    }
    rows
}

/// A larger problem, in which labels need working sets, checks and several rounds.
fn larger() -> Problem {
    let mut state = 1u64;
    let mut draw = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut rows = Vec::new();
    for _ in 0..3000 {
        let topic = draw(40) * draw(40) / 40;
        let mut counts = vec![0u32; 300];
        for _ in 0..20 {
            let word = if draw(3) == 0 { topic * 6 + draw(10) } else { draw(300) * draw(300) / 300 };
            counts[word as usize] += 1;
        }
        rows.push((counts, (0..40).map(|l| l == topic || (l == topic / 2 && draw(3) == 0)).collect()));
    }
    problem(&rows)
}

fn problem(rows: &[(Vec<u32>, Vec<bool>)]) -> Problem {
    let features = rows.first().map_or(0, |r| r.0.len());
    let labels = rows.first().map_or(0, |r| r.1.len());
    let mut matrix = Csr::new(features);
    let mut assignments = Csr::new(labels);
    for (counts, is) in rows {
        matrix.push_row(counts.iter().enumerate().filter(|(_, c)| **c > 0).map(|(f, c)| (f as u32, *c)));
        assignments.push_row(is.iter().enumerate().filter(|(_, is)| **is).map(|(l, _)| (l as u32, ())));
    }
    Problem::of(matrix, rows.iter().map(|r| r.0.iter().sum()).collect(), assignments)
}

/// The first features of a problem, as a problem of its own.
fn prefix(problem: &Problem, size: usize) -> Problem {
    let mut matrix = Csr::new(size);
    for row in 0..problem.documents() {
        matrix.push_row(problem.matrix.row(row).filter(|(f, _)| (*f as usize) < size));
    }
    Problem { matrix, ..problem.clone() }
}

fn rank(model: &impl Classifier, document: Query<'_>) -> Vec<Scored> {
    let mut ranked = vec![Scored { label: 77, score: 7.0 }];
    model.rank(document, &mut Scratch::default(), &mut ranked);
    ranked
}

/// Scores by label.
fn scores(model: &impl Classifier, document: Query<'_>) -> Vec<f64> {
    let mut scores = vec![f64::NAN; model.labels()];
    for s in rank(model, document) {
        scores[s.label as usize] = s.score;
    }
    scores
}

#[track_caller]
fn close(found: &[f64], expected: &[f64], within: f64) {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= within;
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(near),
        "found {found:?}\nexpected {expected:?}"
    );
}

fn svm_of(text: &str) -> SvmOptions {
    text.parse().unwrap()
}

fn documents(most: usize) -> impl Strategy<Value = Vec<(Vec<u32>, Vec<bool>)>> {
    let count = prop_oneof![3 => Just(0u32), 2 => Just(1), 1 => 2u32..5];
    prop::collection::vec((prop::collection::vec(count, 6), prop::collection::vec(any::<bool>(), 3)), 1..most)
}

#[test]
fn nothing_to_learn_is_an_error_and_little_is_not() {
    let none = problem(&[(vec![1, 0], vec![false]), (vec![0, 1], vec![false])]);
    let empty = problem(&[]);
    for nothing in [&none, &empty] {
        assert!(matches!(svm_of("svm").fit(nothing, &Silent), Err(Error::Data { .. })));
        assert!(matches!(BayesOptions::default().fit(nothing), Err(Error::Data { .. })));
    }
    // One label on every document, none on some label, a document without features, no feature at all.
    let cases = [
        problem(&[(vec![1, 2], vec![true]), (vec![0, 1], vec![true])]),
        problem(&[(vec![1, 2], vec![true, false]), (vec![0, 0], vec![true, false]), (vec![0, 3], vec![false, false])]),
        problem(&[(vec![], vec![true, false]), (vec![], vec![false, true]), (vec![], vec![false, true])]),
        problem(&[(vec![1, 1], vec![true, false]), (vec![1, 1], vec![false, true])]),
    ];
    for (number, case) in cases.iter().enumerate() {
        for text in [
            "svm",
            "svm(loss=hinge)",
            "svm(c=1e12,iterations=50)",
            "svm(c=1e12,loss=hinge,iterations=50)",
            "svm(c=1e-12)",
            "svm(multi=ovo)",
            "svm(classes=balanced)",
            "svm(vectors=tf,c=1e12,iterations=50)",
        ] {
            let fit = svm_of(text).fit(case, &Silent).unwrap();
            let trained = (0..case.labels()).filter(|&l| case.assignments.indices().contains(&(l as u32))).count();
            let mut models = vec![fit.model.clone(), fit.model.quantised().unwrap(), fit.model.pruned(1.0).unwrap()];
            models.push(BayesOptions::default().fit(case).unwrap());
            models.push("bayes(multi=ovr)".parse::<BayesOptions>().unwrap().fit(case).unwrap());
            for model in models {
                for query in [case.query(0), Query { features: &[], counts: &[], length: 0 }] {
                    let ranked = rank(&model, query);
                    assert_eq!(ranked.len(), trained, "{text} on case {number}");
                    assert!(ranked.iter().all(|s| s.score.is_finite()), "{text} on case {number}: {ranked:?}");
                }
            }
            for s in &fit.solutions {
                assert!(s.gap.is_finite() && s.primal.is_finite(), "{text} on case {number}: {s:?}");
            }
        }
    }
    // Without any feature to go by, the larger label is ahead.
    let ranked =
        rank(&BayesOptions::default().fit(&cases[2]).unwrap(), Query { features: &[], counts: &[], length: 0 });
    assert_eq!(ranked[0].label, 1);
}
