//! How to fit: one set of options, whether labels stand side by side or along a taxonomy.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::choose::{Effort, Prefer};
use super::form::along;
use crate::classify::ClassifierSpec;
use crate::corpus::Glance;
use crate::counts::{Counts, Vocabulary};
use crate::features::search::Budget;
use crate::features::{Selector, Size};
use crate::hierarchy::pipeline::{self, Imbalance, Method, Utility};
use crate::hierarchy::progressive::{Answers, NegativePolicy};
use crate::hierarchy::{GivenTaxonomy, Goal, ProgressiveOptions, Taxonomy};
use crate::named::named;
use crate::terms::{TextChoices, TextOptions};
use crate::threshold::{CalibrationMethod, Threshold};
use crate::{Error, Result};

named! {
    /// What training documents without a label are.
    pub enum Unlabelled ("meaning of documents without labels") {
        /// Documents of none of the labels.
        Negative = "negative",
        /// Documents that nobody labelled: left out.
        Ignore = "ignore",
    }
}

/// How to fit. What is `None` is chosen by cross-validation, or by what the corpus is like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FitOptions {
    /// Selector.
    pub by: Option<Selector>,
    /// Number of features.
    pub features: Option<Size>,
    /// Classifier.
    pub classifier: Option<ClassifierSpec>,
    /// How much work choosing may be.
    pub effort: Effort,
    /// Whether the best number of features is taken or a small one.
    pub prefer: Prefer,
    /// How much R-precision a small number may cost.
    pub loss: Option<f64>,
    /// Takes the terms as they were counted; else terms of fewer words may be chosen.
    pub terms_as_counted: bool,
    /// What training documents without a label are. `None`: of none of the labels where others have several, and refused where
    /// all others have one.
    pub unlabelled: Option<Unlabelled>,
    /// What decides labels; `None`: one label for each document where every training document has one, else thresholds.
    pub threshold: Option<Deciding>,
    /// How probabilities are learned from held-out scores; when not given a sigmoid, where folds are made.
    pub calibrate: Option<CalibrationMethod>,
    /// Folds of the cross-validation that tunes thresholds and measures quality, 0 for none; when not given 5, along a
    /// taxonomy 3.
    pub folds: Option<usize>,
    /// Bound of subset searches.
    pub budget: Budget,
    /// Stores linear weights in 8 bits, and measures what that loses.
    pub quantise: bool,
    /// The taxonomy, if labels have one. Each node gets a classifier of its own, unless [`FitOptions::threshold`] names a
    /// flat policy: then the taxonomy only travels with the model.
    pub taxonomy: Option<GivenTaxonomy>,
    /// How a model is trained along the taxonomy.
    pub hierarchy: HierarchyOptions,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self {
            by: None,
            features: None,
            classifier: None,
            effort: Effort::default(),
            prefer: Prefer::default(),
            loss: None,
            terms_as_counted: false,
            unlabelled: None,
            threshold: None,
            calibrate: None,
            folds: None,
            budget: Budget::default(),
            quantise: false,
            taxonomy: None,
            hierarchy: HierarchyOptions::default(),
            seed: 1,
        }
    }
}

/// How a model is trained along a taxonomy; what is `None` is as [`ProgressiveOptions`] has it, or as the training documents
/// suggest.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HierarchyOptions {
    /// Which documents are negative at a node.
    pub negatives: NegativePolicy,
    /// Most training documents of a node, half of them positive.
    pub per_node: Option<usize>,
    /// What thresholds along the taxonomy maximise.
    pub utility: Utility,
    /// Step of the grid of tsa and rbf.
    pub step: Option<f64>,
    /// A node whose thresholds reach less than this utility on held-out documents is never accepted.
    pub least_utility: Option<f64>,
    /// Positives to negatives where the model will be used.
    pub imbalance: Option<Imbalance>,
    /// How many paths a document is given by thresholds.
    pub answers: Option<Answers>,
    /// What answers are to be good at; when not given exact where documents have one label, else hierarchical F1.
    pub goal: Option<Goal>,
    /// The file of the table of costs, for the goal cost.
    pub costs: Option<PathBuf>,
}

