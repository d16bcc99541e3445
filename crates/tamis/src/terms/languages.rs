//! Languages: whose words are left out, and how they are stemmed.

use crate::{Error, Result};

/// Date of the Snowball algorithms that this build stems with (the minor version of the `frostem` crate, pinned in
/// Cargo.toml). Stored with the options, because another date may stem a word differently.
pub const SNOWBALL_DATE: &str = "20261016";

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

fn stop_language(language: &str) -> Result<(&'static str, &'static str)> {
    let wanted = language.to_lowercase();
    let found = STOP_LANGUAGES.into_iter().find(|(name, code)| *name == wanted || *code == wanted);
    found.ok_or_else(|| Error::unknown("stop-word language", language, stop_word_languages()))
}

/// The English name of a language with stop words, by that name or its two-letter code.
pub(super) fn stop_language_name(language: &str) -> Result<&'static str> {
    stop_language(language).map(|(name, _)| name)
}

/// The stop words of a language, by its English name or two-letter code.
pub fn stop_words(language: &str) -> Result<Vec<String>> {
    let (_, code) = stop_language(language)?;
    Ok(tidy(stop_words::lookup(code).unwrap_or_default().iter().map(|w| (*w).to_owned())))
}

/// Names of the languages with a stop-word list.
pub fn stop_word_languages() -> impl Iterator<Item = &'static str> {
    STOP_LANGUAGES.iter().map(|(name, _)| *name)
}

/// Names of the stemming algorithms.
pub fn stemmers() -> impl Iterator<Item = &'static str> {
    frostem::Algorithm::all().iter().map(|algorithm| algorithm.name())
}

/// The words of a file, one in each line; lines that begin with `#` are remarks.
pub fn stop_words_of_file(path: &std::path::Path) -> Result<Vec<String>> {
    let lines = crate::whole::read_text(path, "a list of words", crate::whole::MAX_WORDS)?;
    Ok(tidy(lines.lines().map(|l| l.trim().to_lowercase()).filter(|l| !l.is_empty() && !l.starts_with('#'))))
}

/// A list of words as it is stored: sorted, without repetitions.
pub(super) fn tidy(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut words: Vec<String> = words.into_iter().collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// The stemming algorithm of a language, by name or code.
pub(super) fn algorithm(language: &str) -> Result<frostem::Algorithm> {
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
    fn the_stored_date_is_the_pinned_version() {
        let manifest = include_str!("../../../../Cargo.toml");
        assert!(manifest.contains(&format!("frostem = \"=2.{SNOWBALL_DATE}.")), "SNOWBALL_DATE must follow Cargo.toml");
    }
}
