//! Newton's method with conjugate gradients, for the labels of a block side by side or for all labels together.
//!
//! The loss is smooth and the penalty strongly convex, so a step solves the Newton equations by a few products with the
//! Hessian (Lin, Weng & Keerthi 2008), preconditioned by its diagonal, and a line search makes sure that the objective falls. Products
//! with vectors are all that is expensive. With the dual variables that belong to `w` the duality gap is `½‖∇P(w)‖²`: the loss and its
//! conjugate meet exactly there, and what remains is `½‖w − Σ α_i y_i x_i‖²`. So the gap comes with the gradient, at no cost.

use super::lanes::{Block, Design, LANES, Lanes, ZERO, add, added, dot, times};
use super::loss::{Shape, Targets};
use crate::{Error, Progress, Result};

/// What the solver is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Aim {
    /// Duality gap relative to the primal value.
    pub(super) gap: f64,
    /// Most steps.
    pub(super) iterations: usize,
    /// For a part of all documents: the gap itself, instead, or a share of what it was at the start.
    pub(super) part: Option<Part>,
}

/// When a part has done enough.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// Share of the gap at the start.
    pub(super) share: f64,
    /// Or the gap itself.
    pub(super) floor: f64,
}

/// What comes from elsewhere to the problem of a part: values that documents have before its own weights, and a force on these.
#[derive(Debug)]
pub(super) struct Outside {
    /// Block by block, document by document.
    pub(super) values: Vec<Block>,
    /// Block by block, places as of weights: the objective has this times the weights more.
    pub(super) pull: Vec<Block>,
}

/// How far a lane came, or all lanes where labels compete.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reached {
    pub(super) primal: f64,
    pub(super) gap: f64,
    pub(super) iterations: usize,
}

/// Most products with the Hessian for one step.
const PRODUCTS: usize = 60;

/// Most halvings of a step.
const HALVINGS: usize = 40;

/// A problem, its weights and the values they give.
pub(super) struct Newton<'a> {
    pub(super) design: &'a Design<'a>,
    pub(super) targets: &'a Targets,
    /// What each label multiplies its features with, block by block; the bias has 1.
    pub(super) factors: Option<&'a [Block]>,
    /// Block by block: features, then the bias.
    pub(super) weights: Vec<Block>,
    /// For a part of all documents.
    pub(super) outside: Option<&'a Outside>,
}

/// Numbers of all lanes; where labels compete they share one, and each lane has it.
type Scalars = Vec<Lanes>;

