//! TSA's moves, but each repair jumps to the best threshold of its level over the documents' own scores.
//!
//! A repair cannot get stuck behind a dip, and no grid stands between it and the best value. One pass makes TSA's
//! repairs in TSA's order; when asked, single repairs follow until nothing moves any more.

use std::time::Instant;

use super::tsa::{Direction, calibrate_steps};
use super::utility::{Scorer, Tally, positives_in, unit, when};
use super::{CalibrateStep, Found, Options, ScoreTable};

pub(super) fn run(table: &ScoreTable, options: &Options) -> Found {
    let begin = Instant::now();
    let mut climb = Climb::new(table, table.scorer(options.utility));
    let mut found = Found::default();
    let mut since = begin;
    for (level, moves) in calibrate_steps(table.depth()) {
        let before = climb.evaluations;
        for (level, direction) in moves {
            climb.repair(level, direction);
        }
        let evaluations = climb.evaluations - before;
        found.steps.push(CalibrateStep { level: level + 1, seconds: since.elapsed().as_secs_f64(), evaluations });
        since = Instant::now();
    }
    if options.until_stable {
        let before = climb.evaluations;
        climb.until_stable();
        // What follows the pass belongs to its last step, which had come up to the root.
        if let Some(last) = found.steps.last_mut() {
            last.seconds += since.elapsed().as_secs_f64();
            last.evaluations += climb.evaluations - before;
        }
    }
    found.thresholds = climb.thresholds;
    found
}

/// Scores are first counted in this many cells of [0,1]; only cells that may hold the best threshold are looked into.
const CELLS: usize = 256;
/// Documents looked at together when those in a few cells are searched.
const BLOCK: usize = 16;

/// Moves thresholds one level at a time, never to a lower utility.
pub(super) struct Climb<'a> {
    table: &'a ScoreTable,
    scorer: Scorer,
    units: Vec<Tally>,
    /// For each level the cell of each document.
    cells: Vec<Vec<u16>>,
    pub thresholds: Vec<f64>,
    /// How many levels reject each document.
    failed: Vec<u16>,
    accepted: Tally,
    /// Documents that pass all other levels than the one under repair, by cell.
    along: Vec<Tally>,
    /// Those above each cell.
    above: Vec<Tally>,
    /// Cells that may hold the best threshold.
    promising: Vec<u16>,
    /// Documents in these cells that pass all other levels.
    near: Vec<(f64, bool)>,
    /// Utilities computed.
    pub evaluations: u64,
}

impl<'a> Climb<'a> {
    /// All thresholds 0.
    pub(super) fn new(table: &'a ScoreTable, scorer: Scorer) -> Self {
        let units = table.units();
        let cell = |&score: &f64| (score * CELLS as f64) as u16;
        Self {
            scorer,
            cells: (0..table.depth()).map(|k| table.level(k).iter().map(cell).collect()).collect(),
            thresholds: vec![0.0; table.depth()],
            failed: vec![0; table.documents()],
            accepted: units.iter().sum(),
            // A score of exactly 1 has a cell of its own.
            along: vec![0; CELLS + 1],
            above: vec![0; CELLS + 1],
            promising: Vec::new(),
            near: Vec::new(),
            evaluations: 0,
            units,
            table,
        }
    }

    /// The utility of the current thresholds.
    pub(super) fn value(&self) -> f64 {
        self.scorer.value(self.accepted)
    }

    /// Begins anew from the given thresholds.
    pub(super) fn reset(&mut self, thresholds: &[f64]) {
        self.thresholds.copy_from_slice(thresholds);
        self.failed.fill(0);
        for (k, &threshold) in thresholds.iter().enumerate() {
            for (failed, &score) in self.failed.iter_mut().zip(self.table.level(k)) {
                *failed += u16::from(score < threshold);
            }
        }
        self.accepted = self.failed.iter().zip(&self.units).map(|(&failed, &unit)| unit * u64::from(failed == 0)).sum();
    }

    /// TSA's whole round of repairs.
    pub(super) fn pass(&mut self) {
        for (_, moves) in calibrate_steps(self.thresholds.len()) {
            for (level, direction) in moves {
                self.repair(level, direction);
            }
        }
    }

    /// Repairs level after level until none moves: no single threshold can be moved to a better utility then. The
    /// utility never falls, and at the same utility thresholds only fall, so this ends.
    pub(super) fn until_stable(&mut self) {
        let depth = self.thresholds.len();
        let mut still = 0;
        for level in (0..depth).rev().cycle() {
            let (before, value) = (self.thresholds[level], self.value());
            self.repair(level, Direction::Down);
            if self.value() == value && self.thresholds[level] > before {
                // Equal on the way up would undo what went down; going up needs a gain.
                self.move_to(level, before, self.accepted);
            }
            still = if self.thresholds[level] == before { still + 1 } else { 0 };
            if still == depth {
                return;
            }
        }
    }

