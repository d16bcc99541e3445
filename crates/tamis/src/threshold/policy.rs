//! Threshold policies as values.

use crate::measure::Beta;
use crate::named::named;
use crate::registry::Row;
use crate::{Error, Result};

/// How labels are decided from a ranked list (method 9).
///
/// ```
/// use tamis::threshold::Threshold;
/// let policy: Threshold = "scut(beta=0.5,rare=3)".parse()?;
/// assert_eq!(policy.to_string(), "scut(beta=0.5,rare=3)");
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Threshold {
    /// `none`: ranked lists only, nothing is decided.
    None,
    /// `fixed(x)`: every label with a score of at least x; `fixed(0)` is the usual rule of an SVM.
    Fixed(f64),
    /// `rcut(n)`.
    Rcut(Rcut),
    /// `scut`.
    Scut(Scut),
    /// `pcut`.
    Pcut(Pcut),
    /// `precision(p)`.
    Precision(Precision),
}

named! {
    /// What thresholds of labels maximise together.
    #[derive(Default)]
    pub enum Goal ("goal of thresholds") {
        /// The mean of the labels' F_β: every label's own.
        #[default]
        Macro = "macro",
        /// F_β of all decisions in one pot.
        Micro = "micro",
        /// The sum of both, label by label from the most frequent down, as LibMultiLabel does (Lin & Lin 2023).
        Both = "micro+macro",
    }
}

/// `rcut(n)`: the top n labels; `rcut`: the n that maximises micro-averaged F_β on held-out lists.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rcut {
    /// How many labels; `None`: tuned.
    pub n: Option<u32>,
    /// β of the F that tuning maximises.
    pub beta: Beta,
}

/// `scut`: for each label the threshold that maximises F_β on held-out scores.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scut {
    /// Whose F_β.
    pub goal: Goal,
    /// β of the F that tuning maximises.
    pub beta: Beta,
    /// Labels with fewer held-out positives share one threshold, tuned on their scores together: a threshold of its
    /// own for a handful of positives is mostly noise. 0: every label has its own.
    pub rare: u32,
    /// A label whose best F_β stays below this is assigned only from its highest held-out score on (SCutFBR.1 of
    /// Yang 2001): it errs on the side of silence. 0: never.
    pub fbr: f64,
    /// A document gets at least so many labels: the best ones, whether or not they reach their thresholds.
    pub min: u32,
}

/// `pcut`: each label gets documents in proportion to its training prior.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pcut {
    /// The factor of proportion: 1 gives each label as many held-out documents as it has positives.
    pub x: f64,
    /// A document gets at least so many labels.
    pub min: u32,
}

impl Default for Pcut {
    fn default() -> Self {
        Self { x: 1.0, min: 0 }
    }
}

/// `precision(p)`: for each label the lowest threshold whose precision is at least p, with stated confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision {
    /// The least precision.
    pub least: f64,
    /// How sure of it to be: the share of samples of held-out documents in which the threshold of a label keeps its word.
    pub confidence: f64,
}

impl Precision {
    /// How sure to be unless told otherwise.
    pub const CONFIDENCE: f64 = 0.9;
}

pub(super) static REGISTRY: [Row; 6] = [
    Row { name: "none", example: "none", what: "Rank only; decide nothing.", formula: "", source: "method 8" },
    Row {
        name: "fixed",
        example: "fixed(0.5)",
        what: "Every label whose score is at least the number; 0 is the usual rule of an SVM.",
        formula: "",
        source: "method 7",
    },
    Row {
        name: "rcut",
        example: "rcut(3)",
        what: "The top n labels. Without n, the n that maximises micro-averaged F_β on held-out lists (beta=1).",
        formula: "",
        source: "Yang 2001; olsson 2; method 9",
    },
    Row {
        name: "scut",
        example: "scut(goal=micro+macro,beta=0.5,rare=3,fbr=0.1,min=1)",
        what: "For each label the threshold that maximises F_β on held-out scores (beta=1). goal=macro: its own F; goal=micro: \
               the F of all decisions in one pot; goal=micro+macro: the sum of both. rare=n: labels with fewer than n positives \
               share one. fbr=f: a label that stays below F = f is assigned only from its highest \
               held-out score on. min=k: every document gets at least its best k labels.",
        formula: "",
        source: "Yang 2001; Fan & Lin 2007; Lin & Lin 2023; method 9",
    },
    Row {
        name: "pcut",
        example: "pcut(1.2,min=1)",
        what: "Each label gets documents in proportion to its training prior; the number is the factor (1). min=k: \
               every document gets at least its best k labels.",
        formula: "",
        source: "Yang 2001; method 9",
    },
    Row {
        name: "precision",
        example: "precision(0.95,confidence=0.8)",
        what: "For each label the lowest threshold whose precision on new documents is at least the number, with so much \
               confidence (0.9). A label that cannot be trusted so far is never given; a document may get none.",
        formula: "",
        source: "Clopper & Pearson 1934; Angelopoulos et al. 2021; method 9",
    },
];

