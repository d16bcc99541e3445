//! How progressive filtering is trained and decides.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{NegativePolicy, TrainingOptions};
use crate::features::{Formula, Score, Selector};
use crate::label::pipeline::{self, Imbalance, Method};
use crate::label::{ClassifierSpec, SvmOptions};
use crate::{Error, Result};

/// How many nodes a document is answered with. Only the most specific accepted nodes are answers: their ancestors are
/// implied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answers {
    /// All accepted nodes, possibly none.
    #[default]
    All,
    /// All accepted nodes; where none is accepted, the first of the ranked list.
    AtLeastOne,
    /// The accepted node that is ranked first; where none is accepted, the first of the ranked list.
    One,
}

impl Answers {
    /// All ways of answering.
    pub const ALL: [Self; 3] = [Self::All, Self::AtLeastOne, Self::One];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::AtLeastOne => "at-least-one",
            Self::One => "one",
        }
    }
}

impl FromStr for Answers {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|a| a.name() == text);
        found.ok_or_else(|| Error::unknown("way of answering", text, Self::ALL.map(Self::name)))
    }
}

/// Options of progressive filtering.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProgressiveOptions {
    /// The classifier of every node.
    pub classifier: ClassifierSpec,
    /// The selector of every node, used on the node's own training set.
    pub selector: Selector,
    /// Features of every node.
    pub features: usize,
    /// Which documents are negative at a node.
    pub negatives: NegativePolicy,
    /// Training documents of a node, half of them positive; all when fewer, or when not given.
    pub per_node: Option<usize>,
    /// How thresholds are found.
    pub method: Method,
    /// Utility, step and bounds of the search for thresholds.
    pub thresholds: pipeline::Options,
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
            features: 200,
            negatives: NegativePolicy::default(),
            per_node: Some(1000),
            method: Method::GreedyExact,
            thresholds: pipeline::Options::default(),
            imbalance: None,
            folds: 3,
            answers: Answers::default(),
            seed: 1,
        }
    }
}

impl ProgressiveOptions {
    pub(super) fn check(&self) -> Result<()> {
        if self.features == 0 {
            return Err(Error::invalid("features", 0, "a node needs at least one feature"));
        }
        if self.folds < 2 {
            let reason = "thresholds are tuned on documents that were held out: two folds or more";
            return Err(Error::invalid("folds", self.folds, reason));
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
