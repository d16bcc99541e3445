//! What to select by: a score, a combination of selectors, or a search that starts from one.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::registry::{Formula, LAMBDA_RANGE, Lambda, Needs, Score};
use super::search::Strategy;
use crate::registry::Row;
use crate::{Error, Result};

/// A selector, as an expression names it: `chi2max`, `lr(chi2max,chi2avg)@1`, `wr(0.7*chi2max,0.3*ig)`, `os(ib,2)`,
/// `sffs(chi2max)`.
///
/// Parses from and prints to the same string (see [`expression`](super::expression)); files and Python store that
/// string. Rank with [`Selector::rank`](Selector::rank).
#[derive(Debug, Clone, PartialEq)]
pub struct Selector {
    kind: Kind,
    cut: Option<u32>,
}

/// The three kinds of selector.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// One score.
    Score(Score),
    /// Several selectors made one (method 3).
    Combine(Combine),
    /// A subset search (method 4).
    Search(Search),
}

/// Several selectors and the way they become one.
#[derive(Debug, Clone, PartialEq)]
pub struct Combine {
    combination: Combination,
    inputs: Vec<Selector>,
    /// As many as inputs for the weighted combinations, else none.
    weights: Vec<f64>,
}

impl Combine {
    /// How the inputs become one.
    pub fn combination(&self) -> Combination {
        self.combination
    }

    /// The inputs, two or more.
    pub fn inputs(&self) -> &[Selector] {
        &self.inputs
    }

    /// Their weights; empty when the combination has none.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }
}

/// A subset search: how, and the selector it starts from. It has no ranking; the caller runs it for each size.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    strategy: Strategy,
    start: Box<Selector>,
}

impl Search {
    /// How it goes from subset to subset.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// The selector that gives the candidates and decides ties; `os` starts from its first terms.
    pub fn start(&self) -> &Selector {
        &self.start
    }
}

/// How rankings become one (method 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Combination {
    /// Best rank.
    Hr,
    /// Worst rank.
    Lr,
    /// Mean rank.
    Ar,
    /// Divided by the maximum, then the largest.
    Dmor,
    /// Divided by the length, then the largest.
    Dlor,
    /// Divided by the maximum, then the smallest.
    Dmand,
    /// Divided by the length, then the smallest.
    Dland,
    /// Round robin.
    Rr,
    /// Weighted mean of ranks.
    Wr,
    /// Weighted sum of scores divided by their maximum.
    Ws,
}

/// One row of the registry of combinations.
#[derive(Debug, Clone, Copy)]
pub struct CombinationSpec {
    /// Name, rule and source.
    pub row: Row,
    /// Whether each input carries a weight, as in `wr(0.7*chi2max,0.3*ig)`.
    pub weighted: bool,
}

impl Deref for CombinationSpec {
    type Target = Row;

    fn deref(&self) -> &Row {
        &self.row
    }
}

impl Combination {
    /// All of them, in the order they are listed.
    pub const ALL: [Self; 10] =
        [Self::Hr, Self::Lr, Self::Ar, Self::Dmor, Self::Dlor, Self::Dmand, Self::Dland, Self::Rr, Self::Wr, Self::Ws];

