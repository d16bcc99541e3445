//! Answers by what they are worth: from the probabilities of nodes to the set that is expected to score best (method 10).

mod costs;

pub use costs::CostTable;

use serde::{Deserialize, Serialize};

use super::Taxonomy;
use crate::named::named;
use crate::{Error, Result};

named! {
    /// What answers along a taxonomy are to be good at.
    pub enum Goal ("goal") {
        /// The right node, or the right set of nodes, and nothing else.
        Exact = "exact",
        /// Hierarchical F1: ancestors count on both sides.
        Hf1 = "hf1",
        /// F1 of the labels as they are given.
        F1 = "f1",
        /// The least expected cost by a table of costs.
        Cost = "cost",
    }
}

/// How the probabilities of nodes become answers.
///
/// F1 over documents, `2·Σ|D∩T| / (Σ|D| + Σ|T|)`, is at its highest value λ where every document's set maximises the expectation of
/// `2·|D∩T| − λ·(|D| + |T|)` (Dinkelbach 1967). That is a sum over the nodes of D of `2·q − λ`, with q the probability of the
/// node: so a node is worth answering exactly if its probability is at least λ/2. Since no node is more probable than
/// its ancestors, such a set has the ancestors of its members.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Worth {
    /// What is maximised.
    pub goal: Goal,
    /// Whether documents have one most specific label each, and get one (with [`Goal::F1`] those that are worth it).
    pub one: bool,
    /// Whether labels were given together with their ancestors, and are answered so.
    pub closed: bool,
    /// The least probability of a node that is worth answering: half the F1 that is reached.
    pub least: f64,
    /// What wrong answers cost, for [`Goal::Cost`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<CostTable>,
}

impl Worth {
    /// Places of a ranked list that have a probability; those after it have none.
    pub const PLACES: usize = 128;

    /// Checks what was computed or stored.
    pub fn validate(&self, nodes: usize) -> Result<()> {
        if !(0.0..=1.0).contains(&self.least) {
            return Err(Error::invalid("least", self.least, "a probability lies in [0,1]"));
        }
        match (&self.costs, self.goal) {
            (Some(costs), Goal::Cost) => costs.validate(nodes),
            (None, Goal::Cost) => Err(Error::invalid("goal", "cost", "needs a table of costs")),
            (Some(_), _) => Err(Error::invalid("goal", self.goal, "a table of costs is for the goal cost")),
            (None, _) => Ok(()),
        }
    }

    /// From the probabilities that documents *end* at nodes ([`Worth::one`]) or *have* them, the probabilities that they have
    /// them, ancestors included: sums in the first case, in the second no node below any of its own.
    pub fn node_probabilities(&self, taxonomy: &Taxonomy, labels: &[f64], nodes: &mut Vec<f64>) {
        nodes.clear();
        nodes.extend_from_slice(labels);
        for (node, &p) in labels.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            for above in taxonomy.ancestors(node as u32) {
                let q = &mut nodes[above as usize];
                *q = if self.one { (*q + p).min(1.0) } else { q.max(p) };
            }
        }
    }

    /// The answers: `labels` as for [`Worth::node_probabilities`], `nodes` as it gives them. Ascending, in the form labels
    /// were given in.
    pub fn decide(&self, taxonomy: &Taxonomy, labels: &[f64], nodes: &[f64], decided: &mut Vec<u32>) {
        decided.clear();
        match (self.goal, &self.costs) {
            (Goal::Cost, Some(costs)) => decided.extend(costs.cheapest(taxonomy, labels, nodes)),
            (Goal::Hf1, _) if self.one => decided.extend(self.best_path(taxonomy, nodes)),
            // Where two labels are about as likely, both are worth more than either: F1 is over all documents.
            (Goal::F1, _) if self.one => decided.extend(apart(taxonomy, labels, self.least)),
            _ if self.one => decided.extend(largest(labels)),
            _ => {
                decided.extend(
                    (0..nodes.len() as u32).filter(|&n| nodes[n as usize] >= self.least && nodes[n as usize] > 0.0),
                );
            }
        }
        if self.closed {
            let all = taxonomy.closure(decided.drain(..));
            decided.extend(all);
        } else {
            taxonomy.most_specific(decided);
        }
    }

    /// The node whose path is worth most: the largest sum of `q − least` over it and its ancestors.
    fn best_path(&self, taxonomy: &Taxonomy, nodes: &[f64]) -> Option<u32> {
        best_of(&paths(taxonomy, nodes), self.least)
    }
}

