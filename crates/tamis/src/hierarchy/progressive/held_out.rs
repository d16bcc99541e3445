//! Scores of training documents by nodes that have not seen them, and the thresholds they give.

use rayon::prelude::*;

use super::model::{ProgressiveMemory, Tuned};
use super::{NodeDocuments, ProgressiveModel, ProgressiveOptions};
use crate::classify::{Problem, Scored};
use crate::counts::{Counts, CrossValidation};
use crate::hierarchy::pipeline::{Method, ScoreTable, select_all};
use crate::threshold::{Calibration, CalibrationMethod, HeldOut};
use crate::{Error, Progress, Result, Stoppable};

/// Documents × nodes: raw scores, and which nodes each document belongs to.
pub(super) struct Scores {
    nodes: usize,
    /// By document, nodes within.
    raw: Vec<f32>,
    fold_of: Vec<u32>,
    /// By document: its nodes, ancestors included, ascending.
    truth: Vec<Vec<u32>>,
}

impl Scores {
    /// Scores from elsewhere, documents × nodes.
    pub(super) fn given(nodes: usize, raw: &[f64], fold_of: Vec<u32>, truth: Vec<Vec<u32>>) -> Self {
        Self { nodes, raw: raw.iter().map(|&s| s as f32).collect(), fold_of, truth }
    }

    /// Trains the nodes fold by fold and scores what was left out.
    pub(super) fn cross_validate(
        documents: &NodeDocuments<'_>,
        counts: &Counts,
        rows: &[usize],
        options: &ProgressiveOptions,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let taxonomy = documents.taxonomy();
        let nodes = taxonomy.len();
        let node_of = taxonomy.align(&counts.labels)?;
        let folds = CrossValidation::stratified(counts, rows, options.folds, options.seed);
        let held_out = folds.held_out();
        let truth = held_out
            .iter()
            .map(|&r| taxonomy.closure(counts.assignments.row_indices(r).iter().map(|&l| node_of[l as usize])))
            .collect();
        let mut place_of = vec![0; counts.len()];
        held_out.iter().enumerate().for_each(|(place, &row)| place_of[row] = place);
        let documents = held_out.len();
        let mut scores =
            Self { nodes, raw: vec![f32::NEG_INFINITY; documents * nodes], fold_of: vec![0; documents], truth };
        folds.run("scoring held-out documents", 1, progress, |fold, split| {
            let known = NodeDocuments::new(taxonomy, counts, &split.train)?;
            let (model, terms) = super::fit::train_nodes(&known, counts, options, &Stoppable(progress))?;
            for block in split.test.chunks(4096) {
                if progress.cancelled() {
                    return Err(Error::Interrupted);
                }
                let problem = Problem::new(counts, block, &terms);
                let found: Vec<Vec<f32>> = (0..block.len())
                    .into_par_iter()
                    .map_init(ProgressiveMemory::default, |memory, at| {
                        model.raw(problem.query(at), memory);
                        model.raw_scores(memory).map(|s| s as f32).collect()
                    })
                    .collect();
                for (&row, found) in block.iter().zip(found) {
                    let document = place_of[row];
                    scores.raw[document * nodes..][..nodes].copy_from_slice(&found);
                    scores.fold_of[document] = fold as u32;
                }
            }
            progress.add(1);
            Ok(())
        })?;
        Ok(scores)
    }

    fn raw(&self, document: usize, node: u32) -> f64 {
        f64::from(self.raw[document * self.nodes + node as usize])
    }

    /// A sigmoid for each node, learned on documents of its parent: the probability of the node given its parent.
    pub(super) fn sigmoids(&self, model: &ProgressiveModel) -> Result<Calibration> {
        let mut held_out = HeldOut::new(self.nodes);
        let mut ranked = Vec::new();
        for (document, truth) in self.truth.iter().enumerate() {
            ranked.clear();
            let roots = model.taxonomy.roots();
            let below = truth.iter().flat_map(|&n| model.taxonomy.first_children(n));
            ranked.extend(roots.chain(below).filter_map(|node| {
                let score = self.raw(document, node);
                score.is_finite().then_some(Scored { label: node, score })
            }));
            ranked.sort_unstable_by(Scored::better_first);
            held_out.add(self.fold_of[document] as usize, &ranked, truth);
        }
        Calibration::fit(CalibrationMethod::Platt, &held_out)
    }

    /// How many documents there are.
    pub(super) fn documents(&self) -> usize {
        self.truth.len()
    }

    /// How many of some documents each node has.
    pub(super) fn positives(&self, documents: &[u32]) -> Vec<usize> {
        let mut positives = vec![0usize; self.nodes];
        documents.iter().flat_map(|&d| &self.truth[d as usize]).for_each(|&n| positives[n as usize] += 1);
        positives
    }

    /// The score table of the pipeline that a node ends.
    pub(super) fn table(&self, model: &ProgressiveModel, node: u32) -> Result<ScoreTable> {
        self.table_of(model, node, &self.all())
    }

    fn all(&self) -> Vec<u32> {
        (0..self.documents() as u32).collect()
    }

