//! Models, used on texts or on a matrix.

use std::path::PathBuf;

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyBytes;
use rayon::prelude::*;
use serde_json::json;
use tamis::classify::{ClassifierSpec, Fitted, Query, Scored, Scratch};
use tamis::corpus::Body;
use tamis::counts::{CountOptions, Documents, Entries, count};
use tamis::model::{Model, Reason};
use tamis::threshold::Threshold;
use tamis::{Error, Result};

use crate::arrays::{Decided, Matrix, Sets, with_view};
use crate::errors::{self, options, to_py};
use crate::fitting::{Fitting, fit_counts, fit_matrix};
use crate::texts::{Source, Texts, column, labelled, text_options};
use crate::work::{How, run};

/// Dense scores, decided labels, and whether each document has a word that the model knows.
type Labelled<'py> = (
    Option<Bound<'py, PyArray2<f64>>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<bool>>,
);

/// What is kept of documents as they are labelled, a block at a time.
struct Kept {
    scores: Vec<f64>,
    decided: Decided,
    known: Vec<bool>,
}

/// Collects what the caller wants of each document.
struct Collector {
    labels: usize,
    /// What a label that is not ranked scores; none when no scores are wanted.
    absent: Option<f64>,
}

impl Collector {
    fn start(&self) -> Kept {
        Kept { scores: Vec::new(), decided: Decided::new(), known: Vec::new() }
    }

    fn add(&self, kept: &mut Kept, ranked: &[Scored], decided: &[u32], known: bool) {
        if let Some(absent) = self.absent {
            let start = kept.scores.len();
            kept.scores.resize(start + self.labels, absent);
            ranked.iter().for_each(|s| kept.scores[start + s.label as usize] = s.score);
        }
        kept.decided.push(decided);
        kept.known.push(known);
    }

    fn finish<'py>(&self, py: Python<'py>, parts: Vec<Kept>) -> PyResult<Labelled<'py>> {
        let documents = parts.iter().map(|p| p.known.len()).sum();
        let mut all = self.start();
        all.scores.reserve_exact(parts.iter().map(|p| p.scores.len()).sum());
        for part in parts {
            all.scores.extend(part.scores);
            let before = all.decided.labels.len() as i64;
            all.decided.labels.extend(part.decided.labels);
            all.decided.offsets.extend(part.decided.offsets[1..].iter().map(|o| o + before));
            all.known.extend(part.known);
        }
        let scores = self.absent.map(|_| Array2::from_shape_vec((documents, self.labels), all.scores));
        let scores = scores.transpose().map_err(|e| PyValueError::new_err(e.to_string()))?;
        Ok((
            scores.map(|s| s.into_pyarray(py)),
            all.decided.offsets.into_pyarray(py),
            all.decided.labels.into_pyarray(py),
            all.known.into_pyarray(py),
        ))
    }
}

/// Documents that one task labels.
const BLOCK: usize = 256;

/// A fitted model: what the command line's model files hold.
#[pyclass(frozen, module = "tamis._core", name = "Model")]
pub(crate) struct PyModel {
    model: Model,
}

impl PyModel {
    fn label_texts<'py>(
        &self,
        py: Python<'py>,
        texts: &Texts,
        documents: usize,
        absent: Option<f64>,
        how: How,
    ) -> PyResult<Labelled<'py>> {
        let model = &self.model;
        let collector = Collector { labels: model.labels.len(), absent };
        let parts = run(py, how, |progress| {
            model.labeller()?;
            progress.start("labelling", Some(documents as u64));
            (0..documents.div_ceil(BLOCK))
                .into_par_iter()
                .map_init(
                    || model.labeller(),
                    |labeller, block| {
                        if progress.cancelled() {
                            return Err(Error::Interrupted);
                        }
                        let labeller = labeller.as_mut().map_err(|e| Error::data(e.to_string()))?;
                        let mut kept = collector.start();
                        let range = block * BLOCK..documents.min((block + 1) * BLOCK);
                        progress.add(range.len() as u64);
                        for at in range {
                            let done = labeller.label(&Body::Text(texts.get(at).into()));
                            collector.add(&mut kept, done.ranked, done.decided, done.known);
                        }
                        Ok(kept)
                    },
                )
                .collect::<Result<Vec<Kept>>>()
        })?;
        collector.finish(py, parts)
    }
}

