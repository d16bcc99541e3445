//! `tamis synth`: the built-in corpus, in any size.

use std::io::Write;
use std::path::PathBuf;

use tamis::Progress;
use tamis::corpus::synth::{self, Shape, SynthOptions};
use tamis::corpus::{Format, WriteOptions};

use super::convert::create;
use crate::global::Global;

/// Generate a corpus: the same seed gives the same documents, in any number.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// File or folder to write; the ending says format and compression. `-` is JSONL on standard output.
    #[arg(value_name = "OUT", default_value = "-")]
    output: PathBuf,
    /// What the documents look like: topics (text about some sixty topics) or rcv1 (the size and sparsity of RCV1-v2).
    #[arg(long, default_value_t, value_parser = str::parse::<Shape>)]
    shape: Shape,
    /// How many documents; 2,000 topics or 804,414 rcv1 when not given.
    #[arg(short = 'n', long, value_name = "N")]
    documents: Option<u64>,
    /// Share of the documents in the test part.
    #[arg(long, value_name = "SHARE", default_value_t = SynthOptions::default().test_share)]
    test_share: f64,
    /// Format to write; told from the ending when not given.
    #[arg(long, value_name = "FORMAT", value_parser = str::parse::<Format>)]
    to: Option<Format>,
    /// Also write the taxonomy: child, parent, name.
    #[arg(long, value_name = "FILE")]
    taxonomy: Option<PathBuf>,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let options = SynthOptions {
        documents: args.documents.unwrap_or(args.shape.usual_documents()),
        seed: global.seed(),
        shape: args.shape,
        test_share: args.test_share,
    };
    let documents = synth::documents(&options)?;
    let mut writer = create(&args.output, &WriteOptions { to: args.to, ..WriteOptions::default() })?;
    let progress = global.progress();
    progress.start("generating", Some(options.documents));
    for (number, document) in documents.enumerate() {
        writer.write(&document)?;
        if number % 1000 == 999 {
            progress.add(1000);
            if progress.cancelled() {
                return Err(tamis::Error::Interrupted.into());
            }
        }
    }
    progress.finish();
    writer.finish()?;
    if let Some(path) = &args.taxonomy {
        let mut file = tamis::atomic::AtomicFile::create(path)?;
        for (child, parent, name) in synth::taxonomy(args.shape) {
            writeln!(file, "{child}\t{}\t{name}", parent.unwrap_or_default()).map_err(|e| tamis::Error::io(path, e))?;
        }
        file.commit()?;
    }
    Ok(())
}
