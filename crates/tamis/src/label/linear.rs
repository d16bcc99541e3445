//! The fitted linear model that Bayes and SVM both become: one weight for a feature and an output, a bias for an output.

use super::{Classifier, Query, Scored, Scratch, Weighter};
use crate::counts::Csr;
use crate::{Error, Result};

/// Features × outputs, in the layout that is read fastest.
#[derive(Debug, Clone, PartialEq)]
pub enum Store<W> {
    /// Every weight: row after row, one row for each feature.
    Dense {
        /// Weights in a row.
        outputs: usize,
        /// All rows.
        values: Vec<W>,
    },
    /// Only weights that are not 0.
    Sparse(Csr<W>),
}

/// A dense row is added with vector instructions; a sparse entry takes twice the memory and a jump. Above this share of
/// weights that are not 0, dense is faster.
const DENSE_SHARE: f64 = 0.3;

impl<W: Copy + Default + PartialEq> Store<W> {
    /// Chooses the layout for the given weights.
    fn of(sparse: Csr<W>) -> Self {
        let (rows, outputs) = (sparse.rows(), sparse.columns());
        if (sparse.entries() as f64) < DENSE_SHARE * (rows as f64 * outputs as f64) {
            return Self::Sparse(sparse);
        }
        let mut values = vec![W::default(); rows * outputs];
        for row in 0..rows {
            for (output, weight) in sparse.row(row) {
                values[row * outputs + output as usize] = weight;
            }
        }
        Self::Dense { outputs, values }
    }

    /// Weights of a feature that are not 0, by output.
    fn row(&self, feature: usize) -> Box<dyn Iterator<Item = (usize, W)> + '_> {
        match self {
            Self::Dense { outputs, values } => {
                let row = values.get(feature * outputs..(feature + 1) * outputs).unwrap_or_default();
                Box::new(row.iter().copied().enumerate().filter(|(_, w)| *w != W::default()))
            }
            Self::Sparse(matrix) if feature < matrix.rows() => {
                Box::new(matrix.row(feature).map(|(o, w)| (o as usize, w)))
            }
            Self::Sparse(_) => Box::new(std::iter::empty()),
        }
    }

    /// Number of stored weights, zeros of the dense layout included.
    pub fn len(&self) -> usize {
        match self {
            Self::Dense { values, .. } => values.len(),
            Self::Sparse(matrix) => matrix.entries(),
        }
    }

    /// Whether no weight is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn fits(&self, features: usize, outputs: usize) -> bool {
        match self {
            Self::Dense { outputs: width, values } => {
                *width == outputs && Some(values.len()) == features.checked_mul(outputs)
            }
            Self::Sparse(matrix) => matrix.rows() == features && matrix.columns() == outputs,
        }
    }
}

impl<W: Copy + Into<f64>> Store<W> {
    /// `sums += value · row`.
    #[inline]
    fn add(&self, feature: usize, value: f64, sums: &mut [f64]) {
        match self {
            Self::Dense { outputs, values } => {
                let row = &values[feature * outputs..(feature + 1) * outputs];
                for (sum, &weight) in sums.iter_mut().zip(row) {
                    *sum += value * weight.into();
                }
            }
            Self::Sparse(matrix) => {
                for (output, weight) in matrix.row(feature) {
                    sums[output as usize] += value * weight.into();
                }
            }
        }
    }
}

/// The weights, in the precision that is needed.
#[derive(Debug, Clone, PartialEq)]
pub enum Weights {
    /// Bayes: logarithms of counts, exact to the last digits.
    Double(Store<f64>),
    /// SVM.
    Single(Store<f32>),
    /// Quantised: a weight is the byte times the scale of its output.
    Byte {
        /// The bytes.
        store: Store<i8>,
        /// One for each output.
        scales: Vec<f32>,
    },
}

impl Weights {
    /// Single precision, layout chosen by density. `by_feature` is features × outputs.
    pub fn single(by_feature: Csr<f32>) -> Self {
        Self::Single(Store::of(by_feature))
    }

    /// Double precision, layout chosen by density. `by_feature` is features × outputs.
    pub fn double(by_feature: Csr<f64>) -> Self {
        Self::Double(Store::of(by_feature))
    }

    /// Weights of a feature that are not 0, by output.
    pub fn row(&self, feature: usize) -> Box<dyn Iterator<Item = (usize, f64)> + '_> {
        match self {
            Self::Double(store) => store.row(feature),
            Self::Single(store) => Box::new(store.row(feature).map(|(o, w)| (o, f64::from(w)))),
            Self::Byte { store, scales } => {
                Box::new(store.row(feature).map(|(o, w)| (o, f64::from(w) * f64::from(scales[o]))))
            }
        }
    }

    /// Bytes the weights take in memory.
    pub fn bytes(&self) -> usize {
        let of = |entries: usize, dense: bool, weight: usize| entries * if dense { weight } else { weight + 4 };
        match self {
            Self::Double(s) => of(s.len(), matches!(s, Store::Dense { .. }), 8),
            Self::Single(s) => of(s.len(), matches!(s, Store::Dense { .. }), 4),
            Self::Byte { store: s, scales } => of(s.len(), matches!(s, Store::Dense { .. }), 1) + 4 * scales.len(),
        }
    }

    fn check(&self, features: usize, outputs: usize) -> Result<()> {
        let (fits, finite) = match self {
            Self::Double(s) => (s.fits(features, outputs), all_finite(s, f64::is_finite)),
            Self::Single(s) => (s.fits(features, outputs), all_finite(s, f32::is_finite)),
            Self::Byte { store, scales } => {
                (store.fits(features, outputs) && scales.len() == outputs, scales.iter().all(|s| s.is_finite()))
            }
        };
        if !fits {
            return Err(Error::data(format!("the weights are not for {features} features and {outputs} outputs")));
        }
        if !finite {
            return Err(Error::data("a weight is not a finite number"));
        }
        Ok(())
    }
}

