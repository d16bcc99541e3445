//! Candidates that run against each other on some documents.

use super::choice::{Stage, Trial};
use super::costs::{found, paths};
use super::fit::check;
use crate::classify::ClassifierSpec;
use crate::classify::sweep::{Prefixes, Task};
use crate::counts::{Contingency, Counts, CrossValidation, Split};
use crate::features::{Selector, rank_all};
use crate::terms::TextOptions;
use crate::{Error, Progress, Result};

/// How terms and classifier are set for a trial.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    /// Number of the view.
    pub(super) view: usize,
    pub(super) classifier: ClassifierSpec,
}

/// The documents of a heat.
pub(super) struct Heat<'a> {
    pub(super) counts: &'a Counts,
    pub(super) rows: Vec<usize>,
    pub(super) folds: usize,
    /// Whether one of the folds is enough.
    pub(super) alone: bool,
    pub(super) seed: u64,
    pub(super) views: &'a [View],
}

/// Terms that compete: all that were counted, or those of narrower options.
pub(super) struct View {
    pub(super) text: TextOptions,
    /// Whether it has each term; empty where it has all.
    pub(super) has: Vec<bool>,
}

impl View {
    /// What was counted, narrower views first.
    pub(super) fn all(counts: &Counts, narrow: bool) -> Result<Vec<Self>> {
        let texts = if narrow { counts.text.narrower() } else { vec![(*counts.text).clone()] };
        let view = |text: TextOptions| {
            let has = if text == *counts.text {
                Vec::new()
            } else {
                let also = counts.text.also_in(&text, counts.vocabulary.iter())?;
                also.iter().map(Option::is_some).collect()
            };
            Ok(Self { text, has })
        };
        texts.into_iter().map(view).collect()
    }

    fn terms(&self, ranked: &[u32]) -> Vec<u32> {
        if self.has.is_empty() {
            return ranked.to_vec();
        }
        ranked.iter().copied().filter(|&t| self.has[t as usize]).collect()
    }
}

