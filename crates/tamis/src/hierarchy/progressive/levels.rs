//! What people are shown of a filter: the score of each node for a document, and what moving a threshold would do.

use rayon::prelude::*;

use super::held_out::Scores;
use super::{ProgressiveMemory, ProgressiveModel};
use crate::Result;
use crate::classify::Query;
use crate::measure::Beta;
use crate::threshold::ThresholdCurve;

/// A node on the way to another: its score for a document, and what it must reach there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The node.
    pub node: u32,
    /// Its score, in `[0,1]`.
    pub score: f64,
    /// The threshold that the pipeline has for this level; none when the pipeline never accepts.
    pub threshold: Option<f64>,
}

impl ProgressiveModel {
    /// The score (CSV, in `[0,1]`) of every node for a document.
    pub fn node_scores(&self, document: Query<'_>, memory: &mut ProgressiveMemory) -> Vec<f64> {
        self.raw(document, memory);
        self.raw_scores(memory).zip(self.taxonomy.nodes()).map(|(raw, n)| self.csv(n, raw)).collect()
    }

    /// The way to a node, root first, with the scores of [`ProgressiveModel::node_scores`].
    pub fn steps(&self, node: u32, scores: &[f64]) -> Vec<Step> {
        let thresholds = self.tuned(node).map(|t| t.thresholds.as_slice());
        let step = |(level, node): (usize, u32)| Step {
            node,
            score: scores[node as usize],
            threshold: thresholds.and_then(|t| t.get(level)).copied(),
        };
        self.taxonomy.pipeline(node).into_iter().enumerate().map(step).collect()
    }
}

impl Scores {
    /// For every pipeline that accepts something: precision and recall against the threshold of its last level, the
    /// levels above staying as they were tuned.
    pub(super) fn curves(&self, model: &ProgressiveModel) -> Result<Vec<ThresholdCurve>> {
        let nodes: Vec<u32> = model.taxonomy.nodes().collect();
        let curve = |&node: &u32| -> Result<Option<ThresholdCurve>> {
            let Some(tuned) = model.tuned(node) else { return Ok(None) };
            let table = self.table(model, node)?;
            let last = table.depth() - 1;
            let mut above = tuned.thresholds.clone();
            above[last] = 0.0;
            let (mut positives, mut negatives, mut missing) = (Vec::new(), Vec::new(), 0);
            for ((&score, &right), passes) in table.level(last).iter().zip(table.truth()).zip(table.accepted(&above)) {
                match (passes, right) {
                    (true, true) => positives.push(score as f32),
                    (true, false) => negatives.push(score as f32),
                    (false, true) => missing += 1,
                    (false, false) => {}
                }
            }
            Ok(Some(ThresholdCurve::of_scores(
                node,
                positives,
                negatives,
                missing,
                tuned.thresholds.last().copied(),
                Beta::ONE,
            )))
        };
        let curves: Vec<Option<ThresholdCurve>> = nodes.par_iter().map(curve).collect::<Result<_>>()?;
        Ok(curves.into_iter().flatten().collect())
    }
}
