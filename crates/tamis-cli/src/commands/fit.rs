//! `tamis fit`: corpus → model.

use std::path::PathBuf;

use anyhow::bail;
use tamis::classify::{ClassifierSpec, Fitted};
use tamis::counts::Counts;
use tamis::features::search::Budget;
use tamis::features::{Selector, Size};
use tamis::hierarchy::pipeline;
use tamis::hierarchy::pipeline::Method;
use tamis::hierarchy::progressive::Answers;
use tamis::hierarchy::{ProgressiveOptions, Taxonomy};
use tamis::model::{FitOptions, Model, fit, fit_taxonomy};
use tamis::terms::TextOptions;
use tamis::threshold::{CalibrationMethod, Threshold};

use super::hierarchy::HierarchyArgs;
use crate::corpus_args::{CorpusArgs, TextArgs, labelled_counts};
use crate::global::Global;
use crate::output::{Rows, grouped, stdout, trimmed};
use std::io::Write;

/// Train a model. What is not said is chosen by cross-validation on the training documents, and explained.
///
/// Where the corpus gives a split, only its training documents are used.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    corpus: CorpusArgs,
    #[command(flatten)]
    text: TextArgs,
    /// Model file to write.
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,
    /// Selector expression (`tamis list selectors`); chosen when not given.
    #[arg(long, value_name = "EXPR", value_parser = str::parse::<Selector>)]
    by: Option<Selector>,
    /// Number of features, all, or auto.
    #[arg(long, value_name = "N|all|auto", default_value_t, value_parser = str::parse::<Size>)]
    features: Size,
    /// Classifier, such as svm, bayes, knn(100) (`tamis list classifiers`); chosen when not given.
    #[arg(long, value_name = "NAME", value_parser = str::parse::<ClassifierSpec>)]
    classifier: Option<ClassifierSpec>,
    /// How labels are decided, such as rcut(1), scut, pcut, fixed(0), none (`tamis list thresholds`); along a taxonomy by
    /// tsa, rbf, exact or greedy-exact.
    #[arg(long, value_name = "NAME", value_parser = deciding)]
    threshold: Option<Deciding>,
    #[command(flatten)]
    hierarchy: HierarchyArgs,
    /// Learn probabilities from held-out scores: platt or isotonic.
    #[arg(long, value_name = "METHOD", value_parser = str::parse::<CalibrationMethod>)]
    calibrate: Option<CalibrationMethod>,
    /// Folds of the cross-validation that tunes thresholds and measures quality; 0 for none. 5 when not given, 3 along
    /// a taxonomy.
    #[arg(long, value_name = "N")]
    folds: Option<usize>,
    /// Most seconds of a subset search.
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
    /// Store linear weights in 8 bits; what that loses is measured and printed.
    #[arg(long)]
    quantise: bool,
}

/// Thresholds for labels one by one, or along the pipelines of a taxonomy.
#[derive(Debug, Clone)]
enum Deciding {
    Flat(Threshold),
    Along(Method),
}

fn deciding(text: &str) -> tamis::Result<Deciding> {
    match text.parse() {
        Ok(method) => Ok(Deciding::Along(method)),
        Err(_) => text.parse().map(Deciding::Flat),
    }
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let counting = args.text.options(args.corpus.read.on_error)?;
    let source = args.corpus.open(global)?;
    let counts = labelled_counts(&source, &counting, global)?;
    let rows = counts.training();
    if rows.is_empty() {
        bail!("the corpus gives a split, and no document is in its train part");
    }
    let taxonomy = args.hierarchy.taxonomy(&counts)?;
    let threshold = match (&args.threshold, &taxonomy) {
        (Some(Deciding::Flat(threshold)), _) => Some(*threshold),
        (Some(Deciding::Along(method)), None) => {
            bail!("{method} sets thresholds along a taxonomy: give one with --taxonomy FILE, or --taxonomy names")
        }
        (None, None) => None,
        (_, Some(taxonomy)) => return along(&args, &counting.text, &counts, &rows, taxonomy, global),
    };
    let options = FitOptions {
        selector: args.by,
        size: args.features,
        classifier: args.classifier,
        threshold,
        calibration: args.calibrate,
        folds: args.folds.unwrap_or(FitOptions::default().folds),
        budget: Budget { seconds: args.seconds, steps: None },
        seed: global.seed,
    };
    let trained = fit(&counts, &rows, &counting.text, taxonomy, &options, &global.progress())?;
    let mut model = trained.model;
    let mut loss = None;
    if args.quantise {
        let (small, agreement) = quantise(&model, &counts, &rows)?;
        model = small;
        loss = Some(agreement);
    }
    model.write(&args.output)?;
    if global.quiet {
        return Ok(());
    }
    let summary = &model.summary;
    let mut facts = Rows::new(["what", "value"]);
    let mut fact = |what: &str, value: String| facts.push([what.to_owned(), value]);
    fact("training documents", grouped(summary.documents));
    fact("labels", grouped(model.labels.len() as u64));
    fact("features", format!("{} of {}", grouped(model.terms.len() as u64), grouped(summary.vocabulary as u64)));
    fact("selector", summary.selector.clone());
    fact("classifier", summary.classifier.to_string());
    fact("threshold", model.deciding());
    for (measure, value) in &summary.quality {
        fact(&format!("{measure}, {}-fold cross-validation", summary.folds), format!("{value:.4}"));
    }
    if let Some(report) = &trained.thresholds {
        fact("F1@micro where thresholds were tuned", format!("{:.4}", report.f_micro));
        if report.f_macro > 0.0 {
            fact("F1@macro where thresholds were tuned", format!("{:.4}", report.f_macro));
        }
        let silent = report.without_positives.len() + report.untunable.len() + report.unreachable.len();
        if silent > 0 {
            fact("labels that cannot be assigned", format!("{silent} (too few training documents)"));
        }
    }
    if let Some(agreement) = loss {
        fact("first label unchanged by 8 bits", format!("{:.2}% of training documents", 100.0 * agreement));
    }
    fact("model file", format!("{} bytes", grouped(std::fs::metadata(&args.output).map_or(0, |m| m.len()))));
    let mut out = stdout();
    writeln!(out, "{}", trimmed(&facts.table(global)))?;
    if !summary.choices.is_empty() {
        writeln!(out, "\nWhy")?;
        for reason in &summary.choices {
            writeln!(out, "  {reason}")?;
        }
    }
    if global.verbose > 0 && !trained.trials.is_empty() {
        let mut rows = Rows::new(["classifier", "selector", "features", "RPrec", "±"]);
        for t in &trained.trials {
            let size = if t.all { format!("{} (all)", t.size) } else { t.size.to_string() };
            rows.push([
                t.classifier.to_string(),
                t.selector.clone(),
                size,
                format!("{:.4}", t.mean),
                format!("{:.4}", t.error),
            ]);
        }
        writeln!(out, "\nCandidates\n{}", trimmed(&rows.table(global)))?;
    }
    out.flush()?;
    Ok(())
}

