//! RBF, the relaxed brute force of addis 3.1: every combination of grid thresholds, first best in lexicographic order.
//!
//! Instead of counting documents anew for each of `(1/δ)^L` combinations, documents are counted once into the cells
//! of an L-dimensional grid, and sums over "at least `i` at this level" along each level in turn give the accepted
//! documents of every combination at once. Thresholds between which no document lies are the same threshold.

use std::time::Instant;

use super::grid::Grid;
use super::utility::{Scorer, Units};
use super::{CalibrateStep, Found, Options, ScoreTable};
use crate::{Error, Progress, Result};

/// Cells held at once: 32 MB. Larger grids walk their upper levels one threshold at a time.
const CELLS: usize = 1 << 22;
/// Beyond this many cells after merging equal thresholds the search would run for hours.
const MOST_CELLS: f64 = 1e12;

pub(super) fn run(table: &ScoreTable, options: &Options, progress: &dyn Progress) -> Result<Found> {
    run_within(CELLS, table, options, progress)
}

fn run_within(most_held: usize, table: &ScoreTable, options: &Options, progress: &dyn Progress) -> Result<Found> {
    let step = options.step.unwrap_or(super::RBF_STEP);
    let grid = Grid::new(step)?;
    let begin = Instant::now();
    let levels: Vec<Level> = grid.places(table).into_iter().map(|places| Level::new(places, grid)).collect();
    let combinations: f64 = levels.iter().map(|l| l.thresholds.len() as f64).product();
    if combinations > MOST_CELLS {
        return Err(Error::invalid(
            "step",
            step,
            format!("gives {combinations:.1e} combinations of thresholds; take a larger step, or tsa or exact"),
        ));
    }
    let (mut dense, mut cells) = (levels.len(), 1);
    while dense > 0 && cells * levels[dense - 1].thresholds.len() <= most_held {
        dense -= 1;
        cells *= levels[dense].thresholds.len();
    }
    let mut search = Search {
        scorer: table.scorer(options.utility),
        units: table.units(),
        outer: dense,
        cells: vec![0; cells],
        prefix: Vec::new(),
        best: vec![0; levels.len()],
        best_value: -1.0,
        levels: &levels,
        progress,
    };
    let all: Vec<u32> = (0..table.documents() as u32).collect();
    search.walk(&all)?;
    let thresholds = search.best.iter().zip(&levels).map(|(&c, l)| grid.threshold(l.thresholds[c])).collect();
    let evaluations = (u64::from(grid.last()) + 1).saturating_pow(levels.len() as u32);
    let steps = vec![CalibrateStep { level: 1, seconds: begin.elapsed().as_secs_f64(), evaluations }];
    Ok(Found { thresholds, steps, ..Found::default() })
}

/// One level, with thresholds merged that no document tells apart.
struct Level {
    /// The least grid threshold of each merged one; ascending, the first is 0.
    thresholds: Vec<u32>,
    /// For each document the last merged threshold it passes.
    places: Vec<u32>,
}

impl Level {
    fn new(mut places: Vec<u32>, grid: Grid) -> Self {
        // Threshold i differs from i − 1 exactly when a document has place i − 1.
        let mut merged = vec![0u32; grid.last() as usize + 2];
        for &place in &places {
            merged[place as usize + 1] = 1;
        }
        let mut thresholds = vec![0];
        for (i, m) in merged.iter_mut().enumerate().skip(1) {
            if *m == 1 && i <= grid.last() as usize {
                thresholds.push(i as u32);
            }
            *m = thresholds.len() as u32 - 1;
        }
        for place in &mut places {
            *place = merged[*place as usize];
        }
        Self { thresholds, places }
    }
}

struct Search<'a> {
    scorer: Scorer,
    units: Vec<Units>,
    /// Levels before this one are walked; the others are summed at once.
    outer: usize,
    cells: Vec<Units>,
    /// The thresholds of the walked levels.
    prefix: Vec<usize>,
    best: Vec<usize>,
    best_value: f64,
    levels: &'a [Level],
    progress: &'a dyn Progress,
}

