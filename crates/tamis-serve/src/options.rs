//! What can be set.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// A model to serve.
#[derive(Debug, Clone)]
pub struct ModelSource {
    /// The name requests use.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
}

/// Bounds that keep the server answering whatever comes in.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Most bytes of a request, and of one line of a stream.
    pub body: usize,
    /// Most documents of a request; streams have no such bound.
    pub batch: usize,
    /// A request must have been read, waited and answered within this time; a stream must not pause longer.
    pub time: Duration,
    /// Requests that compute at the same time.
    pub concurrency: usize,
    /// Requests that may wait for their turn; more are turned away.
    pub queue: usize,
    /// A client must have sent the head of a request within this time, also on a connection kept open.
    pub head: Duration,
    /// A client that takes nothing of its answer for so long, or takes it too slowly all that time, is cut.
    pub write: Duration,
    /// Open connections; more are told so, and only asked whether the server is well.
    pub connections: usize,
    /// Bytes a second that a client must send, or take, while the server waits for it.
    pub rate: u64,
    /// Most bytes of an answer to documents; streams have no such bound.
    pub answer: usize,
    /// Most bytes of requests and answers that are held at the same time over all connections, besides 64 KB for each: one
    /// half for streams, one for the others.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            body: 8 << 20,
            batch: 1000,
            time: Duration::from_secs(30),
            concurrency: threads,
            queue: 1024,
            head: Duration::from_secs(15),
            write: Duration::from_secs(30),
            connections: 8192,
            rate: 100,
            answer: 32 << 20,
            memory: 256 << 20,
        }
    }
}

/// How to serve.
#[derive(Debug, Clone)]
pub struct Options {
    /// At least one; the first is used where a request names none.
    pub models: Vec<ModelSource>,
    /// Where to listen; this machine only unless told otherwise.
    pub bind: SocketAddr,
    /// Names under which browsers may reach a server that listens on loopback, besides `localhost`.
    pub hosts: Vec<String>,
    /// What clients must send as `Authorization: Bearer …`.
    pub token: Option<String>,
    /// Folder of a study whose report is shown in the second tab.
    pub study: Option<PathBuf>,
    /// Bounds.
    pub limits: Limits,
    /// How often model files are looked at; never when zero.
    pub reload: Duration,
    /// How long a server that is told to end goes on accepting, so that nobody who comes late is turned away.
    pub drain: Duration,
    /// How long it then waits for what is in flight.
    pub grace: Duration,
    /// A line for every request.
    pub access_log: bool,
    /// Also the beginnings of texts. Off, because texts are other people's.
    pub log_texts: bool,
    /// Threads that serve.
    pub threads: usize,
}

impl Options {
    /// The defaults, for some models.
    pub fn new(models: Vec<ModelSource>) -> Self {
        let limits = Limits::default();
        Self {
            models,
            bind: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080),
            hosts: Vec::new(),
            token: None,
            study: None,
            threads: limits.concurrency,
            limits,
            reload: Duration::from_secs(1),
            drain: Duration::from_millis(500),
            grace: Duration::from_secs(30),
            access_log: false,
            log_texts: false,
        }
    }
}

impl ModelSource {
    /// `name=path`, or a path whose file stem is the name.
    pub fn parse(text: &str) -> tamis::Result<Self> {
        let (name, path) = match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && !name.contains(['/', '.']) => (name.to_owned(), path),
            _ => {
                let stem = std::path::Path::new(text).file_stem().map(|s| s.to_string_lossy().into_owned());
                (stem.unwrap_or_default(), text)
            }
        };
        let allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
        if name.is_empty() || name.len() > 100 || !name.chars().all(allowed) {
            let reason =
                "a model's name has letters, digits, blanks, dots, dashes and underscores; give one as NAME=FILE";
            return Err(tamis::Error::invalid("model", text, reason));
        }
        Ok(Self { name, path: path.into() })
    }
}