fn all_finite<W: Copy>(store: &Store<W>, finite: impl Fn(W) -> bool) -> bool {
    match store {
        Store::Dense { values, .. } => values.iter().all(|&w| finite(w)),
        Store::Sparse(matrix) => matrix.values().iter().all(|&w| finite(w)),
    }
}

/// What the outputs `v = w·x + b` mean, and how they become scores of labels. Labels without a training document have no
/// output and are in no ranked list: nothing is known of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outputs {
    /// The output is the score of the label (SVM one-vs-rest).
    Values(Vec<u32>),
    /// The score is `v − log Σ exp v`: the normalised log posterior (Bayes, SPEC 7).
    Posteriors(Vec<u32>),
    /// The output is the log odds of the label, the score its log probability `−log(1 + exp(−v))` (Bayes one-vs-rest).
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

    fn check(&self, known: usize) -> Result<()> {
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
    pub(super) fn rank(&self, v: &mut Vec<f64>, ranked: &mut Vec<Scored>) {
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
                // −log(1 + e^−v), without overflow on either side.
                for x in v.iter_mut() {
                    *x = x.min(0.0) - (-x.abs()).exp().ln_1p();
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
}

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
        per_label(outputs, row)
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
            Ok(at) => per_label(&self.parts.outputs, self.parts.bias.clone())[at],
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

    /// Without the weights that are smaller than `share` of the largest of their output.
    pub fn pruned(&self, share: f64) -> Result<Self> {
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::invalid("prune", share, "must be between 0 and 1"));
        }
        let least: Vec<f64> = self.largest().into_iter().map(|w| w * share).collect();
        let mut kept = Csr::new(self.parts.outputs.len());
        for feature in 0..self.features() {
            let row = self.parts.weights.row(feature).filter(|&(o, w)| w.abs() >= least[o]);
            kept.push_row(row.map(|(o, w)| (o as u32, w)));
        }
        let weights = match &self.parts.weights {
            Weights::Double(_) => Weights::double(kept),
            Weights::Single(_) => Weights::single(kept.map_values(|w| w as f32)),
            Weights::Byte { scales, .. } => quantise(&kept, scales.clone()),
        };
        Self::from_parts(LinearParts { weights, ..self.parts.clone() })
    }

    /// With weights of 8 bits: each output has a scale, so that its largest weight is 127. A weight changes by at most half
    /// a step, 0.4 % of the largest weight of its output.
    pub fn quantised(&self) -> Result<Self> {
        let scales: Vec<f32> = self.largest().into_iter().map(|w| (w / 127.0) as f32).collect();
        let mut all = Csr::new(self.parts.outputs.len());
        for feature in 0..self.features() {
            all.push_row(self.parts.weights.row(feature).map(|(o, w)| (o as u32, w)));
        }
        Self::from_parts(LinearParts { weights: quantise(&all, scales), ..self.parts.clone() })
    }

    /// The largest absolute weight of each output.
    fn largest(&self) -> Vec<f64> {
        let mut largest = vec![0.0f64; self.parts.outputs.len()];
        for feature in 0..self.features() {
            self.parts.weights.row(feature).for_each(|(o, w)| largest[o] = largest[o].max(w.abs()));
        }
        largest
    }
}

fn quantise(by_feature: &Csr<f64>, scales: Vec<f32>) -> Weights {
    let mut bytes = Csr::new(by_feature.columns());
    for feature in 0..by_feature.rows() {
        let row = by_feature.row(feature).map(|(o, w)| {
            let scale = f64::from(scales[o as usize]);
            // A cast saturates, and turns the NaN of 0/0 into 0.
            (o, (w / scale).round() as i8)
        });
        bytes.push_row(row.filter(|(_, b)| *b != 0));
    }
    Weights::Byte { store: Store::of(bytes), scales }
}

/// Turns one number for each output into one for each ranked label, as [`Linear::feature_weights`] says.
fn per_label(outputs: &Outputs, mut numbers: Vec<f64>) -> Vec<f64> {
    match outputs {
        Outputs::Values(_) | Outputs::Odds(_) => numbers,
        Outputs::Posteriors(labels) => {
            let mean = numbers.iter().sum::<f64>() / labels.len().max(1) as f64;
            for x in &mut numbers {
                *x -= mean;
            }
            numbers
        }
        Outputs::Votes { labels, pairs } => {
            let mut sums = vec![0.0; labels.len()];
            for (&(a, b), x) in pairs.iter().zip(&numbers) {
                sums[a as usize] += x;
                sums[b as usize] -= x;
            }
            sums
        }
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
