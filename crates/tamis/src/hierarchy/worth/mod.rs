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
    /// Whether documents have one most specific label each, and get one.
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

    /// The node whose path is worth most: the largest sum of `q − least` over it and its ancestors. Of equals the deeper, then
    /// the first.
    fn best_path(&self, taxonomy: &Taxonomy, nodes: &[f64]) -> Option<u32> {
        let mut best: Option<(f64, usize, u32)> = None;
        for node in taxonomy.nodes().filter(|&n| nodes[n as usize] > 0.0) {
            let own = nodes[node as usize] - self.least;
            let worth = taxonomy.ancestors(node).map(|n| nodes[n as usize] - self.least).sum::<f64>() + own;
            let depth = taxonomy.depth(node);
            if best.is_none_or(|(most, deep, _)| worth > most || (worth == most && depth > deep)) {
                best = Some((worth, depth, node));
            }
        }
        best.map(|(_, _, node)| node)
    }
}

impl std::fmt::Display for Worth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "none: what is worth most by {}", self.goal)?;
        if self.goal == Goal::Hf1 || !self.one {
            write!(f, ", nodes from a probability of {:.2}", self.least)?;
        }
        Ok(())
    }
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
