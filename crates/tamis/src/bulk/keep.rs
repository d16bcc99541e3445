//! Which rows are kept: `score > 0.7`, `probability(spam) <= 0.2`.

use std::fmt;
use std::str::FromStr;

use crate::model::OneScore;
use crate::{Error, Result};

/// What of a label is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Score,
    Probability,
}

/// How it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Than {
    Above,
    AtLeast,
    Below,
    AtMost,
}

/// A condition on the score or the probability of one label: `score > 0.7`, `probability(spam) <= 0.2`. A label with characters
/// other than letters, digits and `_.-/` stands in double quotes.
#[derive(Debug, Clone, PartialEq)]
pub struct Keep {
    what: What,
    label: Option<String>,
    than: Than,
    number: f64,
}

impl Keep {
    /// The label it names; `None` stands for the only one that is scored.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// Whether it is about a probability.
    pub fn needs_probability(&self) -> bool {
        self.what == What::Probability
    }

    /// Whether a document is kept; one without the number is not.
    pub fn keeps(&self, one: &OneScore) -> bool {
        let found = match self.what {
            What::Score => one.score,
            What::Probability => one.probability,
        };
        found.is_some_and(|x| match self.than {
            Than::Above => x > self.number,
            Than::AtLeast => x >= self.number,
            Than::Below => x < self.number,
            Than::AtMost => x <= self.number,
        })
    }
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.what {
            What::Score => "score",
            What::Probability => "probability",
        })?;
        match &self.label {
            Some(label) if label.chars().all(is_plain) && !label.is_empty() => write!(f, "({label})")?,
            Some(label) => write!(f, "(\"{}\")", label.replace('\\', "\\\\").replace('"', "\\\""))?,
            None => {}
        }
        let than = match self.than {
            Than::Above => ">",
            Than::AtLeast => ">=",
            Than::Below => "<",
            Than::AtMost => "<=",
        };
        write!(f, " {than} {}", self.number)
    }
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "_.-/".contains(c)
}

/// What is left of an expression.
struct Rest<'t> {
    text: &'t str,
    at: usize,
}

impl Rest<'_> {
    fn error(&self, reason: &str) -> Error {
        Error::Expression { text: self.text.to_owned(), at: self.at, reason: reason.to_owned() }
    }

    fn blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, wanted: &str) -> bool {
        let found = self.text[self.at..].starts_with(wanted);
        self.at += if found { wanted.len() } else { 0 };
        found
    }

    fn label(&mut self) -> Result<String> {
        let rest = &self.text[self.at..];
        if !rest.starts_with('"') {
            let end = rest.find(|c| !is_plain(c)).unwrap_or(rest.len());
            if end == 0 {
                return Err(self.error("expected a label; one with other characters stands in double quotes"));
            }
            self.at += end;
            return Ok(rest[..end].to_owned());
        }
        let (mut label, mut escaped) = (String::new(), false);
        for (at, c) in rest.char_indices().skip(1) {
            match c {
                _ if escaped => {
                    label.push(c);
                    escaped = false;
                }
                '\\' => escaped = true,
                '"' => {
                    self.at += at + 1;
                    return Ok(label);
                }
                _ => label.push(c),
            }
        }
        Err(self.error("the quote that opens here never closes"))
    }
}

impl FromStr for Keep {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut rest = Rest { text, at: 0 };
        rest.blanks();
        let what = if rest.take("score") {
            What::Score
        } else if rest.take("probability") {
            What::Probability
        } else {
            return Err(rest.error("expected score or probability, as in score > 0.7 or probability(spam) <= 0.2"));
        };
        rest.blanks();
        let mut label = None;
        if rest.take("(") {
            rest.blanks();
            label = Some(rest.label()?);
            rest.blanks();
            if !rest.take(")") {
                return Err(rest.error("expected ) after the label"));
            }
            rest.blanks();
        }
        let than = if rest.take(">=") {
            Than::AtLeast
        } else if rest.take("<=") {
            Than::AtMost
        } else if rest.take(">") {
            Than::Above
        } else if rest.take("<") {
            Than::Below
        } else {
            return Err(rest.error("expected one of > >= < <="));
        };
        rest.blanks();
        let number = text[rest.at..].trim_end().parse::<f64>().ok().filter(|number| number.is_finite());
        let number = number.ok_or_else(|| rest.error("expected a number, and nothing after it"))?;
        if what == What::Probability && !(0.0..=1.0).contains(&number) {
            return Err(rest.error("a probability is between 0 and 1"));
        }
        Ok(Self { what, label, than, number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(score: f64, probability: f64) -> OneScore {
        OneScore { score: Some(score), probability: Some(probability), known: true }
    }

    #[test]
    fn conditions() {
        for (text, kept) in [
            ("score > 0.7", [false, true]),
            (" score>=0.7 ", [true, true]),
            ("score(a) < 0.7", [false, false]),
            ("probability <= 0.5", [true, false]),
        ] {
            let keep: Keep = text.parse().unwrap();
            assert_eq!([keep.keeps(&one(0.7, 0.5)), keep.keeps(&one(0.8, 0.6))], kept, "{text}");
            assert!(!keep.keeps(&OneScore { score: None, probability: None, known: false }));
        }
    }

    #[test]
    fn what_is_wrong_is_shown() {
        let error = |text: &str| text.parse::<Keep>().unwrap_err().to_string();
        assert_eq!(error("scored > 1"), "expected one of > >= < <=\n  scored > 1\n       ^");
        assert!(error("quality > 1").starts_with("expected score or probability"));
        assert!(error("").starts_with("expected score or probability"));
        assert!(error("score(\"a > 1").starts_with("the quote that opens"));
        assert!(error("score() > 1").starts_with("expected a label"));
        assert!(error("score(a > 1").starts_with("expected )"));
        assert!(error("score = 1").starts_with("expected one of"));
        for text in ["score >", "score > x", "score > nan", "score > 1 and score < 2", "score > inf"] {
            assert!(error(text).starts_with("expected a number"), "{text}");
        }
        assert!(error("probability > 7").starts_with("a probability is between"));
    }

    proptest! {
        #[test]
        fn prints_as_it_parses(label in prop::option::of(".{0,12}"), number in -1e9..1e9, at in 0usize..4, p in any::<bool>()) {
            let than = [Than::Above, Than::AtLeast, Than::Below, Than::AtMost][at];
            let (what, number) = if p { (What::Probability, f64::midpoint(number / 1e9, 1.0)) } else { (What::Score, number) };
            let keep = Keep { what, label, than, number };
            prop_assert_eq!(keep.to_string().parse::<Keep>().unwrap(), keep);
        }
    }
}
