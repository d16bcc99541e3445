//! Batches of all workers, in corpus order → one numbering, one matrix, within the memory bound.

use std::mem::MaybeUninit;
use std::sync::Arc;

use rayon::prelude::*;

use super::counter::{CountOptions, Pruned};
use super::interner::Interner;
use super::lexicon::{Sorted, Terms, sorted_terms};
use super::names::sorted;
use super::sorter::Sorter;
use super::tally::{Rows, Tallied};
use super::{Contingency, Counts, Csr, Vocabulary};
use crate::corpus::{Part, Skipped};
use crate::terms::TextOptions;
use crate::{Error, Result};

/// What becomes of documents once they are counted.
#[derive(Clone, Copy)]
pub(super) enum Mode {
    /// Their rows are kept. What does not fit is an error, never less than was asked for.
    Keep,
    /// Their rows are folded into a contingency whenever they take `chunk` bytes.
    Fold { chunk: usize, only_training: bool },
}

/// A number that a worker's term does not have in the shared numbering yet, or has no more.
const UNKNOWN: u32 = u32::MAX;
/// A term outside the user's vocabulary.
const REFUSED: u32 = u32::MAX - 1;

/// Bytes that a name takes beside its text: its end, its place in the table and its number.
const NAME_BYTES: usize = size_of::<usize>() + 9 + 4;

/// What the merge knows of a worker's terms.
#[derive(Default)]
struct Translation {
    /// All terms announced, so that a pruned one that comes back can be numbered anew.
    terms: Terms,
    shared: Vec<u32>,
    /// How many were put into the shared numbering as they came, the first ones.
    settled: usize,
    /// Bytes of their names.
    settled_bytes: usize,
    /// Where names are spelled.
    name: String,
}

impl Translation {
    fn announce(&mut self, terms: &Terms) {
        self.terms.append(terms);
        self.shared.resize(self.terms.len(), UNKNOWN);
    }

    /// The name of a term.
    fn name(&mut self, id: u32) -> &str {
        self.name.clear();
        self.terms.write(id, &mut self.name);
        &self.name
    }

    /// Gives all terms shared numbers.
    fn settle(&mut self, shared: &mut Interner) {
        for id in self.settled..self.terms.len() {
            self.shared[id] = shared.intern(self.name(id as u32));
        }
        self.settled = self.terms.len();
        self.settled_bytes = self.terms.text_bytes();
    }

    /// The shared number of a term; of a vocabulary's own terms alone, where there is one.
    fn number(&mut self, id: u32, shared: &mut Interner, vocabulary: Option<&Vocabulary>) -> Option<u32> {
        if self.shared[id as usize] == UNKNOWN {
            let name = self.name(id);
            let wanted = vocabulary.is_none_or(|vocabulary| vocabulary.id(name).is_some());
            self.shared[id as usize] = if wanted { shared.intern(name) } else { REFUSED };
        }
        Some(self.shared[id as usize]).filter(|&number| number != REFUSED)
    }
}

/// A worker's labels in the shared numbers.
#[derive(Default)]
struct Labels {
    shared: Vec<u32>,
}

/// Whose numbers a batch is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    Worker(usize),
    Shared,
}

/// Collects batches in corpus order.
///
/// As a rule a batch stays in its worker's numbers until the corpus has ended, and its terms are looked at once, when
/// their final places are known: the names of all workers are sorted together, and no shared numbers are needed. Where
/// terms may have to be numbered anew (after a fold) or left out (a user's vocabulary), every batch is
/// translated as it comes.
pub(super) struct Merger {
    text: Arc<TextOptions>,
    memory: usize,
    mode: Mode,
    vocabulary: Option<Arc<Vocabulary>>,
    min_df: u32,
    terms: Vec<Translation>,
    labels: Vec<Labels>,
    term_names: Interner,
    label_names: Interner,
    batches: Vec<(Numbers, Rows)>,
    entries: usize,
    documents: usize,
    translate_at_once: bool,
    /// The rows did not fit: from then on they are only measured, so that the error can say what they need.
    outgrown: bool,
    label_indices: Vec<u32>,
    label_offsets: Vec<usize>,
    lengths: Vec<u32>,
    ids: Vec<String>,
    id_bytes: usize,
    parts: Vec<Option<Part>>,
    dates: Vec<Option<String>>,
    weights: Vec<Option<f64>>,
    fingerprints: Vec<u64>,
    pub(super) folded: Option<Contingency>,
    pub(super) skipped: Skipped,
    pub(super) pruned: Pruned,
}

