//! Documents → tokens: readers for every format people really have, and text to terms.

pub mod synth;

mod analyzer;
mod batch;
mod blocks;
mod csv;
mod detect;
mod document;
mod fasttext;
mod fields;
mod folders;
mod format;
mod jsonl;
mod lyrl;
mod names;
mod open;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
mod reader;
mod reuters;
mod review;
mod source;
mod split;
mod stratify;
mod svmlight;
mod tally;
mod text;
mod word_table;
mod words;
mod write;

pub use analyzer::Analyzer;
pub use batch::{BATCH_BYTES, Batch, Batches, InMemory};
pub use document::{Body, Document, Part};
pub use fields::Fields;
pub use format::{Format, FormatSpec};
pub use open::open;
pub use options::{OnError, ReadOptions};
pub use reader::Corpus;
pub use reuters::{ReutersLabels, ReutersOptions, ReutersSplit, Unused};
pub use review::ReviewLabels;
pub use source::Encoding;
pub use split::{Split, SplitPlan};
pub use svmlight::Values;
pub use tally::{Skipped, Tally};
pub use text::{Digits, SNOWBALL_DATE, TextOptions, stemmers, stop_word_languages, stop_words};
pub use words::Words;
pub use write::{WriteOptions, Writer};
