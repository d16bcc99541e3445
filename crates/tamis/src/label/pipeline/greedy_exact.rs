//! TSA's moves, but each repair jumps to the best threshold of its level over the documents' own scores.
//!
//! A repair cannot get stuck behind a dip, and no grid stands between it and the best value. One pass makes TSA's
//! repairs in TSA's order; more passes follow while the utility grows (or only one when asked).

use std::time::Instant;

use super::ranks::Ranks;
use super::state::State;
use super::tsa::{Direction, calibrate_steps};
use super::utility::{Scorer, Tally};
use super::{CalibrateStep, Found, Options, ScoreTable};

pub(super) fn run(table: &ScoreTable, options: &Options) -> Found {
    let begin = Instant::now();
    let ranks = Ranks::of(table);
    let scorer = table.scorer(options.utility);
    let units = table.units();
    let mut climb = Climb::new(&ranks, &units, scorer);
    let mut found = Found::default();
    let mut since = begin;
    for (level, moves) in calibrate_steps(table.depth()) {
        let before = climb.evaluations;
        climb.make(moves);
        let evaluations = climb.evaluations - before;
        found.steps.push(CalibrateStep { level: level + 1, seconds: since.elapsed().as_secs_f64(), evaluations });
        since = Instant::now();
    }
    if options.until_stable {
        let before = climb.evaluations;
        climb.until_stable();
        // Later passes belong to the last step: the first pass has come up to the root by then.
        if let Some(last) = found.steps.last_mut() {
            last.seconds += since.elapsed().as_secs_f64();
            last.evaluations += climb.evaluations - before;
        }
    }
    found.thresholds = climb.thresholds();
    found
}

/// Moves thresholds one level at a time, never to a lower utility.
pub(super) struct Climb<'a> {
    ranks: &'a Ranks,
    scorer: Scorer,
    state: State<'a>,
    pub evaluations: u64,
}

impl<'a> Climb<'a> {
    pub(super) fn new(ranks: &'a Ranks, units: &'a [Tally], scorer: Scorer) -> Self {
        Self { ranks, scorer, state: State::new(&ranks.places, units), evaluations: 0 }
    }

    /// The utility of the current thresholds.
    pub(super) fn value(&self) -> f64 {
        self.scorer.value(self.state.accepted())
    }

    /// The places of the current thresholds.
    pub(super) fn at(&self) -> &[u32] {
        self.state.at()
    }

    pub(super) fn thresholds(&self) -> Vec<f64> {
        self.at().iter().zip(&self.ranks.thresholds).map(|(&i, values)| values[i as usize]).collect()
    }

    /// Begins anew from the given places.
    pub(super) fn reset(&mut self, at: &[u32]) {
        self.state.reset(at);
    }

    /// Repairs, one after the other.
    pub(super) fn make(&mut self, moves: impl IntoIterator<Item = (usize, Direction)>) {
        for (level, direction) in moves {
            self.repair(level, direction);
        }
    }

    /// TSA's whole round of repairs.
    pub(super) fn pass(&mut self) {
        for (_, moves) in calibrate_steps(self.state.depth()) {
            self.make(moves);
        }
    }

    /// Rounds while they help, to where no single threshold can be moved to a better utility. The utility never falls
    /// and there are finitely many values of it, so this ends.
    pub(super) fn until_stable(&mut self) {
        loop {
            let before = self.value();
            self.pass();
            if self.value() > before {
                continue;
            }
            // Moves between equals may have opened a way for a level that was looked at before them.
            for level in 0..self.state.depth() {
                self.improve(level);
            }
            if self.value() <= before {
                return;
            }
        }
    }

    /// The best threshold of a level while the others stand; among equals the highest when going up, the lowest when
    /// going down.
    fn repair(&mut self, level: usize, direction: Direction) {
        self.best_along(level, direction, (0, 0, -1.0));
    }

    /// Moves a threshold only to a better utility.
    fn improve(&mut self, level: usize) {
        let now = (self.at()[level], self.state.accepted(), self.value());
        self.best_along(level, Direction::Up, now);
    }

    fn best_along(&mut self, level: usize, direction: Direction, start: (u32, Tally, f64)) {
        let thresholds = self.ranks.thresholds[level].len();
        self.state.look_along(level, thresholds);
        let (mut best, mut best_tally, mut best_value) = start;
        let mut tally = 0;
        for (i, &crossed) in self.state.along().iter().enumerate().rev() {
            tally += crossed;
            if self.scorer.may_reach(tally, best_value) {
                let value = self.scorer.value(tally);
                if value > best_value || (direction == Direction::Down && value == best_value) {
                    (best, best_tally, best_value) = (i as u32, tally, value);
                }
            }
        }
        self.evaluations += thresholds as u64;
        self.state.move_to(level, best, best_tally);
    }
}
