//! `tamis classify … -o FOLDER/`: shards in, the same shards with columns added out.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::bail;
use tamis::bulk::{Added, BulkOptions, Keep, label_shards};
use tamis::corpus::ReadOptions;
use tamis::model::Model;

use crate::corpus_args::reading_for;
use crate::global::Global;
use crate::output::{flags, grouped};

/// How shards are labelled.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Shards (-o FOLDER/)")]
pub(crate) struct ShardArgs {
    /// Add the score of this label and nothing else: the column tamis_score.
    #[arg(long, value_name = "LABEL", conflicts_with_all = ["top", "scores"])]
    only_score: Option<String>,
    /// With --only-score, also add its probability: the column tamis_probability.
    #[arg(long, requires = "only_score")]
    probability: bool,
    /// Keep only rows where this holds, such as 'score > 0.7', 'score(spam) < 0' or 'probability(spam) <= 0.2'.
    #[arg(long, value_name = "CONDITION", value_parser = str::parse::<Keep>)]
    keep: Option<Keep>,
    /// Threads that label; one for each core when not given, or as --threads says. What is written does not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,
    /// What the names of added columns begin with; tamis_ when not given.
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
}

impl ShardArgs {
    /// The columns that are asked for.
    pub(crate) fn added(&self, top: Option<usize>, scores: bool) -> anyhow::Result<Added> {
        if top == Some(0) {
            bail!("--top 0: there must be at least one label");
        }
        Ok(match &self.only_score {
            Some(label) => Added::Score { label: label.clone(), probability: self.probability },
            None => Added::Labels { best: top, ranked: scores.then(|| top.unwrap_or(usize::MAX)) },
        })
    }

    /// Nothing here is for a single file.
    pub(crate) fn refuse(&self) -> anyhow::Result<()> {
        let given = [
            ("--only-score", self.only_score.is_some()),
            ("--keep", self.keep.is_some()),
            ("--workers", self.workers.is_some()),
            ("--prefix", self.prefix.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((flag, _)) => {
                bail!("{flag} is for shards, which are written to a folder; name one, as in -o labelled/")
            }
            None => Ok(()),
        }
    }
}

/// Some shards could not be labelled.
#[derive(Debug)]
pub(crate) struct Incomplete {
    broken: usize,
    all: usize,
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { broken, all } = self;
        write!(
            f,
            "{broken} of {all} shards could not be labelled and are named above; the others are done. Mend them and run the same command again"
        )
    }
}

impl std::error::Error for Incomplete {}

/// Whether an output is a folder.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().to_string_lossy().ends_with(std::path::is_separator)
}

/// Broken shards that are named.
const NAMED: usize = 50;

pub(crate) fn run(
    model_file: &Path,
    inputs: &[PathBuf],
    folder: &Path,
    args: ShardArgs,
    added: Added,
    read: ReadOptions,
    global: &Global,
) -> anyhow::Result<()> {
    if inputs.iter().any(|input| input.as_os_str() == "-") {
        bail!("shards are files; name them, or give -o a file to write what comes from standard input");
    }
    let model = Model::read(model_file)?;
    let read = reading_for(&model, inputs, read)?;
    let usual = BulkOptions::default();
    let options = BulkOptions {
        added,
        prefix: args.prefix.unwrap_or(usual.prefix),
        keep: args.keep,
        workers: args.workers.map_or(global.threads, usize::from),
        read,
    };
    let report = label_shards(&model, model_file, inputs, folder, &options, &global.progress())?;
    for error in report.broken.iter().take(NAMED) {
        tracing::error!("{}", flags(&error.to_string()));
    }
    if let Some(more) = report.broken.len().checked_sub(NAMED).filter(|more| *more > 0) {
        tracing::error!("… and {more} more");
    }
    if report.skipped.count > 0 {
        tracing::warn!("{}", flags(&report.skipped.to_string()));
    }
    if report.without_text > 0 {
        tracing::warn!("{} rows have no text; what is added to them is null", grouped(report.without_text));
    }
    let with_text = report.rows - report.without_text;
    if report.unknown > 0 && report.unknown * 2 >= with_text {
        tracing::warn!(
            "{} of {} documents have no word that the model knows; is it the right model, and is their text where it is \
             looked for?",
            grouped(report.unknown),
            grouped(with_text)
        );
    }
    if report.broken.is_empty() {
        tracing::info!(
            "{} shards labelled, {} were there already; {} rows, {} kept",
            report.labelled,
            report.already,
            grouped(report.rows),
            grouped(report.kept)
        );
        return Ok(());
    }
    Err(Incomplete { broken: report.broken.len(), all: report.broken.len() + report.labelled + report.already }.into())
}
