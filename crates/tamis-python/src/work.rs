//! Long work: without the GIL, with threads of its own, stopped by Ctrl-C, reported when asked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use tamis::Progress;

use crate::errors::to_py;

/// How work is run: `verbose` and threads (0 for one of each core), as Python hands them over.
#[derive(Debug, Clone, Copy, Default, FromPyObject)]
pub(crate) struct How(pub(crate) bool, pub(crate) usize);

/// How often Python is asked whether Ctrl-C was pressed.
const LOOK: Duration = Duration::from_millis(50);

/// Runs work in a thread beside the caller's, which meanwhile looks for signals: Python shows them to its main thread
/// only.
#[allow(clippy::redundant_closure_for_method_calls)] // the method of `Python` is not general enough in its lifetime
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    how: How,
    work: impl FnOnce(&dyn Progress) -> tamis::Result<T> + Send,
) -> PyResult<T> {
    let pool = pool(how.1)?;
    let reporter = Reporter { verbose: how.0, stop: AtomicBool::new(false), stage: Mutex::new(None) };
    let reporter = &reporter;
    let (outcome, signal) = py.detach(|| {
        std::thread::scope(|scope| {
            let (done, waiting) = channel();
            let worker = scope.spawn(move || {
                let outcome = pool.install(|| work(reporter));
                // The caller waits for this; it cannot have gone.
                let _ = done.send(());
                outcome
            });
            let mut signal = None;
            while let Err(RecvTimeoutError::Timeout) = waiting.recv_timeout(LOOK) {
                if signal.is_none() {
                    signal = Python::attach(|py| py.check_signals()).err();
                    reporter.stop.store(signal.is_some(), Ordering::Relaxed);
                }
            }
            (worker.join(), signal)
        })
    });
    match (outcome, signal) {
        (_, Some(signal)) => Err(signal),
        (Ok(outcome), None) => outcome.map_err(to_py),
        (Err(panic), None) => std::panic::resume_unwind(panic),
    }
}

/// Pools by process and size. Threads do not survive a fork, so a child process makes its own.
static POOLS: Mutex<Vec<(u32, usize, Arc<ThreadPool>)>> = Mutex::new(Vec::new());

fn pool(threads: usize) -> PyResult<Arc<ThreadPool>> {
    let process = std::process::id();
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, _, pool)) = pools.iter().find(|(p, n, _)| (*p, *n) == (process, threads)) {
        return Ok(Arc::clone(pool));
    }
    // The parent's pools have no threads here: there is nothing to end.
    for (_, _, orphan) in pools.extract_if(.., |(p, _, _)| *p != process) {
        std::mem::forget(orphan);
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|number| format!("tamis-{number}"))
        .build()
        .map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
    pools.push((process, threads, Arc::new(pool)));
    Ok(Arc::clone(&pools[pools.len() - 1].2))
}

struct Stage {
    name: String,
    total: Option<u64>,
    done: u64,
    said: Instant,
}

/// Progress as lines on `sys.stderr`, so that notebooks show them.
struct Reporter {
    verbose: bool,
    stop: AtomicBool,
    stage: Mutex<Option<Stage>>,
}

impl Reporter {
    fn say(&self, text: &str) {
        if self.verbose {
            // A closed or odd stderr is no reason to fail.
            let _ = Python::attach(|py| -> PyResult<()> {
                let line = format!("[tamis] {text}\n");
                py.import("sys")?.getattr("stderr")?.call_method1("write", (line,)).map(drop)
            });
        }
    }
}

impl Progress for Reporter {
    fn start(&self, stage: &str, total: Option<u64>) {
        if self.verbose {
            self.say(stage);
            let stage = Stage { name: stage.to_owned(), total, done: 0, said: Instant::now() };
            *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = Some(stage);
        }
    }

    fn add(&self, steps: u64) {
        if !self.verbose {
            return;
        }
        let text = {
            let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(stage) = stage.as_mut() else { return };
            stage.done += steps;
            if stage.said.elapsed() < Duration::from_secs(1) {
                return;
            }
            stage.said = Instant::now();
            match stage.total {
                Some(total) => format!("{}: {} of {total}", stage.name, stage.done),
                None => format!("{}: {}", stage.name, stage.done),
            }
        };
        self.say(&text);
    }

    fn cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
