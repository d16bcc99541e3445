//! What happens around every request: who may ask, what headers an answer has, what is logged and counted.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONNECTION, COOKIE, HOST, HeaderName, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;

use crate::App;
use crate::options::Options;
use crate::problem::Problem;

/// Checks of host and token.
pub(crate) struct Guard {
    /// Hash of the token.
    token: Option<blake3::Hash>,
    /// Value of the cookie that stands for the token where a browser cannot send a header: in a frame.
    session: String,
    /// Only these names may be used to reach a server on loopback; none for a public one.
    hosts: Option<Vec<String>>,
    next_id: AtomicU64,
    start: u32,
}

const COOKIE_NAME: &str = "tamis_study";
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

impl Guard {
    pub(crate) fn new(options: &Options) -> Self {
        let random = RandomState::new();
        let mut hasher = blake3::Hasher::new_derive_key("tamis serve 2026 session cookie");
        hasher.update(options.token.as_deref().unwrap_or_default().as_bytes());
        (0u64..4).for_each(|i| {
            hasher.update(&random.hash_one(i).to_le_bytes());
        });
        Self {
            token: options.token.as_ref().map(|t| blake3::hash(t.as_bytes())),
            session: hasher.finalize().to_hex().to_string(),
            hosts: (options.bind.ip().is_loopback() || !options.hosts.is_empty()).then(|| options.hosts.clone()),
            next_id: AtomicU64::new(0),
            start: random.hash_one("request ids") as u32,
        }
    }

    /// A web page of someone else can make its own name point here (DNS rebinding); the Host header gives it away. One that
    /// is missing, or stands twice, hides it (RFC 9112, section 3.2).
    fn check_host(&self, request: &Request) -> Result<(), Problem> {
        let mut given = request.headers().get_all(HOST).iter();
        let (Some(host), None) = (given.next(), given.next()) else {
            return Err(Problem::new(StatusCode::BAD_REQUEST, "a request has one Host header, and only one"));
        };
        // A request may also name the host in its first line, and that counts more.
        let host = match request.uri().authority() {
            Some(authority) => authority.as_str(),
            None => host.to_str().unwrap_or_default(),
        };
        let Some(known) = &self.hosts else { return Ok(()) };
        let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, _)) => address,
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        let loopback = name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
        if loopback || name.eq_ignore_ascii_case("localhost") || known.iter().any(|k| k.eq_ignore_ascii_case(name)) {
            return Ok(());
        }
        let detail = "this server answers to localhost only; start it with --host NAME to allow another name";
        Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, detail))
    }

    fn is_token(&self, given: &str) -> bool {
        // Hashes have one length, so the comparison takes the same time for every wrong token.
        self.token.is_none_or(|token| token.as_bytes().ct_eq(blake3::hash(given.as_bytes()).as_bytes()).into())
    }

    fn check_token(&self, path: &str, headers: &HeaderMap) -> Result<(), Problem> {
        let guarded = path.starts_with("/v1/") || path == "/metrics" || path.starts_with("/study/");
        if self.token.is_none() || !guarded {
            return Ok(());
        }
        let text = |name: HeaderName| headers.get(name).and_then(|v| v.to_str().ok());
        let bearer =
            text(AUTHORIZATION).and_then(|v| v.split_once(' ')).filter(|(s, _)| s.eq_ignore_ascii_case("bearer"));
        if bearer.is_some_and(|(_, token)| self.is_token(token.trim())) {
            return Ok(());
        }
        if path.starts_with("/study/") {
            let value = |pair: &str| pair.trim().strip_prefix(COOKIE_NAME)?.strip_prefix('=').map(str::to_owned);
            let given = text(COOKIE).and_then(|all| all.split(';').find_map(value)).unwrap_or_default();
            if bool::from(given.as_bytes().ct_eq(self.session.as_bytes())) {
                return Ok(());
            }
        }
        Err(Problem::new(StatusCode::UNAUTHORIZED, "this server wants a token: Authorization: Bearer TOKEN"))
    }

    /// The cookie for the study's frame, where there is a token at all.
    pub(crate) fn cookie(&self) -> Option<String> {
        let session = &self.session;
        self.token.map(|_| format!("{COOKIE_NAME}={session}; Path=/study/; HttpOnly; SameSite=Strict"))
    }

    /// The client's own id when it is harmless, else a new one.
    fn request_id(&self, headers: &HeaderMap) -> HeaderValue {
        let harmless = |v: &&HeaderValue| {
            let fine = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
            !v.is_empty() && v.len() <= 64 && v.as_bytes().iter().all(fine)
        };
        headers.get(REQUEST_ID).filter(harmless).cloned().unwrap_or_else(|| {
            let number = self.next_id.fetch_add(1, Ordering::Relaxed);
            HeaderValue::from_str(&format!("{:08x}-{number}", self.start)).unwrap_or(HeaderValue::from_static("-"))
        })
    }
}

/// No script but our own files, nothing inline, nothing from elsewhere, no framing by others.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The report is one file with its own styles and no scripts; a sandbox makes sure of that.
pub(crate) const STUDY_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; sandbox";

/// Marks requests of connections beyond the limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InReserve;

/// Connections beyond the limit are for those who ask whether the server is well.
fn check_place(app: &App, request: &Request) -> Result<(), Problem> {
    let health = matches!(request.uri().path(), "/healthz" | "/readyz" | "/metrics");
    if health || request.extensions().get::<InReserve>().is_none() {
        return Ok(());
    }
    let detail = format!("all {} connections are taken; try again shortly", app.options.limits.connections);
    Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail).retry(1))
}

/// So much of a path is logged: a line is no place for kilobytes.
const LOGGED_PATH: usize = 200;

/// Around every request.
pub(crate) async fn around(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let begin = Instant::now();
    let id = app.guard.request_id(request.headers());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let checked = app
        .guard
        .check_host(&request)
        .and_then(|()| app.guard.check_token(&path, request.headers()))
        .and_then(|()| check_place(&app, &request));
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    if response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    let study = path.starts_with("/study/");
    let fixed = HeaderValue::from_static;
    let headers = response.headers_mut();
    for (name, value) in [
        ("content-security-policy", if study { STUDY_POLICY } else { POLICY }),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", if study { "SAMEORIGIN" } else { "DENY" }),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
    ] {
        headers.insert(HeaderName::from_static(name), fixed(value));
    }
    if !headers.contains_key("cache-control") {
        headers.insert(HeaderName::from_static("cache-control"), fixed("no-store"));
    }
    if app.is_draining() {
        headers.insert(CONNECTION, fixed("close"));
    }
    let (status, took) = (response.status().as_u16(), begin.elapsed());
    app.metrics.record(&path, status, took);
    if app.options.access_log {
        // The path has no query here: labels and names in it may be private.
        let id = id.to_str().unwrap_or_default();
        let path = path.chars().take(LOGGED_PATH).collect::<String>();
        tracing::info!(target: "tamis_serve::access", id, %method, path, status, ms = took.as_secs_f64() * 1e3, "request");
    }
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

/// A panic in a handler is our fault, and not a lost connection.
pub(crate) fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    tracing::error!("a request failed unexpectedly; this is a mistake in tamis");
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the server made a mistake; its log says where").into_response()
}
