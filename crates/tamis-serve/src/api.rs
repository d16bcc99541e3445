//! The routes: parse, one call, answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::de::DeserializeOwned;
use tamis::model::How;

use crate::App;
use crate::gate::{Deadline, QUICK_BYTES};
use crate::incoming::{is_plain, read};
use crate::problem::Problem;
use crate::room::Taken;
use crate::safety::{around, panicked};
use crate::served::{Served, json};
use crate::wire::{
    ClassifyRequest, DocumentIn, ExplainRequest, FeatureQuery, Health, LabelQuery, ModelList, ModelQuery, ServerInfo,
    StreamQuery,
};
use crate::{openapi, page, stream};

type Answer = Result<Response, Problem>;
type Shared = State<Arc<App>>;

/// Most words, labels and the like in one answer.
const MOST: u32 = 10_000;

/// Most labels for each document of a stream, where there may be thousands of documents in a piece.
const MOST_IN_STREAM: u32 = 100;

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

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => Problem::invalid(error.to_string()),
        _ => Problem::new(StatusCode::BAD_REQUEST, format!("this is no JSON: {error}")),
    })
}

fn log_texts(app: &App, documents: &[DocumentIn]) {
    if app.options.log_texts {
        for text in documents.iter().flat_map(DocumentIn::texts) {
            let text: String = text.chars().take(500).collect();
            tracing::info!(target: "tamis_serve::access", text, "text");
        }
    }
}

/// The model that a request names, in its body or its query.
fn named(app: &App, inside: Option<&str>, query: Option<&str>) -> Result<Arc<Served>, Problem> {
    let model = app.models.get(inside.or(query))?;
    if query.map(|name| app.models.get(Some(name))).transpose()?.is_some_and(|other| other.name != model.name) {
        let detail = format!("the body names the model {:?} and the query another; name one", model.name);
        return Err(Problem::invalid(detail));
    }
    Ok(model)
}

/// What a request comes to once it is understood.
struct Job {
    model: Arc<Served>,
    documents: usize,
    work: Box<dyn FnOnce(&Served, Deadline) -> Result<Vec<u8>, Problem> + Send>,
}

/// Reads a JSON request, understands it and answers. Long ones are parsed where others compute, so that they keep nobody
/// waiting; of short ones it is said at once what is wrong, even when the server is busy.
async fn answer_json(
    app: Arc<App>,
    request: Request,
    understand: impl FnOnce(&App, &[u8]) -> Result<Job, Problem> + Send + 'static,
) -> Answer {
    is_json(request.headers())?;
    let deadline = Deadline::after(app.options.limits.time);
    let whole = read(&app, request, deadline).await?;
    let (done, room) = if whole.bytes.len() <= QUICK_BYTES {
        let job = understand(&app, whole.text())?;
        let done = app.gate.compute(job.model.is_quick() && job.documents == 1, deadline, {
            move || Ok(((job.work)(&job.model, deadline)?, job.documents))
        });
        (done.await?, whole.into_room())
    } else {
        let of_job = Arc::clone(&app);
        let work = move || {
            let job = understand(&of_job, whole.text())?;
            let room = whole.into_room();
            Ok((((job.work)(&job.model, deadline)?, job.documents), room))
        };
        app.gate.compute(false, deadline, work).await?
    };
    let (bytes, documents) = done;
    app.metrics.documents.fetch_add(documents as u64, Ordering::Relaxed);
    sized(room, bytes)
}

/// An answer with the room it takes.
fn sized(mut room: Taken, bytes: Vec<u8>) -> Answer {
    if room.try_cover(bytes.len()) {
        Ok(([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], room.around(bytes)).into_response())
    } else {
        Err(Problem::crowded())
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
    is_plain(&headers)?;
    let in_query = at_most(MOST_IN_STREAM, query.top.unwrap_or(0))?;
    if matches!(media_type(&headers).as_str(), "application/x-ndjson" | "application/ndjson" | "application/jsonl") {
        let model = app.models.get(query.model.as_deref())?;
        return stream::classify(app, model, in_query, request).await;
    }
    answer_json(app, request, move |app, bytes| understand_classify(app, &query, in_query, bytes)).await
}

fn understand_classify(app: &App, query: &StreamQuery, in_query: u32, bytes: &[u8]) -> Result<Job, Problem> {
    let asked: ClassifyRequest = parse(bytes)?;
    let model = named(app, asked.model.as_deref(), query.model.as_deref())?;
    let top = at_most(MOST, asked.top.max(in_query))?;
    let how = How { ranked: top as usize, ..How::default() };
    let (most_bytes, most) = (app.options.limits.answer, app.options.limits.batch);
    if let Some(documents) = asked.documents {
        if !asked.document.is_empty() {
            return Err(Problem::invalid("\"documents\" stands alone: texts and ids go inside"));
        }
        if documents.len() > most {
            let detail = format!("{} documents at once, and at most {most} are taken; stream more", documents.len());
            return Err(Problem::invalid(detail));
        }
        log_texts(app, &documents);
        let count = documents.len();
        let work = move |model: &Served, deadline| model.answer_many(&documents, &how, most_bytes, deadline);
        return Ok(Job { model, documents: count, work: Box::new(work) });
    }
    let document = one(app, &model, asked.document)?;
    let work = move |model: &Served, _| {
        let body = document.body(model.terms()).map_err(Problem::invalid)?;
        model.answer(document.id.as_deref(), &body, &how, most_bytes)
    };
    Ok(Job { model, documents: 1, work: Box::new(work) })
}

/// The document of a request that has one, when the model can read it.
fn one(app: &App, model: &Served, document: DocumentIn) -> Result<DocumentIn, Problem> {
    if let Some(detail) = document.unknown(model.terms()) {
        return Err(Problem::invalid(detail));
    }
    document.body(model.terms()).map_err(Problem::invalid)?;
    log_texts(app, std::slice::from_ref(&document));
    Ok(document)
}

/// The words that decided.
#[utoipa::path(
    post, path = "/v1/explain", params(ModelQuery), request_body = ExplainRequest,
    responses((status = 200, description = "Why", body = crate::wire::AnsweredOne))
)]
pub(crate) async fn explain(State(app): Shared, Ask(query): Ask<ModelQuery>, request: Request) -> Answer {
    is_plain(request.headers())?;
    answer_json(app, request, move |app, bytes| {
        let asked: ExplainRequest = parse(bytes)?;
        let model = named(app, asked.model.as_deref(), query.model.as_deref())?;
        let top = at_most(MOST, asked.top.unwrap_or(10))?;
        let document = one(app, &model, asked.document)?;
        let most = app.options.limits.answer;
        let work = move |model: &Served, _| model.explain(&document, asked.label.as_deref(), top, asked.spans, most);
        Ok(Job { model, documents: 1, work: Box::new(work) })
    })
    .await
}

/// Work about a model that reads no document; long for models with many labels and words.
async fn about(
    app: &App,
    name: Option<&str>,
    work: impl FnOnce(&Served) -> Result<Vec<u8>, Problem> + Send + 'static,
) -> Answer {
    let model = app.models.get(name)?;
    let deadline = Deadline::after(app.options.limits.time);
    let done = app.gate.compute(false, deadline, move || work(&model)).await?;
    sized(app.requests.part(), done)
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
        answer_limit: app.options.limits.answer,
        log_lines_lost: crate::Log::stderr().lost(),
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
