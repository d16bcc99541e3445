//! Scores along pipelines for documents that the nodes have not seen: what threshold selection works on.

use rayon::prelude::*;

use super::node::{NodeModel, ScoreKind};
use super::{NodeDocuments, ProgressiveOptions};
use crate::classify::{Problem, Scratch};
use crate::counts::Counts;
use crate::hierarchy::Taxonomy;
use crate::hierarchy::pipeline::ScoreTable;
use crate::{Error, Progress, Result};

/// Trains the nodes on the pipelines that end at `ends` with the documents of `train`, and scores those of `test`: one table
/// for each end, with the test documents in the order given.
///
/// Needs a classifier whose scores lie in `[0,1]` by themselves: `wknn`, `knn` or `bayes`.
pub fn score_tables(
    counts: &Counts,
    train: &[usize],
    test: &[usize],
    taxonomy: &Taxonomy,
    ends: &[u32],
    options: &ProgressiveOptions,
    progress: &dyn Progress,
) -> Result<Vec<ScoreTable>> {
    options.check()?;
    let reading = ScoreKind::of(&options.classifier);
    if reading == ScoreKind::Margin {
        let reason = "its scores have no bounds; take wknn, knn or bayes, whose scores lie between 0 and 1";
        return Err(Error::invalid("classifier", &options.classifier, reason));
    }
    let documents = NodeDocuments::new(taxonomy, counts, train)?;
    let mut nodes: Vec<u32> = ends.iter().flat_map(|&end| taxonomy.pipeline(end)).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let training = options.training();
    let scores: Vec<Vec<f64>> = nodes
        .par_iter()
        .map(|&node| {
            if progress.cancelled() {
                return Err(Error::Interrupted);
            }
            let set = documents.training_set(node, &training)?;
            // As in a fitted filter: nothing is known to be of an empty node, and everything of one without negatives.
            let always = match (set.all_positives, set.all_negatives) {
                (0, _) => Some(0.0),
                (_, 0) => Some(1.0),
                _ => None,
            };
            let trained = if always.is_some() { None } else { NodeModel::train(&set, counts, options)? };
            let Some(node) = trained else { return Ok(vec![always.unwrap_or(0.0); test.len()]) };
            let problem = Problem::new(counts, test, &node.features);
            let (mut scratch, mut ranked) = (Scratch::default(), Vec::new());
            let score = |row| {
                let mut found = 0.0f64;
                node.score(problem.query(row), reading, &mut scratch, &mut ranked, &mut |_, score| found = score);
                found.clamp(0.0, 1.0)
            };
            Ok((0..test.len()).map(score).collect())
        })
        .collect::<Result<_>>()?;
    let node_of = taxonomy.align(&counts.labels)?;
    let truth: Vec<Vec<u32>> = test
        .iter()
        .map(|&row| taxonomy.closure(counts.assignments.row_indices(row).iter().map(|&l| node_of[l as usize])))
        .collect();
    let table = |&end: &u32| {
        let pipeline = taxonomy.pipeline(end);
        let column = |node: &u32| {
            let at = nodes.binary_search(node).expect("every node of the pipelines was trained");
            scores[at].iter().copied()
        };
        let csv = pipeline.iter().flat_map(column).collect();
        let levels = pipeline.iter().map(|&n| taxonomy.id(n).to_owned()).collect();
        ScoreTable::new(levels, csv, truth.iter().map(|nodes| nodes.binary_search(&end).is_ok()).collect())
    };
    ends.iter().map(table).collect()
}
