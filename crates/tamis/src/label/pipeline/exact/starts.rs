//! Good choices to begin with: the better the first one, the more boxes are never opened.

use super::super::greedy_exact::Climb;
use super::super::ranks::Ranks;
use super::super::utility::{Scorer, Tally};
use super::super::{Options, RBF_STEP, ScoreTable, TSA_STEP, rbf, tsa};
use crate::{Result, Silent};

/// RBF is asked for a start up to this depth, where it costs milliseconds.
const RBF_DEPTH: usize = 4;

/// The best choice that TSA, RBF on its usual grid and climbs from several starts lead to, so that exact is not below them
/// even when it has no time to search.
pub(super) fn best(
    table: &ScoreTable,
    ranks: &Ranks,
    units: &[Tally],
    scorer: Scorer,
    options: &Options,
) -> Result<(Vec<u32>, f64)> {
    let mut starts: Vec<Vec<u32>> = Vec::new();
    let tsa_step = options.step.filter(|&s| s <= TSA_STEP).unwrap_or(TSA_STEP);
    starts.push(places(ranks, &tsa::run(table, &Options { step: Some(tsa_step), ..options.clone() })?.thresholds));
    if table.depth() <= RBF_DEPTH {
        let coarse = Options { step: Some(RBF_STEP), ..options.clone() };
        starts.push(places(ranks, &rbf::run(table, &coarse, &Silent)?.thresholds));
    }
    // Every level at the same share of its thresholds, then also only the deepest one.
    for share in [0.0, 0.1, 0.2, 0.35, 0.5, 0.7] {
        let at = |k: usize| ((ranks.thresholds[k].len() - 1) as f64 * share) as u32;
        starts.push((0..table.depth()).map(at).collect());
    }
    let mut climb = Climb::new(ranks, units, scorer);
    let mut best: Option<(Vec<u32>, f64)> = None;
    for start in starts {
        climb.reset(&start);
        climb.until_stable();
        if best.as_ref().is_none_or(|(_, value)| climb.value() > *value) {
            best = Some((climb.at().to_vec(), climb.value()));
        }
    }
    Ok(best.expect("there are starts"))
}

/// The first threshold at each level that is not below the given one; the last when all are.
fn places(ranks: &Ranks, thresholds: &[f64]) -> Vec<u32> {
    thresholds
        .iter()
        .zip(&ranks.thresholds)
        .map(|(&t, values)| values.partition_point(|&v| v < t).min(values.len() - 1) as u32)
        .collect()
}