    /// The row of the registry.
    pub fn spec(self) -> CombinationSpec {
        let row = |name, example, what, source| Row { name, example, what, formula: "", source };
        let plain =
            |name, example, what, source| CombinationSpec { row: row(name, example, what, source), weighted: false };
        let weighted =
            |name, example, what, source| CombinationSpec { row: row(name, example, what, source), weighted: true };
        match self {
            Self::Hr => plain("hr", "hr(chi2max,ig)", "the best rank over the inputs", "olsson 4.1"),
            Self::Lr => plain("lr", "lr(chi2max,ig)", "the worst rank over the inputs", "olsson 4.2"),
            Self::Ar => plain("ar", "ar(chi2max,ig)", "the mean rank over the inputs", "olsson 4.3"),
            Self::Dmor => {
                plain("dmor", "dmor(chi2max,ig)", "scores divided by their maximum, then the largest", "olsson 4.4")
            }
            Self::Dlor => {
                plain("dlor", "dlor(chi2max,ig)", "scores divided by their L2 norm, then the largest", "olsson 4.4")
            }
            Self::Dmand => plain(
                "dmand",
                "dmand(chi2max,ig)",
                "scores divided by their maximum, then the smallest",
                "olsson 4.4, future work",
            ),
            Self::Dland => plain(
                "dland",
                "dland(chi2max,ig)",
                "scores divided by their L2 norm, then the smallest",
                "olsson 4.4, future work",
            ),
            Self::Rr => {
                plain("rr", "rr(chi2max,ig)", "round robin: the best term left of each input in turn", "olsson 4")
            }
            Self::Wr => {
                weighted("wr", "wr(0.7*chi2max,0.3*ig)", "the weighted mean of ranks", "olsson 4.3, future work")
            }
            Self::Ws => weighted(
                "ws",
                "ws(0.7*chi2max,0.3*ig)",
                "the weighted sum of scores divided by their maximum",
                "olsson 4, future work",
            ),
        }
    }
}

impl Selector {
    /// A single score.
    pub fn score(score: Score) -> Self {
        Self { kind: Kind::Score(score), cut: None }
    }

