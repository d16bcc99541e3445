//! Sequential search: grow or shrink to the wanted size, straight or floating.

use serde::{Deserialize, Serialize};

use super::walk::Walk;
use super::{Budget, Criterion, Ended, Found, is_better};
use crate::{Progress, Result};

/// Where a sequential search comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the empty subset, adding.
    #[default]
    Forward,
    /// From all terms, removing.
    Backward,
}

/// Forward and backward search (novovicova 3.2), and the floating kinds of both (Pudil, Novovičová, Kittler 1994,
/// "Floating search methods in feature selection", Pattern Recognition Letters 15).
///
/// A floating search takes back steps after each step forth: as long as the subset one smaller (backward: one larger) is
/// better than the best of that size seen so far, it goes there. It ends when it reaches the wanted size.
///
/// Stopped early, it has not reached that size: the start order then decides about the rest. Its best terms come in
/// (forward), its worst go (backward).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sequential {
    /// Forward or backward.
    pub direction: Direction,
    /// Whether to take back steps that pay.
    pub floating: bool,
    /// When to stop early; a step is one term added or removed.
    pub budget: Budget,
}

impl Sequential {
    /// Searches for `size` terms of `order` (all candidates; it decides ties, and the rest when stopped early). All
    /// terms when there are no more than `size`. Leaves the criterion at the subset it returns.
    pub fn search<C: Criterion + ?Sized>(
        &self,
        criterion: &mut C,
        order: &[u32],
        size: usize,
        progress: &dyn Progress,
    ) -> Result<Found> {
        let target = size.min(order.len());
        let forward = self.direction == Direction::Forward;
        let start = if forward && target < order.len() { 0 } else { order.len() };
        let mut walk = Walk::start(criterion, order, size, start, &self.budget, progress)?;
        let stage = match (self.direction, self.floating) {
            (Direction::Forward, false) => "forward search",
            (Direction::Forward, true) => "floating forward search",
            (Direction::Backward, false) => "backward search",
            (Direction::Backward, true) => "floating backward search",
        };
        // A straight search knows its steps; how often a floating one turns back, nobody knows.
        let total = if self.floating { None } else { Some(start.abs_diff(target) as u64) };
        progress.start(stage, total);
        let ended = match self.run(&mut walk, target) {
            Ok(()) => Ended::Converged,
            Err(ended) => {
                walk.fill_by_order(target);
                ended
            }
        };
        Ok(walk.finish(size, ended))
    }

    fn run<C: Criterion + ?Sized>(&self, walk: &mut Walk<'_, C>, target: usize) -> std::result::Result<(), Ended> {
        let forward = self.direction == Direction::Forward;
        // By size: the best value seen.
        let mut best = vec![f64::NEG_INFINITY; walk.size() + walk.room() + 1];
        best[walk.size()] = walk.value();
        while walk.size() != target {
            walk.step()?;
            go(walk, forward)?;
            best[walk.size()] = best[walk.size()].max(walk.value());
            while self.floating && walk.size() != target {
                let (choice, size) = if forward {
                    if walk.size() <= 1 {
                        break;
                    }
                    (walk.worst_member()?, walk.size() - 1)
                } else {
                    if walk.room() <= 1 {
                        break;
                    }
                    (walk.best_addition()?, walk.size() + 1)
                };
                if !is_better(choice.value, best[size]) {
                    break;
                }
                walk.step()?;
                if forward {
                    walk.remove(choice.term);
                } else {
                    walk.add(choice.term);
                }
                walk.note();
                // Not below the choice's value: rounding must not let the same back step look like progress again.
                best[size] = walk.value().max(choice.value);
            }
        }
        Ok(())
    }
}

fn go<C: Criterion + ?Sized>(walk: &mut Walk<'_, C>, forward: bool) -> std::result::Result<(), Ended> {
    if forward {
        let term = walk.best_addition()?.term;
        walk.add(term);
    } else {
        let term = walk.worst_member()?.term;
        walk.remove(term);
    }
    walk.note();
    Ok(())
}
