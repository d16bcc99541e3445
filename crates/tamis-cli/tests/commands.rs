//! The commands as the README shows them: what comes out, in which form, and that it is the same every time.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;

use common::{Folder, SMALL, out, says};
use serde_json::Value;

#[test]
fn synth_is_deterministic() {
    let folder = Folder::new();
    folder.ok("synth -n 200 one.jsonl --taxonomy one.tsv");
    folder.ok("synth -n 200 two.jsonl --taxonomy two.tsv --threads 1");
    folder.ok("synth -n 200 other.jsonl --seed 2");
    assert_eq!(folder.bytes("one.jsonl"), folder.bytes("two.jsonl"));
    assert_eq!(folder.bytes("one.tsv"), folder.bytes("two.tsv"));
    assert_ne!(folder.bytes("one.jsonl"), folder.bytes("other.jsonl"));
    assert_eq!(folder.text("one.jsonl"), folder.ok("synth -n 200"));
    // A smaller corpus is the beginning of a larger one.
    assert!(folder.text("one.jsonl").starts_with(&folder.ok("synth -n 50")));
    let lines = folder.json_lines("synth -n 200");
    assert_eq!(lines.len(), 200);
    assert!(lines.iter().all(|line| (1..=5).contains(&line["labels"].as_array().unwrap().len())));
    assert_eq!(folder.ok("convert synth:topics:200 -"), folder.text("one.jsonl"));
    assert_eq!(folder.json_lines("synth --shape rcv1 -n 20").len(), 20);
}

/// Documents by id: sorted labels, text and part, whatever the order of fields.
fn documents(folder: &Folder, name: &str) -> BTreeMap<String, (Vec<String>, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let lines = folder.text(name);
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .map(|value| {
            let mut labels: Vec<String> = value["labels"].as_array().unwrap().iter().map(text).collect();
            labels.sort();
            (text(&value["id"]), (labels, text(&value["text"]), text(&value["split"])))
        })
        .collect()
}

#[test]
fn convert_round_trips() {
    let folder = Folder::topics();
    let original = documents(&folder, "docs.jsonl");
    assert_eq!(original.len(), 300);
    for between in ["x.csv", "x.tsv", "x.parquet", "x.jsonl.gz", "x.jsonl.zst", "x.csv.bz2"] {
        folder.ok(&format!("convert docs.jsonl {between}"));
        folder.ok(&format!("convert {between} back.jsonl"));
        assert!(documents(&folder, "back.jsonl") == original, "{between}");
    }
    // Formats that keep less still count the same.
    folder.ok("count docs.jsonl -o whole.counts --all-parts");
    for between in ["x.txt", "x.svm"] {
        let to = if between == "x.txt" { "fasttext" } else { "svmlight" };
        let output = folder.run(&format!("convert docs.jsonl {between} --to {to}"));
        if output.status.code() == Some(0) {
            let facts = folder.json(&format!("inspect {between} --from {to} --format json"));
            assert_eq!(facts["summary"]["documents"], 300, "{to}");
        } else {
            says(&String::from_utf8_lossy(&output.stderr), &[to]);
        }
    }
    let piped = folder.run_with("convert - - --from jsonl --to csv", folder.bytes("docs.jsonl"));
    folder.ok("convert docs.jsonl x.csv");
    assert_eq!(out("pipe", &piped), folder.text("x.csv"));
}

#[test]
fn counts_of_parts_add_up_byte_for_byte() {
    let folder = Folder::topics();
    let whole = folder.text("docs.jsonl");
    let lines: Vec<&str> = whole.lines().collect();
    for (name, part) in [("a", &lines[..50]), ("b", &lines[50..51]), ("c", &lines[51..])] {
        folder.file(&format!("{name}.jsonl"), part.join("\n") + "\n");
        folder.ok(&format!("count {name}.jsonl -o {name}.counts"));
    }
    folder.ok("count docs.jsonl -o whole.counts");
    folder.ok("merge a.counts b.counts c.counts -o merged.counts");
    folder.ok("merge c.counts a.counts b.counts -o other.counts");
    folder.ok("count a.jsonl b.jsonl c.jsonl -o together.counts --threads 1");
    let expected = folder.bytes("whole.counts");
    for name in ["merged.counts", "other.counts", "together.counts"] {
        assert!(folder.bytes(name) == expected, "{name}");
    }
    folder.ok("count docs.jsonl -o all.counts --all-parts");
    assert_eq!(folder.json("inspect all.counts --format json")["documents"], 300);
    let training = whole.lines().filter(|line| line.contains("\"split\":\"train\"")).count();
    assert_eq!(folder.json("inspect whole.counts --format json")["documents"], training);
}

