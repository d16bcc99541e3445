//! Measures as values: a name that parses and prints back the same.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::beta::Beta;
use super::registry::{Family, MeasureSpec, REGISTRY};
use crate::{Error, Result};

/// How a set-based measure is put together from labels and documents (method 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Average {
    /// All decisions in one pot.
    Micro,
    /// The mean over labels with a training document.
    Macro,
    /// The mean over labels that a judged document has or was given, as scikit-learn's macro averages are when it is not told
    /// the labels: a label that the documents lack does not count.
    Present,
    /// The mean over documents.
    Samples,
    /// The same, where no label answered with no label counts as 1, not as 0/0 = 0.
    Documents,
}

impl Average {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Micro, Self::Macro, Self::Present, Self::Samples, Self::Documents];

    /// Its name, after the `@`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Micro => "micro",
            Self::Macro => "macro",
            Self::Present => "present",
            Self::Samples => "samples",
            Self::Documents => "documents",
        }
    }

    /// Whether it is a mean over documents.
    pub fn is_over_documents(self) -> bool {
        matches!(self, Self::Samples | Self::Documents)
    }

    /// The same mean by the other convention, where there are two: labels without a document, documents without a label.
    pub fn other_convention(self) -> Option<Self> {
        match self {
            Self::Micro => None,
            Self::Macro => Some(Self::Present),
            Self::Present => Some(Self::Macro),
            Self::Samples => Some(Self::Documents),
            Self::Documents => Some(Self::Samples),
        }
    }
}

/// A measure of method 8. Its name prints and parses back to the same value.
///
/// ```
/// use tamis::measure::Measure;
/// let measure: Measure = "F0.5@micro".parse()?;
/// assert_eq!(measure.to_string(), "F0.5@micro");
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Measure {
    /// `RPrec`.
    RPrec,
    /// `AP`: of one document; over documents its mean, the same number as `MAP`.
    Ap,
    /// `MAP`.
    Map,
    /// `P@k`.
    PrecisionAt(u32),
    /// `R@k`.
    RecallAt(u32),
    /// `nDCG@k`, or `nDCG` over the whole list.
    Ndcg(Option<u32>),
    /// `MRR`.
    ReciprocalRank,
    /// `OneError`.
    OneError,
    /// `Coverage`.
    Coverage,
    /// `RankingLoss`.
    RankingLoss,
    /// `Accuracy`.
    Accuracy,
    /// `SubsetAccuracy`.
    SubsetAccuracy,
    /// `HammingLoss`.
    HammingLoss,
    /// `Precision@micro` and the other averages.
    Precision(Average),
    /// `Recall@micro` and the other averages.
    Recall(Average),
    /// `F1@micro`, `F0.5@macro` …
    F(Beta, Average),
    /// `Jaccard@micro` and the other averages.
    Jaccard(Average),
    /// `hP`.
    HierarchicalPrecision,
    /// `hR`.
    HierarchicalRecall,
    /// `hF1`, `hF0.5` …
    HierarchicalF(Beta),
    /// `Answered`.
    Answered,
    /// `ECE`.
    CalibrationError,
    /// `Brier`.
    Brier,
    /// `LogLoss`.
    LogLoss,
}

impl Measure {
    /// Whether less of it is better: losses and errors.
    pub fn is_loss(self) -> bool {
        matches!(
            self,
            Self::OneError
                | Self::Coverage
                | Self::RankingLoss
                | Self::HammingLoss
                | Self::CalibrationError
                | Self::Brier
                | Self::LogLoss
        )
    }

    /// `F1@micro`, the measure most papers report.
    pub const F1_MICRO: Self = Self::F(Beta::ONE, Average::Micro);
    /// `F1@macro`.
    pub const F1_MACRO: Self = Self::F(Beta::ONE, Average::Macro);

