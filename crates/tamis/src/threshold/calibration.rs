//! Scores → probabilities, label by label, learned on held-out scores.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::exclusive::{Rivalry, softmax};
use super::held_out::{HeldOut, Sample};
use crate::classify::Scored;
use crate::named::named;
use crate::{Error, Result};

named! {
    /// How probabilities are learned.
    #[derive(Default)]
    pub enum CalibrationMethod ("calibration method") {
        /// A sigmoid (Platt 1999, solved as in Lin, Lin & Weng 2007): two numbers a label, good with few positives.
        #[default]
        Platt = "platt",
        /// The best ascending step function (pool adjacent violators), linear between steps: follows any shape, wants
        /// some hundred positives.
        Isotonic = "isotonic",
        /// In proportion to `exp(scale · score)`: one number for all labels, for documents with one label each; probabilities sum
        /// to one, and the first label is the most probable.
        Softmax = "softmax",
    }
}

/// The probability of one label as a function of its score; ascending.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Shape {
    /// `1 / (1 + exp(a·score + b))`, `a ≤ 0`.
    Sigmoid { a: f64, b: f64 },
    /// Scores strictly ascending, probabilities ascending; linear between, constant outside.
    Steps { scores: Vec<f64>, probabilities: Vec<f64> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Calibrated {
    shape: Shape,
    /// Probability when the label is not in the list.
    missing: f64,
}

/// Learned probabilities of all labels. Serialisable; stored with a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    method: CalibrationMethod,
    labels: Vec<Calibrated>,
    /// What scores are multiplied by where labels exclude each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scale: Option<f64>,
}

impl Calibration {
    /// Learns from every held-out score that means something (also in folds without a positive: base rates matter
    /// here). A label whose score tells nothing, or
    /// tells the contrary, gets a constant: `(positives + 1) / (documents + 2)` of those scored.
    pub fn fit(method: CalibrationMethod, held_out: &HeldOut) -> Result<Self> {
        if held_out.documents() == 0 {
            return Err(Error::data("probabilities must be learned, but there is no held-out document"));
        }
        let label = |label: u32| {
            let mut sample = held_out.sample(label);
            // Sums of floats depend on their order, and parts may have been merged in any.
            sample.positives.sort_unstable_by(f32::total_cmp);
            sample.negatives.sort_unstable_by(f32::total_cmp);
            let scored = (sample.positives.len() + sample.negatives.len()) as u64;
            let unscored = sample.documents - scored.min(sample.documents);
            let missing = if unscored == 0 { 0.0 } else { sample.missing as f64 / unscored as f64 };
            let shape = match method {
                CalibrationMethod::Platt | CalibrationMethod::Softmax => platt(&sample),
                CalibrationMethod::Isotonic => isotonic(&sample),
            };
            Calibrated { shape, missing }
        };
        let labels = (0..held_out.labels() as u32).into_par_iter().map(label).collect();
        Ok(Self { method, labels, scale: None })
    }

    /// Learns how sure scores are where labels exclude each other.
    pub fn exclusive(rivalry: &Rivalry) -> Result<Self> {
        if rivalry.is_empty() {
            return Err(Error::data(
                "probabilities of labels that exclude each other must be learned from held-out documents with one label, and there is none",
            ));
        }
        Ok(Self { method: CalibrationMethod::Softmax, labels: Vec::new(), scale: Some(rivalry.scale()) })
    }

    /// How it was learned.
    pub fn method(&self) -> CalibrationMethod {
        self.method
    }

    /// Whether the probability of a label depends on its own score alone.
    pub fn one_by_one(&self) -> bool {
        self.scale.is_none()
    }

    /// The probability that a document with this score carries the label; 0 for a label it does not know. Where labels exclude
    /// each other it takes all scores of a document to tell: [`Calibration::all`].
    pub fn probability(&self, label: u32, score: f64) -> f64 {
        let Some(calibrated) = self.labels.get(label as usize) else { return 0.0 };
        if score == f64::NEG_INFINITY {
            return calibrated.missing;
        }
        match &calibrated.shape {
            Shape::Sigmoid { a, b } => sigmoid(-(a * score + b)),
            Shape::Steps { scores, probabilities } => interpolate(scores, probabilities, score),
        }
    }

    /// The probabilities of the first so many labels in a document, from its ranked list.
    pub fn all(&self, ranked: &[Scored], labels: usize, probabilities: &mut Vec<f64>) {
        probabilities.clear();
        if let Some(scale) = self.scale {
            probabilities.resize(labels, 0.0);
            return softmax(scale, ranked, probabilities);
        }
        probabilities.extend((0..labels as u32).map(|label| self.missing(label)));
        for &Scored { label, score } in ranked {
            if let Some(p) = probabilities.get_mut(label as usize) {
                *p = self.probability(label, score);
            }
        }
    }

    /// The probability of a label that is not in the ranked list.
    pub fn missing(&self, label: u32) -> f64 {
        self.labels.get(label as usize).map_or(0.0, |c| c.missing)
    }
}

/// `1 / (1 + e⁻ˣ)` without overflow.
fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

fn interpolate(xs: &[f64], ys: &[f64], x: f64) -> f64 {
    let above = xs.partition_point(|&s| s < x);
    match (above.checked_sub(1), xs.get(above)) {
        (_, Some(&exact)) if exact == x => ys[above],
        (None, _) => ys.first().copied().unwrap_or(0.0),
        (Some(below), None) => ys[below],
        (Some(below), Some(&x1)) => ys[below] + (ys[above] - ys[below]) * (x - xs[below]) / (x1 - xs[below]),
    }
}

