//! Decided labels against true labels: counts, and what is derived from them (method 8).

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::Beta;

/// `numerator / denominator`, or `None` for a zero denominator: the caller takes 0 and counts it (method 8).
fn ratio(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator)
}

/// Decisions about one label, or about all: right, wrong and missed ones. Tallies add.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Decided and true.
    pub right: u64,
    /// Decided, not true.
    pub wrong: u64,
    /// True, not decided.
    pub missed: u64,
}

impl Tally {
    /// Counts two ascending lists against each other.
    pub fn of(decided: &[u32], truth: &[u32]) -> Self {
        let mut tally = Self::default();
        compare(decided, truth, |_, decision| tally.add(decision, 1));
        tally
    }

    /// Counts `times` decisions.
    pub fn add(&mut self, decision: Decision, times: u64) {
        match decision {
            Decision::Right => self.right += times,
            Decision::Wrong => self.wrong += times,
            Decision::Missed => self.missed += times,
        }
    }

    /// Adds another tally.
    pub fn merge(&mut self, other: &Self) {
        self.right += other.right;
        self.wrong += other.wrong;
        self.missed += other.missed;
    }

    /// `tp / (tp + fp)`; `None` for 0/0.
    pub fn precision(&self) -> Option<f64> {
        ratio(self.right as f64, (self.right + self.wrong) as f64)
    }

    /// `tp / (tp + fn)`; `None` for 0/0.
    pub fn recall(&self) -> Option<f64> {
        ratio(self.right as f64, (self.right + self.missed) as f64)
    }

    /// `(1+β²)·tp / ((1+β²)·tp + β²·fn + fp)`; `None` for 0/0.
    pub fn f(&self, beta: Beta) -> Option<f64> {
        let b2 = beta.squared();
        let weighted = (1.0 + b2) * self.right as f64;
        ratio(weighted, weighted + b2 * self.missed as f64 + self.wrong as f64)
    }

    /// `tp / (tp + fp + fn)`; `None` for 0/0.
    pub fn jaccard(&self) -> Option<f64> {
        ratio(self.right as f64, (self.right + self.wrong + self.missed) as f64)
    }

    /// True labels: `tp + fn`.
    pub fn support(&self) -> u64 {
        self.right + self.missed
    }

    /// Decided labels: `tp + fp`.
    pub fn decided(&self) -> u64 {
        self.right + self.wrong
    }
}

/// How a label came out for a document. (Neither decided nor true is not counted: that is nearly all of them.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Decided and true.
    Right,
    /// Decided, not true.
    Wrong,
    /// True, not decided.
    Missed,
}

/// Walks two ascending lists without repetition and reports each label of either, ascending.
pub fn compare(decided: &[u32], truth: &[u32], mut report: impl FnMut(u32, Decision)) {
    let (mut i, mut j) = (0, 0);
    loop {
        match (decided.get(i), truth.get(j)) {
            (Some(&d), Some(&t)) if d == t => {
                report(d, Decision::Right);
                i += 1;
                j += 1;
            }
            (Some(&d), t) if t.is_none_or(|&t| d < t) => {
                report(d, Decision::Wrong);
                i += 1;
            }
            (_, Some(&t)) => {
                report(t, Decision::Missed);
                j += 1;
            }
            _ => break,
        }
    }
}

/// What was decided where something else was true.
///
/// For single-label documents this is the confusion matrix. For multi-label documents each missed label is paired with
/// each wrong one of the same document (both counted once when they stand alone), which is where mistakes go; right
/// ones are on the diagonal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confusion {
    cells: FxHashMap<(u32, u32), u64>,
}

/// One cell of a [`Confusion`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ConfusionCell {
    /// The true label; `None`: a wrong label was decided where none was missed.
    pub truth: Option<u32>,
    /// The decided label; `None`: nothing wrong was decided, the true label was just missed.
    pub decided: Option<u32>,
    /// How often.
    pub documents: u64,
}

/// Stands for "no label" inside the map.
const NOBODY: u32 = u32::MAX;

impl Confusion {
    /// Counts a document; both lists ascending.
    pub fn add(&mut self, decided: &[u32], truth: &[u32]) {
        let has = |list: &[u32], label: &u32| list.binary_search(label).is_ok();
        let wrong = || decided.iter().filter(|d| !has(truth, d)).copied();
        let mut missed_any = false;
        for &t in truth {
            if has(decided, &t) {
                *self.cells.entry((t, t)).or_default() += 1;
                continue;
            }
            missed_any = true;
            let mut alone = true;
            for w in wrong() {
                *self.cells.entry((t, w)).or_default() += 1;
                alone = false;
            }
            if alone {
                *self.cells.entry((t, NOBODY)).or_default() += 1;
            }
        }
        if !missed_any {
            for w in wrong() {
                *self.cells.entry((NOBODY, w)).or_default() += 1;
            }
        }
    }

    /// Adds another part.
    pub fn merge(&mut self, other: &Self) {
        for (&cell, &count) in &other.cells {
            *self.cells.entry(cell).or_default() += count;
        }
    }

    /// Gives labels other numbers.
    pub(super) fn renumber(&mut self, number: impl Fn(u32) -> u32) {
        let name = |label| if label == NOBODY { NOBODY } else { number(label) };
        self.cells = self.cells.drain().map(|((t, d), n)| ((name(t), name(d)), n)).collect();
    }

