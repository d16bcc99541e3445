//! How commands are given a corpus, and how its text becomes terms.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::{ArgAction, Args};
use tamis::corpus::{
    Batches, Corpus, DateOrder, Encoding, Fields, Format, Glance, OnError, ReadOptions, ReutersLabels, ReutersOptions,
    ReutersSplit, ReviewLabels, Unused, Values,
};
use tamis::counts::{Contingency, CountOptions, CountReport, Counted, Counts, Vocabulary};
use tamis::model::Model;
use tamis::terms::{Block, Digits, Html, StopWords, TextChoices, TextOptions, Unit, Words};

use crate::columns::Labels;
use crate::global::Global;
use crate::output::flags;
use crate::{columns, settings};

/// A corpus on the command line.
#[derive(Debug, Clone, Args)]
pub(crate) struct CorpusArgs {
    /// Files or folders of one corpus, `-` for standard input, or `synth:topics[:N]` and `synth:rcv1[:N]` for the
    /// built-in ones.
    #[arg(required = true, value_name = "CORPUS")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

/// How a corpus is read.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadArgs {
    /// Format of the corpus; told from name and content when not given (`tamis list formats`).
    #[arg(long, value_name = "FORMAT", value_parser = str::parse::<Format>)]
    pub(crate) from: Option<Format>,
    /// Plain text with a document in each line; short for --from lines.
    #[arg(long, conflicts_with = "from")]
    lines: bool,
    /// Encoding of the text, such as latin1; UTF-8 when not given.
    #[arg(long, value_name = "NAME", value_parser = str::parse::<Encoding>)]
    encoding: Option<Encoding>,
    /// What a malformed record does: stop or skip.
    #[arg(long, value_name = "stop|skip", default_value_t, value_parser = str::parse::<OnError>)]
    on_error: OnError,
    /// Longest record allowed.
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = size)]
    max_record: usize,
    /// Field or column of the id.
    #[arg(long, value_name = "NAME")]
    id_field: Option<String>,
    /// Field or column of the text.
    #[arg(long, value_name = "NAME")]
    text_field: Option<String>,
    /// Field of ready tokens.
    #[arg(long, value_name = "NAME")]
    tokens_field: Option<String>,
    /// Field or column of the labels.
    #[arg(long, value_name = "NAME")]
    labels_field: Option<String>,
    /// Field or column that says train or test.
    #[arg(long, value_name = "NAME")]
    split_field: Option<String>,
    /// Field or column of the date.
    #[arg(long, value_name = "NAME")]
    date_field: Option<String>,
    /// Field or column of how often a document counts when a classifier learns: a number, 0 or more.
    #[arg(long, value_name = "NAME")]
    weight_field: Option<String>,
    /// What separates labels in a column.
    #[arg(long, value_name = "TEXT", default_value = ";")]
    label_separator: String,
    /// Whether quotes enclose fields of CSV and TSV files; with false they are characters like others.
    #[arg(long, value_name = "true|false", default_value_t = true, action = ArgAction::Set)]
    quotes: bool,
    /// What stands between fields of CSV and TSV files: a character, or tab; told from the first rows when not given.
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<char>,
    /// Names of the columns of a CSV or TSV file without a header, such as text,label; an empty name is a column to pass over.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Vec<String>,
    /// What comes first in dates such as 05/06/2024: auto, day-first or month-first.
    #[arg(long, value_name = "ORDER", default_value_t, value_parser = str::parse::<DateOrder>)]
    dates: DateOrder,
    /// What labels begin with in fastText lines.
    #[arg(long, value_name = "TEXT", default_value = "__label__")]
    label_prefix: String,
    /// What svmlight values mean: auto, counts, presence, ltc (counts are recovered from normalised log-tf·idf) or weights.
    #[arg(long, value_name = "MEANING", default_value_t, value_parser = str::parse::<Values>)]
    values: Values,
    /// Topics of RCV1-v2 token files; all *.qrels beside them when not given.
    #[arg(long, value_name = "FILE")]
    qrels: Option<PathBuf>,
    /// Reuters-21578: modapte, modlewis or none.
    #[arg(long, value_name = "SPLIT", default_value_t, value_parser = str::parse::<ReutersSplit>)]
    reuters_split: ReutersSplit,
    /// Reuters-21578: topics, places, people, orgs or exchanges.
    #[arg(long, value_name = "SET", default_value_t, value_parser = str::parse::<ReutersLabels>)]
    reuters_labels: ReutersLabels,
    /// Reuters-21578: keep or drop stories that are in neither part of the split.
    #[arg(long, value_name = "keep|drop", default_value_t, value_parser = str::parse::<Unused>)]
    reuters_unused: Unused,
    /// Reviews: polarity or stars.
    #[arg(long, value_name = "LABEL", default_value_t, value_parser = str::parse::<ReviewLabels>)]
    review_labels: ReviewLabels,
}

