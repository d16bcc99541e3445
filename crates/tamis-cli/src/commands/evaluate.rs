//! `tamis evaluate`: model × labelled documents → honest numbers.

use std::io::Write;
use std::path::PathBuf;

use tamis::measure::{Measure, Resampling};
use tamis::model::{DecidedWell, EvaluateOptions, LabelForm, LabelQuality, Model, Quality, QualityReport};
use tamis::report::Page;

use super::hierarchy::{Parent, taxonomy};
use crate::corpus_args::{ReadArgs, keep_apart, open};
use crate::global::Global;
use crate::output::{Format, Rows, flags, grouped, print_json, stdout, trimmed};

/// Measure a model on labelled documents: the test part where the corpus gives a split, all documents otherwise.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Model file.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Labelled documents.
    #[arg(value_name = "CORPUS", required = true)]
    corpus: Vec<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
    /// Measures, separated by commas (`tamis list measures`).
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = str::parse::<Measure>)]
    measures: Vec<Measure>,
    /// Taxonomy file, or `names`, for hierarchical measures of any model; the model's own when not given.
    #[arg(long, value_name = "FILE|names")]
    taxonomy: Option<PathBuf>,
    /// What to do with a node of the taxonomy that has several parents.
    #[arg(long, value_enum, default_value_t, requires = "taxonomy")]
    parent: Parent,
    /// Also show each label.
    #[arg(long)]
    per_label: bool,
    /// Add bootstrap confidence intervals (95 %).
    #[arg(long)]
    intervals: bool,
    /// Use all documents, whatever split the corpus gives.
    #[arg(long)]
    all_parts: bool,
    /// Write a page about it too, with plots: labels, thresholds, reliability, risk against coverage.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let model = Model::read(&args.model)?;
    let taxonomy = args.taxonomy.as_ref().map(|path| taxonomy(path, args.parent)).transpose()?;
    let options = EvaluateOptions { measures: args.measures, all_parts: args.all_parts, taxonomy };
    let quality = judge(&model, &args.corpus, &args.read, &options, global)?;
    let resampling = Resampling { seed: global.seed(), ..Resampling::default() };
    if let Some(path) = &args.report {
        keep_apart(&args.corpus.iter().chain([&args.model]).map(PathBuf::as_path).collect::<Vec<_>>(), &[path])?;
        let lead = format!("{} documents that it was asked about.", grouped(quality.evaluation.documents()));
        Page::new(&args.model.display().to_string(), &lead)
            .model(&model, &quality)?
            .taxonomy(&model, &quality)?
            .save(path)?;
    }
    let report = quality.report(args.per_label, args.intervals.then_some(&resampling))?;
    if !report.never_decided.is_empty() {
        let names: Vec<&str> = report.never_decided.iter().take(5).map(String::as_str).collect();
        let more = if report.never_decided.len() > names.len() { ", …" } else { "" };
        let (n, names) = (report.never_decided.len(), names.join(", "));
        tracing::warn!("{n} labels of these documents were given to none of them: {names}{more}");
    }
    if report.zero_divisions > 0 {
        tracing::info!("0/0 was taken as 0 {} times", report.zero_divisions);
    }
    match args.format {
        Format::Json => print_json(&report),
        Format::Tsv => {
            let rows = report.labels.as_ref().map_or_else(|| measures(&report), |labels| by_label(labels));
            let mut out = stdout();
            rows.write_tsv(&mut out)?;
            Ok(out.flush()?)
        }
        Format::Table => print(&report, global),
    }
}

