//! Tuning on held-out scores.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::curve::{Cut, ThresholdCurve, best_cut, cuts, threshold_below};
use super::decide::Thresholds;
use super::goal::{self, Found, Unit};
use super::held_out::{HeldOut, Sample};
use super::policy::{Goal, Rcut, Scut, Threshold};
use super::precision::trusted;
use crate::measure::{Beta, Tally};
use crate::{Error, Result};

/// Tuned thresholds, and what there is to say about them.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuned {
    /// They decide.
    pub thresholds: Thresholds,
    /// For `scut`, `pcut` and `precision`: F against threshold, one for each label.
    pub curves: Vec<ThresholdCurve>,
    /// How the tuning went.
    pub report: ThresholdReport,
}

/// How a tuning went. Qualities are on the held-out scores themselves, so they are a little rosy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThresholdReport {
    /// Documents it was tuned on.
    pub documents: u64,
    /// Labels without a held-out positive: never assigned.
    pub without_positives: Vec<u32>,
    /// Labels whose positives are all in one fold, so that no classifier was trained on others: never assigned, unless
    /// `rare` lets them share a threshold.
    pub untunable: Vec<u32>,
    /// Labels with positives that no threshold finds (they are in no list): never assigned.
    pub unreachable: Vec<u32>,
    /// Labels that share a threshold because they are rare.
    pub shared: Vec<u32>,
    /// Labels silenced by `fbr`, or by a goal that nothing right they add is worth their mistakes: no held-out document got them.
    pub silenced: Vec<u32>,
    /// Labels that `precision` cannot be sure of: never assigned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distrusted: Vec<u32>,
    /// Pairs of label and fold left out because the label has no positive there.
    pub folds_left_out: u64,
    /// Micro-averaged F_β over the documents tuned on (before `min` adds labels).
    pub f_micro: f64,
    /// Mean F_β of the labels with a positive; 0 for `rcut`, which is not tuned by label.
    pub f_macro: f64,
}

impl Threshold {
    /// Tunes the policy. Policies that need no tuning are ready at once.
    pub fn tune(&self, held_out: &HeldOut) -> Result<Tuned> {
        self.check()?;
        if self.needs_held_out() && held_out.documents() == 0 {
            return Err(Error::data(format!("{self} must be tuned, but there is no held-out document")));
        }
        let untouched = ThresholdReport {
            documents: held_out.documents(),
            without_positives: Vec::new(),
            untunable: Vec::new(),
            unreachable: Vec::new(),
            shared: Vec::new(),
            silenced: Vec::new(),
            distrusted: Vec::new(),
            folds_left_out: 0,
            f_micro: 0.0,
            f_macro: 0.0,
        };
        match *self {
            Self::Rcut(Rcut { n: None, beta }) => {
                let (n, f_micro) = held_out.best_n(beta);
                let report = ThresholdReport { f_micro, ..untouched };
                Ok(Tuned { thresholds: Thresholds::top(*self, n), curves: Vec::new(), report })
            }
            Self::Scut(scut) => {
                by_label(*self, held_out, scut.beta, untouched, |labels| scut_all(&scut, held_out, labels))
            }
            Self::Pcut(pcut) => by_label(*self, held_out, Beta::ONE, untouched, |labels| {
                let documents = held_out.documents() as f64;
                labels.par_iter_mut().for_each(|label| {
                    let sample = held_out.sample(label.curve.label);
                    let prior = label.positives as f64 / documents;
                    label.threshold = pcut_threshold(sample, pcut.x * prior);
                });
            }),
            Self::Precision(asked) => by_label(*self, held_out, Beta::ONE, untouched, |labels| {
                labels.par_iter_mut().filter(|label| label.positives > 0).for_each(|label| {
                    label.threshold = trusted(&held_out.sample(label.curve.label), &asked);
                    label.distrusted = label.threshold.is_none() && label.curve.best.is_some();
                });
            }),
            _ => Ok(Tuned { thresholds: Thresholds::untuned(*self)?, curves: Vec::new(), report: untouched }),
        }
    }
}

/// A label while it is tuned.
struct Label {
    curve: ThresholdCurve,
    /// Over all folds.
    positives: u64,
    threshold: Option<f64>,
    folds_left_out: u32,
    shared: bool,
    silenced: bool,
    distrusted: bool,
}

/// What policies with a threshold for each label have in common: curves for all labels, then a threshold for each, then the report.
fn by_label(
    policy: Threshold,
    held_out: &HeldOut,
    beta: Beta,
    untouched: ThresholdReport,
    set_thresholds: impl FnOnce(&mut [Label]),
) -> Result<Tuned> {
    let mut labels: Vec<Label> = (0..held_out.labels() as u32)
        .into_par_iter()
        .map(|label| {
            let curve = held_out.curve(label, beta);
            let folds_left_out = held_out.tuning_sample(label).folds_left_out;
            let positives = held_out.positives(label);
            Label {
                curve,
                positives,
                threshold: None,
                folds_left_out,
                shared: false,
                silenced: false,
                distrusted: false,
            }
        })
        .collect();
    set_thresholds(&mut labels);
    labels.par_iter_mut().for_each(|label| {
        if let Some(threshold) = label.threshold {
            label.curve.mark(threshold, &held_out.tuning_sample(label.curve.label), beta);
        }
    });

    let tallies: Vec<Tally> = labels.par_iter().map(|label| tally(held_out, label)).collect();
    let mut all = Tally::default();
    let (mut sum, mut with_positives) = (0.0, 0u64);
    for (tally, label) in tallies.iter().zip(&labels) {
        all.merge(tally);
        if label.positives > 0 {
            sum += tally.f(beta).unwrap_or(0.0);
            with_positives += 1;
        }
    }
    let those = |which: &dyn Fn(&Label) -> bool| -> Vec<u32> {
        labels.iter().filter(|l| which(l)).map(|l| l.curve.label).collect()
    };
    let report = ThresholdReport {
        without_positives: those(&|l| l.positives == 0),
        untunable: those(&|l| l.positives > 0 && l.curve.positives == 0 && !l.shared),
        unreachable: those(&|l| l.curve.positives > 0 && l.threshold.is_none() && !l.distrusted),
        shared: those(&|l| l.shared),
        silenced: those(&|l| l.silenced),
        distrusted: those(&|l| l.distrusted),
        folds_left_out: labels.iter().map(|l| u64::from(l.folds_left_out)).sum(),
        f_micro: all.f(beta).unwrap_or(0.0),
        f_macro: if with_positives == 0 { 0.0 } else { sum / with_positives as f64 },
        ..untouched
    };
    let values = labels.iter().map(|l| l.threshold.unwrap_or(f64::INFINITY)).collect();
    let thresholds = Thresholds::by_label(policy, values)?;
    Ok(Tuned { thresholds, curves: labels.into_iter().map(|l| l.curve).collect(), report })
}

