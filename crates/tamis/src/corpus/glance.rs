//! A look at the beginning of a corpus: what it is written in.

use std::ops::ControlFlow;

use super::{Batches, Body, Peeked};
use crate::{Result, terms};

/// So many bytes of text tell a language and a script.
const ENOUGH: usize = 256 * 1024;

/// What a corpus begins with. It is the same however many threads read the corpus later.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Glance {
    text: String,
}

impl Glance {
    /// Looks at the first batch of a corpus, and gives the corpus back as if nobody had. Malformed records are left to whoever
    /// reads on.
    pub fn of(source: Box<dyn Batches>) -> Result<(Box<dyn Batches>, Self)> {
        let (source, _) = Peeked::new(source)?;
        let mut glance = Self::default();
        source.visit_first(&mut |document| {
            if let Ok(document) = document {
                glance.add(&document.body);
            }
            if glance.text.len() < ENOUGH { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        Ok((Box::new(source), glance))
    }

    /// Of a text at hand.
    pub fn of_text(text: &str) -> Self {
        Self { text: text.to_owned() }
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
    fn most_letters_decide_about_blanks() {
        assert!(Glance::of_text("手机很好用 iPad").is_without_blanks());
        assert!(!Glance::of_text("the iPhone, 手机 ").is_without_blanks());
        assert!(!Glance::default().is_without_blanks());
    }
}
