//! Good choices to begin with: the better the first one, the more boxes are never opened.

use super::super::greedy_exact::Climb;
use super::super::ranks::Ranks;
use super::super::utility::Scorer;
use super::super::{Options, RBF_STEP, ScoreTable, TSA_STEP, rbf, tsa};
use crate::{Result, Silent};

/// RBF is asked for a start up to this depth, where it costs milliseconds.
const RBF_DEPTH: usize = 4;

/// The best choice that TSA, RBF on its usual grid and climbs from several starts lead to, so that exact is not below them
/// even when it has no time to search.
pub(super) fn best(table: &ScoreTable, ranks: &Ranks, scorer: Scorer, options: &Options) -> Result<(Vec<u32>, f64)> {
    let mut starts: Vec<Vec<f64>> = Vec::new();
    let tsa_step = options.step.filter(|&s| s <= TSA_STEP).unwrap_or(TSA_STEP);
    starts.push(tsa::run(table, &Options { step: Some(tsa_step), ..options.clone() })?.thresholds);
    if table.depth() <= RBF_DEPTH {
        let coarse = Options { step: Some(RBF_STEP), ..options.clone() };
        starts.push(rbf::run(table, &coarse, &Silent)?.thresholds);
    }
    // Every level at the same share of its thresholds.
    for share in [0.0, 0.1, 0.2, 0.35, 0.5, 0.7] {
        let at = |values: &Vec<f64>| values[((values.len() - 1) as f64 * share) as usize];
        starts.push(ranks.thresholds.iter().map(at).collect());
    }
    let mut climb = Climb::new(table, scorer);
    let mut best: Option<(Vec<f64>, f64)> = None;
    for start in starts {
        climb.reset(&start);
        climb.pass();
        climb.until_stable();
        if best.as_ref().is_none_or(|(_, value)| climb.value() > *value) {
            best = Some((climb.thresholds.clone(), climb.value()));
        }
    }
    let (thresholds, value) = best.expect("there are starts");
    // A climb ends at scores of positives.
    let place = |(&t, values): (&f64, &Vec<f64>)| values.partition_point(|&v| v < t).min(values.len() - 1) as u32;
    Ok((thresholds.iter().zip(&ranks.thresholds).map(place).collect(), value))
}
