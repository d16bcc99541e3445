//! One worker's share of counting: documents → rows in the worker's own numbers.

use super::interner::Interner;
use super::lexicon::Terms;
use super::names::Names;
use crate::Result;
use crate::corpus::{Document, Part, Skipped};
use crate::terms::Analyzer;

use super::counter::CountOptions;

/// Rows of terms with their counts, packed: nine of ten terms occur once or twice in a document, so an entry is one
/// number, followed by the count where that is not 1. Memory that is touched for the first time is the dearest part
/// of counting (2 µs for 4 KB where it was measured), so rows wait for the end of the corpus in half the space.
#[derive(Clone, Default)]
pub(super) struct Rows {
    packed: Vec<u32>,
    /// Where each row ends in `packed`.
    ends: Vec<usize>,
    /// Entries of each row.
    sizes: Vec<u32>,
    entries: usize,
}

/// Set in an entry whose count follows.
const COUNT_FOLLOWS: u32 = 1 << 31;

impl Rows {
    /// A copy of exactly the size needed; the original is empty then and keeps its memory.
    fn take(&mut self) -> Self {
        let taken = self.clone();
        self.packed.clear();
        self.ends.clear();
        self.sizes.clear();
        self.entries = 0;
        taken
    }

    /// Appends a row; `count` is asked for each term once.
    pub(super) fn push(&mut self, terms: &[u32], mut count: impl FnMut(u32) -> u32) {
        let start = self.packed.len();
        self.packed.resize(start + 2 * terms.len(), 0);
        let room = &mut self.packed[start..];
        let mut at = 0;
        for &term in terms {
            let count = count(term);
            // Without a branch: whether a count follows is hard to guess.
            let many = usize::from(count != 1);
            room[at] = term | (many as u32) << 31;
            room[at + many] = if count == 1 { term } else { count };
            at += 1 + many;
        }
        self.packed.truncate(start + at);
        self.ends.push(self.packed.len());
        self.sizes.push(terms.len() as u32);
        self.entries += terms.len();
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Number of entries in all rows.
    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    /// Entries of each row.
    pub(super) fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Hands each entry of a row to `visit`.
    #[inline]
    pub(super) fn for_each(&self, row: usize, mut visit: impl FnMut(u32, u32)) {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        let row = &self.packed[start..self.ends[row]];
        let mut at = 0;
        while at < row.len() {
            let entry = row[at];
            let many = (entry >> 31) as usize;
            // For a count of 1 this reads the entry itself and does not use it.
            let count = row[at + many];
            visit(entry & !COUNT_FOLLOWS, if many == 0 { 1 } else { count });
            at += 1 + many;
        }
    }

    /// The same rows with each term renumbered, or dropped.
    pub(super) fn map(&self, mut number: impl FnMut(u32) -> Option<u32>) -> Self {
        let mut out = Self { packed: Vec::with_capacity(self.packed.len()), ..Self::default() };
        let (mut terms, mut counts) = (Vec::new(), Vec::new());
        for row in 0..self.len() {
            terms.clear();
            counts.clear();
            self.for_each(row, |term, count| {
                if let Some(term) = number(term) {
                    terms.push(term);
                    counts.push(count);
                }
            });
            let mut next = counts.iter().copied();
            out.push(&terms, |_| next.next().unwrap_or(1));
        }
        out
    }
}

/// A batch in the worker's own numbers.
#[derive(Default)]
pub(super) struct Tallied {
    pub(super) worker: usize,
    pub(super) rows: Rows,
    pub(super) labels: Vec<u32>,
    pub(super) label_ends: Vec<usize>,
    pub(super) lengths: Vec<u32>,
    pub(super) ids: Vec<String>,
    pub(super) parts: Vec<Option<Part>>,
    pub(super) dates: Vec<Option<String>>,
    pub(super) weights: Vec<Option<f64>>,
    pub(super) fingerprints: Vec<u64>,
    pub(super) new_terms: Terms,
    pub(super) new_labels: Names,
    pub(super) skipped: Skipped,
    /// The worker starts its numbers from 0 again after this batch.
    pub(super) last_before_clear: bool,
}

impl Tallied {
    /// Number of documents.
    pub(super) fn len(&self) -> usize {
        self.lengths.len()
    }
}

/// Counts tokens, and lists the terms that were not seen before from `distinct[at]` on; returns where the list ends.
///
/// Every token is written; only a new one moves on. A branch here would be wrong for one token in five.
#[inline]
fn tally<C: Copy + Default + PartialEq>(
    tokens: &[u32],
    seen: &mut [C],
    distinct: &mut [u32],
    mut at: usize,
    mut more: impl FnMut(C) -> C,
) -> usize {
    for &term in tokens {
        let count = &mut seen[term as usize];
        distinct[at] = term;
        at += usize::from(*count == C::default());
        *count = more(*count);
    }
    at
}

pub(super) struct Worker {
    number: usize,
    analyzer: Analyzer,
    labels: Interner,
    announced_terms: usize,
    announced_labels: usize,
    /// Occurrences of each term in the current document, up to 255; zero between documents. Of one byte each, because
    /// the table of words needs the same cache.
    narrow: Vec<u8>,
    /// The same for the few documents in which a term occurs more often.
    wide: Vec<u32>,
    /// The tokens of the current document.
    tokens: Vec<u32>,
    /// Terms of the current document that come with a count.
    counted: Vec<(u32, u32)>,
    /// Its distinct terms, in order of first sight; longer than needed.
    distinct: Vec<u32>,
    /// Rows of the current batch: memory that is used again and again costs less than new memory.
    rows: Rows,
}

impl Worker {
    pub(super) fn new(number: usize, options: &CountOptions) -> Result<Self> {
        Ok(Self {
            number,
            analyzer: Analyzer::new(&options.text)?,
            labels: Interner::default(),
            announced_terms: 0,
            announced_labels: 0,
            narrow: Vec::new(),
            wide: Vec::new(),
            tokens: Vec::new(),
            counted: Vec::new(),
            distinct: Vec::new(),
            rows: Rows::default(),
        })
    }

