//! A taxonomy of labels: who is whose parent, and which path leads to a node (method 10).

mod build;
mod given;
mod names;
mod read;
mod skos;

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

pub use build::ParentPolicy;
pub use given::GivenTaxonomy;
pub use names::Separator;
pub use read::{TaxonomyFormat, TaxonomyOptions};

use crate::counts::{Csr, Vocabulary};
use crate::{Error, Result};

/// One node as files and JSON write it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRecord {
    /// The label.
    pub id: String,
    /// The label of its parent; none for a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Labels of further parents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<String>,
    /// A name for people, where the source gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A taxonomy of labels: a forest, or more generally labels with any number of parents and no circle. Nodes are numbered by the byte order of their labels, so numbers do not depend on the order of
/// the source. A document of a node is also a document of all its ancestors (method 10).
///
/// ```
/// use tamis::hierarchy::{Separator, Taxonomy};
///
/// let taxonomy = Taxonomy::from_names(["rec.sport.hockey", "rec.autos"], Separator::Auto)?;
/// let hockey = taxonomy.node("rec.sport.hockey").unwrap();
/// let path: Vec<&str> = taxonomy.pipeline(hockey).into_iter().map(|n| taxonomy.id(n)).collect();
/// assert_eq!(path, ["rec", "rec.sport", "rec.sport.hockey"]);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<NodeRecord>", into = "Vec<NodeRecord>")]
pub struct Taxonomy {
    ids: Vocabulary,
    names: Vec<Option<Box<str>>>,
    /// Parents of each node, the first named first.
    parents: Vec<Vec<u32>>,
    /// All nodes above each: the parent, its parent and so on, then those of further parents.
    above: Vec<Vec<u32>>,
    /// Node × its children, ascending.
    children: Csr<()>,
    /// 1 for a root.
    depths: Vec<u32>,
    /// Parents before children.
    order: Vec<u32>,
}

impl Taxonomy {
    /// How many nodes.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is none; the constructors never return such a taxonomy.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The number of the node with this label.
    pub fn node(&self, id: &str) -> Option<u32> {
        self.ids.id(id)
    }

    /// The number of the node with this label, or an error that suggests near ones.
    pub fn find(&self, id: &str) -> Result<u32> {
        self.node(id).ok_or_else(|| Error::unknown("taxonomy node", id, self.ids.iter()))
    }

    /// The label of a node.
    pub fn id(&self, node: u32) -> &str {
        self.ids.name(node)
    }

    /// All labels; the place of a label is the number of its node.
    pub fn ids(&self) -> &Vocabulary {
        &self.ids
    }

    /// The name for people, or the label where there is none.
    pub fn name(&self, node: u32) -> &str {
        self.names[node as usize].as_deref().unwrap_or_else(|| self.id(node))
    }

    /// The first parent; none for a root.
    pub fn parent(&self, node: u32) -> Option<u32> {
        self.parents[node as usize].first().copied()
    }

    /// All parents, the first named first.
    pub fn parents(&self, node: u32) -> &[u32] {
        &self.parents[node as usize]
    }

    /// Whether no node has several parents.
    pub fn is_forest(&self) -> bool {
        self.parents.iter().all(|parents| parents.len() < 2)
    }

    /// The children, ascending.
    pub fn children(&self, node: u32) -> &[u32] {
        self.children.row_indices(node as usize)
    }

    /// The children whose first parent it is, ascending: with the roots they are every node once.
    pub fn first_children(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        self.children(node).iter().copied().filter(move |&child| self.parent(child) == Some(node))
    }

    /// The other children of its parents; for a root, the other roots.
    pub fn siblings(&self, node: u32) -> Vec<u32> {
        if self.parents(node).is_empty() {
            return self.roots().filter(|&n| n != node).collect();
        }
        let mut all: Vec<u32> = self.parents(node).iter().flat_map(|&p| self.children(p)).copied().collect();
        all.sort_unstable();
        all.dedup();
        all.retain(|&n| n != node);
        all
    }

    /// The parent, its parent and so on up to the root; then, each once, what further parents add.
    pub fn ancestors(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        self.above[node as usize].iter().copied()
    }

    /// Whether `node` is `ancestor` or below it.
    pub fn is_within(&self, node: u32, ancestor: u32) -> bool {
        node == ancestor || self.ancestors(node).any(|n| n == ancestor)
    }

    /// 1 for a root, one more for each step down along first parents.
    pub fn depth(&self, node: u32) -> usize {
        self.depths[node as usize] as usize
    }

    /// The depth of the deepest node.
    pub fn height(&self) -> usize {
        self.depths.iter().copied().max().unwrap_or(0) as usize
    }

