//! Linear support vector machines (method 7), solved in the dual to a stated gap.
//!
//! One-vs-rest asks the same documents a question for each label, and for most labels almost all documents have an easy
//! answer: they lie beyond the margin and their dual variable is 0. So a label is solved on a *working set* of documents
//! that matter to it (`working.rs`), and now and then all documents are looked at, for sixteen labels in one pass
//! (`lanes.rs`), to find those the set lacks and to compute the duality gap exactly. Rounds of the two go on until the gap is as
//! small as was asked.

mod duals;
mod given;
mod lanes;
mod objective;
pub(super) mod options;
mod ovo;
mod ovr;
mod part;
mod working;

pub use duals::Duals;
pub(in crate::classify) use given::ClassPlane;
pub use given::GivenFit;
pub use options::{Loss, Multi, SvmOptions};
pub(super) use part::PartSvm;

pub use super::ClassWeights;

use super::rows::Rows;
use super::vector::Factors;
use super::{Linear, LinearParts, Outputs, Problem, Weighter, Weights};
use crate::counts::Csr;
use crate::{Error, Progress, Result};
use objective::{Objective, Plane};

/// How well a binary problem was solved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Solution {
    /// The label.
    pub label: u32,
    /// One-vs-one: the label it was told apart from.
    pub against: Option<u32>,
    /// `P(w)`, the primal objective: `½‖w‖² + Σ C·loss`.
    pub primal: f64,
    /// `P(w) − D(α)`: at most this much above the smallest possible value.
    pub gap: f64,
    /// Passes of coordinate descent over the working set.
    pub iterations: usize,
    /// Documents with a dual variable above 0.
    pub supports: usize,
    /// Whether the gap asked for was reached.
    pub converged: bool,
}

impl Solution {
    /// The gap as a share of the primal value.
    pub fn relative_gap(&self) -> f64 {
        if self.primal > 0.0 { self.gap / self.primal } else { 0.0 }
    }
}

/// A fitted SVM: the model, how well each problem was solved, and the dual variables to start a similar one from.
#[derive(Debug, Clone)]
pub struct SvmFit {
    /// The classifier.
    pub model: Linear,
    /// One for each binary problem.
    pub solutions: Vec<Solution>,
    /// For a warm start.
    pub duals: Duals,
}

impl SvmOptions {
    /// Fits all features of a problem.
    pub fn fit(&self, problem: &Problem, progress: &dyn Progress) -> Result<SvmFit> {
        self.fit_size(problem, problem.features(), None, progress)
    }

    /// Fits the first `size` features of a problem, starting from the dual variables of a fit on the same documents: of
    /// another `C` (they are scaled with it) or of another size (they are kept). The result is as good as from a cold start,
    /// to the gap asked for, but not the same to the last digit.
    pub fn fit_size(
        &self,
        problem: &Problem,
        size: usize,
        warm: Option<&Duals>,
        progress: &dyn Progress,
    ) -> Result<SvmFit> {
        let problem = problem.counted()?;
        Prepared::new(self, &problem)?.at(size).fit(self, warm, progress)
    }

    /// Fits nested sizes one after the other, each from the dual variables of the one before; `each` gets size and fit.
    pub fn sweep(
        &self,
        problem: &Problem,
        sizes: &[usize],
        progress: &dyn Progress,
        mut each: impl FnMut(usize, SvmFit) -> Result<()>,
    ) -> Result<()> {
        let problem = problem.counted()?;
        let prepared = Prepared::new(self, &problem)?;
        let mut warm: Option<Duals> = None;
        for &size in sizes {
            let fit = prepared.at(size).fit(self, warm.as_ref(), progress)?;
            warm = Some(fit.duals.clone());
            each(size, fit)?;
        }
        Ok(())
    }

    /// Fits the same vectors with one `C` after the other, ascending, each from the dual variables of the one before, scaled with it; `each` gets
    /// `C` and fit. Everything but `C` is as the options say, and every fit reaches the gap that they ask for.
    pub fn path(
        &self,
        problem: &Problem,
        size: usize,
        costs: &[f64],
        progress: &dyn Progress,
        mut each: impl FnMut(f64, &SvmFit) -> Result<()>,
    ) -> Result<()> {
        if let Some(at) = costs.windows(2).position(|w| w[0] > w[1]) {
            return Err(Error::invalid("costs", format!("{}, {}", costs[at], costs[at + 1]), "must ascend"));
        }
        let problem = problem.counted()?;
        let prepared = Prepared::new(self, &problem)?;
        let sized = prepared.at(size);
        // The model of a C is not kept while the next one is fitted: of many labels it is large.
        let mut warm: Option<Duals> = None;
        for &c in costs {
            let options = Self { c, ..self.clone() };
            let fit = sized.fit(&options, warm.as_ref(), progress)?;
            each(c, &fit)?;
            warm = Some(fit.duals);
        }
        Ok(())
    }

