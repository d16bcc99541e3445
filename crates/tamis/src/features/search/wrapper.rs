//! Criteria that classify: a classifier's accuracy on documents held out, and any other function of a subset.

use std::sync::{Mutex, PoisonError};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::Criterion;
use crate::counts::{Counts, Csr};
use crate::{Error, Result};

/// Any function of a subset as a criterion, such as the measured quality of a classifier trained on it.
///
/// The function gets the terms ascending. It is called once for a subset: searches come back to subsets they have seen
/// (both swings of an oscillating search end at the size they began with), and a call may be a whole training. A value
/// that is not a number counts as −∞.
pub struct Memoised<F> {
    evaluate: F,
    terms: usize,
    /// Ascending.
    members: Vec<u32>,
    key: u128,
    known: Mutex<HashMap<u128, f64, FxBuildHasher>>,
}

impl<F: Fn(&[u32]) -> f64 + Sync> Memoised<F> {
    /// A criterion over the terms below `terms`.
    pub fn new(terms: usize, evaluate: F) -> Self {
        Self { evaluate, terms, members: Vec::new(), key: 0, known: Mutex::new(HashMap::default()) }
    }

    /// How many subsets were evaluated.
    pub fn evaluated(&self) -> usize {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Evaluates outside the lock. Two threads never ask for the same subset at once, because a batch holds each
    /// candidate once.
    fn look_up(&self, key: u128, members: impl FnOnce() -> Vec<u32>) -> f64 {
        if let Some(&value) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return value;
        }
        let value = (self.evaluate)(&members());
        let value = if value.is_nan() { f64::NEG_INFINITY } else { value };
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key, value);
        value
    }
}

