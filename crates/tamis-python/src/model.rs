//! Models: fitted to texts or to a matrix, used on either.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyBytes;
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::json;
use tamis::corpus::{Body, TextOptions};
use tamis::counts::{CountOptions, Counts, Csr, Documents, Entries, Vocabulary, count};
use tamis::features::search::Budget;
use tamis::label::pipeline::{self, Method};
use tamis::label::progressive::Answers;
use tamis::label::threshold::CalibrationMethod;
use tamis::label::{
    ClassifierSpec, FitOptions, Fitted, Model, ProgressiveOptions, Query, Scored, Scratch, Separator, Size, Taxonomy,
    Threshold, fit, fit_taxonomy,
};
use tamis::{Error, Result};

use crate::arrays::{Decided, Matrix, Sets, with_view};
use crate::errors::{self, options, to_py};
use crate::texts::{Source, Texts, column, labelled, text_options};
use crate::work::{How, run};

/// What to fit, as `TextCategorizer` says it; what is `None` is chosen.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fitting {
    by: Option<String>,
    /// A number, 0 for all, none for auto.
    features: Option<usize>,
    classifier: Option<String>,
    threshold: Option<String>,
    calibrate: Option<String>,
    folds: Option<usize>,
    seconds: Option<f64>,
    seed: u64,
    /// Child and parent, or none: no taxonomy. An empty list takes it from the names.
    taxonomy: Option<Vec<(String, Option<String>)>>,
    hierarchy: Option<Hierarchy>,
}

/// How a model is trained along a taxonomy.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Hierarchy {
    pub(crate) imbalance: Option<String>,
    pub(crate) utility: Option<String>,
    pub(crate) step: Option<f64>,
    pub(crate) per_node: Option<usize>,
    pub(crate) answers: Option<String>,
    pub(crate) negatives: Option<String>,
}

impl Hierarchy {
    /// Fills options in; what is not given stays.
    pub(crate) fn apply(&self, options: &mut ProgressiveOptions) -> Result<()> {
        if let Some(utility) = &self.utility {
            options.thresholds.utility = utility.parse()?;
        }
        options.thresholds = pipeline::Options { step: self.step, ..options.thresholds.clone() };
        options.imbalance = self.imbalance.as_deref().map(str::parse).transpose()?;
        if let Some(n) = self.per_node {
            options.per_node = (n != 0).then_some(n);
        }
        if let Some(negatives) = &self.negatives {
            options.negatives = negatives.parse()?;
        }
        Ok(())
    }
}

/// A taxonomy from pairs; an empty list takes it from the names of labels.
pub(crate) fn taxonomy(pairs: &[(String, Option<String>)], names: &Vocabulary) -> Result<Taxonomy> {
    let taxonomy = if pairs.is_empty() {
        Taxonomy::from_names(names.iter(), Separator::Auto)?
    } else {
        Taxonomy::from_pairs(pairs.iter().map(|(c, p)| (c, p.as_ref())), tamis::label::ParentPolicy::Refuse)?
    };
    taxonomy.align(names)?;
    Ok(taxonomy)
}

