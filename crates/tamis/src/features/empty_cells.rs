//! Labels that a term does not meet: their scores depend on the term's df alone, so a df's worth of terms shares them.

use super::scoring::{CellFunction, Frame};
use crate::counts::Cell;

/// Scores of the empty cells of one df for one formula.
#[derive(Default)]
pub(super) struct Empty {
    /// By place in [`Frame::sizes`], as far as there is room for empty cells.
    scores: Vec<f64>,
    highest: f64,
    sum: Sum,
    avg: Sum,
    /// Labels by score descending, then number; filled when the first term asks.
    order: Vec<u32>,
    ordered: bool,
}

impl Empty {
    /// Scores the empty cells of a df, one for each size of label; adds them up when `sums` are asked for.
    pub(super) fn prepare(&mut self, frame: &Frame, function: CellFunction, cells: &[Cell], sums: bool) {
        function.run(cells, &mut self.scores);
        self.highest = self.scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.ordered = false;
        (self.sum, self.avg) = (Sum::default(), Sum::default());
        if sums && self.scores.iter().any(|s| *s != 0.0) {
            for (place, &score) in self.scores.iter().enumerate() {
                let part = frame.sizes[place] / frame.n * score;
                for _ in frame.starts[place]..frame.starts[place + 1] {
                    self.sum.add(score);
                    self.avg.add(part);
                }
            }
        }
    }

    /// The score of a label's empty cell, 0 when there is no room for one (then it is in no total either).
    fn of(&self, frame: &Frame, label: u32) -> f64 {
        self.scores.get(frame.size_of[label as usize] as usize).copied().unwrap_or(0.0)
    }

    /// The sum over all labels of a term that meets `labels` with `scores`.
    pub(super) fn sum(&self, frame: &Frame, labels: &[u32], scores: &[f64]) -> f64 {
        let mut sum = self.sum;
        for (&label, score) in labels.iter().zip(scores) {
            sum.add(-self.of(frame, label));
            sum.add(*score);
        }
        sum.value()
    }

    /// The sum weighted by the priors.
    pub(super) fn avg(&self, frame: &Frame, labels: &[u32], scores: &[f64]) -> f64 {
        let mut sum = self.avg;
        for (&label, score) in labels.iter().zip(scores) {
            let prior = frame.priors[label as usize];
            sum.add(-(prior * self.of(frame, label)));
            sum.add(prior * score);
        }
        sum.value()
    }

    /// The largest score over all labels, and the label.
    pub(super) fn max(&mut self, frame: &Frame, labels: &[u32], scores: &[f64]) -> (f64, u32) {
        let mut best = (f64::NEG_INFINITY, u32::MAX);
        for (&label, &score) in labels.iter().zip(scores) {
            if score > best.0 {
                best = (score, label);
            }
        }
        if self.highest >= best.0 {
            if !self.ordered {
                self.order(frame);
            }
            // At most as many are passed over as the term meets labels.
            if let Some(&label) = self.order.iter().find(|label| labels.binary_search(label).is_err()) {
                let score = self.of(frame, label);
                if score > best.0 || (score == best.0 && label < best.1) {
                    best = (score, label);
                }
            }
        }
        // Minus zero would print and compare unlike zero.
        (best.0 + 0.0, best.1)
    }

    fn order(&mut self, frame: &Frame) {
        self.ordered = true;
        self.order.clear();
        let scores = &self.scores;
        // Almost every formula rises or falls with the size of the label; then there is nothing to sort.
        if scores.is_sorted_by(|x, y| x > y) {
            self.order.extend(&frame.labels[..frame.starts[scores.len()]]);
        } else if scores.is_sorted_by(|x, y| x < y) {
            for place in (0..scores.len()).rev() {
                self.order.extend(&frame.labels[frame.starts[place]..frame.starts[place + 1]]);
            }
        } else {
            self.order.extend(&frame.labels[..frame.starts[scores.len()]]);
            let score = |label: u32| scores[frame.size_of[label as usize] as usize];
            self.order.sort_unstable_by(|&x, &y| score(y).total_cmp(&score(x)).then(x.cmp(&y)));
        }
    }
}

/// A sum that remembers what rounding took away (Knuth's exact addition), so that it is right to the last bit in any
/// order of its parts, for all but contrived inputs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    pub(super) fn add(&mut self, x: f64) {
        let sum = self.high + x;
        let of_x = sum - self.high;
        self.low += (self.high - (sum - of_x)) + (x - of_x);
        self.high = sum;
    }

    pub(super) fn value(self) -> f64 {
        self.high + self.low + 0.0
    }
}
