//! Training on documents that lie in parts on many machines: what each machine does, and what the one does that adds up.

use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use tamis::classify::parts::{Packer, Part, Plan, Scorers, draw_of, fingerprint_of, fold_of, part_of, pieces};
use tamis::corpus::Glance;
use tamis::counts::{Contingency, CountOptions, Csr, Vocabulary, count};
use tamis::hierarchy::{GivenTaxonomy, Taxonomy};
use tamis::model::{FitOptions, FrontierPoint, LabelTally, PartedFit, PartedTables, Seen, Trial, learned_labels};
use tamis::terms::{TextChoices, TextOptions};

use crate::arrays::{Decided, Sets};
use crate::counts::PyCounts;
use crate::errors::{json as to_json, options, to_py};
use crate::model::PyModel;
use crate::texts::{HeldTexts, labelled_column};
use crate::work::{How, run};

/// An Arrow column of texts or bytes: offsets and data.
type Column<'py> = (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, u8>);

/// What a user says about terms, as the options that every machine reads texts with.
#[pyfunction]
fn resolved_text(text: &str) -> PyResult<String> {
    to_json(&crate::texts::text_options(text)?)
}

/// Counts an Arrow column of texts, the documents of each fold by themselves; and how many documents have no label, and several.
#[pyfunction]
fn count_folds(
    py: Python<'_>,
    texts: Column<'_>,
    labels: Sets<'_>,
    names: Vec<String>,
    text: &str,
    folds: usize,
    memory: usize,
    how: How,
) -> PyResult<(Vec<PyCounts>, u64, u64)> {
    let text: TextOptions = options(text)?;
    let documents = labelled_column(&texts.0, &texts.1, &labels, &names)?;
    let source = HeldTexts::of(&documents);
    let (tables, unlabelled, several) = run(py, how, move |progress| {
        let (counts, _) = count(source, &CountOptions { text, memory, ..CountOptions::default() }, progress)?;
        let rows = counts.rows();
        let labels = |row: usize| counts.assignments.row_indices(row).len();
        let tables = (0..folds.max(1)).map(|fold| {
            let own: Vec<usize> =
                rows.iter().copied().filter(|&row| fold_of(counts.fingerprints[row], folds) == fold).collect();
            let table = Contingency::of_rows(&counts, &own);
            let df = table.df().to_vec();
            table.retain_terms(|term| df[term as usize] > 0)
        });
        let unlabelled = rows.iter().filter(|&&row| labels(row) == 0).count() as u64;
        let several = rows.iter().filter(|&&row| labels(row) > 1).count() as u64;
        Ok((tables.collect::<Vec<_>>(), unlabelled, several))
    })?;
    Ok((tables.into_iter().map(PyCounts::of_table).collect(), unlabelled, several))
}

/// What a search over these texts chooses, as JSON: options that leave nothing open, how text becomes terms, and why.
#[pyfunction]
fn choose_column(
    py: Python<'_>,
    texts: Column<'_>,
    labels: Sets<'_>,
    names: Vec<String>,
    text: &str,
    fitting: &str,
    how: How,
) -> PyResult<String> {
    let mut fitting: FitOptions = options(fitting)?;
    let documents = labelled_column(&texts.0, &texts.1, &labels, &names)?;
    let (source, glance) = Glance::measured(HeldTexts::of(&documents), FitOptions::LITTLE).map_err(to_py)?;
    let text = fitting.counting(&options::<TextChoices>(text)?, &glance).map_err(to_py)?;
    let pinned = run(py, how, move |progress| {
        let (counts, _) = count(source, &CountOptions { text, ..CountOptions::default() }, progress)?;
        fitting.pinned(&counts, &counts.rows(), progress)
    })?;
    to_json(&json!({
        "options": pinned.options,
        "text": pinned.text,
        "trials": pinned.trials,
        "frontier": pinned.frontier,
        "reasons": pinned.reasons,
    }))
}

