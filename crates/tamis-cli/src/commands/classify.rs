//! `tamis classify`: model × documents → labels, as a stream.

use std::collections::VecDeque;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::mpsc;

use serde_json::{Value, json};
use tamis::corpus::{Batch, Document, OnError};
use tamis::model::{Labeller, Model};

use crate::corpus_args::{ReadArgs, open};
use crate::global::Global;
use crate::output::stdout;

/// Label documents: JSONL out, in the order of the input, in constant memory.
///
/// Each line has the document's id, its labels (with a taxonomy also their paths, root first) and, with --scores, all scores. A document without any word that the
/// model knows is marked "known": false.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Model file.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Documents in any format, `-` for standard input; lines of plain text with --lines.
    #[arg(value_name = "DOCS", default_value = "-")]
    documents: Vec<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
    /// Give the N best labels of each document, whatever the thresholds say.
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Add scores (and probabilities, where the model has them).
    #[arg(long)]
    scores: bool,
    /// Add the words that spoke for each label.
    #[arg(long)]
    explain: bool,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let model = Model::read(&args.model)?;
    let source = open(&args.documents, &args.read, global)?;
    let mut batches = source.batches()?;
    let on_error = batches.on_error();
    let threads = rayon::current_num_threads();
    let mut out = stdout();
    let mut skipped = tamis::corpus::Skipped::default();
    // Batches are labelled by any thread and written in order; a few are in flight at a time.
    std::thread::scope(|scope| -> anyhow::Result<()> {
        let (work, inbox) = crossbeam(threads);
        for inbox in inbox {
            let (model, args) = (&model, &args);
            scope.spawn(move || {
                let mut labeller = model.labeller();
                for (batch, reply) in inbox {
                    let done = match &mut labeller {
                        Ok(labeller) => label(batch.as_ref(), labeller, model, args, on_error),
                        Err(error) => Err(tamis::Error::data(error.to_string())),
                    };
                    if reply.send(done).is_err() {
                        return;
                    }
                }
            });
        }
        let mut waiting: VecDeque<mpsc::Receiver<tamis::Result<Labelled>>> = VecDeque::new();
        let mut next = 0;
        loop {
            let batch = if waiting.len() < 2 * threads { batches.next_batch()? } else { None };
            let ended = batch.is_none() && waiting.len() < 2 * threads;
            if let Some(batch) = batch {
                let (reply, answer) = mpsc::channel();
                work[next % threads].send((batch, reply)).map_err(|_| anyhow::anyhow!("a worker ended early"))?;
                next += 1;
                waiting.push_back(answer);
                if waiting.len() < 2 * threads {
                    continue;
                }
            }
            match waiting.pop_front() {
                Some(answer) => {
                    let labelled = answer.recv()??;
                    out.write_all(&labelled.lines)?;
                    skipped.append(labelled.skipped);
                }
                None if ended => break,
                None => {}
            }
        }
        drop(work);
        Ok(())
    })?;
    out.flush()?;
    if skipped.count > 0 {
        tracing::warn!("{skipped}");
    }
    Ok(())
}

type Job = (Box<dyn Batch>, mpsc::Sender<tamis::Result<Labelled>>);

/// One queue for each worker; jobs are dealt in turn, so answers come back in order of their queues.
fn crossbeam(threads: usize) -> (Vec<mpsc::Sender<Job>>, Vec<mpsc::Receiver<Job>>) {
    (0..threads).map(|_| mpsc::channel()).unzip()
}

struct Labelled {
    lines: Vec<u8>,
    skipped: tamis::corpus::Skipped,
}

fn label(
    batch: &dyn Batch,
    labeller: &mut Labeller<'_>,
    model: &Model,
    args: &Args,
    on_error: OnError,
) -> tamis::Result<Labelled> {
    let mut done = Labelled { lines: Vec::new(), skipped: tamis::corpus::Skipped::default() };
    let mut failure = None;
    batch.visit(&mut |record| match record {
        Ok(document) => {
            line(&document, labeller, model, args, &mut done.lines);
            ControlFlow::Continue(())
        }
        Err(error) if on_error == OnError::Skip => {
            done.skipped.add(&error);
            ControlFlow::Continue(())
        }
        Err(error) => {
            failure = Some(error);
            ControlFlow::Break(())
        }
    });
    failure.map_or(Ok(done), Err)
}

/// Writes the line of a document. The usual one is written by hand: a tree of JSON values for each document would cost
/// more than its classification.
fn line(document: &Document<'_>, labeller: &mut Labeller<'_>, model: &Model, args: &Args, lines: &mut Vec<u8>) {
    let labelled = labeller.label(&document.body);
    let score_of =
        |label: u32| labelled.ranked.iter().find(|s| s.label == label).map_or(f64::NEG_INFINITY, |s| s.score);
    let mut chosen: Vec<(u32, f64)> = match args.top {
        Some(top) => labelled.ranked.iter().take(top).map(|s| (s.label, s.score)).collect(),
        None => labelled.decided.iter().map(|&l| (l, score_of(l))).collect(),
    };
    chosen.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    lines.extend_from_slice(b"{\"id\":");
    text(&document.id, lines);
    lines.extend_from_slice(b",\"labels\":[");
    for (at, (label, _)) in chosen.iter().enumerate() {
        if at > 0 {
            lines.push(b',');
        }
        text(model.labels.name(*label), lines);
    }
    lines.push(b']');
    if model.taxonomy.is_some() {
        let paths: Vec<Vec<&str>> = chosen.iter().filter_map(|(label, _)| model.path(*label)).collect();
        lines.extend_from_slice(b",\"paths\":");
        lines.extend_from_slice(json!(paths).to_string().as_bytes());
    }
    if args.scores {
        let scores: serde_json::Map<String, Value> = labelled
            .ranked
            .iter()
            .take(args.top.unwrap_or(usize::MAX))
            .map(|s| (model.labels.name(s.label).to_owned(), json!(s.score)))
            .collect();
        lines.extend_from_slice(b",\"scores\":");
        lines.extend_from_slice(Value::Object(scores).to_string().as_bytes());
        if let Some(calibration) = &model.calibration {
            let probabilities: serde_json::Map<String, Value> = chosen
                .iter()
                .map(|&(l, s)| (model.labels.name(l).to_owned(), json!(calibration.probability(l, s))))
                .collect();
            lines.extend_from_slice(b",\"probabilities\":");
            lines.extend_from_slice(Value::Object(probabilities).to_string().as_bytes());
        }
    }
    let known = labelled.known;
    if args.explain {
        let why: serde_json::Map<String, Value> = chosen
            .iter()
            .map(|&(l, _)| (model.labels.name(l).to_owned(), super::explain::words(model, labeller.query(), l, 10)))
            .collect();
        lines.extend_from_slice(b",\"why\":");
        lines.extend_from_slice(Value::Object(why).to_string().as_bytes());
    }
    if !known {
        lines.extend_from_slice(b",\"known\":false");
    }
    lines.extend_from_slice(b"}\n");
}

fn text(value: &str, lines: &mut Vec<u8>) {
    if serde_json::to_writer(&mut *lines, value).is_err() {
        unreachable!("writing text to memory cannot fail");
    }
}