impl Threshold {
    /// What to take unless told otherwise: `scut(goal=micro+macro,rare=5)`. Chosen on training documents alone, by the sum of
    /// micro- and macro-averaged F1 in three folds of them, with `svm` on all words of two documents or more ; the
    /// sum of the three corpora and of `svm(vectors=tfidf*rf)` decided; `policies_on_training_documents` in the tests prints it all:
    ///
    /// | | Reuters ModApte | RCV1 | advisories |
    /// |---|---|---|---|
    /// | `scut(goal=micro+macro,rare=5)` | 0.883 / 0.507 | 0.797 / 0.568 | 0.722 / 0.284 |
    /// | `scut(goal=micro+macro,rare=10)` | 0.884 / 0.510 | 0.800 / 0.554 | 0.726 / 0.283 |
    /// | `scut(goal=micro+macro,rare=20)` | 0.884 / 0.511 | 0.802 / 0.552 | 0.727 / 0.290 |
    /// | `scut(goal=micro+macro)` | 0.880 / 0.506 | 0.797 / 0.563 | 0.713 / 0.282 |
    /// | `scut(goal=micro)` | 0.882 / 0.487 | 0.805 / 0.534 | 0.730 / 0.269 |
    /// | `scut(rare=20)` | 0.881 / 0.506 | 0.796 / 0.550 | 0.712 / 0.287 |
    /// | `scut` | 0.602 / 0.483 | 0.742 / 0.554 | 0.266 / 0.275 |
    /// | `pcut` | 0.881 / 0.524 | 0.799 / 0.569 | 0.709 / 0.290 |
    /// | `fixed(0)` | 0.857 / 0.345 | 0.773 / 0.364 | 0.711 / 0.184 |
    ///
    /// `pcut` does as well, but it tunes for no β and trusts the priors to stay as they are.
    pub fn recommended() -> Self {
        Self::Scut(Scut { goal: Goal::Both, rare: 5, ..Scut::default() })
    }

    /// `scut` with β = 1.
    pub fn scut() -> Self {
        Self::Scut(Scut::default())
    }

    /// `rcut(n)`.
    pub fn rcut(n: u32) -> Self {
        Self::Rcut(Rcut { n: Some(n), beta: Beta::ONE })
    }

    /// The registry: one row a policy.
    pub fn registry() -> &'static [Row] {
        &REGISTRY
    }

    /// Its row of the registry.
    pub fn spec(&self) -> &'static Row {
        let row = match self {
            Self::None => 0,
            Self::Fixed(_) => 1,
            Self::Rcut(_) => 2,
            Self::Scut(_) => 3,
            Self::Pcut(_) => 4,
            Self::Precision(_) => 5,
        };
        &REGISTRY[row]
    }

    /// Whether it must be tuned on held-out scores before it can decide.
    pub fn needs_held_out(&self) -> bool {
        match self {
            Self::None | Self::Fixed(_) | Self::Rcut(Rcut { n: Some(_), .. }) => false,
            Self::Rcut(_) | Self::Scut(_) | Self::Pcut(_) | Self::Precision(_) => true,
        }
    }

    /// Checks the numbers in it.
    pub fn check(&self) -> Result<()> {
        let at = |what: &str| format!("{self}: {what}");
        match *self {
            Self::Fixed(x) if x.is_nan() => Err(Error::invalid(at("threshold"), x, "must be a number")),
            Self::Rcut(Rcut { n: Some(0), .. }) => Err(Error::invalid(at("n"), 0, "must be at least 1")),
            Self::Scut(Scut { fbr, .. }) if !(0.0..=1.0).contains(&fbr) => {
                Err(Error::invalid(at("fbr"), fbr, "must be between 0 and 1"))
            }
            Self::Pcut(Pcut { x, .. }) if !(x > 0.0 && x.is_finite()) => {
                Err(Error::invalid(at("x"), x, "must be a positive number"))
            }
            Self::Precision(Precision { least, .. }) if !(least > 0.0 && least < 1.0) => {
                Err(Error::invalid(at("precision"), least, "must lie between 0 and 1, such as 0.95"))
            }
            Self::Precision(Precision { confidence, .. }) if !(confidence > 0.0 && confidence < 1.0) => {
                Err(Error::invalid(at("confidence"), confidence, "must lie between 0 and 1, such as 0.9"))
            }
            _ => Ok(()),
        }
    }
}
