//! Text → terms: what a word is, and what is left out, folded or stemmed.
//!
//! An expression such as `words(1-2)+title:chars(3-5,stop=english)` says it all ([`TextOptions`]); [`Analyzer`] does it.

mod analyzer;
mod block;
mod chains;
mod characters;
mod choices;
mod expression;
mod html;
mod languages;
mod narrow;
mod points;
mod recognise;
mod scripts;
mod shape;
mod text;
mod word_grams;
mod word_table;
mod words;

pub use analyzer::Analyzer;
pub use block::{Block, Digits, Form, NO_LIMIT, TEXT_FIELD, Unit};
pub use choices::{StopWords, TextChoices};
pub use html::{Html, looks_like_html};
pub use languages::{SNOWBALL_DATE, stemmers, stop_word_languages, stop_words, stop_words_of_file};
pub(crate) use text::MOST_BLOCKS;
pub use text::TextOptions;
pub use words::Words;

pub(crate) use scripts::is_dense;
