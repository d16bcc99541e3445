//! `tamis calibrate`: anyone's scores along a pipeline → thresholds.

use std::io::Write;
use std::path::{Path, PathBuf};

use tamis::hierarchy::pipeline::{Imbalance, Method, Options, ScoreTable, Selection, Utility, calibrate};

use crate::global::Global;
use crate::output::{Format, Rows, grouped, print_json, stdout, trimmed};

/// Find thresholds for a pipeline of classifiers, whoever trained them.
///
/// SCORES is TSV or CSV with a header: a column `truth` of 0 and 1, and one column of scores in `[0,1]` for each level of the
/// pipeline, root first (a column `id` is passed over). A document passes the pipeline when its score at every level is
/// at least the threshold of that level.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// File of scores, `-` for standard input.
    #[arg(value_name = "SCORES")]
    scores: PathBuf,
    /// tsa: raises and lowers one threshold after the other on a fine grid. rbf: every combination on a coarse grid.
    /// exact: the best of all real thresholds, proven, or how far it may be. greedy-exact: tsa's moves without a grid.
    #[arg(long, value_name = "METHOD", default_value = "exact", value_parser = str::parse::<Method>)]
    by: Method,
    /// Step of the grid of tsa (0.0005 when not given) and rbf (0.05); above 0 and at most 1.
    #[arg(long, value_name = "δ", allow_negative_numbers = true)]
    step: Option<f64>,
    /// What is maximised: f1, f(β) such as f(0.5), precision or recall.
    #[arg(long, value_name = "NAME", default_value = "f1", value_parser = str::parse::<Utility>)]
    utility: Utility,
    /// Positives to negatives where the thresholds will be used, such as 2^-4, 1:16 or prior(0.05); as in the file when
    /// not given. Negatives are weighted, none is left out.
    #[arg(long, value_name = "RATIO", value_parser = str::parse::<Imbalance>)]
    imbalance: Option<Imbalance>,
    /// Seconds after which exact stops and says how far it may be from the best.
    #[arg(long, value_name = "S", default_value_t = 10.0, allow_negative_numbers = true)]
    seconds: f64,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let table = if args.scores == Path::new("-") {
        ScoreTable::read(std::io::stdin().lock(), "-")?
    } else {
        ScoreTable::open(&args.scores)?
    };
    let options = Options { utility: args.utility, step: args.step, seconds: Some(args.seconds), ..Options::default() };
    let (table, selection) = calibrate(table, args.by, &options, args.imbalance, &global.progress())?;
    match args.format {
        Format::Json => print_json(&selection.about(&table, args.utility)),
        format => print_table(&table, &selection, args.utility, format, global),
    }
}

fn print_table(
    table: &ScoreTable,
    selection: &Selection,
    utility: Utility,
    format: Format,
    global: &Global,
) -> anyhow::Result<()> {
    let mut out = stdout();
    let mut levels = Rows::new(["level", "name", "threshold", "reached by", "of them positive"]);
    for (k, threshold) in selection.thresholds.iter().enumerate() {
        let reaching = |d: &usize| table.reached(*d, &selection.thresholds) > k;
        let reached = (0..table.documents()).filter(reaching);
        let positive = reached.clone().filter(|&d| table.truth()[d]).count();
        levels.push([
            (k + 1).to_string(),
            table.levels()[k].clone(),
            threshold.to_string(),
            reached.count().to_string(),
            positive.to_string(),
        ]);
    }
    if format == Format::Tsv {
        levels.write_tsv(&mut out)?;
        out.flush()?;
        return Ok(());
    }
    writeln!(out, "{}\n", trimmed(&levels.table(global)))?;
    let known = match (selection.proven, selection.bound) {
        (true, _) => "no thresholds are better: proven".to_owned(),
        (false, Some(bound)) => {
            format!("no thresholds are better than {bound:.4}; the search was stopped before a proof")
        }
        (false, None) => "how far from the best is not known; --by exact tells".to_owned(),
    };
    writeln!(
        out,
        "{utility} = {:.4} on {} documents, {} of them positive, by {} ({} evaluations)\n{known}",
        selection.utility,
        grouped(table.documents() as u64),
        grouped(table.positives() as u64),
        selection.method,
        grouped(selection.evaluations)
    )?;
    out.flush()?;
    Ok(())
}
