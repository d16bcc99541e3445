//! Dual coordinate descent over a working set of documents (Hsieh et al. 2008, algorithm 3: random order and shrinking).

use rand_chacha::ChaCha8Rng;

use super::objective::{Member, Objective, Plane};
use crate::classify::rows::{Rows, below};

/// When a descent ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stop {
    /// The estimated gap, relative to the primal value, is at most this.
    pub(super) gap: f64,
    /// Or it is at most this share of what it was in the first pass: a rough working set deserves no exact solution.
    pub(super) share: f64,
    /// Or it is at most this.
    pub(super) floor: f64,
    /// Or so many passes were made.
    pub(super) epochs: usize,
}

/// Passes from one extrapolation to the next.
const EXTRAPOLATE: usize = 10;

/// How a descent went.
#[derive(Debug, Clone, Copy)]
pub(super) struct Descent {
    /// Passes made.
    pub(super) epochs: usize,
    /// Whether the estimated gap came down to [`Stop::gap`].
    pub(super) reached: bool,
}

#[derive(Debug, Clone, Copy)]
struct Local {
    start: u32,
    end: u32,
    row: u32,
    positive: bool,
    alpha: f64,
    /// `α` at the last extrapolation.
    before: f64,
    square: f64,
    cost: f64,
}

/// The documents a label is solved on, copied together: their rows lie side by side and their features are numbered
/// from 0, so that the many passes over them stay in the near caches.
#[derive(Debug, Default)]
pub(super) struct WorkingSet {
    members: Vec<Local>,
    entries: Vec<(u32, f32)>,
    features: Vec<u32>,
    weights: Vec<f64>,
    bias: f64,
    /// How far a step moves the bias: 1, but on a part of all documents what the part may give there.
    bias_give: f64,
    /// What the label, or the part, multiplies the features of this set with; empty for 1.
    factors: Vec<f64>,
    /// Number of each feature of the whole problem in this set, or `u32::MAX`.
    number_of: Vec<u32>,
}

impl WorkingSet {
    /// Takes in the given documents and computes `w = Σ α_i y_i x_i` afresh, so rounding does not build up. `factors` are what the
    /// label multiplies its features with, where it has its own vectors.
    pub(super) fn load(&mut self, rows: &Rows, objective: &Objective, factors: Option<&[f64]>, members: &[Member]) {
        self.take_in(rows, objective, factors, 1.0, members);
        self.weights.clear();
        self.weights.resize(self.features.len(), 0.0);
        self.bias = 0.0;
        for member in &self.members {
            if member.alpha != 0.0 {
                let step = if member.positive { member.alpha } else { -member.alpha };
                add(&mut self.weights, &self.entries[member.start as usize..member.end as usize], step);
                self.bias += step;
            }
        }
    }

    /// Takes in documents of one part of all. `start` are the weights that their dual variables come to, with the bias behind them, and `roots`
    /// the roots of how far a step moves each: features are multiplied with them and weights divided, so that nothing else is new.
    pub(super) fn load_part(
        &mut self,
        rows: &Rows,
        objective: &Objective,
        members: &[Member],
        start: &[f64],
        roots: &[f64],
    ) {
        let bias = rows.features();
        self.take_in(rows, objective, Some(roots), roots[bias] * roots[bias], members);
        self.weights.clear();
        self.weights.extend(self.features.iter().zip(&self.factors).map(|(&f, root)| start[f as usize] / root));
        self.bias = start[bias];
    }

    /// Writes the weights of a part to their places among those of all features, the bias behind them.
    pub(super) fn spread(&self, weights: &mut [f64]) {
        for ((&feature, &weight), root) in self.features.iter().zip(&self.weights).zip(&self.factors) {
            weights[feature as usize] = weight * root;
        }
        if let Some(last) = weights.last_mut() {
            *last = self.bias;
        }
    }

