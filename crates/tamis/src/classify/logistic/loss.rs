//! The logistic loss of documents: its value, slope and curvature, label by label or over all labels together.

use rayon::prelude::*;

use super::lanes::{Block, CHUNK, LANES, Lanes, ZERO, added, times};

/// What documents ask of the values that they get.
pub(super) struct Targets {
    /// For each block of labels and each document, a bit for each label that it has.
    pub(super) bits: Vec<Vec<u8>>,
    /// For each block, which lanes are labels.
    pub(super) used: Vec<u8>,
    /// What a document costs, before the shares below.
    pub(super) costs: Vec<f64>,
    /// For each block: shares of the cost for a document without the label and with it.
    pub(super) shares: Vec<[Lanes; 2]>,
    /// Whether all labels compete; otherwise each is a problem of its own.
    pub(super) joint: bool,
}

/// Slope and curvature of the loss at some values.
pub(super) struct Shape {
    /// `∂loss/∂value`, block by block.
    pub(super) slopes: Vec<Block>,
    /// One label each: `∂²loss/∂value²`. All together: the probabilities.
    pub(super) curvatures: Vec<Block>,
    /// All together: the cost of each document, over its labels.
    masses: Vec<f64>,
}

impl Targets {
    fn is(&self, block: usize, row: usize, lane: usize) -> bool {
        self.bits[block][row] >> lane & 1 == 1
    }

    fn uses(&self, block: usize, lane: usize) -> bool {
        self.used[block] >> lane & 1 == 1
    }

    /// What a document costs in a lane.
    fn cost(&self, block: usize, row: usize, lane: usize) -> f64 {
        self.costs[row] * self.shares[block][usize::from(self.is(block, row, lane))][lane]
    }

    /// The sum of losses of each block at `values + step·direction`; where labels compete, all of it is in the first lane.
    pub(super) fn losses(&self, values: &[Block], step: &[Lanes], direction: &[Block]) -> Vec<Lanes> {
        let at = |block: usize, row: usize| -> Lanes {
            let (v, d) = (values[block][row], direction.get(block).map_or(ZERO, |d| d[row]));
            added(v, times(step[block], d))
        };
        if self.joint {
            let of_row = |row: usize| {
                let rows: Vec<Lanes> = (0..self.bits.len()).map(|block| at(block, row)).collect();
                self.joint_loss(row, &rows)
            };
            let mut sums = vec![ZERO; self.bits.len()];
            sums[0][0] = self.over_rows(|row| [of_row(row), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])[0];
            return sums;
        }
        let of_block = |block: usize| {
            self.over_rows(|row| {
                let values = at(block, row);
                std::array::from_fn(|lane| {
                    let against = if self.is(block, row, lane) { -values[lane] } else { values[lane] };
                    self.cost(block, row, lane) * softplus(against)
                })
            })
        };
        (0..self.bits.len()).map(of_block).collect()
    }

    /// Sums over documents in parts of fixed size.
    fn over_rows(&self, of: impl Fn(usize) -> Lanes + Sync) -> Lanes {
        let rows = self.costs.len();
        let starts: Vec<usize> = (0..rows).step_by(CHUNK).collect();
        let part = |&start: &usize| (start..(start + CHUNK).min(rows)).fold(ZERO, |sum, row| added(sum, of(row)));
        let parts: Vec<Lanes> = starts.par_iter().map(part).collect();
        parts.into_iter().fold(ZERO, added)
    }

    /// `Σ_l cost·(log Σ exp v − v_l)` over the labels of a document.
    fn joint_loss(&self, row: usize, values: &[Lanes]) -> f64 {
        let mut log_sum = None;
        let mut loss = 0.0;
        for (block, lanes) in values.iter().enumerate() {
            for (lane, value) in lanes.iter().enumerate().filter(|(lane, _)| self.is(block, row, *lane)) {
                let log_sum = *log_sum.get_or_insert_with(|| self.log_sum(values).1);
                loss += self.cost(block, row, lane) * (log_sum - value);
            }
        }
        loss
    }

    /// The largest value, and the logarithm of the sum of exponentials.
    fn log_sum(&self, values: &[Lanes]) -> (f64, f64) {
        let used = || {
            let lanes = |(block, lanes): (usize, &'_ Lanes)| {
                let lanes = *lanes;
                (0..LANES).filter(move |&lane| self.uses(block, lane)).map(move |lane| lanes[lane])
            };
            values.iter().enumerate().flat_map(lanes)
        };
        let highest = used().fold(f64::NEG_INFINITY, f64::max);
        (highest, highest + used().map(|v| (v - highest).exp()).sum::<f64>().ln())
    }

