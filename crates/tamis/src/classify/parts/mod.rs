//! Training on documents that lie in parts on many machines, to the gap that one machine would stop at.
//!
//! A [`Part`] is some of the documents, packed ([`Packer`]); who holds it, and how often it moves, is somebody else's business (on Spark, a
//! row of bytes). Every document belongs to a part and to a fold by the fingerprint of its text, so parts do not depend on who made them.
//! Training goes in rounds, in the manner of CoCoA+ (Ma et al. 2015; Smith et al. 2018) with multipliers: [`Rounds::message`] is the weights of
//! all problems that are still open, [`Plan::step`] improves the dual variables of a part, and [`Rounds::add`] adds up, in the order of the
//! parts, what they came to. All labels, of the model and of the models of folds, are in the same rounds. What every part says of its losses
//! makes the duality gap of each problem, exactly; a problem whose gap is small enough takes no further part.

mod local;
mod pack;
mod plan;
mod rounds;
mod scores;
mod step;
#[cfg(test)]
mod tests;
mod wire;

pub(in crate::classify) use local::{Ask, Done, Local};
pub use pack::{Packed, Packer, Part, draw_of, fingerprint_of, fold_of, part_of, pieces};
pub use plan::{Plan, PlannedModel, Question};
pub use rounds::{RoundReport, Rounds};
pub use scores::{Scorers, scored};
