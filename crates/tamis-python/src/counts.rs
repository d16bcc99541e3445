//! Counts and rankings.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyDict};
use tamis::corpus::open;
use tamis::counts::{
    Contingency, ContingencyParts, CountOptions, Counted, CountsFile, Csr, Entries, Meeting, Pruned, Vocabulary,
    count_contingency,
};
use tamis::features::search::{Budget, Found};
use tamis::features::{Ranking, Selector};
use tamis::terms::TextOptions;
use tamis::{Error, Result};

use crate::arrays::{Matrix, Sets, with_view};
use crate::corpus::ReadArguments;
use crate::errors::{json, options, to_py};
use crate::texts::{GivenTexts, HeldTexts, LabelledTexts, labelled, labelled_column, text_options};
use crate::work::{How, run};

/// Documents by term and label: all that selectors need. What `tamis count` writes.
#[pyclass(frozen, module = "tamis._core", name = "Counts")]
pub(crate) struct PyCounts {
    file: CountsFile,
}

fn counted(documents: &Arc<LabelledTexts>, text: &str, memory: usize, py: Python<'_>, how: How) -> PyResult<PyCounts> {
    let text = text_options(text)?;
    let source = HeldTexts::of(documents);
    let options = CountOptions { text: text.clone(), memory, ..CountOptions::default() };
    let (contingency, report) =
        run(py, how, move |progress| count_contingency(source, Counted::All, &options, progress))?;
    Ok(PyCounts { file: CountsFile { text, pruned: report.pruned, contingency } })
}

impl PyCounts {
    /// Counts that nobody will read texts with.
    pub(crate) fn of_table(contingency: Contingency) -> Self {
        Self { file: CountsFile { text: TextOptions::default(), pruned: Pruned::default(), contingency } }
    }

    pub(crate) fn table(&self) -> &Contingency {
        &self.file.contingency
    }
}

#[pymethods]
impl PyCounts {
    /// Counts texts.
    #[staticmethod]
    fn of_texts(
        py: Python<'_>,
        texts: GivenTexts,
        labels: Sets<'_>,
        names: Vec<String>,
        text: &str,
        memory: usize,
        how: How,
    ) -> PyResult<Self> {
        counted(&labelled(texts, &labels, &names)?, text, memory, py, how)
    }

    /// Counts an Arrow column of texts.
    #[staticmethod]
    fn of_column(
        py: Python<'_>,
        offsets: PyReadonlyArray1<'_, i64>,
        bytes: PyReadonlyArray1<'_, u8>,
        labels: Sets<'_>,
        names: Vec<String>,
        text: &str,
        memory: usize,
        how: How,
    ) -> PyResult<Self> {
        counted(&labelled_column(&offsets, &bytes, &labels, &names)?, text, memory, py, how)
    }

    /// Counts a corpus on disk.
    #[staticmethod]
    fn of_corpus(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        reading: &str,
        text: &str,
        all_parts: bool,
        memory: usize,
        how: How,
    ) -> PyResult<Self> {
        let reading: ReadArguments = options(reading)?;
        let text = text_options(text)?;
        let options = CountOptions { text: text.clone(), memory, ..CountOptions::default() };
        let part = if all_parts { Counted::All } else { Counted::Training };
        let (contingency, report) = run(py, how, move |progress| {
            let corpus = open(&paths, &reading.options(1)?)?;
            let (contingency, report) =
                count_contingency(corpus.batches_for(&options.text)?, part, &options, progress)?;
            if contingency.documents() == 0 {
                return Err(corpus.no_documents(&report.skipped));
            }
            Ok((contingency, report))
        })?;
        Ok(Self { file: CountsFile { text, pruned: report.pruned, contingency } })
    }

    /// Takes numbers counted elsewhere; terms and labels ascend.
    #[staticmethod]
    fn from_parts(
        terms: Vec<PyBackedStr>,
        labels: Vec<PyBackedStr>,
        documents: u64,
        tokens: u64,
        label_documents: Vec<u32>,
        df: PyReadonlyArray1<'_, i64>,
        occurrences: PyReadonlyArray1<'_, i64>,
        meetings: (
            PyReadonlyArray1<'_, i64>,
            PyReadonlyArray1<'_, i64>,
            PyReadonlyArray1<'_, i64>,
            PyReadonlyArray1<'_, i64>,
        ),
        text: &str,
    ) -> PyResult<Self> {
        let wrong = |reason: String| PyValueError::new_err(format!("counts: {reason}"));
        for names in [&terms, &labels] {
            if names.windows(2).any(|w| *w[0] >= *w[1]) {
                return Err(wrong("terms and labels must be in order, without repetition".into()));
            }
        }
        let count = |n: &i64| u32::try_from(*n).map_err(|_| wrong(format!("{n} is not a count")));
        let meeting = |(documents, occurrences): (&i64, &i64)| {
            Ok(Meeting { documents: count(documents)?, occurrences: u32::try_from(*occurrences).unwrap_or(u32::MAX) })
        };
        let meetings = Csr::try_from_parts(
            labels.len(),
            meetings.0.as_slice()?.iter().map(|&o| o as usize).collect(),
            meetings.1.as_slice()?.iter().map(count).collect::<PyResult<_>>()?,
            meetings.2.as_slice()?.iter().zip(meetings.3.as_slice()?).map(meeting).collect::<PyResult<_>>()?,
        )
        .map_err(wrong)?;
        let contingency = Contingency::from_parts(ContingencyParts {
            vocabulary: Arc::new(Vocabulary::from_sorted(terms.iter().map(|t| &**t))),
            labels: Arc::new(Vocabulary::from_sorted(labels.iter().map(|l| &**l))),
            documents,
            tokens,
            label_documents,
            df: df.as_slice()?.iter().map(count).collect::<PyResult<_>>()?,
            occurrences: occurrences.as_slice()?.iter().map(|&n| n as u64).collect(),
            meetings,
        })
        .map_err(wrong)?;
        Ok(Self { file: CountsFile { text: text_options(text)?, pruned: Pruned::default(), contingency } })
    }

