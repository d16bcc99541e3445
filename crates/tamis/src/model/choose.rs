//! Choosing terms, weighting, classifier, C, selector and size: many candidates on few documents, few on many.
//!
//! Heats, each by cross-validated R-precision. In the first all candidates (what a term is × classifiers with their
//! vectors and C) run on a small sample; the best few run again on a larger one; the best of them walks the sizes of all
//! selectors; and where there are many more documents, C is set once more on all of them. The work is bounded by numbers of
//! documents and candidates, never by the clock, so the same seed gives the same choice anywhere (successive halving: Jamieson &
//! Talwalkar 2016).

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::costs::{found, paths};
use super::fit::check;
use crate::classify::sweep::{Prefixes, Task};
use crate::classify::{ClassifierSpec, SvmOptions};
use crate::counts::{Contingency, Counts, CrossValidation, Split};
use crate::features::{Selector, rank_all};
use crate::named::named;
use crate::terms::TextOptions;
use crate::{Error, Progress, Result};

named! {
    /// How much work choosing may be.
    #[derive(Default)]
    pub enum Effort ("effort") {
        /// Two classifiers on the terms as they were counted.
        Quick = "quick",
        /// Also shorter terms, vectors weighted by selectors, and C.
        #[default]
        Usual = "usual",
        /// The same over more values of C and more documents.
        Thorough = "thorough",
    }
}

named! {
    /// Which of the sizes is taken.
    #[derive(Default)]
    pub enum Prefer ("preference") {
        /// The one that did best.
        #[default]
        Best = "best",
        /// The smallest that loses no more than was allowed.
        Small = "small",
    }
}

/// What to choose from, and how carefully.
#[derive(Debug, Clone)]
pub struct ChooseOptions {
    /// Selectors that compete; the first also cuts terms while classifiers compete.
    pub selectors: Vec<Selector>,
    /// Classifiers that compete.
    pub classifiers: Vec<ClassifierSpec>,
    /// Whether fewer terms than were counted compete too: those of [`TextOptions::narrower`].
    pub narrow: bool,
    /// Sizes that compete, and all terms with them; one alone is the size that was asked for.
    pub sizes: Vec<usize>,
    /// Folds.
    pub folds: usize,
    /// Documents of the first heat.
    pub few: usize,
    /// Most documents of the others: choosing needs fewer than training.
    pub documents: usize,
    /// Most documents on which C is set once more, for the more there are, the smaller it should be; 0 leaves it out.
    pub refined: usize,
    /// Candidates of the second heat.
    pub finalists: usize,
    /// Which size is taken.
    pub prefer: Prefer,
    /// How much R-precision a smaller size may cost, where small is preferred.
    pub loss: f64,
    /// Seed of samples and folds.
    pub seed: u64,
}

impl ChooseOptions {
    /// The candidates of an effort.
    pub fn of(effort: Effort, seed: u64) -> Self {
        let parse = |name: &str| name.parse::<Selector>().expect("a selector of the registry");
        let costs: &[&str] = match effort {
            Effort::Quick => &[],
            Effort::Usual => &["0.1", "0.3", "1", "3"],
            Effort::Thorough => &["0.03", "0.1", "0.2", "0.5", "1", "2", "5", "10"],
        };
        let vectors = ["tfidf", "tfidf*rf", "binary*lpr"];
        let svms = vectors.iter().flat_map(|v| costs.iter().map(move |c| format!("svm(c={c},vectors={v})")));
        let names: Vec<String> = match effort {
            Effort::Quick => vec!["svm".into(), "bayes".into()],
            _ => svms.chain(["bayes".to_owned()]).collect(),
        };
        let classifier = |name: &String| name.parse::<ClassifierSpec>().expect("a classifier of the registry");
        Self {
            selectors: match effort {
                Effort::Quick => ["chi2max@1", "ig@1"].map(parse).to_vec(),
                _ => ["chi2max@1", "ig@1", "chi2max"].map(parse).to_vec(),
            },
            classifiers: names.iter().map(classifier).collect(),
            narrow: effort != Effort::Quick,
            sizes: vec![200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000],
            folds: 3,
            few: 3000,
            documents: if effort == Effort::Thorough { 40_000 } else { 12_000 },
            refined: match effort {
                Effort::Quick => 0,
                Effort::Usual => 60_000,
                Effort::Thorough => 200_000,
            },
            finalists: if effort == Effort::Thorough { 8 } else { 4 },
            prefer: Prefer::Best,
            loss: 0.005,
            seed,
        }
    }
}

/// One candidate and how it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Documents it was tried on.
    pub documents: usize,
    /// Terms expression.
    pub terms: String,
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

