//! Taxonomies, and thresholds along their pipelines.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tamis::counts::{Counts, Vocabulary};
use tamis::hierarchy::pipeline;
use tamis::hierarchy::pipeline::{Imbalance, Method, ScoreTable};
use tamis::hierarchy::progressive::{NodeDocuments, NodeScores, NodeState, ScoreFilter, TrainingOptions};
use tamis::hierarchy::{Taxonomy, TaxonomyOptions};
use tamis::model::{FitOptions, HierarchyOptions};

use crate::arrays::{Decided, Sets};
use crate::errors::{self, options, to_py};
use crate::fitting::{taxonomy, without_words};
use crate::work::{How, run};

/// Child and parent by line of a taxonomy file.
#[pyfunction]
fn read_taxonomy(path: PathBuf) -> PyResult<Vec<(String, Option<String>)>> {
    let taxonomy = Taxonomy::open(&path, &TaxonomyOptions::default()).map_err(to_py)?;
    Ok(taxonomy.records().into_iter().map(|r| (r.id, r.parent)).collect())
}

/// Documents and the nodes of a taxonomy, for node classifiers that live in Python.
#[pyclass(frozen, module = "tamis._core", name = "Nodes")]
struct PyNodes {
    taxonomy: Taxonomy,
    counts: Counts,
}

/// A node with the documents its classifier learns from: rows, and which of them are positive.
type NodeSet<'py> = (u32, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<bool>>);

#[pymethods]
impl PyNodes {
    #[new]
    fn new(pairs: Vec<(String, Option<String>)>, labels: Sets<'_>, names: Vec<String>) -> PyResult<Self> {
        // Labels must come in order here: their numbers are columns of the assignments.
        if names.windows(2).any(|w| w[0] >= w[1]) {
            return Err(PyValueError::new_err("names of labels must be in order, without repetition"));
        }
        let counts = without_words(labels.csr()?, Some(Vocabulary::from_sorted(&names)));
        let taxonomy = taxonomy(&pairs, &counts.labels).map_err(to_py)?;
        Ok(Self { taxonomy, counts })
    }

    /// Labels of the nodes, in order.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.taxonomy.ids().iter().map(str::to_owned).collect()
    }

    /// The parent of each node, −1 for roots.
    #[getter]
    fn parents(&self) -> Vec<i64> {
        self.taxonomy.nodes().map(|n| self.taxonomy.parent(n).map_or(-1, i64::from)).collect()
    }

    /// The training sets of all nodes that can be trained on the given documents, and the state of each node: 0 trained,
    /// 1 without documents, 2 without negatives.
    fn training<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray1<'py, i64>,
        negatives: &str,
        per_node: usize,
        seed: u64,
    ) -> PyResult<(Vec<NodeSet<'py>>, Vec<u8>)> {
        let rows: Vec<usize> = rows.as_slice()?.iter().map(|&r| r as usize).collect();
        let options = TrainingOptions {
            negatives: negatives.parse().map_err(to_py)?,
            per_node: (per_node != 0).then_some(per_node),
            seed,
        };
        let documents = NodeDocuments::new(&self.taxonomy, &self.counts, &rows).map_err(to_py)?;
        let sets = documents.training_sets(&options).map_err(to_py)?;
        let mut states = vec![0u8; self.taxonomy.len()];
        sets.without_documents.iter().for_each(|&n| states[n as usize] = 1);
        sets.without_negatives.iter().for_each(|&n| states[n as usize] = 2);
        let set_of = sets.trainable.iter().map(|set| {
            let mut both: Vec<(i64, bool)> = set.positives.iter().map(|&r| (r as i64, true)).collect();
            both.extend(set.negatives.iter().map(|&r| (r as i64, false)));
            both.sort_unstable();
            let (rows, positive): (Vec<i64>, Vec<bool>) = both.into_iter().unzip();
            (set.node, rows.into_pyarray(py), positive.into_pyarray(py))
        });
        Ok((set_of.collect(), states))
    }

    /// Thresholds along all pipelines from held-out scores of the nodes.
    fn tune(
        &self,
        py: Python<'_>,
        scores: PyReadonlyArray2<'_, f64>,
        margins: bool,
        folds: PyReadonlyArray1<'_, i64>,
        states: Vec<u8>,
        method: &str,
        hierarchy: &str,
        how: How,
    ) -> PyResult<PyFilter> {
        let hierarchy: HierarchyOptions = options(hierarchy)?;
        let method = method.parse::<Method>().map_err(to_py)?;
        let asked = FitOptions { threshold: Some(method.into()), hierarchy, ..FitOptions::default() };
        let progressive = asked.progressive(&self.counts, &self.counts.rows()).map_err(to_py)?;
        let states = states
            .iter()
            .map(|s| match s {
                0 => NodeState::Trained,
                1 => NodeState::WithoutDocuments,
                _ => NodeState::WithoutNegatives,
            })
            .collect();
        let node_of = self.taxonomy.align(&self.counts.labels).map_err(to_py)?;
        let closed = self.taxonomy.close(&self.counts.assignments, &node_of);
        let held_out = NodeScores {
            scores: scores.as_slice()?,
            margins,
            folds: folds.as_slice()?.iter().map(|&f| f as u32).collect(),
            truth: (0..closed.rows()).map(|r| closed.row_indices(r).to_vec()).collect(),
        };
        let forest = self.taxonomy.clone();
        let filter = run(py, how, |progress| ScoreFilter::tune(forest, states, progressive, held_out, progress))?;
        Ok(PyFilter { filter })
    }
}

