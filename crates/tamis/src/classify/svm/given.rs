//! The same machine on vectors that somebody else made: tf-idf of another program, scaled numbers, negative ones.

use std::sync::Arc;

use super::{Data, Multi, Solution, SvmOptions, ovr};
use crate::classify::Problem;
use crate::classify::rows::Rows;
use crate::counts::{Csr, Vocabulary};
use crate::{Error, Progress, Result};

/// Planes fitted to vectors as they are: the score of label `labels[p]` is `bias[p] + Σ_f x_f·weights[p·features + f]`.
#[derive(Debug, Clone)]
pub struct GivenFit {
    /// The labels that have a document, ascending.
    pub labels: Vec<u32>,
    /// Planes × features.
    pub weights: Vec<f64>,
    /// One for each plane.
    pub bias: Vec<f64>,
    /// How well each problem was solved.
    pub solutions: Vec<Solution>,
}

/// The plane of a class: its weights by feature, in the order they were met, and its bias.
pub(in crate::classify) struct ClassPlane {
    pub(in crate::classify) class: u32,
    pub(in crate::classify) weights: Vec<(u32, f32)>,
    pub(in crate::classify) bias: f64,
}

impl SvmOptions {
    /// Planes of some classes, each against the rest, on rows as they lie. `members` are classes × rows, `told` the weights that
    /// were told for classes; `mirrored` where there are two classes and every row has one of them.
    pub(in crate::classify) fn planes(
        &self,
        rows: &Rows,
        members: Csr<()>,
        classes: Vec<u32>,
        told: Vec<f64>,
        mirrored: bool,
        progress: &dyn Progress,
    ) -> Result<Vec<ClassPlane>> {
        let data = Data { rows, members, labels: classes, told, factors: None };
        let (_, solved) = ovr::solve(self, &data, mirrored, None, progress)?;
        let plane = |part: super::Solved| ClassPlane {
            class: part.solution.label,
            weights: part.plane.features.iter().zip(&part.plane.weights).map(|(&f, &w)| (f, w as f32)).collect(),
            bias: part.plane.bias,
        };
        Ok(solved.into_iter().map(plane).collect())
    }

    /// Fits vectors as they are, one label against the rest: neither weighted nor scaled. `weights` say how often each counts (empty:
    /// once); labels are named by their numbers.
    pub fn fit_vectors(
        &self,
        vectors: &Csr<f32>,
        weights: &[f64],
        assignments: &Csr<()>,
        progress: &dyn Progress,
    ) -> Result<GivenFit> {
        self.validate()?;
        if self.multi != Multi::Ovr {
            return Err(Error::invalid(
                "multi",
                "ovo",
                "vectors as they are are told apart one label against the rest",
            ));
        }
        if vectors.rows() != assignments.rows() {
            let reason = format!("there are {} vectors", vectors.rows());
            return Err(Error::invalid("labels", assignments.rows(), reason));
        }
        if vectors.values().iter().any(|value| !value.is_finite()) {
            return Err(Error::data("a vector has a component that is no finite number in single precision"));
        }
        if !weights.is_empty() && weights.len() != vectors.rows() {
            return Err(Error::data(format!("{} weights for {} documents", weights.len(), vectors.rows())));
        }
        if let Some(weight) = weights.iter().find(|w| !(w.is_finite() && **w > 0.0)) {
            return Err(Error::invalid(
                "weight",
                weight,
                "a vector counts more than 0 times; leave those out that do not count",
            ));
        }
        let rows = Rows::given(vectors, weights, self.seed);
        let order: Vec<usize> = rows.documents.iter().map(|&d| d as usize).collect();
        let members = assignments.select_rows(&order).transpose();
        let labels: Vec<u32> =
            (0..assignments.columns() as u32).filter(|&l| !members.row_indices(l as usize).is_empty()).collect();
        if labels.is_empty() {
            return Err(Error::data("no training document has a label, so there is nothing to learn"));
        }
        let mut nothing = Csr::new(0);
        (0..vectors.rows()).for_each(|_| nothing.push_row([]));
        let names = Some(Arc::new(Vocabulary::numbered(assignments.columns())));
        let about = Problem { names, ..Problem::of(nothing, vec![0; vectors.rows()], assignments.clone()) };
        let mirrored = about.two_sides(&labels);
        let data =
            Data { rows: &rows, members, labels: labels.clone(), told: self.classes.of_labels(&about)?, factors: None };
        let (_, solved) = ovr::solve(self, &data, mirrored, None, progress)?;
        let features = vectors.columns();
        let mut weights = vec![0.0; features * labels.len()];
        for (part, plane) in solved.iter().zip(weights.chunks_exact_mut(features.max(1))) {
            for (&feature, &weight) in part.plane.features.iter().zip(&part.plane.weights) {
                plane[feature as usize] = weight;
            }
        }
        let bias = solved.iter().map(|part| part.plane.bias).collect();
        Ok(GivenFit { labels, weights, bias, solutions: solved.into_iter().map(|part| part.solution).collect() })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Silent;
    use crate::classify::Weighting;
    use crate::counts::Counts;

    /// Counts given as vectors are the vectors of the weighting `tf`.
    #[test]
    fn vectors_of_counts_give_the_planes_of_counts() {
        let counts = Counts::from_rows(&[
            (vec!["a", "b", "b"], vec!["X"]),
            (vec!["a", "c"], vec!["Y"]),
            (vec!["b", "c", "c"], vec!["Y"]),
            (vec!["b"], vec!["X"]),
        ]);
        let options = SvmOptions { vectors: Weighting::Tf.into(), ..SvmOptions::default() };
        let problem = Problem::new(&counts, &[0, 1, 2, 3], &[0, 1, 2]);
        let vectors = problem.matrix.map_values(|count| count as f32);
        let given = options.fit_vectors(&vectors, &[], &problem.assignments, &Silent).unwrap();
        let counted = options.fit(&problem, &Silent).unwrap();
        assert_eq!(given.solutions, counted.solutions);
        for label in 0..2 {
            assert_eq!(given.bias[label as usize], counted.model.bias(label));
            for feature in 0..3 {
                let weight = given.weights[(3 * label + feature) as usize] as f32;
                assert_eq!(f64::from(weight), counted.model.weight(label, feature));
            }
        }
    }

    #[test]
    fn negative_components_are_numbers_like_others() {
        let mut vectors = Csr::new(1);
        let mut labels = Csr::new(1);
        for value in [-2.0f32, -1.0, 1.0, 2.0] {
            vectors.push_row([(0, value)]);
            labels.push_row((value > 0.0).then_some((0, ())));
        }
        let fit = SvmOptions::default().fit_vectors(&vectors, &[], &labels, &Silent).unwrap();
        assert!(fit.weights[0] > 0.5 && fit.bias[0].abs() < 1e-3 && fit.solutions[0].converged);
        let pairs = SvmOptions { multi: Multi::Ovo, ..SvmOptions::default() };
        assert!(pairs.fit_vectors(&vectors, &[], &labels, &Silent).is_err());
    }
}
