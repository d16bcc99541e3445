//! The front door: counts are fitted to a model, a model labels, evaluates, explains itself, and is a file.

mod choose;
mod file;
mod model;
mod train;
mod train_taxonomy;
mod why;

pub use choose::{Choice, ChooseOptions, Trial, choose};
pub use file::ModelFileInfo;
pub use model::{Labelled, Labeller, Model, TrainingSummary};
pub use train::{FitOptions, Trained, fit};
pub use train_taxonomy::{TaxonomyTrained, fit_taxonomy};
pub use why::{LabelFacts, LabelWords, Neighbour, Reason, Reasons, Why, WordShare};
