//! What a threshold is good for: a number from the accepted and the missed documents.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// What threshold selection maximises (method 10). All are quotients that grow with true positives and fall with false
/// ones; `0/0 = 0`. Names parse and print back: `f1`, `f(0.5)`, `precision`, `recall`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Utility {
    /// `2·tp / (2·tp + fp + fn)`
    #[default]
    F1,
    /// `(1+β²)·tp / ((1+β²)·tp + β²·fn + fp)`, `β > 0`
    F(f64),
    /// `tp / (tp + fp)`
    Precision,
    /// `tp / (tp + fn)`
    Recall,
}

impl Utility {
    /// The value for (possibly weighted) counts of true positives, false positives and false negatives.
    pub fn value(self, tp: f64, fp: f64, fn_: f64) -> f64 {
        self.fraction().value(tp, fp, fn_)
    }

    /// Refuses a β that gives no measure.
    pub(super) fn check(self) -> Result<Self> {
        match self {
            Self::F(beta) if !(beta.is_finite() && beta > 0.0) => {
                Err(Error::invalid("utility", self, "the beta of f(beta) must be a positive number"))
            }
            _ => Ok(self),
        }
    }

    /// All utilities are `gain·tp / (true_positive·tp + false_positive·fp + false_negative·fn)`.
    pub(super) fn fraction(self) -> Fraction {
        let [gain, true_positive, false_positive, false_negative] = match self {
            Self::F1 => [2.0, 2.0, 1.0, 1.0],
            Self::F(beta) => [1.0 + beta * beta, 1.0 + beta * beta, 1.0, beta * beta],
            Self::Precision => [1.0, 1.0, 1.0, 0.0],
            Self::Recall => [1.0, 1.0, 0.0, 1.0],
        };
        Fraction { gain, true_positive, false_positive, false_negative }
    }
}

impl fmt::Display for Utility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::F1 => f.write_str("f1"),
            Self::F(beta) => write!(f, "f({beta})"),
            Self::Precision => f.write_str("precision"),
            Self::Recall => f.write_str("recall"),
        }
    }
}

impl FromStr for Utility {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "f1" => Ok(Self::F1),
            "precision" => Ok(Self::Precision),
            "recall" => Ok(Self::Recall),
            _ => match text.strip_prefix("f(").and_then(|rest| rest.strip_suffix(')')) {
                Some(beta) => match beta.trim().parse() {
                    Ok(beta) => Self::F(beta).check(),
                    Err(_) => Err(Error::invalid("utility", text, "expected a number between the brackets of f(beta)")),
                },
                None => Err(Error::unknown("utility", text, ["f1", "f(0.5)", "precision", "recall"])),
            },
        }
    }
}

impl TryFrom<String> for Utility {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Utility> for String {
    fn from(utility: Utility) -> Self {
        utility.to_string()
    }
}

/// The coefficients of a utility.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fraction {
    pub gain: f64,
    pub true_positive: f64,
    pub false_positive: f64,
    pub false_negative: f64,
}

impl Fraction {
    #[inline]
    fn value(self, tp: f64, fp: f64, fn_: f64) -> f64 {
        let below = self.true_positive * tp + self.false_positive * fp + self.false_negative * fn_;
        if below > 0.0 { self.gain * tp / below } else { 0.0 }
    }
}

/// Accepted documents in one word: positives in the low half, negatives in the high half, so that one addition counts
/// both. Tables have fewer than 2³² documents.
pub(super) type Units = u64;

/// One positive or one negative.
#[inline]
pub(super) fn unit(positive: bool) -> Units {
    if positive { 1 } else { 1 << 32 }
}

/// `tally` when `condition`, else 0, without a branch: which documents pass follows no pattern, so a branch would often
/// be guessed wrong.
#[inline]
pub(super) fn when(condition: bool, tally: Units) -> Units {
    std::hint::select_unpredictable(condition, tally, 0)
}

/// Accepted positives.
#[inline]
pub(super) fn positives_in(tally: Units) -> u32 {
    tally as u32
}

/// Accepted negatives.
#[inline]
pub(super) fn negatives_in(tally: Units) -> u32 {
    (tally >> 32) as u32
}

/// A utility on the tallies of one table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scorer {
    pub fraction: Fraction,
    pub positives: u32,
    pub negative_weight: f64,
}

impl Scorer {
    /// The utility when these documents are accepted.
    #[inline]
    pub(super) fn value(&self, tally: Units) -> f64 {
        let tp = positives_in(tally);
        self.fraction.value(
            f64::from(tp),
            f64::from(negatives_in(tally)) * self.negative_weight,
            f64::from(self.positives - tp),
        )
    }

    /// False only when the utility is certainly below `best`: saves the division for most tallies of a scan. The slack
    /// is far above the rounding of three products.
    #[inline]
    pub(super) fn may_reach(&self, tally: Units, best: f64) -> bool {
        let tp = f64::from(positives_in(tally));
        let f = &self.fraction;
        let below = f.false_negative * f64::from(self.positives)
            + (f.true_positive - f.false_negative) * tp
            + f.false_positive * self.negative_weight * f64::from(negatives_in(tally));
        f.gain * tp >= best * below * (1.0 - 1e-12)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_print_back() {
        for name in ["f1", "f(0.5)", "f(2)", "precision", "recall"] {
            assert_eq!(name.parse::<Utility>().unwrap().to_string(), name);
            let json = format!("{name:?}");
            assert_eq!(serde_json::to_string(&serde_json::from_str::<Utility>(&json).unwrap()).unwrap(), json);
        }
        assert!("f(0)".parse::<Utility>().unwrap_err().to_string().contains("positive number"));
        assert!("f(x)".parse::<Utility>().unwrap_err().to_string().contains("expected a number"));
        assert!(
            "f2".parse::<Utility>().unwrap_err().to_string().contains("known: f1 f(0.5) precision recall")
                || "f2".parse::<Utility>().unwrap_err().to_string().contains("did you mean")
        );
    }

    /// 6 right, 2 wrong, 4 missed: precision 6/8, recall 6/10, F1 12/18; F2 = 5·6/(5·6+4·4+2) = 30/48.
    #[test]
    fn values_by_hand() {
        let value = |name: &str| name.parse::<Utility>().unwrap().value(6.0, 2.0, 4.0);
        assert_eq!(value("precision"), 0.75);
        assert_eq!(value("recall"), 0.6);
        assert_eq!(value("f1"), 12.0 / 18.0);
        assert_eq!(value("f(1)"), 12.0 / 18.0);
        assert_eq!(value("f(2)"), 30.0 / 48.0);
        for name in ["f1", "f(2)", "precision", "recall"] {
            assert_eq!(name.parse::<Utility>().unwrap().value(0.0, 0.0, 0.0), 0.0);
        }
    }

    #[test]
    fn the_filter_never_drops_a_tally_that_reaches() {
        for utility in [Utility::F1, Utility::F(0.3), Utility::F(3.0), Utility::Precision, Utility::Recall] {
            let scorer = Scorer { fraction: utility.fraction(), positives: 40, negative_weight: 0.37 };
            for tally in (0..=40u64).flat_map(|tp| (0..60u64).map(move |fp| fp << 32 | tp)) {
                assert!(scorer.may_reach(tally, scorer.value(tally)));
            }
            assert!(utility == Utility::Recall || !scorer.may_reach(1 | 50 << 32, 0.9));
        }
    }
}
