//! Documents → [`Counts`] in one parallel pass.
//!
//! Workers take batches from the source, parse and tokenise them, and number terms by their own first sight; one
//! worker at a time merges finished batches in corpus order into the shared numbering. All state that outlives a batch
//! changes in that order alone, so results do not depend on the number of threads, pruning included.
//! A worker announces each new name once; after that a token costs the merge one array access.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::interner::Interner;
use super::{Contingency, Counts, Csr, Vocabulary};
use crate::corpus::{Analyzer, Batch, Batches, Document, OnError, Part, Skipped, TextOptions};
use crate::{Error, Progress, Result};

/// Which documents a contingency counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Counted {
    /// Those in the train part where the corpus gives a split (SPEC 1: never test documents), all where it does not.
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
    /// About how many bytes the counts may take; beyond it, rare terms are pruned while counting.
    pub memory: usize,
    /// Only these terms are counted; lengths still count every token (SPEC 6).
    pub vocabulary: Option<Arc<Vocabulary>>,
    /// What a malformed record does.
    pub on_error: OnError,
}

impl Default for CountOptions {
    fn default() -> Self {
        Self { text: TextOptions::default(), memory: 4 << 30, vocabulary: None, on_error: OnError::Stop }
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

/// Counts a whole corpus, documents and all.
pub fn count(
    source: Box<dyn Batches>,
    options: &CountOptions,
    progress: &dyn Progress,
) -> Result<(Counts, CountReport)> {
    let mut merger = run(source, options, progress, Mode::Keep)?;
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
    let total = merger.folded.take().unwrap_or_else(|| Contingency::of(&Counts::from_rows::<&str, &str>(&[])));
    Ok((total, CountReport { skipped: merger.skipped, pruned: merger.pruned }))
}

/// What becomes of documents once they are counted.
#[derive(Clone, Copy)]
enum Mode {
    /// Their rows are kept.
    Keep,
    /// Their rows are folded into a contingency whenever they take `chunk` bytes.
    Fold { chunk: usize, only_training: bool },
}

/// A source whose first batch was looked at.
struct Peeked {
    first: Option<Box<dyn Batch>>,
    rest: Box<dyn Batches>,
}

impl Peeked {
    /// Takes the first batch and tells whether its documents are in parts of a given split.
    fn new(mut source: Box<dyn Batches>) -> Result<(Self, bool)> {
        let first = source.next_batch()?;
        let mut has_parts = false;
        if let Some(batch) = &first {
            batch.visit(&mut |document| {
                has_parts = document.is_ok_and(|d| d.part.is_some());
                if has_parts { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        }
        Ok((Self { first, rest: source }, has_parts))
    }
}

impl Batches for Peeked {
    fn next_batch(&mut self) -> Result<Option<Box<dyn Batch>>> {
        match self.first.take() {
            Some(batch) => Ok(Some(batch)),
            None => self.rest.next_batch(),
        }
    }
}

fn run(source: Box<dyn Batches>, options: &CountOptions, progress: &dyn Progress, mode: Mode) -> Result<Merger> {
    options.text.validate()?;
    let threads = rayon::current_num_threads();
    progress.start("counting", None);
    let shared = Shared {
        source: Mutex::new((source, 0)),
        state: Mutex::new(State {
            pending: BTreeMap::new(),
            next: 0,
            failed: None,
            merger: Merger::new(options, threads, mode),
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
    match state.failed {
        Some((_, error)) => Err(error),
        None => Ok(state.merger),
    }
}

struct Shared {
    source: Mutex<(Box<dyn Batches>, u64)>,
    state: Mutex<State>,
    merged: Condvar,
    stop: AtomicBool,
    only_training: bool,
}

struct State {
    /// Finished batches that wait for an earlier one.
    pending: BTreeMap<u64, Tallied>,
    /// The batch to merge next.
    next: u64,
    /// The failure of the earliest batch, so that the error reported is the first in the corpus.
    failed: Option<(u64, Error)>,
    merger: Merger,
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
                Ok(None) => return Ok(()),
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
                Err(error) if options.on_error == OnError::Skip => {
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
        progress.add(counted.lengths.len() as u64);
        worker.announce(&mut counted);
        if worker.heap_bytes() > private {
            worker.clear();
            counted.last_before_clear = true;
        }
        let mut state = shared.state();
        state.pending.insert(sequence, counted);
        while let Some(counted) = {
            let next = state.next;
            state.pending.remove(&next)
        } {
            state.next += 1;
            if let Err(error) = state.merger.add(counted) {
                drop(state);
                shared.fail(sequence, error);
                return Ok(());
            }
        }
        shared.merged.notify_all();
        // A worker stuck on a heavy batch must not make the others pile up results without bound.
        let crowded = |state: &mut State| {
            state.pending.len() > 4 * rayon::current_num_threads() && !shared.stop.load(Ordering::Relaxed)
        };
        drop(shared.merged.wait_while(state, crowded).unwrap_or_else(PoisonError::into_inner));
    }
}

/// A batch in the worker's own numbers.
#[derive(Default)]
struct Tallied {
    worker: usize,
    terms: Vec<u32>,
    counts: Vec<u32>,
    ends: Vec<usize>,
    labels: Vec<u32>,
    label_ends: Vec<usize>,
    lengths: Vec<u32>,
    ids: Vec<String>,
    parts: Vec<Option<Part>>,
    dates: Vec<Option<String>>,
    new_terms: Names,
    new_labels: Names,
    skipped: Skipped,
    /// The worker starts its numbers from 0 again after this batch.
    last_before_clear: bool,
}

/// Names back to back, as a worker announces them.
#[derive(Default)]
struct Names {
    text: String,
    ends: Vec<usize>,
}

impl Names {
    fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    fn get(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start..self.ends[at]]
    }
}

struct Worker {
    number: usize,
    analyzer: Analyzer,
    labels: Interner,
    announced_terms: usize,
    announced_labels: usize,
    /// Occurrences of each term in the current document; zero between documents.
    dense: Vec<u32>,
}

impl Worker {
    fn new(number: usize, options: &CountOptions) -> Result<Self> {
        Ok(Self {
            number,
            analyzer: Analyzer::new(&options.text)?,
            labels: Interner::default(),
            announced_terms: 0,
            announced_labels: 0,
            dense: Vec::new(),
        })
    }

    fn new_batch(&self) -> Tallied {
        Tallied { worker: self.number, ..Tallied::default() }
    }

    fn document(&mut self, document: &Document<'_>, out: &mut Tallied) {
        let start = out.terms.len();
        let mut length = 0u32;
        let dense = &mut self.dense;
        self.analyzer.analyze(&document.body, |term, count| {
            let at = term as usize;
            if at >= dense.len() {
                dense.resize((at + 1).next_power_of_two().max(1 << 12), 0);
            }
            if dense[at] == 0 {
                out.terms.push(term);
            }
            dense[at] = dense[at].saturating_add(count);
            length = length.saturating_add(count);
        });
        out.counts.extend(out.terms[start..].iter().map(|&term| std::mem::take(&mut dense[term as usize])));
        out.ends.push(out.terms.len());
        out.lengths.push(length);
        for label in &document.labels {
            out.labels.push(self.labels.intern(label));
        }
        out.label_ends.push(out.labels.len());
        out.ids.push(document.id.as_ref().to_owned());
        out.parts.push(document.part);
        out.dates.push(document.date.as_ref().map(|d| d.as_ref().to_owned()));
    }

    fn announce(&mut self, out: &mut Tallied) {
        for id in self.announced_terms..self.analyzer.terms() {
            out.new_terms.push(self.analyzer.term(id as u32));
        }
        for id in self.announced_labels..self.labels.len() {
            out.new_labels.push(self.labels.name(id as u32));
        }
        self.announced_terms = self.analyzer.terms();
        self.announced_labels = self.labels.len();
    }

    fn clear(&mut self) {
        self.analyzer.clear();
        self.labels.clear();
        self.announced_terms = 0;
        self.announced_labels = 0;
    }

    fn heap_bytes(&self) -> usize {
        self.analyzer.heap_bytes() + self.labels.heap_bytes()
    }
}

/// A number that a worker's term does not have in the shared numbering yet, or has no more.
const UNKNOWN: u32 = u32::MAX;
/// A term outside the user's vocabulary.
const REFUSED: u32 = u32::MAX - 1;

/// What the merge knows of a worker's numbering.
#[derive(Default)]
struct Translation {
    /// All names announced, so that a pruned term that comes back can be numbered anew.
    announced: Vec<Names>,
    /// For each worker number: announcement and place in it.
    origin: Vec<(u32, u32)>,
    shared: Vec<u32>,
}

impl Translation {
    fn announce(&mut self, names: Names) {
        let block = self.announced.len() as u32;
        self.origin.extend((0..names.ends.len() as u32).map(|at| (block, at)));
        self.shared.resize(self.origin.len(), UNKNOWN);
        self.announced.push(names);
    }

    fn name(&self, id: u32) -> &str {
        let (block, at) = self.origin[id as usize];
        self.announced[block as usize].get(at as usize)
    }
}

struct Merger {
    memory: usize,
    mode: Mode,
    vocabulary: Option<Arc<Vocabulary>>,
    terms: Vec<Translation>,
    labels: Vec<Translation>,
    term_names: Interner,
    label_names: Interner,
    df: Vec<u32>,
    indices: Vec<u32>,
    values: Vec<u32>,
    offsets: Vec<usize>,
    label_indices: Vec<u32>,
    label_offsets: Vec<usize>,
    lengths: Vec<u32>,
    ids: Vec<String>,
    id_bytes: usize,
    parts: Vec<Option<Part>>,
    dates: Vec<Option<String>>,
    folded: Option<Contingency>,
    skipped: Skipped,
    pruned: Pruned,
}

impl Merger {
    fn new(options: &CountOptions, threads: usize, mode: Mode) -> Self {
        Self {
            memory: options.memory,
            mode,
            vocabulary: options.vocabulary.clone(),
            terms: (0..threads).map(|_| Translation::default()).collect(),
            labels: (0..threads).map(|_| Translation::default()).collect(),
            term_names: Interner::default(),
            label_names: Interner::default(),
            df: Vec::new(),
            indices: Vec::new(),
            values: Vec::new(),
            offsets: vec![0],
            label_indices: Vec::new(),
            label_offsets: vec![0],
            lengths: Vec::new(),
            ids: Vec::new(),
            id_bytes: 0,
            parts: Vec::new(),
            dates: Vec::new(),
            folded: None,
            skipped: Skipped::default(),
            pruned: Pruned::default(),
        }
    }

    fn add(&mut self, batch: Tallied) -> Result<()> {
        let worker = batch.worker;
        let terms = &mut self.terms[worker];
        terms.announce(batch.new_terms);
        let mut start = 0;
        for &end in &batch.ends {
            for (&term, &count) in batch.terms[start..end].iter().zip(&batch.counts[start..end]) {
                let mut shared = terms.shared[term as usize];
                if shared >= REFUSED {
                    if shared == REFUSED {
                        continue;
                    }
                    let name = terms.name(term);
                    let wanted = self.vocabulary.as_ref().is_none_or(|v| v.id(name).is_some());
                    shared = if wanted { self.term_names.intern(name) } else { REFUSED };
                    terms.shared[term as usize] = shared;
                    if !wanted {
                        continue;
                    }
                    if shared as usize == self.df.len() {
                        self.df.push(0);
                    }
                }
                self.df[shared as usize] += 1;
                self.indices.push(shared);
                self.values.push(count);
            }
            self.offsets.push(self.indices.len());
            start = end;
        }
        let labels = &mut self.labels[worker];
        labels.announce(batch.new_labels);
        let mut start = 0;
        for &end in &batch.label_ends {
            for &label in &batch.labels[start..end] {
                if labels.shared[label as usize] == UNKNOWN {
                    labels.shared[label as usize] = self.label_names.intern(labels.name(label));
                }
                self.label_indices.push(labels.shared[label as usize]);
            }
            self.label_offsets.push(self.label_indices.len());
            start = end;
        }
        if batch.last_before_clear {
            *terms = Translation::default();
            *labels = Translation::default();
        }
        self.lengths.extend(batch.lengths);
        self.skipped.append(batch.skipped);
        if matches!(self.mode, Mode::Keep) {
            self.id_bytes += batch.ids.iter().map(|id| id.len() + size_of::<String>()).sum::<usize>();
            self.ids.extend(batch.ids);
            self.parts.extend(batch.parts);
            self.dates.extend(batch.dates);
        }
        match self.mode {
            Mode::Fold { chunk, .. } if self.prunable_bytes() > chunk => self.fold(),
            Mode::Keep if self.prunable_bytes() + self.fixed_bytes() > self.memory => self.prune()?,
            _ => {}
        }
        Ok(())
    }

    /// What pruning can free. Counted from lengths, not allocations, so that it is the same for any threads; the
    /// workers' tables have their own share of the bound.
    fn prunable_bytes(&self) -> usize {
        self.indices.len() * 8 + self.df.len() * 4 + self.term_names.bytes_needed()
    }

    /// What every document takes, pruned or not.
    fn fixed_bytes(&self) -> usize {
        self.offsets.len() * 16 + self.label_indices.len() * 4 + self.lengths.len() * 32 + self.id_bytes
    }

    /// Drops terms in at most `level` documents, for the lowest level that frees a quarter of the bound.
    fn prune(&mut self) -> Result<()> {
        if self.fixed_bytes() > self.memory / 2 {
            return Err(Error::invalid(
                "memory",
                format!("{} MB", self.memory >> 20),
                format!("{} documents do not fit, even without their words; raise the bound", self.lengths.len()),
            ));
        }
        // Entries by document frequency: dropping level L frees 8 bytes for each of them.
        let highest = self.df.iter().copied().max().unwrap_or(0) as usize;
        let mut entries_at = vec![0usize; highest + 1];
        for &df in &self.df {
            entries_at[df as usize] += df as usize;
        }
        let surplus = (self.prunable_bytes() + self.fixed_bytes()).saturating_sub(self.memory / 4 * 3);
        let mut freed = 0;
        let mut level = 0;
        while freed < surplus && level < highest {
            level += 1;
            // A term's name and number take about 48 bytes over all tables.
            freed += entries_at[level] * 8 + entries_at[level] / level * 48;
        }
        let kept = |id: u32| self.df[id as usize] > level as u32;
        let mut names = Interner::default();
        let mut place = vec![UNKNOWN; self.df.len()];
        let mut df = Vec::new();
        for id in (0..self.df.len() as u32).filter(|&id| kept(id)) {
            place[id as usize] = names.intern(self.term_names.name(id));
            df.push(self.df[id as usize]);
        }
        self.pruned.rounds += 1;
        self.pruned.terms += (self.df.len() - df.len()) as u64;
        self.pruned.short_by += level as u32;
        let (mut write, mut read) = (0, 0);
        for end in &mut self.offsets[1..] {
            while read < *end {
                let shared = place[self.indices[read] as usize];
                if shared != UNKNOWN {
                    self.indices[write] = shared;
                    self.values[write] = self.values[read];
                    write += 1;
                }
                read += 1;
            }
            *end = write;
        }
        self.indices.truncate(write);
        self.values.truncate(write);
        self.indices.shrink_to_fit();
        self.values.shrink_to_fit();
        for translation in &mut self.terms {
            for shared in translation.shared.iter_mut().filter(|s| **s < REFUSED) {
                *shared = place[*shared as usize];
            }
        }
        self.term_names = names;
        self.df = df;
        Ok(())
    }

    /// The rows so far as counts; the merge starts afresh.
    fn drain(&mut self) -> Counts {
        let (vocabulary, place) = self.term_names.sorted(|_| true);
        let (labels, label_place) = self.label_names.sorted(|_| true);
        let mut indices = std::mem::take(&mut self.indices);
        let mut values = std::mem::take(&mut self.values);
        let offsets = std::mem::replace(&mut self.offsets, vec![0]);
        sort_rows(&offsets, &mut indices, &mut values, &place);
        let mut assignments = Csr::new(labels.len());
        let mut row = Vec::new();
        for w in self.label_offsets.windows(2) {
            row.clear();
            row.extend(self.label_indices[w[0]..w[1]].iter().map(|&l| label_place[l as usize]));
            row.sort_unstable();
            row.dedup();
            assignments.push_row(row.iter().map(|&l| (l, ())));
        }
        self.label_indices.clear();
        self.label_offsets = vec![0];
        self.term_names.clear();
        self.label_names.clear();
        self.df.clear();
        for translation in self.terms.iter_mut().chain(&mut self.labels) {
            translation.shared.iter_mut().filter(|s| **s < REFUSED).for_each(|s| *s = UNKNOWN);
        }
        Counts {
            matrix: Csr::from_parts(vocabulary.len(), offsets, indices, values),
            assignments,
            vocabulary: Arc::new(vocabulary),
            labels: Arc::new(labels),
            lengths: std::mem::take(&mut self.lengths),
            ids: std::mem::take(&mut self.ids),
            parts: std::mem::take(&mut self.parts),
            dates: std::mem::take(&mut self.dates),
        }
    }

    /// Adds the rows so far to the contingency and forgets them; prunes the contingency when it outgrows the bound.
    fn fold(&mut self) {
        let chunk = Contingency::of(&self.drain());
        let mut total = match self.folded.take() {
            None => chunk,
            Some(total) => total.merge(&chunk),
        };
        let bound = self.memory / 2;
        let mut level = 0;
        while total.heap_bytes() > bound && total.terms() > 1 {
            level += 1;
            let before = total.terms();
            total = total.retain_terms(|term| total.df()[term as usize] > level);
            self.pruned.terms += (before - total.terms()) as u64;
        }
        if level > 0 {
            self.pruned.rounds += 1;
            self.pruned.short_by += level;
        }
        self.folded = Some(total);
    }
}

/// Renumbers the columns and sorts every row, in parallel over blocks of rows.
fn sort_rows(offsets: &[usize], indices: &mut [u32], values: &mut [u32], place: &[u32]) {
    const ROWS: usize = 1024;
    let mut blocks = Vec::new();
    let (mut rest_i, mut rest_v) = (indices, values);
    for bounds in offsets.windows(2).collect::<Vec<_>>().chunks(ROWS) {
        let (first, last) = (bounds[0][0], bounds[bounds.len() - 1][1]);
        let (i, after_i) = rest_i.split_at_mut(last - first);
        let (v, after_v) = rest_v.split_at_mut(last - first);
        (rest_i, rest_v) = (after_i, after_v);
        blocks.push((bounds.iter().map(|w| (w[0] - first, w[1] - first)).collect::<Vec<_>>(), i, v));
    }
    blocks.into_par_iter().for_each_init(Vec::new, |row: &mut Vec<u64>, (bounds, indices, values)| {
        for (start, end) in bounds {
            row.clear();
            // One integer for each entry, so that sorting compares and moves machine words.
            row.extend(
                indices[start..end]
                    .iter()
                    .zip(&values[start..end])
                    .map(|(&i, &v)| u64::from(place[i as usize]) << 32 | u64::from(v)),
            );
            row.sort_unstable();
            for (at, &entry) in (start..end).zip(row.iter()) {
                indices[at] = (entry >> 32) as u32;
                values[at] = entry as u32;
            }
        }
    });
}
