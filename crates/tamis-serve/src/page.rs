//! The page: files that are part of the program, and the report of a study.

use std::sync::Arc;
use std::sync::LazyLock;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::App;
use crate::problem::Problem;

struct Asset {
    name: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

macro_rules! asset {
    ($name:literal, $kind:literal) => {
        Asset { name: $name, kind: $kind, bytes: include_bytes!(concat!("../page/", $name)) }
    };
}

static ASSETS: [Asset; 17] = [
    asset!("index.html", "text/html; charset=utf-8"),
    asset!("style.css", "text/css; charset=utf-8"),
    asset!("icon.svg", "image/svg+xml"),
    asset!("main.js", "text/javascript; charset=utf-8"),
    asset!("api.js", "text/javascript; charset=utf-8"),
    asset!("dom.js", "text/javascript; charset=utf-8"),
    asset!("try.js", "text/javascript; charset=utf-8"),
    asset!("scores.js", "text/javascript; charset=utf-8"),
    asset!("words.js", "text/javascript; charset=utf-8"),
    asset!("label.js", "text/javascript; charset=utf-8"),
    asset!("tree.js", "text/javascript; charset=utf-8"),
    asset!("address.js", "text/javascript; charset=utf-8"),
    asset!("batch.js", "text/javascript; charset=utf-8"),
    asset!("model.js", "text/javascript; charset=utf-8"),
    asset!("take.js", "text/javascript; charset=utf-8"),
    asset!("tips.js", "text/javascript; charset=utf-8"),
    asset!("why.js", "text/javascript; charset=utf-8"),
];

/// Hashes of the files, so that a browser asks for each only once.
static TAGS: LazyLock<Vec<String>> =
    LazyLock::new(|| ASSETS.iter().map(|a| format!("\"{}\"", &blake3::hash(a.bytes).to_hex()[..16])).collect());

pub(crate) async fn index(headers: HeaderMap) -> Response {
    send(0, &headers)
}

/// A file by its name; names are those of the list, so no path leads elsewhere.
pub(crate) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    match ASSETS.iter().position(|a| a.name == name) {
        Some(at) => send(at, &headers),
        None => Problem::not_found("there is nothing here; /openapi.json lists what there is").into_response(),
    }
}

fn send(at: usize, headers: &HeaderMap) -> Response {
    let (asset, tag) = (&ASSETS[at], &TAGS[at]);
    let known = headers.get(header::IF_NONE_MATCH).and_then(|v| v.to_str().ok()).is_some_and(|v| v.contains(tag));
    let fixed = [
        (header::CONTENT_TYPE, HeaderValue::from_static(asset.kind)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::ETAG, HeaderValue::from_str(tag).unwrap_or(HeaderValue::from_static("\"\""))),
    ];
    if known { (StatusCode::NOT_MODIFIED, fixed).into_response() } else { (fixed, asset.bytes).into_response() }
}

/// The report of the study that was named at the start; it may still be growing, so it is read each time.
pub(crate) async fn study(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let Some(folder) = &app.options.study else {
        return Err(Problem::not_found("the server was started without --study"));
    };
    let path = folder.join("report.html");
    let bytes = tokio::fs::read(&path).await.map_err(|error| {
        tracing::warn!("{}: {error}", path.display());
        Problem::not_found("the study has no report yet: run tamis report on its folder")
    })?;
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))], bytes).into_response())
}