    fn take_in(
        &mut self,
        rows: &Rows,
        objective: &Objective,
        factors: Option<&[f64]>,
        bias_give: f64,
        members: &[Member],
    ) {
        self.bias_give = bias_give;
        self.members.clear();
        self.entries.clear();
        self.features.clear();
        self.number_of.resize(rows.features(), u32::MAX);
        for member in members {
            let start = self.entries.len() as u32;
            for (feature, value) in rows.matrix.row(member.row as usize) {
                let number = &mut self.number_of[feature as usize];
                if *number == u32::MAX {
                    *number = self.features.len() as u32;
                    self.features.push(feature);
                }
                let factor = factors.map_or(1.0, |factors| factors[feature as usize]);
                self.entries.push((*number, (f64::from(value) * factor) as f32));
            }
            let square = match factors {
                None => rows.squares[member.row as usize],
                Some(_) => {
                    let own = &self.entries[start as usize..];
                    bias_give + own.iter().map(|(_, x)| f64::from(*x) * f64::from(*x)).sum::<f64>()
                }
            };
            self.members.push(Local {
                start,
                end: self.entries.len() as u32,
                row: member.row,
                positive: member.positive,
                alpha: member.alpha,
                before: member.alpha,
                square,
                cost: objective.cost(member.positive, rows.weights[member.row as usize]),
            });
        }
        for &feature in &self.features {
            self.number_of[feature as usize] = u32::MAX;
        }
        self.factors.clear();
        self.factors.extend(factors.iter().flat_map(|factors| self.features.iter().map(|&f| factors[f as usize])));
    }

    /// Writes the dual variables back; documents whose variable is 0 are left out.
    pub(super) fn store(&self, members: &mut Vec<Member>) {
        members.clear();
        members.extend(self.members.iter().filter(|m| m.alpha > 0.0).map(|m| Member {
            row: m.row,
            positive: m.positive,
            alpha: m.alpha,
        }));
        members.sort_unstable_by_key(|m| m.row);
    }

    /// `w`, with the label's factors multiplied in, and the bias.
    pub(super) fn plane(&self) -> Plane {
        let square = self.weights.iter().map(|w| w * w).sum::<f64>() + self.bias * self.bias;
        Plane {
            features: self.features.clone(),
            weights: match self.factors.as_slice() {
                [] => self.weights.clone(),
                factors => self.weights.iter().zip(factors).map(|(w, f)| w * f).collect(),
            },
            bias: self.bias,
            half_square: 0.5 * square,
        }
    }

    /// `D(α)`.
    fn dual(&self, objective: &Objective) -> f64 {
        let square = self.weights.iter().map(|w| w * w).sum::<f64>() + self.bias * self.bias;
        let sum: f64 =
            self.members.iter().map(|m| m.alpha - 0.5 * objective.diagonal(m.cost) * m.alpha * m.alpha).sum();
        sum - 0.5 * square
    }

    /// The duality gap and the primal value, when no other documents take part.
    pub(super) fn gap(&self, objective: &Objective) -> (f64, f64) {
        let (mut gap, mut loss) = (0.0, 0.0);
        for m in &self.members {
            let value = self.bias + dot(&self.weights, &self.entries[m.start as usize..m.end as usize]);
            let e = if m.positive { 1.0 - value } else { 1.0 + value };
            gap += objective.gap(e, m.alpha, m.cost);
            loss += objective.loss(e, m.cost);
        }
        let square = self.weights.iter().map(|w| w * w).sum::<f64>() + self.bias * self.bias;
        (gap, loss + 0.5 * square)
    }

