//! Precision, recall and F_β of one label against its threshold.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::decide::Thresholds;
use super::held_out::{HeldOut, Sample};
use crate::measure::Beta;

/// One threshold and what it does on the held-out documents.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Documents with at least this score get the label.
    pub threshold: f64,
    /// Share of those that carry it.
    pub precision: f32,
    /// Share of the documents that carry it which get it.
    pub recall: f32,
    /// F_β.
    pub f: f32,
}

/// The curve of a label for a report, thinned to at most [`ThresholdCurve::POINTS`] points, thresholds descending.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThresholdCurve {
    /// Label number.
    pub label: u32,
    /// Documents that carry it among those it was tuned on: folds without one, and folds whose classifier never saw one,
    /// take no part.
    pub positives: u64,
    /// Best point first found from above, in full precision: `None` when nothing right can be assigned.
    pub best: Option<CurvePoint>,
    /// Points, nearly evenly spaced in the threshold; the best one and the label's own threshold are among them. The last one is
    /// the threshold just below the lowest positive score, for lower ones add only mistakes, unless the label's own is lower.
    pub points: Vec<CurvePoint>,
}

impl ThresholdCurve {
    /// Most points of a curve.
    pub const POINTS: usize = 101;

    /// The curve of bare scores: those of documents that carry the label, those of others, and how many documents carry
    /// it and have no score. The threshold that decides is among the points.
    pub(crate) fn of_scores(
        label: u32,
        positives: Vec<f32>,
        negatives: Vec<f32>,
        missing: u64,
        decides: Option<f64>,
        beta: Beta,
    ) -> Self {
        let sample = Sample { positives, negatives, missing, ..Sample::default() };
        let (best, points) = thinned(&cuts(&sample), &sample, beta);
        let mut curve = Self { label, positives: sample.all_positives(), best, points };
        if let Some(threshold) = decides {
            curve.mark(threshold, &sample, beta);
        }
        curve
    }

    /// What a threshold does: exactly for the label's own, else by the stored point nearest to it from above, or the highest one.
    pub fn at(&self, threshold: f64) -> Option<&CurvePoint> {
        let above = self.points.partition_point(|p| p.threshold >= threshold);
        self.points.get(above.saturating_sub(1))
    }

    /// Adds the point of the label's own threshold. It is between two scores wherever it was tuned together with others or as
    /// a mean of folds, so no cut need have the same documents above it.
    pub(super) fn mark(&mut self, threshold: f64, sample: &Sample, beta: Beta) {
        let lowest = sample.positives.iter().chain(&sample.negatives).copied().min_by(f32::total_cmp);
        let Some(lowest) = lowest.filter(|_| !self.points.is_empty() && threshold.is_finite()) else { return };
        // One that every score reaches may be as low as can be, and a plot should not.
        let threshold = threshold.max(f64::from(lowest));
        let at = self.points.partition_point(|p| p.threshold > threshold);
        if self.points.get(at).is_none_or(|p| p.threshold != threshold) {
            self.points.insert(at, Cut::at(threshold, sample).point(sample.all_positives(), beta));
        }
    }
}

impl HeldOut {
    /// The curves of all labels.
    pub fn curves(&self, beta: Beta) -> Vec<ThresholdCurve> {
        (0..self.labels() as u32).into_par_iter().map(|label| self.curve(label, beta)).collect()
    }

    /// The same with the points of thresholds that decide.
    pub(crate) fn curves_with(&self, thresholds: &Thresholds, beta: Beta) -> Vec<ThresholdCurve> {
        let mut curves = self.curves(beta);
        curves.par_iter_mut().for_each(|curve| {
            if let Some(threshold) = thresholds.of(curve.label) {
                curve.mark(threshold, &self.tuning_sample(curve.label), beta);
            }
        });
        curves
    }

    /// The curve of a label, over the folds in which it has a positive document.
    pub fn curve(&self, label: u32, beta: Beta) -> ThresholdCurve {
        let sample = self.tuning_sample(label);
        let (best, points) = thinned(&cuts(&sample), &sample, beta);
        ThresholdCurve { label, positives: sample.all_positives(), best, points }
    }
}

/// A threshold between two neighbouring scores, and the documents at or above it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cut {
    pub(super) threshold: f64,
    pub(super) right: u64,
    pub(super) wrong: u64,
}

impl Cut {
    /// What a threshold does.
    pub(super) fn at(threshold: f64, sample: &Sample) -> Self {
        let reach = |scores: &[f32]| scores.iter().filter(|&&s| f64::from(s) >= threshold).count() as u64;
        Self { threshold, right: reach(&sample.positives), wrong: reach(&sample.negatives) }
    }