/// Decisions of a label's threshold on all held-out documents.
fn tally(held_out: &HeldOut, label: &Label) -> Tally {
    let sample = held_out.sample(label.curve.label);
    let threshold = label.threshold.unwrap_or(f64::INFINITY);
    let reach = |scores: &[f32]| scores.iter().filter(|&&s| f64::from(s) >= threshold).count() as u64;
    let right = reach(&sample.positives);
    // Positives in folds that take no part are missed.
    Tally { right, wrong: reach(&sample.negatives), missed: label.positives - right }
}

fn scut_all(scut: &Scut, held_out: &HeldOut, labels: &mut [Label]) {
    let is_rare = |label: &Label| (1..u64::from(scut.rare)).contains(&label.positives);
    labels.iter_mut().filter(|label| is_rare(label)).for_each(|label| label.shared = true);
    match scut.goal {
        Goal::Macro => each_alone(scut, held_out, labels),
        Goal::Micro => together(held_out, labels, |units| goal::micro(units, scut.beta)),
        Goal::Both => together(held_out, labels, |units| goal::both(units, scut.beta)),
    }
    labels.par_iter_mut().filter(|label| !label.shared).for_each(|label| {
        let Some(threshold) = label.threshold else { return };
        let sample = held_out.tuning_sample(label.curve.label);
        let cut = Cut::at(threshold, &sample);
        if cut.f(sample.all_positives(), scut.beta) < scut.fbr {
            let highest = sample.positives.iter().chain(&sample.negatives).copied().max_by(f32::total_cmp);
            label.threshold = highest.map(f64::from);
            label.silenced = true;
        }
    });
}

/// The best threshold of each label by its own F_β, and that of all rare ones by theirs.
fn each_alone(scut: &Scut, held_out: &HeldOut, labels: &mut [Label]) {
    let mut rare = Sample::default();
    for label in labels.iter().filter(|label| label.shared) {
        rare.append(held_out.tuning_sample(label.curve.label));
    }
    let shared = best_cut(&cuts(&rare), rare.all_positives(), scut.beta).map(|cut| cut.threshold);
    for label in labels {
        label.threshold = if label.shared { shared } else { label.curve.best.map(|best| best.threshold) };
    }
}

/// Thresholds that are found together, for labels that any threshold finds.
fn together(held_out: &HeldOut, labels: &mut [Label], find: impl FnOnce(&[Unit]) -> Vec<Option<Found>>) {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let rare: Vec<usize> = (0..labels.len()).filter(|&at| labels[at].shared).collect();
    groups.extend((0..labels.len()).filter(|&at| !labels[at].shared && labels[at].positives > 0).map(|at| vec![at]));
    groups.extend((!rare.is_empty()).then_some(rare));
    let unit = |group: &Vec<usize>| {
        let mut unit = Unit::default();
        for &at in group {
            unit.labels += 1;
            unit.positives += labels[at].positives;
            let folds = held_out.fold_samples(labels[at].curve.label);
            unit.folds.resize_with(unit.folds.len().max(folds.len()), Sample::default);
            unit.folds.iter_mut().zip(folds).for_each(|(all, own)| all.append(own));
        }
        unit
    };
    let units: Vec<Unit> = groups.par_iter().map(unit).collect();
    for (group, found) in groups.iter().zip(find(&units)) {
        for &at in group {
            let label = &mut labels[at];
            // Without a positive document that a classifier was trained for, no threshold means anything.
            let tunable = label.shared || label.curve.best.is_some();
            label.threshold = found.filter(|_| tunable).map(|found| found.threshold);
            label.silenced = tunable && found.is_some_and(|found| found.silent);
        }
    }
}

/// The threshold that gives a label this share of the documents. Documents with equal scores are not told apart:
/// rather fewer than too many get it.
fn pcut_threshold(sample: Sample, share: f64) -> Option<f64> {
    let wanted = (share * sample.documents as f64).round() as usize;
    let mut scores = sample.positives;
    scores.extend(sample.negatives);
    if wanted == 0 || scores.is_empty() {
        return None;
    }
    scores.sort_unstable_by(|a, b| b.total_cmp(a));
    let mut taken = wanted.min(scores.len());
    if let Some(&next) = scores.get(taken) {
        // A group of equal scores across the border stays out as a whole.
        taken = scores.partition_point(|&s| s > next).min(taken);
    }
    let last = *scores[..taken].last()?;
    let above = scores[..taken].iter().rev().copied().find(|&s| s > last);
    Some(threshold_below(last, scores.get(taken).copied(), above))
}
