//! Precision, recall and F_β of one label against its threshold.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

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
    /// Points, nearly evenly spaced in the threshold; the best one is among them. The last one is the threshold just
    /// below the lowest positive score: lower ones add only mistakes.
    pub points: Vec<CurvePoint>,
}

impl ThresholdCurve {
    /// Most points of a curve.
    pub const POINTS: usize = 101;

    /// The curve of bare scores: those of documents that carry the label, those of others, and how many documents carry
    /// it and have no score.
    pub(crate) fn of_scores(label: u32, positives: Vec<f32>, negatives: Vec<f32>, missing: u64, beta: Beta) -> Self {
        let sample = Sample { positives, negatives, missing, ..Sample::default() };
        let (best, points) = thinned(&cuts(&sample), &sample, beta);
        Self { label, positives: sample.all_positives(), best, points }
    }

    /// What a threshold does, by the stored point nearest to it from below; by the lowest point when it is lower still.
    pub fn at(&self, threshold: f64) -> Option<&CurvePoint> {
        let after = self.points.partition_point(|p| p.threshold > threshold);
        self.points.get(after).or(self.points.last())
    }
}

impl HeldOut {
    /// The curves of all labels.
    pub fn curves(&self, beta: Beta) -> Vec<ThresholdCurve> {
        (0..self.labels() as u32).into_par_iter().map(|label| self.curve(label, beta)).collect()
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
    if cuts.len() <= ThresholdCurve::POINTS {
        return (best.as_ref().map(keep), cuts.iter().map(keep).collect());
    }
    // One place is kept free for the best.
    let steps = ThresholdCurve::POINTS - 2;
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
