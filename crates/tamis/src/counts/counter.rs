//! Documents → [`Counts`] in one parallel pass.
//!
//! Workers take batches from the source, parse and tokenise them, and number terms by their own first sight
//! ([`tally`](super::tally)); one worker at a time hands finished batches to the [`Merger`] in corpus order. All state
//! that outlives a batch changes in that order alone, so results do not depend on the number of threads, pruning
//! included.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::merger::{Merger, Mode};
use super::tally::{Tallied, Worker};
use super::{Contingency, Counts, Vocabulary};
use crate::corpus::{Batches, OnError, Part, Peeked, Skipped};
use crate::terms::TextOptions;
use crate::{Error, Progress, Result};

/// Which documents a contingency counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Counted {
    /// Those in the train part where the corpus gives a split (method 1: never test documents), all where it does not.
    /// The first batch tells whether it does.
    #[default]
    Training,
    /// All.
    All,
}

/// How to count.
#[derive(Debug, Clone)]
pub struct CountOptions {
    /// Text to terms.
    pub text: TextOptions,
    /// About how many bytes the counts may take. With documents ([`count`]) more is an error that says what is needed; a
    /// contingency ([`count_contingency`]) keeps no documents, and beyond the bound its rare terms are pruned.
    pub memory: usize,
    /// Only these terms are counted; lengths still count every token (method 6).
    pub vocabulary: Option<Arc<Vocabulary>>,
    /// Terms in fewer documents to learn from ([`Counts::training`]) are left out; lengths still count every token.
    pub min_df: u32,
}

impl Default for CountOptions {
    fn default() -> Self {
        Self { text: TextOptions::default(), memory: 4 << 30, vocabulary: None, min_df: 1 }
    }
}

/// What was pruned to stay within the memory bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pruned {
    /// How many times memory ran out.
    pub rounds: u32,
    /// Terms removed, summed over the rounds (a term that came back and went again counts twice).
    pub terms: u64,
    /// The document frequency of a term that came back after it was pruned is short by at most this.
    pub short_by: u32,
}

/// What counting returns beside the counts.
#[derive(Debug, Clone, Default)]
pub struct CountReport {
    /// Malformed records passed over.
    pub skipped: Skipped,
    /// Terms pruned.
    pub pruned: Pruned,
}

/// Counts a whole corpus, documents and all; nothing is pruned.
pub fn count(
    source: Box<dyn Batches>,
    options: &CountOptions,
    progress: &dyn Progress,
) -> Result<(Counts, CountReport)> {
    let mut merger = run(source, options, progress, Mode::Keep)?;
    merger.check_fit()?;
    let counts = merger.drain();
    Ok((counts, CountReport { skipped: merger.skipped, pruned: merger.pruned }))
}

/// Counts a corpus of any size into a contingency: documents are folded in and forgotten, chunk by chunk.
pub fn count_contingency(
    source: Box<dyn Batches>,
    counted: Counted,
    options: &CountOptions,
    progress: &dyn Progress,
) -> Result<(Contingency, CountReport)> {
    let (source, has_parts) = Peeked::new(source)?;
    let only_training = counted == Counted::Training && has_parts;
    let mode = Mode::Fold { chunk: options.memory / 4, only_training };
    let mut merger = run(Box::new(source), options, progress, mode)?;
    merger.fold();
    let mut total = merger.folded.take().unwrap_or_else(|| Contingency::of(&Counts::from_rows::<&str, &str>(&[])));
    if options.min_df > 1 {
        total = total.retain_terms(|term| total.df()[term as usize] >= options.min_df);
    }
    Ok((total, CountReport { skipped: merger.skipped, pruned: merger.pruned }))
}