    /// The registry: one row a measure.
    pub fn registry() -> &'static [MeasureSpec] {
        &REGISTRY
    }

    /// Its row of the registry.
    pub fn spec(self) -> &'static MeasureSpec {
        let row = match self {
            Self::RPrec => 0,
            Self::Ap => 1,
            Self::Map => 2,
            Self::PrecisionAt(_) => 3,
            Self::RecallAt(_) => 4,
            Self::Ndcg(_) => 5,
            Self::ReciprocalRank => 6,
            Self::OneError => 7,
            Self::Coverage => 8,
            Self::RankingLoss => 9,
            Self::Accuracy => 10,
            Self::SubsetAccuracy => 11,
            Self::HammingLoss => 12,
            Self::Precision(_) => 13,
            Self::Recall(_) => 14,
            Self::F(..) => 15,
            Self::Jaccard(_) => 16,
            Self::HierarchicalPrecision => 17,
            Self::HierarchicalRecall => 18,
            Self::HierarchicalF(_) => 19,
            Self::Answered => 20,
            Self::CalibrationError => 21,
            Self::Brier => 22,
            Self::LogLoss => 23,
        };
        &REGISTRY[row]
    }

    /// How it is put together, where it is an average of set-based figures.
    pub fn average(self) -> Option<Average> {
        match self {
            Self::Precision(a) | Self::Recall(a) | Self::F(_, a) | Self::Jaccard(a) => Some(a),
            _ => None,
        }
    }

    /// The same measure with another average; itself where it is none.
    pub fn with_average(self, average: Average) -> Self {
        match self {
            Self::Precision(_) => Self::Precision(average),
            Self::Recall(_) => Self::Recall(average),
            Self::F(beta, _) => Self::F(beta, average),
            Self::Jaccard(_) => Self::Jaccard(average),
            other => other,
        }
    }

    /// The same measure by the other convention for what is absent, where there are two ([`Average::other_convention`]).
    pub fn other_convention(self) -> Option<Self> {
        Some(self.with_average(self.average()?.other_convention()?))
    }

    /// What it needs to see.
    pub fn family(self) -> Family {
        self.spec().family
    }

    /// Whether a larger value is better; false for losses.
    pub fn higher_is_better(self) -> bool {
        self.spec().higher_is_better
    }

    /// Names offered when a name is not known: every row, its averages, and the cut-offs people use.
    fn known() -> Vec<String> {
        let mut names = Vec::new();
        for spec in &REGISTRY {
            if let Some((stem, _)) = spec.example.split_once('@')
                && spec.family == Family::Decided
            {
                names.extend(Average::ALL.map(|average| format!("{stem}@{}", average.name())));
            } else {
                names.push(spec.example.to_owned());
            }
        }
        names
    }

    fn parse(text: &str) -> Option<Result<Self>> {
        let lower = text.to_ascii_lowercase();
        let (stem, after) = match lower.split_once('@') {
            Some((stem, after)) => (stem, Some(after)),
            None => (lower.as_str(), None),
        };
        let measure = match (stem, after) {
            ("rprec", None) => Self::RPrec,
            ("ap", None) => Self::Ap,
            ("map", None) => Self::Map,
            ("mrr", None) => Self::ReciprocalRank,
            ("oneerror", None) => Self::OneError,
            ("coverage", None) => Self::Coverage,
            ("rankingloss", None) => Self::RankingLoss,
            ("accuracy", None) => Self::Accuracy,
            ("subsetaccuracy", None) => Self::SubsetAccuracy,
            ("hammingloss", None) => Self::HammingLoss,
            ("ndcg", None) => Self::Ndcg(None),
            ("hp", None) => Self::HierarchicalPrecision,
            ("hr", None) => Self::HierarchicalRecall,
            ("answered", None) => Self::Answered,
            ("ece", None) => Self::CalibrationError,
            ("brier", None) => Self::Brier,
            ("logloss", None) => Self::LogLoss,
            ("p", Some(k)) => return Some(cutoff(text, k).map(Self::PrecisionAt)),
            ("r", Some(k)) => return Some(cutoff(text, k).map(Self::RecallAt)),
            ("ndcg", Some(k)) => return Some(cutoff(text, k).map(|k| Self::Ndcg(Some(k)))),
            ("precision", Some(a)) => Self::Precision(average(a)?),
            ("recall", Some(a)) => Self::Recall(average(a)?),
            ("jaccard", Some(a)) => Self::Jaccard(average(a)?),
            (stem, None) if is_number(stem.strip_prefix("hf")) => {
                return Some(stem[2..].parse().map(Self::HierarchicalF));
            }
            (stem, Some(a)) if is_number(stem.strip_prefix('f')) => {
                let average = average(a)?;
                return Some(stem[1..].parse().map(|beta| Self::F(beta, average)));
            }
            _ => return None,
        };
        Some(Ok(measure))
    }
}

