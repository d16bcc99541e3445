//! The loss: what a document costs, and the bounds of its dual variable.
//!
//! Primal (Hsieh, Chang, Lin, Keerthi, Sundararajan: A dual coordinate descent method for large-scale linear SVM, ICML
//! 2008, eq. 1 and 2), the bias being the weight of a constant feature 1:
//! `P(w) = ½‖w‖² + Σ C_i·ξ(e_i)`, `e_i = 1 − y_i·w·x_i`, with `ξ(e) = max(0, e)` for hinge and `max(0, e)²` for squared
//! hinge. Dual (eq. 4): `D(α) = Σ α_i − ½‖Σ α_i y_i x_i‖² − ½ Σ d_i α_i²` for `0 ≤ α_i ≤ U_i`, where hinge has `U = C`, `d = 0` and
//! squared hinge `U = ∞`, `d = 1/(2C)`. At `w = Σ α_i y_i x_i` the gap `P − D` is a sum of parts ≥ 0, one for each document,
//! so a pass that computes every `e_i` knows how far the solution is from the best one.

use super::Loss;

/// The loss with the cost `C` of a negative and of a positive document that counts once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Objective {
    pub(super) loss: Loss,
    pub(super) costs: [f64; 2],
}

impl Objective {
    /// The cost of a document that counts `weight` times: that of so many documents, as their terms of the objective add up.
    #[inline]
    pub(super) fn cost(&self, positive: bool, weight: f64) -> f64 {
        self.costs[usize::from(positive)] * weight
    }

    /// The upper bound `U` of a dual variable.
    #[inline]
    pub(super) fn bound(&self, cost: f64) -> f64 {
        match self.loss {
            Loss::Hinge => cost,
            Loss::Squared => f64::INFINITY,
        }
    }

    /// `d`, what the loss adds to the diagonal of the dual.
    #[inline]
    pub(super) fn diagonal(&self, cost: f64) -> f64 {
        match self.loss {
            Loss::Hinge => 0.0,
            Loss::Squared => 0.5 / cost,
        }
    }

    /// `C·ξ(e)`.
    #[inline]
    pub(super) fn loss(&self, e: f64, cost: f64) -> f64 {
        let slack = e.max(0.0);
        match self.loss {
            Loss::Hinge => cost * slack,
            Loss::Squared => cost * slack * slack,
        }
    }

    /// The part of a document in the duality gap: `C·ξ(e) − α·e + ½·d·α²`.
    #[inline]
    pub(super) fn gap(&self, e: f64, alpha: f64, cost: f64) -> f64 {
        self.loss(e, cost) - alpha * e + 0.5 * self.diagonal(cost) * alpha * alpha
    }
}

/// A document that takes part in a binary problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Member {
    /// Its place in [`Rows`](super::rows::Rows).
    pub(super) row: u32,
    pub(super) positive: bool,
    /// Its dual variable.
    pub(super) alpha: f64,
}

/// `w`, as far as it is not 0, and the bias.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Plane {
    /// Distinct features in no order.
    pub(super) features: Vec<u32>,
    pub(super) weights: Vec<f64>,
    pub(super) bias: f64,
    /// `½‖w‖²`, bias included; of the weights before any factors of the label were multiplied in.
    pub(super) half_square: f64,
}

impl Plane {
    /// Between the weights and their mean size: `w' = (1 − β)·mean|w| + β·w`, of the weights before the factors of the label were multiplied
    /// in, over all features (Wang & Manning 2012, 2.3). What features do that no document of the solution has, is left to the factors alone.
    pub(super) fn interpolated(self, beta: f64, factors: &[f64]) -> Self {
        let mut own = vec![0.0; factors.len()];
        for (&feature, &weight) in self.features.iter().zip(&self.weights) {
            own[feature as usize] = weight;
        }
        let size = |(w, f): (&f64, &f64)| if *f == 0.0 { 0.0 } else { (w / f).abs() };
        let mean = own.iter().zip(factors).map(size).sum::<f64>() / (factors.len().max(1)) as f64;
        let weights = own.iter().zip(factors).map(|(w, f)| (1.0 - beta) * mean * f + beta * w).collect();
        Self { features: (0..factors.len() as u32).collect(), weights, ..self }
    }
}
