//! What the server says is what the library says.

use serde_json::{Value, json};
use tamis::corpus::Body;
use tamis::model::Model;

use super::client::{Connection, JSON, ask, get, post, problem};
use super::models::{Running, model, tree, usual};

const TEXT: &str = "The goalie lost the puck on the ice, and the price of wheat rose.";

fn names(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect()
}

#[test]
fn labels_and_scores_are_those_of_the_library() {
    let server = Running::usual(|_| {});
    let model = Model::from_bytes(usual()).unwrap();
    let mut labeller = model.labeller();
    for text in [TEXT, "", "crude barrel tanker", "nothing of this is known", "🦊 <script>puck</script> ice"] {
        let expected = labeller.label(&Body::Text(text.into()));
        let decided: Vec<&str> = expected
            .ranked
            .iter()
            .filter(|s| expected.decided.contains(&s.label))
            .map(|s| model.labels.name(s.label))
            .collect();
        let reply = post(server.address, "/v1/classify", &json!({ "id": "7", "text": text, "top": 3 })).json();
        assert_eq!(names(&reply["labels"]), decided, "{text}");
        assert_eq!(reply["known"], expected.known);
        assert_eq!((&reply["id"], &reply["model"]), (&json!("7"), &json!("usual")));
        for (said, ranked) in reply["ranked"].as_array().unwrap().iter().zip(expected.ranked) {
            assert_eq!(said["label"], model.labels.name(ranked.label));
            assert_eq!(said["score"].as_f64().unwrap().to_bits(), ranked.score.to_bits());
            assert_eq!(said["threshold"].as_f64(), model.thresholds.of(ranked.label));
            assert_eq!(said["decided"], expected.decided.contains(&ranked.label));
        }
        assert_eq!(reply["ranked"].as_array().unwrap().len(), 3);
    }
    let plain = post(server.address, "/v1/classify", &json!({ "text": TEXT })).json();
    assert!(plain.get("ranked").is_none() && plain.get("id").is_none() && plain.get("paths").is_none());
    let tokens = post(server.address, "/v1/classify", &json!({ "tokens": ["goalie", "puck", "ice"] })).json();
    assert_eq!(names(&tokens["labels"]), ["sport/hockey"]);
}

#[test]
fn a_batch_and_a_stream_say_the_same_in_order() {
    let server = Running::usual(|_| {});
    let texts: Vec<String> = (0..200)
        .map(|n| ["puck ice", "crude barrel", "wheat corn", "grass striker", "zzz"][n % 5].repeat(1 + n % 3))
        .collect();
    let one = |text: &String| {
        let mut reply = post(server.address, "/v1/classify", &json!({ "text": text })).json();
        reply.as_object_mut().unwrap().remove("model");
        reply
    };
    let singly: Vec<Value> = texts.iter().take(20).map(one).collect();
    let documents: Vec<Value> = texts.iter().map(|t| json!({ "text": t })).collect();
    let batch = post(server.address, "/v1/classify", &json!({ "documents": documents })).json();
    let batch = batch["documents"].as_array().unwrap();
    assert_eq!(batch.len(), 200);
    assert_eq!(batch[..20], singly[..]);
    let lines: String = documents.iter().map(|d| format!("{d}\n")).collect();
    let kind = ("content-type", "application/x-ndjson; charset=utf-8");
    let stream = ask(server.address, "POST", "/v1/classify", &[kind], lines.trim_end().as_bytes());
    assert_eq!(stream.header("content-type"), "application/x-ndjson");
    let streamed: Vec<Value> = stream.text().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(&streamed, batch);
}

#[test]
fn a_stream_answers_while_it_is_sent_and_says_what_is_wrong_with_a_line() {
    let server = Running::usual(|_| {});
    let mut connection = Connection::open(server.address).unwrap();
    let headers = [("content-type", "application/x-ndjson"), ("transfer-encoding", "chunked")];
    connection.send("POST", "/v1/classify?top=1", &headers, b"").unwrap();
    let say = |connection: &mut Connection, line: &str| {
        use std::io::Write;
        let chunk = format!("{:x}\r\n{line}\r\n", line.len());
        connection.stream.write_all(chunk.as_bytes()).unwrap();
    };
    say(&mut connection, "{\"id\":\"a\",\"text\":\"puck ice\",\"labels\":[\"ignored\"]}\n");
    assert_eq!(connection.head(), 200);
    let first: Value = serde_json::from_slice(&connection.chunk().unwrap().unwrap()).unwrap();
    assert_eq!((&first["id"], first["ranked"].as_array().unwrap().len()), (&json!("a"), 1));
    say(&mut connection, "\n{\"text\": 7}\n");
    let second: Value = serde_json::from_slice(&connection.chunk().unwrap().unwrap()).unwrap();
    assert_eq!(second["line"], 3);
    assert!(second["error"].as_str().unwrap().contains("expected a string"), "{second}");
    // Cut within a line, and in the middle of a character.
    let line = "{\"text\":\"é crude barrel\"}".as_bytes();
    for part in [&line[..10], &line[10..]] {
        use std::io::Write;
        connection.stream.write_all(format!("{:x}\r\n", part.len()).as_bytes()).unwrap();
        connection.stream.write_all(part).unwrap();
        connection.stream.write_all(b"\r\n").unwrap();
    }
    say(&mut connection, "");
    let third: Value = serde_json::from_slice(&connection.chunk().unwrap().unwrap()).unwrap();
    assert_eq!(names(&third["labels"]), ["trade/oil"]);
    assert!(connection.chunk().unwrap().is_none());
}

