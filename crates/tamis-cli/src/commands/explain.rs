//! `tamis explain`: why a label, in words.

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use serde_json::json;
use tamis::corpus::{Body, Document, Format as CorpusFormat, Which};
use tamis::model::{How, Model, Span, WhyAsked, marked};
use tamis::terms::TextOptions;

use crate::corpus_args::{ReadArgs, reading_for};
use crate::global::Global;
use crate::output::{Format, Rows, print_json, stdout, trimmed, visible};

/// Show which words speak for and against labels: of the whole model, of one label, or for one document.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Model file.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// A text (a JSON object with the fields where the model reads fields), `-` for standard input, or a corpus of any format, of
    /// which --id or --number chooses a document; without it, the
    /// model itself is explained.
    #[arg(value_name = "DOC")]
    document: Option<PathBuf>,
    /// The text itself, instead of DOC.
    #[arg(long, value_name = "TEXT", conflicts_with = "document")]
    text: Option<String>,
    /// The document of a corpus by its id.
    #[arg(long, value_name = "ID", requires = "document", conflicts_with = "number")]
    id: Option<String>,
    /// The document of a corpus by its place, counted from 1.
    #[arg(long, value_name = "N", requires = "document", value_parser = clap::value_parser!(u64).range(1..))]
    number: Option<u64>,
    #[command(flatten)]
    read: ReadArgs,
    /// The label to explain; all decided ones (of a document) or all labels (of a model) when not given.
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// Words shown for each label.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// With --format json: also where in the text, or in the texts of the fields, the words are. Tables always mark the text.
    #[arg(long)]
    spans: bool,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let model = Model::read(&args.model)?;
    let label = args.label.as_ref().map(|name| model.find_label(name)).transpose()?;
    match (&args.document, &args.text) {
        (Some(path), _) => {
            let Document { id, body, .. } = chosen(&model, path, &args, global)?;
            let id = (args.id.is_some() || args.number.is_some()).then_some(id);
            document(&model, id, body, path, label, &args, global)
        }
        (None, Some(text)) => {
            let body = Body::Text(text.clone().into());
            document(&model, None, body, Path::new("--text"), label, &args, global)
        }
        (None, None) => whole(&model, label, &args, global),
    }
}

/// Why a document has its labels.
fn document(
    model: &Model,
    id: Option<Cow<'_, str>>,
    body: Body<'_>,
    path: &Path,
    label: Option<u32>,
    args: &Args,
    global: &Global,
) -> anyhow::Result<()> {
    let body = match body {
        Body::Text(text) if model.text.has_fields() => fields(model, &text, path)?,
        body => body,
    };
    let how = How {
        reasons: Some(WhyAsked { label, top: args.top, spans: args.spans || args.format == Format::Table }),
        ..How::default()
    };
    let answer = model.labeller().answer(id, &body, &how);
    if !answer.known {
        tracing::warn!("the model knows none of the words; what it says is not about this text");
    }
    if args.format == Format::Json {
        return print_json(&answer);
    }
    let mut listed = Listed::new(args.format, global);
    for reason in answer.reasons.iter().flatten() {
        let score = reason.score.map_or(String::new(), |s| format!("  score {s:.4}"));
        let threshold = reason.threshold.map_or(String::new(), |t| format!(", threshold {t:.4}"));
        // Where the score is a probability, or made of some, words add up to what is behind it.
        let apart = reason.sum.zip(reason.score).filter(|(sum, score)| (sum - score).abs() > 1e-6);
        let behind = apart.map_or(String::new(), |(sum, _)| format!(", from words that sum to {sum:.4}"));
        let votes = reason.neighbours.iter().flatten().map(|n| ("document", n.document.to_owned(), n.adds));
        let words = reason.words.iter().map(|w| ("word", w.word.to_string(), w.adds));
        listed.add(reason.label, &format!("{score}{behind}{threshold}"), votes.chain(words).collect())?;
        if args.format == Format::Table {
            listed.reading(&body, &Span::summed(reason.spans.as_deref().unwrap_or_default()))?;
        }
    }
    listed.finish()
}

/// The texts of a JSON object that the model reads.
fn fields(model: &Model, text: &str, path: &Path) -> anyhow::Result<Body<'static>> {
    let names = model.text.fields();
    let wanted = || format!("the model reads fields: give a JSON object with {}", names.join(", "));
    let mut object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text)
        .map_err(|e| tamis::Error::malformed_file(path, format!("this is no JSON object ({e}); {}", wanted())))?;
    let there: Vec<String> = object.keys().cloned().collect();
    let mut texts = Vec::new();
    for &name in &names {
        match object.remove(name) {
            Some(serde_json::Value::String(text)) => texts.push((name.to_owned().into(), text.into())),
            None | Some(serde_json::Value::Null) => {}
            Some(other) => {
                let reason = format!("the field {name} is no text but {other}");
                return Err(tamis::Error::malformed_file(path, reason).into());
            }
        }
    }
    if texts.is_empty() {
        let reason = format!("it has none of the fields of the model; {}; there are {}", wanted(), there.join(", "));
        return Err(tamis::Error::malformed_file(path, reason).into());
    }
    Ok(Body::Fields(texts))
}

