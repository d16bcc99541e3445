//! Fitting models: what Python asks for, as the library's options.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use tamis::classify::ClassifierSpec;
use tamis::counts::{Counts, Csr, Vocabulary};
use tamis::features::Size;
use tamis::features::search::Budget;
use tamis::hierarchy::pipeline;
use tamis::hierarchy::pipeline::Method;
use tamis::hierarchy::progressive::Answers;
use tamis::hierarchy::{ProgressiveOptions, Separator, Taxonomy};
use tamis::model::{FitOptions, Model, fit, fit_taxonomy};
use tamis::terms::TextOptions;
use tamis::threshold::CalibrationMethod;
use tamis::threshold::Threshold;
use tamis::{Progress, Result};

/// What to fit, as `TextCategorizer` says it; what is `None` is chosen.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fitting {
    by: Option<String>,
    /// A number, 0 for all, none for auto.
    features: Option<usize>,
    classifier: Option<String>,
    threshold: Option<String>,
    calibrate: Option<String>,
    folds: Option<usize>,
    seconds: Option<f64>,
    seed: u64,
    /// Child and parent, or none: no taxonomy. An empty list takes it from the names.
    taxonomy: Option<Vec<(String, Option<String>)>>,
    hierarchy: Option<Hierarchy>,
}

/// How a model is trained along a taxonomy.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Hierarchy {
    pub(crate) imbalance: Option<String>,
    pub(crate) utility: Option<String>,
    pub(crate) step: Option<f64>,
    pub(crate) per_node: Option<usize>,
    pub(crate) answers: Option<String>,
    pub(crate) negatives: Option<String>,
}

impl Hierarchy {
    /// Fills options in; what is not given stays.
    pub(crate) fn apply(&self, options: &mut ProgressiveOptions) -> Result<()> {
        if let Some(utility) = &self.utility {
            options.thresholds.utility = utility.parse()?;
        }
        options.thresholds = pipeline::Options { step: self.step, ..options.thresholds.clone() };
        options.imbalance = self.imbalance.as_deref().map(str::parse).transpose()?;
        if let Some(n) = self.per_node {
            options.per_node = (n != 0).then_some(n);
        }
        if let Some(negatives) = &self.negatives {
            options.negatives = negatives.parse()?;
        }
        Ok(())
    }
}

/// A taxonomy from pairs; an empty list takes it from the names of labels.
pub(crate) fn taxonomy(pairs: &[(String, Option<String>)], names: &Vocabulary) -> Result<Taxonomy> {
    let taxonomy = if pairs.is_empty() {
        Taxonomy::from_names(names.iter(), Separator::Auto)?
    } else {
        Taxonomy::from_pairs(pairs.iter().map(|(c, p)| (c, p.as_ref())), tamis::hierarchy::ParentPolicy::Refuse)?
    };
    taxonomy.align(names)?;
    Ok(taxonomy)
}

/// Fits counts; with the model comes a report.
pub(crate) fn fit_counts(
    counts: &Counts,
    text: &TextOptions,
    how: &Fitting,
    progress: &dyn Progress,
) -> Result<(Model, serde_json::Value)> {
    let rows: Vec<usize> = (0..counts.len()).collect();
    let selector = how.by.as_deref().map(str::parse).transpose()?;
    let classifier = how.classifier.as_deref().map(str::parse::<ClassifierSpec>).transpose()?;
    let forest = how.taxonomy.as_ref().map(|pairs| taxonomy(pairs, &counts.labels)).transpose()?;
    let along = match (&how.threshold, &forest) {
        (_, None) => None,
        (None, Some(_)) => Some(ProgressiveOptions::default().method),
        (Some(name), Some(_)) => name.parse::<Method>().ok(),
    };
    if let (Some(method), Some(forest)) = (along, &forest) {
        let mut options = ProgressiveOptions { method, seed: how.seed, ..ProgressiveOptions::default() };
        how.hierarchy.as_ref().map_or(Ok(()), |h| h.apply(&mut options))?;
        options.classifier = classifier.unwrap_or(options.classifier);
        options.selector = selector.unwrap_or(options.selector);
        options.features = match how.features {
            None => options.features,
            Some(0) => None,
            some => some,
        };
        options.folds = how.folds.unwrap_or(options.folds);
        options.answers = match how.hierarchy.as_ref().and_then(|h| h.answers.as_deref()) {
            Some(answers) => answers.parse()?,
            None => Answers::of_documents(counts, &rows, how.threshold.is_some()),
        };
        let trained = fit_taxonomy(counts, &rows, text, forest, &options, progress)?;
        return Ok((trained.model, json!({ "trials": [], "thresholds": null })));
    }
    let default = FitOptions::default();
    let options = FitOptions {
        selector,
        size: match how.features {
            None => Size::Auto,
            Some(0) => Size::All,
            Some(n) => Size::Top(n),
        },
        classifier,
        threshold: how.threshold.as_deref().map(str::parse::<Threshold>).transpose()?,
        calibration: how.calibrate.as_deref().map(str::parse::<CalibrationMethod>).transpose()?,
        folds: how.folds.unwrap_or(default.folds),
        budget: Budget { seconds: how.seconds, steps: None },
        seed: how.seed,
    };
    let trained = fit(counts, &rows, text, forest, &options, progress)?;
    let trials: Vec<_> = trained
        .trials
        .iter()
        .map(|t| {
            json!({ "classifier": t.classifier.to_string(), "selector": t.selector, "features": t.size, "all": t.all,
                    "RPrec": t.mean, "error": t.error })
        })
        .collect();
    Ok((trained.model, json!({ "trials": trials, "thresholds": trained.thresholds })))
}

/// Fits a classifier to all columns of a matrix. Columns and labels are named by their numbers.
pub(crate) fn fit_matrix(
    matrix: Csr<u32>,
    assignments: Csr<()>,
    lengths: Vec<u32>,
    classifier: ClassifierSpec,
    threshold: Option<Threshold>,
    progress: &dyn Progress,
) -> Result<Model> {
    let documents = matrix.rows();
    let counts = Counts {
        vocabulary: Arc::new(Vocabulary::numbered(matrix.columns())),
        matrix,
        lengths,
        ..without_words(assignments, None)
    };
    let rows: Vec<usize> = (0..documents).collect();
    let options = FitOptions {
        selector: Some("df".parse()?),
        size: Size::All,
        classifier: Some(classifier),
        threshold,
        folds: 0,
        ..FitOptions::default()
    };
    Ok(fit(&counts, &rows, &TextOptions::default(), None, &options, progress)?.model)
}

/// Counts that have labels, named by their numbers where there are no names, and no words: what splits and taxonomies
/// look at.
pub(crate) fn without_words(assignments: Csr<()>, names: Option<Vocabulary>) -> Counts {
    let documents = assignments.rows();
    let mut matrix = Csr::new(0);
    (0..documents).for_each(|_| matrix.push_row([]));
    Counts {
        vocabulary: Arc::default(),
        labels: Arc::new(names.unwrap_or_else(|| Vocabulary::numbered(assignments.columns()))),
        matrix,
        assignments,
        lengths: vec![0; documents],
        ids: vec![String::new(); documents],
        parts: vec![None; documents],
        dates: vec![None; documents],
    }
}