/// A node with its ancestors: how many they are, and the sum of their probabilities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Path {
    length: usize,
    sum: f64,
    /// The node that it ends at.
    pub(crate) node: u32,
}

/// Of each length the path with the largest sum, shorter ones first, of equals the first: one of them is worth most whatever
/// the least probability.
pub(crate) fn paths(taxonomy: &Taxonomy, nodes: &[f64]) -> Vec<Path> {
    let mut best: Vec<Path> = Vec::new();
    for node in taxonomy.nodes().filter(|&n| nodes[n as usize] > 0.0) {
        let (mut length, mut sum) = (1, nodes[node as usize]);
        for above in taxonomy.ancestors(node) {
            length += 1;
            sum += nodes[above as usize];
        }
        match best.binary_search_by_key(&length, |path| path.length) {
            Ok(at) if best[at].sum >= sum => {}
            Ok(at) => best[at] = Path { length, sum, node },
            Err(at) => best.insert(at, Path { length, sum, node }),
        }
    }
    best
}

/// The node of the path that is worth most, of equals the longer.
pub(crate) fn best_of(paths: &[Path], least: f64) -> Option<u32> {
    let mut best: Option<(f64, u32)> = None;
    for path in paths {
        let worth = path.sum - least * path.length as f64;
        if best.is_none_or(|(most, _)| worth >= most) {
            best = Some((worth, path.node));
        }
    }
    best.map(|(_, node)| node)
}

impl std::fmt::Display for Worth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "none: what is worth most by {}", self.goal)?;
        if matches!(self.goal, Goal::Hf1 | Goal::F1) || !self.one {
            write!(f, ", nodes from a probability of {:.2}", self.least)?;
        }
        Ok(())
    }
}

/// The most labels of which none is above another that [`apart`] compares sets of; of more, the likeliest.
const COMPARED: usize = 12;

/// Of the labels with at least this probability, the set with the largest sum of `p − least` in which none is above another:
/// labels are answered in their most specific form. Of equals, the set with the likelier labels.
fn apart(taxonomy: &Taxonomy, labels: &[f64], least: f64) -> Vec<u32> {
    let p = |label: u32| labels[label as usize];
    let mut all: Vec<u32> = (0..labels.len() as u32).filter(|&l| p(l) >= least && p(l) > 0.0).collect();
    all.sort_by(|&a, &b| p(b).total_cmp(&p(a)).then(a.cmp(&b)));
    all.truncate(COMPARED);
    let related = |a: u32, b: u32| taxonomy.is_within(a, b) || taxonomy.is_within(b, a);
    let rivals = |&label: &u32| {
        let others = all.iter().enumerate().filter(|(_, other)| **other != label && related(label, **other));
        others.fold(0u32, |bits, (at, _)| bits | 1 << at)
    };
    let rivals: Vec<u32> = all.iter().map(rivals).collect();
    let mut taken = (1u32 << all.len()) - 1;
    if rivals.iter().any(|&bits| bits != 0) {
        let mut best = f64::NEG_INFINITY;
        // Likelier labels are lower bits, and of equal sets the first stays.
        for set in 0..1u32 << all.len() {
            let members = || (0..all.len()).filter(move |at| set >> at & 1 == 1);
            let sum: f64 = members().map(|at| p(all[at]) - least).sum();
            if sum > best && members().all(|at| rivals[at] & set == 0) {
                (best, taken) = (sum, set);
            }
        }
    }
    all.iter().enumerate().filter(|(at, _)| taken >> at & 1 == 1).map(|(_, &label)| label).collect()
}

/// The place of the largest number above 0, of equals the first.
fn largest(numbers: &[f64]) -> Option<u32> {
    let mut best: Option<(f64, u32)> = None;
    for (&x, at) in numbers.iter().zip(0u32..) {
        if x > 0.0 && best.is_none_or(|(most, _)| x > most) {
            best = Some((x, at));
        }
    }
    best.map(|(_, at)| at)
}
