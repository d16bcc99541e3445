//! What a search tried, what it took, and why.

use serde::{Deserialize, Serialize};

use super::choose::{ChooseOptions, Prefer};
use super::heat::Candidate;
use crate::classify::ClassifierSpec;
use crate::features::Selector;
use crate::named::named;
use crate::terms::TextOptions;
use crate::{Error, Result};

/// One candidate and how it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Documents it was tried on.
    pub documents: usize,
    /// Folds it was tried in: fewer than the others where it fell too far behind them, and 1 where one is enough.
    pub folds: usize,
    /// Terms expression.
    pub terms: String,
    /// Classifier.
    pub classifier: ClassifierSpec,
    /// Selector expression.
    pub selector: String,
    /// Number of features; what `all` came to in the largest fold.
    pub size: usize,
    /// Whether the size stands for all terms.
    pub all: bool,
    /// Mean R-precision over folds.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
}

/// What fewer terms cost: a number of terms of the candidate that was taken, and what it reached.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FrontierPoint {
    /// Number of features.
    pub size: usize,
    /// Mean R-precision over folds.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
    /// Its share of the best.
    pub kept: f64,
    /// Whether it stands for all terms; the size is then that of the largest fold, and a model of all documents has more.
    pub all: bool,
}

/// What was chosen and from what.
#[derive(Debug, Clone)]
pub struct Choice {
    /// What a term is, narrower than what was counted; `None`: as counted.
    pub terms: Option<TextOptions>,
    /// The classifier.
    pub classifier: ClassifierSpec,
    /// The selector.
    pub selector: Selector,
    /// The number of features; `None` for all.
    pub size: Option<usize>,
    /// All candidates, heat by heat.
    pub trials: Vec<Trial>,
    /// What fewer words cost, fewest first.
    pub frontier: Vec<FrontierPoint>,
    /// Why, in sentences.
    pub reasons: Vec<String>,
}

named! {
    /// What a heat of a search is for.
    pub enum Stage ("stage of a search") {
        /// All candidates on few documents.
        Choosing = "choosing",
        /// The best of them on more.
        Comparing = "comparing the best",
        /// The best one with fewer and fewer terms.
        Walking = "walking sizes",
        /// C once more on many documents.
        Cost = "setting C",
    }
}

impl Stage {
    /// How far behind the best, on so many documents that were held out, a candidate has no hope left. Two candidates differ on about one
    /// document in twenty, so that their difference has a standard error of about √(0.05 / n); two and a half of these are allowed. On few
    /// documents, weightings by class lag behind what they are worth on all.
    pub(super) fn margin(self, tested: usize) -> f64 {
        let chance = 2.5 * (0.05 / tested.max(1) as f64).sqrt();
        match self {
            Self::Choosing => chance.max(HOPELESS),
            Self::Comparing | Self::Walking | Self::Cost => chance,
        }
    }
}

/// R-precision behind the best at which few documents settle that a weighting is not worth another look.
pub(super) const HOPELESS: f64 = 0.03;

/// Numbers of trials, best first; one trial a candidate. Who dropped out stands behind those who ran to the end.
pub(super) fn best_of_all(trials: &[Trial]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..trials.len()).collect();
    order.sort_by(|&a, &b| before(&trials[a], &trials[b]).then(a.cmp(&b)));
    order
}

fn before(a: &Trial, b: &Trial) -> std::cmp::Ordering {
    b.folds.cmp(&a.folds).then(b.mean.total_cmp(&a.mean))
}

/// One heat of a search, before it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeatPlan {
    /// What it is for.
    pub stage: Stage,
    /// Documents.
    pub documents: usize,
    /// Folds.
    pub folds: usize,
    /// Candidates: terms and classifiers with their settings.
    pub candidates: usize,
    /// Selectors of each.
    pub selectors: usize,
    /// Numbers of terms of each.
    pub sizes: usize,
}

/// What a search would try, and about how long that takes here.
#[derive(Debug, Clone, Serialize)]
pub struct SearchPlan {
    /// The heats; none where the documents are too few to compare anything on.
    pub heats: Vec<HeatPlan>,
    /// Terms that compete.
    pub terms: Vec<String>,
    /// Classifiers that compete on them; not each suits every kind of terms.
    pub classifiers: Vec<ClassifierSpec>,
    /// Selectors that are walked along.
    pub selectors: Vec<String>,
    /// Seconds, reckoned from one candidate that was tried.
    pub seconds: f64,
}

/// How the last candidates did against each other, on the same folds.
pub(super) fn rivals(compared: &mut [Trial]) -> Option<String> {
    compared.sort_by(before);
    let [first, _, ..] = &*compared else { return None };
    let how = match first.folds {
        1 => format!("On all terms, on a part held out of {} documents", first.documents),
        folds => format!("On all terms, in {folds} folds of {} documents", first.documents),
    };
    let each = |t: &Trial| format!("{} on {} reached {:.4}", t.classifier, t.terms, t.mean);
    let to_the_end = compared.iter().filter(|t| t.folds == first.folds);
    let reached: Vec<String> = to_the_end.take(3).map(each).collect();
    Some(format!("{how}: {}.", reached.join("; ")))
}

/// What is taken of the sizes that were walked.
pub(super) fn decide(
    winner: &Candidate,
    terms: Option<TextOptions>,
    trials: Vec<Trial>,
    walked: Vec<Trial>,
    options: &ChooseOptions,
    validated: bool,
) -> Result<Choice> {
    // Ties go to the earlier candidate, which is the smaller size.
    let best = walked
        .iter()
        .reduce(|best, t| if t.mean > best.mean { t } else { best })
        .ok_or_else(|| Error::data("no candidate to choose from"))?;
    let same: Vec<&Trial> = walked.iter().filter(|t| t.selector == best.selector).collect();
    let taken = match options.prefer {
        Prefer::Best => best,
        Prefer::Small => same.iter().find(|t| t.mean >= best.mean - options.loss).copied().unwrap_or(best),
    };
    let share = |mean: f64| if best.mean > 0.0 { mean / best.mean } else { 1.0 };
    let frontier: Vec<FrontierPoint> = same
        .iter()
        .map(|t| FrontierPoint { size: t.size, mean: t.mean, error: t.error, kept: share(t.mean), all: t.all })
        .collect();
    let size = |t: &Trial| if t.all { "all terms".to_owned() } else { format!("{} terms", t.size) };
    let mut reasons = vec![format!(
        "While choosing, {} on {} with {} of {} came first of {} trials in all, with R-precision {:.4} ± {:.4} {} {} \
         labelled training documents.",
        best.classifier,
        best.terms,
        size(best),
        best.selector,
        trials.len(),
        best.mean,
        best.error,
        if validated {
            "on the validation part, trained on".to_owned()
        } else if best.folds == 1 {
            "on a part held out of".to_owned()
        } else {
            format!("in {}-fold cross-validation on", best.folds)
        },
        best.documents
    )];
    if taken != best {
        reasons.push(format!(
            "{} reach {:.4}, no more than {} below it, and are taken.",
            size(taken),
            taken.mean,
            options.loss
        ));
    }
    let selector = options.selectors.iter().find(|s| s.to_string() == taken.selector).cloned();
    let selector = selector.ok_or_else(|| Error::data("no candidate to choose from"))?;
    let (classifier, size) = (winner.classifier.clone(), (!taken.all).then_some(taken.size));
    Ok(Choice { terms, classifier, selector, size, trials, frontier, reasons })
}
