//! One document of a corpus, or the first few: for those who want to look at them.

use std::ops::ControlFlow;

use super::fields::{quoted, some};
use super::{Corpus, Document, OnError};
use crate::terms::TextOptions;
use crate::{Error, Result};

/// A document of a corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// By its place, counted from 1.
    Number(u64),
    /// By its id.
    Id(String),
    /// The only one there is.
    Only,
}

impl Corpus {
    /// The first documents, at most so many, with the texts that terms are made of.
    pub fn first(&self, most: usize, text: &TextOptions) -> Result<Vec<Document<'static>>> {
        let mut first = Vec::new();
        self.until(text, |document| {
            if first.len() < most {
                first.push(document.into_owned());
            }
            if first.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(first)
    }

    /// One document, with the texts that terms are made of.
    pub fn document(&self, which: &Which, text: &TextOptions) -> Result<Document<'static>> {
        let (mut number, mut found, mut ids) = (0, None, Vec::new());
        self.until(text, |document| {
            number += 1;
            if number <= 5 {
                ids.push(document.id.to_string());
            }
            let wanted = match which {
                Which::Number(wanted) => number == *wanted,
                Which::Id(id) => document.id == *id,
                // A second one shows that it is not the only one.
                Which::Only => number <= 2,
            };
            if !wanted {
                return ControlFlow::Continue(());
            }
            found = Some(document.into_owned());
            if *which == Which::Only && number < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let there_are = |number: u64| match number {
            0 => "there is no document".to_owned(),
            n => format!("there are {n} documents, the first ids are {}", some(&ids)),
        };
        match (which, found) {
            (Which::Only, Some(_)) if number > 1 => Err(Error::malformed_file(
                self.path(),
                format!(
                    "has several documents; choose one with the option `id` or the option `number`; the first ids are {}",
                    some(&ids)
                ),
            )),
            (_, Some(found)) => Ok(found),
            (Which::Id(id), None) => {
                let reason = format!("no document has the id {}; {}", quoted(id), there_are(number));
                Err(Error::malformed_file(self.path(), reason))
            }
            (Which::Number(wanted), None) => {
                Err(Error::malformed_file(self.path(), format!("there is no document {wanted}; {}", there_are(number))))
            }
            (Which::Only, None) => Err(Error::malformed_file(self.path(), "there is no document")),
        }
    }

    /// Hands documents to `each` until it breaks.
    pub(crate) fn until(
        &self,
        text: &TextOptions,
        mut each: impl FnMut(Document<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut batches = self.batches_for(text)?;
        let on_error = batches.on_error();
        let mut end = None;
        while let Some(batch) = batches.next_batch()? {
            batch.visit(&mut |record| {
                end = match record.map(&mut each) {
                    Ok(ControlFlow::Continue(())) => return ControlFlow::Continue(()),
                    Ok(ControlFlow::Break(())) => Some(Ok(())),
                    Err(_) if on_error == OnError::Skip => return ControlFlow::Continue(()),
                    Err(error) => Some(Err(error)),
                };
                ControlFlow::Break(())
            });
            if let Some(end) = end {
                return end;
            }
        }
        Ok(())
    }
}