/// What decides labels: a policy for labels one by one (`rcut(1)`, `scut`, …), or thresholds along the pipelines of a
/// taxonomy (`tsa`, `rbf`, `exact`, `greedy-exact`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Deciding {
    /// For labels one by one.
    Flat(Threshold),
    /// Along pipelines.
    Along(Method),
}

impl From<Threshold> for Deciding {
    fn from(policy: Threshold) -> Self {
        Self::Flat(policy)
    }
}

impl From<Method> for Deciding {
    fn from(method: Method) -> Self {
        Self::Along(method)
    }
}

impl fmt::Display for Deciding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flat(policy) => policy.fmt(f),
            Self::Along(method) => method.fmt(f),
        }
    }
}

impl FromStr for Deciding {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.parse() {
            Ok(method) => Ok(Self::Along(method)),
            Err(_) => text.parse().map(Self::Flat),
        }
    }
}

impl Serialize for Deciding {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Deciding {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What the options come to once the taxonomy is known.
pub(super) enum Way {
    /// Labels side by side; a taxonomy, if there is one, travels with the model.
    Flat(Option<Taxonomy>, Option<Threshold>),
    /// Answers by what they are worth.
    Worth(Taxonomy),
    /// A classifier for each node, and thresholds along pipelines.
    Along(Box<(Taxonomy, ProgressiveOptions)>),
}

impl FitOptions {
    /// Folds where they are not given, for labels side by side.
    pub const FOLDS: usize = 5;

    /// How text is to become terms for a fit with these options. Where nothing is said about n-grams and a linear classifier is
    /// to be chosen, more is counted than is said: pairs of words too, and characters where words are not parted by blanks or
    /// the text is little ([`Glance::measured`] by [`FitOptions::LITTLE`]).
    /// [`FitOptions::fit`] keeps what does best.
    pub fn counting(&mut self, text: &TextChoices, corpus: &Glance) -> Result<TextOptions> {
        let flat = match self.threshold {
            Some(Deciding::Flat(_)) => true,
            Some(Deciding::Along(_)) => false,
            None => self.taxonomy.is_none() || self.by_worth()?,
        };
        let linear = !matches!(self.classifier, Some(ClassifierSpec::Knn(_)));
        let open = self.by.is_none() || self.features.is_none() || self.classifier.is_none();
        let unsaid = text.terms.is_none() && text.ngrams.is_none() && text.char_ngrams.is_none();
        let search = self.effort != Effort::Quick && flat && linear && open && unsaid;
        self.terms_as_counted = !search;
        let mut text = text.with_language_of(corpus)?;
        if search {
            let short = corpus.mean_bytes().is_some_and(|bytes| bytes <= Self::SHORT);
            let little = corpus.bytes().is_some_and(|bytes| bytes <= Self::VERY_LITTLE);
            let widest = match (corpus.is_without_blanks(), short && corpus.labels() <= Self::MANY_LABELS) {
                (true, _) => Self::WIDEST_WITHOUT_BLANKS,
                (false, true) if little => Self::WIDEST_OF_LITTLE,
                (false, true) => Self::WIDEST_OF_SHORT,
                (false, false) if (2..=Self::FEW_LABELS).contains(&corpus.labels()) => Self::WIDEST_OF_FEW_LABELS,
                (false, false) => Self::WIDEST,
            };
            text.terms = Some(widest.to_owned());
        }
        text.options()
    }