#[test]
fn rank_has_the_promised_columns() {
    let folder = Folder::small();
    let with_label = ["rank", "term", "score", "df", "label", "a", "b", "c", "d"];
    for selector in ["chi2max", "mimax", "bns", "wllr", "wfo(0.5)", "or", "g2", "chi2max@1"] {
        let rows = folder.tsv(&format!("rank small.jsonl --by {selector} --format tsv"));
        assert_eq!(rows[0], with_label, "{selector}");
    }
    for selector in ["df", "ig", "chi2avg", "ib", "gini", "lr(chi2max,ig)", "ar(df,ig)"] {
        let rows = folder.tsv(&format!("rank small.jsonl --by {selector} --format tsv"));
        assert_eq!(rows[0], with_label[..4], "{selector}");
        assert_eq!(rows.len(), 11, "{selector}");
    }
    // goals is in three documents of sport and in no other: n (ad − cb)² / margins = 6 · 81 / 81.
    let rows = folder.tsv("rank small.jsonl --by chi2max --format tsv");
    assert_eq!(rows[1], ["1", "goals", "6", "3", "sport", "3", "0", "0", "3"]);
    let ranks: Vec<&str> = rows[1..].iter().map(|row| row[0].as_str()).collect();
    assert_eq!(ranks, ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
    // Order: score, then df, then term.
    let keys: Vec<(f64, i64, &str)> =
        rows[1..].iter().map(|r| (-r[2].parse::<f64>().unwrap(), -r[3].parse::<i64>().unwrap(), &*r[1])).collect();
    assert!(keys.is_sorted());
    assert_eq!(folder.tsv("rank small.jsonl --by chi2max --format tsv --top 3").len(), 4);
    let value = folder.json("rank small.jsonl --by chi2max --format json --top 2");
    assert_eq!(value["by"], "chi2max");
    assert_eq!(value["terms"].as_array().unwrap().len(), 2);
    assert_eq!(value["terms"][0]["term"], "goals");
    assert_eq!(value["terms"][0]["a"], 3);
    says(&folder.ok("rank small.jsonl --by chi2max"), &["rank", "term", "goals"]);
}

#[test]
fn rank_per_label_has_one_list_each() {
    let folder = Folder::small();
    let rows = folder.tsv("rank small.jsonl --by or --per-label --top 2 --format tsv");
    assert_eq!(rows[0], ["rank", "term", "score", "df", "label", "a", "b", "c", "d"]);
    let lists: Vec<(&str, &str)> = rows[1..].iter().map(|r| (&*r[4], &*r[0])).collect();
    assert_eq!(lists, [("space", "1"), ("space", "2"), ("sport", "1"), ("sport", "2")]);
    assert_eq!(rows[3][1], "goals");
    // The cell is that of the list's label.
    assert_eq!(rows[3][5..], ["3", "0", "0", "3"]);
    let value = folder.json("rank small.jsonl --by or --per-label --top 1 --format json");
    assert_eq!(value["labels"][1]["label"], "sport");
    assert_eq!(value["labels"][1]["terms"][0]["term"], "goals");
    says(&folder.ok("rank small.jsonl --by or --per-label"), &["sport", "space", "telescope"]);
}

#[test]
fn two_rankings_side_by_side_with_their_overlap() {
    let folder = Folder::topics();
    let value = folder.json("rank docs.jsonl --by chi2max --by df --format json --top 30");
    let lists = value["rankings"].as_array().unwrap();
    assert_eq!((&lists[0]["by"], &lists[1]["by"]), (&"chi2max".into(), &"df".into()));
    // The overlap at 25 is that of the printed lists.
    let top = |list: &Value| -> Vec<String> {
        list["terms"].as_array().unwrap()[..25].iter().map(|t| t["term"].as_str().unwrap().to_owned()).collect()
    };
    let (first, second) = (top(&lists[0]), top(&lists[1]));
    let common = first.iter().filter(|term| second.contains(term)).count() as f64;
    let at = |size: u64| value["overlap"].as_array().unwrap().iter().find(|o| o["size"] == size).unwrap();
    assert!((at(25)["jaccard"].as_f64().unwrap() - common / (50.0 - common)).abs() < 1e-12);
    assert!(at(25)["kuncheva"].as_f64().unwrap() <= 1.0);
    let table = folder.ok("rank docs.jsonl --by chi2max --by df --top 5");
    says(&table, &["chi2max", "df", "Overlap of chi2max and df", "Jaccard", "Kuncheva"]);
    assert_eq!(folder.tsv("rank docs.jsonl --by chi2max --by df --top 5 --format tsv").len(), 6);
    let same = folder.json("rank docs.jsonl --by ig --by ig --format json --top 5");
    assert!(same["overlap"].as_array().unwrap().iter().all(|o| o["jaccard"] == 1.0));
}

#[test]
fn resampling_reports_stability() {
    let folder = Folder::topics();
    let arguments = "rank docs.jsonl --by chi2max --by df --resample 4 --top 50 --format json";
    let value = folder.json(arguments);
    assert_eq!(value["resamples"], 4);
    let rows = value["stability"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row["size"], 50);
        let jaccard = row["jaccard"].as_f64().unwrap();
        assert!(jaccard > 0.05 && jaccard < 1.0, "{row}");
    }
    assert_eq!(value, folder.json(&format!("{arguments} --threads 1")));
    assert_ne!(value, folder.json(&format!("{arguments} --seed 2")));
    assert_eq!(
        folder.tsv("rank docs.jsonl --by df --resample 2 --format tsv")[0],
        ["selector", "size", "Jaccard", "Kuncheva"]
    );
}

