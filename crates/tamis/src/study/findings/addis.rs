//! addis 4: what TSA costs and what it is worth.

use super::Finding;
use crate::hierarchy::pipeline::Imbalance;
use crate::report::short;
use crate::study::evidence::{Claim, Rule, Units};
use crate::study::folder::Record;
use crate::study::papers::ADDIS_TIMES;
use crate::study::pipelines::Pipelines;
use crate::study::rows::{PipelineRow, Row};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        key: "A1",
        paper: "TSA takes 28 times less than RBF although its grid is a hundred times finer (table 1, four levels)",
        effect: "utilities that RBF computes for one of TSA, as their pseudo-code counts them",
        rule: Rule::Above(20.0),
    },
    Claim {
        key: "A2",
        paper: "The ratio is about the same at every step: 27.02, 28, 28.08, 28.22 (table 1)",
        effect: "octaves from the ratio at the first step to that at the last",
        rule: Rule::Within(-0.5, 0.5),
    },
    Claim {
        key: "A3",
        paper: "F1 of TSA is above that of RBF at every imbalance, by 0.005 to 0.028 (table 2)",
        effect: "F1 of TSA less that of RBF on documents that thresholds were not selected on, at each imbalance",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "A4",
        paper: "The same, where thresholds were selected: the paper does not say on which documents F1 was measured",
        effect: "F1 of TSA less that of RBF on the documents that thresholds were selected on, at each imbalance",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "A5",
        paper: "F1 of TSA falls with the imbalance, from 0.835 at 2^-1 to 0.273 at 2^-7 (table 2)",
        effect: "F1 of TSA on other documents at the least imbalance less that at the largest",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "A6",
        paper: "TSA searches less than 0.3 of the range (ρ = 0.29, section 4)",
        effect: "share of the grid's steps that its repairs make, at balance",
        rule: Rule::Below(0.3),
    },
    Claim {
        key: "A7",
        paper: "The range that is searched decreases from the leaf to the root (section 4)",
        effect: "share of the steps at the leaf less that at the root",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "A8",
        paper: "Utilities are nearly convex in one threshold, so climbing finds the best (section 3.2, figure 2)",
        effect: "F1 that TSA reaches with the last level alone over the best that this level can give",
        rule: Rule::Above(0.99),
    },
];

pub(super) fn findings(record: &Record, plan: &Pipelines, units: &Units) -> Vec<Finding> {
    let rows: Vec<&PipelineRow> =
        record.rows.iter().filter_map(|row| if let Row::Pipeline(p) = row { Some(p) } else { None }).collect();
    let name = |exponent: i32| Imbalance::power(exponent).to_string();
    let of = |method: &str, exponent: i32| -> Vec<&PipelineRow> {
        let imbalance = name(exponent);
        rows.iter().copied().filter(|r| r.method == method && r.imbalance == imbalance).collect()
    };
    let pairs = |exponent: i32| -> Vec<(&PipelineRow, &PipelineRow)> {
        let (tsa, rbf) = (of("tsa", exponent), of("rbf", exponent));
        if tsa.len() == rbf.len() { tsa.into_iter().zip(rbf).collect() } else { Vec::new() }
    };
    let mut found = Vec::new();
    let balanced = pairs(0);
    let ratio = |(tsa, rbf): &(&PipelineRow, &PipelineRow), step: Option<usize>| {
        let at = |row: &PipelineRow| step.map_or(row.steps.last(), |s| row.steps.get(s)).copied();
        Some(at(rbf)? as f64 / at(tsa)?.max(1) as f64)
    };
    let ratios: Vec<f64> = balanced.iter().filter_map(|pair| ratio(pair, None)).collect();
    let levels = balanced.first().map_or(0, |(tsa, _)| tsa.thresholds.len());
    if !ratios.is_empty() {
        // RBF's grid grows with every level: the paper's figure speaks of its four.
        if levels == ADDIS_TIMES.len() {
            found.push(CLAIMS[0].judge(&ratios, units, "times".into()));
        }
        let octaves = |pair: &(&PipelineRow, &PipelineRow)| Some((ratio(pair, None)? / ratio(pair, Some(0))?).log2());
        let octaves: Vec<f64> = balanced.iter().filter_map(octaves).collect();
        let by_step: Vec<String> = (0..levels)
            .map(|step| {
                let all: Vec<f64> = balanced.iter().filter_map(|pair| ratio(pair, Some(step))).collect();
                short(super::mean(&all))
            })
            .collect();
        found.push(CLAIMS[1].judge(&octaves, units, format!("mean ratio by step {}", by_step.join(", "))));
    }
    let exponents: Vec<i32> = plan.imbalance.iter().copied().filter(|i| *i > 0).collect();
    for (claim, value) in [(&CLAIMS[2], (|r| r.check) as fn(&PipelineRow) -> f64), (&CLAIMS[3], |r| r.utility)] {
        let parts: Vec<(String, Vec<f64>)> = exponents
            .iter()
            .map(|&i| (name(i), pairs(i).iter().map(|(tsa, rbf)| value(tsa) - value(rbf)).collect()))
            .collect();
        if parts.iter().all(|(_, values): &(String, Vec<f64>)| !values.is_empty()) && !parts.is_empty() {
            found.push(claim.judge_all(&parts, units, String::new()));
        }
    }
    if let (Some(&first), Some(&last)) = (exponents.first(), exponents.last()) {
        let (from, to) = (of("tsa", first), of("tsa", last));
        let fall: Vec<f64> = from.iter().zip(&to).map(|(a, b)| a.check - b.check).collect();
        let at = |rows: &[&PipelineRow]| super::mean(&rows.iter().map(|r| r.check).collect::<Vec<_>>());
        if !fall.is_empty() {
            let said = format!("{:.3} at {}, {:.3} at {}", at(&from), name(first), at(&to), name(last));
            found.push(CLAIMS[4].judge(&fall, units, said));
        }
    }
    let visited: Vec<&Vec<f64>> = of("tsa", 0).into_iter().map(|r| &r.visited).filter(|v| !v.is_empty()).collect();
    if !visited.is_empty() {
        // A level has as many repairs as its number from the root: each repair counts once.
        let share = |v: &Vec<f64>| {
            let repairs = |level: usize| (level + 1) as f64;
            let all: f64 = (0..v.len()).map(repairs).sum();
            v.iter().enumerate().map(|(level, share)| share * repairs(level)).sum::<f64>() / all
        };
        let shares: Vec<f64> = visited.iter().map(|v| share(v)).collect();
        let by_level: Vec<String> = (0..levels)
            .map(|level| short(super::mean(&visited.iter().map(|v| v[level]).collect::<Vec<_>>())))
            .collect();
        found.push(CLAIMS[5].judge(&shares, units, format!("by level from the root {}", by_level.join(", "))));
        let falls: Vec<f64> = visited.iter().map(|v| v[v.len() - 1] - v[0]).collect();
        found.push(CLAIMS[6].judge(&falls, units, String::new()));
    }
    let reached: Vec<f64> = record
        .rows
        .iter()
        .filter_map(|row| if let Row::Utilities(u) = row { Some(u) } else { None })
        .map(|u| if u.best > 0.0 { u.reached / u.best } else { 1.0 })
        .collect();
    if !reached.is_empty() {
        found.push(CLAIMS[7].judge(&reached, units, String::new()));
    }
    found
}