    /// What is counted for a search over terms.
    const WIDEST: &str = "words(1-2)";
    /// The same where documents are short: pieces of words make up for words that were never seen. In 5-fold cross-validation on
    /// training documents Reuters' stories go from 0.9473 to 0.9517, micro-averaged F1 from 0.8934 to 0.8974.
    const WIDEST_OF_SHORT: &str = "words(1-2)+chars(3-5)";
    /// Labels beyond which pieces are too dear: each label is a problem of its own.
    const MANY_LABELS: usize = 500;
    /// The same where there is very little text besides. There, pieces of words make up for words that were never seen: in 5-fold
    /// cross-validation on training documents they are worth 0.8 points of accuracy on mr, 1.1 on mpqa, 1.1 on subj. mpqa's
    /// phrases are better off with pieces inside of words, the sentences of the others with the text as it runs. Film reviews
    /// of 4 kB gain nothing by them.
    const WIDEST_OF_LITTLE: &str = "words(1-2)+chars(3-5)+chars(3-5,kind=text)";
    /// The same in scripts that do not part words by blanks.
    const WIDEST_WITHOUT_BLANKS: &str = "words+chars(1-3)";
    /// The same where labels are few and text is not short, as in reviews. Three words say what two do not ("not at all
    /// good"): in 10-fold cross-validation on training documents film reviews go from 0.8910 to 0.8920, those of books from 0.8565 to
    /// 0.8610 and those of DVDs from 0.8715 to 0.8690, each with the better of two weightings.
    const WIDEST_OF_FEW_LABELS: &str = "words(1-3)";
    /// Labels that are few: each is a problem of its own, and triples are many.
    const FEW_LABELS: usize = 5;
    /// Bytes of text that are little: pieces of words cost ten times what words do.
    pub const LITTLE: usize = 16 << 20;
    /// Bytes of text that are very little: pieces across words are affordable there as well.
    const VERY_LITTLE: usize = Self::LITTLE / 4;
    /// Mean bytes of documents that are short.
    const SHORT: usize = 1000;

    /// Refuses options that would be ignored beside the others.
    pub(super) fn check(&self) -> Result<()> {
        let HierarchyOptions { goal, costs, .. } = &self.hierarchy;
        if let (Some(goal), Some(costs)) = (goal.filter(|&goal| goal != Goal::Cost), costs) {
            let reason =
                format!("a table of costs is for the option `goal=cost`, and the goal is {goal}; leave one out");
            return Err(Error::invalid("costs", costs.display(), reason));
        }
        // Beside a flat threshold a goal stays: where labels side by side do best, `fit` names the threshold they were given.
        if let (Some(goal), Some(Deciding::Along(method))) = (self.goal(), self.threshold) {
            let reason = format!("the option `threshold={method}` decides without a goal; leave one of the two out");
            return Err(Error::invalid("goal", goal, reason));
        }
        if let (Some(goal), None) = (self.goal(), &self.taxonomy) {
            let reason = "answers have a goal along a taxonomy: give one with the option `taxonomy`";
            return Err(Error::invalid("goal", goal, reason));
        }
        if let (Some(loss), Prefer::Best) = (self.loss, self.prefer) {
            let reason = "is what the option `prefer=small` may lose, and the best number of features loses nothing";
            return Err(Error::invalid("loss", loss, reason));
        }
        Ok(())
    }

    /// What answers are to be good at, where that is said: a table of costs is there to be used.
    pub(super) fn goal(&self) -> Option<Goal> {
        self.hierarchy.goal.or(self.hierarchy.costs.as_ref().map(|_| Goal::Cost))
    }

    /// Checks the options against each other, and tells which way they lead.
    pub(super) fn way(&self, counts: &Counts, rows: &[usize]) -> Result<Way> {
        let taxonomy = self.taxonomy.as_ref().map(|given| given.of(&counts.labels)).transpose()?;
        match (self.threshold, taxonomy) {
            (Some(Deciding::Flat(policy)), taxonomy) => Ok(Way::Flat(taxonomy, Some(policy))),
            (Some(Deciding::Along(method)), None) => {
                let reason = "it sets thresholds along a taxonomy: give one with the option `taxonomy`";
                Err(Error::invalid("threshold", method, reason))
            }
            (None, None) => Ok(Way::Flat(None, None)),
            (None, Some(taxonomy)) if self.by_worth()? => Ok(Way::Worth(taxonomy)),
            (_, Some(taxonomy)) => {
                self.progressive(counts, rows).map(|options| Way::Along(Box::new((taxonomy, options))))
            }
        }
    }

    /// The same options, their classifier knowing where these labels lie in the taxonomy.
    pub(super) fn of_labels(&self, taxonomy: Option<&Taxonomy>, labels: &Vocabulary) -> Self {
        let classifier = match (taxonomy, self.classifier.clone()) {
            (Some(taxonomy), Some(classifier)) => Some(along(classifier, taxonomy, labels)),
            (_, classifier) => classifier,
        };
        Self { classifier, ..self.clone() }
    }

