//! `tamis compare`: two models × the same documents → is the difference real?

use std::path::{Path, PathBuf};

use anyhow::bail;
use serde_json::json;
use tamis::measure::significance::{sign_test_of, wilcoxon};
use tamis::measure::{EvaluationOptions, Family, Measure, Resampling};
use tamis::model::{EvaluateOptions, Model};

use crate::corpus_args::ReadArgs;
use crate::global::Global;
use crate::output::{Format, Rows, print_json};

/// Compare two models on the same documents: difference, paired bootstrap, sign test over documents.
#[derive(clap::Args)]
pub(crate) struct Args {
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

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    if args.corpus.iter().any(|path| path == Path::new("-")) {
        bail!("the documents are read once for each model, and standard input gives them once; save them to a file");
    }
    let mut judged = Vec::new();
    let models = [Model::read(&args.first)?, Model::read(&args.second)?];
    if models[0].labels != models[1].labels {
        bail!(
            "the two models know different labels, so their numbers do not compare document by document; train both on the \
             same corpus, and compare one along a taxonomy with a flat one by `tamis evaluate --taxonomy` of each"
        );
    }
    let mut measures = args.measures;
    if measures.is_empty() && models.iter().any(Model::only_ranks) {
        // One that only ranks can be compared by its ranking alone.
        measures = EvaluationOptions::default().measures;
        measures.retain(|m| m.family() == Family::Ranked);
    }
    let options = EvaluateOptions { measures, all_parts: args.all_parts, taxonomy: None };
    for model in &models {
        judged.push(super::evaluate::judge(model, &args.corpus, &args.read, &options, global)?.evaluation);
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
                // Whoever has less of a loss wins.
                let sign = if c.measure.is_loss() { sign_test_of(&b, &a)? } else { sign_test_of(&a, &b)? };
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
