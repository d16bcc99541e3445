//! What candidates along a taxonomy say about documents they have not seen, and what is learned from it.

use rayon::prelude::*;

use super::members::Mixtures;
use crate::Result;
use crate::classify::{Fitted, Problem, Scored, Scratch, rank_documents};
use crate::counts::Csr;
use crate::hierarchy::worth::{best_of, paths};
use crate::hierarchy::{Goal, Taxonomy, Worth};
use crate::threshold::{Calibration, CalibrationMethod, HeldOut, Rivalry, Threshold};

/// What a candidate said about held-out documents.
pub(super) struct Held {
    labels: usize,
    documents: Vec<Document>,
}

struct Document {
    fold: usize,
    /// The best places of the ranked list.
    ranked: Vec<Scored>,
    /// Most specific nodes.
    truth: Vec<u32>,
}

/// The sums that goals are quotients of.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    documents: f64,
    exact: f64,
    right: f64,
    decided: f64,
    truth: f64,
    cost: f64,
}

impl Sums {
    fn add(&mut self, more: &Self) {
        self.documents += more.documents;
        self.exact += more.exact;
        self.right += more.right;
        self.decided += more.decided;
        self.truth += more.truth;
        self.cost += more.cost;
    }

    fn of(&self, goal: Goal) -> f64 {
        match goal {
            Goal::Exact => self.exact / self.documents.max(1.0),
            Goal::Hf1 | Goal::F1 if self.decided + self.truth > 0.0 => 2.0 * self.right / (self.decided + self.truth),
            Goal::Hf1 | Goal::F1 => 0.0,
            Goal::Cost => -self.cost / self.documents.max(1.0),
        }
    }
}