    /// The same over some of the documents.
    pub(super) fn table_of(&self, model: &ProgressiveModel, node: u32, documents: &[u32]) -> Result<ScoreTable> {
        let pipeline = model.taxonomy.pipeline(node);
        let mut csv = Vec::with_capacity(pipeline.len() * documents.len());
        for &level in &pipeline {
            csv.extend(documents.iter().map(|&d| model.csv(level, self.raw(d as usize, level))));
        }
        let levels = pipeline.iter().map(|&n| model.taxonomy.id(n).to_owned()).collect();
        let truth = documents.iter().map(|&d| self.truth[d as usize].binary_search(&node).is_ok()).collect();
        let table = ScoreTable::new(levels, csv, truth)?;
        let (positives, all) = (table.positives(), table.documents());
        match model.options.imbalance {
            Some(imbalance) if positives > 0 && positives < all => table.weighted_to(imbalance),
            _ => Ok(table),
        }
    }

    /// Thresholds for every pipeline, as the options of the model say.
    pub(super) fn tune(&self, model: &ProgressiveModel, progress: &dyn Progress) -> Result<Vec<Option<Tuned>>> {
        self.tune_on(model, &self.all(), model.options.method, model.options.rare.unwrap_or(0), progress)
    }

    /// The same from some of the documents. None where no document of the node can be accepted with any, or only with so many others
    /// that the utility stays below the least one asked for: whatever such a pipeline accepted would be by accident. Nodes with fewer
    /// than `rare` documents share.
    pub(super) fn tune_on(
        &self,
        model: &ProgressiveModel,
        documents: &[u32],
        method: Method,
        rare: usize,
        progress: &dyn Progress,
    ) -> Result<Vec<Option<Tuned>>> {
        let mut tuned = vec![None; self.nodes];
        let positives = self.positives(documents);
        let wanted: Vec<u32> =
            model.taxonomy.nodes().filter(|&n| positives[n as usize] > 0 && positives[n as usize] >= rare).collect();
        // A table takes 8 bytes for each document and level: only some are in memory at a time.
        let at_once = (64 << 20) / (8 * documents.len().max(1) * model.taxonomy.height().max(1));
        for some in wanted.chunks(at_once.clamp(rayon::current_num_threads(), 256)) {
            let tables: Vec<ScoreTable> =
                some.par_iter().map(|&node| self.table_of(model, node, documents)).collect::<Result<_>>()?;
            let found = select_all(&tables, method, &model.options.thresholds, progress);
            for ((&node, table), selection) in some.iter().zip(&tables).zip(found) {
                let selection = selection?;
                if selection.outcome.true_positives > 0 && selection.utility >= model.options.least_utility {
                    tuned[node as usize] = Some(Tuned {
                        thresholds: centred(table, selection.thresholds),
                        utility: selection.utility,
                        bound: selection.bound,
                        proven: selection.proven,
                        outcome: selection.outcome,
                        positives: table.positives(),
                    });
                }
            }
        }
        if rare > 1 {
            self.share(model, documents, rare, &mut tuned, progress)?;
        }
        Ok(tuned)
    }
}

/// The same documents pass, but each threshold stands in the middle between the lowest score it accepts and the highest
/// it rejects. Selected thresholds lie anywhere in that gap, often on a document's own score; the scores of the final
/// model, trained on more documents, are near the held-out ones and not equal.
fn centred(table: &ScoreTable, mut thresholds: Vec<f64>) -> Vec<f64> {
    for level in 0..table.depth() {
        let chosen = std::mem::replace(&mut thresholds[level], 0.0);
        let (mut rejected, mut accepted) = (0.0f64, f64::INFINITY);
        // Only documents that pass all other levels are decided here.
        for (&score, passes) in table.level(level).iter().zip(table.accepted(&thresholds)) {
            if passes && score >= chosen {
                accepted = accepted.min(score);
            } else if passes {
                rejected = rejected.max(score);
            }
        }
        let middle = rejected + (accepted - rejected) / 2.0;
        thresholds[level] = if middle.is_finite() && middle > rejected { middle } else { chosen };
    }
    thresholds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centred_thresholds_accept_the_same() {
        let table = ScoreTable::from_rows(&[
            (vec![0.9, 0.8], true),
            (vec![0.7, 0.6], true),
            (vec![0.9, 0.3], false),
            (vec![0.2, 0.7], false),
            (vec![0.65, 0.1], false),
        ])
        .expect("a table");
        let chosen = vec![0.7, 0.6];
        let moved = centred(&table, chosen.clone());
        assert_eq!(table.accepted(&moved), table.accepted(&chosen));
        // The document at 0.65 fails the second level anyway, so the gap of the first reaches down to 0.2.
        assert!((moved[0] - 0.45).abs() < 1e-12, "{moved:?}");
        // With the first at 0.45 all but the one at 0.2 reach the second: its gap is from 0.3 to 0.6.
        assert!((moved[1] - 0.45).abs() < 1e-12, "{moved:?}");
    }

    #[test]
    fn a_threshold_that_accepts_nothing_stays() {
        let table = ScoreTable::from_rows(&[(vec![0.5], true), (vec![0.6], false)]).expect("a table");
        assert_eq!(centred(&table, vec![0.9]), [0.9]);
    }
}
