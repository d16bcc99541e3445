//! What thresholds reach on documents that they were not selected on.

use super::{Method, Options, Outcome, ScoreTable, select_with};
use crate::{Progress, Result};

impl Outcome {
    /// Of both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            true_positives: self.true_positives + other.true_positives,
            false_positives: self.false_positives + other.false_positives,
            false_negatives: self.false_negatives + other.false_negatives,
        }
    }

    /// `2·right / (2·right + wrong + missed)`; 0 where nothing is right.
    pub fn f1(self) -> f64 {
        let right = 2 * self.true_positives;
        if right == 0 { 0.0 } else { right as f64 / (right + self.false_positives + self.false_negatives) as f64 }
    }
}

/// Thresholds are selected on each half of the documents and judged on the other: what is right and wrong of all of them. Halves have
/// every second positive and every second negative. A half without positives, or whose best utility is below `least`,
/// selects nothing, and then nothing of the other half is accepted.
pub fn judged_apart(
    table: &ScoreTable,
    method: Method,
    options: &Options,
    least: f64,
    progress: &dyn Progress,
) -> Result<Outcome> {
    let mut halves: [Vec<usize>; 2] = [Vec::new(), Vec::new()];
    let mut met = [0usize; 2];
    for (document, &positive) in table.truth().iter().enumerate() {
        let met = &mut met[usize::from(positive)];
        halves[*met % 2].push(document);
        *met += 1;
    }
    let halves = halves.map(|documents| table.select_rows(&documents));
    let mut all = Outcome { true_positives: 0, false_positives: 0, false_negatives: 0 };
    for (selected_on, judged_on) in [(&halves[0], &halves[1]), (&halves[1], &halves[0])] {
        let missed = judged_on.positives() as u64;
        let mut outcome = Outcome { true_positives: 0, false_positives: 0, false_negatives: missed };
        if selected_on.positives() > 0 {
            let selection = select_with(selected_on, method, options, progress)?;
            if selection.outcome.true_positives > 0 && selection.utility >= least {
                outcome = judged_on.outcome(&selection.thresholds);
            }
        }
        all = all.and(outcome);
    }
    Ok(all)
}
