//! What the benchmark programs share: one JSON line for each figure, the best of several runs, memory.
#![allow(dead_code, clippy::print_stdout)]

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use tamis::Result;
use tamis::corpus::{Batch, Batches, Body, Document};

/// Prints a figure in the form `cargo xtask bench` reads.
pub(crate) fn report(what: &str, value: f64, unit: &str, note: &str) {
    println!("{}", serde_json::json!({ "what": what, "value": value, "unit": unit, "note": note }));
}

/// Seconds of the fastest of `runs` runs: the machine's noise only ever adds.
pub(crate) fn best<T>(runs: usize, mut work: impl FnMut() -> T) -> (f64, T) {
    let mut fastest = f64::INFINITY;
    let mut last = None;
    for _ in 0..runs {
        let start = Instant::now();
        let result = work();
        fastest = fastest.min(start.elapsed().as_secs_f64());
        last = Some(result);
    }
    (fastest, last.expect("at least one run"))
}

/// The same on a given number of threads.
pub(crate) fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool").install(work)
}

/// The folder of the real corpora.
pub(crate) fn data(path: &str) -> PathBuf {
    PathBuf::from(std::env::var_os("TAMIS_DATA").expect("TAMIS_DATA is set by cargo xtask bench")).join(path)
}

/// Peak memory of this process in MB (Linux).
pub(crate) fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kb =
        status.lines().find_map(|l| l.strip_prefix("VmHWM:")).and_then(|l| l.split_whitespace().next()?.parse().ok());
    kb.unwrap_or(f64::NAN) / 1024.0
}

/// Texts in memory, as the peer has them.
pub(crate) struct Texts(pub(crate) Arc<Vec<String>>, pub(crate) usize);

struct Slice(Arc<Vec<String>>, std::ops::Range<usize>);

impl Batches for Texts {
    fn next_batch(&mut self) -> Result<Option<Box<dyn Batch>>> {
        let start = self.1;
        self.1 = (start + 512).min(self.0.len());
        Ok(if start == self.1 { None } else { Some(Box::new(Slice(Arc::clone(&self.0), start..self.1))) })
    }
}

impl Batch for Slice {
    fn visit(&self, visit: &mut dyn FnMut(Result<Document<'_>>) -> ControlFlow<()>) {
        for text in &self.0[self.1.clone()] {
            let document = Document {
                id: "".into(),
                body: Body::Text(text.into()),
                labels: vec![],
                part: None,
                date: None,
                weight: None,
            };
            if visit(Ok(document)).is_break() {
                return;
            }
        }
    }
}

/// 20 Newsgroups, both parts.
pub(crate) fn newsgroups() -> Vec<String> {
    let mut texts = Vec::new();
    for part in ["training", "test"] {
        for label in std::fs::read_dir(data("20news-bydate").join(part)).expect("20news-bydate") {
            for file in std::fs::read_dir(label.expect("entry").path()).expect("folder") {
                let bytes = std::fs::read(file.expect("entry").path()).expect("file");
                texts.push(bytes.iter().map(|&b| char::from(b)).collect());
            }
        }
    }
    texts
}