    /// Nodes without a parent, ascending.
    pub fn roots(&self) -> impl Iterator<Item = u32> + '_ {
        self.nodes().filter(|&n| self.parent(n).is_none())
    }

    /// Nodes without children, ascending.
    pub fn leaves(&self) -> impl Iterator<Item = u32> + '_ {
        self.nodes().filter(|&n| self.children(n).is_empty())
    }

    /// Nodes with children, ascending.
    pub fn inner(&self) -> impl Iterator<Item = u32> + '_ {
        self.nodes().filter(|&n| !self.children(n).is_empty())
    }

    /// All node numbers, ascending.
    pub fn nodes(&self) -> std::ops::Range<u32> {
        0..self.len() as u32
    }

    /// All nodes, parents before children.
    pub fn top_down(&self) -> &[u32] {
        &self.order
    }

    /// The pipeline that a node ends: the path to it along first parents, root first (addis 2).
    pub fn pipeline(&self, node: u32) -> Vec<u32> {
        let mut path: Vec<u32> = std::iter::successors(Some(node), |&n| self.parent(n)).collect();
        path.reverse();
        path
    }

    /// Every node's pipeline, by node number: a node ends exactly one.
    pub fn pipelines(&self) -> Vec<Vec<u32>> {
        self.nodes().map(|n| self.pipeline(n)).collect()
    }

    /// A set of nodes with all their ancestors, ascending and distinct.
    pub fn closure(&self, nodes: impl IntoIterator<Item = u32>) -> Vec<u32> {
        let mut closed: Vec<u32> = Vec::new();
        for node in nodes {
            closed.push(node);
            closed.extend(self.ancestors(node));
        }
        closed.sort_unstable();
        closed.dedup();
        closed
    }

    /// Leaves out nodes that have another of the given ones below them.
    pub fn most_specific(&self, nodes: &mut Vec<u32>) {
        let mut above: Vec<u32> = nodes.iter().flat_map(|&n| self.ancestors(n)).collect();
        above.sort_unstable();
        nodes.retain(|n| above.binary_search(n).is_err());
    }

    /// Labels of a corpus that the taxonomy lacks, in the corpus' order.
    pub fn missing<'a>(&self, labels: &'a Vocabulary) -> Vec<&'a str> {
        labels.iter().filter(|label| self.node(label).is_none()).collect()
    }

    /// For each label of a corpus the number of its node; labels without a node are an error that names them.
    pub fn align(&self, labels: &Vocabulary) -> Result<Vec<u32>> {
        let missing = self.missing(labels);
        if missing.is_empty() {
            return Ok(labels.iter().filter_map(|label| self.node(label)).collect());
        }
        let shown = 10;
        let more = if missing.len() > shown { format!(" and {} more", missing.len() - shown) } else { String::new() };
        Err(Error::data(format!(
            "{} of {} labels are not in the taxonomy: {}{more}; add them to it, or leave their documents out",
            missing.len(),
            labels.len(),
            missing[..missing.len().min(shown)].join(", "),
        )))
    }

    /// Documents × labels becomes documents × nodes, ancestors added; `node_of` comes from [`Taxonomy::align`].
    ///
    /// # Panics
    /// When `node_of` is shorter than the number of labels.
    pub fn close(&self, assignments: &Csr<()>, node_of: &[u32]) -> Csr<()> {
        let mut closed = Csr::new(self.len());
        for row in 0..assignments.rows() {
            let nodes = assignments.row_indices(row).iter().map(|&label| node_of[label as usize]);
            closed.push_row(self.closure(nodes).into_iter().map(|n| (n, ())));
        }
        closed
    }

    /// The nodes as records, by node number.
    pub fn records(&self) -> Vec<NodeRecord> {
        self.nodes()
            .map(|n| NodeRecord {
                id: self.id(n).to_owned(),
                parent: self.parent(n).map(|p| self.id(p).to_owned()),
                further: self.parents(n).iter().skip(1).map(|&p| self.id(p).to_owned()).collect(),
                name: self.names[n as usize].as_deref().map(str::to_owned),
            })
            .collect()
    }

    /// Writes `child<TAB>parent<TAB>name` lines under a header; [`Taxonomy::read`] gives the same taxonomy back.
    pub fn write_tsv(&self, mut out: impl Write) -> io::Result<()> {
        writeln!(out, "child\tparent\tname")?;
        for record in self.records() {
            let (parent, name) = (record.parent.unwrap_or_default(), record.name.unwrap_or_default());
            writeln!(out, "{}\t{parent}\t{name}", record.id)?;
            for parent in record.further {
                writeln!(out, "{}\t{parent}\t", record.id)?;
            }
        }
        Ok(())
    }
}