#[pymethods]
impl PyModel {
    /// Fits texts; with the model comes a report as JSON.
    #[staticmethod]
    fn fit_texts(
        py: Python<'_>,
        texts: Vec<PyBackedStr>,
        labels: Sets<'_>,
        names: Vec<String>,
        text: &str,
        fitting: &str,
        how: How,
    ) -> PyResult<(Self, String)> {
        let text = text_options(text)?;
        let fitting: Fitting = options(fitting)?;
        let documents = labelled(texts, &labels, &names)?;
        let source = Source::of(&documents);
        let (model, report) = run(py, how, move |progress| {
            let (counts, _) = count(source, &CountOptions { text: text.clone(), ..CountOptions::default() }, progress)?;
            fit_counts(&counts, &text, &fitting, progress)
        })?;
        Ok((Self { model }, errors::json(&report)?))
    }

    /// Fits a classifier to all columns of a matrix of counts. `lengths` are the documents' lengths where the matrix does
    /// not hold all their words.
    #[staticmethod]
    fn fit_matrix(
        py: Python<'_>,
        matrix: Matrix<'_>,
        lengths: Option<PyReadonlyArray1<'_, i64>>,
        labels: Sets<'_>,
        classifier: &str,
        threshold: Option<&str>,
        how: How,
    ) -> PyResult<Self> {
        let classifier: ClassifierSpec = classifier.parse().map_err(to_py)?;
        let threshold = threshold.map(str::parse::<Threshold>).transpose().map_err(to_py)?;
        let assignments = labels.csr()?;
        let lengths = lengths.as_ref().map(|l| l.as_slice()).transpose()?;
        let model = with_view!(matrix, Entries::Whole, |view| run(py, how, |progress| {
            let documents = view.rows();
            let lengths = match lengths {
                Some(lengths) if lengths.len() != documents => {
                    let reason = format!("there are {documents} documents");
                    return Err(Error::invalid("lengths", lengths.len(), reason));
                }
                Some(lengths) => lengths.iter().map(|&l| u32::try_from(l).unwrap_or(0)).collect(),
                None => (0..documents).map(|row| view.row_sum(row) as u32).collect(),
            };
            fit_matrix(view.to_csr(), assignments, lengths, classifier, threshold, progress)
        }))?;
        Ok(Self { model })
    }

