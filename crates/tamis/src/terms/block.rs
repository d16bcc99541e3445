//! One block of a terms expression: what it cuts out of a text, and what becomes of it.

use crate::named::named;
use crate::{Error, Result};

use super::Words;
use super::languages::algorithm;

named! {
    /// What the terms of a block are.
    #[derive(Default)]
    pub enum Unit ("kind of block") {
        /// Words, and n-grams of words that follow each other.
        #[default]
        Words = "words",
        /// N-grams of characters.
        Chars = "chars",
    }
}

named! {
    /// What happens to digits.
    #[derive(Default)]
    pub enum Digits ("digits policy") {
        /// Words with digits are words.
        #[default]
        Keep = "keep",
        /// Every digit becomes `0`, so that 1987 and 1988 are one term of the shape `0000`.
        Fold = "fold",
        /// Words without a letter are dropped, words with both stay.
        Numbers = "numbers",
        /// Words with any digit are dropped.
        Drop = "drop",
    }
}

named! {
    /// The Unicode form that words are brought into.
    #[derive(Default)]
    pub enum Form ("Unicode form") {
        /// Compatible characters are one: full-width letters, half-width kana and ligatures become the usual ones.
        #[default]
        Nfkc = "nfkc",
        /// Only spellings that look the same are one.
        Nfc = "nfc",
    }
}

/// What stands for the text of a document where a block names no field.
pub const TEXT_FIELD: &str = "text";

/// The length of a word that is never too long.
pub const NO_LIMIT: usize = usize::MAX;

/// One block of a terms expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The field it reads; the document's text when none.
    pub field: Option<String>,
    /// Words or characters.
    pub unit: Unit,
    /// N-grams from the first to the second length, both included.
    pub range: (usize, usize),
    /// What a text is cut into, first of all.
    pub words: Words,
    /// Lower-cases words.
    pub lowercase: bool,
    /// Unicode form.
    pub form: Form,
    /// Shortest word kept, in characters. Characters and pairs of scripts without blanks are kept in any case.
    pub min_length: usize,
    /// Longest word kept, in characters; longer ones are mostly encoded data.
    pub max_length: usize,
    /// What happens to digits.
    pub digits: Digits,
    /// Name of the list of words to drop, compared after lower-casing and before stemming: a language, or `@` and the name
    /// of a list of one's own.
    pub stop: Option<String>,
    /// Snowball algorithm, such as `english`.
    pub stem: Option<String>,
}

impl Block {
    /// Words of any script, as they are found where nothing is said.
    pub fn words() -> Self {
        Self {
            field: None,
            unit: Unit::Words,
            range: (1, 1),
            words: Words::Scripts,
            lowercase: true,
            form: Form::Nfkc,
            min_length: 2,
            max_length: 40,
            digits: Digits::Keep,
            stop: None,
            stem: None,
        }
    }

    /// Character n-grams within runs of letters, however long.
    pub fn chars() -> Self {
        Self { unit: Unit::Chars, range: (2, 5), min_length: 1, max_length: NO_LIMIT, ..Self::words() }
    }

    /// The block of a kind, as it is where nothing else is said.
    pub fn of(unit: Unit) -> Self {
        match unit {
            Unit::Words => Self::words(),
            Unit::Chars => Self::chars(),
        }
    }

    /// The field it reads.
    pub fn field(&self) -> &str {
        self.field.as_deref().unwrap_or(TEXT_FIELD)
    }

    /// Most words or characters in an n-gram.
    pub const fn longest(unit: Unit) -> usize {
        match unit {
            Unit::Words => 8,
            Unit::Chars => 16,
        }
    }

    /// Checks ranges and names.
    pub fn validate(&self) -> Result<()> {
        let (low, high) = self.range;
        if low == 0 || low > high || high > Self::longest(self.unit) {
            let (range, rule) = (range(self.range), range_rule(self.unit));
            return Err(match self.unit {
                Unit::Words => Error::invalid("ngrams", range, rule),
                Unit::Chars => Error::invalid("char_ngrams", range, rule),
            });
        }
        if self.min_length == 0 || self.min_length > self.max_length {
            let rule = format!("must be from 1 to the maximum length, {}", length(self.max_length));
            return Err(Error::invalid("min_length", self.min_length, rule));
        }
        if self.unit == Unit::Words && self.words == Words::Text {
            return Err(Error::invalid("kind", self.words, "is for characters: chars(2-3,kind=text)"));
        }
        if let Some(name) = &self.stem {
            algorithm(name)?;
        }
        Ok(())
    }
}

/// What a range must be.
pub(super) fn range_rule(unit: Unit) -> String {
    format!("must be ascending, from 1 to {}, such as {}", Block::longest(unit), range(Block::of(unit).range))
}

/// A range as it is written: `1-2`, or `3` for `3-3`.
pub(super) fn range((low, high): (usize, usize)) -> String {
    if low == high { low.to_string() } else { format!("{low}-{high}") }
}

/// A length as it is written.
pub(super) fn length(length: usize) -> String {
    if length == NO_LIMIT { "none".to_owned() } else { length.to_string() }
}
