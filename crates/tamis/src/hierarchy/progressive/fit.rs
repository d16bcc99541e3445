//! Documents and a taxonomy → a filter.

use rayon::prelude::*;

use super::held_out::Scores;
use super::model::NodeState;
use super::node::NodeModel;
use super::sharing::Judged;
use super::training::Family;
use super::{NodeDocuments, ProgressiveModel, ProgressiveOptions, TrainingSet};
use crate::counts::Counts;
use crate::hierarchy::Taxonomy;
use crate::hierarchy::pipeline::{Outcome, ScoreTable};
use crate::threshold::ThresholdCurve;
use crate::{Error, Progress, Result};

/// A filter and what was seen while it was made.
#[derive(Debug, Clone)]
pub struct ProgressiveFit {
    /// The filter.
    pub model: ProgressiveModel,
    /// Its features as terms of the corpus, ascending: feature `i` is `terms[i]`.
    pub terms: Vec<u32>,
    /// Precision and recall against the last threshold of each pipeline, on held-out documents.
    pub curves: Vec<ThresholdCurve>,
    /// Training documents of each node, those of nodes below it included.
    pub documents: Vec<u32>,
    /// Nodes without a training document: kept, and never accepted.
    pub without_documents: Vec<u32>,
    /// Nodes with documents that no threshold accepts rightly: never accepted either.
    pub untunable: Vec<u32>,
    /// What thresholds get right and wrong over all pipelines, on held-out documents that they were not selected on.
    pub apart: Outcome,
    /// The same for every way of finding them that was compared.
    pub judged: Vec<Judged>,
    /// Held-out scores of the pipeline that was looked at closest: the deepest with most documents. For reports.
    pub example: Option<(u32, ScoreTable)>,
}

/// Trains a classifier for every node and tunes thresholds along every pipeline, on the given documents only.
///
/// ```
/// use tamis::Silent;
/// use tamis::counts::Counts;
/// use tamis::hierarchy::progressive::{ProgressiveOptions, fit};
/// use tamis::classify::Problem;
/// use tamis::hierarchy::{ProgressiveMemory, Separator, Taxonomy};
///
/// let kinds = [("sport/hockey", "ice puck"), ("sport/football", "grass goal"), ("trade", "oil price")];
/// let documents: Vec<(Vec<&str>, Vec<&str>)> =
///     kinds.iter().cycle().take(30).map(|(label, words)| (words.split(' ').collect(), vec![*label])).collect();
/// let counts = Counts::from_rows(&documents);
/// let taxonomy = Taxonomy::from_names(kinds.map(|k| k.0), Separator::Auto)?;
/// let rows: Vec<usize> = (0..counts.len()).collect();
/// let fitted = fit(&counts, &rows, &taxonomy, &ProgressiveOptions::default(), &Silent)?;
/// let first = Problem::new(&counts, &[0], &fitted.terms);
/// let accepted = fitted.model.decide(first.query(0), &mut ProgressiveMemory::default());
/// assert_eq!(accepted.iter().map(|&n| taxonomy.id(n)).collect::<Vec<_>>(), ["sport", "sport/hockey"]);
/// # Ok::<(), tamis::Error>(())
/// ```
pub fn fit(
    counts: &Counts,
    rows: &[usize],
    taxonomy: &Taxonomy,
    options: &ProgressiveOptions,
    progress: &dyn Progress,
) -> Result<ProgressiveFit> {
    options.check()?;
    let documents = NodeDocuments::new(taxonomy, counts, rows)?;
    if taxonomy.nodes().all(|n| documents.count(n) == 0) {
        return Err(Error::data("no training document has a label, so there is nothing to learn"));
    }
    let scores = Scores::cross_validate(&documents, counts, rows, options, progress)?;
    let (mut model, terms) = train_nodes(&documents, counts, options, progress)?;
    if model.has_margins() {
        model.calibration = Some(scores.sigmoids(&model)?);
    }
    // The first of equals: what was asked for, every node by itself.
    let judged = scores.judged(&model, &options.ways(), progress)?;
    let better = |best: Judged, other: &Judged| if other.outcome.f1() > best.outcome.f1() { *other } else { best };
    let taken = judged.iter().skip(1).fold(judged[0], better);
    (model.options.method, model.options.rare) = (taken.method, Some(taken.rare));
    model.options.rivals.clear();
    model.tuned = scores.tune(&model, progress)?;
    model.validate()?;
    let count = |n: u32| documents.count(n);
    let closest =
        taxonomy.nodes().filter(|&n| count(n) > 0).max_by_key(|&n| (taxonomy.depth(n), count(n), std::cmp::Reverse(n)));
    let untunable = |n: &u32| count(*n) > 0 && model.tuned(*n).is_none();
    Ok(ProgressiveFit {
        example: closest.map(|n| Ok::<_, Error>((n, scores.table(&model, n)?))).transpose()?,
        apart: taken.outcome,
        judged,
        curves: scores.curves(&model)?,
        documents: taxonomy.nodes().map(|n| count(n) as u32).collect(),
        without_documents: documents.without_documents(),
        untunable: taxonomy.nodes().filter(untunable).collect(),
        model,
        terms,
    })
}