/// What fewer terms cost: a number of terms of the candidate that was taken, and what it reached.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FrontierPoint {
    /// Number of features.
    pub size: usize,
    /// Mean R-precision over folds.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
    /// Its share of the best.
    pub kept: f64,
}

/// What was chosen and from what.
#[derive(Debug, Clone)]
pub struct Choice {
    /// What a term is, narrower than what was counted; `None`: as counted.
    pub terms: Option<TextOptions>,
    /// The classifier.
    pub classifier: ClassifierSpec,
    /// The selector.
    pub selector: Selector,
    /// The number of features; `None` for all.
    pub size: Option<usize>,
    /// All candidates, heat by heat.
    pub trials: Vec<Trial>,
    /// What fewer words cost, fewest first.
    pub frontier: Vec<FrontierPoint>,
    /// Why, in sentences.
    pub reasons: Vec<String>,
}

/// How terms and classifier are set for a trial.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    /// Number of the view.
    pub(super) view: usize,
    pub(super) classifier: ClassifierSpec,
}

/// The documents of a heat.
struct Heat<'a> {
    counts: &'a Counts,
    rows: Vec<usize>,
    options: &'a ChooseOptions,
    views: &'a [View],
}

/// Terms that compete: all that were counted, or those of narrower options.
struct View {
    text: TextOptions,
    /// Whether it has each term; empty where it has all.
    has: Vec<bool>,
}

impl View {
    /// What was counted, narrower views first.
    fn all(counts: &Counts, narrow: bool) -> Result<Vec<Self>> {
        let texts = if narrow { counts.text.narrower() } else { vec![(*counts.text).clone()] };
        let view = |text: TextOptions| {
            let has = if text == *counts.text {
                Vec::new()
            } else {
                let also = counts.text.also_in(&text, counts.vocabulary.iter())?;
                also.iter().map(Option::is_some).collect()
            };
            Ok(Self { text, has })
        };
        texts.into_iter().map(view).collect()
    }

    fn terms(&self, ranked: &[u32]) -> Vec<u32> {
        if self.has.is_empty() {
            return ranked.to_vec();
        }
        ranked.iter().copied().filter(|&t| self.has[t as usize]).collect()
    }
}

impl Heat<'_> {
    /// Trials of the candidates at the given sizes (`usize::MAX` for all) of the given selectors.
    fn run(
        &self,
        stage: &str,
        candidates: &[Candidate],
        selectors: &[Selector],
        sizes: &[usize],
        progress: &dyn Progress,
    ) -> Result<Vec<Trial>> {
        let Self { counts, options, .. } = *self;
        // values[candidate][selector][size] over folds.
        let mut values = vec![vec![vec![Vec::new(); sizes.len()]; selectors.len()]; candidates.len()];
        let mut longest = vec![vec![0; selectors.len()]; candidates.len()];
        let folds = folds(counts, &self.rows, options);
        let groups = paths(candidates, sizes.len());
        let steps = (candidates.len() * selectors.len()) as u64;
        folds.run(stage, steps, progress, |_, Split { train, test }| {
            let task = Task { counts, train, test };
            let table = Contingency::of_rows(counts, train);
            for (s, ranking) in rank_all(selectors, &table)?.iter().enumerate() {
                for group in &groups {
                    if progress.cancelled() {
                        return Err(Error::Interrupted);
                    }
                    let terms = self.views[candidates[group[0]].view].terms(ranking.terms());
                    for &c in group {
                        longest[c][s] = terms.len().max(longest[c][s]);
                    }
                    // Sizes beyond the terms are all the same size, and are walked once.
                    let mut real: Vec<usize> = sizes.iter().map(|&size| size.min(terms.len())).collect();
                    real.dedup();
                    let prefixes = Prefixes { terms, sizes: real };
                    for (&c, found) in group.iter().zip(found(candidates, group, task, &prefixes, progress)?) {
                        for (at, all) in values[c][s].iter_mut().enumerate() {
                            all.extend(found.get(at).or(found.last()));
                        }
                    }
                    progress.add(group.len() as u64);
                }
            }
            Ok(())
        })?;
        let mut trials = Vec::new();
        for (c, candidate) in candidates.iter().enumerate() {
            for (s, selector) in selectors.iter().enumerate() {
                for (at, &size) in sizes.iter().enumerate() {
                    let most = longest[c][s];
                    // A size beyond all terms is all terms, and those are there once.
                    if sizes.len() > 1 && size != usize::MAX && size >= most {
                        continue;
                    }
                    let (mean, error) = mean_and_error(&values[c][s][at]);
                    trials.push(Trial {
                        documents: self.rows.len(),
                        terms: self.views[candidate.view].text.to_string(),
                        classifier: candidate.classifier.clone(),
                        selector: selector.to_string(),
                        size: size.min(most),
                        all: size >= most,
                        mean,
                        error,
                    });
                }
            }
        }
        Ok(trials)
    }
}

