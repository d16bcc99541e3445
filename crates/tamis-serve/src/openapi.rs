//! `/openapi.json`: made from the types and handlers; what derives cannot say is added here.

use std::sync::{Arc, LazyLock};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use utoipa::OpenApi;

use crate::{App, api, problem, wire};

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

/// Models that read plain texts: a document has a text or tokens, and a request nothing that is not listed.
fn no_fields(schemas: &mut Value) {
    // Exactly one of them.
    let one_of = |names: &[&str]| names.iter().map(|n| json!({ "required": [n] })).collect::<Vec<_>>();
    schemas["ClassifyRequest"]["oneOf"] = json!(one_of(&["text", "tokens", "documents"]));
    schemas["ClassifyRequest"]["dependentSchemas"] = json!({ "id": { "not": { "required": ["documents"] } } });
    schemas["DocumentIn"]["oneOf"] = json!(one_of(&["text", "tokens"]));
    schemas["ExplainRequest"]["oneOf"] = json!(one_of(&["text", "tokens"]));
    for object in ["ClassifyRequest", "ExplainRequest"] {
        schemas[object]["additionalProperties"] = json!(false);
    }
}

/// Models that read fields: which other keys there may be depends on the model.
fn some_fields(schemas: &mut Value) {
    let field = "A text that the terms of the model name; GET /v1/model lists its fields";
    for object in ["ClassifyRequest", "ExplainRequest"] {
        schemas[object]["additionalProperties"] = json!({ "type": "string", "description": field });
    }
}

/// The OpenAPI 3.1 document of a server whose models read plain texts.
pub fn document() -> Value {
    described(false)
}

/// The document; `fields` when there is a model that reads fields.
fn described(fields: bool) -> Value {
    let mut document = serde_json::to_value(Document::openapi()).unwrap_or_default();
    let schemas = &mut document["components"]["schemas"];
    let id = &mut schemas["DocumentIn"]["properties"]["id"];
    id["type"] = json!(["string", "integer", "null"]);
    (id["minimum"], id["maximum"]) = (json!(i64::MIN), json!(u64::MAX));
    // The keys of a document stand beside those of a request.
    let of_document = schemas["DocumentIn"]["properties"].clone();
    for request in ["ClassifyRequest", "ExplainRequest"] {
        for (name, schema) in of_document.as_object().into_iter().flatten() {
            schemas[request]["properties"][name] = schema.clone();
        }
    }
    if fields {
        some_fields(schemas);
    } else {
        no_fields(schemas);
    }
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
            responses["400"] = problem("Not JSON, or not one Host header");
            responses["421"] = problem("The Host header names another server");
            responses["503"] = problem("All connections are taken, or the server is about to end");
            if path.starts_with("/v1/") || path == "/metrics" {
                responses["401"] = problem("The token is missing or wrong");
                operation["security"] = json!([{}, { "token": [] }]);
            }
            let responses = &mut operation["responses"];
            if path.starts_with("/v1/") && path != "/v1/models" && path != "/v1/server" {
                responses["404"] = problem("There is no such model or label, or the model has no taxonomy");
                responses["422"] = problem("The request is understood, but cannot be done");
                responses["429"] = problem("Too many requests are waiting");
                responses["503"] = problem("Not done in time, or no memory or connection is free");
            }
            if method == "post" {
                responses["408"] = problem("The request did not arrive in time");
                responses["413"] = problem("The request is too large");
                responses["415"] = problem("Not a media type that is understood");
            }
        }
    }
    document["components"]["securitySchemes"] = json!({ "token": { "type": "http", "scheme": "bearer" } });
    document
}

pub(crate) async fn answer(State(app): State<Arc<App>>) -> Response {
    static PLAIN: LazyLock<Bytes> = LazyLock::new(|| described(false).to_string().into());
    static FIELDS: LazyLock<Bytes> = LazyLock::new(|| described(true).to_string().into());
    let fields = app.models.all().iter().any(|m| m.terms().has_fields());
    let text = if fields { FIELDS.clone() } else { PLAIN.clone() };
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response()
}
