//! `tamis serve` as a process: how it starts, what it refuses, how it ends.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Folder, SMALL, says};

struct Server {
    process: Child,
    log: BufReader<ChildStderr>,
    address: String,
}

/// `tamis serve` in the folder, as a command that is not started yet.
fn command(folder: &Folder, arguments: &str) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("tamis"));
    command.current_dir(folder.path("")).args(["serve", "--drain", "0.1"]).args(arguments.split_ascii_whitespace());
    command
}

impl Server {
    fn start(folder: &Folder, arguments: &str) -> Self {
        let mut process = command(folder, arguments).args(["--port", "0"]).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        let address = line.trim_end().rsplit_once("http://").unwrap_or_else(|| panic!("no address in {line:?}")).1;
        Self { address: address.trim_end_matches('/').to_owned(), process, log }
    }

    fn classify(&self, text: &str) -> String {
        classify(&self.address, text)
    }

    /// Sends a signal; gives the exit code and what was logged.
    fn end(mut self, signal: &str) -> (Option<i32>, String) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let mut rest = String::new();
        self.log.read_to_string(&mut rest).unwrap();
        (self.process.wait().unwrap().code(), rest)
    }
}

fn ask(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

fn get(address: &str, path: &str) -> String {
    ask(address, &format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"))
}

fn classify(address: &str, text: &str) -> String {
    let body = format!("{{\"text\":\"{text}\"}}");
    ask(
        address,
        &format!(
            "POST /v1/classify HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        ),
    )
}

/// The number that a metric has.
fn metric(address: &str, name: &str) -> u64 {
    let metrics = get(address, "/metrics");
    let line = metrics.lines().find(|l| l.starts_with(&format!("{name} "))).unwrap_or_else(|| panic!("{metrics}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

/// Lines of the log are lost and counted; a thread writes them, so it may take a moment.
#[track_caller]
fn lines_are_lost(address: &str) {
    let begin = Instant::now();
    while metric(address, "tamis_log_lines_lost_total") == 0 {
        assert!(begin.elapsed() < Duration::from_secs(10), "no line was counted as lost");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Tells a process to end; it must, soon and well.
#[track_caller]
fn must_end(process: &mut Child) {
    assert!(Command::new("kill").args(["-TERM", &process.id().to_string()]).status().unwrap().success());
    let begin = Instant::now();
    loop {
        if let Some(status) = process.try_wait().unwrap() {
            assert_eq!(status.code(), Some(0));
            return;
        }
        if begin.elapsed() > Duration::from_secs(15) {
            process.kill().unwrap();
            panic!("it did not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_log_that_nobody_reads_any_more_costs_no_request() {
    let folder = Folder::with_model();
    let server = Server::start(&folder, "small.model --access-log");
    let Server { mut process, log, address } = server;
    drop(log);
    for _ in 0..3 {
        says(&classify(&address, "goals"), &["200 OK", "sport"]);
        says(&get(&address, "/healthz"), &["200 OK"]);
    }
    lines_are_lost(&address);
    must_end(&mut process);
}

#[test]
fn a_full_disk_under_the_log_costs_no_request() {
    let folder = Folder::with_model();
    // The address cannot be read from the log, so a port is looked for beforehand.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut process =
        command(&folder, &format!("small.model --access-log --port {port}")).stderr(full).spawn().unwrap();
    let address = format!("127.0.0.1:{port}");
    let begin = Instant::now();
    while TcpStream::connect(&address).is_err() {
        assert!(process.try_wait().unwrap().is_none(), "it ended");
        assert!(begin.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(20));
    }
    says(&classify(&address, "goals"), &["200 OK", "sport"]);
    says(&get(&address, "/healthz"), &["200 OK"]);
    lines_are_lost(&address);
    must_end(&mut process);
    // What cannot even start has only its exit code to say so.
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = command(&folder, "missing.model --port 0").stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn a_log_that_is_not_read_on_blocks_nothing() {
    let folder = Folder::with_model();
    let Server { mut process, mut log, address } = Server::start(&folder, "small.model --log-texts");
    // A pipe holds 64 KB and the server another megabyte; this is more.
    let text = "\u{1f98a}".repeat(500);
    for _ in 0..900 {
        says(&classify(&address, &text), &["200 OK"]);
    }
    let lost = metric(&address, "tamis_log_lines_lost_total");
    assert!(lost > 0);
    // Read on, and the log goes on and says what is missing.
    let reader = std::thread::spawn(move || {
        let mut rest = String::new();
        let _ = log.read_to_string(&mut rest);
        (rest, log)
    });
    std::thread::sleep(Duration::from_millis(500));
    says(&classify(&address, "goals"), &["200 OK"]);
    must_end(&mut process);
    let (rest, _) = reader.join().unwrap();
    let said = rest.lines().filter(|l| l.contains("lines of the log were lost"));
    let counted: u64 = said.map(|l| l.rsplit_once("lines=").unwrap().1.trim().parse::<u64>().unwrap()).sum();
    // The request for the count may have cost a line too.
    assert!((lost..=lost + 2).contains(&counted), "{lost} lost, {counted} said to be");
    // And it also ends when nobody reads on.
    let Server { mut process, log, address } = Server::start(&folder, "small.model --log-texts");
    for _ in 0..100 {
        says(&classify(&address, &text), &["200 OK"]);
    }
    must_end(&mut process);
    drop(log);
}

#[test]
fn it_serves_and_ends_when_told() {
    let folder = Folder::with_model();
    for signal in ["-TERM", "-INT"] {
        let server = Server::start(&folder, "small.model other=small.model");
        says(&server.classify("goals and the referee"), &["200 OK", "\"model\":\"small\"", "\"labels\":[\"sport\"]"]);
        let (code, log) = server.end(signal);
        assert_eq!(code, Some(0), "{log}");
        says(&log, &["ending"]);
        assert!(!log.contains("referee") && !log.contains("request"), "nothing about requests unless asked: {log}");
    }
}

#[test]
fn logs_are_structured_and_have_no_texts_unless_asked() {
    let folder = Folder::with_model();
    let server = Server::start(&folder, "small.model --access-log --json-log");
    server.classify("goals and the referee");
    let (_, log) = server.end("-TERM");
    let line = log.lines().find(|l| l.contains("/v1/classify")).unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!((line["status"].as_u64(), line["method"].as_str()), (Some(200), Some("POST")));
    assert!(line["ms"].as_f64().is_some() && line["id"].as_str().is_some(), "{line}");
    assert!(!log.contains("referee"), "{log}");
    let server = Server::start(&folder, "small.model --log-texts");
    server.classify("goals and the referee");
    says(&server.end("-TERM").1, &["goals and the referee"]);
}

#[test]
fn what_it_refuses() {
    let folder = Folder::with_model();
    folder.file("bad.model", b"not a model");
    folder.file("short", "abc");
    says(&folder.refused("serve missing.model --port 0"), &["missing.model", "No such file"]);
    says(&folder.refused("serve bad.model --port 0"), &["bad.model", "not a tamis model"]);
    says(&folder.refused("serve small.model small.model --port 0"), &["small", "NAME=FILE"]);
    says(&folder.refused("serve small.model --bind 0.0.0.0 --port 0"), &["--token-file", "--open"]);
    says(&folder.refused("serve small.model --token-file short --port 0"), &["16 or more"]);
    says(&folder.refused("serve small.model --token-file none --port 0"), &["none", "No such file"]);
    says(&folder.refused("serve small.model --study nowhere --port 0"), &["nowhere"]);
    says(&folder.refused("serve small.model --max-time soon"), &["soon"]);
    says(&folder.refused("serve"), &["MODEL"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let output = folder.run(&format!("serve small.model --port {port}"));
    assert_eq!(output.status.code(), Some(1));
    says(&String::from_utf8_lossy(&output.stderr), &["in use", &port.to_string()]);
}

#[test]
fn a_signal_reloads_and_what_blocks_keeps_nobody() {
    let folder = Folder::with_model();
    let server = Server::start(&folder, "small.model --reload 0");
    // Another model under the same name, which nobody looks at.
    folder.file("other.jsonl", SMALL.replace("goals", "puck"));
    folder.ok("fit other.jsonl -o small.model --by df --features all --classifier bayes --folds 0");
    std::thread::sleep(Duration::from_millis(300));
    says(&server.classify("puck"), &["\"known\":false"]);
    let id = server.process.id().to_string();
    assert!(Command::new("kill").args(["-HUP", &id]).status().unwrap().success());
    let begin = Instant::now();
    while !server.classify("puck").contains("\"known\":true") {
        assert!(begin.elapsed() < Duration::from_secs(20), "it was not read again");
        std::thread::sleep(Duration::from_millis(50));
    }
    // A pipe that nobody writes to.
    std::fs::remove_file(folder.path("small.model")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.path("small.model")).status().unwrap().success());
    assert!(Command::new("kill").args(["-HUP", &id]).status().unwrap().success());
    while metric(&server.address, "tamis_models_refused_total") == 0 {
        assert!(begin.elapsed() < Duration::from_secs(20), "it was not looked at, or it blocks");
        std::thread::sleep(Duration::from_millis(50));
    }
    says(&server.classify("puck"), &["\"known\":true"]);
    let Server { mut process, mut log, .. } = server;
    must_end(&mut process);
    let mut said = String::new();
    log.read_to_string(&mut said).unwrap();
    says(&said, &["told to read the models again", "new model in service", "regular file", "ending"]);
    // Nor does it start with one.
    let output = folder.run("serve small.model --port 0");
    assert_eq!(output.status.code(), Some(2));
    says(&String::from_utf8_lossy(&output.stderr), &["small.model", "regular file"]);
}
