//! Logistic regression with an L2 penalty (method 7): probabilities of labels, solved to a stated gap.
//!
//! `P(w) = ½‖w‖² + Σ C_i·log(1 + exp(−y_i·w·x_i))` for each label against the rest, or
//! `½Σ‖w_l‖² + Σ C_i·(log Σ_l exp(w_l·x_i) − w_y·x_i)` for all labels together; the bias is the weight of a constant feature 1, as the SVM has
//! it. `newton.rs` solves, `loss.rs` knows the loss, `lanes.rs` multiplies.

mod lanes;
mod loss;
mod newton;
pub(super) mod options;
mod part;

pub use options::{Form, LogisticOptions};
pub(super) use part::PartLogistic;

use super::rows::Rows;
use super::svm::{ClassPlane, Solution};
use super::vector::Factors;
use super::{ClassWeights, Linear, LinearParts, Outputs, Problem, Weighter, Weights};
use crate::counts::Csr;
use crate::{Error, Progress, Result};
use lanes::{Block, Design, LANES, ZERO};
use loss::Targets;
use newton::{Aim, Newton, Reached};

/// How well a problem was solved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogisticSolution {
    /// The label; `None` where all labels are one problem.
    pub label: Option<u32>,
    /// `P(w)`, the primal objective.
    pub primal: f64,
    /// `P(w) − D(α)`: at most this much above the smallest possible value.
    pub gap: f64,
    /// Steps of Newton's method.
    pub iterations: usize,
    /// Whether the gap asked for was reached.
    pub converged: bool,
}

impl From<LogisticSolution> for Solution {
    fn from(found: LogisticSolution) -> Self {
        let LogisticSolution { label, primal, gap, iterations, converged } = found;
        Self { label: label.unwrap_or_default(), against: None, primal, gap, iterations, supports: 0, converged }
    }
}

/// A fitted logistic regression: the model, and how well each problem was solved.
#[derive(Debug, Clone)]
pub struct LogisticFit {
    /// The classifier; scores are log probabilities.
    pub model: Linear,
    /// One for each problem.
    pub solutions: Vec<LogisticSolution>,
}

/// The most numbers, over documents and features and labels, that all labels together are solved with when nobody asked
/// for it: beyond, memory for the solver would be gigabytes.
const JOINT: usize = 1 << 24;

impl LogisticOptions {
    /// Fits all features of a problem.
    ///
    /// Where [`LogisticOptions::form`] says nothing, labels compete if every document has exactly one of more than two, and
    /// documents and features times labels are at most 2²⁴; otherwise each is told from the rest. Two labels that exclude each other
    /// are one problem, whose probabilities add up to 1 in either form.
    pub fn fit(&self, problem: &Problem, progress: &dyn Progress) -> Result<LogisticFit> {
        self.fit_size(problem, problem.features(), None, progress)
    }

    /// Fits the first `size` features of a problem, starting from the weights of a fit on similar documents: of another `C`, or of
    /// another size. The result is as good as from a cold start, to the gap asked for, but not the same to the last digit.
    pub fn fit_size(
        &self,
        problem: &Problem,
        size: usize,
        warm: Option<&Linear>,
        progress: &dyn Progress,
    ) -> Result<LogisticFit> {
        let problem = problem.counted()?;
        let (weighter, factors) = (self.vectors.fit(&problem)?, self.vectors.factors(&problem)?);
        self.fit_weighed(&problem, &weighter, factors.as_ref(), size, warm, progress)
    }

    /// Fits nested sizes one after the other, each from the weights of the one before; `each` gets size and fit.
    pub fn sweep(
        &self,
        problem: &Problem,
        sizes: &[usize],
        progress: &dyn Progress,
        mut each: impl FnMut(usize, &LogisticFit) -> Result<()>,
    ) -> Result<()> {
        let problem = problem.counted()?;
        let (weighter, factors) = (self.vectors.fit(&problem)?, self.vectors.factors(&problem)?);
        let mut warm: Option<LogisticFit> = None;
        for &size in sizes {
            let start = warm.as_ref().map(|fit| &fit.model);
            let fit = self.fit_weighed(&problem, &weighter, factors.as_ref(), size, start, progress)?;
            each(size, &fit)?;
            warm = Some(fit);
        }
        Ok(())
    }

    /// Planes of some classes, each against the rest, on rows as they lie: see [`SvmOptions::planes`](super::SvmOptions).
    pub(in crate::classify) fn planes(
        &self,
        rows: &Rows,
        members: Csr<()>,
        classes: &[u32],
        told: Vec<f64>,
        mirrored: bool,
        progress: &dyn Progress,
    ) -> Result<Vec<ClassPlane>> {
        let task = Task { options: self, design: Design::new(rows), factors: None, members, told };
        let way = if mirrored { Way::Turned(1.0) } else { Way::Each };
        let (weights, bias, _) = task.solve(classes, way, None, progress)?;
        let by_plane = weights.transpose();
        let plane =
            |(at, &class): (usize, &u32)| ClassPlane { class, weights: by_plane.row(at).collect(), bias: bias[at] };
        Ok(classes.iter().enumerate().map(plane).collect())
    }

