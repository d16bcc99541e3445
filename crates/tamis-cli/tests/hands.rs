//! Meeting people where they are: tables as spreadsheets write them, settings of a folder, and what is wrong when something is.

#![allow(clippy::unwrap_used, clippy::format_collect)]

mod common;

use common::{Folder, says};
use tamis::model::Model;

/// A table with columns of its own names, as Excel writes it: a mark, semicolons, Windows line ends.
fn spreadsheet() -> Folder {
    let folder = Folder::new();
    let rows: String = (0..20)
        .map(|i| {
            let (text, topic) = if i % 2 == 0 {
                ("goals, the referee; a match", "sport")
            } else {
                ("stars; the orbit of a planet", "space")
            };
            format!("{i};\"{text} number {i}\";{topic}\r\n")
        })
        .collect();
    folder.file("mail.csv", format!("\u{feff}nr;Message;Topic\r\n{rows}"));
    folder
}

#[test]
fn columns_are_told_and_said() {
    let folder = spreadsheet();
    let fit = folder.run("fit mail.csv -o m.model --by df --features all --classifier bayes --folds 0");
    assert!(fit.status.success());
    let said = String::from_utf8(fit.stderr).unwrap();
    assert!(said.contains("--text-field Message --labels-field Topic"), "{said}");
    folder.ok("fit mail.csv -o same.model --by df --features all --classifier bayes --folds 0 --text-field Message --labels-field Topic");
    assert_eq!(folder.bytes("m.model"), folder.bytes("same.model"));
    // In doubt, nothing is guessed where nobody can be asked.
    let rows: String =
        (0..9).map(|i| format!("a text that is rather long {i},another text that is long {i},x\n")).collect();
    folder.file("doubt.csv", format!("one,two,three\n{rows}"));
    says(&folder.refused("fit doubt.csv -o m.model"), &["no column \"text\"", "one, two, three", "--text-field"]);
}

#[test]
fn a_folder_remembers_its_columns() {
    let folder = spreadsheet();
    let said = folder.ok("init mail.csv");
    assert!(said.contains("text-field = \"Message\"") && said.contains("tamis fit mail.csv -o my.model"), "{said}");
    let fit = folder.run("inspect mail.csv");
    assert!(fit.status.success());
    assert!(!String::from_utf8(fit.stderr).unwrap().contains("taken as if"), "it is known, not guessed");
    says(&folder.refused("init mail.csv"), &["tamis.toml is there already", "tamis init --force mail.csv"]);
    folder.ok("init --force mail.csv");
    folder.file("tamis.toml", "text-field = \"nr\"\nlabel = 3\n");
    says(&folder.refused("inspect mail.csv"), &["tamis.toml", "line 2", "label", "tamis init"]);
}

#[test]
fn whoever_fits_a_table_can_ask_about_it() {
    let folder = spreadsheet();
    folder.ok("fit mail.csv -o m.model --by df --features all --classifier bayes --folds 0");
    let new = folder.bytes("mail.csv");
    // The same columns without labels, and other names: as new mail comes.
    let text = String::from_utf8(new.clone()).unwrap();
    let without: String = text.lines().map(|line| format!("{}\r\n", line.rsplit_once(';').unwrap().0)).collect();
    folder.file("new.csv", without);
    let by_fit = folder.ok("classify m.model mail.csv --text-field Message --id-field nr");
    assert_eq!(by_fit.lines().count(), 20);
    let labels = |said: &str| -> Vec<String> {
        let line = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["labels"].to_string();
        said.lines().map(line).collect()
    };
    assert_eq!(labels(&folder.ok("classify m.model mail.csv")), labels(&by_fit));
    assert_eq!(labels(&folder.ok("classify m.model new.csv")), labels(&by_fit));
    assert!(folder.ok("explain m.model mail.csv --number 2").contains("planet"));
    // The folder knows, and labels that nobody reads need not be there.
    folder.ok("init mail.csv");
    let settings = String::from_utf8(folder.bytes("tamis.toml")).unwrap();
    let of_all: String =
        settings.lines().filter(|line| !line.starts_with("corpus")).map(|line| format!("{line}\n")).collect();
    folder.file("tamis.toml", of_all);
    for name in ["mail.csv", "new.csv"] {
        let run = folder.run(&format!("classify m.model {name}"));
        assert_eq!(labels(&String::from_utf8(run.stdout).unwrap()), labels(&by_fit));
        assert!(!String::from_utf8(run.stderr).unwrap().contains("taken as if"), "it is known, not guessed");
    }
    folder.file("tamis.toml", "label = 3\n");
    says(&folder.refused("classify m.model mail.csv"), &["tamis.toml", "line 1"]);
}

