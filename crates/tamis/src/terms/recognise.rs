//! The language of a corpus, from what it begins with (feature `languages`).

use super::languages::{algorithm, stop_language_name};
use super::{StopWords, TextChoices};
use crate::corpus::Glance;
use crate::{Error, Result};

/// What stands for a language that is to be recognised.
pub(super) const AUTO: &str = "auto";

impl TextChoices {
    /// Whether the language is to be recognised, and a corpus must be looked at before [`TextChoices::options`].
    pub fn wants_language(&self) -> bool {
        self.language.as_deref() == Some(AUTO)
    }

    /// The language that a corpus is written in, where that was asked for.
    pub fn language_of(&self, glance: &Glance) -> Result<Option<String>> {
        self.wants_language().then(|| language_of(glance.text())).transpose()
    }

    /// The same with the language that a corpus is written in, where that was asked for.
    pub fn with_language_of(&self, glance: &Glance) -> Result<Self> {
        let Some(language) = self.language_of(glance)? else { return Ok(self.clone()) };
        // A language may have a stemmer and no stop words, the other way round, or, as Chinese, neither: then nothing changes.
        let stem = algorithm(&language).is_ok().then(|| language.clone());
        let stop = stop_language_name(&language).is_ok().then(|| StopWords::Named(language.clone()));
        Ok(Self {
            language: None,
            stem: self.stem.clone().or(stem),
            stop_words: self.stop_words.clone().or(stop),
            ..self.clone()
        })
    }
}

fn unsure(reason: &str) -> Error {
    Error::invalid("language", AUTO, format!("{reason}; name it, as in the option `language=english`"))
}

/// The English name of the language of a text, as the lists of stemmers and stop words have it.
#[cfg(feature = "languages")]
fn language_of(text: &str) -> Result<String> {
    let found = whatlang::detect(text).ok_or_else(|| unsure("the first documents are of no language that is known"))?;
    let name = match found.lang() {
        whatlang::Lang::Cmn => "chinese".to_owned(),
        whatlang::Lang::Nob => "norwegian".to_owned(),
        other => other.eng_name().to_lowercase(),
    };
    if !found.is_reliable() {
        return Err(unsure(&format!("the language cannot be told for certain from the first documents ({name}?)")));
    }
    Ok(name)
}

#[cfg(not(feature = "languages"))]
fn language_of(_: &str) -> Result<String> {
    Err(unsure("this build does not recognise languages (cargo feature `languages`)"))
}

#[cfg(all(test, feature = "languages"))]
mod tests {
    use super::*;

    fn expression(language: &str, text: &str) -> Result<String> {
        let choices = TextChoices { language: Some(language.into()), ..TextChoices::default() };
        Ok(choices.with_language_of(&Glance::of_text(text))?.options()?.to_string())
    }

    #[test]
    fn the_language_of_a_text_is_taken() {
        for (text, said) in [
            ("The quick brown fox jumps over the lazy dog, and nobody has ever asked why it should.", "english"),
            ("Der schnelle braune Fuchs springt über den faulen Hund, und niemand hat je gefragt, warum.", "german"),
            ("Быстрая коричневая лиса прыгает через ленивую собаку, и никто не спрашивал почему.", "russian"),
        ] {
            assert_eq!(expression(AUTO, text).unwrap(), format!("words(stop={said},stem={said})"));
            // One that was named is taken, whatever the text.
            assert_eq!(expression("fr", text).unwrap(), "words(stop=french,stem=french)");
        }
    }

    #[test]
    fn what_cannot_be_had_is_said() {
        let error = expression(AUTO, "12 34 !").unwrap_err().to_string();
        assert!(error.contains("of no language that is known"), "{error}");
        // Recognised, and there is nothing to do about it; whoever names it should know.
        assert_eq!(expression(AUTO, "อาหารอร่อยมากและพนักงานบริการดี").unwrap(), "words");
        let error = expression("thai", "").unwrap_err().to_string();
        assert!(error.contains("thai") && error.contains("no stemmer"), "{error}");
        let choices = TextChoices { language: Some(AUTO.into()), ..TextChoices::default() };
        assert!(choices.options().unwrap_err().to_string().contains("from a corpus"));
    }
}
