//! The score of one label without those of the others.

use super::{Linear, Outputs, Weights};
use crate::classify::{Query, Weighter};

/// What the score of one label takes. The score is the one that ranking gives, to the last bit: the same additions in the same
/// order.
#[derive(Debug)]
pub struct OneOutput<'l> {
    weighter: &'l Weighter,
    weights: OneWeights,
    /// What the sum of a quantised output is multiplied with.
    scale: Option<f64>,
    bias: f64,
    every: Option<f64>,
    common: &'l [f64],
    /// Whether the output is the log odds of the label.
    odds: bool,
}

/// One weight for each feature.
#[derive(Debug)]
enum OneWeights {
    Double(Vec<f64>),
    Single(Vec<f32>),
}

impl Linear {
    /// The score of one label by itself; `None` where it depends on those of others (posteriors, votes) or the label is not
    /// ranked.
    pub fn one(&self, label: u32) -> Option<OneOutput<'_>> {
        let parts = self.parts();
        let (labels, odds) = match &parts.outputs {
            Outputs::Values(labels) => (labels, false),
            Outputs::Odds(labels) => (labels, true),
            Outputs::Posteriors(_) | Outputs::Votes { .. } => return None,
        };
        let output = labels.binary_search(&label).ok()?;
        let features = self.features();
        let (weights, scale) = match &parts.weights {
            Weights::Double(store) => (OneWeights::Double(store.column(output, features)), None),
            Weights::Single(store) => (OneWeights::Single(store.column(output, features)), None),
            Weights::Byte { store, scales } => {
                let bytes: Vec<i8> = store.column(output, features);
                (OneWeights::Single(bytes.into_iter().map(f32::from).collect()), Some(f64::from(scales[output])))
            }
        };
        let every = parts.every.get(output).copied();
        Some(OneOutput {
            weighter: &parts.weighter,
            weights,
            scale,
            bias: parts.bias[output],
            every,
            common: &parts.common,
            odds,
        })
    }
}

impl OneOutput<'_> {
    /// The score of a document.
    pub fn score(&self, document: Query<'_>) -> f64 {
        let (mut sum, mut total, mut shared) = (0.0, 0.0, 0.0);
        let mut rest = |feature: usize, value: f64| {
            total += value;
            if let Some(weight) = self.common.get(feature) {
                shared += value * weight;
            }
        };
        let scale = match &self.weights {
            OneWeights::Double(weights) => self.weighter.visit(document, |f, x| {
                sum += x * weights[f];
                rest(f, x);
            }),
            OneWeights::Single(weights) => self.weighter.visit(document, |f, x| {
                sum += x * f64::from(weights[f]);
                rest(f, x);
            }),
        };
        let mut sums = [self.scale.map_or(sum, |s| sum * s)];
        super::finish(&mut sums, scale, &[self.bias], self.every.as_slice(), total, shared);
        if self.odds { super::outputs::log_probability(sums[0]) } else { sums[0] }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::Silent;
    use crate::classify::{BayesMulti, BayesOptions, Classifier as _, LogisticOptions, Problem, Scratch, SvmOptions};
    use crate::counts::Counts;

    fn problem() -> Problem {
        let counts = Counts::from_rows(&[
            (vec!["a", "b", "b"], vec!["X"]),
            (vec!["a", "c", "c", "c", "c"], vec!["Y"]),
            (vec!["a", "d"], vec!["X", "Y"]),
            (vec!["d", "d", "e"], vec!["Z"]),
            (vec!["e", "b", "c"], vec!["Z", "X"]),
        ]);
        Problem::new(&counts, &[0, 1, 2, 3, 4], &[0, 1, 2, 3, 4])
    }

    /// Every label of every document has the score that ranking gives it, bit by bit.
    #[test]
    fn one_score_is_that_of_the_ranking() {
        let problem = problem();
        let svm = SvmOptions::default().fit(&problem, &Silent).unwrap().model;
        let logistic = LogisticOptions::default().fit(&problem, &Silent).unwrap().model;
        let bayes = BayesOptions { multi: BayesMulti::Ovr, ..BayesOptions::default() }.fit(&problem).unwrap();
        for model in [svm.quantised().unwrap(), svm, logistic, bayes] {
            let mut scratch = Scratch::default();
            let mut ranked = Vec::new();
            for row in 0..5 {
                model.rank(problem.query(row), &mut scratch, &mut ranked);
                assert_eq!(ranked.len(), 3);
                for scored in &ranked {
                    let one = model.one(scored.label).unwrap();
                    assert_eq!(one.score(problem.query(row)).to_bits(), scored.score.to_bits(), "{model:?}");
                }
            }
            assert!(model.one(7).is_none());
        }
    }

    #[test]
    fn posteriors_need_all_labels() {
        let problem = problem();
        let bayes = BayesOptions { multi: BayesMulti::Joint, ..BayesOptions::default() }.fit(&problem).unwrap();
        assert!(bayes.one(0).is_none());
    }
}
