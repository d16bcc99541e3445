//! What threshold selection works on: for each document its score at each level of one pipeline, and the truth.

use serde::{Deserialize, Serialize};

use super::utility::{Scorer, Units, Utility, unit};
use crate::{Error, Result};

/// The scores of a pipeline, documents × levels, and which documents truly belong to its end (method 10). Utilities are
/// computed from this table; nothing is classified again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoreTable {
    levels: Vec<String>,
    /// Level after level, root first; each level holds one number in `[0,1]` for each document.
    csv: Vec<f64>,
    truth: Vec<bool>,
    negative_weight: f64,
}

/// How many documents a choice of thresholds gets right and wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Positives accepted.
    pub true_positives: u64,
    /// Negatives accepted.
    pub false_positives: u64,
    /// Positives rejected.
    pub false_negatives: u64,
}

impl ScoreTable {
    /// From columns, root first: `csv` holds the scores of all documents at the root, then at the next level and so on.
    /// `levels` are names for messages and reports.
    pub fn new(levels: Vec<String>, csv: Vec<f64>, truth: Vec<bool>) -> Result<Self> {
        if levels.is_empty() {
            return Err(Error::data("a score table needs at least one level: one column of scores beside the truth"));
        }
        if u32::try_from(truth.len()).is_err() {
            return Err(Error::data(format!("{} documents: a score table holds fewer than 2^32", truth.len())));
        }
        if csv.len() != levels.len() * truth.len() {
            return Err(Error::data(format!(
                "{} levels × {} documents need {} scores, found {}",
                levels.len(),
                truth.len(),
                levels.len() * truth.len(),
                csv.len()
            )));
        }
        if let Some(at) = csv.iter().position(|&v| !in_unit_interval(v)) {
            let (level, document) = (at / truth.len(), at % truth.len());
            return Err(Error::data(format!(
                "document {} at level {:?}: the score {} is not in [0,1]",
                document + 1,
                levels[level],
                csv[at]
            )));
        }
        Ok(Self { levels, csv, truth, negative_weight: 1.0 })
    }

    /// From rows: for each document its scores, root first, and its truth. Levels are named `level1`, `level2` …
    pub fn from_rows(rows: &[(Vec<f64>, bool)]) -> Result<Self> {
        let depth = rows.first().map_or(0, |(scores, _)| scores.len());
        if let Some(at) = rows.iter().position(|(scores, _)| scores.len() != depth) {
            let reason = format!("document {} has {} scores, document 1 has {depth}", at + 1, rows[at].0.len());
            return Err(Error::data(reason));
        }
        let levels = (1..=depth).map(|k| format!("level{k}")).collect();
        let csv = (0..depth).flat_map(|k| rows.iter().map(move |(scores, _)| scores[k])).collect();
        Self::new(levels, csv, rows.iter().map(|(_, truth)| *truth).collect())
    }

    /// How many levels the pipeline has.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// How many documents there are.
    pub fn documents(&self) -> usize {
        self.truth.len()
    }

    /// How many of them belong to the end of the pipeline.
    pub fn positives(&self) -> usize {
        self.truth.iter().filter(|&&t| t).count()
    }

    /// Names of the levels, root first.
    pub fn levels(&self) -> &[String] {
        &self.levels
    }

    /// The scores at a level, by document.
    pub fn level(&self, level: usize) -> &[f64] {
        &self.csv[level * self.documents()..][..self.documents()]
    }

    /// Which documents belong to the end of the pipeline.
    pub fn truth(&self) -> &[bool] {
        &self.truth
    }

    /// How many documents a negative stands for; 1 unless changed for an imbalance.
    pub fn negative_weight(&self) -> f64 {
        self.negative_weight
    }

    /// The same documents where each negative counts `weight` times.
    pub fn with_negative_weight(mut self, weight: f64) -> Result<Self> {
        if !(weight.is_finite() && weight > 0.0) {
            return Err(Error::invalid("negative weight", weight, "must be a positive number"));
        }
        self.negative_weight = weight;
        Ok(self)
    }

