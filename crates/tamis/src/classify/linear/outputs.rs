//! From the values of a linear model to scores of labels.

use super::super::Scored;
use crate::{Error, Result};

/// What the outputs `v = w·x + b` mean, and how they become scores of labels. Labels without a training document have no
/// output and are in no ranked list: nothing is known of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outputs {
    /// The output is the score of the label (SVM one-vs-rest).
    Values(Vec<u32>),
    /// The score is `v − log Σ exp v`: the normalised log posterior (Bayes and multinomial logistic regression, method 7).
    Posteriors(Vec<u32>),
    /// The output is the log odds of the label, the score its log probability `−log(1 + exp(−v))` (Bayes and logistic regression
    /// one-vs-rest).
    Odds(Vec<u32>),
    /// An output for each pair of labels; positive is a vote for the first, negative for the second, 0 half a vote
    /// for each. The score is the number of votes plus `s/(3(1 + |s|))`, where `s` is the sum of the label's outputs in its favour: a
    /// number between −⅓ and ⅓, so it decides only between labels with as many votes. Then label order.
    Votes {
        /// The labels, ascending.
        labels: Vec<u32>,
        /// Places in `labels`.
        pairs: Vec<(u32, u32)>,
    },
}

/// `−log(1 + e^−v)`, without overflow on either side.
#[inline]
pub(super) fn log_probability(v: f64) -> f64 {
    v.min(0.0) - (-v.abs()).exp().ln_1p()
}

impl Outputs {
    /// Number of outputs.
    pub fn len(&self) -> usize {
        match self {
            Self::Values(labels) | Self::Posteriors(labels) | Self::Odds(labels) => labels.len(),
            Self::Votes { pairs, .. } => pairs.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The labels that are ranked, ascending.
    pub fn labels(&self) -> &[u32] {
        match self {
            Self::Values(labels) | Self::Posteriors(labels) | Self::Odds(labels) | Self::Votes { labels, .. } => labels,
        }
    }

    pub(super) fn check(&self, known: usize) -> Result<()> {
        let labels = self.labels();
        if labels.windows(2).any(|w| w[0] >= w[1]) || labels.last().is_some_and(|&l| l as usize >= known) {
            return Err(Error::data(format!("the labels of the outputs must ascend and be below {known}")));
        }
        if let Self::Votes { labels, pairs } = self
            && pairs.iter().any(|&(a, b)| a >= b || b as usize >= labels.len())
        {
            return Err(Error::data("a pair of labels is out of range"));
        }
        Ok(())
    }

    /// Writes the ranked list for outputs `v`, which are overwritten where that saves memory.
    pub(in crate::classify) fn rank(&self, v: &mut Vec<f64>, ranked: &mut Vec<Scored>) {
        ranked.clear();
        let plain = |labels: &[u32], v: &[f64], ranked: &mut Vec<Scored>| {
            ranked.extend(labels.iter().zip(v).map(|(&label, &score)| Scored { label, score }));
        };
        match self {
            Self::Values(labels) => plain(labels, v, ranked),
            Self::Posteriors(labels) => {
                let highest = v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let log_sum = highest + v.iter().map(|x| (x - highest).exp()).sum::<f64>().ln();
                for x in v.iter_mut() {
                    *x -= log_sum;
                }
                plain(labels, v, ranked);
            }
            Self::Odds(labels) => {
                for x in v.iter_mut() {
                    *x = log_probability(*x);
                }
                plain(labels, v, ranked);
            }
            Self::Votes { labels, pairs } => {
                // Behind the outputs: votes, then sums in favour.
                let (outputs, n) = (pairs.len(), labels.len());
                v.resize(outputs + 2 * n, 0.0);
                let (outputs, counts) = v.split_at_mut(outputs);
                let (votes, sums) = counts.split_at_mut(n);
                for (&(a, b), &value) in pairs.iter().zip(&*outputs) {
                    let (a, b) = (a as usize, b as usize);
                    let vote = if value > 0.0 {
                        1.0
                    } else if value < 0.0 {
                        0.0
                    } else {
                        0.5
                    };
                    votes[a] += vote;
                    votes[b] += 1.0 - vote;
                    sums[a] += value;
                    sums[b] -= value;
                }
                ranked.extend(labels.iter().enumerate().map(|(at, &label)| Scored {
                    label,
                    score: votes[at] + sums[at] / (3.0 * (1.0 + sums[at].abs())),
                }));
            }
        }
        ranked.sort_unstable_by(Scored::better_first);
    }

    /// Turns one number for each output into one for each ranked label, as [`Linear::feature_weights`] says.
    ///
    /// [`Linear::feature_weights`]: super::Linear::feature_weights
    pub(super) fn per_label(&self, mut numbers: Vec<f64>) -> Vec<f64> {
        match self {
            Self::Values(_) | Self::Odds(_) => numbers,
            Self::Posteriors(labels) => {
                let mean = numbers.iter().sum::<f64>() / labels.len().max(1) as f64;
                for x in &mut numbers {
                    *x -= mean;
                }
                numbers
            }
            Self::Votes { labels, pairs } => {
                let mut sums = vec![0.0; labels.len()];
                for (&(a, b), x) in pairs.iter().zip(&numbers) {
                    sums[a as usize] += x;
                    sums[b as usize] -= x;
                }
                sums
            }
        }
    }
}
