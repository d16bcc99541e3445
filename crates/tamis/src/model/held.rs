//! What candidates along a taxonomy say about documents they have not seen, and what is learned from it.

use super::costs::roughly;
use crate::classify::tree::{LabelTrees, Tree, TreeParts};
use crate::classify::{ClassifierSpec, Fitted, Problem, Scored, TreeOptions, rank_documents};
use crate::counts::Csr;
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

    /// Probabilities of labels and of nodes for some of the documents.
    fn probabilities<'a>(
        &'a self,
        worth: &'a Worth,
        taxonomy: &'a Taxonomy,
        calibration: &'a Calibration,
        takes: impl Fn(usize) -> bool + 'a,
    ) -> impl Iterator<Item = (&'a Document, Vec<f64>, Vec<f64>)> + 'a {
        let chosen = self.documents.iter().enumerate().filter(move |(at, _)| takes(*at)).map(|(_, d)| d);
        chosen.map(move |d| {
            let (mut labels, mut nodes) = (Vec::new(), Vec::new());
            calibration.all(&d.ranked, self.labels, &mut labels);
            worth.node_probabilities(taxonomy, &labels, &mut nodes);
            (d, labels, nodes)
        })
    }

    /// The least probability worth answering: of a grid, the one that reaches most. (Where probabilities are true it is half the F1
    /// so reached; where they are not, this is still the best.)
    fn tune(
        &self,
        worth: &Worth,
        taxonomy: &Taxonomy,
        calibration: &Calibration,
        takes: impl Fn(usize) -> bool,
    ) -> f64 {
        let needs = matches!((worth.goal, worth.one), (Goal::Hf1, _) | (_, false));
        if !needs {
            return worth.least;
        }
        const STEPS: usize = 33;
        let grid: Vec<Worth> = (1..=STEPS).map(|i| Worth { least: i as f64 * 0.02, ..worth.clone() }).collect();
        let mut sums = vec![Sums::default(); grid.len()];
        for (d, labels, nodes) in self.probabilities(worth, taxonomy, calibration, takes) {
            for (worth, sums) in grid.iter().zip(&mut sums) {
                add(worth, taxonomy, d, &labels, &nodes, sums);
            }
        }
        let mut best = 0;
        for at in 1..grid.len() {
            if sums[at].of(worth.goal) > sums[best].of(worth.goal) {
                best = at;
            }
        }
        grid[best].least
    }

    /// What is reached on documents that neither probabilities nor the least of them were learned from: each half decides the other.
    pub(super) fn cross_fitted(&self, worth: &Worth, taxonomy: &Taxonomy) -> Result<f64> {
        let mut sums = Sums::default();
        for half in 0..2 {
            let calibration = self.calibrate(worth, taxonomy, |at| at % 2 != half)?;
            let least = self.tune(worth, taxonomy, &calibration, |at| at % 2 != half);
            let tuned = Worth { least, ..worth.clone() };
            for (d, labels, nodes) in self.probabilities(&tuned, taxonomy, &calibration, |at| at % 2 == half) {
                add(&tuned, taxonomy, d, &labels, &nodes, &mut sums);
            }
        }
        Ok(sums.of(worth.goal))
    }

    /// The same for thresholds of each label's own on the labels as they are given: what a flat model does. Only for labels with their
    /// ancestors, where the scores are those of a flat model.
    pub(super) fn plain(&self, worth: &Worth, taxonomy: &Taxonomy, is_flat: bool) -> Result<Option<f64>> {
        if !is_flat || !worth.closed {
            return Ok(None);
        }
        let mut sums = Sums::default();
        let mut decided = Vec::new();
        for half in 0..2 {
            let mut held_out = HeldOut::new(self.labels);
            for (_, d) in self.documents.iter().enumerate().filter(|(at, _)| at % 2 != half) {
                held_out.add(d.fold, &d.ranked, &taxonomy.closure(d.truth.iter().copied()));
            }
            let tuned = Threshold::recommended().tune(&held_out)?;
            for (_, d) in self.documents.iter().enumerate().filter(|(at, _)| at % 2 == half) {
                tuned.thresholds.decide_into(&d.ranked, &mut decided);
                compare(worth, taxonomy, &decided, &d.truth, &mut sums);
            }
        }
        Ok(Some(sums.of(worth.goal)))
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
        calibration: &Option<Calibration>,
    ) -> Result<Vec<(String, f64)>> {
        let calibration = calibration.as_ref().ok_or_else(|| Error::data("there are no probabilities"))?;
        let goals = [Goal::Exact, Goal::F1, Goal::Hf1];
        let mut sums = [Sums::default(); 3];
        let mut decided = Vec::new();
        for (d, labels, nodes) in self.probabilities(worth, taxonomy, calibration, |_| true) {
            worth.decide(taxonomy, &labels, &nodes, &mut decided);
            for (goal, sums) in goals.iter().zip(&mut sums) {
                let measured = Worth { goal: *goal, costs: None, ..worth.clone() };
                compare(&measured, taxonomy, &decided, &d.truth, sums);
            }
        }
        let name = |goal: &Goal| match goal {
            Goal::Exact => "exact",
            Goal::F1 => "F1@micro",
            Goal::Hf1 | Goal::Cost => "hF1",
        };
        Ok(goals.iter().zip(&sums).map(|(goal, sums)| (name(goal).to_owned(), sums.of(*goal))).collect())
    }
}

fn add(worth: &Worth, taxonomy: &Taxonomy, d: &Document, labels: &[f64], nodes: &[f64], sums: &mut Sums) {
    let mut decided = Vec::new();
    worth.decide(taxonomy, labels, nodes, &mut decided);
    compare(worth, taxonomy, &decided, &d.truth, sums);
}

/// Adds an answer; `truth` are most specific nodes.
fn compare(worth: &Worth, taxonomy: &Taxonomy, decided: &[u32], truth: &[u32], sums: &mut Sums) {
    let closed = worth.goal == Goal::Hf1 || worth.closed;
    let wide = |nodes: &[u32]| if closed { taxonomy.closure(nodes.iter().copied()) } else { nodes.to_vec() };
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
