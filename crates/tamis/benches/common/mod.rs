//! What the benchmark programs share: one JSON line for each figure, the best of several runs, memory.
#![allow(dead_code, clippy::print_stdout)]

use std::path::PathBuf;
use std::time::Instant;

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
