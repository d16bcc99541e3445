//! Sizes, times, queues, slow clients.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Connection, JSON, ask, get, post, problem};
use super::models::{Running, model};

#[test]
fn too_large_too_many() {
    let server = Running::usual(|o| {
        o.limits.body = 10_000;
        o.limits.batch = 3;
    });
    let large = json!({ "text": "x".repeat(20_000) });
    assert!(problem(&post(server.address, "/v1/classify", &large), 413).contains("10000 bytes"));
    assert!(problem(&post(server.address, "/v1/explain", &large), 413).contains("10000 bytes"));
    // Without a length the size shows only while reading.
    let mut connection = Connection::open(server.address).unwrap();
    let chunk = format!("{:x}\r\n{}\r\n0\r\n\r\n", 20_000, "x".repeat(20_000));
    connection.send("POST", "/v1/classify", &[JSON, ("transfer-encoding", "chunked")], chunk.as_bytes()).unwrap();
    problem(&connection.reply().unwrap(), 413);
    // Much larger than what a socket holds: the client still gets to read why.
    let huge = vec![b'x'; 8 << 20];
    problem(&ask(server.address, "POST", "/v1/classify", &[JSON], &huge), 413);
    let four = json!({ "documents": [{ "text": "" }, { "text": "" }, { "text": "" }, { "text": "" }] });
    assert!(problem(&post(server.address, "/v1/classify", &four), 422).contains("at most 3"));
    // A stream may be longer than that, but not one line of it.
    let lines = "{\"text\":\"puck\"}\n".repeat(2000);
    let kind = ("content-type", "application/x-ndjson");
    let mut connection = Connection::open(server.address).unwrap();
    connection.send("POST", "/v1/classify", &[kind], lines.as_bytes()).unwrap();
    assert_eq!(connection.reply().unwrap().text().lines().count(), 2000);
    let long = format!("{{\"text\":\"{}\"}}", "x ".repeat(100_000));
    let mut connection = Connection::open(server.address).unwrap();
    connection.send("POST", "/v1/classify", &[kind], long.as_bytes()).unwrap();
    let said: Value = serde_json::from_str(connection.reply().unwrap().text().trim()).unwrap();
    assert!(said["line"] == 1 && said["error"].as_str().unwrap().contains("longer than 10000 bytes"), "{said}");
}

#[test]
fn a_head_of_any_size_is_not_taken() {
    let server = Running::usual(|_| {});
    let mut connection = Connection::open(server.address).unwrap();
    let long = "x".repeat(200_000);
    let _ = connection.send("GET", "/healthz", &[("x-long", &long)], b"");
    let status = connection.reply().map_or(0, |r| r.status);
    assert!(matches!(status, 0 | 400 | 431), "{status}");
    assert_eq!(get(server.address, "/healthz").status, 200);
}

#[test]
fn who_is_too_many_is_turned_away_and_the_others_are_served() {
    let bytes = model("knn(9)", "").to_bytes().unwrap();
    let server = Running::with(&[("knn", &bytes)], |o| {
        o.limits.concurrency = 1;
        o.limits.queue = 2;
    });
    // Explaining a long text with neighbours takes a while: each of its words is left out once.
    let words: Vec<String> =
        (0..60_000).map(|n| format!("{} common{}", ["puck", "wheat", "crude"][n % 3], n % 11)).collect();
    let long = json!({ "documents": vec![json!({ "text": words.join(" ") }); 9] });
    let (served, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let reply = post(server.address, "/v1/classify", &long);
                match reply.status {
                    200 => served.fetch_add(1, Ordering::Relaxed),
                    _ => {
                        assert!(problem(&reply, 429).contains("waiting"), "{}", reply.text());
                        assert_eq!(reply.header("retry-after"), "1");
                        refused.fetch_add(1, Ordering::Relaxed)
                    }
                };
            });
        }
    });
    let (served, refused) = (served.into_inner(), refused.into_inner());
    assert_eq!(served + refused, 12);
    assert!(served >= 1 && refused >= 1, "{served} served, {refused} refused");
    assert_eq!(post(server.address, "/v1/classify", &json!({ "text": "puck" })).status, 200);
}

#[test]
fn work_that_takes_too_long_is_given_up() {
    let bytes = model("knn(9)", "").to_bytes().unwrap();
    let server = Running::with(&[("knn", &bytes)], |o| o.limits.time = Duration::from_millis(300));
    let words: Vec<String> = (0..100_000).map(|n| format!("{}{n}", ["puck", "wheat", "crude"][n % 3])).collect();
    let long = json!({ "documents": vec![json!({ "text": words.join(" ") }); 7] });
    let reply = post(server.address, "/v1/classify", &json!({ "documents": vec![long["documents"][0].clone(); 6] }));
    if reply.status != 200 {
        assert!(problem(&reply, 503).contains("0.3 s"), "{}", reply.text());
    }
    // Half a request that stops coming.
    let mut connection = Connection::open(server.address).unwrap();
    connection.stream.write_all(b"POST /v1/classify HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{").unwrap();
    assert!(problem(&connection.reply().unwrap(), 408).contains("did not arrive"));
    // A stream that pauses.
    let mut connection = Connection::open(server.address).unwrap();
    let headers = [("content-type", "application/x-ndjson"), ("transfer-encoding", "chunked")];
    connection.send("POST", "/v1/classify", &headers, b"3\r\n{\"t\r\n").unwrap();
    assert_eq!(connection.head(), 200);
    let said = String::from_utf8(connection.chunk().unwrap().unwrap()).unwrap();
    assert!(said.contains("\"line\":1") && said.contains("less than 100 bytes a second"), "{said}");
}

#[test]
fn slow_clients_are_cut_and_others_are_served_meanwhile() {
    let server = Running::usual(|o| o.limits.head = Duration::from_secs(4));
    let mut slow: Vec<TcpStream> = (0..400)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.write_all(b"POST /v1/classify HTTP/1.1\r\nhost: local").unwrap();
            stream
        })
        .collect();
    for _ in 0..50 {
        assert_eq!(post(server.address, "/v1/classify", &json!({ "text": "puck" })).status, 200);
    }
    for stream in &mut slow {
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut rest = Vec::new();
        // Cut: the end of the stream, or a reset. A timeout here would mean that it was left open.
        if let Err(error) = stream.read_to_end(&mut rest) {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
        }
    }
    assert_eq!(get(server.address, "/healthz").status, 200);
}

#[test]
fn a_client_that_reads_nothing_is_cut() {
    let server = Running::usual(|o| o.limits.write = Duration::from_millis(300));
    let mut connection = Connection::open(server.address).unwrap();
    let kind = ("content-type", "application/x-ndjson");
    let lines = "{\"text\":\"puck ice wheat crude striker\"}\n".repeat(100_000);
    let _ = connection.send("POST", "/v1/classify?top=9", &[kind], lines.as_bytes());
    let begin = Instant::now();
    loop {
        let metrics = get(server.address, "/metrics").text();
        if metrics.contains("tamis_connections_cut_total 1") {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "{metrics}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
