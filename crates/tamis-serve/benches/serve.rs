//! `cargo xtask bench serve`: the server under load, on 20 Newsgroups and on a model of 100 MB.
//!
//! With `--load ADDRESS` only the load is made, against any server that takes `{"text": …}`: so the peer is measured by the
//! same client.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tamis::classify::{Fitted, Linear, LinearParts, Outputs, Store, Weighter, Weighting, Weights};
use tamis::corpus::Body;
use tamis::counts::Vocabulary;
use tamis::model::{Model, ModelParts, Ranker, Seen, Shown, TrainingSummary};
use tamis::terms::TextOptions;
use tamis::threshold::{Threshold, Thresholds};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let data = PathBuf::from(std::env::var_os("TAMIS_DATA").expect("TAMIS_DATA names the folder of the corpora"));
    let texts = newsgroups(&data.join("20news-bydate/test"));
    if let [load, address] = arguments.as_slice()
        && load == "--load"
    {
        let address = address.parse().expect("an address such as 127.0.0.1:8080");
        return common(address, &requests(&texts));
    }
    let tamis = PathBuf::from(std::env::var_os("TAMIS_BIN").expect("TAMIS_BIN names the program"));
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("news.model");
    run(
        &tamis,
        &["fit", &text(&data.join("20news-bydate")), "--encoding", "latin1", "-o", &text(&model), "-q"],
        &["--by", "chi2max", "--features", "all", "--classifier", "svm", "--threshold", "rcut(1)", "--folds", "0"],
    );
    let bodies = requests(&texts);
    let server = Server::start(&tamis, &model);
    common(server.address, &bodies);
    latency_over_the_library(&model, server.address, &texts, &bodies);
    steady(&server, &bodies);
    drop(server);
    batch(&tamis, &model, &texts, folder.path());
    startup(&tamis, folder.path());
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn run(program: &Path, first: &[&str], more: &[&str]) {
    let status = Command::new(program).args(first).args(more).status().expect("the program starts");
    assert!(status.success(), "{first:?} {more:?}");
}

#[allow(clippy::print_stdout)]
fn report(what: &str, value: f64, unit: &str, note: &str) {
    println!("{}", serde_json::json!({ "what": what, "value": value, "unit": unit, "note": note }));
}

fn newsgroups(folder: &Path) -> Vec<String> {
    let list = |path: &Path| {
        let mut all: Vec<PathBuf> =
            std::fs::read_dir(path).expect("a folder").filter_map(|e| Some(e.ok()?.path())).collect();
        all.sort();
        all
    };
    let files = list(folder).into_iter().flat_map(|group| list(&group));
    files.map(|f| std::fs::read(f).expect("a file").iter().map(|&b| char::from(b)).collect()).collect()
}

/// Whole requests, ready to send.
fn requests(texts: &[String]) -> Vec<Vec<u8>> {
    texts
        .iter()
        .map(|text| {
            let body = serde_json::json!({ "text": text }).to_string();
            let head = "POST /v1/classify HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
            format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
        })
        .collect()
}

/// A connection that is kept open.
struct Connection {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
    body: Vec<u8>,
}

impl Connection {
    fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("a socket");
        let reader = BufReader::new(stream.try_clone().expect("a socket"));
        Self { stream, reader, body: Vec::new() }
    }

    /// Whether the answer was 200.
    fn ask(&mut self, request: &[u8]) -> bool {
        self.stream.write_all(request).expect("the server reads");
        let (mut line, mut status, mut length) = (String::new(), false, 0);
        loop {
            line.clear();
            self.reader.read_line(&mut line).expect("the server answers");
            let end = line.trim_end();
            if end.is_empty() {
                break;
            }
            if end.starts_with("HTTP/1.1") {
                status = end.contains(" 200");
            } else if let Some((name, value)) = end.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().expect("a number");
            }
        }
        self.body.resize(length, 0);
        self.reader.read_exact(&mut self.body).expect("a whole answer");
        status
    }
}

struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    fn start(tamis: &Path, model: &Path) -> Self {
        let mut process = Command::new(tamis)
            .arg("serve")
            .arg(model)
            .args(["--port", "0"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut lines = BufReader::new(process.stderr.take().expect("a pipe")).lines();
        let said = lines.next().expect("a line").expect("text");
        let address = said.rsplit_once("http://").and_then(|(_, a)| a.trim_end_matches('/').parse().ok());
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, address: address.unwrap_or_else(|| panic!("no address in {said}")) }
    }

    /// Memory in use, in MB.
    fn memory(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap_or_default();
        let kb = status
            .lines()
            .find_map(|l| l.strip_prefix("VmRSS:")?.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
        kb.unwrap_or(f64::NAN) / 1024.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn quantile(sorted: &[Duration], q: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * q).round() as usize].as_secs_f64() * 1e3
}

/// What ours and the peer are compared by.
fn common(address: SocketAddr, bodies: &[Vec<u8>]) {
    closed(address, bodies, 16, Duration::from_secs(2));
    let (rate, _) = closed(address, bodies, 16, Duration::from_secs(8));
    report("requests with one document, 16 connections", rate, "/s", "");
    let (rate, latencies) = closed(address, bodies, 1, Duration::from_secs(4));
    report("requests with one document, 1 connection", rate, "/s", "");
    report("median latency, 1 connection", quantile(&latencies, 0.5), "ms", "");
}

/// As many requests as go, on so many connections. Gives requests a second and sorted latencies.
fn closed(address: SocketAddr, bodies: &[Vec<u8>], connections: usize, time: Duration) -> (f64, Vec<Duration>) {
    let begin = Instant::now();
    let next = AtomicUsize::new(0);
    let mut all: Vec<Duration> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..connections)
            .map(|_| {
                scope.spawn(|| {
                    let mut connection = Connection::open(address);
                    let mut latencies = Vec::new();
                    while begin.elapsed() < time {
                        let request = &bodies[next.fetch_add(1, Ordering::Relaxed) % bodies.len()];
                        let sent = Instant::now();
                        assert!(connection.ask(request), "{}", String::from_utf8_lossy(&connection.body));
                        latencies.push(sent.elapsed());
                    }
                    latencies
                })
            })
            .collect();
        clients.into_iter().flat_map(|c| c.join().expect("a client")).collect()
    });
    let rate = all.len() as f64 / begin.elapsed().as_secs_f64();
    all.sort_unstable();
    (rate, all)
}

fn latency_over_the_library(model: &Path, address: SocketAddr, texts: &[String], bodies: &[Vec<u8>]) {
    let model = Model::read(model).expect("a model");
    let mut labeller = model.labeller();
    let mut library = |texts: &[String]| {
        let mut times: Vec<Duration> = texts
            .iter()
            .map(|text| {
                let begin = Instant::now();
                std::hint::black_box(labeller.label(&Body::Text(text.as_str().into())).decided.len());
                begin.elapsed()
            })
            .collect();
        times.sort_unstable();
        quantile(&times, 0.5)
    };
    library(texts);
    let library = library(texts);
    let mut connection = Connection::open(address);
    let mut times: Vec<Duration> = bodies
        .iter()
        .map(|request| {
            let begin = Instant::now();
            assert!(connection.ask(request));
            begin.elapsed()
        })
        .collect();
    times.sort_unstable();
    let http = quantile(&times, 0.5);
    report("median of the library call", library, "ms", "one document, one thread, the same documents");
    report("median over HTTP less the library call", http - library, "ms", "goal: below 1");
}

