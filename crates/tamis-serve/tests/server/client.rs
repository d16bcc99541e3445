//! A plain HTTP/1.1 client on blocking sockets: it does what it is told, also what is wrong.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// A connection that stays open from request to request.
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_mins(1)))?;
        Ok(Self { reader: BufReader::new(stream.try_clone()?), stream })
    }

    pub(crate) fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> std::io::Result<()> {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head.push_str("host: localhost\r\n");
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("transfer-encoding")) {
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let mut message = head.into_bytes();
        message.extend_from_slice(body);
        self.stream.write_all(&message)
    }

    pub(crate) fn reply(&mut self) -> std::io::Result<Reply> {
        let gone = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|s| s.parse().ok()).ok_or_else(gone)?;
        let mut headers = HashMap::new();
        loop {
            line.clear();
            if self.reader.read_line(&mut line)? == 0 {
                return Err(gone());
            }
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let mut body = Vec::new();
        if let Some(length) = headers.get("content-length").and_then(|v| v.parse::<usize>().ok()) {
            body.resize(length, 0);
            self.reader.read_exact(&mut body)?;
        } else if headers.get("transfer-encoding").is_some_and(|v| v == "chunked") {
            while let Some(chunk) = self.chunk()? {
                body.extend_from_slice(&chunk);
            }
        }
        Ok(Reply { status, headers, body })
    }

    /// The next chunk of a chunked body; none after the last.
    pub(crate) fn chunk(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16).map_err(|_| std::io::ErrorKind::UnexpectedEof)?;
        let mut chunk = vec![0; size + 2];
        self.reader.read_exact(&mut chunk)?;
        chunk.truncate(size);
        Ok((size > 0).then_some(chunk))
    }

    /// The head of a reply whose body is read by `chunk`.
    pub(crate) fn head(&mut self) -> u16 {
        let mut status = 0;
        loop {
            let mut line = String::new();
            self.reader.read_line(&mut line).unwrap();
            if line.trim_end().is_empty() {
                return status;
            }
            if line.starts_with("HTTP/") {
                status = line.split(' ').nth(1).unwrap().parse().unwrap();
            }
        }
    }

    pub(crate) fn ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> std::io::Result<Reply> {
        self.send(method, path, headers, body)?;
        self.reply()
    }
}

pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");

pub(crate) fn ask(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    Connection::open(address).and_then(|mut c| c.ask(method, path, headers, body)).unwrap()
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Reply {
    ask(address, "GET", path, &[], b"")
}

pub(crate) fn post(address: SocketAddr, path: &str, body: &Value) -> Reply {
    ask(address, "POST", path, &[JSON], body.to_string().as_bytes())
}

/// A problem body with this status; gives its detail.
#[track_caller]
pub(crate) fn problem(reply: &Reply, status: u16) -> String {
    assert_eq!(reply.status, status, "{}", reply.text());
    assert_eq!(reply.header("content-type"), "application/problem+json");
    let body = reply.json();
    assert_eq!(body["status"], status);
    assert_eq!(body["type"], "about:blank");
    body["detail"].as_str().unwrap().to_owned()
}