fn fit_counts(
    counts: &Counts,
    text: &TextOptions,
    how: &Fitting,
    progress: &dyn tamis::Progress,
) -> Result<(Model, serde_json::Value)> {
    let rows: Vec<usize> = (0..counts.len()).collect();
    let selector = how.by.as_deref().map(str::parse).transpose()?;
    let classifier = how.classifier.as_deref().map(str::parse::<ClassifierSpec>).transpose()?;
    let forest = how.taxonomy.as_ref().map(|pairs| taxonomy(pairs, &counts.labels)).transpose()?;
    let along = match (&how.threshold, &forest) {
        (_, None) => None,
        (None, Some(_)) => Some(ProgressiveOptions::default().method),
        (Some(name), Some(_)) => name.parse::<Method>().ok(),
    };
    if let (Some(method), Some(forest)) = (along, &forest) {
        let mut options = ProgressiveOptions { method, seed: how.seed, ..ProgressiveOptions::default() };
        how.hierarchy.as_ref().map_or(Ok(()), |h| h.apply(&mut options))?;
        options.classifier = classifier.unwrap_or(options.classifier);
        options.selector = selector.unwrap_or(options.selector);
        options.features = match how.features {
            None => options.features,
            Some(0) => None,
            some => some,
        };
        options.folds = how.folds.unwrap_or(options.folds);
        options.answers = match how.hierarchy.as_ref().and_then(|h| h.answers.as_deref()) {
            Some(answers) => answers.parse()?,
            None => Answers::of_documents(counts, &rows, how.threshold.is_some()),
        };
        let trained = fit_taxonomy(counts, &rows, text, forest, &options, progress)?;
        return Ok((trained.model, json!({ "trials": [], "thresholds": null })));
    }
    let default = FitOptions::default();
    let options = FitOptions {
        selector,
        size: match how.features {
            None => Size::Auto,
            Some(0) => Size::All,
            Some(n) => Size::Top(n),
        },
        classifier,
        threshold: how.threshold.as_deref().map(str::parse::<Threshold>).transpose()?,
        calibration: how.calibrate.as_deref().map(str::parse::<CalibrationMethod>).transpose()?,
        folds: how.folds.unwrap_or(default.folds),
        budget: Budget { seconds: how.seconds, steps: None },
        seed: how.seed,
    };
    let trained = fit(counts, &rows, text, forest, &options, progress)?;
    let trials: Vec<_> = trained
        .trials
        .iter()
        .map(|t| {
            json!({ "classifier": t.classifier.to_string(), "selector": t.selector, "features": t.size, "all": t.all,
                    "RPrec": t.mean, "error": t.error })
        })
        .collect();
    Ok((trained.model, json!({ "trials": trials, "thresholds": trained.thresholds })))
}

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
            let matrix = view.to_csr();
            let lengths = match lengths {
                Some(lengths) if lengths.len() != documents => {
                    let reason = format!("there are {documents} documents");
                    return Err(Error::invalid("lengths", lengths.len(), reason));
                }
                Some(lengths) => lengths.iter().map(|&l| u32::try_from(l).unwrap_or(0)).collect(),
                None => (0..documents).map(|row| view.row_sum(row) as u32).collect(),
            };
            let counts = Counts {
                vocabulary: Arc::new(Vocabulary::numbered(matrix.columns())),
                labels: Arc::new(Vocabulary::numbered(assignments.columns())),
                matrix,
                assignments,
                lengths,
                ids: vec![String::new(); documents],
                parts: vec![None; documents],
                dates: vec![None; documents],
            };
            let rows: Vec<usize> = (0..documents).collect();
            let options = FitOptions {
                selector: Some("df".parse()?),
                size: Size::All,
                classifier: Some(classifier),
                threshold,
                folds: 0,
                ..FitOptions::default()
            };
            Ok(fit(&counts, &rows, &TextOptions::default(), None, &options, progress)?.model)
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
        let label = label
            .map(|name| model.labels.id(name).ok_or_else(|| Error::unknown("label", name, model.labels.iter())))
            .transpose()
            .map_err(to_py)?;
        let mut labeller = model.labeller().map_err(to_py)?;
        let done = labeller.label(&Body::Text(text.into()));
        let ranked = done.ranked.to_vec();
        let mut wanted = label.map_or_else(|| done.decided.to_vec(), |l| vec![l]);
        if wanted.is_empty() {
            wanted.extend(ranked.first().map(|s| s.label));
        }
        let names = model.features();
        let explained: Vec<_> = wanted
            .into_iter()
            .map(|l| {
                let explanation = match &model.classifier {
                    Fitted::Linear(linear) => linear.explain(labeller.query(), l),
                    Fitted::Progressive(filter) => filter.explain(labeller.query(), l),
                    Fitted::Knn { .. } => None,
                };
                let mut words = explanation.map_or_else(Vec::new, |e| e.features);
                words.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
                words.truncate(top);
                json!({
                    "label": model.labels.name(l),
                    "score": ranked.iter().find(|s| s.label == l).map(|s| s.score),
                    "threshold": model.thresholds.of(l),
                    "words": words.iter().map(|&(f, adds)| (names[f as usize], adds)).collect::<Vec<_>>(),
                })
            })
            .collect();
        errors::json(&explained)
    }

    /// The words with the largest weights for a label; none for neighbours.
    fn top_words(&self, label: &str, top: usize) -> PyResult<Vec<(String, f64)>> {
        let model = &self.model;
        let known = model.labels.id(label);
        let id = known.ok_or_else(|| to_py(Error::unknown("label", label, model.labels.iter())))?;
        let mut words: Vec<(u32, f64)> = match &model.classifier {
            Fitted::Linear(linear) => (0..linear.features() as u32).map(|f| (f, linear.weight(id, f))).collect(),
            Fitted::Progressive(filter) => filter.node_weights(id),
            Fitted::Knn { .. } => Vec::new(),
        };
        words.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        words.truncate(top);
        let names = model.features();
        Ok(words.into_iter().map(|(f, weight)| (names[f as usize].to_owned(), weight)).collect())
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
            "calibrated": model.calibration.is_some(),
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

/// Counts that have labels and no words: what splits and taxonomies look at.
pub(crate) fn without_words(assignments: Csr<()>, names: Vocabulary) -> Counts {
    let documents = assignments.rows();
    let mut matrix = Csr::new(0);
    (0..documents).for_each(|_| matrix.push_row([]));
    Counts {
        vocabulary: Arc::default(),
        labels: Arc::new(names),
        matrix,
        assignments,
        lengths: vec![0; documents],
        ids: vec![String::new(); documents],
        parts: vec![None; documents],
        dates: vec![None; documents],
    }
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyModel>()
}
