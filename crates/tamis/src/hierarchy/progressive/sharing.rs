//! Thresholds of nodes with few held-out documents, and which way of finding thresholds does best on documents it has not seen.
//!
//! A node with two held-out documents has thresholds that fit these two. So nodes with few share: above, they have the thresholds of the
//! nearest ancestor that has its own, and from there down one number, for all of them the same: that with the best utility over all their
//! pipelines in one pot.

use rayon::prelude::*;

use super::ProgressiveModel;
use super::held_out::Scores;
use super::model::Tuned;
use crate::hierarchy::pipeline::{Method, Outcome};
use crate::{Error, Progress, Result};

/// A way of finding thresholds, and what it reaches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// How thresholds are found.
    pub method: Method,
    /// Nodes with fewer held-out documents share; 0 for none.
    pub rare: usize,
    /// What thresholds of one half of the held-out documents get right and wrong on the other, over all pipelines.
    pub outcome: Outcome,
}

const NOTHING: Outcome = Outcome { true_positives: 0, false_positives: 0, false_negatives: 0 };

impl Scores {
    /// Every way judged on documents that its thresholds were not selected on; both halves have every second document.
    pub(super) fn judged(
        &self,
        model: &ProgressiveModel,
        ways: &[(Method, usize)],
        progress: &dyn Progress,
    ) -> Result<Vec<Judged>> {
        let half = |odd: u32| (odd..self.documents() as u32).step_by(2).collect::<Vec<u32>>();
        let halves = [half(0), half(1)];
        let mut all = Vec::new();
        for &(method, rare) in ways {
            let mut outcome = NOTHING;
            for (selected_on, judged_on) in [(&halves[0], &halves[1]), (&halves[1], &halves[0])] {
                let tuned = self.tune_on(model, selected_on, method, rare, progress)?;
                outcome = outcome.and(self.outcome_of(model, judged_on, &tuned)?);
            }
            all.push(Judged { method, rare, outcome });
        }
        Ok(all)
    }

    /// What the thresholds get right and wrong on some documents, over all pipelines. One without thresholds misses all.
    fn outcome_of(&self, model: &ProgressiveModel, documents: &[u32], tuned: &[Option<Tuned>]) -> Result<Outcome> {
        let positives = self.positives(documents);
        let wanted: Vec<u32> =
            model.taxonomy.nodes().filter(|&n| positives[n as usize] > 0 || tuned[n as usize].is_some()).collect();
        let each = |&node: &u32| -> Result<Outcome> {
            let missed = Outcome { false_negatives: positives[node as usize] as u64, ..NOTHING };
            let Some(tuned) = &tuned[node as usize] else { return Ok(missed) };
            Ok(self.table_of(model, node, documents)?.outcome(&tuned.thresholds))
        };
        let found = wanted.par_iter().map(each).collect::<Result<Vec<_>>>()?;
        Ok(found.into_iter().fold(NOTHING, Outcome::and))
    }