    /// Room for [`Targets::shape`].
    pub(super) fn room(&self) -> Shape {
        let block = || vec![ZERO; self.costs.len()];
        let blocks = || (0..self.bits.len()).map(|_| block()).collect();
        Shape {
            slopes: blocks(),
            curvatures: blocks(),
            masses: vec![0.0; if self.joint { self.costs.len() } else { 0 }],
        }
    }

    /// Slope and curvature at the given values.
    pub(super) fn shape(&self, values: &[Block], shape: &mut Shape) {
        if self.joint {
            self.joint_shape(values, shape);
            return;
        }
        let Shape { slopes, curvatures, .. } = shape;
        for (block, (slopes, curvatures)) in slopes.iter_mut().zip(curvatures).enumerate() {
            let places = slopes.par_iter_mut().zip(curvatures).with_min_len(256).enumerate();
            places.for_each(|(row, (slope, curvature))| {
                for lane in 0..LANES {
                    let p = sigmoid(values[block][row][lane]);
                    let q = sigmoid(-values[block][row][lane]);
                    let cost = self.cost(block, row, lane);
                    slope[lane] = if self.is(block, row, lane) { -cost * q } else { cost * p };
                    curvature[lane] = cost * p * q;
                }
            });
        }
    }

    fn joint_shape(&self, values: &[Block], shape: &mut Shape) {
        let blocks = self.bits.len();
        let found: Vec<(f64, Vec<[Lanes; 2]>)> = (0..self.costs.len())
            .into_par_iter()
            .with_min_len(256)
            .map(|row| {
                let values: Vec<Lanes> = (0..blocks).map(|block| values[block][row]).collect();
                let (_, log_sum) = self.log_sum(&values);
                let mut mass = 0.0;
                let mut places = vec![[ZERO; 2]; blocks];
                for (block, place) in places.iter_mut().enumerate() {
                    for lane in (0..LANES).filter(|&lane| self.uses(block, lane)) {
                        place[1][lane] = (values[block][lane] - log_sum).exp();
                        if self.is(block, row, lane) {
                            let cost = self.cost(block, row, lane);
                            mass += cost;
                            place[0][lane] = -cost;
                        }
                    }
                }
                for [slope, p] in &mut places {
                    *slope = std::array::from_fn(|lane| slope[lane] + mass * p[lane]);
                }
                (mass, places)
            })
            .collect();
        for (row, (mass, places)) in found.into_iter().enumerate() {
            shape.masses[row] = mass;
            for (block, [slope, p]) in places.into_iter().enumerate() {
                shape.slopes[block][row] = slope;
                shape.curvatures[block][row] = p;
            }
        }
    }

    /// Replaces what a direction does to the values by what that does to the slopes: the Hessian of the loss times it.
    pub(super) fn bend(&self, shape: &Shape, directions: &mut [Block]) {
        if !self.joint {
            for (direction, curvatures) in directions.iter_mut().zip(&shape.curvatures) {
                super::lanes::fold(direction, curvatures);
            }
            return;
        }
        let inner: Vec<f64> = (0..self.costs.len())
            .into_par_iter()
            .with_min_len(CHUNK)
            .map(|row| {
                let parts = directions.iter().zip(&shape.curvatures);
                parts.map(|(d, p)| d[row].iter().zip(&p[row]).map(|(d, p)| d * p).sum::<f64>()).sum()
            })
            .collect();
        for (direction, p) in directions.iter_mut().zip(&shape.curvatures) {
            direction.par_iter_mut().with_min_len(CHUNK).enumerate().for_each(|(row, direction)| {
                *direction =
                    std::array::from_fn(|lane| shape.masses[row] * p[row][lane] * (direction[lane] - inner[row]));
            });
        }
    }

    /// The diagonal of the loss's Hessian with respect to the values.
    pub(super) fn diagonal(&self, shape: &Shape, block: usize) -> Block {
        let mut diagonal = shape.curvatures[block].clone();
        if self.joint {
            diagonal.par_iter_mut().with_min_len(CHUNK).zip(&shape.masses).for_each(|(lanes, mass)| {
                lanes.iter_mut().for_each(|p| *p = mass * *p * (1.0 - *p));
            });
        }
        diagonal
    }
}

/// `log(1 + eˣ)` without overflow.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
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
