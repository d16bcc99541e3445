//! `tamis demo`: everything there is, on the built-in corpus.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use tamis::corpus::synth::Shape;
use tamis::corpus::{Body, Corpus, Document, Part, ReadOptions, open};
use tamis::counts::{Contingency, CountOptions, Summary, count};
use tamis::hierarchy::{GivenTaxonomy, Taxonomy, pipeline};
use tamis::model::{EvaluateOptions, FitOptions, How, Model, RankedLabel, Reason, Span, WhyAsked, marked};
use tamis::report::{Page, save_figures};
use tamis::threshold::Threshold;

use crate::global::Global;
use crate::output::{Rows, stdout, trimmed};

/// Run the main job on the built-in corpus and write a report to look at.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder to write: report.html, the plots as SVG files, and the model.
    #[arg(short, long, value_name = "DIR", default_value = "tamis-demo")]
    output: PathBuf,
    /// How many documents.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 4000)]
    documents: u64,
    /// Save plots as PNG too, beside the SVG files.
    #[arg(long)]
    png: bool,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let folder = &args.output;
    let seed = global.seed();
    let progress = global.progress();
    let name = format!("synth:topics:{}", args.documents);
    let corpus = open(&[name.into()], &ReadOptions { seed, ..ReadOptions::default() })?;
    let (counts, _) = count(corpus.batches()?, &CountOptions::default(), &progress)?;
    let train = counts.training();
    let along = FitOptions {
        taxonomy: Some(GivenTaxonomy::Tree(Taxonomy::built_in(Shape::Topics)?)),
        seed,
        ..FitOptions::default()
    };
    let flat = FitOptions { threshold: Some(Threshold::recommended().into()), ..along.clone() };
    let pipelines = along.fit(&counts, &train, &progress)?;
    let model = flat.fit(&counts, &train, &progress)?.model;
    let quality = model.evaluate(corpus.batches()?, &EvaluateOptions::default(), &progress)?;

    let mut page = Page::new(
        "tamis: a demonstration",
        &format!(
            "{} documents that tamis wrote itself, about {} topics a reader knows: what they are like, which words tell \
             the topics apart, and how well a small model labels documents it has never seen.",
            counts.len(),
            counts.labels.len()
        ),
    );
    let table = Contingency::of_rows(&counts, &train);
    page.corpus(&Summary::of(&counts)).selection(&table)?.model(&model, &quality)?.taxonomy(&model, &quality)?;
    if let Some((_, table)) = pipelines.nodes.and_then(|nodes| nodes.example) {
        page.pipeline(&table, &pipeline::Options::default())?;
    }
    page.section("One document");
    one_document(&mut page, &corpus, &model)?;

    save_figures(&page, folder, args.png)?;
    page.save(folder.join("report.html"))?;
    model.write(&folder.join("topics.model"))?;
    if global.quiet {
        return Ok(());
    }
    let mut rows = Rows::new(["measure", "value"]);
    for value in quality.values() {
        if let Some(v) = value.value {
            rows.push([value.measure.to_string(), format!("{v:.4}")]);
        }
    }
    let mut out = stdout();
    writeln!(
        out,
        "{} documents, {} labels; {} on {} of {} words ({})\n",
        counts.len(),
        counts.labels.len(),
        model.summary.classifier,
        model.terms.len(),
        model.summary.vocabulary,
        model.summary.selector
    )?;
    writeln!(out, "On {} test documents\n{}\n", quality.evaluation.documents(), trimmed(&rows.table(global)))?;
    writeln!(
        out,
        "Report: {}\nModel:  {}",
        folder.join("report.html").display(),
        folder.join("topics.model").display()
    )?;
    writeln!(
        out,
        "Try:    echo \"The striker scored twice\" | tamis explain {} -",
        folder.join("topics.model").display()
    )?;
    out.flush()?;
    Ok(())
}

/// The first test document with its labels and the words that decided.
fn one_document(page: &mut Page, corpus: &Corpus, model: &Model) -> anyhow::Result<()> {
    let mut first: Option<Document<'static>> = None;
    let mut batches = corpus.batches()?;
    while let (None, Some(batch)) = (&first, batches.next_batch()?) {
        batch.visit(&mut |document| {
            first = document.ok().filter(|d| d.part == Some(Part::Test)).map(Document::into_owned);
            if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }
    let Some(document) = first else { return Ok(()) };
    let how = How { best: Some(6), ranked: 6, reasons: Some(WhyAsked { label: None, top: 5, spans: true }) };
    let answer = model.labeller().answer(None, &document.body, &how);
    if let (Body::Text(text), Some(best)) = (&document.body, answer.reasons.iter().flatten().next()) {
        let spans = Span::summed(best.spans.as_deref().unwrap_or_default());
        page.text(&format!("Test document {}; green speaks for {}, red against.", document.id, best.label));
        page.marked("", &marked(text, &spans));
    }
    let yes = |is: bool| if is { "yes" } else { "" }.to_owned();
    let row = |(ranked, reason): (&RankedLabel<'_>, &Reason<'_>)| {
        let words: Vec<&str> = reason.words.iter().map(|w| w.word).collect();
        vec![
            ranked.label.to_owned(),
            format!("{:.3}", ranked.score),
            ranked.threshold.map_or(String::new(), |t| format!("{t:.3}")),
            yes(ranked.decided),
            yes(document.labels.iter().any(|l| l == ranked.label)),
            words.join(", "),
        ]
    };
    let rows: Vec<Vec<String>> = answer.ranked.iter().flatten().zip(answer.reasons.iter().flatten()).map(row).collect();
    page.table(&["label", "score", "threshold", "given", "true", "words that decided"], &rows);
    Ok(())
}
