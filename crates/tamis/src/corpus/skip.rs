//! What happens to malformed records.

use serde::{Deserialize, Serialize};

use crate::Error;

/// What a malformed record does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// Ends the reading with the error.
    #[default]
    Stop,
    /// Is counted, reported and passed over.
    Skip,
}

/// Malformed records that were passed over: how many, and what the first ones were.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many.
    pub records: u64,
    /// The first messages, in corpus order.
    pub first: Vec<String>,
}

impl Skipped {
    /// How many messages are kept.
    const KEPT: usize = 5;

    /// One more.
    pub fn add(&mut self, error: &Error) {
        self.records += 1;
        if self.first.len() < Self::KEPT {
            self.first.push(error.to_string());
        }
    }

    /// Those of a later part of the corpus.
    pub fn merge(&mut self, later: Self) {
        self.records += later.records;
        self.first.extend(later.first);
        self.first.truncate(Self::KEPT);
    }
}
