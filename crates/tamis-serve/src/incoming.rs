//! Bodies of requests as they come in: within limits of size, time, pace and memory.

use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;

use crate::App;
use crate::gate::Deadline;
use crate::options::Limits;
use crate::pace::Pace;
use crate::problem::Problem;
use crate::room::Taken;

/// A body of which parts are to come.
pub(crate) struct Incoming {
    body: Body,
    pace: Pace,
}

/// What came.
pub(crate) enum Came {
    Data(Bytes),
    /// Nothing within the time given.
    Nothing,
    /// All is there.
    End,
}

impl Incoming {
    pub(crate) fn new(body: Body, limits: &Limits) -> Self {
        Self { body, pace: Pace::new(limits.rate, limits.time) }
    }

    /// The next part. An error when the client is too slow, or gone.
    pub(crate) async fn next(&mut self, patience: Duration) -> Result<Came, Problem> {
        loop {
            let begin = Instant::now();
            let came = tokio::time::timeout(self.pace.left().min(patience), self.body.frame()).await;
            let bytes = match &came {
                Ok(Some(Ok(frame))) => frame.data_ref().map_or(0, Bytes::len),
                _ => 0,
            };
            let fast = self.pace.went(begin.elapsed(), bytes);
            return match came {
                Ok(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => Ok(Came::Data(data)),
                    // Trailers.
                    Err(_) => continue,
                },
                Ok(None) => Ok(Came::End),
                Ok(Some(Err(error))) => {
                    Err(Problem::new(StatusCode::BAD_REQUEST, format!("the request broke off: {error}")))
                }
                Err(_) if !fast => {
                    let detail = format!("the request did not arrive in time: {}", self.pace.asked());
                    Err(Problem::new(StatusCode::REQUEST_TIMEOUT, detail))
                }
                Err(_) => Ok(Came::Nothing),
            };
        }
    }

    /// Reads on for a moment, so that a client that sends everything before it reads can read the answer instead of a
    /// broken pipe.
    async fn pass_over(mut self) {
        let rest = async {
            let mut passed = 0;
            while let Some(Ok(frame)) = self.body.frame().await {
                passed += frame.data_ref().map_or(0, Bytes::len);
                if passed > READ_ON {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(2), rest).await;
    }
}

/// How much of a request that is refused is read on.
const READ_ON: usize = 64 << 20;

/// A whole body, and the room it takes.
pub(crate) struct Whole {
    pub(crate) bytes: Vec<u8>,
    taken: Taken,
}

impl Whole {
    /// The same without a byte order mark.
    pub(crate) fn text(&self) -> &[u8] {
        without_mark(&self.bytes)
    }

    /// Gives the bytes back; the room is what the answer may take.
    pub(crate) fn into_room(self) -> Taken {
        let Self { bytes, taken } = self;
        drop(bytes);
        taken
    }
}

/// Windows puts a byte order mark before UTF-8; it is no part of the text.
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// The size that a request says it has.
pub(crate) fn declared(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse().ok())
}

/// Bodies are taken as they are.
pub(crate) fn is_plain(headers: &HeaderMap) -> Result<(), Problem> {
    let codings = headers.get_all(header::CONTENT_ENCODING).iter();
    match codings.into_iter().find(|v| !v.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity")) {
        None => Ok(()),
        Some(coding) => {
            let coding = String::from_utf8_lossy(&coding.as_bytes()[..coding.len().min(40)]).into_owned();
            let detail = format!("Content-Encoding: {coding} is not understood here; send the body uncompressed");
            Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
        }
    }
}

/// The whole body, within limits of size and time.
pub(crate) async fn read(app: &App, request: Request, deadline: Deadline) -> Result<Whole, Problem> {
    let limits = &app.options.limits;
    let declared = declared(request.headers());
    let mut incoming = Incoming::new(request.into_body(), limits);
    let mut whole = Whole { bytes: Vec::new(), taken: app.requests.part() };
    let refused = loop {
        if declared.unwrap_or(0).max(whole.bytes.len()) > limits.body {
            break Problem::too_large(limits.body, "the request");
        }
        match incoming.next(deadline.left()).await? {
            Came::End => return Ok(whole),
            Came::Nothing => {
                let detail = format!("the request did not arrive within {:?}", limits.time);
                return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, detail));
            }
            Came::Data(data) => {
                if !whole.taken.try_cover(whole.bytes.len() + data.len()) {
                    break Problem::crowded();
                }
                whole.bytes.extend_from_slice(&data);
            }
        }
    };
    drop(whole);
    incoming.pass_over().await;
    Err(refused)
}
