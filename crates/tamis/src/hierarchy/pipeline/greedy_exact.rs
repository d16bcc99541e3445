//! TSA's moves, but each repair jumps to the best threshold of its level over the documents' own scores.
//!
//! A repair cannot get stuck behind a dip, and no grid stands between it and the best value. One pass makes TSA's
//! repairs in TSA's order; when asked, single repairs follow until nothing moves any more.

use std::time::Instant;

use super::tsa::{Direction, calibrate_steps};
use super::utility::{Scorer, Units, positives_in, unit, when};
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
    let before = climb.evaluations;
    if options.until_stable {
        climb.until_stable();
    }
    let mut best = climb.value();
    found.thresholds.clone_from(&climb.thresholds);
    let starts = options.starts.unwrap_or_else(|| usual_starts(table.documents()));
    for start in climb.other_starts(starts - 1) {
        climb.reset(&start);
        climb.until_stable();
        if climb.value() > best {
            best = climb.value();
            found.thresholds.clone_from(&climb.thresholds);
        }
    }
    // What follows the pass belongs to its last step, which had come up to the root.
    if let Some(last) = found.steps.last_mut() {
        last.seconds += since.elapsed().as_secs_f64();
        last.evaluations += climb.evaluations - before;
    }
    found
}

/// Shares of positives that every level rejects at the start of a climb.
const SHARES: [f64; 6] = [0.2, 0.5, 0.05, 0.35, 0.1, 0.7];

/// All thresholds 0, and the shares.
pub(super) const MOST_STARTS: usize = 1 + SHARES.len();

/// How often a table of so many documents is climbed when nothing is said: where there are few, climbs are trapped more
/// often, and three still cost less than TSA's steps over its grid.
fn usual_starts(documents: usize) -> usize {
    if documents < 500 { 3 } else { 1 }
}

/// Scores are first counted in this many cells of `[0,1]`; only cells that may hold the best threshold are looked into.
const CELLS: usize = 256;
/// The cell of a score of 1.
const FULL: u16 = CELLS as u16;
/// Documents looked at together when those in a few cells are searched.
const BLOCK: usize = 16;

/// Scores of a cell are above those of all cells below it: scaling by a power of two rounds nothing.
fn cell_of(score: f64) -> u16 {
    (score * CELLS as f64) as u16
}

/// Moves thresholds one level at a time, never to a lower utility.
pub(super) struct Climb<'a> {
    table: &'a ScoreTable,
    scorer: Scorer,
    units: Vec<Units>,
    /// For each level the cell of each document.
    cells: Vec<Vec<u16>>,
    pub thresholds: Vec<f64>,
    /// How many levels reject each document.
    failed: Vec<u16>,
    accepted: Units,
    /// Documents that pass all other levels than the one under repair, by cell.
    along: Vec<Units>,
    /// Those above each cell.
    above: Vec<Units>,
    /// Cells that may hold the best threshold.
    promising: Vec<u16>,
    /// Documents in these cells that pass all other levels.
    near: Vec<(f64, bool)>,
    /// Moves made; for each level the number of its last one, and the number reached when it was last repaired. A
    /// repair is left out when no other level has moved since.
    moves: u64,
    moved: Vec<u64>,
    repaired: Vec<(u64, Direction)>,
    /// Utilities computed.
    pub evaluations: u64,
}

impl<'a> Climb<'a> {
    /// All thresholds 0.
    pub(super) fn new(table: &'a ScoreTable, scorer: Scorer) -> Self {
        let units = table.units();
        let cell = |&score: &f64| cell_of(score);
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
            // As if all had moved after their last repair: the first repair of each level is made.
            moves: 1,
            moved: vec![1; table.depth()],
            repaired: vec![(0, Direction::Up); table.depth()],
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
        self.moves += 1;
        self.moved.fill(self.moves);
        self.failed.fill(0);
        for (k, &threshold) in thresholds.iter().enumerate() {
            for (failed, &score) in self.failed.iter_mut().zip(self.table.level(k)) {
                *failed += u16::from(score < threshold);
            }
        }
        self.accepted = self.failed.iter().zip(&self.units).map(|(&failed, &unit)| unit * u64::from(failed == 0)).sum();
    }

