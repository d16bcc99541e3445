//! What the runs of a plan came to, and what of it has moved.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::plan::{Claim, Plan, Seen, Table, kept};

/// A number and its interval.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Number {
    pub(crate) effect: f64,
    pub(crate) interval: Option<(f64, f64)>,
}

/// What follows for a claim.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Finding {
    pub(crate) key: String,
    pub(crate) paper: String,
    pub(crate) rule: String,
    pub(crate) ours: String,
    pub(crate) verdict: String,
    pub(crate) effect: Option<f64>,
    #[allow(dead_code)] // Said in `ours`.
    pub(crate) interval: Option<(f64, f64)>,
}

/// `numbers.json` of a study.
#[derive(Debug, Deserialize)]
pub(crate) struct Written {
    pub(crate) corpus: Option<String>,
    pub(crate) numbers: BTreeMap<String, Number>,
    pub(crate) findings: Vec<Finding>,
}

impl Written {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    }

    /// Means over several runs of the same kind, with intervals over them; what not all of them have is left out.
    pub(crate) fn mean(all: &[Self]) -> Self {
        let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (name, number) in all.iter().flat_map(|one| &one.numbers) {
            values.entry(name).or_default().push(number.effect);
        }
        let numbers = values
            .into_iter()
            .filter(|(_, values)| values.len() == all.len())
            .map(|(name, values)| (name.to_owned(), estimate(&values)))
            .collect();
        Self { corpus: None, numbers, findings: Vec::new() }
    }
}

/// The mean with its interval by Student's t, 95 %.
fn estimate(values: &[f64]) -> Number {
    let n = values.len() as f64;
    let effect = values.iter().sum::<f64>() / n.max(1.0);
    let (Ok(t), true) = (StudentsT::new(0.0, 1.0, (n - 1.0).max(1.0)), values.len() > 1) else {
        return Number { effect, interval: None };
    };
    let variance = values.iter().map(|v| (v - effect).powi(2)).sum::<f64>() / (n - 1.0);
    let half = t.inverse_cdf(0.975) * (variance / n).sqrt();
    Number { effect, interval: Some((effect - half, effect + half)) }
}

/// Judges a claim over the runs of an `each`.
pub(crate) fn judge(claim: &Claim, all: &[Written]) -> Result<Finding> {
    let values = |name: &String| -> Result<Vec<f64>> {
        let of = |one: &Written| one.numbers.get(name).map(|n| n.effect);
        all.iter().map(of).collect::<Option<Vec<f64>>>().with_context(|| format!("{}: no number {name:?}", claim.key))
    };
    let lists = |names: &[String]| names.iter().map(values).collect::<Result<Vec<_>>>();
    let mean = |lists: &[Vec<f64>]| -> Vec<f64> {
        (0..all.len()).map(|i| lists.iter().map(|l| l[i]).sum::<f64>() / lists.len() as f64).collect()
    };
    let (more, less) = (lists(&claim.more)?, lists(&claim.less)?);
    let sum = |values: &Vec<f64>| values.iter().sum::<f64>();
    let best = less.iter().enumerate().max_by(|a, b| sum(a.1).total_cmp(&sum(b.1)));
    let (held, name) = match best.filter(|_| claim.best) {
        Some((at, values)) => (values.clone(), format!(", the best of the others being {}", claim.less[at])),
        None => (mean(&less), String::new()),
    };
    let differences: Vec<f64> = mean(&more).iter().zip(&held).map(|(a, b)| a - b).collect();
    let found = estimate(&differences);
    let won = differences.iter().filter(|d| **d > 0.0).count();
    let (verdict, interval) = match found.interval {
        Some((low, high)) => {
            let verdict = if low > 0.0 {
                "seen"
            } else if high <= 0.0 {
                "not seen"
            } else {
                "cannot be told"
            };
            (verdict, format!(" [{low:+.4}, {high:+.4}]"))
        }
        None => ("cannot be told", String::new()),
    };
    let versus = if claim.best { "the best of" } else { "the mean of" };
    Ok(Finding {
        key: claim.key.clone(),
        paper: claim.paper.clone(),
        rule: format!(
            "mean of ({}) less {versus} ({}): seen where the 95 % interval over {} by Student's t lies above 0, not seen where it lies \
             outside, else it cannot be told",
            claim.more.join(", "),
            claim.less.join(", "),
            claim.unit
        ),
        ours: format!("{:+.4}{interval}; larger on {won} of {} {}{name}", found.effect, all.len(), claim.unit)
            .replace('-', "−"),
        verdict: verdict.to_owned(),
        effect: Some(found.effect),
        interval: found.interval,
    })
}

/// Everything that a plan's runs came to.
#[derive(Debug, Default)]
pub(crate) struct Results {
    /// By run and name.
    pub(crate) numbers: BTreeMap<String, Number>,
    /// By run and key, in order.
    pub(crate) findings: Vec<(String, Finding)>,
    /// The corpus of each run in words.
    pub(crate) corpus: BTreeMap<String, String>,
    /// Titles and files of plots.
    pub(crate) figures: Vec<(String, String)>,
}

impl Results {
    /// Adds a run.
    pub(crate) fn add(&mut self, run: &str, written: Written) {
        let named = |name: &str| if run.is_empty() { name.to_owned() } else { format!("{run}/{name}") };
        self.numbers.extend(written.numbers.into_iter().map(|(name, number)| (named(&name), number)));
        self.findings.extend(written.findings.into_iter().map(|f| (named(&f.key), f)));
        if let Some(corpus) = written.corpus {
            self.corpus.insert(run.to_owned(), corpus);
        }
    }

