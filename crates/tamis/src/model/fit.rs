//! The one way from counts to a model.

use super::options::{Unlabelled, Way};
use super::{FitOptions, FrontierPoint, Model, SearchPlan, Trial, along, flat, plan, worth};
use crate::classify::svm::Solution;
use crate::counts::{Counts, Vocabulary};
use crate::hierarchy::pipeline::ScoreTable;
use crate::threshold::ThresholdReport;
use crate::{Error, Progress, Result};

/// A model and what there is to say about its making.
#[derive(Debug, Clone)]
pub struct Trained {
    /// The model.
    pub model: Model,
    /// Candidates that were compared, when something was chosen.
    pub trials: Vec<Trial>,
    /// What fewer features cost, fewest first, when sizes were compared.
    pub frontier: Vec<FrontierPoint>,
    /// The features, best first, where their numbers do not say so.
    pub ranking: Vec<u32>,
    /// How flat thresholds were tuned.
    pub thresholds: Option<ThresholdReport>,
    /// The share of training documents whose first label is the same with 8-bit weights, where those were asked for.
    pub unchanged: Option<f64>,
    /// What was seen along the taxonomy, where each node has a classifier.
    pub nodes: Option<NodesSeen>,
    /// How well each problem of a flat SVM or logistic regression was solved; none for other classifiers.
    pub solutions: Vec<Solution>,
}

/// What was seen while a classifier was made for each node of a taxonomy.
#[derive(Debug, Clone)]
pub struct NodesSeen {
    /// Nodes without a training document: kept, and never accepted.
    pub without_documents: Vec<u32>,
    /// Nodes with documents that no threshold accepts rightly: never accepted either.
    pub untunable: Vec<u32>,
    /// The deepest pipeline with most documents and its held-out scores, for reports.
    pub example: Option<(u32, ScoreTable)>,
}

impl FitOptions {
    /// Fits a model to the given documents of a corpus; all it learns, it learns from them.
    ///
    /// ```
    /// use tamis::counts::Counts;
    /// use tamis::model::FitOptions;
    ///
    /// let kinds = [("sport", "puck ice goal"), ("trade", "oil price barrel")];
    /// let documents: Vec<(Vec<&str>, Vec<&str>)> =
    ///     kinds.iter().cycle().take(20).map(|(label, words)| (words.split(' ').collect(), vec![*label])).collect();
    /// let counts = Counts::from_rows(&documents);
    /// let trained = FitOptions::default().fit(&counts, &counts.training(), &tamis::Silent)?;
    /// assert_eq!(trained.model.labels.len(), 2);
    /// # Ok::<(), tamis::Error>(())
    /// ```
    pub fn fit(&self, counts: &Counts, rows: &[usize], progress: &dyn Progress) -> Result<Trained> {
        self.check()?;
        if rows.is_empty() {
            return Err(Error::data("there is no training document: the corpus is empty, or its train part is"));
        }
        let labelled = self.labelled(counts, rows)?;
        let rows = labelled.as_deref().unwrap_or(rows);
        let counted = counted(counts, rows)?;
        let rows = counted.as_deref().unwrap_or(rows);
        let single_label = check(counts, rows)?;
        let known = with_documents(counts, rows);
        let counts = known.as_ref().unwrap_or(counts);
        if let Some(remark) = counts.without_terms(rows) {
            tracing::warn!("{remark}");
        }
        match self.way(counts, rows)? {
            Way::Flat(taxonomy, threshold) => {
                let trained = flat::fit(self, counts, rows, single_label, taxonomy, threshold, progress)?;
                if self.quantise { flat::quantised(trained, counts, rows) } else { Ok(trained) }
            }
            Way::Worth(taxonomy) => worth::fit(self, counts, rows, taxonomy, progress),
            Way::Along(both) => {
                let (taxonomy, options) = *both;
                along::fit(&options, counts, rows, single_label, taxonomy, progress)
            }
        }
    }
}

impl FitOptions {
    /// What [`FitOptions::fit`] would try before it trains, and about how long that takes here; none where nothing is left
    /// open, or each node of a taxonomy has a classifier of its own.
    pub fn plan(&self, counts: &Counts, rows: &[usize]) -> Result<Option<SearchPlan>> {
        self.check()?;
        let labelled = self.labelled(counts, rows)?;
        let rows = labelled.as_deref().unwrap_or(rows);
        check(counts, rows)?;
        match (self.way(counts, rows)?, flat::open_choices(self)?) {
            (Way::Flat(..), Some(candidates)) => plan(counts, rows, &candidates).map(Some),
            (Way::Worth(taxonomy), Some(_)) => worth::planned(self, counts, rows, &taxonomy),
            _ => Ok(None),
        }
    }

