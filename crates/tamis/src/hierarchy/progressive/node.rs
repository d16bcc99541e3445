//! One node: local features, and a binary classifier on them.

use std::sync::Arc;

use super::training::Family;
use super::{ProgressiveOptions, TrainingSet};
use crate::classify::{
    BayesMulti, BayesOptions, Classifier, ClassifierSpec, Fitted, Problem, Query, Scored, Scratch, Similarity,
};
use crate::counts::{Contingency, Counts, Csr, Vocabulary};
use crate::features::search::Budget;
use crate::{Progress, Result, Silent, Stoppable};

/// What a node's score means and how it becomes one in `[0,1]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScoreKind {
    /// A margin without bounds (svm): a sigmoid learned on held-out documents makes it a probability.
    Margin,
    /// A log probability (bayes, logistic).
    Log,
    /// A share of votes (wknn).
    Share,
    /// A sum of similarities, to be divided by that of both sides (knn).
    Sums,
}

impl ScoreKind {
    pub(super) fn of(spec: &ClassifierSpec) -> Self {
        match spec {
            ClassifierSpec::Svm(_) => Self::Margin,
            ClassifierSpec::Bayes(_) | ClassifierSpec::Logistic(_) | ClassifierSpec::Tree(_) => Self::Log,
            ClassifierSpec::Knn(options) if options.similarity == Similarity::Cosine => Self::Share,
            ClassifierSpec::Knn(_) => Self::Sums,
        }
    }

    /// Whether "the rest" is a label of its own beside the node: where both must compete.
    fn two_labels(self, spec: &ClassifierSpec) -> bool {
        match spec {
            ClassifierSpec::Bayes(BayesOptions { multi: BayesMulti::Joint, .. }) => true,
            _ => self == Self::Sums,
        }
    }
}

/// The classifier of a node, or of several that learn from the same documents. Its feature `i` is `features[i]` of the
/// whole model; these ascend.
#[derive(Debug, Clone)]
pub(crate) struct NodeModel {
    /// The nodes it scores, ascending: label `i` of the classifier is `members[i]`.
    pub(crate) members: Vec<u32>,
    pub(crate) features: Vec<u32>,
    pub(crate) classifier: Fitted,
    /// Scores of a document that has none of its features, by member.
    pub(crate) empty: Vec<f64>,
}

impl NodeModel {
    /// A classifier from its parts.
    pub(crate) fn new(members: Vec<u32>, features: Vec<u32>, classifier: Fitted, spec: &ClassifierSpec) -> Self {
        let mut node = Self { members, features, classifier, empty: Vec::new() };
        let nothing = Query { features: &[], counts: &[], length: 0 };
        let mut empty = vec![0.0; node.members.len()];
        let mut put = |label: usize, score| empty[label] = score;
        node.score(nothing, ScoreKind::of(spec), &mut Scratch::default(), &mut Vec::new(), &mut put);
        node.empty = empty;
        node
    }

    /// Trains a node; its features are terms of the corpus. None when the selector leaves no term.
    pub(super) fn train(set: &TrainingSet, counts: &Counts, options: &ProgressiveOptions) -> Result<Option<Self>> {
        let mut rows: Vec<(usize, bool)> = set.positives.iter().map(|&r| (r, true)).collect();
        rows.extend(set.negatives.iter().map(|&r| (r, false)));
        rows.sort_unstable();
        let documents: Vec<usize> = rows.iter().map(|r| r.0).collect();
        let terms = match options.features {
            None => terms_of(counts, &documents),
            Some(most) => {
                let mut local = bare(counts, &documents);
                local.labels = Arc::new(Vocabulary::new(["node", "rest"]));
                local.assignments = sides(&rows, true);
                let table = Contingency::of(&local);
                let (ranking, _) = options.selector.subset(&table, most, &Budget::default(), &Silent)?;
                let mut terms = ranking.terms().to_vec();
                terms.sort_unstable();
                terms
            }
        };
        if terms.is_empty() {
            return Ok(None);
        }
        let two_labels = ScoreKind::of(&options.classifier).two_labels(&options.classifier);
        let mut problem = Problem::new(counts, &documents, &terms);
        problem.assignments = sides(&rows, two_labels);
        let classifier = options.classifier.fit(&problem, &Silent)?;
        Ok(Some(Self::new(vec![set.node], terms, classifier, &options.classifier)))
    }

    /// Trains nodes that learn from the same documents and the same features, each against the rest. None when the
    /// documents have no term.
    pub(super) fn train_family(
        family: &Family,
        counts: &Counts,
        options: &ProgressiveOptions,
        progress: &dyn Progress,
    ) -> Result<Option<Self>> {
        let terms = terms_of(counts, &family.rows);
        if terms.is_empty() {
            return Ok(None);
        }
        let mut problem = Problem::new(counts, &family.rows, &terms);
        problem.assignments = family.assignments.clone();
        let classifier = options.classifier.fit(&problem, &Stoppable(progress))?;
        Ok(Some(Self::new(family.nodes.clone(), terms, classifier, &options.classifier)))
    }

    /// The scores of a document over the classifier's own features; `put` gets the place of each member and its score.
    pub(super) fn score(
        &self,
        document: Query<'_>,
        reading: ScoreKind,
        scratch: &mut Scratch,
        ranked: &mut Vec<Scored>,
        put: &mut dyn FnMut(usize, f64),
    ) {
        self.classifier.rank(document, scratch, ranked);
        if reading == ScoreKind::Sums {
            let of = |label: u32| ranked.iter().find(|s| s.label == label).map_or(0.0, |s| s.score);
            let (node, rest) = (of(0), of(1));
            return put(0, if node + rest > 0.0 { node / (node + rest) } else { 0.0 });
        }
        // A neighbour's list may lack the node; beside a node there may be the rest.
        if !ranked.iter().any(|s| s.label == 0) {
            put(0, 0.0);
        }
        for &Scored { label, score } in ranked.iter().filter(|s| (s.label as usize) < self.members.len()) {
            put(
                label as usize,
                match reading {
                    ScoreKind::Margin | ScoreKind::Sums => score,
                    ScoreKind::Log => score.exp().clamp(0.0, 1.0),
                    ScoreKind::Share => score.clamp(0.0, 1.0),
                },
            );
        }
    }
}

/// The terms of the given documents, ascending.
fn terms_of(counts: &Counts, rows: &[usize]) -> Vec<u32> {
    let mut seen = vec![false; counts.vocabulary.len()];
    rows.iter().flat_map(|&r| counts.matrix.row_indices(r)).for_each(|&t| seen[t as usize] = true);
    (0..seen.len() as u32).filter(|&t| seen[t as usize]).collect()
}

/// The given documents without their names: what training looks at.
fn bare(counts: &Counts, rows: &[usize]) -> Counts {
    Counts {
        text: Arc::clone(&counts.text),
        vocabulary: Arc::clone(&counts.vocabulary),
        labels: Arc::clone(&counts.labels),
        matrix: counts.matrix.select_rows(rows),
        assignments: Csr::new(0),
        lengths: rows.iter().map(|&r| counts.lengths[r]).collect(),
        ids: vec![String::new(); rows.len()],
        parts: vec![None; rows.len()],
        dates: vec![None; rows.len()],
        weights: rows.iter().filter_map(|&r| counts.weights.get(r).copied()).collect(),
        fingerprints: Vec::new(),
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