fn run(source: Box<dyn Batches>, options: &CountOptions, progress: &dyn Progress, mode: Mode) -> Result<Merger> {
    let threads = rayon::current_num_threads();
    progress.start("counting", None);
    let shared = Shared {
        on_error: source.on_error(),
        source: Mutex::new((source, 0)),
        state: Mutex::new(State {
            pending: BTreeMap::new(),
            next: 0,
            failed: None,
            merger: Merger::new(options, threads, mode),
            documents: 0,
            seen: vec![false; options.text.blocks().len()],
        }),
        merged: Condvar::new(),
        stop: AtomicBool::new(false),
        only_training: matches!(mode, Mode::Fold { only_training: true, .. }),
    };
    // Each worker may hold a share of the bound in its private tables.
    let private = (options.memory / 8 / threads).max(1 << 20);
    rayon::scope(|scope| {
        for number in 0..threads {
            let shared = &shared;
            scope.spawn(move |_| {
                if let Err(error) = work(number, shared, options, private, progress) {
                    shared.fail(u64::MAX, error);
                }
            });
        }
    });
    progress.finish();
    let state = shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, error)) = state.failed {
        return Err(error);
    }
    let (source, _) = shared.source.into_inner().unwrap_or_else(PoisonError::into_inner);
    match state.seen.iter().position(|seen| !seen).filter(|_| state.documents > 0) {
        Some(block) => Err(missed(options.text.blocks()[block].field(), &source.fields())),
        None => Ok(state.merger),
    }
}

/// The error for a field that no document has.
fn missed(field: &str, known: &[String]) -> Error {
    let there = if known.is_empty() {
        "documents have one text, `text`".to_owned()
    } else {
        format!("there are {}", known.join(", "))
    };
    Error::data(format!("no document has the field {field:?}, which the terms expression names; {there}"))
}

struct Shared {
    source: Mutex<(Box<dyn Batches>, u64)>,
    state: Mutex<State>,
    merged: Condvar,
    stop: AtomicBool,
    only_training: bool,
    on_error: OnError,
}

struct State {
    /// Finished batches that wait for an earlier one.
    pending: BTreeMap<u64, Tallied>,
    /// The batch to merge next.
    next: u64,
    /// The failure of the earliest batch, so that the error reported is the first in the corpus.
    failed: Option<(u64, Error)>,
    merger: Merger,
    documents: usize,
    /// Whether a document had what each block of the terms expression reads.
    seen: Vec<bool>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, batch: u64, error: Error) {
        let mut state = self.state();
        if state.failed.as_ref().is_none_or(|(earlier, _)| batch < *earlier) {
            state.failed = Some((batch, error));
        }
        self.stop.store(true, Ordering::Relaxed);
        self.merged.notify_all();
    }
}

fn work(number: usize, shared: &Shared, options: &CountOptions, private: usize, progress: &dyn Progress) -> Result<()> {
    let mut worker = Worker::new(number, options)?;
    loop {
        if progress.cancelled() {
            return Err(Error::Interrupted);
        }
        let (batch, sequence) = {
            let mut source = shared.source.lock().unwrap_or_else(PoisonError::into_inner);
            if shared.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let sequence = source.1;
            source.1 += 1;
            match source.0.next_batch() {
                Ok(Some(batch)) => (batch, sequence),
                Ok(None) => {
                    drop(source);
                    shared.state().seen.iter_mut().zip(worker.seen()).for_each(|(all, one)| *all |= one);
                    return Ok(());
                }
                Err(error) => {
                    shared.fail(sequence, error);
                    return Ok(());
                }
            }
        };
        let mut counted = worker.new_batch();
        let mut failure = None;
        batch.visit(&mut |record| {
            let document = match record {
                Ok(document) => document,
                Err(error) if shared.on_error == OnError::Skip => {
                    counted.skipped.add(&error);
                    return ControlFlow::Continue(());
                }
                Err(error) => {
                    failure = Some(error);
                    return ControlFlow::Break(());
                }
            };
            if !shared.only_training || document.part == Some(Part::Train) {
                worker.document(&document, &mut counted);
            }
            ControlFlow::Continue(())
        });
        if let Some(error) = failure {
            shared.fail(sequence, error);
            return Ok(());
        }
        progress.add(counted.len() as u64);
        worker.announce(&mut counted);
        if worker.heap_bytes() > private {
            worker.clear();
            counted.last_before_clear = true;
        }
        let mut state = shared.state();
        state.documents += counted.len();
        state.pending.insert(sequence, counted);
        while let Some(counted) = {
            let next = state.next;
            state.pending.remove(&next)
        } {
            state.next += 1;
            state.merger.add(counted);
        }
        shared.merged.notify_all();
        // A worker stuck on a heavy batch must not make the others pile up results without bound.
        let crowded = |state: &mut State| {
            state.pending.len() > 4 * rayon::current_num_threads() && !shared.stop.load(Ordering::Relaxed)
        };
        drop(shared.merged.wait_while(state, crowded).unwrap_or_else(PoisonError::into_inner));
    }
}
