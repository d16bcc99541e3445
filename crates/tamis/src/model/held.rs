//! What candidates along a taxonomy say about documents they have not seen, and what is learned from it.

use rayon::prelude::*;

use super::costs::roughly;
use crate::classify::tree::{LabelTrees, Tree, TreeParts};
use crate::classify::{ClassifierSpec, Fitted, Problem, Scored, TreeOptions, rank_documents};
use crate::counts::Csr;
use crate::hierarchy::worth::{best_of, paths};
use crate::hierarchy::{Goal, Taxonomy, Worth};
use crate::threshold::{Calibration, CalibrationMethod, HeldOut, Rivalry, Threshold};
use crate::{Error, Progress, Result};

/// Classifiers whose probabilities may be mixed.
#[derive(Debug, Clone)]
pub(super) struct Members {
    /// Labels side by side.
    pub(super) flat: Option<ClassifierSpec>,
    /// Along the taxonomy, and trees that halve the labels.
    pub(super) trees: Option<TreeOptions>,
}

/// Some of the members.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    flat: bool,
    /// How many of the layouts of the trees.
    layouts: usize,
}

/// Fitted members.
pub(super) struct FittedMembers {
    flat: Option<Fitted>,
    trees: Option<LabelTrees>,
    /// Trees of each layout.
    sizes: Vec<usize>,
    prune: f64,
    beam: usize,
}

impl Members {
    /// What is compared, simple ones first.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        let layouts = self.trees.as_ref().map_or(0, |trees| trees.by.len());
        let mut all = Vec::new();
        match (&self.flat, &self.trees) {
            (Some(_), None) => all.push(Candidate { flat: true, layouts: 0 }),
            (None, _) => all.push(Candidate { flat: false, layouts }),
            (Some(_), Some(_)) => {
                all.push(Candidate { flat: true, layouts: 0 });
                all.push(Candidate { flat: false, layouts: 1 });
                all.extend((1..=layouts).map(|layouts| Candidate { flat: true, layouts }));
            }
        }
        all
    }

    /// The members that a candidate needs.
    pub(super) fn only(&self, candidate: &Candidate) -> Self {
        Self {
            flat: self.flat.clone().filter(|_| candidate.flat),
            trees: self
                .trees
                .clone()
                .filter(|_| candidate.layouts > 0)
                .map(|trees| TreeOptions { by: trees.by[..candidate.layouts].to_vec(), ..trees }),
        }
    }

    pub(super) fn is_flat(&self, candidate: &Candidate) -> bool {
        candidate.flat && candidate.layouts == 0
    }

    /// The candidate as a classifier of its own.
    pub(super) fn spec(&self, candidate: &Candidate) -> ClassifierSpec {
        let only = self.only(candidate);
        match (only.flat, only.trees) {
            (Some(ClassifierSpec::Svm(base)), Some(trees)) => {
                let by = std::iter::once(crate::classify::tree::Layout::Flat).chain(trees.by.iter().copied()).collect();
                ClassifierSpec::Tree(TreeOptions { base, by, ..trees })
            }
            (_, Some(trees)) => ClassifierSpec::Tree(trees),
            (Some(flat), None) => flat,
            (None, None) => unreachable!("a candidate has a member"),
        }
    }

    pub(super) fn name(&self, candidate: &Candidate) -> String {
        let spec = self.spec(candidate).to_string();
        if self.is_flat(candidate) { format!("{spec} (flat)") } else { spec }
    }

    /// Fits all members. While candidates compete, SVMs are solved to a larger gap.
    pub(super) fn fit(&self, problem: &Problem, competing: bool, progress: &dyn Progress) -> Result<FittedMembers> {
        let flat = match &self.flat {
            Some(flat) if competing => Some(roughly(flat)),
            other => other.clone(),
        };
        let trees = self.trees.as_ref();
        Ok(FittedMembers {
            flat: flat.map(|flat| flat.fit(problem, progress)).transpose()?,
            trees: trees.map(|trees| trees.fit(problem, progress)).transpose()?,
            sizes: trees.map_or(Vec::new(), |trees| trees.by.iter().map(|layout| trees.trees_of(*layout)).collect()),
            prune: trees.map_or(0.0, |trees| trees.prune),
            beam: trees.map_or(1, |trees| trees.beam),
        })
    }
}

