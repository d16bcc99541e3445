//! What can be named.

use pyo3::prelude::*;
use tamis::registry::{List, Listing};

use crate::errors::to_py;

/// Column names and rows of one of the registries.
#[pyfunction]
fn registry(what: &str) -> PyResult<(Vec<&'static str>, Vec<Vec<String>>)> {
    // Python writes stop_words.
    let list: List = what.replace('_', "-").parse().map_err(to_py)?;
    let Listing { columns, rows } = list.table();
    Ok((columns, rows))
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(registry, m)?)
}
