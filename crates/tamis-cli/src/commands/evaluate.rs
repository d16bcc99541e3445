//! `tamis evaluate` and `tamis compare`: model × labelled documents → honest numbers.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use serde_json::{Value, json};
use tamis::corpus::{Corpus, OnError, Part};
use tamis::hierarchy::Taxonomy;
use tamis::measure::significance::{sign_test_of, wilcoxon};
use tamis::measure::{Ancestry, Evaluation, EvaluationOptions, Measure, Resampling};
use tamis::model::Model;

use crate::corpus_args::{ReadArgs, open};
use crate::global::Global;
use crate::output::{Format, Rows, grouped, print_json, stdout, trimmed};

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
    /// Also show each label.
    #[arg(long)]
    per_label: bool,
    /// Add bootstrap confidence intervals (95 %).
    #[arg(long)]
    intervals: bool,
    /// Use all documents, whatever split the corpus gives.
    #[arg(long)]
    all_parts: bool,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What was found while judging.
struct Judged {
    evaluation: Evaluation,
    /// Labels that the model does not know, numbered after those it knows as they were met.
    unseen: Vec<(String, u64)>,
    without_known_word: u64,
    /// With a taxonomy: right, wrong and missed nodes of each level, ancestors included.
    levels: Vec<[u64; 3]>,
}

impl Judged {
    fn name<'a>(&'a self, model: &'a Model, label: u32) -> &'a str {
        match (label as usize).checked_sub(model.labels.len()) {
            None => model.labels.name(label),
            Some(at) => &self.unseen[at].0,
        }
    }
}

fn judge(model: &Model, source: &Corpus, measures: &[Measure], all_parts: bool) -> anyhow::Result<Judged> {
    let mut options = EvaluationOptions {
        labels: model.labels.len(),
        trained: Some(model.summary.label_documents.iter().map(|&n| n > 0).collect()),
        pairs: true,
        ..EvaluationOptions::default()
    };
    if let Some(taxonomy) = &model.taxonomy {
        let node_of = taxonomy.align(&model.labels)?;
        let label_of = |node: u32| node_of.iter().position(|&n| n == node).map(|l| l as u32);
        options.ancestry = Some(Ancestry::from_fn(model.labels.len(), |label| {
            taxonomy.ancestors(node_of[label as usize]).filter_map(label_of).collect::<Vec<_>>()
        }));
    }
    if model.taxonomy.is_some() {
        for name in ["hP", "hR", "hF1"] {
            options.measures.push(name.parse()?);
        }
    }
    if !measures.is_empty() {
        options.measures = measures.to_vec();
    }
    let mut judged =
        Judged { evaluation: Evaluation::new(options)?, unseen: Vec::new(), without_known_word: 0, levels: Vec::new() };
    let mut number_of: HashMap<String, usize> = HashMap::new();
    let node_of: Vec<u32> = model.taxonomy.as_ref().map_or(Ok(Vec::new()), |t| t.align(&model.labels))?;
    let mut labeller = model.labeller()?;
    let mut first_part: Option<bool> = None;
    let mut skipped = tamis::corpus::Skipped::default();
    let mut failure = None;
    let mut batches = source.batches()?;
    let on_error = batches.on_error();
    let mut seen = 0u64;
    while let Some(batch) = batches.next_batch()? {
        batch.visit(&mut |record| {
            let document = match record {
                Ok(document) => document,
                Err(error) if on_error == OnError::Skip => {
                    skipped.add(&error);
                    return std::ops::ControlFlow::Continue(());
                }
                Err(error) => {
                    failure = Some(error);
                    return std::ops::ControlFlow::Break(());
                }
            };
            let has_split = *first_part.get_or_insert(document.part.is_some());
            if !all_parts && has_split && document.part != Some(Part::Test) {
                return std::ops::ControlFlow::Continue(());
            }
            seen += 1;
            let mut truth = Vec::with_capacity(document.labels.len());
            for label in &document.labels {
                match model.labels.id(label) {
                    Some(id) => truth.push(id),
                    None => {
                        // Always missed; each name has a number of its own.
                        let at = *number_of.entry(label.to_string()).or_insert_with(|| {
                            judged.unseen.push((label.to_string(), 0));
                            judged.unseen.len() - 1
                        });
                        judged.unseen[at].1 += 1;
                        truth.push((model.labels.len() + at) as u32);
                    }
                }
            }
            truth.sort_unstable();
            truth.dedup();
            let labelled = labeller.label(&document.body);
            judged.without_known_word += u64::from(!labelled.known);
            judged.evaluation.add(labelled.ranked, labelled.decided, &truth);
            if let Some(taxonomy) = &model.taxonomy {
                let closed =
                    |labels: &[u32]| taxonomy.closure(labels.iter().filter_map(|&l| node_of.get(l as usize)).copied());
                add_levels(taxonomy, &closed(&truth), &closed(labelled.decided), &mut judged.levels);
            }
            std::ops::ControlFlow::Continue(())
        });
        if let Some(error) = failure {
            return Err(error.into());
        }
    }
    if skipped.count > 0 {
        tracing::warn!("{skipped}");
    }
    if seen == 0 {
        bail!("no document to evaluate on: the corpus is empty, or its split has no test part (--all-parts takes all)");
    }
    if judged.evaluation.documents_without_truth() == seen {
        return Err(source.no_labels().into());
    }
    Ok(judged)
}