    /// What the plan keeps of it; a number that is shown but was not made is an error.
    pub(crate) fn seen(&self, plan: &Plan, seconds: f64, megabytes: f64) -> Result<Seen> {
        let mut numbers = BTreeMap::new();
        for key in plan.table.iter().flat_map(Table::keys) {
            let number = self.numbers.get(&key).with_context(|| {
                let near: Vec<&str> = self
                    .numbers
                    .keys()
                    .map(String::as_str)
                    .filter(|k| k.starts_with(&key[..key.len().min(6)]))
                    .take(5)
                    .collect();
                format!("no run has a number called {key:?}; there are {}", near.join(", "))
            })?;
            numbers.insert(key, kept(number.effect));
        }
        for (key, finding) in &self.findings {
            if let Some(effect) = finding.effect {
                numbers.insert(format!("effect {key}"), kept(effect));
            }
        }
        let verdicts = self.findings.iter().map(|(key, f)| (key.clone(), f.verdict.clone())).collect();
        Ok(Seen { seconds, megabytes, numbers, verdicts })
    }
}

/// What has moved since it was accepted, in sentences.
pub(crate) fn drift(before: &Seen, now: &Seen, tolerance: f64) -> Vec<String> {
    let mut moved = Vec::new();
    for (name, value) in &now.numbers {
        match before.numbers.get(name) {
            None => moved.push(format!("{name} is {value} and was not there")),
            // Large numbers, such as counts, may move by that share.
            Some(was) if (value - was).abs() > tolerance * was.abs().max(1.0) => {
                moved.push(format!("{name} was {was} and is {value}"));
            }
            Some(_) => {}
        }
    }
    for name in before.numbers.keys().filter(|name| !now.numbers.contains_key(*name)) {
        moved.push(format!("{name} is no longer there"));
    }
    for (name, verdict) in &now.verdicts {
        match before.verdicts.get(name) {
            Some(was) if was == verdict => {}
            Some(was) => moved.push(format!("{name} was \"{was}\" and is \"{verdict}\"")),
            None => moved.push(format!("{name} is \"{verdict}\" and was not judged")),
        }
    }
    for name in before.verdicts.keys().filter(|name| !now.verdicts.contains_key(*name)) {
        moved.push(format!("{name} is no longer judged"));
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(numbers: &[(&str, f64)], verdicts: &[(&str, &str)]) -> Seen {
        Seen {
            numbers: numbers.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            verdicts: verdicts.iter().map(|(name, v)| ((*name).to_owned(), (*v).to_owned())).collect(),
            ..Seen::default()
        }
    }

    #[test]
    fn what_moves_is_named() {
        let before = seen(&[("a", 0.5), ("b", 1000.0), ("c", 0.1)], &[("O1", "seen"), ("O2", "seen")]);
        assert_eq!(drift(&before, &before, 0.0), Vec::<String>::new());
        let near = seen(&[("a", 0.5004), ("b", 1000.3), ("c", 0.1)], &[("O1", "seen"), ("O2", "seen")]);
        assert_eq!(drift(&before, &near, 0.0005), Vec::<String>::new());
        let far = seen(&[("a", 0.6), ("b", 1000.0), ("d", 1.0)], &[("O1", "not seen"), ("O3", "seen")]);
        let moved = drift(&before, &far, 0.0005);
        for expected in [
            "a was 0.5 and is 0.6",
            "d is 1 and was not there",
            "c is no longer there",
            "O1 was \"seen\"",
            "O2 is no longer",
            "O3 is",
        ] {
            assert!(moved.iter().any(|m| m.contains(expected)), "{expected}: {moved:?}");
        }
        assert_eq!(moved.len(), 6);
    }

    #[test]
    fn means_over_runs() {
        let one = |a: f64, extra: bool| {
            let mut numbers = BTreeMap::from([("a".to_owned(), Number { effect: a, interval: Some((0.0, 1.0)) })]);
            if extra {
                numbers.insert("b".into(), Number { effect: 1.0, interval: None });
            }
            Written { corpus: None, numbers, findings: Vec::new() }
        };
        let all = [one(0.2, true), one(0.6, false)];
        let mean = Written::mean(&all);
        assert_eq!(mean.numbers.len(), 1, "b is not in both");
        assert!((mean.numbers["a"].effect - 0.4).abs() < 1e-12);
        // By R: t.test(c(0.2, 0.6)) has [−2.1412, 2.9412].
        let (low, high) = mean.numbers["a"].interval.unwrap();
        assert!((low + 2.141_241).abs() < 1e-4 && (high - 2.941_241).abs() < 1e-4, "{low} {high}");
    }

    #[test]
    fn claims_over_runs() {
        let one = |a: f64, b: f64, c: f64| Written {
            corpus: None,
            numbers: [("a", a), ("b", b), ("c", c)]
                .map(|(name, effect)| (name.to_owned(), Number { effect, interval: None }))
                .into(),
            findings: Vec::new(),
        };
        let all = [one(0.8, 0.7, 0.2), one(0.9, 0.79, 0.3), one(0.7, 0.61, 0.1)];
        let claim = |best: bool| Claim {
            key: "F1".into(),
            paper: "p".into(),
            run: String::new(),
            unit: "problems".into(),
            more: vec!["a".into()],
            less: vec!["b".into(), "c".into()],
            best,
        };
        let found = judge(&claim(true), &all).unwrap();
        assert_eq!(found.verdict, "seen");
        assert!((found.effect.unwrap() - 0.1).abs() < 1e-12 && found.ours.contains("being b"), "{found:?}");
        assert!((judge(&claim(false), &all).unwrap().effect.unwrap() - 0.35).abs() < 1e-12);
        let wrong = Claim { more: vec!["z".into()], ..claim(true) };
        assert!(judge(&wrong, &all).is_err());
    }
}
