//! Best-first evaluation: of many candidates with cheap upper bounds, only those that can win are evaluated.

use rayon::prelude::*;

use super::{Clock, is_better};

/// Candidates whose bounds one task computes: enough to hide the cost of a task.
const CHUNK: usize = 256;

/// Candidates evaluated before the first look at what the bounds leave open; doubled for each further one, so that
/// useless bounds cost no more than a few passes.
const BLOCK: usize = 4;

/// The values, in candidate order; −∞ for candidates that another betters whatever their value. `bound` is at least
/// `value`; a task evaluates `least_share` candidates or more. `None` when the clock ran out.
///
/// What is evaluated depends on the bounds alone, so the answer is the same for any number of threads. The largest
/// value, and every value that it does not better, are always among those evaluated.
pub(super) fn contenders(
    terms: &[u32],
    clock: &Clock<'_>,
    least_share: usize,
    bound: impl Fn(u32) -> f64 + Sync,
    value: impl Fn(u32) -> f64 + Sync,
) -> Option<Vec<f64>> {
    let mut bounds: Vec<(f64, u32)> =
        terms.par_iter().enumerate().with_min_len(CHUNK).map(|(at, &term)| (bound(term), at as u32)).collect();
    let mut values = vec![f64::NEG_INFINITY; terms.len()];
    let mut largest = f64::NEG_INFINITY;
    let mut open = bounds.as_mut_slice();
    let mut block = BLOCK;
    while !open.is_empty() {
        if clock.is_over() {
            return None;
        }
        if block < open.len() {
            open.select_nth_unstable_by(block - 1, |a, b| b.0.total_cmp(&a.0));
        }
        let (head, tail) = open.split_at_mut(block.min(open.len()));
        let found: Vec<f64> =
            head.par_iter().with_min_len(least_share).map(|&(_, at)| value(terms[at as usize])).collect();
        for (&(_, at), v) in head.iter().zip(found) {
            values[at as usize] = v;
            largest = largest.max(v);
        }
        let left = partition(tail, |&(bound, _)| !is_better(largest, bound));
        open = &mut tail[..left];
        block *= 2;
    }
    Some(values)
}

/// Brings the items to keep to the front and says how many they are.
fn partition<T>(items: &mut [T], keep: impl Fn(&T) -> bool) -> usize {
    let mut kept = 0;
    for at in 0..items.len() {
        if keep(&items[at]) {
            items.swap(kept, at);
            kept += 1;
        }
    }
    kept
}