    /// The documents to learn from without those to be ignored; none where that is all of them.
    fn labelled(&self, counts: &Counts, rows: &[usize]) -> Result<Option<Vec<usize>>> {
        let labels = |row: usize| counts.assignments.row_indices(row).len();
        let without = rows.iter().filter(|&&row| labels(row) == 0).count();
        if without == 0 || without == rows.len() {
            return Ok(None);
        }
        let told = format!("{without} of {} training documents have no label", rows.len());
        match self.unlabelled {
            Some(Unlabelled::Ignore) => Ok(Some(rows.iter().copied().filter(|&row| labels(row) > 0).collect())),
            Some(Unlabelled::Negative) => Ok(None),
            // One label and others that came without are how a label is learned against the rest.
            None if rows.iter().any(|&row| labels(row) > 1) || counts.labels.len() == 1 => {
                tracing::warn!(
                    "{told}, and are taken for documents of none of the labels; the option `unlabelled=ignore` leaves them out"
                );
                Ok(None)
            }
            None => Err(Error::data(format!(
                "{told}, and all others have one: the option `unlabelled=ignore` leaves them out, the option \
                 `unlabelled=negative` takes them for documents of none of the labels"
            ))),
        }
    }
}

/// The documents to learn from without those of weight 0, where there are such: they are as good as not there.
fn counted(counts: &Counts, rows: &[usize]) -> Result<Option<Vec<usize>>> {
    let counts_at_all = |row: usize| counts.weights.get(row).is_none_or(|&weight| weight != 0.0);
    if rows.iter().all(|&row| counts_at_all(row)) {
        return Ok(None);
    }
    let left: Vec<usize> = rows.iter().copied().filter(|&row| counts_at_all(row)).collect();
    if left.is_empty() {
        return Err(Error::data("every training document has the weight 0, so there is nothing to learn from"));
    }
    Ok(Some(left))
}

/// The corpus without labels that only other documents have, where there are such: what only test documents are labelled with, a
/// model cannot know. A label without any document was named by somebody, and stays.
fn with_documents(counts: &Counts, rows: &[usize]) -> Option<Counts> {
    let mut documents = vec![0u32; counts.labels.len()];
    counts.assignments.indices().iter().for_each(|&label| documents[label as usize] += 1);
    let mut own = vec![0u32; counts.labels.len()];
    rows.iter().flat_map(|&row| counts.assignments.row_indices(row)).for_each(|&label| own[label as usize] += 1);
    let seen: Vec<bool> = own.iter().zip(&documents).map(|(&own, &all)| own > 0 || all == 0).collect();
    let kept: Vec<u32> = (0..seen.len() as u32).filter(|&label| seen[label as usize]).collect();
    (kept.len() < seen.len()).then(|| counts.with_labels(&kept))
}

/// Refuses what nothing can be learned from; tells whether every labelled document has one label.
pub(super) fn check(counts: &Counts, rows: &[usize]) -> Result<bool> {
    let labels = |row: usize| counts.assignments.row_indices(row);
    let labelled = rows.iter().filter(|&&r| !labels(r).is_empty()).count();
    if labelled == 0 {
        return Err(Error::data("no training document has a label, so there is nothing to learn"));
    }
    let first = rows.iter().map(|&r| labels(r)).find(|l| !l.is_empty()).unwrap_or_default();
    if rows.iter().all(|&r| labels(r) == first) {
        let names: Vec<&str> = first.iter().map(|&l| counts.labels.name(l)).collect();
        return Err(Error::data(format!(
            "every training document has the same labels ({}), so there is nothing to tell apart; add documents of other \
             labels, or without any",
            names.join(", ")
        )));
    }
    Ok(rows.iter().all(|&r| labels(r).len() <= 1))
}

/// Names of the terms in byte order, and the feature (place in `terms`) of each.
pub(super) fn sorted(counts: &Counts, terms: &[u32]) -> (Vocabulary, Vec<u32>) {
    // Term numbers are in byte order already.
    let mut order: Vec<(u32, u32)> = terms.iter().enumerate().map(|(f, &t)| (t, f as u32)).collect();
    order.sort_unstable();
    let names = Vocabulary::from_sorted(order.iter().map(|&(t, _)| counts.vocabulary.name(t)));
    (names, order.into_iter().map(|(_, f)| f).collect())
}
