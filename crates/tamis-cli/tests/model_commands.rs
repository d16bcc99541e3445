//! Models as the README shows them: fit, classify, evaluate, explain, compare, and that threads change nothing.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Folder, SMALL, out, says, warned};
use serde_json::Value;

#[test]
fn threads_change_nothing() {
    let folder = Folder::topics();
    folder.ok("synth -n 3000 many.jsonl --seed 3");
    let both = |arguments: &str| {
        let one = folder.ok(&format!("{arguments} --threads 1"));
        assert!(one == folder.ok(&format!("{arguments} --threads 2")), "{arguments}");
        one
    };
    both("rank many.jsonl --by chi2max --format tsv");
    both("rank many.jsonl --by dlor(ib,ig,bns) --format tsv");
    for (classifier, extra) in [
        ("svm", ""),
        ("svm(multi=ovo)", ""),
        ("bayes(multi=ovr)", "--calibrate isotonic"),
        ("knn(20)", ""),
        ("wknn(5)", "--threshold pcut"),
        ("svm(loss=hinge)", "--quantise --calibrate platt"),
    ] {
        let fit = |threads: u32| {
            let model = format!("{threads}.model");
            folder.ok(&format!(
                "fit docs.jsonl -o {model} --by chi2max --features 200 --classifier {classifier} {extra} --folds 3 \
                 --threads {threads}"
            ));
            folder.bytes(&model)
        };
        assert!(fit(1) == fit(2), "{classifier}");
        both("classify 1.model many.jsonl --scores");
        both("evaluate 1.model docs.jsonl --format json");
    }
    // All choices left open.
    folder.ok("fit docs.jsonl -o 1.model --threads 1");
    folder.ok("fit docs.jsonl -o 2.model --threads 2");
    assert!(folder.bytes("1.model") == folder.bytes("2.model"));
}

#[test]
fn fit_classify_evaluate() {
    let folder = Folder::topics();
    let fitted = folder.ok("fit docs.jsonl -o docs.model");
    says(&fitted, &["training documents", "features", "selector", "classifier", "threshold", "Why", "RPrec"]);
    let labelled = folder.json_lines("classify docs.model docs.jsonl");
    let truth: Vec<Value> = folder.text("docs.jsonl").lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(labelled.len(), 300);
    for (line, document) in labelled.iter().zip(&truth) {
        assert_eq!(line["id"], document["id"]);
        assert!(line["labels"].is_array());
    }
    // Most training documents get at least one label of theirs back.
    let hits = labelled.iter().zip(&truth).filter(|(line, document)| {
        let wanted = document["labels"].as_array().unwrap();
        line["labels"].as_array().unwrap().iter().any(|label| wanted.contains(label))
    });
    assert!(hits.count() > 200);

    let value = folder.json("evaluate docs.model docs.jsonl --format json");
    for name in ["RPrec", "MAP", "P@1", "F1@micro", "F1@macro"] {
        let number = value[name].as_f64().unwrap();
        assert!((0.05..=1.0).contains(&number), "{name} = {number}");
    }
    let test = truth.iter().filter(|document| document["split"] == "test").count();
    assert_eq!(value["documents"], test);
    assert_eq!(folder.json("evaluate docs.model docs.jsonl --format json --all-parts")["documents"], 300);
    let some = folder.json("evaluate docs.model docs.jsonl --format json --measures nDCG@10,RankingLoss --intervals");
    assert!(some["nDCG@10"].is_number() && some["RankingLoss"].is_number() && some.get("MAP").is_none());
    let interval = some["intervals"]["nDCG@10"].as_array().unwrap();
    assert!(interval[0].as_f64() <= some["nDCG@10"].as_f64() && some["nDCG@10"].as_f64() <= interval[1].as_f64());
    says(&folder.ok("evaluate docs.model docs.jsonl --per-label"), &["RPrec", "MAP", "precision", "recall"]);
    let rows = folder.json("evaluate docs.model docs.jsonl --per-label --format json")["labels"].clone();
    assert!(rows.as_array().unwrap().iter().all(|row| row["label"].is_string() && row["f1"].is_number()));
}

