//! Wilcoxon's signed-rank test.

use serde::{Deserialize, Serialize};
use statrs::function::erf::erfc;

use super::differences;
use crate::Result;

/// How the p-values were computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WilcoxonMethod {
    /// The distribution of the rank sum, counted out.
    Exact,
    /// The normal approximation with corrections for ties and continuity.
    Normal,
}

/// The result of [`wilcoxon`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Wilcoxon {
    /// Sum of the ranks of positive differences.
    pub rank_sum_plus: f64,
    /// Sum of the ranks of negative differences.
    pub rank_sum_minus: f64,
    /// Differences that are not zero; zeros are dropped (Wilcoxon's own way).
    pub pairs: usize,
    /// Exact or normal.
    pub method: WilcoxonMethod,
    /// One-sided: `a` is larger.
    pub p_one_sided: f64,
    /// Two-sided.
    pub p_two_sided: f64,
}

/// Up to this many pairs, and without ties, the distribution is counted out. Counts stay below 2⁵⁰, exact in `f64`.
const EXACT_UP_TO: usize = 50;

/// Wilcoxon signed-rank test of paired values (Wilcoxon 1945).
///
/// Zero differences are dropped; equal absolute differences share their mean rank. Exact for at most 50 pairs without
/// ties; otherwise the normal approximation, variance reduced for ties, ½ for continuity. No pair left gives p = 1.
pub fn wilcoxon(a: &[f64], b: &[f64]) -> Result<Wilcoxon> {
    let mut d = differences(a, b)?;
    d.retain(|d| *d != 0.0);
    d.sort_unstable_by(|x, y| x.abs().total_cmp(&y.abs()));
    let n = d.len();
    let (mut plus, mut minus, mut tie_term) = (0.0, 0.0, 0.0);
    let mut begin = 0;
    while begin < n {
        let size = d[begin..].iter().take_while(|x| x.abs() == d[begin].abs()).count();
        // The mean of the ranks begin + 1 … begin + size.
        let rank = begin as f64 + f64::midpoint(1.0, size as f64);
        for x in &d[begin..begin + size] {
            *(if *x > 0.0 { &mut plus } else { &mut minus }) += rank;
        }
        let t = size as f64;
        tie_term += t * t * t - t;
        begin += size;
    }
    let (method, p_one_sided, p_two_sided) = if n <= EXACT_UP_TO && tie_term == 0.0 {
        let upper = exact_upper_tail(n, plus as usize);
        let lower = exact_upper_tail(n, minus as usize);
        (WilcoxonMethod::Exact, upper, (2.0 * upper.min(lower)).min(1.0))
    } else {
        let n = n as f64;
        let mean = n * (n + 1.0) / 4.0;
        let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - tie_term / 48.0).sqrt();
        let upper = normal_upper_tail((plus - mean - 0.5) / deviation);
        let both = 2.0 * normal_upper_tail(((plus - mean).abs() - 0.5).max(0.0) / deviation);
        (WilcoxonMethod::Normal, upper, both.min(1.0))
    };
    Ok(Wilcoxon { rank_sum_plus: plus, rank_sum_minus: minus, pairs: n, method, p_one_sided, p_two_sided })
}

/// `P(W ≥ w)` over the 2ⁿ ways to give signs to the ranks 1 … n.
fn exact_upper_tail(n: usize, w: usize) -> f64 {
    let most = n * (n + 1) / 2;
    let mut ways = vec![0.0f64; most + 1];
    ways[0] = 1.0;
    for rank in 1..=n {
        for sum in (rank..=most).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    ways[w..].iter().sum::<f64>() / ways.iter().sum::<f64>()
}

fn normal_upper_tail(z: f64) -> f64 {
    0.5 * erfc(z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five positive differences without ties: only one of 32 sign patterns is as extreme.
    #[test]
    fn all_wins() {
        let test = wilcoxon(&[1.0, 2.0, 3.0, 4.0, 5.0], &[0.0; 5]).unwrap();
        assert_eq!(test.method, WilcoxonMethod::Exact);
        assert_eq!((test.rank_sum_plus, test.rank_sum_minus), (15.0, 0.0));
        assert_eq!(test.p_one_sided, 1.0 / 32.0);
        assert_eq!(test.p_two_sided, 1.0 / 16.0);
    }

    #[test]
    fn nothing_to_test() {
        let test = wilcoxon(&[1.0, 2.0], &[1.0, 2.0]).unwrap();
        assert_eq!((test.pairs, test.p_one_sided, test.p_two_sided), (0, 1.0, 1.0));
    }
}
