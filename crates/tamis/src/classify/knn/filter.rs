//! Which documents can be among the k nearest, found with 16-bit sums.
//!
//! On running text most postings belong to words that a tenth or a third of all documents contain. For those the filter
//! holds a row with one byte for each document and adds rows with vector instructions, sixteen documents at a time; rarer
//! words go through short postings. The sums are approximate but the error is bounded, so the documents whose sum is at
//! least that of the k-th less the bound contain the k nearest. Only their similarities are computed exactly.
//!
//! **The bound.** A document's weight is `f ∈ `[0, 1]``, the query's factor `g`; sums are in units of `1/Z`. In the
//! following all `|δ| ≤ ½`.
//! - A row holds `r = 255·f + δ`; `G = 256/255·Z·g + δ`; it adds `r·G/256 + δ`, which is `Z·g·f` with an error of at
//!   most `1 + G/512` either way.
//! - A posting holds `r = 65535·f + δ`; `G = Z·g + δ`; it adds `⌊r·G/65536⌋`, with an error between −3 and 1.
//!
//! Let `τ` be reached by the sums of k documents. Each of those has a similarity of at least `τ/Z` less the largest
//! positive error, and so has each of the k nearest, whose sum is then at least `τ − slack`, where `slack` adds up both
//! ends of the errors over all terms of the query. Sums saturate, which keeps all of this true: a saturated sum
//! reaches whatever its true value reaches.

use super::index::{Index, QueryTerm, product};
use super::sums16;
use crate::classify::Problem;

/// Features that one of so many documents has, or more, have a row.
const ROW_FROM: usize = 32;

/// How far beyond 16 bits sums would go for a document that had all of the query's words with weight 1. Documents have
/// only some of them, and weights are well below 1.
const SPREAD: f64 = 4.0;

/// Documents whose sums stay in the L1 cache while rows are added.
const RUN: usize = 8192;

/// Bits of a packed entry that hold the count; the others hold the row.
const COUNT_BITS: u32 = 6;

/// A packed count that says "this many or more".
const MANY: u32 = (1 << COUNT_BITS) - 1;

/// Rows that a packed entry can name.
const ROWS: u32 = 1 << (16 - COUNT_BITS);

/// Entries in a cache line, and postings.
const ENTRIES_IN_LINE: usize = 32;
const POSTINGS_IN_LINE: usize = 8;

#[derive(Debug, Clone)]
pub(super) struct Filter {
    documents: usize,
    rows: Vec<u8>,
    /// The row of each feature, `u32::MAX` for none.
    row_of: Vec<u32>,
    /// For features without a row: of feature `f` those in `starts[f]..starts[f+1]`.
    postings: Vec<Posting>,
    starts: Vec<u32>,
    /// Document by document the rows it is in, each with its count in the lower bits.
    packed: Vec<u16>,
    heads: Vec<Head>,
    /// Counts of [`MANY`] or more: document, row, count; sorted.
    large: Vec<(u32, u32, u32)>,
}

/// What is needed of a candidate, side by side, since it is rarely in the cache.
#[derive(Debug, Clone, Copy)]
struct Head {
    /// Its entries are `packed[start..][..len]`; there are fewer rows than a `u16` can count.
    start: usize,
    len: u16,
    length_part: f64,
}

/// A document that has a feature without a row.
#[derive(Debug, Clone, Copy)]
struct Posting {
    document: u32,
    /// Approximate.
    weight: u16,
    /// `u16::MAX` says "this many or more".
    count: u16,
}

/// Memory of one thread.
#[derive(Debug, Default)]
pub(super) struct FilterMemory {
    sums: Vec<u16>,
    /// Rows to add, with their factors.
    rows: Vec<(usize, u16)>,
    /// By row, 1 + the number of the query term; zero between two calls.
    term_of: Vec<u32>,
    /// By document, its number among the candidates, if it is one.
    candidate_of: Vec<u32>,
    /// The least sum of a candidate.
    bar: u16,
    shared: Vec<u16>,
    found: Vec<u32>,
    /// What each term adds to each candidate.
    cells: Vec<f64>,
    pub(super) documents: Vec<u32>,
    pub(super) similarities: Vec<f64>,
}

