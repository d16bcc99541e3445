//! What a user may ask of the SVM, and its name: `svm(c=1,loss=squared,multi=ovr)`.

use std::fmt::{self, Display};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::super::arguments::{Words, arguments, number, spelled};
use super::super::{ClassWeights, Vectors};
use crate::{Error, Result};

/// What a document on the wrong side of the margin costs, `e = 1 − y·w·x` being how far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// `max(0, e)`; what the papers' tool does.
    Hinge,
    /// `max(0, e)²`: converges in fewer passes, and on text it ranks and decides a little better (see `bench quality`).
    #[default]
    Squared,
}

/// How binary problems make up a choice among labels (method 7).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Multi {
    /// One problem for each label, against all documents without it. The score is the value `w·x + b`.
    #[default]
    Ovr,
    /// One problem for each pair of labels, on the documents that have exactly one of the two. The score is the number of
    /// pairs won; see [`Outputs::Votes`](super::super::Outputs::Votes) for ties.
    Ovo,
}

/// Options of the linear SVM (method 7). Its name leaves out what is at its default: `svm`, `svm(c=0.1,loss=hinge)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SvmOptions {
    /// `C`, the cost of errors against the size of weights. Between 1e-12 and 1e12.
    pub c: f64,
    /// The loss.
    pub loss: Loss,
    /// One-vs-rest or one-vs-one.
    pub multi: Multi,
    /// How documents become vectors.
    pub vectors: Vectors,
    /// Costs of the two sides.
    pub classes: ClassWeights,
    /// How far to trust the weights that were learned, from 0 to 1 for entirely: the rest of their trust goes to the scores of
    /// terms alone, as in NBSVM (Wang & Manning 2012). For vectors with `(per=label)`.
    pub beta: f64,
    /// A label is solved when its duality gap is at most this share of its primal value; see [`SvmOptions::gap`] for the
    /// default.
    pub gap: Option<f64>,
    /// A label is given up after so many passes over its working set; the fit reports the gap reached.
    pub iterations: usize,
    /// Seed of the order in which documents are met.
    pub seed: u64,
}

impl Default for SvmOptions {
    fn default() -> Self {
        Self {
            c: 1.0,
            loss: Loss::default(),
            multi: Multi::default(),
            vectors: Vectors::default(),
            classes: ClassWeights::default(),
            beta: 1.0,
            gap: None,
            iterations: 5000,
            seed: 0,
        }
    }
}

impl SvmOptions {
    /// The gap asked for, or the default: 1e-4 for hinge and 1e-6 for squared hinge, at which the first label is that of the
    /// exact solution for more than 99.9 % of documents. (The same gap allows larger deviations with squared hinge, but
    /// there a hundredth of it costs few more passes.)
    pub fn gap(&self) -> f64 {
        self.gap.unwrap_or(match self.loss {
            Loss::Hinge => 1e-4,
            Loss::Squared => 1e-6,
        })
    }

    /// Refuses values with which no solution can be computed.
    pub fn validate(&self) -> Result<()> {
        if !(1e-12..=1e12).contains(&self.c) {
            return Err(Error::invalid("c", self.c, "must be between 1e-12 and 1e12"));
        }
        if !(self.gap().is_finite() && self.gap() > 0.0) {
            return Err(Error::invalid("gap", self.gap(), "must be a finite number above 0"));
        }
        if !(0.0..=1.0).contains(&self.beta) {
            return Err(Error::invalid("beta", self.beta, "must be between 0 and 1"));
        }
        if self.beta < 1.0 && !self.vectors.per_label {
            let reason =
                "is for vectors with a score of their own for each label, such as vectors=binary*lpr(per=label)";
            return Err(Error::invalid("beta", self.beta, reason));
        }
        if self.multi == Multi::Ovo && self.vectors.per_label {
            let reason = "labels have vectors of their own only where each is told from the rest: take multi=ovr";
            return Err(Error::invalid("vectors", self.vectors, reason));
        }
        if self.iterations == 0 {
            return Err(Error::invalid("iterations", self.iterations, "must be at least 1"));
        }
        Ok(())
    }
}

impl Words for Loss {
    const WORDS: &'static [(Self, &'static str)] = &[(Self::Hinge, "hinge"), (Self::Squared, "squared")];
}

impl Words for Multi {
    const WORDS: &'static [(Self, &'static str)] = &[(Self::Ovr, "ovr"), (Self::Ovo, "ovo")];
}

