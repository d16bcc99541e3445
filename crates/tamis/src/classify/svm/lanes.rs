//! Passes over all documents for many labels at once: a document is read once for all of them, and the weights of a
//! feature for all of them lie in one cache line.

use std::ops::{AddAssign, Mul};

use rayon::prelude::*;

use super::objective::{Member, Objective, Plane};
use crate::classify::rows::Rows;

/// Labels in a pass.
pub(super) const LANES: usize = 16;

/// Documents in a part of [`check`]; fixed, so that sums are added in the same order with any number of threads.
const SEGMENT: usize = 8192;

/// The precision of a pass.
pub(super) trait Real:
    Copy + Default + Send + Sync + PartialOrd + Mul<Output = Self> + AddAssign + From<f32>
{
    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
}

impl Real for f32 {
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    fn from_f64(value: f64) -> Self {
        value
    }
    fn to_f64(self) -> f64 {
        self
    }
}

/// One label against the rest, on its way to the solution.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) label: u32,
    pub(super) objective: Objective,
    /// What the label multiplies its features with, where it has its own vectors.
    pub(super) factors: Option<Vec<f64>>,
    /// Rows that carry the label, ascending.
    pub(super) positives: Vec<u32>,
    /// The working set; between passes, ascending by row.
    pub(super) members: Vec<Member>,
    pub(super) plane: Plane,
    /// The duality gap and the primal value at the last check.
    pub(super) gap: f64,
    pub(super) primal: f64,
    /// Passes made so far.
    pub(super) epochs: usize,
    /// The gap that the next descent aims at.
    pub(super) aim: f64,
}

/// Weights of a block of labels, feature by feature.
struct Block<R> {
    weights: Vec<[R; LANES]>,
    bias: [R; LANES],
}

impl<R: Real> Block<R> {
    fn new(features: usize) -> Self {
        Self { weights: vec![[R::default(); LANES]; features], bias: [R::default(); LANES] }
    }

    /// The values of all labels for a row.
    #[inline]
    fn values(&self, features: &[u32], values: &[f32]) -> [R; LANES] {
        let mut sums = self.bias;
        for (&feature, &value) in features.iter().zip(values) {
            let value = R::from(value);
            let weights = &self.weights[feature as usize];
            for (sum, &weight) in sums.iter_mut().zip(weights) {
                *sum += weight * value;
            }
        }
        sums
    }

    #[inline]
    fn add(&mut self, features: &[u32], values: &[f32], steps: &[R; LANES]) {
        for (&feature, &value) in features.iter().zip(values) {
            let value = R::from(value);
            let weights = &mut self.weights[feature as usize];
            for (weight, &step) in weights.iter_mut().zip(steps) {
                *weight += step * value;
            }
        }
        for (bias, &step) in self.bias.iter_mut().zip(steps) {
            *bias += step;
        }
    }
}

/// Sets the bit of a lane in the given rows.
fn mark(bits: &mut [u16], lane: usize, rows: impl Iterator<Item = u32>) {
    for row in rows {
        bits[row as usize] |= 1 << lane;
    }
}

/// For each row a bit for each lane: whether the row carries its label.
fn positives(rows: usize, lanes: &[&mut Lane]) -> Vec<u16> {
    let mut bits = vec![0; rows];
    for (number, lane) in lanes.iter().enumerate() {
        mark(&mut bits, number, lane.positives.iter().copied());
    }
    bits
}

/// The first pass of coordinate descent from `α = 0`: every document is met once and kept where its variable moved. A step moves weights
/// by `give`: 1, but more where other machines take theirs at the same time.
pub(super) fn first_pass(rows: &Rows, lanes: &mut [&mut Lane], give: f64) {
    let mut block = Block::<f32>::new(rows.features());
    let positive = positives(rows.len(), lanes);
    for row in 0..rows.len() {
        let (features, values) = (rows.matrix.row_indices(row), rows.matrix.row_values(row));
        let sums = block.values(features, values);
        let mut steps = [0.0f32; LANES];
        let mut any = false;
        for (number, lane) in lanes.iter_mut().enumerate() {
            let positive = positive[row] >> number & 1 == 1;
            let value = f64::from(sums[number]);
            let e = if positive { 1.0 - value } else { 1.0 + value };
            if e > 0.0 {
                let objective = &lane.objective;
                let cost = objective.cost(positive, rows.weights[row]);
                let alpha = (e / (give * rows.squares[row] + objective.diagonal(cost))).min(objective.bound(cost));
                let step = (give * alpha) as f32;
                steps[number] = if positive { step } else { -step };
                lane.members.push(Member { row: row as u32, positive, alpha });
                any = true;
            }
        }
        if any {
            block.add(features, values, &steps);
        }
    }
    for lane in lanes {
        lane.epochs = 1;
    }
}

/// The same for a label whose vectors are its own.
pub(super) fn first_pass_alone(rows: &Rows, lane: &mut Lane, factors: &[f64]) {
    let mut weights = vec![0.0f64; rows.features()];
    let mut bias = 0.0;
    let mut positives = lane.positives.iter().copied().peekable();
    for row in 0..rows.len() {
        let positive = positives.next_if_eq(&(row as u32)).is_some();
        let own =
            || rows.matrix.row(row).map(|(feature, x)| (feature as usize, f64::from(x) * factors[feature as usize]));
        let value: f64 = bias + own().map(|(feature, x)| weights[feature] * x).sum::<f64>();
        let e = if positive { 1.0 - value } else { 1.0 + value };
        if e > 0.0 {
            let cost = lane.objective.cost(positive, rows.weights[row]);
            let square = 1.0 + own().map(|(_, x)| x * x).sum::<f64>();
            let alpha = (e / (square + lane.objective.diagonal(cost))).min(lane.objective.bound(cost));
            let step = if positive { alpha } else { -alpha };
            own().for_each(|(feature, x)| weights[feature] += step * x);
            bias += step;
            lane.members.push(Member { row: row as u32, positive, alpha });
        }
    }
    lane.epochs = 1;
}

