//! Upper bounds of the Bhattacharyya distance after one term comes or goes, without a logarithm for each pair of classes.
//!
//! Let `x_jk = √(p_j p_k) / B_jk`, the share of a term in the overlap of two classes. With the term the distance is
//! `Σ w_jk · −log(B_jk(1 + x_jk)) + Σ W_c log(Q_c + p_c)`, and for every `x ≥ 0`
//!
//! - `−log(1 + x) ≤ −x + x²/2` (with the term),
//! - `−log(1 − x) ≤ x + x²·(½ + X/(3(1 − X)))` where `x ≤ X < 1` (without it): the rest of the series, `Σ_{i≥3} xⁱ/i`, is at
//!   most `x³/(3(1 − x))`.
//!
//! So the sums `F_i = Σ_{j<k} w_jk x_jk^i` for i = 1, 2 suffice. `√p` of a term is `β_c + δ_c` with `δ_c = 0` in classes it
//! does not occur in, hence `F_i` is a part common to all terms, one linear in the excesses, and one over the pairs of
//! classes that the term occurs in: the square of *their* number, not of all classes.
//!
//! The `Q` part uses `log(1 + z) ≤ z(6 + z)/(6 + 4z)` for `z > −1`: both sides are 0 at 0, and the derivative of the difference
//! is `z³ / ((1 + z)(3 + 2z)²)`, so it falls before 0 and rises after.

//!
//! With word priors `√p` of a term in a class it does not occur in is `σ·β_c`, `σ = √P(v)` its own: everything above holds with `σ·β` for `β`, so the
//! common part of `F_i` is multiplied by `σ^2i` and the linear one by `σ^i`. The logarithms `log(Q_c ± σ²β_c²)` cannot be taken beforehand for
//! every σ; `log(1 + z) ≤ z − z²/2 + z³/3` for `z > −1` makes their sum a polynomial in `σ²`.

use super::bhattacharyya::{Entry, pair_row};

/// Room for rounding, relative to the numbers that are added up. Their rounding errors are near 1e-15; a larger slack
/// costs a few evaluations, a smaller one could cost the right choice.
const SLACK: f64 = 1e-12;

/// What the bounds of all candidates share, for one state of the sums.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    /// By pair: `w/B` and `w/B²`.
    pairs: Vec<[f64; 2]>,
    /// By pair: `1/B`.
    inverse: Vec<f64>,
    /// By class `j`: `Σ_k w/B · β_k` and `Σ_k w/B² · β_k²`.
    slope: Vec<[f64; 2]>,
    /// `F_1` and `F_2` of a term that occurs in no class.
    common: [f64; 2],
    /// By class `j`: `max_k β_k / B_jk`.
    reach: Vec<f64>,
    /// `max β_j β_k / B_jk`.
    common_reach: f64,
    /// `W_c`.
    weight: Vec<f64>,
    /// `1/(Q_c + β_c²)` and `1/(Q_c − β_c²)`.
    mass: [Vec<f64>; 2],
    /// The distance with, and without, a term that occurs in no class, but for the `F` parts; slack included.
    start: [f64; 2],
    /// `Σ W_c log Q_c − Σ w log B`, slack included; `Σ W_c (β_c²/Q_c)^i` for i = 1, 2, 3; and by class `Q_c` and `β_c²`: the same for any scale.
    scaled: (f64, [f64; 3], Vec<(f64, f64)>),
}

/// A candidate, as the bounds see it.
#[derive(Clone, Copy)]
pub(super) struct Term<'a> {
    /// The classes it occurs in, ascending.
    pub(super) classes: &'a [u32],
    /// What it is there.
    pub(super) entries: &'a [Entry],
    /// Word priors: σ.
    pub(super) scale: Option<f64>,
}

const WITH: usize = 0;
const WITHOUT: usize = 1;

impl Bounds {
    pub(super) fn new(classes: usize) -> Self {
        let pairs = classes * (classes - 1) / 2;
        Self {
            pairs: vec![[0.0; 2]; pairs],
            inverse: vec![0.0; pairs],
            slope: vec![[0.0; 2]; classes],
            common: [0.0; 2],
            reach: vec![0.0; classes],
            common_reach: 0.0,
            weight: vec![0.0; classes],
            mass: [vec![0.0; classes], vec![0.0; classes]],
            start: [0.0; 2],
            scaled: (0.0, [0.0; 3], vec![(0.0, 0.0); classes]),
        }
    }

