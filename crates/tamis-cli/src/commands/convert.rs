//! `tamis convert`: any format into any other.

use std::path::{Path, PathBuf};

use anyhow::bail;
use tamis::corpus::{Corpus, Format, WriteOptions, Writer};
use tamis::terms::TextOptions;

use crate::corpus_args::{ReadArgs, keep_apart, open, reading};
use crate::global::Global;
use crate::output::{flags, grouped};

/// Convert a corpus to another format; the ending of OUT says which, and the compression.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Files or folders of one corpus, `-` for standard input, or `synth:…`; then the file or folder to write
    /// (`-`: standard output).
    #[arg(required = true, num_args = 1.., value_names = ["IN", "OUT"])]
    paths: Vec<PathBuf>,
    /// The file or folder to write, instead of OUT.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
    /// Format to write; told from the ending when not given.
    #[arg(long, value_name = "FORMAT", value_parser = str::parse::<Format>)]
    to: Option<Format>,
    /// What separates labels in a column that is written.
    #[arg(long, value_name = "TEXT", default_value = ";")]
    to_separator: String,
    /// What labels begin with in fastText lines that are written.
    #[arg(long, value_name = "TEXT", default_value = "__label__")]
    to_prefix: String,
    /// Fields of the text to write beside or instead of `text`, separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    fields: Vec<String>,
}

pub(crate) fn run(mut args: Args, global: &Global) -> anyhow::Result<()> {
    let output = match args.output.or_else(|| args.paths.pop().filter(|_| !args.paths.is_empty())) {
        Some(output) => output,
        None => bail!("what is to be written? tamis convert corpus.csv corpus.jsonl"),
    };
    let options = WriteOptions {
        to: args.to,
        label_separator: args.to_separator,
        label_prefix: args.to_prefix,
        fields: args.fields,
    };
    keep_apart(&args.paths.iter().map(PathBuf::as_path).collect::<Vec<_>>(), &[&output])?;
    let corpus = open(&args.paths, &args.read, global)?;
    let mut writer = create(&output, &options)?;
    let tally = corpus.for_each_of(&reading(&options.fields)?, |document| writer.write(&document))?;
    if tally.skipped.count > 0 {
        tracing::warn!("{}", flags(&tally.skipped.to_string()));
    }
    // Not inside the message, which is made only when somebody wants to see it.
    let written = writer.finish()?;
    say_left_out(&corpus, &reading(&options.fields)?);
    tracing::info!("{} documents written", grouped(written));
    Ok(())
}

/// Says which fields or columns of a corpus are not among what was written.
pub(crate) fn say_left_out(corpus: &Corpus, read: &TextOptions) {
    let left_out = corpus.left_out(read);
    if !left_out.is_empty() {
        tracing::warn!("not written: {}; name those that are texts with --fields", left_out.join(", "));
    }
}

/// A file, a folder, or standard output for `-`.
pub(crate) fn create(output: &Path, options: &WriteOptions) -> tamis::Result<Writer> {
    if output == Path::new("-") {
        Writer::to_stream(Box::new(std::io::BufWriter::new(std::io::stdout())), options)
    } else {
        Writer::create(output, options)
    }
}