#[test]
fn words_add_up_to_the_score_and_are_found_in_the_text() {
    let server = Running::usual(|_| {});
    let text = "Señor 🦊: Puck, PUCK and ice; the wheat!";
    let asked = json!({ "text": text, "label": "sport/hockey", "spans": true, "top": 100 });
    let reply = post(server.address, "/v1/explain", &asked).json();
    let why = &reply["reasons"][0];
    let sum: f64 = why["words"].as_array().unwrap().iter().map(|w| w["adds"].as_f64().unwrap()).sum();
    let score = why["score"].as_f64().unwrap();
    assert!((why["bias"].as_f64().unwrap() + sum - score).abs() < 1e-9, "{why}");
    assert!((why["sum"].as_f64().unwrap() - score).abs() < 1e-9, "{why}");
    let characters: Vec<char> = text.chars().collect();
    let spans: Vec<(String, f64)> = why["spans"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| {
            let range = s["start"].as_u64().unwrap() as usize..s["end"].as_u64().unwrap() as usize;
            (characters[range].iter().collect(), s["adds"].as_f64().unwrap())
        })
        .collect();
    let found: Vec<&str> = spans.iter().map(|(word, _)| word.as_str()).collect();
    assert_eq!(found, ["Puck", "PUCK", "ice", "wheat"]);
    assert!((spans.iter().map(|s| s.1).sum::<f64>() - sum).abs() < 1e-9);
    assert_eq!(why["words"].as_array().unwrap().iter().find(|w| w["word"] == "puck").unwrap()["count"], 2);
    assert!(spans[0].1 > 0.0 && spans[3].1 < spans[0].1 / 4.0, "{spans:?}");
    // Without a label: those decided, or the best.
    let decided = post(server.address, "/v1/explain", &json!({ "text": TEXT })).json();
    let explained: Vec<&Value> = decided["reasons"].as_array().unwrap().iter().map(|e| &e["label"]).collect();
    assert_eq!(json!(explained), decided["labels"]);
    let none = post(server.address, "/v1/explain", &json!({ "text": "unknown words" })).json();
    assert_eq!(none["reasons"].as_array().unwrap().len(), 1);
    assert_eq!(none["known"], false);
}

#[test]
fn neighbours_explain_by_documents_and_by_leaving_words_out() {
    let bytes = model("knn(9)", "").to_bytes().unwrap();
    let server = Running::with(&[("knn", &bytes)], |_| {});
    let asked = json!({ "text": "puck rink goalie wheat", "label": "sport/hockey", "spans": true, "top": 100 });
    let why = post(server.address, "/v1/explain", &asked).json()["reasons"][0].clone();
    let sum: f64 = why["neighbours"].as_array().unwrap().iter().map(|n| n["adds"].as_f64().unwrap()).sum();
    assert!((sum - why["score"].as_f64().unwrap()).abs() < 1e-9, "{why}");
    assert!(why["bias"].is_null() && why["sum"].is_null());
    // Neighbours are named by their ids, as the corpus has them.
    let ids: Vec<String> = (1..=model("knn(9)", "").summary.documents).map(|n| n.to_string()).collect();
    let named = |n: &Value| ids.iter().any(|id| n["document"] == json!(id));
    assert!(why["neighbours"].as_array().unwrap().iter().all(named), "{why}");
    let strongest = why["words"][0]["word"].as_str().unwrap();
    assert!(["puck", "rink", "goalie"].contains(&strongest), "{why}");
    let features = get(server.address, "/v1/features?label=sport/hockey");
    assert!(problem(&features, 422).contains("neighbours"));
    assert_eq!(get(server.address, "/v1/label?label=sport/hockey").json()["for"], json!([]));
}

