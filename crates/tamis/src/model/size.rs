//! How large the file of a model would be with fewer terms. Most of a file may not be about terms at all: curves, labels, what people
//! are shown. So the file is put together as it would be, and measured.

use std::sync::Arc;

use super::{ModelParts, Ranker, Trained, file};
use crate::Result;
use crate::classify::{Fitted, Linear, LinearParts};
use crate::counts::Vocabulary;

impl Trained {
    /// About how many bytes the file of this model would have with so many of its features, when the rest is said and nothing is
    /// looked for; with all of them or more, as many as it has, and its share for each feature more. Curves are taken to be as long as
    /// they are, and weights of 0 to stay so: both depend on how well labels are told apart, so that sizes that lose much are larger.
    pub fn bytes_with(&self, features: usize) -> Result<u64> {
        let parts: &ModelParts = &self.model;
        let taken = parts.terms.len();
        if features < taken {
            return file::size_of(&with_features(parts, &self.best(features))?);
        }
        let whole = file::size_of(parts)?;
        if features == taken {
            return Ok(whole);
        }
        let fixed = file::size_of(&with_features(parts, &[])?)?;
        let each = whole.saturating_sub(fixed) as f64 / taken.max(1) as f64;
        Ok(whole + (each * (features - taken) as f64) as u64)
    }

    /// The best features, ascending.
    fn best(&self, features: usize) -> Vec<u32> {
        if self.ranking.is_empty() {
            return (0..features as u32).collect();
        }
        let mut best: Vec<u32> = self.ranking.iter().take(features).copied().collect();
        best.sort_unstable();
        best
    }
}

/// The parts with some of the features (ascending), to be written and not to rank.
fn with_features(parts: &ModelParts, kept: &[u32]) -> Result<ModelParts> {
    let mut place = vec![None; parts.terms.len()];
    kept.iter().zip(0u32..).for_each(|(&feature, at)| place[feature as usize] = Some(at));
    let of_terms = parts.terms.iter().zip(&parts.feature_of);
    let own: Vec<(&str, u32)> =
        of_terms.filter_map(|(term, &feature)| Some((term, place[feature as usize]?))).collect();
    let ranker = match &parts.ranker {
        Ranker::Flat(Fitted::Linear(linear)) => {
            let of = linear.parts();
            let common = kept.iter().filter_map(|&feature| of.common.get(feature as usize).copied()).collect();
            Ranker::Flat(Fitted::Linear(Linear::from_parts(LinearParts {
                weighter: of.weighter.select(kept),
                weights: of.weights.select(kept),
                common,
                labels: of.labels,
                outputs: of.outputs.clone(),
                bias: of.bias.clone(),
                every: of.every.clone(),
            })?))
        }
        Ranker::Flat(Fitted::Trees(trees)) => Ranker::Flat(Fitted::Trees(trees.select(kept)?)),
        Ranker::Flat(Fitted::Knn { model, problem }) => {
            let mut problem = problem.clone();
            problem.matrix = problem.matrix.map_columns(kept.len(), &place);
            Ranker::Flat(Fitted::Knn { model: model.clone(), problem })
        }
        along @ Ranker::Along(_) => along.clone(),
    };
    let mut shown = parts.shown.clone();
    // Nothing was compared for that model.
    shown.frontier.clear();
    Ok(ModelParts {
        text: parts.text.clone(),
        terms: Arc::new(Vocabulary::from_sorted(own.iter().map(|(term, _)| *term))),
        feature_of: own.into_iter().map(|(_, feature)| feature).collect(),
        labels: Arc::clone(&parts.labels),
        taxonomy: parts.taxonomy.clone(),
        ranker,
        neighbours: parts.neighbours.clone(),
        thresholds: parts.thresholds.clone(),
        curves: parts.curves.clone(),
        calibration: parts.calibration.clone(),
        worth: parts.worth.clone(),
        summary: parts.summary.clone(),
        seen: parts.seen.clone(),
        target: parts.target.clone(),
        shown,
    })
}