/// Trains a classifier for each node of a taxonomy, and thresholds along its pipelines.
fn along(
    args: &Args,
    text: &TextOptions,
    counts: &Counts,
    rows: &[usize],
    taxonomy: &Taxonomy,
    global: &Global,
) -> anyhow::Result<()> {
    if args.quantise || args.calibrate.is_some() {
        bail!(
            "--quantise and --calibrate are for models without a taxonomy; add a --threshold such as rcut(1) for one"
        );
    }
    let default = ProgressiveOptions::default();
    let h = &args.hierarchy;
    if args.by.is_some() && args.features == Size::All {
        bail!("with --features all every node takes all its words and --by has nothing to select; give a number");
    }
    let options = ProgressiveOptions {
        classifier: args.classifier.clone().unwrap_or(default.classifier),
        selector: args.by.clone().unwrap_or(default.selector),
        features: match args.features {
            Size::Auto if args.by.is_some() => ProgressiveOptions::paper().features,
            Size::Auto => default.features,
            Size::All => None,
            Size::Top(n) => Some(n),
        },
        negatives: h.negatives,
        per_node: h.per_node,
        method: match &args.threshold {
            Some(Deciding::Along(method)) => *method,
            _ => default.method,
        },
        thresholds: pipeline::Options { utility: h.utility, step: h.step, ..default.thresholds },
        least_utility: h.least_utility.unwrap_or(default.least_utility),
        imbalance: h.imbalance,
        folds: args.folds.unwrap_or(default.folds),
        answers: h.answers.unwrap_or_else(|| Answers::of_documents(counts, rows, args.threshold.is_some())),
        seed: global.seed,
    };
    let begin = std::time::Instant::now();
    let trained = fit_taxonomy(counts, rows, text, taxonomy, &options, &global.progress())?;
    tracing::info!("trained in {:.1} s", begin.elapsed().as_secs_f64());
    let model = &trained.model;
    model.write(&args.output)?;
    if global.quiet {
        return Ok(());
    }
    let summary = &model.summary;
    let mut facts = Rows::new(["what", "value"]);
    let mut fact = |what: &str, value: String| facts.push([what.to_owned(), value]);
    fact("training documents", grouped(summary.documents));
    fact("nodes", format!("{} in {} levels", grouped(taxonomy.len() as u64), taxonomy.height()));
    fact("features", format!("{} of {}", grouped(model.terms.len() as u64), grouped(summary.vocabulary as u64)));
    let words = options.features.map_or("all words".to_owned(), |n| format!("{} words of {}", n, summary.selector));
    fact("features at each node", words);
    fact("classifier at each node", summary.classifier.to_string());
    fact("threshold", model.deciding());
    for (measure, value) in &summary.quality {
        fact(&format!("{measure}, {}-fold cross-validation", summary.folds), format!("{value:.4}"));
    }
    fact("model file", format!("{} bytes", grouped(std::fs::metadata(&args.output).map_or(0, |m| m.len()))));
    let mut out = stdout();
    writeln!(out, "{}", trimmed(&facts.table(global)))?;
    if !summary.choices.is_empty() {
        writeln!(out, "\nWhy")?;
        for reason in &summary.choices {
            writeln!(out, "  {reason}")?;
        }
    }
    out.flush()?;
    Ok(())
}

/// The model with 8-bit weights, and how often its first label is the same.
fn quantise(model: &Model, counts: &tamis::counts::Counts, rows: &[usize]) -> anyhow::Result<(Model, f64)> {
    let Fitted::Linear(linear) = &model.classifier else {
        bail!("--quantise is for linear models (svm, bayes), and this is {}", model.summary.classifier);
    };
    let mut small = model.clone();
    small.classifier = Fitted::Linear(linear.quantised()?);
    let terms: Vec<u32> = model.features().iter().filter_map(|t| counts.vocabulary.id(t)).collect();
    let problem = tamis::classify::Problem::new(counts, rows, &terms);
    let first = |model: &Model| {
        tamis::classify::rank_all(&model.classifier, &problem, |_, ranked, _| ranked.first().map(|s| s.label))
    };
    let same = first(model).iter().zip(first(&small)).filter(|(a, b)| **a == *b).count();
    Ok((small, same as f64 / rows.len() as f64))
}