/// 2,000 requests a second for 30 s, timed from when each was due; then the same with 1,000 slow connections open.
fn steady(server: &Server, bodies: &[Vec<u8>]) {
    let address = server.address;
    let before = server.memory();
    let held = paced(address, bodies, 2000.0, Duration::from_secs(30));
    let after = server.memory();
    report("2,000 requests/s for 30 s: answered", held.0, "/s", &format!("{} errors", held.2));
    report("2,000 requests/s for 30 s: median", quantile(&held.1, 0.5), "ms", "from the moment each was due");
    report("2,000 requests/s for 30 s: p99", quantile(&held.1, 0.99), "ms", "");
    report("memory before", before, "MB", "");
    report("memory after 60,000 requests", after, "MB", "");
    let slow: Vec<TcpStream> = (0..1000)
        .map(|_| {
            let mut stream = TcpStream::connect(address).expect("the server accepts");
            stream.write_all(b"POST /v1/classify HTTP/1.1\r\nhost: loc").expect("a socket");
            stream
        })
        .collect();
    let held = paced(address, bodies, 2000.0, Duration::from_secs(8));
    drop(slow);
    report("with 1,000 slow connections open: answered", held.0, "/s", &format!("{} errors", held.2));
    report("with 1,000 slow connections open: p99", quantile(&held.1, 0.99), "ms", "");
}

fn paced(address: SocketAddr, bodies: &[Vec<u8>], rate: f64, time: Duration) -> (f64, Vec<Duration>, u64) {
    const CONNECTIONS: usize = 32;
    let (errors, begin) = (AtomicU64::new(0), Instant::now() + Duration::from_millis(50));
    let total = (rate * time.as_secs_f64()) as usize;
    let next = AtomicUsize::new(0);
    let mut all: Vec<Duration> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                scope.spawn(|| {
                    let mut connection = Connection::open(address);
                    let mut latencies = Vec::new();
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        if at >= total {
                            return latencies;
                        }
                        let due = begin + Duration::from_secs_f64(at as f64 / rate);
                        std::thread::sleep(due.saturating_duration_since(Instant::now()));
                        if !connection.ask(&bodies[at % bodies.len()]) {
                            errors.fetch_add(1, Ordering::Relaxed);
                        }
                        latencies.push(due.elapsed());
                    }
                })
            })
            .collect();
        clients.into_iter().flat_map(|c| c.join().expect("a client")).collect()
    });
    let answered = all.len() as f64 / begin.elapsed().as_secs_f64();
    all.sort_unstable();
    (answered, all, errors.into_inner())
}

/// The same lines through `tamis classify` and through a stream.
fn batch(tamis: &Path, model: &Path, texts: &[String], folder: &Path) {
    let file = folder.join("batch.jsonl");
    let mut lines = Vec::new();
    for _ in 0..4 {
        for text in texts {
            serde_json::to_writer(&mut lines, &serde_json::json!({ "text": text })).expect("memory");
            lines.push(b'\n');
        }
    }
    std::fs::write(&file, &lines).expect("a file");
    let documents = 4 * texts.len();
    let best = |mut work: Box<dyn FnMut() + '_>| {
        let times = (0..3).map(|_| {
            let begin = Instant::now();
            work();
            begin.elapsed().as_secs_f64()
        });
        documents as f64 / times.fold(f64::INFINITY, f64::min)
    };
    let command = best(Box::new(|| {
        let status = Command::new(tamis).arg("classify").arg(model).arg(&file).stdout(Stdio::null()).status();
        assert!(status.is_ok_and(|s| s.success()));
    }));
    let server = Server::start(tamis, model);
    let http = best(Box::new(|| stream(server.address, &lines, documents)));
    report("documents in one file: tamis classify", command, "/s", "the whole command, reading the model included");
    report(
        "documents in one stream over HTTP",
        http,
        "/s",
        &format!("{:.2} of the command; goal: 0.5", http / command),
    );
    report("memory after the streams", server.memory(), "MB", "");
}