#[test]
fn a_table_on_standard_input_is_no_letter() {
    let folder = spreadsheet();
    folder.ok("fit mail.csv -o m.model --by df --features all --classifier bayes --folds 0");
    let table = String::from_utf8(folder.bytes("mail.csv")).unwrap();
    let run = folder.run_with("classify m.model -", table.as_bytes());
    assert_eq!(run.status.code(), Some(2));
    says(&String::from_utf8(run.stderr).unwrap(), &["no column \"text\"", "Message", "--text-field"]);
    let run = folder.run_with("classify m.model - --text-field Message", table.as_bytes());
    assert_eq!(String::from_utf8(run.stdout).unwrap().lines().count(), 20);
    // A letter with commas is one.
    let letter = "Dear all,\nthe match, as you know, was won.\nGoals, many of them, were seen.\nYours, me\n";
    let run = folder.run_with("classify m.model -", letter.as_bytes());
    assert_eq!(String::from_utf8(run.stdout).unwrap().lines().count(), 1);
}

#[test]
fn columns_of_objects_and_of_pandas_are_told() {
    let folder = spreadsheet();
    let rows: String = (0..20)
        .map(|i| {
            let (text, topic) =
                if i % 2 == 0 { ("a match with goals", "sport") } else { ("planets and their orbits", "space") };
            format!("{i},{text} number {i},{topic}\n")
        })
        .collect();
    folder.file("index.csv", format!(",message,topic\n{rows}"));
    let objects: String = rows
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{{\"nr\":{},\"message\":\"{}\",\"topic\":\"{}\"}}\n", cells[0], cells[1], cells[2])
        })
        .collect();
    folder.file("odd.jsonl", objects);
    folder.ok("convert index.csv --text-field message --labels-field topic -o usual.parquet");
    for name in ["index.csv", "odd.jsonl"] {
        let fit = folder.run(&format!("fit {name} -o m.model --by df --features all --classifier bayes --folds 0"));
        let said = String::from_utf8(fit.stderr).unwrap();
        assert!(fit.status.success() && said.contains("--text-field message --labels-field topic"), "{said}");
        let said = folder.ok(&format!("init --force {name}"));
        assert!(said.contains("text-field = \"message\"") && said.contains("labels-field = \"topic\""), "{said}");
    }
    folder.ok("fit usual.parquet -o m.model --by df --features all --classifier bayes --folds 0");
}

#[test]
fn the_doctor_looks_at_models_and_corpora() {
    let folder = Folder::with_model();
    let said = folder.ok("doctor small.model small.jsonl");
    for words in [
        "cores",
        "small.model: fine",
        "every section verified",
        "small.jsonl: fine",
        "6 documents",
        "tamis fit small.jsonl",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let mut damaged = folder.bytes("small.model");
    let last = damaged.len() - 10;
    damaged[last] ^= 1;
    folder.file("damaged.model", damaged);
    let output = folder.run("doctor damaged.model small.jsonl");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("damaged.model: NOT fine") && said.contains("small.jsonl: fine"), "{said}");
}

#[test]
fn examples_are_stored_unless_nobody_wants_them() {
    let folder = Folder::topics();
    let fit = "fit docs.jsonl --by chi2max --features 300 --classifier svm --folds 2";
    folder.ok(&format!("{fit} -o with.model"));
    folder.ok(&format!("{fit} -o without.model --no-examples"));
    let (with, without) =
        (Model::read(&folder.path("with.model")).unwrap(), Model::read(&folder.path("without.model")).unwrap());
    let examples = &with.shown.examples;
    assert!((1..=4).contains(&examples.len()));
    for example in examples {
        let text = &example.texts["text"];
        assert!(text.chars().count() <= 1500);
        let body = tamis::corpus::Body::Text(text.as_str().into());
        let mut labels = with.labeller().answer(None, &body, &tamis::model::How::default()).labels;
        labels.sort_unstable();
        assert_eq!(labels, example.labels, "the model says what the document is");
    }
    assert!(without.shown.examples.is_empty());
    assert_eq!(with.shown.confusions, without.shown.confusions);
    // Nothing else is changed by them.
    assert_eq!(folder.ok("classify with.model docs.jsonl"), folder.ok("classify without.model docs.jsonl"));
    folder.ok("fit docs.jsonl --by chi2max --features 300 --classifier knn(5) --folds 0 -o near.model");
    let near = Model::read(&folder.path("near.model")).unwrap();
    assert_eq!(near.shown.openings.len(), near.neighbours.len());
    assert!(near.shown.openings.iter().all(|opening| !opening.is_empty() && !opening.contains('\n')));
}
