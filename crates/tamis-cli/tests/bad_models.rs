//! Models and counts files that are damaged, too new or of the wrong kind; labels and words that a model does not know.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Folder, READERS, says, warned};
use serde_json::Value;

/// `model` with `version` in its header, and a header hash that fits.
fn with_version(model: &[u8], version: u32) -> Vec<u8> {
    let mut bytes = model.to_vec();
    bytes[16..20].copy_from_slice(&version.to_le_bytes());
    let sections = u32::from_le_bytes(bytes[20..24].try_into().unwrap()) as usize;
    let end = 32 + 64 * sections;
    let hash = *blake3::hash(&bytes[..end]).as_bytes();
    assert_eq!(*blake3::hash(&model[..end]).as_bytes(), model[end..end + 32]);
    bytes[end..end + 32].copy_from_slice(&hash);
    bytes
}

const MODEL_USERS: [&str; 5] = [
    "classify MODEL small.jsonl",
    "evaluate MODEL small.jsonl",
    "compare MODEL MODEL small.jsonl",
    "explain MODEL",
    "inspect MODEL",
];

fn refused_as_model(folder: &Folder, model: &str, parts: &[&str]) {
    for command in MODEL_USERS {
        says(&folder.refused(&command.replace("MODEL", model)), parts);
    }
}

#[test]
fn models_and_counts_of_a_newer_version() {
    let folder = Folder::with_model();
    folder.file("newer.model", with_version(&folder.bytes("small.model"), 7));
    refused_as_model(&folder, "newer.model", &["newer.model: written in version 7", "update tamis"]);
    folder.ok("count small.jsonl -o small.counts");
    folder.file("newer.counts", with_version(&folder.bytes("small.counts"), 9));
    for command in ["rank newer.counts --by df", "merge newer.counts -o c", "inspect newer.counts"] {
        says(&folder.refused(command), &["newer.counts: written in version 9", "update tamis"]);
    }
}

#[test]
fn truncated_models() {
    let folder = Folder::with_model();
    let whole = folder.bytes("small.model");
    for end in [20, 70, 200, whole.len() / 2, whole.len() - 64, whole.len() - 1] {
        folder.file("cut.model", &whole[..end]);
        refused_as_model(
            &folder,
            "cut.model",
            &["cut.model: ", if end < 64 { "not a tamis model" } else { "damaged" }],
        );
    }
    folder.file("cut.model", "");
    says(&folder.refused("classify cut.model small.jsonl"), &["cut.model: not a tamis model file"]);
    folder.file("cut.model", [whole, vec![0; 64]].concat());
    refused_as_model(&folder, "cut.model", &["cut.model: damaged"]);
}

#[test]
fn a_flipped_byte_anywhere_is_an_error() {
    let folder = Folder::small();
    for (classifier, step) in [("bayes", 97), ("knn", 151), ("svm", 151)] {
        folder.ok(&format!("fit small.jsonl -o m.model --by df --features all --classifier {classifier} --folds 0"));
        let good = folder.bytes("m.model");
        for at in (0..good.len()).step_by(step) {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            folder.file("bad.model", bad);
            let output = folder.run("classify bad.model small.jsonl");
            let message = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "byte {at} of {classifier}: {message}");
            assert!(output.stdout.is_empty(), "byte {at} of {classifier}");
            says(&message, &["bad.model: "]);
        }
    }
    folder.ok("count small.jsonl -o small.counts");
    let good = folder.bytes("small.counts");
    for at in (0..good.len()).step_by(97) {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        folder.file("bad.counts", bad);
        says(&folder.refused("merge bad.counts -o c"), &["bad.counts: "]);
    }
}

#[test]
fn one_kind_of_file_in_place_of_another() {
    let folder = Folder::with_model();
    folder.ok("count small.jsonl -o small.counts");
    for command in &MODEL_USERS[..4] {
        let counts = folder.refused(&command.replace("MODEL", "small.counts"));
        says(&counts, &["small.counts: this is a tamis counts file; a model file is needed here"]);
        says(&folder.refused(&command.replace("MODEL", "small.jsonl")), &["small.jsonl: not a tamis model file"]);
    }
    says(&folder.refused("merge small.model -o c"), &["this is a tamis model file; a counts file is needed here"]);
    says(&folder.refused("merge small.jsonl -o c"), &["small.jsonl: not a tamis counts file"]);
    for command in &READERS[1..] {
        let message = folder.refused(&command.replace("CORPUS", "small.model"));
        says(&message, &["small.model: this is a tamis model file, not a corpus"]);
    }
    says(&folder.refused("fit small.counts -o m"), &["small.counts: this is a tamis counts file, not a corpus"]);
    says(&folder.refused("classify small.model small.model"), &["small.model: this is a tamis model file"]);
}

