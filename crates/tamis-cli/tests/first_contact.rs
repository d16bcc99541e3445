//! What people do in their first hour: split, train on what they have, look at what came out.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Folder, SMALL, says};
use serde_json::Value;

/// `n` documents of a label, each with words of the label and one of its own.
fn lines(label: &str, words: &str, n: usize) -> String {
    let line = |i: usize| {
        format!("{{\"id\":\"{label}{i}\",\"text\":\"{words} {label}number{i}\",\"labels\":[\"{label}\"]}}\n")
    };
    (0..n).map(line).collect()
}

fn stderr(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_corpus_is_split_trained_on_and_judged() {
    let folder = Folder::new();
    folder.file("all.jsonl", lines("sport", "goals and a referee", 40) + &lines("space", "orbit of a planet", 20));
    folder.ok("split all.jsonl -o train.jsonl test.jsonl --test 0.25");
    let ids = |name: &str| -> Vec<String> {
        let id = |line: &str| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned();
        folder.text(name).lines().map(id).collect()
    };
    let (train, test) = (ids("train.jsonl"), ids("test.jsonl"));
    assert_eq!((train.len(), test.len()), (45, 15));
    assert_eq!(test.iter().filter(|id| id.starts_with("space")).count(), 5);
    assert!(train.iter().all(|id| !test.contains(id)));
    folder.ok("fit train.jsonl -o m.model");
    let fresh = folder.run("evaluate m.model test.jsonl --format json");
    let report: Value = serde_json::from_slice(&fresh.stdout).unwrap();
    assert_eq!(report["trained_on"], 0.0);
    assert_eq!(report["baseline"]["label"], "sport");
    assert!(!stderr(&fresh).contains("were trained on"), "{}", stderr(&fresh));
    // On its own documents the model is told that it knows them.
    says(&stderr(&folder.run("evaluate m.model train.jsonl")), &["about 100 % of these documents were trained on"]);
    // One file with the parts as a field, which fit and evaluate follow.
    folder.ok("split all.jsonl -o parted.jsonl --validation 0.25 --test 0.25");
    assert_eq!(folder.json("inspect parted.jsonl --format json")["summary"]["validation"], 15);
    folder.ok("split all.jsonl -o a.jsonl b.jsonl c.jsonl");
    says(&folder.refused("split all.jsonl -o a.jsonl b.jsonl --validation 0.1"), &["name three files"]);
    says(&folder.refused("split all.jsonl -o a.jsonl b.jsonl --test 1.5"), &["shares lie between 0 and 1"]);
    says(&folder.refused("split all.jsonl -o a.jsonl b.jsonl --group author"), &["author"]);
    says(&folder.refused("split all.jsonl -o a.jsonl b.jsonl --by-date"), &["date"]);
}

#[test]
fn groups_stay_in_one_part() {
    let folder = Folder::new();
    let line = |i: usize| format!("{{\"text\":\"t{i}\",\"labels\":[\"l{}\"],\"author\":\"a{}\"}}\n", i % 2, i % 10);
    folder.file("all.jsonl", (0..100).map(line).collect::<String>());
    folder.ok("split all.jsonl -o train.jsonl test.jsonl --group author --fields text,author");
    let authors = |name: &str| -> std::collections::BTreeSet<String> {
        let author = |l: &str| serde_json::from_str::<Value>(l).unwrap()["author"].as_str().unwrap().to_owned();
        folder.text(name).lines().map(author).collect()
    };
    let (train, test) = (authors("train.jsonl"), authors("test.jsonl"));
    assert_eq!((train.len(), test.len()), (8, 2));
    assert!(train.is_disjoint(&test));
}

#[test]
fn a_validation_part_tunes_and_is_not_trained_on() {
    let folder = Folder::new();
    let part = |text: String, part: &str| text.replace("\"id\"", &format!("\"split\":\"{part}\",\"id\""));
    let both = |n: usize, from: &str| {
        lines("sport", &format!("goals referee {from}"), n) + &lines("space", &format!("orbit planet {from}"), n)
    };
    let corpus = |name: &str| part(both(20, "shared"), "train") + &part(both(8, "onlyhere"), name);
    for name in ["val", "dev", "validation"] {
        folder.file("all.jsonl", corpus(name));
        let told = folder.ok("fit all.jsonl -o m.model");
        says(&told, &["validation part", "training documents", "40"]);
        let model = folder.json("inspect m.model --format json");
        assert_eq!(model["training"]["documents"], 40);
        assert_eq!(model["training"]["folds"], 1);
    }
    let words = folder.ok("explain m.model --format json");
    assert!(!words.contains("onlyhere"), "a word of the validation part is in the model");
}

#[test]
fn documents_without_labels_are_asked_about() {
    let folder = Folder::new();
    let all = lines("sport", "goals and a referee", 12) + &lines("space", "orbit of a planet", 12);
    folder.file("all.jsonl", format!("{all}{{\"id\":\"x\",\"text\":\"goals\",\"labels\":[]}}\n"));
    says(
        &folder.refused("fit all.jsonl -o m.model"),
        &["1 of 25 training documents have no label", "--unlabelled ignore", "--unlabelled negative"],
    );
    folder.ok("fit all.jsonl -o ignored.model --unlabelled ignore");
    let model = folder.json("inspect ignored.model --format json");
    assert_eq!((&model["training"]["documents"], &model["threshold"]), (&24.into(), &"rcut(1)".into()));
    folder.ok("fit all.jsonl -o negative.model --unlabelled negative");
    assert_eq!(folder.json("inspect negative.model --format json")["training"]["documents"], 25);
    // Where documents have several labels, none is an answer like others.
    let several = all.replacen("[\"sport\"]", "[\"sport\",\"space\"]", 3);
    folder.file("several.jsonl", format!("{several}{{\"id\":\"x\",\"text\":\"goals\",\"labels\":[]}}\n"));
    says(&stderr(&folder.run("fit several.jsonl -o m.model")), &["1 of 25 training documents have no label"]);
}

#[test]
fn labels_of_the_test_part_alone_are_not_in_the_model() {
    let folder = Folder::new();
    let part = |text: String, part: &str| text.replace("\"id\"", &format!("\"split\":\"{part}\",\"id\""));
    let train = lines("sport", "goals and a referee", 10) + &lines("space", "orbit of a planet", 10);
    let test = lines("sport", "goals", 3) + &lines("cooking", "salt and pepper", 2);
    folder.file("all.jsonl", part(train, "train") + &part(test, "test"));
    folder.ok("fit all.jsonl -o m.model");
    let labels = folder.json("inspect m.model --format json")["labels"].as_array().unwrap().clone();
    let names: Vec<&str> = labels.iter().map(|l| l["label"].as_str().unwrap()).collect();
    assert_eq!(names, ["space", "sport"]);
    let report = folder.run("evaluate m.model all.jsonl --format json");
    assert_eq!(serde_json::from_slice::<Value>(&report.stdout).unwrap()["unseen_labels"]["cooking"], 2);
}

#[test]
fn a_rare_label_that_is_never_found_is_named() {
    let folder = Folder::new();
    // The rare label has no word of its own.
    let rare = lines("rare", "goals and a referee", 2).replace("rarenumber", "sportnumber1");
    folder.file("all.jsonl", lines("sport", "goals and a referee", 98) + &rare);
    let told = folder.ok("fit all.jsonl -o m.model");
    says(&told, &["largest label", "sport, 98.0 %", "never answered", "rare", "F1@macro"]);
    let judged = folder.run("evaluate m.model all.jsonl");
    says(&stderr(&judged), &["1 labels of these documents were given to none of them: rare"]);
    says(&String::from_utf8_lossy(&judged.stdout), &["P@1 of always sport", "0.9800", "F1@macro"]);
}

/// A label that the documents lack, and documents without a label, by both conventions.
#[test]
fn averages_say_their_convention_where_it_matters() {
    let folder = Folder::new();
    folder.file("all.jsonl", lines("sport", "goals and a referee", 10) + &lines("space", "orbit of a planet", 10));
    folder.ok("fit all.jsonl -o m.model --by chi2max --features all --classifier svm --threshold fixed(0.2) --folds 0");
    folder.file("sport.jsonl", lines("sport", "goals and a referee", 10));
    let report = folder.json("evaluate m.model sport.jsonl --format json");
    assert_eq!((&report["F1@macro"], &report["F1@present"]), (&0.5.into(), &1.0.into()));
    assert_eq!(report.get("F1@documents"), None, "it says what F1@samples says");
    folder.file("none.jsonl", lines("sport", "goals and a referee", 1) + "{\"text\":\"salt\",\"labels\":[]}\n");
    let report = folder.json("evaluate m.model none.jsonl --format json");
    assert_eq!((&report["F1@samples"], &report["F1@documents"]), (&0.5.into(), &1.0.into()));
    let asked = folder.json("evaluate m.model sport.jsonl --format json --measures F1@present,F1@documents");
    assert_eq!((&asked["F1@present"], &asked["F1@documents"]), (&1.0.into(), &1.0.into()));
}

#[test]
fn the_smallest_corpora_give_a_model_or_the_reason() {
    let folder = Folder::new();
    for n in 2..=20 {
        let corpus: String =
            lines("sport", "goals and a referee", n / 2) + &lines("space", "orbit of a planet", n - n / 2);
        folder.file("tiny.jsonl", &corpus);
        let told = folder.ok("fit tiny.jsonl -o tiny.model");
        if n < 6 {
            says(&told, &["too few"]);
        }
        let answers = folder.json_lines("classify tiny.model tiny.jsonl --format jsonl");
        let right = answers.iter().filter(|a| a["id"].as_str().unwrap().starts_with(a["labels"][0].as_str().unwrap()));
        assert_eq!(right.count(), n, "{n} documents");
        says(&folder.ok("fit tiny.jsonl -o tiny.model --features 3"), &["features"]);
    }
    folder.file("tiny.jsonl", lines("sport", "goals", 1) + &lines("space", "orbit", 1));
    says(
        &folder.refused("fit tiny.jsonl -o tiny.model --threshold scut"),
        &["scut", "2 training documents are too few"],
    );
}

/// What recognises a file does not eat a pipe's beginning.
#[test]
fn pipes_are_read_once() {
    let folder = Folder::small();
    for command in ["inspect CORPUS --format json", "rank CORPUS --by chi2max --format json"] {
        let from_file = folder.ok(&command.replace("CORPUS", "small.jsonl"));
        let piped = folder.run_with(&command.replace("CORPUS", "/dev/stdin"), SMALL);
        assert_eq!(String::from_utf8_lossy(&piped.stdout), from_file, "{command}: {}", stderr(&piped));
    }
}

#[test]
fn of_two_labels_a_word_is_named_with_the_one_it_speaks_for() {
    let folder = Folder::new();
    folder.file("all.jsonl", lines("billing", "invoice", 12) + &lines("delivery", "paket", 30));
    let ranked = folder.json("rank all.jsonl --by chi2max --top 2 --format json");
    for entry in ranked["terms"].as_array().unwrap() {
        let right = if entry["term"] == "paket" { "delivery" } else { "billing" };
        assert_eq!(entry["label"], right, "{entry}");
    }
}

/// What is read is not written over, and no part of a split is empty.
#[test]
fn inputs_are_not_written_over() {
    let folder = Folder::with_model();
    folder.file("two.jsonl", lines("sport", "goals", 1) + &lines("space", "orbit", 1));
    folder.file("other.jsonl", SMALL.replace("labels", "colours"));
    let before = folder.contents();
    for command in [
        "split small.jsonl -o small.jsonl b.jsonl",
        "split small.jsonl -o b.jsonl ./b.jsonl",
        "convert small.jsonl ./small.jsonl",
        "fit small.jsonl -o small.jsonl",
        "classify small.model small.jsonl -o small.jsonl",
        "classify small.model small.jsonl -o small.model --format csv",
        "split two.jsonl -o a.jsonl b.jsonl",
        "split other.jsonl -o a.jsonl b.jsonl",
    ] {
        folder.refused(command);
        assert!(folder.contents() == before, "{command}");
    }
}

/// Every word is in one document alone: a cut leaves none, and there is a model all the same.
#[test]
fn a_few_documents_that_share_no_word_give_a_model() {
    let folder = Folder::new();
    let fruit = ["red apple", "green pear", "sour plum", "ripe fig"];
    let wheels = ["fast car", "slow bus", "old train", "new bike"];
    let line = |text: &&str, label: &str| format!("{{\"text\":\"{text}\",\"label\":\"{label}\"}}\n");
    let all: String = fruit.iter().map(|t| line(t, "fruit")).chain(wheels.iter().map(|t| line(t, "wheels"))).collect();
    folder.file("tiny.jsonl", all);
    folder.ok("fit tiny.jsonl -o tiny.model");
    folder.file("new.txt", "a bus");
    says(&folder.ok("classify tiny.model new.txt"), &["\"labels\":[\"wheels\"]"]);
    folder
        .file("six.jsonl", (0..6).map(|i| line(&&*format!("word{i} thing{i}"), &format!("l{i}"))).collect::<String>());
    folder.ok("fit six.jsonl -o six.model");
}

/// Text as it is typed: standard input, Markdown, a name without an ending.
#[test]
fn text_needs_no_format_to_be_labelled() {
    let folder = Folder::new();
    folder.file("all.jsonl", lines("sport", "goals and a referee", 20) + &lines("space", "orbit of a planet", 20));
    folder.ok("fit all.jsonl -o m.model");
    let text = "The referee, who saw it, gave the goals: 3 of them.\n";
    for name in ["letter", "letter.md", "letter.text"] {
        folder.file(name, text);
        let answer: Value = serde_json::from_str(&folder.ok(&format!("classify m.model {name}"))).unwrap();
        assert_eq!(answer["labels"], serde_json::json!(["sport"]), "{name}");
    }
    let program = assert_cmd::Command::cargo_bin("tamis")
        .unwrap()
        .current_dir(folder.path("."))
        .args(["classify", "m.model"])
        .write_stdin(text)
        .output()
        .unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&program.stdout).unwrap()["labels"], serde_json::json!(["sport"]));
    // A table is still a table, and JSON lines are.
    folder.file("table", "id,text\n1,goals\n2,\"orbit, planet\"\n");
    assert_eq!(folder.ok("classify m.model table").lines().count(), 2);
    // Other words altogether are worth a warning.
    folder.file("other.txt", "zzz");
    says(&stderr(&folder.run("classify m.model other.txt")), &["1 of 1 documents have no word that the model knows"]);
}