    /// For new sums. `log_overlap` is `Σ w log B`.
    pub(super) fn refresh(&mut self, shape: Shape<'_>, overlap: &[f64], mass: &[f64], log_overlap: f64) {
        let Shape { root, p, pair_weight, class_weight } = shape;
        self.slope.fill([0.0; 2]);
        self.reach.fill(0.0);
        let mut pair = 0;
        for j in 0..root.len() {
            for k in j + 1..root.len() {
                let inverse = 1.0 / overlap[pair];
                let first = pair_weight[pair] * inverse;
                let second = first * inverse;
                self.inverse[pair] = inverse;
                self.pairs[pair] = [first, second];
                self.slope[j][0] += first * root[k];
                self.slope[j][1] += second * p[k];
                self.slope[k][0] += first * root[j];
                self.slope[k][1] += second * p[j];
                self.reach[j] = self.reach[j].max(root[k] * inverse);
                self.reach[k] = self.reach[k].max(root[j] * inverse);
                pair += 1;
            }
        }
        // Each pair is in the slopes of both its classes.
        self.common = [
            0.5 * self.slope.iter().zip(root).map(|(s, b)| s[0] * b).sum::<f64>(),
            0.5 * self.slope.iter().zip(p).map(|(s, b)| s[1] * b).sum::<f64>(),
        ];
        self.common_reach = self.reach.iter().zip(root).map(|(r, b)| r * b).fold(0.0, f64::max);
        self.weight.copy_from_slice(class_weight);
        for (side, sign) in [(WITH, 1.0), (WITHOUT, -1.0)] {
            let mut logs = 0.0;
            for (c, inverse) in self.mass[side].iter_mut().enumerate() {
                let left = mass[c] + sign * p[c];
                *inverse = 1.0 / left;
                logs += class_weight[c] * left.ln();
            }
            self.start[side] = logs - log_overlap + SLACK * (1.0 + logs.abs() + log_overlap.abs());
        }
        let (mut logs, mut sums) = (0.0, [0.0; 3]);
        for (c, place) in self.scaled.2.iter_mut().enumerate() {
            *place = (mass[c], p[c]);
            logs += class_weight[c] * mass[c].ln();
            let z = p[c] / mass[c];
            for (sum, power) in sums.iter_mut().zip([z, z * z, z * z * z]) {
                *sum += class_weight[c] * power;
            }
        }
        self.scaled.0 = logs - log_overlap + SLACK * (1.0 + logs.abs() + log_overlap.abs());
        self.scaled.1 = sums;
    }

    /// The distance with or without a term that occurs in no class, but for the `F` parts.
    fn start(&self, side: usize, scale: Option<f64>) -> f64 {
        let Some(scale) = scale else { return self.start[side] };
        let (start, [first, second, third], _) = &self.scaled;
        let square = scale * scale;
        let odd = square * first + square.powi(3) * third / 3.0;
        start + if side == WITH { odd } else { -odd } - square * square * second / 2.0
    }

    /// `1/(Q_c ± σ²β_c²)`.
    fn mass(&self, side: usize, scale: Option<f64>, c: usize) -> f64 {
        let Some(scale) = scale else { return self.mass[side][c] };
        let (mass, p) = self.scaled.2[c];
        let absent = scale * scale * p;
        1.0 / if side == WITH { mass + absent } else { mass - absent }
    }

    /// At least the distance with a term that occurs in the given classes.
    pub(super) fn distance_with(&self, term: Term<'_>) -> f64 {
        let [first, second] = self.shares(term);
        let mut bound = self.start(WITH, term.scale) - first + 0.5 * second;
        for (&class, entry) in term.classes.iter().zip(term.entries) {
            let c = class as usize;
            bound += self.weight[c] * log_bound(entry.excess[1] * self.mass(WITH, term.scale, c));
        }
        bound
    }

    /// At least the distance without a term, a member, that occurs in the given classes; infinite when no bound is known.
    pub(super) fn distance_without(&self, term: Term<'_>) -> f64 {
        let largest = self.largest_share(term);
        if largest >= 0.99 {
            return f64::INFINITY;
        }
        let [first, second] = self.shares(term);
        let mut bound = self.start(WITHOUT, term.scale) + first + second * (0.5 + largest / (3.0 * (1.0 - largest)));
        for (&class, entry) in term.classes.iter().zip(term.entries) {
            let c = class as usize;
            let z = entry.excess[1] * self.mass(WITHOUT, term.scale, c);
            // Also where nothing is left of the class, or less by rounding.
            if !(0.0..0.99).contains(&z) {
                return f64::INFINITY;
            }
            bound += self.weight[c] * log_bound(-z);
        }
        bound
    }

    /// `F_1` and `F_2`.
    fn shares(&self, Term { classes, entries, scale }: Term<'_>) -> [f64; 2] {
        let scale = scale.unwrap_or(1.0);
        let square = scale * scale;
        let mut sums = [square * self.common[0], square * square * self.common[1]];
        for (at, (&class, entry)) in classes.iter().zip(entries).enumerate() {
            let j = class as usize;
            let row = pair_row(self.slope.len(), j);
            let mut along = [scale * self.slope[j][0], square * self.slope[j][1]];
            for (&other, with) in classes[at + 1..].iter().zip(&entries[at + 1..]) {
                let pair = self.pairs[row.wrapping_add(other as usize)];
                along[0] += pair[0] * with.excess[0];
                along[1] += pair[1] * with.excess[1];
            }
            sums[0] += along[0] * entry.excess[0];
            sums[1] += along[1] * entry.excess[1];
        }
        sums
    }

    /// At least the largest `x_jk`.
    fn largest_share(&self, Term { classes, entries, scale }: Term<'_>) -> f64 {
        let scale = scale.unwrap_or(1.0);
        let mut largest = scale * scale * self.common_reach;
        for (at, (&class, entry)) in classes.iter().zip(entries).enumerate() {
            let j = class as usize;
            let row = pair_row(self.slope.len(), j);
            let mut along = scale * self.reach[j];
            for (&other, with) in classes[at + 1..].iter().zip(&entries[at + 1..]) {
                along = along.max(self.inverse[row.wrapping_add(other as usize)] * with.root);
            }
            largest = largest.max(along * entry.root);
        }
        largest
    }
}

/// What does not change with the subset.
#[derive(Clone, Copy)]
pub(super) struct Shape<'a> {
    /// By class: `β_c`.
    pub(super) root: &'a [f64],
    /// By class: `β_c²`.
    pub(super) p: &'a [f64],
    /// By pair: `w_jk`.
    pub(super) pair_weight: &'a [f64],
    /// By class: `W_c`.
    pub(super) class_weight: &'a [f64],
}

/// At least `log(1 + z)`, for `z > −1`.
fn log_bound(z: f64) -> f64 {
    z * (6.0 + z) / (6.0 + 4.0 * z)
}
