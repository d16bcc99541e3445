//! Thresholds along a pipeline of classifiers: scores and truth in, one threshold for each level out (method 10, addis).
//!
//! A document passes a pipeline when every classifier on it gives `CSV ≥ θ`. [`select`] finds thresholds of a good, or
//! provably the best, utility, and [`Selection`] says how they were found.

mod apart;
mod exact;
mod greedy_exact;
mod grid;
mod imbalance;
mod method;
mod ranks;
mod rbf;
mod read;
mod scores;
mod state;
mod tsa;
mod utility;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use apart::judged_apart;
pub use imbalance::Imbalance;
pub use method::Method;
pub use scores::{Outcome, ScoreTable};
pub use utility::Utility;

use crate::{Error, Progress, Result, Silent};

/// TSA's step in addis 4.
pub const TSA_STEP: f64 = 0.0005;
/// RBF's step in addis 4.
pub const RBF_STEP: f64 = 0.05;

/// How thresholds are selected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// What is maximised.
    pub utility: Utility,
    /// The step δ of tsa and rbf, above 0 and at most 1; their own default ([`TSA_STEP`], [`RBF_STEP`]) when not given.
    pub step: Option<f64>,
    /// A repair of tsa goes on while the utility is at least this share of the best it has seen; in `[0,1]`.
    pub keep: f64,
    /// After its pass, greedy-exact goes on until no single threshold can be moved to a better utility.
    pub until_stable: bool,
    /// greedy-exact climbs from this many starts, from 1 to 7, and keeps the best: all thresholds 0 with TSA's moves, then
    /// every level at a quantile of its positives. When not given, 3 below 500 documents and 1 from there on.
    pub starts: Option<usize>,
    /// Seconds after which exact stops and says how far it may be from the best; none for no limit.
    pub seconds: Option<f64>,
    /// Boxes of thresholds after which exact stops. Unlike seconds, the same on every machine; none for no limit.
    pub boxes: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            utility: Utility::F1,
            step: None,
            keep: 0.8,
            until_stable: false,
            starts: None,
            seconds: Some(10.0),
            boxes: None,
        }
    }
}

impl Options {
    fn check(&self) -> Result<()> {
        self.utility.check()?;
        if !(0.0..=1.0).contains(&self.keep) {
            return Err(Error::invalid("share kept", self.keep, "must lie in [0,1]"));
        }
        if let Some(starts) = self.starts
            && !(1..=greedy_exact::MOST_STARTS).contains(&starts)
        {
            return Err(Error::invalid("starts", starts, "must be from 1 to 7"));
        }
        if let Some(step) = self.step {
            grid::Grid::new(step)?;
        }
        if let Some(seconds) = self.seconds
            && !(seconds.is_finite() && seconds >= 0.0)
        {
            return Err(Error::invalid("seconds", seconds, "must be a number of seconds, 0 or more"));
        }
        Ok(())
    }
}

/// One calibrate step: the thresholds of a level and of those below it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CalibrateStep {
    /// The level it begins at, 1 for the root. rbf and exact have one step, at the root.
    pub level: usize,
    /// How long it took.
    pub seconds: f64,
    /// How many utilities it stands for: for tsa and rbf as their pseudo-code computes them.
    pub evaluations: u64,
}

/// Selected thresholds and what is known about them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// How they were found.
    pub method: Method,
    /// One for each level, root first; a document passes a level when its score is at least this.
    pub thresholds: Vec<f64>,
    /// Their utility on the table.
    pub utility: f64,
    /// What they get right and wrong on the table.
    pub outcome: Outcome,
    /// Utilities evaluated, see [`CalibrateStep::evaluations`]; for exact, boxes of thresholds looked at.
    pub evaluations: u64,
    /// No thresholds at all have a utility above this, where that is known (exact).
    pub bound: Option<f64>,
    /// Whether no thresholds at all are better by more than 1e-10.
    pub proven: bool,
    /// Time by calibrate step.
    pub steps: Vec<CalibrateStep>,
    /// tsa: of the steps from one end of its grid to the other, the share that a repair of each level makes on average, root
    /// first (ρ of addis 4).
    /// Empty for other methods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub visited: Vec<f64>,
}

