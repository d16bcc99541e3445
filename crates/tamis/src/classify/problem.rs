//! What a classifier trains on: counts of the selected terms in the training documents, and their labels.

use std::borrow::Cow;
use std::sync::Arc;

use crate::counts::{Counts, Csr, Vocabulary};
use crate::{Error, Result};

/// A document reduced to the selected features.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// Feature numbers, strictly ascending.
    pub features: &'a [u32],
    /// Occurrences of each.
    pub counts: &'a [u32],
    /// `dl`: all its tokens, selected or not (method 6).
    pub length: u32,
}

/// Training documents over the selected features. The number of a feature is its place in the ranking, so the first
/// `s` features of a problem are the problem of size `s`: sizes are prefixes.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Documents × features: occurrences.
    pub matrix: Csr<u32>,
    /// `dl` of each document.
    pub lengths: Vec<u32>,
    /// Documents × labels.
    pub assignments: Csr<()>,
    /// How often each document counts, 0 or more; empty where all count once.
    pub weights: Vec<f64>,
    /// The block of the terms expression that each feature is of; empty where all are of one.
    pub blocks: Vec<u8>,
    /// The names of the labels, where somebody may speak of them.
    pub names: Option<Arc<Vocabulary>>,
}

impl Problem {
    /// Documents that all count once, with labels that have no names.
    pub fn of(matrix: Csr<u32>, lengths: Vec<u32>, assignments: Csr<()>) -> Self {
        Self { matrix, lengths, assignments, weights: Vec::new(), blocks: Vec::new(), names: None }
    }

    /// The given documents over the given terms, best first.
    ///
    /// # Panics
    /// When a term or a row is out of range.
    pub fn new(counts: &Counts, rows: &[usize], terms: &[u32]) -> Self {
        let mut feature_of = vec![u32::MAX; counts.vocabulary.len()];
        for (feature, &term) in terms.iter().enumerate() {
            feature_of[term as usize] = feature as u32;
        }
        let mut matrix = Csr::new(terms.len());
        let mut row_buffer: Vec<(u32, u32)> = Vec::new();
        for &row in rows {
            row_buffer.clear();
            row_buffer.extend(
                counts
                    .matrix
                    .row(row)
                    .map(|(term, count)| (feature_of[term as usize], count))
                    .filter(|(feature, _)| *feature != u32::MAX),
            );
            row_buffer.sort_unstable();
            matrix.push_row(row_buffer.iter().copied());
        }
        Self {
            matrix,
            lengths: rows.iter().map(|&r| counts.lengths[r]).collect(),
            assignments: counts.assignments.select_rows(rows),
            weights: rows.iter().filter_map(|&r| counts.weights.get(r).copied()).collect(),
            blocks: counts.blocks_of(terms),
            names: Some(Arc::clone(&counts.labels)),
        }
    }

    /// How often a document counts.
    pub fn weight(&self, row: usize) -> f64 {
        self.weights.get(row).copied().unwrap_or(1.0)
    }

    /// The documents that count at all; an error where a weight is no number of times.
    pub fn counted(&self) -> Result<Cow<'_, Self>> {
        if !self.weights.is_empty() && self.weights.len() != self.documents() {
            let (weights, documents) = (self.weights.len(), self.documents());
            return Err(Error::data(format!("{weights} weights for {documents} documents")));
        }
        if let Some(weight) = self.weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
            return Err(Error::invalid("weight", weight, "the weight of a document is a number, 0 or more"));
        }
        if self.weights.iter().all(|&w| w > 0.0) {
            return Ok(Cow::Borrowed(self));
        }
        let rows: Vec<usize> = (0..self.documents()).filter(|&row| self.weights[row] > 0.0).collect();
        Ok(Cow::Owned(Self {
            matrix: self.matrix.select_rows(&rows),
            lengths: rows.iter().map(|&r| self.lengths[r]).collect(),
            assignments: self.assignments.select_rows(&rows),
            weights: rows.iter().map(|&r| self.weights[r]).collect(),
            blocks: self.blocks.clone(),
            names: self.names.clone(),
        }))
    }

    /// Whether every document has one label, and there are two labels: either is what the other is not.
    pub(super) fn two_sides(&self, labels: &[u32]) -> bool {
        labels.len() == 2 && self.one_label()
    }

    /// Whether every document has exactly one label.
    pub(super) fn one_label(&self) -> bool {
        (0..self.documents()).all(|row| self.assignments.row_indices(row).len() == 1)
    }

    /// Number of documents.
    pub fn documents(&self) -> usize {
        self.matrix.rows()
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.matrix.columns()
    }

    /// Number of labels, with or without documents.
    pub fn labels(&self) -> usize {
        self.assignments.columns()
    }

    /// A document as a classifier sees it.
    pub fn query(&self, row: usize) -> Query<'_> {
        Query { features: self.matrix.row_indices(row), counts: self.matrix.row_values(row), length: self.lengths[row] }
    }

    /// `avdl`: mean length; 0 when there is no document.
    pub fn mean_length(&self) -> f64 {
        if self.lengths.is_empty() {
            0.0
        } else {
            self.lengths.iter().map(|&l| f64::from(l)).sum::<f64>() / self.lengths.len() as f64
        }
    }

    /// Documents and `df` of each feature, every document as often as its weight says.
    pub fn weighed_df(&self) -> (f64, Vec<f64>) {
        if self.weights.is_empty() {
            return (self.documents() as f64, self.df().into_iter().map(f64::from).collect());
        }
        let mut df = vec![0.0; self.features()];
        for (row, weight) in self.weights.iter().enumerate() {
            for &feature in self.matrix.row_indices(row) {
                df[feature as usize] += weight;
            }
        }
        (self.weights.iter().sum(), df)
    }

    /// Mean length, every document as often as its weight says; 0 when none counts.
    pub fn weighed_mean_length(&self) -> f64 {
        let all: f64 = self.weights.iter().sum();
        if all == 0.0 {
            return self.mean_length();
        }
        self.lengths.iter().zip(&self.weights).map(|(&l, w)| f64::from(l) * w).sum::<f64>() / all
    }

    /// `df` of each feature among these documents.
    pub fn df(&self) -> Vec<u32> {
        let mut df = vec![0u32; self.features()];
        for &feature in self.matrix.indices() {
            df[feature as usize] += 1;
        }
        df
    }
}
