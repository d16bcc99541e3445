//! `tamis init`: writes down how a corpus is read.

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use tamis::corpus::{Body, Document};
use tamis::terms::TextOptions;

use crate::columns::{self, quoted};
use crate::corpus_args::CorpusArgs;
use crate::global::Global;
use crate::output::stdout;
use crate::settings::{FILE, Settings};

/// Look at a corpus, choose its columns, and write them to tamis.toml, which later commands in this folder read.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    corpus: CorpusArgs,
    /// Write over a tamis.toml that is there.
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let place = Path::new(FILE);
    if place.exists() && !args.force {
        bail!("{FILE} is there already; to write a new one: tamis init --force {}", names(&args.corpus));
    }
    let mut options = args.corpus.read.options(global.seed());
    columns::settle(&args.corpus.paths, &mut options, columns::Labels::Read)?;
    let corpus = tamis::corpus::open(&args.corpus.paths, &options)?;
    let first = corpus.first(200, &TextOptions::default())?;
    if first.is_empty() {
        return Err(corpus.no_documents(&tamis::corpus::Skipped::default()).into());
    }
    let fields = options.fields;
    let settings = Settings {
        corpus: args.corpus.paths.clone(),
        text_field: fields.text,
        labels_field: fields.labels,
        id_field: fields.id,
        split_field: fields.split,
        date_field: fields.date,
    };
    let text = format!(
        "# How tamis reads this corpus; what the command line says goes before it.\n{}",
        toml::to_string(&settings)?
    );
    let mut file = tamis::atomic::AtomicFile::create(place)?;
    file.write_all(text.as_bytes()).map_err(|e| tamis::Error::io(place, e))?;
    file.commit()?;
    let labelled = first.iter().filter(|document| !document.labels.is_empty()).count();
    let mut out = stdout();
    writeln!(out, "{text}\nOf the first {} documents {labelled} have labels. The first:", first.len())?;
    writeln!(out, "  {:?}  {}", first[0].labels, opening(&first[0]))?;
    let corpus = names(&args.corpus);
    writeln!(out, "\nNext\n  tamis inspect {corpus}\n  tamis fit {corpus} -o my.model")?;
    Ok(out.flush()?)
}

/// The paths as they would be typed.
fn names(corpus: &CorpusArgs) -> String {
    corpus.paths.iter().map(|path| quoted(&path.display().to_string())).collect::<Vec<_>>().join(" ")
}

/// How a document begins.
fn opening(document: &Document<'_>) -> String {
    let text = match &document.body {
        Body::Text(text) => text.to_string(),
        Body::Fields(fields) => fields.iter().map(|(_, text)| text.as_ref()).collect::<Vec<_>>().join(" "),
        Body::Tokens(tokens) => tokens.join(" "),
        Body::Counts(_) => String::new(),
    };
    crate::output::visible(
        &text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(70).collect::<String>(),
        &[],
    )
    .into_owned()
}
