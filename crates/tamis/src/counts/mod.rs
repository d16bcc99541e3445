//! Tokens → ids → sparse counts → contingency.

mod contingency;
mod counter;
mod csr;
mod file;
mod folds;
mod interner;
mod lexicon;
mod merger;
mod names;
mod parting;
mod sorter;
mod split;
mod stratify;
mod summary;
mod tally;
mod view;
mod vocabulary;
mod written;

use std::sync::Arc;

pub use contingency::{Cell, Contingency, ContingencyParts, Meeting};
pub use counter::{CountOptions, CountReport, Counted, Pruned, count, count_contingency};
pub use csr::Csr;
pub use file::CountsFile;
pub use folds::CrossValidation;
pub(crate) use lexicon::Lexicon;
pub use parting::{PartBy, Parting};
pub use split::{Split, SplitPlan};
pub use summary::{Duplicates, LabelSize, Spread, Summary};
pub use view::{CsrView, Documents, Entries, Number, Offset, UnorderedView};
pub use vocabulary::Vocabulary;
pub use written::ScriptSize;

use crate::Result;
use crate::corpus::Part;
use crate::terms::TextOptions;

/// A corpus as numbers: what every later stage works on. Documents are in corpus order.
///
/// A split or a fold is a list of row numbers into it.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    /// How text became these terms: what is fitted to the counts must read text the same way.
    pub text: Arc<TextOptions>,
    /// Terms, in byte order.
    pub vocabulary: Arc<Vocabulary>,
    /// Labels, in byte order.
    pub labels: Arc<Vocabulary>,
    /// Documents × terms: occurrences.
    pub matrix: Csr<u32>,
    /// Documents × labels.
    pub assignments: Csr<()>,
    /// Tokens of each document after tokenisation, stop words and stemming, before cutting and selection (`dl`, method 6).
    pub lengths: Vec<u32>,
    /// Names of the documents.
    pub ids: Vec<String>,
    /// The part of a given split each document is in, where the corpus says.
    pub parts: Vec<Option<Part>>,
    /// The date of each document, where the corpus has one; dates sort as text.
    pub dates: Vec<Option<String>>,
    /// How often each document counts when a classifier learns, 0 or more; empty where all count once.
    pub weights: Vec<f64>,
    /// What tells documents apart ([`Body::fingerprint`](crate::corpus::Body::fingerprint)); empty where counts did not come from
    /// documents.
    pub fingerprints: Vec<u64>,
}

impl Counts {
    /// The block of the terms expression that each of the terms is of; nothing where there is but one.
    pub(crate) fn blocks_of(&self, terms: &[u32]) -> Vec<u8> {
        self.text.blocks_of(terms.iter().map(|&term| self.vocabulary.name(term)))
    }

    /// Number of documents.
    pub fn len(&self) -> usize {
        self.matrix.rows()
    }

    /// Whether there is no document.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers of all documents.
    pub fn rows(&self) -> Vec<usize> {
        (0..self.len()).collect()
    }

    /// The documents of a part of the given split, in order.
    pub fn part(&self, part: Part) -> Vec<usize> {
        (0..self.len()).filter(|&row| self.parts[row] == Some(part)).collect()
    }

    /// The documents to learn from: the train part where the corpus gives a split, all documents where it does not
    /// (method 1).
    pub fn training(&self) -> Vec<usize> {
        if self.parts.iter().all(Option::is_none) { self.rows() } else { self.part(Part::Train) }
    }

    /// The documents on which what is learned from `rows` is to be tuned: the validation part, where the corpus gives one and it is
    /// not learned from.
    pub fn validation_for(&self, rows: &[usize]) -> Vec<usize> {
        let validation = self.part(Part::Validation);
        let learned_from = rows.iter().any(|&row| self.parts[row] == Some(Part::Validation));
        if learned_from { Vec::new() } else { validation }
    }