impl FittedMembers {
    /// The classifier of a candidate.
    pub(super) fn of(&self, candidate: &Candidate) -> Result<Fitted> {
        let missing = || Error::data("a member of the candidate was not fitted");
        if candidate.layouts == 0 {
            return self.flat.clone().ok_or_else(missing);
        }
        let trees = self.trees.as_ref().ok_or_else(missing)?.parts();
        let taken: usize = self.sizes[..candidate.layouts].iter().sum();
        let mut all: Vec<Tree> = Vec::new();
        if candidate.flat {
            let Some(Fitted::Linear(linear)) = &self.flat else { return Err(missing()) };
            all.push(Tree::of_linear(linear, self.prune));
        }
        all.extend(trees.trees[..taken].iter().cloned());
        let parts = TreeParts {
            labels: trees.labels,
            weighter: trees.weighter.clone(),
            link: trees.link,
            beam: self.beam,
            trees: all,
        };
        LabelTrees::from_parts(parts).map(Fitted::Trees)
    }
}

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

    pub(super) fn add(&mut self, fold: usize, fitted: &Fitted, part: &Problem, rows: &[usize], truth: &Csr<()>) {
        let ranked = rank_documents(fitted, part, |_, ranked, _| ranked[..ranked.len().min(Worth::PLACES)].to_vec());
        self.documents.extend(ranked.into_iter().zip(rows).map(|(ranked, &row)| Document {
            fold,
            ranked,
            truth: truth.row_indices(row).to_vec(),
        }));
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
        if worth.one && worth.goal != Goal::Hf1 {
            return worth.least;
        }
        let grid: Vec<Worth> = (1..=STEPS).map(|i| Worth { least: i as f64 * 0.02, ..worth.clone() }).collect();
        let answers = |labels: &[f64], nodes: &[f64]| -> Vec<Vec<u32>> {
            if worth.one {
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
        let mut all = Sums::default();
        for half in 0..2 {
            let calibration = self.calibrate(worth, taxonomy, |at| at % 2 != half)?;
            let least = self.tune(worth, taxonomy, &calibration, |at| at % 2 != half);
            let tuned = Worth { least, ..worth.clone() };
            let answer = |labels: &[f64], nodes: &[f64]| {
                let mut decided = Vec::new();
                tuned.decide(taxonomy, labels, nodes, &mut decided);
                vec![decided]
            };
            let found = self.sums(&tuned, taxonomy, &calibration, |at| at % 2 == half, answer);
            found.iter().for_each(|sums| all.add(sums));
        }
        Ok(all.of(worth.goal))
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

    /// What is reached by all measures, for the summary.
    pub(super) fn quality(
        &self,
        worth: &Worth,
        taxonomy: &Taxonomy,
        calibration: Option<&Calibration>,
    ) -> Result<Vec<(String, f64)>> {
        let calibration = calibration.ok_or_else(|| Error::data("there are no probabilities"))?;
        let goals = [Goal::Exact, Goal::F1, Goal::Hf1];
        let answer = |labels: &[f64], nodes: &[f64]| {
            let mut decided = Vec::new();
            worth.decide(taxonomy, labels, nodes, &mut decided);
            vec![decided]
        };
        let measured = |goal: &Goal| {
            let worth = Worth { goal: *goal, costs: None, ..worth.clone() };
            self.sums(&worth, taxonomy, calibration, |_| true, answer).into_iter().next().unwrap_or_default()
        };
        let sums: Vec<Sums> = goals.iter().map(measured).collect();
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
