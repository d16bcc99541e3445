//! Linear support vector machines (method 7), solved in the dual to a stated gap.
//!
//! One-vs-rest asks the same documents a question for each label, and for most labels almost all documents have an easy
//! answer: they lie beyond the margin and their dual variable is 0. So a label is solved on a *working set* of documents
//! that matter to it (`working.rs`), and now and then all documents are looked at, for sixteen labels in one pass
//! (`lanes.rs`), to find those the set lacks and to compute the duality gap exactly. Rounds of the two go on until the gap is as
//! small as was asked.

mod duals;
mod lanes;
mod objective;
pub(super) mod options;
mod ovo;
mod ovr;
mod working;

pub use duals::Duals;
pub use options::{Loss, Multi, SvmOptions};

pub use super::ClassWeights;

use super::rows::Rows;
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
        self.fit_weighed(&problem, &self.vectors.fit(&problem)?, size, warm, progress)
    }

    /// The same with vectors that were learned already: they are the same for every size.
    fn fit_weighed(
        &self,
        problem: &Problem,
        weighter: &Weighter,
        size: usize,
        warm: Option<&Duals>,
        progress: &dyn Progress,
    ) -> Result<SvmFit> {
        self.validate()?;
        // Places in working sets are stored in 32 bits.
        if u32::try_from(problem.documents().max(problem.matrix.entries())).is_err() {
            return Err(Error::data("the SVM takes at most 4,294,967,295 term occurrences; train on a sample"));
        }
        if let Some(warm) = warm {
            warm.check(self.multi, problem)?;
        }
        let size = size.min(problem.features());
        let weighter = weighter.prefix(size);
        let rows = Rows::shuffled(problem, &weighter, size, self.seed);
        // Rows of each label, in the order of the rows.
        let order: Vec<usize> = rows.documents.iter().map(|&d| d as usize).collect();
        let members = problem.assignments.select_rows(&order).transpose();
        let labels: Vec<u32> =
            (0..problem.labels() as u32).filter(|&l| !members.row_indices(l as usize).is_empty()).collect();
        if labels.is_empty() {
            return Err(Error::data("no training document has a label, so there is nothing to learn"));
        }
        let told = self.classes.of_labels(problem)?;
        let mirrored = problem.two_sides(&labels);
        let (outputs, solved) = match self.multi {
            Multi::Ovr => ovr::solve(self, &rows, &members, labels, &told, mirrored, warm, progress)?,
            Multi::Ovo => ovo::solve(self, &rows, &members, labels, &told, warm, progress)?,
        };
        let mut solutions = Vec::with_capacity(solved.len());
        let mut planes = Vec::with_capacity(solved.len());
        let mut duals = Duals::new(self.multi, problem);
        for part in solved {
            duals.push(&part.solution, part.shares);
            solutions.push(part.solution);
            planes.push(part.plane);
        }
        let model = Linear::from_parts(LinearParts {
            labels: problem.labels(),
            weighter,
            outputs,
            weights: Weights::single(by_feature(&planes, size)),
            bias: planes.iter().map(|p| p.bias).collect(),
            every: Vec::new(),
            common: Vec::new(),
        })?;
        Ok(SvmFit { model, solutions, duals })
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
        let weighter = self.vectors.fit(&problem)?;
        let mut warm: Option<Duals> = None;
        for &size in sizes {
            let fit = self.fit_weighed(&problem, &weighter, size, warm.as_ref(), progress)?;
            warm = Some(fit.duals.clone());
            each(size, fit)?;
        }
        Ok(())
    }

    /// The objective of a binary problem: weights of the documents on either side, and what was told of them.
    fn objective(&self, sums: [f64; 2], told: [f64; 2]) -> Objective {
        Objective { loss: self.loss, costs: self.classes.sides(sums, told).map(|share| self.c * share) }
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
