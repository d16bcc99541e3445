//! What can be named.

use pyo3::prelude::*;
use tamis::classify::ClassifierSpec;
use tamis::features::{Combination, Score};
use tamis::hierarchy::pipeline::Method;
use tamis::measure::Measure;
use tamis::terms::{stemmers, stop_word_languages};
use tamis::threshold::Threshold;

use crate::errors::to_py;

/// Column names and rows of one of the registries.
#[pyfunction]
fn registry(what: &str) -> PyResult<(Vec<&'static str>, Vec<Vec<String>>)> {
    let own = |cells: &[&str]| cells.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>();
    let (columns, rows): (&[&'static str], Vec<Vec<String>>) = match what {
        "selectors" => (
            &["name", "what", "formula", "source"],
            Score::all()
                .map(|score| {
                    let spec = score.formula().spec();
                    own(&[&score.to_string(), spec.title, spec.formula, spec.source])
                })
                .collect(),
        ),
        "combinations" => (
            &["name", "rule", "source"],
            Combination::ALL.iter().map(|c| c.spec()).map(|s| own(&[s.name, s.rule, s.source])).collect(),
        ),
        "classifiers" => (
            &["name", "example", "what", "source"],
            ClassifierSpec::ROWS.iter().map(|r| own(&[r.name, r.example, r.help, r.source])).collect(),
        ),
        "thresholds" => (
            &["name", "example", "what", "source"],
            Threshold::registry().iter().map(|r| own(&[r.name, r.example, r.help, r.source])).collect(),
        ),
        "methods" => (
            &["name", "what", "source"],
            Method::ALL.iter().map(|m| m.spec()).map(|s| own(&[s.name, s.summary, s.source])).collect(),
        ),
        "measures" => (
            &["name", "example", "what", "formula", "source"],
            Measure::registry().iter().map(|r| own(&[r.name, r.example, r.help, r.formula, r.source])).collect(),
        ),
        "stop_words" => (&["language"], stop_word_languages().map(|n| own(&[n])).collect()),
        "stemmers" => (&["stemmer"], stemmers().map(|n| own(&[n])).collect()),
        _ => {
            let known = [
                "selectors",
                "combinations",
                "classifiers",
                "thresholds",
                "methods",
                "measures",
                "stop_words",
                "stemmers",
            ];
            return Err(to_py(tamis::Error::unknown("list", what, known)));
        }
    };
    Ok((columns.to_vec(), rows))
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(registry, m)?)
}
