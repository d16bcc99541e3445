//! Counts → model: selection, training, and thresholds tuned on training documents only.

use std::sync::Arc;

use super::choose::{Choice, ChooseOptions, Trial, choose};
use super::{Model, TrainingSummary};
use crate::classify::svm::{Multi, SvmOptions};
use crate::classify::{ClassifierSpec, Problem, rank_all};
use crate::counts::SplitPlan;
use crate::counts::{Contingency, Counts, Vocabulary};
use crate::features::search::Budget;
use crate::features::{LambdaOptions, Selector, Size, learn_lambda};
use crate::hierarchy::Taxonomy;
use crate::measure::{Beta, Evaluation, EvaluationOptions, Measure, ranking::r_precision};
use crate::terms::TextOptions;
use crate::threshold::{Calibration, CalibrationMethod, HeldOut, Threshold, ThresholdReport, Thresholds};
use crate::{Error, Progress, Result, Silent};

/// How to fit. What is `None` is chosen by cross-validation, or by what the corpus is like.
#[derive(Debug, Clone)]
pub struct FitOptions {
    /// Selector.
    pub selector: Option<Selector>,
    /// Number of features.
    pub size: Size,
    /// Classifier.
    pub classifier: Option<ClassifierSpec>,
    /// Threshold; `None`: one label for each document where every training document has one, tuned by label otherwise.
    pub threshold: Option<Threshold>,
    /// Probabilities.
    pub calibration: Option<CalibrationMethod>,
    /// Folds of the cross-validation that tunes thresholds and measures quality; 0 for none.
    pub folds: usize,
    /// Bound of subset searches.
    pub budget: Budget,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self {
            selector: None,
            size: Size::Auto,
            classifier: None,
            threshold: None,
            calibration: None,
            folds: 5,
            budget: Budget::default(),
            seed: 1,
        }
    }
}

/// A model and what there is to say about its making.
#[derive(Debug, Clone)]
pub struct Trained {
    /// The model.
    pub model: Model,
    /// Candidates that were compared, when something was chosen.
    pub trials: Vec<Trial>,
    /// How the thresholds were tuned.
    pub thresholds: Option<ThresholdReport>,
}

/// Fits a model to the given documents.
pub fn fit(
    counts: &Counts,
    rows: &[usize],
    text: &TextOptions,
    taxonomy: Option<Taxonomy>,
    options: &FitOptions,
    progress: &dyn Progress,
) -> Result<Trained> {
    let single_label = check(counts, rows)?;
    if options.size == Size::Top(0) {
        return Err(Error::invalid("features", 0, "a model needs at least one feature; take a number, all or auto"));
    }
    if options.folds == 1 {
        return Err(Error::invalid("folds", 1, "cross-validation needs two folds or more; 0 leaves it out"));
    }
    if options.folds == 0 {
        let tuned = options.threshold.filter(Threshold::needs_held_out).map(|threshold| threshold.to_string());
        if let Some(what) = tuned.or(options.calibration.map(|method| method.to_string())) {
            return Err(Error::invalid("folds", 0, format!("{what} is tuned by cross-validation; take 2 or more")));
        }
    }
    let Choice { classifier, selector, size, trials, mut reasons } = settle(counts, rows, options, progress)?;
    let selector = if selector.has_auto() {
        let (learned, reason) = lambda(counts, rows, &selector, size, &classifier, options, progress)?;
        reasons.push(reason);
        learned
    } else {
        selector
    };
    let table = Contingency::of_rows(counts, rows);
    let (terms, reason) = terms(&selector, &table, size, &options.budget, progress)?;
    reasons.extend(reason);
    let threshold = options.threshold.unwrap_or_else(|| {
        if rows.iter().all(|&r| counts.assignments.row_indices(r).len() == 1) {
            reasons.push("Every training document has one label, so each document gets its best one.".into());
            Threshold::rcut(1)
        } else {
            let policy = if options.folds == 0 { untuned(&classifier, counts, rows) } else { Threshold::recommended() };
            let have = if single_label { "one label or none" } else { "several labels" };
            reasons.push(format!("Documents have {have}, so labels are decided by {policy}."));
            policy
        }
    });
    let plan = Plan { counts, rows, selector: &selector, size, classifier: &classifier, options };
    let (held_out, quality) = plan.cross_validate(progress)?;
    let (thresholds, mut curves, report) = if threshold.needs_held_out() {
        let tuned = threshold.tune(&held_out)?;
        (tuned.thresholds, tuned.curves, Some(tuned.report))
    } else {
        (Thresholds::untuned(threshold)?, Vec::new(), None)
    };
    if curves.is_empty() && held_out.documents() > 0 {
        // Labels are not decided by thresholds of their own, but the server's page shows what one would do.
        curves = held_out.curves(Beta::ONE);
    }
    let calibration = options.calibration.map(|method| Calibration::fit(method, &held_out)).transpose()?;
    progress.start("training", None);
    let problem = Problem::new(counts, rows, &terms);
    let fitted = classifier.fit(&problem, progress)?;
    progress.finish();
    let (names, feature_of) = sorted(counts, &terms);
    let model = Model {
        text: text.clone(),
        terms: Arc::new(names),
        feature_of,
        labels: Arc::clone(&counts.labels),
        taxonomy,
        classifier: fitted,
        thresholds,
        curves,
        calibration,
        summary: TrainingSummary {
            program: format!("tamis {}", env!("CARGO_PKG_VERSION")),
            documents: rows.len() as u64,
            label_documents: table.label_documents().to_vec(),
            vocabulary: table.df().iter().filter(|&&df| df > 0).count(),
            single_label,
            selector: selector.to_string(),
            classifier,
            seed: options.seed,
            choices: reasons,
            quality,
            folds: options.folds.min(rows.len()),
        },
    };
    model.validate()?;
    Ok(Trained { model, trials, thresholds: report })
}

