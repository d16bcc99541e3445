//! What a user may ask of logistic regression, and its name: `logistic(c=1,form=ovr)`.

use std::fmt::{self, Display};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::super::arguments::{Words, arguments, number, spelled};
use super::super::{ClassWeights, Vectors};
use crate::{Error, Result};

/// What the probabilities are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Each label against all documents without it: several labels, or none, may be probable.
    Ovr,
    /// All labels compete, and their probabilities add up to 1. A document of several labels counts once for each, one without
    /// any takes no part.
    Multinomial,
}

impl Words for Form {
    const WORDS: &'static [(Self, &'static str)] = &[(Self::Ovr, "ovr"), (Self::Multinomial, "multinomial")];
}

/// Options of logistic regression (method 7). Its name leaves out what is at its default: `logistic`, `logistic(c=10)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogisticOptions {
    /// `C`, the cost of errors against the size of weights. Between 1e-12 and 1e12.
    pub c: f64,
    /// What the probabilities are about; told from the documents when `None`, see [`LogisticOptions::fit`].
    pub form: Option<Form>,
    /// How documents become vectors.
    pub vectors: Vectors,
    /// Costs of labels.
    pub classes: ClassWeights,
    /// A problem is solved when its duality gap is at most this share of its primal value.
    pub gap: f64,
    /// A problem is given up after so many steps of Newton's method; the fit reports the gap reached.
    pub iterations: usize,
}

impl Default for LogisticOptions {
    fn default() -> Self {
        Self {
            c: 1.0,
            form: None,
            vectors: Vectors::default(),
            classes: ClassWeights::default(),
            gap: 1e-6,
            iterations: 100,
        }
    }
}

impl LogisticOptions {
    /// Refuses values with which no solution can be computed.
    pub fn validate(&self) -> Result<()> {
        if !(1e-12..=1e12).contains(&self.c) {
            return Err(Error::invalid("c", self.c, "must be between 1e-12 and 1e12"));
        }
        if !(self.gap.is_finite() && self.gap > 0.0) {
            return Err(Error::invalid("gap", self.gap, "must be a finite number above 0"));
        }
        if self.iterations == 0 {
            return Err(Error::invalid("iterations", self.iterations, "must be at least 1"));
        }
        Ok(())
    }
}

impl Display for LogisticOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Self::default();
        f.write_str(&spelled(
            "logistic",
            &[
                ("c", &self.c, self.c == default.c),
                ("form", &self.form.map_or("", Form::word), self.form.is_none()),
                ("vectors", &self.vectors, self.vectors == default.vectors),
                ("classes", &self.classes, self.classes == default.classes),
                ("gap", &self.gap, self.gap == default.gap),
                ("iterations", &self.iterations, self.iterations == default.iterations),
            ],
        ))
    }
}

impl FromStr for LogisticOptions {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        const KEYS: [&str; 6] = ["c", "form", "vectors", "classes", "gap", "iterations"];
        let mut options = Self::default();
        for (key, value) in arguments(text, "logistic", &KEYS)? {
            match key {
                "c" => options.c = number(key, value)?,
                "form" => options.form = Some(Form::parse("form", value)?),
                "vectors" => options.vectors = value.parse()?,
                "classes" => options.classes = value.parse()?,
                "gap" => options.gap = number(key, value)?,
                _ => options.iterations = number(key, value)?,
            }
        }
        options.validate()?;
        Ok(options)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in [
            "logistic",
            "logistic(c=0.1,form=multinomial)",
            "logistic(form=ovr,vectors=tfidf*rf,classes=balanced,gap=0.001,iterations=7)",
            "logistic(classes=oil:5;\"a, b\":0.5)",
        ] {
            assert_eq!(name.parse::<LogisticOptions>().unwrap().to_string(), name);
        }
        let error = |text: &str| text.parse::<LogisticOptions>().unwrap_err().to_string();
        assert!(error("logistic(c=0)").contains("between 1e-12"));
        assert!(error("logistic(form=multi)").contains("multinomial"));
        assert!(error("logistic(loss=hinge)").contains("unknown option"));
    }
}