impl ReadArgs {
    pub(crate) fn options(&self, seed: u64) -> ReadOptions {
        ReadOptions {
            from: if self.lines { Some(Format::Lines) } else { self.from },
            prose: false,
            encoding: self.encoding,
            on_error: self.on_error,
            max_record_bytes: self.max_record,
            fields: Fields {
                id: self.id_field.clone(),
                text: self.text_field.clone(),
                tokens: self.tokens_field.clone(),
                labels: self.labels_field.clone(),
                split: self.split_field.clone(),
                date: self.date_field.clone(),
                date_order: self.dates,
                weight: self.weight_field.clone(),
                ..Fields::default()
            },
            label_separator: self.label_separator.clone(),
            quotes: self.quotes,
            delimiter: self.delimiter,
            columns: self.columns.clone(),
            label_prefix: self.label_prefix.clone(),
            values: self.values,
            qrels: self.qrels.clone(),
            reuters: ReutersOptions {
                labels: self.reuters_labels,
                split: self.reuters_split,
                unused: self.reuters_unused,
            },
            review_labels: self.review_labels,
            seed,
        }
    }
}

impl CorpusArgs {
    /// Finds and recognises the corpus.
    pub(crate) fn open(&self, global: &Global) -> tamis::Result<Corpus> {
        open(&self.paths, &self.read, global)
    }
}

/// Refuses outputs that are an input, or the same file twice: what is read must not be lost.
pub(crate) fn keep_apart(inputs: &[&Path], outputs: &[&Path]) -> tamis::Result<()> {
    // A file that is not there yet is told by its folder and name.
    let place = |path: &Path| {
        let folder = || path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let whole = || Some(folder().canonicalize().ok()?.join(path.file_name()?));
        path.canonicalize().ok().or_else(whole).unwrap_or_else(|| path.to_owned())
    };
    let real = |path: &&&Path| path.as_os_str() != "-";
    let read: Vec<PathBuf> = inputs.iter().filter(real).map(|path| place(path)).collect();
    let mut written = Vec::new();
    for output in outputs.iter().filter(real) {
        let here = place(output);
        // Devices take what they are given.
        if std::fs::metadata(&here).is_ok_and(|data| !data.is_file() && !data.is_dir()) {
            continue;
        }
        let reason = if read.contains(&here) {
            "this would be written over what is read; name another file"
        } else if written.contains(&here) {
            "this would be written twice; name another file"
        } else {
            written.push(here);
            continue;
        };
        return Err(tamis::Error::malformed_file(output, reason));
    }
    Ok(())
}

/// Finds and recognises a corpus.
pub(crate) fn open(paths: &[PathBuf], read: &ReadArgs, global: &Global) -> tamis::Result<Corpus> {
    let mut options = read.options(global.seed());
    settings::apply(paths, &mut options, Labels::Read)?;
    columns::settle(paths, &mut options, Labels::Read)?;
    tamis::corpus::open(paths, &options)
}

/// How documents are read that a model is asked about: their labels, if they have some, are not looked for. What is said in `options` holds; a
/// model of fields reads these by their names.
pub(crate) fn reading_for(model: &Model, paths: &[PathBuf], mut options: ReadOptions) -> tamis::Result<ReadOptions> {
    settings::apply(paths, &mut options, Labels::Unread)?;
    if !model.text.has_fields() {
        columns::settle(paths, &mut options, Labels::Unread)?;
    }
    Ok(options)
}