    /// Whether answers along a taxonomy are chosen by what they are worth: unless something is asked for that only thresholds along
    /// pipelines have.
    fn by_worth(&self) -> Result<bool> {
        let h = &self.hierarchy;
        let asked = [
            (h.answers.is_some(), "the option `answers`"),
            (h.per_node.is_some(), "the option `per_node`"),
            (h.imbalance.is_some(), "the option `imbalance`"),
            (h.least_utility.is_some(), "the option `least_utility`"),
            (h.step.is_some(), "the option `step`"),
            (h.utility != Utility::default(), "the option `utility`"),
            (h.negatives != NegativePolicy::default(), "the option `negatives`"),
        ];
        let along = asked.iter().find(|(is_asked, _)| *is_asked).map(|(_, name)| *name);
        match (along, self.goal()) {
            (Some(name), Some(goal)) => {
                let reason = "is for thresholds along pipelines";
                Err(Error::data(format!(
                    "{name} {reason}, and the goal {goal} decides without them; leave one of the two out"
                )))
            }
            (Some(_), None) => Ok(false),
            (None, None) => {
                // Selectors are those of nodes; and these are refused there. A tree is no classifier of a node.
                if matches!(self.classifier, Some(ClassifierSpec::Tree(_))) {
                    return Ok(true);
                }
                let asked = self.by.is_some() || self.features.is_some() || self.quantise || self.calibrate.is_some();
                Ok(!asked)
            }
            (None, Some(_)) => Ok(true),
        }
    }

    /// The options of progressive filtering that these come to, for the given training documents.
    pub fn progressive(&self, counts: &Counts, rows: &[usize]) -> Result<ProgressiveOptions> {
        let method = match self.threshold {
            Some(Deciding::Along(method)) => Some(method),
            _ => None,
        };
        let flat_only = |option: &str| {
            Error::data(format!(
                "{option} is for models without a classifier at each node; add a flat threshold such as the option \
                 `threshold=rcut(1)` for one"
            ))
        };
        if self.quantise {
            return Err(flat_only("the option `quantise`"));
        }
        if self.calibrate.is_some() {
            return Err(flat_only("the option `calibrate`"));
        }
        if self.by.is_some() && self.features == Some(Size::All) {
            let reason = "every node takes all its words, so the selector has nothing to select; give a number";
            return Err(Error::invalid("features", "all", reason));
        }
        let usual = ProgressiveOptions::default();
        let h = &self.hierarchy;
        Ok(ProgressiveOptions {
            classifier: self.classifier.clone().unwrap_or(usual.classifier),
            selector: self.by.clone().unwrap_or(usual.selector),
            features: match self.features {
                // Somebody who names a selector wants words selected: as many as the paper takes.
                None if self.by.is_some() => ProgressiveOptions::paper().features,
                None => usual.features,
                Some(Size::All) => None,
                Some(Size::Top(n)) => Some(n),
            },
            negatives: h.negatives,
            per_node: h.per_node,
            method: method.unwrap_or(usual.method),
            rivals: if method.is_none() { vec![pipeline::Method::Tsa] } else { Vec::new() },
            rare: usual.rare,
            thresholds: pipeline::Options { utility: h.utility, step: h.step, ..usual.thresholds },
            least_utility: h.least_utility.unwrap_or(usual.least_utility),
            imbalance: h.imbalance,
            folds: self.folds.unwrap_or(usual.folds),
            answers: h.answers.unwrap_or_else(|| Answers::of_documents(counts, rows, method.is_some())),
            seed: self.seed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hierarchy::Separator;

    #[test]
    fn options_are_json_and_back() {
        let taxonomy = Taxonomy::from_names(["a/b", "a/c"], Separator::Auto).expect("paths");
        let options = FitOptions {
            by: Some("chi2max@1".parse().expect("a selector")),
            features: Some(Size::Top(500)),
            threshold: Some("tsa".parse().expect("a method")),
            taxonomy: Some(GivenTaxonomy::Tree(taxonomy)),
            ..FitOptions::default()
        };
        let text = serde_json::to_string(&options).expect("JSON");
        assert_eq!(serde_json::from_str::<FitOptions>(&text).expect("options"), options);
        let from_names: FitOptions =
            serde_json::from_str(r#"{"taxonomy":"names","threshold":"scut"}"#).expect("options");
        assert_eq!(from_names.taxonomy, Some(GivenTaxonomy::Names));
        assert!(matches!(from_names.threshold, Some(Deciding::Flat(_))));
    }
}