    /// Gives nodes with fewer than `rare` of the documents shared thresholds; `tuned` has those of the others.
    pub(super) fn share(
        &self,
        model: &ProgressiveModel,
        documents: &[u32],
        rare: usize,
        tuned: &mut [Option<Tuned>],
        progress: &dyn Progress,
    ) -> Result<()> {
        let positives = self.positives(documents);
        let is_rare = |node: u32| (1..rare).contains(&positives[node as usize]);
        let nodes: Vec<u32> = model.taxonomy.nodes().filter(|&n| is_rare(n)).collect();
        // The thresholds above a rare node: those of the nearest node of its pipeline that is not rare. Where that accepts nothing,
        // nothing below it is accepted either.
        let above = |node: u32| -> Option<Vec<f64>> {
            let pipeline = model.taxonomy.pipeline(node);
            let own = pipeline.iter().rev().find(|&&n| !is_rare(n));
            own.map_or(Some(Vec::new()), |&n| tuned[n as usize].as_ref().map(|tuned| tuned.thresholds.clone()))
        };
        let shared: Vec<(u32, Vec<f64>)> = nodes.iter().filter_map(|&node| Some((node, above(node)?))).collect();
        // What a document passes below is decided by the lowest of its scores there.
        let lowest = |(node, above): &(u32, Vec<f64>)| -> Result<Vec<(f64, bool)>> {
            if progress.cancelled() {
                return Err(Error::Interrupted);
            }
            let table = self.table_of(model, *node, documents)?;
            let thresholds: Vec<f64> =
                (0..table.depth()).map(|level| above.get(level).copied().unwrap_or(0.0)).collect();
            let passing = table.accepted(&thresholds).into_iter().zip(table.truth()).enumerate();
            let below = above.len()..table.depth();
            let score = |at: usize| below.clone().map(|level| table.level(level)[at]).fold(f64::INFINITY, f64::min);
            Ok(passing
                .filter(|(_, (passes, _))| *passes)
                .map(|(at, (_, &right))| (score(at), right))
                .filter(|(s, _)| *s > 0.0)
                .collect())
        };
        let pots = shared.par_iter().map(lowest).collect::<Result<Vec<_>>>()?;
        let mut pot: Vec<(f64, bool)> = pots.into_iter().flatten().collect();
        let all: usize = nodes.iter().map(|&n| positives[n as usize]).sum();
        let Some((threshold, utility)) = best_cut(&mut pot, all, |o| {
            let Outcome { true_positives: tp, false_positives: fp, false_negatives: missed } = o;
            model.options.thresholds.utility.value(tp as f64, fp as f64, missed as f64)
        }) else {
            return Ok(());
        };
        if utility < model.options.least_utility {
            return Ok(());
        }
        for (node, mut thresholds) in shared {
            let table = self.table_of(model, node, documents)?;
            thresholds.resize(table.depth(), threshold);
            let outcome = table.outcome(&thresholds);
            let utility = table.utility(model.options.thresholds.utility, &thresholds);
            let positives = table.positives();
            tuned[node as usize] = Some(Tuned { thresholds, utility, bound: None, proven: false, outcome, positives });
        }
        Ok(())
    }
}

/// The threshold with the best utility for documents of which `all` are right, those not in the pot lost: in the middle between the
/// lowest score it accepts and the one below. None where nothing right is in the pot.
fn best_cut(pot: &mut [(f64, bool)], all: usize, utility: impl Fn(Outcome) -> f64) -> Option<(f64, f64)> {
    pot.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut best: Option<(f64, f64)> = None;
    let (mut right, mut wrong) = (0u64, 0u64);
    for at in 0..pot.len() {
        if pot[at].1 {
            right += 1;
        } else {
            wrong += 1;
        }
        let next = pot.get(at + 1).map_or(0.0, |next| next.0);
        if next < pot[at].0 && right > 0 {
            let outcome =
                Outcome { true_positives: right, false_positives: wrong, false_negatives: all as u64 - right };
            let value = utility(outcome);
            let middle = next + (pot[at].0 - next) / 2.0;
            if best.is_none_or(|(_, most)| value > most) {
                best = Some((if middle > next { middle } else { pot[at].0 }, value));
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_cut_is_that_of_all_cuts() {
        let f1 = |o: Outcome| o.f1();
        let mut pot = vec![(0.9, true), (0.2, false), (0.7, true), (0.8, false), (0.7, false), (0.1, true)];
        let (cut, value) = best_cut(&mut pot.clone(), 4, f1).expect("a right one");
        let reached = |t: f64| {
            let right = pot.iter().filter(|(s, right)| *s >= t && *right).count() as u64;
            let wrong = pot.iter().filter(|(s, right)| *s >= t && !*right).count() as u64;
            Outcome { true_positives: right, false_positives: wrong, false_negatives: 4 - right }.f1()
        };
        assert_eq!(reached(cut), value);
        assert!((0..100).all(|t| reached(f64::from(t) / 100.0) <= value + 1e-12));
        pot.retain(|(_, right)| !right);
        assert_eq!(best_cut(&mut pot, 4, f1), None);
    }
}
