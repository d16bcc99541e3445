//! `tamis fit --taxonomy` and what follows, as a user runs it.
#![allow(clippy::unwrap_used, clippy::format_push_string)]

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

/// Without a threshold, answers are chosen by what they are worth: compared with flat, said, stored and judged.
#[test]
fn answers_are_chosen_by_a_goal() {
    let folder = made();
    let folder = folder.path();
    let fit = ["fit", "docs.jsonl", "--taxonomy", "tree.tsv", "-o", "m.model", "--effort", "quick"];
    for goal in ["exact", "hf1", "f1"] {
        tamis(folder, &[&fit[..], &["--goal", goal]].concat()).success().stdout(contains("(flat)"));
        let out = tamis(folder, &["evaluate", "m.model", "docs.jsonl", "--format", "json"]).success();
        let value: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
        assert!(value["measures"]["hF1"].as_f64().or(value["hF1"].as_f64()).unwrap() > 0.3, "{value}");
    }
    tamis(folder, &[&fit[..], &["--goal", "hf1", "--answers", "one"]].concat()).code(2).stderr(contains("--answers"));
    tamis(folder, &[&fit[..], &["--goal", "cost"]].concat()).code(2).stderr(contains("cost"));
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

#[test]
fn the_paper_s_setting_and_the_ways_of_answering() {
    let folder = made();
    let folder = folder.path();
    let fit = ["fit", "docs.jsonl", "--taxonomy", "tree.tsv", "-o", "m.model", "--threshold", "greedy-exact"];
    let with = |more: &[&str]| tamis(folder, &[&fit[..], more].concat());
    with(&["--by", "ig", "--per-node", "200"]).success().stdout(contains("200 words of ig"));
    with(&["--imbalance", "2^-4"]).success().stdout(contains("all words"));
    let paths = |answers: &str| -> Vec<usize> {
        with(&["--answers", answers]).success();
        let out = tamis(folder, &["classify", "m.model", "docs.jsonl"]).success();
        let text = String::from_utf8(out.get_output().stdout.clone()).unwrap();
        let line = |l: &str| serde_json::from_str::<Value>(l).unwrap()["paths"].as_array().unwrap().len();
        text.lines().map(line).collect()
    };
    assert!(paths("one").iter().all(|&n| n == 1));
    assert!(paths("best").iter().all(|&n| n == 1));
    assert!(paths("at-least-one").iter().all(|&n| n >= 1));
    assert!(paths("all").iter().any(|&n| n != 1));
    let refused = |more: &[&str]| with(more).code(2).stdout("");
    refused(&["--answers", "two"]).stderr(contains("at-least-one"));
    refused(&["--least-utility", "2"]).stderr(contains("least-utility"));
    refused(&["--per-node", "1"]).stderr(contains("per-node"));
    refused(&["--by", "ig", "--features", "all"]).stderr(contains("give a number"));
    refused(&["--imbalance", "0"]).stderr(contains("imbalance"));
}

/// Labels that are paths, in a column of their own; and a node with two parents.
#[test]
fn a_taxonomy_from_names_in_a_column_and_two_parents() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (mut slashed, mut dotted) = (String::from("text\tkind\n"), String::from("text\tkind\n"));
    for i in 0..90 {
        let (words, path) =
            [("ice puck", "sport/hockey"), ("goal grass", "sport/football"), ("oil price", "trade")][i % 3];
        slashed += &format!("{words} w{}\t{path}\n", i % 7);
        dotted += &format!("{words} w{}\t{}\n", i % 7, path.replace('/', "."));
    }
    for (name, text) in [("slashed.tsv", slashed), ("dotted.tsv", dotted)] {
        std::fs::write(folder.join(name), text).unwrap();
        let corpus = [name, "--labels-field", "kind", "--text-field", "text"];
        let fit = ["--taxonomy", "names", "--threshold", "tsa", "-o", "m.model"];
        tamis(folder, &[&["fit"][..], &corpus, &fit].concat()).success().stdout(contains("4 in 2 levels"));
        let out = tamis(folder, &[&["classify", "m.model"][..], &corpus].concat()).success();
        let first = String::from_utf8(out.get_output().stdout.clone()).unwrap();
        let first: Value = serde_json::from_str(first.lines().next().unwrap()).unwrap();
        assert_eq!(first["paths"][0].as_array().unwrap().len(), 2, "{first}");
    }
    let tree = "child\tparent\nsport/hockey\tsport\nsport/football\tsport\nsport/hockey\ttrade\n";
    std::fs::write(folder.join("tree.tsv"), tree).unwrap();
    let fit = ["fit", "slashed.tsv", "--labels-field", "kind", "--taxonomy", "tree.tsv", "-o", "m.model"];
    let refuse = [&fit[..], &["--parent", "refuse"]].concat();
    tamis(folder, &refuse).code(2).stderr(contains("sport/hockey").and(contains("sport")).and(contains("trade")));
    tamis(folder, &fit).success();
    tamis(folder, &[&fit[..], &["--parent", "first"]].concat()).success();
}
