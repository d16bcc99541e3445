//! Measures on arrays, and tests of significance.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use serde_json::json;
use tamis::measure::significance::{
    holm as holm_of, paired_bootstrap as bootstrap_of, randomisation as randomisation_of,
    sign_test as sign_test_counts, sign_test_of, wilcoxon as wilcoxon_of,
};
use tamis::measure::{Evaluation, EvaluationOptions, Family, Measure, Resampling};

use crate::arrays::{Scores, Sets};
use crate::errors::{self, to_py};

fn measures(names: &[String]) -> PyResult<Vec<Measure>> {
    names.iter().map(|n| n.parse::<Measure>()).collect::<tamis::Result<_>>().map_err(to_py)
}

/// Judges documents: their ranked lists (from scores), their decided labels, or both.
fn judge(
    names: &[String],
    truth: &Sets<'_>,
    scores: Option<&PyReadonlyArray2<'_, f64>>,
    decided: Option<&Sets<'_>>,
    keep_documents: bool,
) -> PyResult<Evaluation> {
    let truth = truth.csr()?;
    let decided = decided.map(Sets::csr).transpose()?;
    let options = EvaluationOptions {
        measures: measures(names)?,
        labels: truth.columns(),
        keep_documents,
        ..EvaluationOptions::default()
    };
    let mut evaluation = Evaluation::new(options).map_err(to_py)?;
    let of = |row: usize| decided.as_ref().map_or(&[][..], |d| d.row_indices(row));
    match scores {
        Some(scores) => {
            // Scores are probabilities where somebody asks how good they are as such.
            let probable = evaluation.measures().iter().any(|m| m.family() == Family::Probable);
            let mut probabilities = vec![0.0; truth.columns()];
            Scores::new(scores, None)?.for_each(|row, ranked| {
                if probable {
                    probabilities.fill(0.0);
                    ranked.iter().for_each(|s| probabilities[s.label as usize] = s.score.clamp(0.0, 1.0));
                }
                let probabilities = probable.then_some(probabilities.as_slice());
                evaluation.add_with(ranked, of(row), truth.row_indices(row), probabilities);
            });
        }
        None => (0..truth.rows()).for_each(|row| evaluation.add(&[], of(row), truth.row_indices(row))),
    }
    Ok(evaluation)
}

/// Measures by name, with intervals when replicates are asked for, as JSON.
#[pyfunction]
fn evaluate(
    names: Vec<String>,
    truth: Sets<'_>,
    scores: Option<PyReadonlyArray2<'_, f64>>,
    decided: Option<Sets<'_>>,
    replicates: u32,
    seed: u64,
) -> PyResult<String> {
    let evaluation = judge(&names, &truth, scores.as_ref(), decided.as_ref(), replicates > 0)?;
    let intervals = if replicates > 0 {
        evaluation.intervals(&Resampling { replicates, seed, ..Resampling::default() }).map_err(to_py)?
    } else {
        Vec::new()
    };
    // A ranked list that nobody gave is not an empty one.
    let given = |measure: Measure| match measure.family() {
        Family::Ranked | Family::Probable => scores.is_some(),
        Family::Decided | Family::Hierarchical => decided.is_some(),
    };
    let values: Vec<_> = (evaluation.values().into_iter())
        .map(|value| json!({ "measure": value.measure, "value": value.value.filter(|_| given(value.measure)) }))
        .collect();
    errors::json(&json!({ "values": values, "intervals": intervals }))
}

/// A measure for each document; NaN for those that take no part.
#[pyfunction]
fn per_document<'py>(
    py: Python<'py>,
    name: String,
    truth: Sets<'py>,
    scores: Option<PyReadonlyArray2<'py, f64>>,
    decided: Option<Sets<'py>>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let evaluation = judge(&[name], &truth, scores.as_ref(), decided.as_ref(), true)?;
    let values = evaluation.per_document(evaluation.measures()[0]).map_err(to_py)?;
    Ok(values.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect::<Vec<_>>().into_pyarray(py))
}

/// Sign test from wins and losses.
#[pyfunction]
fn sign_test(wins: u64, losses: u64) -> PyResult<String> {
    errors::json(&sign_test_counts(wins, losses))
}

/// A test of paired values by name.
#[pyfunction]
fn paired_test(
    name: &str,
    a: PyReadonlyArray1<'_, f64>,
    b: PyReadonlyArray1<'_, f64>,
    replicates: u32,
    level: f64,
    seed: u64,
) -> PyResult<String> {
    let (a, b) = (a.as_slice()?, b.as_slice()?);
    let resampling = Resampling { replicates, level, seed };
    match name {
        "sign" => errors::json(&sign_test_of(a, b).map_err(to_py)?),
        "wilcoxon" => errors::json(&wilcoxon_of(a, b).map_err(to_py)?),
        "bootstrap" => errors::json(&bootstrap_of(a, b, &resampling).map_err(to_py)?),
        "randomisation" => errors::json(&randomisation_of(a, b, &resampling).map_err(to_py)?),
        _ => Err(to_py(tamis::Error::unknown("test", name, ["sign", "wilcoxon", "bootstrap", "randomisation"]))),
    }
}

/// Holm's correction.
#[pyfunction]
fn holm(p: Vec<f64>) -> Vec<f64> {
    holm_of(&p)
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(evaluate, m)?)?;
    m.add_function(wrap_pyfunction!(per_document, m)?)?;
    m.add_function(wrap_pyfunction!(sign_test, m)?)?;
    m.add_function(wrap_pyfunction!(paired_test, m)?)?;
    m.add_function(wrap_pyfunction!(holm, m)?)
}