impl Filter {
    /// `scale(document)` is what weights are multiplied by to lie in `[0, 1]`.
    pub(super) fn new(problem: &Problem, index: &Index, scale: impl Fn(u32) -> f64) -> Self {
        let (documents, features) = (problem.documents(), problem.features());
        let mut filter = Self {
            documents,
            rows: Vec::new(),
            row_of: vec![u32::MAX; features],
            postings: Vec::new(),
            starts: vec![0],
            packed: Vec::new(),
            heads: Vec::new(),
            large: Vec::new(),
        };
        for feature in 0..features as u32 {
            let postings = index.blocks.iter().flat_map(|block| {
                block.postings(feature).map(|(place, value)| (block.first + u32::from(place), value))
            });
            let weights = postings.map(|(document, value)| (document, value * scale(document)));
            let df = index.df(feature);
            if df > 0 && df * ROW_FROM >= documents && filter.row_count() < ROWS {
                filter.row_of[feature as usize] = filter.row_count();
                let start = filter.rows.len();
                filter.rows.resize(start + documents, 0);
                weights.for_each(|(d, weight)| filter.rows[start + d as usize] = (255.0 * weight).round() as u8);
            } else {
                filter.postings.extend(weights.map(|(document, weight)| {
                    let count = problem.matrix.get(document as usize, feature).unwrap_or(0);
                    let count = u16::try_from(count).unwrap_or(u16::MAX);
                    Posting { document, weight: (65535.0 * weight).round() as u16, count }
                }));
            }
            filter.starts.push(filter.postings.len() as u32);
        }
        filter.pack(problem, index);
        filter
    }

    fn row_count(&self) -> u32 {
        (self.rows.len() / self.documents) as u32
    }

    fn pack(&mut self, problem: &Problem, index: &Index) {
        for document in 0..problem.documents() {
            let start = self.packed.len();
            for (feature, count) in problem.matrix.row(document) {
                let row = self.row_of[feature as usize];
                if row == u32::MAX || count == 0 {
                    continue;
                }
                self.packed.push((row << COUNT_BITS | count.min(MANY)) as u16);
                if count >= MANY {
                    self.large.push((document as u32, row, count));
                }
            }
            let length_part = index.weights.length_part(problem.lengths[document]);
            self.heads.push(Head { start, len: (self.packed.len() - start) as u16, length_part });
        }
    }

    /// Whether filtering is cheaper than adding all postings.
    pub(super) fn pays(&self, index: &Index, terms: &[QueryTerm], k: usize) -> bool {
        let in_rows = terms.iter().filter(|term| self.row_of[term.feature as usize] != u32::MAX);
        let postings: usize = in_rows.map(|term| index.df(term.feature)).sum();
        postings > self.documents && k * 16 <= self.documents
    }

    /// Fills `memory.documents` with candidates in training order and says whether they are few enough. They are not
    /// when the sums are too small or too alike to tell documents apart.
    pub(super) fn find(&self, terms: &[QueryTerm], k: usize, memory: &mut FilterMemory) -> bool {
        let FilterMemory { sums, rows, documents, bar: bar_of_candidates, .. } = memory;
        sums.clear();
        sums.resize(self.documents, 0);
        let total: f64 = terms.iter().map(|term| term.factor).sum();
        let largest = terms.iter().map(|term| term.factor).fold(0.0, f64::max);
        // `256/255·Z`; factors of rows are to stay below 2¹⁵.
        let unit = (SPREAD * f64::from(u16::MAX) / total).min(f64::from(i16::MAX) / largest);
        // One for the rounding in similarities themselves, which is far less.
        let mut slack = 1.0;
        rows.clear();
        // Touching every cache line first lets the processor fetch those of many short lists at a time.
        let lines = terms.iter().flat_map(|term| self.postings_of(term.feature).iter().step_by(POSTINGS_IN_LINE));
        std::hint::black_box(lines.fold(0, |all, posting| all ^ posting.document));
        for term in terms {
            let row = self.row_of[term.feature as usize];
            if row == u32::MAX {
                slack += 4.0;
                let factor = (term.factor * unit * (255.0 / 256.0)).round() as u32;
                add_postings(sums, self.postings_of(term.feature), factor);
            } else {
                let factor = (term.factor * unit).round() as u16;
                slack += 2.0 + f64::from(factor) / 256.0;
                rows.push((row as usize * self.documents, factor));
            }
        }
        for (run, start) in sums.chunks_mut(RUN).zip((0..).step_by(RUN)) {
            for four in rows.chunks(4) {
                let row = |i: usize| {
                    // A group that is not full repeats a row with the factor 0.
                    let (at, factor) = four.get(i).map_or((four[0].0, 0), |&row| row);
                    (&self.rows[at + start..][..run.len()], factor)
                };
                sums16::add_rows(run, [row(0), row(1), row(2), row(3)]);
            }
        }
        documents.clear();
        let bar = f64::from(sums16::bar(sums, k)) - slack;
        if bar < 1.0 {
            return false;
        }
        *bar_of_candidates = bar as u16;
        sums16::reaching(sums, *bar_of_candidates, documents);
        documents.len() <= 4 * k + 256
    }

