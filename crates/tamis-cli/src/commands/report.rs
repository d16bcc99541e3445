//! `tamis report`: the report of a study, from its rows.

use std::io::Write;
use std::path::{Path, PathBuf};

use tamis::atomic::AtomicFile;
use tamis::study::{Digest, Record, report, write_csv, write_parquet};

use crate::global::Global;
use crate::output::{Rows, stdout, trimmed};

/// Build the report of a study again from its rows: page, plots, CSV and Parquet.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder of the study; it need not be finished.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let digest = write_report(&args.folder)?;
    print_digest(&digest, &args.folder, global)
}

/// Writes everything that follows from rows.
pub(super) fn write_report(folder: &Path) -> anyhow::Result<Digest> {
    let record = Record::read(folder)?;
    let (page, digest) = report(&record)?;
    write(&folder.join("report.html"), page.finish().as_bytes())?;
    let figures = folder.join("figures");
    std::fs::create_dir_all(&figures).map_err(|e| tamis::Error::io(&figures, e))?;
    for (name, svg) in page.figures() {
        write(&figures.join(format!("{name}.svg")), svg.as_bytes())?;
    }
    write_csv(&record.rows, folder.join("rows.csv"))?;
    if record.plan.grid().is_some() {
        write_parquet(&record.rows, folder.join("rows.parquet"))?;
    }
    Ok(digest)
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(|e| tamis::Error::io(path, e))?;
    Ok(file.commit()?)
}

/// Says what came out.
pub(super) fn print_digest(digest: &Digest, folder: &Path, global: &Global) -> anyhow::Result<()> {
    let mut out = stdout();
    for (heading, sentences) in &digest.winners {
        writeln!(out, "{heading}\n  {}\n", sentences.join("\n  "))?;
    }
    if !digest.findings.is_empty() {
        let mut rows = Rows::new(["the paper", "", "here"]);
        for finding in &digest.findings {
            let verdict = match finding.confirmed {
                Some(true) => "seen again:",
                Some(false) => "not seen:",
                None => "not tested:",
            };
            rows.push([finding.paper.as_str(), verdict, finding.ours.as_str()]);
        }
        writeln!(out, "{}\n", trimmed(&rows.table(global)))?;
    }
    for warning in &digest.warnings {
        writeln!(out, "Note: {warning}.")?;
    }
    writeln!(out, "Report: {}", folder.join("report.html").display())?;
    out.flush()?;
    Ok(())
}