#[test]
fn a_taxonomy_has_steps_paths_and_a_tree() {
    let model = tree();
    let bytes = model.to_bytes().unwrap();
    let server = Running::with(&[("flat", usual()), ("tree", &bytes)], |_| {});
    let reply = post(
        server.address,
        "/v1/classify",
        &json!({ "model": "tree", "text": "goalie puck ice rink stick", "top": 9 }),
    )
    .json();
    assert_eq!(names(&reply["labels"]), ["sport/hockey"]);
    assert_eq!(reply["paths"], json!([["sport", "sport/hockey"]]));
    let first = &reply["ranked"][0];
    assert_eq!(first["label"], "sport/hockey");
    let steps = first["steps"].as_array().unwrap();
    assert_eq!(steps.iter().map(|s| s["label"].as_str().unwrap()).collect::<Vec<_>>(), ["sport", "sport/hockey"]);
    for step in steps {
        assert!(step["score"].as_f64().unwrap() >= step["threshold"].as_f64().unwrap(), "{steps:?}");
    }
    let nodes = get(server.address, "/v1/taxonomy?model=tree").json();
    let nodes = nodes["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 6);
    for (at, node) in nodes.iter().enumerate() {
        let above = nodes[..at].iter().any(|n| n["label"] == node["parent"]);
        assert!(above || node["parent"].is_null(), "{node} comes before its parent");
    }
    problem(&get(server.address, "/v1/taxonomy?model=flat"), 404);
    // What a threshold would do is known for every node that can be accepted.
    let label = get(server.address, "/v1/label?model=tree&label=sport/hockey").json();
    let curve = label["curve"].as_array().unwrap();
    assert!(curve.len() > 1 && label["positives"].as_u64().unwrap() > 0);
    assert!(curve.windows(2).all(|w| w[0]["threshold"].as_f64() > w[1]["threshold"].as_f64()));
    assert!(curve.windows(2).all(|w| w[0]["recall"].as_f64() <= w[1]["recall"].as_f64()));
    assert_eq!(label["path"], json!(["sport", "sport/hockey"]));
    assert!(!label["for"].as_array().unwrap().is_empty());
}

#[test]
fn what_is_known_about_models_and_labels() {
    let server = Running::usual(|_| {});
    let model = Model::from_bytes(usual()).unwrap();
    let list = get(server.address, "/v1/models").json();
    assert_eq!(list["models"][0]["name"], "usual");
    let details = get(server.address, "/v1/model").json();
    assert_eq!(details["quality"].as_array().unwrap().len(), model.summary.quality.len());
    assert_eq!((&details["kind"], &details["generation"]), (&json!("linear"), &json!(1)));
    let labels = get(server.address, "/v1/labels?model=usual").json();
    for line in labels["labels"].as_array().unwrap() {
        let label = model.labels.id(line["label"].as_str().unwrap()).unwrap();
        assert_eq!(line["threshold"].as_f64(), model.thresholds.of(label));
        let best = model.curve(label).unwrap().best.unwrap();
        assert_eq!(line["quality"]["f1"].as_f64().unwrap() as f32, best.f, "a tuned threshold is the best one");
    }
    let words = get(server.address, "/v1/features?label=sport%2Fhockey&top=3").json();
    assert_eq!(words["for"].as_array().unwrap().len(), 3);
    assert!(words["for"][0]["weight"].as_f64() >= words["for"][1]["weight"].as_f64());
    assert!(words["against"][0]["weight"].as_f64().unwrap() < 0.0);
    let all = get(server.address, "/v1/features?top=5").json();
    assert_eq!(names(&all["features"]), model.features()[..5]);
    assert!(problem(&get(server.address, "/v1/label?label=sport/hokey"), 404).contains("did you mean sport/hockey"));
    assert!(problem(&get(server.address, "/v1/labels?model=usul"), 404).contains("usual"));
    assert_eq!(get(server.address, "/healthz").status, 200);
    assert_eq!(get(server.address, "/readyz").status, 200);
    let metrics = get(server.address, "/metrics").text();
    assert!(metrics.contains("tamis_requests_total{path=\"/v1/labels\",status=\"404\"} 1"), "{metrics}");
    assert!(metrics.contains("tamis_model_info{model=\"usual\",generation=\"1\"} 1"), "{metrics}");
    let openapi = get(server.address, "/openapi.json").json();
    assert_eq!(openapi["openapi"], "3.1.0");
}

#[test]
fn what_is_wrong_is_said() {
    let server = Running::usual(|_| {});
    let say = |body: &str| ask(server.address, "POST", "/v1/classify", &[JSON], body.as_bytes());
    assert!(problem(&say("{"), 400).contains("no JSON"));
    assert!(problem(&say("{}"), 422).contains("\"text\""));
    assert!(problem(&say(r#"{"txet":"a"}"#), 422).contains("txet"));
    assert!(problem(&say(r#"{"text":null}"#), 422).contains("null"));
    assert!(problem(&say(r#"{"text":"a","tokens":["b"]}"#), 422).contains("both"));
    assert!(problem(&say(r#"{"text":"a","documents":[]}"#), 422).contains("alone"));
    assert!(problem(&say(r#"{"documents":[{"text":"a"},{"id":"2"}]}"#), 422).contains("document 2"));
    assert!(problem(&say(r#"{"text":"a","top":10001}"#), 422).contains("10000"));
    assert!(problem(&say(r#"{"text":"a","model":"other"}"#), 404).contains("other"));
    assert!(problem(&get(server.address, "/v1/labels?modle=usual"), 422).contains("modle"));
    assert!(problem(&get(server.address, "/v1/classify"), 405).contains("method"));
    problem(&get(server.address, "/v2/classify"), 404);
    problem(&get(server.address, "/v1/features?label=a&label=b"), 422);
    problem(&ask(server.address, "POST", "/v1/classify", &[], br#"{"text":"a"}"#), 415);
    problem(&ask(server.address, "POST", "/v1/explain", &[("content-type", "text/plain")], br#"{"text":"a"}"#), 415);
}
