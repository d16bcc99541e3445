//! Reading a corpus: any format, any number of files, the same stream of batches.

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::annif::Annif;
use super::blocks::{Block, Blocks, FileContext, Lines, Parse, Parsed, Piece};
use super::csv::Csv;
use super::cut::Cut;
use super::detect::HEAD_BYTES;
use super::dialect::Dialect;
use super::fasttext::FastText;
use super::fields::some;
use super::folders::{self, Files};
use super::jsonl::{self, Jsonl};
use super::lyrl::{self, Lyrl, Qrels};
use super::reuters::{self, Reuters};
use super::review::{self, Reviews};
use super::source::Source;
use super::svmlight::{self, SvmLight};
use super::synth::{self, SynthOptions};
use super::text::{TextLines, WholeText};
use super::{Batch, Batches, Document, Format, OnError, ReadOptions, Skipped, Tally};
use crate::terms::TextOptions;
use crate::{Error, Result};

/// A corpus that was found, recognised and can be read, as often as needed unless it comes from standard input.
#[derive(Debug)]
pub struct Corpus {
    pub(super) origin: Origin,
}

/// Where the documents of a corpus come from.
pub(super) enum Origin {
    /// Files, folders, standard input.
    Files {
        files: Arc<Shared>,
        /// A stream that cannot be opened twice: its first bytes are already taken.
        once: Mutex<Option<Source>>,
    },
    /// The generator.
    BuiltIn { path: PathBuf, options: SynthOptions },
}

/// What a corpus of files and its readers share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) format: Format,
    /// As the user named them.
    pub(super) paths: Vec<PathBuf>,
    pub(super) files: Vec<FileContext>,
    /// Whether the only file is a stream.
    pub(super) stream: bool,
    pub(super) folders: Arc<folders::FolderFiles>,
    pub(super) qrels: Arc<Qrels>,
    pub(super) options: ReadOptions,
    /// Fields of the first documents of each file (JSONL), to name them where one is missed.
    pub(super) keys: Arc<Mutex<Vec<String>>>,
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files { files, .. } => write!(f, "{} {:?}", files.format, files.paths),
            Self::BuiltIn { options, .. } => write!(f, "{options:?}"),
        }
    }
}

/// What the corpus is, for people: its format, or that it is built in.
impl fmt::Display for Corpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Files { files, .. } => write!(f, "{}", files.format),
            Origin::BuiltIn { options, .. } => write!(f, "built-in ({})", options.shape),
        }
    }
}

impl Corpus {
    /// The format of its files; a built-in corpus has none.
    pub fn format(&self) -> Option<Format> {
        match &self.origin {
            Origin::Files { files, .. } => Some(files.format),
            Origin::BuiltIn { .. } => None,
        }
    }

    /// How it is generated, when it is built in.
    pub fn built_in(&self) -> Option<&SynthOptions> {
        match &self.origin {
            Origin::Files { .. } => None,
            Origin::BuiltIn { options, .. } => Some(options),
        }
    }

    /// Whether [`Corpus::batches`] can be called again.
    pub fn is_rereadable(&self) -> bool {
        !matches!(&self.origin, Origin::Files { files, .. } if files.stream)
    }

    /// The documents in batches, from the beginning. The batches know what a malformed record does
    /// ([`Batches::on_error`]).
    pub fn batches(&self) -> Result<Box<dyn Batches>> {
        self.batches_of(&[])
    }

    /// The same with the texts that terms are made of: only the fields that the expression names are read.
    pub fn batches_for(&self, text: &TextOptions) -> Result<Box<dyn Batches>> {
        self.batches_of(&if text.has_fields() { text.fields() } else { Vec::new() })
    }

