//! `tamis study`: run a plan, or one of the papers' experiments by name.

use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;
use tamis::hierarchy::{GivenTaxonomy, TaxonomyOptions};
use tamis::study::{
    BUILT_IN, BuiltIn, Estimate, Folder, Grid, Material, Plan, Record, StudyCorpus, claims, estimate, run as run_plan,
};

use super::report::{print_digest, write_report};
use crate::corpus_args::{ReadArgs, tell};
use crate::global::Global;
use crate::output::{Rows, grouped, print_rows, stdout};

/// Run a study: selectors × sizes × classifiers over splits of a corpus, with statistics and a report.
///
/// PLAN is a TOML file, or the name of a study that comes with the program (`tamis study --list`); without --corpus those run
/// on a built-in corpus. Rows are written as they are finished: a study that was stopped or killed goes on with --resume
/// and ends with the same rows.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Plan file, or name of a built-in study.
    #[arg(value_name = "PLAN", required_unless_present = "list")]
    plan: Option<String>,
    /// Files or folders of one corpus, or `synth:topics[:N]`, `synth:rcv1[:N]`; the plan's own when not given.
    #[arg(long, value_name = "CORPUS", num_args = 1..)]
    corpus: Vec<PathBuf>,
    /// Folder for rows, exports and report; `NAME.study` when not given.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Go on with a study that was interrupted.
    #[arg(long)]
    resume: bool,
    /// Say how large the study is and how long it will take, and run nothing.
    #[arg(long)]
    dry_run: bool,
    /// Replace a value of the plan, such as `--set splits.how=given` or `--set 'sizes.at=[50,100]'`.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print the plan and run nothing: a start for one of your own.
    #[arg(long)]
    show: bool,
    /// List the studies that come with the program.
    #[arg(long)]
    list: bool,
    /// Taxonomy of the labels, for studies along pipelines: a file, or `names` for labels that are paths. The built-in
    /// corpora have their own.
    #[arg(long, value_name = "FILE|names")]
    taxonomy: Option<PathBuf>,
    /// Save plots as PNG too, beside the SVG files.
    #[arg(long)]
    png: bool,
    #[command(flatten)]
    read: ReadArgs,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    if args.list {
        return list(global);
    }
    let Some(name) = &args.plan else { bail!("a plan is needed") };
    let (path, text) = BuiltIn::or_file(name)?;
    let (plan, text) = Plan::parse_with(&text, &path, &args.set)?;
    if args.show {
        let mut out = stdout();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        return Ok(());
    }
    let seed = global.seed.or(plan.seed).unwrap_or(global.seed());
    let taxonomy = args.taxonomy.as_ref().map(|path| GivenTaxonomy::open(path, &TaxonomyOptions::default()));
    let reading = args.read.options(seed);
    let corpus = StudyCorpus::open(&plan, &args.corpus, taxonomy.transpose()?.as_ref(), &reading, &global.progress())?;
    if let Some(corpus) = &corpus {
        tell(&corpus.report);
    }
    let material = corpus.as_ref().map_or(Material::default(), StudyCorpus::material);
    if args.dry_run {
        return dry_run(&plan, corpus.as_ref(), material, seed, global);
    }
    let folder = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.study", plan.name)));
    let note = corpus.as_ref().map(StudyCorpus::note);
    let begin = if args.resume { Folder::resume } else { Folder::create };
    let mut rows = begin(&folder, &plan, &text, seed, note)?;
    match run_plan(&plan, material, seed, &mut rows, &global.progress()) {
        Ok(_) => {}
        Err(tamis::Error::Interrupted) => {
            drop(rows);
            let kept = Record::read(&folder)?.rows.len();
            return Err(anyhow::Error::from(tamis::Error::Interrupted).context(format!(
                "{}: {} rows are safe; go on with --resume",
                folder.display(),
                grouped(kept as u64)
            )));
        }
        Err(error) => return Err(error.into()),
    }
    drop(rows);
    let digest = write_report(&folder, args.png)?;
    print_digest(&digest, &folder)
}

fn list(global: &Global) -> anyhow::Result<()> {
    let mut rows = Rows::new(["name", "paper", "title"]);
    for built_in in BUILT_IN {
        let plan = built_in.plan()?;
        rows.push([plan.name, plan.paper.unwrap_or_default(), plan.title]);
    }
    print_rows(&rows, crate::output::Format::Table, global)
}

fn dry_run(
    plan: &Plan,
    corpus: Option<&StudyCorpus>,
    material: Material<'_>,
    seed: u64,
    global: &Global,
) -> anyhow::Result<()> {
    let Estimate { extent, seconds, searches } = estimate(plan, material, seed, &global.progress())?;
    let mut out = stdout();
    let mut say = |key: &str, value: String| writeln!(out, "{key:<16} {value}");
    say("study", format!("{}: {}", plan.name, plan.title))?;
    if let Some(StudyCorpus { source, counts, .. }) = corpus {
        let size = [counts.len(), counts.vocabulary.len(), counts.labels.len()].map(|n| grouped(n as u64));
        say("corpus", format!("{source}: {} documents, {} terms, {} labels", size[0], size[1], size[2]))?;
    }
    if let Some(grid) = plan.grid() {
        describe(grid, &mut say)?;
    }
    say("units of work", grouped(extent.units as u64))?;
    say("rows", grouped(extent.rows as u64))?;
    say("classifications", grouped(extent.classifications))?;
    if let Some(seconds) = seconds {
        let more = if searches { ", and the searches, whose length nobody knows beforehand" } else { "" };
        say("time", format!("about {} on {} threads{more}", duration(seconds), rayon::current_num_threads()))?;
    }
    for (claim, rule) in claims(plan) {
        say(claim.key, format!("{}\n                 {rule}", claim.paper))?;
    }
    out.flush()?;
    Ok(())
}

fn describe(grid: &Grid, say: &mut dyn FnMut(&str, String) -> std::io::Result<()>) -> std::io::Result<()> {
    let list = |items: Vec<String>| {
        let shown = items.iter().take(13).cloned().collect::<Vec<_>>().join(" ");
        let more = if items.len() > 13 { " …" } else { "" };
        format!("{}: {shown}{more}", items.len())
    };
    say("splits", format!("{}: {}", grid.splits.count(), grid.splits))?;
    say("selectors", list(grid.selectors.iter().map(ToString::to_string).collect()))?;
    say("sizes", list(grid.sizes.iter().map(ToString::to_string).collect()))?;
    if let Some(baseline) = &grid.baseline {
        say("baseline", format!("{} with {} features", baseline.selector, baseline.size))?;
    }
    say("classifiers", list(grid.classifiers.iter().map(ToString::to_string).collect()))?;
    say("thresholds", list(grid.thresholds.iter().map(ToString::to_string).collect()))?;
    say("measures", list(grid.measures.iter().map(ToString::to_string).collect()))
}

/// Seconds as people say them.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "a second".into(),
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}
