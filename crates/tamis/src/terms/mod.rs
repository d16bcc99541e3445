//! Text → terms: what a word is, and what is left out, folded or stemmed.

mod analyzer;
mod text;
mod word_table;
mod words;

pub use analyzer::Analyzer;
pub use text::{Digits, SNOWBALL_DATE, TextOptions, stemmers, stop_word_languages, stop_words};
pub use words::Words;
