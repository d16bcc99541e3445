//! What people try first: their own files as they are.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Folder, says};

#[test]
fn plain_texts_are_classified() {
    let folder = Folder::with_model();
    folder.file("new.txt", "goals, goals and a referee\nsecond line, too");
    let answers = folder.json_lines("classify small.model new.txt");
    assert_eq!(answers.len(), 1);
    assert_eq!((answers[0]["id"].as_str(), answers[0]["labels"][0].as_str()), (Some("new.txt"), Some("sport")));
    folder.file("texts/a.txt", "orbit");
    folder.file("texts/b.txt", "goals");
    let answers = folder.json_lines("classify small.model texts");
    assert_eq!(answers.iter().map(|a| a["id"].as_str().unwrap()).collect::<Vec<_>>(), ["a.txt", "b.txt"]);
    folder.file("lines.txt", "goals, goals\n\norbit, stars\n");
    let answers = folder.json_lines("classify small.model --lines lines.txt");
    assert_eq!(answers.iter().map(|a| a["id"].as_str().unwrap()).collect::<Vec<_>>(), ["lines.txt:1", "lines.txt:3"]);
    let streamed = folder.run_with("classify small.model --lines", "goals, goals\norbit\n");
    assert_eq!(String::from_utf8(streamed.stdout).unwrap().lines().count(), 2);
    let whole = folder.run_with("classify small.model --from text -", "goals, goals\norbit\n");
    assert_eq!(String::from_utf8(whole.stdout).unwrap().lines().count(), 1);
    says(&folder.refused("fit new.txt -o m.model"), &["new.txt: no document has a label", "a folder for each label"]);
}

#[test]
fn answers_as_tables() {
    let folder = Folder::with_model();
    let jsonl = folder.ok("classify small.model small.jsonl");
    folder.ok("classify small.model small.jsonl -o out.jsonl");
    assert_eq!(folder.text("out.jsonl"), jsonl);
    folder.ok("classify small.model small.jsonl -o out.csv");
    let csv = folder.text("out.csv");
    assert_eq!(csv.lines().take(2).collect::<Vec<_>>(), ["id,labels,known", "1,sport,true"]);
    assert_eq!(csv.lines().count(), 7);
    assert_eq!(folder.ok("classify small.model small.jsonl --format csv"), csv);
    assert_eq!(folder.ok("classify small.model small.jsonl --format tsv").lines().nth(1), Some("1\tsport\ttrue"));
    let scores = folder.ok("classify small.model small.jsonl --format csv --scores");
    assert_eq!(scores.lines().next(), Some("id,label,score,threshold,probability,decided,known"));
    assert_eq!(scores.lines().count(), 1 + 6 * 2);
    // Parquet is read back by ourselves: the labels are a list.
    folder.ok("classify small.model small.jsonl -o out.parquet");
    folder.ok("convert out.parquet back.csv --text-field id --id-field id");
    says(&folder.text("back.csv"), &["sport", "space"]);
    folder.ok("classify small.model small.jsonl -o scores.parquet --scores --top 1");
    says(
        &folder.refused("classify small.model small.jsonl -o out.xyz"),
        &["out.xyz: the ending tells no format", "--format"],
    );
    says(&folder.refused("classify small.model small.jsonl -o out.svm"), &["jsonl, csv, tsv or parquet"]);
    says(
        &folder.refused("classify small.model small.jsonl -o new.csv --explain"),
        &["reasons do not fit into a table"],
    );
    says(&folder.refused("classify small.model small.jsonl --format parquet"), &["cannot be written to a stream"]);
}

#[test]
fn what_came_before_an_error_is_printed() {
    let folder = Folder::with_model();
    let good = "{\"text\": \"goals and referee\"}\n".repeat(15_000);
    folder.file("long.jsonl", format!("{good}{{\"text\": 5}}\n{good}"));
    let output = folder.run("classify small.model long.jsonl");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 15_000);
    says(&String::from_utf8(output.stderr).unwrap(), &["long.jsonl:15001: "]);
    // A file is whole or absent.
    says(&folder.refused("classify small.model long.jsonl -o out.jsonl"), &["long.jsonl:15001: "]);
}

#[test]
fn documents_of_a_corpus_are_explained() {
    let folder = Folder::with_model();
    let by_id = folder.json("explain small.model small.jsonl --id 4 --format json");
    assert_eq!((by_id["id"].as_str(), by_id["labels"][0].as_str()), (Some("4"), Some("space")));
    assert_eq!(folder.json("explain small.model small.jsonl --number 4 --format json"), by_id);
    folder.file("docs.csv", "id;text\n7;goals, goals\n8;orbit\n");
    says(&folder.ok("explain small.model docs.csv --id 8"), &["space", "orbit"]);
    says(&folder.refused("explain small.model docs.csv"), &["has several documents", "--id", "--number", "7, 8"]);
    says(
        &folder.refused("explain small.model docs.csv --id 9"),
        &["no document has the id \"9\"", "there are 2 documents"],
    );
    says(&folder.refused("explain small.model docs.csv --number 3"), &["there is no document 3"]);
    let piped = folder.run_with("explain small.model -", "goals, goals");
    says(&String::from_utf8(piped.stdout).unwrap(), &["sport", "goals"]);
}