/// A selection with the table it was made on: what programs read.
#[derive(Debug, Serialize)]
pub struct Calibrated<'a> {
    method: Method,
    levels: &'a [String],
    thresholds: &'a [f64],
    utility: f64,
    utility_name: Utility,
    evaluations: u64,
    bound: Option<f64>,
    proven: bool,
    documents: usize,
    positives: usize,
    negative_weight: f64,
    outcome: Outcome,
    steps: &'a [CalibrateStep],
}

impl Selection {
    /// Everything about the selection, for programs.
    pub fn about<'a>(&'a self, table: &'a ScoreTable, utility: Utility) -> Calibrated<'a> {
        Calibrated {
            method: self.method,
            levels: table.levels(),
            thresholds: &self.thresholds,
            utility: self.utility,
            utility_name: utility,
            evaluations: self.evaluations,
            bound: self.bound,
            proven: self.proven,
            documents: table.documents(),
            positives: table.positives(),
            negative_weight: table.negative_weight(),
            outcome: self.outcome,
            steps: &self.steps,
        }
    }
}

/// What a method hands back; [`select_with`] adds what follows from the thresholds.
#[derive(Debug, Default)]
struct Found {
    thresholds: Vec<f64>,
    steps: Vec<CalibrateStep>,
    bound: Option<f64>,
    proven: bool,
    visited: Vec<f64>,
}

/// Selects thresholds for a pipeline.
///
/// ```
/// use tamis::hierarchy::pipeline::{Method, Options, ScoreTable, select};
///
/// let table = ScoreTable::from_rows(&[
///     (vec![0.9, 0.8], true),
///     (vec![0.8, 0.6], true),
///     (vec![0.9, 0.3], false),
///     (vec![0.2, 0.7], false),
/// ])?;
/// let best = select(&table, Method::Exact, &Options::default())?;
/// assert_eq!((best.thresholds, best.utility, best.proven), (vec![0.8, 0.6], 1.0, true));
/// # Ok::<(), tamis::Error>(())
/// ```
pub fn select(table: &ScoreTable, method: Method, options: &Options) -> Result<Selection> {
    select_with(table, method, options, &Silent)
}

/// Selects thresholds for scores of anyone's classifiers, at another imbalance where one is given; the table comes back as it
/// was judged. A step that the method has no use for is refused.
pub fn calibrate(
    table: ScoreTable,
    method: Method,
    options: &Options,
    imbalance: Option<Imbalance>,
    progress: &dyn Progress,
) -> Result<(ScoreTable, Selection)> {
    if let Some(step) = options.step
        && !matches!(method, Method::Tsa | Method::Rbf)
    {
        return Err(Error::invalid("step", step, format!("{method} has no grid; a step is for tsa and rbf")));
    }
    let table = match imbalance {
        // Weights need a positive; without one it is the selection that explains what is missing.
        Some(imbalance) if table.positives() > 0 => table.weighted_to(imbalance)?,
        _ => table,
    };
    let selection = select_with(&table, method, options, progress)?;
    Ok((table, selection))
}

/// Selects thresholds for a pipeline; a stop asked through `progress` makes exact return its best so far.
pub fn select_with(
    table: &ScoreTable,
    method: Method,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Selection> {
    options.check()?;
    table.check_positives()?;
    let found = match method {
        Method::Tsa => tsa::run(table, options)?,
        Method::Rbf => rbf::run(table, options, progress)?,
        Method::Exact => exact::run(table, options, progress)?,
        Method::GreedyExact => greedy_exact::run(table, options),
    };
    let outcome = table.outcome(&found.thresholds);
    Ok(Selection {
        method,
        utility: table.value(options.utility, outcome),
        outcome,
        evaluations: found.steps.iter().map(|s| s.evaluations).fold(0, u64::saturating_add),
        thresholds: found.thresholds,
        bound: found.bound,
        proven: found.proven,
        steps: found.steps,
        visited: found.visited,
    })
}

/// Selects thresholds for many pipelines at once; a pipeline without positives gets its error, the others their
/// thresholds. Results are in the order of the tables and do not depend on the number of threads (exact: as long as it
/// is not stopped by time).
pub fn select_all(
    tables: &[ScoreTable],
    method: Method,
    options: &Options,
    progress: &dyn Progress,
) -> Vec<Result<Selection>> {
    progress.start("thresholds", Some(tables.len() as u64));
    let selections = tables
        .par_iter()
        .map(|table| {
            if progress.cancelled() {
                return Err(Error::Interrupted);
            }
            let selection = select_with(table, method, options, progress);
            progress.add(1);
            selection
        })
        .collect();
    progress.finish();
    selections
}
