//! The routes: parse, one call, answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use tamis::model::How;

use crate::App;
use crate::gate::Deadline;
use crate::problem::Problem;
use crate::safety::{around, panicked};
use crate::served::{Served, body, json};
use crate::wire::{
    ClassifyRequest, ExplainRequest, FeatureQuery, Health, LabelQuery, ModelList, ModelQuery, ServerInfo, StreamQuery,
};
use crate::{openapi, page, stream};

type Answer = Result<Response, Problem>;
type Shared = State<Arc<App>>;

/// Most words, labels and the like in one answer.
const MOST: u32 = 10_000;

/// Most labels for each document of a stream, where there may be thousands of documents in a piece.
const MOST_IN_STREAM: u32 = 100;

/// Most labels with scores in an answer to a batch.
const MOST_RANKED: usize = 1_000_000;

pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/v1/classify", post(classify))
        .route("/v1/explain", post(explain))
        .route("/v1/labels", get(labels))
        .route("/v1/label", get(label))
        .route("/v1/features", get(features))
        .route("/v1/taxonomy", get(taxonomy))
        .route("/v1/models", get(models))
        .route("/v1/model", get(model))
        .route("/v1/server", get(server))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(openapi::answer))
        .route("/study/report.html", get(page::study))
        .route("/", get(page::index))
        .route("/{file}", get(page::asset))
        .fallback(async || Problem::not_found("there is nothing here; /openapi.json lists what there is"))
        .method_not_allowed_fallback(async || {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "not with this method; /openapi.json says with which")
        })
        .layer(tower_http::catch_panic::CatchPanicLayer::custom(panicked))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&app), around))
        .with_state(app)
}

/// Parameters of the query; what is wrong with them is said as a problem.
pub(crate) struct Ask<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Ask<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = Query::<T>::try_from_uri(&parts.uri).map_err(|e| Problem::invalid(e.body_text()))?;
        Ok(Self(query.0))
    }
}

fn at_most(most: u32, top: u32) -> Result<u32, Problem> {
    if top <= most { Ok(top) } else { Err(Problem::invalid(format!("top = {top}: must be at most {most}"))) }
}

pub(crate) fn answer(bytes: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], bytes).into_response()
}

/// The media type of a request, without parameters.
fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn is_json(headers: &HeaderMap) -> Result<(), Problem> {
    if media_type(headers) == "application/json" {
        return Ok(());
    }
    let detail = "send Content-Type: application/json, or application/x-ndjson to /v1/classify for a stream";
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
}

/// How much of a request that is too large is read on, so that its client can read the answer instead of a broken pipe.
const READ_ON: usize = 64 << 20;

/// The whole body, within limits of size and time.
pub(crate) async fn read(app: &App, request: Request, deadline: Deadline) -> Result<Bytes, Problem> {
    let limit = app.options.limits.body;
    let declared = request.headers().get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<usize>().ok());
    let mut body = request.into_body();
    if declared.is_none_or(|n| n <= limit) {
        let read = Limited::new(&mut body, limit).collect();
        match tokio::time::timeout_at(deadline.at(), read).await {
            Ok(Ok(collected)) => return Ok(collected.to_bytes()),
            Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => {}
            Ok(Err(error)) => {
                return Err(Problem::new(StatusCode::BAD_REQUEST, format!("the request broke off: {error}")));
            }
            Err(_) => {
                let detail = format!("the request did not arrive within {:?}", app.options.limits.time);
                return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, detail));
            }
        }
    }
    let rest = async {
        let mut passed = 0;
        while let Some(Ok(frame)) = body.frame().await {
            passed += frame.data_ref().map_or(0, Bytes::len);
            if passed > READ_ON {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(2), rest).await;
    Err(Problem::too_large(limit, "the request"))
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => Problem::invalid(error.to_string()),
        _ => Problem::new(StatusCode::BAD_REQUEST, format!("this is no JSON: {error}")),
    })
}

fn log_text(app: &App, text: &str) {
    if app.options.log_texts {
        let text: String = text.chars().take(500).collect();
        tracing::info!(target: "tamis_serve::access", text, "text");
    }
}

