//! `tamis classify MODEL SHARDS -o FOLDER/`: many files, exit codes, and what is left when it is stopped.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{Folder, SMALL, says, warned};
use serde_json::Value;

fn gzip(text: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    std::fs::write(&path, text).unwrap();
    let done = std::process::Command::new("gzip").arg("-c").arg(&path).output().unwrap();
    assert!(done.status.success());
    done.stdout
}

fn gunzip(bytes: &[u8]) -> String {
    let mut child =
        std::process::Command::new("gzip").arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    text
}

fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn lines_keep_all_they_have() {
    let folder = Folder::with_model();
    let odd = "{\"text\": \"goals \\\"and\\\" the referee\", \"url\": {\"a\": [1, 2.50]}, \"n\": 1e3 } \r\n\n  {\"x\":null,\"text\":\"orbit\"}";
    folder.file("in/odd.jsonl", odd);
    folder.file("in/small.jsonl.gz", gzip(SMALL));
    folder.ok("classify small.model in/odd.jsonl in/small.jsonl.gz -o out/");
    assert_eq!(
        folder.text("out/odd.jsonl"),
        "{\"text\": \"goals \\\"and\\\" the referee\", \"url\": {\"a\": [1, 2.50]}, \"n\": 1e3,\"tamis_labels\":[\"sport\"],\"tamis_known\":true}\n  \
         {\"x\":null,\"text\":\"orbit\",\"tamis_labels\":[\"space\"],\"tamis_known\":true}\n"
    );
    // The same answers as those of `classify` for one file.
    let labelled = rows(&gunzip(&folder.bytes("out/small.jsonl.gz")));
    let answers = folder.json_lines("classify small.model small.jsonl");
    assert_eq!(labelled.len(), 6);
    for (row, answer) in labelled.iter().zip(&answers) {
        assert_eq!((&row["id"], &row["tamis_labels"]), (&answer["id"], &answer["labels"]));
        assert!(row["labels"].is_array() && row["text"].is_string());
    }
}

#[test]
fn scores_of_all_and_of_one() {
    let folder = Folder::with_model();
    folder.ok("classify small.model small.jsonl -o all/ --scores");
    folder.ok("classify small.model small.jsonl -o one/ --only-score sport");
    let answers = folder.json_lines("classify small.model small.jsonl --scores");
    let (all, one) = (rows(&folder.text("all/small.jsonl")), rows(&folder.text("one/small.jsonl")));
    for ((all, one), answer) in all.iter().zip(&one).zip(&answers) {
        let ranked = answer["ranked"].as_array().unwrap();
        for (at, label) in ranked.iter().enumerate() {
            assert_eq!(all["tamis_ranked"][at], label["label"]);
            assert_eq!(all["tamis_scores"][at], label["score"]);
        }
        let sport = ranked.iter().find(|label| label["label"] == "sport").unwrap();
        assert_eq!(one["tamis_score"], sport["score"]);
        assert!(one.get("tamis_labels").is_none());
    }
}

#[test]
fn rows_are_kept_by_a_condition() {
    let folder = Folder::with_model();
    folder.ok("classify small.model small.jsonl -o one/ --only-score sport");
    let scores: Vec<f64> =
        rows(&folder.text("one/small.jsonl")).iter().map(|row| row["tamis_score"].as_f64().unwrap()).collect();
    let mut sorted = scores.clone();
    sorted.sort_by(f64::total_cmp);
    let least = sorted[3];
    let mut command = folder.tamis();
    command.args(["classify", "small.model", "small.jsonl", "-o", "kept/", "--only-score", "sport"]);
    let output = command.args(["--keep", &format!("score >= {least}"), "-v"]).output().unwrap();
    says(&warned("keep", &output), &["1 shards labelled, 0 were there already; 6 rows, 3 kept"]);
    let kept: Vec<f64> =
        rows(&folder.text("kept/small.jsonl")).iter().map(|row| row["tamis_score"].as_f64().unwrap()).collect();
    assert_eq!(kept, scores.into_iter().filter(|score| *score >= least).collect::<Vec<_>>());
    // Nothing is left of a file, but the file.
    folder.file("none.jsonl.gz", gzip(SMALL));
    let words = ["classify", "small.model", "none.jsonl.gz", "-o", "none/", "--keep", "score(sport) > 9e9"];
    common::out("none", &folder.tamis().args(words).output().unwrap());
    assert_eq!(gunzip(&folder.bytes("none/none.jsonl.gz")), "");
}