/// Trains all nodes, in parallel; the features of all nodes together are the returned terms, ascending.
pub(super) fn train_nodes(
    documents: &NodeDocuments<'_>,
    counts: &Counts,
    options: &ProgressiveOptions,
    progress: &dyn Progress,
) -> Result<(ProgressiveModel, Vec<u32>)> {
    let taxonomy = documents.taxonomy();
    let (mut trained, without_negatives) = if options.families() {
        let (families, without_negatives) = documents.families(options.negatives);
        let train = |family: &Family| NodeModel::train_family(family, counts, options, progress);
        (train_all(&families, |family| family.nodes.len(), train, progress)?, without_negatives)
    } else {
        let sets = documents.training_sets(&options.training())?;
        let train = |set: &TrainingSet| NodeModel::train(set, counts, options);
        (train_all(&sets.trainable, |_| 1, train, progress)?, sets.without_negatives)
    };
    trained.sort_unstable_by_key(|local| local.members[0]);
    let mut states = vec![NodeState::Trained; taxonomy.len()];
    documents.without_documents().iter().for_each(|&n| states[n as usize] = NodeState::WithoutDocuments);
    without_negatives.iter().for_each(|&n| states[n as usize] = NodeState::WithoutNegatives);
    let mut number = vec![u32::MAX; counts.vocabulary.len()];
    trained.iter().flat_map(|local| &local.features).for_each(|&t| number[t as usize] = 0);
    let terms: Vec<u32> = (0..number.len() as u32).filter(|&t| number[t as usize] == 0).collect();
    terms.iter().enumerate().for_each(|(at, &t)| number[t as usize] = at as u32);
    for local in &mut trained {
        local.features.iter_mut().for_each(|f| *f = number[*f as usize]);
    }
    let model = ProgressiveModel::new(taxonomy.clone(), options.clone(), states, trained, terms.len())?;
    Ok((model, terms))
}

/// Trains in parallel; `nodes` tells how many nodes a part stands for. Parts without a feature are left out.
fn train_all<T: Sync>(
    parts: &[T],
    nodes: impl Fn(&T) -> usize + Sync,
    train: impl Fn(&T) -> Result<Option<NodeModel>> + Sync,
    progress: &dyn Progress,
) -> Result<Vec<NodeModel>> {
    progress.start("training nodes", Some(parts.iter().map(|p| nodes(p) as u64).sum()));
    let trained: Vec<Option<NodeModel>> = parts
        .par_iter()
        .with_max_len(1)
        .map(|part| {
            if progress.cancelled() {
                return Err(Error::Interrupted);
            }
            let trained = train(part)?;
            progress.add(nodes(part) as u64);
            Ok(trained)
        })
        .collect::<Result<_>>()?;
    progress.finish();
    Ok(trained.into_iter().flatten().collect())
}
