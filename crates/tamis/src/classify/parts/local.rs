//! What a part is asked in a round and what it answers, whichever loss it has (method 7).
//!
//! Parts agree on `w` by the alternating direction method of multipliers (Boyd et al. 2011, 7.1; relaxed, 3.4.3): given `w` and its
//! multipliers `p`, a part looks for `min_u f(u) + p·u + ½·(u − w)ᵀR(u − w)`, `f` being the loss of its documents and `R` a diagonal.
//! `v = −∇f(u)` is what the dual variables of its documents come to, so `w = Σ v` once all agree, and `P(w) − D` at any dual variables is
//! a duality gap. With `R = 1/K` and `w = Σ v` it is CoCoA+ (Ma et al. 2015). There, what a part must take over from another moves by a share `1/(1 + K·f″)` a
//! round: nothing at all for what thousands of documents press on, such as the bias of a small label. [`resistance`] grows with the root of
//! that pressure.

use crate::classify::rows::Rows;
use crate::{Progress, Result};

/// `R` of one weight on so many parts, where the documents of all parts press with `curvature` on it.
pub(super) fn resistance(parts: f64, curvature: f64) -> f64 {
    (1.0 + curvature.sqrt()) / parts
}

/// How far beyond what parts agree on the next step goes: it must be below 2. One part has nobody to agree with, and its solution is taken as it is.
pub(super) fn relaxation(parts: usize) -> f64 {
    if parts == 1 { 2.0 } else { 1.8 }
}

/// How much the documents of a part can press on each weight, the bias behind them: the sum of their squares.
pub(super) fn pressure(rows: &Rows) -> (Vec<f32>, f64) {
    let mut sums = vec![0.0f64; rows.features()];
    for row in 0..rows.len() {
        for (feature, x) in rows.matrix.row(row) {
            sums[feature as usize] += rows.weights[row] * f64::from(x) * f64::from(x);
        }
    }
    (sums.iter().map(|&sum| sum as f32).collect(), rows.weights.iter().sum())
}

/// What is asked of a part for one label. Vectors have a place for each feature and, behind them, one for the bias.
#[derive(Debug, Clone)]
pub(in crate::classify) struct Ask {
    pub(in crate::classify) label: u32,
    /// The cost of a document without the label and with it.
    pub(in crate::classify) costs: [f64; 2],
    /// `w`, the weights of all.
    pub(in crate::classify) weights: Vec<f64>,
    /// `p`, the multipliers of the part.
    pub(in crate::classify) pull: Vec<f64>,
    /// `1/R`: how far a step of the part moves each weight.
    pub(in crate::classify) give: Vec<f64>,
    /// Rows, ascending, with a dual variable above 0, of solvers that keep them.
    pub(in crate::classify) alphas: Vec<(u32, f32)>,
    /// In the first round nothing is known, all weights are 0 and give alike.
    pub(in crate::classify) first: bool,
    /// A gap of the local problem that is small enough.
    pub(in crate::classify) floor: f64,
    /// Tells the random numbers of labels and rounds apart.
    pub(in crate::classify) stream: u64,
}

/// What a part found.
#[derive(Debug, Clone)]
pub(in crate::classify) struct Done {
    /// The loss of its documents at `w`.
    pub(in crate::classify) loss: f64,
    /// What its new dual variables are worth before the square of the weights is taken off: `Σ −loss*(−α)`.
    pub(in crate::classify) value: f64,
    /// The sum of `loss″` of its documents: how hard they press.
    pub(in crate::classify) curvature: f64,
    /// `v = Σ α_i y_i x_i`.
    pub(in crate::classify) own: Vec<f64>,
    /// Its new dual variables, where the solver keeps them.
    pub(in crate::classify) alphas: Vec<(u32, f32)>,
    /// Passes or steps made.
    pub(in crate::classify) passes: usize,
}

/// A loss, with the documents of a part.
pub(in crate::classify) trait Local {
    /// Labels that are solved together.
    const TOGETHER: usize;

    /// Solves the problems of some labels, at most [`Local::TOGETHER`], well enough for a round.
    fn solve(&mut self, asks: &[Ask], progress: &dyn Progress) -> Result<Vec<Done>>;
}