    /// The best threshold of a level while the others stand. Going up, the highest among equals. Going down, it is
    /// then lowered while no other document comes in that passes the other levels, which gives those room to move.
    pub(super) fn repair(&mut self, level: usize, direction: Direction) {
        self.look_along(level);
        self.find_promising();
        let (mut threshold, tally) = self.look_into_promising(level);
        if direction == Direction::Down {
            threshold = self.lowered(threshold, tally);
        }
        self.move_to(level, threshold, tally);
    }

    /// Counts the documents that pass all other levels by cell.
    fn look_along(&mut self, level: usize) {
        self.along.fill(0);
        let threshold = self.thresholds[level];
        let documents = self.cells[level].iter().zip(self.table.level(level)).zip(&self.failed).zip(&self.units);
        for (((&cell, &score), &failed), &unit) in documents {
            let passes_others = failed == u16::from(score < threshold);
            self.along[cell as usize] += when(passes_others, unit);
        }
    }

    /// A threshold in a cell accepts at most the cell's positives and at least the negatives above the cell. Cells where
    /// even that is below the utility at the lower edge of some cell are out.
    fn find_promising(&mut self) {
        self.promising.clear();
        let mut best = 0.0;
        let mut tally = 0;
        for cell in (0..=CELLS).rev() {
            let here = self.along[cell];
            self.above[cell] = tally;
            let at_most = tally + u64::from(positives_in(here));
            tally += here;
            if positives_in(here) > 0 && self.scorer.may_reach(at_most, best) {
                self.promising.push(cell as u16);
                best = self.scorer.value(tally).max(best);
                self.evaluations += 1;
            }
        }
        let (along, above, scorer) = (&self.along, &self.above, &self.scorer);
        self.promising.retain(|&cell| {
            let positives = u64::from(positives_in(along[cell as usize]));
            scorer.may_reach(above[cell as usize] + positives, best)
        });
    }

    /// The best threshold in the promising cells, the highest among equals, and what it accepts.
    fn look_into_promising(&mut self, level: usize) -> (f64, Tally) {
        let (Some(&last), Some(&first)) = (self.promising.first(), self.promising.last()) else {
            // No positive passes the other levels: nothing to gain here.
            return (self.thresholds[level], self.accepted);
        };
        let threshold = self.thresholds[level];
        self.near.clear();
        let (scores, truth) = (self.table.level(level), self.table.truth());
        let is_near = |cell: u16| cell.wrapping_sub(first) <= last - first;
        for (at, cells) in self.cells[level].chunks(BLOCK).enumerate() {
            // Most blocks hold no such document; without branches inside, a block is looked at as a whole.
            if !cells.iter().fold(false, |any, &cell| any | is_near(cell)) {
                continue;
            }
            for (document, _) in (at * BLOCK..).zip(cells).filter(|(_, cell)| is_near(**cell)) {
                if self.failed[document] == u16::from(scores[document] < threshold) {
                    self.near.push((scores[document], truth[document]));
                }
            }
        }
        self.near.sort_unstable_by(|x, y| y.0.total_cmp(&x.0));
        let mut best = (threshold, self.accepted, -1.0);
        let mut tally = self.above[last as usize];
        for equal in self.near.chunk_by(|x, y| x.0 == y.0) {
            tally += equal.iter().map(|&(_, positive)| unit(positive)).sum::<Tally>();
            if equal.iter().any(|&(_, positive)| positive) && self.scorer.may_reach(tally, best.2) {
                let value = self.scorer.value(tally);
                self.evaluations += 1;
                if value > best.2 {
                    best = (equal[0].0, tally, value);
                }
            }
        }
        (best.0, best.1)
    }

    /// The lowest edge of a cell that, in place of a threshold, lets in no other document that passes the other levels.
    fn lowered(&self, threshold: f64, tally: Tally) -> f64 {
        let cell = (threshold * CELLS as f64) as usize;
        if tally != self.above[cell] + self.along[cell] {
            return threshold;
        }
        let lowest = (0..cell).rev().take_while(|&c| self.along[c] == 0).last().unwrap_or(cell);
        lowest as f64 / CELLS as f64
    }

    fn move_to(&mut self, level: usize, threshold: f64, accepted: Tally) {
        let from = std::mem::replace(&mut self.thresholds[level], threshold);
        self.accepted = accepted;
        if from != threshold {
            for (&score, failed) in self.table.level(level).iter().zip(&mut self.failed) {
                *failed = *failed + u16::from(score < threshold) - u16::from(score < from);
            }
        }
    }
}
