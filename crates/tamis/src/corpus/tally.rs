//! What a walk over a corpus found and passed over.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Error;

/// Malformed records that were passed over: how many, and the first few messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// How many.
    pub count: u64,
    /// The first of them, in corpus order.
    pub first: Vec<String>,
}

impl Skipped {
    /// Messages that are kept.
    pub const KEPT: usize = 5;

    /// One more.
    pub fn add(&mut self, error: &Error) {
        self.count += 1;
        if self.first.len() < Self::KEPT {
            self.first.push(error.to_string());
        }
    }

    /// Adds those of a later stretch of the corpus.
    pub fn append(&mut self, later: Self) {
        self.count += later.count;
        self.first.extend(later.first);
        self.first.truncate(Self::KEPT);
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} malformed records skipped", self.count)?;
        self.first.iter().try_for_each(|message| write!(f, "\n  {message}"))?;
        let more = self.count - self.first.len() as u64;
        if more > 0 { write!(f, "\n  and {more} more") } else { Ok(()) }
    }
}

/// What a walk over a corpus found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Documents read.
    pub documents: u64,
    /// Of these, documents with a label.
    pub labelled: u64,
    /// Records passed over.
    pub skipped: Skipped,
}