impl Merger {
    pub(super) fn new(options: &CountOptions, threads: usize, mode: Mode) -> Self {
        Self {
            text: Arc::new(options.text.clone()),
            memory: options.memory,
            mode,
            translate_at_once: options.vocabulary.is_some(),
            vocabulary: options.vocabulary.clone(),
            min_df: options.min_df,
            terms: (0..threads).map(|_| Translation::default()).collect(),
            labels: (0..threads).map(|_| Labels::default()).collect(),
            term_names: Interner::default(),
            label_names: Interner::default(),
            batches: Vec::new(),
            entries: 0,
            documents: 0,
            outgrown: false,
            label_indices: Vec::new(),
            label_offsets: vec![0],
            lengths: Vec::new(),
            ids: Vec::new(),
            id_bytes: 0,
            parts: Vec::new(),
            dates: Vec::new(),
            weights: Vec::new(),
            fingerprints: Vec::new(),
            folded: None,
            skipped: Skipped::default(),
            pruned: Pruned::default(),
        }
    }

    pub(super) fn add(&mut self, batch: Tallied) {
        let worker = batch.worker;
        self.add_rows(worker, &batch.new_terms, batch.rows);
        let labels = &mut self.labels[worker];
        // Labels are few: they get their shared numbers at once.
        let new = (0..batch.new_labels.len() as u32).map(|id| self.label_names.intern(batch.new_labels.get(id)));
        labels.shared.extend(new);
        let mut start = 0;
        for &end in &batch.label_ends {
            let numbers = batch.labels[start..end].iter().map(|&label| labels.shared[label as usize]);
            self.label_indices.extend(numbers);
            self.label_offsets.push(self.label_indices.len());
            start = end;
        }
        if batch.last_before_clear {
            self.settle(|numbers| numbers == Numbers::Worker(worker));
            self.terms[worker] = Translation::default();
            self.labels[worker] = Labels::default();
        }
        self.lengths.extend(batch.lengths);
        self.skipped.append(batch.skipped);
        if matches!(self.mode, Mode::Keep) {
            self.id_bytes += batch.ids.iter().map(|id| id.len() + size_of::<String>()).sum::<usize>();
            self.ids.extend(batch.ids);
            self.parts.extend(batch.parts);
            self.dates.extend(batch.dates);
            self.weights.extend(batch.weights);
            self.fingerprints.extend(batch.fingerprints);
        }
        let mode = self.mode;
        match mode {
            Mode::Fold { chunk, .. } => {
                if self.outgrows(0, chunk) {
                    self.fold();
                }
            }
            Mode::Keep => {
                if !self.outgrown && self.outgrows(self.fixed_bytes(), self.memory) {
                    self.settle(|_| true);
                    self.batches.clear();
                    (self.outgrown, self.translate_at_once) = (true, true);
                }
            }
        }
    }

    /// What the rows need where they did not fit.
    pub(super) fn check_fit(&self) -> Result<()> {
        if !self.outgrown {
            return Ok(());
        }
        let needed = (self.fixed_bytes() + self.row_bytes(0, 0)).div_ceil(1 << 20);
        let reason = format!(
            "{} documents with {} distinct terms need {needed} MB; raise the bound, or count fewer terms",
            self.documents,
            self.term_names.len()
        );
        Err(Error::invalid("memory", format!("{} MB", self.memory >> 20), reason))
    }

    fn add_rows(&mut self, worker: usize, new_terms: &Terms, mut rows: Rows) {
        let Self { terms, term_names, vocabulary, .. } = self;
        let translation = &mut terms[worker];
        translation.announce(new_terms);
        let mut numbers = Numbers::Worker(worker);
        if self.translate_at_once {
            rows = rows.map(|term| translation.number(term, term_names, vocabulary.as_deref()));
            numbers = Numbers::Shared;
        }
        self.entries += rows.entries();
        self.documents += rows.len();
        if !self.outgrown {
            self.batches.push((numbers, rows));
        }
    }

    /// Puts batches into the shared numbers.
    fn settle(&mut self, which: impl Fn(Numbers) -> bool) {
        for (numbers, rows) in self.batches.iter_mut().filter(|(numbers, _)| which(*numbers)) {
            if let Numbers::Worker(worker) = *numbers {
                let translation = &mut self.terms[worker];
                translation.settle(&mut self.term_names);
                *rows = rows.map(|term| Some(translation.shared[term as usize]));
                *numbers = Numbers::Shared;
            }
        }
    }

