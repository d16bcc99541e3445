//! Labels side by side: selection, training, and thresholds tuned on training documents only.

use std::sync::Arc;

use super::choice::Choice;
use super::choose::{ChooseOptions, choose};
use super::fit::{Trained, check, sorted};
use super::shown::Shown;
use super::validated::{self, Decision, Validated, Validation, needs_folds};
use super::{FitOptions, FrontierPoint, Model, ModelParts, Ranker, Seen, TrainingSummary, Trial, worth};
use crate::classify::svm::{Multi, Solution};
use crate::classify::sweep::{Prefixes, Task, means};
use crate::classify::{ClassifierSpec, Fitted, Problem, Scored, SvmOptions, rank_documents};
use crate::counts::{Contingency, Counts, CrossValidation};
use crate::features::search::Budget;
use crate::features::{LambdaOptions, Selector, Size, learn_lambda};
use crate::hierarchy::Taxonomy;
use crate::measure::ranking::r_precision;
use crate::terms::TextOptions;
use crate::threshold::{Threshold, Thresholds};
use crate::{Error, Progress, Result, Silent};

/// Fits a flat model; a taxonomy travels with it.
pub(super) fn fit(
    options: &FitOptions,
    counts: &Counts,
    rows: &[usize],
    single_label: bool,
    taxonomy: Option<Taxonomy>,
    threshold: Option<Threshold>,
    progress: &dyn Progress,
) -> Result<Trained> {
    let options = &options.of_labels(taxonomy.as_ref(), &counts.labels);
    if options.features == Some(Size::Top(0)) {
        return Err(Error::invalid("features", 0, "a model needs at least one feature; take a number, all or auto"));
    }
    let folds = options.folds.unwrap_or(FitOptions::FOLDS);
    if folds == 1 {
        return Err(Error::invalid("folds", 1, "cross-validation needs two folds or more; 0 leaves it out"));
    }
    let (folds, asked) = (usable_folds(counts, rows, folds, options.seed)?, folds);
    needs_folds(options, threshold, folds, asked, rows.len())?;
    let Choice { terms: narrower, classifier, selector, size, trials, frontier, mut reasons } =
        settle(counts, rows, options, progress)?;
    // Narrower terms are a corpus of their own from here on, as if they had been counted so.
    let narrow = narrower.map(|text| counts.narrowed(&text)).transpose()?.flatten();
    let counts = narrow.as_ref().inspect(|narrow| say_without_terms(narrow, counts, rows)).unwrap_or(counts);
    let selector = if selector.has_auto() {
        let (learned, reason) = lambda(counts, rows, &selector, size, &classifier, options, progress)?;
        reasons.push(reason);
        learned
    } else {
        selector
    };
    if matches!(classifier, ClassifierSpec::Knn(_))
        && rows.iter().any(|&r| counts.weights.get(r).is_some_and(|&w| w != 1.0))
    {
        reasons.push(format!("{classifier} takes every document for one: the weights of documents were ignored."));
    }
    let table = Contingency::of_rows(counts, rows);
    // Of a few short documents every word may be in one alone. Whoever asked for a cut is told.
    let selector = if options.by.is_none() { sparing(&selector, &table) } else { selector };
    let (terms, reason) = terms(&selector, &table, size, &options.budget, progress)?;
    reasons.extend(reason);
    let exclusive = rows.iter().all(|&r| counts.assignments.row_indices(r).len() == 1);
    let threshold = threshold.unwrap_or_else(|| {
        let labels = rows.iter().map(|&r| counts.assignments.row_indices(r).len()).filter(|&n| n > 0);
        let (documents, labels) = labels.fold((0.0, 0.0), |(d, sum), n| (d + 1.0, sum + n as f64));
        let usual = labels / f64::max(documents, 1.0);
        let (threshold, reason) = usual_threshold(&classifier, folds, exclusive, single_label, usual);
        reasons.push(reason);
        threshold
    });
    let chosen = Chosen { counts, rows, selector: &selector, size, classifier: &classifier, budget: &options.budget };
    let decide = validated::known_before(threshold)?;
    let validated = chosen.cross_validate(folds, options.seed, decide, progress)?;
    if folds < asked {
        reasons.push(TOO_FEW.into());
    }
    reasons.extend(validated.unanswered(&counts.labels));
    let Decision { thresholds, curves, report, calibration } =
        validated.decision(options, &classifier, threshold, exclusive, counts.labels.len())?;
    progress.start("training", None);
    let problem = Problem::new(counts, rows, &terms);
    let (fitted, solutions) = classifier.fit_with_solutions(&problem, progress)?;
    if let Some(remark) = unsolved(&solutions) {
        tracing::warn!(target: crate::NOT_CONVERGED, "{remark}");
    }
    progress.finish();
    let (names, feature_of) = sorted(counts, &terms);
    let neighbours = match &fitted {
        Fitted::Knn { .. } => rows.iter().map(|&row| counts.ids[row].clone()).collect(),
        Fitted::Linear(_) | Fitted::Trees(_) => Vec::new(),
    };
    let model = Model::new(ModelParts {
        text: (*counts.text).clone(),
        terms: Arc::new(names),
        feature_of,
        labels: Arc::clone(&counts.labels),
        taxonomy,
        ranker: Ranker::Flat(fitted),
        neighbours,
        thresholds,
        curves,
        calibration,
        worth: None,
        summary: TrainingSummary {
            program: TrainingSummary::this_program(),
            documents: rows.len() as u64,
            label_documents: table.label_documents().to_vec(),
            vocabulary: table.df().iter().filter(|&&df| df > 0).count(),
            single_label,
            selector: selector.to_string(),
            classifier,
            seed: options.seed,
            choices: reasons,
            quality: validated.quality,
            folds: match folds {
                0 => 0,
                _ if !counts.validation_for(rows).is_empty() => TrainingSummary::VALIDATED,
                folds => folds.min(rows.len()),
            },
        },
        seen: Seen::of(counts, rows),
        target: None,
        shown: Shown { frontier: frontier.clone(), confusions: validated.confusions, ..Shown::default() },
    })?;
    let ranking = Vec::new();
    Ok(Trained { model, trials, frontier, ranking, thresholds: report, unchanged: None, nodes: None, solutions })
}