    /// Starts besides all thresholds 0: every level near the same quantile of the scores of its positives.
    fn other_starts(&self, count: usize) -> Vec<Vec<f64>> {
        let mut starts = vec![Vec::with_capacity(self.cells.len()); count.min(SHARES.len())];
        if starts.is_empty() {
            return starts;
        }
        for cells in &self.cells {
            let mut positives = [0u32; CELLS + 1];
            cells
                .iter()
                .zip(self.table.truth())
                .for_each(|(&cell, &truth)| positives[cell as usize] += u32::from(truth));
            let all: u32 = positives.iter().sum();
            for (start, share) in starts.iter_mut().zip(SHARES) {
                let mut left = (f64::from(all) * share) as u32;
                let below = positives.iter().take_while(|&&n| left.checked_sub(n).map(|rest| left = rest).is_some());
                start.push(below.count() as f64 / CELLS as f64);
            }
        }
        starts
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
            let before = self.thresholds[level];
            self.repair(level, Direction::Down);
            still = if self.thresholds[level] == before { still + 1 } else { 0 };
            if still == depth {
                return;
            }
        }
    }

    /// Moves a threshold to the best of its level while the others stand. Going up, that is the highest among equals.
    /// Going down, it moves only to a better one, and is then lowered while no other document comes in that passes the
    /// other levels, which gives those room to move.
    pub(super) fn repair(&mut self, level: usize, direction: Direction) {
        let others = (0..self.moved.len()).filter(|&k| k != level).map(|k| self.moved[k]).max();
        let settled = others.is_some_and(|moved| moved <= self.repaired[level].0);
        if settled && (direction == Direction::Up || self.repaired[level].1 == Direction::Down) {
            return;
        }
        self.look_along(level);
        self.find_promising(direction);
        let (mut threshold, tally) = self.look_into_promising(level, direction);
        if direction == Direction::Down {
            threshold = self.lowered(threshold, tally);
        }
        if threshold != self.thresholds[level] {
            self.moves += 1;
            self.moved[level] = self.moves;
            self.move_to(level, threshold, tally);
        }
        self.repaired[level] = (self.moves, direction);
    }

    /// Counts the documents that pass all other levels by cell.
    fn look_along(&mut self, level: usize) {
        self.along.fill(0);
        let threshold = self.thresholds[level];
        let at = cell_of(threshold);
        let scores = self.table.level(level);
        let units = [unit(false), unit(true)];
        let documents = self.cells[level].iter().zip(&self.failed).zip(self.table.truth()).enumerate();
        for (document, ((&cell, &failed), &truth)) in documents {
            // The cell tells nearly always on which side a score is: five bytes a document instead of twenty.
            let fails_here = if cell == at { scores[document] < threshold } else { cell < at };
            self.along[cell as usize] += when(failed == u16::from(fails_here), units[usize::from(truth)]);
        }
    }

    /// A threshold in a cell accepts at most the cell's positives and at least the negatives above the cell. Cells where
    /// even that is below the utility at the lower edge of some cell are out; going down, also cells without a gain.
    fn find_promising(&mut self, direction: Direction) {
        self.promising.clear();
        let now = self.value();
        let mut best = now;
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
            let at_most = above[cell as usize] + u64::from(positives_in(along[cell as usize]));
            scorer.may_reach(at_most, best) && (direction == Direction::Up || scorer.value(at_most) > now)
        });
    }

    /// The best threshold in the promising cells, the highest among equals, and what it accepts; the current one when
    /// none is better.
    fn look_into_promising(&mut self, level: usize, direction: Direction) -> (f64, Units) {
        let threshold = self.thresholds[level];
        let floor = if direction == Direction::Up { -1.0 } else { self.value() };
        let mut best = (threshold, self.accepted, floor);
        let mut promising = &self.promising[..];
        // Many documents may score exactly 1; their cell holds nothing else.
        if let [FULL, rest @ ..] = promising {
            let tally = self.along[FULL as usize];
            let value = self.scorer.value(tally);
            if value > floor {
                best = (1.0, tally, value);
            }
            promising = rest;
        }
        let (Some(&last), Some(&first)) = (promising.first(), promising.last()) else {
            return (best.0, best.1);
        };
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
        let mut tally = self.above[last as usize];
        for equal in self.near.chunk_by(|x, y| x.0 == y.0) {
            tally += equal.iter().map(|&(_, positive)| unit(positive)).sum::<Units>();
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
    fn lowered(&self, threshold: f64, tally: Units) -> f64 {
        let cell = cell_of(threshold) as usize;
        if tally != self.above[cell] + self.along[cell] {
            return threshold;
        }
        let lowest = (0..cell).rev().take_while(|&c| self.along[c] == 0).last().unwrap_or(cell);
        lowest as f64 / CELLS as f64
    }

    fn move_to(&mut self, level: usize, threshold: f64, accepted: Units) {
        let from = std::mem::replace(&mut self.thresholds[level], threshold);
        self.accepted = accepted;
        if from != threshold {
            for (&score, failed) in self.table.level(level).iter().zip(&mut self.failed) {
                *failed = *failed + u16::from(score < threshold) - u16::from(score < from);
            }
        }
    }
}
