//! Sizes, times, queues, slow clients.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Connection, JSON, ask, get, post, problem};
use super::models::{Running, model, tree};

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

#[test]
fn an_answer_has_a_limit() {
    let bytes = tree().to_bytes().unwrap();
    let server = Running::with(&[("tree", &bytes)], |o| o.limits.answer = 100_000);
    let empty = |n: usize| json!({ "documents": vec![json!({ "text": "" }); n], "top": 1000 });
    assert_eq!(post(server.address, "/v1/classify", &empty(10)).status, 200);
    let said = problem(&post(server.address, "/v1/classify", &empty(1000)), 422);
    assert!(said.contains("100000 bytes") && said.contains("top"), "{said}");
    let text = "puck wheat crude penalty ".repeat(2000);
    let said = problem(&post(server.address, "/v1/explain", &json!({ "text": text, "spans": true })), 422);
    assert!(said.contains("100000 bytes") && said.contains("label"), "{said}");
    assert_eq!(get(server.address, "/v1/server").json()["answer_limit"], 100_000);
}

/// Waits for something to be so.
#[track_caller]
fn soon(what: &str, so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !so() {
        assert!(begin.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn streams_that_crawl_are_cut_and_health_is_answered_meanwhile() {
    let server = Running::usual(|o| {
        o.limits.connections = 8;
        o.limits.time = Duration::from_secs(2);
    });
    let head = b"POST /v1/classify HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n\
                 transfer-encoding: chunked\r\n\r\n";
    let mut slow: Vec<TcpStream> = (0..8).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    slow.iter_mut().for_each(|stream| stream.write_all(head).unwrap());
    std::thread::scope(|scope| {
        let crawl = scope.spawn(|| {
            // Ten bytes a second each, until nobody takes them.
            while slow.iter_mut().any(|stream| stream.write_all(b"1\r\nx\r\n").is_ok()) {
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        std::thread::sleep(Duration::from_millis(300));
        for path in ["/healthz", "/readyz", "/metrics"] {
            assert_eq!(get(server.address, path).status, 200, "{path}");
        }
        let said = get(server.address, "/v1/models");
        assert_eq!(said.header("retry-after"), "1");
        assert!(problem(&said, 503).contains("all 8 connections"));
        soon("the streams are cut", || get(server.address, "/v1/models").status == 200);
        crawl.join().unwrap();
    });
}

#[test]
fn those_beyond_the_limit_cannot_hold_the_reserve() {
    let server = Running::usual(|o| {
        o.limits.connections = 4;
        o.limits.head = Duration::from_secs(20);
    });
    // They say nothing, and there are more of them than places of any kind.
    let _idle: Vec<TcpStream> = (0..30).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    let begin = Instant::now();
    assert_eq!(get(server.address, "/healthz").status, 200);
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

#[test]
fn a_client_that_takes_its_answer_slowly_is_cut() {
    let server = Running::usual(|o| {
        o.limits.write = Duration::from_millis(500);
        o.limits.rate = 100_000_000;
    });
    let mut connection = Connection::open(server.address).unwrap();
    let lines = "{\"text\":\"puck ice wheat crude striker\"}\n".repeat(100_000);
    let kind = ("content-type", "application/x-ndjson");
    let _ = connection.send("POST", "/v1/classify?top=9", &[kind], lines.as_bytes());
    let begin = Instant::now();
    let mut some = vec![0; 64 << 10];
    // Always something, never enough; whoever takes nothing at all is another case.
    while connection.stream.read(&mut some).is_ok_and(|n| n > 0) {
        assert!(begin.elapsed() < Duration::from_secs(30), "it goes on for ever");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(get(server.address, "/metrics").text().contains("tamis_connections_cut_total 1"));
}

#[test]
fn what_is_held_over_all_connections_has_a_limit() {
    let server = Running::usual(|o| o.limits.memory = 8 << 20);
    let held = || {
        let metrics = get(server.address, "/metrics").text();
        let line = metrics.lines().find(|l| l.starts_with("tamis_buffered_bytes ")).unwrap().to_owned();
        line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()
    };
    let head = "POST /v1/classify HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                content-length: 4000000\r\n\r\n";
    let begun = [head.as_bytes(), &vec![b' '; 1_000_000]].concat();
    let mut unfinished: Vec<Connection> = Vec::new();
    for n in 1..=4 {
        let mut connection = Connection::open(server.address).unwrap();
        connection.stream.write_all(&begun).unwrap();
        unfinished.push(connection);
        soon("what came is held", || held() > n * 900_000);
    }
    // The next ones are refused, and what they sent is not kept.
    for _ in 0..3 {
        let mut connection = Connection::open(server.address).unwrap();
        connection.stream.write_all(&begun).unwrap();
        problem(&connection.reply().unwrap(), 503);
    }
    assert!(held() <= 4 << 20, "{}", held());
    // Small ones always have room.
    assert_eq!(post(server.address, "/v1/classify", &json!({ "text": "puck" })).status, 200);
    let large = post(server.address, "/v1/classify", &json!({ "text": "puck ".repeat(500_000) }));
    assert!(problem(&large, 503).contains("try again"));
    assert_eq!(large.header("retry-after"), "1");
    drop(unfinished);
    soon("the room is given back", || held() == 0);
    assert_eq!(post(server.address, "/v1/classify", &json!({ "text": "puck ".repeat(500_000) })).status, 200);
}

#[test]
fn what_is_wrong_with_long_requests_is_said() {
    // They are parsed where others compute.
    let server = Running::usual(|_| {});
    let wrong = [b"{\"documents\":[", "[\"a\"],".repeat(1_000_000).as_bytes(), b"[]]}"].concat();
    assert!(problem(&ask(server.address, "POST", "/v1/classify", &[JSON], &wrong), 422).contains("object"));
    let broken = [b"{\"text\":\"", "x".repeat(1_000_000).as_bytes()].concat();
    problem(&ask(server.address, "POST", "/v1/classify", &[JSON], &broken), 400);
}
