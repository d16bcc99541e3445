//! `application/x-ndjson`: documents come in and labels go out line by line, in order, in constant memory.
//!
//! Streams wait for their turn and for memory instead of being refused, and the client waits with them. Every line has its
//! answer, or an error with its number in the same place.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use tamis::model::How;

use crate::App;
use crate::incoming::{Came, Incoming, declared};
use crate::lines::{Lines, Part, Piece};
use crate::problem::Problem;
use crate::room::{OWN, Taken};
use crate::served::{Served, wrong_line};

/// Whole lines wait this long for company before they are worked on: a client that sends one by one is answered one by
/// one.
const PATIENCE: Duration = Duration::from_millis(5);

/// Answers are made in steps of about this size: short lines may have long answers.
const STEP: usize = 256 << 10;

/// The lines of a request, as they come in.
struct Reader {
    app: Arc<App>,
    incoming: Incoming,
    lines: Lines,
    taken: Taken,
    ended: bool,
}

/// A part, with the room that its bytes take.
struct Held {
    part: Part,
    _taken: Taken,
}

impl Reader {
    fn new(app: Arc<App>, body: Body) -> Self {
        let limits = &app.options.limits;
        Self {
            incoming: Incoming::new(body, limits),
            lines: Lines::new(limits.body),
            taken: app.streams.part(),
            ended: false,
            app,
        }
    }

    /// Many clients send everything before they read anything. What is not too much is therefore read first; whoever
    /// streams more must read while sending.
    async fn read_ahead(&mut self) {
        let limits = &self.app.options.limits;
        let end = std::time::Instant::now() + limits.time;
        while !self.ended && self.taken.try_cover(self.lines.len() + OWN + OWN) {
            let left = end.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                return;
            }
            self.take(left).await;
        }
    }

    /// Takes what comes within the time; whether something did.
    async fn take(&mut self, patience: Duration) -> bool {
        match self.incoming.next(patience).await {
            Ok(Came::Nothing) => return false,
            Ok(Came::Data(data)) => {
                self.make_room(self.lines.len() + data.len()).await;
                self.lines.push(&data);
            }
            Ok(Came::End) => {
                self.lines.end(None);
                self.ended = true;
            }
            Err(problem) => {
                self.lines.end(Some(problem.detail().to_owned()));
                self.ended = true;
            }
        }
        true
    }

    /// Waits for memory. When there is none for long, a long line is given up: all may be waiting with half of one.
    async fn make_room(&mut self, bytes: usize) {
        let time = self.app.options.limits.time;
        if tokio::time::timeout(time, self.taken.cover(bytes)).await.is_err() {
            let detail = format!("there was no memory for a line of this length for {time:?}; send it again");
            self.lines.skip(detail);
        }
    }

    /// The next whole lines, or what is wrong with one.
    async fn next(&mut self) -> Option<Held> {
        loop {
            if let Some(part) = self.lines.next(self.ended) {
                return Some(self.hold(part));
            }
            if self.ended {
                return None;
            }
            let patience = if self.lines.has_whole() { PATIENCE } else { self.app.options.limits.time };
            if !self.take(patience).await
                && let Some(part) = self.lines.next(true)
            {
                return Some(self.hold(part));
            }
        }
    }

    /// A part with its share of the room; what is left is covered when more comes.
    fn hold(&mut self, part: Part) -> Held {
        if self.lines.len() > OWN {
            return Held { part, _taken: self.app.streams.part() };
        }
        Held { part, _taken: std::mem::replace(&mut self.taken, self.app.streams.part()) }
    }
}

pub(crate) async fn classify(
    app: Arc<App>,
    model: Arc<Served>,
    top: u32,
    request: Request,
) -> Result<Response, Problem> {
    let limits = &app.options.limits;
    let ahead = declared(request.headers()).is_some_and(|n| n <= limits.body);
    let mut reader = Reader::new(Arc::clone(&app), request.into_body());
    if ahead {
        reader.read_ahead().await;
    }
    let at_once = limits.concurrency.max(1);
    let work = Arc::new(Work { app, model, how: How { ranked: top as usize, ..How::default() } });
    let answers = stream::unfold(reader, |mut reader| async { reader.next().await.map(|part| (part, reader)) })
        .map({
            let work = Arc::clone(&work);
            move |held| Arc::clone(&work).begin(held)
        })
        .buffered(at_once)
        .flat_map(move |done| {
            let rest = stream::unfold(done.rest, {
                let work = Arc::clone(&work);
                move |rest| Arc::clone(&work).go_on(rest)
            });
            stream::iter([done.bytes]).chain(rest)
        })
        .map(Ok::<Bytes, std::convert::Infallible>);
    let kind = HeaderValue::from_static("application/x-ndjson");
    Ok(([(header::CONTENT_TYPE, kind)], Body::from_stream(answers)).into_response())
}

/// What is done with the lines of a stream.
struct Work {
    app: Arc<App>,
    model: Arc<Served>,
    how: How,
}

/// Answers, and the lines that are still to be answered.
struct Done {
    bytes: Bytes,
    rest: Option<Piece>,
}

impl Work {
    /// Answers the first lines of a part, when it is its turn and there is memory.
    async fn begin(self: Arc<Self>, held: Held) -> Done {
        match held.part {
            Part::Wrong { line, ref detail } => Done { bytes: wrong_line(line, detail).into(), rest: None },
            Part::Lines(ref piece) => {
                let mut taken = self.app.streams.part();
                taken.cover(OWN + STEP).await;
                self.step(piece.clone(), STEP, taken).await
            }
        }
    }

    /// Answers the lines that are left. Others may hold the memory and wait for these, so these do not wait for memory.
    async fn go_on(self: Arc<Self>, rest: Option<Piece>) -> Option<(Bytes, Option<Piece>)> {
        let mut taken = self.app.streams.part();
        let most = if taken.try_cover(OWN + STEP) { STEP } else { OWN };
        let done = self.step(rest?, most, taken).await;
        Some((done.bytes, done.rest))
    }

    async fn step(&self, piece: Piece, most: usize, taken: Taken) -> Done {
        let (model, how, lines) = (Arc::clone(&self.model), self.how.clone(), piece.clone());
        let work = move || Ok(model.answer_lines(&lines, &how, most));
        let (bytes, answered, rest) = match self.app.gate.compute_in_turn(work).await {
            Ok(done) => done,
            // Nothing is known about these lines but that they cannot be answered.
            Err(problem) => {
                let lines = piece.lines.split(|&b| b == b'\n').zip(piece.first..);
                let wrong = lines.filter(|(line, _)| !line.trim_ascii().is_empty());
                (wrong.flat_map(|(_, number)| wrong_line(number, problem.detail())).collect(), 0, None)
            }
        };
        self.app.metrics.documents.fetch_add(answered, Ordering::Relaxed);
        Done { bytes: taken.around(bytes), rest }
    }
}
