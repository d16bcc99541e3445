//! Which documents a node's classifier learns from: positives, negatives, balanced by sampling.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::counts::{Counts, Csr};
use crate::hierarchy::Taxonomy;
use crate::named::named;
use crate::{Error, Result};

named! {
    /// Which documents are negative at a node. Positives are always the documents of the node, those of nodes below it
    /// included; a positive is never a negative.
    #[derive(Default)]
    pub enum NegativePolicy ("negative policy") {
        /// Documents of the parent that are not of the node; for a root, all other documents (method 10).
        #[default]
        ParentMinusNode = "parent-minus-node",
        /// Documents of the node's siblings; for a root, of the other roots. Documents that end at the parent are left out.
        Siblings = "siblings",
        /// All documents that are not of the node.
        AllMinusNode = "all-minus-node",
    }
}

/// How training documents of a node are chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingOptions {
    /// Which documents are negative.
    pub negatives: NegativePolicy,
    /// At most half this many positives and half this many negatives, drawn at random; all when there are fewer. None
    /// takes all.
    pub per_node: Option<usize>,
    /// The same seed draws the same documents, whatever the other nodes.
    pub seed: u64,
}

impl Default for TrainingOptions {
    fn default() -> Self {
        Self { negatives: NegativePolicy::default(), per_node: Some(1000), seed: 0 }
    }
}

impl TrainingOptions {
    fn check(&self) -> Result<()> {
        match self.per_node {
            Some(n) if n < 2 => Err(Error::invalid("per_node", n, "needs at least one positive and one negative: 2")),
            _ => Ok(()),
        }
    }
}

/// The documents a node's classifier learns from, as rows of the corpus, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainingSet {
    /// The node.
    pub node: u32,
    /// Documents of the node.
    pub positives: Vec<usize>,
    /// Documents that are not.
    pub negatives: Vec<usize>,
    /// How many positives there were to draw from.
    pub all_positives: usize,
    /// How many negatives there were to draw from.
    pub all_negatives: usize,
}

/// The training sets of a taxonomy, and the nodes that cannot be trained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainingSets {
    /// Nodes with positives and negatives, by node number.
    pub trainable: Vec<TrainingSet>,
    /// Nodes without a document: nothing can ever be accepted there.
    pub without_documents: Vec<u32>,
    /// Nodes with documents but without a negative, such as an only child that has all its parent's documents: what
    /// reaches them belongs to them as far as the training documents tell.
    pub without_negatives: Vec<u32>,
}

/// Nodes that learn from the same documents when none are left out: each from its own against the others.
#[derive(Debug, Clone)]
pub(super) struct Family {
    /// Nodes with positives and negatives among the documents, ascending.
    pub(super) nodes: Vec<u32>,
    /// The documents, as rows of the corpus, ascending.
    pub(super) rows: Vec<usize>,
    /// Documents × places in `nodes`.
    pub(super) assignments: Csr<()>,
}

/// Training documents by node: each counts at the nodes of its labels and at all their ancestors.
#[derive(Debug, Clone)]
pub struct NodeDocuments<'a> {
    taxonomy: &'a Taxonomy,
    /// The training documents as rows of the corpus, ascending.
    rows: Vec<usize>,
    /// Node × places in `rows`.
    by_node: Csr<()>,
}

impl<'a> NodeDocuments<'a> {
    /// From the given documents of a corpus; all labels of the corpus must be in the taxonomy.
    pub fn new(taxonomy: &'a Taxonomy, counts: &Counts, rows: &[usize]) -> Result<Self> {
        let node_of = taxonomy.align(&counts.labels)?;
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        rows.dedup();
        let by_node = taxonomy.close(&counts.assignments.select_rows(&rows), &node_of).transpose();
        Ok(Self { taxonomy, rows, by_node })
    }

