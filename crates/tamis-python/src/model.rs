//! Models, used on texts or on a matrix.

use std::path::PathBuf;

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;
use serde_json::json;
use tamis::classify::svm::Solution;
use tamis::classify::{ClassifierSpec, Fitted, Outputs, Query, Scored};
use tamis::corpus::{Document, Glance};
use tamis::counts::{CountOptions, Documents, Entries, count};
use tamis::hierarchy::{GivenTaxonomy, Taxonomy};
use tamis::measure::{Measure, Resampling};
use tamis::model::{EvaluateOptions, FitOptions, How, Labeller, Memory, Model, Ranker, Target, Trained, WhyAsked};
use tamis::terms::TextChoices;
use tamis::threshold::Threshold;
use tamis::{Error, Result};

use crate::arrays::{Decided, Matrix, Sets, with_view};
use crate::errors::{self, options, to_py};
use crate::fitting::{MatrixDocuments, fit_matrix, report};
use crate::texts::{GivenTexts, HeldTexts, LabelledTexts, Texts, column, labelled, named_fields};
use crate::warnings::Warnings;
use crate::work::{How as Work, run, run_hearing};

/// Dense scores, decided labels, and whether each document has a word that the model knows.
type LabelArrays<'py> = (
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

    fn finish<'py>(&self, py: Python<'py>, parts: Vec<Kept>) -> PyResult<LabelArrays<'py>> {
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
    /// Passes of each problem of an SVM that was just fitted.
    passes: Vec<usize>,
}

impl PyModel {
    /// A model that was just fitted.
    pub(crate) fn of(trained: Trained) -> Self {
        Self { passes: passes(&trained.solutions), model: trained.model }
    }

    fn label_texts<'py>(
        &self,
        py: Python<'py>,
        texts: Texts,
        absent: Option<f64>,
        how: Work,
    ) -> PyResult<LabelArrays<'py>> {
        let model = &self.model;
        let collector = Collector { labels: model.labels.len(), absent };
        let total = texts.len() as u64;
        let source = HeldTexts::of(&LabelledTexts::unlabelled(texts));
        let parts = run(py, how, |progress| {
            progress.start("labelling", Some(total));
            let collect = |kept: &mut Kept, labeller: &mut Labeller<'_>, document: &Document<'_>| {
                let done = labeller.label(&document.body);
                collector.add(kept, done.ranked, done.decided, done.known);
            };
            let mut parts = Vec::new();
            for part in model.label_batches(source, || collector.start(), collect) {
                if progress.cancelled() {
                    return Err(Error::Interrupted);
                }
                let part = part?.value;
                progress.add(part.known.len() as u64);
                parts.push(part);
            }
            Ok(parts)
        })?;
        collector.finish(py, parts)
    }
}

#[pymethods]
impl PyModel {
    /// Fits texts, `weights` saying how often each counts, on terms of at least `min_df` of them; with the model comes a report as JSON.
    #[staticmethod]
    #[pyo3(signature = (texts, labels, names, text, fitting, target, how, weights=None, min_df=1))]
    #[allow(clippy::too_many_arguments)]
    fn fit_texts(
        py: Python<'_>,
        texts: GivenTexts,
        labels: Sets<'_>,
        names: Vec<String>,
        text: &str,
        fitting: &str,
        target: Option<&str>,
        how: Work,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        min_df: u32,
    ) -> PyResult<(Self, String)> {
        let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?.unwrap_or_default().to_vec();
        let target = target.map(options::<Target>).transpose()?;
        let mut fitting: FitOptions = options(fitting)?;
        let documents = labelled(texts, &labels, &names)?;
        let (source, glance) = Glance::measured(HeldTexts::of(&documents), FitOptions::LITTLE).map_err(to_py)?;
        let text = fitting.counting(&options::<TextChoices>(text)?, &glance).map_err(to_py)?;
        let trained = run(py, how, move |progress| {
            let (mut counts, _) = count(source, &CountOptions { text, min_df, ..CountOptions::default() }, progress)?;
            if !weights.is_empty() && weights.len() != counts.len() {
                let reason = format!("there are {} documents", counts.len());
                return Err(Error::invalid("sample_weight", weights.len(), reason));
            }
            counts.weights = weights;
            fitting.fit(&counts, &counts.rows(), progress)
        })?;
        let report = errors::json(&report(&trained))?;
        let model = match target {
            Some(target) => trained.model.with_target(target),
            None => trained.model,
        };
        Ok((Self { model, passes: passes(&trained.solutions) }, report))
    }

