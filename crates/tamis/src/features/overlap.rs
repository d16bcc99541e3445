//! How much two selections agree, and how much one changes when the documents do.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::ranking::Ranking;
use super::selector::Selector;
use crate::counts::{Contingency, Counts};
use crate::{Error, Progress, Result};

/// Agreement of selections of one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Overlap {
    /// Number of features selected.
    pub size: usize,
    /// See [`jaccard`].
    pub jaccard: f64,
    /// See [`kuncheva`].
    pub kuncheva: f64,
}

/// `|A ∩ B| / |A ∪ B|` from the sizes of two sets and of what they share; 0 for two empty sets (method 1).
pub fn jaccard(first: usize, second: usize, shared: usize) -> f64 {
    let union = first + second - shared;
    if union == 0 { 0.0 } else { shared as f64 / union as f64 }
}

/// How far the agreement goes beyond chance: `(r − k₁k₂/n) / (min(k₁,k₂) − k₁k₂/n)` for sets of `k₁` and `k₂` out of
/// `n` features with `r` in common. Kuncheva 2007, "A stability index for feature selection", eq. 2, is the case
/// `k₁ = k₂`. 1: equal; 0: as chance has it; 0 also where nothing is to choose (`k = 0` or `k = n`).
pub fn kuncheva(first: usize, second: usize, shared: usize, features: usize) -> f64 {
    let by_chance = if features == 0 { 0.0 } else { first as f64 * second as f64 / features as f64 };
    let most = first.min(second) as f64 - by_chance;
    if most <= 0.0 { 0.0 } else { (shared as f64 - by_chance) / most }
}

/// Agreement of two sets of terms, each without repetition, out of `features`.
pub fn of_sets(first: &[u32], second: &[u32], features: usize) -> Overlap {
    let mut sorted = first.to_vec();
    sorted.sort_unstable();
    let shared = second.iter().filter(|term| sorted.binary_search(term).is_ok()).count();
    Overlap {
        size: first.len().max(second.len()),
        jaccard: jaccard(first.len(), second.len(), shared),
        kuncheva: kuncheva(first.len(), second.len(), shared, features),
    }
}

/// Agreement of two rankings at each size. Features to choose from are the terms that
/// either ranks. Work is linear in the rankings, however many sizes.
pub fn of_rankings(first: &Ranking, second: &Ranking, sizes: &[usize]) -> Vec<Overlap> {
    const ABSENT: usize = usize::MAX;
    let terms = first.terms().iter().chain(second.terms()).max().map_or(0, |&term| term as usize + 1);
    let mut place = vec![ABSENT; terms];
    for (at, &term) in first.terms().iter().enumerate() {
        place[term as usize] = at;
    }
    // entered[s]: terms whose later place of the two is s, so that they are shared from size s + 1 on.
    let mut entered = vec![0usize; first.len().max(second.len())];
    let mut in_both = 0;
    for (at, &term) in second.terms().iter().enumerate() {
        let other = place[term as usize];
        if other != ABSENT {
            entered[at.max(other)] += 1;
            in_both += 1;
        }
    }
    let features = first.len() + second.len() - in_both;
    let mut shared = vec![0usize; entered.len() + 1];
    for (size, new) in entered.iter().enumerate() {
        shared[size + 1] = shared[size] + new;
    }
    sizes
        .iter()
        .map(|&size| {
            let (k1, k2) = (size.min(first.len()), size.min(second.len()));
            let r = shared[size.min(entered.len())];
            Overlap { size, jaccard: jaccard(k1, k2, r), kuncheva: kuncheva(k1, k2, r, features) }
        })
        .collect()
}

/// Mean agreement over all pairs of rankings, at each size; 0 for fewer than two.
pub fn mean_of_pairs(rankings: &[Ranking], sizes: &[usize]) -> Vec<Overlap> {
    let pairs: Vec<(usize, usize)> = (1..rankings.len()).flat_map(|j| (0..j).map(move |i| (i, j))).collect();
    let overlaps: Vec<Vec<Overlap>> =
        pairs.par_iter().map(|&(i, j)| of_rankings(&rankings[i], &rankings[j], sizes)).collect();
    let mean = |f: fn(&Overlap) -> f64, at: usize| {
        if overlaps.is_empty() {
            0.0
        } else {
            overlaps.iter().map(|of_pair| f(&of_pair[at])).sum::<f64>() / overlaps.len() as f64
        }
    };
    sizes
        .iter()
        .enumerate()
        .map(|(at, &size)| Overlap { size, jaccard: mean(|o| o.jaccard, at), kuncheva: mean(|o| o.kuncheva, at) })
        .collect()
}

