//! How progressive filtering is trained and decides.

use serde::{Deserialize, Serialize};

use super::{NegativePolicy, TrainingOptions};
use crate::classify::svm::Multi;
use crate::classify::{ClassifierSpec, SvmOptions};
use crate::features::{Formula, Score, Selector};
use crate::hierarchy::pipeline;
use crate::hierarchy::pipeline::{Imbalance, Method};
use crate::named::named;
use crate::{Error, Result};

named! {
    /// How many nodes a document is answered with, and whether thresholds have a say. Ancestors of an answer are implied.
    #[derive(Default)]
    pub enum Answers ("way of answering") {
        /// The most specific of the accepted nodes, possibly none.
        #[default]
        All = "all",
        /// The most specific of the accepted nodes; where none is accepted, the first of the ranked list.
        AtLeastOne = "at-least-one",
        /// Of the accepted nodes and their ancestors the one that is ranked first; where none is accepted, the first of the
        /// ranked list. An ancestor is an answer too: a document that a node below accepts wrongly should stop above it.
        One = "one",
        /// The first of the ranked list, whatever the thresholds: the path on which a document most likely ends.
        Best = "best",
    }
}

/// Options of progressive filtering.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProgressiveOptions {
    /// The classifier of every node.
    pub classifier: ClassifierSpec,
    /// The selector of every node, used on the node's own training set; of no use where nodes take all features.
    pub selector: Selector,
    /// Features of every node; when not given, all terms of the node's training documents.
    pub features: Option<usize>,
    /// Which documents are negative at a node.
    pub negatives: NegativePolicy,
    /// Training documents of a node, at most half of them positive and half negative; all when not given.
    pub per_node: Option<usize>,
    /// How thresholds are found.
    pub method: Method,
    /// Other ways that compete with it: taken is what does best on held-out documents that its thresholds were not selected on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rivals: Vec<Method>,
    /// Nodes with fewer held-out documents share thresholds; 0 for none. When not given, [`ProgressiveOptions::RARE`] or none, whichever
    /// does better on documents that thresholds were not selected on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rare: Option<usize>,
    /// Utility, step and bounds of the search for thresholds.
    pub thresholds: pipeline::Options,
    /// A pipeline whose thresholds reach less than this utility on held-out documents never accepts. Nodes with one or
    /// two documents often have no better threshold than one that lets half the corpus through.
    pub least_utility: f64,
    /// Positives to negatives to tune for; as in the training documents when not given.
    pub imbalance: Option<Imbalance>,
    /// Folds of the training documents: each document is scored by nodes that have not seen it, for the thresholds.
    pub folds: usize,
    /// How many answers a document gets.
    pub answers: Answers,
    /// Seed of folds and training sets.
    pub seed: u64,
}

impl Default for ProgressiveOptions {
    fn default() -> Self {
        let ig = Score::new(Formula::Ig, None).expect("ig is a score of its own, without pooling");
        Self {
            classifier: ClassifierSpec::Svm(SvmOptions::default()),
            selector: Selector::score(ig),
            features: None,
            negatives: NegativePolicy::default(),
            per_node: None,
            method: Method::GreedyExact,
            rivals: Vec::new(),
            rare: None,
            thresholds: pipeline::Options::default(),
            least_utility: 0.1,
            imbalance: None,
            folds: 3,
            answers: Answers::default(),
            seed: 1,
        }
    }
}

impl ProgressiveOptions {
    /// Held-out documents that are few: nodes with fewer may share thresholds.
    pub const RARE: usize = 10;

    /// Ways of finding thresholds that compete, and below how many documents nodes share. Weights that bring positives and negatives
    /// to another ratio are a node's own, and such nodes do not share.
    pub(super) fn ways(&self) -> Vec<(Method, usize)> {
        let sharing = match self.rare {
            _ if self.imbalance.is_some() => vec![0],
            Some(rare) => vec![rare],
            None => vec![0, Self::RARE],
        };
        let methods = std::iter::once(self.method).chain(self.rivals.iter().copied());
        methods.flat_map(|method| sharing.iter().map(move |&rare| (method, rare))).collect()
    }

    /// The setting of addis 4 (method 10): 200 words of `ig` and at most 500 positives and 500 negatives at each node, TSA,
    /// every threshold that was found in use. Smaller and faster to train than the default, and less accurate.
    pub fn paper() -> Self {
        Self {
            features: Some(200),
            per_node: Some(1000),
            method: Method::Tsa,
            rare: Some(0),
            least_utility: 0.0,
            ..Self::default()
        }
    }

    /// Whether siblings learn from the same vectors, so that they can be trained together as one against the rest.
    pub(super) fn families(&self) -> bool {
        let separate = matches!(&self.classifier, ClassifierSpec::Svm(svm) if svm.multi == Multi::Ovr);
        separate && self.features.is_none() && self.per_node.is_none()
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.features == Some(0) {
            return Err(Error::invalid("features", 0, "a node needs at least one feature"));
        }
        if self.folds < 2 {
            let reason = "thresholds are tuned on documents that were held out: two folds or more";
            return Err(Error::invalid("folds", self.folds, reason));
        }
        if matches!(self.classifier, ClassifierSpec::Tree(_)) {
            return Err(Error::invalid(
                "classifier",
                &self.classifier,
                "a node of the taxonomy cannot be a tree itself",
            ));
        }
        if !(0.0..=1.0).contains(&self.least_utility) {
            return Err(Error::invalid("least_utility", self.least_utility, "must lie in [0,1]"));
        }
        if self.selector.has_auto() {
            return Err(Error::invalid("selector", &self.selector, "a λ cannot be learned at every node; name it"));
        }
        Ok(())
    }

    pub(super) fn training(&self) -> TrainingOptions {
        TrainingOptions { negatives: self.negatives, per_node: self.per_node, seed: self.seed }
    }
}
