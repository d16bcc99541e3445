//! `tamis demo`: everything there is, on the built-in corpus.

use std::io::Write;
use std::path::PathBuf;

use tamis::classify::{Problem, rank_all};
use tamis::corpus::Part;
use tamis::corpus::synth::{self, Shape, SynthOptions};
use tamis::counts::{Contingency, CountOptions, Summary, count};
use tamis::hierarchy::{ProgressiveOptions, Taxonomy, progressive};
use tamis::measure::{Evaluation, EvaluationOptions};
use tamis::model::{FitOptions, Labeller, fit};
use tamis::report::{Page, save_figures};

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
    let synthetic = SynthOptions { documents: args.documents, seed: global.seed(), ..SynthOptions::of(Shape::Topics) };
    let progress = global.progress();
    let counting = CountOptions::default();
    let (counts, _) = count(synth::batches(&synthetic)?, &counting, &progress)?;
    let train = counts.training();
    let test = counts.part(Part::Test);
    let table = Contingency::of_rows(&counts, &train);
    let taxonomy = Taxonomy::built_in(Shape::Topics)?;
    let options = FitOptions { seed: global.seed(), ..FitOptions::default() };
    let filter = ProgressiveOptions { seed: global.seed(), ..ProgressiveOptions::default() };
    let pipelines = progressive::fit(&counts, &train, &taxonomy, &filter, &progress)?;
    let trained = fit(&counts, &train, &counting.text, Some(taxonomy), &options, &progress)?;
    let model = trained.model;
    let terms: Vec<u32> = model.features().iter().filter_map(|t| counts.vocabulary.id(t)).collect();
    let problem = Problem::new(&counts, &test, &terms);
    let mut evaluation = Evaluation::new(EvaluationOptions {
        labels: model.labels.len(),
        trained: Some(model.summary.label_documents.iter().map(|&n| n > 0).collect()),
        pairs: true,
        ..EvaluationOptions::default()
    })?;
    let judged = rank_all(&model.classifier, &problem, |_, ranked, truth| {
        (ranked.to_vec(), model.thresholds.decide(ranked), truth.to_vec())
    });
    for (ranked, decided, truth) in judged {
        evaluation.add(&ranked, &decided, &truth);
    }

    let mut page = Page::new(
        "tamis: a demonstration",
        &format!(
            "{} documents that tamis wrote itself, about {} topics a reader knows: what they are like, which words tell \
             the topics apart, and how well a small model labels documents it has never seen.",
            counts.len(),
            counts.labels.len()
        ),
    );
    page.corpus(&Summary::of(&counts)).selection(&table)?.model(&model, &evaluation)?.taxonomy(&model, &evaluation)?;
    if let Some((_, table)) = &pipelines.example {
        page.pipeline(table, &filter.thresholds)?;
    }
    page.section("One document");
    one_document(&mut page, &synthetic, &counts.ids, &test, &mut model.labeller()?, &model)?;

    save_figures(&page, folder, args.png)?;
    page.save(folder.join("report.html"))?;
    model.write(&folder.join("topics.model"))?;
    if global.quiet {
        return Ok(());
    }
    let mut rows = Rows::new(["measure", "value"]);
    for value in evaluation.values() {
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
    writeln!(out, "On {} test documents\n{}\n", test.len(), trimmed(&rows.table(global)))?;
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

/// A test document with its labels and the words that decided.
fn one_document(
    page: &mut Page,
    synthetic: &SynthOptions,
    ids: &[String],
    test: &[usize],
    labeller: &mut Labeller<'_>,
    model: &tamis::model::Model,
) -> anyhow::Result<()> {
    let Some(&row) = test.first() else { return Ok(()) };
    let document = synth::Generator::new(synthetic)?.document(row as u64);
    if let tamis::corpus::Body::Text(text) = &document.body {
        page.text(&format!("Test document {}: {text}", ids[row]));
    }
    let labelled = labeller.label(&document.body);
    let (ranked, decided) = (labelled.ranked.to_vec(), labelled.decided.to_vec());
    let rows: Vec<Vec<String>> = ranked
        .iter()
        .take(6)
        .map(|s| {
            let words = super::explain::words(model, labeller.query(), s.label, 5);
            let words: Vec<&str> = words.as_array().into_iter().flatten().filter_map(|w| w["word"].as_str()).collect();
            let name = model.labels.name(s.label);
            vec![
                name.to_owned(),
                format!("{:.3}", s.score),
                model.thresholds.of(s.label).map_or(String::new(), |t| format!("{t:.3}")),
                if decided.contains(&s.label) { "yes" } else { "" }.to_owned(),
                if document.labels.iter().any(|l| l == name) { "yes" } else { "" }.to_owned(),
                words.join(", "),
            ]
        })
        .collect();
    page.table(&["label", "score", "threshold", "given", "true", "words that decided"], &rows);
    Ok(())
}
