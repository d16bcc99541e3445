//! The form a word takes: case, Unicode form, length, digits, stop words, stem.

use std::ops::Range;

use rustc_hash::FxHashSet;
use unicode_normalization::{UnicodeNormalization, is_nfc, is_nfkc};
use unicode_segmentation::UnicodeSegmentation;

use super::block::{Block, Digits, Form};
use super::{TextOptions, Words, languages, scripts};
use crate::Result;

/// Decides about words, by the options of a block.
pub(super) struct Shaper {
    pub(super) block: Block,
    stemmer: Option<frostem::Stemmer>,
    stop_words: FxHashSet<String>,
}

impl Shaper {
    pub(super) fn new(options: &TextOptions, block: &Block) -> Result<Self> {
        let stemmer = block.stem.as_deref().map(languages::algorithm).transpose()?.map(frostem::Stemmer::new);
        Ok(Self { block: block.clone(), stemmer, stop_words: options.stop_words(block).iter().cloned().collect() })
    }

    /// The term of a raw word, written into `form`, or `None` when it is dropped.
    pub(super) fn shape<'f>(&self, raw: &str, form: &'f mut String) -> Option<&'f str> {
        let block = &self.block;
        let length = if raw.is_ascii() {
            form.clear();
            form.push_str(raw);
            if block.lowercase {
                form.make_ascii_lowercase();
            }
            raw.len()
        } else {
            self.normal(raw, block.lowercase, form);
            form.chars().count()
        };
        if block.words == Words::Text {
            one_blank(form);
        }
        let short = length < block.min_length && !(block.words == Words::Scripts && scripts::is_part(form));
        if short || length > block.max_length || self.stop_words.contains(form.as_str()) {
            return None;
        }
        match block.digits {
            Digits::Keep => {}
            Digits::Fold => *form = form.chars().map(|c| if c.is_numeric() { '0' } else { c }).collect(),
            Digits::Numbers if !form.chars().any(char::is_alphabetic) => return None,
            Digits::Drop if form.chars().any(char::is_numeric) => return None,
            Digits::Numbers | Digits::Drop => {}
        }
        if let Some(stemmer) = &self.stemmer {
            let stem = stemmer.stem(form);
            // A stem of nothing would join unrelated words.
            if !stem.is_empty() && stem != form.as_str() {
                let stem = stem.to_string();
                *form = stem;
            }
        }
        Some(form)
    }

    /// Brings a word into its Unicode form and case.
    pub(super) fn normal(&self, raw: &str, lowercase: bool, form: &mut String) {
        form.clear();
        let compatible = self.block.form == Form::Nfkc;
        if if compatible { is_nfkc(raw) } else { is_nfc(raw) } {
            form.push_str(raw);
        } else if compatible {
            form.extend(raw.nfkc());
            // A few signs stand for whole phrases; a word has no blanks.
            if self.block.words != Words::Text && form.contains(char::is_whitespace) {
                form.clear();
                form.extend(raw.nfc());
            }
        } else {
            form.extend(raw.nfc());
        }
        if lowercase {
            *form = form.to_lowercase();
        }
    }

    /// Whether words are decided about as a whole: by a list, or by their stem.
    pub(super) fn looks_at_words(&self) -> bool {
        self.stemmer.is_some() || !self.stop_words.is_empty()
    }

    /// Which bytes of a raw word each character of its form was made of. Where that cannot be told, as after stemming, each was
    /// made of all.
    pub(super) fn origins(&self, raw: &str, form: &str) -> Vec<Range<usize>> {
        let length = form.chars().count();
        if raw.is_ascii() && length == raw.len() && self.stemmer.is_none() {
            return (0..length).map(|at| at..at + 1).collect();
        }
        let mut origins = Vec::with_capacity(length);
        let mut piece = String::new();
        let mut after_blank = false;
        for (at, character) in raw.grapheme_indices(true) {
            self.normal(character, self.block.lowercase, &mut piece);
            let range = at..at + character.len();
            for c in piece.chars() {
                let blank = self.block.words == Words::Text && c.is_whitespace();
                if !(blank && after_blank) {
                    origins.push(range.clone());
                }
                after_blank = blank;
            }
        }
        if origins.len() != length || self.stemmer.is_some() {
            origins = vec![0..raw.len(); length];
        }
        origins
    }
}

/// Makes one blank of all that stand together.
fn one_blank(form: &mut String) {
    let mut after_blank = false;
    if form.contains(|c: char| c.is_whitespace() && c != ' ') || form.contains("  ") {
        *form = form
            .chars()
            .filter_map(|c| {
                let blank = c.is_whitespace();
                let kept = if blank { (!after_blank).then_some(' ') } else { Some(c) };
                after_blank = blank;
                kept
            })
            .collect();
    }
}