    /// Improves the dual variables.
    ///
    /// The gap is estimated by the parts of the documents as a pass meets them, each before its own step; the dual value
    /// is exact, as every step says what it gains. Their sum estimates the primal value.
    pub(super) fn descend(&mut self, objective: &Objective, stop: Stop, rng: &mut ChaCha8Rng) -> Descent {
        let mut dual = self.dual(objective);
        let mut before = Before { weights: self.weights.clone(), bias: self.bias };
        let Self { members, entries, weights, bias, bias_give, .. } = self;
        let bias_give = *bias_give;
        for m in members.iter_mut() {
            m.before = m.alpha;
        }
        let mut active = members.len();
        let mut first_gap = f64::NAN;
        // A document at a bound whose gradient is beyond these is left alone until the end: algorithm 3, step 3(b).
        let (mut shrink_above, mut shrink_below) = (f64::INFINITY, f64::NEG_INFINITY);
        for epoch in 1..=stop.epochs {
            let (mut highest, mut lowest) = (f64::NEG_INFINITY, f64::INFINITY);
            let mut gap = 0.0;
            let mut at = 0;
            while at < active {
                let other = at + below(rng, active - at);
                members.swap(at, other);
                let Local { start, end, positive, alpha, square, cost, .. } = members[at];
                let row = &entries[start as usize..end as usize];
                let value = *bias + dot(weights, row);
                let e = if positive { 1.0 - value } else { 1.0 + value };
                let (bound, diagonal) = (objective.bound(cost), objective.diagonal(cost));
                let gradient = diagonal * alpha - e;
                let (skip, projected) = if alpha <= 0.0 {
                    (gradient > shrink_above, gradient.min(0.0))
                } else if alpha >= bound {
                    (gradient < shrink_below, gradient.max(0.0))
                } else {
                    (false, gradient)
                };
                if skip {
                    active -= 1;
                    members.swap(at, active);
                    continue;
                }
                highest = highest.max(projected);
                lowest = lowest.min(projected);
                if projected.abs() > 1e-12 {
                    gap += objective.gap(e, alpha, cost);
                    let curvature = square + diagonal;
                    let next = (alpha - gradient / curvature).clamp(0.0, bound);
                    let change = next - alpha;
                    dual -= change * (gradient + 0.5 * curvature * change);
                    members[at].alpha = next;
                    let step = if positive { change } else { -change };
                    add(weights, row, step);
                    *bias += bias_give * step;
                }
                at += 1;
            }
            if epoch == 1 {
                first_gap = gap;
            }
            if epoch % EXTRAPOLATE == 0 {
                dual += extrapolate(objective, members, weights, bias, bias_give, &mut before);
            }
            let reached = gap <= stop.gap * (dual + gap);
            if reached || gap <= stop.floor || gap <= stop.share * first_gap {
                if active == members.len() {
                    return Descent { epochs: epoch, reached };
                }
                // Converged without the documents left alone: look at all again.
                active = members.len();
                (shrink_above, shrink_below) = (f64::INFINITY, f64::NEG_INFINITY);
                continue;
            }
            shrink_above = if highest > 0.0 { highest } else { f64::INFINITY };
            shrink_below = if lowest < 0.0 { lowest } else { f64::NEG_INFINITY };
        }
        Descent { epochs: stop.epochs, reached: false }
    }
}

/// `w` and bias at the last extrapolation.
struct Before {
    weights: Vec<f64>,
    bias: f64,
}

/// Goes on in the direction of the steps since the last time, as far as the dual value grows and no variable leaves its
/// bounds, and returns what that gains. Near the solution, passes creep along the few directions in which the dual is
/// flat; one line search goes where dozens of passes would.
fn extrapolate(
    objective: &Objective,
    members: &mut [Local],
    weights: &mut [f64],
    bias: &mut f64,
    bias_give: f64,
    before: &mut Before,
) -> f64 {
    let (mut slope, mut curvature, mut farthest) = (0.0, 0.0, f64::INFINITY);
    for m in members.iter() {
        let d = m.alpha - m.before;
        if d != 0.0 {
            let diagonal = objective.diagonal(m.cost);
            slope += d * (1.0 - diagonal * m.alpha);
            curvature += diagonal * d * d;
            let room = if d > 0.0 { objective.bound(m.cost) - m.alpha } else { m.alpha };
            farthest = f64::min(farthest, room / d.abs());
        }
    }
    for (w, old) in weights.iter().zip(&before.weights) {
        let d = w - old;
        slope -= w * d;
        curvature += d * d;
    }
    let d = *bias - before.bias;
    slope -= *bias * d / bias_give;
    curvature += d * d / bias_give;
    let length = if curvature > 0.0 { (slope / curvature).min(farthest).max(0.0) } else { 0.0 };
    for m in members.iter_mut() {
        let next = m.alpha + length * (m.alpha - m.before);
        m.alpha = next.clamp(0.0, objective.bound(m.cost));
        m.before = m.alpha;
    }
    for (w, old) in weights.iter_mut().zip(&mut before.weights) {
        *w += length * (*w - *old);
        *old = *w;
    }
    *bias += length * (*bias - before.bias);
    before.bias = *bias;
    length * (slope - 0.5 * length * curvature)
}

/// `Σ w·x` over a row. Two sums, because one addition must wait for the one before it.
#[inline]
fn dot(weights: &[f64], row: &[(u32, f32)]) -> f64 {
    let mut sums = [0.0; 2];
    let mut pairs = row.chunks_exact(2);
    for pair in &mut pairs {
        sums[0] += weights[pair[0].0 as usize] * f64::from(pair[0].1);
        sums[1] += weights[pair[1].0 as usize] * f64::from(pair[1].1);
    }
    for &(feature, value) in pairs.remainder() {
        sums[0] += weights[feature as usize] * f64::from(value);
    }
    sums[0] + sums[1]
}

/// `w += step·x`.
#[inline]
fn add(weights: &mut [f64], row: &[(u32, f32)], step: f64) {
    for &(feature, value) in row {
        weights[feature as usize] += step * f64::from(value);
    }
}
