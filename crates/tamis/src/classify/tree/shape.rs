//! Where labels hang in a tree.

use super::options::{Layout, TreeOptions};
use crate::{Error, Result};

/// The nodes of a tree, the root first, parents before children. A node has nodes below it, labels, or both.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Shape {
    /// Nodes below each node.
    pub(super) kids: Vec<Vec<u32>>,
    /// Labels that end at each node.
    pub(super) labels: Vec<Vec<u32>>,
}

impl Shape {
    /// All labels below the root.
    pub(super) fn flat(labels: &[u32]) -> Self {
        Self { kids: vec![Vec::new()], labels: vec![labels.to_vec()] }
    }

    /// Labels below their parents; `labels` are those with documents, ascending. A label with others below it is a
    /// node, and a label of that node too: a document may end there.
    pub(super) fn taxonomy(labels: &[u32], parents: &[Option<u32>]) -> Self {
        let mut within = vec![false; parents.len()];
        let mut ends = vec![false; parents.len()];
        for &label in labels {
            ends[label as usize] = true;
            let mut at = Some(label);
            while let Some(node) = at.filter(|&n| !within[n as usize]) {
                within[node as usize] = true;
                at = parents[node as usize];
            }
        }
        let mut below: Vec<Vec<u32>> = vec![Vec::new(); parents.len()];
        let mut roots = Vec::new();
        for node in (0..parents.len() as u32).filter(|&n| within[n as usize]) {
            match parents[node as usize] {
                Some(parent) => below[parent as usize].push(node),
                None => roots.push(node),
            }
        }
        let mut shape = Self::default();
        let root = shape.add();
        let mut todo = std::collections::VecDeque::new();
        shape.hang(root, &roots, &below, &mut todo);
        while let Some((at, label)) = todo.pop_front() {
            shape.hang(at, &below[label as usize], &below, &mut todo);
            if ends[label as usize] {
                shape.labels[at as usize].push(label);
            }
        }
        shape
    }

    fn hang(&mut self, at: u32, labels: &[u32], below: &[Vec<u32>], todo: &mut std::collections::VecDeque<(u32, u32)>) {
        for &label in labels {
            if below[label as usize].is_empty() {
                self.labels[at as usize].push(label);
            } else {
                let kid = self.add();
                self.kids[at as usize].push(kid);
                todo.push_back((kid, label));
            }
        }
    }

    /// A node more.
    pub(super) fn add(&mut self) -> u32 {
        self.kids.push(Vec::new());
        self.labels.push(Vec::new());
        self.kids.len() as u32 - 1
    }

    pub(super) fn len(&self) -> usize {
        self.kids.len()
    }

    /// The parent of each node; the root has none.
    pub(super) fn parents(&self) -> Vec<Option<u32>> {
        let mut parents = vec![None; self.len()];
        for (node, kids) in self.kids.iter().enumerate() {
            kids.iter().for_each(|&kid| parents[kid as usize] = Some(node as u32));
        }
        parents
    }

    /// The parents of labels that a taxonomy must give.
    pub(super) fn given(options: &TreeOptions, labels: usize) -> Result<&[Option<u32>]> {
        match options.parents.as_deref() {
            Some(parents) if parents.len() == labels => Ok(parents),
            Some(_) => Err(Error::data("the taxonomy of a label tree is about other labels")),
            None => {
                let reason = "needs a taxonomy of the labels: give one with the option `taxonomy`";
                Err(Error::invalid("by", Layout::Taxonomy, reason))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 is above 1 and 2, 2 above 3; 4 stands alone, 5 has no document.
    #[test]
    fn follows_the_taxonomy() {
        let parents = [None, Some(0), Some(0), Some(2), None, Some(4)];
        let shape = Shape::taxonomy(&[1, 2, 3, 4], &parents);
        assert_eq!(shape.kids, [vec![1], vec![2], vec![]]);
        assert_eq!(shape.labels, [vec![4], vec![1], vec![3, 2]]);
        assert_eq!(shape.parents(), [None, Some(0), Some(1)]);
    }
}
