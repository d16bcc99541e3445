//! Documents by term × label, in integers: all that selectors ever see.

use std::sync::Arc;

use rayon::prelude::*;

use super::{Counts, Csr, Documents, Vocabulary};
use crate::{Error, Result};

/// Documents by term × label (method 1): `a` both, `b` term only, `c` label only, `d` neither.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// Documents that have the term and the label.
    pub a: f64,
    /// Documents that have the term but not the label.
    pub b: f64,
    /// Documents that have the label but not the term.
    pub c: f64,
    /// Documents that have neither.
    pub d: f64,
}

impl Cell {
    /// All documents.
    pub fn n(self) -> f64 {
        self.a + self.b + self.c + self.d
    }
}

/// What is stored for a term and a label that meet in at least one document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Meeting {
    /// Documents of the label that contain the term (`a`).
    pub documents: u32,
    /// Occurrences of the term in documents of the label (`N_vc` of method 5).
    pub occurrences: u32,
}

/// The counts every selector derives its scores from.
///
/// Contingencies add: the merge of the parts of a corpus equals the contingency of the whole, so threads, files and a
/// cluster all count the same way. Only term–label pairs that meet are stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Contingency {
    vocabulary: Arc<Vocabulary>,
    labels: Arc<Vocabulary>,
    documents: u64,
    tokens: u64,
    label_documents: Vec<u32>,
    df: Vec<u32>,
    occurrences: Vec<u64>,
    meetings: Csr<Meeting>,
}

/// The numbers of a [`Contingency`], for those who build one from elsewhere (a file, a cluster).
#[derive(Debug, Clone)]
pub struct ContingencyParts {
    /// Terms.
    pub vocabulary: Arc<Vocabulary>,
    /// Labels.
    pub labels: Arc<Vocabulary>,
    /// `n`.
    pub documents: u64,
    /// Sum of document lengths.
    pub tokens: u64,
    /// `n_c` of each label.
    pub label_documents: Vec<u32>,
    /// `df` of each term.
    pub df: Vec<u32>,
    /// Occurrences of each term in all documents.
    pub occurrences: Vec<u64>,
    /// Terms × labels.
    pub meetings: Csr<Meeting>,
}

impl Contingency {
    /// Counts all documents.
    pub fn of(counts: &Counts) -> Self {
        Self::of_rows(counts, &(0..counts.len()).collect::<Vec<_>>())
    }

    /// Counts the given documents (a training part). Terms and labels keep their numbers; those that occur
    /// only elsewhere have a count of 0.
    ///
    /// Label by label into a dense array, then transposed: every increment is an array access, where one hash
    /// look-up for each term × label × document would cost tens of times more.
    pub fn of_rows(counts: &Counts, rows: &[usize]) -> Self {
        Self {
            vocabulary: Arc::clone(&counts.vocabulary),
            labels: Arc::clone(&counts.labels),
            tokens: rows.iter().map(|&row| u64::from(counts.lengths[row])).sum(),
            ..Self::count(&counts.matrix, &counts.assignments, rows.iter().copied())
        }
    }

    /// Counts documents of which there is only a matrix, wherever it lies, and their labels. Terms and labels are named by
    /// their numbers, with zeros before them so that names are in the order of the numbers.
    pub fn of_matrix(matrix: &impl Documents, assignments: &Csr<()>) -> Result<Self> {
        if matrix.documents() != assignments.rows() {
            return Err(Error::data(format!(
                "Found input variables with inconsistent numbers of samples: [{}, {}]",
                matrix.documents(),
                assignments.rows()
            )));
        }
        Ok(Self {
            vocabulary: Arc::new(Vocabulary::numbered(matrix.terms())),
            labels: Arc::new(Vocabulary::numbered(assignments.columns())),
            ..Self::count(matrix, assignments, 0..matrix.documents())
        })
    }

