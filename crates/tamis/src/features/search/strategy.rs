//! The searches that expressions can name, one row each.

use super::{Budget, Criterion, Direction, Found, Oscillating, Sequential};
use crate::registry::Row;
use crate::{Progress, Result};

/// A way to walk from subset to subset, as expressions name it (method 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// `os(start,Δ)`: swings around the wanted size, of a depth up to Δ.
    Oscillating(u32),
    /// `sfs(start)`: from nothing, adding.
    Forward,
    /// `sbs(start)`: from all terms, removing.
    Backward,
    /// `sffs(start)`: adding, with steps back that pay.
    FloatingForward,
    /// `sbfs(start)`: removing, with steps back that pay.
    FloatingBackward,
}

impl Strategy {
    /// All of them, in the order they are listed; `os` with depth 1.
    pub const ALL: [Self; 5] =
        [Self::Oscillating(1), Self::Forward, Self::Backward, Self::FloatingForward, Self::FloatingBackward];

    /// The row of the registry.
    pub fn spec(self) -> Row {
        let row = |name, example, what, source| Row { name, example, what, formula: "", source };
        match self {
            Self::Oscillating(_) => row(
                "os",
                "os(ib,2)",
                "Oscillating search from the first terms of a selector: takes terms out and others in (or the other way \
                 round) as long as the subset gets better; the number is how many at most (1).",
                "novovicova 4.2; Somol & Pudil 2000",
            ),
            Self::Forward => row(
                "sfs",
                "sfs(ib)",
                "Forward search: from nothing, adds the term that makes the subset best. The selector decides ties.",
                "novovicova 3.2",
            ),
            Self::Backward => row(
                "sbs",
                "sbs(ib)@5",
                "Backward search: from all terms, removes the one that is missed least. Slow without a cut or a budget.",
                "novovicova 3.2",
            ),
            Self::FloatingForward => row(
                "sffs",
                "sffs(ib)",
                "Floating forward search: after each term added, removes others as long as that beats the best subset of \
                 that size seen so far.",
                "Pudil, Novovičová & Kittler 1994",
            ),
            Self::FloatingBackward => row(
                "sbfs",
                "sbfs(ib)@5",
                "Floating backward search: after each term removed, adds others as long as that beats the best subset of \
                 that size seen so far. Slow without a cut or a budget.",
                "Pudil, Novovičová & Kittler 1994",
            ),
        }
    }

    /// Searches for `size` terms of `order` (best first, all candidates).
    pub fn search<C: Criterion + ?Sized>(
        self,
        criterion: &mut C,
        order: &[u32],
        size: usize,
        budget: Budget,
        progress: &dyn Progress,
    ) -> Result<Found> {
        let (direction, floating) = match self {
            Self::Oscillating(depth) => {
                return Oscillating { depth: depth as usize, budget }.search(criterion, order, size, progress);
            }
            Self::Forward => (Direction::Forward, false),
            Self::Backward => (Direction::Backward, false),
            Self::FloatingForward => (Direction::Forward, true),
            Self::FloatingBackward => (Direction::Backward, true),
        };
        Sequential { direction, floating, budget }.search(criterion, order, size, progress)
    }
}
