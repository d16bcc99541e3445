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