/// The model with 8-bit weights, and how often its first label is the same.
pub(super) fn quantised(trained: Trained, counts: &Counts, rows: &[usize]) -> Result<Trained> {
    let mut parts = (*trained.model).clone();
    let Ranker::Flat(Fitted::Linear(linear)) = &parts.ranker else {
        return Err(Error::data(format!(
            "the option `quantise` is for linear models (svm, logistic, bayes), and this is {}",
            parts.summary.classifier
        )));
    };
    let small = linear.quantised()?;
    let narrow = counts.narrowed(&trained.model.text)?;
    let counts = narrow.as_ref().unwrap_or(counts);
    let terms: Vec<u32> = trained.model.features().iter().filter_map(|t| counts.vocabulary.id(t)).collect();
    let problem = Problem::new(counts, rows, &terms);
    let first = |linear| rank_documents(linear, &problem, |_, ranked, _| ranked.first().map(|s| s.label));
    let same = first(linear).iter().zip(first(&small)).filter(|(a, b)| **a == *b).count();
    parts.ranker = Ranker::Flat(Fitted::Linear(small));
    Ok(Trained { model: Model::new(parts)?, unchanged: Some(same as f64 / rows.len() as f64), ..trained })
}

/// What to say where problems were given up before the gap asked for was reached.
pub(super) fn unsolved(solutions: &[Solution]) -> Option<String> {
    let open: Vec<&Solution> = solutions.iter().filter(|solution| !solution.converged).collect();
    let worst = open.iter().map(|solution| solution.relative_gap()).fold(0.0, f64::max);
    let passes = open.iter().map(|solution| solution.iterations).max()?;
    Some(format!(
        "{} of {} problems were given up after {passes} passes, at a gap of at most {worst:.1e} of the objective; more \
         iterations, a larger gap, a smaller C or vectors of a smaller scale help",
        open.len(),
        solutions.len()
    ))
}

/// What is said where folds would leave nothing to learn from.
pub(super) const TOO_FEW: &str =
    "The documents are too few to hold some of them out, so how good the model is is not known.";

/// What decides where nobody said, and why: the best label where every document has one, else thresholds; where nothing can be
/// tuned, what [`untuned`] says. `usual` is how many labels documents have that have some.
pub(super) fn usual_threshold(
    classifier: &ClassifierSpec,
    folds: usize,
    exclusive: bool,
    single_label: bool,
    usual: f64,
) -> (Threshold, String) {
    if exclusive {
        let reason = "Every training document has one label, so each document gets its best one.";
        return (Threshold::rcut(1), reason.into());
    }
    let policy = if folds == 0 { untuned(classifier, usual) } else { Threshold::recommended() };
    let have = if single_label { "one label or none" } else { "several labels" };
    (policy, format!("Documents have {have}, so labels are decided by {policy}."))
}