    pub(super) fn new_batch(&self) -> Tallied {
        Tallied { worker: self.number, ..Tallied::default() }
    }

    pub(super) fn document(&mut self, document: &Document<'_>, out: &mut Tallied) {
        let Self { analyzer, narrow, wide, tokens, counted, distinct, rows, .. } = self;
        tokens.clear();
        counted.clear();
        analyzer.analyze(&document.body, |term, count| {
            if count == 1 {
                tokens.push(term);
            } else if count > 1 {
                counted.push((term, count));
            }
        });
        if narrow.len() < analyzer.terms() {
            narrow.resize(analyzer.terms().next_power_of_two().max(1 << 12), 0);
        }
        if distinct.len() < tokens.len() + counted.len() {
            distinct.resize(tokens.len() + counted.len(), 0);
        }
        let mut length = tokens.len() as u32;
        let mut most = 0;
        let terms = if counted.is_empty() {
            tally(tokens, narrow, distinct, 0, |count: u8| {
                let count = count.saturating_add(1);
                most = most.max(count);
                count
            })
        } else {
            0
        };
        if counted.is_empty() && most < u8::MAX {
            rows.push(&distinct[..terms], |term| u32::from(std::mem::take(&mut narrow[term as usize])));
        } else {
            distinct[..terms].iter().for_each(|&term| narrow[term as usize] = 0);
            wide.resize(narrow.len(), 0);
            let mut terms = tally(tokens, wide, distinct, 0, |count| count.saturating_add(1));
            for &(term, count) in counted.iter() {
                terms = tally(&[term], wide, distinct, terms, |seen| seen.saturating_add(count));
                length = length.saturating_add(count);
            }
            rows.push(&distinct[..terms], |term| std::mem::take(&mut wide[term as usize]));
        }
        out.lengths.push(length);
        for label in &document.labels {
            out.labels.push(self.labels.intern(label));
        }
        out.label_ends.push(out.labels.len());
        out.ids.push(document.id.as_ref().to_owned());
        out.fingerprints.push(document.body.fingerprint());
        out.parts.push(document.part);
        out.dates.push(document.date.as_ref().map(|d| d.as_ref().to_owned()));
        out.weights.push(document.weight);
    }

    /// Ends a batch: names that are new since the last one go with it.
    pub(super) fn announce(&mut self, out: &mut Tallied) {
        out.new_terms = self.analyzer.lexicon().since(self.announced_terms);
        for id in self.announced_labels..self.labels.len() {
            out.new_labels.push(self.labels.name(id as u32));
        }
        self.announced_terms = self.analyzer.terms();
        self.announced_labels = self.labels.len();
        out.rows = self.rows.take();
    }

    /// Whether a document had what each block of the terms expression reads.
    pub(super) fn seen(&self) -> &[bool] {
        self.analyzer.seen()
    }

    pub(super) fn clear(&mut self) {
        self.analyzer.clear();
        self.labels.clear();
        self.announced_terms = 0;
        self.announced_labels = 0;
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.analyzer.heap_bytes() + self.labels.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Packing forgets nothing, and renumbering touches terms alone.
        #[test]
        fn rows_come_back(rows in prop::collection::vec(prop::collection::btree_map(0u32..1 << 31, 1u32.., 0..9), 0..9)) {
            let mut packed = Rows::default();
            for row in &rows {
                let terms: Vec<u32> = row.keys().copied().collect();
                packed.push(&terms, |term| row[&term]);
            }
            prop_assert_eq!(packed.entries(), rows.iter().map(std::collections::BTreeMap::len).sum::<usize>());
            let halved = packed.map(|term| (term % 2 == 0).then_some(term / 2));
            for (at, row) in rows.iter().enumerate() {
                let (mut all, mut even) = (Vec::new(), Vec::new());
                packed.for_each(at, |term, count| all.push((term, count)));
                halved.for_each(at, |term, count| even.push((term * 2, count)));
                prop_assert_eq!(&all, &row.iter().map(|(&t, &c)| (t, c)).collect::<Vec<_>>());
                all.retain(|(t, _)| t % 2 == 0);
                prop_assert_eq!(all, even);
            }
        }
    }
}
