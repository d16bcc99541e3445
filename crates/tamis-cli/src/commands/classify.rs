//! `tamis classify`: model × documents → labels, as a stream.

use std::path::{Path, PathBuf};

use anyhow::bail;
use tamis::corpus::{Format, ReadOptions, Skipped};
use tamis::model::{Answer, AnswerWriter, How, Model, WhyAsked};

use super::bulk::{self, ShardArgs};
use crate::corpus_args::{ReadArgs, keep_apart, reading_for};
use crate::global::Global;
use crate::output::{flags, grouped};

/// Label documents: JSONL, CSV, TSV or Parquet out, in the order of the input, in constant memory.
///
/// Each line has the document's id, its labels, with a taxonomy also their paths, root first, and whether the document has
/// a word that the model knows. The lines of JSONL are those that the server streams and Python gives. A text file is one
/// document, a folder of them as many; with --lines every line is one.
///
/// Where the output is a folder (its name ends in /), documents are shards, Parquet or JSONL of any size: each is written under
/// its own name with all its columns, its rows in their order, and columns added. Shards that are there already are not made
/// again, so a run that was stopped goes on.
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
    /// File to write; standard output when not given. Its ending tells the format and the compression. A name that ends in / is
    /// a folder of shards.
    #[arg(short, long, value_name = "FILE|FOLDER/")]
    output: Option<PathBuf>,
    /// Format of the answers: jsonl, csv, tsv or parquet. The tables have a row for each document, with --scores one for each
    /// label of a document.
    #[arg(long, value_name = "FORMAT", value_parser = str::parse::<Format>)]
    format: Option<Format>,
    #[command(flatten)]
    shards: ShardArgs,
}

/// What is made of a batch: finished lines, or the answers where they go into columns.
#[derive(Default)]
struct Made<'m> {
    lines: Vec<u8>,
    answers: Vec<Answer<'m>>,
    documents: u64,
    /// Documents without a word that the model knows.
    unknown: u64,
}

impl Made<'_> {
    fn saw(&mut self, answer: &Answer<'_>) {
        self.documents += 1;
        self.unknown += u64::from(!answer.known);
    }
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    if let Some(folder) = args.output.as_deref().filter(|path| bulk::is_folder(path)) {
        if args.explain || args.format.is_some() {
            bail!(
                "shards keep their format and have no reasons; leave --explain and --format out, or name a file with -o"
            );
        }
        let read = args.read.options(global.seed());
        let added = args.shards.added(args.top, args.scores)?;
        return bulk::run(&args.model, &args.documents, folder, args.shards, added, read, global);
    }
    args.shards.refuse()?;
    if let Some(output) = &args.output {
        let inputs: Vec<&Path> = args.documents.iter().chain([&args.model]).map(PathBuf::as_path).collect();
        keep_apart(&inputs, &[output])?;
    }
    let model = Model::read(&args.model)?;
    // A few words on standard input are a document.
    let read = ReadOptions { prose: true, ..args.read.options(global.seed()) };
    let read = reading_for(&model, &args.documents, read)?;
    let documents = tamis::corpus::open(&args.documents, &read)?.batches_for(&model.text)?;
    let how = How {
        best: args.top,
        ranked: if args.scores { args.top.unwrap_or(usize::MAX) } else { 0 },
        reasons: args.explain.then(WhyAsked::default),
    };
    let mut writer = match args.output.as_deref().filter(|path| *path != Path::new("-")) {
        Some(path) => AnswerWriter::create(path, args.format, &model, &how)?,
        None => {
            let out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout());
            AnswerWriter::to_stream(Box::new(out), args.format, &model, &how)?
        }
    };
    let form = writer.form();
    let mut skipped = Skipped::default();
    let (mut seen, mut unknown) = (0, 0);
    let batches = model.label_batches(documents, Made::default, |made: &mut Made<'_>, labeller, document| match form {
        Some(form) => {
            let answer = labeller.answer(Some(document.id.as_ref().into()), &document.body, &how);
            made.saw(&answer);
            form.append(&mut made.lines, &answer);
        }
        None => {
            let answer = labeller.answer(Some(document.id.to_string().into()), &document.body, &how);
            made.saw(&answer);
            made.answers.push(answer);
        }
    });
    let mut failure = None;
    for batch in batches {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => {
                failure = Some(error);
                break;
            }
        };
        writer.lines(&batch.value.lines)?;
        writer.answers(&batch.value.answers)?;
        skipped.append(batch.skipped);
        seen += batch.value.documents;
        unknown += batch.value.unknown;
        failure = batch.failure;
        if failure.is_some() {
            break;
        }
    }
    match failure {
        None => writer.finish()?,
        Some(error) => {
            // What came before it stands on standard output; a file is whole or absent.
            if args.output.is_none() {
                writer.finish()?;
            }
            return Err(error.into());
        }
    }
    if unknown > 0 && unknown * 2 >= seen {
        tracing::warn!(
            "{} of {} documents have no word that the model knows, so their labels say nothing about them; is it the \
             right model, and is their text where it is looked for?",
            grouped(unknown),
            grouped(seen)
        );
    }
    if skipped.count > 0 {
        tracing::warn!("{}", flags(&skipped.to_string()));
    }
    Ok(())
}