    fn batches_of(&self, texts: &[&str]) -> Result<Box<dyn Batches>> {
        let (files, once) = match &self.origin {
            Origin::Files { files, once } => (files, once),
            Origin::BuiltIn { options, .. } => return synth::batches(options),
        };
        let once = once.lock().unwrap_or_else(PoisonError::into_inner).take();
        if files.stream && once.is_none() {
            let reason = "the stream was read already and cannot be read again; save it to a file first";
            return Err(Error::malformed_file(self.path(), reason));
        }
        let mut shared = Arc::clone(files);
        if !texts.is_empty() && !matches!(files.format, Format::Jsonl | Format::Csv | Format::Tsv | Format::Parquet) {
            let reason = format!(
                "{} has one text, and the fields {} are asked for; give JSONL, CSV, TSV or Parquet",
                files.format,
                texts.join(", ")
            );
            return Err(Error::malformed_file(self.path(), reason));
        }
        if !texts.is_empty() {
            Arc::make_mut(&mut shared).options.fields.texts = texts.iter().map(|&name| name.to_owned()).collect();
        }
        Ok(match files.format {
            Format::Annif if !shared.folders.documents.is_empty() => Box::new(FolderReader { shared, next: 0 }),
            Format::Folders | Format::Text if !files.stream => Box::new(FolderReader { shared, next: 0 }),
            _ => Box::new(FileReader { shared, once, next: 0, current: Current::None, keys: Vec::new() }),
        })
    }