    /// The numbers as arrays: what `from_parts` takes.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let c = &self.file.contingency;
        let wide = |numbers: &[u32]| numbers.iter().map(|&n| i64::from(n)).collect::<Vec<_>>().into_pyarray(py);
        let meetings = c.meetings();
        let of = |pick: fn(&Meeting) -> u32| meetings.values().iter().map(|m| i64::from(pick(m))).collect::<Vec<_>>();
        let parts = PyDict::new(py);
        parts.set_item("terms", c.vocabulary().iter().collect::<Vec<_>>())?;
        parts.set_item("labels", c.labels().iter().collect::<Vec<_>>())?;
        parts.set_item("documents", c.documents())?;
        parts.set_item("tokens", c.tokens())?;
        parts.set_item("label_documents", wide(c.label_documents()))?;
        parts.set_item("df", wide(c.df()))?;
        parts
            .set_item("occurrences", c.occurrences().iter().map(|&n| n as i64).collect::<Vec<_>>().into_pyarray(py))?;
        let offsets: Vec<i64> = meetings.offsets().iter().map(|&o| o as i64).collect();
        parts.set_item("offsets", offsets.into_pyarray(py))?;
        parts.set_item("meeting_labels", wide(meetings.indices()))?;
        parts.set_item("meeting_documents", of(|m| m.documents).into_pyarray(py))?;
        parts.set_item("meeting_occurrences", of(|m| m.occurrences).into_pyarray(py))?;
        Ok(parts)
    }

    /// Whether a file holds counts, by its first bytes.
    #[staticmethod]
    fn is_one(path: PathBuf) -> bool {
        CountsFile::is_one(&path)
    }

    /// Reads what `tamis count` or `save` wrote.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        Ok(Self { file: CountsFile::read(&path).map_err(to_py)? })
    }

    /// Writes the file that `tamis rank` and `tamis merge` read.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.file.write(&path).map_err(to_py)
    }

    /// The counts of both.
    fn merge(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        let file = py.detach(|| self.file.clone().merge(&other.file)).map_err(to_py)?;
        Ok(Self { file })
    }

    /// Without terms in fewer documents.
    fn at_least(&self, documents: u32) -> Self {
        let df = self.file.contingency.df();
        let contingency = self.file.contingency.retain_terms(|t| df[t as usize] >= documents);
        Self { file: CountsFile { contingency, ..self.file.clone() } }
    }

    fn equals(&self, other: &Self) -> bool {
        self.file.contingency == other.file.contingency && self.file.text == other.file.text
    }

    #[getter]
    fn documents(&self) -> u64 {
        self.file.contingency.documents()
    }

    #[getter]
    fn tokens(&self) -> u64 {
        self.file.contingency.tokens()
    }

    #[getter]
    fn terms(&self) -> Vec<String> {
        self.file.contingency.vocabulary().iter().map(str::to_owned).collect()
    }

    #[getter]
    fn labels(&self) -> Vec<String> {
        self.file.contingency.labels().iter().map(str::to_owned).collect()
    }

    /// Ranks terms; for a search, finds the subset of `top` terms.
    fn rank<'py>(
        &self,
        py: Python<'py>,
        by: &str,
        cut: Option<u32>,
        top: Option<usize>,
        budget: (Option<f64>, Option<u64>),
        how: How,
    ) -> PyResult<Bound<'py, PyDict>> {
        let selector = parse(by, cut)?;
        let table = &self.file.contingency;
        let (ranking, _) = run(py, how, |progress| select(&selector, table, top, budget, progress))?;
        ranked(py, table, &ranking, top, None)
    }

    /// One list of terms for each label, in the order of `labels`.
    fn rank_per_label<'py>(
        &self,
        py: Python<'py>,
        by: &str,
        cut: Option<u32>,
        top: Option<usize>,
        how: How,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let selector = parse(by, cut)?;
        let table = &self.file.contingency;
        let rankings = run(py, how, |_| selector.rank_per_label(table, top.unwrap_or(usize::MAX)))?;
        rankings.iter().enumerate().map(|(label, r)| ranked(py, table, r, top, Some(label as u32))).collect()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let bytes = self.file.to_bytes().map_err(to_py)?;
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (PyBytes::new(py, &bytes),)))
    }

    /// From the bytes of a counts file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { file: CountsFile::from_bytes(bytes).map_err(to_py)? })
    }
}

