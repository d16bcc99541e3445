//! Matrix products for eight labels at once, and sums over their results: the weights of a feature for eight labels are one
//! cache line. Every number is a sum in one fixed order, whoever computes it, so threads do not show.

use rayon::prelude::*;

use super::super::rows::Rows;
use crate::counts::Csr;

/// Labels side by side.
pub(super) const LANES: usize = 8;

/// A number for each of them.
pub(super) type Lanes = [f64; LANES];

/// For each document or feature, a number for each lane.
pub(super) type Block = Vec<Lanes>;

/// Rows that one thread handles at a time; fixed, as sums over parts are added in the order of the parts.
pub(super) const CHUNK: usize = 2048;

pub(super) const ZERO: Lanes = [0.0; LANES];

/// The vectors, by document and by feature.
pub(super) struct Design<'a> {
    pub(super) rows: &'a Rows,
    columns: Csr<f32>,
}

impl<'a> Design<'a> {
    pub(super) fn new(rows: &'a Rows) -> Self {
        Self { rows, columns: rows.matrix.transpose() }
    }

    /// Places of a block of weights: the features, and the bias behind them.
    pub(super) fn places(&self) -> usize {
        self.rows.features() + 1
    }

    /// `X·V`: the values of all documents. `factors` are what each lane multiplies its features with.
    pub(super) fn values(&self, weights: &Block, factors: Option<&Block>, values: &mut Block) {
        let folded = factors.map(|factors| folded(weights, factors));
        let weights = folded.as_ref().unwrap_or(weights);
        let features = self.rows.features();
        values.par_iter_mut().with_min_len(64).enumerate().for_each(|(row, value)| {
            let mut sums = weights[features];
            for (feature, x) in self.rows.matrix.row(row) {
                let x = f64::from(x);
                for (sum, w) in sums.iter_mut().zip(&weights[feature as usize]) {
                    *sum += w * x;
                }
            }
            *value = sums;
        });
    }

    /// `Xᵀ·R`: what residuals of the documents are to the features and the bias.
    pub(super) fn back(&self, residuals: &Block, factors: Option<&Block>, gradient: &mut Block) {
        self.back_by(residuals, |x| x, gradient);
        if let Some(factors) = factors {
            fold(gradient, factors);
        }
    }

    /// The same with squared components and factors.
    pub(super) fn back_squared(&self, curvatures: &Block, factors: Option<&Block>, diagonal: &mut Block) {
        self.back_by(curvatures, |x| x * x, diagonal);
        if let Some(factors) = factors {
            fold(diagonal, factors);
            fold(diagonal, factors);
        }
    }

    fn back_by(&self, residuals: &Block, of: impl Fn(f64) -> f64 + Sync, out: &mut Block) {
        let features = self.rows.features();
        out[features] = sum(residuals, |r| *r);
        out[..features].par_iter_mut().with_min_len(64).enumerate().for_each(|(feature, place)| {
            let mut sums = ZERO;
            for (row, x) in self.columns.row(feature) {
                let x = of(f64::from(x));
                for (sum, r) in sums.iter_mut().zip(&residuals[row as usize]) {
                    *sum += r * x;
                }
            }
            *place = sums;
        });
    }
}

fn folded(weights: &Block, factors: &Block) -> Block {
    let mut folded = weights.clone();
    fold(&mut folded, factors);
    folded
}

/// Multiplies place by place.
pub(super) fn fold(block: &mut Block, factors: &Block) {
    block.par_iter_mut().with_min_len(CHUNK).zip(factors).for_each(|(places, factors)| {
        places.iter_mut().zip(factors).for_each(|(x, f)| *x *= f);
    });
}

/// The sum over places of what `of` makes of each, lane by lane.
pub(super) fn sum<T: Sync>(places: &[T], of: impl Fn(&T) -> Lanes + Sync) -> Lanes {
    let parts: Vec<Lanes> =
        places.par_chunks(CHUNK).map(|chunk| chunk.iter().fold(ZERO, |sums, place| added(sums, of(place)))).collect();
    parts.into_iter().fold(ZERO, added)
}

/// `Σ a·b`, lane by lane.
pub(super) fn dot(a: &Block, b: &Block) -> Lanes {
    let parts: Vec<Lanes> = a
        .par_chunks(CHUNK)
        .zip(b.par_chunks(CHUNK))
        .map(|(a, b)| a.iter().zip(b).fold(ZERO, |sums, (a, b)| added(sums, times(*a, *b))))
        .collect();
    parts.into_iter().fold(ZERO, added)
}

/// `block += step·direction`, lane by lane.
pub(super) fn add(block: &mut Block, step: Lanes, direction: &Block) {
    block.par_iter_mut().with_min_len(CHUNK).zip(direction).for_each(|(places, d)| {
        *places = added(*places, times(step, *d));
    });
}

pub(super) fn added(a: Lanes, b: Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane] + b[lane])
}

pub(super) fn times(a: Lanes, b: Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane] * b[lane])
}