    fn fit_weighed(
        &self,
        problem: &Problem,
        weighter: &Weighter,
        factors: Option<&Factors>,
        size: usize,
        warm: Option<&Linear>,
        progress: &dyn Progress,
    ) -> Result<LogisticFit> {
        self.validate()?;
        let size = size.min(problem.features());
        let weighter = weighter.prefix(size);
        let members = problem.assignments.transpose();
        let labels: Vec<u32> =
            (0..problem.labels() as u32).filter(|&l| !members.row_indices(l as usize).is_empty()).collect();
        if labels.is_empty() {
            return Err(Error::data("no training document has a label, so there is nothing to learn"));
        }
        let rows = Rows::in_order(problem, &weighter, size);
        // With vectors of their own, two labels are two problems.
        let two_sides = factors.is_none() && problem.two_sides(&labels);
        let form = self.form.unwrap_or_else(|| {
            let few = (problem.documents() + size).saturating_mul(labels.len()) <= JOINT;
            if labels.len() > 2 && few && problem.one_label() { Form::Multinomial } else { Form::Ovr }
        });
        let told = self.classes.of_labels(problem)?;
        let task = Task { options: self, design: Design::new(&rows), factors, members, told };
        let way = match form {
            Form::Ovr if two_sides => Way::Turned(1.0),
            Form::Multinomial if two_sides => Way::Turned(2.0),
            Form::Ovr => Way::Each,
            Form::Multinomial => Way::Joint,
        };
        let (weights, bias, solutions) = task.solve(&labels, way, warm, progress)?;
        let outputs = match form {
            Form::Ovr => Outputs::Odds(labels),
            Form::Multinomial => Outputs::Posteriors(labels),
        };
        let model = Linear::from_parts(LinearParts {
            labels: problem.labels(),
            weighter,
            outputs,
            weights: Weights::single(weights),
            bias,
            every: Vec::new(),
            common: Vec::new(),
        })?;
        Ok(LogisticFit { model, solutions })
    }
}

/// Which problems make up the fit.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// One for each label.
    Each,
    /// One for all labels.
    Joint,
    /// One for two labels that exclude each other; the second has the weights of the first, turned round. All together two labels
    /// have `w` and `−w`, so that their penalty is `½·½‖2w‖²`: the binary problem for `2w` with twice the cost. The number is by how much
    /// the cost is multiplied and the weights are divided.
    Turned(f64),
}

/// Weights (features × outputs), biases, and how well they are solved.
type Solved = (Csr<f32>, Vec<f64>, Vec<LogisticSolution>);

struct Task<'a> {
    options: &'a LogisticOptions,
    design: Design<'a>,
    factors: Option<&'a Factors>,
    /// Labels × documents.
    members: Csr<()>,
    /// Weights that were told for labels, by label.
    told: Vec<f64>,
}

