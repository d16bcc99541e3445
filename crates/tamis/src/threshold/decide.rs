//! Tuned thresholds: they decide.

use serde::{Deserialize, Serialize};

use super::policy::{Pcut, Rcut, Scut, Threshold};
use crate::classify::Scored;
use crate::{Error, Result};

/// A threshold policy ready to decide. Stored with a model; as JSON, a label that is never assigned has `null`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Thresholds {
    policy: Threshold,
    rule: Rule,
}

#[derive(Debug, Clone, PartialEq)]
enum Rule {
    Nothing,
    /// The first so many.
    Top(u32),
    /// One threshold for all labels.
    Same(f64),
    /// One threshold for each label, +∞ for never; and the lowest of them.
    ByLabel(Vec<f64>, f64),
}

impl Thresholds {
    /// For policies that need no tuning (`none`, `fixed(x)`, `rcut(n)`).
    pub fn untuned(policy: Threshold) -> Result<Self> {
        policy.check()?;
        let rule = match policy {
            Threshold::None => Rule::Nothing,
            Threshold::Fixed(x) => Rule::Same(x),
            Threshold::Rcut(Rcut { n: Some(n), .. }) => Rule::Top(n),
            _ => return Err(Error::invalid("threshold", policy, "must be tuned on held-out scores first")),
        };
        Ok(Self { policy, rule })
    }

    /// The top `n`, as tuned for `policy`.
    pub(super) fn top(policy: Threshold, n: u32) -> Self {
        Self { policy, rule: Rule::Top(n) }
    }

    /// One threshold for each label; `f64::INFINITY` for a label that is never assigned.
    pub fn by_label(policy: Threshold, values: Vec<f64>) -> Result<Self> {
        policy.check()?;
        if let Some(bad) = values.iter().position(|v| v.is_nan()) {
            return Err(Error::invalid("thresholds", "NaN", format!("label number {bad} needs a number")));
        }
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        Ok(Self { policy, rule: Rule::ByLabel(values, lowest) })
    }

    /// The policy it was tuned for.
    pub fn policy(&self) -> &Threshold {
        &self.policy
    }

    /// The threshold of each label, +∞ for never; `None` for policies without one (`rcut`, `none`, `fixed`).
    pub fn values(&self) -> Option<&[f64]> {
        match &self.rule {
            Rule::ByLabel(values, _) => Some(values),
            _ => None,
        }
    }

    /// The threshold of a label; `None` when the policy has none, or the label is never assigned.
    pub fn of(&self, label: u32) -> Option<f64> {
        match &self.rule {
            Rule::Same(x) => Some(*x),
            Rule::ByLabel(values, _) => values.get(label as usize).copied().filter(|v| v.is_finite()),
            _ => None,
        }
    }

    /// The number of labels of `rcut`, given or tuned.
    pub fn n(&self) -> Option<u32> {
        match self.rule {
            Rule::Top(n) => Some(n),
            _ => None,
        }
    }

    /// The decided labels, ascending.
    pub fn decide(&self, ranked: &[Scored]) -> Vec<u32> {
        let mut decided = Vec::new();
        self.decide_into(ranked, &mut decided);
        decided
    }

    /// Writes the decided labels into `decided`, ascending, replacing what was there. `ranked` is best first.
    pub fn decide_into(&self, ranked: &[Scored], decided: &mut Vec<u32>) {
        decided.clear();
        match &self.rule {
            Rule::Nothing => {}
            Rule::Top(n) => decided.extend(ranked.iter().take(*n as usize).map(|p| p.label)),
            Rule::Same(x) => {
                decided.extend(ranked.iter().take_while(|p| p.score >= *x).map(|p| p.label));
            }
            Rule::ByLabel(values, lowest) => {
                let high_enough = ranked.iter().take_while(|p| p.score >= *lowest);
                let reach = |p: &&Scored| values.get(p.label as usize).is_some_and(|v| p.score >= *v);
                decided.extend(high_enough.filter(reach).map(|p| p.label));
            }
        }
        let least = match self.policy {
            Threshold::Scut(Scut { min, .. }) | Threshold::Pcut(Pcut { min, .. }) => min as usize,
            _ => 0,
        };
        // Up to the least number, the best labels not decided yet; there are at most `least` decided, so looking
        // through them is quick.
        let mut best = ranked.iter();
        while decided.len() < least {
            let Some(place) = best.next() else { break };
            if !decided.contains(&place.label) {
                decided.push(place.label);
            }
        }
        decided.sort_unstable();
    }
}

/// The JSON form: +∞ is not a JSON number.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    policy: Threshold,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    n: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    values: Option<Vec<Option<f64>>>,
}

impl From<Thresholds> for Stored {
    fn from(thresholds: Thresholds) -> Self {
        let n = thresholds.n();
        let values = thresholds.values().map(|v| v.iter().map(|x| x.is_finite().then_some(*x)).collect());
        Self { policy: thresholds.policy, n, values }
    }
}

impl TryFrom<Stored> for Thresholds {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        match (stored.policy, stored.n, stored.values) {
            (policy @ (Threshold::Scut(_) | Threshold::Pcut(_) | Threshold::Precision(_)), None, Some(values)) => {
                Self::by_label(policy, values.into_iter().map(|v| v.unwrap_or(f64::INFINITY)).collect())
            }
            (policy @ Threshold::Rcut(_), Some(n), None) if n > 0 => Ok(Self::top(policy, n)),
            (policy, None, None) => Self::untuned(policy),
            (policy, ..) => Err(Error::invalid("threshold", policy, "its stored numbers do not belong to it")),
        }
    }
}
