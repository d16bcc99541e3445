//! Ranked labels → decided labels: flat thresholds (method 9) and probabilities.
//!
//! A [`Threshold`] is a policy with a name (`rcut(3)`, `scut(beta=0.5)`); tuned on [`HeldOut`] scores it becomes
//! [`Thresholds`], which decide. Every threshold works with every classifier: the ranked list is all they see.

mod calibration;
mod curve;
mod decide;
mod exclusive;
mod expression;
mod goal;
mod held_out;
mod policy;
mod precision;
mod tune;

pub use calibration::{Calibration, CalibrationMethod};
pub use curve::{CurvePoint, ThresholdCurve};
pub use decide::Thresholds;
pub use exclusive::Rivalry;
pub use held_out::HeldOut;
pub use policy::{Goal, Pcut, Precision, Rcut, Scut, Threshold};
pub use tune::{ThresholdReport, Tuned};