    /// Labels texts. Scores are dense; a label that is not ranked scores `absent`, and without it there are none.
    fn texts<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<PyBackedStr>,
        absent: Option<f64>,
        how: How,
    ) -> PyResult<Labelled<'py>> {
        let documents = texts.len();
        self.label_texts(py, &Texts::Strings(texts), documents, absent, how)
    }

    /// Labels an Arrow column of texts.
    fn column<'py>(
        &self,
        py: Python<'py>,
        offsets: PyReadonlyArray1<'py, i64>,
        bytes: PyReadonlyArray1<'py, u8>,
        absent: Option<f64>,
        how: How,
    ) -> PyResult<Labelled<'py>> {
        let offsets = offsets.as_slice()?;
        self.label_texts(py, &column(offsets, bytes.as_slice()?)?, offsets.len() - 1, absent, how)
    }

    /// Labels the rows of a matrix with the columns that the model was fitted to.
    fn matrix<'py>(
        &self,
        py: Python<'py>,
        matrix: Matrix<'py>,
        lengths: Option<PyReadonlyArray1<'py, i64>>,
        absent: Option<f64>,
        how: How,
    ) -> PyResult<Labelled<'py>> {
        let model = &self.model;
        let mut feature_of = vec![u32::MAX; matrix.3];
        for (term, &feature) in model.terms.iter().zip(&model.feature_of) {
            let place = term.parse::<usize>().ok().and_then(|column| feature_of.get_mut(column));
            *place.ok_or_else(|| PyValueError::new_err("the matrix has not the columns of the model"))? = feature;
        }
        let lengths = lengths.as_ref().map(|l| l.as_slice()).transpose()?;
        let collector = Collector { labels: model.labels.len(), absent };
        let parts = with_view!(matrix, Entries::Whole, |view| {
            let documents = view.rows();
            if lengths.is_some_and(|l| l.len() != documents) {
                return Err(PyValueError::new_err(format!("lengths must be of {documents} documents")));
            }
            run(py, how, |progress| {
                (0..documents.div_ceil(BLOCK))
                    .into_par_iter()
                    .map_init(Buffers::default, |b, block| {
                        if progress.cancelled() {
                            return Err(Error::Interrupted);
                        }
                        let mut kept = collector.start();
                        for at in block * BLOCK..documents.min((block + 1) * BLOCK) {
                            b.row.clear();
                            view.for_each_term(at, |column, count| {
                                let feature = feature_of[column as usize];
                                if feature != u32::MAX {
                                    b.row.push((feature, count));
                                }
                            });
                            b.row.sort_unstable();
                            b.features.clear();
                            b.counts.clear();
                            b.features.extend(b.row.iter().map(|e| e.0));
                            b.counts.extend(b.row.iter().map(|e| e.1));
                            let length = lengths.map_or_else(|| view.row_sum(at) as u32, |l| l[at] as u32);
                            let query = Query { features: &b.features, counts: &b.counts, length };
                            model.rank_and_decide(query, &mut b.scratch, &mut b.ranked, &mut b.decided);
                            collector.add(&mut kept, &b.ranked, &b.decided, !b.features.is_empty());
                        }
                        Ok(kept)
                    })
                    .collect::<Result<Vec<Kept>>>()
            })
        })?;
        collector.finish(py, parts)
    }

    /// Probabilities for scores, label by label; none when the model has not learned them.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        scores: PyReadonlyArray2<'py, f64>,
    ) -> Option<Bound<'py, PyArray2<f64>>> {
        let calibration = self.model.calibration.as_ref()?;
        let mut out = scores.as_array().to_owned();
        for mut row in out.rows_mut() {
            for (label, score) in row.iter_mut().enumerate() {
                *score = calibration.probability(label as u32, *score);
            }
        }
        Some(out.into_pyarray(py))
    }

    /// Why a text has its labels: for each its score and the words that speak for and against it.
    fn explain(&self, text: &str, label: Option<&str>, top: usize) -> PyResult<String> {
        let model = &self.model;
        let label = label.map(|name| model.find_label(name)).transpose().map_err(to_py)?;
        let found = model.labeller().map_err(to_py)?.reasons(&Body::Text(text.into()), label);
        let names = model.features();
        let entry = |reason: Reason| {
            json!({
                "label": model.labels.name(reason.label),
                "score": reason.score,
                "threshold": reason.threshold,
                "decided": reason.decided,
                "words": reason.why.words.iter().take(top).map(|w| (names[w.feature as usize], w.adds)).collect::<Vec<_>>(),
                "neighbours": reason.why.neighbours.iter().take(top).map(|n| (n.document, n.adds)).collect::<Vec<_>>(),
            })
        };
        errors::json(&found.reasons.into_iter().map(entry).collect::<Vec<_>>())
    }

    /// The words with the largest weights for a label.
    fn top_words(&self, label: &str, top: usize) -> PyResult<Vec<(String, f64)>> {
        let model = &self.model;
        let label = model.find_label(label).map_err(to_py)?;
        let words = model.label_words(&[label], top).map_err(to_py)?;
        let names = model.features();
        let largest = words.into_iter().flat_map(|words| words.largest(top));
        Ok(largest.map(|(f, weight)| (names[f as usize].to_owned(), weight)).collect())
    }

    /// Labels, in byte order.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.model.labels.iter().map(str::to_owned).collect()
    }

    /// Features, best first.
    #[getter]
    fn features(&self) -> Vec<String> {
        self.model.features().into_iter().map(str::to_owned).collect()
    }

    /// Summary, thresholds, curves and text options as JSON.
    #[getter]
    fn about(&self) -> PyResult<String> {
        let model = &self.model;
        errors::json(&json!({
            "summary": model.summary,
            "deciding": model.deciding(),
            "thresholds": model.thresholds,
            "curves": model.curves,
            "text": model.text,
            "progressive": matches!(model.classifier, Fitted::Progressive(_)),
            "calibration": model.calibration.as_ref().map(|c| c.method().to_string()),
        }))
    }

    fn path(&self, label: &str) -> Option<Vec<String>> {
        let id = self.model.labels.id(label)?;
        Some(self.model.path(id)?.into_iter().map(str::to_owned).collect())
    }

    /// Writes the model file that `tamis classify` reads.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.model.write(&path).map_err(to_py)
    }

    /// Reads a model file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        Ok(Self { model: Model::read(&path).map_err(to_py)? })
    }

    /// The model file as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.model.to_bytes().map_err(to_py)?))
    }

    /// From the bytes of a model file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { model: Model::from_bytes(bytes).map_err(to_py)? })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }
}

#[derive(Default)]
struct Buffers {
    row: Vec<(u32, u32)>,
    features: Vec<u32>,
    counts: Vec<u32>,
    scratch: Scratch,
    ranked: Vec<Scored>,
    decided: Vec<u32>,
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyModel>()
}