/// Files called train and test are these parts.
#[test]
fn names_of_files_are_parts() {
    let folder = Folder::new();
    folder.file("data/train.jsonl", lines("sport", "goals", 12) + &lines("space", "orbit", 12));
    folder.file("data/test.jsonl", lines("sport", "goals", 3) + &lines("space", "orbit", 3));
    let summary = &folder.json("inspect data --format json")["summary"];
    assert_eq!((&summary["train"], &summary["test"]), (&24.into(), &6.into()));
    folder.ok("fit data -o m.model");
    assert_eq!(folder.json("inspect m.model --format json")["training"]["documents"], 24);
}

#[test]
fn fields_survive_in_every_format() {
    let folder = Folder::new();
    let line = |i: usize| {
        let (head, foot) = [("head", "foot"), ("tail", "fin")][i % 2];
        format!("{{\"title\":\"{head} {i}\",\"body\":\"{foot}, {i}\",\"labels\":[\"l{}\"]}}\n", i % 2)
    };
    folder.file("all.jsonl", (0..40).map(line).collect::<String>());
    says(&folder.ok("inspect all.jsonl --terms title:words+body:words"), &["title: head 0"]);
    for ending in ["csv", "tsv", "parquet", "jsonl"] {
        folder.ok(&format!("split all.jsonl -o train.{ending} test.{ending} --fields title,body"));
        folder.ok(&format!("fit train.{ending} -o m.model --terms title:words+body:words"));
        let words = folder.ok("explain m.model --format json");
        says(&words, &["title:head", "body:foot"]);
        folder.ok(&format!("convert train.{ending} back.jsonl --fields title,body"));
        says(&folder.text("back.jsonl"), &["\"title\":\"tail ", "\"body\":\"fin, "]);
    }
    says(&folder.refused("split all.jsonl -o train.svm test.svm --fields title,body"), &["no room for fields"]);
    folder.file("new.txt", "head foot");
    says(&folder.refused("classify m.model new.txt"), &["title, body", "JSONL, CSV, TSV or Parquet"]);
    // A corpus in the place of a file to write is not written over.
    folder.ok("convert all.jsonl more.jsonl --fields title,body");
    says(&folder.refused("split -o a.jsonl b.jsonl all.jsonl more.jsonl"), &["name the corpus before -o"]);
    assert!(folder.text("all.jsonl").contains("fin, 39"));
}

