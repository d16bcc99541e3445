//! Sums in twice the working precision, so that running sums do not drift.
//!
//! A search adds and removes terms millions of times. In plain floating point each step leaves a rounding error behind,
//! and the value of a subset would depend on the way the search came to it. Here each sum is an unevaluated pair
//! `high + low` whose error is near 2⁻¹⁰⁴ of the largest value it ever held: after any number of steps that a search
//! can take, the sum is that of the subset, to the last bit of `high` but for the rarest rounding case.

/// Many sums side by side, as two columns for the sake of vector instructions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sums {
    high: Vec<f64>,
    low: Vec<f64>,
}

impl Sums {
    /// All zero.
    pub(super) fn zeros(len: usize) -> Self {
        Self { high: vec![0.0; len], low: vec![0.0; len] }
    }

    /// Back to zero.
    pub(super) fn clear(&mut self) {
        self.high.fill(0.0);
        self.low.fill(0.0);
    }

    /// Adds a number to each of the sums from `start` on.
    pub(super) fn add(&mut self, start: usize, numbers: impl ExactSizeIterator<Item = f64>) {
        let range = start..start + numbers.len();
        for ((high, low), x) in self.high[range.clone()].iter_mut().zip(&mut self.low[range]).zip(numbers) {
            // Knuth's two-sum finds the rounding error of high + x; the second step renormalises.
            let sum = *high + x;
            let part = sum - *high;
            let error = ((*high - (sum - part)) + (x - part)) + *low;
            *high = sum + error;
            *low = error - (*high - sum);
        }
    }

    /// The sums, rounded.
    pub(super) fn rounded(&self) -> &[f64] {
        &self.high
    }

    /// Sum `at` plus `x`, rounded once: no bit is lost when they nearly cancel.
    pub(super) fn plus(&self, at: usize, x: f64) -> f64 {
        (self.high[at] + x) + self.low[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_without_a_trace() {
        let numbers: Vec<f64> = (1..2000).map(|i| f64::from(i).sqrt() * 10f64.powi(i % 12 - 6)).collect();
        let mut sums = Sums::zeros(1);
        sums.add(0, [0.1].into_iter());
        for &x in &numbers {
            sums.add(0, [x].into_iter());
        }
        for &x in numbers.iter().rev().step_by(2).chain(numbers.iter().rev().skip(1).step_by(2)) {
            sums.add(0, [-x].into_iter());
        }
        assert_eq!(sums.rounded(), [0.1]);
        let plain = numbers.iter().fold(0.1, |s, x| s + x);
        let plain = numbers.iter().rev().fold(plain, |s, x| s - x);
        assert_ne!(plain, 0.1, "plain sums must drift here, or this test shows nothing");
    }

    #[test]
    fn near_cancellation_keeps_the_small_part() {
        let mut sums = Sums::zeros(1);
        sums.add(0, [1.0].into_iter());
        sums.add(0, [1e-20].into_iter());
        assert_eq!(sums.plus(0, -1.0), 1e-20);
    }
}
