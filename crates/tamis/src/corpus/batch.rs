//! The shape every reader takes: a source of batches, parsed wherever the caller likes.
//!
//! A reader only cuts its input into batches (cheap, sequential, file order); turning a batch into
//! documents is the batch's own work and runs on any thread. So every format is parsed in parallel,
//! nothing is held but the batches in flight, and documents borrow from their batch without copies.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use super::{Document, OnError};
use crate::Result;

/// About how many bytes of input a batch holds: large enough to make scheduling free, small enough to
/// stay in a core's L2 cache while it is parsed and counted.
pub const BATCH_BYTES: usize = 512 * 1024;

/// A stream of batches in corpus order.
pub trait Batches: Send {
    /// The next batch, or `None` at the end.
    fn next_batch(&mut self) -> Result<Option<Box<dyn Batch>>>;

    /// What a malformed record does. Whoever visits the batches asks here, so that the policy is said once: where the
    /// corpus is opened.
    fn on_error(&self) -> OnError {
        OnError::Stop
    }

    /// The fields that were seen so far, to name them where one is missed; only known where documents have named fields.
    fn fields(&self) -> Vec<String> {
        Vec::new()
    }

    /// How many labels there are, where that is known before anything is read.
    fn labels(&self) -> Option<usize> {
        None
    }
}

/// Some consecutive documents of a corpus, not yet parsed.
pub trait Batch: Send {
    /// Parses the batch and hands each document, or the error in its place, to `visit`, in order.
    /// After an error the batch goes on with the next record unless `visit` breaks.
    fn visit(&self, visit: &mut dyn FnMut(Result<Document<'_>>) -> ControlFlow<()>);
}

/// Documents already in memory.
impl Batch for Vec<Document<'static>> {
    fn visit(&self, visit: &mut dyn FnMut(Result<Document<'_>>) -> ControlFlow<()>) {
        for document in self {
            if visit(Ok(document.clone())).is_break() {
                return;
            }
        }
    }
}

/// Owned documents, handed out in batches of 256: for tests, generators and callers with documents in memory.
pub struct InMemory<I>(pub I);

impl<I: Iterator<Item = Document<'static>> + Send> Batches for InMemory<I> {
    fn next_batch(&mut self) -> Result<Option<Box<dyn Batch>>> {
        let batch: Vec<_> = self.0.by_ref().take(256).collect();
        Ok(if batch.is_empty() { None } else { Some(Box::new(batch)) })
    }
}

/// A source whose first batches were looked at.
pub(crate) struct Peeked {
    seen: VecDeque<Box<dyn Batch>>,
    rest: Box<dyn Batches>,
}

impl Peeked {
    /// Takes the first batch and tells whether its documents are in parts of a given split.
    pub(crate) fn new(mut source: Box<dyn Batches>) -> Result<(Self, bool)> {
        let first = source.next_batch()?;
        let mut has_parts = false;
        if let Some(batch) = &first {
            batch.visit(&mut |document| {
                has_parts = document.is_ok_and(|d| d.part.is_some());
                if has_parts { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        }
        Ok((Self { seen: first.into_iter().collect(), rest: source }, has_parts))
    }

    /// The documents of the last batch that was looked at, if nobody has taken it.
    pub(crate) fn visit_last(&self, visit: &mut dyn FnMut(Result<Document<'_>>) -> ControlFlow<()>) {
        if let Some(batch) = self.seen.back() {
            batch.visit(visit);
        }
    }

    /// Looks at another batch; false at the end.
    pub(crate) fn further(&mut self) -> Result<bool> {
        let next = self.rest.next_batch()?;
        let found = next.is_some();
        self.seen.extend(next);
        Ok(found)
    }
}

impl Batches for Peeked {
    fn next_batch(&mut self) -> Result<Option<Box<dyn Batch>>> {
        match self.seen.pop_front() {
            Some(batch) => Ok(Some(batch)),
            None => self.rest.next_batch(),
        }
    }

    fn fields(&self) -> Vec<String> {
        self.rest.fields()
    }

    fn labels(&self) -> Option<usize> {
        self.rest.labels()
    }

    fn on_error(&self) -> OnError {
        self.rest.on_error()
    }
}