/// The taxonomy that options mean, once all labels are known, as its nodes in JSON.
#[pyfunction]
fn taxonomy_of(given: &str, names: Vec<String>) -> PyResult<String> {
    let given: GivenTaxonomy = options(given)?;
    let taxonomy = given.of(&Vocabulary::new(names)).map_err(to_py)?;
    to_json(&GivenTaxonomy::Tree(taxonomy))
}

/// How the labels of documents lie in a taxonomy, as JSON.
#[pyfunction]
fn tally_labels(labels: Sets<'_>, names: Vec<String>, taxonomy: &str) -> PyResult<String> {
    let (labels, names) = named(&labels, names)?;
    to_json(&LabelTally::of(&options(taxonomy)?, &labels, &names).map_err(to_py)?)
}

/// Tallies added up, as JSON; and whether documents are learned with their most specific label alone.
#[pyfunction]
fn merged_tallies(taxonomy: &str, tallies: Vec<String>) -> PyResult<(String, bool)> {
    let mut sum = LabelTally::new(options::<Taxonomy>(taxonomy)?.len());
    for tally in &tallies {
        sum.merge(&options(tally)?).map_err(to_py)?;
    }
    Ok((to_json(&sum)?, sum.is_one()))
}

/// Labels as a training along a taxonomy takes them: the sets, and the names of all nodes.
#[pyfunction]
fn formed_labels<'py>(
    py: Python<'py>,
    labels: Sets<'py>,
    names: Vec<String>,
    taxonomy: &str,
    one: bool,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Vec<String>)> {
    let (labels, names) = named(&labels, names)?;
    let taxonomy: Taxonomy = options(taxonomy)?;
    let formed = learned_labels(&taxonomy, &labels, &names, one).map_err(to_py)?;
    let mut sets = Decided::new();
    (0..formed.rows()).for_each(|row| sets.push(formed.row_indices(row)));
    let ids = taxonomy.ids().iter().map(str::to_owned).collect();
    Ok((sets.offsets.into_pyarray(py), sets.labels.into_pyarray(py), ids))
}

/// Sets of labels with names in any order, as they are numbered: by their names.
fn named(labels: &Sets<'_>, names: Vec<String>) -> PyResult<(Csr<()>, Vocabulary)> {
    let labels = labels.csr()?;
    let sorted = Vocabulary::new(&names);
    let number: Vec<u32> = names.iter().filter_map(|name| sorted.id(name)).collect();
    let mut renumbered = Csr::new(sorted.len());
    let mut row_labels = Vec::new();
    for row in 0..labels.rows() {
        row_labels.clear();
        row_labels.extend(labels.row_indices(row).iter().map(|&label| number[label as usize]));
        row_labels.sort_unstable();
        renumbered.push_row(row_labels.iter().map(|&label| (label, ())));
    }
    Ok((renumbered, sorted))
}

/// Packs an Arrow column of texts: the part of each document, and an Arrow column of packed documents.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn pack_column<'py>(
    py: Python<'py>,
    packer: &[u8],
    texts: Column<'py>,
    labels: Sets<'py>,
    names: Vec<String>,
    parts: usize,
    memory: usize,
    how: How,
) -> PyResult<(Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u8>>)> {
    let packer = Packer::from_bytes(packer).map_err(to_py)?;
    let documents = labelled_column(&texts.0, &texts.1, &labels, &names)?;
    let source = HeldTexts::of(&documents);
    let (numbers, offsets, data) = run(py, how, move |progress| {
        let packed = packer.pack(source, memory, progress)?;
        let (mut numbers, mut offsets, mut data) = (Vec::new(), vec![0i64], Vec::new());
        for document in packed {
            numbers.push(part_of(fingerprint_of(&document)?, parts) as i32);
            data.extend(document);
            offsets.push(data.len() as i64);
        }
        Ok((numbers, offsets, data))
    })?;
    Ok((numbers.into_pyarray(py), offsets.into_pyarray(py), data.into_pyarray(py)))
}