/// Loss of a sigmoid with its first and second derivatives.
#[derive(Debug, Clone, Copy, Default)]
struct Fit {
    loss: f64,
    g1: f64,
    g2: f64,
    h11: f64,
    h21: f64,
    h22: f64,
}

impl Fit {
    /// Negative log-likelihood of `1 / (1 + exp(a·score + b))` with the given targets, in one pass with one exponential
    /// a document: `t·z + log(1 + e⁻ᶻ)` in the form that does not overflow, the logarithms of 256 documents taken as
    /// one of their product (each factor is at most 2).
    fn add(&mut self, a: f64, b: f64, scores: &[f32], target: f64) {
        for chunk in scores.chunks(256) {
            let mut product = 1.0;
            for &score in chunk {
                let score = f64::from(score);
                let z = a * score + b;
                let e = (-z.abs()).exp();
                product *= 1.0 + e;
                let (p, linear) =
                    if z >= 0.0 { (e / (1.0 + e), target * z) } else { (1.0 / (1.0 + e), (target - 1.0) * z) };
                self.loss += linear;
                let curvature = p * (1.0 - p);
                self.h11 += score * score * curvature;
                self.h21 += score * curvature;
                self.h22 += curvature;
                self.g1 += score * (target - p);
                self.g2 += target - p;
            }
            self.loss += product.ln();
        }
    }
}

/// Platt's sigmoid by Newton's method with backtracking; targets pulled in from 0 and 1 by the prior, as in
/// Lin, Lin & Weng, "A note on Platt's probabilistic outputs for support vector machines" (2007).
fn platt(sample: &Sample) -> Shape {
    const RIDGE: f64 = 1e-12;
    const LEAST_STEP: f64 = 1e-10;
    let (positives, negatives) = (sample.positives.len() as f64, sample.negatives.len() as f64);
    let (high, low) = ((positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0));
    let start = ((negatives + 1.0) / (positives + 1.0)).ln();
    let constant = Shape::Sigmoid { a: 0.0, b: start };
    if sample.positives.is_empty() || sample.negatives.is_empty() {
        return constant;
    }
    let fit = |a: f64, b: f64| {
        let mut fit = Fit::default();
        fit.add(a, b, &sample.positives, high);
        fit.add(a, b, &sample.negatives, low);
        fit
    };
    let (mut a, mut b) = (0.0, start);
    let mut now = fit(a, b);
    let small = 1e-9 * (positives + negatives);
    for _ in 0..100 {
        if now.g1.abs() < small && now.g2.abs() < small {
            break;
        }
        let (h11, h22) = (now.h11 + RIDGE, now.h22 + RIDGE);
        let determinant = h11 * h22 - now.h21 * now.h21;
        let da = -(h22 * now.g1 - now.h21 * now.g2) / determinant;
        let db = -(h11 * now.g2 - now.h21 * now.g1) / determinant;
        let slope = now.g1 * da + now.g2 * db;
        let mut step = 1.0;
        let better = loop {
            let next = fit(a + step * da, b + step * db);
            if next.loss < now.loss + 1e-4 * step * slope {
                break Some(next);
            }
            step /= 2.0;
            if step < LEAST_STEP {
                break None;
            }
        };
        let Some(next) = better else { break };
        (a, b, now) = (a + step * da, b + step * db, next);
    }
    // A rising score must never mean a falling probability.
    if a <= 0.0 && a.is_finite() && b.is_finite() { Shape::Sigmoid { a, b } } else { constant }
}

/// The ascending step function nearest to the truth in squares: pool adjacent violators (Ayer et al. 1955). Equal
/// scores are one point. Knots are the ends of the pools.
fn isotonic(sample: &Sample) -> Shape {
    let mut points: Vec<(f32, f64)> = sample.positives.iter().map(|&s| (s, 1.0)).collect();
    points.extend(sample.negatives.iter().map(|&s| (s, 0.0)));
    points.sort_unstable_by(|x, y| x.0.total_cmp(&y.0));
    let mut pools: Vec<Pool> = Vec::new();
    for (score, truth) in points {
        match pools.last_mut() {
            Some(last) if last.from == score => {
                last.sum += truth;
                last.weight += 1.0;
            }
            _ => {
                merge_violators(&mut pools);
                pools.push(Pool { from: score, to: score, sum: truth, weight: 1.0 });
            }
        }
    }
    merge_violators(&mut pools);
    let (mut scores, mut probabilities) = (Vec::new(), Vec::new());
    for pool in &pools {
        scores.push(f64::from(pool.from));
        probabilities.push(pool.sum / pool.weight);
        if pool.to > pool.from {
            scores.push(f64::from(pool.to));
            probabilities.push(pool.sum / pool.weight);
        }
    }
    Shape::Steps { scores, probabilities }
}

/// Documents with scores from `from` to `to`, `sum` positives among `weight`.
#[derive(Debug, Clone, Copy)]
struct Pool {
    from: f32,
    to: f32,
    sum: f64,
    weight: f64,
}

/// Merges from the end while the last mean is not above the one before.
fn merge_violators(pools: &mut Vec<Pool>) {
    while let [.., a, b] = pools[..] {
        // The means without a division; sums are whole numbers, so equal means are equal.
        if a.sum * b.weight < b.sum * a.weight {
            break;
        }
        pools.truncate(pools.len() - 2);
        pools.push(Pool { from: a.from, to: b.to, sum: a.sum + b.sum, weight: a.weight + b.weight });
    }
}
