//! The form in which labels of a taxonomy come: with their ancestors, or the most specific ones alone.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::classify::{ClassifierSpec, TreeOptions};
use crate::counts::{Counts, Csr, Vocabulary};
use crate::hierarchy::Taxonomy;
use crate::{Error, Result};

/// How the documents are labelled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Form {
    /// Whether labels come with their ancestors.
    pub(super) closed: bool,
    /// Whether hardly any document has several most specific labels, and none has none.
    pub(super) one: bool,
    /// Mean number of most specific labels.
    pub(super) mean: f64,
}

/// How the labels of documents lie in a taxonomy, added up document by document or part by part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelTally {
    /// Documents.
    pub documents: u64,
    /// Documents without a label.
    pub without: u64,
    /// Documents that came with several.
    pub several: u64,
    /// Documents whose labels have ancestors.
    pub deep: u64,
    /// Of these, those that came with all of their ancestors.
    pub closed: u64,
    /// For each node the documents with it among their most specific ones.
    pub specific: Vec<u32>,
    /// The same with ancestors.
    pub all: Vec<u32>,
}

impl LabelTally {
    /// Nothing yet, for so many nodes.
    pub fn new(nodes: usize) -> Self {
        Self { specific: vec![0; nodes], all: vec![0; nodes], ..Self::default() }
    }

    /// Adds a document with these nodes, which ascend; only the most specific ones are left of them.
    pub fn add(&mut self, taxonomy: &Taxonomy, nodes: &mut Vec<u32>) {
        let given = nodes.len();
        taxonomy.most_specific(nodes);
        let all = taxonomy.closure(nodes.iter().copied());
        self.documents += 1;
        self.without += u64::from(given == 0);
        self.several += u64::from(given > 1);
        self.deep += u64::from(all.len() > nodes.len());
        self.closed += u64::from(all.len() > nodes.len() && given == all.len());
        nodes.iter().for_each(|&node| self.specific[node as usize] += 1);
        all.iter().for_each(|&node| self.all[node as usize] += 1);
    }

    /// That of documents with these labels; all of them must be in the taxonomy.
    pub fn of(taxonomy: &Taxonomy, assignments: &Csr<()>, labels: &Vocabulary) -> Result<Self> {
        let mut tally = Self::new(taxonomy.len());
        let node_of = taxonomy.align(labels)?;
        let mut nodes = Vec::new();
        for row in 0..assignments.rows() {
            nodes_of(assignments, &node_of, row, &mut nodes);
            tally.add(taxonomy, &mut nodes);
        }
        Ok(tally)
    }

    /// Adds other documents.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if self.specific.len() != other.specific.len() || self.all.len() != other.all.len() {
            return Err(Error::data("labels of another taxonomy were counted"));
        }
        self.documents += other.documents;
        self.without += other.without;
        self.several += other.several;
        self.deep += other.deep;
        self.closed += other.closed;
        self.specific.iter_mut().zip(&other.specific).for_each(|(sum, n)| *sum += n);
        self.all.iter_mut().zip(&other.all).for_each(|(sum, n)| *sum += n);
        Ok(())
    }

    /// Whether every document is learned with its most specific label alone; else with all nodes above its labels too, each of which is asked
    /// about by itself.
    pub fn is_one(&self) -> bool {
        self.form().one
    }

    pub(super) fn form(&self) -> Form {
        let labels: u64 = self.specific.iter().map(|&n| u64::from(n)).sum();
        let mean = labels as f64 / self.documents.max(1) as f64;
        Form { closed: 2 * self.closed > self.deep, one: self.documents > 0 && self.without == 0 && mean <= 1.1, mean }
    }
}

/// Documents × nodes, each with its most specific nodes only; and the form they came in.
pub(super) fn most_specific(taxonomy: &Taxonomy, counts: &Counts, rows: &[usize]) -> Result<(Csr<()>, Form)> {
    let specific = specific(taxonomy, &counts.assignments, &counts.labels)?;
    let tally = LabelTally::of(taxonomy, &counts.assignments.select_rows(rows), &counts.labels)?;
    Ok((specific, tally.form()))
}

/// What documents with these labels are learned with: their most specific nodes alone, or all nodes with their ancestors
/// ([`LabelTally::is_one`]).
pub fn learned_labels(taxonomy: &Taxonomy, assignments: &Csr<()>, labels: &Vocabulary, one: bool) -> Result<Csr<()>> {
    let specific = specific(taxonomy, assignments, labels)?;
    Ok(if one { specific } else { close(taxonomy, &specific) })
}

fn specific(taxonomy: &Taxonomy, assignments: &Csr<()>, labels: &Vocabulary) -> Result<Csr<()>> {
    let node_of = taxonomy.align(labels)?;
    let mut specific = Csr::new(taxonomy.len());
    let mut nodes: Vec<u32> = Vec::new();
    for row in 0..assignments.rows() {
        nodes_of(assignments, &node_of, row, &mut nodes);
        taxonomy.most_specific(&mut nodes);
        specific.push_row(nodes.iter().map(|&n| (n, ())));
    }
    Ok(specific)
}

/// The nodes of the labels of a document, ascending.
fn nodes_of(assignments: &Csr<()>, node_of: &[u32], row: usize, nodes: &mut Vec<u32>) {
    nodes.clear();
    nodes.extend(assignments.row_indices(row).iter().map(|&label| node_of[label as usize]));
    nodes.sort_unstable();
}

/// The classifier with what it must know of the taxonomy: label trees may follow it. The parent of a label is the next above it that is a
/// label as well.
pub(super) fn along(classifier: ClassifierSpec, taxonomy: &Taxonomy, labels: &Vocabulary) -> ClassifierSpec {
    match classifier {
        ClassifierSpec::Tree(tree) => {
            let label_above = |label: &str| {
                let mut above = taxonomy.parent(taxonomy.node(label)?);
                while let Some(node) = above {
                    let known = labels.id(taxonomy.id(node));
                    if known.is_some() {
                        return known;
                    }
                    above = taxonomy.parent(node);
                }
                None
            };
            let parents = labels.iter().map(label_above).collect();
            ClassifierSpec::Tree(TreeOptions { parents: Some(Arc::new(parents)), ..tree })
        }
        other => other,
    }
}

/// Documents × nodes with all ancestors.
pub(super) fn close(taxonomy: &Taxonomy, specific: &Csr<()>) -> Csr<()> {
    let all: Vec<u32> = taxonomy.nodes().collect();
    taxonomy.close(specific, &all)
}
