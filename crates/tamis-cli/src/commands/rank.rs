//! `tamis rank`: the words that matter, by any selector.

use std::borrow::Cow;
use std::io::Write;
use std::ops::Deref;

use anyhow::bail;
use serde_json::{Value, json};
use tamis::counts::{Contingency, Counts, CountsFile};
use tamis::features::overlap::{self, Overlap, ResampleOptions};
use tamis::features::search::Budget;
use tamis::features::{Ranking, Selector};
use tamis::terms::TextOptions;

use crate::corpus_args::{CorpusArgs, TextArgs, counts};
use crate::global::Global;
use crate::output::{Format, Rows, print_json, print_rows, stdout, trimmed};

/// Rank terms by a selector, or compare several; accepts counts files in place of a corpus.
///
/// Selectors are named by expressions: chi2max, chi2max@5 (terms in more than five documents), lr(chi2max,chi2avg)@1,
/// wr(0.7*chi2max,0.3*ig), wfo(0.3), os(ib), sffs(ib). `tamis list selectors`, `combinations` and `searches` show them all. Where the corpus gives a split, only
/// its training documents count.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    corpus: CorpusArgs,
    #[command(flatten)]
    text: TextArgs,
    /// Selector expression; give several to compare them.
    #[arg(long, required = true, value_name = "EXPR", value_parser = str::parse::<Selector>)]
    by: Vec<Selector>,
    /// How many terms; all when not given (20 in tables). For a search, the size of the subset.
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// One list for each label.
    #[arg(long, conflicts_with = "resample")]
    per_label: bool,
    /// Rank again on N resamples of 80 % of the documents, and report how stable the selection is.
    #[arg(long, value_name = "N")]
    resample: Option<usize>,
    /// Stop a search after this many seconds and take the best subset so far.
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
    /// Stop a search after this many steps: swings of os, terms added or removed by the others.
    #[arg(long, value_name = "N")]
    swings: Option<u64>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A corpus with its documents, or only its counts.
enum Input {
    Documents(Box<Counts>),
    Counted,
}

const SIZES: [usize; 10] = [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000];

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let (input, table) = read(&args, global)?;
    if args.per_label {
        return per_label(&args, &table, global);
    }
    let mut rankings = Vec::new();
    for selector in &args.by {
        rankings.push(select(selector, &args, &table, global)?);
    }
    let shown = match (args.top, args.format) {
        (Some(top), _) => top,
        (None, Format::Table) => 20,
        (None, _) => usize::MAX,
    };
    for (selector, ranking) in args.by.iter().zip(&rankings) {
        if args.top.is_some_and(|top| top > ranking.len()) {
            tracing::warn!("{selector}: {shown} terms asked for, and there are {}: all are taken", ranking.len());
        }
    }
    if let Some(resamples) = args.resample {
        let Input::Documents(counts) = input else {
            bail!("--resample draws documents, and a counts file holds none; give the corpus instead");
        };
        return stability(&args, &counts, resamples, global);
    }
    match rankings.as_slice() {
        [ranking] => one(&args.by[0], ranking, &table, shown, args.format, global),
        several => compare(&args.by, several, &table, shown, args.format, global),
    }
}

/// A contingency whose terms can be read by people.
struct Table {
    counts: Contingency,
    text: TextOptions,
}

impl Deref for Table {
    type Target = Contingency;

    fn deref(&self) -> &Contingency {
        &self.counts
    }
}

impl Table {
    fn term(&self, term: u32) -> Cow<'_, str> {
        self.text.shown(self.vocabulary().name(term))
    }
}

fn read(args: &Args, global: &Global) -> anyhow::Result<(Input, Table)> {
    if let [path] = args.corpus.paths.as_slice()
        && CountsFile::is_one(path)
    {
        let CountsFile { text, contingency: counts, .. } = CountsFile::read(path)?;
        return Ok((Input::Counted, Table { counts, text }));
    }
    let corpus = args.corpus.open(global)?;
    let counts = counts(&corpus, args.text.counting(&corpus)?, global)?;
    let labels_needed = || args.per_label || args.by.iter().any(Selector::needs_labels);
    if counts.labels.is_empty() && labels_needed() {
        return Err(corpus.no_labels().into());
    }
    let training = counts.training();
    if training.len() < counts.len() {
        tracing::info!("ranked on the {} training documents of {}", training.len(), counts.len());
    }
    let table = Table { counts: Contingency::of_rows(&counts, &training), text: (*counts.text).clone() };
    Ok((Input::Documents(Box::new(counts)), table))
}

