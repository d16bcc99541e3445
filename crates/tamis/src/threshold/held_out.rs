//! Scores of documents a classifier was not trained on: what thresholds and probabilities are tuned on.

use crate::classify::Scored;
use crate::measure::Beta;
use crate::measure::ranking::HasLabel;

/// One label in one fold: its scores, apart for documents that carry it and those that do not.
#[derive(Debug, Clone, Default)]
struct Column {
    positives: Vec<f32>,
    negatives: Vec<f32>,
    /// Positive documents whose list lacks the label.
    missing: u64,
}

impl Column {
    fn all_positives(&self) -> u64 {
        self.positives.len() as u64 + self.missing
    }
}

#[derive(Debug, Clone, Default)]
struct Fold {
    documents: u64,
    columns: Vec<Column>,
}

/// Held-out scores by fold and label.
///
/// Only what tuning needs is kept: for each label and fold the bare scores of positive and of negative documents, as
/// `f32` (4 bytes for each document and label of its list: 170 MB for 99,000 documents × 429 labels), and how often a
/// true label stood at each place of the lists. A label that is not in a list (kNN lists only labels of neighbours), or
/// has the score −∞, has no score: no threshold assigns it there, and a true label that is missing counts as missed.
///
/// Parts merge: one for each fold or thread, in any order, gives the same tuning.
#[derive(Debug, Clone, Default)]
pub struct HeldOut {
    labels: usize,
    folds: Vec<Fold>,
    /// Lists that have a place `i`, and those with a true label there.
    filled_at: Vec<u64>,
    hits_at: Vec<u64>,
    /// All true labels, known or not.
    true_labels: u64,
}

/// All scores of one label that take part in a tuning.
#[derive(Debug, Clone, Default)]
pub(super) struct Sample {
    pub(super) positives: Vec<f32>,
    pub(super) negatives: Vec<f32>,
    /// Positive documents without a score.
    pub(super) missing: u64,
    /// Documents in the folds that take part, scored or not.
    pub(super) documents: u64,
    /// Folds that do not take part.
    pub(super) folds_left_out: u32,
}

impl Sample {
    /// Positive documents, with or without a score.
    pub(super) fn all_positives(&self) -> u64 {
        self.positives.len() as u64 + self.missing
    }

    /// Adds the scores of another label or fold.
    pub(super) fn append(&mut self, other: Self) {
        self.positives.extend(other.positives);
        self.negatives.extend(other.negatives);
        self.missing += other.missing;
        self.documents += other.documents;
        self.folds_left_out += other.folds_left_out;
    }
}

/// Pushes with an eighth of slack instead of doubling: these lists are most of the memory.
fn push(scores: &mut Vec<f32>, score: f32) {
    if scores.len() == scores.capacity() {
        scores.reserve_exact(scores.len() / 8 + 16);
    }
    scores.push(score);
}

impl HeldOut {
    /// No document yet.
    pub fn new(labels: usize) -> Self {
        Self { labels, ..Self::default() }
    }

    /// Adds a document: its ranked list by a classifier trained without its fold, and its true labels.
    pub fn add(&mut self, fold: usize, ranked: &[Scored], truth: &[u32]) {
        if self.folds.len() <= fold {
            self.folds.resize_with(fold + 1, Fold::default);
        }
        let fold = &mut self.folds[fold];
        fold.columns.resize_with(self.labels, Column::default);
        fold.documents += 1;
        if self.filled_at.len() < ranked.len() {
            self.filled_at.resize(ranked.len(), 0);
            self.hits_at.resize(ranked.len(), 0);
        }
        self.true_labels += truth.len() as u64;
        for (i, place) in ranked.iter().enumerate() {
            let positive = truth.contains(&place.label());
            self.filled_at[i] += 1;
            self.hits_at[i] += u64::from(positive);
            if place.score == f64::NEG_INFINITY {
                continue;
            }
            if let Some(column) = fold.columns.get_mut(place.label as usize) {
                let score = place.score.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32;
                push(if positive { &mut column.positives } else { &mut column.negatives }, score);
            }
        }
        for &label in truth {
            if let Some(column) = fold.columns.get_mut(label as usize) {
                let listed = ranked.iter().any(|p| p.label == label && p.score > f64::NEG_INFINITY);
                column.missing += u64::from(!listed);
            }
        }
    }

