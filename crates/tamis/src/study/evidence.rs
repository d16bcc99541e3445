//! From numbers to a verdict by a rule that stands before the run: effect, interval, test, and only then a word.

use std::fmt;

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::findings::Finding;
use crate::counts::SplitPlan;
use crate::report::short;

/// What follows for a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The interval lies where the claim says.
    Seen,
    /// The interval lies where it says not.
    #[serde(rename = "not seen")]
    NotSeen,
    /// The interval lies across: these documents do not decide it.
    #[serde(rename = "cannot be told")]
    CannotTell,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Seen => "seen",
            Self::NotSeen => "not seen",
            Self::CannotTell => "cannot be told",
        })
    }
}

/// Where the effect must lie for a claim to be seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// Above a number.
    Above(f64),
    /// Below a number.
    Below(f64),
    /// Between two numbers.
    Within(f64, f64),
}

impl Rule {
    fn verdict(self, interval: Option<(f64, f64)>) -> Verdict {
        let Some((low, high)) = interval else { return Verdict::CannotTell };
        let (seen, refuted) = match self {
            Self::Above(t) => (low > t, high <= t),
            Self::Below(t) => (high < t, low >= t),
            Self::Within(from, to) => (from < low && high < to, high <= from || low >= to),
        };
        match (seen, refuted) {
            (true, _) => Verdict::Seen,
            (_, true) => Verdict::NotSeen,
            _ => Verdict::CannotTell,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |x: f64| short(x).replace('-', "−");
        match *self {
            Self::Above(t) => write!(f, "above {}", number(t)),
            Self::Below(t) => write!(f, "below {}", number(t)),
            Self::Within(from, to) => write!(f, "between {} and {}", number(from), number(to)),
        }
    }
}

/// A claim of a paper that a study can decide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// What it is called, such as `O3`.
    pub key: &'static str,
    /// What the paper says, and where.
    pub paper: &'static str,
    /// What is measured.
    pub effect: &'static str,
    /// What is seen, and what is not.
    pub rule: Rule,
}

/// What the values of an effect are over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Units {
    /// One of them.
    pub name: &'static str,
    /// How much of the variance they share: test over training documents where splits share documents, else 0.
    pub overlap: f64,
    /// Coverage of intervals.
    pub level: f64,
}

impl Units {
    /// Splits of a plan.
    pub fn splits(how: SplitPlan, level: f64) -> Self {
        let overlap = match how {
            SplitPlan::Random { test, .. } => test / (1.0 - test),
            SplitPlan::KFold(k) | SplitPlan::Stratified(k) => 1.0 / f64::from(k.max(2) - 1),
            SplitPlan::Given | SplitPlan::Newest(_) | SplitPlan::Disjoint(_) => 0.0,
        };
        Self { name: "split", overlap, level }
    }

    /// Units that share nothing.
    pub fn independent(name: &'static str, level: f64) -> Self {
        Self { name, overlap: 0.0, level }
    }

    /// The mean, its interval and the two-sided p of a mean of 0. Without two values there is no interval.
    ///
    /// Student's t; where splits share documents the variance of the mean is `s²(1/k + overlap)` and not `s²/k` (Nadeau & Bengio 2003).
    pub fn estimate(&self, values: &[f64]) -> Estimated {
        let n = values.len() as f64;
        let effect = values.iter().sum::<f64>() / n.max(1.0);
        let (Ok(t), true) = (StudentsT::new(0.0, 1.0, (n - 1.0).max(1.0)), values.len() > 1) else {
            return Estimated { effect, interval: None, p: None };
        };
        let variance = values.iter().map(|v| (v - effect).powi(2)).sum::<f64>() / (n - 1.0);
        let error = (variance * (1.0 / n + self.overlap)).sqrt();
        let half = t.inverse_cdf(0.5 + self.level / 2.0) * error;
        let p = match (effect == 0.0, error == 0.0) {
            (true, _) => 1.0,
            (false, true) => 0.0,
            (false, false) => 2.0 * t.sf((effect / error).abs()),
        };
        Estimated { effect, interval: Some((effect - half, effect + half)), p: Some(p) }
    }
}

impl fmt::Display for Units {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} % interval over {}s by Student's t", 100.0 * self.level, self.name)?;
        if self.overlap > 0.0 {
            write!(f, ", widened because they share documents (Nadeau & Bengio 2003, {})", short(self.overlap))?;
        }
        Ok(())
    }
}

/// An effect and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimated {
    /// The mean.
    pub effect: f64,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// Two-sided p of no effect.
    pub p: Option<f64>,
}

impl fmt::Display for Estimated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |x: f64| {
            let shown = if x.abs() >= 10.0 { format!("{x:+.1}") } else { format!("{x:+.4}") };
            shown.replace('-', "−")
        };
        match self.interval {
            None => write!(f, "{}", number(self.effect)),
            Some((low, high)) => write!(f, "{} [{}, {}]", number(self.effect), number(low), number(high)),
        }
    }
}

impl Claim {
    /// The rule in words.
    pub fn rule_text(&self, units: &Units) -> String {
        format!(
            "{}: seen where the {units} lies {}, not seen where it lies outside, else it cannot be told",
            self.effect, self.rule
        )
    }

