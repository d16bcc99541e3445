//! Studies: whole, or unit by unit on a cluster.

use std::path::PathBuf;

use pyo3::prelude::*;
use tamis::counts::{CountOptions, count};
use tamis::hierarchy::{GivenTaxonomy, ParentPolicy, Taxonomy};
use tamis::study::{
    BUILT_IN, BuiltIn, Folder, Material, Plan, Record, Row, StudyCorpus, extent, run as run_plan, run_unit,
};
use tamis::{Error, Progress, Result};

use crate::arrays::Sets;
use crate::corpus::ReadArguments;
use crate::errors::{options, to_py};
use crate::texts::{GivenTexts, HeldTexts, labelled};
use crate::work::{How, run};

/// A plan on its corpus.
#[pyclass(frozen, module = "tamis._core", name = "Study")]
struct PyStudy {
    plan: Plan,
    text: String,
    seed: u64,
    corpus: Option<StudyCorpus>,
}

/// Children and their parents.
type Pairs = Option<Vec<(String, Option<String>)>>;

/// A taxonomy as `taxonomy_pairs` of `python/tamis/hierarchy.py` writes it: no pairs mean the names of the labels.
fn given(pairs: Pairs) -> Result<Option<GivenTaxonomy>> {
    Ok(match pairs {
        None => None,
        Some(pairs) if pairs.is_empty() => Some(GivenTaxonomy::Names),
        Some(pairs) => Some(GivenTaxonomy::Tree(Taxonomy::from_pairs(pairs, ParentPolicy::Refuse)?)),
    })
}

fn plan_of(plan: &str, changes: &[String], seed: Option<u64>) -> Result<(Plan, String, u64)> {
    let (path, text) =
        if plan.contains('\n') { (PathBuf::from("plan"), plan.to_owned()) } else { BuiltIn::or_file(plan)? };
    let (plan, text) = Plan::parse_with(&text, &path, changes)?;
    let seed = seed.or(plan.seed).unwrap_or(1);
    Ok((plan, text, seed))
}

fn lines(rows: &[Row]) -> Result<String> {
    let line = |row: &Row| serde_json::to_string(row).map_err(|e| Error::data(e.to_string()));
    Ok(rows.iter().map(line).collect::<Result<Vec<_>>>()?.join("\n"))
}

impl PyStudy {
    fn material(&self) -> Material<'_> {
        self.corpus.as_ref().map_or(Material::default(), StudyCorpus::material)
    }
}

#[pymethods]
impl PyStudy {
    /// A plan (a name, a file, or TOML itself) on a corpus on disk; on the plan's own without one.
    #[staticmethod]
    fn on_corpus(
        py: Python<'_>,
        plan: &str,
        changes: Vec<String>,
        corpus: Vec<PathBuf>,
        reading: &str,
        taxonomy: Pairs,
        seed: Option<u64>,
        how: How,
    ) -> PyResult<Self> {
        let reading: ReadArguments = options(reading)?;
        run(py, how, |progress| {
            let (plan, text, seed) = plan_of(plan, &changes, seed)?;
            let taxonomy = given(taxonomy)?;
            let corpus = StudyCorpus::open(&plan, &corpus, taxonomy.as_ref(), &reading.options(seed)?, progress)?;
            Ok(Self { plan, text, seed, corpus })
        })
    }

    /// A plan on texts.
    #[staticmethod]
    fn on_texts(
        py: Python<'_>,
        plan: &str,
        changes: Vec<String>,
        texts: GivenTexts,
        labels: Sets<'_>,
        names: Vec<String>,
        taxonomy: Pairs,
        seed: Option<u64>,
        how: How,
    ) -> PyResult<Self> {
        let documents = labelled(texts, &labels, &names)?;
        let batches = HeldTexts::of(&documents);
        run(py, how, |progress: &dyn Progress| {
            let (plan, text, seed) = plan_of(plan, &changes, seed)?;
            let counting = CountOptions { text: plan.corpus.text.options()?, ..CountOptions::default() };
            let (counts, _) = count(batches, &counting, progress)?;
            let corpus = StudyCorpus::of(&plan, "texts".into(), counts, given(taxonomy)?.as_ref(), seed)?;
            Ok(Self { plan, text, seed, corpus: Some(corpus) })
        })
    }

    /// How many units of work there are.
    #[getter]
    fn units(&self) -> PyResult<usize> {
        Ok(extent(&self.plan, self.material(), self.seed).map_err(to_py)?.units)
    }

    /// Runs it; rows are lines of JSON. With a folder, rows are kept there and a study that was stopped goes on.
    fn run(&self, py: Python<'_>, folder: Option<PathBuf>, how: How) -> PyResult<String> {
        let Self { plan, text, seed, corpus } = self;
        let material = self.material();
        run(py, how, |progress| {
            let Some(folder) = folder else {
                let mut rows: Vec<Row> = Vec::new();
                run_plan(plan, material, *seed, &mut rows, progress)?;
                return lines(&rows);
            };
            let note = corpus.as_ref().map(StudyCorpus::note);
            let mut sink = Folder::resume(&folder, plan, text, *seed, note)?;
            run_plan(plan, material, *seed, &mut sink, progress)?;
            drop(sink);
            lines(&Record::read(&folder)?.rows)
        })
    }

    /// Runs one unit; rows are lines of JSON.
    fn run_unit(&self, py: Python<'_>, unit: usize, how: How) -> PyResult<String> {
        let corpus = self.corpus.as_ref().ok_or_else(|| Error::data("a simulation is one piece of work"));
        let counts = &corpus.map_err(to_py)?.counts;
        run(py, how, |progress| lines(&run_unit(&self.plan, counts, self.seed, unit, progress)?))
    }
}

/// Writes the report of a study's folder: page, figures and CSV.
#[pyfunction]
fn study_report(folder: PathBuf) -> PyResult<()> {
    let write = || -> Result<()> {
        let record = Record::read(&folder)?;
        let (page, _) = tamis::study::report(&record)?;
        let save = |path: PathBuf, text: &str| std::fs::write(&path, text).map_err(|e| Error::io(path, e));
        save(folder.join("report.html"), &page.finish())?;
        let figures = folder.join("figures");
        std::fs::create_dir_all(&figures).map_err(|e| Error::io(&figures, e))?;
        for (name, svg) in page.figures() {
            save(figures.join(format!("{name}.svg")), svg)?;
        }
        tamis::study::write_csv(&record.rows, folder.join("rows.csv"))
    };
    write().map_err(to_py)
}

/// Names of the built-in studies.
#[pyfunction]
fn studies() -> Vec<&'static str> {
    BUILT_IN.iter().map(|plan| plan.name).collect()
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyStudy>()?;
    m.add_function(wrap_pyfunction!(study_report, m)?)?;
    m.add_function(wrap_pyfunction!(studies, m)?)
}