    /// What the rows and their terms take, with this many names outside the shared numbering.
    fn row_bytes(&self, other_names: usize, other_text: usize) -> usize {
        let names = self.term_names.names();
        self.entries * 8 + (names.len() + other_names) * NAME_BYTES + names.text_bytes(0) + other_text
    }

    /// Whether the rows must be folded, or do not fit. Counted from lengths, not allocations, so that it is the same
    /// for any threads; the workers' tables have their own share of the bound.
    fn outgrows(&mut self, fixed: usize, bound: usize) -> bool {
        if !self.translate_at_once {
            // Names that several workers know count several times: what is small enough like that is small enough.
            let names = self.terms.iter().map(|t| t.terms.len() - t.settled).sum();
            let text = self.terms.iter().map(|t| t.terms.text_bytes() - t.settled_bytes).sum();
            if fixed + self.row_bytes(names, text) <= bound {
                return false;
            }
            self.terms.iter_mut().for_each(|t| t.settle(&mut self.term_names));
        }
        fixed + self.row_bytes(0, 0) > bound
    }

    /// What every document takes beside its terms.
    fn fixed_bytes(&self) -> usize {
        self.documents * 16 + self.label_indices.len() * 4 + self.lengths.len() * 40 + self.id_bytes
    }

    /// The rows so far as counts; the merge starts afresh.
    pub(super) fn drain(&mut self) -> Counts {
        let (vocabulary, matrix) = self.matrix();
        let (labels, label_places) = sorted(&[(self.label_names.names(), 0)]);
        let label_place = &label_places[0];
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
        self.entries = 0;
        self.documents = 0;
        for translation in &mut self.terms {
            translation.shared.iter_mut().filter(|s| **s < REFUSED).for_each(|s| *s = UNKNOWN);
        }
        // Workers do not announce again what they announced before.
        self.translate_at_once = true;
        Counts {
            text: Arc::clone(&self.text),
            matrix,
            assignments,
            vocabulary: Arc::new(vocabulary),
            labels: Arc::new(labels),
            lengths: std::mem::take(&mut self.lengths),
            ids: std::mem::take(&mut self.ids),
            parts: std::mem::take(&mut self.parts),
            dates: std::mem::take(&mut self.dates),
            weights: told(std::mem::take(&mut self.weights)),
            fingerprints: std::mem::take(&mut self.fingerprints),
        }
    }

    /// Batches → terms in order, and the matrix: terms move to their places and rows are sorted, in parallel over batches.
    fn matrix(&mut self) -> (Vocabulary, Csr<u32>) {
        let mut batches = std::mem::take(&mut self.batches);
        // Shared names first, then those of the workers, whose batches may be in their numbers.
        let shared = Terms::of(self.term_names.names());
        let mut lists = vec![&shared];
        if !self.translate_at_once {
            lists.extend(self.terms.iter().map(|t| &t.terms));
        }
        let Sorted { mut vocabulary, mut places, collided } = sorted_terms(&lists);
        if self.min_df > 1 && matches!(self.mode, Mode::Keep) {
            vocabulary = self.without_rare(&vocabulary, &places, &mut batches);
            self.entries = batches.iter().map(|(_, rows)| rows.entries()).sum();
            // What is left has its final number already.
            places = vec![(0..vocabulary.len() as u32).collect()];
        }
        let columns = vocabulary.len();
        let mut offsets = Vec::with_capacity(self.documents + 1);
        offsets.push(0);
        for &size in batches.iter().flat_map(|(_, rows)| rows.sizes()) {
            offsets.push(offsets[offsets.len() - 1] + size as usize);
        }
        // Room that is written once: zeros first would touch all of it on one thread (up to 19 of 140 ms on 38 MB of text).
        let (mut indices, mut values) = (Vec::with_capacity(self.entries), Vec::with_capacity(self.entries));
        let mut work = Vec::with_capacity(batches.len());
        let mut rest_i: &mut [MaybeUninit<u32>] = &mut indices.spare_capacity_mut()[..self.entries];
        let mut rest_v: &mut [MaybeUninit<u32>] = &mut values.spare_capacity_mut()[..self.entries];
        for (numbers, rows) in batches {
            let (i, after_i) = rest_i.split_at_mut(rows.entries());
            let (v, after_v) = rest_v.split_at_mut(rows.entries());
            (rest_i, rest_v) = (after_i, after_v);
            work.push((numbers, rows, i, v));
        }
        assert!(rest_i.is_empty(), "rows have fewer entries than were added");
        work.into_par_iter().for_each_init(Sorter::default, |sorter, (numbers, rows, indices, values)| {
            let place = match numbers {
                Numbers::Worker(worker) => &places[1 + worker],
                Numbers::Shared => &places[0],
            };
            let mut start = 0;
            for (row, &size) in rows.sizes().iter().enumerate() {
                let end = start + size as usize;
                sorter.sort(&rows, row, columns, place, &mut indices[start..end], &mut values[start..end]);
                start = end;
            }
            assert_eq!(start, indices.len(), "rows have fewer entries than were counted");
        });
        // SAFETY: the capacity is `entries`; the slices handed out cover all of them (asserted), the rows of a batch cover
        // its slice (asserted), and `Sorter::sort` writes every place of a row.
        unsafe {
            indices.set_len(self.entries);
            values.set_len(self.entries);
        }
        let matrix = Csr::trusted(columns, offsets, indices, values);
        (vocabulary, if collided { added_up(&matrix) } else { matrix })
    }