/// Sends lines and counts those that come back, at the same time.
fn stream(address: SocketAddr, lines: &[u8], expected: usize) {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    let mut reader = stream.try_clone().expect("a socket");
    let reading = std::thread::spawn(move || {
        let (mut found, mut buffer, mut tail) = (0, vec![0; 1 << 16], Vec::new());
        loop {
            let n = reader.read(&mut buffer).expect("the server answers");
            found += buffer[..n].iter().filter(|&&b| b == b'}').count();
            tail.extend_from_slice(&buffer[..n]);
            tail.drain(..tail.len().saturating_sub(8));
            if n == 0 || tail.ends_with(b"0\r\n\r\n") {
                return found;
            }
        }
    });
    let head = "POST /v1/classify HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n";
    write!(stream, "{head}content-length: {}\r\n\r\n", lines.len()).expect("the server reads");
    stream.write_all(lines).expect("the server reads");
    assert_eq!(reading.join().expect("a reader"), expected);
}

/// From starting the program to its first answers, with a model of 100 MB.
fn startup(tamis: &Path, folder: &Path) {
    let path = folder.join("large.model");
    large().write(&path).expect("a file");
    let megabytes = std::fs::metadata(&path).map_or(0, |m| m.len()) as f64 / 1e6;
    let note = format!("model of {megabytes:.0} MB, best of 5");
    let mut reading = f64::INFINITY;
    let mut answers = f64::INFINITY;
    let mut labels = f64::INFINITY;
    let request = requests(&["w00001 w00002 w40000".to_owned()]).remove(0);
    for _ in 0..5 {
        let begin = Instant::now();
        std::hint::black_box(Model::read(&path).expect("a model").terms.len());
        reading = reading.min(begin.elapsed().as_secs_f64() * 1e3);
        let begin = Instant::now();
        let server = Server::start(tamis, &path);
        let mut connection = Connection::open(server.address);
        assert!(connection.ask(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"));
        answers = answers.min(begin.elapsed().as_secs_f64() * 1e3);
        assert!(connection.ask(&request), "{}", String::from_utf8_lossy(&connection.body));
        labels = labels.min(begin.elapsed().as_secs_f64() * 1e3);
    }
    report("reading and verifying a model", reading, "ms", &note);
    report("from start to the first answer", answers, "ms", &format!("{note}; goal: below 200"));
    report("from start to the first labels", labels, "ms", &note);
}

/// 65,000 words × 400 labels in single precision.
fn large() -> Model {
    const FEATURES: usize = 65_000;
    const LABELS: usize = 400;
    let labels = Vocabulary::from_sorted((0..LABELS).map(|l| format!("label{l:03}")));
    let values = (0..FEATURES * LABELS).map(|i| ((i * 2_654_435_761) % 1000) as f32 / 1000.0 - 0.5).collect();
    let classifier: tamis::classify::ClassifierSpec = "svm".parse().expect("a classifier");
    let linear = Linear::from_parts(LinearParts {
        labels: LABELS,
        weighter: Weighter::from_parts(Weighting::default(), vec![1.0; FEATURES], 100.0, Vec::new()).expect("weights"),
        outputs: Outputs::Values((0..LABELS as u32).collect()),
        weights: Weights::Single(Store::Dense { outputs: LABELS, values }),
        bias: vec![0.0; LABELS],
        every: Vec::new(),
        common: Vec::new(),
    });
    Model::new(ModelParts {
        text: TextOptions::default(),
        terms: Arc::new(Vocabulary::from_sorted((0..FEATURES).map(|f| format!("w{f:05}")))),
        feature_of: (0..FEATURES as u32).collect(),
        labels: Arc::new(labels),
        taxonomy: None,
        ranker: Ranker::Flat(Fitted::Linear(linear.expect("a model"))),
        neighbours: Vec::new(),
        thresholds: Thresholds::untuned(Threshold::rcut(1)).expect("thresholds"),
        curves: Vec::new(),
        calibration: None,
        worth: None,
        summary: TrainingSummary {
            program: "bench".into(),
            documents: 1,
            label_documents: vec![1; LABELS],
            vocabulary: FEATURES,
            single_label: true,
            selector: "df".into(),
            classifier,
            seed: 1,
            choices: Vec::new(),
            quality: Vec::new(),
            folds: 0,
        },
        seen: Seen::default(),
        target: None,
        shown: Shown::default(),
    })
    .expect("parts that belong together")
}
