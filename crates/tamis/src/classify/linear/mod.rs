//! The fitted linear model that Bayes, SVM and logistic regression become: one weight for a feature and an output, a bias for an output.

mod one;
mod outputs;
mod weights;

pub use one::OneOutput;
pub use outputs::Outputs;
pub use weights::{Store, Weights};

use super::{Classifier, Query, Scored, Scratch, Weighter};
use crate::counts::Csr;
use crate::{Error, Result};

/// All that makes up a [`Linear`] model: what its file stores.
///
/// The value of output `o` for a vector `x` is `bias[o] + Σ_f x_f·(weights[f,o] + every[o] + common[f])`. The last two let
/// Bayes stay sparse: smoothing gives every term a weight for every label, but all that no document supports are alike.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearParts {
    /// How many labels there are, with or without an output.
    pub labels: usize,
    /// How documents become vectors.
    pub weighter: Weighter,
    /// What the outputs mean.
    pub outputs: Outputs,
    /// Features × outputs.
    pub weights: Weights,
    /// One for each output.
    pub bias: Vec<f64>,
    /// One for each output, or none.
    pub every: Vec<f64>,
    /// One for each feature, or none.
    pub common: Vec<f64>,
}

/// Why a label has its score for a document: its bias, and what each feature of the document adds.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// What the label has without any feature.
    pub bias: f64,
    /// Feature number and what it adds, in the document's order.
    pub features: Vec<(u32, f64)>,
}

/// A fitted linear model.
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    parts: LinearParts,
}

impl Linear {
    /// Takes parts that were computed or stored, and checks that they fit together.
    pub fn from_parts(parts: LinearParts) -> Result<Self> {
        let (features, outputs) = (parts.weighter.features(), parts.outputs.len());
        parts.outputs.check(parts.labels)?;
        parts.weights.check(features, outputs)?;
        let numbers = |name: &str, found: &[f64], expected: usize, optional: bool| {
            if found.len() != expected && !(optional && found.is_empty()) {
                return Err(Error::data(format!("{name}: {} numbers instead of {expected}", found.len())));
            }
            if found.iter().any(|x| !x.is_finite()) {
                return Err(Error::data(format!("{name}: not a finite number")));
            }
            Ok(())
        };
        numbers("bias", &parts.bias, outputs, false)?;
        numbers("every", &parts.every, outputs, true)?;
        numbers("common", &parts.common, features, true)?;
        Ok(Self { parts })
    }

    /// What it is made of.
    pub fn parts(&self) -> &LinearParts {
        &self.parts
    }

    /// Gives its parts back.
    pub fn into_parts(self) -> LinearParts {
        self.parts
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.parts.weighter.features()
    }

    /// The weights of a feature, one for each ranked label, in the order of [`Outputs::labels`]: what one more unit of
    /// the feature speaks for the label. For posteriors they are taken relative to their mean over labels, since only
    /// differences between labels count there; for votes they are sums over the label's pairs.
    pub fn feature_weights(&self, feature: u32) -> Vec<f64> {
        let LinearParts { outputs, weights, every, common, .. } = &self.parts;
        let at = feature as usize;
        if at >= self.features() {
            return vec![0.0; outputs.labels().len()];
        }
        let mut row = if every.is_empty() { vec![0.0; outputs.len()] } else { every.clone() };
        weights.row(at).for_each(|(output, weight)| row[output] += weight);
        if let Some(common) = common.get(at) {
            for weight in &mut row {
                *weight += common;
            }
        }
        outputs.per_label(row)
    }

    /// The weight of a feature for a label; see [`Linear::feature_weights`]. 0 for a label that is not ranked.
    pub fn weight(&self, label: u32, feature: u32) -> f64 {
        match self.parts.outputs.labels().binary_search(&label) {
            Ok(at) => self.feature_weights(feature)[at],
            Err(_) => 0.0,
        }
    }

    /// The bias of a label, by the rule of [`Linear::feature_weights`].
    pub fn bias(&self, label: u32) -> f64 {
        match self.parts.outputs.labels().binary_search(&label) {
            Ok(at) => self.parts.outputs.per_label(self.parts.bias.clone())[at],
            Err(_) => 0.0,
        }
    }