#[test]
fn classify_reads_pipes_and_gives_what_is_asked_for() {
    let folder = Folder::with_model();
    let piped = folder.run_with("classify small.model", "{\"id\":\"x\",\"text\":\"goals\"}\n");
    assert_eq!(out("pipe", &piped), "{\"id\":\"x\",\"labels\":[\"sport\"],\"known\":true}\n");
    let line = &folder.json_lines("classify small.model small.jsonl --top 2 --scores --explain")[0];
    assert_eq!(line["labels"], serde_json::json!(["sport", "space"]));
    // Log posteriors: their exponentials add up to 1.
    let sum: f64 = line["ranked"].as_array().unwrap().iter().map(|r| r["score"].as_f64().unwrap().exp()).sum();
    assert!((sum - 1.0).abs() < 1e-9);
    assert_eq!(
        (&line["reasons"][0]["label"], &line["reasons"][0]["words"][0]["word"]),
        (&"sport".into(), &"goals".into())
    );
    let one = &folder.json_lines("classify small.model small.jsonl --top 1 --scores")[0];
    assert_eq!(one["ranked"].as_array().unwrap().len(), 1);
    // Probabilities where the model has them.
    folder.ok("fit small.jsonl -o p.model --by df --features all --classifier svm --folds 3 --calibrate platt");
    let line = &folder.json_lines("classify p.model small.jsonl --scores --top 2")[0];
    let ranked = line["ranked"].as_array().unwrap();
    assert!(ranked.iter().all(|r| (0.0..=1.0).contains(&r["probability"].as_f64().unwrap())));
}

#[test]
fn explain_tells_the_words() {
    let folder = Folder::with_model();
    let value = folder.json("explain small.model --format json --top 3");
    let labels: Vec<&str> = value.as_array().unwrap().iter().map(|e| e["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["space", "sport"]);
    assert_eq!(value[1]["words"][0]["word"], "goals");
    assert!(value[1]["words"][0]["adds"].as_f64().unwrap() > 0.0);
    assert!(value[0]["words"][0]["adds"].as_f64().unwrap() < 0.0);
    let one = folder.json("explain small.model --label sport --format json --top 2");
    assert_eq!(one.as_array().unwrap().len(), 1);
    assert_eq!(one[0]["words"].as_array().unwrap().len(), 2);

    folder.file("doc.txt", "goals, goals and a planet");
    let value = folder.json("explain small.model doc.txt --format json")["reasons"][0].clone();
    assert_eq!(value["label"], "sport");
    let words: Vec<&str> = value["words"].as_array().unwrap().iter().map(|w| w["word"].as_str().unwrap()).collect();
    assert_eq!(words[0], "goals");
    assert!(words.contains(&"planet") && words.contains(&"and"));
    assert_eq!(folder.tsv("explain small.model doc.txt --format tsv")[0], ["label", "kind", "name", "adds"]);
    says(&folder.ok("explain small.model doc.txt"), &["sport  score", "goals"]);
    let piped = folder.run_with("explain small.model - --label space --format json", "planet");
    let value: Value = serde_json::from_str(&out("pipe", &piped)).unwrap();
    assert_eq!(value["reasons"][0]["words"][0]["word"], "planet");
}

#[test]
fn words_of_an_svm_add_up_to_its_score() {
    let folder = Folder::topics();
    folder.ok("fit docs.jsonl -o docs.model --by chi2max --features 500 --classifier svm --folds 0");
    let text = folder.text("docs.jsonl");
    let document: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    folder.file("doc.txt", document["text"].as_str().unwrap());
    folder.file("none.txt", "");
    let total =
        |value: &Value| -> f64 { value["words"].as_array().unwrap().iter().map(|w| w["adds"].as_f64().unwrap()).sum() };
    let label = document["labels"][0].as_str().unwrap();
    let explain = |file: &str| {
        let words = ["-q", "explain", "docs.model", file, "--label", label, "--top", "1000", "--format", "json"];
        let output = folder.tamis().args(words).output().unwrap();
        serde_json::from_str::<Value>(&out("explain", &output)).unwrap()["reasons"][0].clone()
    };
    // What is left is the score of a document without words: the bias.
    let (document, bias) = (explain("doc.txt"), explain("none.txt")["score"].as_f64().unwrap());
    assert!(total(&document).abs() > 0.01);
    assert!((total(&document) + bias - document["score"].as_f64().unwrap()).abs() < 1e-9, "{document}");
}

#[test]
fn shares_of_neighbours_add_up_to_the_score() {
    let folder = Folder::topics();
    let text = folder.text("docs.jsonl");
    let document: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    folder.file("doc.txt", document["text"].as_str().unwrap());
    for classifier in ["knn(40)", "wknn(20)"] {
        folder.ok(&format!(
            "fit docs.jsonl -o docs.model --by chi2max --features 500 --classifier {classifier} --folds 0 \
             --threshold rcut(3)"
        ));
        for top in [2, 1000] {
            let value = folder.json(&format!("explain docs.model doc.txt --format json --top {top}"));
            let reasons = value["reasons"].as_array().unwrap();
            assert_eq!(reasons.len(), 3);
            let ids: Vec<Value> =
                text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].clone()).collect();
            for entry in reasons {
                let votes = entry["neighbours"].as_array().unwrap();
                let sum: f64 = votes.iter().map(|n| n["adds"].as_f64().unwrap()).sum();
                let missing = entry["score"].as_f64().unwrap() - sum;
                assert!(votes.len() <= top && (top < votes.len() + 1 || missing.abs() < 1e-9), "{classifier}: {entry}");
                assert!(votes.iter().all(|n| ids.contains(&n["document"])), "{entry}");
            }
        }
        says(&folder.ok("explain docs.model doc.txt"), &["training document", "word"]);
        let answer = folder.json_lines("classify docs.model docs.jsonl --explain --top 1 --scores")[5].clone();
        assert_eq!(answer["reasons"][0]["label"], answer["labels"][0]);
        assert_eq!(answer["reasons"][0]["score"], answer["ranked"][0]["score"]);
    }
    let output = folder.run("explain docs.model");
    assert_eq!(output.status.code(), Some(2));
    says(&String::from_utf8_lossy(&output.stderr), &["give a document"]);
}

