//! Documents with several texts, for models whose terms name them.

use serde_json::{Value, json};

use super::client::{ask, get, post, problem};
use super::models::{Running, usual};

/// A model that reads titles and bodies apart: hockey is in titles, wheat in bodies, and each in the other place means nothing.
fn fielded() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fields.jsonl");
    let line = |n: usize| {
        let (title, body, label) =
            [("puck ice", "common words", "hockey"), ("some words", "wheat corn", "grain")][n % 2];
        format!("{}\n", json!({ "title": title, "body": body, "labels": [label] }))
    };
    std::fs::write(&path, (0..40).map(line).collect::<String>()).unwrap();
    let corpus = tamis::corpus::open(&[path], &tamis::corpus::ReadOptions::default()).unwrap();
    let text: tamis::terms::TextOptions = "title:words(1-2)+body:words".parse().unwrap();
    let options = tamis::counts::CountOptions { text, ..Default::default() };
    let (counts, _) =
        tamis::counts::count(corpus.batches_for(&options.text).unwrap(), &options, &tamis::Silent).unwrap();
    let options = tamis::model::FitOptions {
        classifier: Some("bayes".parse().unwrap()),
        by: Some("df".parse().unwrap()),
        features: Some(tamis::features::Size::All),
        folds: Some(0),
        ..Default::default()
    };
    options.fit(&counts, &counts.training(), &tamis::Silent).unwrap().model.to_bytes().unwrap()
}

#[test]
fn fields_are_read_everywhere_and_a_plain_text_is_an_error() {
    let server = Running::with(&[("fields", &fielded()), ("usual", usual())], |_| {});
    let (grain, hockey) = (json!({ "title": "x", "body": "wheat" }), json!({ "title": "puck ice" }));
    let labels = |reply: &Value| reply["labels"].clone();
    let one = |document: &Value| post(server.address, "/v1/classify", document);
    assert_eq!(labels(&one(&grain).json()), json!(["grain"]));
    assert_eq!(labels(&one(&hockey).json()), json!(["hockey"]));
    assert_eq!(one(&json!({ "title": "wheat" })).json()["known"], false, "wheat is known in bodies only");
    let batch = one(&json!({ "documents": [grain, hockey] })).json();
    assert_eq!((labels(&batch["documents"][0]), labels(&batch["documents"][1])), (json!(["grain"]), json!(["hockey"])));
    let lines =
        format!("{grain}\n{}\n{{\"text\":\"wheat\"}}\n{{\"title\":7}}\n", json!({ "title": "puck", "body": null }));
    let kind = ("content-type", "application/x-ndjson");
    let reply = ask(server.address, "POST", "/v1/classify", &[kind], lines.as_bytes()).text();
    let stream: Vec<Value> = reply.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!((labels(&stream[0]), labels(&stream[1])), (json!(["grain"]), json!(["hockey"])));
    assert!(stream[2]["error"].as_str().unwrap().contains("\"title\" and \"body\""), "{reply}");
    assert!(stream[3]["error"].as_str().unwrap().contains("\"title\" must be a string"), "{reply}");
    let why =
        post(server.address, "/v1/explain", &json!({ "title": "some", "body": "wheat", "label": "grain" })).json();
    let words: Vec<&str> =
        why["reasons"][0]["words"].as_array().unwrap().iter().map(|w| w["word"].as_str().unwrap()).collect();
    assert!(words.contains(&"body:wheat"), "{words:?}");
    // What the model cannot read is said, with what it reads.
    for path in ["/v1/classify", "/v1/explain"] {
        let said = problem(&post(server.address, path, &json!({ "text": "wheat" })), 422);
        assert!(said.contains("\"title\" and \"body\""), "{said}");
        let said = problem(&post(server.address, path, &json!({ "titel": "wheat" })), 422);
        assert!(said.contains("titel") && said.contains("\"title\""), "{said}");
        let said = problem(&post(server.address, path, &json!({ "model": "usual", "text": "a", "title": "b" })), 422);
        assert!(said.contains("title"), "{said}");
    }
    let said = problem(&one(&json!({ "documents": [grain, { "text": "wheat" }] })), 422);
    assert!(said.contains("document 2") && said.contains("\"body\""), "{said}");
    let fields = |name: &str| get(server.address, &format!("/v1/model?model={name}")).json()["fields"].clone();
    assert_eq!((fields("fields"), fields("usual")), (json!(["title", "body"]), json!(["text"])));
}
