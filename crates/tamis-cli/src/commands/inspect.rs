//! `tamis inspect`: what a corpus or a file of ours is like, and what is wrong with it.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;
use tamis::corpus::{Body, Document};
use tamis::counts::{CountsFile, Spread, Summary};
use tamis::hierarchy::{Separator, Taxonomy, TaxonomyOptions};
use tamis::model::Model;
use tamis::terms::{Html, looks_like_html};

use crate::corpus_args::{CorpusArgs, TextArgs, counts};
use crate::global::Global;
use crate::output::{Format, Rows, flags, grouped, print_json, stdout, trimmed, visible};

/// Show what a corpus is like: documents, labels, lengths, vocabulary, problems. Also shows models and counts files.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    corpus: CorpusArgs,
    #[command(flatten)]
    text: TextArgs,
    /// Taxonomy of the labels: child, parent and name in each line, or RCV1's. Without it, label names that are paths are
    /// looked at.
    #[arg(long, value_name = "FILE")]
    taxonomy: Option<PathBuf>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    if let [path] = args.corpus.paths.as_slice() {
        if CountsFile::is_one(path) {
            return counts_file(path, args.format, global);
        }
        if Model::is_one(path) {
            return model_file(path, args.format, global);
        }
    }
    // First, because it is read faster than the corpus.
    let given = args.taxonomy.as_ref().map(|path| Taxonomy::open(path, &TaxonomyOptions::default())).transpose()?;
    let corpus = args.corpus.open(global)?;
    let counts = counts(&corpus, args.text.counting(&corpus)?, global)?;
    let summary = Summary::of(&counts);
    let outside: Vec<String> = given.iter().flat_map(|tree| tree.missing(&counts.labels)).map(str::to_owned).collect();
    let named = || Taxonomy::from_names(counts.labels.iter(), Separator::Auto).ok().filter(|tree| tree.height() > 1);
    let from = if given.is_some() { "the taxonomy file" } else { "the label names" };
    let tree = given.or_else(named);
    if args.format == Format::Json {
        let hierarchy = tree.map(|tree| {
            json!({ "from": from, "nodes": tree.len(), "roots": tree.roots().count(), "depth": tree.height(),
                    "labels_outside": outside })
        });
        return print_json(
            &json!({ "format": corpus.to_string(), "summary": summary, "hierarchy": hierarchy, "text": *counts.text }),
        );
    }
    let mut facts = Rows::new(["what", "value"]);
    let mut fact = |what: &str, value: String| facts.push([what.to_owned(), value]);
    let n = |n: usize| grouped(n as u64);
    fact("format", corpus.to_string());
    fact("documents", n(summary.documents));
    if summary.train + summary.validation + summary.test > 0 {
        let unused = summary.documents - summary.train - summary.validation - summary.test;
        let tuned =
            if summary.validation > 0 { format!("{} validation, ", n(summary.validation)) } else { String::new() };
        let rest = if unused > 0 { format!(", {} in neither part", n(unused)) } else { String::new() };
        fact("given split", format!("{} train, {tuned}{} test{rest}", n(summary.train), n(summary.test)));
    }
    if let Some((first, last)) = &summary.dates {
        fact("dates", format!("{first} to {last}"));
    }
    fact("labels", n(summary.labels));
    if summary.labels_in_both_parts > 0 {
        fact("labels in train and test", n(summary.labels_in_both_parts));
    }
    fact("labelled documents", n(summary.labelled));
    fact("with several labels", n(summary.multi_labelled));
    fact("labels a labelled document", format!("{:.3}", summary.cardinality));
    fact("documents a label", spread(&summary.label_sizes));
    fact("tokens", grouped(summary.tokens));
    fact("distinct terms", n(summary.terms));
    let scripts = summary.scripts.iter().map(|s| format!("{} ({} documents)", s.script, n(s.documents)));
    fact("terms", counts.text.to_string());
    fact("scripts", scripts.collect::<Vec<_>>().join(", "));
    fact("documents without a term", n(summary.empty.len()));
    fact("terms in one document", n(summary.single_document_terms));
    fact("tokens a document", spread(&summary.lengths));
    fact("distinct terms a document", spread(&summary.distinct));
    let mut labels = Rows::new(["label", "documents", "share"]);
    for l in &summary.largest {
        let share = 100.0 * f64::from(l.documents) / summary.documents as f64;
        labels.push([l.label.clone(), grouped(u64::from(l.documents)), format!("{share:.1}%")]);
    }
    let mut growth = Rows::new(["documents", "distinct terms"]);
    for &(documents, terms) in &summary.growth {
        growth.push([n(documents), n(terms)]);
    }
    let begin = if corpus.is_rereadable() { corpus.first(LOOKED_AT, &counts.text)? } else { Vec::new() };
    let html = begin.iter().filter(|document| has_html(document)).count();
    let html = (html > 0).then(|| format!("{} of the first {} documents", n(html), n(begin.len())));
    if let Some(share) = &html {
        let how = if counts.text.html() == Html::Strip { ", stripped" } else { "" };
        facts.push(["HTML".to_owned(), format!("{share}{how}")]);
    }
    let mut out = stdout();
    if args.format == Format::Tsv {
        facts.write_tsv(&mut out)?;
    } else {
        writeln!(out, "{}\n", trimmed(&facts.table(global)))?;
        if summary.labels > 0 {
            writeln!(out, "Largest labels\n{}\n", trimmed(&labels.table(global)))?;
        }
        if let Some(tree) = tree {
            let (nodes, roots) = (tree.len(), tree.roots().count());
            writeln!(out, "Hierarchy of {from}: {nodes} nodes, {roots} roots, depth {}\n", tree.height())?;
        }
        writeln!(out, "Vocabulary growth\n{}\n", trimmed(&growth.table(global)))?;
        if !begin.is_empty() {
            let shown = first(&begin[..begin.len().min(3)]).table(global);
            writeln!(out, "First documents as they are read\n{}\n", trimmed(&shown))?;
        }
        writeln!(out, "Problems")?;
        let html = html.filter(|_| counts.text.html() == Html::Keep);
        problems(&summary, &outside, html.as_deref(), &mut out)?;
    }
    out.flush()?;
    Ok(())
}

