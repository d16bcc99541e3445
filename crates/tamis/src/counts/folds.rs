//! Cross-validation: the one loop over folds.

use super::{Counts, Split, SplitPlan};
use crate::{Error, Progress, Result};

/// Some documents of a corpus, each held out in one of several folds (or as the plan says). Where the corpus has a validation part
/// that is not among them, they are all trained on, and that part is the one fold.
///
/// Choosing, learning λ, tuning thresholds and measuring quality all go through [`CrossValidation::run`]; the splits of a study are
/// units of their own, which are stored and resumed one by one.
#[derive(Debug, Clone, Copy)]
pub struct CrossValidation<'a> {
    /// The corpus.
    pub counts: &'a Counts,
    /// The documents that take part, ascending.
    pub rows: &'a [usize],
    /// How they are split.
    pub plan: SplitPlan,
    /// Seed of the folds.
    pub seed: u64,
}

impl<'a> CrossValidation<'a> {
    /// So many folds with every label spread evenly over them, or as many as there are documents.
    pub fn stratified(counts: &'a Counts, rows: &'a [usize], folds: usize, seed: u64) -> Self {
        Self { counts, rows, plan: SplitPlan::Stratified(folds.min(rows.len()) as u32), seed }
    }

    /// So many folds, drawn at random.
    pub fn random(counts: &'a Counts, rows: &'a [usize], folds: usize, seed: u64) -> Self {
        Self { counts, rows, plan: SplitPlan::KFold(folds as u32), seed }
    }

    /// The documents that are held out: the validation part, or all that take part.
    pub fn held_out(&self) -> Vec<usize> {
        let validation = self.counts.validation_for(self.rows);
        if validation.is_empty() { self.rows.to_vec() } else { validation }
    }

    /// The folds, as numbers of the corpus.
    pub fn splits(&self) -> Result<Vec<Split>> {
        let validation = self.counts.validation_for(self.rows);
        if !validation.is_empty() {
            return Ok(vec![Split { train: self.rows.to_vec(), test: validation }]);
        }
        self.plan.splits_of(self.counts, self.rows, self.seed)
    }

    /// Calls `work` with the number of each fold and its documents (numbers of the corpus), one fold after the other.
    ///
    /// A fold is `steps` steps of progress, which `work` reports. It is left between two folds when the user asks to stop.
    pub fn run(
        &self,
        stage: &str,
        steps: u64,
        progress: &dyn Progress,
        mut work: impl FnMut(usize, &Split) -> Result<()>,
    ) -> Result<()> {
        let splits = self.splits()?;
        progress.start(stage, Some(splits.len() as u64 * steps));
        for (fold, split) in splits.iter().enumerate() {
            if progress.cancelled() {
                return Err(Error::Interrupted);
            }
            work(fold, split)?;
        }
        progress.finish();
        Ok(())
    }
}
