//! Labels along a taxonomy: progressive filtering, a classifier for each node.

use std::sync::Arc;

use super::fit::{NodesSeen, Trained, sorted};
use super::{Model, ModelParts, Ranker, Seen, Shown, TrainingSummary};
use crate::counts::Counts;
use crate::hierarchy::progressive::{self, Answers, Judged, ProgressiveFit};
use crate::hierarchy::{ProgressiveModel, ProgressiveOptions, Taxonomy};
use crate::threshold::{Threshold, Thresholds};
use crate::{Progress, Result};

impl Answers {
    /// What training documents suggest: the best path where each has a label and hardly any has two (1.1 on average at
    /// most), at least one where each has a label.
    ///
    /// Every pipeline has thresholds that are good for itself; over hundreds of nodes their mistakes add up, and where
    /// documents have one label, probabilities that compete decide better (docs/benchmarks.md). Somebody who asks for
    /// thresholds by name gets them: then one path of those they accept.
    pub fn of_documents(counts: &Counts, rows: &[usize], thresholds_asked_for: bool) -> Self {
        let labels = |&row: &usize| counts.assignments.row_indices(row).len();
        let all: usize = rows.iter().map(labels).sum();
        match rows.iter().map(labels).min() {
            Some(0) | None => Self::All,
            _ if all as f64 <= 1.1 * rows.len() as f64 && thresholds_asked_for => Self::One,
            _ if all as f64 <= 1.1 * rows.len() as f64 => Self::Best,
            _ => Self::AtLeastOne,
        }
    }
}

/// Fits a model by progressive filtering (method 10).
pub(super) fn fit(
    options: &ProgressiveOptions,
    counts: &Counts,
    rows: &[usize],
    single_label: bool,
    taxonomy: Taxonomy,
    progress: &dyn Progress,
) -> Result<Trained> {
    let ProgressiveFit {
        model: filter,
        terms,
        curves,
        documents,
        without_documents,
        untunable,
        example,
        apart,
        judged,
    } = progressive::fit(counts, rows, &taxonomy, options, progress)?;
    let mut choices = Vec::new();
    let labels: usize = rows.iter().map(|&r| counts.assignments.row_indices(r).len()).sum();
    let mean = labels as f64 / rows.len().max(1) as f64;
    choices.push(match options.answers {
        Answers::One => {
            format!(
                "Training documents have {mean:.2} labels on average; each document is given one path: of the nodes that \
                 thresholds accept, and those above them, the most likely (answers “best” decides without thresholds)."
            )
        }
        Answers::Best => format!(
            "Training documents have {mean:.2} labels on average; each document is given the path on which it most likely \
             ends. Thresholds are stored, and decide with answers “one”."
        ),
        Answers::AtLeastOne => "Each document is given all accepted paths, and the best one where none is.".to_owned(),
        Answers::All => "Each document is given all accepted paths, possibly none.".to_owned(),
    });
    if !without_documents.is_empty() {
        let names: Vec<&str> = without_documents.iter().take(5).map(|&n| taxonomy.id(n)).collect();
        let more = if without_documents.len() > names.len() { ", …" } else { "" };
        choices.push(format!(
            "{} of {} nodes have no training document and are never accepted: {}{more}.",
            without_documents.len(),
            taxonomy.len(),
            names.join(", ")
        ));
    }
    if !untunable.is_empty() {
        choices.push(format!(
            "{} nodes have too few documents for thresholds of a utility of {} or more, and thresholds never accept them.",
            untunable.len(),
            options.least_utility
        ));
    }
    choices.push(format!(
        "Over all pipelines, thresholds by {} reach an F1 of {:.4} on the held-out documents that they were selected on, and {:.4} where \
         those of one half of the documents are judged on the other.",
        filter.options().method,
        micro_f1(&filter, &documents),
        apart.f1()
    ));
    if judged.len() > 1 {
        let way = |judged: &Judged| {
            let sharing = if judged.rare > 1 {
                format!(", nodes with fewer than {} documents sharing theirs,", judged.rare)
            } else {
                String::new()
            };
            format!("{}{sharing} {:.4}", judged.method, judged.outcome.f1())
        };
        let all: Vec<String> = judged.iter().map(way).collect();
        choices.push(format!("By that figure the best of these was taken: {}.", all.join("; ")));
    }
    let (names, feature_of) = sorted(counts, &terms);
    let mut seen = vec![false; counts.vocabulary.len()];
    rows.iter().flat_map(|&r| counts.matrix.row_indices(r)).for_each(|&t| seen[t as usize] = true);
    let model = Model::new(ModelParts {
        text: (*counts.text).clone(),
        terms: Arc::new(names),
        feature_of,
        labels: Arc::new(taxonomy.ids().clone()),
        taxonomy: Some(taxonomy),
        thresholds: Thresholds::untuned(Threshold::None)?,
        curves,
        neighbours: Vec::new(),
        calibration: None,
        worth: None,
        summary: TrainingSummary {
            program: TrainingSummary::this_program(),
            documents: rows.len() as u64,
            quality: vec![("F1@micro over pipelines".to_owned(), apart.f1())],
            label_documents: documents,
            vocabulary: seen.iter().filter(|&&s| s).count(),
            single_label,
            selector: match options.features {
                Some(_) => options.selector.to_string(),
                None => "all words".to_owned(),
            },
            classifier: options.classifier.clone(),
            seed: options.seed,
            choices,
            folds: if counts.validation_for(rows).is_empty() { options.folds } else { TrainingSummary::VALIDATED },
        },
        ranker: Ranker::Along(Box::new(filter)),
        seen: Seen::of(counts, rows),
        target: None,
        shown: Shown::default(),
    })?;
    let nodes = Some(NodesSeen { without_documents, untunable, example });
    Ok(Trained {
        model,
        trials: Vec::new(),
        frontier: Vec::new(),
        ranking: Vec::new(),
        thresholds: None,
        unchanged: None,
        nodes,
        solutions: Vec::new(),
    })
}

/// F1 over all pipelines on the held-out documents that tuned their thresholds; a pipeline without thresholds misses
/// all its documents.
fn micro_f1(filter: &ProgressiveModel, documents: &[u32]) -> f64 {
    let (mut right, mut wrong, mut missed) = (0, 0, 0);
    for (node, &documents) in documents.iter().enumerate() {
        match filter.tuned(node as u32) {
            Some(tuned) => {
                right += tuned.outcome.true_positives;
                wrong += tuned.outcome.false_positives;
                missed += tuned.outcome.false_negatives;
            }
            None => missed += u64::from(documents),
        }
    }
    if right == 0 { 0.0 } else { 2.0 * right as f64 / (2 * right + wrong + missed) as f64 }
}
