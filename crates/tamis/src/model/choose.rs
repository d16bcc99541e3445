//! Choosing selector, size and classifier by cross-validation along the nested sweep.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::classify::sweep::{Prefixes, Task, means};
use crate::classify::{ClassifierSpec, Scored};
use crate::counts::{Contingency, Counts, CrossValidation, Split};
use crate::features::{Selector, rank_all};
use crate::measure::ranking::r_precision;
use crate::{Error, Progress, Result};

/// What to choose from, and how carefully.
#[derive(Debug, Clone)]
pub struct ChooseOptions {
    /// Selectors that compete.
    pub selectors: Vec<Selector>,
    /// Classifiers that compete.
    pub classifiers: Vec<ClassifierSpec>,
    /// Sizes that compete; all terms always do.
    pub sizes: Vec<usize>,
    /// Folds.
    pub folds: usize,
    /// Most documents used: choosing needs fewer than training.
    pub documents: usize,
    /// Seed of sample and folds.
    pub seed: u64,
}

impl ChooseOptions {
    /// The usual candidates.
    pub fn usual(seed: u64) -> Self {
        let parse = |name: &str| name.parse::<Selector>().expect("a selector of the registry");
        let classifier = |name: &str| name.parse::<ClassifierSpec>().expect("a classifier of the registry");
        Self {
            selectors: ["chi2max@1", "ig@1"].map(parse).to_vec(),
            classifiers: ["svm", "bayes"].map(classifier).to_vec(),
            sizes: vec![200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000],
            folds: 3,
            documents: 12_000,
            seed,
        }
    }
}

/// One candidate and how it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Classifier.
    pub classifier: ClassifierSpec,
    /// Selector expression.
    pub selector: String,
    /// Number of features; what `all` came to in the largest fold.
    pub size: usize,
    /// Whether the size stands for all terms.
    pub all: bool,
    /// Mean R-precision over folds.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
}

/// What was chosen and from what.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The classifier.
    pub classifier: ClassifierSpec,
    /// The selector.
    pub selector: Selector,
    /// The number of features; `None` for all.
    pub size: Option<usize>,
    /// All candidates.
    pub trials: Vec<Trial>,
    /// Why, in sentences.
    pub reasons: Vec<String>,
}

/// Cross-validates all candidates on (a sample of) the rows. The best mean R-precision names selector and classifier; of
/// its sizes, the smallest within one standard error of the best is taken.
pub fn choose(counts: &Counts, rows: &[usize], options: &ChooseOptions, progress: &dyn Progress) -> Result<Choice> {
    let mut sample: Vec<usize> = rows.iter().copied().filter(|&r| !counts.assignments.range(r).is_empty()).collect();
    if sample.len() < 2 * options.folds {
        return Err(Error::data(format!(
            "{} labelled documents are too few to choose by cross-validation; name the option `by`, the option `features` and the option `classifier`",
            sample.len()
        )));
    }
    // Where all of them have the same labels, those without any are what they must be told from.
    let labels = |row: usize| counts.assignments.row_indices(row);
    if sample.windows(2).all(|w| labels(w[0]) == labels(w[1])) {
        sample = rows.to_vec();
    }
    if sample.len() > options.documents {
        sample.shuffle(&mut ChaCha8Rng::seed_from_u64(options.seed));
        sample.truncate(options.documents);
        sample.sort_unstable();
    }
    let candidates = options.selectors.len() * options.classifiers.len();
    // values[classifier][selector][size] over folds; the last size is all terms.
    let sizes: Vec<usize> = options.sizes.iter().copied().chain([usize::MAX]).collect();
    let mut values = vec![vec![vec![Vec::new(); sizes.len()]; options.selectors.len()]; options.classifiers.len()];
    let mut longest = 0;
    let folds = CrossValidation::random(counts, &sample, options.folds, options.seed);
    folds.run("choosing", candidates as u64, progress, |_, Split { train, test }| {
        let task = Task { counts, train, test };
        let table = Contingency::of_rows(counts, train);
        for (s, ranking) in rank_all(&options.selectors, &table)?.iter().enumerate() {
            longest = longest.max(ranking.len());
            let real: Vec<usize> = sizes.iter().map(|&size| size.min(ranking.len())).collect();
            let prefixes = Prefixes { terms: ranking.terms().to_vec(), sizes: real };
            for (c, classifier) in options.classifiers.iter().enumerate() {
                if progress.cancelled() {
                    return Err(Error::Interrupted);
                }
                let measure = |ranked: &[Scored], truth: &[u32]| r_precision(ranked, truth);
                for (at, mean) in means(classifier, task, &prefixes, &measure, progress)?.into_iter().enumerate() {
                    values[c][s][at].push(mean);
                }
                progress.add(1);
            }
        }
        Ok(())
    })?;
    let mut trials = Vec::new();
    for (c, classifier) in options.classifiers.iter().enumerate() {
        for (s, selector) in options.selectors.iter().enumerate() {
            for (at, &size) in sizes.iter().enumerate() {
                if size != usize::MAX && size >= longest {
                    continue;
                }
                let (mean, error) = mean_and_error(&values[c][s][at]);
                let (all, size) = (size == usize::MAX, size.min(longest));
                let (classifier, selector) = (classifier.clone(), selector.to_string());
                trials.push(Trial { classifier, selector, size, all, mean, error });
            }
        }
    }
    decide(trials, options, sample.len())
}

fn decide(trials: Vec<Trial>, options: &ChooseOptions, documents: usize) -> Result<Choice> {
    // Ties go to the earlier candidate, which is the smaller size.
    let best = trials
        .iter()
        .reduce(|best, t| if t.mean > best.mean { t } else { best })
        .ok_or_else(|| Error::data("no candidate to choose from"))?;
    let same = |t: &&Trial| t.classifier == best.classifier && t.selector == best.selector;
    let taken = trials.iter().filter(same).find(|t| t.mean >= best.mean - best.error).unwrap_or(best);
    let size = |t: &Trial| if t.all { format!("all {} words", t.size) } else { format!("{} words", t.size) };
    let mut reasons = vec![format!(
        "{} with {} of {} reached R-precision {:.4} ± {:.4} in {}-fold cross-validation on {documents} training documents, \
         the best of {} candidates.",
        best.classifier,
        size(best),
        best.selector,
        best.mean,
        best.error,
        options.folds,
        trials.len()
    )];
    if taken != best {
        reasons.push(format!(
            "{} reach {:.4}, within one standard error of it, so the smaller model is taken.",
            size(taken),
            taken.mean
        ));
    }
    for other in &options.classifiers {
        let rival = trials
            .iter()
            .filter(|t| t.classifier == *other && t.classifier != best.classifier)
            .reduce(|best, t| if t.mean > best.mean { t } else { best });
        if let Some(rival) = rival {
            reasons.push(format!("{other} reached at most {:.4} ({}).", rival.mean, size(rival)));
        }
    }
    let selector = options
        .selectors
        .iter()
        .find(|s| s.to_string() == taken.selector)
        .cloned()
        .ok_or_else(|| Error::data("no candidate to choose from"))?;
    let (classifier, size) = (taken.classifier.clone(), (!taken.all).then_some(taken.size));
    Ok(Choice { classifier, selector, size, trials, reasons })
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, (variance / n).sqrt())
}
