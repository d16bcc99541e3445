//! Where documents come from: readers for every format people really have, writers, the built-in corpus.

pub mod synth;

mod annif;
mod batch;
pub(crate) mod blocks;
mod choose;
mod columns;
mod csv;
pub(crate) mod cut;
mod dates;
mod detect;
mod dialect;
mod document;
mod fasttext;
mod fields;
mod folders;
mod format;
mod glance;
mod in_order;
pub(crate) mod jsonl;
mod ltc;
mod lyrl;
mod open;
mod options;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
mod reader;
mod reuters;
mod review;
pub(crate) mod source;
mod svmlight;
mod tally;
mod text;
mod write;

pub(crate) use batch::Peeked;
pub use batch::{BATCH_BYTES, Batch, Batches, InMemory};
pub use choose::Which;
pub use columns::{Columns, Guess};
pub use dates::DateOrder;
pub use document::{Body, Document, Part};
pub use fields::Fields;
pub use format::{Format, FormatSpec};
pub use glance::Glance;
pub use in_order::{InOrder, in_order};
pub use open::open;
pub use options::{OnError, ReadOptions};
pub use reader::Corpus;
pub use reuters::{ReutersLabels, ReutersOptions, ReutersSplit, Unused};
pub use review::ReviewLabels;
pub use source::Encoding;
pub use svmlight::{Values, WEIGHT_UNIT};
pub use tally::{Skipped, Tally};
pub(crate) use write::Output;
pub use write::{WriteOptions, Writer};