/// Thresholds along the pipelines of a taxonomy.
#[pyclass(frozen, module = "tamis._core", name = "PipelineFilter")]
struct PyFilter {
    filter: ScoreFilter,
}

#[pymethods]
impl PyFilter {
    /// Answers for rows of node scores (`indptr`, `indices`), and the ranking scores of the nodes.
    fn decide<'py>(
        &self,
        py: Python<'py>,
        scores: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Bound<'py, numpy::PyArray2<f64>>)> {
        let mut all = Decided::new();
        let mut ranking = numpy::ndarray::Array2::zeros((scores.shape()[0], scores.shape()[1]));
        let mut row = 0;
        self.filter
            .rank_and_decide(scores.as_slice()?, |ranked, decided| {
                all.push(decided);
                ranked.iter().for_each(|s| ranking[(row, s.label as usize)] = s.score);
                row += 1;
            })
            .map_err(to_py)?;
        Ok((all.offsets.into_pyarray(py), all.labels.into_pyarray(py), ranking.into_pyarray(py)))
    }

    /// For each node the thresholds of its pipeline, root first, with what is known about them, as JSON.
    #[getter]
    fn tuned(&self) -> PyResult<String> {
        let nodes = self.filter.taxonomy().nodes();
        errors::json(&nodes.map(|n| self.filter.tuned(n)).collect::<Vec<_>>())
    }

    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        Ok(Self { filter: ScoreFilter::from_json(text).map_err(to_py)? })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Self>().getattr("from_json")?, (self.filter.to_json().map_err(to_py)?,)))
    }
}

/// Thresholds along one pipeline: scores are levels × documents. What `tamis calibrate --format json` prints.
#[pyfunction]
fn calibrate(
    py: Python<'_>,
    levels: Vec<String>,
    scores: PyReadonlyArray2<'_, f64>,
    truth: Vec<bool>,
    by: &str,
    utility: &str,
    step: Option<f64>,
    imbalance: Option<&str>,
    seconds: Option<f64>,
    how: How,
) -> PyResult<String> {
    let method: Method = by.parse().map_err(to_py)?;
    let options =
        pipeline::Options { utility: utility.parse().map_err(to_py)?, step, seconds, ..pipeline::Options::default() };
    let table = ScoreTable::new(levels, scores.as_slice()?.to_vec(), truth).map_err(to_py)?;
    let imbalance = imbalance.map(str::parse::<Imbalance>).transpose().map_err(to_py)?;
    let (table, selection) =
        run(py, how, |progress| pipeline::calibrate(table, method, &options, imbalance, progress))?;
    errors::json(&selection.about(&table, options.utility))
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyNodes>()?;
    m.add_class::<PyFilter>()?;
    m.add_function(wrap_pyfunction!(read_taxonomy, m)?)?;
    m.add_function(wrap_pyfunction!(calibrate, m)?)
}