/// What decides where nothing is tuned: the sign of an SVM's scores, a probability of ½ of logistic regression, else so many labels as documents usually have.
fn untuned(classifier: &ClassifierSpec, usual: f64) -> Threshold {
    if matches!(classifier, ClassifierSpec::Svm(SvmOptions { multi: Multi::Ovr, .. })) {
        return Threshold::Fixed(0.0);
    }
    if classifier.gives_probabilities() {
        return Threshold::Fixed(-std::f64::consts::LN_2);
    }
    Threshold::rcut(usual.round().max(1.0) as u32)
}

impl FitOptions {
    /// What [`FitOptions::fit`] would choose for these documents, without training: the options with selector, number of features and classifier
    /// named, how text becomes terms, and what was compared.
    pub fn pinned(&self, counts: &Counts, rows: &[usize], progress: &dyn Progress) -> Result<Pinned> {
        self.check()?;
        check(counts, rows)?;
        if let (None, Some(given)) = (self.threshold, &self.taxonomy) {
            return worth::pinned(self, counts, rows, &given.of(&counts.labels)?, progress);
        }
        let Choice { terms, classifier, selector, size, trials, frontier, reasons } =
            settle(counts, rows, self, progress)?;
        let options = Self {
            by: Some(selector),
            features: Some(size.map_or(Size::All, Size::Top)),
            classifier: Some(classifier),
            terms_as_counted: true,
            ..self.clone()
        };
        let text = terms.unwrap_or_else(|| (*counts.text).clone());
        Ok(Pinned { options, text, trials, frontier, reasons })
    }
}

/// What was chosen on some documents, to be trained on others.
#[derive(Debug, Clone)]
pub struct Pinned {
    /// Options that leave nothing to choose.
    pub options: FitOptions,
    /// Text to terms.
    pub text: TextOptions,
    /// Candidates that were compared.
    pub trials: Vec<Trial>,
    /// What fewer features cost.
    pub frontier: Vec<FrontierPoint>,
    /// Why, in sentences.
    pub reasons: Vec<String>,
}

/// Chooses what was left open.
pub(super) fn settle(counts: &Counts, rows: &[usize], options: &FitOptions, progress: &dyn Progress) -> Result<Choice> {
    let Some(candidates) = open_choices(options)? else {
        let (Some(selector), Some(classifier)) = (&options.by, &options.classifier) else {
            return Err(Error::data("no candidate to choose from"));
        };
        return Ok(Choice {
            terms: None,
            classifier: classifier.clone(),
            selector: selector.clone(),
            size: if let Some(Size::Top(n)) = options.features { Some(n) } else { None },
            trials: Vec::new(),
            frontier: Vec::new(),
            reasons: Vec::new(),
        });
    };
    let mut choice = choose(counts, rows, &candidates, progress)?;
    if let Some(selector) = &options.by {
        choice.selector = selector.clone();
    }
    match options.features {
        None => {}
        Some(Size::All) => choice.size = None,
        Some(Size::Top(n)) => choice.size = Some(n),
    }
    Ok(choice)
}

/// What is to be chosen from; none where everything is said.
pub(super) fn open_choices(options: &FitOptions) -> Result<Option<ChooseOptions>> {
    if options.by.is_some() && options.classifier.is_some() && options.features.is_some() {
        return Ok(None);
    }
    let one_size = |s: &&Selector| s.as_search().is_some() || s.has_auto();
    if let (Some(expression), None) = (options.by.as_ref().filter(one_size), options.features) {
        return Err(Error::invalid("features", "auto", format!("{expression} selects for one size; name it")));
    }
    let fixed = options.features.map(|size| match size {
        Size::All => Vec::new(),
        Size::Top(n) => vec![n],
    });
    // A search or a λ to learn cannot compete in a sweep: the rest is chosen with its start.
    let stand_in = |s: &Selector| match s.as_search() {
        Some(search) => Ok(search.start().clone()),
        None if s.has_auto() => s.with_lambda(0.5),
        None => Ok(s.clone()),
    };
    if options.loss.is_some_and(|loss| !(0.0..1.0).contains(&loss)) {
        let loss = options.loss.unwrap_or_default();
        return Err(Error::invalid("loss", loss, "a loss of R-precision lies between 0 and 1, such as 0.005"));
    }
    let usual = ChooseOptions::of(options.effort, options.seed);
    Ok(Some(ChooseOptions {
        narrow: usual.narrow && !options.terms_as_counted,
        prefer: options.prefer,
        loss: options.loss.unwrap_or(usual.loss),
        selectors: match &options.by {
            Some(selector) => vec![stand_in(selector)?],
            None => usual.selectors.clone(),
        },
        classifiers: options.classifier.clone().map_or_else(|| usual.classifiers.clone(), |c| vec![c]),
        sizes: fixed.unwrap_or_else(|| usual.sizes.clone()),
        ..usual
    }))
}

