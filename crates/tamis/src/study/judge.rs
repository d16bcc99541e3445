//! Ranked lists → decided labels → sums of measures, for every place of a unit at once; lists are never stored.

use super::plan::{Decision, Grid};
use super::rows::Values;
use crate::Result;
use crate::classify::sweep::{Gather, Prefixes};
use crate::classify::{Scored, SweepPlace};
use crate::counts::Counts;
use crate::measure::{Average, EvaluationGrid, Family, Measure, Tally};
use crate::threshold::HeldOut;
use crate::threshold::Thresholds;

/// Where each selection's first place is; a place is a selection at a size.
#[derive(Debug, Clone)]
pub(super) struct Places(Vec<usize>);

impl Places {
    pub(super) fn of(selections: &[Prefixes]) -> Self {
        let mut first = vec![0];
        for selection in selections {
            first.push(first[first.len() - 1] + selection.sizes.len());
        }
        Self(first)
    }

    pub(super) fn len(&self) -> usize {
        self.0[self.0.len() - 1]
    }

    fn at(&self, place: SweepPlace) -> usize {
        self.0[place.ranking] + place.size
    }
}

/// How labels are decided at a place.
#[derive(Debug, Clone)]
pub(super) enum Decider {
    /// By thresholds.
    By(Thresholds),
    /// By the best n, known when all lists are.
    Best,
}

/// True labels found, and lists filled, at each rank: what every rcut would decide.
#[derive(Debug, Clone)]
struct Tops {
    labels: usize,
    /// By place, then rank: lists that reach it, and those with a true label there.
    counts: Vec<[u64; 2]>,
    /// True labels in all, by place.
    truth: Vec<u64>,
}

impl Tops {
    fn new(places: usize, labels: usize) -> Self {
        Self { labels, counts: vec![[0; 2]; places * labels], truth: vec![0; places] }
    }

    fn add(&mut self, place: usize, ranked: &[Scored], truth: &[u32]) {
        let counts = &mut self.counts[place * self.labels..][..self.labels];
        for (count, entry) in counts.iter_mut().zip(ranked) {
            count[0] += 1;
            count[1] += u64::from(truth.contains(&entry.label));
        }
        self.truth[place] += truth.len() as u64;
    }

    fn merge(&mut self, other: &Self) {
        for (a, b) in self.counts.iter_mut().zip(&other.counts) {
            a[0] += b[0];
            a[1] += b[1];
        }
        self.truth.iter_mut().zip(&other.truth).for_each(|(a, b)| *a += b);
    }

    /// The n with the best micro-averaged F1, the smallest among equals, and its decisions.
    fn best(&self, place: usize) -> (u32, Tally) {
        let (mut n, mut best) = (0, Tally { right: 0, wrong: 0, missed: self.truth[place] });
        let (mut right, mut decided) = (0, 0);
        for (at, [filled, hits]) in self.counts[place * self.labels..][..self.labels].iter().enumerate() {
            right += hits;
            decided += filled;
            let tally = Tally { right, wrong: decided - right, missed: self.truth[place] - right };
            // 2·right / (decided + true), compared without rounding.
            let quality = |t: &Tally| (u128::from(t.right), u128::from(t.decided() + t.support()));
            let ((a, b), (c, d)) = (quality(&tally), quality(&best));
            if a * d > c * b {
                (n, best) = (at as u32 + 1, tally);
            }
        }
        (n, best)
    }
}

/// Judges the ranked lists of a unit by the measures of a plan.
pub(super) struct Judge<'a> {
    grid: &'a Grid,
    counts: &'a Counts,
    test: &'a [usize],
    places: Places,
    /// By place, then decision of the plan.
    deciders: Vec<Vec<Decider>>,
    empty: EvaluationGrid,
    /// Keep each document's values.
    documents: bool,
}

/// What a run of documents adds up to.
pub(super) struct Judged {
    evaluations: EvaluationGrid,
    tops: Option<Tops>,
    /// By evaluation, then document, then document-wise measure.
    documents: Vec<Vec<f64>>,
    decided: Vec<u32>,
}

/// The values at a place under one decision.
pub(super) struct Verdict {
    pub(super) values: Values<Option<f64>>,
    /// Quotients 0/0 that were taken as 0.
    pub(super) zero_divisions: u64,
    /// n of `rcut(best)`.
    pub(super) n: Option<u32>,
    pub(super) documents: Option<Values<Vec<f64>>>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        grid: &'a Grid,
        counts: &'a Counts,
        test: &'a [usize],
        trained: Vec<bool>,
        selections: &[Prefixes],
        deciders: Vec<Vec<Decider>>,
    ) -> Result<Self> {
        let places = Places::of(selections);
        let empty = EvaluationGrid::new(&grid.measures, trained, places.len() * grid.thresholds.len())?;
        Ok(Self { grid, counts, test, places, deciders, empty, documents: grid.documents })
    }

    fn evaluation(&self, place: usize, decision: usize) -> usize {
        place * self.grid.thresholds.len() + decision
    }

    pub(super) fn merge(whole: &mut Judged, part: Judged) {
        whole.evaluations.merge(&part.evaluations);
        if let (Some(whole), Some(part)) = (&mut whole.tops, &part.tops) {
            whole.merge(part);
        }
        for (whole, part) in whole.documents.iter_mut().zip(part.documents) {
            whole.extend(part);
        }
    }

    /// The values at a place, decision by decision.
    pub(super) fn verdicts(&self, judged: &Judged, place: usize) -> Vec<Verdict> {
        (0..self.grid.thresholds.len()).map(|decision| self.verdict(judged, place, decision)).collect()
    }

    fn verdict(&self, judged: &Judged, place: usize, decision: usize) -> Verdict {
        let at = self.evaluation(place, decision);
        let best = judged
            .tops
            .as_ref()
            .filter(|_| self.grid.thresholds[decision] == Decision::BestRcut)
            .map(|tops| tops.best(place));
        let mut zero_divisions = 0;
        let values = judged.evaluations.values(at).into_iter().map(|value| {
            let known = match best {
                Some((_, tally)) if self.grid.thresholds[decision].gives_decided(value.measure) => {
                    of_tally(value.measure, &tally)
                }
                _ if self.grid.thresholds[decision].gives(value.measure) => {
                    zero_divisions += value.zero_divisions;
                    value.value
                }
                _ => None,
            };
            (value.measure, known)
        });
        let values = Values(values.collect());
        let documents = self.documents.then(|| {
            let wise = judged.evaluations.document_wise();
            let of = |i: usize, measure: Measure| {
                let values = judged.documents[at].iter().skip(i).step_by(wise.len());
                let taking_part = values.zip(self.test).filter(|(_, row)| {
                    let labels = self.counts.assignments.row_indices(**row).len();
                    match measure {
                        Measure::Accuracy => labels == 1,
                        other => other.family() != Family::Ranked || labels > 0,
                    }
                });
                taking_part.map(|(value, _)| *value).collect()
            };
            let given = wise.iter().enumerate().filter(|(_, m)| self.grid.thresholds[decision].gives(**m));
            Values(given.map(|(i, &measure)| (measure, of(i, measure))).collect())
        });
        Verdict { values, zero_divisions, n: best.map(|(n, _)| n), documents }
    }
}

