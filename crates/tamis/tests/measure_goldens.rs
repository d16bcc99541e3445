//! Measures, tests and probabilities against scikit-learn, trec_eval and scipy: numbers frozen by
//! `tests/python/make_measure_goldens.py`.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use serde::Deserialize;
use tamis::classify::Scored;
use tamis::measure::correlation::r_squared;
use tamis::measure::significance::{
    WilcoxonMethod, paired_bootstrap, randomisation, sign_test, sign_test_of, wilcoxon,
};
use tamis::measure::{Evaluation, EvaluationOptions, Measure, Resampling};
use tamis::threshold::{Calibration, CalibrationMethod, HeldOut, Threshold};

#[derive(Deserialize)]
struct Goldens {
    ranked: Vec<RankedCase>,
    decided: Vec<DecidedCase>,
    single: Vec<SingleCase>,
    sign: Vec<(u64, u64, f64, f64)>,
    wilcoxon: Vec<WilcoxonCase>,
    randomisation: Vec<PairedCase>,
    bootstrap: Vec<BootstrapCase>,
    calibration: Vec<CalibrationCase>,
    pearson: Vec<PearsonCase>,
}

#[derive(Deserialize)]
struct RankedCase {
    labels: usize,
    truth: Vec<Vec<u32>>,
    ranked: Vec<Vec<(u32, f64)>>,
    per_document: BTreeMap<String, Vec<Option<f64>>>,
    means: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
struct DecidedCase {
    labels: usize,
    untrained: Vec<usize>,
    truth: Vec<Vec<u32>>,
    decided: Vec<Vec<u32>>,
    values: BTreeMap<String, f64>,
    per_label: Vec<(f64, f64, f64, u64)>,
}

#[derive(Deserialize)]
struct SingleCase {
    labels: usize,
    truth: Vec<u32>,
    decided: Vec<u32>,
    accuracy: f64,
    confusion: Vec<Vec<u64>>,
}

#[derive(Deserialize)]
struct WilcoxonCase {
    a: Vec<f64>,
    b: Vec<f64>,
    exact: bool,
    plus: f64,
    greater: f64,
    two_sided: f64,
}

#[derive(Deserialize)]
struct PairedCase {
    a: Vec<f64>,
    b: Vec<f64>,
    greater: f64,
    two_sided: f64,
}

#[derive(Deserialize)]
struct BootstrapCase {
    a: Vec<f64>,
    b: Vec<f64>,
    low: f64,
    high: f64,
    standard_error: f64,
}

#[derive(Deserialize)]
struct CalibrationCase {
    scores: Vec<f64>,
    truth: Vec<u8>,
    asked: Vec<f64>,
    platt_sklearn: Vec<f64>,
    platt_scipy: Vec<f64>,
    isotonic: Vec<f64>,
    best_f1: f64,
}

#[derive(Deserialize)]
struct PearsonCase {
    x: Vec<f64>,
    y: Vec<f64>,
    r_squared: f64,
}

fn goldens() -> Goldens {
    serde_json::from_str(include_str!("data/measure_goldens.json")).unwrap()
}

#[track_caller]
fn close(got: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((got - expected).abs() <= tolerance, "{what}: {got}, expected {expected}");
}

#[test]
fn ranked_measures_equal_trec_eval_and_scikit_learn() {
    for case in goldens().ranked {
        let names: Vec<&String> = case.means.keys().collect();
        let options = EvaluationOptions {
            measures: names.iter().map(|n| n.parse().unwrap()).collect(),
            labels: case.labels,
            ..EvaluationOptions::default()
        };
        let mut evaluation = Evaluation::new(options).unwrap();
        for (ranked, truth) in case.ranked.iter().zip(&case.truth) {
            let ranked: Vec<Scored> = ranked.iter().map(|&(label, score)| Scored { label, score }).collect();
            evaluation.add(&ranked, &[], truth);
        }
        assert!(evaluation.documents_without_truth() > 0, "the case must hold a document without a true label");
        for (name, expected) in &case.means {
            close(evaluation.value(name.parse().unwrap()).unwrap(), *expected, 1e-12, name);
        }
        for (name, expected) in &case.per_document {
            let got = evaluation.per_document(name.parse().unwrap()).unwrap();
            assert_eq!(got.len(), expected.len());
            for (got, expected) in got.iter().zip(expected) {
                match (got, expected) {
                    (None, None) => {}
                    (Some(got), Some(expected)) => close(*got, *expected, 1e-12, name),
                    _ => panic!("{name}: {got:?}, expected {expected:?}"),
                }
            }
        }
    }
}

#[test]
fn set_based_measures_equal_scikit_learn() {
    for case in goldens().decided {
        let options = EvaluationOptions {
            measures: case.values.keys().map(|n| n.parse().unwrap()).collect(),
            labels: case.labels,
            trained: Some((0..case.labels).map(|l| !case.untrained.contains(&l)).collect()),
            ..EvaluationOptions::default()
        };
        let mut evaluation = Evaluation::new(options).unwrap();
        for (decided, truth) in case.decided.iter().zip(&case.truth) {
            evaluation.add(&[], decided, truth);
        }
        for (name, expected) in &case.values {
            close(evaluation.value(name.parse().unwrap()).unwrap(), *expected, 1e-12, name);
        }
        for (row, (precision, recall, f1, support)) in evaluation.per_label().iter().zip(&case.per_label) {
            close(row.precision, *precision, 1e-12, "precision");
            close(row.recall, *recall, 1e-12, "recall");
            close(row.f1, *f1, 1e-12, "f1");
            assert_eq!(row.tally.support(), *support);
        }
        // Label 2 and document 0 have neither true nor decided labels.
        let zero = |name: &str| {
            let measure: Measure = name.parse().unwrap();
            evaluation.values().into_iter().find(|v| v.measure == measure).unwrap().zero_divisions
        };
        assert_eq!(zero("F1@micro"), 0);
        assert!(zero("F1@macro") >= 1 && zero("F1@samples") >= 1);
    }
}

#[test]
fn accuracy_and_confusion_equal_scikit_learn() {
    for case in goldens().single {
        let options = EvaluationOptions { labels: case.labels, pairs: true, ..EvaluationOptions::default() };
        let mut evaluation = Evaluation::new(options).unwrap();
        for (decided, truth) in case.decided.iter().zip(&case.truth) {
            evaluation.add(&[], &[*decided], &[*truth]);
        }
        close(evaluation.value(Measure::Accuracy).unwrap(), case.accuracy, 1e-12, "accuracy");
        let confusion = evaluation.confusion().unwrap();
        for (truth, row) in case.confusion.iter().enumerate() {
            for (decided, expected) in row.iter().enumerate() {
                assert_eq!(confusion.count(truth as u32, decided as u32), *expected);
            }
        }
    }
}

#[test]
fn sign_test_equals_scipy() {
    for (wins, losses, greater, two_sided) in goldens().sign {
        let test = sign_test(wins, losses);
        close(test.p_one_sided, greater, 1e-11, &format!("{wins}:{losses} one-sided"));
        close(test.p_two_sided, two_sided, 1e-11, &format!("{wins}:{losses} two-sided"));
    }
    assert_eq!(format!("{:.4}", sign_test(15, 5).p_one_sided), "0.0207");
}

#[test]
fn wilcoxon_equals_scipy() {
    let cases = goldens().wilcoxon;
    assert!(cases.iter().any(|c| c.exact) && cases.iter().any(|c| !c.exact));
    for case in cases {
        let test = wilcoxon(&case.a, &case.b).unwrap();
        assert_eq!(test.method == WilcoxonMethod::Exact, case.exact);
        close(test.rank_sum_plus, case.plus, 1e-9, "W+");
        close(test.p_one_sided, case.greater, 1e-11, "one-sided");
        close(test.p_two_sided, case.two_sided, 1e-11, "two-sided");
        let signs = sign_test_of(&case.a, &case.b).unwrap();
        assert_eq!((signs.wins + signs.losses) as usize, test.pairs);
    }
}

#[test]
fn randomisation_equals_scipy() {
    for case in goldens().randomisation {
        let test = randomisation(&case.a, &case.b, &Resampling::default()).unwrap();
        assert!(test.exact);
        close(test.p_one_sided, case.greater, 1e-12, "one-sided");
        close(test.p_two_sided, case.two_sided, 1e-12, "two-sided");
    }
}

#[test]
fn bootstrap_comes_near_scipy() {
    for case in goldens().bootstrap {
        let resampling = Resampling { replicates: 50_000, ..Resampling::default() };
        let test = paired_bootstrap(&case.a, &case.b, &resampling).unwrap();
        let width = case.high - case.low;
        close(test.low, case.low, 0.01 * width, "low");
        close(test.high, case.high, 0.01 * width, "high");
        close(test.standard_error, case.standard_error, 0.01 * case.standard_error, "standard error");
    }
}

#[test]
fn r_squared_equals_scipy() {
    for case in goldens().pearson {
        close(r_squared(&case.x, &case.y), case.r_squared, 1e-12, "r²");
    }
}

fn held_out(case: &CalibrationCase) -> HeldOut {
    let mut held_out = HeldOut::new(1);
    for (&score, &truth) in case.scores.iter().zip(&case.truth) {
        let truth: &[u32] = if truth == 1 { &[0] } else { &[] };
        held_out.add(0, &[Scored { label: 0, score }], truth);
    }
    held_out
}

#[test]
fn probabilities_equal_scikit_learn() {
    for case in goldens().calibration {
        let held_out = held_out(&case);
        let platt = Calibration::fit(CalibrationMethod::Platt, &held_out).unwrap();
        let isotonic = Calibration::fit(CalibrationMethod::Isotonic, &held_out).unwrap();
        for (i, &score) in case.asked.iter().enumerate() {
            close(platt.probability(0, score), case.platt_scipy[i], 1e-7, "platt against scipy's BFGS");
            close(platt.probability(0, score), case.platt_sklearn[i], 1e-3, "platt against scikit-learn");
            close(isotonic.probability(0, score), case.isotonic[i], 1e-12, "isotonic");
        }
    }
}

#[test]
fn scut_reaches_the_best_f1_of_scikit_learn() {
    for case in goldens().calibration {
        let tuned = Threshold::scut().tune(&held_out(&case)).unwrap();
        close(tuned.report.f_micro, case.best_f1, 1e-12, "best F1");
    }
}
