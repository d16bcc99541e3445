//! Paired bootstrap and randomisation of mean differences.

use rand::{Rng, RngExt};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{differences, stream};
use crate::Result;
use crate::measure::Resampling;
use crate::measure::intervals::share_as_large;

/// The result of [`paired_bootstrap`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PairedBootstrap {
    /// Mean of `a − b`.
    pub difference: f64,
    /// Lower end of the percentile interval of the mean difference.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Standard deviation of the mean difference over the replicates.
    pub standard_error: f64,
    /// Two-sided: how often the replicates, shifted to mean 0, are as far from 0 as the difference seen.
    pub p_two_sided: f64,
}

/// Paired bootstrap of the mean difference (Efron & Tibshirani 1993): pairs are drawn with replacement.
/// No pair gives a difference of 0 with p = 1.
pub fn paired_bootstrap(a: &[f64], b: &[f64], resampling: &Resampling) -> Result<PairedBootstrap> {
    resampling.check()?;
    let d = differences(a, b)?;
    if d.is_empty() {
        return Ok(PairedBootstrap { difference: 0.0, low: 0.0, high: 0.0, standard_error: 0.0, p_two_sided: 1.0 });
    }
    let difference = mean(&d);
    let mut replicates: Vec<f64> = (0..u64::from(resampling.replicates))
        .into_par_iter()
        .map(|replicate| {
            let mut rng = stream(resampling.seed, replicate);
            let sum: f64 = (0..d.len()).map(|_| d[rng.random_range(0..d.len() as u32) as usize]).sum();
            sum / d.len() as f64
        })
        .collect();
    let (low, high, standard_error) = resampling.interval(&mut replicates);
    let p_two_sided = share_as_large(replicates.iter().map(|r| r - difference), difference);
    Ok(PairedBootstrap { difference, low, high, standard_error, p_two_sided })
}

/// The result of [`randomisation`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Randomisation {
    /// Mean of `a − b`.
    pub difference: f64,
    /// Whether all 2ⁿ ways were tried; otherwise `replicates` random ones.
    pub exact: bool,
    /// One-sided: share of ways in which the mean difference is at least the one seen.
    pub p_one_sided: f64,
    /// Two-sided: share of ways in which it is as far from 0.
    pub p_two_sided: f64,
}

/// Up to this many pairs all ways are tried: 65,536 cost less than the usual number of random ones.
const EXACT_UP_TO: usize = 16;

/// Fisher's randomisation test of the mean difference: each pair may change sides. All ways for at most 16 pairs that
/// differ, otherwise random ones with `(1 + hits)/(1 + replicates)`, so p is never 0.
pub fn randomisation(a: &[f64], b: &[f64], resampling: &Resampling) -> Result<Randomisation> {
    resampling.check()?;
    let all = differences(a, b)?;
    Ok(randomise(&all, resampling, EXACT_UP_TO))
}

fn randomise(all: &[f64], resampling: &Resampling, exact_up_to: usize) -> Randomisation {
    // Pairs without a difference change nothing by changing sides.
    let d: Vec<f64> = all.iter().copied().filter(|d| *d != 0.0).collect();
    let seen: f64 = d.iter().sum();
    let difference = if all.is_empty() { 0.0 } else { seen / all.len() as f64 };
    // Sums that are equal on paper may differ in their last bits.
    let slack = 1e-12 * d.iter().map(|d| d.abs()).sum::<f64>();
    let judge = |sum: f64| (u64::from(sum >= seen - slack), u64::from(sum.abs() >= seen.abs() - slack));
    let exact = d.len() <= exact_up_to;
    let (ways, extra) = if exact { (1u64 << d.len(), 0) } else { (u64::from(resampling.replicates), 1) };
    let hits: Vec<(u64, u64)> = (0..ways)
        .into_par_iter()
        .map(|way| {
            let mut rng = stream(resampling.seed, way);
            let mut signs = way;
            let mut sum = 0.0;
            for (i, d) in d.iter().enumerate() {
                if !exact && i % 64 == 0 {
                    signs = rng.next_u64();
                }
                sum += if signs >> (i % 64) & 1 == 1 { -d } else { *d };
            }
            judge(sum)
        })
        .collect();
    let (one, two) = hits.iter().fold((extra, extra), |(one, two), hit| (one + hit.0, two + hit.1));
    let all_ways = (ways + extra) as f64;
    Randomisation { difference, exact, p_one_sided: one as f64 / all_ways, p_two_sided: two as f64 / all_ways }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn randomisation_counts_ways() {
        // Differences 1, 2, 3: of 8 sign patterns only +++ reaches 6, only +++ and −−− reach |6|.
        let test = randomisation(&[1.0, 2.0, 3.0], &[0.0; 3], &Resampling::default()).unwrap();
        assert!(test.exact);
        assert_eq!((test.difference, test.p_one_sided, test.p_two_sided), (2.0, 0.125, 0.25));
        let none = randomisation(&[1.0], &[1.0], &Resampling::default()).unwrap();
        assert_eq!((none.p_one_sided, none.p_two_sided), (1.0, 1.0));
    }

    #[test]
    fn random_ways_come_near_all_ways() {
        let d: Vec<f64> = (0..16).map(|i| f64::from(i * 7 % 11) + 1.0 - f64::from(i * 5 % 13)).collect();
        let resampling = Resampling { replicates: 20_000, ..Resampling::default() };
        let (exact, random) = (randomise(&d, &resampling, 16), randomise(&d, &resampling, 0));
        assert!(exact.exact && !random.exact);
        assert!(exact.p_two_sided > 0.05, "the case must not be trivial: {exact:?}");
        assert!((exact.p_two_sided - random.p_two_sided).abs() < 0.012, "{exact:?} {random:?}");
        assert!((exact.p_one_sided - random.p_one_sided).abs() < 0.012, "{exact:?} {random:?}");
    }

    #[test]
    fn bootstrap_agrees_with_theory() {
        let a: Vec<f64> = (0..200).map(|i| f64::from(i * 37 % 101) / 100.0).collect();
        let b = vec![0.45; 200];
        let test = paired_bootstrap(&a, &b, &Resampling { replicates: 4000, ..Resampling::default() }).unwrap();
        let m = mean(&a);
        let sd = (a.iter().map(|x| (x - m).powi(2)).sum::<f64>() / 200.0).sqrt();
        assert!((test.standard_error - sd / 200f64.sqrt()).abs() < 0.001);
        assert!((test.low - (test.difference - 1.96 * sd / 200f64.sqrt())).abs() < 0.003);
        assert!(test.low < test.difference && test.difference < test.high);
        let same = paired_bootstrap(&a, &b, &Resampling { replicates: 4000, ..Resampling::default() }).unwrap();
        assert_eq!(test, same);
    }
}
