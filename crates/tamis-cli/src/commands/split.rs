//! `tamis split`: a corpus → parts to train on, to tune on, to judge by.

use std::path::{Path, PathBuf};

use anyhow::bail;
use tamis::corpus::{Document, Part, WriteOptions};
use tamis::counts::{CountOptions, PartBy, Parting, Vocabulary};

use super::convert::{create, say_left_out};
use crate::corpus_args::{CorpusArgs, keep_apart, reading};
use crate::global::Global;
use crate::output::{Format, Rows, flags, grouped, print_rows};

/// Split a corpus into a part to train on and a part to judge by, before either is looked at.
///
/// Labels are spread over the parts by their shares, unless dates or groups decide. With three files the second one is the
/// validation part, on which choices and thresholds are tuned. What is written is what tamis reads: ids, texts, labels, dates.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    corpus: CorpusArgs,
    /// Files to write: TRAIN TEST, or TRAIN VALIDATION TEST; their endings say the format. One file holds all, each document with
    /// its part.
    #[arg(short, long, required = true, num_args = 1..=3, value_name = "FILE")]
    output: Vec<PathBuf>,
    /// Share of the test part.
    #[arg(long, value_name = "SHARE", default_value_t = 0.2)]
    test: f64,
    /// Share of the validation part; 0.1 when not given and there is a file for it.
    #[arg(long, value_name = "SHARE")]
    validation: Option<f64>,
    /// The newest documents are the test part.
    #[arg(long, conflicts_with = "group")]
    by_date: bool,
    /// Documents with the same value of this field or column (a thread, an author) stay in one part.
    #[arg(long, value_name = "FIELD")]
    group: Option<String>,
    /// Fields of the text to write beside or instead of `text`, separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    fields: Vec<String>,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let inputs: Vec<&Path> = args.corpus.paths.iter().map(PathBuf::as_path).collect();
    keep_apart(&inputs, &args.output.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
    if let ([_, _, third], None) = (args.output.as_slice(), args.validation)
        && third.exists()
    {
        // `split -o TRAIN TEST CORPUS MORE` reads as three files to write, and CORPUS would be gone.
        bail!(
            "{} is there already and would become the test part; name the corpus before -o, or say --validation 0.1 if three \
             parts are meant",
            third.display()
        );
    }
    let corpus = args.corpus.open(global)?;
    if !corpus.is_rereadable() {
        bail!("a corpus is read twice to split it, and a stream can be read once; save it to a file first");
    }
    let validation = args.validation.unwrap_or(if args.output.len() == 3 { 0.1 } else { 0.0 });
    if validation > 0.0 && args.output.len() == 2 {
        bail!("with --validation there are three parts; name three files (TRAIN VALIDATION TEST), or one for all");
    }
    let read = reading(&args.fields)?;
    // Labels, dates and ids; no term is kept.
    let options =
        CountOptions { vocabulary: Some(Vocabulary::default().into()), text: read, ..CountOptions::default() };
    let (counted, report) = tamis::counts::count(corpus.batches_for(&options.text)?, &options, &global.progress())?;
    if counted.is_empty() {
        return Err(corpus.no_documents(&report.skipped).into());
    }
    // Labels that are under another name would not be written, and nobody could train on what is left.
    if counted.labels.is_empty() && !args.by_date && args.group.is_none() {
        return Err(corpus.no_labels().into());
    }
    let by = match &args.group {
        Some(field) => PartBy::Group(groups(&corpus, field)?),
        None if args.by_date => PartBy::Date,
        None => PartBy::Labels,
    };
    let parts = Parting { test: args.test, validation, by, seed: global.seed() }.parts(&counted)?;
    let wanted = [(Part::Train, true), (Part::Validation, validation > 0.0), (Part::Test, true)];
    if wanted.iter().any(|(part, wanted)| *wanted && !parts.contains(part)) {
        bail!(
            "{} documents with {} labels are too few for these shares: a part would be empty",
            counted.len(),
            counted.labels.len()
        );
    }
    let mut writers = Vec::new();
    for path in &args.output {
        writers.push(create(path, &WriteOptions { fields: args.fields.clone(), ..WriteOptions::default() })?);
    }
    let place = |part: Part| match (part, args.output.len()) {
        (_, 1) | (Part::Train, _) => 0,
        (Part::Validation, _) => 1,
        (Part::Test, files) => files - 1,
    };
    let mut assigned = parts.iter();
    let tally = corpus.for_each_of(&options.text, |mut document: Document<'_>| {
        // The second reading passes over what the first passed over.
        if let Some(&part) = assigned.next() {
            // Two files are the parts themselves; beside a validation part each document says where it belongs.
            document.part = (args.output.len() != 2).then_some(part);
            writers[place(part)].write(&document)?;
        }
        Ok(())
    })?;
    if tally.skipped.count > 0 {
        tracing::warn!("{}", flags(&tally.skipped.to_string()));
    }
    for writer in writers {
        writer.finish()?;
    }
    say_left_out(&corpus, &options.text);
    let mut rows = Rows::new(["part", "documents", "labels", "file"]);
    for part in [Part::Train, Part::Validation, Part::Test] {
        let of_part: Vec<usize> = (0..parts.len()).filter(|&row| parts[row] == part).collect();
        if of_part.is_empty() {
            continue;
        }
        let mut labels: Vec<u32> = of_part.iter().flat_map(|&r| counted.assignments.row_indices(r)).copied().collect();
        labels.sort_unstable();
        labels.dedup();
        let file = args.output[place(part)].display().to_string();
        let name = serde_json::to_value(part)?.as_str().unwrap_or_default().to_owned();
        rows.push([name, grouped(of_part.len() as u64), grouped(labels.len() as u64), file]);
    }
    print_rows(&rows, Format::Table, global)
}

/// The group of each document.
fn groups(corpus: &tamis::corpus::Corpus, field: &str) -> anyhow::Result<Vec<String>> {
    let mut groups = Vec::new();
    let mut missing = 0;
    corpus.for_each_of(&reading(&[field.to_owned()])?, |document| {
        let group = document.body.field(field).unwrap_or_default();
        missing += usize::from(group.is_empty());
        // A document without a group is one of its own.
        groups.push(if group.is_empty() { format!("\0{}", document.id) } else { group.to_owned() });
        Ok(())
    })?;
    if missing == groups.len() {
        bail!("no document has the field {field:?} that --group names");
    }
    if missing > 0 {
        tracing::warn!("{missing} documents have no {field:?}: each is a group of its own");
    }
    Ok(groups)
}