/// What a pass over some rows found for each lane.
struct Found {
    gaps: [f64; LANES],
    losses: [f64; LANES],
    members: Vec<Vec<Member>>,
    /// Negative documents with `α = 0` that ask for more, and their error.
    violators: Vec<Vec<(f32, u32)>>,
}

/// Computes the exact duality gap of every lane, and its next working set: the documents with `α > 0`, and those that ask
/// for it.
pub(super) fn check<R: Real>(rows: &Rows, lanes: &mut [&mut Lane]) {
    let mut block = Block::<R>::new(rows.features());
    for (number, lane) in lanes.iter().enumerate() {
        for (&feature, &weight) in lane.plane.features.iter().zip(&lane.plane.weights) {
            block.weights[feature as usize][number] = R::from_f64(weight);
        }
        block.bias[number] = R::from_f64(lane.plane.bias);
    }
    let positive = positives(rows.len(), lanes);
    let mut member = vec![0; rows.len()];
    for (number, lane) in lanes.iter().enumerate() {
        mark(&mut member, number, lane.members.iter().map(|m| m.row));
    }
    let starts: Vec<usize> = (0..rows.len()).step_by(SEGMENT).collect();
    let found: Vec<Found> = starts
        .par_iter()
        .map(|&start| {
            let end = (start + SEGMENT).min(rows.len());
            check_rows(rows, start..end, lanes, &block, &positive, &member)
        })
        .collect();
    for (number, lane) in lanes.iter_mut().enumerate() {
        lane.members.clear();
        let mut violators = Vec::new();
        let (mut gap, mut loss) = (0.0, 0.0);
        for part in &found {
            gap += part.gaps[number];
            loss += part.losses[number];
            lane.members.extend_from_slice(&part.members[number]);
            violators.extend_from_slice(&part.violators[number]);
        }
        lane.gap = gap;
        lane.primal = loss + lane.plane.half_square;
        keep_worst(&mut violators, lane.members.len().max(LEAST_VIOLATORS));
        lane.members.extend(violators.iter().map(|&(_, row)| Member { row, positive: false, alpha: 0.0 }));
    }
}

/// How many violators a working set takes in at least.
const LEAST_VIOLATORS: usize = 1000;

/// Keeps the `most` with the largest error. A small shift of the bias makes thousands of documents ask for a little; the
/// worst of them bring it back, and the others need never be looked at.
fn keep_worst(violators: &mut Vec<(f32, u32)>, most: usize) {
    if violators.len() > most {
        violators.select_nth_unstable_by(most, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        violators.truncate(most);
    }
}

fn check_rows<R: Real>(
    rows: &Rows,
    range: std::ops::Range<usize>,
    lanes: &[&mut Lane],
    block: &Block<R>,
    positive: &[u16],
    member: &[u16],
) -> Found {
    let mut found = Found {
        gaps: [0.0; LANES],
        losses: [0.0; LANES],
        members: vec![Vec::new(); lanes.len()],
        violators: vec![Vec::new(); lanes.len()],
    };
    let used = ((1u32 << lanes.len()) - 1) as u16;
    let minus_one = R::from(-1.0f32);
    let mut next: Vec<usize> =
        lanes.iter().map(|l| l.members.partition_point(|m| (m.row as usize) < range.start)).collect();
    for row in range {
        let sums = block.values(rows.matrix.row_indices(row), rows.matrix.row_values(row));
        let mut highest = sums[0];
        for &sum in &sums[1..] {
            highest = if sum > highest { sum } else { highest };
        }
        let named = positive[row] | member[row];
        // Most documents are beyond the margin of every label here.
        if named == 0 && highest <= minus_one {
            continue;
        }
        let mut asking = 0u16;
        for (lane, &sum) in sums.iter().enumerate() {
            asking |= u16::from(sum > minus_one) << lane;
        }
        let mut todo = (named | asking) & used;
        while todo != 0 {
            let number = todo.trailing_zeros() as usize;
            todo &= todo - 1;
            let lane = &lanes[number];
            let positive = positive[row] >> number & 1 == 1;
            let mut alpha = 0.0;
            if member[row] >> number & 1 == 1 {
                alpha = lane.members[next[number]].alpha;
                next[number] += 1;
            }
            let value = sums[number].to_f64();
            let e = if positive { 1.0 - value } else { 1.0 + value };
            if alpha > 0.0 || e > 0.0 {
                let cost = lane.objective.cost(positive, rows.weights[row]);
                found.gaps[number] += lane.objective.gap(e, alpha, cost);
                found.losses[number] += lane.objective.loss(e, cost);
                if alpha > 0.0 || positive {
                    found.members[number].push(Member { row: row as u32, positive, alpha });
                } else {
                    found.violators[number].push((e as f32, row as u32));
                }
            }
        }
    }
    found
}