    /// How often `decided` was said where `truth` was right.
    pub fn count(&self, truth: u32, decided: u32) -> u64 {
        self.cells.get(&(truth, decided)).copied().unwrap_or(0)
    }

    /// All cells that are not zero, by true label, then decided label; "none" comes last.
    pub fn cells(&self) -> Vec<ConfusionCell> {
        let name = |label: u32| (label != NOBODY).then_some(label);
        let mut cells: Vec<_> = self.cells.iter().map(|(&cell, &n)| (cell, n)).collect();
        cells.sort_unstable();
        cells
            .into_iter()
            .map(|((t, d), documents)| ConfusionCell { truth: name(t), decided: name(d), documents })
            .collect()
    }

    /// The most frequent mistakes (no diagonal), most frequent first, ties by label numbers.
    pub fn worst(&self, most: usize) -> Vec<ConfusionCell> {
        let mut cells = self.cells();
        cells.retain(|cell| cell.truth != cell.decided);
        cells.sort_by_key(|cell| std::cmp::Reverse(cell.documents));
        cells.truncate(most);
        cells
    }
}

/// How often two labels are on the same document; pairs are `(a, b)` with `a < b`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoOccurrence {
    pairs: FxHashMap<(u32, u32), u64>,
}

impl CoOccurrence {
    /// Counts all pairs of an ascending list.
    pub fn add(&mut self, labels: &[u32]) {
        for (i, &a) in labels.iter().enumerate() {
            for &b in &labels[i + 1..] {
                *self.pairs.entry((a, b)).or_default() += 1;
            }
        }
    }

    /// Adds another part.
    pub fn merge(&mut self, other: &Self) {
        for (&pair, &count) in &other.pairs {
            *self.pairs.entry(pair).or_default() += count;
        }
    }

    /// Gives labels other numbers.
    pub(super) fn renumber(&mut self, number: impl Fn(u32) -> u32) {
        let pair = |a: u32, b: u32| (a.min(b), a.max(b));
        self.pairs = self.pairs.drain().map(|((a, b), n)| (pair(number(a), number(b)), n)).collect();
    }

    /// Documents with both labels.
    pub fn count(&self, a: u32, b: u32) -> u64 {
        self.pairs.get(&(a.min(b), a.max(b))).copied().unwrap_or(0)
    }

    /// All pairs that occur, with their number of documents, by label numbers.
    pub fn pairs(&self) -> Vec<((u32, u32), u64)> {
        let mut pairs: Vec<_> = self.pairs.iter().map(|(&pair, &n)| (pair, n)).collect();
        pairs.sort_unstable();
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_ratios() {
        let tally = Tally::of(&[1, 2, 5], &[2, 3, 5, 9]);
        assert_eq!(tally, Tally { right: 2, wrong: 1, missed: 2 });
        assert_eq!(tally.precision(), Some(2.0 / 3.0));
        assert_eq!(tally.recall(), Some(0.5));
        assert_eq!(tally.f(Beta::ONE), Some(4.0 / 7.0));
        assert_eq!(tally.jaccard(), Some(0.4));
        let half = Beta::new(0.5).unwrap();
        let (p, r) = (2.0 / 3.0, 0.5);
        assert!((tally.f(half).unwrap() - 1.25 * p * r / (0.25 * p + r)).abs() < 1e-15);
    }

    #[test]
    fn nothing_by_nothing_is_no_number() {
        let none = Tally::default();
        assert_eq!((none.precision(), none.recall(), none.f(Beta::ONE), none.jaccard()), (None, None, None, None));
        assert_eq!(Tally::of(&[], &[4]).precision(), None);
        assert_eq!(Tally::of(&[], &[4]).recall(), Some(0.0));
        assert_eq!(Tally::of(&[1], &[2]).f(Beta::ONE), Some(0.0));
    }

    #[test]
    fn confusion_of_single_label_documents_is_the_matrix() {
        let mut confusion = Confusion::default();
        for (decided, truth) in [(0, 0), (1, 0), (1, 0), (1, 1), (0, 2)] {
            confusion.add(&[decided], &[truth]);
        }
        confusion.add(&[], &[1]);
        confusion.add(&[2], &[]);
        assert_eq!(confusion.count(0, 0), 1);
        assert_eq!(confusion.count(0, 1), 2);
        assert_eq!(confusion.count(2, 2), 0);
        assert_eq!(confusion.worst(1), [ConfusionCell { truth: Some(0), decided: Some(1), documents: 2 }]);
        let cells = confusion.cells();
        assert!(cells.contains(&ConfusionCell { truth: Some(1), decided: None, documents: 1 }));
        assert!(cells.contains(&ConfusionCell { truth: None, decided: Some(2), documents: 1 }));
        assert_eq!(cells.iter().map(|c| c.documents).sum::<u64>(), 7);
    }

    #[test]
    fn pairs_of_labels() {
        let mut pairs = CoOccurrence::default();
        pairs.add(&[1, 4, 7]);
        pairs.add(&[4, 7]);
        assert_eq!(pairs.pairs(), [((1, 4), 1), ((1, 7), 1), ((4, 7), 2)]);
        assert_eq!(pairs.count(7, 4), 2);
    }
}