    /// Adds a part. The number of labels becomes the larger one.
    pub fn merge(&mut self, other: Self) {
        self.labels = self.labels.max(other.labels);
        if self.folds.len() < other.folds.len() {
            self.folds.resize_with(other.folds.len(), Fold::default);
        }
        for (own, more) in self.folds.iter_mut().zip(other.folds) {
            own.documents += more.documents;
            if own.columns.len() < more.columns.len() {
                own.columns.resize_with(more.columns.len(), Column::default);
            }
            for (a, b) in own.columns.iter_mut().zip(more.columns) {
                a.positives.extend(b.positives);
                a.negatives.extend(b.negatives);
                a.missing += b.missing;
            }
        }
        if self.filled_at.len() < other.filled_at.len() {
            self.filled_at.resize(other.filled_at.len(), 0);
            self.hits_at.resize(other.hits_at.len(), 0);
        }
        for (a, b) in self.filled_at.iter_mut().zip(other.filled_at) {
            *a += b;
        }
        for (a, b) in self.hits_at.iter_mut().zip(other.hits_at) {
            *a += b;
        }
        self.true_labels += other.true_labels;
    }

    /// Number of labels.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// Number of documents.
    pub fn documents(&self) -> u64 {
        self.folds.iter().map(|fold| fold.documents).sum()
    }

    /// Documents that carry a label.
    pub fn positives(&self, label: u32) -> u64 {
        self.columns(label).map(|(_, column)| column.all_positives()).sum()
    }

    /// Bytes on the heap, nearly.
    pub fn heap_bytes(&self) -> usize {
        let column = |c: &Column| (c.positives.capacity() + c.negatives.capacity()) * 4 + size_of::<Column>();
        self.folds.iter().flat_map(|fold| &fold.columns).map(column).sum()
    }

    fn columns(&self, label: u32) -> impl Iterator<Item = (&Fold, &Column)> {
        self.folds.iter().filter_map(move |fold| Some((fold, fold.columns.get(label as usize)?)))
    }

    /// The scores of a label in the folds where they mean something: when all its positive documents are in one fold,
    /// the classifier of that fold has never seen the label, and its scores there are left out. (With a single fold
    /// nothing is known about training, and everything takes part.)
    pub(super) fn sample(&self, label: u32) -> Sample {
        self.gather(label, |_| true)
    }

    /// As [`sample`](Self::sample), without folds in which the label has no positive document: what its threshold is
    /// tuned on (method 9). Such a fold has no F of its own and could only push the threshold up.
    pub(super) fn tuning_sample(&self, label: u32) -> Sample {
        self.gather(label, |column| column.all_positives() > 0)
    }

    fn gather(&self, label: u32, takes_part: impl Fn(&Column) -> bool) -> Sample {
        let mut sample = Sample::default();
        self.by_fold(label, takes_part).for_each(|fold| sample.append(fold));
        sample
    }

    /// As [`sample`](Self::sample), fold by fold; a fold that does not take part is empty.
    pub(super) fn fold_samples(&self, label: u32) -> Vec<Sample> {
        self.by_fold(label, |_| true).collect()
    }

    fn by_fold(&self, label: u32, takes_part: impl Fn(&Column) -> bool) -> impl Iterator<Item = Sample> {
        let all = self.positives(label);
        let several = self.folds.iter().filter(|fold| fold.documents > 0).count() > 1;
        self.columns(label).map(move |(fold, column)| {
            let was_trained = !several || all > column.all_positives();
            if was_trained && takes_part(column) {
                Sample {
                    positives: column.positives.clone(),
                    negatives: column.negatives.clone(),
                    missing: column.missing,
                    documents: fold.documents,
                    folds_left_out: 0,
                }
            } else {
                Sample { folds_left_out: u32::from(fold.documents > 0), ..Sample::default() }
            }
        })
    }

    /// The number of top labels that maximises micro-averaged F_β, and that F; the smallest when several do. At least 1.
    pub(super) fn best_n(&self, beta: Beta) -> (u32, f64) {
        let b2 = beta.squared();
        let (mut right, mut decided, mut best) = (0, 0, (1, 0.0));
        for (i, (&filled, &hits)) in self.filled_at.iter().zip(&self.hits_at).enumerate() {
            right += hits;
            decided += filled;
            // tp/(…) with fp = decided − right, fn = all − right.
            let f = (1.0 + b2) * right as f64 / (b2 * self.true_labels as f64 + decided as f64).max(1.0);
            if f > best.1 {
                best = (i as u32 + 1, f);
            }
        }
        best
    }
}