#[test]
fn a_broken_shard_is_named_and_the_others_are_done() {
    let folder = Folder::with_model();
    for shard in 0..40 {
        folder.file(&format!("in/s{shard:02}.jsonl"), SMALL);
    }
    folder.file("in/s17.jsonl", format!("{SMALL}{{\"text\": 3}}\n"));
    folder.file("in/s23.jsonl.gz", &gzip(SMALL)[..40]);
    let output = folder.run("classify small.model in -o out/");
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    says(&message, &["in/s17.jsonl:7: \"text\" must be a string", "in/s23.jsonl.gz", "truncated", "2 of 41 shards"]);
    let contents = folder.contents();
    let written: Vec<&String> = contents.keys().filter(|name| name.starts_with("out/s")).collect();
    assert_eq!(written.len(), 39);
    assert!(!contents.contains_key("out/s17.jsonl") && !contents.keys().any(|name| name.contains(".part")));
    // Mended, only they are made.
    folder.file("in/s17.jsonl", SMALL);
    folder.file("in/s23.jsonl.gz", gzip(SMALL));
    let output = folder.run("classify small.model in -o out/ -v");
    says(&warned("mended", &output), &["2 shards labelled, 39 were there already; 12 rows, 12 kept"]);
    // Or a malformed line is left out.
    folder.file("in/s17.jsonl", format!("{SMALL}{{\"text\": 3}}\n"));
    let output = folder.run("classify small.model in/s17.jsonl -o skipped/ --on-error skip");
    says(&warned("skip", &output), &["1 malformed records skipped"]);
    assert_eq!(folder.text("skipped/s17.jsonl").lines().count(), 6);
}

#[test]
fn null_texts_are_null() {
    let folder = Folder::with_model();
    folder.file("n.jsonl", "{\"text\":null,\"id\":1}\n{\"text\":\"goals\"}\n{\"text\":\"\"}\n");
    let output = folder.run("classify small.model n.jsonl -o out/ --only-score sport");
    says(&warned("null", &output), &["1 rows have no text"]);
    let rows = rows(&folder.text("out/n.jsonl"));
    assert!(rows[0]["tamis_score"].is_null() && rows[1]["tamis_score"].is_f64() && rows[2]["tamis_score"].is_f64());
    // A field of another name is no null.
    folder.file("other.jsonl", "{\"body\":\"goals\"}\n");
    let output = folder.run("classify small.model other.jsonl -o other/");
    assert_eq!(output.status.code(), Some(1));
    says(&String::from_utf8(output.stderr).unwrap(), &["other.jsonl:1: no \"text\"", "--text-field"]);
    folder.ok("classify small.model other.jsonl -o third/ --text-field body");
}