/// The words with the largest weights, for and against.
fn whole(model: &Model, label: Option<u32>, args: &Args, global: &Global) -> anyhow::Result<()> {
    let labels = label.map_or_else(|| (0..model.labels.len() as u32).collect(), |l| vec![l]);
    let words = model.label_words(&labels, args.top)?;
    let words = words.into_iter().map(|list| list.largest(args.top));
    let named = labels.iter().map(|&l| model.labels.name(l)).zip(words);
    if args.format == Format::Json {
        let word = |(feature, adds): (u32, f64)| json!({ "word": model.word(feature), "adds": adds });
        let entry = |(label, words): (&str, Vec<(u32, f64)>)| json!({ "label": label, "words": words.into_iter().map(word).collect::<Vec<_>>() });
        return print_json(&named.map(entry).collect::<Vec<_>>());
    }
    let mut listed = Listed::new(args.format, global);
    for (label, words) in named {
        let voice = |(feature, adds): (u32, f64)| ("word", model.word(feature).to_owned(), adds);
        listed.add(label, "", words.into_iter().map(voice).collect())?;
    }
    listed.finish()
}

/// The document that is asked about. What is no corpus by its name is a text.
fn chosen(model: &Model, path: &Path, args: &Args, global: &Global) -> anyhow::Result<Document<'static>> {
    let mut options = args.read.options(global.seed());
    let which = match (&args.id, args.number) {
        (Some(id), _) => Which::Id(id.clone()),
        (None, Some(number)) => Which::Number(number),
        (None, None) => Which::Only,
    };
    let is_text = which == Which::Only
        && CorpusFormat::of_path(path).is_none_or(|format| format == CorpusFormat::Text)
        && !path.is_dir()
        && !path.to_string_lossy().starts_with("synth:");
    if options.from.is_none() && is_text {
        options.from = Some(CorpusFormat::Text);
    }
    if is_text && path != Path::new("-") && !path.exists() {
        let (name, model) = (path.display(), args.model.display());
        bail!("{name}: No such file; for a text itself: tamis explain {model} --text '…'");
    }
    let paths = [path.to_owned()];
    let options = reading_for(model, &paths, options)?;
    let corpus = tamis::corpus::open(&paths, &options)?;
    // A text that is an object with fields is taken apart by whoever asked.
    let whole_text = TextOptions::default();
    let is_object = options.from == Some(CorpusFormat::Text) && model.text.has_fields();
    Ok(corpus.document(&which, if is_object { &whole_text } else { &model.text })?)
}

/// So many characters of a text are shown with marks.
const MOST_SHOWN: usize = 4000;

/// Words under their labels: a table for each, or lines of one.
struct Listed<'g> {
    out: std::io::BufWriter<std::io::StdoutLock<'static>>,
    lines: Rows,
    format: Format,
    global: &'g Global,
}

impl<'g> Listed<'g> {
    fn new(format: Format, global: &'g Global) -> Self {
        Self { out: stdout(), lines: Rows::new(["label", "kind", "name", "adds"]), format, global }
    }

    /// What speaks for and against a label: documents that voted, words, and what they add.
    fn add(&mut self, label: &str, remark: &str, voices: Vec<(&str, String, f64)>) -> anyhow::Result<()> {
        if self.format == Format::Tsv {
            for (kind, name, adds) in voices {
                self.lines.push([label.to_owned(), kind.to_owned(), name, adds.to_string()]);
            }
            return Ok(());
        }
        writeln!(self.out, "{}{remark}", visible(label, &[]))?;
        for same in voices.chunk_by(|a, b| a.0 == b.0) {
            let mut rows = Rows::new([if same[0].0 == "word" { "word" } else { "training document" }, "adds"]);
            same.iter().for_each(|(_, name, adds)| rows.push([name.clone(), tamis::report::short(*adds)]));
            writeln!(self.out, "{}\n", trimmed(&rows.table(self.global)))?;
        }
        Ok(())
    }

    /// The document with marks: what overlapping terms add is summed.
    fn reading(&mut self, body: &Body<'_>, spans: &[Span<'_>]) -> anyhow::Result<()> {
        let largest = spans.iter().map(|span| span.adds.abs()).fold(0.0, f64::max);
        for same in spans.chunk_by(|a, b| a.field == b.field) {
            let Some(text) = same[0].text_in(body) else { continue };
            let until = text.char_indices().nth(MOST_SHOWN).map_or(text.len(), |(at, _)| at);
            let shown: Vec<Span<'_>> = same.iter().filter(|span| span.end <= MOST_SHOWN).cloned().collect();
            if let Some(field) = same[0].field {
                writeln!(self.out, "{field}:")?;
            }
            for (piece, adds) in marked(&text[..until], &shown) {
                let share = adds.map_or(0.0, |adds| adds / largest);
                self.out.write_all(self.mark(piece, share).as_bytes())?;
            }
            writeln!(self.out, "{}\n", if until < text.len() { " …" } else { "" })?;
        }
        Ok(())
    }

    /// A piece of text as its share of the largest mark has it: in colours green and red, bold above a half; else in brackets
    /// with one sign or two.
    fn mark(&self, piece: &str, share: f64) -> String {
        // Fainter marks would hide the others.
        if share.abs() < 0.1 {
            return piece.to_owned();
        }
        let strong = share.abs() > 0.5;
        if self.global.colors_on_stdout() {
            let (weight, colour) = (if strong { "1;" } else { "" }, if share > 0.0 { 32 } else { 31 });
            return format!("\u{1b}[{weight}{colour}m{piece}\u{1b}[0m");
        }
        let sign = if share > 0.0 { "+" } else { "-" };
        format!("[{}{piece}]", sign.repeat(1 + usize::from(strong)))
    }

    fn finish(mut self) -> anyhow::Result<()> {
        if self.format == Format::Tsv {
            self.lines.write_tsv(&mut self.out)?;
        }
        self.out.flush()?;
        Ok(())
    }
}