/// A number from 0 to 1 for each text, by its fingerprint: those below a share are a sample of that share.
#[pyfunction]
fn draw_column<'py>(py: Python<'py>, texts: Column<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let held = crate::texts::column(texts.0.as_slice()?, texts.1.as_slice()?)?;
    let draws: Vec<f64> = (0..held.len()).map(|at| draw_of(held.fingerprint(at))).collect();
    Ok(draws.into_pyarray(py))
}

/// The pieces of a part of these packed documents, how many they are, and the smallest of their fingerprints.
#[pyfunction]
fn gather<'py>(py: Python<'py>, columns: Vec<Column<'py>>) -> PyResult<(Vec<Bound<'py, PyBytes>>, usize, Vec<u64>)> {
    let mut documents: Vec<&[u8]> = Vec::new();
    for (offsets, data) in &columns {
        let (offsets, data) = (offsets.as_slice()?, data.as_slice()?);
        for ends in offsets.windows(2) {
            let document = data.get(ends[0] as usize..ends[1] as usize);
            documents.push(document.ok_or_else(|| PyValueError::new_err("a column of bytes ends too early"))?);
        }
    }
    let count = documents.len();
    let mut smallest =
        documents.iter().map(|d| fingerprint_of(d)).collect::<tamis::Result<Vec<u64>>>().map_err(to_py)?;
    smallest.retain(|f| *f != 0);
    smallest.sort_unstable();
    smallest.dedup();
    smallest.truncate(Seen::MOST);
    let pieces = py.detach(|| pieces(documents));
    Ok((pieces.iter().map(|piece| PyBytes::new(py, piece)).collect(), count, smallest))
}

/// A round on a part: what it keeps, and what it answers.
#[pyfunction]
fn part_step<'py>(
    py: Python<'py>,
    plan: &[u8],
    pieces: Vec<Vec<u8>>,
    kept: &[u8],
    message: &[u8],
    how: How,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let (kept, answer) = run(py, how, |progress| {
        let plan = Plan::from_bytes(plan)?;
        let part = Part::read(pieces.iter().map(Vec::as_slice), plan.features, plan.labels)?;
        plan.step(&part, kept, message, progress)
    })?;
    Ok((PyBytes::new(py, &kept), PyBytes::new(py, &answer)))
}

/// Scores the held-out documents of a part.
#[pyfunction]
fn part_scores<'py>(
    py: Python<'py>,
    scorers: &[u8],
    pieces: Vec<Vec<u8>>,
    features: usize,
    labels: usize,
    how: How,
) -> PyResult<Bound<'py, PyBytes>> {
    let scores = run(py, how, |_| {
        let part = Part::read(pieces.iter().map(Vec::as_slice), features, labels)?;
        Ok(Scorers::from_bytes(scorers)?.score(&part))
    })?;
    Ok(PyBytes::new(py, &scores))
}

/// A fit in parts, on the machine that adds up.
#[pyclass(frozen, module = "tamis._core", name = "PartedFit")]
pub(crate) struct PyPartedFit(Mutex<Option<PartedFit>>);

impl PyPartedFit {
    fn with<T>(&self, work: impl FnOnce(&mut PartedFit) -> tamis::Result<T>) -> PyResult<T> {
        let mut held: MutexGuard<'_, Option<PartedFit>> = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fit = held.as_mut().ok_or_else(|| PyRuntimeError::new_err("this fit is finished"))?;
        work(fit).map_err(to_py)
    }
}

#[pymethods]
impl PyPartedFit {
    /// Folds where they are not given.
    #[classattr]
    const FOLDS: usize = FitOptions::FOLDS;

