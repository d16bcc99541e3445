//! Progressive filtering: a binary classifier for each node of a taxonomy (SPEC 10, addis 2).

mod training;

pub use training::{NegativePolicy, NodeDocuments, TrainingOptions, TrainingSet, TrainingSets};
