//! A look at the beginning of a corpus: what it is written in.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::{Batches, Body, Part, Peeked};
use crate::{Result, terms};

/// So many bytes of text tell a language and a script.
const ENOUGH: usize = 256 * 1024;

/// What a corpus begins with. It is the same however many threads read the corpus later.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Glance {
    text: String,
    /// Bytes and documents, where there was no more than was measured for.
    measured: Option<(usize, usize)>,
    /// Documents and distinct labels that were looked at; of labels all, where the corpus knows them.
    documents: usize,
    labels: usize,
}

impl Glance {
    /// Looks at the first batch of a corpus, and gives the corpus back as if nobody had. Malformed records are left to whoever
    /// reads on.
    pub fn of(source: Box<dyn Batches>) -> Result<(Box<dyn Batches>, Self)> {
        let (source, _) = Peeked::new(source)?;
        let mut glance = Self::default();
        let mut labels = BTreeSet::new();
        source.visit_last(&mut |document| {
            if let Ok(document) = document {
                glance.add(&document.body);
                glance.documents += 1;
                labels.extend(document.labels.iter().map(|label| label.as_ref().to_owned()));
            }
            if glance.text.len() < ENOUGH { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        glance.labels = source.labels().unwrap_or(labels.len());
        Ok((Box::new(source), glance))
    }

    /// The same, and whether documents are running text that has at most so many bytes, a test part aside. So much is read
    /// ahead, and held until it is counted.
    pub fn measured(source: Box<dyn Batches>, bytes: usize) -> Result<(Box<dyn Batches>, Self)> {
        let (source, glance) = Self::of(source)?;
        let (mut source, _) = Peeked::new(source)?;
        let (mut left, mut documents) = (bytes, 0);
        let mut more = true;
        while more {
            source.visit_last(&mut |document| {
                let size = match document {
                    Ok(document) if document.part != Some(Part::Test) => document.body.text_bytes(),
                    _ => Some(0),
                };
                match size.and_then(|size| left.checked_sub(size)) {
                    Some(rest) => {
                        documents += usize::from(rest < left);
                        left = rest;
                        ControlFlow::Continue(())
                    }
                    None => {
                        more = false;
                        ControlFlow::Break(())
                    }
                }
            });
            if more && !source.further()? {
                return Ok((Box::new(source), Self { measured: Some((bytes - left, documents)), ..glance }));
            }
        }
        Ok((Box::new(source), glance))
    }

    /// Of a text at hand.
    pub fn of_text(text: &str) -> Self {
        Self { text: text.to_owned(), documents: 1, ..Self::default() }
    }

    /// Whether the texts are no more than was measured for; not known where nobody measured.
    pub fn is_small(&self) -> bool {
        self.measured.is_some()
    }

    /// Bytes of the texts, where all were measured.
    pub fn bytes(&self) -> Option<usize> {
        self.measured.map(|(bytes, _)| bytes)
    }

    /// Mean bytes of a document that is not empty, where all were measured.
    pub fn mean_bytes(&self) -> Option<usize> {
        self.measured.map(|(bytes, documents)| bytes / documents.max(1))
    }

    /// Distinct labels that were seen.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// Mean bytes of the documents that were looked at.
    pub fn glanced_bytes(&self) -> usize {
        self.text.len() / self.documents.max(1)
    }

    fn add(&mut self, body: &Body<'_>) {
        let mut add = |text: &str| {
            self.text.push_str(text);
            self.text.push('\n');
        };
        match body {
            Body::Text(text) => add(text),
            Body::Fields(fields) => fields.iter().for_each(|(_, text)| add(text)),
            Body::Tokens(tokens) => tokens.iter().for_each(|token| add(token)),
            Body::Counts(_) => {}
        }
    }

    /// The text it saw.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether most letters are of scripts that do not part words by blanks.
    pub fn is_without_blanks(&self) -> bool {
        let letters = self.text.chars().filter(|c| c.is_alphabetic());
        let (all, without) =
            letters.fold((0usize, 0usize), |(all, without), c| (all + 1, without + usize::from(terms::is_dense(c))));
        2 * without > all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{Document, InMemory};

    #[test]
    fn a_glance_takes_nothing_away() {
        let document = |text: &str| Document {
            id: "1".into(),
            body: Body::Text(text.to_owned().into()),
            labels: Vec::new(),
            part: None,
            date: None,
            weight: None,
        };
        let documents = ["手机很好", "the iPhone", "อร่อยมาก"].map(document);
        let (mut source, glance) = Glance::of(Box::new(InMemory(documents.into_iter()))).unwrap();
        assert_eq!(glance.text(), "手机很好\nthe iPhone\nอร่อยมาก\n");
        let mut seen = 0;
        while let Some(batch) = source.next_batch().unwrap() {
            batch.visit(&mut |_| {
                seen += 1;
                ControlFlow::Continue(())
            });
        }
        assert_eq!(seen, 3);
    }

    #[test]
    fn small_is_what_fits() {
        let document = |part| Document {
            id: "1".into(),
            body: Body::Text("ten bytes.".into()),
            labels: Vec::new(),
            part,
            date: None,
            weight: None,
        };
        let small = |train: usize, test: usize, bytes| {
            let parts =
                std::iter::repeat_n(Some(Part::Train), train).chain(std::iter::repeat_n(Some(Part::Test), test));
            let documents: Vec<_> = parts.map(document).collect();
            let (mut source, glance) = Glance::measured(Box::new(InMemory(documents.into_iter())), bytes).unwrap();
            let mut seen = 0;
            while let Some(batch) = source.next_batch().unwrap() {
                batch.visit(&mut |_| {
                    seen += 1;
                    ControlFlow::Continue(())
                });
            }
            assert_eq!(seen, train + test, "nothing is taken away");
            assert_eq!(glance.mean_bytes(), glance.is_small().then_some(if train > 0 { 10 } else { 0 }));
            glance.is_small()
        };
        assert!(small(1000, 0, 10_000));
        assert!(!small(1001, 0, 10_000));
        assert!(small(1000, 5000, 10_000), "a test part is not counted");
        assert!(!small(5000, 5000, 10_000));
        assert!(small(0, 0, 0));
    }

    #[test]
    fn most_letters_decide_about_blanks() {
        assert!(Glance::of_text("手机很好用 iPad").is_without_blanks());
        assert!(!Glance::of_text("the iPhone, 手机 ").is_without_blanks());
        assert!(!Glance::default().is_without_blanks());
    }
}
