//! `tamis classify`: model × documents → labels, as a stream.

use std::io::Write;
use std::path::PathBuf;

use tamis::corpus::Skipped;
use tamis::model::{How, Model, WhyAsked};

use crate::corpus_args::{ReadArgs, open};
use crate::global::Global;
use crate::output::{flags, stdout};

/// Label documents: JSONL out, in the order of the input, in constant memory.
///
/// Each line has the document's id, its labels, with a taxonomy also their paths, root first, and whether the document has
/// a word that the model knows. The lines are those that the server streams and Python gives.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Model file.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Documents in any format, `-` for standard input.
    #[arg(value_name = "DOCS", default_value = "-")]
    documents: Vec<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
    /// Give the N best labels of each document, whatever the thresholds say.
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Add all labels (with --top the N best) with their scores, thresholds and, where the model has them, probabilities.
    #[arg(long)]
    scores: bool,
    /// Add the words that spoke for each label.
    #[arg(long)]
    explain: bool,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let model = Model::read(&args.model)?;
    let documents = open(&args.documents, &args.read, global)?.batches_for(&model.text)?;
    let how = How {
        best: args.top,
        ranked: if args.scores { args.top.unwrap_or(usize::MAX) } else { 0 },
        reasons: args.explain.then(WhyAsked::default),
    };
    let mut out = stdout();
    let mut skipped = Skipped::default();
    let batches = model.label_batches(documents, Vec::new, |lines: &mut Vec<u8>, labeller, document| {
        let answer = labeller.answer(Some(document.id.as_ref().into()), &document.body, &how);
        serde_json::to_writer(&mut *lines, &answer).expect("an answer is JSON, and memory takes it");
        lines.push(b'\n');
    });
    for batch in batches {
        let batch = batch?;
        out.write_all(&batch.value)?;
        skipped.append(batch.skipped);
        if let Some(error) = batch.failure {
            // What came before it stands.
            out.flush()?;
            return Err(error.into());
        }
    }
    out.flush()?;
    if skipped.count > 0 {
        tracing::warn!("{}", flags(&skipped.to_string()));
    }
    Ok(())
}
