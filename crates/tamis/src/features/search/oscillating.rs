//! Oscillating search: swing below and above the wanted size as long as that improves the subset.

use serde::{Deserialize, Serialize};

use super::walk::Walk;
use super::{Budget, Criterion, Ended, Found, is_better};
use crate::{Error, Progress, Result};

/// Oscillating search (novovicova 4.2, method 4).
///
/// A down-swing of depth `o` removes the `o` worst members one at a time, then adds the `o` best terms one at a time;
/// an up-swing does the reverse. Down and up take turns. A swing that finds a better subset moves there and sets the
/// depth back to 1; two in a row that do not increase the depth; beyond [`Oscillating::depth`] the search ends. A swing deeper
/// than the subset (down) or than the terms outside it (up) cannot be made and counts as one that found nothing.
///
/// Each accepted subset is better than the one before, so the search ends, and stopping it early costs only what it
/// would still have gained.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Oscillating {
    /// Δ, the deepest swing; at least 1.
    pub depth: usize,
    /// When to stop early; a step is a swing.
    pub budget: Budget,
}

impl Default for Oscillating {
    /// Depth 1, as in the paper's study, and no limit.
    fn default() -> Self {
        Self { depth: 1, budget: Budget::default() }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Swing {
    Down,
    Up,
}

/// A move that can be taken back.
#[derive(Clone, Copy)]
enum Move {
    Added(u32),
    Removed(u32),
}

impl Oscillating {
    /// Searches for `size` terms, from the first `size` of `order` (best first, all candidates). All terms when there
    /// are no more than `size`. Leaves the criterion at the subset it returns.
    pub fn search<C: Criterion + ?Sized>(
        &self,
        criterion: &mut C,
        order: &[u32],
        size: usize,
        progress: &dyn Progress,
    ) -> Result<Found> {
        if self.depth == 0 {
            return Err(Error::invalid("depth", self.depth, "a swing has a depth of at least 1"));
        }
        let mut walk = Walk::start(criterion, order, size, size, &self.budget, progress)?;
        progress.start("oscillating search", self.budget.steps);
        let ended = if walk.room() == 0 { Ended::Converged } else { self.oscillate(&mut walk) };
        Ok(walk.finish(size, ended))
    }

    /// Steps 2 to 5 of novovicova 4.2: `o` is the depth, `c` counts the swings in a row that found nothing.
    fn oscillate<C: Criterion + ?Sized>(&self, walk: &mut Walk<'_, C>) -> Ended {
        let (mut o, mut c) = (1, 0);
        let mut swing = Swing::Down;
        loop {
            if let Err(ended) = walk.step() {
                return ended;
            }
            match try_swing(walk, swing, o) {
                Err(ended) => return ended,
                Ok(true) => {
                    walk.note();
                    (o, c) = (1, 0);
                }
                Ok(false) => {
                    c += 1;
                    if c == 2 {
                        o += 1;
                        if o > self.depth {
                            return Ended::Converged;
                        }
                        c = 0;
                    }
                }
            }
            swing = if swing == Swing::Down { Swing::Up } else { Swing::Down };
        }
    }
}

/// Whether the swing found a better subset. When it did not, or was interrupted, the subset is as before.
fn try_swing<C: Criterion + ?Sized>(
    walk: &mut Walk<'_, C>,
    swing: Swing,
    depth: usize,
) -> std::result::Result<bool, Ended> {
    let possible = match swing {
        Swing::Down => walk.size(),
        Swing::Up => walk.room(),
    };
    if depth > possible {
        return Ok(false);
    }
    let before = walk.value();
    let mut moves = Vec::with_capacity(2 * depth);
    let outcome = make_swing(walk, swing, depth, &mut moves).map(|()| is_better(walk.value(), before));
    if outcome != Ok(true) {
        for made in moves.into_iter().rev() {
            match made {
                Move::Added(term) => walk.remove(term),
                Move::Removed(term) => walk.add(term),
            }
        }
    }
    outcome
}

fn make_swing<C: Criterion + ?Sized>(
    walk: &mut Walk<'_, C>,
    swing: Swing,
    depth: usize,
    moves: &mut Vec<Move>,
) -> std::result::Result<(), Ended> {
    for step in 0..2 * depth {
        let down = (swing == Swing::Down) == (step < depth);
        if down {
            let term = walk.worst_member()?.term;
            walk.remove(term);
            moves.push(Move::Removed(term));
        } else {
            let term = walk.best_addition()?.term;
            walk.add(term);
            moves.push(Move::Added(term));
        }
    }
    Ok(())
}