    /// The objective of a binary problem: weights of the documents on either side, and what was told of them.
    fn objective(&self, sums: [f64; 2], told: [f64; 2]) -> Objective {
        Objective { loss: self.loss, costs: self.classes.sides(sums, told).map(|share| self.c * share) }
    }
}

/// What of a fit depends neither on size nor on `C`.
struct Prepared<'a> {
    problem: &'a Problem,
    weighter: Weighter,
    factors: Option<Factors>,
    seed: u64,
}

/// The vectors of a size.
struct AtSize<'a> {
    problem: &'a Problem,
    weighter: Weighter,
    factors: Option<&'a Factors>,
    rows: Rows,
}

/// What binary problems are made of.
struct Data<'a> {
    rows: &'a Rows,
    /// Rows of each label, in the order of the rows.
    members: Csr<()>,
    /// Labels with documents.
    labels: Vec<u32>,
    /// Weights that were told for labels, by label.
    told: Vec<f64>,
    /// What each label multiplies its features with, where labels have their own vectors.
    factors: Option<&'a Factors>,
}

impl<'a> Prepared<'a> {
    fn new(options: &SvmOptions, problem: &'a Problem) -> Result<Self> {
        options.validate()?;
        // Places in working sets are stored in 32 bits.
        if u32::try_from(problem.documents().max(problem.matrix.entries())).is_err() {
            return Err(Error::data("the SVM takes at most 4,294,967,295 term occurrences; train on a sample"));
        }
        let (weighter, factors) = (options.vectors.fit(problem)?, options.vectors.factors(problem)?);
        Ok(Self { problem, weighter, factors, seed: options.seed })
    }

    fn at(&self, size: usize) -> AtSize<'_> {
        let size = size.min(self.problem.features());
        let weighter = self.weighter.prefix(size);
        let rows = Rows::shuffled(self.problem, &weighter, size, self.seed);
        AtSize { problem: self.problem, weighter, factors: self.factors.as_ref(), rows }
    }
}

impl AtSize<'_> {
    fn fit(&self, options: &SvmOptions, warm: Option<&Duals>, progress: &dyn Progress) -> Result<SvmFit> {
        let Self { problem, weighter, factors, rows } = self;
        options.validate()?;
        if let Some(warm) = warm {
            warm.check(options.multi, problem)?;
        }
        let order: Vec<usize> = rows.documents.iter().map(|&d| d as usize).collect();
        let members = problem.assignments.select_rows(&order).transpose();
        let labels: Vec<u32> =
            (0..problem.labels() as u32).filter(|&l| !members.row_indices(l as usize).is_empty()).collect();
        if labels.is_empty() {
            return Err(Error::data("no training document has a label, so there is nothing to learn"));
        }
        let mirrored = factors.is_none() && problem.two_sides(&labels);
        let data = Data { rows, members, labels, told: options.classes.of_labels(problem)?, factors: *factors };
        let (outputs, solved) = match options.multi {
            Multi::Ovr => ovr::solve(options, &data, mirrored, warm, progress)?,
            Multi::Ovo => ovo::solve(options, &data, warm, progress)?,
        };
        let mut solutions = Vec::with_capacity(solved.len());
        let mut planes = Vec::with_capacity(solved.len());
        let mut duals = Duals::new(options.multi, problem);
        for part in solved {
            duals.push(&part.solution, part.shares);
            solutions.push(part.solution);
            planes.push(match (factors, options.beta < 1.0) {
                (Some(factors), true) => {
                    part.plane.interpolated(options.beta, &factors.of(part.solution.label, rows.features()))
                }
                _ => part.plane,
            });
        }
        let model = Linear::from_parts(LinearParts {
            labels: problem.labels(),
            weighter: weighter.clone(),
            outputs,
            weights: Weights::single(by_feature(&planes, rows.features())),
            bias: planes.iter().map(|p| p.bias).collect(),
            every: Vec::new(),
            common: Vec::new(),
        })?;
        Ok(SvmFit { model, solutions, duals })
    }
}

/// A solved binary problem.
struct Solved {
    solution: Solution,
    plane: Plane,
    /// For each document with a dual variable above 0, ascending: the variable divided by the document's cost.
    shares: duals::Shares,
}

impl Solved {
    /// The same for the other side: who is for one label is against the other.
    fn turned(&self, label: u32) -> Self {
        let plane = Plane {
            weights: self.plane.weights.iter().map(|w| -w).collect(),
            bias: -self.plane.bias,
            ..self.plane.clone()
        };
        Self { solution: Solution { label, ..self.solution }, plane, shares: self.shares.clone() }
    }
}

/// Features × planes.
fn by_feature(planes: &[Plane], features: usize) -> Csr<f32> {
    let mut by_plane = Csr::new(features);
    let mut row: Vec<(u32, f32)> = Vec::new();
    for plane in planes {
        row.clear();
        row.extend(plane.features.iter().zip(&plane.weights).map(|(&f, &w)| (f, w as f32)).filter(|(_, w)| *w != 0.0));
        row.sort_unstable_by_key(|(f, _)| *f);
        by_plane.push_row(row.iter().copied());
    }
    by_plane.transpose()
}