/// Labels of one document, of several, or of a stream of them.
#[utoipa::path(
    post, path = "/v1/classify", params(StreamQuery),
    request_body(content(
        (ClassifyRequest = "application/json"),
        (String = "application/x-ndjson"),
    )),
    responses((status = 200, description = "The labels", content(
        (crate::wire::AnsweredOne = "application/json"),
        (String = "application/x-ndjson"),
    )))
)]
pub(crate) async fn classify(
    State(app): Shared,
    Ask(query): Ask<StreamQuery>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    let in_query = at_most(MOST_IN_STREAM, query.top.unwrap_or(0))?;
    if matches!(media_type(&headers).as_str(), "application/x-ndjson" | "application/ndjson" | "application/jsonl") {
        let model = app.models.get(query.model.as_deref())?;
        return stream::classify(app, model, in_query, request).await;
    }
    is_json(&headers)?;
    let deadline = Deadline::after(app.options.limits.time);
    let bytes = read(&app, request, deadline).await?;
    let size = bytes.len();
    let asked: ClassifyRequest = parse(&bytes)?;
    drop(bytes);
    let model = app.models.get(asked.model.as_deref().or(query.model.as_deref()))?;
    let top = at_most(MOST, asked.top.max(in_query))?;
    if let Some(documents) = asked.documents {
        if asked.text.is_some() || asked.tokens.is_some() || asked.id.is_some() {
            return Err(Problem::invalid("\"documents\" stands alone: texts and ids go inside"));
        }
        let most = app.options.limits.batch;
        if documents.len() > most {
            let detail = format!("{} documents at once, and at most {most} are taken; stream more", documents.len());
            return Err(Problem::invalid(detail));
        }
        if documents.len() * model.label_count().min(top as usize) > MOST_RANKED {
            let detail = format!("{} documents with {top} scores each are too many; ask for fewer", documents.len());
            return Err(Problem::invalid(detail));
        }
        documents.iter().filter_map(|d| d.text.as_deref()).for_each(|text| log_text(&app, text));
        let count = documents.len() as u64;
        let how = How { ranked: top as usize, ..How::default() };
        let work = move || model.answer_many(&documents, &how, deadline);
        let done = app.gate.compute(false, size, deadline, work).await?;
        app.metrics.documents.fetch_add(count, Ordering::Relaxed);
        return Ok(answer(done));
    }
    // Before waiting: a wrong request is told so even when the server is busy.
    body(asked.text.as_deref(), asked.tokens.as_deref()).map_err(Problem::invalid)?;
    log_text(&app, asked.text.as_deref().unwrap_or_default());
    let quick = model.is_quick();
    let work = move || {
        let body = body(asked.text.as_deref(), asked.tokens.as_deref()).map_err(Problem::invalid)?;
        model.answer(asked.id.as_deref(), &body, &How { ranked: top as usize, ..How::default() })
    };
    let done = app.gate.compute(quick, size, deadline, work).await?;
    app.metrics.documents.fetch_add(1, Ordering::Relaxed);
    Ok(answer(done))
}

/// The words that decided.
#[utoipa::path(
    post, path = "/v1/explain", params(ModelQuery), request_body = ExplainRequest,
    responses((status = 200, description = "Why", body = crate::wire::AnsweredOne))
)]
pub(crate) async fn explain(
    State(app): Shared,
    Ask(query): Ask<ModelQuery>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    is_json(&headers)?;
    let deadline = Deadline::after(app.options.limits.time);
    let bytes = read(&app, request, deadline).await?;
    let size = bytes.len();
    let asked: ExplainRequest = parse(&bytes)?;
    let model = app.models.get(asked.model.as_deref().or(query.model.as_deref()))?;
    let top = at_most(MOST, asked.top)?;
    log_text(&app, &asked.text);
    let quick = model.is_quick();
    let work = move || model.explain(&asked.text, asked.label.as_deref(), top, asked.spans);
    let done = app.gate.compute(quick, size, deadline, work).await?;
    app.metrics.documents.fetch_add(1, Ordering::Relaxed);
    Ok(answer(done))
}

