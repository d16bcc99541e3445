//! `tamis count`: documents → a file of counts.

use std::path::PathBuf;

use tamis::counts::{Counted, CountsFile};

use crate::corpus_args::{CorpusArgs, TextArgs, contingency};
use crate::global::Global;
use crate::output::grouped;

/// Count terms by label and save the counts, for `tamis rank` and `tamis merge`.
///
/// Documents are counted and forgotten, so a corpus may be far larger than memory. Where the corpus gives a split, only
/// its training documents are counted.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    corpus: CorpusArgs,
    #[command(flatten)]
    text: TextArgs,
    /// Count all documents, also those that a given split keeps for testing.
    #[arg(long)]
    all_parts: bool,
    /// File to write.
    #[arg(short, long, value_name = "COUNTS")]
    output: PathBuf,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let corpus = args.corpus.open(global)?;
    let counting = args.text.counting(&corpus)?;
    let text = counting.options.text.clone();
    let counted = if args.all_parts { Counted::All } else { Counted::Training };
    let (contingency, report) = contingency(&corpus, counted, counting, global)?;
    tracing::info!(
        "{} documents, {} terms, {} labels",
        grouped(contingency.documents()),
        grouped(contingency.terms() as u64),
        contingency.labels().len()
    );
    CountsFile { text, pruned: report.pruned, contingency }.write(&args.output)?;
    Ok(())
}
