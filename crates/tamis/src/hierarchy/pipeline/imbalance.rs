//! The share of positives that a user expects, and how a score table is brought to it.

use std::fmt;
use std::str::FromStr;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::ScoreTable;
use crate::{Error, Result};

/// Positives to negatives in the documents that will come: `2^-4` is 1 : 16 (method 10, addis 4). Also read from `1:16`,
/// from the quotient `0.0625`, and from the share of positives among all documents, `prior(0.05)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Imbalance {
    negatives: f64,
}

impl Imbalance {
    /// `2^-exponent`: one positive to `2^exponent` negatives.
    pub fn power(exponent: i32) -> Self {
        Self { negatives: f64::from(exponent.clamp(-60, 60)).exp2() }
    }

    /// One positive to this many negatives.
    pub fn negatives_per_positive(negatives: f64) -> Result<Self> {
        if negatives.is_finite() && negatives > 0.0 {
            Ok(Self { negatives })
        } else {
            Err(Error::invalid("imbalance", negatives, "needs a positive number of negatives for each positive"))
        }
    }

    /// From the share of positives among all documents.
    pub fn prior(share: f64) -> Result<Self> {
        if share > 0.0 && share < 1.0 {
            Ok(Self { negatives: (1.0 - share) / share })
        } else {
            Err(Error::invalid("imbalance", format!("prior({share})"), "a prior lies between 0 and 1"))
        }
    }

    /// Negatives for each positive.
    pub fn negatives(self) -> f64 {
        self.negatives
    }
}

impl fmt::Display for Imbalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exponent = self.negatives.log2();
        if exponent.fract() == 0.0 && exponent.exp2() == self.negatives {
            write!(f, "2^{}", if exponent == 0.0 { 0.0 } else { -exponent })
        } else {
            write!(f, "1:{}", self.negatives)
        }
    }
}

impl FromStr for Imbalance {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let expected = "expected positives to negatives, such as 2^-4, 1:16 or 0.0625, or prior(0.05)";
        let number = |t: &str| t.trim().parse::<f64>().map_err(|_| Error::invalid("imbalance", text, expected));
        let ratio = |positives: f64, negatives: f64| {
            Self::negatives_per_positive(negatives / positives).map_err(|_| Error::invalid("imbalance", text, expected))
        };
        if let Some(exponent) = text.strip_prefix("2^") {
            let exponent: i32 = exponent.trim().parse().map_err(|_| Error::invalid("imbalance", text, expected))?;
            if exponent.abs() > 60 {
                return Err(Error::invalid("imbalance", text, "the exponent must lie between -60 and 60"));
            }
            Ok(Self::power(-exponent))
        } else if let Some(share) = text.strip_prefix("prior(").and_then(|t| t.strip_suffix(')')) {
            Self::prior(number(share)?)
        } else if let Some((positives, negatives)) = text.split_once(':') {
            ratio(number(positives)?, number(negatives)?)
        } else {
            ratio(number(text)?, 1.0)
        }
    }
}

impl TryFrom<String> for Imbalance {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Imbalance> for String {
    fn from(imbalance: Imbalance) -> Self {
        imbalance.to_string()
    }
}

impl ScoreTable {
    /// All documents, each negative weighted so that positives and negatives stand in the ratio. Nothing is drawn, so
    /// the result has no chance in it and no document is wasted: the way to tune thresholds for an expected ratio.
    pub fn weighted_to(&self, imbalance: Imbalance) -> Result<Self> {
        let (positives, negatives) = self.both_kinds()?;
        self.clone().with_negative_weight(imbalance.negatives * positives as f64 / negatives as f64)
    }

    /// A set that holds positives and negatives in the ratio, as addis 4 evaluates: all of the scarcer kind and a random
    /// part of the other, in document order; the same seed draws the same documents.
    pub fn sampled_to(&self, imbalance: Imbalance, seed: u64) -> Result<Self> {
        let (positives, negatives) = self.both_kinds()?;
        let wanted = positives as f64 * imbalance.negatives;
        let (keep_positives, keep_negatives) = if wanted <= negatives as f64 {
            (positives, wanted.round() as usize)
        } else {
            ((negatives as f64 / imbalance.negatives).round() as usize, negatives)
        };
        if keep_positives == 0 || keep_negatives == 0 {
            return Err(Error::data(format!(
                "{positives} positives and {negatives} negatives do not hold a set with imbalance {imbalance}; \
                 weight the documents instead of drawing them, or score more documents"
            )));
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut rows = Vec::with_capacity(keep_positives + keep_negatives);
        for (kind, keep) in [(true, keep_positives), (false, keep_negatives)] {
            let mut all: Vec<usize> = (0..self.documents()).filter(|&r| self.truth()[r] == kind).collect();
            for at in 0..keep {
                let other = random.random_range(at..all.len());
                all.swap(at, other);
            }
            rows.extend_from_slice(&all[..keep]);
        }
        rows.sort_unstable();
        Ok(self.select_rows(&rows))
    }

    /// A set that holds positives and negatives in the ratio and wastes no real document: every positive, and negatives up to
    /// the ratio, drawn by the seed where there are more; only where there are too few are they weighted up to it
    /// (method 10). What is drawn for a ratio is part of what is drawn for a larger one.
    pub fn held_to(&self, imbalance: Imbalance, seed: u64) -> Result<Self> {
        let (positives, negatives) = self.both_kinds()?;
        let wanted = positives as f64 * imbalance.negatives;
        if wanted >= negatives as f64 {
            return self.clone().with_negative_weight(wanted / negatives as f64);
        }
        // A ratio of less than one negative to all positives still needs one: it is weighted down.
        let keep = (wanted.round() as usize).max(1);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut of: Vec<usize> = (0..self.documents()).filter(|&r| !self.truth()[r]).collect();
        of.shuffle(&mut random);
        let mut rows: Vec<usize> = (0..self.documents()).filter(|&r| self.truth()[r]).collect();
        rows.extend_from_slice(&of[..keep]);
        rows.sort_unstable();
        self.select_rows(&rows).with_negative_weight(wanted / keep as f64)
    }

    fn both_kinds(&self) -> Result<(usize, usize)> {
        self.check_positives()?;
        let positives = self.positives();
        if positives == self.documents() {
            return Err(Error::data("all documents are positive (truth = 1), so no imbalance can be set"));
        }
        Ok((positives, self.documents() - positives))
    }
}