/// Work about a model that reads no document; long for models with many labels and words.
async fn about(
    app: &App,
    name: Option<&str>,
    work: impl FnOnce(&Served) -> Result<Vec<u8>, Problem> + Send + 'static,
) -> Answer {
    let model = app.models.get(name)?;
    let deadline = Deadline::after(app.options.limits.time);
    app.gate.compute(false, 0, deadline, move || work(&model)).await.map(answer)
}

/// The labels of a model, with their thresholds and quality.
#[utoipa::path(
    get, path = "/v1/labels", params(ModelQuery),
    responses((status = 200, description = "The labels", body = crate::wire::LabelList))
)]
pub(crate) async fn labels(State(app): Shared, Ask(query): Ask<ModelQuery>) -> Answer {
    about(&app, query.model.as_deref(), Served::labels).await
}

/// All about a label: quality, what thresholds would do, words.
#[utoipa::path(
    get, path = "/v1/label", params(LabelQuery),
    responses((status = 200, description = "The label", body = crate::wire::LabelDetails))
)]
pub(crate) async fn label(State(app): Shared, Ask(query): Ask<LabelQuery>) -> Answer {
    let top = at_most(MOST, query.top.unwrap_or(20))?;
    about(&app, query.model.as_deref(), move |model| model.label(&query.label, top)).await
}

/// The words of a label with their weights, or the words of the model.
#[utoipa::path(
    get, path = "/v1/features", params(FeatureQuery),
    responses((status = 200, description = "The words", body = crate::wire::Features))
)]
pub(crate) async fn features(State(app): Shared, Ask(query): Ask<FeatureQuery>) -> Answer {
    let top = at_most(MOST, query.top.unwrap_or(20))?;
    about(&app, query.model.as_deref(), move |model| model.features(query.label.as_deref(), top)).await
}

/// The taxonomy of a model.
#[utoipa::path(
    get, path = "/v1/taxonomy", params(ModelQuery),
    responses((status = 200, description = "The taxonomy", body = crate::wire::TaxonomyOut))
)]
pub(crate) async fn taxonomy(State(app): Shared, Ask(query): Ask<ModelQuery>) -> Answer {
    about(&app, query.model.as_deref(), Served::taxonomy).await
}

/// What a model is and how good.
#[utoipa::path(
    get, path = "/v1/model", params(ModelQuery),
    responses((status = 200, description = "The model", body = crate::wire::ModelDetails))
)]
pub(crate) async fn model(State(app): Shared, Ask(query): Ask<ModelQuery>) -> Answer {
    app.models.get(query.model.as_deref())?.details().map(answer)
}

/// The models.
#[utoipa::path(
    get, path = "/v1/models",
    responses((status = 200, description = "The models", body = ModelList))
)]
pub(crate) async fn models(State(app): Shared) -> Answer {
    json(&ModelList { models: app.models.all().iter().map(|m| m.line()).collect() }).map(answer)
}

/// The server and its limits.
#[utoipa::path(
    get, path = "/v1/server",
    responses((status = 200, description = "The server", body = ServerInfo))
)]
pub(crate) async fn server(State(app): Shared) -> Answer {
    let mut response = json(&ServerInfo {
        version: env!("CARGO_PKG_VERSION"),
        study: app.options.study.is_some(),
        body_limit: app.options.limits.body,
        batch_limit: app.options.limits.batch,
    })
    .map(answer)?;
    if let Some(cookie) = app.guard.cookie().and_then(|c| HeaderValue::from_str(&c).ok()) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Whether the process lives.
#[utoipa::path(
    get, path = "/healthz",
    responses((status = 200, description = "It does", body = Health))
)]
pub(crate) async fn healthz() -> Answer {
    json(&Health { status: "ok" }).map(answer)
}

/// Whether requests should be sent here.
#[utoipa::path(
    get, path = "/readyz",
    responses((status = 200, description = "They should", body = Health))
)]
pub(crate) async fn readyz(State(app): Shared) -> Answer {
    if app.is_draining() {
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the server is about to end").retry(1));
    }
    json(&Health { status: "ok" }).map(answer)
}

/// Counters in the Prometheus text format.
#[utoipa::path(
    get, path = "/metrics",
    responses((status = 200, description = "The counters", body = String, content_type = "text/plain"))
)]
pub(crate) async fn metrics(State(app): Shared) -> Response {
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], Body::from(app.metrics.print(&app))).into_response()
}