/// Reads the documents and judges the model, with warnings about what was odd.
pub(super) fn judge(
    model: &Model,
    corpus: &[PathBuf],
    read: &ReadArgs,
    options: &EvaluateOptions,
    global: &Global,
) -> anyhow::Result<Quality> {
    let corpus = open(corpus, read, global)?;
    let quality = model.evaluate(corpus.batches_for(&model.text)?, options, &global.progress())?;
    if quality.evaluation.documents_without_truth() == quality.evaluation.documents() {
        return Err(corpus.no_labels().into());
    }
    if quality.skipped.count > 0 {
        tracing::warn!("{}", flags(&quality.skipped.to_string()));
    }
    if !quality.unseen.is_empty() {
        let names: Vec<&str> = quality.unseen.iter().take(5).map(|(name, _)| name.as_str()).collect();
        tracing::warn!(
            "{} labels of the corpus are unknown to the model and count as missed ({} times): {}{}",
            quality.unseen.len(),
            quality.unseen.iter().map(|(_, times)| times).sum::<u64>(),
            names.join(", "),
            if quality.unseen.len() > 5 { ", …" } else { "" }
        );
    }
    // A few repeated documents are in every corpus.
    if let Some(share) = quality.trained_on.filter(|&share| share > 0.05) {
        tracing::warn!(
            "about {:.0} % of these documents were trained on: new documents will be labelled less well than these \
             (`tamis split` keeps some apart)",
            100.0 * share
        );
    }
    if quality.without_known_word > 0 {
        tracing::warn!("{} documents have no word that the model knows", quality.without_known_word);
    }
    Ok(quality)
}

fn measures(report: &QualityReport) -> Rows {
    let mut header = vec!["measure", "value"];
    header.extend(report.intervals.as_ref().map(|_| "95 %"));
    let mut rows = Rows::new(header);
    let mut push = |name: &str, value: String, interval: Option<[f64; 2]>| {
        let mut row = vec![name.to_owned(), value];
        if report.intervals.is_some() {
            row.push(interval.map_or(String::new(), |[low, high]| format!("{low:.4} to {high:.4}")));
        }
        rows.push(row);
    };
    push("documents", grouped(report.documents), None);
    if let Some(labelled) = report.labelled {
        push("documents with a label", grouped(labelled), None);
    }
    for (name, value) in report.measures.iter().filter_map(|(name, value)| Some((name, (*value)?))) {
        let interval = report.intervals.as_ref().and_then(|all| all.iter().find(|i| i.0 == *name));
        push(name, format!("{value:.4}"), interval.map(|i| i.1));
    }
    if let Some(baseline) = &report.baseline {
        push(&format!("P@1 of always {}", baseline.label), format!("{:.4}", baseline.share), None);
    }
    rows
}

fn tallies(what: &str, lines: impl Iterator<Item = (String, DecidedWell)>) -> Rows {
    let mut rows = Rows::new([what, "support", "decided", "precision", "recall", "F1"]);
    for (name, well) in lines {
        let [precision, recall, f1] = [well.precision, well.recall, well.f1].map(|share| format!("{share:.4}"));
        rows.push([name, well.support.to_string(), well.decided.to_string(), precision, recall, f1]);
    }
    rows
}

fn by_label(labels: &[LabelQuality]) -> Rows {
    tallies("label", labels.iter().map(|l| (l.label.clone(), l.decided)))
}

fn print(report: &QualityReport, global: &Global) -> anyhow::Result<()> {
    let mut out = stdout();
    writeln!(out, "{}", trimmed(&measures(report).table(global)))?;
    if let Some(labelled) = report.labelled {
        writeln!(
            out,
            "\nMeasures of rankings (RPrec, MAP, P@k, OneError, …) are over the {} documents with a label.",
            grouped(labelled)
        )?;
    }
    if report.only_ranks {
        writeln!(out, "\nThe model only ranks (its threshold is none): there are no decisions to judge.")?;
    }
    if let Some(form) = report.label_form {
        let form = match form {
            LabelForm::MostSpecific => "only their most specific labels",
            LabelForm::WithAncestors => "their labels and all ancestors of these",
            LabelForm::Mixed => "their labels and some ancestors of these, or all of them in some documents only",
        };
        writeln!(out, "\nThe documents came with {form}.")?;
    }
    if let Some(levels) = &report.levels {
        let table = tallies("level", levels.iter().map(|l| (l.level.to_string(), l.decided))).table(global);
        writeln!(out, "\nNodes by level of the taxonomy, ancestors included\n{}", trimmed(&table))?;
    }
    if let Some(labels) = &report.labels {
        writeln!(out, "\n{}", trimmed(&by_label(labels).table(global)))?;
    }
    Ok(out.flush()?)
}
