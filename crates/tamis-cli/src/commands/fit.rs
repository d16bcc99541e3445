//! `tamis fit`: corpus → model.

use std::io::Write;
use std::path::{Path, PathBuf};

use tamis::classify::ClassifierSpec;
use tamis::features::search::Budget;
use tamis::features::{Selector, Size};
use tamis::hierarchy::Taxonomy;
use tamis::model::{Deciding, Effort, FitOptions, Prefer, Ranker, SearchPlan, Trained, Unlabelled};
use tamis::report::{Frontier, Page};
use tamis::threshold::CalibrationMethod;

use super::hierarchy::HierarchyArgs;
use crate::corpus_args::{CorpusArgs, TextArgs, keep_apart, labelled_counts};
use crate::global::Global;
use crate::output::{Rows, flags, grouped, stdout, trimmed};

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
    #[arg(short, long, value_name = "MODEL", required_unless_present = "dry_run")]
    output: Option<PathBuf>,
    /// Say what would be tried and about how long that takes, and train nothing.
    #[arg(long)]
    dry_run: bool,
    /// Selector expression (`tamis list selectors`); chosen when not given.
    #[arg(long, value_name = "EXPR", value_parser = str::parse::<Selector>)]
    by: Option<Selector>,
    /// Number of features, all, or auto.
    #[arg(long, value_name = "N|all|auto", default_value = "auto", value_parser = size)]
    features: Wanted,
    /// Classifier, such as svm, bayes, knn(100) (`tamis list classifiers`); chosen when not given.
    #[arg(long, value_name = "NAME", value_parser = str::parse::<ClassifierSpec>)]
    classifier: Option<ClassifierSpec>,
    /// How much work choosing may be: quick, usual or thorough. Usual and thorough also try pairs of words, and
    /// characters where words are not parted by blanks, unless terms are given.
    #[arg(long, value_name = "quick|usual|thorough", default_value_t, value_parser = str::parse::<Effort>)]
    effort: Effort,
    /// Which number of features is taken: the best, or the smallest whose loss is within --loss.
    #[arg(long, value_name = "best|small", default_value_t, value_parser = str::parse::<Prefer>)]
    prefer: Prefer,
    /// R-precision that --prefer small may lose; 0.005 when not given.
    #[arg(long, value_name = "L")]
    loss: Option<f64>,
    /// What training documents without a label are: negative (of none of the labels) or ignore (left out). Must be said where all
    /// others have one label.
    #[arg(long, value_name = "negative|ignore", value_parser = str::parse::<Unlabelled>)]
    unlabelled: Option<Unlabelled>,
    /// How labels are decided, such as rcut(1), scut, pcut, fixed(0), none (`tamis list thresholds`); along a taxonomy by
    /// tsa, rbf, exact or greedy-exact.
    #[arg(long, value_name = "NAME", value_parser = str::parse::<Deciding>)]
    threshold: Option<Deciding>,
    #[command(flatten)]
    hierarchy: HierarchyArgs,
    /// How probabilities are learned from held-out scores: platt (when not given) or isotonic.
    #[arg(long, value_name = "METHOD", value_parser = str::parse::<CalibrationMethod>)]
    calibrate: Option<CalibrationMethod>,
    /// Folds of the cross-validation that tunes thresholds and measures quality; 0 for none. 5 when not given, 3 along
    /// a taxonomy.
    #[arg(long, value_name = "N")]
    folds: Option<usize>,
    /// Most seconds of a subset search.
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
    /// Write a page about the model too: what was chosen, and what fewer terms would cost, as a plot.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Store linear weights in 8 bits; what that loses is measured and printed.
    #[arg(long)]
    quantise: bool,
    /// Store no training documents. Otherwise the model keeps up to four of them to try it on, cut to 1,500 characters, and of
    /// neighbours how each begins.
    #[arg(long)]
    no_examples: bool,
}

/// A size; none where it is to be chosen. (clap would take an `Option` for an option that may be missing.)
#[derive(Debug, Clone, Copy)]
struct Wanted(Option<Size>);