/// How text becomes terms.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Text")]
pub(crate) struct TextArgs {
    /// What a term is, such as words(1-2)+chars(3-5) or title:words+body:words(1-2,stem=english) (docs/terms.md). The options
    /// below are shorthand for it; with it, they hold for blocks that do not say otherwise.
    #[arg(long, value_name = "EXPR")]
    terms: Option<String>,
    /// What a word is: scripts (as each script has them), unicode (UAX 29), letters ([A-Za-z]+) or blanks (what stands between
    /// blanks).
    #[arg(long, value_name = "KIND", value_parser = str::parse::<Words>)]
    words: Option<Words>,
    /// Keep upper and lower case apart.
    #[arg(long)]
    keep_case: bool,
    /// Shortest word, in characters; 2 when not given, and any for character n-grams.
    #[arg(long, value_name = "N")]
    min_length: Option<usize>,
    /// Longest word, in characters; 40 when not given, and any for character n-grams.
    #[arg(long, value_name = "N")]
    max_length: Option<usize>,
    /// Digits: keep, fold (all become 0), numbers (drop words without a letter), drop (drop words with a digit).
    #[arg(long, value_name = "POLICY", value_parser = str::parse::<Digits>)]
    digits: Option<Digits>,
    /// Words to leave out: a language, such as english, or a file with a word in each line.
    #[arg(long, value_name = "LANGUAGE|FILE")]
    stop_words: Option<String>,
    /// Snowball stemming for a language, such as english.
    #[arg(long, value_name = "LANGUAGE")]
    stem: Option<String>,
    /// Stop words and stemming of a language; auto recognises it from the first documents, and says what it took.
    #[arg(long, value_name = "LANGUAGE|auto")]
    language: Option<String>,
    /// Word n-grams of 1 to N words.
    #[arg(long, value_name = "N")]
    ngrams: Option<usize>,
    /// Character n-grams instead of words, such as 3-5.
    #[arg(long, value_name = "LOW-HIGH", value_parser = range)]
    char_ngrams: Option<(usize, usize)>,
    /// HTML in texts: keep, or strip, which takes tags off and reads entities. A model does the same when it labels.
    #[arg(long, value_name = "keep|strip", value_parser = str::parse::<Html>)]
    html: Option<Html>,
    /// Count only the terms of this file, one in each line, as they are shown: `new york`, and where there are several blocks of
    /// terms `title:york` or `‹yor›`; a word without its block is meant in all of them. The terms are then as many words long as the longest of the list, unless said otherwise.
    #[arg(long, value_name = "FILE")]
    vocabulary: Option<PathBuf>,
    /// Leave out terms that occur in fewer documents to learn from, before they take memory.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    min_df: u32,
    /// About how much memory the counts may take. Where documents are kept (fit, rank, inspect), more is an error that says
    /// what is needed; `tamis count` keeps none, and beyond the bound prunes rare terms.
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = size)]
    memory: usize,
}

impl TextArgs {
    /// What was said about terms.
    pub(crate) fn choices(&self) -> TextChoices {
        TextChoices {
            terms: self.terms.clone(),
            words: self.words,
            lowercase: self.keep_case.then_some(false),
            min_length: self.min_length,
            max_length: self.max_length,
            digits: self.digits,
            stop_words: self.stop_words.clone().map(StopWords::Named),
            stem: self.stem.clone(),
            ngrams: self.ngrams,
            char_ngrams: self.char_ngrams,
            language: self.language.clone(),
            html: self.html,
        }
    }

    /// The corpus, about to be counted as these options say.
    pub(crate) fn counting(&self, corpus: &Corpus) -> anyhow::Result<Counting> {
        self.counting_by(corpus, 0, |choices, glance| choices.with_language_of(glance)?.options())
    }

    /// The same with terms that somebody decides about who knows how the corpus begins, and whether its texts have no more than
    /// so many bytes.
    pub(crate) fn counting_by(
        &self,
        corpus: &Corpus,
        bytes: usize,
        decide: impl FnOnce(&TextChoices, &Glance) -> tamis::Result<TextOptions>,
    ) -> anyhow::Result<Counting> {
        let words = self.vocabulary.as_ref().map(|file| self::words(file)).transpose()?;
        let mut choices = self.choices();
        if let (Some(words), None, None, None) = (&words, &choices.terms, choices.ngrams, choices.char_ngrams) {
            // Whoever names the terms has said what they are: as many words as the longest of them has.
            let longest = words.iter().map(|word| word.split_whitespace().count()).max();
            choices.ngrams = longest.map(|n| n.clamp(1, Block::longest(Unit::Words)));
        }
        // Which fields are read does not depend on the language.
        let fields = TextChoices { language: choices.language.clone().filter(|l| l != "auto"), ..choices.clone() };
        let source = corpus.batches_for(&fields.options()?)?;
        let (source, glance) = if bytes == 0 { Glance::of(source)? } else { Glance::measured(source, bytes)? };
        let text = decide(&choices, &glance)?;
        if let Some(language) = choices.language_of(&glance)? {
            let changed = text.blocks().iter().any(|block| block.stem.is_some() || block.stop.is_some());
            let remark = if changed { "" } else { ", for which there are neither stop words nor a stemmer" };
            tracing::warn!("the documents are {language}{remark}: terms are {text}");
        }
        let vocabulary = words.map(|words| Arc::new(Vocabulary::new(words.iter().flat_map(|word| text.meant(word)))));
        Ok(Counting { source, options: CountOptions { text, memory: self.memory, vocabulary, min_df: self.min_df } })
    }
}