impl Held {
    pub(super) fn new(labels: usize) -> Self {
        Self { labels, documents: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.documents.len()
    }

    /// Adds what was said about a document elsewhere; `truth` are its most specific nodes.
    pub(super) fn push(&mut self, fold: usize, ranked: &[Scored], truth: Vec<u32>) {
        let ranked = ranked[..ranked.len().min(Worth::PLACES)].to_vec();
        self.documents.push(Document { fold, ranked, truth });
    }

    pub(super) fn add(&mut self, fold: usize, fitted: &Fitted, part: &Problem, rows: &[usize], truth: &Csr<()>) {
        let ranked = rank_documents(fitted, part, |_, ranked, _| ranked[..ranked.len().min(Worth::PLACES)].to_vec());
        self.documents.extend(ranked.into_iter().zip(rows).map(|(ranked, &row)| Document {
            fold,
            ranked,
            truth: truth.row_indices(row).to_vec(),
        }));
    }

    /// Adds what each mixture says to its candidate, all of them in one walk.
    pub(super) fn add_all(
        held: &mut [Self],
        fold: usize,
        mixtures: &Mixtures,
        part: &Problem,
        rows: &[usize],
        truth: &Csr<()>,
    ) {
        let each = |scratch: &mut Scratch, row: usize| {
            let mut all = Vec::with_capacity(mixtures.members.len());
            let take = |_, ranked: &[Scored]| all.push(ranked.to_vec());
            mixtures.trees.rank_mixtures(part.query(row), &mixtures.members, Worth::PLACES, scratch, take);
            all
        };
        let found: Vec<Vec<Vec<Scored>>> =
            (0..part.documents()).into_par_iter().map_init(Scratch::default, each).collect();
        for (all, &row) in found.into_iter().zip(rows) {
            for (ranked, &number) in all.into_iter().zip(&mixtures.candidates) {
                held[number].documents.push(Document { fold, ranked, truth: truth.row_indices(row).to_vec() });
            }
        }
    }

    /// Probabilities from some of the documents.
    fn calibrate(&self, worth: &Worth, taxonomy: &Taxonomy, takes: impl Fn(usize) -> bool) -> Result<Calibration> {
        let chosen = self.documents.iter().enumerate().filter(|(at, _)| takes(*at)).map(|(_, d)| d);
        if worth.one {
            let mut rivalry = Rivalry::default();
            chosen.for_each(|d| rivalry.add(&d.ranked, &d.truth));
            return Calibration::exclusive(&rivalry);
        }
        let mut held_out = HeldOut::new(self.labels);
        chosen.for_each(|d| held_out.add(d.fold, &d.ranked, &taxonomy.closure(d.truth.iter().copied())));
        Calibration::fit(CalibrationMethod::Platt, &held_out)
    }

    /// Sums over the documents that take part, each answered as `answers` says: one sum for each of its answers.
    fn sums(
        &self,
        worth: &Worth,
        taxonomy: &Taxonomy,
        calibration: &Calibration,
        takes: impl Fn(usize) -> bool + Sync,
        answers: impl Fn(&[f64], &[f64]) -> Vec<Vec<u32>> + Sync,
    ) -> Vec<Sums> {
        const TOGETHER: usize = 256;
        let part = |(number, documents): (usize, &[Document])| {
            let (mut labels, mut nodes) = (Vec::new(), Vec::new());
            let mut sums: Vec<Sums> = Vec::new();
            for (_, d) in documents.iter().enumerate().filter(|(at, _)| takes(number * TOGETHER + at)) {
                calibration.all(&d.ranked, self.labels, &mut labels);
                worth.node_probabilities(taxonomy, &labels, &mut nodes);
                let mut last: Option<(Vec<u32>, Sums)> = None;
                for (place, decided) in answers(&labels, &nodes).into_iter().enumerate() {
                    if sums.len() <= place {
                        sums.push(Sums::default());
                    }
                    // Neighbours of a grid answer alike.
                    let own = match last.take() {
                        Some((same, own)) if same == decided => own,
                        _ => {
                            let mut own = Sums::default();
                            compare(worth, taxonomy, &decided, &d.truth, &mut own);
                            own
                        }
                    };
                    sums[place].add(&own);
                    last = Some((decided, own));
                }
            }
            sums
        };
        let parts: Vec<Vec<Sums>> = self.documents.par_chunks(TOGETHER).enumerate().map(part).collect();
        let mut all: Vec<Sums> = Vec::new();
        for part in parts {
            all.resize_with(all.len().max(part.len()), Sums::default);
            all.iter_mut().zip(&part).for_each(|(sum, more)| sum.add(more));
        }
        all
    }

    /// The least probability worth answering: of a grid, the one that reaches most. (Where probabilities are true it is half the F1
    /// so reached; where they are not, this is still the best.)
    fn tune(
        &self,
        worth: &Worth,
        taxonomy: &Taxonomy,
        calibration: &Calibration,
        takes: impl Fn(usize) -> bool + Sync,
    ) -> f64 {
        const STEPS: usize = 33;
        if worth.one && !matches!(worth.goal, Goal::Hf1 | Goal::F1) {
            return worth.least;
        }
        let grid: Vec<Worth> = (1..=STEPS).map(|i| Worth { least: i as f64 * 0.02, ..worth.clone() }).collect();
        let answers = |labels: &[f64], nodes: &[f64]| -> Vec<Vec<u32>> {
            if worth.one && worth.goal == Goal::Hf1 {
                // The paths that can be best are found once.
                let paths = paths(taxonomy, nodes);
                return grid.iter().map(|w| best_of(&paths, w.least).into_iter().collect()).collect();
            }
            let each = |w: &Worth| {
                let mut decided = Vec::new();
                w.decide(taxonomy, labels, nodes, &mut decided);
                decided
            };
            grid.iter().map(each).collect()
        };
        let sums = self.sums(worth, taxonomy, calibration, takes, answers);
        let mut best = 0;
        for at in 1..sums.len() {
            if sums[at].of(worth.goal) > sums[best].of(worth.goal) {
                best = at;
            }
        }
        grid[best].least
    }

    /// What is reached on documents that neither probabilities nor the least of them were learned from: each half decides the other.
    pub(super) fn cross_fitted(&self, worth: &Worth, taxonomy: &Taxonomy) -> Result<f64> {
        let all = self.cross_fitted_by(worth, taxonomy, std::slice::from_ref(worth))?;
        Ok(all[0].of(worth.goal))
    }

    /// The same answers, judged by each of the given.
    fn cross_fitted_by(&self, worth: &Worth, taxonomy: &Taxonomy, judges: &[Worth]) -> Result<Vec<Sums>> {
        let mut all = vec![Sums::default(); judges.len()];
        for half in 0..2 {
            let calibration = self.calibrate(worth, taxonomy, |at| at % 2 != half)?;
            let least = self.tune(worth, taxonomy, &calibration, |at| at % 2 != half);
            let tuned = Worth { least, ..worth.clone() };
            let answer = |labels: &[f64], nodes: &[f64]| {
                let mut decided = Vec::new();
                tuned.decide(taxonomy, labels, nodes, &mut decided);
                vec![decided]
            };
            for (sum, judge) in all.iter_mut().zip(judges) {
                let found = self.sums(judge, taxonomy, &calibration, |at| at % 2 == half, answer);
                found.iter().for_each(|sums| sum.add(sums));
            }
        }
        Ok(all)
    }

    /// The same for a flat classifier of the labels as they are given, with thresholds of their own.
    pub(super) fn plain(&self, worth: &Worth, taxonomy: &Taxonomy) -> Result<f64> {
        let mut sums = Sums::default();
        let mut decided = Vec::new();
        for half in 0..2 {
            let mut held_out = HeldOut::new(self.labels);
            for (_, d) in self.documents.iter().enumerate().filter(|(at, _)| at % 2 != half) {
                let given = if worth.closed { taxonomy.closure(d.truth.iter().copied()) } else { d.truth.clone() };
                held_out.add(d.fold, &d.ranked, &given);
            }
            let tuned = Threshold::recommended().tune(&held_out)?;
            for (_, d) in self.documents.iter().enumerate().filter(|(at, _)| at % 2 == half) {
                tuned.thresholds.decide_into(&d.ranked, &mut decided);
                compare(worth, taxonomy, &decided, &d.truth, &mut sums);
            }
        }
        Ok(sums.of(worth.goal))
    }

    /// Probabilities and the least of them worth answering, from all documents.
    pub(super) fn learn(&self, worth: &Worth, taxonomy: &Taxonomy) -> Result<(Option<Calibration>, f64)> {
        let calibration = self.calibrate(worth, taxonomy, |_| true)?;
        let least = self.tune(worth, taxonomy, &calibration, |_| true);
        Ok((Some(calibration), least))
    }

    /// What is reached by all measures, for the summary: on documents that nothing was learned from, as candidates are compared.
    pub(super) fn quality(&self, worth: &Worth, taxonomy: &Taxonomy) -> Result<Vec<(String, f64)>> {
        let goals = [Goal::Exact, Goal::F1, Goal::Hf1];
        let judges = goals.map(|goal| Worth { goal, costs: None, ..worth.clone() });
        let sums = self.cross_fitted_by(worth, taxonomy, &judges)?;
        let name = |goal: &Goal| match goal {
            Goal::Exact => "exact",
            Goal::F1 => "F1@micro",
            Goal::Hf1 | Goal::Cost => "hF1",
        };
        Ok(goals.iter().zip(&sums).map(|(goal, sums)| (name(goal).to_owned(), sums.of(*goal))).collect())
    }
}

/// Adds an answer; `truth` are most specific nodes.
fn compare(worth: &Worth, taxonomy: &Taxonomy, decided: &[u32], truth: &[u32], sums: &mut Sums) {
    // Where documents have one label, both forms are judged alike.
    let closed = worth.goal == Goal::Hf1 || (worth.closed && !worth.one);
    let wide = |nodes: &[u32]| {
        let mut nodes = if closed { taxonomy.closure(nodes.iter().copied()) } else { nodes.to_vec() };
        if !closed {
            taxonomy.most_specific(&mut nodes);
        }
        nodes.sort_unstable();
        nodes
    };
    let (answer, right) = (wide(decided), wide(truth));
    sums.documents += 1.0;
    sums.exact += f64::from(u8::from(answer == right));
    sums.right += answer.iter().filter(|n| right.binary_search(n).is_ok()).count() as f64;
    sums.decided += answer.len() as f64;
    sums.truth += right.len() as f64;
    if let (Goal::Cost, Some(costs)) = (worth.goal, &worth.costs) {
        let mut specific = decided.to_vec();
        taxonomy.most_specific(&mut specific);
        // A document with several labels costs the mean over them.
        let cost: f64 = truth.iter().map(|&t| costs.cost(specific.first().copied(), t)).sum();
        sums.cost += cost / truth.len().max(1) as f64;
    }
}