fn select(selector: &Selector, args: &Args, table: &Contingency, global: &Global) -> anyhow::Result<Ranking> {
    if selector.as_search().is_none() {
        return Ok(selector.rank(table)?);
    }
    let Some(top) = args.top else {
        bail!("{selector} searches for the best subset of a size: say which with --top N");
    };
    let budget = Budget { seconds: args.seconds, steps: args.swings };
    let (ranking, found) = selector.subset(table, top, &budget, &global.progress())?;
    if let Some(found) = found {
        tracing::info!(
            "{selector}: criterion {:.6} after {} steps, {} subsets compared, {:.2} s ({:?})",
            found.value,
            found.steps,
            found.evaluations,
            found.seconds,
            found.ended
        );
    }
    Ok(ranking)
}

/// The place of a term in a list: rank, term, score, df, and the label it speaks for with its cell.
fn entry(table: &Table, ranking: &Ranking, at: usize, label: Option<u32>) -> Value {
    let term = ranking.terms()[at];
    let mut entry = json!({
        "rank": at + 1,
        "term": table.term(term),
        "score": ranking.scores()[at],
        "df": table.df()[term as usize],
    });
    if let Some(label) = label.or_else(|| ranking.speaks_for(at, table)) {
        let cell = table.cell(term, label);
        entry["label"] = json!(table.labels().name(label));
        for (name, count) in [("a", cell.a), ("b", cell.b), ("c", cell.c), ("d", cell.d)] {
            entry[name] = json!(count as u64);
        }
    }
    entry
}

const COLUMNS: [&str; 9] = ["rank", "term", "score", "df", "label", "a", "b", "c", "d"];

/// Rows of entries; columns that no entry has are left out.
fn rows(entries: &[Value], format: Format) -> Rows {
    let columns: Vec<&str> = COLUMNS
        .into_iter()
        .enumerate()
        .filter(|(i, c)| *i < 4 || entries.iter().any(|e| !e[*c].is_null()))
        .map(|(_, c)| c)
        .collect();
    let mut rows = Rows::new(columns.iter().copied());
    for entry in entries {
        rows.push(columns.iter().map(|column| match &entry[*column] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            Value::Number(number) if *column == "score" => score(number.as_f64().unwrap_or(0.0), format),
            value => value.to_string(),
        }));
    }
    rows
}

/// Every digit for programs, enough for people.
fn score(value: f64, format: Format) -> String {
    if format == Format::Table { tamis::report::short(value) } else { value.to_string() }
}

fn one(
    selector: &Selector,
    ranking: &Ranking,
    table: &Table,
    shown: usize,
    format: Format,
    global: &Global,
) -> anyhow::Result<()> {
    let entries: Vec<Value> = (0..ranking.len().min(shown)).map(|at| entry(table, ranking, at, None)).collect();
    match format {
        Format::Json => print_json(&json!({ "by": selector.to_string(), "terms": entries })),
        _ => print_rows(&rows(&entries, format), format, global),
    }
}

fn per_label(args: &Args, table: &Table, global: &Global) -> anyhow::Result<()> {
    let [selector] = args.by.as_slice() else { bail!("--per-label takes one --by") };
    let top = args.top.unwrap_or(if args.format == Format::Table { 10 } else { usize::MAX });
    let rankings = selector.rank_per_label(table, top)?;
    let lists = rankings.iter().enumerate().map(|(label, ranking)| {
        let entries: Vec<Value> = (0..ranking.len()).map(|at| entry(table, ranking, at, Some(label as u32))).collect();
        (table.labels().name(label as u32), entries)
    });
    match args.format {
        Format::Json => {
            let labels: Vec<Value> = lists.map(|(label, terms)| json!({ "label": label, "terms": terms })).collect();
            print_json(&json!({ "by": selector.to_string(), "labels": labels }))
        }
        Format::Tsv => {
            print_rows(&rows(&lists.flat_map(|(_, e)| e).collect::<Vec<_>>(), args.format), args.format, global)
        }
        Format::Table => {
            let mut out = stdout();
            for (label, entries) in lists {
                writeln!(out, "{label}\n{}\n", trimmed(&rows(&entries, args.format).table(global)))?;
            }
            out.flush()?;
            Ok(())
        }
    }
}