/// How the documents are resampled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResampleOptions {
    /// How many times.
    pub resamples: usize,
    /// The part of the documents drawn each time, without repetition.
    pub fraction: f64,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for ResampleOptions {
    fn default() -> Self {
        Self { resamples: 10, fraction: 0.8, seed: 1 }
    }
}

/// Ranks on resamples of the documents; [`mean_of_pairs`] of the result is the stability of the selection.
pub fn resample(
    selector: &Selector,
    counts: &Counts,
    rows: &[usize],
    options: &ResampleOptions,
    progress: &dyn Progress,
) -> Result<Vec<Ranking>> {
    if options.resamples < 2 {
        return Err(Error::invalid("resamples", options.resamples, "two or more are needed to compare"));
    }
    if !(options.fraction > 0.0 && options.fraction <= 1.0) {
        return Err(Error::invalid("fraction", options.fraction, "must lie above 0 and not above 1"));
    }
    let drawn = ((rows.len() as f64 * options.fraction).round() as usize).clamp(1.min(rows.len()), rows.len());
    let mut random = ChaCha8Rng::seed_from_u64(options.seed);
    let mut shuffled = rows.to_vec();
    progress.start("resampling", Some(options.resamples as u64));
    let mut rankings = Vec::with_capacity(options.resamples);
    for _ in 0..options.resamples {
        if progress.cancelled() {
            return Err(Error::Interrupted);
        }
        let (sample, _) = shuffled.partial_shuffle(&mut random, drawn);
        let mut sample = sample.to_vec();
        sample.sort_unstable();
        rankings.push(selector.rank(&Contingency::of_rows(counts, &sample))?);
        progress.add(1);
    }
    progress.finish();
    Ok(rankings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Kuncheva 2007, eq. 2, `(rn − k²) / (k(n − k))`: n = 10, k = 5, r = 4 gives (40 − 25) / 25 = 0.6.
    #[test]
    fn kuncheva_by_hand() {
        assert_eq!(kuncheva(5, 5, 5, 10), 1.0);
        assert!((kuncheva(5, 5, 4, 10) - 0.6).abs() < 1e-15);
        assert!((kuncheva(5, 5, 0, 10) + 1.0).abs() < 1e-15);
        assert_eq!(kuncheva(10, 10, 10, 10), 0.0);
        assert_eq!(kuncheva(0, 0, 0, 0), 0.0);
        assert_eq!(jaccard(3, 3, 2), 0.5);
        assert_eq!(jaccard(0, 0, 0), 0.0);
    }

    fn ranking(order: &[u32]) -> Ranking {
        Ranking::from_sorted(
            order.iter().rev().enumerate().map(|(s, &t)| (t, s as f64)).rev().collect::<Vec<_>>().into_iter(),
        )
    }

    proptest! {
        #[test]
        fn one_pass_equals_comparing_sets(
            first in Just((0u32..12).collect::<Vec<_>>()).prop_shuffle(),
            second in Just((0u32..12).collect::<Vec<_>>()).prop_shuffle(),
            left in 0usize..12, right in 0usize..12,
        ) {
            let (a, b) = (ranking(&first[..left]), ranking(&second[..right]));
            let features = (0u32..12).filter(|t| first[..left].contains(t) || second[..right].contains(t)).count();
            let sizes: Vec<usize> = (0..15).collect();
            for overlap in of_rankings(&a, &b, &sizes) {
                let sets = of_sets(a.top(overlap.size), b.top(overlap.size), features);
                prop_assert_eq!((overlap.jaccard, overlap.kuncheva), (sets.jaccard, sets.kuncheva));
            }
        }
    }
}
