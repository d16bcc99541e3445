//! `tamis calibrate` as a user runs it.
#![allow(clippy::unwrap_used)]

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

const SCORES: &str = "truth\tCWE-664\tCWE-118\n1\t0.9\t0.8\n1\t0.8\t0.6\n0\t0.9\t0.3\n0\t0.2\t0.7\n";

fn calibrate(scores: &str, args: &[&str]) -> assert_cmd::assert::Assert {
    let mut command = Command::cargo_bin("tamis").unwrap();
    command.args(["calibrate", "-"]).args(args).write_stdin(scores).assert()
}

fn json(scores: &str, args: &[&str]) -> Value {
    let args: Vec<&str> = args.iter().copied().chain(["--format", "json"]).collect();
    serde_json::from_slice(&calibrate(scores, &args).success().get_output().stdout).unwrap()
}

#[test]
fn every_method_finds_thresholds_that_separate() {
    for by in ["tsa", "rbf", "exact", "greedy-exact"] {
        let out = json(SCORES, &["--by", by]);
        assert_eq!(out["method"], by);
        assert_eq!(out["utility"], 1.0, "{by}");
        let [first, second] = [0, 1].map(|k| out["thresholds"][k].as_f64().unwrap());
        assert!(first > 0.2 && first <= 0.8 && second > 0.3 && second <= 0.6, "{by}: {first} {second}");
        assert!(out["evaluations"].as_u64().unwrap() > 0);
        assert_eq!((out["documents"].as_u64(), out["positives"].as_u64()), (Some(4), Some(2)));
        assert_eq!(out["outcome"]["false_positives"], 0);
    }
}

#[test]
fn exact_proves_and_the_others_do_not_claim_to() {
    let exact = json(SCORES, &["--by", "exact"]);
    assert_eq!((&exact["proven"], exact["bound"].as_f64()), (&Value::Bool(true), Some(1.0)));
    let tsa = json(SCORES, &["--by", "tsa"]);
    assert_eq!((&tsa["proven"], &tsa["bound"]), (&Value::Bool(false), &Value::Null));
}

#[test]
fn the_utility_decides_what_is_best() {
    // One positive is out of reach of every precise threshold.
    let scores = "truth,a\n1,0.9\n1,0.1\n0,0.5\n0,0.4\n0,0.3\n";
    assert_eq!(json(scores, &["--utility", "precision"])["utility"], 1.0);
    assert_eq!(json(scores, &["--utility", "recall"])["thresholds"][0].as_f64().map(|t| t <= 0.1), Some(true));
    let precise = json(scores, &["--utility", "f(0.5)"])["outcome"]["false_positives"].as_u64();
    assert_eq!(precise, Some(0));
}

#[test]
fn expected_imbalance_moves_the_threshold() {
    // At 1:1 both upper documents are worth taking; where negatives are 16 times as many, only the pure top is.
    let scores = "truth,a\n1,0.9\n0,0.8\n1,0.7\n0,0.1\n";
    assert_eq!(json(scores, &["--imbalance", "2^0"])["thresholds"][0], 0.7);
    let rare = json(scores, &["--imbalance", "2^-4"]);
    assert!(rare["thresholds"][0].as_f64().unwrap() > 0.8);
    assert_eq!(rare["negative_weight"], 16.0);
}

#[test]
fn tables_and_tsv_for_people() {
    calibrate(SCORES, &[]).success().stdout(contains("CWE-118").and(contains("f1 = 1.0000")).and(contains("proven")));
    let tsv = calibrate(SCORES, &["--format", "tsv", "--by", "rbf"]).success();
    let text = String::from_utf8(tsv.get_output().stdout.clone()).unwrap();
    assert_eq!(text.lines().count(), 3);
    assert!(text.lines().all(|line| line.split('\t').count() == 5), "{text}");
}

#[test]
fn files_are_named_in_messages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scores.tsv");
    std::fs::write(&path, "truth\ta\n1\t0.5\n0\t1.5\n").unwrap();
    let mut command = Command::cargo_bin("tamis").unwrap();
    command.arg("calibrate").arg(&path).assert().code(2).stdout("").stderr(contains("scores.tsv:3: column 2 (a)"));
    let mut command = Command::cargo_bin("tamis").unwrap();
    command.arg("calibrate").arg(folder.path().join("none.tsv")).assert().code(2).stderr(contains("none.tsv"));
}

#[test]
fn bad_input_is_refused_with_its_place() {
    let cases: [(&str, &[&str], &str); 15] = [
        ("truth\ta\n1\t1.0001\n", &[], "-:2: column 2 (a): the score 1.0001 is not in [0,1]"),
        ("truth\ta\n1\t0.5\n0\t-0.1\n", &[], "-:3: column 2 (a): the score -0.1 is not in [0,1]"),
        ("truth\ta\n1\tNaN\n", &[], "-:2: column 2 (a)"),
        ("truth,a\n1,inf\n", &[], "-:2: column 2 (a)"),
        ("truth,a\n1,high\n", &[], "-:2: column 2 (a): expected a score in [0,1], found \"high\""),
        ("truth,a\n2,0.5\n", &[], "-:2: column 1 (truth): truth must be 0 or 1, found \"2\""),
        ("id,a,truth\nx,0.5,yes\n", &[], "-:2: column 3 (truth)"),
        ("truth,a\n1\n", &[], "-:2: 1 fields, but the header has 2"),
        ("label,a\n1,0.5\n", &[], "-:1: no column is called \"truth\""),
        ("truth\n1\n", &[], "-:1: no column of scores"),
        ("", &[], "-:1: no header"),
        ("truth,a\n0,0.5\n0,0.1\n", &[], "none of the 2 documents is positive"),
        ("truth,a\n0,0.5\n0,0.1\n", &["--imbalance", "2^-4"], "none of the 2 documents is positive"),
        ("truth,a\n", &[], "the score table has no documents"),
        (SCORES, &["--by", "exact", "--step", "0.1"], "exact has no grid"),
    ];
    for (scores, args, message) in cases {
        calibrate(scores, args).code(2).stdout("").stderr(contains(message));
    }
}

#[test]
fn bad_options_are_refused() {
    for by in ["tsa", "rbf"] {
        for step in ["0", "1.5", "-0.1", "NaN"] {
            calibrate(SCORES, &["--by", by, "--step", step]).code(2).stderr(contains("must be above 0 and at most 1"));
        }
    }
    calibrate(SCORES, &["--by", "tas"]).code(2).stderr(contains("did you mean tsa"));
    calibrate(SCORES, &["--utility", "f(0)"]).code(2).stderr(contains("positive number"));
    calibrate(SCORES, &["--imbalance", "0"]).code(2).stderr(contains("imbalance"));
    calibrate(SCORES, &["--seconds", "-1"]).code(2).stderr(contains("seconds"));
}