    /// Fits a classifier to all columns of a matrix of counts. `weights` say how often each document counts. `lengths` are the documents' lengths where the matrix does
    /// not hold all their words.
    #[staticmethod]
    #[pyo3(signature = (matrix, lengths, labels, classifier, threshold, how, weights=None))]
    #[allow(clippy::too_many_arguments)]
    fn fit_matrix(
        py: Python<'_>,
        matrix: Matrix<'_>,
        lengths: Option<PyReadonlyArray1<'_, i64>>,
        labels: Sets<'_>,
        classifier: &str,
        threshold: Option<&str>,
        how: Work,
        weights: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Self> {
        let classifier: ClassifierSpec = classifier.parse().map_err(to_py)?;
        let threshold = threshold.map(str::parse::<Threshold>).transpose().map_err(to_py)?;
        let assignments = labels.csr()?;
        let lengths = lengths.as_ref().map(|l| l.as_slice()).transpose()?;
        let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?.unwrap_or_default();
        let warnings = Warnings::of_solvers();
        let trained = with_view!(matrix, Entries::Whole, |view| run_hearing(py, how, &warnings, |progress| {
            let documents = view.rows();
            let lengths = match lengths {
                Some(lengths) if lengths.len() != documents => {
                    let reason = format!("there are {documents} documents");
                    return Err(Error::invalid("lengths", lengths.len(), reason));
                }
                Some(lengths) => lengths.iter().map(|&l| u32::try_from(l).unwrap_or(0)).collect(),
                None => (0..documents).map(|row| view.row_sum(row) as u32).collect(),
            };
            let documents = MatrixDocuments { matrix: view.to_csr(), assignments, lengths, weights: weights.to_vec() };
            fit_matrix(documents, classifier, threshold, progress)
        }))?;
        Ok(Self { model: trained.model, passes: passes(&trained.solutions) })
    }

    /// Labels texts. Scores are dense; a label that is not ranked scores `absent`, and without it there are none.
    fn texts<'py>(
        &self,
        py: Python<'py>,
        texts: GivenTexts,
        absent: Option<f64>,
        how: Work,
    ) -> PyResult<LabelArrays<'py>> {
        self.label_texts(py, texts.into(), absent, how)
    }

    /// Labels an Arrow column of texts.
    fn column<'py>(
        &self,
        py: Python<'py>,
        offsets: PyReadonlyArray1<'py, i64>,
        bytes: PyReadonlyArray1<'py, u8>,
        absent: Option<f64>,
        how: Work,
    ) -> PyResult<LabelArrays<'py>> {
        let offsets = offsets.as_slice()?;
        self.label_texts(py, column(offsets, bytes.as_slice()?)?, absent, how)
    }

    /// Labels the rows of a matrix with the columns that the model was fitted to.
    fn matrix<'py>(
        &self,
        py: Python<'py>,
        matrix: Matrix<'py>,
        lengths: Option<PyReadonlyArray1<'py, i64>>,
        absent: Option<f64>,
        how: Work,
    ) -> PyResult<LabelArrays<'py>> {
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
                            model.rank_and_decide(query, &mut b.memory, &mut b.ranked, &mut b.decided);
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
        if !self.model.has_probabilities() {
            return None;
        }
        let mut out = scores.as_array().to_owned();
        let mut probabilities = Vec::new();
        for mut row in out.rows_mut() {
            let scored = |(&score, label): (&f64, u32)| Scored { label, score };
            let ranked: Vec<Scored> =
                row.iter().zip(0..).map(scored).filter(|s| s.score != f64::NEG_INFINITY).collect();
            self.model.probabilities(&ranked, &mut probabilities);
            row.iter_mut().zip(&probabilities).for_each(|(cell, p)| *cell = *p);
        }
        Some(out.into_pyarray(py))
    }

    /// Answers to texts as JSON lines: what `tamis classify` prints and the server answers. `best` gives so many labels whatever
    /// the thresholds say, `ranked` so many with their scores, `why` is how many words and neighbours to say why with.
    #[allow(clippy::too_many_arguments)]
    fn answers(
        &self,
        py: Python<'_>,
        texts: GivenTexts,
        ids: Option<Vec<String>>,
        best: Option<usize>,
        ranked: usize,
        why: Option<usize>,
        label: Option<&str>,
        spans: bool,
        how: Work,
    ) -> PyResult<Vec<String>> {
        let model = &self.model;
        let texts = Texts::from(texts);
        if let Some(ids) = ids.as_ref().filter(|ids| ids.len() != texts.len()) {
            return Err(to_py(Error::invalid("ids", ids.len(), format!("there are {} documents", texts.len()))));
        }
        let label = label.map(|name| model.find_label(name)).transpose().map_err(to_py)?;
        let reasons = why.map(|top| WhyAsked { label, top, spans });
        let asked = How { best, ranked, reasons };
        let source = HeldTexts::of(&LabelledTexts::unlabelled(texts));
        run(py, how, |_| {
            let mut lines = Vec::new();
            for answer in model.label(source, &asked) {
                let mut answer = answer?;
                answer.id = ids.as_ref().map(|ids| ids[lines.len()].as_str().into());
                let line = serde_json::to_string(&answer);
                lines.push(line.map_err(|e| Error::data(format!("an answer cannot be written as JSON: {e}")))?);
            }
            Ok(lines)
        })
    }

    /// Judges the model on labelled texts; as JSON what `tamis evaluate --format json` prints.
    fn evaluate(
        &self,
        py: Python<'_>,
        texts: GivenTexts,
        labels: Sets<'_>,
        names: Vec<String>,
        measures: Vec<String>,
        taxonomy: Option<&str>,
        per_label: bool,
        intervals: Option<u64>,
        how: Work,
    ) -> PyResult<String> {
        let measures = measures.iter().map(|name| name.parse()).collect::<Result<Vec<Measure>>>().map_err(to_py)?;
        let taxonomy = taxonomy.map(options::<GivenTaxonomy>).transpose()?;
        let asked = EvaluateOptions { measures, all_parts: true, taxonomy };
        let source = HeldTexts::of(&labelled(texts, &labels, &names)?);
        let resampling = intervals.map(|seed| Resampling { seed, ..Resampling::default() });
        let model = &self.model;
        let report =
            run(py, how, |progress| model.evaluate(source, &asked, progress)?.report(per_label, resampling.as_ref()))?;
        errors::json(&report)
    }

    /// The words with the largest weights for a label.
    fn top_words(&self, label: &str, top: usize) -> PyResult<Vec<(String, f64)>> {
        let model = &self.model;
        let label = model.find_label(label).map_err(to_py)?;
        let words = model.label_words(&[label], top).map_err(to_py)?;
        let largest = words.into_iter().flat_map(|words| words.largest(top));
        Ok(largest.map(|(f, weight)| (model.word(f).to_owned(), weight)).collect())
    }

    /// Labels, in byte order.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.model.labels.iter().map(str::to_owned).collect()
    }

    /// Features, best first.
    #[getter]
    fn features(&self) -> Vec<String> {
        self.model.words().into_iter().map(str::to_owned).collect()
    }

    /// The fields that the model reads; none where it reads nothing but the text.
    #[getter]
    fn fields(&self) -> Option<Vec<String>> {
        named_fields(&self.model.text)
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
            "progressive": matches!(model.ranker, Ranker::Along(_)),
            "hierarchy": match &model.ranker {
                Ranker::Along(filter) => Some(filter.options()),
                Ranker::Flat(_) => None,
            },
            "goal": model.worth.as_ref().map(|worth| worth.goal.to_string()),
            "taxonomy": model.taxonomy.as_ref().map(Taxonomy::records),
            "target": model.target,
            "calibration": model.calibration.as_ref().map(|c| c.method().to_string()),
        }))
    }

    /// Passes of each problem of an SVM that was just fitted; a model that was read does not know.
    #[getter]
    fn passes(&self) -> Vec<usize> {
        self.passes.clone()
    }

    /// The labels of the outputs of a linear model that was fitted to a matrix, its weights (outputs × columns) and its biases;
    /// nothing for neighbours and pairs of labels.
    fn coefficients<'py>(
        &self,
        py: Python<'py>,
    ) -> Option<(Vec<u32>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>)> {
        let Ranker::Flat(Fitted::Linear(linear)) = &self.model.ranker else { return None };
        let parts = linear.parts();
        let labels = match &parts.outputs {
            Outputs::Votes { .. } => return None,
            outputs => outputs.labels().to_vec(),
        };
        let columns = self.model.terms.iter().map(|name| name.parse::<usize>().ok()).collect::<Option<Vec<_>>>()?;
        let width = columns.iter().max().map_or(0, |last| last + 1);
        let mut weights = Array2::<f64>::zeros((labels.len(), width));
        for (&column, &feature) in columns.iter().zip(&self.model.feature_of) {
            let common = parts.common.get(feature as usize).copied().unwrap_or(0.0);
            for output in 0..labels.len() {
                weights[[output, column]] = common + parts.every.get(output).copied().unwrap_or(0.0);
            }
            parts.weights.row(feature as usize).for_each(|(output, weight)| weights[[output, column]] += weight);
        }
        Some((labels, weights.into_pyarray(py), parts.bias.clone().into_pyarray(py)))
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
        Ok(Self { model: Model::read(&path).map_err(to_py)?, passes: Vec::new() })
    }

    /// The model file as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.model.to_bytes().map_err(to_py)?))
    }

    /// From the bytes of a model file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { model: Model::from_bytes(bytes).map_err(to_py)?, passes: Vec::new() })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }
}

fn passes(solutions: &[Solution]) -> Vec<usize> {
    solutions.iter().map(|solution| solution.iterations).collect()
}

#[derive(Default)]
struct Buffers {
    row: Vec<(u32, u32)>,
    features: Vec<u32>,
    counts: Vec<u32>,
    memory: Memory,
    ranked: Vec<Scored>,
    decided: Vec<u32>,
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyModel>()
}
