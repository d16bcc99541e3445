//! Documents → tokens: readers for every format people really have, and text to terms.

mod analyzer;
mod batch;
mod document;
mod skip;
mod text;
mod word_table;
mod words;

pub use analyzer::Analyzer;
pub use batch::{BATCH_BYTES, Batch, Batches, InMemory};
pub use document::{Body, Document, Part};
pub use skip::{OnError, Skipped};
pub use text::{Digits, SNOWBALL_DATE, TextOptions, stemmers, stop_word_languages, stop_words};
pub use words::Words;