#[test]
fn any_number_of_workers_writes_the_same_bytes() {
    let folder = Folder::new();
    folder.ok("synth -n 4000 many.jsonl");
    folder.ok("convert many.jsonl many.parquet");
    folder.ok("fit many.jsonl -o m.model --by chi2max --features 100 --classifier svm --folds 0");
    let label = rows(&folder.text("many.jsonl"))[0]["labels"][0].as_str().unwrap().to_owned();
    let run = |name: &str, workers: usize, more: &[&str]| {
        let (output, workers) = (format!("{name}/"), workers.to_string());
        let words = [
            "classify",
            "m.model",
            "many.jsonl",
            "many.parquet",
            "-o",
            &output,
            "--workers",
            &workers,
            "--threads",
            "2",
        ];
        let done = folder.tamis().args(words).args(more).output().unwrap();
        common::out(name, &done);
    };
    let condition = format!("score({label:?}) > -0.9");
    for workers in [1, 2, 7] {
        run(&format!("all{workers}"), workers, &["--scores"]);
        run(&format!("kept{workers}"), workers, &["--keep", &condition]);
    }
    for file in ["many.jsonl", "many.parquet"] {
        let of = |name: &str| folder.bytes(&format!("{name}/{file}"));
        for way in ["all", "kept"] {
            let one = of(&format!("{way}1"));
            assert!(one == of(&format!("{way}2")) && one == of(&format!("{way}7")), "{way}/{file}");
        }
    }
    let kept = folder.text("kept1/many.jsonl").lines().count();
    assert!(kept > 0 && kept < 4000, "{kept}: the test tells nothing");
}

#[test]
fn a_folder_made_in_another_way_is_refused() {
    let folder = Folder::with_model();
    folder.ok("classify small.model small.jsonl -o out/");
    folder.ok("classify small.model small.jsonl -o out/");
    says(
        &folder.refused("classify small.model small.jsonl -o out/ --only-score sport"),
        &["out/_tamis.json", "columns", "score of \"sport\"", "name another folder"],
    );
    folder.ok("fit small.jsonl -o other.model --by df --features 3 --classifier bayes --folds 0");
    says(&folder.refused("classify other.model small.jsonl -o out/"), &["another model", "BLAKE3"]);
    // Files of others are not taken for finished shards.
    folder.file("theirs/small.jsonl", "{}\n");
    says(&folder.refused("classify small.model small.jsonl -o theirs/"), &["theirs/small.jsonl: is there already"]);
    // What is newer than its shard is labelled again.
    let later = std::time::SystemTime::now() + Duration::from_mins(1);
    folder.file("small.jsonl", "{\"text\":\"goals\"}\n");
    std::fs::File::options().append(true).open(folder.path("small.jsonl")).unwrap().set_modified(later).unwrap();
    folder.ok("classify small.model small.jsonl -o out/");
    assert_eq!(folder.text("out/small.jsonl").lines().count(), 1);
}

#[test]
fn bad_flags_are_refused() {
    let folder = Folder::with_model();
    folder.file("a/x.jsonl", SMALL);
    folder.file("b/x.jsonl", SMALL);
    folder.file("empty/readme", "");
    for (arguments, said) in [
        ("classify small.model small.jsonl -o out/ --only-score nonsense", "unknown label \"nonsense\""),
        ("classify small.model small.jsonl -o out/ --keep score>0.5", "of which label?"),
        ("classify small.model small.jsonl -o out/ --keep quality>0.5", "expected score or probability"),
        ("classify small.model small.jsonl -o out/ --keep score(sport)>much", "expected a number"),
        ("classify small.model small.jsonl -o out/ --only-score sport --keep score(space)>1", "--keep"),
        ("classify small.model small.jsonl -o out/ --only-score sport --top 3", "--top"),
        ("classify small.model small.jsonl -o out/ --probability", "--only-score"),
        ("classify small.model small.jsonl -o out/ --only-score sport --probability", "no probabilities"),
        ("classify small.model small.jsonl -o out/ --workers 0", "--workers"),
        ("classify small.model small.jsonl -o out/ --top 0", "--top 0"),
        ("classify small.model small.jsonl -o out/ --explain", "--explain"),
        ("classify small.model small.jsonl -o out.jsonl --keep score(sport)>1", "-o labelled/"),
        ("classify small.model small.jsonl --only-score sport", "-o labelled/"),
        ("classify small.model a/x.jsonl b/x.jsonl -o out/", "has the name of a/x.jsonl"),
        ("classify small.model a/x.jsonl -o a/", "written over what is read"),
        ("classify small.model missing.jsonl -o out/", "missing.jsonl"),
        ("classify small.model empty -o out/", "no file in the folder"),
        ("classify small.model small.model -o out/", "Parquet or JSONL"),
        ("classify small.model - -o out/", "shards are files"),
    ] {
        says(&folder.refused(arguments), &[said]);
    }
    folder.file("clash.jsonl", "{\"text\":\"goals\",\"labels\":[]}\n");
    let output = folder.run("classify small.model clash.jsonl -o clash/ --prefix=");
    assert_eq!(output.status.code(), Some(1));
    says(&String::from_utf8(output.stderr).unwrap(), &["clash.jsonl:1: \"labels\" is there already", "--prefix"]);
}