/// What decides where nothing is tuned: the sign of an SVM's scores, else so many labels as documents usually have.
fn untuned(classifier: &ClassifierSpec, counts: &Counts, rows: &[usize]) -> Threshold {
    if matches!(classifier, ClassifierSpec::Svm(SvmOptions { multi: Multi::Ovr, .. })) {
        return Threshold::Fixed(0.0);
    }
    let labels = rows.iter().map(|&r| counts.assignments.row_indices(r).len()).filter(|&n| n > 0);
    let (documents, labels) = labels.fold((0.0, 0.0), |(d, sum), n| (d + 1.0, sum + n as f64));
    Threshold::rcut((labels / f64::max(documents, 1.0)).round().max(1.0) as u32)
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

/// Chooses what was left open.
fn settle(counts: &Counts, rows: &[usize], options: &FitOptions, progress: &dyn Progress) -> Result<Choice> {
    let usual = ChooseOptions::usual(options.seed);
    if let (Some(selector), Some(classifier), size) = (&options.selector, &options.classifier, options.size)
        && size != Size::Auto
    {
        let size = if let Size::Top(n) = size { Some(n) } else { None };
        return Ok(Choice {
            classifier: classifier.clone(),
            selector: selector.clone(),
            size,
            trials: Vec::new(),
            reasons: Vec::new(),
        });
    }
    if options.selector.as_ref().is_some_and(|s| s.as_search().is_some() || s.has_auto()) && options.size == Size::Auto
    {
        let expression = options.selector.as_ref().map(ToString::to_string).unwrap_or_default();
        return Err(Error::invalid("features", "auto", format!("{expression} selects for one size; name it")));
    }
    let fixed = match options.size {
        Size::Auto => None,
        Size::All => Some(Vec::new()),
        Size::Top(n) => Some(vec![n]),
    };
    // A search or a λ to learn cannot compete in a sweep: the rest is chosen with its start.
    let stand_in = |s: &Selector| match s.as_search() {
        Some(search) => Ok(search.start().clone()),
        None if s.has_auto() => s.with_lambda(0.5),
        None => Ok(s.clone()),
    };
    let candidates = ChooseOptions {
        selectors: match &options.selector {
            Some(selector) => vec![stand_in(selector)?],
            None => usual.selectors.clone(),
        },
        classifiers: options.classifier.clone().map_or_else(|| usual.classifiers.clone(), |c| vec![c]),
        sizes: fixed.unwrap_or_else(|| usual.sizes.clone()),
        ..usual
    };
    let mut choice = choose(counts, rows, &candidates, progress)?;
    if let Some(selector) = &options.selector {
        choice.selector = selector.clone();
    }
    match options.size {
        Size::Auto => {}
        Size::All => choice.size = None,
        Size::Top(n) => choice.size = Some(n),
    }
    Ok(choice)
}

/// Learns λ for the size and classifier that will be used (li 4.3).
fn lambda(
    counts: &Counts,
    rows: &[usize],
    selector: &Selector,
    size: Option<usize>,
    classifier: &ClassifierSpec,
    options: &FitOptions,
    progress: &dyn Progress,
) -> Result<(Selector, String)> {
    let evaluate = |train: &[usize], test: &[usize], terms: &[u32], sizes: &[usize]| {
        let (train, test) = (Problem::new(counts, train, terms), Problem::new(counts, test, terms));
        let measure = |ranked: &[crate::classify::Scored], truth: &[u32]| r_precision(ranked, truth);
        let sizes: Vec<usize> = sizes.iter().map(|&s| s.min(terms.len())).collect();
        classifier.sweep_means(&train, &test, &sizes, &measure, &Silent)
    };
    let size = size.unwrap_or(usize::MAX);
    let usual = LambdaOptions::default();
    let how = LambdaOptions { seed: options.seed, folds: usual.folds.min(rows.len()), ..usual };
    let learned = learn_lambda(selector, counts, rows, &[size], &how, &evaluate, progress)?;
    let lambda = learned.first().map_or(0.5, |l| l.lambda);
    let reason = format!("λ = {lambda:.3} was learned in {} folds with {classifier}.", how.folds);
    Ok((selector.with_lambda(lambda)?, reason))
}

/// The terms to use, best first.
fn terms(
    selector: &Selector,
    table: &Contingency,
    size: Option<usize>,
    budget: &Budget,
    progress: &dyn Progress,
) -> Result<(Vec<u32>, Option<String>)> {
    let (ranking, found) = selector.subset(table, size.unwrap_or(usize::MAX), budget, progress)?;
    if ranking.is_empty() {
        return Err(Error::data(format!(
            "{selector} leaves no word: every term is cut, or the documents have no words; lower the cut"
        )));
    }
    let mut reason =
        found.map(|f| format!("{selector} made {} swings in {:.1} s ({:?}).", f.steps, f.seconds, f.ended));
    if let Some(size) = size.filter(|&size| size > ranking.len()) {
        reason = Some(format!("{size} features were asked for, and there are {}: all are taken.", ranking.len()));
    }
    Ok((ranking.terms().to_vec(), reason))
}

pub(super) fn sorted(counts: &Counts, terms: &[u32]) -> (Vocabulary, Vec<u32>) {
    // Term numbers are in byte order already.
    let mut order: Vec<(u32, u32)> = terms.iter().enumerate().map(|(f, &t)| (t, f as u32)).collect();
    order.sort_unstable();
    let names = Vocabulary::from_sorted(order.iter().map(|&(t, _)| counts.vocabulary.name(t)));
    (names, order.into_iter().map(|(_, f)| f).collect())
}

struct Plan<'a> {
    counts: &'a Counts,
    rows: &'a [usize],
    selector: &'a Selector,
    size: Option<usize>,
    classifier: &'a ClassifierSpec,
    options: &'a FitOptions,
}

