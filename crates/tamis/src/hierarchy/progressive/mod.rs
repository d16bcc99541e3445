//! Progressive filtering: a binary classifier for each node of a taxonomy (method 10, addis 2).
//!
//! [`fit`] trains the nodes, scores held-out training documents and tunes thresholds along every pipeline;
//! [`ProgressiveModel`] accepts, and ranks nodes.

mod external;
mod fit;
mod held_out;
mod levels;
mod model;
mod node;
mod options;
mod sharing;
mod tables;
mod training;

pub use external::{NodeScores, ScoreFilter};
pub use fit::{ProgressiveFit, fit};
pub use levels::Step;
pub use model::{NodeState, ProgressiveMemory, ProgressiveModel, Tuned};
pub use options::{Answers, ProgressiveOptions};
pub use sharing::Judged;
pub use tables::score_tables;
pub use training::{NegativePolicy, NodeDocuments, TrainingOptions, TrainingSet, TrainingSets};

pub(crate) use node::NodeModel;
