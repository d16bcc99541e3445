//! Every number of a study by its name, for programs that compare: what the report says, without the sentences.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use serde::Serialize;

use super::arena::{Over, arenas};
use super::evidence::{Estimated, Units};
use super::findings::{Finding, findings, learned_lambdas};
use super::folder::Record;
use super::page::many;
use super::plan::{Grid, Work};
use super::rows::{PipelineRow, Row};
use super::simulated::Simulated;
use crate::Result;
use crate::atomic::AtomicFile;
use crate::measure::simulation::MEASURES;

/// The numbers of a study. Names are made of what the rows are about, separated by blanks: `Accuracy bayes os(ib) 100`,
/// `profile chi2max@2 df@2`, `lambda 500`, `reversals MAP RPrec`, `F1 tsa 2^-3 other`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Numbers {
    /// The plan's name.
    pub study: String,
    /// The seed.
    pub seed: u64,
    /// The corpus in words, where there is one.
    pub corpus: Option<String>,
    /// Means over splits, pipelines or sets, with their intervals.
    pub numbers: BTreeMap<String, Estimated>,
    /// What follows for the paper's claims.
    pub findings: Vec<Finding>,
}

impl Numbers {
    /// From a study's rows.
    pub fn of(record: &Record) -> Self {
        let mut numbers = BTreeMap::new();
        let level = record.plan.tests.level;
        match &record.plan.work {
            Work::Grid(grid) => of_grid(grid, record, level, &mut numbers),
            Work::Simulation(_) => of_simulation(&record.rows, &mut numbers),
            Work::Pipelines(_) => of_pipelines(&record.rows, level, &mut numbers),
        }
        let corpus = record.corpus.as_ref().map(|c| {
            let sizes = [(c.documents, "document"), (c.terms, "term"), (c.labels, "label")];
            sizes.map(|(count, what)| many(count, what)).join(", ")
        });
        Self { study: record.plan.name.clone(), seed: record.seed, corpus, numbers, findings: findings(record) }
    }

    /// Writes them as JSON.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let mut file = AtomicFile::create(path)?;
        let text = serde_json::to_string_pretty(self).expect("names and numbers can be written as JSON");
        file.write_all(text.as_bytes()).map_err(|e| crate::Error::io(path, e))?;
        file.commit()
    }
}

fn plain(value: f64) -> Estimated {
    Estimated { effect: value, interval: None, p: None }
}

/// An estimate of a mean; whether a mean is 0 is no question here.
fn estimate(units: &Units, values: &[f64]) -> Estimated {
    Estimated { p: None, ..units.estimate(values) }
}

fn of_grid(grid: &Grid, record: &Record, level: f64, numbers: &mut BTreeMap<String, Estimated>) {
    for arena in arenas(grid, &record.rows) {
        let units = match arena.over {
            Over::Splits => Units::splits(grid.splits, level),
            Over::Documents => Units::independent("document", level),
        };
        let threshold = if grid.thresholds.len() > 1 { format!(" {}", arena.threshold) } else { String::new() };
        let about = format!("{} {}{threshold}", arena.measure, arena.classifier);
        for curve in arena.curves.iter().chain(&arena.baseline) {
            for (size, values) in curve.sizes.iter().zip(&curve.values) {
                let shown: Vec<f64> = values.iter().map(|&v| arena.shown(v)).collect();
                numbers.insert(format!("{about} {} {size}", curve.selector), estimate(&units, &shown));
            }
        }
    }
    let units = Units::splits(grid.splits, level);
    let mut profiles: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for profile in record.rows.iter().filter_map(|row| if let Row::Profile(p) = row { Some(p) } else { None }) {
        for (score, value) in &profile.means {
            profiles.entry(format!("profile {} {score}", profile.selector)).or_default().push(*value);
        }
    }
    for (size, lambda) in learned_lambdas(grid, &record.rows) {
        profiles.entry(format!("lambda {size}")).or_default().push(lambda);
    }
    numbers.extend(profiles.into_iter().map(|(name, values)| (name, estimate(&units, &values))));
}

fn of_simulation(rows: &[Row], numbers: &mut BTreeMap<String, Estimated>) {
    let Some(run) = Simulated::of(rows) else { return };
    for (i, (x, y)) in [(0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
        let pair = format!("{} {}", MEASURES[x], MEASURES[y]);
        numbers.insert(format!("reversals {pair}"), plain(run.reversals[i].share()));
        numbers.insert(format!("r2 {pair}"), plain(run.r_squared[x][y]));
    }
}

fn of_pipelines(rows: &[Row], level: f64, numbers: &mut BTreeMap<String, Estimated>) {
    let units = Units::independent("pipeline", level);
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    let mut pipelines = 0;
    for row in rows {
        match row {
            Row::Pipeline(row) => {
                let PipelineRow { method, imbalance, .. } = row;
                values.entry(format!("F1 {method} {imbalance} other")).or_default().push(row.check);
                values.entry(format!("F1 {method} {imbalance} same")).or_default().push(row.utility);
                values.entry(format!("weight {imbalance}")).or_default().push(row.negative_weight);
                for (step, count) in row.steps.iter().enumerate() {
                    *sums.entry(format!("utilities {method} step {}", step + 1)).or_default() += *count as f64;
                }
                for (level, share) in row.visited.iter().enumerate() {
                    values.entry(format!("visited {imbalance} level {}", level + 1)).or_default().push(*share);
                }
            }
            Row::Utilities(row) => {
                pipelines += 1;
                for (name, of) in [("precision", &row.precision), ("recall", &row.recall), ("F1", &row.f1)] {
                    for (at, value) in row.at.iter().zip(of) {
                        values.entry(format!("{name} at {at:.2}")).or_default().push(*value);
                    }
                }
            }
            _ => {}
        }
    }
    numbers.insert("pipelines".into(), plain(f64::from(pipelines)));
    numbers.extend(sums.into_iter().map(|(name, sum)| (name, plain(sum))));
    numbers.extend(values.into_iter().map(|(name, of)| (name, estimate(&units, &of))));
}
