//! The best utility over all real thresholds, by branch and bound (method 10).
//!
//! Only places in [`Ranks`] matter as thresholds. All levels but two are held in a box of thresholds `lo..=hi`; in a box
//! a positive may pass when it reaches `lo`, and a negative certainly passes only when it reaches `hi`, at every such
//! level. Counting positives that may and negatives that certainly pass bounds the utility of every choice in the box,
//! and over the two remaining levels that bound is maximised exactly by a sweep ([`bound`]). The box with the highest
//! bound is split next, where its bound is loosest, until no bound is above the best choice found. A box that is one
//! choice is exact, so the search ends; when time is up, the highest open bound says how far the best may be.

mod bound;
mod starts;

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::ranks::Ranks;
use super::utility::Scorer;
use super::{CalibrateStep, Found, Options, ScoreTable};
use crate::{Progress, Result};
use bound::{Bounder, Line, Tree};

/// Utilities closer than this count as equal; distinct F1 of up to 50,000 documents are further apart.
pub(super) const TOLERANCE: f64 = 1e-10;
/// Boxes split together, whatever the number of threads, so that the search is the same on every machine.
const BATCH: usize = 8;

pub(super) fn run(table: &ScoreTable, options: &Options, progress: &dyn Progress) -> Result<Found> {
    let begin = Instant::now();
    let deadline = options.seconds.map(|s| begin + Duration::from_secs_f64(s.min(1e9)));
    let ranks = Ranks::of(table);
    let scorer = table.scorer(options.utility);
    let (at, value) = starts::best(table, &ranks, scorer, options)?;
    let bounder = Bounder::new(table, &ranks);
    let mut search = Search { bounder: &bounder, scorer, at, value, open: BinaryHeap::new(), pushed: 0, boxes: 0 };
    let stopped = || progress.cancelled() || deadline.is_some_and(|d| Instant::now() >= d);
    search.run(options.boxes.unwrap_or(u64::MAX), stopped);
    let bound = search.open.peek().map_or(search.value, |open| open.bound.max(search.value));
    let proven = bound <= search.value + TOLERANCE;
    Ok(Found {
        thresholds: search.at.iter().zip(&ranks.thresholds).map(|(&i, values)| values[i as usize]).collect(),
        steps: vec![CalibrateStep { level: 1, seconds: begin.elapsed().as_secs_f64(), evaluations: search.boxes }],
        bound: Some(if proven { search.value } else { bound }),
        proven,
        visited: Vec::new(),
    })
}

/// The thresholds of a box at the levels that boxes hold.
type Box = Vec<(u32, u32)>;

/// A box whose bound is above the best found.
struct Open {
    bound: f64,
    /// Boxes with equal bounds go in the order they came.
    number: u64,
    held: Box,
    /// Where to split: the level, and the first threshold of the upper part.
    split: (usize, u32),
}

impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound.total_cmp(&other.bound).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Open {}

struct Search<'a> {
    bounder: &'a Bounder,
    scorer: Scorer,
    /// The best choice found, as places of all levels.
    at: Vec<u32>,
    value: f64,
    open: BinaryHeap<Open>,
    pushed: u64,
    boxes: u64,
}

impl Search<'_> {
    fn run(&mut self, most_boxes: u64, stopped: impl Fn() -> bool) {
        self.look(vec![(f64::INFINITY, self.bounder.whole())]);
        loop {
            let mut parts = Vec::new();
            while parts.len() < 2 * BATCH
                && let Some(top) = self.open.peek_mut()
            {
                if top.bound <= self.value + TOLERANCE {
                    break;
                }
                if self.boxes + parts.len() as u64 >= most_boxes || (parts.is_empty() && stopped()) {
                    if parts.is_empty() {
                        return;
                    }
                    break;
                }
                let top = std::collections::binary_heap::PeekMut::pop(top);
                let (level, at) = top.split;
                let (mut lower, mut upper) = (top.held.clone(), top.held);
                lower[level].1 = at - 1;
                upper[level].0 = at;
                parts.extend([(top.bound, lower), (top.bound, upper)]);
            }
            if parts.is_empty() {
                return;
            }
            self.look(parts);
        }
    }

    /// Bounds boxes, keeps those that may hold something better, and takes better choices that come up. The first
    /// number is a bound that is known already.
    fn look(&mut self, mut boxes: Vec<(f64, Box)>) {
        while !boxes.is_empty() {
            self.boxes += boxes.len() as u64;
            let drawn_at = self.value;
            let line = Line::through(&self.scorer, self.bounder, drawn_at + TOLERANCE);
            let bounder = self.bounder;
            let seen: Vec<_> =
                boxes.par_iter().map_init(Tree::default, |tree, (_, held)| bounder.bound(held, &line, tree)).collect();
            let mut again = Vec::new();
            for ((known, held), seen) in boxes.drain(..).zip(seen) {
                let Some(seen) = seen else { continue };
                for (tally, at) in seen.choices {
                    let value = self.scorer.value(tally);
                    if value > self.value {
                        (self.value, self.at) = (value, at);
                    }
                }
                match seen.split {
                    Some(split) => {
                        let bound = seen.bound.min(known);
                        self.pushed += 1;
                        self.open.push(Open { bound, number: self.pushed, held, split });
                    }
                    // The choice furthest above the line need not have the highest utility of those above it. So a box is
                    // done only when its furthest choice is not above the line it was drawn at; when the best has risen
                    // since, whichever box of this round it came from, the box is looked at again under the new line.
                    None if self.value > drawn_at => again.push((known, held)),
                    None => {}
                }
            }
            boxes = again;
        }
    }
}
