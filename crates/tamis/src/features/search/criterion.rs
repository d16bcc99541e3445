//! What a search maximises: a value of a subset, kept up to date as terms come and go.

use rayon::prelude::*;

use super::Clock;

/// "Better" means larger by more than this (method 4), so that rounding never passes for progress.
pub const BETTER_BY: f64 = 1e-12;

/// Whether `new` is better than `old`: larger by more than [`BETTER_BY`].
pub fn is_better(new: f64, old: f64) -> bool {
    new > old + BETTER_BY
}

/// A term to add or remove, and the value of the subset after that.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// The term.
    pub term: u32,
    /// The criterion once the term is added or removed.
    pub value: f64,
}

/// A value of subsets with running state. Larger is better; never NaN.
///
/// The state is a set of terms. `value_with` and `value_without` ask about a neighbour without moving there, and must
/// agree with moving there up to rounding. The two batch questions have answers by definition, given below; an
/// implementation may find them faster, but not answer differently.
///
/// **Ties** (method 4: the order of section 2). Candidates come best-ranked first. Of candidates that no other betters
/// (see [`is_better`]), the best-ranked term is added, and the worst-ranked is removed: among equal subsets the search
/// holds the one whose terms rank better.
pub trait Criterion: Sync {
    /// Whether the criterion knows the term; all other methods may panic on terms it does not.
    fn accepts(&self, term: u32) -> bool;

    /// Empties the subset.
    fn clear(&mut self);

    /// Puts a term in that is not in.
    fn add(&mut self, term: u32);

    /// Takes a term out that is in.
    fn remove(&mut self, term: u32);

    /// The value of the subset; that of the empty one is the criterion's to define.
    fn value(&self) -> f64;

    /// The value with one more term, which is not in.
    fn value_with(&self, term: u32) -> f64;

    /// The value without a term, which is in.
    fn value_without(&self, term: u32) -> f64;

    /// Replaces the subset.
    fn set(&mut self, terms: &[u32]) {
        self.clear();
        for &term in terms {
            self.add(term);
        }
    }

    /// The candidate that gives the highest value when added; of equals, the first. `None` when there is no candidate
    /// or the clock ran out.
    fn best_addition(&self, candidates: &[u32], clock: &Clock<'_>) -> Option<Choice> {
        let values = in_parallel(candidates, clock, |term| self.value_with(term))?;
        first_of_best(&values).map(|at| Choice { term: candidates[at], value: values[at] })
    }

    /// The member whose removal leaves the highest value; of equals, the last. `None` when there is no member
    /// or the clock ran out.
    fn worst_member(&self, members: &[u32], clock: &Clock<'_>) -> Option<Choice> {
        let values = in_parallel(members, clock, |term| self.value_without(term))?;
        last_of_best(&values).map(|at| Choice { term: members[at], value: values[at] })
    }
}

/// One value a candidate, in candidate order whatever the threads; `None` when the clock ran out.
fn in_parallel(terms: &[u32], clock: &Clock<'_>, value: impl Fn(u32) -> f64 + Sync) -> Option<Vec<f64>> {
    terms.par_iter().map(|&term| if clock.is_over() { None } else { Some(value(term)) }).collect()
}

/// The first place whose value no other betters.
pub(super) fn first_of_best(values: &[f64]) -> Option<usize> {
    let largest = largest(values);
    values.iter().position(|&v| !is_better(largest, v))
}

/// The last place whose value no other betters.
pub(super) fn last_of_best(values: &[f64]) -> Option<usize> {
    let largest = largest(values);
    values.iter().rposition(|&v| !is_better(largest, v))
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_within_the_tolerance_go_by_place() {
        assert_eq!(first_of_best(&[]), None);
        assert_eq!(last_of_best(&[]), None);
        let values = [1.0, 2.0 - 0.5e-12, 2.0, 2.0 - 2e-12, 0.0];
        assert_eq!(first_of_best(&values), Some(1));
        assert_eq!(last_of_best(&values), Some(2));
        assert_eq!(first_of_best(&[f64::NEG_INFINITY; 2]), Some(0));
        assert_eq!(last_of_best(&[f64::NEG_INFINITY; 2]), Some(1));
    }

    #[test]
    fn a_chain_of_near_equals_is_measured_from_its_top() {
        // Each is within the tolerance of its neighbour; the first is not within that of the last.
        assert_eq!(first_of_best(&[0.0, 0.8e-12, 1.6e-12]), Some(1));
    }
}
