//! `/openapi.json`: made from the types and handlers; what derives cannot say is added here.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use utoipa::OpenApi;

use crate::{api, problem, wire};

#[derive(OpenApi)]
#[openapi(
    info(title = "tamis", description = "Labels for texts, and the words that decided."),
    paths(
        api::classify,
        api::explain,
        api::labels,
        api::label,
        api::features,
        api::taxonomy,
        api::models,
        api::model,
        api::server,
        api::healthz,
        api::readyz,
        api::metrics
    ),
    components(schemas(problem::Problem, wire::AnsweredMany, wire::DocumentIn))
)]
struct Document;

/// The OpenAPI 3.1 document.
pub fn document() -> Value {
    let mut document = serde_json::to_value(Document::openapi()).unwrap_or_default();
    let schemas = &mut document["components"]["schemas"];
    // Exactly one of them.
    let one_of = |names: &[&str]| names.iter().map(|n| json!({ "required": [n] })).collect::<Vec<_>>();
    schemas["ClassifyRequest"]["oneOf"] = json!(one_of(&["text", "tokens", "documents"]));
    schemas["ClassifyRequest"]["dependentSchemas"] = json!({ "id": { "not": { "required": ["documents"] } } });
    schemas["DocumentIn"]["oneOf"] = json!(one_of(&["text", "tokens"]));
    let answer = "/paths/~1v1~1classify/post/responses/200/content/application~1json/schema";
    if let Some(schema) = document.pointer_mut(answer) {
        *schema = json!({ "oneOf": [
            { "$ref": "#/components/schemas/AnsweredOne" }, { "$ref": "#/components/schemas/AnsweredMany" }
        ] });
    }
    let problem = |description: &str| {
        let schema = json!({ "$ref": "#/components/schemas/Problem" });
        json!({ "description": description, "content": { "application/problem+json": { "schema": schema } } })
    };
    for (path, methods) in document["paths"].as_object_mut().into_iter().flatten() {
        for (method, operation) in methods.as_object_mut().into_iter().flatten() {
            let responses = &mut operation["responses"];
            responses["421"] = problem("The Host header names another server");
            if path.starts_with("/v1/") || path == "/metrics" {
                responses["401"] = problem("The token is missing or wrong");
                operation["security"] = json!([{}, { "token": [] }]);
            }
            let responses = &mut operation["responses"];
            if path == "/readyz" {
                responses["503"] = problem("The server is about to end");
            }
            if path.starts_with("/v1/") && path != "/v1/models" && path != "/v1/server" {
                responses["404"] = problem("There is no such model or label, or the model has no taxonomy");
                responses["422"] = problem("The request is understood, but cannot be done");
                responses["429"] = problem("Too many requests are waiting");
                responses["503"] = problem("Not done in time");
            }
            if method == "post" {
                responses["400"] = problem("Not JSON");
                responses["408"] = problem("The request did not arrive in time");
                responses["413"] = problem("The request is too large");
                responses["415"] = problem("Not a media type that is understood");
            }
        }
    }
    document["components"]["securitySchemes"] = json!({ "token": { "type": "http", "scheme": "bearer" } });
    document
}

static TEXT: LazyLock<Bytes> = LazyLock::new(|| document().to_string().into());

pub(crate) async fn answer() -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], TEXT.clone()).into_response()
}