impl Heat<'_> {
    /// Folds. Few documents are stratified: drawn at random, a fold might leave no document of a label to learn from.
    fn folds(&self) -> CrossValidation<'_> {
        const FEW: usize = 300;
        if self.rows.len() < FEW {
            CrossValidation::stratified(self.counts, &self.rows, self.folds, self.seed)
        } else {
            CrossValidation::random(self.counts, &self.rows, self.folds, self.seed)
        }
    }

    /// Whether each fold leaves something to be learned.
    pub(super) fn is_learnable(&self) -> Result<bool> {
        Ok(self.folds().splits()?.iter().all(|split| check(self.counts, &split.train).is_ok()))
    }

    /// Trials of the candidates at the given sizes (`usize::MAX` for all) of the given selectors.
    pub(super) fn run(
        &self,
        stage: Stage,
        candidates: &[Candidate],
        selectors: &[Selector],
        sizes: &[usize],
        progress: &dyn Progress,
    ) -> Result<Vec<Trial>> {
        let Self { counts, .. } = *self;
        // values[candidate][selector][size] over folds.
        let mut values = vec![vec![vec![Vec::new(); sizes.len()]; selectors.len()]; candidates.len()];
        let mut longest = vec![vec![0; selectors.len()]; candidates.len()];
        let folds = self.folds();
        let groups = paths(candidates, sizes.len());
        let steps = (candidates.len() * selectors.len()) as u64;
        let mut running = vec![true; candidates.len()];
        let mut held_out = 0;
        folds.run(stage.name(), steps, progress, |fold, Split { train, test }| {
            if self.alone && fold > 0 {
                return Ok(());
            }
            held_out += test.len();
            let task = Task { counts, train, test };
            let table = Contingency::of_rows(counts, train);
            for (s, ranking) in rank_all(selectors, &table)?.iter().enumerate() {
                for group in &groups {
                    if progress.cancelled() {
                        return Err(Error::Interrupted);
                    }
                    let group: Vec<usize> = group.iter().copied().filter(|&c| running[c]).collect();
                    if group.is_empty() {
                        continue;
                    }
                    let terms = self.views[candidates[group[0]].view].terms(ranking.terms());
                    for &c in &group {
                        longest[c][s] = terms.len().max(longest[c][s]);
                    }
                    // Sizes beyond the terms are all the same size, and are walked once.
                    let mut real: Vec<usize> = sizes.iter().map(|&size| size.min(terms.len())).collect();
                    real.dedup();
                    let prefixes = Prefixes { terms, sizes: real };
                    for (&c, found) in group.iter().zip(found(candidates, &group, task, &prefixes, progress)?) {
                        for (at, all) in values[c][s].iter_mut().enumerate() {
                            all.extend(found.get(at).or(found.last()));
                        }
                    }
                    progress.add(group.len() as u64);
                }
            }
            if let ([_], [_]) = (selectors, sizes) {
                let reached: Vec<&[f64]> = values.iter().map(|of| of[0][0].as_slice()).collect();
                drop_out(&mut running, &reached, stage.margin(held_out));
            }
            Ok(())
        })?;
        let mut trials = Vec::new();
        for (c, candidate) in candidates.iter().enumerate() {
            for (s, selector) in selectors.iter().enumerate() {
                for (at, &size) in sizes.iter().enumerate() {
                    let most = longest[c][s];
                    // A size beyond all terms is all terms, and those are there once.
                    if sizes.len() > 1 && size != usize::MAX && size >= most {
                        continue;
                    }
                    let (mean, error) = mean_and_error(&values[c][s][at], held_out);
                    trials.push(Trial {
                        documents: self.rows.len(),
                        folds: values[c][s][at].len(),
                        terms: self.views[candidate.view].text.to_string(),
                        classifier: candidate.classifier.clone(),
                        selector: selector.to_string(),
                        size: size.min(most),
                        all: size >= most,
                        mean,
                        error,
                    });
                }
            }
        }
        Ok(trials)
    }
}

/// Who is too far behind the best after some folds takes no part in the rest.
fn drop_out(running: &mut [bool], reached: &[&[f64]], margin: f64) {
    let mean = |c: usize| reached[c].iter().sum::<f64>() / reached[c].len() as f64;
    let best = (0..running.len()).filter(|&c| running[c]).map(mean).fold(f64::NEG_INFINITY, f64::max);
    for c in 0..running.len() {
        running[c] = running[c] && mean(c) >= best - margin;
    }
}

/// The mean over folds and its standard error. Of one fold alone, an upper bound of the error: numbers between 0 and 1 with mean *m* vary by
/// at most *m*(1 − *m*).
fn mean_and_error(values: &[f64], held_out: usize) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.len() == 1 {
        return (mean, (mean * (1.0 - mean) / held_out.max(1) as f64).sqrt());
    }
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, (variance / n).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_falls_behind_drops_out_and_stays_out() {
        let mut running = vec![true; 3];
        drop_out(&mut running, &[&[0.9], &[0.86], &[0.895]], 0.01);
        assert_eq!(running, [true, false, true]);
        // The mean over folds counts, and nobody comes back.
        drop_out(&mut running, &[&[0.9, 0.8], &[0.86], &[0.895, 0.83]], 0.01);
        assert_eq!(running, [false, false, true]);
        // More documents allow less.
        assert!(Stage::Comparing.margin(10_000) < Stage::Comparing.margin(100));
        assert!(Stage::Choosing.margin(10_000) > Stage::Comparing.margin(10_000));
    }

    #[test]
    fn one_fold_has_an_error_too() {
        let (mean, error) = mean_and_error(&[0.8], 400);
        assert_eq!((mean, error), (0.8, 0.02));
        let (mean, error) = mean_and_error(&[0.7, 0.9], 400);
        assert!((mean - 0.8).abs() < 1e-12 && (error - 0.1).abs() < 1e-12);
    }
}