impl Plan<'_> {
    /// Scores every training document by a model that has not seen it, selection included.
    fn cross_validate(&self, progress: &dyn Progress) -> Result<(HeldOut, Vec<(String, f64)>)> {
        let labels = self.counts.labels.len();
        let mut held_out = HeldOut::new(labels);
        let folds = self.options.folds.min(self.rows.len());
        if folds < 2 {
            return Ok((held_out, Vec::new()));
        }
        let names = ["RPrec", "MAP", "P@1"];
        let measures = names.iter().map(|n| n.parse::<Measure>()).collect::<Result<Vec<_>>>()?;
        let evaluation = EvaluationOptions { measures, labels, keep_documents: false, ..EvaluationOptions::default() };
        let mut evaluation = Evaluation::new(evaluation)?;
        let training = self.counts.select(self.rows);
        let splits = SplitPlan::Stratified(folds as u32).splits(&training, self.options.seed)?;
        progress.start("validating", Some(folds as u64));
        for (fold, split) in splits.iter().enumerate() {
            if progress.cancelled() {
                return Err(Error::Interrupted);
            }
            let table = Contingency::of_rows(&training, &split.train);
            let (terms, _) = terms(self.selector, &table, self.size, &self.options.budget, &Silent)?;
            let train = Problem::new(&training, &split.train, &terms);
            let test = Problem::new(&training, &split.test, &terms);
            let fitted = self.classifier.fit(&train, &Silent)?;
            // In blocks: all ranked lists of a large fold at once would take gigabytes.
            for block in (0..test.documents()).collect::<Vec<_>>().chunks(4096) {
                let part = Problem {
                    matrix: test.matrix.select_rows(block),
                    lengths: block.iter().map(|&r| test.lengths[r]).collect(),
                    assignments: test.assignments.select_rows(block),
                };
                for (ranked, truth) in rank_all(&fitted, &part, |_, ranked, truth| (ranked.to_vec(), truth.to_vec())) {
                    held_out.add(fold, &ranked, &truth);
                    evaluation.add(&ranked, &[], &truth);
                }
            }
            progress.add(1);
        }
        progress.finish();
        let quality = evaluation.values().into_iter().filter_map(|v| Some((v.measure.to_string(), v.value?))).collect();
        Ok((held_out, quality))
    }
}
