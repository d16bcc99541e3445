//! What a client is told when something is wrong: RFC 9457, `application/problem+json`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// Why a request was not answered as asked.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// Always `about:blank`: the status says what kind of problem it is.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The status in words.
    title: String,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// What is wrong here, and what to do.
    detail: String,
    /// Seconds after which it is worth trying again.
    #[serde(skip)]
    retry: Option<u32>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            retry: None,
        }
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    pub(crate) fn too_large(limit: usize, what: &str) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, format!("{what} is larger than {limit} bytes; send it in parts"))
    }

    pub(crate) fn too_long(seconds: f64) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, format!("not done within {seconds} s; send less at once")).retry(1)
    }

    /// There is no memory for what comes in or goes out.
    pub(crate) fn crowded() -> Self {
        let detail =
            "too much is being read and sent at the moment; try again shortly, or send and ask for less at once";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail).retry(1)
    }

    /// The answer would be too large.
    pub(crate) fn too_much(limit: usize) -> Self {
        let detail = format!(
            "the answer would be larger than {limit} bytes: ask for a smaller \"top\", for one \"label\", or for fewer \
             documents at once, or stream them"
        );
        Self::invalid(detail)
    }

    pub(crate) fn retry(mut self, seconds: u32) -> Self {
        self.retry = Some(seconds);
        self
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }
}

/// The one translation of library errors.
impl From<tamis::Error> for Problem {
    fn from(error: tamis::Error) -> Self {
        match &error {
            tamis::Error::Unknown { .. } => Self::not_found(unknown(&error)),
            tamis::Error::Data { .. } | tamis::Error::Invalid { .. } => Self::invalid(keys(&error.to_string())),
            _ => {
                // Paths of the disk are nobody's business; the log has them.
                tracing::error!("{error}");
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "the server cannot do this; its log says why")
            }
        }
    }
}

/// A message of the library with its options as keys of a JSON object.
fn keys(message: &str) -> String {
    tamis::spell_options(message, |option, value| match value {
        None => format!("\"{option}\""),
        Some(value) => format!("\"{option}\": {value:?}"),
    })
}

/// Labels can be many: only near names are listed.
fn unknown(error: &tamis::Error) -> String {
    let tamis::Error::Unknown { kind, name, nearest, .. } = error else { return error.to_string() };
    let name: String = name.chars().take(200).collect();
    match nearest.as_slice() {
        [] => format!("unknown {kind} {name:?}"),
        near => format!("unknown {kind} {name:?}; did you mean {}?", near.join(" or ")),
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let kind = HeaderValue::from_static("application/problem+json");
        let mut response = (status, [(header::CONTENT_TYPE, kind)], body).into_response();
        if let Some(seconds) = self.retry {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_keys() {
        let problem = Problem::from(tamis::Error::invalid("features", 0, "at least one; see the option `terms`"));
        assert_eq!(problem.detail(), "\"features\": \"0\": at least one; see \"terms\"");
    }
}
