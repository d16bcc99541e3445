//! What a user says about terms, in the command, a plan or Python: an expression, or a few options that stand for one.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::block::{Block, Digits, Unit};
use super::html::Html;
use super::languages::{algorithm, stop_language_name, stop_words_of_file, tidy};
use super::text::OWN_LIST;
use super::{TextOptions, Words, expression};
use crate::{Error, Result};

/// What to leave out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StopWords {
    /// A language, or a file with a word in each line.
    Named(String),
    /// The words themselves.
    List(Vec<String>),
}

/// What a user says about terms. What is not said is as usual; with an expression, the other options are what is usual for
/// its blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TextChoices {
    /// A terms expression.
    pub terms: Option<String>,
    /// What a word is.
    pub words: Option<Words>,
    /// Lower-cases words.
    pub lowercase: Option<bool>,
    /// Shortest word, in characters.
    pub min_length: Option<usize>,
    /// Longest word, in characters.
    pub max_length: Option<usize>,
    /// What happens to digits.
    pub digits: Option<Digits>,
    /// Words to leave out.
    pub stop_words: Option<StopWords>,
    /// Language of the stemmer.
    pub stem: Option<String>,
    /// Language of stemmer and stop words, where those are not said; `auto` is for [`TextChoices::with_language_of`].
    pub language: Option<String>,
    /// Word n-grams of 1 to this many words.
    pub ngrams: Option<usize>,
    /// Character n-grams of these lengths instead of words.
    pub char_ngrams: Option<(usize, usize)>,
    /// What happens to HTML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub html: Option<Html>,
}

impl TextChoices {
    /// The options for counting.
    pub fn options(&self) -> Result<TextOptions> {
        let mut lists = BTreeMap::new();
        let mut stop = self.stop_words.as_ref().map(|words| self::list(words, &mut lists)).transpose()?;
        let stemmer = |name: &str| algorithm(name).map(|found| found.name().to_owned());
        let mut stem = self.stem.as_deref().map(stemmer).transpose()?;
        if let Some(language) = &self.language {
            if self.wants_language() {
                return Err(Error::invalid("language", language, "is recognised from a corpus; here it must be named"));
            }
            let lacks = |what: &str, other: &str| {
                let reason =
                    format!("there is no {what} for it; say the option `{other}` alone, or nothing about languages");
                Error::invalid("language", language, reason)
            };
            stem = Some(stem.map_or_else(|| stemmer(language).map_err(|_| lacks("stemmer", "stop_words")), Ok)?);
            let list = || stop_language_name(language).map(str::to_owned);
            stop = Some(stop.map_or_else(|| list().map_err(|_| lacks("list of stop words", "stem")), Ok)?);
        }
        let base = |unit: Unit| {
            let usual = Block::of(unit);
            Block {
                words: self.words.unwrap_or(usual.words),
                lowercase: self.lowercase.unwrap_or(usual.lowercase),
                min_length: self.min_length.unwrap_or(usual.min_length),
                max_length: self.max_length.unwrap_or(usual.max_length),
                digits: self.digits.unwrap_or(usual.digits),
                stop: stop.clone(),
                stem: stem.clone(),
                ..usual
            }
        };
        let blocks = match (&self.terms, self.ngrams, self.char_ngrams) {
            (None, Some(n), Some(_)) if n != 1 => {
                return Err(Error::invalid("ngrams", n, "to have both, take the option `terms=words(1-2)+chars(3-5)`"));
            }
            (None, Some(n), _) if n == 0 || n > Block::longest(Unit::Words) => {
                return Err(Error::invalid("ngrams", n, format!("must be from 1 to {}", Block::longest(Unit::Words))));
            }
            (None, _, Some(range)) => vec![Block { range, ..base(Unit::Chars) }],
            (None, n, None) => vec![Block { range: (1, n.unwrap_or(1)), ..base(Unit::Words) }],
            (Some(text), None | Some(1), None) => expression::parse(text, &base)?,
            (Some(text), _, _) => {
                return Err(Error::invalid(
                    "terms",
                    text,
                    "n-grams go into the expression, as in words(1-2)+chars(3-5)",
                ));
            }
        };
        for name in blocks.iter().filter_map(|block| block.stop.as_ref()) {
            if let (false, Some(file)) = (lists.contains_key(name), name.strip_prefix('@')) {
                lists.insert(name.clone(), stop_words_of_file(Path::new(file))?);
            }
        }
        Ok(TextOptions::new(blocks, lists)?.with_html(self.html.unwrap_or_default()))
    }
}

/// The name of a list, which is put among the lists where it is not a language's.
fn list(words: &StopWords, lists: &mut BTreeMap<String, Vec<String>>) -> Result<String> {
    match words {
        StopWords::List(words) => {
            lists.insert(OWN_LIST.to_owned(), tidy(words.iter().cloned()));
            Ok(OWN_LIST.to_owned())
        }
        StopWords::Named(name) => match (stop_language_name(name), Path::new(name).is_file()) {
            (Ok(language), _) => Ok(language.to_owned()),
            (Err(_), true) => {
                lists.insert(format!("@{name}"), stop_words_of_file(Path::new(name))?);
                Ok(format!("@{name}"))
            }
            (Err(unknown), false) => {
                Err(Error::invalid("stop_words", name, format!("no such file or language; {unknown}")))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(choices: &TextChoices) -> String {
        choices.options().unwrap().to_string()
    }

    #[test]
    fn options_stand_for_an_expression() {
        let usual = TextChoices::default();
        assert_eq!(usual.options().unwrap(), TextOptions::default());
        assert_eq!(
            printed(&TextChoices { ngrams: Some(2), stem: Some("en".into()), ..usual.clone() }),
            "words(1-2,stem=english)"
        );
        let chars = TextChoices { char_ngrams: Some((3, 5)), words: Some(Words::Blanks), ..usual.clone() };
        assert_eq!(printed(&chars), "chars(3-5,kind=blanks)");
        let both = TextChoices {
            terms: Some("words(1-2)+chars(3-5,stem=none)".into()),
            stem: Some("english".into()),
            ..usual.clone()
        };
        assert_eq!(printed(&both), "words(1-2,stem=english)+chars(3-5)");
        let own = TextChoices { stop_words: Some(StopWords::List(vec!["b".into(), "a".into()])), ..usual };
        assert_eq!(printed(&own), "words(stop=@list)");
        let options = own.options().unwrap();
        assert_eq!(options.stop_words(&options.blocks()[0]), ["a", "b"]);
    }

    #[test]
    fn what_excludes_each_other_is_refused() {
        let both = TextChoices { ngrams: Some(2), char_ngrams: Some((3, 5)), ..TextChoices::default() };
        assert!(both.options().unwrap_err().to_string().contains("words(1-2)+chars(3-5)"));
        let twice = TextChoices { terms: Some("words".into()), ngrams: Some(2), ..TextChoices::default() };
        assert!(twice.options().unwrap_err().to_string().contains("go into the expression"));
        let nobody = TextChoices { stop_words: Some(StopWords::Named("klingon".into())), ..TextChoices::default() };
        assert!(nobody.options().unwrap_err().to_string().contains("no such file or language"));
    }
}