#[test]
fn a_field_with_a_slip_lists_those_there_are() {
    let folder = Folder::small();
    let message = folder.refused("fit small.jsonl --labels-field lables -o m.model");
    says(&message, &["no field \"lables\"", "their fields are id, labels, text", "no document has a label"]);
    folder.file("a.csv", "text;topic\na;x\nb;y\n");
    says(
        &folder.refused("inspect a.csv --labels-field topik"),
        &["no column \"topik\"", "text, topic", "\"a\" | \"x\""],
    );
    folder.file("bare.csv", "good film;pos\nbad film;neg\n");
    says(&folder.refused("inspect bare.csv"), &["--columns text,label", "\"good film\" | \"pos\""]);
    says(&folder.ok("inspect bare.csv --columns text,label"), &["First documents", "bare:1", "good film"]);
}

#[test]
fn html_is_said_and_stripped() {
    let folder = Folder::small();
    let html = common::SMALL.replace("goals", "<b>goals</b><br>").replace("planet", "<p>planet</p>");
    folder.file("html.jsonl", html);
    says(&folder.ok("inspect html.jsonl"), &["HTML", "5 of the first 6 documents", "--html strip"]);
    let stripped = folder.ok("inspect html.jsonl --html strip");
    says(&stripped, &["stripped"]);
    assert!(!stripped.contains("tags are counted"), "{stripped}");
    assert!(!folder.ok("rank html.jsonl --by df --top 50 --html strip").contains("br"));
    // The model does the same when it labels.
    folder.ok("fit html.jsonl -o html.model --by df --features all --classifier bayes --folds 0 --html strip");
    folder.file("one.txt", "<i>g</i>oals");
    let answer = folder.json("explain html.model one.txt --format json");
    assert_eq!(answer["reasons"][0]["words"][0]["word"], "goals");
}

#[test]
fn wrong_places_are_the_users_to_mend() {
    let folder = Folder::small();
    folder.file("taken", "x");
    says(&folder.refused("convert small.jsonl taken/"), &["taken"]);
    says(&folder.refused("convert small.jsonl taken --to folders"), &["taken"]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("loop", folder.path("loop")).unwrap();
        let output = folder.run("inspect loop");
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let many = folder.run("rank small.jsonl --by df --threads 1000000 --top 1");
    assert_eq!(many.status.code(), Some(0), "{}", String::from_utf8_lossy(&many.stderr));
    says(&String::from_utf8_lossy(&many.stderr), &["do not help"]);
}

#[test]
fn messages_are_short_and_do_not_command_the_terminal() {
    let folder = Folder::with_model();
    let name = "x".repeat(100_000);
    let message = folder.refused_words(&["explain", "small.model", "--label", &name]);
    assert!(message.len() < 10_000, "{} bytes", message.len());
    folder.file(
        "odd.jsonl",
        "{\"text\": \"a word\", \"labels\": [\"\\u001b[31mred\"]}\n{\"text\": \"b word\", \"labels\": [\"x\"]}\n",
    );
    let shown = folder.ok("inspect odd.jsonl");
    assert!(!shown.contains('\u{1b}') && shown.contains("\\u{1b}[31mred"), "{shown}");
    let output = folder.tamis().args(["inspect", "no\u{1b}[31m.jsonl"]).output().unwrap();
    assert!(!output.stderr.contains(&0x1b), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Ctrl-C and SIGTERM end a command alike, and nothing half-written stays.
#[cfg(unix)]
#[test]
fn signals_leave_nothing_behind() {
    use std::io::Write;
    use std::process::Stdio;
    let folder = Folder::with_model();
    for signal in ["-INT", "-TERM"] {
        for arguments in [
            vec!["convert", "--from", "jsonl", "-", "out.jsonl"],
            vec!["convert", "--from", "jsonl", "-", "out/"],
            vec!["classify", "small.model", "--from", "jsonl", "-", "-o", "out.csv"],
        ] {
            let before = folder.contents();
            let program = assert_cmd::cargo::cargo_bin("tamis");
            let mut child = std::process::Command::new(program)
                .args(&arguments)
                .current_dir(folder.path(""))
                .stdin(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut input = child.stdin.take().unwrap();
            input.write_all(common::SMALL.repeat(100).as_bytes()).unwrap();
            input.flush().unwrap();
            // Until it has begun its file.
            let begun = std::time::Instant::now();
            while folder.contents().len() == before.len() && begun.elapsed().as_secs() < 20 {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            let killed = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
            assert!(killed.success());
            let output = child.wait_with_output().unwrap();
            drop(input);
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{arguments:?} {signal}: {message}");
            assert!(message.contains("interrupted"), "{message}");
            let left: Vec<String> = folder.contents().into_keys().filter(|name| !before.contains_key(name)).collect();
            assert!(left.is_empty(), "{arguments:?} {signal} left {left:?}");
        }
    }
}