fn compare(
    selectors: &[Selector],
    rankings: &[Ranking],
    table: &Table,
    shown: usize,
    format: Format,
    global: &Global,
) -> anyhow::Result<()> {
    let longest = rankings.iter().map(Ranking::len).max().unwrap_or(0);
    let sizes: Vec<usize> = SIZES.into_iter().filter(|&s| s < longest).chain([longest]).collect();
    let mut pairs = Vec::new();
    for (i, first) in rankings.iter().enumerate() {
        for (j, second) in rankings.iter().enumerate().skip(i + 1) {
            pairs.push((i, j, overlap::of_rankings(first, second, &sizes)));
        }
    }
    if format == Format::Json {
        let lists: Vec<Value> = selectors
            .iter()
            .zip(rankings)
            .map(|(selector, ranking)| {
                let terms: Vec<Value> =
                    (0..ranking.len().min(shown)).map(|at| entry(table, ranking, at, None)).collect();
                json!({ "by": selector.to_string(), "terms": terms })
            })
            .collect();
        let overlaps: Vec<Value> = pairs
            .iter()
            .flat_map(|(i, j, by_size)| by_size.iter().map(move |o| (i, j, o)))
            .map(|(&i, &j, o)| {
                json!({ "a": selectors[i].to_string(), "b": selectors[j].to_string(),
                        "size": o.size, "jaccard": o.jaccard, "kuncheva": o.kuncheva })
            })
            .collect();
        return print_json(&json!({ "rankings": lists, "overlap": overlaps }));
    }
    let mut side_by_side = Rows::new(
        std::iter::once("rank".to_owned()).chain(selectors.iter().flat_map(|s| [s.to_string(), "score".into()])),
    );
    for at in 0..longest.min(shown) {
        side_by_side.push(std::iter::once((at + 1).to_string()).chain(rankings.iter().flat_map(|ranking| {
            match ranking.terms().get(at) {
                Some(&term) => [table.term(term).into_owned(), score(ranking.scores()[at], format)],
                None => [String::new(), String::new()],
            }
        })));
    }
    if format == Format::Tsv {
        return print_rows(&side_by_side, format, global);
    }
    let mut out = stdout();
    writeln!(out, "{}\n", trimmed(&side_by_side.table(global)))?;
    for (i, j, by_size) in &pairs {
        let mut rows = Rows::new(["size", "Jaccard", "Kuncheva"]);
        for Overlap { size, jaccard, kuncheva } in by_size {
            rows.push([size.to_string(), format!("{jaccard:.3}"), format!("{kuncheva:.3}")]);
        }
        writeln!(out, "Overlap of {} and {}\n{}\n", selectors[*i], selectors[*j], trimmed(&rows.table(global)))?;
    }
    out.flush()?;
    Ok(())
}

fn stability(args: &Args, counts: &Counts, resamples: usize, global: &Global) -> anyhow::Result<()> {
    let options = ResampleOptions { resamples, seed: global.seed(), ..ResampleOptions::default() };
    let rows_of = counts.training();
    let mut rows = Rows::new(["selector", "size", "Jaccard", "Kuncheva"]);
    let mut values = Vec::new();
    for selector in &args.by {
        let rankings = overlap::resample(selector, counts, &rows_of, &options, &global.progress())?;
        let longest = rankings.iter().map(Ranking::len).max().unwrap_or(0);
        let sizes: Vec<usize> = match args.top {
            Some(top) => vec![top],
            None => SIZES.into_iter().filter(|&s| s < longest).collect(),
        };
        for o in overlap::mean_of_pairs(&rankings, &sizes) {
            rows.push([
                selector.to_string(),
                o.size.to_string(),
                format!("{:.4}", o.jaccard),
                format!("{:.4}", o.kuncheva),
            ]);
            values.push(
                json!({ "by": selector.to_string(), "size": o.size, "jaccard": o.jaccard, "kuncheva": o.kuncheva }),
            );
        }
    }
    match args.format {
        Format::Json => print_json(&json!({ "resamples": resamples, "stability": values })),
        format => print_rows(&rows, format, global),
    }
}