    /// The numbers without names; every token is an occurrence of a term.
    fn count(matrix: &impl Documents, assignments: &Csr<()>, rows: impl ExactSizeIterator<Item = usize>) -> Self {
        let (terms, documents) = (matrix.terms(), rows.len() as u64);
        let mut df = vec![0u32; terms];
        let mut occurrences = vec![0u64; terms];
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); assignments.columns()];
        for row in rows {
            matrix.for_each_term(row, |term, count| {
                df[term as usize] += 1;
                occurrences[term as usize] += u64::from(count);
            });
            for &label in assignments.row_indices(row) {
                members[label as usize].push(row as u32);
            }
        }
        let by_label: Vec<Vec<(u32, Meeting)>> = members
            .par_iter()
            .map_init(|| vec![Meeting::default(); terms], |dense, members| count_label(matrix, members, dense))
            .collect();
        let mut label_rows = Csr::new(terms);
        for row in by_label {
            label_rows.push_row(row);
        }
        Self {
            vocabulary: Arc::default(),
            labels: Arc::default(),
            documents,
            tokens: occurrences.iter().sum(),
            label_documents: members.iter().map(|m| m.len() as u32).collect(),
            df,
            occurrences,
            meetings: label_rows.transpose(),
        }
    }

    /// Takes numbers counted elsewhere and checks that they agree with each other.
    pub fn from_parts(parts: ContingencyParts) -> std::result::Result<Self, String> {
        let ContingencyParts { vocabulary, labels, documents, tokens, label_documents, df, occurrences, meetings } =
            parts;
        if df.len() != vocabulary.len() || occurrences.len() != df.len() || meetings.rows() != df.len() {
            return Err(format!("{} terms, but the counts are not for as many", vocabulary.len()));
        }
        if label_documents.len() != labels.len() || meetings.columns() != labels.len() {
            return Err(format!("{} labels, but the counts are not for as many", labels.len()));
        }
        if label_documents.iter().chain(&df).any(|&n| u64::from(n) > documents) {
            return Err(format!("a count exceeds the number of documents, {documents}"));
        }
        for term in 0..df.len() {
            if meetings.row(term).any(|(l, m)| {
                m.documents == 0
                    || m.documents > df[term]
                    || m.documents > label_documents[l as usize]
                    || m.occurrences < m.documents
            }) {
                return Err(format!("the counts of term {:?} contradict each other", vocabulary.name(term as u32)));
            }
        }
        Ok(Self { vocabulary, labels, documents, tokens, label_documents, df, occurrences, meetings })
    }

    /// The counts of two disjoint sets of documents together; terms and labels are united.
    pub fn merge(&self, other: &Self) -> Self {
        let (vocabulary, my_term, their_term) = self.vocabulary.union(&other.vocabulary);
        let (labels, my_label, their_label) = self.labels.union(&other.labels);
        let mut label_documents = vec![0u32; labels.len()];
        let mut df = vec![0u32; vocabulary.len()];
        let mut occurrences = vec![0u64; vocabulary.len()];
        // For each united term: its row in either input.
        let mut rows: Vec<[Option<u32>; 2]> = vec![[None; 2]; vocabulary.len()];
        for (side, part, term_map, label_map) in [(0, self, &my_term, &my_label), (1, other, &their_term, &their_label)]
        {
            for (old, &new) in label_map.iter().enumerate() {
                label_documents[new as usize] += part.label_documents[old];
            }
            for (old, &new) in term_map.iter().enumerate() {
                df[new as usize] += part.df[old];
                occurrences[new as usize] += part.occurrences[old];
                rows[new as usize][side] = Some(old as u32);
            }
        }
        let mut meetings = Csr::new(labels.len());
        let mut row: Vec<(u32, Meeting)> = Vec::new();
        for sides in rows {
            row.clear();
            for (part, old, label_map) in [(self, sides[0], &my_label), (other, sides[1], &their_label)] {
                let Some(old) = old else { continue };
                row.extend(part.meetings.row(old as usize).map(|(l, m)| (label_map[l as usize], m)));
            }
            row.sort_unstable_by_key(|(l, _)| *l);
            row.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same {
                    kept.1.documents += next.1.documents;
                    kept.1.occurrences += next.1.occurrences;
                }
                same
            });
            meetings.push_row(row.iter().copied());
        }
        Self {
            vocabulary: Arc::new(vocabulary),
            labels: Arc::new(labels),
            documents: self.documents + other.documents,
            tokens: self.tokens + other.tokens,
            label_documents,
            df,
            occurrences,
            meetings,
        }
    }

    /// Without the terms that `keep` refuses. The numbers of documents and tokens stay.
    pub fn retain_terms(&self, mut keep: impl FnMut(u32) -> bool) -> Self {
        let kept: Vec<u32> = (0..self.terms() as u32).filter(|&t| keep(t)).collect();
        let rows: Vec<usize> = kept.iter().map(|&t| t as usize).collect();
        Self {
            vocabulary: Arc::new(Vocabulary::from_sorted(kept.iter().map(|&t| self.vocabulary.name(t)))),
            labels: Arc::clone(&self.labels),
            documents: self.documents,
            tokens: self.tokens,
            label_documents: self.label_documents.clone(),
            df: rows.iter().map(|&t| self.df[t]).collect(),
            occurrences: rows.iter().map(|&t| self.occurrences[t]).collect(),
            meetings: self.meetings.select_rows(&rows),
        }
    }

    /// The terms.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The labels.
    pub fn labels(&self) -> &Arc<Vocabulary> {
        &self.labels
    }

    /// Number of terms, counted or not.
    pub fn terms(&self) -> usize {
        self.df.len()
    }

    /// `n`, all documents, labelled or not.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Sum of the documents' lengths.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// `n_c` of every label.
    pub fn label_documents(&self) -> &[u32] {
        &self.label_documents
    }

    /// `df` of every term.
    pub fn df(&self) -> &[u32] {
        &self.df
    }

    /// Occurrences of every term in all documents.
    pub fn occurrences(&self) -> &[u64] {
        &self.occurrences
    }

    /// The labels a term meets, terms × labels.
    pub fn meetings(&self) -> &Csr<Meeting> {
        &self.meetings
    }

    /// The cell of a term and a label.
    pub fn cell(&self, term: u32, label: u32) -> Cell {
        let both = self.meetings.get(term as usize, label).map_or(0, |m| m.documents);
        self.cell_with(term, label, both)
    }

    /// The cell, when the caller knows `a` already (from a walk over [`Contingency::meetings`]).
    pub fn cell_with(&self, term: u32, label: u32, both: u32) -> Cell {
        let a = f64::from(both);
        let df = f64::from(self.df[term as usize]);
        let n_c = f64::from(self.label_documents[label as usize]);
        Cell { a, b: df - a, c: n_c - a, d: self.documents as f64 - df - n_c + a }
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.vocabulary.heap_bytes()
            + self.labels.heap_bytes()
            + self.label_documents.capacity() * 4
            + self.df.capacity() * 4
            + self.occurrences.capacity() * 8
            + self.meetings.heap_bytes()
    }
}

fn count_label(matrix: &impl Documents, members: &[u32], dense: &mut [Meeting]) -> Vec<(u32, Meeting)> {
    let mut touched: Vec<u32> = Vec::new();
    for &document in members {
        matrix.for_each_term(document as usize, |term, count| {
            let meeting = &mut dense[term as usize];
            if meeting.documents == 0 {
                touched.push(term);
            }
            meeting.documents += 1;
            meeting.occurrences = meeting.occurrences.saturating_add(count);
        });
    }
    touched.sort_unstable();
    touched.into_iter().map(|term| (term, std::mem::take(&mut dense[term as usize]))).collect()
}