/// Whether a shard is being written.
#[cfg(unix)]
fn begun(output: &std::path::Path) -> bool {
    let mut entries = std::fs::read_dir(output).into_iter().flatten().flatten();
    entries.any(|entry| entry.file_name().to_string_lossy().starts_with(".tamis-"))
}

#[cfg(unix)]
#[test]
fn a_run_that_was_killed_goes_on() {
    let folder = Folder::with_model();
    folder.ok("synth -n 3000 many.jsonl");
    let many = folder.bytes("many.jsonl");
    for shard in 0..12 {
        folder.file(&format!("in/s{shard:02}.jsonl"), &many);
    }
    folder.ok("classify small.model in -o whole/ --scores");
    let mut killed = 0;
    // Wherever it is struck: between two shards, or within one.
    for wait in [0, 20, 60] {
        let bin = assert_cmd::cargo::cargo_bin("tamis");
        let mut child = std::process::Command::new(bin)
            .current_dir(folder.path(""))
            .args(["classify", "small.model", "in", "-o", "out/", "--scores", "--workers", "1", "-q"])
            .spawn()
            .unwrap();
        let began = Instant::now();
        while began.elapsed() < Duration::from_mins(1)
            && !begun(&folder.path("out"))
            && child.try_wait().unwrap().is_none()
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        killed += usize::from(!child.wait().unwrap().success());
        for (name, bytes) in folder.contents().iter().filter(|(name, _)| name.starts_with("out/s")) {
            assert!(*bytes == folder.bytes(&name.replace("out/", "whole/")), "{name} is not whole");
        }
    }
    assert!(killed > 0, "it was too fast to be killed");
    folder.ok("classify small.model in -o out/ --scores");
    let contents = folder.contents();
    let of = |prefix: &str| {
        let names = contents.iter().filter(|(name, _)| name.starts_with(prefix));
        names.map(|(name, bytes)| (name[prefix.len()..].to_owned(), bytes)).collect::<Vec<_>>()
    };
    assert!(of("out/") == of("whole/"), "{:?}", contents.keys());
}

/// A limit of the system on the size of files stands for a full disk.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let folder = Folder::with_model();
    folder.ok("synth -n 2000 many.jsonl");
    folder.ok("convert many.jsonl many.parquet");
    folder.file("a.jsonl", SMALL);
    let full = |files: &str| {
        let bin = assert_cmd::cargo::cargo_bin("tamis");
        let script = format!(
            "trap '' XFSZ; ulimit -f 64; exec {} classify small.model {files} -o out/ --workers 1",
            bin.display()
        );
        std::process::Command::new("bash").current_dir(folder.path("")).args(["-c", &script]).output().unwrap()
    };
    for files in ["a.jsonl many.jsonl", "many.parquet"] {
        let output = full(files);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        says(&message, &["out/many"]);
        assert!(!folder.contents().keys().any(|name| name.starts_with("out/many") || name.contains(".part")));
    }
    folder.ok("classify small.model a.jsonl many.jsonl many.parquet -o out/");
    assert_eq!(folder.text("out/many.jsonl").lines().count(), 2000);
}
