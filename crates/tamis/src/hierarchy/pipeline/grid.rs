//! Thresholds `i·δ`, and the places of scores among them.

use super::utility::unit;
use super::{ScoreTable, Utility};
use crate::{Error, Result};

/// The thresholds `0, δ, 2δ, …` up to 1. Computed from the whole number, never by adding up, so that they do not drift.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    step: f64,
    last: u32,
}

impl Grid {
    pub(super) fn new(step: f64) -> Result<Self> {
        if !(step > 0.0 && step <= 1.0) {
            return Err(Error::invalid("step", step, "must be above 0 and at most 1"));
        }
        if step < 1e-7 {
            return Err(Error::invalid("step", step, "below 1e-7; for finer thresholds take exact or greedy-exact"));
        }
        // The quotient may round to either side of a whole number.
        let mut last = (1.0 / step).floor() as u32;
        while f64::from(last) * step > 1.0 {
            last -= 1;
        }
        while f64::from(last + 1) * step <= 1.0 {
            last += 1;
        }
        Ok(Self { step, last })
    }

    /// The number of the last threshold that is not above 1.
    pub(super) fn last(&self) -> u32 {
        self.last
    }

    pub(super) fn threshold(&self, i: u32) -> f64 {
        f64::from(i) * self.step
    }

    /// The number of the largest threshold that a score reaches.
    #[inline]
    fn place(&self, score: f64, per_step: f64) -> u32 {
        let mut i = ((score * per_step) as u32).min(self.last);
        if self.threshold(i) > score {
            i -= 1;
        } else if i < self.last && self.threshold(i + 1) <= score {
            i += 1;
        }
        debug_assert!(self.threshold(i) <= score && (i == self.last || self.threshold(i + 1) > score));
        i
    }

    /// For each level the places of all documents.
    pub(super) fn places(&self, table: &ScoreTable) -> Vec<Vec<u32>> {
        let per_step = 1.0 / self.step;
        (0..table.depth()).map(|k| table.level(k).iter().map(|&score| self.place(score, per_step)).collect()).collect()
    }
}

impl ScoreTable {
    /// The utility against one threshold `0, step, 2·step, …, 1` while the others stay: what a plot of a level shows.
    ///
    /// # Panics
    /// When there are not as many thresholds as levels, or no such level.
    pub fn curve(&self, utility: Utility, thresholds: &[f64], level: usize, step: f64) -> Result<Vec<(f64, f64)>> {
        let grid = Grid::new(step)?;
        let mut others = thresholds.to_vec();
        others[level] = 0.0;
        let mut along = vec![0; grid.last() as usize + 1];
        for (document, passes) in self.accepted(&others).into_iter().enumerate() {
            if passes {
                let place = grid.place(self.level(level)[document], 1.0 / step);
                along[place as usize] += unit(self.truth()[document]);
            }
        }
        let scorer = self.scorer(utility.check()?);
        let mut tally = 0;
        let mut curve: Vec<(f64, f64)> = (0..=grid.last())
            .rev()
            .map(|i| {
                tally += along[i as usize];
                (grid.threshold(i), scorer.value(tally))
            })
            .collect();
        curve.reverse();
        Ok(curve)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_at_one_and_refuses_nonsense() {
        for (step, last) in [(1.0, 1), (0.5, 2), (0.3, 3), (1.0 / 3.0, 3), (0.1, 10), (0.05, 20), (0.0005, 2000)] {
            assert_eq!(Grid::new(step).unwrap().last(), last, "{step}");
        }
        for step in [0.0, -0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(Grid::new(step).unwrap_err().to_string().contains("above 0 and at most 1"), "{step}");
        }
    }

    #[test]
    fn places_are_the_largest_threshold_reached() {
        for step in [1.0, 0.7, 0.3, 0.1, 0.05, 0.01, 0.0005, 1.0 / 3.0, 1.0 / 7.0] {
            let grid = Grid::new(step).unwrap();
            let scores = (0..=1000).map(|i| f64::from(i) / 1000.0).chain((0..=grid.last()).map(|i| grid.threshold(i)));
            for score in scores {
                let slow = (0..=grid.last()).rev().find(|&i| grid.threshold(i) <= score).unwrap();
                assert_eq!(grid.place(score, 1.0 / step), slow, "{score} by {step}");
            }
        }
    }
}