    /// F_β when the label has so many positives in all.
    pub(super) fn f(&self, positives: u64, beta: Beta) -> f64 {
        let b2 = beta.squared();
        let weighted = (1.0 + b2) * self.right as f64;
        let all = weighted + b2 * (positives - self.right) as f64 + self.wrong as f64;
        if all > 0.0 { weighted / all } else { 0.0 }
    }

    fn point(&self, positives: u64, beta: Beta) -> CurvePoint {
        let share = |part: u64, all: u64| if all == 0 { 0.0 } else { (part as f64 / all as f64) as f32 };
        CurvePoint {
            threshold: self.threshold,
            precision: share(self.right, self.right + self.wrong),
            recall: share(self.right, positives),
            f: self.f(positives, beta) as f32,
        }
    }
}

/// Every cut from the highest score down to just below the lowest positive one (method 9: midpoints between neighbouring
/// distinct scores). Lower cuts only add mistakes, so negatives below the lowest positive are not even sorted.
pub(super) fn cuts(sample: &Sample) -> Vec<Cut> {
    let Some(lowest) = sample.positives.iter().copied().min_by(f32::total_cmp) else { return Vec::new() };
    let mut scores: Vec<(f32, bool)> = sample.positives.iter().map(|&s| (s, true)).collect();
    scores.extend(sample.negatives.iter().filter(|&&s| s >= lowest).map(|&s| (s, false)));
    scores.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let below = sample.negatives.iter().copied().filter(|&s| s < lowest).max_by(f32::total_cmp);
    let mut cuts: Vec<Cut> = Vec::new();
    let (mut right, mut wrong) = (0, 0);
    let mut above: Option<f32> = None;
    let mut i = 0;
    while i < scores.len() {
        let score = scores[i].0;
        while i < scores.len() && scores[i].0 == score {
            right += u64::from(scores[i].1);
            wrong += u64::from(!scores[i].1);
            i += 1;
        }
        let next = scores.get(i).map(|s| s.0).or(below);
        cuts.push(Cut { threshold: threshold_below(score, next, above), right, wrong });
        above = Some(score);
    }
    cuts
}

/// The midpoint to the next lower score. Below the lowest score of all there is none: half the distance to the next
/// higher one is taken instead, or the next number when there is only one score.
pub(super) fn threshold_below(score: f32, next: Option<f32>, above: Option<f32>) -> f64 {
    let (score, middle) = (f64::from(score), |a: f32| f64::midpoint(f64::from(score), f64::from(a)));
    match (next, above) {
        (Some(next), _) => middle(next),
        (None, Some(above)) => score - (middle(above) - score),
        (None, None) => score - score.abs().max(1.0) * f64::from(f32::EPSILON),
    }
}

/// The first cut from above with the largest F_β (ties: the higher threshold), when it assigns something right.
pub(super) fn best_cut(cuts: &[Cut], positives: u64, beta: Beta) -> Option<Cut> {
    let mut best: Option<(f64, Cut)> = None;
    for cut in cuts {
        let f = cut.f(positives, beta);
        if f > best.map_or(0.0, |(f, _)| f) {
            best = Some((f, *cut));
        }
    }
    best.map(|(_, cut)| cut)
}

/// Best point and thinned curve.
fn thinned(cuts: &[Cut], sample: &Sample, beta: Beta) -> (Option<CurvePoint>, Vec<CurvePoint>) {
    let positives = sample.all_positives();
    let (Some(first), Some(last)) = (cuts.first(), cuts.last()) else { return (None, Vec::new()) };
    let best = best_cut(cuts, positives, beta);
    let keep = |cut: &Cut| cut.point(positives, beta);
    if cuts.len() < ThresholdCurve::POINTS {
        return (best.as_ref().map(keep), cuts.iter().map(keep).collect());
    }
    // Two places are kept free, for the best and for the one that decides.
    let steps = ThresholdCurve::POINTS - 3;
    let width = first.threshold - last.threshold;
    let mut chosen: Vec<usize> = (0..=steps)
        .map(|step| {
            let aim = first.threshold - width * step as f64 / steps as f64;
            cuts.partition_point(|cut| cut.threshold > aim).min(cuts.len() - 1)
        })
        .collect();
    chosen.extend(best.and_then(|b| cuts.iter().position(|cut| cut.threshold == b.threshold)));
    chosen.sort_unstable();
    chosen.dedup();
    (best.as_ref().map(keep), chosen.into_iter().map(|i| keep(&cuts[i])).collect())
}