    /// The given documents, in the given order.
    ///
    /// # Panics
    /// When a row is out of range.
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        Self {
            levels: self.levels.clone(),
            csv: (0..self.depth()).flat_map(|k| rows.iter().map(move |&r| self.level(k)[r])).collect(),
            truth: rows.iter().map(|&r| self.truth[r]).collect(),
            negative_weight: self.negative_weight,
        }
    }

    /// The deepest `count` levels only (at least one): what a calibration that has come up to there has seen.
    pub fn deepest(&self, count: usize) -> Self {
        let first = self.depth() - count.clamp(1, self.depth());
        Self {
            levels: self.levels[first..].to_vec(),
            csv: self.csv[first * self.documents()..].to_vec(),
            truth: self.truth.clone(),
            negative_weight: self.negative_weight,
        }
    }

    /// How many classifiers a document passes, root first, before one gives less than its threshold. Acceptance is
    /// nested: a document accepted at a level is accepted at all levels above it.
    ///
    /// # Panics
    /// When there are not as many thresholds as levels.
    pub fn reached(&self, document: usize, thresholds: &[f64]) -> usize {
        assert_eq!(thresholds.len(), self.depth(), "one threshold for each level");
        (0..self.depth()).take_while(|&k| self.level(k)[document] >= thresholds[k]).count()
    }

    /// Whether each document passes the whole pipeline: `CSV ≥ θ` at every level.
    ///
    /// # Panics
    /// When there are not as many thresholds as levels.
    pub fn accepted(&self, thresholds: &[f64]) -> Vec<bool> {
        assert_eq!(thresholds.len(), self.depth(), "one threshold for each level");
        let mut accepted = vec![true; self.documents()];
        for (k, &threshold) in thresholds.iter().enumerate() {
            for (a, &v) in accepted.iter_mut().zip(self.level(k)) {
                *a &= v >= threshold;
            }
        }
        accepted
    }

    /// What the thresholds get right and wrong, in documents (negatives not weighted).
    pub fn outcome(&self, thresholds: &[f64]) -> Outcome {
        let (mut true_positives, mut false_positives) = (0, 0);
        for (&accepted, &truth) in self.accepted(thresholds).iter().zip(&self.truth) {
            true_positives += u64::from(accepted && truth);
            false_positives += u64::from(accepted && !truth);
        }
        Outcome { true_positives, false_positives, false_negatives: self.positives() as u64 - true_positives }
    }

    /// The utility of the thresholds, negatives weighted.
    pub fn utility(&self, utility: Utility, thresholds: &[f64]) -> f64 {
        self.value(utility, self.outcome(thresholds))
    }

    /// The utility of an outcome on this table, negatives weighted.
    pub(super) fn value(&self, utility: Utility, o: Outcome) -> f64 {
        utility.value(
            o.true_positives as f64,
            o.false_positives as f64 * self.negative_weight,
            o.false_negatives as f64,
        )
    }

    pub(super) fn scorer(&self, utility: Utility) -> Scorer {
        Scorer {
            fraction: utility.fraction(),
            positives: self.positives() as u32,
            negative_weight: self.negative_weight,
        }
    }

    pub(super) fn units(&self) -> Vec<Units> {
        self.truth.iter().map(|&t| unit(t)).collect()
    }

    /// Refuses a table on which no threshold can be better than another.
    pub(super) fn check_positives(&self) -> Result<()> {
        if self.documents() == 0 {
            return Err(Error::data("the score table has no documents, so there is nothing to set thresholds on"));
        }
        if self.positives() == 0 {
            return Err(Error::data(format!(
                "none of the {} documents is positive (truth = 1), so every threshold has utility 0; \
                 thresholds need documents that belong to {:?}",
                self.documents(),
                self.levels[self.depth() - 1]
            )));
        }
        Ok(())
    }
}

/// Also false for NaN.
pub(super) fn in_unit_interval(v: f64) -> bool {
    (0.0..=1.0).contains(&v)
}