impl Display for SvmOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Self::default();
        f.write_str(&spelled(
            "svm",
            &[
                ("c", &self.c, self.c == default.c),
                ("loss", &self.loss.word(), self.loss == default.loss),
                ("multi", &self.multi.word(), self.multi == default.multi),
                ("vectors", &self.vectors, self.vectors == default.vectors),
                ("classes", &self.classes, self.classes == default.classes),
                ("beta", &self.beta, self.beta == default.beta),
                ("gap", &self.gap(), self.gap.is_none()),
                ("iterations", &self.iterations, self.iterations == default.iterations),
                ("seed", &self.seed, self.seed == default.seed),
            ],
        ))
    }
}

impl FromStr for SvmOptions {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        const KEYS: [&str; 9] = ["c", "loss", "multi", "vectors", "classes", "beta", "gap", "iterations", "seed"];
        let mut options = Self::default();
        for (key, value) in arguments(text, "svm", &KEYS)? {
            match key {
                "c" => options.c = number(key, value)?,
                "loss" => options.loss = Loss::parse("loss", value)?,
                "multi" => options.multi = Multi::parse("way of using two-class problems", value)?,
                "vectors" => options.vectors = value.parse()?,
                "classes" => options.classes = value.parse()?,
                "beta" => options.beta = number(key, value)?,
                "gap" => options.gap = Some(number(key, value)?),
                "iterations" => options.iterations = number(key, value)?,
                _ => options.seed = number(key, value)?,
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
    use proptest::prelude::*;

    #[test]
    fn defaults_are_left_out() {
        assert_eq!(SvmOptions::default().to_string(), "svm");
        let parsed: SvmOptions = "svm( c = 1, loss=squared,multi=ovr)".parse().unwrap();
        assert_eq!(parsed, SvmOptions::default());
        let some = SvmOptions { c: 0.1, loss: Loss::Hinge, multi: Multi::Ovo, ..SvmOptions::default() };
        assert_eq!(some.to_string(), "svm(c=0.1,loss=hinge,multi=ovo)");
        let nbsvm = "svm(vectors=binary*lpr(per=label),classes=\"a, b\":2,beta=0.25)";
        assert_eq!(nbsvm.parse::<SvmOptions>().unwrap().to_string(), nbsvm);
    }

    #[test]
    fn json_may_leave_out_defaults() {
        let parsed: SvmOptions = serde_json::from_str(r#"{"c": 0.5, "loss": "hinge", "classes": "balanced"}"#).unwrap();
        assert_eq!(parsed.to_string(), "svm(c=0.5,loss=hinge,classes=balanced)");
        assert!(serde_json::from_str::<SvmOptions>(r#"{"cost": 1}"#).is_err());
    }

    #[test]
    fn says_what_is_wrong() {
        let error = |text: &str| text.parse::<SvmOptions>().unwrap_err().to_string();
        assert!(error("svm(c=0)").contains("between 1e-12"));
        assert!(error("svm(c=NaN)").contains("between 1e-12"));
        assert!(error("svm(gap=x)").contains("must be a number"));
        assert!(error("svm(loss=square)").contains("did you mean squared"));
        assert!(error("svm(cost=1)").contains("unknown option \"cost\""));
        assert!(error("svm(c=1,c=2)").contains("given twice"));
        assert!(error("svm(3)").contains("expected key=value"));
        assert!(error("svm(c=1").contains("expected )"));
        assert!(error("svmé").contains("expected ("));
        assert!(error("knn").contains("expected svm"));
        assert!(error("svm(beta=0.5)").contains("per=label"));
        assert!(error("svm(vectors=binary*lpr(per=label),beta=2)").contains("between 0 and 1"));
        assert!(error("svm(vectors=tfidf*rf(per=label),multi=ovo)").contains("multi=ovr"));
    }

    proptest! {
        #[test]
        fn names_round_trip(
            c in 1e-6f64..1e6, squared: bool, ovo: bool, weighting in 0usize..4, balanced: bool,
            gap in prop::option::of(1e-9f64..1.0), iterations in 1usize..10_000, seed: u64,
        ) {
            let options = SvmOptions {
                c,
                loss: if squared { Loss::Squared } else { Loss::Hinge },
                multi: if ovo { Multi::Ovo } else { Multi::Ovr },
                vectors: crate::classify::Weighting::ALL[weighting].into(),
                classes: if balanced { ClassWeights::Balanced } else { ClassWeights::Equal },
                beta: 1.0,
                gap,
                iterations,
                seed,
            };
            prop_assert_eq!(&options.to_string().parse::<SvmOptions>().unwrap(), &options);
        }
    }
}
