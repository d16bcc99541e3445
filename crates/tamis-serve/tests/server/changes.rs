//! Files that are replaced and servers that end, under load: nobody notices.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::client::{Connection, JSON, get, post};
use super::models::{Running, model, replace, usual};
use tamis_serve::ModelSource;

/// Waits until the model in service is of this generation.
fn wait_for(address: SocketAddr, generation: u64) {
    let begin = Instant::now();
    while get(address, "/v1/model").json()["generation"] != generation {
        assert!(begin.elapsed() < Duration::from_mins(1), "generation {generation} never came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn metric(address: SocketAddr, name: &str) -> u64 {
    let metrics = get(address, "/metrics").text();
    let line = metrics.lines().find(|l| l.starts_with(&format!("{name} "))).unwrap_or_else(|| panic!("{metrics}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_bad_file_is_refused_and_a_good_one_is_swapped_in() {
    let server = Running::usual(|_| {});
    let file = server.file("usual");
    let asks = |word: &str| post(server.address, "/v1/classify", &json!({ "text": word })).json();
    assert_eq!((asks("puck")["known"].clone(), asks("newpuck")["known"].clone()), (json!(true), json!(false)));
    let mut damaged = usual().to_vec();
    let at = damaged.len() / 2;
    damaged[at] ^= 1;
    for (times, bad) in [&damaged[..], &usual()[..usual().len() / 2], b"", b"not a model"].into_iter().enumerate() {
        // Written in place, as a careless copy would.
        std::fs::write(&file, bad).unwrap();
        let begin = Instant::now();
        while metric(server.address, "tamis_models_refused_total") <= times as u64 {
            assert!(begin.elapsed() < Duration::from_mins(1), "bad file {times} was not looked at");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(asks("puck")["known"], true, "the old model keeps serving");
        assert_eq!(get(server.address, "/readyz").status, 200);
    }
    std::fs::remove_file(&file).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(asks("puck")["known"], true);
    replace(&file, &model("svm", "new").to_bytes().unwrap());
    wait_for(server.address, 2);
    assert_eq!((asks("puck")["known"].clone(), asks("newpuck")["known"].clone()), (json!(false), json!(true)));
}

#[test]
fn one_new_file_is_read_once_whatever_the_number_of_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.model");
    std::fs::write(&path, usual()).unwrap();
    let server = Running::usual(|o| {
        o.models = ["a", "b"].map(|name| ModelSource { name: name.to_owned(), path: path.clone() }).to_vec();
    });
    replace(&path, &model("svm", "new").to_bytes().unwrap());
    wait_for(server.address, 2);
    for name in ["a", "b"] {
        let asked = json!({ "model": name, "text": "newpuck" });
        assert_eq!(post(server.address, "/v1/classify", &asked).json()["known"], true);
    }
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(metric(server.address, "tamis_models_read_total"), 1);
    assert_eq!(metric(server.address, "tamis_models_swapped_total"), 2);
    // The same model written again is no new model.
    replace(&path, &model("svm", "new").to_bytes().unwrap());
    let begin = Instant::now();
    while metric(server.address, "tamis_models_read_total") < 2 {
        assert!(begin.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(get(server.address, "/v1/model").json()["generation"], 2);
}

#[test]
fn a_file_that_cannot_be_read_to_its_end_stops_only_itself() {
    let mut server = Running::with(&[("pipe", usual()), ("other", usual())], |_| {});
    let pipe = server.file("pipe");
    std::fs::remove_file(&pipe).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let begin = Instant::now();
    while metric(server.address, "tamis_models_refused_total") == 0 {
        assert!(begin.elapsed() < Duration::from_secs(30), "the pipe was not looked at, or it blocks");
        std::thread::sleep(Duration::from_millis(20));
    }
    replace(&server.file("other"), &model("svm", "new").to_bytes().unwrap());
    let asked = json!({ "model": "other", "text": "newpuck" });
    while post(server.address, "/v1/classify", &asked).json()["known"] != true {
        assert!(begin.elapsed() < Duration::from_mins(1), "the other model is not replaced");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(post(server.address, "/v1/classify", &json!({ "text": "puck" })).json()["known"], true);
    let begin = Instant::now();
    server.ended();
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

/// Keeps asking on a few connections until told to stop; every answer must be whole and right.
struct Load {
    answered: AtomicUsize,
    stop: AtomicBool,
}

impl Load {
    fn new() -> Self {
        Self { answered: AtomicUsize::new(0), stop: AtomicBool::new(false) }
    }

    /// One client. A connection that the server closes after an answer is opened again; when nobody listens any more,
    /// the client goes home. Anything else is a lost request.
    fn client(&self, address: SocketAddr, ending: impl Fn() -> bool) {
        let body = json!({ "text": "puck newpuck ice newice" }).to_string();
        while !self.stop.load(Ordering::Relaxed) {
            let mut connection = match Connection::open(address) {
                Ok(connection) => connection,
                // Refused, or not answered any more.
                Err(_) if ending() => return,
                Err(error) => panic!("cannot connect: {error}"),
            };
            let (late, mut first) = (ending(), true);
            while !self.stop.load(Ordering::Relaxed) {
                let reply = match connection.ask("POST", "/v1/classify", &[JSON], body.as_bytes()) {
                    Ok(reply) => reply,
                    // The kernel greets one connection more after the server has taken its last: nothing of it was read.
                    Err(error) if late && first && error.kind() == std::io::ErrorKind::ConnectionReset => return,
                    Err(error) => panic!("a lost request: {error}"),
                };
                first = false;
                assert_eq!(reply.status, 200, "{}", reply.text());
                assert_eq!(reply.json()["labels"], json!(["sport/hockey"]), "{}", reply.text());
                self.answered.fetch_add(1, Ordering::Relaxed);
                if reply.header("connection") == "close" {
                    break;
                }
            }
        }
    }
}

#[test]
fn models_are_swapped_under_load_and_no_request_is_lost() {
    let server = Running::usual(|_| {});
    let (old, new) = (usual().to_vec(), model("svm", "new").to_bytes().unwrap());
    let load = Load::new();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..8).map(|_| scope.spawn(|| load.client(server.address, || false))).collect();
        for generation in 2..8 {
            replace(&server.file("usual"), if generation % 2 == 0 { &new } else { &old });
            wait_for(server.address, generation);
        }
        load.stop.store(true, Ordering::Relaxed);
        clients.into_iter().for_each(|c| c.join().unwrap());
    });
    assert!(load.answered.into_inner() > 100);
    assert_eq!(metric(server.address, "tamis_models_swapped_total"), 6);
}

#[test]
fn a_server_that_ends_under_load_loses_no_request() {
    for _ in 0..3 {
        let mut server = Running::usual(|o| o.drain = Duration::from_millis(200));
        let load = Load::new();
        let address = server.address;
        let ending = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let clients: Vec<_> =
                (0..8).map(|_| scope.spawn(|| load.client(address, || ending.load(Ordering::Relaxed)))).collect();
            std::thread::sleep(Duration::from_millis(300));
            ending.store(true, Ordering::Relaxed);
            server.tell_to_end();
            clients.into_iter().for_each(|c| c.join().unwrap());
        });
        server.ended();
        assert!(load.answered.into_inner() > 20);
        assert!(Connection::open(address).is_err(), "nobody listens any more");
    }
}

#[test]
fn what_is_in_flight_is_finished_and_the_server_is_not_ready_meanwhile() {
    let mut server = Running::usual(|o| o.drain = Duration::from_millis(400));
    let mut streaming = Connection::open(server.address).unwrap();
    let headers = [("content-type", "application/x-ndjson"), ("transfer-encoding", "chunked")];
    streaming.send("POST", "/v1/classify", &headers, b"10\r\n{\"text\":\"puck\"}\n\r\n").unwrap();
    assert_eq!(streaming.head(), 200);
    assert!(streaming.chunk().unwrap().is_some());
    server.tell_to_end();
    std::thread::sleep(Duration::from_millis(100));
    let reply = get(server.address, "/readyz");
    assert_eq!((reply.status, reply.header("connection")), (503, "close"));
    std::thread::sleep(Duration::from_secs(1));
    // Long after the listener is gone the stream still works, to its end.
    {
        use std::io::Write;
        streaming.stream.write_all(b"10\r\n{\"text\":\"puck\"}\n\r\n0\r\n\r\n").unwrap();
    }
    assert!(streaming.chunk().unwrap().is_some());
    assert!(streaming.chunk().unwrap().is_none());
    server.ended();
}
