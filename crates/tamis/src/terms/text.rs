//! How text becomes terms: the options, as one value that travels inside a model.

use serde::{Deserialize, Serialize};

use super::Words;
use crate::{Error, Result};

/// Date of the Snowball algorithms that this build stems with (the minor version of the `frostem` crate, pinned in
/// Cargo.toml). Stored with the options, because another date may stem a word differently.
pub const SNOWBALL_DATE: &str = "20261016";

/// What happens to digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Digits {
    /// Words with digits are words.
    #[default]
    Keep,
    /// Every digit becomes `0`, so that 1987 and 1988 are one term of the shape `0000`.
    Fold,
    /// Words without a letter are dropped, words with both stay.
    Numbers,
    /// Words with any digit are dropped.
    Drop,
}

impl Digits {
    /// All choices with their names.
    pub const ALL: [(&'static str, Self); 4] =
        [("keep", Self::Keep), ("fold", Self::Fold), ("numbers", Self::Numbers), ("drop", Self::Drop)];
}

/// Everything that decides which terms a text has. Classification uses the very options that training used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextOptions {
    /// What a word is.
    #[serde(default)]
    pub words: Words,
    /// Lower-cases words.
    pub lowercase: bool,
    /// Shortest word kept, in characters.
    pub min_length: usize,
    /// Longest word kept, in characters; longer ones are mostly encoded data.
    pub max_length: usize,
    /// What happens to digits.
    #[serde(default)]
    pub digits: Digits,
    /// Words to drop, compared after lower-casing and before stemming.
    #[serde(default)]
    pub stop_words: Vec<String>,
    /// Snowball algorithm, such as `english`.
    #[serde(default)]
    pub stem: Option<String>,
    /// The algorithms' date, [`SNOWBALL_DATE`] when the options were made; empty without stemming.
    #[serde(default)]
    pub stem_date: String,
    /// Word n-grams of 1 to this many words, over the words that are left after stop words.
    pub ngrams: usize,
    /// Character n-grams of these lengths instead of words, within words that are padded with a blank on either side.
    #[serde(default)]
    pub char_ngrams: Option<(usize, usize)>,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self {
            words: Words::Unicode,
            lowercase: true,
            min_length: 2,
            max_length: 40,
            digits: Digits::Keep,
            stop_words: Vec::new(),
            stem: None,
            stem_date: String::new(),
            ngrams: 1,
            char_ngrams: None,
        }
    }
}

/// Languages with a stop-word list (those of NLTK), and their codes.
const STOP_LANGUAGES: [(&str, &str); 30] = [
    ("albanian", "sq"),
    ("arabic", "ar"),
    ("azerbaijani", "az"),
    ("basque", "eu"),
    ("belarusian", "be"),
    ("bengali", "bn"),
    ("catalan", "ca"),
    ("chinese", "zh"),
    ("danish", "da"),
    ("dutch", "nl"),
    ("english", "en"),
    ("finnish", "fi"),
    ("french", "fr"),
    ("german", "de"),
    ("greek", "el"),
    ("hebrew", "he"),
    ("hungarian", "hu"),
    ("indonesian", "id"),
    ("italian", "it"),
    ("kazakh", "kk"),
    ("nepali", "ne"),
    ("norwegian", "no"),
    ("portuguese", "pt"),
    ("romanian", "ro"),
    ("russian", "ru"),
    ("slovenian", "sl"),
    ("spanish", "es"),
    ("swedish", "sv"),
    ("tamil", "ta"),
    ("turkish", "tr"),
];

/// The stop words of a language, by its English name or two-letter code.
pub fn stop_words(language: &str) -> Result<Vec<String>> {
    let wanted = language.to_lowercase();
    STOP_LANGUAGES
        .iter()
        .find(|(name, code)| *name == wanted || *code == wanted)
        .and_then(|(_, code)| stop_words::lookup(code))
        .map(|words| {
            let mut words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
            words.sort_unstable();
            words.dedup();
            words
        })
        .ok_or_else(|| Error::unknown("stop-word language", language, STOP_LANGUAGES.iter().map(|(name, _)| *name)))
}

/// Names of the languages with a stop-word list.
pub fn stop_word_languages() -> impl Iterator<Item = &'static str> {
    STOP_LANGUAGES.iter().map(|(name, _)| *name)
}

/// Names of the stemming algorithms.
pub fn stemmers() -> impl Iterator<Item = &'static str> {
    frostem::Algorithm::all().iter().map(|algorithm| algorithm.name())
}

impl TextOptions {
    /// The options with stemming by a language's Snowball algorithm.
    pub fn stemmed(mut self, language: &str) -> Result<Self> {
        self.stem = Some(algorithm(language)?.name().to_owned());
        SNOWBALL_DATE.clone_into(&mut self.stem_date);
        Ok(self)
    }

    /// Checks ranges and names.
    pub fn validate(&self) -> Result<()> {
        if self.min_length == 0 || self.min_length > self.max_length {
            return Err(Error::invalid(
                "min-length",
                self.min_length,
                format!("must be from 1 to the maximum length, {}", self.max_length),
            ));
        }
        if !(1..=8).contains(&self.ngrams) {
            return Err(Error::invalid("ngrams", self.ngrams, "must be from 1 to 8"));
        }
        if let Some((low, high)) = self.char_ngrams {
            if low == 0 || low > high || high > 16 {
                return Err(Error::invalid("char_ngrams", format!("{low}-{high}"), "must be ascending, from 1 to 16"));
            }
            if self.ngrams > 1 {
                return Err(Error::invalid("ngrams", self.ngrams, "word and character n-grams exclude each other"));
            }
        }
        if let Some(name) = &self.stem {
            algorithm(name)?;
        }
        Ok(())
    }

    /// The stemmer, when stemming is on.
    pub(crate) fn stemmer(&self) -> Result<Option<frostem::Stemmer>> {
        self.stem.as_deref().map(|name| algorithm(name).map(frostem::Stemmer::new)).transpose()
    }
}

fn algorithm(language: &str) -> Result<frostem::Algorithm> {
    frostem::Algorithm::from_name(language).map_err(|_| Error::unknown("stemmer", language, stemmers()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_by_name_or_code() {
        assert_eq!(stop_words("English").unwrap(), stop_words("en").unwrap());
        assert!(stop_words("en").unwrap().contains(&"the".to_owned()));
        assert!(stop_words("klingon").unwrap_err().to_string().starts_with("unknown stop-word language"));
        for language in stop_word_languages() {
            assert!(!stop_words(language).unwrap().is_empty(), "{language}");
        }
    }

    #[test]
    fn options_travel_as_json() {
        let options = TextOptions { stop_words: vec!["the".into()], ..TextOptions::default() }.stemmed("en").unwrap();
        let json = serde_json::to_string(&options).unwrap();
        assert_eq!(serde_json::from_str::<TextOptions>(&json).unwrap(), options);
        assert_eq!(options.stem.as_deref(), Some("english"));
    }

    #[test]
    fn the_stored_date_is_the_pinned_version() {
        let manifest = include_str!("../../../../Cargo.toml");
        assert!(manifest.contains(&format!("frostem = \"=2.{SNOWBALL_DATE}.")), "SNOWBALL_DATE must follow Cargo.toml");
    }
}