    /// Hands every document to `each`, in order. A malformed record stops the walk or is counted, as
    /// [`ReadOptions::on_error`] says; a corpus without any document is an error.
    pub fn for_each(&self, each: impl FnMut(Document<'_>) -> Result<()>) -> Result<Tally> {
        self.walk(self.batches()?, each)
    }

    /// The same with the texts that terms are made of ([`Corpus::batches_for`]).
    pub fn for_each_of(&self, text: &TextOptions, each: impl FnMut(Document<'_>) -> Result<()>) -> Result<Tally> {
        self.walk(self.batches_for(text)?, each)
    }

    fn walk(&self, mut batches: Box<dyn Batches>, mut each: impl FnMut(Document<'_>) -> Result<()>) -> Result<Tally> {
        let mut tally = Tally::default();
        let mut failure = None;
        let on_error = batches.on_error();
        while let Some(batch) = batches.next_batch()? {
            batch.visit(&mut |document| {
                let done = document.map(|document| (!document.labels.is_empty(), document));
                let outcome = match done {
                    Ok((labelled, document)) => each(document).map(|()| {
                        tally.documents += 1;
                        tally.labelled += u64::from(labelled);
                    }),
                    Err(error) if on_error == OnError::Skip => {
                        tally.skipped.add(&error);
                        Ok(())
                    }
                    Err(error) => Err(error),
                };
                match outcome {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => {
                        failure = Some(error);
                        ControlFlow::Break(())
                    }
                }
            });
            if let Some(error) = failure {
                return Err(error);
            }
        }
        if tally.documents == 0 { Err(self.no_documents(&tally.skipped)) } else { Ok(tally) }
    }

    /// The error for a corpus in which no document was found.
    pub fn no_documents(&self, skipped: &Skipped) -> Error {
        let reason = match (skipped.first.first(), self.format()) {
            (Some(first), _) => format!("all {} records are malformed; the first: {first}", skipped.count),
            (None, Some(format)) => {
                format!(
                    "there is no document; is the format {format} right? Another one is given with the option `from`"
                )
            }
            (None, None) => "there is no document".to_owned(),
        };
        Error::malformed_file(self.path(), reason)
    }

    /// The error for a corpus in which no document has a label.
    pub fn no_labels(&self) -> Error {
        let hint = match self.format() {
            Some(Format::Jsonl) => return self.no_labels_field(),
            Some(Format::Csv | Format::Tsv | Format::Parquet) => "name their field with the option `labels_field`",
            Some(Format::Lyrl) => "give the topics with the option `qrels`",
            Some(Format::FastText) => "name what labels begin with by the option `label_prefix`",
            Some(Format::Text | Format::Lines) => {
                "plain text has none; give a folder for each label, or another format"
            }
            _ => "give a corpus with labels",
        };
        Error::malformed_file(self.path(), format!("no document has a label; {hint}"))
    }

    /// Fields or columns of the first documents, once they were read; none where documents have no names for what they hold.
    fn seen(&self) -> Vec<String> {
        match &self.origin {
            Origin::Files { files, .. } => files.keys.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            Origin::BuiltIn { .. } => Vec::new(),
        }
    }

    /// Those of them that documents for such terms do not hold, so that they are lost where documents are written again.
    pub fn left_out(&self, text: &TextOptions) -> Vec<String> {
        let Origin::Files { files, .. } = &self.origin else { return Vec::new() };
        let mut fields = files.options.fields.clone();
        fields.texts =
            if text.has_fields() { text.fields().into_iter().map(str::to_owned).collect() } else { Vec::new() };
        let read = fields.names();
        let is_read = |key: &String| read.iter().any(|(name, _)| name.eq_ignore_ascii_case(key));
        self.seen().into_iter().filter(|key| !is_read(key)).collect()
    }

    /// The same where documents have named fields: those of the first ones are listed.
    fn no_labels_field(&self) -> Error {
        let seen = self.seen();
        let fields = if seen.is_empty() { String::new() } else { format!("; the fields are {}", some(&seen)) };
        let reason = format!("no document has a label; name their field with the option `labels_field`{fields}");
        Error::malformed_file(self.path(), reason)
    }

    /// The first of its paths, as the user named it.
    pub(super) fn path(&self) -> &Path {
        match &self.origin {
            Origin::Files { files, .. } => files.paths.first().map_or(Path::new("corpus"), PathBuf::as_path),
            Origin::BuiltIn { path, .. } => path,
        }
    }
}

struct FolderReader {
    shared: Arc<Shared>,
    next: usize,
}

impl Batches for FolderReader {
    fn next_batch(&mut self) -> Result<Option<Box<dyn Batch>>> {
        Ok(Files::from(&self.shared.folders, self.next).map(|(batch, next)| {
            self.next = next;
            Box::new(batch) as Box<dyn Batch>
        }))
    }

    fn labels(&self) -> Option<usize> {
        Some(self.shared.folders.labels())
    }

    fn on_error(&self) -> OnError {
        self.shared.options.on_error
    }
}

struct FileReader {
    shared: Arc<Shared>,
    once: Option<Source>,
    next: usize,
    current: Current,
    /// Fields of the first documents of each file, where fields are named.
    keys: Vec<String>,
}

enum Current {
    None,
    Text(Blocks, Dialect, Option<Arc<dyn Parse>>),
    #[cfg(feature = "parquet")]
    Parquet(super::parquet::Rows),
}

impl Batches for FileReader {
    fn fields(&self) -> Vec<String> {
        if self.shared.options.fields.texts.is_empty() { Vec::new() } else { self.keys.clone() }
    }

    fn on_error(&self) -> OnError {
        self.shared.options.on_error
    }

    fn next_batch(&mut self) -> Result<Option<Box<dyn Batch>>> {
        loop {
            match &mut self.current {
                Current::None => {
                    let Some(file) = self.shared.files.get(self.next) else { return Ok(None) };
                    self.next += 1;
                    self.current = begin(&self.shared, file, self.once.take())?;
                }
                Current::Text(blocks, dialect, parser) => match blocks.next()? {
                    None => self.current = Current::None,
                    Some(Piece::Bad(record)) => return Ok(Some(Box::new(record))),
                    Some(Piece::Block(mut block)) => {
                        let parser = if let Some(parser) = parser {
                            Arc::clone(parser)
                        } else {
                            let file = self.shared.files[self.next - 1].clone();
                            if self.shared.format == Format::Jsonl {
                                look_at_keys(&self.shared, &file, block.bytes(), &mut self.keys);
                            }
                            Arc::clone(parser.insert(parser_of(&self.shared, file, *dialect, &mut block)?))
                        };
                        return Ok(Some(Box::new(Parsed { block, parser })));
                    }
                },
                #[cfg(feature = "parquet")]
                Current::Parquet(rows) => match rows.next()? {
                    None => self.current = Current::None,
                    Some(batch) => return Ok(Some(Box::new(batch))),
                },
            }
        }
    }
}

/// Notes the fields of the first documents, and says when one that was asked for is not among them: a slip of the keyboard
/// must not pass for documents without labels.
fn look_at_keys(shared: &Shared, file: &FileContext, block: &[u8], keys: &mut Vec<String>) {
    let mut here = Vec::new();
    jsonl::add_keys(block, &mut here);
    for (name, _) in shared.options.fields.demanded() {
        if !here.is_empty() && !here.iter().any(|key| key == name) {
            let path = file.path.display();
            tracing::warn!("{path}: the first documents have no field {name:?}; their fields are {}", some(&here));
        }
    }
    here.retain(|key| !keys.contains(key));
    keys.append(&mut here);
    shared.note(keys);
}

impl Shared {
    /// Keeps the names of what documents hold.
    fn note(&self, keys: &[String]) {
        keys.clone_into(&mut self.keys.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn begin(shared: &Shared, file: &FileContext, once: Option<Source>) -> Result<Current> {
    let options = &shared.options;
    let cut = |dialect: Dialect| match shared.format {
        Format::Jsonl
        | Format::SvmLight
        | Format::FastText
        | Format::Annif
        | Format::Folders
        | Format::Lines
        | Format::Parquet => Cut::Lines,
        Format::Text => Cut::Never,
        Format::Csv | Format::Tsv => Cut::Csv { delimiter: dialect.delimiter, quotes: dialect.quotes },
        Format::Reuters => Cut::Before(reuters::START),
        Format::Lyrl => Cut::Before(lyrl::START),
        Format::Review => Cut::Before(review::START),
    };
    if shared.format == Format::Parquet {
        #[cfg(feature = "parquet")]
        {
            let rows = super::parquet::Rows::open(file, options)?;
            shared.note(&rows.names());
            return Ok(Current::Parquet(rows));
        }
        #[cfg(not(feature = "parquet"))]
        {
            let reason =
                "this build has no Parquet; build with the cargo feature `parquet`, or convert the file to JSONL";
            return Err(Error::malformed_file(&file.path, reason));
        }
    }
    let mut source = match once {
        Some(source) => source,
        None => Source::open(&file.path, options.encoding)?,
    };
    let dialect = Dialect::of(source.peek(HEAD_BYTES)?, shared.format, options);
    Ok(Current::Text(Blocks::new(source, cut(dialect), options.max_record_bytes), dialect, None))
}

/// The parser of a file, which may depend on its first block.
fn parser_of(shared: &Shared, file: FileContext, dialect: Dialect, first: &mut Block) -> Result<Arc<dyn Parse>> {
    let options = &shared.options;
    Ok(match shared.format {
        Format::Csv | Format::Tsv => {
            let csv = Csv::new(file, dialect, options, first)?;
            shared.note(csv.header());
            Arc::new(csv)
        }
        Format::Text => Arc::new(WholeText(file)),
        Format::Lines => Arc::new(Lines(TextLines(file))),
        Format::Reuters => Arc::new(Reuters::new(file, options.reuters)),
        Format::Lyrl => Arc::new(Lyrl::new(file, Arc::clone(&shared.qrels))),
        Format::Review => Arc::new(Reviews::new(file, options.review_labels)),
        Format::SvmLight => {
            let terms = svmlight::read_terms(&file.path, first.bytes())?;
            Arc::new(Lines(SvmLight::new(file, options, terms, first)?))
        }
        Format::Annif => Arc::new(Lines(Annif(file))),
        Format::FastText => Arc::new(Lines(FastText::new(file, &options.label_prefix))),
        Format::Jsonl | Format::Folders | Format::Parquet => Arc::new(Lines(Jsonl::new(file, &options.fields))),
    })
}
