//! Documents that count more than once, and labels that weigh more than others.

use std::sync::Arc;

use proptest::prelude::*;
use tamis::Silent;
use tamis::classify::{BayesOptions, Linear, Problem};
use tamis::counts::Vocabulary;

use super::logistic::logistic_of;
use super::{close, documents, problem, scores, svm_of};

/// Every document as often as its weight says.
fn repeated(rows: &[(Vec<u32>, Vec<bool>)], weights: &[u32]) -> Problem {
    let rows: Vec<_> =
        rows.iter().zip(weights).flat_map(|(r, &w)| std::iter::repeat_n(r.clone(), w as usize)).collect();
    problem(&rows)
}

fn fit(text: &str, problem: &Problem) -> (Linear, f64) {
    if text.starts_with("svm") {
        let fit = svm_of(text).fit(problem, &Silent).unwrap();
        (fit.model, fit.solutions.iter().map(|s| s.primal).sum())
    } else if text.starts_with("logistic") {
        let fit = logistic_of(text).fit(problem, &Silent).unwrap();
        (fit.model, fit.solutions.iter().map(|s| s.primal).sum())
    } else {
        (text.parse::<BayesOptions>().unwrap().fit(problem).unwrap(), 0.0)
    }
}

const CLASSIFIERS: [&str; 12] = [
    "svm(gap=1e-9)",
    "svm(gap=1e-9,vectors=okapi)",
    "logistic(gap=1e-12,form=ovr)",
    "svm(vectors=tf,gap=1e-9)",
    "svm(vectors=tf,gap=1e-7,loss=hinge)",
    "svm(vectors=binary,gap=1e-9,classes=balanced)",
    "svm(vectors=tf,gap=1e-9,multi=ovo)",
    "logistic(vectors=tf,gap=1e-12,form=ovr)",
    "logistic(vectors=tf,gap=1e-12,form=multinomial)",
    "logistic(vectors=binary,gap=1e-12,form=multinomial,classes=balanced)",
    "bayes",
    "bayes(multi=ovr)",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_weight_is_so_many_documents(rows in documents(16), weights in prop::collection::vec(0u32..4, 16)) {
        let weights = &weights[..rows.len()];
        let more = repeated(&rows, weights);
        prop_assume!(more.assignments.entries() > 0);
        let mut weighed = problem(&rows);
        weighed.weights = weights.iter().map(|&w| f64::from(w)).collect();
        for text in CLASSIFIERS {
            let ((one, value), (other, expected)) = (fit(text, &weighed), fit(text, &more));
            prop_assert!((value - expected).abs() <= 1e-6 * expected.max(1.0), "{text}: {value} and {expected}");
            // Labels of documents that do not count are not ranked by either.
            let found: Vec<f64> = scores(&one, weighed.query(0));
            let wanted: Vec<f64> = scores(&other, weighed.query(0));
            for (a, b) in found.iter().zip(&wanted) {
                let tolerance = if text.contains("ovo") || text.contains("hinge") { 0.02 } else { 2e-3 };
                prop_assert!((a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance, "{text}: {found:?} and {wanted:?}");
            }
        }
    }
}

#[test]
fn weights_of_labels_are_weights_of_their_documents() {
    let rows: Vec<(Vec<u32>, Vec<bool>)> =
        super::golden_rows().into_iter().map(|(c, is)| (c, vec![is[2], !is[2]])).collect();
    let mut told = problem(&rows);
    told.names = Some(Arc::new(Vocabulary::new(["oil", "sea, salt"])));
    let mut weighed = problem(&rows);
    weighed.weights = rows.iter().map(|(_, is)| if is[1] { 2.5 } else { 1.0 }).collect();
    for name in
        ["svm(vectors=tf,gap=1e-9", "logistic(vectors=tf,gap=1e-12", "logistic(vectors=tf,gap=1e-12,form=multinomial"]
    {
        let (one, _) = fit(&format!("{name},classes=\"sea, salt\":2.5)"), &told);
        let (other, _) = fit(&format!("{name})"), &weighed);
        let (plain, _) = fit(&format!("{name})"), &problem(&rows));
        for d in 0..5 {
            close(&scores(&one, told.query(d)), &scores(&other, told.query(d)), 2e-4);
        }
        assert!((plain.bias(0) - one.bias(0)).abs() > 0.05);
    }
    let error = svm_of("svm(classes=oi:2)").fit(&told, &Silent).unwrap_err().to_string();
    assert!(error.contains("unknown label \"oi\"") && error.contains("oil"), "{error}");
    let error = svm_of("svm(classes=oil:2)").fit(&weighed, &Silent).unwrap_err().to_string();
    assert!(error.contains("names of labels"), "{error}");
}

#[test]
fn weights_that_are_none_are_refused() {
    let mut wrong = super::golden();
    wrong.weights = vec![1.0; 59];
    assert!(svm_of("svm").fit(&wrong, &Silent).unwrap_err().to_string().contains("59 weights"));
    for weight in [-1.0, f64::NAN, f64::INFINITY] {
        wrong.weights = vec![weight; 60];
        for text in ["svm", "logistic"] {
            let result = if text == "svm" {
                svm_of(text).fit(&wrong, &Silent).map(|_| ())
            } else {
                logistic_of(text).fit(&wrong, &Silent).map(|_| ())
            };
            assert!(result.unwrap_err().to_string().contains("0 or more"));
        }
        assert!(BayesOptions::default().fit(&wrong).is_err());
    }
}
