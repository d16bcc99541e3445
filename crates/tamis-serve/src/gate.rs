//! Who may compute, who waits, who is turned away.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::Problem;

/// A bounded number compute, a bounded number wait.
pub(crate) struct Gate {
    running: Arc<Semaphore>,
    /// Streams wait here for as long as it takes, so that only a few of their pieces stand before single requests.
    streams: Semaphore,
    concurrency: usize,
    waiting: AtomicUsize,
    queue: usize,
}

/// When a request must be done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    at: Instant,
    time: Duration,
}

impl Deadline {
    pub(crate) fn after(time: Duration) -> Self {
        Self { at: Instant::now() + time, time }
    }

    pub(crate) fn check(self) -> Result<(), Problem> {
        if Instant::now() < self.at { Ok(()) } else { Err(self.missed()) }
    }

    pub(crate) fn missed(self) -> Problem {
        Problem::too_long(self.time.as_secs_f64())
    }

    pub(crate) fn at(self) -> tokio::time::Instant {
        self.at.into()
    }

    pub(crate) fn left(self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }
}

/// Counts a waiting request for as long as it lives, also when its client goes away.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Work up to this many bytes is done where the request is: handing it to another thread would take longer.
pub(crate) const QUICK_BYTES: usize = 16 << 10;

impl Gate {
    pub(crate) fn new(concurrency: usize, queue: usize) -> Self {
        let concurrency = concurrency.max(1);
        Self {
            running: Arc::new(Semaphore::new(concurrency)),
            streams: Semaphore::new(concurrency),
            concurrency,
            waiting: AtomicUsize::new(0),
            queue,
        }
    }

    pub(crate) fn running(&self) -> usize {
        self.concurrency - self.running.available_permits()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    async fn enter(&self, deadline: Deadline) -> Result<OwnedSemaphorePermit, Problem> {
        if let Ok(permit) = Arc::clone(&self.running).try_acquire_owned() {
            return Ok(permit);
        }
        let others = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&self.waiting);
        if others >= self.queue {
            let detail = format!("{others} requests are waiting already; try again in a moment");
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, detail).retry(1));
        }
        match tokio::time::timeout_at(deadline.at(), Arc::clone(&self.running).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(deadline.missed()),
        }
    }

    /// Does a piece of work when it is its turn. `quick` work is done at once on this thread.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        quick: bool,
        deadline: Deadline,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = self.enter(deadline).await?;
        if quick {
            let done = work();
            drop(permit);
            return done;
        }
        match tokio::time::timeout_at(deadline.at(), elsewhere(permit, work)).await {
            Ok(done) => done,
            Err(_) => Err(deadline.missed()),
        }
    }

    /// The same for pieces of streams: they wait for as long as it takes, and are never turned away.
    pub(crate) async fn compute_in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let _turn = self.streams.acquire().await;
        match Arc::clone(&self.running).acquire_owned().await {
            Ok(permit) => elsewhere(permit, work).await,
            Err(_) => Err(lost()),
        }
    }
}

/// Work on another thread. The permit goes along: work cannot be stopped half-way, and must count until it ends.
async fn elsewhere<T: Send + 'static>(
    permit: OwnedSemaphorePermit,
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let task = tokio::task::spawn_blocking(move || {
        let done = work();
        drop(permit);
        done
    });
    task.await.unwrap_or_else(|_| Err(lost()))
}

fn lost() -> Problem {
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the work ended unexpectedly")
}