#[test]
fn compare_tells_two_models_apart() {
    let folder = Folder::topics();
    folder.ok("fit docs.jsonl -o good.model --by chi2max --features 1000 --classifier svm --folds 0");
    folder.ok("fit docs.jsonl -o poor.model --by df --features 5 --classifier bayes --folds 0");
    let value = folder.json("compare good.model poor.model docs.jsonl --format json --measures RPrec,F1@micro");
    let rows = value["comparisons"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    let alone = |model: &str| folder.json(&format!("evaluate {model} docs.jsonl --format json"))["RPrec"].clone();
    assert_eq!(rows[0]["measure"], "RPrec");
    assert_eq!((&rows[0]["a"], &rows[0]["b"]), (&alone("good.model"), &alone("poor.model")));
    assert!(rows[0]["difference"].as_f64().unwrap() > 0.1);
    assert!(rows[0]["p_bootstrap"].as_f64().unwrap() < 0.05);
    assert!(rows[0]["p_sign"].as_f64().unwrap() < 0.05);
    assert!(rows[0]["wins_a"].as_u64().unwrap() > rows[0]["wins_b"].as_u64().unwrap());
    let same = folder.json("compare good.model good.model docs.jsonl --format json --measures RPrec");
    assert_eq!(same["comparisons"][0]["difference"], 0.0);
    assert_eq!(same["comparisons"][0]["p_sign"], 1.0);
    says(&folder.ok("compare good.model poor.model docs.jsonl"), &["A − B", "p sign", "RPrec"]);
    folder.file("small.jsonl", SMALL);
    folder.ok("fit small.jsonl -o small.model --by df --features all --classifier svm --folds 0");
    says(&folder.refused("compare good.model small.model docs.jsonl"), &["different labels", "same corpus"]);
}

#[test]
fn without_folds_labels_are_decided_by_what_is_known() {
    let folder = Folder::topics();
    // Documents have 1.7 labels in the mean; log posteriors are never above 0, so no fixed threshold would do.
    for (classifier, threshold) in
        [("svm", "fixed(0)"), ("svm(multi=ovo)", "rcut(2)"), ("bayes", "rcut(2)"), ("knn(20)", "rcut(2)")]
    {
        let fitted =
            folder.ok(&format!("fit docs.jsonl -o m.model --by df --features 500 --classifier {classifier} --folds 0"));
        says(&fitted, &[threshold]);
        let labelled = folder.json_lines("classify m.model docs.jsonl");
        let given = labelled.iter().filter(|line| !line["labels"].as_array().unwrap().is_empty()).count();
        assert!(given > 100, "{classifier}: {given}");
        let most = labelled.iter().map(|line| line["labels"].as_array().unwrap().len()).max();
        assert!(most < Some(10), "{classifier}: {most:?}");
    }
}

/// Models with fields say where in each of them the terms are, and what overlaps is summed.
#[test]
fn fields_are_marked_where_they_speak() {
    let folder = Folder::new();
    let line = |n: usize| match n % 2 {
        0 => format!(r#"{{"id":"{n}","title":"手机很好","body":"the phone is good","labels":["phone"]}}"#),
        _ => format!(r#"{{"id":"{n}","title":"水果不好","body":"the fruit was bad","labels":["fruit"]}}"#),
    };
    folder.file("docs.jsonl", (0..20).map(|n| line(n) + "\n").collect::<String>());
    folder.ok("fit docs.jsonl -o m.model --terms title:chars(1-2)+body:words(1-2) --by chi2max@1 --features all --classifier svm");
    folder.file("one.json", r#"{"title":"新手机", "body":"a good phone is good"}"#);
    let explained = folder.ok("explain m.model one.json --label phone");
    says(&explained, &["title:", "新[++手][++机]", "body:", "good", "title:‹手机›"]);
    let answer: Value =
        serde_json::from_str(&folder.ok("explain m.model one.json --label phone --format json --spans")).unwrap();
    let spans = answer["reasons"][0]["spans"].as_array().unwrap();
    let in_field = |field: &str| spans.iter().filter(|span| span["field"] == field).count();
    assert!(in_field("title") >= 3 && in_field("body") >= 3, "{spans:?}");
    folder.file("other.json", r#"{"headline":"x"}"#);
    let unread = folder.run("explain m.model other.json");
    says(&warned("explain", &unread), &["no field \"title\"", "headline", "knows none of the words"]);
    folder.file("plain.txt", "手机");
    says(&folder.refused("explain m.model plain.txt"), &["JSON object with title, body"]);
}

/// A language that is recognised is stored by its name; one that has no stemmer is refused.
#[test]
fn languages_are_recognised_when_asked() {
    let folder = Folder::topics();
    folder.ok("fit docs.jsonl -o docs.model --language auto --by df --features 100 --classifier bayes");
    says(&folder.ok("inspect docs.model"), &["words(stop=english,stem=english)"]);
    assert!(!folder.ok("inspect docs.jsonl").contains("english"));
    folder.file("thai.jsonl", "{\"text\":\"อาหารอร่อยมากและพนักงานบริการดี\",\"labels\":[\"x\"]}\n");
    // Recognised, and there is nothing to do about it.
    folder.ok("count thai.jsonl -o c --language auto");
    says(&folder.refused("count thai.jsonl -o c --language thai"), &["--language thai", "no stemmer"]);
    says(&folder.refused("count docs.jsonl -o c --language klingon"), &["klingon", "no stemmer"]);
}

/// The blanks of character n-grams can be seen.
#[test]
fn blanks_of_characters_are_shown() {
    let folder = Folder::topics();
    let ranked = folder.ok("rank docs.jsonl --by df --terms chars(3) --top 20");
    assert!(ranked.contains('␣'), "{ranked}");
}
