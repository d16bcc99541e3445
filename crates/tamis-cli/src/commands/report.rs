//! `tamis report`: the report of a study, from its rows.

use std::io::Write;
use std::path::{Path, PathBuf};

use tamis::report::save_figures;
use tamis::study::{Digest, Numbers, Record, report, write_csv, write_parquet};

use crate::global::Global;
use crate::output::stdout;

/// Build the report of a study again from its rows: page, plots, CSV and Parquet.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder of the study; it need not be finished.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Save plots as PNG too, beside the SVG files.
    #[arg(long)]
    png: bool,
}

pub(crate) fn run(args: Args, _: &Global) -> anyhow::Result<()> {
    let digest = write_report(&args.folder, args.png)?;
    print_digest(&digest, &args.folder)
}

/// Writes everything that follows from rows.
pub(super) fn write_report(folder: &Path, png: bool) -> anyhow::Result<Digest> {
    let record = Record::read(folder)?;
    let (page, digest) = report(&record)?;
    page.save(folder.join("report.html"))?;
    save_figures(&page, folder.join("figures"), png)?;
    Numbers::of(&record).save(folder.join("numbers.json"))?;
    write_csv(&record.rows, folder.join("rows.csv"))?;
    write_parquet(&record.rows, folder.join("rows.parquet"))?;
    Ok(digest)
}

/// Says what came out.
pub(super) fn print_digest(digest: &Digest, folder: &Path) -> anyhow::Result<()> {
    let mut out = stdout();
    for (heading, sentences) in &digest.winners {
        writeln!(out, "{heading}\n  {}\n", sentences.join("\n  "))?;
    }
    for finding in &digest.findings {
        writeln!(out, "{} {}: {}", finding.key, finding.verdict, finding.paper)?;
        writeln!(out, "  here: {}\n  rule: {}\n", finding.ours, finding.rule)?;
    }
    for warning in &digest.warnings {
        writeln!(out, "Note: {warning}.")?;
    }
    writeln!(out, "Report: {}", folder.join("report.html").display())?;
    out.flush()?;
    Ok(())
}
