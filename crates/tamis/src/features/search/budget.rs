//! How long a search may run, and what it hands back.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::{Error, Progress, Result};

/// When to stop early. A search that stops early returns its best subset so far. The default has no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Seconds on the clock.
    pub seconds: Option<f64>,
    /// Steps: swings of an oscillating search, single additions and removals of a sequential one.
    pub steps: Option<u64>,
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// It ran to its own end.
    Converged,
    /// [`Budget::steps`] are used up.
    Steps,
    /// [`Budget::seconds`] are over.
    Seconds,
    /// The user asked to stop.
    Cancelled,
}

/// What a search found and how it went.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// The subset, in the order of the start order.
    pub terms: Vec<u32>,
    /// Its value by the criterion.
    pub value: f64,
    /// How many terms were asked for; `terms` has fewer when there are not as many.
    pub asked: usize,
    /// Steps taken, in the unit of [`Budget::steps`].
    pub steps: u64,
    /// Subsets compared, whether each was evaluated or excluded by a bound.
    pub evaluations: u64,
    /// The value at the start and after each step that changed the subset.
    pub history: Vec<f64>,
    /// Seconds it took.
    pub seconds: f64,
    /// Why it ended.
    pub ended: Ended,
}

/// The running time of a search, and whether to go on. Criteria look at it inside long batches.
pub struct Clock<'a> {
    start: Instant,
    deadline: Option<Instant>,
    progress: &'a dyn Progress,
}

impl<'a> Clock<'a> {
    /// Starts now; checks the budget.
    pub fn start(budget: &Budget, progress: &'a dyn Progress) -> Result<Self> {
        let start = Instant::now();
        let deadline = match budget.seconds {
            None => None,
            Some(seconds) if seconds.is_nan() || seconds < 0.0 => {
                return Err(Error::invalid("seconds", seconds, "a time budget is 0 or more"));
            }
            // A budget beyond what the clock can count to is no limit.
            Some(seconds) => Duration::try_from_secs_f64(seconds).ok().and_then(|d| start.checked_add(d)),
        };
        Ok(Self { start, deadline, progress })
    }

    /// Whether to stop: time is over or the user asked.
    pub fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline) || self.progress.cancelled()
    }

    /// Why the clock is over.
    pub(super) fn reason(&self) -> Ended {
        if self.progress.cancelled() { Ended::Cancelled } else { Ended::Seconds }
    }

    /// Seconds since the start.
    pub(super) fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Where progress goes.
    pub(super) fn progress(&self) -> &'a dyn Progress {
        self.progress
    }
}