    /// The taxonomy.
    pub fn taxonomy(&self) -> &'a Taxonomy {
        self.taxonomy
    }

    /// How many documents a node has, those of nodes below it included.
    pub fn count(&self, node: u32) -> usize {
        self.places(node).len()
    }

    /// The documents of a node, as rows of the corpus, ascending.
    pub fn positives(&self, node: u32) -> Vec<usize> {
        self.places(node).iter().map(|&p| self.rows[p as usize]).collect()
    }

    /// The documents that a policy makes negative at a node, as rows of the corpus, ascending.
    pub fn negatives(&self, node: u32, policy: NegativePolicy) -> Vec<usize> {
        self.negative_places(node, policy).into_iter().map(|p| self.rows[p as usize]).collect()
    }

    /// Nodes without a document.
    pub fn without_documents(&self) -> Vec<u32> {
        self.taxonomy.nodes().filter(|&n| self.count(n) == 0).collect()
    }

    /// The training set of a node; empty sides where it has no positives or no negatives.
    pub fn training_set(&self, node: u32, options: &TrainingOptions) -> Result<TrainingSet> {
        options.check()?;
        Ok(self.draw_set(node, options))
    }

    /// The training sets of all nodes. Drawn for each node from its own stream of random numbers, so they do not depend
    /// on threads or on other nodes.
    pub fn training_sets(&self, options: &TrainingOptions) -> Result<TrainingSets> {
        options.check()?;
        let sets: Vec<TrainingSet> =
            self.taxonomy.nodes().into_par_iter().map(|node| self.draw_set(node, options)).collect();
        let mut out =
            TrainingSets { trainable: Vec::new(), without_documents: Vec::new(), without_negatives: Vec::new() };
        for set in sets {
            if set.all_positives == 0 {
                out.without_documents.push(set.node);
            } else if set.all_negatives == 0 {
                out.without_negatives.push(set.node);
            } else {
                out.trainable.push(set);
            }
        }
        Ok(out)
    }

    /// All trainable nodes in families, when no document is left out: siblings, or with all-minus-node all nodes. Second,
    /// the nodes without negatives. Families with most documents come first.
    pub(super) fn families(&self, policy: NegativePolicy) -> (Vec<Family>, Vec<u32>) {
        let all = || (0..self.rows.len() as u32).collect::<Vec<_>>();
        let roots: Vec<u32> = self.taxonomy.roots().collect();
        let mut groups: Vec<(Vec<u32>, Vec<u32>)> = match policy {
            NegativePolicy::AllMinusNode => vec![(self.taxonomy.nodes().collect(), all())],
            NegativePolicy::ParentMinusNode | NegativePolicy::Siblings => {
                let below =
                    self.taxonomy.nodes().map(|n| (self.taxonomy.first_children(n).collect(), self.places(n).to_vec()));
                std::iter::once((roots, all())).chain(below).filter(|(nodes, _)| !nodes.is_empty()).collect()
            }
        };
        if policy == NegativePolicy::Siblings {
            for (nodes, places) in &mut groups {
                *places = nodes.iter().flat_map(|&n| self.places(n)).copied().collect();
                places.sort_unstable();
                places.dedup();
            }
        }
        let mut without_negatives = Vec::new();
        let mut families: Vec<Family> = Vec::new();
        for (mut nodes, places) in groups {
            nodes.sort_unstable();
            without_negatives.extend(nodes.iter().filter(|&&n| self.count(n) > 0 && self.count(n) == places.len()));
            nodes.retain(|&n| self.count(n) > 0 && self.count(n) < places.len());
            if nodes.is_empty() {
                continue;
            }
            let mut by_node = Csr::new(places.len());
            for &node in &nodes {
                let own = self.places(node).iter().map(|p| places.binary_search(p).map(|at| (at as u32, ())));
                by_node.push_row(own.flatten());
            }
            families.push(Family {
                nodes,
                rows: places.iter().map(|&p| self.rows[p as usize]).collect(),
                assignments: by_node.transpose(),
            });
        }
        families.sort_by_key(|f| (std::cmp::Reverse(f.rows.len()), f.nodes[0]));
        without_negatives.sort_unstable();
        (families, without_negatives)
    }

    fn places(&self, node: u32) -> &[u32] {
        self.by_node.row_indices(node as usize)
    }

    fn negative_places(&self, node: u32, policy: NegativePolicy) -> Vec<u32> {
        let parent = self.taxonomy.parent(node);
        let from: Vec<u32> = match (policy, parent) {
            (NegativePolicy::ParentMinusNode, Some(parent)) => self.places(parent).to_vec(),
            (NegativePolicy::Siblings, _) => {
                let siblings = self.taxonomy.siblings(node);
                let mut places: Vec<u32> = siblings.iter().flat_map(|&s| self.places(s)).copied().collect();
                places.sort_unstable();
                places.dedup();
                places
            }
            (NegativePolicy::AllMinusNode, _) | (NegativePolicy::ParentMinusNode, None) => {
                (0..self.rows.len() as u32).collect()
            }
        };
        let mut positives = self.places(node).iter().peekable();
        let mut negatives = from;
        negatives.retain(|place| {
            while positives.next_if(|p| *p < place).is_some() {}
            positives.peek() != Some(&place)
        });
        negatives
    }

    fn draw_set(&self, node: u32, options: &TrainingOptions) -> TrainingSet {
        let positives = self.places(node).to_vec();
        let negatives = self.negative_places(node, options.negatives);
        let (all_positives, all_negatives) = (positives.len(), negatives.len());
        let mut random = ChaCha8Rng::seed_from_u64(options.seed);
        random.set_stream(u64::from(node));
        let most = options.per_node.map_or(usize::MAX, |n| n / 2);
        let mut side = |places: Vec<u32>| -> Vec<usize> {
            draw(places, most, &mut random).into_iter().map(|p| self.rows[p as usize]).collect()
        };
        TrainingSet { node, positives: side(positives), negatives: side(negatives), all_positives, all_negatives }
    }
}

/// At most `most` of the places, each subset equally likely, ascending.
fn draw(mut places: Vec<u32>, most: usize, random: &mut ChaCha8Rng) -> Vec<u32> {
    if places.len() > most {
        for at in 0..most {
            let other = random.random_range(at..places.len());
            places.swap(at, other);
        }
        places.truncate(most);
        places.sort_unstable();
    }
    places
}