/// Learns λ for the size and classifier that will be used (li 4.3).
pub(super) fn lambda(
    counts: &Counts,
    rows: &[usize],
    selector: &Selector,
    size: Option<usize>,
    classifier: &ClassifierSpec,
    options: &FitOptions,
    progress: &dyn Progress,
) -> Result<(Selector, String)> {
    let evaluate = |train: &[usize], test: &[usize], terms: &[u32], sizes: &[usize]| {
        let measure = |ranked: &[Scored], truth: &[u32]| r_precision(ranked, truth);
        let sizes = sizes.iter().map(|&s| s.min(terms.len())).collect();
        let prefixes = Prefixes { terms: terms.to_vec(), sizes };
        means(classifier, Task { counts, train, test }, &prefixes, &measure, progress)
    };
    let size = size.unwrap_or(usize::MAX);
    let usual = LambdaOptions::default();
    let how = LambdaOptions { seed: options.seed, folds: usual.folds.min(rows.len()), ..usual };
    let learned = learn_lambda(selector, counts, rows, &[size], &how, &evaluate, progress)?;
    let lambda = learned.first().map_or(0.5, |l| l.lambda);
    let reason = format!("λ = {lambda:.3} was learned in {} folds with {classifier}.", how.folds);
    Ok((selector.with_lambda(lambda)?, reason))
}

/// Says that documents have no term by what was chosen, where that was not said of all that was counted.
pub(super) fn say_without_terms(narrow: &Counts, counted: &Counts, rows: &[usize]) {
    if let (Some(remark), None) = (narrow.without_terms(rows), counted.without_terms(rows)) {
        tracing::warn!("{remark}");
    }
}

/// The selector, without its cut where that leaves no term.
pub(super) fn sparing(selector: &Selector, table: &Contingency) -> Selector {
    let leaves_some = table.df().iter().any(|&df| df > selector.lowest_cut());
    if leaves_some { selector.clone() } else { selector.clone().with_cut(None) }
}

/// The terms to use, best first.
pub(super) fn terms(
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
    let mut reason = found.map(|f| format!("{selector} took {} steps in {:.1} s ({:?}).", f.steps, f.seconds, f.ended));
    if let Some(size) = size.filter(|&size| size > ranking.len()) {
        reason = Some(format!("{size} features were asked for, and there are {}: all are taken.", ranking.len()));
    }
    Ok((ranking.terms().to_vec(), reason))
}

/// So many folds, or none where the documents are too few: each fold must leave something to be learned.
fn usable_folds(counts: &Counts, rows: &[usize], folds: usize, seed: u64) -> Result<usize> {
    if folds == 0 || rows.len() < 2 {
        return Ok(0);
    }
    let splits = CrossValidation::stratified(counts, rows, folds, seed).splits()?;
    Ok(if splits.iter().all(|split| check(counts, &split.train).is_ok()) { folds } else { 0 })
}

/// What was chosen, to be measured.
struct Chosen<'a> {
    counts: &'a Counts,
    rows: &'a [usize],
    selector: &'a Selector,
    size: Option<usize>,
    classifier: &'a ClassifierSpec,
    budget: &'a Budget,
}

impl Chosen<'_> {
    /// Scores every training document by a model that has not seen it, selection included.
    fn cross_validate(
        &self,
        folds: usize,
        seed: u64,
        decide: Option<Thresholds>,
        progress: &dyn Progress,
    ) -> Result<Validated> {
        let Self { counts, rows, .. } = *self;
        let mut validation = Validation::new(counts.labels.len(), decide)?;
        if folds == 0 {
            return Ok(validation.finish());
        }
        let all = CrossValidation::stratified(counts, rows, folds, seed);
        all.run("validating", 1, progress, |fold, split| {
            let table = Contingency::of_rows(counts, &split.train);
            let (terms, _) = terms(&sparing(self.selector, &table), &table, self.size, self.budget, &Silent)?;
            let fitted = self.classifier.fit(&Problem::new(counts, &split.train, &terms), &Silent)?;
            // In blocks: all ranked lists of a large fold at once would take gigabytes.
            for block in split.test.chunks(4096) {
                let part = Problem::new(counts, block, &terms);
                for (ranked, truth) in
                    rank_documents(&fitted, &part, |_, ranked, truth| (ranked.to_vec(), truth.to_vec()))
                {
                    validation.add(fold, &ranked, &truth);
                }
            }
            progress.add(1);
            Ok(())
        })?;
        Ok(validation.finish())
    }
}
