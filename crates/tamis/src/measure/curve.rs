//! Quality against number of features: peak, area, robustness, wins by size. Larger is better throughout; callers
//! turn losses around.

use serde::{Deserialize, Serialize};

use super::significance::{SignTest, sign_test_of};
use crate::{Error, Result};

/// A method's quality at several sizes, over the same splits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SizeCurve {
    sizes: Vec<u64>,
    /// By size, then split.
    values: Vec<Vec<f64>>,
}

/// The scale of the sizes under an area.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Doubling the size is one step. The default: studies take sizes in roughly equal ratios (50 … 10,000), and on a
    /// linear scale the last interval alone would decide.
    #[default]
    Log,
    /// One more feature is one step.
    Linear,
}

/// The best mean over splits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// The size; the smallest one when several are equal.
    pub size: u64,
    /// The mean there.
    pub mean: f64,
    /// The standard error of that mean; 0 for a single split.
    pub standard_error: f64,
}

/// How wide the top of the curve is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Robustness {
    /// Smallest size of the run around the peak whose means are within one standard error of it.
    pub from: u64,
    /// Largest size of that run.
    pub to: u64,
    /// How many of the sizes are in the run.
    pub sizes: usize,
    /// `log₂(to / from)`.
    pub octaves: f64,
}

impl SizeCurve {
    /// `values[i]` are the splits' values at `sizes[i]`. Sizes ascend from 1 on; every size has the same splits.
    pub fn new(sizes: Vec<u64>, values: Vec<Vec<f64>>) -> Result<Self> {
        if sizes.is_empty() || sizes.len() != values.len() {
            let found = format!("{} sizes, {} rows of values", sizes.len(), values.len());
            return Err(Error::invalid(
                "sizes",
                found,
                "there must be one row of values for each of at least one size",
            ));
        }
        if sizes[0] == 0 || !sizes.is_sorted_by(|a, b| a < b) {
            return Err(Error::invalid("sizes", format!("{sizes:?}"), "must ascend, from 1 on"));
        }
        let splits = values[0].len();
        if splits == 0 || values.iter().any(|v| v.len() != splits) {
            return Err(Error::data("every size of a curve needs the same splits, at least one"));
        }
        if values.iter().flatten().any(|v| !v.is_finite()) {
            return Err(Error::data("a curve needs finite values"));
        }
        Ok(Self { sizes, values })
    }

    /// The sizes.
    pub fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// The splits' values, by size.
    pub fn values(&self) -> &[Vec<f64>] {
        &self.values
    }

    /// Mean over splits and its standard error, by size.
    pub fn means(&self) -> Vec<(f64, f64)> {
        self.values.iter().map(|v| mean_and_error(v)).collect()
    }

    /// The best mean; the smallest size when several are equal.
    pub fn peak(&self) -> Peak {
        let means = self.means();
        let best = first_best(&means);
        Peak { size: self.sizes[best], mean: means[best].0, standard_error: means[best].1 }
    }

    /// Area under the means by the trapezoid rule, divided by the width: the mean height of the curve. With one size
    /// it is the mean there.
    pub fn area(&self, scale: Scale) -> f64 {
        let x = |size: u64| match scale {
            Scale::Log => (size as f64).ln(),
            Scale::Linear => size as f64,
        };
        let means = self.means();
        let mut area = 0.0;
        for i in 1..self.sizes.len() {
            area += (x(self.sizes[i]) - x(self.sizes[i - 1])) * (means[i].0 + means[i - 1].0) / 2.0;
        }
        let width = x(self.sizes[self.sizes.len() - 1]) - x(self.sizes[0]);
        if width > 0.0 { area / width } else { means[0].0 }
    }

    /// The unbroken run of sizes around the peak within one standard error of it.
    pub fn robustness(&self) -> Robustness {
        let means = self.means();
        let best = first_best(&means);
        let bound = means[best].0 - means[best].1;
        let first = (0..best).rev().take_while(|&i| means[i].0 >= bound).last().unwrap_or(best);
        let last = (best + 1..means.len()).take_while(|&i| means[i].0 >= bound).last().unwrap_or(best);
        let (from, to) = (self.sizes[first], self.sizes[last]);
        Robustness { from, to, sizes: last - first + 1, octaves: (to as f64 / from as f64).log2() }
    }
}

fn first_best(means: &[(f64, f64)]) -> usize {
    (1..means.len()).fold(0, |best, i| if means[i].0 > means[best].0 { i } else { best })
}

/// For each size, on how many splits `a` beats `b`, with the sign test. Both must have the same sizes and splits.
pub fn wins_by_size(a: &SizeCurve, b: &SizeCurve) -> Result<Vec<(u64, SignTest)>> {
    if a.sizes != b.sizes {
        return Err(Error::data("curves with different sizes cannot be compared size by size"));
    }
    let tests = a.values.iter().zip(&b.values).map(|(a, b)| sign_test_of(a, b));
    a.sizes.iter().zip(tests).map(|(&size, test)| Ok((size, test?))).collect()
}

/// Mean, and sample standard deviation divided by √n (0 for one value).
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.len() < 2 {
        return (mean, 0.0);
    }
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve() -> SizeCurve {
        let values = vec![vec![0.50, 0.52], vec![0.60, 0.64], vec![0.61, 0.67], vec![0.62, 0.60], vec![0.3, 0.3]];
        SizeCurve::new(vec![50, 100, 200, 400, 800], values).unwrap()
    }

    #[test]
    fn peak_and_robustness() {
        let curve = curve();
        let peak = curve.peak();
        assert_eq!(peak.size, 200);
        assert!((peak.mean - 0.64).abs() < 1e-12 && (peak.standard_error - 0.03).abs() < 1e-12);
        let top = curve.robustness();
        assert_eq!((top.from, top.to, top.sizes), (100, 400, 3));
        assert_eq!(top.octaves, 2.0);
    }

    #[test]
    fn areas() {
        let curve = curve();
        // Equal steps on the log scale: (½·0.51 + 0.62 + 0.64 + 0.61 + ½·0.3) / 4.
        assert!((curve.area(Scale::Log) - (0.255 + 0.62 + 0.64 + 0.61 + 0.15) / 4.0).abs() < 1e-12);
        let linear = (50.0 * 0.565 + 100.0 * 0.63 + 200.0 * 0.625 + 400.0 * 0.455) / 750.0;
        assert!((curve.area(Scale::Linear) - linear).abs() < 1e-12);
        assert_eq!(SizeCurve::new(vec![7], vec![vec![0.25]]).unwrap().area(Scale::Log), 0.25);
    }

    #[test]
    fn wins() {
        let other = SizeCurve::new(vec![50, 100, 200, 400, 800], vec![vec![0.51, 0.51]; 5]).unwrap();
        let wins = wins_by_size(&curve(), &other).unwrap();
        let counts: Vec<_> = wins.iter().map(|(size, t)| (*size, t.wins, t.losses)).collect();
        assert_eq!(counts, [(50, 1, 1), (100, 2, 0), (200, 2, 0), (400, 2, 0), (800, 0, 2)]);
    }

    #[test]
    fn bad_curves() {
        assert!(SizeCurve::new(vec![], vec![]).is_err());
        assert!(SizeCurve::new(vec![0], vec![vec![1.0]]).is_err());
        assert!(SizeCurve::new(vec![2, 2], vec![vec![1.0], vec![1.0]]).is_err());
        assert!(SizeCurve::new(vec![1, 2], vec![vec![1.0], vec![1.0, 2.0]]).is_err());
        assert!(SizeCurve::new(vec![1], vec![vec![f64::NAN]]).is_err());
    }
}