    /// Takes entries of terms in too few documents to learn from out of the batches, before the matrix needs room for them, and
    /// puts the others into their final numbers; returns the terms that are left.
    fn without_rare(
        &self,
        vocabulary: &Vocabulary,
        places: &[Vec<u32>],
        batches: &mut [(Numbers, Rows)],
    ) -> Vocabulary {
        let place = |numbers: Numbers| match numbers {
            Numbers::Worker(worker) => &places[1 + worker],
            Numbers::Shared => &places[0],
        };
        let all = self.parts.iter().all(Option::is_none);
        let mut df = vec![0u32; vocabulary.len()];
        // The last document of each term: two of its terms may have the same name.
        let mut last = vec![u32::MAX; vocabulary.len()];
        let mut document = 0;
        for (numbers, rows) in batches.iter() {
            let place = place(*numbers);
            for row in 0..rows.len() {
                if all || self.parts[document] == Some(Part::Train) {
                    rows.for_each(row, |term, _| {
                        let term = place[term as usize] as usize;
                        df[term] += u32::from(std::mem::replace(&mut last[term], document as u32) != document as u32);
                    });
                }
                document += 1;
            }
        }
        drop(last);
        let kept: Vec<u32> = (0..vocabulary.len() as u32).filter(|&term| df[term as usize] >= self.min_df).collect();
        let mut new = vec![None; vocabulary.len()];
        kept.iter().zip(0..).for_each(|(&term, to)| new[term as usize] = Some(to));
        batches.par_iter_mut().for_each(|(numbers, rows)| {
            let place = place(*numbers);
            *rows = rows.map(|term| new[place[term as usize] as usize]);
            *numbers = Numbers::Shared;
        });
        Vocabulary::from_sorted(kept.iter().map(|&term| vocabulary.name(term)))
    }

    /// Adds the rows so far to the contingency and forgets them; prunes the contingency when it outgrows the bound.
    pub(super) fn fold(&mut self) {
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
        // A term cannot have missed more documents than there are.
        self.pruned.short_by = self.pruned.short_by.min(u32::try_from(total.documents()).unwrap_or(u32::MAX));
        self.folded = Some(total);
    }
}

/// The same matrix with entries of the same column added up: two terms had the same name.
fn added_up(matrix: &Csr<u32>) -> Csr<u32> {
    let mut out = Csr::new(matrix.columns());
    let mut entries: Vec<(u32, u32)> = Vec::new();
    for row in 0..matrix.rows() {
        entries.clear();
        for (column, count) in matrix.row(row) {
            match entries.last_mut() {
                Some((last, sum)) if *last == column => *sum = sum.saturating_add(count),
                _ => entries.push((column, count)),
            }
        }
        out.push_row(entries.iter().copied());
    }
    out
}

/// Weights of documents; none where no document has one.
fn told(weights: Vec<Option<f64>>) -> Vec<f64> {
    if weights.iter().all(Option::is_none) {
        return Vec::new();
    }
    weights.into_iter().map(|weight| weight.unwrap_or(1.0)).collect()
}