/// Fewer documents than this are few.
const FEW: usize = 300;

/// Folds of a heat. Few documents are stratified: drawn at random, a fold might leave no document of a label to learn from.
fn folds<'a>(counts: &'a Counts, rows: &'a [usize], options: &ChooseOptions) -> CrossValidation<'a> {
    if rows.len() < FEW {
        CrossValidation::stratified(counts, rows, options.folds, options.seed)
    } else {
        CrossValidation::random(counts, rows, options.folds, options.seed)
    }
}

/// Whether each fold leaves something to be learned.
fn learnable(counts: &Counts, rows: &[usize], options: &ChooseOptions) -> Result<bool> {
    Ok(folds(counts, rows, options).splits()?.iter().all(|split| check(counts, &split.train).is_ok()))
}

/// What is taken where nothing can be compared: the first classifier on all terms.
fn too_few(documents: usize, options: &ChooseOptions) -> Result<Choice> {
    let classifier = options.classifiers.first().ok_or_else(|| Error::data("no candidate to choose from"))?.clone();
    let selector = match options.selectors.as_slice() {
        [given] => given.clone(),
        // A cut might leave no word of so few documents.
        _ => "chi2max".parse()?,
    };
    let size = match options.sizes.as_slice() {
        [size] => Some(*size),
        _ => None,
    };
    let reason = format!(
        "{documents} labelled documents are too few to compare candidates on: {classifier} on {} is taken.",
        size.map_or("all terms".to_owned(), |size| format!("{size} terms of {selector}"))
    );
    Ok(Choice {
        terms: None,
        classifier,
        selector,
        size,
        trials: Vec::new(),
        frontier: Vec::new(),
        reasons: vec![reason],
    })
}

/// Chooses what was left open on (a sample of) the rows.
pub fn choose(counts: &Counts, rows: &[usize], options: &ChooseOptions, progress: &dyn Progress) -> Result<Choice> {
    let mut sample: Vec<usize> = rows.iter().copied().filter(|&r| !counts.assignments.range(r).is_empty()).collect();
    // Where all of them have the same labels, those without any are what they must be told from.
    let labels = |row: usize| counts.assignments.row_indices(row);
    if sample.windows(2).all(|w| labels(w[0]) == labels(w[1])) {
        sample = rows.to_vec();
    }
    if sample.len() < 2 * options.folds || !learnable(counts, &sample, options)? {
        return too_few(sample.len(), options);
    }
    sample.shuffle(&mut ChaCha8Rng::seed_from_u64(options.seed));
    let first = |n: usize| {
        let mut some = sample[..n.min(sample.len())].to_vec();
        some.sort_unstable();
        some
    };
    let views = View::all(counts, options.narrow)?;
    let each = |view| options.classifiers.iter().cloned().map(move |classifier| Candidate { view, classifier });
    let mut candidates: Vec<Candidate> = (0..views.len()).flat_map(each).collect();
    let cutting = &options.selectors[..1];
    // A size that was given is the size at which candidates compete.
    let fixed = match options.sizes.as_slice() {
        [size] => *size,
        _ => usize::MAX,
    };
    let heat = |n: usize| Heat { counts, rows: first(n), options, views: &views };
    let mut trials = Vec::new();
    if candidates.len() > options.finalists && sample.len() > options.few {
        let found = heat(options.few).run("choosing", &candidates, cutting, &[fixed], progress)?;
        candidates = best_of(&candidates, &found, options.finalists);
        trials.extend(found);
    }
    let all = heat(options.documents);
    if candidates.len() > 1 {
        let found = all.run("comparing the best", &candidates, cutting, &[fixed], progress)?;
        candidates = best_of(&candidates, &found, 1);
        trials.extend(found);
    }
    let sizes: Vec<usize> = match options.sizes.as_slice() {
        [_] => vec![fixed],
        sizes => sizes.iter().copied().chain([usize::MAX]).collect(),
    };
    let walked = all.run("walking sizes", &candidates, &walking(options, sample.len()), &sizes, progress)?;
    trials.extend(walked.iter().cloned());
    let winner = candidates.first().ok_or_else(|| Error::data("no candidate to choose from"))?;
    let validated = !counts.validation_for(rows).is_empty();
    let terms = Some(&views[winner.view]).filter(|view| !view.has.is_empty()).map(|view| view.text.clone());
    let mut choice = decide(winner, terms, trials, walked, options, validated)?;
    if let ClassifierSpec::Svm(svm) = &choice.classifier
        && options.classifiers.len() > 1
        && sample.len().min(options.refined) > options.documents
    {
        let lower = |share: f64| {
            let c = format!("{:.1e}", svm.c * share).parse().unwrap_or(svm.c);
            Candidate { view: winner.view, classifier: ClassifierSpec::Svm(SvmOptions { c, ..svm.clone() }) }
        };
        let costs = [0.3, 0.55, 1.0].map(lower);
        let size = choice.size.unwrap_or(usize::MAX);
        let selector = std::slice::from_ref(&choice.selector);
        let found = heat(options.refined).run("setting C", &costs, selector, &[size], progress)?;
        let reached: Vec<String> = found.iter().map(|t| format!("{} {:.4}", t.classifier, t.mean)).collect();
        choice.reasons.push(format!("C was set on {} documents: {}.", found[0].documents, reached.join(", ")));
        choice.classifier = best_of(&costs, &found, 1).remove(0).classifier;
        choice.trials.extend(found);
    }
    Ok(choice)
}

