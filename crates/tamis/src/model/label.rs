//! Documents → answers: the one labelling loop.

use std::ops::ControlFlow;

use super::{Answer, How, Labeller, Model};
use crate::corpus::{Batches, Document, InOrder, OnError, Skipped, in_order};
use crate::{Error, Result};

/// What was made of a batch of documents.
#[derive(Debug)]
pub struct Worked<T> {
    /// What the caller made of its documents, up to the failure if there is one.
    pub value: T,
    /// Malformed records that were passed over.
    pub skipped: Skipped,
    /// A malformed record, where that ends everything.
    pub failure: Option<Error>,
}

impl Model {
    /// Labels documents: in parallel, in order, in constant memory.
    ///
    /// A malformed record ends it with its error, or is passed over and counted ([`Answers::skipped`]), as the documents'
    /// source says.
    pub fn label<'m>(&'m self, documents: Box<dyn Batches>, how: &How) -> Answers<'m> {
        let how = how.clone();
        let batches = self.label_batches(documents, Vec::new, move |answers: &mut Vec<_>, labeller, document| {
            answers.push(labeller.answer(Some(document.id.to_string().into()), &document.body, &how));
        });
        Answers { batches, ready: Vec::new().into_iter(), failed: None, skipped: Skipped::default(), ended: false }
    }

    /// The loop itself: `each` is called with every document of a batch, on any thread, and adds to what `start` began; batches
    /// come back in order. For those who want something else than answers: bytes to write, sums, arrays.
    pub fn label_batches<'m, T: Send>(
        &'m self,
        documents: Box<dyn Batches>,
        start: impl Fn() -> T + Send + Sync + 'm,
        each: impl Fn(&mut T, &mut Labeller<'m>, &Document<'_>) + Send + Sync + 'm,
    ) -> InOrder<'m, Worked<T>> {
        let on_error = documents.on_error();
        in_order(documents, move |batch| {
            let mut worked = Worked { value: start(), skipped: Skipped::default(), failure: None };
            let mut labeller = self.labeller();
            batch.visit(&mut |record| {
                match record {
                    Ok(document) => each(&mut worked.value, &mut labeller, &document),
                    Err(error) if on_error == OnError::Skip => worked.skipped.add(&error),
                    Err(error) => {
                        worked.failure = Some(error);
                        return ControlFlow::Break(());
                    }
                }
                ControlFlow::Continue(())
            });
            worked
        })
    }
}

/// The answers to documents, in order. See [`Model::label`].
pub struct Answers<'m> {
    batches: InOrder<'m, Worked<Vec<Answer<'m>>>>,
    ready: std::vec::IntoIter<Answer<'m>>,
    failed: Option<Error>,
    skipped: Skipped,
    ended: bool,
}

impl Answers<'_> {
    /// Malformed records passed over so far.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }
}

impl<'m> Iterator for Answers<'m> {
    type Item = Result<Answer<'m>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(answer) = self.ready.next() {
                return Some(Ok(answer));
            }
            if let Some(error) = self.failed.take() {
                self.ended = true;
                return Some(Err(error));
            }
            if self.ended {
                return None;
            }
            match self.batches.next()? {
                Ok(worked) => {
                    self.ready = worked.value.into_iter();
                    self.failed = worked.failure;
                    self.skipped.append(worked.skipped);
                }
                Err(error) => self.failed = Some(error),
            }
        }
    }
}
