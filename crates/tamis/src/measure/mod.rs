//! Ranked or decided labels and the truth → numbers, and whether a difference is real.

pub mod assignment;
pub mod correlation;
pub mod curve;
pub mod ranking;
pub mod significance;
pub mod simulation;

mod evaluation;
mod grid;
mod hierarchical;
mod intervals;
mod names;
mod totals;

pub use assignment::{CoOccurrence, Confusion, ConfusionCell, Tally};
pub use evaluation::{Evaluation, EvaluationOptions, LabelRow};
pub use grid::EvaluationGrid;
pub use hierarchical::{Ancestry, HierarchicalTally};
pub use intervals::{Comparison, Interval, Resampling};
pub use names::{Average, Beta, Family, Measure, MeasureSpec};
pub use totals::{ExactSum, MeasureValue};