impl Search<'_> {
    fn walk(&mut self, documents: &[u32]) -> Result<()> {
        let level = self.prefix.len();
        if level == self.outer {
            if self.progress.cancelled() {
                return Err(Error::Interrupted);
            }
            self.sum_and_scan(documents);
            return Ok(());
        }
        let mut remaining = documents.to_vec();
        for threshold in 0..self.levels[level].thresholds.len() {
            let places = &self.levels[level].places;
            remaining.retain(|&d| places[d as usize] as usize >= threshold);
            self.prefix.push(threshold);
            self.walk(&remaining)?;
            self.prefix.pop();
        }
        Ok(())
    }

    fn sum_and_scan(&mut self, documents: &[u32]) {
        let dense = &self.levels[self.outer..];
        self.cells.fill(0);
        for &d in documents {
            let cell = dense.iter().fold(0, |cell, l| cell * l.thresholds.len() + l.places[d as usize] as usize);
            self.cells[cell] += self.units[d as usize];
        }
        // From the highest threshold of each level down; the last level is summed while it is scanned.
        let mut stride = self.cells.len();
        for level in &dense[..dense.len().saturating_sub(1)] {
            let block = stride;
            stride /= level.thresholds.len();
            for chunk in self.cells.chunks_exact_mut(block) {
                for row in (0..level.thresholds.len() - 1).rev() {
                    let (lower, upper) = chunk[row * stride..].split_at_mut(stride);
                    for (low, &high) in lower.iter_mut().zip(upper.iter()) {
                        *low += high;
                    }
                }
            }
        }
        // Backwards, an equal value replaces: the first in lexicographic order remains. A later walk must be better.
        let before = self.best_value;
        let mut best_cell = None;
        for (row, cells) in self.cells.chunks_exact(stride).enumerate().rev() {
            let mut tally = 0;
            for (at, &cell) in cells.iter().enumerate().rev() {
                tally += cell;
                if self.scorer.may_reach(tally, self.best_value) {
                    let value = self.scorer.value(tally);
                    if value > before && value >= self.best_value {
                        self.best_value = value;
                        best_cell = Some(row * stride + at);
                    }
                }
            }
        }
        if let Some(mut cell) = best_cell {
            for (at, level) in dense.iter().enumerate().rev() {
                self.best[self.outer + at] = cell % level.thresholds.len();
                cell /= level.thresholds.len();
            }
            self.best[..self.outer].copy_from_slice(&self.prefix);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;

    /// Walking upper levels one threshold at a time finds what summing all levels at once finds.
    #[test]
    fn the_memory_limit_does_not_change_the_result() {
        let mut x = 1u32;
        let mut random = || {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(x >> 8) / f64::from(1 << 24)
        };
        for round in 0..20 {
            let rows: Vec<(Vec<f64>, bool)> = (0..40)
                .map(|d| ((0..3).map(|_| (random() * 8.0).floor() / 8.0).collect(), d % 3 == round % 3))
                .collect();
            let table = ScoreTable::from_rows(&rows).unwrap();
            let options = Options { step: Some(0.1), ..Options::default() };
            let thresholds = |most| run_within(most, &table, &options, &Silent).unwrap().thresholds;
            let at_once = thresholds(CELLS);
            for most in [1, 9, 100] {
                assert_eq!(thresholds(most), at_once);
            }
        }
    }

    #[test]
    fn a_stop_is_heard() {
        struct Stop;
        impl Progress for Stop {
            fn cancelled(&self) -> bool {
                true
            }
        }
        let table = ScoreTable::from_rows(&[(vec![0.5], true)]).unwrap();
        assert!(matches!(run(&table, &Options::default(), &Stop), Err(Error::Interrupted)));
    }
}
