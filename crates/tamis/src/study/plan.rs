//! What a study does, checked: corpus, splits, selectors × sizes, classifiers, thresholds, measures.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::keep::Keep;
use super::pipelines::Pipelines;
use crate::classify::ClassifierSpec;
use crate::counts::SplitPlan;
use crate::features::{LambdaOptions, Selector, Size};
use crate::measure::simulation::SimulationOptions;
use crate::measure::{Family, Measure, Resampling};
use crate::terms::{TextChoices, TextOptions};
use crate::threshold::Threshold;
use crate::{Error, Result};

/// A study. Written as TOML (see [`Plan::parse`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Its name, as in `tamis study NAME`.
    pub name: String,
    /// Heading of the report.
    pub title: String,
    /// The paper whose experiment it is, by its short name; the report shows that paper's figures beside ours.
    pub paper: Option<String>,
    /// What it asks, in a few sentences.
    pub about: String,
    /// Seed of splits and everything else that is random; the caller's when not given.
    pub seed: Option<u64>,
    /// Where documents come from and how text becomes terms.
    pub corpus: CorpusPlan,
    /// What is done.
    pub work: Work,
    /// How methods are compared.
    pub tests: TestPlan,
}

/// What a study does.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// Selectors and classifiers on a corpus.
    Grid(Box<Grid>),
    /// Simulated ranked lists, no corpus (olsson 2).
    Simulation(SimulationOptions),
    /// Thresholds along the pipelines of a taxonomy (addis 4).
    Pipelines(Box<Pipelines>),
}

/// The corpus of a plan.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct CorpusPlan {
    /// The built-in corpus taken when none is given, such as `synth:rcv1:3000`.
    pub default: Option<String>,
    /// Text to terms.
    pub text: TextChoices,
    /// Which documents and labels take part.
    pub keep: Keep,
}

/// Every combination that is run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grid {
    /// Training and test documents.
    pub splits: SplitPlan,
    /// Selectors, generators written out.
    pub selectors: Vec<Selector>,
    /// Numbers of features, ascending.
    pub sizes: Vec<Size>,
    /// A selector run at one size besides, that the others are compared with.
    pub baseline: Option<Baseline>,
    /// Classifiers.
    pub classifiers: Vec<ClassifierSpec>,
    /// How labels are decided; at least one.
    pub thresholds: Vec<Decision>,
    /// Folds of the training documents on which thresholds are tuned.
    pub folds: usize,
    /// Measures; the first is the one that counts.
    pub measures: Vec<Measure>,
    /// Whether each document's values are kept, for tests over documents.
    pub documents: bool,
    /// Most steps of a search (swings of os, terms added or removed by the others); no limit when not given. (No limit in seconds: results would depend on the machine.)
    pub swings: Option<u64>,
    /// How λ of `wfo(auto)` is learned.
    pub lambda: LambdaOptions,
    /// Which terms selectors prefer (li table 1).
    pub profile: Option<Profile>,
}

/// A selector at one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Baseline {
    /// The selector; with all features it matters only for its cut.
    pub selector: Selector,
    /// How many of its terms.
    pub size: Size,
}

/// How labels are decided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decision {
    /// A threshold policy, tuned on training documents where it needs tuning.
    Policy(Threshold),
    /// `rcut(best)`: the n that maximises micro-averaged F1 on the test documents themselves. Rosy, but the same for
    /// all methods, which is what a comparison needs (olsson 2, footnote 2; method 9).
    BestRcut,
}

impl Decision {
    /// Whether any label is decided.
    pub fn decides(self) -> bool {
        self != Self::Policy(Threshold::None)
    }

    /// Whether it gives a measure of decided labels.
    pub(super) fn gives_decided(self, measure: Measure) -> bool {
        measure.family() == Family::Decided && self.gives(measure)
    }

    /// Whether it gives a measure at all; ranked lists need no decision.
    pub(super) fn gives(self, measure: Measure) -> bool {
        use crate::measure::Average::Micro;
        match (measure.family(), self) {
            (Family::Ranked, _) => true,
            (Family::Hierarchical | Family::Probable, _) => false,
            (Family::Decided, Self::Policy(policy)) => policy != Threshold::None,
            (Family::Decided, Self::BestRcut) => matches!(
                measure,
                Measure::F(_, Micro) | Measure::Precision(Micro) | Measure::Recall(Micro) | Measure::Jaccard(Micro)
            ),
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(policy) => policy.fmt(f),
            Self::BestRcut => f.write_str("rcut(best)"),
        }
    }
}

impl std::str::FromStr for Decision {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        if plain == "rcut(best)" { Ok(Self::BestRcut) } else { text.parse().map(Self::Policy) }
    }
}