fn parse(by: &str, cut: Option<u32>) -> PyResult<Selector> {
    Ok(by.parse::<Selector>().map_err(to_py)?.under_cut(cut))
}

fn select(
    selector: &Selector,
    table: &Contingency,
    size: Option<usize>,
    (seconds, steps): (Option<f64>, Option<u64>),
    progress: &dyn tamis::Progress,
) -> Result<(Ranking, Option<Found>)> {
    if selector.as_search().is_none() {
        return Ok((selector.rank(table)?, None));
    }
    let Some(size) = size else {
        let reason = format!("{selector} searches for the best subset of a size: say which");
        return Err(Error::invalid("top", "None", reason));
    };
    selector.subset(table, size, &Budget { seconds, steps }, progress)
}

/// The columns of `tamis rank`.
fn ranked<'py>(
    py: Python<'py>,
    table: &Contingency,
    ranking: &Ranking,
    top: Option<usize>,
    label: Option<u32>,
) -> PyResult<Bound<'py, PyDict>> {
    let n = ranking.len().min(top.unwrap_or(usize::MAX));
    let terms = &ranking.terms()[..n];
    let columns = PyDict::new(py);
    columns.set_item("term", terms.iter().map(|&t| table.vocabulary().name(t)).collect::<Vec<_>>())?;
    columns.set_item("score", ranking.scores()[..n].to_vec().into_pyarray(py))?;
    let df: Vec<i64> = terms.iter().map(|&t| i64::from(table.df()[t as usize])).collect();
    columns.set_item("df", df.into_pyarray(py))?;
    let labels: Option<Vec<u32>> = match label {
        Some(label) => Some(vec![label; n]),
        None => (0..n).map(|at| ranking.speaks_for(at, table)).collect(),
    };
    if let Some(labels) = labels {
        columns.set_item("label", labels.iter().map(|&l| table.labels().name(l)).collect::<Vec<_>>())?;
        let cells: Vec<_> = terms.iter().zip(&labels).map(|(&t, &l)| table.cell(t, l)).collect();
        let pick: [(&str, fn(&tamis::counts::Cell) -> f64); 4] =
            [("a", |c| c.a), ("b", |c| c.b), ("c", |c| c.c), ("d", |c| c.d)];
        for (name, part) in pick {
            let column: Vec<i64> = cells.iter().map(|c| part(c) as i64).collect();
            columns.set_item(name, column.into_pyarray(py))?;
        }
    }
    Ok(columns)
}

/// Column numbers best first, their scores, and how a search went.
type RankedColumns<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>, Option<String>);

/// Ranks the columns of a matrix, read in place, its rows in any order; nothing when a column comes twice in a row.
#[pyfunction]
fn rank_matrix<'py>(
    py: Python<'py>,
    matrix: Matrix<'py>,
    labels: Sets<'py>,
    by: &str,
    cut: Option<u32>,
    size: Option<usize>,
    budget: (Option<f64>, Option<u64>),
    how: How,
) -> PyResult<Option<RankedColumns<'py>>> {
    let selector = parse(by, cut)?;
    let entries = if selector.needs_occurrences() { Entries::Whole } else { Entries::Weights };
    let labels = labels.csr()?;
    let ranked = with_view!(matrix, entries, tamis::counts::UnorderedView, |view| view
        .map(|view| run(py, how, |progress| {
            let table = Contingency::of_matrix(&view, &labels)?;
            select(&selector, &table, size, budget, progress)
        }))
        .transpose())?;
    let Some((ranking, found)) = ranked else { return Ok(None) };
    let terms: Vec<i64> = ranking.terms().iter().map(|&t| i64::from(t)).collect();
    let found = found.map(|f| json(&f)).transpose()?;
    Ok(Some((terms.into_pyarray(py), ranking.scores().to_vec().into_pyarray(py), found)))
}

/// Where the library reads the numbers of a matrix: the addresses of its three arrays as the views have them.
#[pyfunction]
fn addresses(matrix: Matrix<'_>) -> PyResult<(usize, usize)> {
    with_view!(matrix, Entries::Weights, |view| Ok((view.indices().as_ptr() as usize, view.values().as_ptr() as usize)))
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyCounts>()?;
    m.add_function(wrap_pyfunction!(rank_matrix, m)?)?;
    m.add_function(wrap_pyfunction!(addresses, m)?)
}