/// A micro average; 0 for 0/0.
fn of_tally(measure: Measure, tally: &Tally) -> Option<f64> {
    let value = match measure {
        Measure::Precision(Average::Micro) => tally.precision(),
        Measure::Recall(Average::Micro) => tally.recall(),
        Measure::F(beta, Average::Micro) => tally.f(beta),
        Measure::Jaccard(Average::Micro) => tally.jaccard(),
        _ => return None,
    };
    Some(value.unwrap_or(0.0))
}

impl Gather for Judge<'_> {
    type Part = Judged;

    fn part(&self) -> Judged {
        let best = self.grid.thresholds.contains(&Decision::BestRcut);
        Judged {
            evaluations: self.empty.fresh(),
            tops: best.then(|| Tops::new(self.places.len(), self.counts.labels.len())),
            documents: if self.documents {
                vec![Vec::new(); self.places.len() * self.grid.thresholds.len()]
            } else {
                Vec::new()
            },
            decided: Vec::new(),
        }
    }

    fn part_bytes(&self) -> usize {
        let tops = if self.grid.thresholds.contains(&Decision::BestRcut) { 16 * self.counts.labels.len() } else { 0 };
        self.empty.heap_bytes() + self.places.len() * tops
    }

    fn visit(&self, part: &mut Judged, place: SweepPlace, ranked: &[Scored]) {
        let truth = self.counts.assignments.row_indices(self.test[place.document]);
        let at = self.places.at(place);
        for (number, decider) in self.deciders[at].iter().enumerate() {
            let decided: &[u32] = match decider {
                Decider::By(thresholds) => {
                    thresholds.decide_into(ranked, &mut part.decided);
                    &part.decided
                }
                Decider::Best => {
                    if let Some(tops) = &mut part.tops {
                        tops.add(at, ranked, truth);
                    }
                    &[]
                }
            };
            let evaluation = self.evaluation(at, number);
            let values = part.evaluations.add(evaluation, ranked, decided, truth);
            if self.documents {
                part.documents[evaluation].extend_from_slice(values);
            }
        }
    }
}

/// Collects held-out scores, by place, to tune thresholds on.
pub(super) struct Holder<'a> {
    pub(super) counts: &'a Counts,
    pub(super) test: &'a [usize],
    pub(super) fold: usize,
    pub(super) places: Places,
}

impl Gather for Holder<'_> {
    type Part = Vec<HeldOut>;

    fn part(&self) -> Vec<HeldOut> {
        vec![HeldOut::new(self.counts.labels.len()); self.places.len()]
    }

    fn part_bytes(&self) -> usize {
        // Lists of at most all labels, for the documents of a run.
        self.places.len() * self.counts.labels.len() * 512
    }

    fn visit(&self, part: &mut Vec<HeldOut>, place: SweepPlace, ranked: &[Scored]) {
        let truth = self.counts.assignments.row_indices(self.test[place.document]);
        part[self.places.at(place)].add(self.fold, ranked, truth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(labels: &[u32]) -> Vec<Scored> {
        labels.iter().map(|&label| Scored { label, score: 1.0 }).collect()
    }

    #[test]
    fn the_best_n_is_the_one_tried_out() {
        let lists = [(vec![0, 1, 2], vec![0]), (vec![2, 0], vec![0, 1, 2]), (vec![1], vec![1, 2]), (vec![], vec![2])];
        let mut tops = Tops::new(2, 3);
        for (list, truth) in &lists {
            tops.add(1, &ranked(list), truth);
        }
        let f1 = |n: usize| {
            let right: usize = lists.iter().map(|(l, t)| l.iter().take(n).filter(|x| t.contains(x)).count()).sum();
            let decided: usize = lists.iter().map(|(l, _)| l.len().min(n)).sum();
            2.0 * right as f64 / (decided + 7) as f64
        };
        let (n, tally) = tops.best(1);
        let tried: Vec<f64> = (1..=3).map(f1).collect();
        assert_eq!(tally.f(crate::measure::Beta::ONE).unwrap(), tried.iter().copied().fold(0.0, f64::max));
        assert_eq!(f1(n as usize), tally.f(crate::measure::Beta::ONE).unwrap());
        assert_eq!(tops.best(0).0, 0, "nothing was listed there");
    }
}
