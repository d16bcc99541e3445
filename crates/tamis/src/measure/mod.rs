//! Ranked or decided labels and the truth → numbers, and whether a difference is real.

pub mod assignment;
pub mod correlation;
pub mod curve;
pub mod ranking;
pub mod significance;
pub mod simulation;

mod beta;
mod document;
mod evaluation;
mod grid;
mod hierarchical;
mod intervals;
mod names;
mod probability;
mod registry;
mod totals;

pub use assignment::{CoOccurrence, Confusion, ConfusionCell, Tally};
pub use beta::Beta;
pub use evaluation::{Evaluation, EvaluationOptions, LabelRow};
pub use grid::EvaluationGrid;
pub use hierarchical::{Ancestry, HierarchicalTally};
pub use intervals::{Comparison, Interval, Resampling};
pub use names::{Average, Measure};
pub use probability::{Confidence, Reliability, ReliabilityBin, RiskPoint, risk_coverage};
pub use registry::{Family, MeasureSpec};
pub use totals::{ExactSum, MeasureValue};
