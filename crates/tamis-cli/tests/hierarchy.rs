//! `tamis fit --taxonomy` and what follows, as a user runs it.

use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

fn tamis(folder: &Path, args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("tamis").unwrap().current_dir(folder).args(args).assert()
}

fn json(folder: &Path, args: &[&str]) -> Value {
    serde_json::from_slice(&tamis(folder, args).success().get_output().stdout).unwrap()
}

/// The built-in corpus and its taxonomy.
fn made() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    tamis(folder.path(), &["synth", "docs.jsonl", "-n", "1200", "--taxonomy", "tree.tsv"]).success();
    folder
}

#[test]
fn the_whole_way() {
    let folder = made();
    let folder = folder.path();
    let fit = ["fit", "docs.jsonl", "--taxonomy", "tree.tsv", "-o", "m.model"];
    tamis(folder, &[&fit[..], &["--threshold", "tsa", "--step", "0.01"]].concat())
        .success()
        .stdout(contains("tsa along the taxonomy").and(contains("nodes")));
    let measured = json(folder, &["evaluate", "m.model", "docs.jsonl", "--format", "json"]);
    for measure in ["hP", "hR", "hF1"] {
        assert!(measured[measure].as_f64().unwrap() > 0.5, "{measured}");
    }
    let levels = measured["levels"].as_array().unwrap();
    assert!(levels.len() >= 2 && levels.iter().all(|l| l["support"].as_u64().unwrap() > 0), "{levels:?}");
    tamis(folder, &["evaluate", "m.model", "docs.jsonl"]).success().stdout(contains("Nodes by level"));
    let out = tamis(folder, &["classify", "m.model", "docs.jsonl"]).success();
    let text = String::from_utf8(out.get_output().stdout.clone()).unwrap();
    let lines: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), 1200);
    for line in &lines {
        let (labels, paths) = (line["labels"].as_array().unwrap(), line["paths"].as_array().unwrap());
        assert_eq!(labels.len(), paths.len());
        for (label, path) in labels.iter().zip(paths) {
            assert_eq!(path.as_array().unwrap().last(), Some(label));
        }
    }
    assert!(lines.iter().any(|l| l["paths"][0].as_array().is_some_and(|p| p.len() > 1)));
    let same = tamis(folder, &["classify", "m.model", "docs.jsonl", "--threads", "1"]).success();
    assert_eq!(String::from_utf8(same.get_output().stdout.clone()).unwrap(), text);
}

#[test]
fn a_flat_threshold_with_a_taxonomy_is_a_flat_model() {
    let folder = made();
    let flat = ["--classifier", "bayes", "--by", "chi2max", "--features", "300", "--threshold", "rcut(1)"];
    let fit = ["fit", "docs.jsonl", "--taxonomy", "tree.tsv", "-o", "flat.model"];
    tamis(folder.path(), &[&fit[..], &flat].concat()).success().stdout(contains("rcut(1)"));
    assert!(json(folder.path(), &["evaluate", "flat.model", "docs.jsonl", "--format", "json"])["hF1"].is_number());
}

#[test]
fn what_cannot_be_is_explained() {
    let folder = made();
    let folder = folder.path();
    let fit = ["fit", "docs.jsonl", "-o", "m.model"];
    let with = |more: &[&str]| tamis(folder, &[&fit[..], more].concat()).code(2).stdout("");
    with(&["--threshold", "tsa"]).stderr(contains("--taxonomy"));
    with(&["--threshold", "tas", "--taxonomy", "tree.tsv"]).stderr(contains("unknown"));
    with(&["--taxonomy", "none.tsv"]).stderr(contains("none.tsv"));
    with(&["--taxonomy", "tree.tsv", "--threshold", "tsa", "--step", "0"]).stderr(contains("step"));
    with(&["--taxonomy", "tree.tsv", "--folds", "1"]).stderr(contains("folds"));
    std::fs::write(folder.join("circle.tsv"), "a\tb\nb\ta\n").unwrap();
    with(&["--taxonomy", "circle.tsv"]).stderr(contains("a").and(contains("b")));
    std::fs::write(folder.join("small.tsv"), "a\tb\n").unwrap();
    with(&["--taxonomy", "small.tsv"]).stderr(contains("not in the taxonomy"));
    assert!(!folder.join("m.model").exists());
}