    /// Fills `memory.similarities`: the sums of the candidates, exactly as adding postings makes them.
    pub(super) fn sum(&self, index: &Index, terms: &[QueryTerm], memory: &mut FilterMemory) {
        let FilterMemory { term_of, candidate_of, shared, found, cells, documents, similarities, sums, bar, .. } =
            memory;
        let candidates = documents.len();
        cells.clear();
        cells.resize(terms.len() * candidates, 0.0);
        self.add_frequent(index, terms, documents, term_of, shared, cells);
        candidate_of.resize(self.documents, 0);
        for (candidate, &document) in (0..).zip(documents.iter()) {
            candidate_of[document as usize] = candidate;
        }
        for (&term, cells) in terms.iter().zip(cells.chunks_mut(candidates)) {
            let postings = self.postings_of(term.feature);
            found.resize(found.len().max(postings.len()), 0);
            let len = find_candidates(postings, sums, *bar, found);
            self.add_rare(index, term, postings, &found[..len], candidate_of, cells);
        }
        similarities.clear();
        similarities.resize(candidates, 0.0);
        for cells in cells.chunks(candidates) {
            for (similarity, &cell) in similarities.iter_mut().zip(cells) {
                *similarity += cell;
            }
        }
    }

    /// The cells of features with a row.
    fn add_frequent(
        &self,
        index: &Index,
        terms: &[QueryTerm],
        documents: &[u32],
        term_of: &mut Vec<u32>,
        shared: &mut Vec<u16>,
        cells: &mut [f64],
    ) {
        term_of.resize(ROWS as usize, 0);
        let row = |term: &QueryTerm| self.row_of[term.feature as usize] as usize;
        for (number, term) in (1..).zip(terms) {
            if let Some(slot) = term_of.get_mut(row(term)) {
                *slot = number;
            }
        }
        let entries = |document: u32| {
            let head = &self.heads[document as usize];
            &self.packed[head.start..][..head.len as usize]
        };
        // Candidates lie anywhere in memory. Touching every cache line first lets the processor fetch many at a time.
        let touched = documents
            .iter()
            .flat_map(|&d| entries(d).iter().step_by(ENTRIES_IN_LINE))
            .fold(0, |all, &entry| all ^ entry);
        std::hint::black_box(touched);
        for (candidate, &document) in documents.iter().enumerate() {
            let entries = entries(document);
            let length_part = self.heads[document as usize].length_part;
            if shared.len() < entries.len() {
                shared.resize(entries.len(), 0);
            }
            let term_of = term_of.first_chunk().expect("made that long above");
            let len = keep_shared(entries, term_of, shared);
            for &entry in &shared[..len] {
                let row = u32::from(entry) >> COUNT_BITS;
                let mut count = u32::from(entry) & MANY;
                if count == MANY {
                    count = self.large_count(document, row);
                }
                let number = term_of[row as usize] as usize - 1;
                let QueryTerm { feature, factor } = terms[number];
                let weight = index.weights.of_document(feature, count, length_part);
                cells[number * documents.len() + candidate] = product(factor, weight, index.weights.coarse());
            }
        }
        for term in terms {
            if let Some(slot) = term_of.get_mut(row(term)) {
                *slot = 0;
            }
        }
    }

    /// The cells of a feature without a row, from those of its postings that are candidates.
    fn add_rare(
        &self,
        index: &Index,
        QueryTerm { feature, factor }: QueryTerm,
        postings: &[Posting],
        found: &[u32],
        candidate_of: &[u32],
        cells: &mut [f64],
    ) {
        for &at in found {
            let Posting { document, count, .. } = postings[at as usize];
            let weight = if count == u16::MAX {
                index.value(feature, document)
            } else {
                index.weights.of_document(feature, u32::from(count), self.heads[document as usize].length_part)
            };
            cells[candidate_of[document as usize] as usize] = product(factor, weight, index.weights.coarse());
        }
    }

    /// Postings of a feature; none if it has a row.
    fn postings_of(&self, feature: u32) -> &[Posting] {
        &self.postings[self.starts[feature as usize] as usize..self.starts[feature as usize + 1] as usize]
    }

    fn large_count(&self, document: u32, row: u32) -> u32 {
        let at = self.large.partition_point(|&(d, r, _)| (d, r) < (document, row));
        self.large[at].2
    }
}

/// Adds the approximate weights of a feature without a row.
#[inline(never)]
fn add_postings(sums: &mut [u16], postings: &[Posting], factor: u32) {
    for posting in postings {
        let sum = &mut sums[posting.document as usize];
        *sum = sum.saturating_add(((u32::from(posting.weight) * factor) >> 16) as u16);
    }
}

/// Copies the entries whose row has a term to the front of `shared`, without a branch; gives their number. A function
/// of its own, so that it has the registers to itself; so is the next.
#[inline(never)]
fn keep_shared(entries: &[u16], term_of: &[u32; ROWS as usize], shared: &mut [u16]) -> usize {
    let mut len = 0;
    for &entry in entries {
        shared[len] = entry;
        len += usize::from(term_of[usize::from(entry >> COUNT_BITS)] != 0);
    }
    len
}

/// Lists which postings belong to candidates, without a branch; gives their number.
#[inline(never)]
fn find_candidates(postings: &[Posting], sums: &[u16], bar: u16, found: &mut [u32]) -> usize {
    let mut len = 0;
    for (posting, at) in postings.iter().zip(0..) {
        found[len] = at;
        len += usize::from(sums[posting.document as usize] >= bar);
    }
    len
}
