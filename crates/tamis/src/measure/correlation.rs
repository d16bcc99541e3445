//! Do two measures say the same? Squared correlation, and how often they disagree about which of two methods is better
//! (olsson section 2).

use serde::{Deserialize, Serialize};

/// Pearson's r² of two series; 0 when either does not vary.
///
/// # Panics
/// When the series differ in length.
pub fn r_squared(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len(), "both series must have the same length");
    let n = x.len() as f64;
    let (mx, my) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (a, b) in x.iter().zip(y) {
        xx += (a - mx) * (a - mx);
        yy += (b - my) * (b - my);
        xy += (a - mx) * (b - my);
    }
    if xx > 0.0 && yy > 0.0 { (xy * xy / (xx * yy)).min(1.0) } else { 0.0 }
}

/// r² of every pair of series, one row a series.
pub fn r_squared_matrix(series: &[Vec<f64>]) -> Vec<Vec<f64>> {
    series.iter().map(|x| series.iter().map(|y| r_squared(x, y)).collect()).collect()
}

/// How often two measures contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reversals {
    /// Trials in which one measure prefers one method and the other measure the other method.
    pub reversed: u64,
    /// All trials.
    pub trials: u64,
}

impl Reversals {
    /// Share of trials that are reversed; 0 for none.
    pub fn share(&self) -> f64 {
        if self.trials == 0 { 0.0 } else { self.reversed as f64 / self.trials as f64 }
    }
}

/// Counts reversals from two measures' differences between the same two methods, trial by trial. A trial in which a
/// measure sees no difference is not a reversal.
///
/// # Panics
/// When the series differ in length.
pub fn reversals(differences_x: &[f64], differences_y: &[f64]) -> Reversals {
    assert_eq!(differences_x.len(), differences_y.len(), "both measures must have judged the same trials");
    let opposed =
        differences_x.iter().zip(differences_y).filter(|(x, y)| (**x > 0.0 && **y < 0.0) || (**x < 0.0 && **y > 0.0));
    Reversals { reversed: opposed.count() as u64, trials: differences_x.len() as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squared_correlation() {
        let x = [1.0, 2.0, 3.0, 4.0];
        assert!((r_squared(&x, &[2.0, 4.0, 6.0, 8.0]) - 1.0).abs() < 1e-15);
        assert!((r_squared(&x, &[8.0, 6.0, 4.0, 2.0]) - 1.0).abs() < 1e-15);
        // r = 0.6 by hand: deviations (−1.5 −0.5 0.5 1.5) and (−0.5 −1.5 1.5 0.5): 3/5.
        assert!((r_squared(&x, &[2.0, 1.0, 4.0, 3.0]) - 0.36).abs() < 1e-15);
        assert_eq!(r_squared(&x, &[5.0; 4]), 0.0);
        assert_eq!(r_squared_matrix(&[x.to_vec(), x.to_vec()]), [[1.0, 1.0], [1.0, 1.0]]);
    }

    #[test]
    fn a_tie_is_no_reversal() {
        let r = reversals(&[1.0, -1.0, 0.0, 2.0], &[1.0, 1.0, -1.0, 0.0]);
        assert_eq!((r.reversed, r.trials, r.share()), (1, 4, 0.25));
    }
}