impl Task<'_> {
    fn solve(&self, labels: &[u32], way: Way, warm: Option<&Linear>, progress: &dyn Progress) -> Result<Solved> {
        let asked = if matches!(way, Way::Turned(_)) { &labels[..1] } else { labels };
        progress.start("logistic", Some(asked.len() as u64));
        let together = if matches!(way, Way::Joint) { asked.len() } else { LANES };
        let mut columns: Vec<Vec<f32>> = Vec::with_capacity(labels.len());
        let (mut bias, mut solutions) = (Vec::new(), Vec::new());
        let features = self.design.rows.features();
        let scale = if let Way::Turned(twice) = way { 1.0 / twice } else { 1.0 };
        for group in asked.chunks(together) {
            let targets = self.targets(group, labels, way);
            let factors = self.factors.map(|factors| self.blocks(group, factors));
            let weights = self.start(group, warm, factors.as_deref(), 1.0 / scale);
            let mut newton =
                Newton { design: &self.design, targets: &targets, factors: factors.as_deref(), weights, outside: None };
            let aim = Aim { gap: self.options.gap, iterations: self.options.iterations, part: None };
            let reached = newton.solve(aim, progress)?;
            let solution = |label: Option<u32>, reached: Reached| LogisticSolution {
                label,
                primal: reached.primal,
                gap: reached.gap,
                iterations: reached.iterations,
                converged: reached.gap <= self.options.gap * reached.primal,
            };
            for (weights, factors) in newton.weights.iter_mut().zip(factors.iter().flatten()) {
                lanes::fold(weights, factors);
            }
            if targets.joint {
                solutions.push(solution(None, reached[0][0]));
            }
            for (at, &label) in group.iter().enumerate() {
                let (block, lane) = (at / LANES, at % LANES);
                if !targets.joint {
                    solutions.push(solution(Some(label), reached[block][lane]));
                }
                let weights = &newton.weights[block];
                columns.push(weights[..features].iter().map(|w| (w[lane] * scale) as f32).collect());
                bias.push(weights[features][lane] * scale);
            }
            progress.add(group.len() as u64);
        }
        if matches!(way, Way::Turned(_)) {
            columns.push(columns[0].iter().map(|w| -w).collect());
            bias.push(-bias[0]);
            solutions.push(LogisticSolution { label: Some(labels[1]), ..solutions[0] });
        }
        progress.finish();
        let mut weights = Csr::new(labels.len());
        for feature in 0..features {
            let row = columns.iter().enumerate().map(|(output, w)| (output as u32, w[feature]));
            weights.push_row(row.filter(|(_, w)| *w != 0.0));
        }
        Ok((weights, bias, solutions))
    }

    /// What documents ask of the labels of a group.
    fn targets(&self, group: &[u32], labels: &[u32], way: Way) -> Targets {
        let rows = self.design.rows;
        let n = rows.len();
        let blocks = group.len().div_ceil(LANES);
        let mut targets = Targets {
            bits: vec![vec![0; n]; blocks],
            used: vec![0; blocks],
            costs: rows.weights.iter().map(|w| self.options.c * w).collect(),
            shares: vec![[ZERO; 2]; blocks],
            joint: matches!(way, Way::Joint),
        };
        if let Way::Turned(twice) = way {
            targets.costs.iter_mut().for_each(|c| *c *= twice);
        }
        let weight_of = |label: u32| -> f64 {
            self.members.row_indices(label as usize).iter().map(|&row| rows.weights[row as usize]).sum()
        };
        let all: f64 = rows.weights.iter().sum();
        let labelled: f64 = if targets.joint { labels.iter().map(|&l| weight_of(l)).sum() } else { 0.0 };
        for (at, &label) in group.iter().enumerate() {
            let (block, lane) = (at / LANES, at % LANES);
            targets.used[block] |= 1 << lane;
            for &row in self.members.row_indices(label as usize) {
                targets.bits[block][row as usize] |= 1 << lane;
            }
            let (own, told) = (weight_of(label), self.told[label as usize]);
            let others = if matches!(way, Way::Turned(_)) { self.told[labels[1] as usize] } else { 1.0 };
            let shares = match (&self.options.classes, way) {
                (ClassWeights::Balanced, Way::Joint) => [1.0, labelled / (labels.len() as f64 * own)],
                (classes, _) => classes.sides([all - own, own], [others, told]),
            };
            targets.shares[block][0][lane] = shares[0];
            targets.shares[block][1][lane] = shares[1];
        }
        targets
    }

    /// What each label of a group multiplies its features with; the bias has 1.
    fn blocks(&self, group: &[u32], factors: &Factors) -> Vec<Block> {
        let features = self.design.rows.features();
        let mut blocks = vec![vec![[1.0; LANES]; features + 1]; group.len().div_ceil(LANES)];
        for (at, &label) in group.iter().enumerate() {
            for (place, factor) in blocks[at / LANES].iter_mut().zip(factors.of(label, features)) {
                place[at % LANES] = factor;
            }
        }
        blocks
    }

    /// Weights to start from: zeros, or those of another fit.
    fn start(&self, group: &[u32], warm: Option<&Linear>, factors: Option<&[Block]>, scale: f64) -> Vec<Block> {
        let features = self.design.rows.features();
        let mut weights = vec![vec![ZERO; features + 1]; group.len().div_ceil(LANES)];
        let Some(warm) = warm else { return weights };
        let parts = warm.parts();
        let place: Vec<Option<usize>> =
            parts.outputs.labels().iter().map(|label| group.binary_search(label).ok()).collect();
        let mut put = |at: usize, place: usize, weight: f64| {
            let factor = factors.map_or(1.0, |factors| factors[place / LANES][at][place % LANES]);
            if factor != 0.0 {
                weights[place / LANES][at][place % LANES] = weight * scale / factor;
            }
        };
        for feature in 0..features.min(warm.features()) {
            for (output, weight) in parts.weights.row(feature) {
                if let Some(Some(place)) = place.get(output) {
                    put(feature, *place, weight);
                }
            }
        }
        for (bias, place) in parts.bias.iter().zip(&place) {
            if let Some(place) = place {
                put(features, *place, *bias);
            }
        }
        weights
    }
}
