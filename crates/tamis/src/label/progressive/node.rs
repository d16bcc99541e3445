//! One node: local features, and a binary classifier on them.

use std::sync::Arc;

use super::{ProgressiveOptions, TrainingSet};
use crate::counts::{Contingency, Counts, Csr, Vocabulary};
use crate::features::search::Budget;
use crate::label::{
    BayesMulti, BayesOptions, Classifier, ClassifierSpec, Fitted, Problem, Query, Scored, Scratch, Similarity,
};
use crate::{Result, Silent};

/// What a node's score means and how it becomes one in [0,1].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// A margin without bounds (svm): a sigmoid learned on held-out documents makes it a probability.
    Margin,
    /// A log probability (bayes).
    Log,
    /// A share of votes (wknn).
    Share,
    /// A sum of similarities, to be divided by that of both sides (knn).
    Sums,
}

impl Reading {
    pub(super) fn of(spec: &ClassifierSpec) -> Self {
        match spec {
            ClassifierSpec::Svm(_) => Self::Margin,
            ClassifierSpec::Bayes(_) => Self::Log,
            ClassifierSpec::Knn(options) if options.similarity == Similarity::Cosine => Self::Share,
            ClassifierSpec::Knn(_) => Self::Sums,
        }
    }

    /// Whether "the rest" is a label of its own beside the node: where both must compete.
    fn two_labels(self, spec: &ClassifierSpec) -> bool {
        match spec {
            ClassifierSpec::Bayes(BayesOptions { multi: BayesMulti::Joint }) => true,
            _ => self == Self::Sums,
        }
    }
}

/// A trained node. Its feature `i` is `features[i]` of the whole model; these ascend.
#[derive(Debug, Clone)]
pub(crate) struct NodeModel {
    pub(crate) features: Vec<u32>,
    pub(crate) classifier: Fitted,
    /// Score of a document that has none of its features.
    pub(crate) empty: f64,
}

impl NodeModel {
    /// A node from its parts.
    pub(crate) fn new(features: Vec<u32>, classifier: Fitted, spec: &ClassifierSpec) -> Self {
        let reading = Reading::of(spec);
        let mut node = Self { features, classifier, empty: 0.0 };
        let nothing = Query { features: &[], counts: &[], length: 0 };
        node.empty = node.score(nothing, reading, &mut Scratch::default(), &mut Vec::new());
        node
    }

    /// Trains a node; its features are terms of the corpus. None when the selector leaves no term.
    pub(super) fn train(set: &TrainingSet, counts: &Counts, options: &ProgressiveOptions) -> Result<Option<Self>> {
        let mut rows: Vec<(usize, bool)> = set.positives.iter().map(|&r| (r, true)).collect();
        rows.extend(set.negatives.iter().map(|&r| (r, false)));
        rows.sort_unstable();
        let reading = Reading::of(&options.classifier);
        let mut local = bare(counts, &rows.iter().map(|r| r.0).collect::<Vec<_>>());
        local.labels = Arc::new(Vocabulary::new(["node", "rest"]));
        local.assignments = sides(&rows, true);
        let table = Contingency::of(&local);
        let (ranking, _) = options.selector.subset(&table, options.features, &Budget::default(), &Silent)?;
        if ranking.is_empty() {
            return Ok(None);
        }
        let mut terms = ranking.terms().to_vec();
        terms.sort_unstable();
        local.assignments = sides(&rows, reading.two_labels(&options.classifier));
        let problem = Problem::new(&local, &(0..rows.len()).collect::<Vec<_>>(), &terms);
        let classifier = options.classifier.fit(&problem, &Silent)?;
        Ok(Some(Self::new(terms, classifier, &options.classifier)))
    }

    /// The node's score of a document over its own features.
    pub(super) fn score(
        &self,
        document: Query<'_>,
        reading: Reading,
        scratch: &mut Scratch,
        ranked: &mut Vec<Scored>,
    ) -> f64 {
        self.classifier.rank(document, scratch, ranked);
        let of = |label: u32| ranked.iter().find(|s| s.label == label).map(|s| s.score);
        match reading {
            Reading::Margin => of(0).unwrap_or(0.0),
            Reading::Log => of(0).map_or(0.0, |log| log.exp().clamp(0.0, 1.0)),
            Reading::Share => of(0).map_or(0.0, |share| share.clamp(0.0, 1.0)),
            Reading::Sums => {
                let (node, rest) = (of(0).unwrap_or(0.0), of(1).unwrap_or(0.0));
                if node + rest > 0.0 { node / (node + rest) } else { 0.0 }
            }
        }
    }
}

/// The given documents without their names: what training looks at.
fn bare(counts: &Counts, rows: &[usize]) -> Counts {
    Counts {
        vocabulary: Arc::clone(&counts.vocabulary),
        labels: Arc::clone(&counts.labels),
        matrix: counts.matrix.select_rows(rows),
        assignments: Csr::new(0),
        lengths: rows.iter().map(|&r| counts.lengths[r]).collect(),
        ids: vec![String::new(); rows.len()],
        parts: vec![None; rows.len()],
        dates: vec![None; rows.len()],
    }
}

/// Documents × (node, rest), or documents × (node).
fn sides(rows: &[(usize, bool)], both: bool) -> Csr<()> {
    let mut sides = Csr::new(1 + usize::from(both));
    for &(_, positive) in rows {
        sides.push_row(if positive { Some((0, ())) } else { both.then_some((1, ())) });
    }
    sides
}
