//! Vectors → ranked labels: classifiers, each of which ranks labels. Thresholds decide, elsewhere.

pub mod bayes;
pub mod linear;
pub mod logistic;
pub mod parts;
pub mod svm;
pub mod tree;
pub mod vector;

mod arguments;
mod class_weights;
pub(crate) mod knn;
mod problem;
mod rows;
mod spec;
pub(crate) mod sweep;

pub use bayes::{BayesMulti, BayesOptions, BayesSweep};
pub use class_weights::ClassWeights;
pub use knn::{Knn, KnnOptions, KnnSweep, Nested, Similarity, SweepPlace};
pub use linear::{Explanation, Linear, LinearParts, OneOutput, Outputs, Store, Weights};
pub use logistic::{LogisticFit, LogisticOptions};
pub use problem::{Problem, Query};
pub use spec::{ClassifierSpec, Fitted, rank_documents};
pub use svm::{Duals, SvmFit, SvmOptions};
pub use tree::{LabelTrees, TreeOptions};
pub use vector::{Vectors, Weighter, Weighting};

/// A label with its score: one place of a ranked list.
///
/// A ranked list is a slice of these by score descending, ties by label number (method 7).
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
    /// What label trees need.
    pub(crate) tree: tree::TreeMemory,
}

/// A fitted classifier: it ranks labels; thresholds decide (method 7, 9).
pub trait Classifier: Send + Sync {
    /// How many labels it knows.
    fn labels(&self) -> usize;

    /// Writes the ranked list for a document into `ranked`, replacing what was there: all labels by score, or for kNN
    /// those with a positive score.
    fn rank(&self, document: Query<'_>, scratch: &mut Scratch, ranked: &mut Vec<Scored>);
}