/// The selectors to walk along. Terms of one document are worth keeping where documents are few or short (half a point on mpqa,
/// in cross-validation on training documents); of many documents they are half of all terms, and noise.
fn walking(options: &ChooseOptions, documents: usize) -> Vec<Selector> {
    let all = &options.selectors;
    let cuts = |selector: &&Selector| all.len() == 1 || documents <= options.documents || selector.lowest_cut() > 0;
    all.iter().filter(cuts).cloned().collect()
}

/// The candidates with the best trials, in the order they had; of equals the earlier ones.
fn best_of(candidates: &[Candidate], trials: &[Trial], most: usize) -> Vec<Candidate> {
    // One trial a candidate.
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|&a, &b| trials[b].mean.total_cmp(&trials[a].mean).then(a.cmp(&b)));
    order.truncate(most);
    order.sort_unstable();
    order.into_iter().map(|at| candidates[at].clone()).collect()
}

fn decide(
    winner: &Candidate,
    terms: Option<TextOptions>,
    trials: Vec<Trial>,
    walked: Vec<Trial>,
    options: &ChooseOptions,
    validated: bool,
) -> Result<Choice> {
    // Ties go to the earlier candidate, which is the smaller size.
    let best = walked
        .iter()
        .reduce(|best, t| if t.mean > best.mean { t } else { best })
        .ok_or_else(|| Error::data("no candidate to choose from"))?;
    let same: Vec<&Trial> = walked.iter().filter(|t| t.selector == best.selector).collect();
    let taken = match options.prefer {
        Prefer::Best => best,
        Prefer::Small => same.iter().find(|t| t.mean >= best.mean - options.loss).copied().unwrap_or(best),
    };
    let share = |mean: f64| if best.mean > 0.0 { mean / best.mean } else { 1.0 };
    let frontier: Vec<FrontierPoint> = same
        .iter()
        .map(|t| FrontierPoint { size: t.size, mean: t.mean, error: t.error, kept: share(t.mean) })
        .collect();
    let size = |t: &Trial| if t.all { "all terms".to_owned() } else { format!("{} terms", t.size) };
    let mut reasons = vec![format!(
        "{} on {} with {} of {} reached R-precision {:.4} ± {:.4} {} {} labelled training documents, and came first \
         of {} trials in all.",
        best.classifier,
        best.terms,
        size(best),
        best.selector,
        best.mean,
        best.error,
        if validated {
            "on the validation part, trained on".to_owned()
        } else {
            format!("in {}-fold cross-validation on", options.folds)
        },
        best.documents,
        trials.len()
    )];
    if taken != best {
        reasons.push(format!(
            "{} reach {:.4}, no more than {} below it, and are taken.",
            size(taken),
            taken.mean,
            options.loss
        ));
    }
    // Who came next, by terms and by classifier.
    let beaten = trials.iter().filter(|t| t.documents == best.documents && t.all);
    let mut others: Vec<&Trial> =
        beaten.filter(|t| (&t.terms, &t.classifier) != (&best.terms, &best.classifier)).collect();
    others.sort_by(|a, b| b.mean.total_cmp(&a.mean));
    for rival in others.iter().take(2) {
        reasons.push(format!("{} on {} reached {:.4}.", rival.classifier, rival.terms, rival.mean));
    }
    let selector = options.selectors.iter().find(|s| s.to_string() == taken.selector).cloned();
    let selector = selector.ok_or_else(|| Error::data("no candidate to choose from"))?;
    let (classifier, size) = (winner.classifier.clone(), (!taken.all).then_some(taken.size));
    Ok(Choice { terms, classifier, selector, size, trials, frontier, reasons })
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, (variance / n).sqrt())
}
