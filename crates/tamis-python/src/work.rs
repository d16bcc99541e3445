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
use crate::warnings::Warnings;

/// How work is run: `verbose` and threads (0 for one of each core), as Python hands them over.
#[derive(Debug, Clone, Copy, Default, FromPyObject)]
pub(crate) struct How(pub(crate) bool, pub(crate) usize);

/// How often Python is told of progress at most.
const TELL: Duration = Duration::from_millis(100);

/// How often Python is asked whether Ctrl-C was pressed.
const LOOK: Duration = Duration::from_millis(50);

/// Runs work in a thread beside the caller's, which meanwhile looks for signals: Python shows them to its main thread
/// only. What the library warns of becomes warnings of Python's.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    how: How,
    work: impl FnOnce(&dyn Progress) -> tamis::Result<T> + Send,
) -> PyResult<T> {
    run_hearing(py, how, &Warnings::default(), work)
}

/// The same, for those who want to hear some warnings only.
#[allow(clippy::redundant_closure_for_method_calls)] // the method of `Python` is not general enough in its lifetime
pub(crate) fn run_hearing<T: Send>(
    py: Python<'_>,
    how: How,
    warnings: &Warnings,
    work: impl FnOnce(&dyn Progress) -> tamis::Result<T> + Send,
) -> PyResult<T> {
    let pool = pool(how.1)?;
    let reporter = &Reporter::new(py, how.0);
    let (outcome, signal) = py.detach(|| {
        std::thread::scope(|scope| {
            let (done, waiting) = channel();
            let heard = warnings.clone();
            let worker = scope.spawn(move || {
                let outcome = pool.install(|| heard.during(|| work(reporter)));
                reporter.finish();
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
    warnings.show(py)?;
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

/// Progress as `tamis._progress` shows it: a bar where there is one, else lines on `sys.stderr`.
struct Reporter {
    /// The one who shows it, where it is to be shown.
    shown: Option<Py<PyAny>>,
    stop: AtomicBool,
    /// Steps that were not told yet, and when some were told last: Python is asked ten times a second at most.
    waiting: Mutex<(u64, Instant)>,
}

impl Reporter {
    fn new(py: Python<'_>, verbose: bool) -> Self {
        // A missing or odd module is no reason to fail.
        let shown =
            || -> PyResult<Py<PyAny>> { py.import("tamis._progress")?.getattr("Bar")?.call0().map(Bound::unbind) };
        let shown = if verbose { PyResult::ok(shown()) } else { None };
        Self { shown, stop: AtomicBool::new(false), waiting: Mutex::new((0, Instant::now())) }
    }

    fn tell(&self, method: &str, stage: &str, number: Option<u64>) {
        if let Some(shown) = &self.shown {
            // A closed or odd stderr is no reason to fail.
            let _ = Python::attach(|py| shown.bind(py).call_method1(method, (stage, number)).map(drop));
        }
    }

    /// The steps that nobody was told of, where it is time to tell.
    fn due(&self, steps: u64, now: bool) -> Option<u64> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.0 += steps;
        if waiting.0 == 0 || !(now || waiting.1.elapsed() >= TELL) {
            return None;
        }
        waiting.1 = Instant::now();
        Some(std::mem::take(&mut waiting.0))
    }
}

impl Progress for Reporter {
    fn start(&self, stage: &str, total: Option<u64>) {
        self.finish();
        self.tell("start", stage, total);
    }

    fn add(&self, steps: u64) {
        if self.shown.is_some()
            && let Some(steps) = self.due(steps, false)
        {
            self.tell("add", "", Some(steps));
        }
    }

    fn finish(&self) {
        if self.shown.is_some() {
            if let Some(steps) = self.due(0, true) {
                self.tell("add", "", Some(steps));
            }
            self.tell("finish", "", None);
        }
    }

    fn cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
