//! What documents of a label cost: alike, balanced, or as told label by label.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Problem;
use super::arguments::parted;
use crate::counts::Vocabulary;
use crate::{Error, Result};

/// How the cost is shared between labels: `equal`, `balanced`, or weights by label such as `oil:5;sea:0.5`. A label with
/// other characters than letters, digits and `-_./` is quoted: `"oil, crude":5`.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum ClassWeights {
    /// Every document costs `C`.
    #[default]
    Equal,
    /// A document costs `C·n/(2·n_side)`, so that both sides of a problem weigh the same together; for rare labels. Where all
    /// labels share one problem: `C·n/(k·n_label)` with `k` labels.
    Balanced,
    /// A document of the label costs so many times `C` in the label's own problem; labels that are not named have 1. Where two
    /// labels exclude each other, or all share one problem, every document has the weight of its label.
    Labels(Vec<(String, f64)>),
}

impl ClassWeights {
    /// The weight of each label that was named, by label number; 1 for others.
    pub(super) fn of_labels(&self, problem: &Problem) -> Result<Vec<f64>> {
        if !matches!(self, Self::Labels(_)) {
            return Ok(vec![1.0; problem.labels()]);
        }
        // Along a taxonomy the labels of a problem are nodes, which the names are not about.
        let Some(names) = problem.names.as_ref().filter(|names| names.len() == problem.labels()) else {
            return Err(Error::data("weights of labels need the names of labels, and these documents have none"));
        };
        self.of_names(names)
    }

    /// The same by the names of the labels.
    pub(super) fn of_names(&self, names: &Vocabulary) -> Result<Vec<f64>> {
        let mut weights = vec![1.0; names.len()];
        let Self::Labels(told) = self else { return Ok(weights) };
        for (label, weight) in told {
            let Some(number) = names.id(label) else { return Err(Error::unknown("label", label, names.iter())) };
            weights[number as usize] = *weight;
        }
        Ok(weights)
    }

    /// What documents of the two sides of a problem cost beside `C`, negative side first: `sums` are the weights of
    /// documents on each, `told` what was said of the label.
    pub(super) fn sides(&self, sums: [f64; 2], told: [f64; 2]) -> [f64; 2] {
        match self {
            Self::Equal => [1.0; 2],
            // A side without documents has no cost to weigh.
            Self::Balanced => sums.map(|side| if side > 0.0 { (sums[0] + sums[1]) / (2.0 * side) } else { 1.0 }),
            Self::Labels(_) => told,
        }
    }
}

impl fmt::Display for ClassWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal => f.write_str("equal"),
            Self::Balanced => f.write_str("balanced"),
            Self::Labels(told) => {
                let plain = |c: char| c.is_alphanumeric() || "-_./".contains(c);
                for (at, (label, weight)) in told.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { ";" })?;
                    if label.chars().all(plain) && !label.is_empty() {
                        write!(f, "{label}:{weight}")?;
                    } else {
                        write!(f, "\"{}\":{weight}", label.replace('"', "\"\""))?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl FromStr for ClassWeights {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "equal" => return Ok(Self::Equal),
            "balanced" => return Ok(Self::Balanced),
            _ if !text.contains(':') => return Err(Error::unknown("class weighting", text, ["equal", "balanced"])),
            _ => {}
        }
        let mut told: Vec<(String, f64)> = Vec::new();
        for part in parted(text, ';') {
            let wrong = |reason: &str| Error::invalid("classes", part, reason);
            let (label, weight) = part.rsplit_once(':').ok_or_else(|| wrong("expected label:weight"))?;
            let label = label.trim();
            let quoted = label.strip_prefix('"').and_then(|l| l.strip_suffix('"'));
            let label = quoted.map_or_else(|| label.to_owned(), |l| l.replace("\"\"", "\""));
            let weight: f64 = weight.trim().parse().map_err(|_| wrong("the weight of a label is a number"))?;
            if !(1e-9..=1e9).contains(&weight) {
                return Err(wrong("the weight of a label lies between 1e-9 and 1e9"));
            }
            if told.iter().any(|(l, _)| *l == label) {
                return Err(wrong("a label has one weight"));
            }
            told.push((label, weight));
        }
        Ok(Self::Labels(told))
    }
}

impl Serialize for ClassWeights {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ClassWeights {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn says_what_is_wrong() {
        let error = |text: &str| text.parse::<ClassWeights>().unwrap_err().to_string();
        assert!(error("balance").contains("did you mean balanced"));
        assert!(error("oil:x").contains("is a number"));
        assert!(error("oil:0").contains("between 1e-9"));
        assert!(error("oil:1;oil:2").contains("one weight"));
        assert!(error("oil:1;sea").contains("label:weight"));
    }

    proptest! {
        #[test]
        fn names_round_trip(told in prop::collection::btree_map(any::<String>(), 1e-6f64..1e6, 1..4)) {
            let weights = ClassWeights::Labels(told.into_iter().collect());
            prop_assert_eq!(&weights.to_string().parse::<ClassWeights>().unwrap(), &weights);
        }
    }
}
