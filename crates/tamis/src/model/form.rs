//! The form in which labels of a taxonomy come: with their ancestors, or the most specific ones alone.

use crate::Result;
use crate::counts::{Counts, Csr};
use crate::hierarchy::Taxonomy;

/// How the documents are labelled.
pub(super) struct Form {
    /// Whether labels come with their ancestors.
    pub(super) closed: bool,
    /// Whether hardly any document has several most specific labels, and none has none.
    pub(super) one: bool,
    /// Mean number of most specific labels.
    pub(super) mean: f64,
}

/// Documents × nodes, each with its most specific nodes only; and the form they came in.
pub(super) fn most_specific(taxonomy: &Taxonomy, counts: &Counts, rows: &[usize]) -> Result<(Csr<()>, Form)> {
    let node_of = taxonomy.align(&counts.labels)?;
    let mut specific = Csr::new(taxonomy.len());
    let mut nodes: Vec<u32> = Vec::new();
    let mut with_ancestors = vec![None; counts.len()];
    for row in 0..counts.len() {
        nodes.clear();
        nodes.extend(counts.assignments.row_indices(row).iter().map(|&label| node_of[label as usize]));
        nodes.sort_unstable();
        let given = nodes.len();
        taxonomy.most_specific(&mut nodes);
        let all = taxonomy.closure(nodes.iter().copied()).len();
        with_ancestors[row] = (all > nodes.len()).then_some(given == all);
        specific.push_row(nodes.iter().map(|&n| (n, ())));
    }
    let labels = |&row: &usize| specific.row_indices(row).len();
    let sum: usize = rows.iter().map(labels).sum();
    let mean = sum as f64 / rows.len().max(1) as f64;
    let told: Vec<bool> = rows.iter().filter_map(|&row| with_ancestors[row]).collect();
    let closed = 2 * told.iter().filter(|&&closed| closed).count() > told.len();
    let one = rows.iter().map(labels).min().is_some_and(|least| least > 0) && mean <= 1.1;
    Ok((specific, Form { closed, one, mean }))
}

/// Documents × nodes with all ancestors.
pub(super) fn close(taxonomy: &Taxonomy, specific: &Csr<()>) -> Csr<()> {
    let all: Vec<u32> = taxonomy.nodes().collect();
    taxonomy.close(specific, &all)
}
