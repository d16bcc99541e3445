//! What a study is given to run on: a corpus and a taxonomy, or the plan's own.

use std::path::PathBuf;

use super::folder::CorpusNote;
use super::plan::Plan;
use super::run::Material;
use crate::corpus::{ReadOptions, open};
use crate::counts::{CountOptions, CountReport, Counts, count};
use crate::hierarchy::{GivenTaxonomy, Taxonomy};
use crate::{Error, Progress, Result};

/// The corpus of a study: counted, reduced to what the plan keeps, with the taxonomy that the plan needs.
#[derive(Debug)]
pub struct StudyCorpus {
    /// What the user called it.
    pub source: String,
    /// The documents that take part.
    pub counts: Counts,
    /// The taxonomy of their labels, for plans that need one.
    pub taxonomy: Option<Taxonomy>,
    /// What the user called the taxonomy.
    taxonomy_name: Option<String>,
    /// What counting passed over.
    pub report: CountReport,
}

impl StudyCorpus {
    /// Reads the corpus in `paths`, or the plan's own when there are none; nothing for a plan that needs no corpus.
    pub fn open(
        plan: &Plan,
        paths: &[PathBuf],
        taxonomy: Option<&GivenTaxonomy>,
        reading: &ReadOptions,
        progress: &dyn Progress,
    ) -> Result<Option<Self>> {
        check(plan, taxonomy)?;
        if !plan.needs_corpus() {
            return Ok(None);
        }
        let own: Vec<PathBuf> = plan.corpus.default.iter().map(PathBuf::from).collect();
        let paths = if paths.is_empty() { &own } else { paths };
        if paths.is_empty() {
            return Err(Error::data(format!(
                "{}: the plan names no corpus: give one with the option `corpus`",
                plan.name
            )));
        }
        let corpus = open(paths, reading)?;
        let built_in = match corpus.built_in() {
            Some(options) if taxonomy.is_none() => Some(GivenTaxonomy::Tree(Taxonomy::built_in(options.shape)?)),
            _ => None,
        };
        let taxonomy = taxonomy.or(built_in.as_ref());
        needed(plan, taxonomy)?;
        let options = CountOptions { text: plan.corpus.text.options()?, ..CountOptions::default() };
        let (counts, report) = count(corpus.batches_for(&options.text)?, &options, progress)?;
        if counts.is_empty() {
            return Err(corpus.no_documents(&report.skipped));
        }
        if counts.labels.is_empty() {
            return Err(corpus.no_labels());
        }
        let names: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
        Ok(Some(Self { report, ..Self::of(plan, names.join(" "), counts, taxonomy, reading.seed)? }))
    }

    /// Takes documents that were counted already, with the plan's text options.
    pub fn of(
        plan: &Plan,
        source: String,
        counts: Counts,
        taxonomy: Option<&GivenTaxonomy>,
        seed: u64,
    ) -> Result<Self> {
        if counts.labels.is_empty() {
            return Err(Error::data("no document of the corpus has a label, and a study needs them"));
        }
        needed(plan, taxonomy)?;
        let counts = plan.corpus.keep.apply(counts, seed)?;
        let given = taxonomy.filter(|_| plan.needs_taxonomy());
        let taxonomy = given.map(|given| given.of(&counts.labels)).transpose()?;
        let taxonomy_name = given.and_then(GivenTaxonomy::name);
        Ok(Self { source, counts, taxonomy, taxonomy_name, report: CountReport::default() })
    }

    /// What the study's folder remembers of it.
    pub fn note(&self) -> CorpusNote {
        let note = CorpusNote::of(&self.source, &self.counts, self.taxonomy.as_ref());
        CorpusNote { taxonomy: self.taxonomy_name.clone(), ..note }
    }

    /// What the study runs on.
    pub fn material(&self) -> Material<'_> {
        Material { counts: Some(&self.counts), taxonomy: self.taxonomy.as_ref() }
    }
}

/// A taxonomy that is not used is an error.
fn check(plan: &Plan, taxonomy: Option<&GivenTaxonomy>) -> Result<()> {
    match taxonomy {
        Some(_) if !plan.needs_taxonomy() => {
            Err(Error::data(format!("study {} uses no taxonomy: leave the option `taxonomy` out", plan.name)))
        }
        _ => Ok(()),
    }
}

fn needed(plan: &Plan, taxonomy: Option<&GivenTaxonomy>) -> Result<()> {
    if plan.needs_taxonomy() && taxonomy.is_none() {
        let reason = "a study along pipelines needs the taxonomy of the labels: the option `taxonomy=FILE`, \
                      or the option `taxonomy=names`";
        return Err(Error::data(reason));
    }
    Ok(())
}
