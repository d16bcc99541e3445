//! Measures as values: a name that parses and prints back the same, and one registry row with its help.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Error, Result};

/// The weight of recall against precision in F_β: a positive, finite number.
#[derive(Debug, Clone, Copy)]
pub struct Beta(f64);

impl Beta {
    /// β = 1: precision and recall weigh the same.
    pub const ONE: Self = Self(1.0);

    /// Checks that `beta` is positive and finite.
    pub fn new(beta: f64) -> Result<Self> {
        if beta.is_finite() && beta > 0.0 {
            Ok(Self(beta))
        } else {
            Err(Error::invalid("beta", beta, "must be a positive number"))
        }
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }

    /// `β²`.
    pub fn squared(self) -> f64 {
        self.0 * self.0
    }
}

impl Default for Beta {
    fn default() -> Self {
        Self::ONE
    }
}

impl PartialEq for Beta {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Beta {}

impl Hash for Beta {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl PartialOrd for Beta {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Beta {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl fmt::Display for Beta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for Beta {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = text.parse().map_err(|_| Error::invalid("beta", text, "must be a positive number"))?;
        Self::new(number)
    }
}

impl Serialize for Beta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Beta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(f64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// How a set-based measure is put together from labels and documents (SPEC 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Average {
    /// All decisions in one pot.
    Micro,
    /// The mean over labels with a training document.
    Macro,
    /// The mean over documents.
    Samples,
}

impl Average {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Micro, Self::Macro, Self::Samples];

    /// Its name, after the `@`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Micro => "micro",
            Self::Macro => "macro",
            Self::Samples => "samples",
        }
    }
}

/// What a measure needs to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// The ranked list, before any threshold.
    Ranked,
    /// The decided labels.
    Decided,
    /// The decided labels and the taxonomy.
    Hierarchical,
}

/// A measure of SPEC 8. Its name prints and parses back to the same value.
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
    /// `Precision@micro`, `@macro`, `@samples`.
    Precision(Average),
    /// `Recall@micro`, `@macro`, `@samples`.
    Recall(Average),
    /// `F1@micro`, `F0.5@macro` …
    F(Beta, Average),
    /// `Jaccard@micro`, `@macro`, `@samples`.
    Jaccard(Average),
    /// `hP`.
    HierarchicalPrecision,
    /// `hR`.
    HierarchicalRecall,
    /// `hF1`, `hF0.5` …
    HierarchicalF(Beta),
}

/// One row of the registry: what `--help`, the docs page, the server and Python show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasureSpec {
    /// The name with its parameters as letters, such as `P@k`.
    pub name: &'static str,
    /// A name that parses.
    pub example: &'static str,
    /// What it needs to see.
    pub family: Family,
    /// Whether a larger value is better; false for losses.
    pub higher_is_better: bool,
    /// What it says, in a sentence.
    pub help: &'static str,
    /// The formula in words or signs; T true labels, D decided labels, R = |T|.
    pub formula: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

const fn row(
    name: &'static str,
    example: &'static str,
    family: Family,
    higher_is_better: bool,
    help: &'static str,
    formula: &'static str,
    source: &'static str,
) -> MeasureSpec {
    MeasureSpec { name, example, family, higher_is_better, help, formula, source }
}

