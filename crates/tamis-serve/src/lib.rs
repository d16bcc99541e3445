//! A model as an HTTP service, and a page on which anyone tries it.
//!
//! The way a request takes: [`listen`] accepts connections and cuts slow ones, `safety` checks host and token and adds
//! headers, `incoming` reads the body, `api` parses and makes one library call behind the `gate`, `wire` is what goes in and
//! out; `stream` does the same line by line. `room` bounds what is held on the way, `pace` how slow a client may be. `models`
//! holds the models and swaps in new files; `log` is where lines go. The page lies in `page/` and is part of the program.

mod api;
mod document;
mod gate;
mod incoming;
mod lines;
mod listen;
mod log;
mod memory;
mod metrics;
mod models;
mod openapi;
mod options;
mod pace;
mod page;
mod problem;
mod room;
mod safety;
mod served;
mod stream;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use listen::{Listening, listen};
pub use log::Log;
pub use openapi::document as openapi;
pub use options::{Limits, ModelSource, Options};

use crate::gate::Gate;
use crate::metrics::Metrics;
use crate::models::Models;
use crate::room::Room;
use crate::safety::Guard;

/// What handlers share.
pub(crate) struct App {
    pub(crate) models: Models,
    pub(crate) gate: Gate,
    pub(crate) metrics: Metrics,
    pub(crate) guard: Guard,
    /// Memory for requests and their answers.
    pub(crate) requests: Room,
    /// Memory for streams.
    pub(crate) streams: Room,
    pub(crate) options: Options,
    /// Set while the server drains: not ready, and every answer closes its connection.
    pub(crate) draining: AtomicBool,
}

impl App {
    pub(crate) fn new(options: Options) -> tamis::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            models: Models::load(&options.models)?,
            gate: Gate::new(options.limits.concurrency, options.limits.queue),
            metrics: Metrics::default(),
            guard: Guard::new(&options),
            requests: Room::new(options.limits.memory / 2),
            streams: Room::new(options.limits.memory / 2),
            options,
            draining: AtomicBool::new(false),
        }))
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

/// What is left of the log may take so long to be written when the server ends.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Loads the models, serves them until the process is told to end (SIGTERM, Ctrl-C), and finishes what is in flight.
/// `ready` is called once with the address. The server logs by `tracing`; [`Log::stderr`] is where lines should go, because
/// it never keeps a request waiting.
pub fn run(options: Options, ready: impl FnOnce(std::net::SocketAddr, &[String])) -> tamis::Result<()> {
    // The usual words of a panic go to standard error directly, where they may wait for ever.
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}; this is a mistake in tamis")));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(options.threads.max(1))
        .enable_all()
        .build()
        .map_err(|e| tamis::Error::io("threads of the server", e))?;
    let done = runtime.block_on(async {
        let server = listen(options).await?;
        ready(server.address(), server.models());
        server.until(listen::told_to_end()).await;
        Ok(())
    });
    // Not dropped: that would wait for work nobody waits for any more.
    runtime.shutdown_background();
    Log::stderr().flush(LAST_WORDS);
    done
}
