//! How a corpus is read.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::synth::SynthOptions;
use super::{Encoding, Fields, Format, ReutersOptions, ReviewLabels, Values};
use crate::named::named;

named! {
    /// What happens at a malformed record.
    #[derive(Default)]
    pub enum OnError ("policy for malformed records") {
        /// Reading stops with an error.
        #[default]
        Stop = "stop",
        /// The record is passed over and counted.
        Skip = "skip",
    }
}

/// How a corpus is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadOptions {
    /// The format; `None` tells it from name and content.
    pub from: Option<Format>,
    /// Whether a file or stream whose name tells no format is plain text where its content tells none beyond doubt: for
    /// documents to label, which may come as they are typed.
    pub prose: bool,
    /// The encoding; `None` is UTF-8, with stray Latin-1 bytes allowed in Reuters and review files.
    pub encoding: Option<Encoding>,
    /// What happens at a malformed record.
    pub on_error: OnError,
    /// Bytes a record may have. Longer ones are never held in memory.
    pub max_record_bytes: usize,
    /// Names of fields and columns (JSONL, CSV, TSV, Parquet).
    pub fields: Fields,
    /// What separates labels in a column (CSV, TSV, and string columns of Parquet); empty: the column is one label.
    pub label_separator: String,
    /// Whether quotes enclose fields (CSV, TSV).
    pub quotes: bool,
    /// What stands between fields (CSV, TSV); `None` tells it from the first rows.
    pub delimiter: Option<char>,
    /// Names of the columns of a file without a header (CSV, TSV), by which fields are found; an empty name is a column to
    /// leave unread. Empty: the first record is the header.
    pub columns: Vec<String>,
    /// What labels begin with (fastText).
    pub label_prefix: String,
    /// What values mean (svmlight).
    pub values: Values,
    /// Topics of documents (LYRL); `None` takes all `*.qrels` beside the token files.
    pub qrels: Option<PathBuf>,
    /// Labels and split (Reuters).
    pub reuters: ReutersOptions,
    /// Label of a review.
    pub review_labels: ReviewLabels,
    /// What the documents of a built-in corpus are drawn with.
    pub seed: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            from: None,
            prose: false,
            encoding: None,
            on_error: OnError::default(),
            max_record_bytes: 64 << 20,
            fields: Fields::default(),
            label_separator: ";".into(),
            quotes: true,
            delimiter: None,
            columns: Vec::new(),
            label_prefix: "__label__".into(),
            values: Values::default(),
            qrels: None,
            reuters: ReutersOptions::default(),
            review_labels: ReviewLabels::default(),
            seed: SynthOptions::default().seed,
        }
    }
}