/// What a search chose can be said at once, and leads to the same model; `--dry-run` says what it would try.
#[test]
fn what_was_found_can_be_pinned() {
    let folder = Folder::new();
    // Few labels and short texts: pieces of words compete too.
    let noisy = |label: &str, words: &str| lines(label, words, 24).replacen(words, "something else", 5);
    folder.file("docs.jsonl", noisy("sport", "goals and a referee") + &noisy("space", "orbit of a planet"));
    says(
        &folder.ok("fit docs.jsonl --dry-run"),
        &["choosing", "comparing the best", "walking sizes", "words(1-2)+chars(3-5)", "vectors=tfidf*rf", "About"],
    );
    assert!(!folder.path("found.model").exists());
    let told = folder.ok("fit docs.jsonl -o found.model");
    let line = told.lines().skip_while(|l| !l.starts_with("The same model")).nth(1).unwrap().trim().replace('\'', "");
    folder.ok(&format!("fit docs.jsonl -o pinned.model {line}"));
    let read = |name: &str| tamis::model::Model::read(&folder.path(name)).unwrap();
    // All but the account of the search, which a model keeps for its readers.
    let without_account = |model: tamis::model::Model| {
        let mut parts = (*model).clone();
        parts.summary.choices.clear();
        parts.shown.frontier.clear();
        tamis::model::Model::new(parts).unwrap().to_bytes().unwrap()
    };
    assert!(without_account(read("found.model")) == without_account(read("pinned.model")), "{line}");
}

#[test]
fn documents_without_a_term_are_those_of_the_terms_that_were_chosen() {
    let folder = Folder::new();
    let signs = |label: &str| format!("{{\"text\":\"!!! ... ☺\",\"labels\":[\"{label}\"]}}\n").repeat(2);
    let words = lines("sport", "goals and a referee", 20) + &lines("space", "orbit of a planet", 20);
    folder.file("all.jsonl", words + &signs("sport") + &signs("space"));
    // Characters of the whole text compete, and every document has some; what is chosen are words.
    let fitted = folder.run("fit all.jsonl -o m.model");
    let chosen = String::from_utf8_lossy(&fitted.stdout).into_owned();
    assert!(chosen.contains("--terms 'words"), "{chosen}");
    says(&stderr(&fitted), &["4 of 44 documents have no term by words"]);
}