#[test]
fn a_counts_file_ranks_like_its_corpus() {
    let folder = Folder::topics();
    folder.ok("count docs.jsonl -o docs.counts");
    for selector in ["chi2max", "ig", "ib", "lr(chi2max@2,bns)", "wfo(0.3)"] {
        let of = |what: &str| folder.ok(&format!("rank {what} --by {selector} --format tsv"));
        assert!(of("docs.jsonl") == of("docs.counts"), "{selector}");
    }
    assert_eq!(
        folder.ok("rank docs.jsonl --by os(ib) --top 20 --format tsv"),
        folder.ok("rank docs.counts --by os(ib) --top 20 --format tsv")
    );
    assert_eq!(
        folder.ok("rank docs.jsonl --by or --per-label --top 5 --format tsv"),
        folder.ok("rank docs.counts --by or --per-label --top 5 --format tsv")
    );
}

#[test]
fn inspect_shows_corpora_counts_and_models() {
    let folder = Folder::with_model();
    folder.file(
        "small.jsonl",
        SMALL.to_owned()
            + "{\"id\":\"7\",\"text\":\"orbit stars planet\",\"labels\":[\"odd\"]}\n{\"id\":\"8\",\"text\":\"\"}\n",
    );
    let value = folder.json("inspect small.jsonl --format json");
    assert_eq!(value["format"], "jsonl");
    let summary = &value["summary"];
    assert_eq!((&summary["documents"], &summary["labels"], &summary["terms"]), (&8.into(), &3.into(), &10.into()));
    assert_eq!(summary["tokens"], 25);
    assert_eq!(summary["empty"], serde_json::json!(["8"]));
    assert_eq!(summary["single_document_labels"], serde_json::json!(["odd"]));
    assert_eq!(summary["duplicates"]["groups"], 1);
    let table = folder.ok("inspect small.jsonl");
    says(&table, &["Largest labels", "Vocabulary growth", "Problems", "6 = 7", "no word: 8", "one document only: odd"]);

    folder.ok("count small.jsonl -o small.counts");
    let value = folder.json("inspect small.counts --format json");
    assert_eq!((&value["kind"], &value["documents"], &value["labels"]), (&"counts".into(), &8.into(), &3.into()));

    let value = folder.json("inspect small.model --format json");
    assert_eq!((&value["kind"], &value["features"]), (&"model".into(), &10.into()));
    assert_eq!(value["training"]["classifier"], "bayes");
    assert_eq!(value["training"]["selector"], "df");
    assert_eq!(value["labels"][1], serde_json::json!({ "label": "sport", "documents": 3 }));
    assert_eq!(value["file"]["bytes"], folder.bytes("small.model").len());
    says(&folder.ok("inspect small.model"), &["bayes", "rcut(1)", "section terms", "the, goals"]);
}

#[test]
fn lists_completions_and_manual_pages() {
    let folder = Folder::new();
    for (what, name) in [
        ("formats", "parquet"),
        ("selectors", "chi2max"),
        ("combinations", "dmor"),
        ("searches", "sffs"),
        ("classifiers", "wknn"),
        ("thresholds", "scut"),
        ("methods", "tsa"),
        ("measures", "RPrec"),
        ("stop-words", "english"),
        ("stemmers", "english"),
    ] {
        let rows = folder.tsv(&format!("list {what} --format tsv"));
        assert!(rows.iter().any(|row| row[0] == name), "{what}");
        assert!(rows.iter().all(|row| row.len() == rows[0].len() && !row[0].is_empty()), "{what}");
        assert_eq!(folder.json(&format!("list {what} --format json")).as_array().unwrap().len(), rows.len() - 1);
    }
    let bash = folder.ok("completions bash");
    says(&bash, &["_tamis()", "complete -F _tamis", "--on-error", "classify"]);
    for shell in ["zsh", "fish", "powershell", "elvish"] {
        says(&folder.ok(&format!("completions {shell}")), &["tamis", "classify"]);
    }
    folder.ok("man pages/of/tamis");
    says(&folder.text("pages/of/tamis/tamis.1"), &[".TH", "tamis"]);
    says(&folder.text("pages/of/tamis/tamis-rank.1"), &[".TH", "Rank terms"]);
    says(&folder.ok("--version"), &["tamis "]);
    for command in ["inspect", "convert", "synth", "count", "merge", "rank", "fit", "classify", "evaluate"] {
        says(&folder.ok(&format!("{command} --help")), &["Usage: tamis", "--threads", "--seed", "--quiet", "--color"]);
    }
}