fn size(text: &str) -> tamis::Result<Wanted> {
    Size::or_auto(text).map(Wanted)
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let outputs: Vec<&Path> =
        [args.output.as_ref(), args.report.as_ref()].into_iter().flatten().map(PathBuf::as_path).collect();
    keep_apart(&args.corpus.paths.iter().map(PathBuf::as_path).collect::<Vec<_>>(), &outputs)?;
    let mut options = FitOptions {
        by: args.by,
        features: args.features.0,
        classifier: args.classifier,
        effort: args.effort,
        prefer: args.prefer,
        loss: args.loss,
        unlabelled: args.unlabelled,
        threshold: args.threshold,
        calibrate: args.calibrate,
        folds: args.folds,
        budget: Budget { seconds: args.seconds, steps: None },
        quantise: args.quantise,
        taxonomy: args.hierarchy.taxonomy()?,
        hierarchy: args.hierarchy.options(),
        seed: global.seed(),
        ..FitOptions::default()
    };
    let corpus = args.corpus.open(global)?;
    let counting = args.text.counting_by(&corpus, FitOptions::LITTLE, |text, corpus| options.counting(text, corpus))?;
    let counts = labelled_counts(&corpus, counting, global)?;
    let Some(output) = args.output.filter(|_| !args.dry_run) else {
        return describe(options.plan(&counts, &counts.training())?.as_ref(), global);
    };
    let mut trained = options.fit(&counts, &counts.training(), &global.progress())?;
    if !args.no_examples {
        trained.model = trained.model.with_examples(&corpus)?;
    }
    trained.model.write(&output)?;
    let bytes = std::fs::metadata(&output).map_or(0, |m| m.len());
    if let Some(path) = &args.report {
        let lead = format!("Made by tamis {}: how, and how good a smaller one would be.", env!("CARGO_PKG_VERSION"));
        Page::new(&output.display().to_string(), &lead).fitted(&trained)?.save(path)?;
    }
    if global.quiet {
        return Ok(());
    }
    let mut facts = facts(&trained);
    facts.push(["model file".to_owned(), format!("{} bytes", grouped(bytes))]);
    let mut out = stdout();
    writeln!(out, "{}", trimmed(&facts.table(global)))?;
    let choices = &trained.model.summary.choices;
    if !choices.is_empty() {
        writeln!(out, "\nWhy")?;
        choices.iter().try_for_each(|reason| writeln!(out, "  {}", flags(reason)))?;
    }
    if !trained.trials.is_empty() {
        writeln!(out, "\nThe same model without looking for it, beside your other options\n  {}", again(&trained))?;
    }
    if let Some(line) = cheaper(&Frontier::of(&trained)?) {
        writeln!(out, "\n{line}")?;
    }
    if global.verbose > 0 && !trained.trials.is_empty() {
        writeln!(out, "\nCandidates\n{}", trimmed(&candidates(&trained).table(global)))?;
    }
    out.flush()?;
    Ok(())
}

/// What there is to say about a model that was just made.
fn facts(trained: &Trained) -> Rows {
    let model = &trained.model;
    let summary = &model.summary;
    let mut facts = Rows::new(["what", "value"]);
    let mut fact = |what: &str, value: String| facts.push([what.to_owned(), value]);
    fact("training documents", grouped(summary.documents));
    match (&model.ranker, &model.taxonomy) {
        (Ranker::Along(_), Some(taxonomy)) => fact("nodes", nodes(taxonomy)),
        _ => fact("labels", grouped(model.labels.len() as u64)),
    }
    if let Some(label) = model.majority() {
        let share = f64::from(summary.label_documents[label as usize]) / summary.documents as f64;
        fact("largest label", format!("{}, {:.1} % of documents", model.labels.name(label), 100.0 * share));
    }
    fact("features", format!("{} of {}", grouped(model.terms.len() as u64), grouped(summary.vocabulary as u64)));
    match &model.ranker {
        Ranker::Along(filter) => {
            let words = filter.options().features;
            let words = words.map_or("all words".to_owned(), |n| format!("{n} words of {}", summary.selector));
            fact("features at each node", words);
            fact("classifier at each node", summary.classifier.to_string());
        }
        Ranker::Flat(_) => {
            fact("terms", model.text.to_string());
            fact("selector", summary.selector.clone());
            fact("classifier", summary.classifier.to_string());
        }
    }
    fact("threshold", if model.only_ranks() { "none: it only ranks".to_owned() } else { model.deciding() });
    for (measure, value) in &summary.quality {
        fact(&format!("{measure}, {}", summary.measured_by()), format!("{value:.4}"));
    }
    if let Some(report) = &trained.thresholds {
        fact("F1@micro where thresholds were tuned", format!("{:.4}", report.f_micro));
        if report.f_macro > 0.0 {
            fact("F1@macro where thresholds were tuned", format!("{:.4}", report.f_macro));
        }
        if !report.distrusted.is_empty() {
            fact("labels that cannot be trusted so far", format!("{}: never given", report.distrusted.len()));
        }
        let silent = report.without_positives.len() + report.untunable.len() + report.unreachable.len();
        if silent > 0 {
            fact("labels that cannot be assigned", format!("{silent} (too few training documents)"));
        }
    }
    if let Some(unchanged) = trained.unchanged {
        fact("first label unchanged by 8 bits", format!("{:.2}% of training documents", 100.0 * unchanged));
    }
    facts
}

