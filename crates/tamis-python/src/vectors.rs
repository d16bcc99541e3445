//! A linear SVM on vectors as they are: weights of another program, scaled numbers.

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tamis::Error;
use tamis::classify::ClassifierSpec;
use tamis::classify::svm::GivenFit;
use tamis::counts::Csr;

use crate::arrays::Sets;
use crate::errors::to_py;
use crate::work::{How, run};

/// Labels that have documents, planes × features, biases, passes, and how many problems were given up.
type Planes<'py> = (Vec<u32>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, Vec<usize>, usize);

/// Fits planes to vectors, one label against the rest.
#[pyfunction]
fn fit_vectors<'py>(
    py: Python<'py>,
    offsets: PyReadonlyArray1<'py, i64>,
    indices: PyReadonlyArray1<'py, i32>,
    values: PyReadonlyArray1<'py, f32>,
    columns: usize,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    labels: Sets<'py>,
    classifier: &str,
    how: How,
) -> PyResult<Planes<'py>> {
    let ClassifierSpec::Svm(options) = classifier.parse().map_err(to_py)? else {
        return Err(to_py(Error::invalid("classifier", classifier, "vectors as they are are for svm")));
    };
    let offsets = offsets.as_slice()?.iter().map(|&o| usize::try_from(o).unwrap_or(usize::MAX)).collect();
    let indices = indices.as_slice()?.iter().map(|&i| u32::try_from(i).unwrap_or(u32::MAX)).collect();
    let vectors = Csr::try_from_parts(columns, offsets, indices, values.as_slice()?.to_vec())
        .map_err(|reason| PyValueError::new_err(format!("not a sparse matrix: {reason}")))?;
    let labels = labels.csr()?;
    let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?.unwrap_or_default();
    let fit = run(py, how, |progress| options.fit_vectors(&vectors, weights, &labels, progress))?;
    let GivenFit { labels, weights, bias, solutions } = fit;
    let weights =
        Array2::from_shape_vec((labels.len(), columns), weights).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let given_up = solutions.iter().filter(|solution| !solution.converged).count();
    let passes = solutions.iter().map(|solution| solution.iterations).collect();
    Ok((labels, weights.into_pyarray(py), bias.into_pyarray(py), passes, given_up))
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(fit_vectors, m)?)
}
