//! Connections: accepted, bounded, cut when they are slow, and finished when the server ends.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep, timeout};

use crate::options::Options;
use crate::{App, api};

/// A server that is bound and has its models, and does not accept yet.
pub struct Listening {
    app: Arc<App>,
    router: Router,
    listener: TcpListener,
    address: SocketAddr,
    names: Vec<String>,
}

/// Loads the models and binds.
pub async fn listen(options: Options) -> tamis::Result<Listening> {
    raise_file_limit();
    let app = App::new(options)?;
    let bind = app.options.bind;
    let failed = |e: io::Error| tamis::Error::io(format!("address {bind}"), e);
    let listener = TcpListener::bind(bind).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    if !address.ip().is_loopback() && app.options.token.is_none() {
        tracing::warn!("{address} can be reached from other machines, and there is no token: anyone may ask");
    }
    let names = app.models.names();
    Ok(Listening { router: api::router(Arc::clone(&app)), app, listener, address, names })
}

/// Every connection is an open file, and the usual limit is a thousand.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!("the limit of open files stays: {error}");
    }
}

/// Resolves when the process is told to end.
pub(crate) async fn told_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut term) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = term.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

impl Listening {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Names of the models.
    pub fn models(&self) -> &[String] {
        &self.names
    }

    /// Serves until `end` resolves; then goes on accepting for a moment while every answer closes its connection, and
    /// finishes what is in flight.
    pub async fn until(self, end: impl Future<Output = ()>) {
        let Self { app, router, listener, .. } = self;
        let watcher = tokio::spawn(watch_files(Arc::clone(&app)));
        let acceptor = Acceptor {
            open: Arc::new(Semaphore::new(app.options.limits.connections.max(1))),
            graceful: GracefulShutdown::new(),
            router,
            app: Arc::clone(&app),
        };
        tokio::pin!(end);
        loop {
            tokio::select! {
                biased;
                () = &mut end => break,
                accepted = acceptor.accept(&listener) => acceptor.serve(accepted),
            }
        }
        watcher.abort();
        tracing::info!("ending: finishing what is in flight");
        app.draining.store(true, Ordering::Relaxed);
        let close_at = Instant::now() + app.options.drain;
        while let Ok(accepted) = tokio::time::timeout_at(close_at, acceptor.accept(&listener)).await {
            acceptor.serve(accepted);
        }
        acceptor.close(listener).await;
        let finish = async {
            // A connection may be there whose first bytes are not: it gets a moment before idle ones are closed.
            let patience = Instant::now() + app.options.drain;
            while acceptor.graceful.count() > 0 && Instant::now() < patience {
                sleep(Duration::from_millis(5)).await;
            }
            acceptor.graceful.shutdown().await;
        };
        tokio::select! {
            done = timeout(app.options.grace, finish) => {
                if done.is_err() {
                    tracing::warn!("some requests were not finished within {:?}", app.options.grace);
                }
            }
            () = told_to_end() => tracing::warn!("told to end twice: some requests may be lost"),
        }
    }
}

struct Acceptor {
    open: Arc<Semaphore>,
    graceful: GracefulShutdown,
    router: Router,
    app: Arc<App>,
}

impl Acceptor {
    /// The next connection, once there is room for one.
    async fn accept(&self, listener: &TcpListener) -> (TcpStream, OwnedSemaphorePermit) {
        loop {
            let Ok(room) = Arc::clone(&self.open).acquire_owned().await else { return std::future::pending().await };
            match listener.accept().await {
                Ok((stream, _)) => return (stream, room),
                Err(error) => {
                    // A client that went away is nothing; being out of files passes when others end.
                    if error.kind() != io::ErrorKind::ConnectionAborted {
                        tracing::warn!("cannot accept: {error}");
                        sleep(Duration::from_millis(50)).await;
                    }
                }
            }
        }
    }

    /// Closes the listener without turning away anyone whom the system has let in.
    ///
    /// New connections would come as fast as old ones are taken, so the system is first told to hold none: whoever
    /// tries now is not answered, and told that nobody listens when trying again. After a moment only those are in the
    /// queue that were let in before.
    async fn close(&self, listener: TcpListener) {
        if let Err(error) = rustix::net::listen(&listener, 0) {
            tracing::debug!("the queue of connections stays: {error}");
        }
        sleep(Duration::from_millis(10)).await;
        let Ok(listener) = listener.into_std() else { return };
        while let Ok(room) = Arc::clone(&self.open).try_acquire_owned() {
            let Ok((stream, _)) = listener.accept() else { return };
            let ready = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
            if let Ok(stream) = ready {
                self.serve((stream, room));
            }
        }
    }

    fn serve(&self, (stream, room): (TcpStream, OwnedSemaphorePermit)) {
        let _ = stream.set_nodelay(true);
        let limits = &self.app.options.limits;
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head)
            .max_buf_size(64 << 10)
            .serve_connection(
                TokioIo::new(Impatient { stream, wait: limits.write, stuck: None }),
                TowerToHyperService::new(self.router.clone()),
            );
        let watched = self.graceful.watch(connection);
        let app = Arc::clone(&self.app);
        app.metrics.accepted.fetch_add(1, Ordering::Relaxed);
        app.metrics.connections.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            if let Err(error) = watched.await {
                app.metrics.cut.fetch_add(1, Ordering::Relaxed);
                tracing::debug!("connection ended: {error}");
            }
            app.metrics.connections.fetch_sub(1, Ordering::Relaxed);
            drop(room);
        });
    }
}

/// Looks at the model files now and then.
async fn watch_files(app: Arc<App>) {
    let warmed = Arc::clone(&app);
    let _ = tokio::task::spawn_blocking(move || warmed.models.all().iter().for_each(|m| m.warm())).await;
    if app.options.reload.is_zero() {
        return;
    }
    loop {
        sleep(app.options.reload).await;
        let looking = Arc::clone(&app);
        if let Ok(looked) = tokio::task::spawn_blocking(move || looking.models.look()).await {
            app.metrics.swapped.fetch_add(looked.swapped, Ordering::Relaxed);
            app.metrics.refused.fetch_add(looked.refused, Ordering::Relaxed);
        }
    }
}

/// A connection that gives up on a client which takes nothing of its answer.
struct Impatient {
    stream: TcpStream,
    wait: Duration,
    stuck: Option<Pin<Box<Sleep>>>,
}

impl Impatient {
    /// Passes on what writing said, and counts the time for which it said nothing.
    fn timed<T>(&mut self, context: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.stuck = None;
            return polled;
        }
        let wait = self.wait;
        let timer = self.stuck.get_or_insert_with(|| Box::pin(sleep(wait)));
        match timer.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Impatient {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Impatient {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.timed(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.timed(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(cx);
        self.timed(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