/// All measures, one row each. [`Measure::spec`] points into it.
static REGISTRY: [MeasureSpec; 20] = [
    row(
        "RPrec",
        "RPrec",
        Family::Ranked,
        true,
        "R-precision: share of true labels among the first R places, R being the number of true labels.",
        "hits in the first R places / R; places not filled count as wrong",
        "olsson 2; SPEC 8; trec_eval Rprec",
    ),
    row(
        "AP",
        "AP",
        Family::Ranked,
        true,
        "Average precision of a document; over several documents its mean, the same number as MAP.",
        "1/R Σ over true labels of the precision at their place; a true label not in the list adds 0",
        "olsson 2; SPEC 8; trec_eval map",
    ),
    row(
        "MAP",
        "MAP",
        Family::Ranked,
        true,
        "Mean average precision over documents.",
        "mean of AP",
        "olsson 2; SPEC 8; trec_eval map",
    ),
    row(
        "P@k",
        "P@5",
        Family::Ranked,
        true,
        "Precision in the first k places.",
        "hits in the first k places / k; places not filled count as wrong",
        "SPEC 8; trec_eval P_k",
    ),
    row(
        "R@k",
        "R@5",
        Family::Ranked,
        true,
        "Share of the true labels that are in the first k places.",
        "hits in the first k places / R",
        "trec_eval recall_k",
    ),
    row(
        "nDCG@k",
        "nDCG@10",
        Family::Ranked,
        true,
        "Discounted cumulative gain of the first k places (nDCG: of all), divided by the best possible one.",
        "Σ_{places i ≤ k with a true label} 1/log₂(i+1), divided by Σ_{i ≤ min(R,k)} 1/log₂(i+1)",
        "Järvelin & Kekäläinen 2002; trec_eval ndcg_cut_k",
    ),
    row(
        "MRR",
        "MRR",
        Family::Ranked,
        true,
        "Mean of one over the place of the first true label.",
        "1 / place of the first true label; 0 when none is listed",
        "trec_eval recip_rank",
    ),
    row(
        "OneError",
        "OneError",
        Family::Ranked,
        false,
        "Share of documents whose first label is wrong.",
        "1 when the first place is wrong or empty, else 0",
        "Schapire & Singer 2000",
    ),
    row(
        "Coverage",
        "Coverage",
        Family::Ranked,
        false,
        "How far down the list one must go to meet all true labels.",
        "place of the last true label − 1 (scikit-learn's coverage_error does not subtract 1); a true label not in the \
         list takes the last place of all labels",
        "Schapire & Singer 2000",
    ),
    row(
        "RankingLoss",
        "RankingLoss",
        Family::Ranked,
        false,
        "Share of pairs of a true and a false label in which the false one is placed higher.",
        "pairs in the wrong order / (R · false labels); of two labels not in the list none is placed higher: wrong",
        "Schapire & Singer 2000; scikit-learn label_ranking_loss",
    ),
    row(
        "Accuracy",
        "Accuracy",
        Family::Decided,
        true,
        "Single-label: share of documents with the right label. No value when a document has several true labels.",
        "documents with D = T / documents with one true label",
        "novovicova 5; SPEC 8",
    ),
    row(
        "SubsetAccuracy",
        "SubsetAccuracy",
        Family::Decided,
        true,
        "Share of documents whose decided labels are exactly the true ones.",
        "documents with D = T / documents",
        "scikit-learn accuracy_score",
    ),
    row(
        "HammingLoss",
        "HammingLoss",
        Family::Decided,
        false,
        "Share of wrong decisions among all pairs of a document and a label.",
        "(fp + fn) / (documents · labels)",
        "scikit-learn hamming_loss",
    ),
    row(
        "Precision@average",
        "Precision@micro",
        Family::Decided,
        true,
        "Share of decided labels that are true; average is micro (all decisions), macro (mean over labels with a \
         training document) or samples (mean over documents).",
        "tp / (tp + fp); 0/0 = 0",
        "SPEC 8; scikit-learn precision_score",
    ),
    row(
        "Recall@average",
        "Recall@micro",
        Family::Decided,
        true,
        "Share of true labels that are decided; micro, macro or samples.",
        "tp / (tp + fn); 0/0 = 0",
        "SPEC 8; scikit-learn recall_score",
    ),
    row(
        "Fβ@average",
        "F1@micro",
        Family::Decided,
        true,
        "Weighted harmonic mean of precision and recall, β > 1 favours recall; micro, macro or samples.",
        "(1+β²)·tp / ((1+β²)·tp + β²·fn + fp); 0/0 = 0; macro is the mean of the labels' F",
        "olsson 2; SPEC 8; scikit-learn fbeta_score",
    ),
    row(
        "Jaccard@average",
        "Jaccard@samples",
        Family::Decided,
        true,
        "Common labels among those decided or true; micro, macro or samples.",
        "tp / (tp + fp + fn); 0/0 = 0",
        "scikit-learn jaccard_score",
    ),
    row(
        "hP",
        "hP",
        Family::Hierarchical,
        true,
        "Precision after all ancestors are added to decided and true labels.",
        "Σ |D̂ ∩ T̂| / Σ |D̂| over documents",
        "Kiritchenko, Matwin & Famili 2005; SPEC 8",
    ),
    row(
        "hR",
        "hR",
        Family::Hierarchical,
        true,
        "Recall after all ancestors are added to decided and true labels.",
        "Σ |D̂ ∩ T̂| / Σ |T̂| over documents",
        "Kiritchenko, Matwin & Famili 2005; SPEC 8",
    ),
    row(
        "hFβ",
        "hF1",
        Family::Hierarchical,
        true,
        "F_β of hP and hR.",
        "(1+β²)·hP·hR / (β²·hP + hR)",
        "Kiritchenko, Matwin & Famili 2005; SPEC 8",
    ),
];

impl Measure {
    /// `F1@micro`, the measure most papers report.
    pub const F1_MICRO: Self = Self::F(Beta::ONE, Average::Micro);
    /// `F1@macro`.
    pub const F1_MACRO: Self = Self::F(Beta::ONE, Average::Macro);
    /// `F1@samples`.
    pub const F1_SAMPLES: Self = Self::F(Beta::ONE, Average::Samples);

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
        };
        &REGISTRY[row]
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
            assert!(!spec.help.is_empty() && !spec.formula.is_empty() && !spec.source.is_empty());
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