/// Every search of the list finds a subset of the size asked for, in the order of its start selector.
#[test]
fn every_listed_search_finds_a_subset() {
    let folder = Folder::topics();
    let column = |rows: &[Vec<String>]| rows[1..].iter().map(|row| row[1].clone()).collect::<Vec<_>>();
    let order = column(&folder.tsv("rank docs.jsonl --by ib@5 --format tsv"));
    for row in &folder.tsv("list searches --format tsv")[1..] {
        let found =
            column(&folder.tsv(&format!("rank docs.jsonl --by {}(ib)@5 --top 50 --swings 2000 --format tsv", row[0])));
        assert_eq!(found.len(), 50, "{}", row[0]);
        let places: Vec<usize> = found.iter().map(|term| order.iter().position(|t| t == term).unwrap()).collect();
        assert!(places.is_sorted(), "{}", row[0]);
        assert!(places[49] > 49, "{} only took the first fifty", row[0]);
    }
    let fitted = folder.ok("fit docs.jsonl -o s.model --by sffs(ib)@5 --features 30 --classifier bayes --folds 0");
    says(&fitted, &["sffs(ib)@5", "30 of"]);
}

#[test]
fn every_listed_selector_ranks() {
    let folder = Folder::small();
    let rows = folder.tsv("list selectors --format tsv");
    assert!(rows.len() > 20);
    for row in &rows[1..] {
        // A parameter stands in the name as a letter, in the example as a number.
        let name = &row[1];
        let ranked = folder.tsv(&format!("rank small.jsonl --by {name} --format tsv"));
        assert_eq!(ranked.len(), 11, "{name}");
        assert!(ranked[1..].iter().all(|r| r[2].parse::<f64>().unwrap().is_finite()), "{name}");
    }
}

#[test]
fn quiet_is_silent() {
    let folder = Folder::small();
    for arguments in [
        "fit small.jsonl -o q.model --by df --features 100 --classifier bayes",
        "count small.jsonl -o q.counts",
        "merge q.counts q.counts -o twice.counts",
        "convert small.jsonl q.csv",
        "synth -n 5 q.jsonl",
        "man pages",
    ] {
        let output = folder.run(&format!("{arguments} -q"));
        assert_eq!(out(arguments, &output), "", "{arguments}");
        assert!(output.stderr.is_empty(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    }
    // What was asked for is printed, and nothing beside it.
    let output = folder.run("rank small.jsonl --by df --top 100 --format tsv -q");
    assert_eq!(out("rank", &output).lines().count(), 11);
    assert!(output.stderr.is_empty());
    assert_eq!(folder.run("rank small.jsonl --by dff -q").status.code(), Some(2));
    // Errors are no noise.
    let missing = folder.run("rank missing.jsonl --by df -q");
    says(&String::from_utf8_lossy(&missing.stderr), &["missing.jsonl"]);
}

#[test]
fn colours_only_when_asked_for() {
    let folder = Folder::small();
    assert!(!folder.ok("rank small.jsonl --by df").contains('\u{1b}'));
    assert!(folder.ok("rank small.jsonl --by df --color always").contains('\u{1b}'));
    assert!(!folder.ok("rank small.jsonl --by df --color never").contains('\u{1b}'));
}

#[test]
fn the_demo_writes_a_report_that_stands_alone() {
    let folder = Folder::new();
    let told = folder.ok("demo -n 400 -o out");
    says(&told, &["out/report.html", "out/topics.model", "RPrec"]);
    let report = folder.text("out/report.html");
    says(&report, &["<svg", "</html>"]);
    for outside in ["src=\"http", "href=\"http", "@import", "<link"] {
        assert!(!report.contains(outside), "{outside}");
    }
    // What it suggests works, and its model knows the taxonomy.
    let explained = folder.run_with("explain out/topics.model -", "The striker scored twice");
    says(&out("explain", &explained), &["score", "word", "adds"]);
    let value = folder.json("evaluate out/topics.model synth:topics:100 --measures hF1,hP,hR --format json");
    assert!(value["hF1"].as_f64().unwrap() > 0.3);
}
