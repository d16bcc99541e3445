//! Streams: every line has its answer or its own error, whatever happens around it.

use std::io::Write;
use std::net::{Shutdown, SocketAddr};

use serde_json::{Value, json};

use super::client::{Connection, get, post};
use super::models::{Running, model, tree};

const NDJSON: (&str, &str) = ("content-type", "application/x-ndjson");
const CHUNKED: (&str, &str) = ("transfer-encoding", "chunked");

/// Sends all lines while it reads the answers, as curl does.
fn stream(address: SocketAddr, path: &str, lines: &str) -> Vec<Value> {
    let mut connection = Connection::open(address).unwrap();
    let mut sender = connection.stream.try_clone().unwrap();
    connection.send("POST", path, &[NDJSON, CHUNKED], b"").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for part in lines.as_bytes().chunks(10_000) {
                sender.write_all(format!("{:x}\r\n", part.len()).as_bytes()).unwrap();
                sender.write_all(part).unwrap();
                sender.write_all(b"\r\n").unwrap();
            }
            sender.write_all(b"0\r\n\r\n").unwrap();
        });
        let reply = connection.reply().unwrap();
        assert_eq!(reply.status, 200);
        reply.text().lines().map(|l| serde_json::from_str(l).unwrap()).collect()
    })
}

#[test]
fn streams_under_overload_wait_and_lose_nothing() {
    let bytes = model("knn(9)", "").to_bytes().unwrap();
    let server = Running::with(&[("knn", &bytes)], |o| {
        o.limits.concurrency = 1;
        o.limits.queue = 1;
        o.limits.time = std::time::Duration::from_secs(5);
    });
    let words = "puck wheat crude ".repeat(20);
    let lines: String = (0..1500).map(|n| format!("{{\"id\":\"{n}\",\"text\":\"{words}\"}}\n")).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let answers = stream(server.address, "/v1/classify", &lines);
                assert_eq!(answers.len(), 1500);
                for (n, answer) in answers.iter().enumerate() {
                    assert_eq!(answer["id"], n.to_string(), "{answer}");
                }
            });
        }
        // Single requests are served meanwhile: streams do not stand in their line.
        for _ in 0..20 {
            assert_eq!(post(server.address, "/v1/classify", &json!({ "text": "puck" })).status, 200);
        }
    });
}

#[test]
fn a_line_that_is_too_long_is_passed_over_and_the_others_are_answered() {
    let server = Running::usual(|o| o.limits.body = 20_000);
    let long = format!("{{\"text\":\"{}\"}}\n", "x ".repeat(200_000));
    let fine = "{\"text\":\"puck ice\"}\n";
    let lines = [fine, &long, fine, "nonsense\n", fine, &long, fine].concat();
    let answers = stream(server.address, "/v1/classify", &lines);
    assert_eq!(answers.len(), 7);
    for (answer, line) in answers.iter().zip(1..) {
        let wrong = [2, 4, 6].contains(&line);
        assert_eq!(answer["line"].as_u64(), wrong.then_some(line), "{answer}");
        assert_eq!(answer["labels"].is_array(), !wrong, "{answer}");
    }
    assert!(answers[1]["error"].as_str().unwrap().contains("longer than 20000 bytes"));
}

#[test]
fn what_came_before_a_break_is_answered_and_the_break_is_said_in_its_place() {
    let server = Running::usual(|_| {});
    let lines = "{\"text\":\"puck ice\"}\n".repeat(3) + "{\"text\":\"whe";
    for chunked in [true, false] {
        let mut connection = Connection::open(server.address).unwrap();
        if chunked {
            let body = format!("{:x}\r\n{lines}\r\n", lines.len());
            connection.send("POST", "/v1/classify", &[NDJSON, CHUNKED], body.as_bytes()).unwrap();
        } else {
            let head = "POST /v1/classify HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n\
                        content-length: 9999\r\n\r\n";
            connection.stream.write_all((head.to_owned() + &lines).as_bytes()).unwrap();
        }
        connection.stream.shutdown(Shutdown::Write).unwrap();
        let reply = connection.reply().unwrap();
        let answers: Vec<Value> = reply.text().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(answers.len(), 4, "{answers:?}");
        assert!(answers[..3].iter().all(|a| a["labels"] == json!(["sport/hockey"])), "{answers:?}");
        assert_eq!(answers[3]["line"], 4);
        assert!(answers[3]["error"].as_str().unwrap().contains("broke off"), "{answers:?}");
    }
}

#[test]
fn short_lines_with_long_answers_are_all_answered() {
    let bytes = tree().to_bytes().unwrap();
    let server = Running::with(&[("tree", &bytes)], |o| o.limits.memory = 1 << 20);
    let lines = "{\"text\":\"\"}\n".repeat(20_000);
    let answers = stream(server.address, "/v1/classify?top=100", &lines);
    assert_eq!(answers.len(), 20_000);
    assert!(answers.iter().all(|a| a == &answers[0]), "they are all the same");
    let metrics = get(server.address, "/metrics").text();
    assert!(metrics.contains("tamis_documents_total 20000") && metrics.contains("tamis_buffered_bytes 0"), "{metrics}");
}

#[test]
fn numbers_are_ids_and_a_byte_order_mark_is_passed_over() {
    let server = Running::usual(|_| {});
    let lines = "\u{feff}{\"id\":7,\"text\":\"puck\"}\n{\"id\":-8,\"text\":\"puck\"}\n{\"id\":null,\"text\":\"puck\"}\n\
                 {\"id\":7.5,\"text\":\"puck\"}\n\u{feff}{\"text\":\"puck\"}\n";
    let answers = stream(server.address, "/v1/classify", lines);
    assert_eq!((&answers[0]["id"], &answers[1]["id"]), (&json!("7"), &json!("-8")));
    assert!(answers[2].get("id").is_none() && answers[2]["known"] == true, "{answers:?}");
    assert!(answers[3]["error"].as_str().unwrap().contains("a string or a whole number"), "{answers:?}");
    assert_eq!(answers[4]["line"], 5, "only the file begins with a mark: {answers:?}");
    let one = "\u{feff}{\"id\": 12, \"text\": \"puck\"}";
    let reply = super::client::ask(server.address, "POST", "/v1/classify", &[super::client::JSON], one.as_bytes());
    assert_eq!(reply.json()["id"], "12");
    let batch = post(server.address, "/v1/classify", &json!({ "documents": [{ "id": 3, "text": "puck" }] })).json();
    assert_eq!(batch["documents"][0]["id"], "3");
}