impl Newton<'_> {
    /// Where labels compete, sums run over all of them.
    fn pooled(&self, mut scalars: Scalars) -> Scalars {
        if self.targets.joint {
            let total: f64 = scalars.iter().flatten().sum();
            scalars.iter_mut().for_each(|lanes| *lanes = [total; LANES]);
        }
        scalars
    }

    fn dots(&self, a: &[Block], b: &[Block]) -> Scalars {
        self.pooled(a.iter().zip(b).map(|(a, b)| dot(a, b)).collect())
    }

    fn factors(&self, block: usize) -> Option<&Block> {
        self.factors.map(|factors| &factors[block])
    }

    fn values(&self, weights: &[Block], values: &mut [Block]) {
        for (block, (weights, values)) in weights.iter().zip(values).enumerate() {
            self.design.values(weights, self.factors(block), values);
        }
    }

    /// A block of zeros for each block of labels.
    fn zeros(&self, places: usize) -> Vec<Block> {
        self.weights.iter().map(|_| vec![ZERO; places]).collect()
    }

    /// `P'(w) = w + Xᵀ·slopes`.
    fn gradient(&self, shape: &Shape, gradient: &mut [Block]) {
        for (block, gradient) in gradient.iter_mut().enumerate() {
            self.design.back(&shape.slopes[block], self.factors(block), gradient);
            add(gradient, [1.0; LANES], &self.weights[block]);
            if let Some(outside) = self.outside {
                add(gradient, [1.0; LANES], &outside.pull[block]);
            }
        }
    }

    /// What the force from outside does along a direction.
    fn pulled(&self, along: &[Block]) -> Scalars {
        match self.outside {
            Some(outside) => self.dots(&outside.pull, along),
            None => vec![ZERO; along.len()],
        }
    }

    /// The values of documents at the weights there are.
    pub(super) fn reached(&self, values: &mut [Block]) {
        self.values(&self.weights, values);
        for (values, outside) in values.iter_mut().zip(self.outside.iter().flat_map(|o| &o.values)) {
            add(values, [1.0; LANES], outside);
        }
    }

    /// One over the diagonal of the Hessian.
    fn preconditioner(&self, shape: &Shape, inverse: &mut [Block]) {
        for (block, inverse) in inverse.iter_mut().enumerate() {
            let curvatures = self.targets.diagonal(shape, block);
            self.design.back_squared(&curvatures, self.factors(block), inverse);
            inverse.iter_mut().flatten().for_each(|x| *x = 1.0 / (1.0 + *x));
        }
    }

    /// Solves to the gap, from the weights there are.
    pub(super) fn solve(&mut self, aim: Aim, progress: &dyn Progress) -> Result<Vec<[Reached; LANES]>> {
        let (rows, places) = (self.targets.costs.len(), self.design.places());
        let mut values = self.zeros(rows);
        self.reached(&mut values);
        let mut shape = self.targets.room();
        let (mut gradient, mut inverse) = (self.zeros(places), self.zeros(places));
        let mut step = Step { direction: self.zeros(places), values: self.zeros(rows) };
        let still = vec![ZERO; self.weights.len()];
        let mut reached = vec![[Reached::default(); LANES]; self.weights.len()];
        let mut first_slope: Option<Scalars> = None;
        let enough = |primal: f64, first: f64| match aim.part {
            Some(part) => (part.share * 0.5 * first).max(part.floor),
            None => aim.gap * primal,
        };
        let mut was_open = vec![[true; LANES]; self.weights.len()];
        for iteration in 0..=aim.iterations {
            if progress.cancelled() {
                return Err(Error::Interrupted);
            }
            let losses = self.pooled(self.targets.losses(&values, &still, &[]));
            let squares = self.dots(&self.weights, &self.weights);
            self.targets.shape(&values, &mut shape);
            self.gradient(&shape, &mut gradient);
            let slopes = self.dots(&gradient, &gradient);
            let mut primal: Scalars =
                losses.iter().zip(&squares).map(|(l, s)| added(*l, times([0.5; LANES], *s))).collect();
            if self.outside.is_some() {
                primal.iter_mut().zip(self.pulled(&self.weights)).for_each(|(p, pulled)| *p = added(*p, pulled));
            }
            let first = first_slope.get_or_insert_with(|| slopes.clone());
            let open: Vec<[bool; LANES]> = (primal.iter().zip(&slopes).enumerate())
                .map(|(block, (primal, slopes))| {
                    std::array::from_fn(|lane| {
                        let used = self.targets.joint || self.targets.used[block] >> lane & 1 == 1;
                        let gap = 0.5 * slopes[lane];
                        let open = was_open[block][lane] && used && gap > enough(primal[lane], first[block][lane]);
                        if was_open[block][lane] {
                            reached[block][lane] = Reached { primal: primal[lane], gap, iterations: iteration };
                        }
                        open
                    })
                })
                .collect();
            was_open.clone_from(&open);
            if iteration == aim.iterations || !open.iter().flatten().any(|open| *open) {
                break;
            }
            // The nearer the end, the more exact the step; but never more exact than the gap asks for.
            let precision: Vec<Lanes> = (0..slopes.len())
                .map(|block| {
                    std::array::from_fn(|lane| {
                        let (slope, first) = (slopes[block][lane].sqrt(), first[block][lane].sqrt());
                        let wanted = (2.0 * enough(primal[block][lane], first * first)).sqrt();
                        (slope / first).sqrt().min(0.25).max(0.3 * wanted / slope).max(1e-10)
                    })
                })
                .collect();
            self.preconditioner(&shape, &mut inverse);
            self.direction(&shape, &gradient, &inverse, &precision, &open, &mut step);
            let moved = self.search(&values, &gradient, &primal, &open, &step);
            if moved.iter().flatten().all(|t| *t == 0.0) {
                // Nothing is gained any more: the gap is as small as rounding allows.
                break;
            }
            for block in 0..self.weights.len() {
                add(&mut self.weights[block], moved[block], &step.direction[block]);
                add(&mut values[block], moved[block], &step.values[block]);
            }
        }
        Ok(reached)
    }

    /// Solves `H·s = −g` by preconditioned conjugate gradients, for the lanes that are open.
    fn direction(
        &self,
        shape: &Shape,
        gradient: &[Block],
        inverse: &[Block],
        precision: &[Lanes],
        open: &[[bool; LANES]],
        step: &mut Step,
    ) {
        step.direction.iter_mut().chain(&mut step.values).flatten().for_each(|lanes| *lanes = ZERO);
        let mut residual: Vec<Block> = gradient.to_vec();
        residual.iter_mut().flatten().flatten().for_each(|x| *x = -*x);
        let (rows, places) = (step.values[0].len(), step.direction[0].len());
        let (mut turned, mut bent) = (self.zeros(places), self.zeros(rows));
        let mut scaled = preconditioned(&residual, inverse);
        let mut along = scaled.clone();
        let start = self.dots(&residual, &residual);
        let mut steepness = self.dots(&residual, &scaled);
        let mut active: Vec<[bool; LANES]> = open.to_vec();
        for _ in 0..PRODUCTS {
            self.values(&along, &mut bent);
            // H·p = p + Xᵀ·(curvature of X·p); X·p itself is kept for the line search.
            let seen = bent.clone();
            self.targets.bend(shape, &mut bent);
            for block in 0..turned.len() {
                self.design.back(&bent[block], self.factors(block), &mut turned[block]);
                add(&mut turned[block], [1.0; LANES], &along[block]);
            }
            let curvature = self.dots(&along, &turned);
            let length: Vec<Lanes> = lanes_of(active.len(), |block, lane| {
                let (s, c) = (steepness[block][lane], curvature[block][lane]);
                if active[block][lane] && c > 0.0 && s > 0.0 { s / c } else { 0.0 }
            });
            for block in 0..length.len() {
                add(&mut step.direction[block], length[block], &along[block]);
                add(&mut step.values[block], length[block], &seen[block]);
                add(&mut residual[block], length[block].map(|t| -t), &turned[block]);
            }
            let left = self.dots(&residual, &residual);
            for (block, active) in active.iter_mut().enumerate() {
                for (lane, active) in active.iter_mut().enumerate() {
                    let enough = precision[block][lane].powi(2) * start[block][lane];
                    *active &= length[block][lane] > 0.0 && left[block][lane] > enough;
                }
            }
            if !active.iter().flatten().any(|a| *a) {
                break;
            }
            scaled = preconditioned(&residual, inverse);
            let next = self.dots(&residual, &scaled);
            for block in 0..along.len() {
                let share: Lanes = std::array::from_fn(|lane| {
                    let before = steepness[block][lane];
                    if active[block][lane] && before > 0.0 { next[block][lane] / before } else { 0.0 }
                });
                let mut turned = scaled[block].clone();
                add(&mut turned, share, &along[block]);
                along[block] = turned;
            }
            steepness = next;
        }
    }

    /// How far to go: the whole step, or halves of it until the objective falls as it should (Armijo).
    fn search(
        &self,
        values: &[Block],
        gradient: &[Block],
        primal: &[Lanes],
        open: &[[bool; LANES]],
        step: &Step,
    ) -> Scalars {
        let descent = self.dots(gradient, &step.direction);
        let (inner, square) = (self.dots(&self.weights, &step.direction), self.dots(&step.direction, &step.direction));
        let own = self.dots(&self.weights, &self.weights);
        let (pulled, pulled_on) = (self.pulled(&self.weights), self.pulled(&step.direction));
        let blocks = open.len();
        let mut length: Scalars =
            lanes_of(blocks, |block, lane| if open[block][lane] && descent[block][lane] < 0.0 { 1.0 } else { 0.0 });
        for halving in 0..=HALVINGS {
            let losses = self.pooled(self.targets.losses(values, &length, &step.values));
            let mut all = true;
            for block in 0..blocks {
                for lane in 0..LANES {
                    let t = length[block][lane];
                    if t == 0.0 {
                        continue;
                    }
                    let half_square =
                        0.5 * (own[block][lane] + 2.0 * t * inner[block][lane] + t * t * square[block][lane]);
                    let drawn = pulled[block][lane] + t * pulled_on[block][lane];
                    let before = primal[block][lane];
                    // The last term is what rounding may do to a sum of this size.
                    let enough = before + 1e-4 * t * descent[block][lane] + 1e-13 * before.abs();
                    if losses[block][lane] + half_square + drawn > enough {
                        all = false;
                        length[block][lane] = if halving == HALVINGS { 0.0 } else { 0.5 * t };
                    }
                }
            }
            if all {
                break;
            }
        }
        length
    }
}

/// A direction, and what it does to the values of documents.
struct Step {
    direction: Vec<Block>,
    values: Vec<Block>,
}

fn preconditioned(residual: &[Block], inverse: &[Block]) -> Vec<Block> {
    let mut scaled = residual.to_vec();
    scaled.iter_mut().zip(inverse).for_each(|(scaled, inverse)| super::lanes::fold(scaled, inverse));
    scaled
}

fn lanes_of(blocks: usize, of: impl Fn(usize, usize) -> f64) -> Vec<Lanes> {
    (0..blocks).map(|block| std::array::from_fn(|lane| of(block, lane))).collect()
}
