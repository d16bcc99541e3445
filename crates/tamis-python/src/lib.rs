//! `tamis._core`: the library as a Python module.
//!
//! Functions take arrays and strings, make one library call without the GIL, and hand arrays back. What a scikit-learn
//! estimator is, is decided in `python/tamis`; what a result is, in the library. Between the two stand conversions: arrays and
//! Arrow columns to documents (`texts`), JSON to options (`fitting`, `corpus`), results to arrays and dictionaries.

mod arrays;
mod corpus;
mod counts;
mod errors;
mod fitting;
mod hierarchy;
mod measure;
mod model;
mod parts;
mod registry;
mod study;
mod texts;
mod threshold;
mod vectors;
mod warnings;
mod work;

use pyo3::prelude::*;

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::register(m)?;
    arrays::register(m)?;
    corpus::register(m)?;
    counts::register(m)?;
    texts::register(m)?;
    model::register(m)?;
    parts::register(m)?;
    threshold::register(m)?;
    vectors::register(m)?;
    hierarchy::register(m)?;
    measure::register(m)?;
    study::register(m)?;
    registry::register(m)
}
