//! Is the difference real? Paired tests of two methods over splits or documents, and correction for many of them.
//!
//! Pairs are `(a[i], b[i])`; a test is about `a − b`. Callers turn losses around before they ask.

mod resampled;
mod wilcoxon;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use statrs::function::beta::beta_reg;

pub use resampled::{PairedBootstrap, Randomisation, paired_bootstrap, randomisation};
pub use wilcoxon::{Wilcoxon, WilcoxonMethod, wilcoxon};

use crate::{Error, Result};

/// The random stream number `index` of a seed: independent of all others, so threads may take them in any order.
pub(crate) fn stream(seed: u64, index: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(index);
    rng
}

/// The quantile of ascending numbers, linear between neighbours (numpy's default); 0 for none.
pub(crate) fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let at = q.clamp(0.0, 1.0) * last as f64;
    let below = at.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (at - below as f64)
}

/// Differences `a − b`; both must be as long as each other and without NaN.
fn differences(a: &[f64], b: &[f64]) -> Result<Vec<f64>> {
    if a.len() != b.len() {
        return Err(Error::data(format!(
            "a paired test needs as many values on both sides, found {} and {}",
            a.len(),
            b.len()
        )));
    }
    let d: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    if d.iter().any(|d| !d.is_finite()) {
        return Err(Error::data("a paired test needs finite values"));
    }
    Ok(d)
}

/// The sign test (method 8): how likely so many wins are when either side wins with probability ½. Ties are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SignTest {
    /// `a > b`.
    pub wins: u64,
    /// `a < b`.
    pub losses: u64,
    /// `a = b`: dropped.
    pub ties: u64,
    /// One-sided: probability of at least that many wins.
    pub p_one_sided: f64,
    /// Two-sided: twice the smaller tail, at most 1.
    pub p_two_sided: f64,
}

/// Sign test from the numbers of wins and losses. 15 wins of 20 give 0.0207 one-sided (olsson 6.3).
pub fn sign_test(wins: u64, losses: u64) -> SignTest {
    let upper = at_least(wins, wins + losses);
    let lower = at_least(losses, wins + losses);
    SignTest { wins, losses, ties: 0, p_one_sided: upper, p_two_sided: (2.0 * upper.min(lower)).min(1.0) }
}

/// Sign test of paired values.
pub fn sign_test_of(a: &[f64], b: &[f64]) -> Result<SignTest> {
    let d = differences(a, b)?;
    let wins = d.iter().filter(|d| **d > 0.0).count() as u64;
    let losses = d.iter().filter(|d| **d < 0.0).count() as u64;
    Ok(SignTest { ties: d.len() as u64 - wins - losses, ..sign_test(wins, losses) })
}

/// `P(X ≥ k)`, X binomial with n trials and ½.
fn at_least(k: u64, n: u64) -> f64 {
    binomial_at_least(k, n, 0.5)
}

/// `P(X ≥ k)`, X binomial with n trials and probability p: the regularised incomplete beta function `I_p(k, n−k+1)`.
pub fn binomial_at_least(k: u64, n: u64, p: f64) -> f64 {
    match k {
        0 => 1.0,
        k if k > n => 0.0,
        k => beta_reg(k as f64, (n - k + 1) as f64, p.clamp(0.0, 1.0)).clamp(0.0, 1.0),
    }
}

/// The interval of a share, k of n, that covers the true one at least so often, whatever it is (Clopper & Pearson 1934).
pub fn clopper_pearson(k: u64, n: u64, level: f64) -> (f64, f64) {
    let tail = (1.0 - level) / 2.0;
    // The tail rises with p, so halving finds where it meets the bound, to the last bit.
    let meets = |reaches: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..64 {
            let middle = f64::midpoint(low, high);
            *(if reaches(middle) { &mut high } else { &mut low }) = middle;
        }
        f64::midpoint(low, high)
    };
    let low = if k == 0 { 0.0 } else { meets(&|p| binomial_at_least(k, n, p) >= tail) };
    let high = if k >= n { 1.0 } else { meets(&|p| binomial_at_least(k + 1, n, p) >= 1.0 - tail) };
    (low, high)
}

/// Holm's step-down correction (Holm 1979): adjusted p-values, in the order given. Reject those not above the level.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&i, &j| p[i].total_cmp(&p[j]));
    let mut adjusted = vec![0.0; p.len()];
    let mut largest: f64 = 0.0;
    for (rank, &i) in order.iter().enumerate() {
        largest = largest.max(p[i] * (p.len() - rank) as f64).min(1.0);
        adjusted[i] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_test_of_the_paper() {
        let test = sign_test(15, 5);
        assert!((test.p_one_sided - 0.020_694_732_666_015_625).abs() < 1e-12, "{}", test.p_one_sided);
        assert!((test.p_two_sided - 2.0 * test.p_one_sided).abs() < 1e-15);
        assert_eq!(sign_test(0, 0).p_two_sided, 1.0);
        assert!((sign_test(0, 4).p_one_sided - 1.0).abs() < 1e-12);
        assert!((sign_test(4, 0).p_one_sided - 1.0 / 16.0).abs() < 1e-12);
    }

    /// SciPy 1.17: `binomtest(k, n).proportion_ci(level, method="exact")`.
    #[test]
    fn clopper_pearson_as_in_scipy() {
        let cases: [(u64, u64, f64, f64, f64); 7] = [
            (0, 10, 0.95, 0.0, 0.308_497_107_818_762_94),
            (10, 10, 0.95, 0.691_502_892_181_237_1, 1.0),
            (3, 10, 0.95, 0.066_739_511_177_734_47, 0.652_452_850_060_008),
            (95, 100, 0.9, 0.897_746_622_356_725_5, 0.980_094_436_338_235_7),
            (1, 1, 0.8, 0.099_999_999_999_999_98, 1.0),
            (49_990, 50_000, 0.99, 0.999_572_092_226_100_8, 0.999_925_657_629_675_4),
            (1, 100_000, 0.95, 2.531_784_274_393_282_6e-07, 5.571_516_034_432_556e-05),
        ];
        for (k, n, level, low, high) in cases {
            let found = clopper_pearson(k, n, level);
            assert!((found.0 - low).abs() < 1e-9 && (found.1 - high).abs() < 1e-9, "{k} of {n}: {found:?}");
        }
    }

    #[test]
    fn ties_are_dropped() {
        let test = sign_test_of(&[1.0, 2.0, 3.0, 4.0], &[1.0, 1.0, 5.0, 3.0]).unwrap();
        assert_eq!((test.wins, test.losses, test.ties), (2, 1, 1));
        assert!((test.p_one_sided - 0.5).abs() < 1e-12);
        assert!(sign_test_of(&[1.0], &[]).is_err());
        assert!(sign_test_of(&[f64::NAN], &[1.0]).is_err());
    }

    /// The example of R's `p.adjust(c(0.01, 0.02, 0.03, 0.04), "holm")`.
    #[test]
    fn holm_by_hand() {
        let adjusted = holm(&[0.03, 0.01, 0.04, 0.02]);
        for (got, expected) in adjusted.iter().zip([0.06, 0.04, 0.06, 0.06]) {
            assert!((got - expected).abs() < 1e-15);
        }
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn quantiles_as_in_numpy() {
        let v = [1.0, 2.0, 4.0, 8.0];
        assert_eq!(quantile(&v, 0.5), 3.0);
        assert_eq!(quantile(&v, 0.0), 1.0);
        assert_eq!(quantile(&v, 1.0), 8.0);
        assert!((quantile(&v, 0.1) - 1.3).abs() < 1e-12);
    }
}