/// The options that lead to the model without a search.
fn again(trained: &Trained) -> String {
    let model = &trained.model;
    let Ranker::Flat(_) = &model.ranker else { return String::new() };
    let decided = match &model.worth {
        Some(worth) => format!("--goal {}", worth.goal),
        None => format!("--threshold '{}'", model.deciding()),
    };
    format!(
        "--terms '{}' --by '{}' --features {} --classifier '{}' {decided}",
        model.text,
        model.summary.selector,
        model.terms.len(),
        model.summary.classifier,
    )
}

/// What a search would try.
fn describe(plan: Option<&SearchPlan>, global: &Global) -> anyhow::Result<()> {
    let mut out = stdout();
    let Some(plan) = plan.filter(|plan| !plan.heats.is_empty()) else {
        writeln!(out, "Nothing would be tried: everything is said, or documents are too few to compare anything on.")?;
        return Ok(out.flush()?);
    };
    let mut rows = Rows::new(["heat", "documents", "folds", "candidates", "selectors", "sizes"]);
    for heat in &plan.heats {
        let numbers = [heat.documents, heat.folds, heat.candidates, heat.selectors, heat.sizes];
        let numbers = numbers.map(|n| grouped(n as u64));
        rows.push(std::iter::once(heat.stage.to_string()).chain(numbers));
    }
    writeln!(out, "{}", trimmed(&rows.table(global)))?;
    writeln!(out, "\nterms        {}", plan.terms.join("  "))?;
    let classifiers: Vec<String> = plan.classifiers.iter().map(ToString::to_string).collect();
    writeln!(out, "classifiers  {}", classifiers.join("  "))?;
    writeln!(out, "selectors    {}", plan.selectors.join("  "))?;
    writeln!(out, "\nAbout {} on this machine; the model itself is trained after that.", about(plan.seconds))?;
    Ok(out.flush()?)
}

/// A span that was reckoned, not measured.
fn about(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{:.0} seconds", s.max(1.0)),
        s => format!("{:.0} minutes", s / 60.0),
    }
}

/// What fewer words cost: "2,000 terms keep 98.9 % of it, in about 0.2 MB".
fn cheaper(frontier: &Frontier<'_>) -> Option<String> {
    let lines: Vec<String> =
        frontier.fewer().filter(|p| p.kept >= 0.9).map(|p| format!("  {}", frontier.sentence(p))).collect();
    (!lines.is_empty()).then(|| format!("Fewer terms (--features N, or --prefer small)\n{}", lines.join("\n")))
}

fn nodes(taxonomy: &Taxonomy) -> String {
    format!("{} in {} levels", grouped(taxonomy.len() as u64), taxonomy.height())
}

fn candidates(trained: &Trained) -> Rows {
    let mut rows = Rows::new(["documents", "terms", "classifier", "selector", "features", "RPrec", "±"]);
    for t in &trained.trials {
        let size = if t.all { format!("{} (all)", t.size) } else { t.size.to_string() };
        let (mean, error) = (format!("{:.4}", t.mean), format!("{:.4}", t.error));
        let documents = t.documents.to_string();
        rows.push([documents, t.terms.clone(), t.classifier.to_string(), t.selector.clone(), size, mean, error]);
    }
    rows
}
