//! TSA, the threshold selection algorithm of addis 3.2, on the grid `i·δ` (method 10).
//!
//! From the deepest level upwards, each calibrate step raises one threshold and then lowers and raises those below it in
//! turn. A repair looks once along its level, O(documents), and then every step on the grid is one addition.

use std::time::Instant;

use super::grid::Grid;
use super::state::State;
use super::utility::Scorer;
use super::{CalibrateStep, Found, Options, ScoreTable};
use crate::Result;

/// Which way a repair moves its threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

impl Direction {
    pub(super) fn toggled(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

/// The order of TSA's repairs: for each level from the deepest up, one calibrate step of (level, direction) moves.
pub(super) fn calibrate_steps(depth: usize) -> impl Iterator<Item = (usize, Vec<(usize, Direction)>)> {
    (0..depth).rev().map(move |top| {
        let directions = std::iter::successors(Some(Direction::Up), |d| Some(d.toggled()));
        (top, (top..depth).zip(directions).collect())
    })
}

pub(super) fn run(table: &ScoreTable, options: &Options) -> Result<Found> {
    let grid = Grid::new(options.step.unwrap_or(super::TSA_STEP))?;
    let scorer = table.scorer(options.utility);
    let begin = Instant::now();
    let places = grid.places(table);
    let units = table.units();
    let mut state = State::new(&places, &units);
    let mut found = Found::default();
    let mut since = begin;
    // By level: steps of all its repairs, and how many repairs there were.
    let mut by_level = vec![(0u64, 0u64); table.depth()];
    for (level, moves) in calibrate_steps(table.depth()) {
        let mut evaluations = 0;
        for (level, direction) in moves {
            let of_repair = repair(&mut state, &scorer, grid, options.keep, level, direction);
            // The first utility is that of where it stands.
            by_level[level].0 += of_repair - 1;
            by_level[level].1 += 1;
            evaluations += of_repair;
        }
        found.steps.push(CalibrateStep { level: level + 1, seconds: since.elapsed().as_secs_f64(), evaluations });
        since = Instant::now();
    }
    let steps = f64::from(grid.last());
    found.visited = by_level.into_iter().map(|(made, repairs)| made as f64 / (steps * repairs as f64)).collect();
    found.thresholds = state.at().iter().map(|&i| grid.threshold(i)).collect();
    Ok(found)
}

/// Moves one threshold in one direction while the utility stays above `keep` × the best seen; ends at the best, the last
/// among equals. Returns how often the pseudo-code evaluates the utility.
fn repair(state: &mut State, scorer: &Scorer, grid: Grid, keep: f64, level: usize, direction: Direction) -> u64 {
    let start = state.at()[level];
    let mut tally = state.accepted();
    let (mut best, mut best_tally) = (start, tally);
    let mut best_value = scorer.value(tally);
    let mut value = best_value;
    let along = state.look_along(level, grid.last() as usize + 1);
    let mut evaluations = 1;
    let mut i = start;
    while value >= best_value * keep {
        let crossed = match direction {
            Direction::Up if i < grid.last() => {
                i += 1;
                let crossed = along[i as usize - 1];
                tally -= crossed;
                crossed
            }
            Direction::Down if i > 0 => {
                i -= 1;
                let crossed = along[i as usize];
                tally += crossed;
                crossed
            }
            _ => break,
        };
        evaluations += 1;
        if crossed != 0 {
            value = scorer.value(tally);
        }
        if value >= best_value {
            (best, best_tally, best_value) = (i, tally, value);
        }
    }
    state.move_to(level, best, best_tally);
    evaluations
}

#[cfg(test)]
mod tests {
    use super::*;

    /// addis 3.2, figure 3: the steps for a pipeline of three classifiers.
    #[test]
    fn the_order_of_the_paper() {
        use Direction::{Down, Up};
        let steps: Vec<_> = calibrate_steps(3).map(|(_, moves)| moves).collect();
        assert_eq!(steps, [vec![(2, Up)], vec![(1, Up), (2, Down)], vec![(0, Up), (1, Down), (2, Up)]]);
    }
}
