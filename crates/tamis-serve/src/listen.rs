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
use crate::pace::Pace;
use crate::safety::InReserve;
use crate::{App, api, memory, models};

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

    /// The service itself, to be put behind another listener or into a larger server. Connections, their limits and the
    /// swapping of models are this listener's, and do not come with it.
    pub fn service(&self) -> Router {
        self.router.clone()
    }

    /// Names of the models.
    pub fn models(&self) -> &[String] {
        &self.names
    }

    /// Serves until `end` resolves; then goes on accepting for a moment while every answer closes its connection, and
    /// finishes what is in flight.
    pub async fn until(self, end: impl Future<Output = ()>) {
        let Self { app, router, listener, .. } = self;
        let watchers = tokio::spawn(look_when_told(models::watch(&app)));
        let memory = tokio::spawn(memory::give_back(Arc::clone(&app)));
        let acceptor = Acceptor {
            open: Arc::new(Semaphore::new(app.options.limits.connections.max(1))),
            reserve: Arc::new(Semaphore::new(RESERVE)),
            graceful: GracefulShutdown::new(),
            in_reserve: router.clone().layer(axum::Extension(InReserve)),
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
        watchers.abort();
        memory.abort();
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

/// Connections beyond the limit that are open at the same time.
const RESERVE: usize = 16;

/// How long each of them may take. Whoever holds all other connections cannot hold these.
const RESERVE_TIME: Duration = Duration::from_secs(2);

struct Acceptor {
    open: Arc<Semaphore>,
    reserve: Arc<Semaphore>,
    graceful: GracefulShutdown,
    router: Router,
    in_reserve: Router,
    app: Arc<App>,
}

/// What a connection takes for as long as it lives.
struct Place {
    /// Beyond the limit: for health checks.
    reserve: bool,
    _permit: OwnedSemaphorePermit,
}

impl Place {
    fn usual(permit: OwnedSemaphorePermit) -> Self {
        Self { reserve: false, _permit: permit }
    }
}

impl Acceptor {
    /// A place for one more connection, once there is one.
    async fn place(&self) -> Place {
        if let Ok(place) = Arc::clone(&self.open).try_acquire_owned() {
            return Place::usual(place);
        }
        tokio::select! {
            biased;
            Ok(place) = Arc::clone(&self.open).acquire_owned() => Place::usual(place),
            Ok(place) = Arc::clone(&self.reserve).acquire_owned() => Place { reserve: true, _permit: place },
            else => std::future::pending().await,
        }
    }

    /// The next connection, once there is room for one.
    async fn accept(&self, listener: &TcpListener) -> (TcpStream, Place) {
        loop {
            let mut place = self.place().await;
            match listener.accept().await {
                Ok((stream, _)) => {
                    // While nobody came, one of the usual places may have become free.
                    if place.reserve
                        && let Ok(usual) = Arc::clone(&self.open).try_acquire_owned()
                    {
                        place = Place::usual(usual);
                    }
                    return (stream, place);
                }
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
        while let Ok(place) = Arc::clone(&self.open).try_acquire_owned() {
            let Ok((stream, _)) = listener.accept() else { return };
            let ready = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
            if let Ok(stream) = ready {
                self.serve((stream, Place::usual(place)));
            }
        }
    }

    fn serve(&self, (stream, place): (TcpStream, Place)) {
        let _ = stream.set_nodelay(true);
        let limits = &self.app.options.limits;
        let reserve = place.reserve;
        let router = if reserve { &self.in_reserve } else { &self.router };
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(if reserve { RESERVE_TIME } else { limits.head })
            .keep_alive(!reserve)
            // A client that says it has sent everything still wants its answers.
            .half_close(true)
            .max_buf_size(64 << 10);
        let stream = Impatient { stream, pace: Pace::new(limits.rate, limits.write), stuck: None };
        let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()));
        let watched = self.graceful.watch(connection);
        let app = Arc::clone(&self.app);
        app.metrics.accepted.fetch_add(1, Ordering::Relaxed);
        app.metrics.connections.fetch_add(1, Ordering::Relaxed);
        app.metrics.turned_away.fetch_add(u64::from(reserve), Ordering::Relaxed);
        tokio::spawn(async move {
            let ended = if reserve { timeout(RESERVE_TIME, watched).await } else { Ok(watched.await) };
            if !matches!(ended, Ok(Ok(()))) {
                app.metrics.cut.fetch_add(1, Ordering::Relaxed);
                tracing::debug!("connection ended: {ended:?}");
            }
            app.metrics.connections.fetch_sub(1, Ordering::Relaxed);
            drop(place);
        });
    }
}

/// SIGHUP lets all model files be read now.
async fn look_when_told(watchers: models::Watchers) {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut hangup) = signal(SignalKind::hangup()) else { return std::future::pending().await };
    while hangup.recv().await.is_some() {
        watchers.look_now();
    }
    // The watchers end when they are dropped.
    std::future::pending::<()>().await;
}

/// A connection that gives up on a client which takes its answer too slowly, or not at all.
struct Impatient {
    stream: TcpStream,
    pace: Pace,
    /// Since when nothing could be written, and when that is judged.
    stuck: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Impatient {
    /// Passes on what writing said, and counts the time for which it said nothing.
    fn timed(&mut self, context: &mut Context<'_>, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let slow = || Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        if let Poll::Ready(moved) = polled {
            let waited = self.stuck.take().map_or(Duration::ZERO, |(since, _)| since.elapsed());
            let fast = self.pace.went(waited, *moved.as_ref().unwrap_or(&0));
            return if fast { Poll::Ready(moved) } else { slow() };
        }
        let left = self.pace.left();
        let (since, timer) = self.stuck.get_or_insert_with(|| (Instant::now(), Box::pin(sleep(left))));
        if timer.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        let waited = since.elapsed();
        self.stuck = None;
        if self.pace.went(waited, 0) {
            // Enough was taken before it stopped: another while.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        slow()
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
        // A socket has nothing to flush.
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