    /// The given documents as a corpus of its own; vocabulary and labels stay as they are.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            text: Arc::clone(&self.text),
            vocabulary: Arc::clone(&self.vocabulary),
            labels: Arc::clone(&self.labels),
            matrix: self.matrix.select_rows(rows),
            assignments: self.assignments.select_rows(rows),
            lengths: rows.iter().map(|&r| self.lengths[r]).collect(),
            ids: rows.iter().map(|&r| self.ids[r].clone()).collect(),
            parts: rows.iter().map(|&r| self.parts[r]).collect(),
            dates: rows.iter().map(|&r| self.dates[r].clone()).collect(),
            weights: rows.iter().filter_map(|&r| self.weights.get(r).copied()).collect(),
            fingerprints: rows.iter().filter_map(|&r| self.fingerprints.get(r).copied()).collect(),
        }
    }

    /// The same documents with the terms of narrower options ([`TextOptions::narrower`]): what counting them so would
    /// give, but that terms that were pruned while counting do not come back. None where the options are the same.
    pub fn narrowed(&self, text: &TextOptions) -> Result<Option<Self>> {
        if text == &*self.text {
            return Ok(None);
        }
        let also = self.text.also_in(text, self.vocabulary.iter())?;
        // Blocks keep their order, and so do the terms.
        let mut names = Vec::new();
        let mut place = vec![None; self.vocabulary.len()];
        for (term, block) in also.iter().enumerate().filter_map(|(term, block)| Some((term, (*block)?))) {
            place[term] = Some(names.len() as u32);
            names.push(text.marked(block, self.text.block_of(self.vocabulary.name(term as u32)).1));
        }
        let matrix = self.matrix.map_columns(names.len(), &place);
        let lengths = (0..matrix.rows()).map(|row| matrix.row_values(row).iter().sum()).collect();
        Ok(Some(Self {
            text: Arc::new(text.clone()),
            vocabulary: Arc::new(Vocabulary::from_sorted(names.iter().map(String::as_str))),
            labels: Arc::clone(&self.labels),
            matrix,
            assignments: self.assignments.clone(),
            lengths,
            ids: self.ids.clone(),
            parts: self.parts.clone(),
            dates: self.dates.clone(),
            weights: self.weights.clone(),
            fingerprints: self.fingerprints.clone(),
        }))
    }

    /// The same documents with the given labels only (ascending numbers); a document may be left without any.
    pub fn with_labels(&self, kept: &[u32]) -> Self {
        let mut place = vec![None; self.labels.len()];
        for (new, &old) in kept.iter().enumerate() {
            place[old as usize] = Some(new as u32);
        }
        Self {
            labels: Arc::new(Vocabulary::from_sorted(kept.iter().map(|&l| self.labels.name(l)))),
            assignments: self.assignments.map_columns(kept.len(), &place),
            ..self.clone()
        }
    }

    /// A corpus from ready rows, for tests and examples: each document is its terms with repetition, and its labels.
    pub fn from_rows<T: AsRef<str>, L: AsRef<str>>(documents: &[(Vec<T>, Vec<L>)]) -> Self {
        let vocabulary = Vocabulary::new(documents.iter().flat_map(|(t, _)| t.iter().map(AsRef::as_ref)));
        let labels = Vocabulary::new(documents.iter().flat_map(|(_, l)| l.iter().map(AsRef::as_ref)));
        let mut matrix = Csr::new(vocabulary.len());
        let mut assignments = Csr::new(labels.len());
        for (terms, names) in documents {
            let mut row = std::collections::BTreeMap::<u32, u32>::new();
            for id in terms.iter().filter_map(|t| vocabulary.id(t.as_ref())) {
                *row.entry(id).or_default() += 1;
            }
            matrix.push_row(row);
            let set: std::collections::BTreeSet<u32> = names.iter().filter_map(|l| labels.id(l.as_ref())).collect();
            assignments.push_row(set.into_iter().map(|l| (l, ())));
        }
        Self {
            text: Arc::default(),
            lengths: documents.iter().map(|(t, _)| t.len() as u32).collect(),
            ids: (1..=documents.len()).map(|i| i.to_string()).collect(),
            parts: vec![None; documents.len()],
            dates: vec![None; documents.len()],
            weights: Vec::new(),
            fingerprints: Vec::new(),
            vocabulary: Arc::new(vocabulary),
            labels: Arc::new(labels),
            matrix,
            assignments,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn corpus() -> impl Strategy<Value = Vec<(Vec<String>, Vec<String>)>> {
        let term = "[a-f]";
        let label = "[X-Z]";
        prop::collection::vec((prop::collection::vec(term, 0..8), prop::collection::vec(label, 0..3)), 0..12)
    }

    proptest! {
        #[test]
        fn merged_parts_are_the_whole(documents in corpus(), at in 0usize..12) {
            let at = at.min(documents.len());
            let whole = Contingency::of(&Counts::from_rows(&documents));
            let head = Contingency::of(&Counts::from_rows(&documents[..at]));
            let tail = Contingency::of(&Counts::from_rows(&documents[at..]));
            prop_assert_eq!(&head.merge(&tail), &whole);
            prop_assert_eq!(&tail.merge(&head), &whole);
        }

        #[test]
        fn every_cell_is_the_plain_count(documents in corpus()) {
            let counts = Counts::from_rows(&documents);
            let table = Contingency::of(&counts);
            for (t, term) in counts.vocabulary.iter().enumerate() {
                for (l, label) in counts.labels.iter().enumerate() {
                    let count = |has: bool, is: bool| documents.iter().filter(|(terms, labels)| {
                        terms.iter().any(|x| x == term) == has && labels.iter().any(|x| x == label) == is
                    }).count() as f64;
                    let cell = table.cell(t as u32, l as u32);
                    prop_assert_eq!(
                        cell,
                        Cell { a: count(true, true), b: count(true, false), c: count(false, true), d: count(false, false) }
                    );
                }
            }
        }
    }
}
