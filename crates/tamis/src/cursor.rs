//! Where a parser of an expression stands: what selectors and terms have in common.

use crate::{Error, Result};

/// A place in an expression.
pub(crate) struct Cursor<'a> {
    pub(crate) text: &'a str,
    /// Byte offset, on a character boundary.
    pub(crate) at: usize,
}

impl<'a> Cursor<'a> {
    /// At the beginning.
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// An error that points here.
    pub(crate) fn error(&self, reason: impl Into<String>) -> Error {
        self.error_at(self.at, reason)
    }

    pub(crate) fn error_at(&self, at: usize, reason: impl Into<String>) -> Error {
        Error::Expression { text: self.text.to_owned(), at, reason: reason.into() }
    }

    /// Passes over blanks.
    pub(crate) fn blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Takes the character when it comes next.
    pub(crate) fn eat(&mut self, c: char) -> bool {
        self.blanks();
        let found = self.rest().starts_with(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    pub(crate) fn expect(&mut self, c: char, otherwise: impl FnOnce() -> String) -> Result<()> {
        if self.eat(c) { Ok(()) } else { Err(self.error(otherwise())) }
    }

    /// Takes the longest run of characters that `accept` accepts.
    pub(crate) fn run(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        self.blanks();
        let rest = self.rest();
        let run = &rest[..rest.find(|c| !accept(c)).unwrap_or(rest.len())];
        self.at += run.len();
        run
    }
}