/// The first documents, so that a column or a quote that was misunderstood shows.
fn first(documents: &[Document<'_>]) -> Rows {
    let mut rows = Rows::new(["id", "labels", "text"]);
    for document in documents {
        let text = match &document.body {
            Body::Text(text) => text.to_string(),
            Body::Tokens(tokens) => tokens.iter().take(20).map(AsRef::as_ref).collect::<Vec<_>>().join(" "),
            Body::Counts(counts) => {
                counts.iter().take(20).map(|(term, n)| format!("{term}:{n}")).collect::<Vec<_>>().join(" ")
            }
            Body::Fields(fields) => {
                fields.iter().map(|(name, text)| format!("{name}: {text}")).collect::<Vec<_>>().join(" ")
            }
        };
        let cut = |text: &str| {
            let text = text.split_whitespace().take(30).collect::<Vec<_>>().join(" ");
            match text.char_indices().nth(60) {
                Some((at, _)) => format!("{}…", &text[..at]),
                None => text,
            }
        };
        rows.push([cut(&document.id), cut(&document.labels.join(", ")), cut(&text)]);
    }
    rows
}

/// Documents at the beginning that are looked at themselves.
const LOOKED_AT: usize = 200;

fn has_html(document: &Document<'_>) -> bool {
    match &document.body {
        Body::Text(text) => looks_like_html(text),
        Body::Fields(fields) => fields.iter().any(|(_, text)| looks_like_html(text)),
        Body::Tokens(_) | Body::Counts(_) => false,
    }
}

fn spread(s: &Spread) -> String {
    format!("{} to {}, median {}, mean {:.1}", s.min, s.max, s.median, s.mean)
}

fn problems(summary: &Summary, outside: &[String], html: Option<&str>, out: &mut impl Write) -> std::io::Result<()> {
    let mut none = true;
    let mut problem = |text: String| {
        none = false;
        writeln!(out, "  {}", visible(&text, &[]))
    };
    let some = |names: &[String]| {
        let shown = names.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
        if names.len() > 5 { format!("{shown}, …") } else { shown }
    };
    if summary.labels == 0 {
        let hint = "if they are under another name, say it with --labels-field NAME";
        problem(format!("no document has a label, and nothing can be learned without: {hint}"))?;
    } else if summary.labelled < summary.documents {
        problem(format!("{} documents have no label", grouped((summary.documents - summary.labelled) as u64)))?;
    }
    if !summary.empty.is_empty() {
        problem(format!("{} documents have no word: {}", grouped(summary.empty.len() as u64), some(&summary.empty)))?;
    }
    if let Some(share) = html {
        problem(format!("{share} have HTML, whose tags are counted as words; --html strip takes them off"))?;
    }
    if !outside.is_empty() {
        problem(format!("{} labels are not in the taxonomy: {}; add them to it", outside.len(), some(outside)))?;
    }
    let singles = &summary.single_document_labels;
    if !singles.is_empty() {
        problem(format!("{} labels have one document only: {}", singles.len(), some(singles)))?;
    }
    let twins = &summary.duplicates;
    if twins.groups > 0 {
        problem(format!(
            "{} documents repeat the words of an earlier one ({} differently labelled, {} groups across train and \
             test), such as {}",
            grouped(twins.surplus as u64),
            twins.differently_labelled,
            twins.across_parts,
            twins.examples[0].join(" = ")
        ))?;
    }
    if none { writeln!(out, "  none found") } else { Ok(()) }
}

fn counts_file(path: &Path, format: Format, global: &Global) -> anyhow::Result<()> {
    let CountsFile { text, pruned, contingency } = CountsFile::read(path)?;
    if format == Format::Json {
        return print_json(&json!({
            "kind": "counts",
            "documents": contingency.documents(),
            "tokens": contingency.tokens(),
            "terms": contingency.terms(),
            "labels": contingency.labels().len(),
            "meetings": contingency.meetings().entries(),
            "pruned": pruned,
            "text": text,
        }));
    }
    let mut rows = Rows::new(["what", "value"]);
    rows.push(["kind", "counts"]);
    for (what, value) in [
        ("documents", contingency.documents()),
        ("tokens", contingency.tokens()),
        ("terms", contingency.terms() as u64),
        ("labels", contingency.labels().len() as u64),
        ("term–label pairs that meet", contingency.meetings().entries() as u64),
        ("terms pruned while counting", pruned.terms),
    ] {
        rows.push([what.to_owned(), grouped(value)]);
    }
    rows.push(["text options".to_owned(), text.to_string()]);
    crate::output::print_rows(&rows, format, global)
}

fn model_file(path: &Path, format: Format, global: &Global) -> anyhow::Result<()> {
    let model = Model::read(path)?;
    let info = Model::file_info(path)?;
    let summary = &model.summary;
    if format == Format::Json {
        let labels: Vec<_> = model.labels.iter().zip(&summary.label_documents).collect();
        return print_json(&json!({
            "kind": "model",
            "file": info,
            "features": model.terms.len(),
            "labels": labels.iter().map(|(label, n)| json!({ "label": label, "documents": n })).collect::<Vec<_>>(),
            "threshold": model.deciding(),
            "calibrated": model.calibration.is_some(),
            "taxonomy": model.taxonomy.as_ref().map(Taxonomy::len),
            "training": summary,
            "text": model.text,
        }));
    }
    let mut rows = Rows::new(["what", "value"]);
    let mut fact = |what: &str, value: String| rows.push([what.to_owned(), value]);
    fact("kind", "model".into());
    fact("format version", info.version.to_string());
    fact("bytes", grouped(info.bytes as u64));
    fact("written by", summary.program.clone());
    fact("training documents", grouped(summary.documents));
    fact("labels", grouped(model.labels.len() as u64));
    fact("features", format!("{} of {}", grouped(model.terms.len() as u64), grouped(summary.vocabulary as u64)));
    fact("selector", summary.selector.clone());
    fact("classifier", summary.classifier.to_string());
    fact("threshold", model.deciding());
    fact("probabilities", if model.calibration.is_some() { "yes" } else { "no" }.into());
    if let Some(taxonomy) = &model.taxonomy {
        fact("taxonomy", format!("{} nodes, depth {}", taxonomy.len(), taxonomy.height()));
    }
    fact("seed", summary.seed.to_string());
    for (measure, value) in &summary.quality {
        fact(&format!("{measure}, {}", summary.measured_by()), format!("{value:.4}"));
    }
    for reason in &summary.choices {
        fact("why", flags(reason));
    }
    fact("best features", model.words().into_iter().take(10).collect::<Vec<_>>().join(", "));
    for (section, bytes) in &info.sections {
        fact(&format!("section {section}"), format!("{} bytes", grouped(*bytes as u64)));
    }
    fact("text options", model.text.to_string());
    crate::output::print_rows(&rows, format, global)
}
