//! Fitting models: what Python asks for is the library's options as JSON.

use std::sync::Arc;

use serde_json::json;
use tamis::classify::ClassifierSpec;
use tamis::counts::{Counts, Csr, Vocabulary};
use tamis::features::Size;
use tamis::hierarchy::{ParentPolicy, Separator, Taxonomy};
use tamis::model::{FitOptions, Trained, Unlabelled};
use tamis::threshold::Threshold;
use tamis::{Progress, Result};

/// A taxonomy from pairs; an empty list takes it from the names of labels.
pub(crate) fn taxonomy(pairs: &[(String, Option<String>)], names: &Vocabulary) -> Result<Taxonomy> {
    let taxonomy = if pairs.is_empty() {
        Taxonomy::from_names(names.iter(), Separator::Auto)?
    } else {
        Taxonomy::from_pairs(pairs.iter().map(|(c, p)| (c, p.as_ref())), ParentPolicy::Refuse)?
    };
    taxonomy.align(names)?;
    Ok(taxonomy)
}

/// What is told about a training, beside the model.
pub(crate) fn report(trained: &Trained) -> serde_json::Value {
    json!({ "trials": trained.trials, "frontier": trained.frontier, "thresholds": trained.thresholds, "unchanged": trained.unchanged })
}

/// Documents as Python has them: counts, labels, lengths, and how often each counts (empty: once).
pub(crate) struct MatrixDocuments {
    pub(crate) matrix: Csr<u32>,
    pub(crate) assignments: Csr<()>,
    pub(crate) lengths: Vec<u32>,
    pub(crate) weights: Vec<f64>,
}

/// Fits a classifier to all columns of a matrix. Columns and labels are named by their numbers.
pub(crate) fn fit_matrix(
    documents: MatrixDocuments,
    classifier: ClassifierSpec,
    threshold: Option<Threshold>,
    progress: &dyn Progress,
) -> Result<Trained> {
    let MatrixDocuments { matrix, assignments, lengths, weights } = documents;
    let counts = Counts {
        vocabulary: Arc::new(Vocabulary::numbered(matrix.columns())),
        matrix,
        lengths,
        weights,
        ..without_words(assignments, None)
    };
    let options = FitOptions {
        by: Some("df".parse()?),
        features: Some(Size::All),
        classifier: Some(classifier),
        threshold: threshold.map(Into::into),
        // A row of zeros is said, not forgotten.
        unlabelled: Some(Unlabelled::Negative),
        folds: Some(0),
        ..FitOptions::default()
    };
    options.fit(&counts, &counts.rows(), progress)
}

/// Counts that have labels, named by their numbers where there are no names, and no words: what splits and taxonomies
/// look at.
pub(crate) fn without_words(assignments: Csr<()>, names: Option<Vocabulary>) -> Counts {
    let documents = assignments.rows();
    let mut matrix = Csr::new(0);
    (0..documents).for_each(|_| matrix.push_row([]));
    Counts {
        text: Arc::default(),
        vocabulary: Arc::default(),
        labels: Arc::new(names.unwrap_or_else(|| Vocabulary::numbered(assignments.columns()))),
        matrix,
        assignments,
        lengths: vec![0; documents],
        ids: (0..documents).map(|row| row.to_string()).collect(),
        parts: vec![None; documents],
        dates: vec![None; documents],
        weights: Vec::new(),
        fingerprints: Vec::new(),
    }
}
