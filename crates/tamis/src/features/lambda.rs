//! λ of `wfo(auto)`, learned on the training documents (li 4.3).

use serde::{Deserialize, Serialize};

use super::rank::rank_all;
use super::registry::LAMBDA_RANGE;
use super::selector::Selector;
use crate::counts::{Contingency, Counts, CrossValidation, Split};
use crate::{Error, Progress, Result};

/// How λ is learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LambdaOptions {
    /// Values tried, ascending.
    pub grid: Vec<f64>,
    /// Parts of the training documents, each held out once.
    pub folds: usize,
    /// Seed of the shuffle that makes the folds.
    pub seed: u64,
}

impl Default for LambdaOptions {
    /// 0, 0.1 … 1 in nine folds, as li has it.
    fn default() -> Self {
        Self { grid: (0..=10).map(|i| f64::from(i) / 10.0).collect(), folds: 9, seed: 1 }
    }
}

/// The best λ of one fold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FoldLambda {
    /// The λ, the lowest among equals.
    pub lambda: f64,
    /// What the classifier reached with it on the part held out.
    pub value: f64,
}

/// The λ learned for one number of features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearnedLambda {
    /// The number of features.
    pub size: usize,
    /// The mean of the best λ of all folds.
    pub lambda: f64,
    /// The best λ of each fold.
    pub folds: Vec<FoldLambda>,
}

/// Trains and tests a classifier: training rows, rows held out, terms best first, and sizes, each a prefix of the terms
/// (a size beyond their number means all). Returns for each size how good the classifier is; larger is better.
pub type Evaluate<'a> = dyn Fn(&[usize], &[usize], &[u32], &[usize]) -> Result<Vec<f64>> + 'a;

/// Learns the λ of a selector with `wfo(auto)` in it, for each number of features, by cross-validation on the given
/// (training) rows: in every fold each λ of the grid selects terms on the other folds, `evaluate` says how well the
/// classifier does with them on the fold, and the best λ are averaged over folds (li 4.3). Among equally good values
/// the lowest is taken.
///
/// Then rank with [`Selector::with_lambda`].
pub fn learn_lambda(
    selector: &Selector,
    counts: &Counts,
    rows: &[usize],
    sizes: &[usize],
    options: &LambdaOptions,
    evaluate: &Evaluate<'_>,
    progress: &dyn Progress,
) -> Result<Vec<LearnedLambda>> {
    if !selector.has_auto() {
        return Err(Error::invalid("selector", selector, "there is no wfo(auto) in it, so no λ to learn"));
    }
    if options.folds < 2 || options.folds > rows.len() {
        return Err(Error::invalid(
            "folds",
            options.folds,
            format!("must lie between 2 and the number of training documents, {}", rows.len()),
        ));
    }
    if options.grid.is_empty() {
        return Err(Error::invalid("grid", "empty", "at least one λ must be tried"));
    }
    if let Some(lambda) = options.grid.iter().find(|l| !(0.0..=1.0).contains(*l)) {
        return Err(Error::invalid("grid", lambda, LAMBDA_RANGE));
    }
    let longest = sizes.iter().copied().max().unwrap_or(0);
    let candidates: Vec<Selector> =
        options.grid.iter().map(|&lambda| selector.with_lambda(lambda)).collect::<Result<_>>()?;
    // fold → size → best so far
    let mut best: Vec<Vec<Option<FoldLambda>>> = vec![vec![None; sizes.len()]; options.folds];
    let folds = CrossValidation::random(counts, rows, options.folds, options.seed);
    folds.run("learning λ", options.grid.len() as u64, progress, |fold, Split { train, test }| {
        let rankings = rank_all(&candidates, &Contingency::of_rows(counts, train))?;
        for (&lambda, ranking) in options.grid.iter().zip(&rankings) {
            if progress.cancelled() {
                return Err(Error::Interrupted);
            }
            let values = evaluate(train, test, ranking.top(longest), sizes)?;
            if values.len() != sizes.len() || values.iter().any(|v| v.is_nan()) {
                return Err(Error::data(format!(
                    "the evaluation at λ = {lambda} did not give a number for every size"
                )));
            }
            for (best, value) in best[fold].iter_mut().zip(values) {
                if best.is_none_or(|b| value > b.value || (value == b.value && lambda < b.lambda)) {
                    *best = Some(FoldLambda { lambda, value });
                }
            }
            progress.add(1);
        }
        Ok(())
    })?;
    Ok(sizes
        .iter()
        .enumerate()
        .map(|(at, &size)| {
            let folds: Vec<FoldLambda> = best.iter().filter_map(|fold| fold[at]).collect();
            let lambda = folds.iter().map(|f| f.lambda).sum::<f64>() / folds.len() as f64;
            LearnedLambda { size, lambda: lambda.clamp(0.0, 1.0), folds }
        })
        .collect())
}