    /// Judges one effect by its value on each unit; `ours` says what else is to be said.
    pub fn judge(&self, values: &[f64], units: &Units, ours: String) -> Finding {
        self.judge_all(&[(String::new(), values.to_vec())], units, ours)
    }

    /// Judges a claim about several things at once: seen where all are, not seen where one is not. The effect is that of the part which is
    /// farthest from the claim.
    pub fn judge_all(&self, parts: &[(String, Vec<f64>)], units: &Units, ours: String) -> Finding {
        let estimated: Vec<Estimated> = parts.iter().map(|(_, values)| units.estimate(values)).collect();
        let verdicts: Vec<Verdict> = estimated.iter().map(|e| self.rule.verdict(e.interval)).collect();
        let verdict = if verdicts.contains(&Verdict::NotSeen) {
            Verdict::NotSeen
        } else if verdicts.is_empty() || verdicts.contains(&Verdict::CannotTell) {
            Verdict::CannotTell
        } else {
            Verdict::Seen
        };
        let slack = |e: &Estimated| match self.rule {
            Rule::Above(t) => e.effect - t,
            Rule::Below(t) => t - e.effect,
            Rule::Within(from, to) => (e.effect - from).min(to - e.effect),
        };
        let weakest = estimated.iter().copied().min_by(|a, b| slack(a).total_cmp(&slack(b)));
        let said: Vec<String> = parts
            .iter()
            .zip(&estimated)
            .map(|((name, _), e)| if name.is_empty() { e.to_string() } else { format!("{name} {e}") })
            .collect();
        let ours = if ours.is_empty() { said.join("; ") } else { format!("{}; {ours}", said.join("; ")) };
        Finding {
            key: self.key.to_owned(),
            paper: self.paper.to_owned(),
            rule: self.rule_text(units),
            ours,
            estimated: weakest,
            verdict,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAIM: Claim = Claim { key: "X", paper: "p", effect: "e", rule: Rule::Above(0.0) };

    /// By R: t.test(c(1, 2, 3, 4)) has the interval [0.4457, 4.5543] and p = 0.03047.
    #[test]
    fn student_as_r_has_it() {
        let found = Units::independent("pipeline", 0.95).estimate(&[1.0, 2.0, 3.0, 4.0]);
        let (low, high) = found.interval.expect("four values have an interval");
        assert!((low - 0.445_739_7).abs() < 1e-6 && (high - 4.554_260_3).abs() < 1e-6, "{found}");
        assert!((found.p.expect("and a p") - 0.030_466_2).abs() < 1e-6, "{found:?}");
    }

    /// Ten folds: the variance of the mean is s²(1/10 + 1/9), as Nadeau and Bengio have it.
    #[test]
    fn shared_documents_widen_the_interval() {
        let values: Vec<f64> = (0..10).map(f64::from).collect();
        let width = |units: Units| units.estimate(&values).interval.map_or(0.0, |(low, high)| high - low);
        let folds = width(Units::splits(SplitPlan::Stratified(10), 0.95));
        let free = width(Units::splits(SplitPlan::Disjoint(10), 0.95));
        assert!((folds / free - ((0.1 + 1.0 / 9.0) / 0.1f64).sqrt()).abs() < 1e-9);
        let halves = Units::splits(SplitPlan::Random { test: 0.8, times: 5 }, 0.95);
        assert!((halves.overlap - 4.0).abs() < 1e-12);
    }

    #[test]
    fn verdicts_follow_from_intervals() {
        let units = Units::independent("set", 0.95);
        let judge = |values: &[f64]| CLAIM.judge(values, &units, String::new()).verdict;
        assert_eq!(judge(&[1.0, 1.1, 0.9]), Verdict::Seen);
        assert_eq!(judge(&[-1.0, -1.1, -0.9]), Verdict::NotSeen);
        assert_eq!(judge(&[1.0, -1.1, 0.9]), Verdict::CannotTell);
        assert_eq!(judge(&[5.0]), Verdict::CannotTell, "one value has no interval");
        let part = |name: &str, values: &[f64]| (name.to_owned(), values.to_vec());
        let all = |parts: &[(String, Vec<f64>)]| CLAIM.judge_all(parts, &units, String::new());
        let mixed = all(&[part("a", &[1.0, 1.1]), part("b", &[-1.0, -1.01, -1.02])]);
        assert_eq!(mixed.verdict, Verdict::NotSeen);
        assert!(mixed.estimated.is_some_and(|e| e.effect < 0.0), "the weakest part speaks");
        assert_eq!(all(&[]).verdict, Verdict::CannotTell);
        let within = Rule::Within(-0.01, 0.01);
        assert_eq!(within.verdict(Some((-0.005, 0.009))), Verdict::Seen);
        assert_eq!(within.verdict(Some((0.01, 0.02))), Verdict::NotSeen);
        assert_eq!(within.verdict(Some((-0.02, 0.0))), Verdict::CannotTell);
        assert_eq!(Rule::Below(0.3).verdict(Some((0.1, 0.2))), Verdict::Seen);
    }
}