/// Counts the nodes of a document by level.
fn add_levels(taxonomy: &Taxonomy, truth: &[u32], decided: &[u32], levels: &mut Vec<[u64; 3]>) {
    levels.resize(taxonomy.height(), [0; 3]);
    for &node in decided {
        levels[taxonomy.depth(node) - 1][usize::from(truth.binary_search(&node).is_err())] += 1;
    }
    for &node in truth.iter().filter(|n| decided.binary_search(n).is_err()) {
        levels[taxonomy.depth(node) - 1][2] += 1;
    }
}

/// Precision, recall and F1 of right, wrong and missed; 0/0 is 0.
fn quality([right, wrong, missed]: [u64; 3]) -> [f64; 3] {
    let share = |of: u64| if of == 0 { 0.0 } else { right as f64 / of as f64 };
    let f1 = if right == 0 { 0.0 } else { 2.0 * right as f64 / (2 * right + wrong + missed) as f64 };
    [share(right + wrong), share(right + missed), f1]
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let model = Model::read(&args.model)?;
    let source = open(&args.corpus, &args.read, global)?;
    let judged = judge(&model, &source, &args.measures, args.all_parts)?;
    let evaluation = &judged.evaluation;
    if !judged.unseen.is_empty() {
        let names: Vec<&str> = judged.unseen.iter().take(5).map(|(name, _)| name.as_str()).collect();
        tracing::warn!(
            "{} labels of the corpus are unknown to the model and count as missed ({} times): {}{}",
            judged.unseen.len(),
            judged.unseen.iter().map(|(_, times)| times).sum::<u64>(),
            names.join(", "),
            if judged.unseen.len() > 5 { ", …" } else { "" }
        );
    }
    if judged.without_known_word > 0 {
        tracing::warn!("{} documents have no word that the model knows", judged.without_known_word);
    }
    let resampling = Resampling { seed: global.seed(), ..Resampling::default() };
    let intervals = if args.intervals { evaluation.intervals(&resampling)? } else { Vec::new() };
    let interval = |m: Measure| intervals.iter().find(|i| i.measure == m);
    let values = evaluation.values();
    let zero = evaluation.zero_divisions();
    if zero > 0 {
        tracing::info!("0/0 was taken as 0 {zero} times");
    }
    if args.format == Format::Json {
        let mut object: serde_json::Map<String, Value> =
            values.iter().map(|v| (v.measure.to_string(), json!(v.value))).collect();
        object.insert("documents".into(), json!(evaluation.documents()));
        object.insert("zero_divisions".into(), json!(zero));
        if args.intervals {
            let all: serde_json::Map<String, Value> =
                intervals.iter().map(|i| (i.measure.to_string(), json!([i.low, i.high]))).collect();
            object.insert("intervals".into(), Value::Object(all));
        }
        if !judged.unseen.is_empty() {
            let unseen: serde_json::Map<String, Value> =
                judged.unseen.iter().map(|(name, times)| (name.clone(), json!(times))).collect();
            object.insert("unseen_labels".into(), Value::Object(unseen));
        }
        if !judged.levels.is_empty() {
            let levels: Vec<Value> = judged
                .levels
                .iter()
                .enumerate()
                .map(|(k, &counts)| {
                    let [precision, recall, f1] = quality(counts);
                    json!({ "level": k + 1, "support": counts[0] + counts[2], "decided": counts[0] + counts[1],
                            "precision": precision, "recall": recall, "f1": f1 })
                })
                .collect();
            object.insert("levels".into(), json!(levels));
        }
        if args.per_label {
            let rows: Vec<Value> = evaluation
                .per_label()
                .iter()
                .map(|r| {
                    json!({ "label": judged.name(&model, r.label), "support": r.tally.support(), "decided": r.tally.decided(),
                            "precision": r.precision, "recall": r.recall, "f1": r.f1 })
                })
                .collect();
            object.insert("labels".into(), json!(rows));
        }
        return print_json(&object);
    }
    let mut rows = Rows::new(if args.intervals { vec!["measure", "value", "95 %"] } else { vec!["measure", "value"] });
    rows.push(
        ["documents".to_owned(), grouped(evaluation.documents()), String::new()].into_iter().take(if args.intervals {
            3
        } else {
            2
        }),
    );
    for v in &values {
        let Some(value) = v.value else { continue };
        let mut row = vec![v.measure.to_string(), format!("{value:.4}")];
        if args.intervals {
            row.push(interval(v.measure).map_or(String::new(), |i| format!("{:.4} to {:.4}", i.low, i.high)));
        }
        rows.push(row);
    }
    let mut out = stdout();
    if args.format == Format::Tsv && !args.per_label {
        rows.write_tsv(&mut out)?;
    } else if args.format == Format::Table {
        writeln!(out, "{}", trimmed(&rows.table(global)))?;
        if !judged.levels.is_empty() {
            let mut table = Rows::new(["level", "support", "decided", "precision", "recall", "F1"]);
            for (k, &counts) in judged.levels.iter().enumerate() {
                let [precision, recall, f1] = quality(counts);
                table.push([
                    (k + 1).to_string(),
                    (counts[0] + counts[2]).to_string(),
                    (counts[0] + counts[1]).to_string(),
                    format!("{precision:.4}"),
                    format!("{recall:.4}"),
                    format!("{f1:.4}"),
                ]);
            }
            writeln!(out, "\nNodes by level of the taxonomy, ancestors included\n{}", trimmed(&table.table(global)))?;
        }
    }
    if args.per_label {
        let mut table = Rows::new(["label", "support", "decided", "precision", "recall", "F1"]);
        for r in evaluation.per_label() {
            table.push([
                judged.name(&model, r.label).to_owned(),
                r.tally.support().to_string(),
                r.tally.decided().to_string(),
                format!("{:.4}", r.precision),
                format!("{:.4}", r.recall),
                format!("{:.4}", r.f1),
            ]);
        }
        if args.format == Format::Tsv {
            table.write_tsv(&mut out)?;
        } else {
            writeln!(out, "\n{}", trimmed(&table.table(global)))?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Compare two models on the same documents: difference, paired bootstrap, sign test over documents.
#[derive(clap::Args)]
pub(crate) struct CompareArgs {
    /// First model.
    #[arg(value_name = "MODEL_A")]
    first: PathBuf,
    /// Second model.
    #[arg(value_name = "MODEL_B")]
    second: PathBuf,
    /// Labelled documents.
    #[arg(value_name = "CORPUS", required = true)]
    corpus: Vec<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
    /// Measures, separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = str::parse::<Measure>)]
    measures: Vec<Measure>,
    /// Use all documents, whatever split the corpus gives.
    #[arg(long)]
    all_parts: bool,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn compare(args: CompareArgs, global: &Global) -> anyhow::Result<()> {
    if args.corpus.iter().any(|path| path == Path::new("-")) {
        bail!("the documents are read once for each model, and standard input gives them once; save them to a file");
    }
    let mut judged = Vec::new();
    let models = [Model::read(&args.first)?, Model::read(&args.second)?];
    if models[0].labels != models[1].labels {
        bail!("the two models know different labels, so their numbers do not compare; train both on the same corpus");
    }
    for model in &models {
        let source = open(&args.corpus, &args.read, global)?;
        judged.push(judge(model, &source, &args.measures, args.all_parts)?.evaluation);
    }
    let resampling = Resampling { seed: global.seed(), ..Resampling::default() };
    let comparisons = judged[0].compare(&judged[1], &resampling)?;
    let mut rows =
        Rows::new(["measure", "A", "B", "A − B", "95 %", "p bootstrap", "A wins", "B wins", "p sign", "p Wilcoxon"]);
    let mut values = Vec::new();
    for c in &comparisons {
        let mut object = json!({
            "measure": c.measure.to_string(), "a": c.a, "b": c.b, "difference": c.difference, "low": c.low,
            "high": c.high, "p_bootstrap": c.bootstrap_p, "p_randomisation": c.randomisation_p,
        });
        let mut row = vec![
            c.measure.to_string(),
            format!("{:.4}", c.a),
            format!("{:.4}", c.b),
            format!("{:+.4}", c.difference),
            format!("{:+.4} to {:+.4}", c.low, c.high),
            format!("{:.4}", c.bootstrap_p),
        ];
        match (judged[0].per_document(c.measure), judged[1].per_document(c.measure)) {
            (Ok(a), Ok(b)) => {
                let pairs: Vec<(f64, f64)> = a.into_iter().zip(b).filter_map(|(a, b)| Some((a?, b?))).collect();
                let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
                let sign = sign_test_of(&a, &b)?;
                let signed_rank = wilcoxon(&a, &b)?;
                object["wins_a"] = json!(sign.wins);
                object["wins_b"] = json!(sign.losses);
                object["p_sign"] = json!(sign.p_two_sided);
                object["p_wilcoxon"] = json!(signed_rank.p_two_sided);
                row.extend([
                    sign.wins.to_string(),
                    sign.losses.to_string(),
                    format!("{:.4}", sign.p_two_sided),
                    format!("{:.4}", signed_rank.p_two_sided),
                ]);
            }
            _ => row.extend(std::iter::repeat_n(String::new(), 4)),
        }
        rows.push(row);
        values.push(object);
    }
    match args.format {
        Format::Json => print_json(&json!({ "documents": judged[0].documents(), "comparisons": values })),
        format => crate::output::print_rows(&rows, format, global),
    }
}