/// 128 well-mixed bits of a term. Subsets are known by the exclusive or of these: a term comes or goes in one
/// instruction, 16 bytes a subset are kept instead of its terms, and two of a billion subsets share a key with a
/// probability below 1e-20.
fn bits(term: u32) -> u128 {
    // splitmix64 (Steele, Lea, Flood 2014), two streams.
    let mix = |seed: u64| {
        let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let low = mix(u64::from(term));
    (u128::from(mix(low ^ 0x5851_f42d_4c95_7f2d)) << 64) | u128::from(low)
}

impl<F: Fn(&[u32]) -> f64 + Sync> Criterion for Memoised<F> {
    fn accepts(&self, term: u32) -> bool {
        (term as usize) < self.terms
    }

    fn clear(&mut self) {
        self.members.clear();
        self.key = 0;
    }

    fn add(&mut self, term: u32) {
        let at = self.members.partition_point(|&t| t < term);
        self.members.insert(at, term);
        self.key ^= bits(term);
    }

    fn remove(&mut self, term: u32) {
        let at = self.members.partition_point(|&t| t < term);
        assert_eq!(self.members.get(at), Some(&term), "only a member can be removed");
        self.members.remove(at);
        self.key ^= bits(term);
    }

    fn value(&self) -> f64 {
        self.look_up(self.key, || self.members.clone())
    }

    fn value_with(&self, term: u32) -> f64 {
        self.look_up(self.key ^ bits(term), || {
            let at = self.members.partition_point(|&t| t < term);
            let mut members = Vec::with_capacity(self.members.len() + 1);
            members.extend_from_slice(&self.members[..at]);
            members.push(term);
            members.extend_from_slice(&self.members[at..]);
            members
        })
    }

    fn value_without(&self, term: u32) -> f64 {
        self.look_up(self.key ^ bits(term), || self.members.iter().copied().filter(|&t| t != term).collect())
    }
}

/// Logarithms are kept as integers, in units of 2⁻³⁶: their sums are exact, so they neither drift nor depend on the order in
/// which terms came and went.
const UNIT: f64 = (1u64 << 36) as f64;

/// The longest document whose sums surely fit: logarithms of counts are below 64 · log 2 < 45.
const LONGEST: u64 = (i64::MAX / (45 << 36) / 4) as u64;

fn fixed_log(x: f64) -> i64 {
    (x.ln() * UNIT).round() as i64
}

/// Accuracy of multinomial Bayes on documents held out: the share of them whose most probable label is one of theirs.
///
/// The classifier is that of method 7: `P(w|c)` with add-one over the subset, `P(c)` with add-one over the classes, documents
/// of several labels count in each. Classes are the labels with a training document; equal probabilities
/// go to the first label. Documents held out take part when they have a label.
///
/// `log P(d, c) = log P(c) + Σ_{v∈S} n_dv log(1 + N_vc) − |d ∩ S| · log(|S| + Σ_{v∈S} N_vc)`: the middle sum is kept for each
/// document and class, so a neighbouring subset costs one pass over documents × classes, whatever the size of the subset.
#[derive(Debug, Clone)]
pub struct HeldOutBayes {
    /// By term: training occurrences in each class.
    training: Csr<u32>,
    /// By term: the documents held out that contain it, and how often.
    postings: Csr<u32>,
    /// By document held out: its classes. May be empty: its labels have no training document, so it is never right.
    truth: Csr<()>,
    log_prior: Vec<i64>,
    /// Document × class: `Σ n_dv log(1 + N_vc)`.
    scores: Vec<i64>,
    /// By document: `|d ∩ S|`.
    lengths: Vec<i64>,
    /// By class: `Σ_{v∈S} N_vc`.
    class_tokens: Vec<u64>,
    members: u64,
}

impl HeldOutBayes {
    /// Trains on some documents of the corpus and counts right answers on others.
    pub fn new(counts: &Counts, training: &[usize], held_out: &[usize]) -> Result<Self> {
        let mut label_documents = vec![0u32; counts.labels.len()];
        for &row in training {
            for &label in counts.assignments.row_indices(row) {
                label_documents[label as usize] += 1;
            }
        }
        let mut class_of: Vec<Option<u32>> = Vec::with_capacity(label_documents.len());
        let mut classes = 0u32;
        for &documents in &label_documents {
            class_of.push((documents > 0).then_some(classes));
            classes += u32::from(documents > 0);
        }
        if classes == 0 {
            return Err(Error::data("no training document has a label, so there is nothing to classify into"));
        }
        let held_out: Vec<usize> =
            held_out.iter().copied().filter(|&row| !counts.assignments.row_indices(row).is_empty()).collect();
        if held_out.is_empty() {
            return Err(Error::data("no document held out has a label, so accuracy cannot be measured"));
        }
        for &row in &held_out {
            let tokens: u64 = counts.matrix.row_values(row).iter().map(|&n| u64::from(n)).sum();
            if tokens > LONGEST {
                return Err(Error::data(format!(
                    "document {:?} has {tokens} tokens; one held out has at most {LONGEST}",
                    counts.ids[row]
                )));
            }
        }
        let m = classes as usize;
        let all: f64 = label_documents.iter().map(|&n| f64::from(n)).sum::<f64>() + m as f64;
        let log_prior =
            label_documents.iter().filter(|n| **n > 0).map(|&n| fixed_log((1.0 + f64::from(n)) / all)).collect();
        Ok(Self {
            training: class_counts(counts, training, &class_of, m),
            postings: counts.matrix.select_rows(&held_out).transpose(),
            truth: counts.assignments.select_rows(&held_out).map_columns(m, &class_of),
            log_prior,
            scores: vec![0; held_out.len() * m],
            lengths: vec![0; held_out.len()],
            class_tokens: vec![0; m],
            members: 0,
        })
    }

    /// Documents held out that take part.
    pub fn documents(&self) -> usize {
        self.lengths.len()
    }

    fn shift(&mut self, term: u32, sign: i64) {
        let m = self.log_prior.len();
        let logs = self.logs(term);
        for (document, count) in self.postings.row(term as usize) {
            let document = document as usize;
            let count = sign * i64::from(count);
            self.lengths[document] += count;
            for (score, log) in self.scores[document * m..][..m].iter_mut().zip(&logs) {
                *score += count * log;
            }
        }
        for (class, occurrences) in self.training.row(term as usize) {
            let sum = &mut self.class_tokens[class as usize];
            *sum = sum.wrapping_add_signed(sign * i64::from(occurrences));
        }
        self.members = self.members.wrapping_add_signed(sign);
    }

    /// `log(1 + N_vc)` by class.
    fn logs(&self, term: u32) -> Vec<i64> {
        let mut logs = vec![0; self.log_prior.len()];
        for (class, occurrences) in self.training.row(term as usize) {
            logs[class as usize] = fixed_log(1.0 + f64::from(occurrences));
        }
        logs
    }

    /// Accuracy after a shift by the term, if any.
    fn accuracy(&self, shift: Option<(u32, i64)>) -> f64 {
        let m = self.log_prior.len();
        let mut class_tokens = self.class_tokens.clone();
        let mut members = self.members;
        // The documents that contain the term, ascending: walked alongside all documents.
        let (mut logs, mut containing) = (Vec::new(), [].iter().zip([].iter()).peekable());
        if let Some((term, sign)) = shift {
            for (class, occurrences) in self.training.row(term as usize) {
                let sum = &mut class_tokens[class as usize];
                *sum = sum.wrapping_add_signed(sign * i64::from(occurrences));
            }
            members = members.wrapping_add_signed(sign);
            logs = self.logs(term);
            for log in &mut logs {
                *log *= sign;
            }
            let row = term as usize;
            containing = self.postings.row_indices(row).iter().zip(self.postings.row_values(row)).peekable();
        }
        let sign = shift.map_or(1, |(_, sign)| sign);
        // An empty subset has no tokens in any document; 1 stands for its denominator, which nothing is divided by.
        let cost: Vec<i64> =
            class_tokens.iter().map(|&tokens| fixed_log(((members + tokens) as f64).max(1.0))).collect();
        let mut right = 0usize;
        let mut moved = vec![0; m];
        for (document, scores) in self.scores.chunks_exact(m).enumerate() {
            let mut length = self.lengths[document];
            let mut scores = scores;
            if let Some((_, &count)) = containing.next_if(|(d, _)| **d as usize == document) {
                length += sign * i64::from(count);
                for ((moved, score), log) in moved.iter_mut().zip(scores).zip(&logs) {
                    *moved = score + i64::from(count) * log;
                }
                scores = &moved;
            }
            let mut best = (i64::MIN, 0);
            for class in 0..m {
                let score = scores[class] + self.log_prior[class] - length * cost[class];
                if score > best.0 {
                    best = (score, class as u32);
                }
            }
            right += usize::from(self.truth.row_indices(document).binary_search(&best.1).is_ok());
        }
        right as f64 / self.lengths.len() as f64
    }
}

/// Terms × classes: occurrences in the given documents.
fn class_counts(counts: &Counts, rows: &[usize], class_of: &[Option<u32>], classes: usize) -> Csr<u32> {
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); classes];
    for &row in rows {
        for &label in counts.assignments.row_indices(row) {
            if let Some(class) = class_of[label as usize] {
                members[class as usize].push(row);
            }
        }
    }
    let mut by_class = Csr::new(counts.vocabulary.len());
    let mut dense = vec![0u32; counts.vocabulary.len()];
    for rows in members {
        dense.fill(0);
        for row in rows {
            for (term, count) in counts.matrix.row(row) {
                dense[term as usize] = dense[term as usize].saturating_add(count);
            }
        }
        by_class.push_row(dense.iter().enumerate().filter(|(_, n)| **n > 0).map(|(t, n)| (t as u32, *n)));
    }
    by_class.transpose()
}

impl Criterion for HeldOutBayes {
    fn accepts(&self, term: u32) -> bool {
        (term as usize) < self.training.rows()
    }

    fn clear(&mut self) {
        self.scores.fill(0);
        self.lengths.fill(0);
        self.class_tokens.fill(0);
        self.members = 0;
    }

    fn add(&mut self, term: u32) {
        self.shift(term, 1);
    }

    fn remove(&mut self, term: u32) {
        self.shift(term, -1);
    }

    fn value(&self) -> f64 {
        self.accuracy(None)
    }

    fn value_with(&self, term: u32) -> f64 {
        self.accuracy(Some((term, 1)))
    }

    fn value_without(&self, term: u32) -> f64 {
        self.accuracy(Some((term, -1)))
    }
}
