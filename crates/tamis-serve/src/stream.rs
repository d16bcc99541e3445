//! `application/x-ndjson`: documents come in and labels go out line by line, in order, in constant memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::BytesMut;
use futures_util::{StreamExt, stream};
use http_body_util::BodyExt;
use tamis::model::How;

use crate::App;
use crate::gate::Deadline;
use crate::problem::Problem;
use crate::served::Served;

/// Lines are worked on in pieces of about this size.
const PIECE: usize = 64 << 10;

/// Whole lines wait this long for company before they are worked on: a client that sends one by one is answered one by
/// one.
const PATIENCE: Duration = Duration::from_millis(5);

/// Lines that have come in and wait to become pieces.
struct Lines {
    body: Body,
    held: BytesMut,
    /// Number of the first line held, from 1.
    line: u64,
    ended: bool,
    limit: usize,
    pause: Duration,
}

struct Piece {
    lines: Bytes,
    first: u64,
}

impl Lines {
    /// The next whole lines; after the end of the body also one without a line end.
    async fn next(&mut self) -> Option<Result<Piece, Problem>> {
        loop {
            let whole = self.held.iter().rposition(|&b| b == b'\n').map(|at| at + 1);
            match whole {
                Some(end) if self.ended || self.held.len() >= PIECE => return Some(Ok(self.cut(end))),
                None if self.held.len() > self.limit => {
                    self.ended = true;
                    self.held.clear();
                    return Some(Err(Problem::too_large(self.limit, &format!("line {}", self.line))));
                }
                None if self.ended && self.held.is_empty() => return None,
                None if self.ended => return Some(Ok(self.cut(self.held.len()))),
                _ => {}
            }
            let wait = if whole.is_some() { PATIENCE } else { self.pause };
            match (tokio::time::timeout(wait, self.body.frame()).await, whole) {
                (Ok(Some(Ok(frame))), _) => {
                    if let Ok(data) = frame.into_data() {
                        self.held.extend_from_slice(&data);
                    }
                }
                (Ok(None), _) => self.ended = true,
                (Ok(Some(Err(error))), _) => {
                    self.ended = true;
                    self.held.clear();
                    return Some(Err(Problem::invalid(format!("the request broke off: {error}"))));
                }
                (Err(_), Some(end)) => return Some(Ok(self.cut(end))),
                (Err(_), None) => {
                    self.ended = true;
                    self.held.clear();
                    return Some(Err(Problem::invalid(format!("nothing came for {:?}", self.pause))));
                }
            }
        }
    }

    fn cut(&mut self, end: usize) -> Piece {
        let lines = self.held.split_to(end).freeze();
        let first = self.line;
        self.line += lines.iter().filter(|&&b| b == b'\n').count() as u64;
        Piece { lines, first }
    }
}

pub(crate) async fn classify(
    app: Arc<App>,
    model: Arc<Served>,
    top: u32,
    request: Request,
) -> Result<Response, Problem> {
    let limits = &app.options.limits;
    let declared = request.headers().get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<usize>().ok());
    // Many clients send everything before they read anything. What fits into memory is therefore read first; whoever
    // streams more must read while sending.
    let body = if declared.is_some_and(|n| n <= limits.body) {
        Body::from(crate::api::read(&app, request, Deadline::after(limits.time)).await?)
    } else {
        request.into_body()
    };
    let lines = Lines { body, held: BytesMut::new(), line: 1, ended: false, limit: limits.body, pause: limits.time };
    let pieces = stream::unfold(lines, |mut lines| async { lines.next().await.map(|piece| (piece, lines)) });
    let at_once = limits.concurrency.max(1);
    let answers = pieces
        .map(move |piece| {
            let (app, model) = (Arc::clone(&app), Arc::clone(&model));
            async move {
                let worked = match piece {
                    Ok(piece) => work(&app, model, piece, top).await,
                    Err(problem) => Err(problem),
                };
                // The status is long sent: what went wrong is said where the answer would be.
                worked.unwrap_or_else(|problem| {
                    Bytes::from(format!("{}\n", serde_json::json!({ "error": problem.detail() })))
                })
            }
        })
        .buffered(at_once)
        .map(Ok::<Bytes, std::convert::Infallible>);
    let kind = HeaderValue::from_static("application/x-ndjson");
    Ok(([(header::CONTENT_TYPE, kind)], Body::from_stream(answers)).into_response())
}

async fn work(app: &App, model: Arc<Served>, piece: Piece, top: u32) -> Result<Bytes, Problem> {
    let deadline = Deadline::after(app.options.limits.time);
    let compute = move || {
        let mut done = Vec::with_capacity(piece.lines.len() / 4);
        let how = How { ranked: top as usize, ..How::default() };
        let count = model.answer_lines(&piece.lines, piece.first, &how, &mut done)?;
        Ok((done, count))
    };
    let (done, count) = app.gate.compute(false, PIECE, deadline, compute).await?;
    app.metrics.documents.fetch_add(count, Ordering::Relaxed);
    Ok(done.into())
}