#[test]
fn counts_that_do_not_belong_together() {
    let folder = Folder::small();
    folder.ok("count small.jsonl -o plain.counts");
    folder.ok("count small.jsonl -o stemmed.counts --stem english");
    says(&folder.refused("merge plain.counts stemmed.counts -o all.counts"), &["stemmed.counts: "]);
    says(&folder.refused("rank plain.counts --by df --resample 3"), &["--resample", "give the corpus"]);
}

#[test]
fn labels_unseen_in_training_count_as_missed() {
    let folder = Folder::with_model();
    // Two documents that the model labels rightly, and three true labels it has never seen; the second name sorts
    // before the first.
    folder.file(
        "test.jsonl",
        "{\"id\":\"1\",\"text\":\"goals match\",\"labels\":[\"sport\",\"zeta\",\"alpha\"]}\n\
         {\"id\":\"2\",\"text\":\"orbit planet\",\"labels\":[\"space\",\"beta\"]}\n",
    );
    let output = folder.run(
        "evaluate small.model test.jsonl --format json --per-label --measures \
                             RPrec,MAP,Recall@micro,Precision@micro,Recall@samples",
    );
    says(&warned("evaluate", &output), &["3 labels", "unknown to the model", "missed (3 times)", "zeta"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let near = |name: &str, expected: f64| {
        assert!((value[name].as_f64().unwrap() - expected).abs() < 1e-12, "{name}: {}", value[name]);
    };
    near("Precision@micro", 1.0);
    near("Recall@micro", 2.0 / 5.0);
    // A third of the first document's labels, half of the second's.
    near("Recall@samples", 5.0 / 12.0);
    near("RPrec", 5.0 / 12.0);
    near("MAP", 5.0 / 12.0);
    assert_eq!(value["unseen_labels"], serde_json::json!({ "alpha": 1, "beta": 1, "zeta": 1 }));
    let rows = value["labels"].as_array().unwrap();
    assert_eq!(rows.len(), 5);
    for name in ["alpha", "beta", "zeta"] {
        let row = rows.iter().find(|row| row["label"] == name).unwrap();
        assert_eq!((&row["support"], &row["recall"]), (&1.into(), &0.0.into()), "{row}");
    }
    for format in ["tsv", "table"] {
        says(&folder.ok(&format!("evaluate small.model test.jsonl --per-label --format {format}")), &["zeta", "sport"]);
    }
}

#[test]
fn documents_without_a_known_word_are_flagged() {
    let folder = Folder::small();
    folder.file("docs.jsonl", "{\"text\":\"match\"}\n{\"text\":\"xyzzy plugh\"}\n{\"text\":\"\"}\n");
    folder.file("strange.txt", "xyzzy plugh");
    for classifier in ["bayes", "svm", "knn(3)", "wknn(3)"] {
        folder.ok(&format!("fit small.jsonl -o m.model --by df --features all --classifier {classifier} --folds 0"));
        let lines = folder.json_lines("classify m.model docs.jsonl --scores");
        assert_eq!(lines[0]["known"], true, "{classifier}");
        assert_eq!(lines[0]["labels"][0], "sport", "{classifier}");
        for line in &lines[1..] {
            assert_eq!(line["known"], false, "{classifier}: {line}");
            // A prior ranking, or an empty one for neighbours that do not exist.
            let ranked = line["ranked"].as_array().unwrap();
            assert_eq!(ranked.is_empty(), classifier.contains("knn"), "{classifier}: {line}");
            assert!(ranked.iter().all(|r| r["score"].is_number()), "{classifier}: {line}");
        }
        let explained = folder.run("explain m.model strange.txt");
        says(&warned("explain", &explained), &["knows none of the words"]);
        let labelled = "{\"text\":\"xyzzy\",\"labels\":[\"sport\"]}\n";
        let evaluated = folder.run_with("evaluate m.model - --from jsonl", labelled);
        says(&warned("evaluate", &evaluated), &["1 documents have no word that the model knows"]);
    }
}