    /// Why a document has its score for a label; `None` for a label that is not ranked.
    pub fn explain(&self, document: Query<'_>, label: u32) -> Option<Explanation> {
        let at = self.parts.outputs.labels().binary_search(&label).ok()?;
        let mut features = Vec::with_capacity(document.features.len());
        let scale = self.parts.weighter.visit(document, |feature, value| {
            features.push((feature as u32, value * self.feature_weights(feature as u32)[at]));
        });
        for (_, x) in &mut features {
            *x *= scale;
        }
        Some(Explanation { bias: self.bias(label), features })
    }

    /// The same over other features: `places` says where each of its own is among so many; those that are not its own weigh 0.
    pub(crate) fn spread(&self, places: &[u32], features: usize) -> Result<Self> {
        let parts = &self.parts;
        let mut own = vec![None; features];
        places.iter().enumerate().for_each(|(feature, &place)| own[place as usize] = Some(feature));
        let outputs = parts.outputs.len();
        let mut weights = Csr::<f64>::new(outputs);
        for feature in &own {
            let row = feature.iter().flat_map(|&feature| parts.weights.row(feature));
            weights.push_row(row.map(|(output, weight)| (output as u32, weight)));
        }
        let common = match parts.common.as_slice() {
            [] => Vec::new(),
            common => own.iter().map(|feature| feature.map_or(0.0, |feature| common[feature])).collect(),
        };
        Self::from_parts(LinearParts {
            weighter: parts.weighter.spread(places, features),
            weights: match parts.weights {
                Weights::Double(_) => Weights::double(weights),
                _ => Weights::single(weights.map_values(|w| w as f32)),
            },
            common,
            ..parts.clone()
        })
    }

    /// Without the weights that are smaller than `share` of the largest of their output.
    pub fn pruned(&self, share: f64) -> Result<Self> {
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::invalid("prune", share, "must be between 0 and 1"));
        }
        let weights = self.parts.weights.pruned(share, self.features(), self.parts.outputs.len());
        Self::from_parts(LinearParts { weights, ..self.parts.clone() })
    }

    /// With weights of 8 bits: each output has a scale, so that its largest weight is 127. A weight changes by at most half
    /// a step, 0.4 % of the largest weight of its output.
    pub fn quantised(&self) -> Result<Self> {
        let weights = self.parts.weights.quantised(self.features(), self.parts.outputs.len());
        Self::from_parts(LinearParts { weights, ..self.parts.clone() })
    }
}

impl Classifier for Linear {
    fn labels(&self) -> usize {
        self.parts.labels
    }

    fn rank(&self, document: Query<'_>, scratch: &mut Scratch, ranked: &mut Vec<Scored>) {
        let LinearParts { weighter, outputs, weights, bias, every, common, .. } = &self.parts;
        let sums = &mut scratch.sums;
        sums.clear();
        sums.resize(outputs.len(), 0.0);
        let (mut total, mut shared) = (0.0, 0.0);
        let mut rest = |feature: usize, value: f64| {
            total += value;
            if let Some(weight) = common.get(feature) {
                shared += value * weight;
            }
        };
        let scale = match weights {
            Weights::Double(store) => weighter.visit(document, |f, x| {
                store.add(f, x, sums);
                rest(f, x);
            }),
            Weights::Single(store) => weighter.visit(document, |f, x| {
                store.add(f, x, sums);
                rest(f, x);
            }),
            Weights::Byte { store, scales } => {
                let scale = weighter.visit(document, |f, x| {
                    store.add(f, x, sums);
                    rest(f, x);
                });
                sums.iter_mut().zip(scales).for_each(|(sum, &s)| *sum *= f64::from(s));
                scale
            }
        };
        finish(sums, scale, bias, every, total, shared);
        outputs.rank(sums, ranked);
    }
}

/// `v = bias + scale·(sum + total·every + shared)`, in place; the one order of additions for single fits and sweeps.
pub(super) fn finish(sums: &mut [f64], scale: f64, bias: &[f64], every: &[f64], total: f64, shared: f64) {
    if every.is_empty() {
        sums.iter_mut().zip(bias).for_each(|(sum, b)| *sum = b + scale * (*sum + shared));
    } else {
        sums.iter_mut().zip(bias).zip(every).for_each(|((sum, b), e)| *sum = b + scale * (*sum + total * e + shared));
    }
}
