//! Where log lines go: a writer that never fails and never waits.
//!
//! A disk may be full, and whoever reads the log may be slow or gone; neither may cost a request. Lines are put into memory
//! of a fixed size, and a thread of their own writes them. What does not fit, or cannot be written, is lost and counted.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Most bytes that wait to be written.
const ROOM: usize = 1 << 20;

/// Bytes that are written at once.
const PART: usize = 32 << 10;

/// How long the thread waits before it tries again to write to something that takes nothing now.
const TRY_AGAIN: Duration = Duration::from_millis(20);

/// A log that loses lines rather than to fail or to wait, and counts them.
pub struct Log {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Something is to be written.
    filled: Condvar,
    /// Everything is written.
    emptied: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Vec<u8>,
    /// Whether the thread is writing what it took.
    writing: bool,
    lost: u64,
    /// How many of the lost lines the log itself speaks of.
    told: u64,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    /// The log on standard error. A process has one standard error, so it has one such log.
    pub fn stderr() -> &'static Self {
        static STDERR: LazyLock<Log> = LazyLock::new(|| Log::new(io::stderr()));
        &STDERR
    }

    fn new(out: impl Write + Send + 'static) -> Self {
        let state = Mutex::new(State::default());
        let shared = Arc::new(Shared { state, filled: Condvar::new(), emptied: Condvar::new() });
        let of_thread = Arc::clone(&shared);
        // Without a thread nothing is written, and everything is counted as lost once the room is full.
        let _ = std::thread::Builder::new().name("log".into()).spawn(move || write_all(&of_thread, out));
        Self { shared }
    }

    /// Adds lines that end in a line end; they come out whole or are lost.
    pub fn put(&self, lines: &[u8]) {
        let mut state = self.shared.state();
        if state.waiting.len() + lines.len() > ROOM {
            state.lost += count(lines);
        } else {
            state.waiting.extend_from_slice(lines);
            self.shared.filled.notify_one();
        }
    }

    /// Lines that were lost until now.
    pub fn lost(&self) -> u64 {
        self.shared.state().lost
    }

    /// Waits until everything is written, but no longer than so long.
    pub fn flush(&self, patience: Duration) {
        let end = Instant::now() + patience;
        let mut state = self.shared.state();
        while state.writing || !state.waiting.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.shared.emptied.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// One writer of the log, for those that want a [`Write`]: a call is a line, or several.
impl Write for &Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.put(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn count(lines: &[u8]) -> u64 {
    lines.iter().filter(|&&b| b == b'\n').count() as u64
}

/// The thread: takes what waits and writes it, for as long as the process lives.
fn write_all(shared: &Shared, mut out: impl Write) {
    loop {
        let mut state = shared.state();
        while state.waiting.is_empty() {
            state.writing = false;
            shared.emptied.notify_all();
            state = shared.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let lines = std::mem::take(&mut state.waiting);
        state.writing = true;
        drop(state);
        let unwritten = write(&lines, &mut out);
        let mut state = shared.state();
        state.lost += unwritten;
        let untold = state.lost - state.told;
        // Said when there is hope that it is read, and room for it.
        if unwritten == 0 && untold > 0 && state.waiting.len() < ROOM / 2 {
            state.told = state.lost;
            drop(state);
            tracing::warn!(lines = untold, "lines of the log were lost: it was not read, or could not be written");
        }
    }
}

/// Writes lines; gives the number of those that could not be written.
fn write(lines: &[u8], out: &mut impl Write) -> u64 {
    let mut rest = lines;
    while !rest.is_empty() {
        let part = &rest[..rest.len().min(PART)];
        match out.write(part) {
            Ok(0) => return count(rest),
            Ok(written) => rest = &rest[written..],
            Err(error) => match error.kind() {
                io::ErrorKind::Interrupted => {}
                // Someone made it non-blocking.
                io::ErrorKind::WouldBlock => std::thread::sleep(TRY_AGAIN),
                _ => return count(rest),
            },
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Takes nothing while it is shut.
    #[derive(Clone, Default)]
    struct Valve {
        open: Arc<AtomicBool>,
        taken: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Valve {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            while !self.open.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            self.taken.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_stops_costs_lines_and_no_time() {
        let valve = Valve::default();
        let log = Log::new(valve.clone());
        let line = [b"x".repeat(999), b"\n".to_vec()].concat();
        for _ in 0..3000 {
            log.put(&line);
        }
        // One part is in the hands of the thread, the room is full, and the rest is counted.
        assert!((900..=2000).contains(&log.lost()), "{}", log.lost());
        log.flush(Duration::from_millis(10));
        valve.open.store(true, Ordering::Relaxed);
        log.flush(Duration::from_mins(1));
        let taken = valve.taken.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(count(&taken) + log.lost(), 3000);
    }

    #[test]
    fn what_cannot_be_written_is_counted() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let log = Log::new(Full);
        log.put(b"one\ntwo\n");
        log.flush(Duration::from_mins(1));
        assert_eq!(log.lost(), 2);
    }
}
