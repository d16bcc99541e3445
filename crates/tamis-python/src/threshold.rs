//! Thresholds for anyone's scores.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use serde_json::json;
use tamis::counts::SplitPlan;
use tamis::threshold::HeldOut;
use tamis::threshold::{Threshold, Thresholds};

use crate::arrays::{Decided, Scores, Sets};
use crate::errors::{self, options, to_py};
use crate::fitting::without_words;
use crate::work::{How, run};

/// Tuned thresholds: they decide.
#[pyclass(frozen, module = "tamis._core", name = "Thresholds")]
pub(crate) struct PyThresholds {
    thresholds: Thresholds,
}

#[pymethods]
impl PyThresholds {
    /// Tunes a policy on held-out scores (documents × labels); with the thresholds come curves and report as JSON.
    #[staticmethod]
    fn tune(
        py: Python<'_>,
        policy: &str,
        scores: PyReadonlyArray2<'_, f64>,
        folds: PyReadonlyArray1<'_, i64>,
        labels: Sets<'_>,
        absent: Option<f64>,
        how: How,
    ) -> PyResult<(Self, String)> {
        let policy: Threshold = policy.parse().map_err(to_py)?;
        let truth = labels.csr()?;
        let folds = folds.as_slice()?;
        let scores = Scores::new(&scores, absent)?;
        let tuned = run(py, how, |_| {
            let mut held_out = HeldOut::new(scores.labels());
            scores.for_each(|document, ranked| {
                held_out.add(folds[document] as usize, ranked, truth.row_indices(document));
            });
            policy.tune(&held_out)
        })?;
        let about = errors::json(&json!({ "curves": tuned.curves, "report": tuned.report }))?;
        Ok((Self { thresholds: tuned.thresholds }, about))
    }

    /// The decided labels of each row of scores: `indptr` and `indices`.
    fn decide<'py>(
        &self,
        py: Python<'py>,
        scores: PyReadonlyArray2<'py, f64>,
        absent: Option<f64>,
    ) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>)> {
        let scores = Scores::new(&scores, absent)?;
        let mut all = Decided::new();
        scores.for_each(|_, ranked| all.push(&self.thresholds.decide(ranked)));
        Ok((all.offsets.into_pyarray(py), all.labels.into_pyarray(py)))
    }

    /// The threshold of each label; infinite for one that is never assigned. None for `rcut`.
    #[getter]
    fn values(&self) -> Option<Vec<f64>> {
        self.thresholds.values().map(<[f64]>::to_vec)
    }

    /// The number of labels of `rcut`.
    #[getter]
    fn n(&self) -> Option<u32> {
        self.thresholds.n()
    }

    /// From what `to_json` gave.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        Ok(Self { thresholds: options(text)? })
    }

    fn to_json(&self) -> PyResult<String> {
        errors::json(&self.thresholds)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Self>().getattr("from_json")?, (self.to_json()?,)))
    }
}

/// The fold of each document, labels spread evenly.
#[pyfunction]
fn stratified_folds<'py>(
    py: Python<'py>,
    labels: Sets<'py>,
    folds: u32,
    seed: u64,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let assignments = labels.csr()?;
    let counts = without_words(assignments, None);
    let splits = SplitPlan::Stratified(folds).splits(&counts, seed).map_err(to_py)?;
    let mut fold_of = vec![0i64; counts.len()];
    for (fold, split) in splits.iter().enumerate() {
        split.test.iter().for_each(|&d| fold_of[d] = fold as i64);
    }
    Ok(fold_of.into_pyarray(py))
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyThresholds>()?;
    m.add_function(wrap_pyfunction!(stratified_folds, m)?)
}
