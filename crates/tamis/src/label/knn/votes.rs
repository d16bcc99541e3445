//! Neighbours → ranked labels.

use super::Similarity;
use crate::counts::Csr;
use crate::label::Scored;

/// Sums of similarities by label, zero between two calls.
#[derive(Debug, Default, Clone)]
pub(super) struct Votes {
    sums: Vec<f64>,
    touched: Vec<u32>,
}

impl Votes {
    /// Ranks the labels of the neighbours (SPEC 7), given in training order. `ranked` may hold an earlier list: neighbouring sizes rank labels
    /// nearly alike, so its order is where sorting starts.
    pub(super) fn rank(
        &mut self,
        documents: &[u32],
        similarities: &[f64],
        assignments: &Csr<()>,
        similarity: Similarity,
        ranked: &mut Vec<Scored>,
    ) {
        if self.sums.len() < assignments.columns() {
            self.sums.resize(assignments.columns(), 0.0);
        }
        let mut total = 0.0;
        for (&document, &similarity) in documents.iter().zip(similarities) {
            total += similarity;
            for &label in assignments.row_indices(document as usize) {
                let sum = &mut self.sums[label as usize];
                if *sum == 0.0 {
                    self.touched.push(label);
                }
                *sum += similarity;
            }
        }
        let share = |sum: f64| match similarity {
            Similarity::Okapi => sum,
            Similarity::Cosine => sum / total,
        };
        let mut take = |label: u32| share(std::mem::take(&mut self.sums[label as usize]));
        ranked.retain_mut(|place| {
            place.score = take(place.label);
            place.score > 0.0
        });
        ranked.extend(self.touched.drain(..).map(|label| Scored { label, score: take(label) }).filter(|s| s.score > 0.0));
        sort(ranked);
    }
}

/// Insertion sort while it is cheap, since lists come nearly sorted; otherwise the general one. The order is total, so
/// both give the same.
fn sort(ranked: &mut [Scored]) {
    let mut budget = 8 * ranked.len();
    for i in 1..ranked.len() {
        let place = ranked[i];
        let mut j = i;
        while j > 0 && place.better_first(&ranked[j - 1]).is_lt() {
            ranked[j] = ranked[j - 1];
            j -= 1;
        }
        ranked[j] = place;
        budget = budget.saturating_sub(i - j);
        if budget == 0 {
            ranked.sort_unstable_by(Scored::better_first);
            return;
        }
    }
}