impl Serialize for Decision {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Which terms selectors prefer: of the first terms of each, the mean of other selectors' scores, each min-max
/// normalised over all terms (li 4.2).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Profile {
    /// Share of the terms looked at, such as 0.02.
    pub top: f64,
    /// The scores averaged.
    pub scores: Vec<Selector>,
}

/// How methods are compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TestPlan {
    /// How many methods, the best by peak, are compared pair by pair.
    pub methods: usize,
    /// Replicates of bootstrap and randomisation.
    pub replicates: u32,
    /// Coverage of intervals; 1 − level is the level of significance.
    pub level: f64,
}

impl Default for TestPlan {
    fn default() -> Self {
        Self { methods: 8, replicates: 2000, level: 0.95 }
    }
}

impl TestPlan {
    /// For the tests of [`measure::significance`](crate::measure::significance).
    pub fn resampling(&self) -> Resampling {
        Resampling { replicates: self.replicates, level: self.level, seed: 1 }
    }
}

impl Grid {
    /// What contradicts each other, as the key at fault and the reason.
    pub(super) fn check(&self) -> std::result::Result<(), (&'static str, String)> {
        if let Some(m) = self.measures.iter().find(|m| m.family() == Family::Hierarchical) {
            return Err(("measures.list", format!("{m} needs a taxonomy, and studies have none")));
        }
        if let Some(m) = self.measures.iter().find(|m| m.family() == Family::Probable) {
            return Err(("measures.list", format!("{m} needs probabilities, and studies have none")));
        }
        for &measure in &self.measures {
            if !self.thresholds.iter().any(|decision| decision.gives(measure)) {
                let list: Vec<String> = self.thresholds.iter().map(ToString::to_string).collect();
                return Err((
                    "measures.list",
                    format!(
                        "{measure} is about decided labels, and no threshold of thresholds.list ({}) gives it; \
                         rcut(1) decides for the first label",
                        list.join(", ")
                    ),
                ));
            }
        }
        if self.selectors.iter().any(Selector::has_auto) && self.measures[0].family() == Family::Decided {
            let untuned = |d: &Decision| matches!(d, Decision::Policy(p) if !p.needs_held_out() && d.decides());
            if !self.thresholds.iter().any(untuned) {
                return Err((
                    "thresholds.list",
                    format!(
                        "λ is learned by {}, which needs a threshold without tuning, such as rcut(1)",
                        self.measures[0]
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Methods in plan order: every selector with all sizes, then the baseline.
    pub fn methods(&self) -> Vec<Method> {
        let mut methods: Vec<Method> =
            self.selectors.iter().map(|s| Method { selector: s.clone(), sizes: self.sizes.clone() }).collect();
        if let Some(Baseline { selector, size }) = &self.baseline {
            methods.push(Method { selector: selector.clone(), sizes: vec![*size] });
        }
        methods
    }

    /// The selectors whose preferences are recorded: those with a ranking, when the plan asks for a profile.
    pub(super) fn profiled(&self) -> impl Iterator<Item = &Selector> {
        let asked = self.profile.is_some();
        self.selectors.iter().filter(move |s| asked && s.as_search().is_none() && !s.has_auto())
    }

    /// Whether labels are decided in a way that must be tuned.
    pub fn needs_tuning(&self) -> bool {
        self.thresholds.iter().any(|d| matches!(d, Decision::Policy(p) if p.needs_held_out()))
    }
}

/// A selector and the sizes it is run at.
#[derive(Debug, Clone, PartialEq)]
pub struct Method {
    /// The selector.
    pub selector: Selector,
    /// Sizes, ascending.
    pub sizes: Vec<Size>,
}

impl Plan {
    /// Everything that decides what the rows say, in a form to compare and to show: names, texts and tests do not count.
    pub fn essence(&self, seed: u64) -> String {
        #[derive(Serialize)]
        struct Essence<'a> {
            seed: u64,
            text: Option<TextOptions>,
            keep: &'a Keep,
            work: &'a Work,
        }
        let CorpusPlan { text, keep, .. } = &self.corpus;
        let essence = Essence { seed, text: text.options().ok(), keep, work: &self.work };
        serde_json::to_string_pretty(&essence).expect("names and numbers can be written as JSON")
    }

    /// The grid, where it is one.
    pub fn grid(&self) -> Option<&Grid> {
        match &self.work {
            Work::Grid(grid) => Some(grid),
            Work::Simulation(_) | Work::Pipelines(_) => None,
        }
    }

    /// Whether it needs a corpus.
    pub fn needs_corpus(&self) -> bool {
        !matches!(self.work, Work::Simulation(_))
    }

    /// Whether it needs a taxonomy.
    pub fn needs_taxonomy(&self) -> bool {
        matches!(self.work, Work::Pipelines(_))
    }
}
