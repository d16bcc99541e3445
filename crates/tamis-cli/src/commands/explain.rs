//! `tamis explain`: why a label, in words.

use std::io::Read;
use std::path::PathBuf;

use anyhow::Context;
use serde_json::{Value, json};
use tamis::classify::{Fitted, Query};
use tamis::corpus::Body;
use tamis::model::{Labeller, Model, Reason, Why, WordShare};

use crate::global::Global;
use crate::output::{Format, Rows, print_json, stdout, trimmed};
use std::io::Write;

/// Show which words speak for and against labels: of the whole model, of one label, or for one document.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Model file.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// A text file, or `-` for standard input; without it, the model itself is explained.
    #[arg(value_name = "DOC")]
    document: Option<PathBuf>,
    /// The label to explain; all decided ones (of a document) or all labels (of a model) when not given.
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// Words shown for each label.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let model = Model::read(&args.model)?;
    let label = args.label.as_ref().map(|name| model.find_label(name)).transpose()?;
    let explained: Vec<Value> = match &args.document {
        Some(path) => document(&model, path, label, args.top)?,
        None => {
            let labels = label.map_or_else(|| (0..model.labels.len() as u32).collect(), |l| vec![l]);
            let by_feature = of_model(&model, &labels, args.top)?;
            labels
                .iter()
                .zip(by_feature)
                .map(|(&l, words)| json!({ "label": model.labels.name(l), "words": words }))
                .collect()
        }
    };
    if args.format == Format::Json {
        return print_json(&explained);
    }
    let mut out = stdout();
    let mut all = Rows::new(["label", "word", "adds"]);
    for entry in &explained {
        let name = entry["label"].as_str().unwrap_or_default();
        let mut rows = Rows::new(["word", "adds"]);
        for word in entry["words"].as_array().into_iter().flatten() {
            let what = word["word"].as_str().unwrap_or_default().to_owned();
            let adds = tamis::report::short(word["adds"].as_f64().unwrap_or(0.0));
            all.push([name.to_owned(), what.clone(), word["adds"].to_string()]);
            rows.push([what, adds]);
        }
        if args.format == Format::Table {
            let score = entry["score"].as_f64().map_or(String::new(), |s| format!("  score {s:.4}"));
            let threshold = entry["threshold"].as_f64().map_or(String::new(), |t| format!(", threshold {t:.4}"));
            writeln!(out, "{name}{score}{threshold}\n{}\n", trimmed(&rows.table(global)))?;
        }
    }
    if args.format == Format::Tsv {
        all.write_tsv(&mut out)?;
    }
    out.flush()?;
    Ok(())
}

fn document(model: &Model, path: &PathBuf, label: Option<u32>, top: usize) -> anyhow::Result<Vec<Value>> {
    let mut text = String::new();
    if path.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut text).context("standard input is not UTF-8 text")?;
    } else {
        text = std::fs::read_to_string(path).map_err(|e| tamis::Error::io(path, e))?;
    }
    let mut labeller: Labeller<'_> = model.labeller()?;
    let found = labeller.reasons(&Body::Text(text.into()), label);
    if !found.known {
        tracing::warn!("the model knows none of the words; what it says is not about this text");
    }
    let entry = |reason: Reason| {
        json!({
            "label": model.labels.name(reason.label),
            "score": reason.score,
            "threshold": reason.threshold,
            "words": shares(model, reason.why, top),
        })
    };
    Ok(found.reasons.into_iter().map(entry).collect())
}

/// What the words of a document add to a label's score, most first; for kNN its neighbours, whose shares add up to it.
pub(crate) fn words(model: &Model, query: Query<'_>, label: u32, top: usize) -> Value {
    shares(model, model.why(query, label), top)
}

fn shares(model: &Model, mut why: Why, top: usize) -> Value {
    if !matches!(model.classifier, Fitted::Knn { .. }) {
        let names = model.features();
        let word = |w: WordShare| json!({ "word": names[w.feature as usize], "adds": w.adds });
        return why.words.into_iter().take(top).map(word).collect();
    }
    let others = why.neighbours.split_off(top.min(why.neighbours.len()));
    let mut words: Vec<Value> = why
        .neighbours
        .into_iter()
        .map(|n| json!({ "word": format!("training document {}", n.document + 1), "adds": n.adds }))
        .collect();
    if !others.is_empty() {
        let adds: f64 = others.iter().map(|n| n.adds).sum();
        words.push(json!({ "word": format!("{} other training documents", others.len()), "adds": adds }));
    }
    words.into()
}

/// The words with the largest weights for each label, for and against.
fn of_model(model: &Model, labels: &[u32], top: usize) -> anyhow::Result<Vec<Value>> {
    let names = model.features();
    let word = |(f, weight): (u32, f64)| json!({ "word": names[f as usize], "adds": weight });
    let words = model.label_words(labels, top)?;
    Ok(words.into_iter().map(|list| list.largest(top).into_iter().map(word).collect()).collect())
}
