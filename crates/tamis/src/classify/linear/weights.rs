//! Weights in several precisions and two layouts.

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

    /// Those of some features, layout chosen anew.
    fn select(&self, features: &[u32]) -> Self {
        let outputs = match self {
            Self::Dense { outputs, .. } => *outputs,
            Self::Sparse(matrix) => matrix.columns(),
        };
        let mut rows = Csr::new(outputs);
        features.iter().for_each(|&f| rows.push_row(self.row(f as usize).map(|(o, w)| (o as u32, w))));
        Self::of(rows)
    }

    /// The weights of an output, feature by feature.
    pub(super) fn column(&self, output: usize, features: usize) -> Vec<W> {
        match self {
            Self::Dense { outputs, values } => values.iter().skip(output).step_by((*outputs).max(1)).copied().collect(),
            Self::Sparse(matrix) => {
                let of = |feature: usize| matrix.row(feature).find(|&(o, _)| o as usize == output).map(|(_, w)| w);
                (0..features).map(|feature| of(feature).unwrap_or_default()).collect()
            }
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
    pub(super) fn add(&self, feature: usize, value: f64, sums: &mut [f64]) {
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

    /// Those of some features, layout chosen by density.
    pub(crate) fn select(&self, features: &[u32]) -> Self {
        match self {
            Self::Double(store) => Self::Double(store.select(features)),
            Self::Single(store) => Self::Single(store.select(features)),
            Self::Byte { store, scales } => Self::Byte { store: store.select(features), scales: scales.clone() },
        }
    }

    /// Without the weights that are smaller than `share` of the largest of their output.
    pub(super) fn pruned(&self, share: f64, features: usize, outputs: usize) -> Self {
        let least: Vec<f64> = self.largest(features, outputs).into_iter().map(|w| w * share).collect();
        let kept = self.filtered(features, outputs, |output, weight| weight.abs() >= least[output]);
        match self {
            Self::Double(_) => Self::double(kept),
            Self::Single(_) => Self::single(kept.map_values(|w| w as f32)),
            Self::Byte { scales, .. } => Self::bytes_of(&kept, scales.clone()),
        }
    }

    /// In bytes; the largest weight of an output becomes 127.
    pub(super) fn quantised(&self, features: usize, outputs: usize) -> Self {
        let scales = self.largest(features, outputs).into_iter().map(|w| (w / 127.0) as f32).collect();
        Self::bytes_of(&self.filtered(features, outputs, |_, _| true), scales)
    }

    fn bytes_of(by_feature: &Csr<f64>, scales: Vec<f32>) -> Self {
        let mut bytes = Csr::new(by_feature.columns());
        for feature in 0..by_feature.rows() {
            let row = by_feature.row(feature).map(|(output, weight)| {
                // A cast saturates, and makes 0 of the NaN of 0/0.
                (output, (weight / f64::from(scales[output as usize])).round() as i8)
            });
            bytes.push_row(row.filter(|(_, byte)| *byte != 0));
        }
        Self::Byte { store: Store::of(bytes), scales }
    }

    fn filtered(&self, features: usize, outputs: usize, keep: impl Fn(usize, f64) -> bool) -> Csr<f64> {
        let mut kept = Csr::new(outputs);
        for feature in 0..features {
            kept.push_row(self.row(feature).filter(|&(o, w)| keep(o, w)).map(|(o, w)| (o as u32, w)));
        }
        kept
    }

    /// The largest absolute weight of each output.
    fn largest(&self, features: usize, outputs: usize) -> Vec<f64> {
        let mut largest = vec![0.0f64; outputs];
        for feature in 0..features {
            self.row(feature).for_each(|(o, w)| largest[o] = largest[o].max(w.abs()));
        }
        largest
    }

    pub(super) fn check(&self, features: usize, outputs: usize) -> Result<()> {
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
