//! `tamis doctor`: what there is to know when something does not work.

use std::io::Write;
use std::path::PathBuf;

use tamis::model::Model;

use crate::columns::quoted;
use crate::corpus_args::{ReadArgs, open};
use crate::global::Global;
use crate::output::{Rows, grouped, stdout, trimmed};

/// Say what this program and this machine are, and check models and corpora.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Models or corpora to check.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let mut rows = Rows::new(["what", "value"]);
    let mut row = |what: &str, value: String| rows.push([what.to_owned(), value]);
    row(
        "tamis",
        format!(
            "{}, {}",
            env!("CARGO_PKG_VERSION"),
            if cfg!(debug_assertions) { "not optimised" } else { "optimised" }
        ),
    );
    row("system", format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH));
    row("cores", std::thread::available_parallelism().map_or_else(|_| "unknown".to_owned(), |n| n.to_string()));
    row("threads in use", rayon::current_num_threads().to_string());
    row("memory", memory().unwrap_or_else(|| "unknown".to_owned()));
    let folder = std::env::temp_dir();
    let writes = tamis::atomic::AtomicFile::create(folder.join(format!("tamis-doctor-{}", std::process::id()))).is_ok();
    row("temporary files", format!("{}{}", folder.display(), if writes { "" } else { " CANNOT BE WRITTEN" }));
    let mut out = stdout();
    writeln!(out, "{}", trimmed(&rows.table(global)))?;
    // All are looked at; the first that is wrong is what the command ends with.
    let mut wrong = None;
    for file in &args.files {
        let checked = if Model::is_one(file) { model(file) } else { corpus(file, &args.read, global) };
        match checked {
            Ok(lines) => writeln!(out, "\n{}: fine\n  {}", file.display(), lines.join("\n  "))?,
            Err(error) => {
                writeln!(out, "\n{}: NOT fine", file.display())?;
                wrong.get_or_insert(error);
            }
        }
    }
    out.flush()?;
    wrong.map_or(Ok(()), Err)
}

fn model(file: &std::path::Path) -> anyhow::Result<Vec<String>> {
    let (model, info) = (Model::read(file)?, Model::file_info(file)?);
    let name = quoted(&file.display().to_string());
    Ok(vec![
        format!("a model of format {}, {} bytes, every section verified", info.version, grouped(info.bytes as u64)),
        format!(
            "{} labels, {} features, {}, decided by {}",
            grouped(model.labels.len() as u64),
            grouped(model.terms.len() as u64),
            model.summary.classifier,
            model.deciding()
        ),
        format!("made by {} from {} documents", model.summary.program, grouped(model.summary.documents)),
        format!("next: tamis serve {name}"),
    ])
}

fn corpus(file: &std::path::Path, read: &ReadArgs, global: &Global) -> anyhow::Result<Vec<String>> {
    let corpus = open(&[file.to_owned()], read, global)?;
    let mut labels = std::collections::BTreeSet::new();
    let tally = corpus.for_each(|document| {
        labels.extend(document.labels.iter().map(ToString::to_string));
        Ok(())
    })?;
    let name = quoted(&file.display().to_string());
    Ok(vec![
        format!(
            "a corpus of format {corpus}, {} documents, {} of them with labels",
            grouped(tally.documents),
            grouped(tally.labelled)
        ),
        format!(
            "{} labels; {} malformed records were passed over",
            grouped(labels.len() as u64),
            grouped(tally.skipped.count)
        ),
        match labels.len() {
            0 => format!("no labels: tamis classify MODEL {name}"),
            1 => "one label only: there is nothing to tell apart".to_owned(),
            _ => format!("next: tamis fit {name} -o my.model"),
        },
    ])
}

/// Memory of the machine and what is left of it, where the system tells.
fn memory() -> Option<String> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<f64>().ok()
    };
    Some(format!("{:.1} GB, {:.1} GB free", of("MemTotal:")? / 1e6, of("MemAvailable:")? / 1e6))
}