    /// A combination of two or more selectors; `weights` is empty unless the combination is weighted.
    pub fn combine(combination: Combination, inputs: Vec<Self>, weights: Vec<f64>) -> Result<Self> {
        let spec = combination.spec();
        if inputs.len() < 2 {
            return Err(Error::invalid(
                spec.name,
                format!("{} inputs", inputs.len()),
                "a combination has two inputs or more; a selector alone needs no combination",
            ));
        }
        if inputs.iter().any(|input| matches!(input.kind, Kind::Search(_))) {
            return Err(Error::invalid(spec.name, "a search", SEARCH_HAS_NO_RANKING));
        }
        let expected = if spec.weighted { inputs.len() } else { 0 };
        if weights.len() != expected {
            return Err(Error::invalid(
                format!("weights of {}", spec.name),
                weights.len(),
                format!("{expected} are needed for {} inputs", inputs.len()),
            ));
        }
        if let Some(weight) = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
            return Err(Error::invalid(format!("weight in {}", spec.name), weight, WEIGHT_RANGE));
        }
        if spec.weighted && weights.iter().all(|w| *w == 0.0) {
            return Err(Error::invalid(format!("weights of {}", spec.name), "0", "at least one must be above 0"));
        }
        // Minus zero is a zero; it would not survive printing as such.
        let weights = weights.into_iter().map(|w| w + 0.0).collect();
        Ok(Self { kind: Kind::Combine(Combine { combination, inputs, weights }), cut: None })
    }

    /// A subset search from a selector.
    pub fn search(strategy: Strategy, start: Self) -> Result<Self> {
        let name = strategy.spec().name;
        if matches!(start.kind, Kind::Search(_)) {
            return Err(Error::invalid(name, "a search", SEARCH_HAS_NO_RANKING));
        }
        if strategy == Strategy::Oscillating(0) {
            return Err(Error::invalid("depth of os", 0, "a swing exchanges at least one term"));
        }
        Ok(Self { kind: Kind::Search(Search { strategy, start: Box::new(start) }), cut: None })
    }

    /// The same, cut at a level: terms with `df ≤ cut` are removed before scores are computed, except where a part of
    /// it has its own cut.
    pub fn with_cut(self, cut: Option<u32>) -> Self {
        Self { cut, ..self }
    }

    /// The same with a cut from outside, which applies only where it has none of its own (method 3).
    pub fn under_cut(self, outer: Option<u32>) -> Self {
        let cut = self.cut.or(outer);
        self.with_cut(cut)
    }

    /// What kind of selector it is.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The cut written on it, not those inside.
    pub fn cut(&self) -> Option<u32> {
        self.cut
    }

    /// The search, when it is one.
    pub fn as_search(&self) -> Option<&Search> {
        match &self.kind {
            Kind::Search(search) => Some(search),
            _ => None,
        }
    }

    /// The lowest level at which any part of it cuts; terms with a `df` up to it take no part at all. Without a cut
    /// it is 0: a term that no training document contains is not in the training vocabulary.
    ///
    /// For a search this is the vocabulary of its criterion: `os(ib)@5`, `os(ib@5)` and `os(ib@5)@2` search among terms
    /// with `df > 5`, because a cut inside wins.
    pub fn lowest_cut(&self) -> u32 {
        self.lowest_under(0)
    }

    fn lowest_under(&self, outer: u32) -> u32 {
        let cut = self.cut.unwrap_or(outer);
        match &self.kind {
            Kind::Score(_) => cut,
            Kind::Combine(combine) => combine.inputs.iter().map(|input| input.lowest_under(cut)).min().unwrap_or(cut),
            Kind::Search(search) => search.start.lowest_under(cut),
        }
    }

    /// Whether a part of it looks at labels; only `df` and its like do not.
    pub fn needs_labels(&self) -> bool {
        match &self.kind {
            Kind::Score(score) => score.formula().spec().needs != Needs::Documents,
            Kind::Combine(combine) => combine.inputs.iter().any(Self::needs_labels),
            Kind::Search(_) => true,
        }
    }

    /// Whether a part of it looks at how often a term occurs in documents; most only look at whether it does.
    pub fn needs_occurrences(&self) -> bool {
        match &self.kind {
            Kind::Score(score) => matches!(score.formula(), Formula::Ib(_)),
            Kind::Combine(combine) => combine.inputs.iter().any(Self::needs_occurrences),
            Kind::Search(_) => true,
        }
    }

    /// Whether a λ in it is still to be learned (`wfo(auto)`).
    pub fn has_auto(&self) -> bool {
        match &self.kind {
            Kind::Score(score) => score.formula() == Formula::Wfo(Lambda::Auto),
            Kind::Combine(combine) => combine.inputs.iter().any(Self::has_auto),
            Kind::Search(search) => search.start.has_auto(),
        }
    }

    /// The same with every λ that is still to be learned set to a value in `[0, 1]`.
    pub fn with_lambda(&self, lambda: f64) -> Result<Self> {
        if !(0.0..=1.0).contains(&lambda) {
            return Err(Error::invalid("λ of wfo", lambda, LAMBDA_RANGE));
        }
        Ok(self.set_lambda(lambda))
    }

    fn set_lambda(&self, lambda: f64) -> Self {
        let kind = match &self.kind {
            Kind::Score(score) => Kind::Score(score.with_lambda(lambda)),
            Kind::Combine(combine) => Kind::Combine(Combine {
                inputs: combine.inputs.iter().map(|input| input.set_lambda(lambda)).collect(),
                ..combine.clone()
            }),
            Kind::Search(search) => {
                Kind::Search(Search { start: Box::new(search.start.set_lambda(lambda)), ..search.clone() })
            }
        };
        Self { kind, cut: self.cut }
    }
}

pub(crate) const SEARCH_HAS_NO_RANKING: &str =
    "a search chooses a subset for one size and has no ranking, so it cannot be part of another selector";
pub(crate) const WEIGHT_RANGE: &str = "a weight is a number of 0 or more";

impl From<Score> for Selector {
    fn from(score: Score) -> Self {
        Self::score(score)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Score(score) => write!(f, "{score}")?,
            Kind::Combine(combine) => {
                write!(f, "{}(", combine.combination.spec().name)?;
                for (i, input) in combine.inputs.iter().enumerate() {
                    if i > 0 {
                        f.write_str(",")?;
                    }
                    if let Some(weight) = combine.weights.get(i) {
                        write!(f, "{weight}*")?;
                    }
                    write!(f, "{input}")?;
                }
                f.write_str(")")?;
            }
            Kind::Search(Search { strategy: Strategy::Oscillating(depth @ 2..), start }) => {
                write!(f, "os({start},{depth})")?;
            }
            Kind::Search(Search { strategy, start }) => write!(f, "{}({start})", strategy.spec().name)?,
        }
        match self.cut {
            Some(cut) => write!(f, "@{cut}"),
            None => Ok(()),
        }
    }
}

impl Serialize for Selector {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Selector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