/// The words of a list, one in each line.
fn words(file: &Path) -> anyhow::Result<Vec<String>> {
    let text = tamis::whole::read_text(file, "a vocabulary", tamis::whole::MAX_WORDS)?;
    let words: Vec<String> = text.lines().map(str::trim).filter(|l| !l.is_empty()).map(str::to_owned).collect();
    if words.is_empty() {
        bail!("{}: no term; a vocabulary has one in each line", file.display());
    }
    Ok(words)
}

/// A corpus about to be counted, and how.
pub(crate) struct Counting {
    source: Box<dyn Batches>,
    pub(crate) options: CountOptions,
}

fn delimiter(text: &str) -> anyhow::Result<char> {
    let mut characters = text.chars();
    match (text, characters.next(), characters.next()) {
        ("tab" | "\\t", ..) => Ok('\t'),
        (_, Some(one), None) => Ok(one),
        _ => bail!("{text:?} is not one character, such as ; or tab"),
    }
}

fn range(text: &str) -> anyhow::Result<(usize, usize)> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let number = |part: &str| part.trim().parse().with_context(|| format!("{text:?} is not a range such as 3-5"));
    Ok((number(low)?, number(high)?))
}

/// 64M, 4G, 100000.
pub(crate) fn size(text: &str) -> anyhow::Result<usize> {
    let text = text.trim().trim_end_matches(['B', 'b']).trim_end_matches('i');
    let (digits, shift) = match text.chars().last() {
        Some('k' | 'K') => (&text[..text.len() - 1], 10),
        Some('m' | 'M') => (&text[..text.len() - 1], 20),
        Some('g' | 'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number: f64 = digits.trim().parse().with_context(|| format!("{text:?} is not a size such as 512M or 4G"))?;
    if !(number > 0.0 && number.is_finite()) {
        bail!("a size must be above 0, such as 512M or 4G");
    }
    Ok((number * f64::from(1u32 << shift)) as usize)
}

/// Says on standard error what counting passed over.
pub(crate) fn tell(report: &CountReport) {
    if report.skipped.count > 0 {
        tracing::warn!("{}", flags(&report.skipped.to_string()));
    }
    let pruned = report.pruned;
    if pruned.rounds > 0 {
        tracing::warn!(
            "memory ran out {} time(s): {} rare terms were pruned, and counts of terms that came back may be short by \
             up to {} documents; raise --memory to keep all",
            pruned.rounds,
            pruned.terms,
            pruned.short_by
        );
    }
}

/// Counts a corpus, documents and all; a corpus without documents is an error.
pub(crate) fn counts(corpus: &Corpus, counting: Counting, global: &Global) -> anyhow::Result<Counts> {
    let (counts, report) = tamis::counts::count(counting.source, &counting.options, &global.progress())?;
    tell(&report);
    if counts.is_empty() {
        return Err(corpus.no_documents(&report.skipped).into());
    }
    if let Some(given) = counting.options.vocabulary.filter(|_| counts.matrix.entries() == 0) {
        let some: Vec<_> = given.iter().take(3).map(|term| counting.options.text.shown(term)).collect();
        bail!(
            "no document has any of the {} terms of the vocabulary ({} …); terms are {}: `tamis rank` shows how they are written",
            given.len(),
            some.join(", "),
            counting.options.text
        );
    }
    Ok(counts)
}

/// The same, for work that is meaningless without labels.
pub(crate) fn labelled_counts(corpus: &Corpus, counting: Counting, global: &Global) -> anyhow::Result<Counts> {
    let counts = counts(corpus, counting, global)?;
    if counts.labels.is_empty() {
        return Err(corpus.no_labels().into());
    }
    Ok(counts)
}

/// Counts a corpus of any size into a contingency.
pub(crate) fn contingency(
    corpus: &Corpus,
    counted: Counted,
    Counting { source, options }: Counting,
    global: &Global,
) -> anyhow::Result<(Contingency, CountReport)> {
    let (contingency, report) = tamis::counts::count_contingency(source, counted, &options, &global.progress())?;
    tell(&report);
    if contingency.documents() == 0 {
        return Err(corpus.no_documents(&report.skipped).into());
    }
    Ok((contingency, report))
}

/// How a corpus is read for its fields.
pub(crate) fn reading(fields: &[String]) -> tamis::Result<TextOptions> {
    if fields.is_empty() {
        return Ok(TextOptions::default());
    }
    let blocks: Vec<String> = fields.iter().map(|field| format!("{field}:words")).collect();
    blocks.join("+").parse()
}
