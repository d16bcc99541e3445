//! Classifiers by name: `knn`, `knn(k=50)`, `wknn`.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::label::{KnnOptions, Similarity};
use crate::{Error, Result};

/// A classifier of a plan.
#[derive(Debug, Clone, PartialEq)]
pub enum ClassifierPlan {
    /// `knn` (okapi) or `wknn` (cosine).
    Knn(KnnOptions),
}

const NAMES: [&str; 2] = ["knn", "wknn"];

impl ClassifierPlan {
    /// Whether many selectors are evaluated in one pass over the test documents.
    pub(super) fn shares_passes(&self) -> bool {
        matches!(self, Self::Knn(_))
    }
}

impl fmt::Display for ClassifierPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Knn(options) => {
                let (name, usual) = match options.similarity {
                    Similarity::Okapi => ("knn", KnnOptions::KNN),
                    Similarity::Cosine => ("wknn", KnnOptions::WKNN),
                };
                if options.k == usual.k { f.write_str(name) } else { write!(f, "{name}(k={})", options.k) }
            }
        }
    }
}

impl FromStr for ClassifierPlan {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let name = text.split('(').next().unwrap_or("").trim();
        match name {
            "knn" => knn(text, KnnOptions::KNN),
            "wknn" => knn(text, KnnOptions::WKNN),
            _ => Err(Error::unknown("classifier", name, NAMES)),
        }
    }
}

/// `name` or `name(k=N)`.
fn knn(text: &str, usual: KnnOptions) -> Result<ClassifierPlan> {
    let Some((name, rest)) = text.split_once('(') else { return Ok(ClassifierPlan::Knn(usual)) };
    let at = name.len() + 1;
    let expected =
        || Error::Expression { text: text.into(), at, reason: "expected the number of neighbours, as in k=50)".into() };
    let inner = rest.strip_suffix(')').ok_or_else(expected)?;
    let k = inner.trim().strip_prefix("k").and_then(|v| v.trim().strip_prefix('=')).ok_or_else(expected)?;
    let k = k.trim().parse().ok().filter(|k| *k > 0).ok_or_else(expected)?;
    Ok(ClassifierPlan::Knn(KnnOptions { k, ..usual }))
}

impl Serialize for ClassifierPlan {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in ["knn", "wknn", "knn(k=7)", "wknn(k=3)"] {
            assert_eq!(name.parse::<ClassifierPlan>().unwrap().to_string(), name);
        }
        assert_eq!("knn( k = 100 )".parse::<ClassifierPlan>().unwrap().to_string(), "knn");
        for bad in ["", "knnn", "knn(", "knn(k=0)", "knn(n=3)", "knn(k=-1)", "knn(k=3"] {
            assert!(bad.parse::<ClassifierPlan>().is_err(), "{bad}");
        }
    }
}