    /// From counts of each fold.
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        fitting: &str,
        text: &str,
        folds: Vec<PyRef<'_, PyCounts>>,
        unlabelled: u64,
        several: u64,
        tally: Option<&str>,
        parts: usize,
        rounds: usize,
        how: How,
    ) -> PyResult<Self> {
        let (fitting, text): (FitOptions, TextOptions) = (options(fitting)?, options(text)?);
        let folds = folds.iter().map(|counts| counts.table().clone()).collect();
        let tally = tally.map(options).transpose()?;
        let tables = PartedTables { folds, unlabelled, several, tally };
        let fit = run(py, how, move |progress| PartedFit::new(fitting, text, tables, parts, rounds, progress))?;
        Ok(Self(Mutex::new(Some(fit))))
    }

    /// How the options were chosen.
    fn chosen(&self, reasons: Vec<String>, trials: &str, frontier: &str) -> PyResult<()> {
        let (trials, frontier): (Vec<Trial>, Vec<FrontierPoint>) = (options(trials)?, options(frontier)?);
        self.with(|fit| {
            fit.chosen(reasons, trials, frontier);
            Ok(())
        })
    }

    /// What there is to say before the rounds, as JSON.
    #[getter]
    fn report(&self) -> PyResult<String> {
        to_json(&self.with(|fit| Ok(fit.report()))?)
    }

    /// How documents are packed.
    #[getter]
    fn packer<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.with(|fit| fit.packer().to_bytes())?))
    }

    /// What every part must know; nothing where no rounds are needed.
    #[getter]
    fn plan<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let plan = self.with(|fit| Ok(fit.plan().map(Plan::to_bytes)))?;
        Ok(plan.map(|plan| PyBytes::new(py, &plan)))
    }

    /// How many parts there are.
    fn on_parts(&self, parts: usize) -> PyResult<()> {
        self.with(|fit| {
            fit.on_parts(parts);
            Ok(())
        })
    }

    /// What the next round asks of every part; nothing when the rounds are over.
    fn message<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let message = self.with(|fit| Ok(fit.message()))?;
        Ok(message.map(|message| PyBytes::new(py, &message)))
    }

    /// Adds what the parts answered, in their order; how the round went, as JSON.
    fn add(&self, answers: Vec<Vec<u8>>) -> PyResult<String> {
        to_json(&self.with(|fit| fit.add(&answers))?)
    }

    /// What scores held-out documents, at most about so many scores; nothing where none is held out.
    fn scorers<'py>(&self, py: Python<'py>, most: u64) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let scorers = self.with(|fit| fit.scorers(most)?.map(|scorers| scorers.to_bytes()).transpose())?;
        Ok(scorers.map(|scorers| PyBytes::new(py, &scorers)))
    }

    /// Adds the scores of a part, parts in their order.
    fn add_scores(&self, scores: &[u8]) -> PyResult<()> {
        self.with(|fit| fit.add_scores(scores))
    }

    /// The model and a report as JSON; nothing can be done with the fit after it.
    fn finish(&self, py: Python<'_>, fingerprints: Vec<u64>, how: How) -> PyResult<(PyModel, String)> {
        let fit = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let fit = fit.ok_or_else(|| PyRuntimeError::new_err("this fit is finished"))?;
        let trained = run(py, how, move |_| fit.finish(fingerprints))?;
        let report = to_json(&crate::fitting::report(&trained))?;
        Ok((PyModel::of(trained), report))
    }
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyPartedFit>()?;
    m.add_function(wrap_pyfunction!(resolved_text, m)?)?;
    m.add_function(wrap_pyfunction!(count_folds, m)?)?;
    m.add_function(wrap_pyfunction!(choose_column, m)?)?;
    m.add_function(wrap_pyfunction!(taxonomy_of, m)?)?;
    m.add_function(wrap_pyfunction!(tally_labels, m)?)?;
    m.add_function(wrap_pyfunction!(merged_tallies, m)?)?;
    m.add_function(wrap_pyfunction!(formed_labels, m)?)?;
    m.add_function(wrap_pyfunction!(pack_column, m)?)?;
    m.add_function(wrap_pyfunction!(draw_column, m)?)?;
    m.add_function(wrap_pyfunction!(gather, m)?)?;
    m.add_function(wrap_pyfunction!(part_step, m)?)?;
    m.add_function(wrap_pyfunction!(part_scores, m)?)
}
