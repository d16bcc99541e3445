//! Vectors → ranked labels → decided labels: classifiers, thresholds, taxonomies, the model file.

pub mod bayes;
pub mod linear;
pub mod pipeline;
pub mod progressive;
pub mod svm;
pub mod threshold;
pub mod vector;

mod choose;
mod knn;
mod model;
mod model_file;
mod problem;
mod spec;
mod taxonomy;
mod train;
mod train_taxonomy;
mod why;

pub use bayes::{BayesMulti, BayesOptions, BayesSweep};
pub use choose::{Choice, ChooseOptions, Trial, choose};
pub use knn::{Knn, KnnOptions, KnnSweep, Nested, Similarity, SweepPlace};
pub use linear::{Explanation, Linear, LinearParts, Outputs, Store, Weights};
pub use model::{Labelled, Labeller, Model, TrainingSummary};
pub use model_file::ModelFileInfo;
pub use problem::{Problem, Query};
pub use progressive::{ProgressiveModel, ProgressiveOptions};
pub use spec::{ClassifierRow, ClassifierSpec, Fitted, rank_all};
pub use svm::{Duals, SvmFit, SvmOptions};
pub use taxonomy::{NodeRecord, ParentPolicy, Separator, Taxonomy, TaxonomyFormat, TaxonomyOptions};
pub use threshold::{Threshold, Thresholds};
pub use train::{FitOptions, Size, Trained, fit};
pub use train_taxonomy::{TaxonomyTrained, fit_taxonomy};
pub use vector::{Weighter, Weighting};
pub use why::{LabelFacts, LabelWords, Neighbour, Reason, Reasons, Why, WordShare};

/// A label with its score: one place of a ranked list.
///
/// A ranked list is a slice of these by score descending, ties by label number (SPEC 7).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// Label number.
    pub label: u32,
    /// Its score; never NaN.
    pub score: f64,
}

impl Scored {
    /// The order of ranked lists: score descending, ties by label number.
    pub fn better_first(&self, other: &Self) -> std::cmp::Ordering {
        other.score.total_cmp(&self.score).then(self.label.cmp(&other.label))
    }
}

/// Reusable memory for classification, one for each thread, so that ranking a document allocates nothing.
#[derive(Debug, Default)]
pub struct Scratch {
    /// One number for each label, or for each training document.
    pub(crate) sums: Vec<f64>,
    /// What neighbours need.
    pub(crate) knn: knn::KnnMemory,
    /// What progressive filtering needs.
    pub(crate) progressive: progressive::ProgressiveMemory,
}

/// A fitted classifier: it ranks labels; thresholds decide (SPEC 7, 9).
pub trait Classifier: Send + Sync {
    /// How many labels it knows.
    fn labels(&self) -> usize;

    /// Writes the ranked list for a document into `ranked`, replacing what was there: all labels by score, or for kNN
    /// those with a positive score.
    fn rank(&self, document: Query<'_>, scratch: &mut Scratch, ranked: &mut Vec<Scored>);
}
