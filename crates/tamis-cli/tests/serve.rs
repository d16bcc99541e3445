//! `tamis serve` as a process: how it starts, what it refuses, how it ends.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};

use common::{Folder, says};

struct Server {
    process: Child,
    log: BufReader<ChildStderr>,
    address: String,
}

impl Server {
    fn start(folder: &Folder, arguments: &str) -> Self {
        let mut process = Command::new(assert_cmd::cargo::cargo_bin!("tamis"))
            .current_dir(folder.path(""))
            .args(["serve", "--port", "0", "--drain", "0.1"])
            .args(arguments.split_ascii_whitespace())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        let address = line.trim_end().rsplit_once("http://").unwrap_or_else(|| panic!("no address in {line:?}")).1;
        Self { address: address.trim_end_matches('/').to_owned(), process, log }
    }

    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    }

    fn classify(&self, text: &str) -> String {
        let body = format!("{{\"text\":\"{text}\"}}");
        self.ask(&format!(
            "POST /v1/classify HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        ))
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