fn is_number(text: Option<&str>) -> bool {
    text.is_some_and(|t| t.parse::<f64>().is_ok_and(f64::is_finite))
}

fn cutoff(text: &str, k: &str) -> Result<u32> {
    match k.parse() {
        Ok(k) if k > 0 => Ok(k),
        _ => Err(Error::invalid("measure", text, "the number of places after @ must be a whole number from 1 on")),
    }
}

fn average(text: &str) -> Option<Average> {
    Average::ALL.into_iter().find(|a| a.name() == text)
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PrecisionAt(k) => write!(f, "P@{k}"),
            Self::RecallAt(k) => write!(f, "R@{k}"),
            Self::Ndcg(Some(k)) => write!(f, "nDCG@{k}"),
            Self::Ndcg(None) => f.write_str("nDCG"),
            Self::Precision(a) => write!(f, "Precision@{}", a.name()),
            Self::Recall(a) => write!(f, "Recall@{}", a.name()),
            Self::F(beta, a) => write!(f, "F{beta}@{}", a.name()),
            Self::Jaccard(a) => write!(f, "Jaccard@{}", a.name()),
            Self::HierarchicalF(beta) => write!(f, "hF{beta}"),
            plain => f.write_str(plain.spec().name),
        }
    }
}

impl FromStr for Measure {
    type Err = Error;

    /// Upper and lower case are the same; the printed name has the usual spelling.
    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        Self::parse(text).unwrap_or_else(|| {
            let known = Self::known();
            Err(Error::unknown("measure", text, known.iter().map(String::as_str)))
        })
    }
}

impl Serialize for Measure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Measure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_parses_prints_and_points_back() {
        for spec in Measure::registry() {
            let measure: Measure = spec.example.parse().unwrap();
            assert_eq!(measure.to_string(), spec.example);
            assert_eq!(measure.spec(), spec);
            assert!(!spec.what.is_empty() && !spec.formula.is_empty() && !spec.source.is_empty());
        }
        for name in Measure::known() {
            assert_eq!(name.parse::<Measure>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn parameters_round_trip() {
        for name in ["P@1", "R@20", "nDCG", "nDCG@3", "F0.5@micro", "F2@samples", "F1@macro", "hF0.5", "Jaccard@macro"]
        {
            let measure: Measure = name.parse().unwrap();
            assert_eq!(measure.to_string(), name);
            assert_eq!(serde_json::to_string(&measure).unwrap(), format!("{name:?}"));
            assert_eq!(serde_json::from_str::<Measure>(&format!("{name:?}")).unwrap(), measure);
        }
        assert_eq!("ndcg@10".parse::<Measure>().unwrap(), Measure::Ndcg(Some(10)));
        assert_eq!("f1@MICRO".parse::<Measure>().unwrap(), Measure::F1_MICRO);
    }

    #[test]
    fn bad_names_are_explained() {
        let nearest = |name: &str| match name.parse::<Measure>().unwrap_err() {
            Error::Unknown { nearest, .. } => nearest,
            other => panic!("{other}"),
        };
        assert_eq!(nearest("RPerc")[0], "RPrec");
        assert_eq!(nearest("F1@mirco")[0], "F1@micro");
        assert!(nearest("F1").contains(&"F1@micro".to_owned()));
        for bad in ["P@0", "P@x", "nDCG@-1", "F0@micro", "F-1@micro", "hF0"] {
            assert!(matches!(bad.parse::<Measure>(), Err(Error::Invalid { .. })), "{bad}");
        }
        for bad in ["", "@", "F@micro", "hF", "Fnan@micro", "RPrec@3", "é@5"] {
            assert!(matches!(bad.parse::<Measure>(), Err(Error::Unknown { .. })), "{bad}");
        }
    }
}
