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

use super::choice::{Choice, HOPELESS, HeatPlan, SearchPlan, Stage, Trial, best_of_all, decide, rivals};
use super::heat::{Candidate, Heat, View};
use crate::classify::{ClassifierSpec, SvmOptions, TreeOptions, Vectors, Weighting};
use crate::counts::Counts;
use crate::features::Selector;
use crate::named::named;
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
    /// Whether fewer terms than were counted compete too: those of [`narrower`](crate::terms::TextOptions::narrower).
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
        // Log ratios are smoothed: with half counts (`lpr`) whatever hardly any document has speaks for the smaller class. Words and pairs,
        // all terms, the best of three C in 5-fold cross-validation: cr 0.7892 to 0.8032 (binary) and 0.8075 to 0.8149 (tfidf), mpqa 0.8467 to
        // 0.8515 and 0.8585 to 0.8586, subj 0.9097 to 0.9121 and 0.9171 to 0.9184, mr 0.7822 to 0.7832 and 0.7883 to 0.7898, film reviews
        // 0.8860 to 0.8855 (binary, which is taken there).
        let vectors = ["tfidf", "tfidf*rf", "tfidf*slpr", "binary*slpr"];
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

/// With more labels than this, pieces of words compete in one form and with two classifiers only: each label is a problem of its
/// own, and on 217 documents with 60 labels the search took 31 s with all of them and 4 s without.
const MANY_LABELS: usize = 10;

/// With more labels than this, label trees compete.
const LABELS_OF_TREES: usize = 500;

/// With more documents times labels than this in a heat, one of its folds is enough: thousands of documents are held out in it, and each
/// fold trains hundreds of classifiers. (advisories: 12,000 documents with 458 labels; Reuters, with all 90 categories, is far below.)
const ONE_FOLD: usize = 2_000_000;

/// A search that is about to begin.
struct Search<'a> {
    counts: &'a Counts,
    options: &'a ChooseOptions,
    /// Documents in the order in which heats take them.
    sample: Vec<usize>,
    views: Vec<View>,
    candidates: Vec<Candidate>,
    /// The size at which candidates compete.
    fixed: usize,
    sizes: Vec<usize>,
    walking: Vec<Selector>,
    /// Whether documents are held out by a validation part.
    validated: bool,
    /// Whether documents times labels are so many that one fold is enough.
    vast: bool,
}

impl<'a> Search<'a> {
    fn new(counts: &'a Counts, rows: &[usize], options: &'a ChooseOptions) -> Result<Self> {
        let mut sample: Vec<usize> =
            rows.iter().copied().filter(|&r| !counts.assignments.range(r).is_empty()).collect();
        // Where all of them have the same labels, those without any are what they must be told from.
        let labels = |row: usize| counts.assignments.row_indices(row);
        if sample.windows(2).all(|w| labels(w[0]) == labels(w[1])) {
            sample = rows.to_vec();
        }
        sample.shuffle(&mut ChaCha8Rng::seed_from_u64(options.seed));
        let mut views = View::all(counts, options.narrow)?;
        let many = counts.labels.len() > MANY_LABELS;
        if many && options.narrow {
            let first = views.iter().position(|view| view.text.has_pieces());
            let first = first.filter(|_| counts.labels.len() <= LABELS_OF_TREES).and_then(|at| views.get(at));
            let first = first.map(|view| view.text.clone());
            views.retain(|view| !view.text.has_pieces() || first.as_ref() == Some(&view.text));
        }
        let open = options.classifiers.len() > 1;
        let vast = sample.len().min(options.documents) * counts.labels.len() > ONE_FOLD;
        let each = |view: usize| {
            let pieces = views[view].text.has_pieces();
            let fits = move |classifier: &&ClassifierSpec| !pieces || !open || suits_pieces(classifier, many);
            let blocks = open && views[view].text.blocks().len() > 1;
            let trees = open && counts.labels.len() > LABELS_OF_TREES;
            let suited =
                options.classifiers.iter().filter(fits).filter(move |c| !(open && vast) || is_scaled(c)).cloned();
            let suited =
                suited.flat_map(move |classifier| if blocks { by_block(classifier) } else { vec![classifier] });
            let classifiers = suited.map(move |classifier| if trees { as_tree(classifier) } else { classifier });
            classifiers.map(move |classifier| Candidate { view, classifier })
        };
        let candidates = (0..views.len()).flat_map(each).collect();
        // A size that was given is the size at which candidates compete.
        let (fixed, sizes) = match options.sizes.as_slice() {
            [size] => (*size, vec![*size]),
            sizes => (usize::MAX, sizes.iter().copied().chain([usize::MAX]).collect()),
        };
        let walking = walking(options, sample.len());
        let validated = !counts.validation_for(rows).is_empty();
        Ok(Self { counts, options, sample, views, candidates, fixed, sizes, walking, validated, vast })
    }

    /// The classifiers that compete, on whatever terms.
    fn classifiers(&self) -> Vec<ClassifierSpec> {
        let mut distinct: Vec<ClassifierSpec> = Vec::new();
        for Candidate { classifier, .. } in &self.candidates {
            if !distinct.contains(classifier) {
                distinct.push(classifier.clone());
            }
        }
        distinct
    }

    /// Folds of the heats that decide. The fewer documents there are, the more their draw weighs, and the cheaper folds are; with
    /// many labels each fold trains many classifiers, on documents enough.
    fn finals(&self) -> usize {
        const MANY_PROBLEMS: usize = 100_000;
        let problems = self.sample.len() * self.counts.labels.len();
        match self.sample.len() {
            0..=3000 => 10.max(self.options.folds),
            3001..=12_000 if problems <= MANY_PROBLEMS => 5.max(self.options.folds),
            _ => self.options.folds,
        }
    }

    /// How many weightings may be added to the finalists.
    fn weightings(&self) -> usize {
        let few = self.candidates.len() > self.options.finalists && self.options.few < self.sample.len();
        if !few {
            return 0;
        }
        let kinds: Vec<Option<Vectors>> = self.candidates.iter().map(weighting).collect();
        let distinct = kinds.iter().enumerate().filter(|(at, kind)| !kinds[..*at].contains(kind)).count();
        distinct - 1
    }

    fn heat(&self, stage: Stage, documents: usize, folds: usize) -> Heat<'_> {
        let mut rows = self.sample[..documents.min(self.sample.len())].to_vec();
        rows.sort_unstable();
        let folds = folds.min(rows.len());
        // Of the few documents that all candidates are tried on, a fold is too small to go by.
        let alone = self.vast && stage != Stage::Choosing;
        Heat { counts: self.counts, rows, folds, alone, seed: self.options.seed, views: &self.views }
    }

    /// Whether there are documents enough to compare anything on. Of twenty, one is worth five points: what won would be luck.
    fn is_possible(&self) -> Result<bool> {
        const LEAST: usize = 20;
        let Self { options, sample, .. } = self;
        Ok(sample.len() >= LEAST.max(2 * options.folds)
            && self.heat(Stage::Choosing, sample.len(), options.folds).is_learnable()?)
    }

    /// The heats to come. What the last one does depends on who wins.
    fn heats(&self) -> Vec<HeatPlan> {
        let Self { options, .. } = self;
        let plan = |stage, documents: usize, folds, candidates, selectors, sizes| HeatPlan {
            stage,
            documents: documents.min(self.sample.len()),
            folds,
            candidates,
            selectors,
            sizes,
        };
        let mut heats = Vec::new();
        if self.candidates.len() > options.finalists {
            heats.push(plan(Stage::Choosing, options.few, options.folds, self.candidates.len(), 1, 1));
        }
        if self.candidates.len() > 1 {
            let finalists = self.candidates.len().min(options.finalists + self.weightings());
            heats.push(plan(Stage::Comparing, options.documents, self.finals(), finalists, 1, 1));
        }
        let (selectors, sizes) = (self.walking.len(), self.sizes.len());
        heats.push(plan(Stage::Walking, options.documents, self.finals().min(5), 1, selectors, sizes));
        if options.classifiers.len() > 1 && self.sample.len().min(options.refined) > options.documents {
            heats.push(plan(Stage::Cost, options.refined, options.folds, 3, 1, 1));
        }
        heats
    }

    fn run(&self, progress: &dyn Progress) -> Result<Choice> {
        let Self { options, views, .. } = self;
        let cutting = &options.selectors[..1];
        let mut candidates = self.candidates.clone();
        let (mut trials, mut compared) = (Vec::new(), Vec::new());
        let mut choice: Option<Choice> = None;
        for plan in self.heats() {
            let heat = self.heat(plan.stage, plan.documents, plan.folds);
            match plan.stage {
                Stage::Choosing | Stage::Comparing => {
                    // One tree tells who is better as well as three do, as long as trees compete among themselves.
                    let tried = if plan.stage == Stage::Choosing { one_tree(&candidates) } else { candidates.clone() };
                    let found = heat.run(plan.stage, &tried, cutting, &[self.fixed], progress)?;
                    candidates = match plan.stage {
                        Stage::Choosing => {
                            let few = plan.documents < self.sample.len();
                            with_flat(finalists(&candidates, &found, options.finalists, few), &candidates, &found)
                        }
                        _ => best_of(&candidates, &found, 1),
                    };
                    trials.extend(found.iter().cloned());
                    compared = found;
                }
                Stage::Walking => {
                    // Of pieces there are many, and with many labels one walk is long enough.
                    let pieces = |candidate: &Candidate| views[candidate.view].text.has_pieces();
                    let trees = |candidate: &Candidate| matches!(candidate.classifier, ClassifierSpec::Tree(_));
                    let long =
                        self.counts.labels.len() > MANY_LABELS && candidates.iter().any(|c| pieces(c) || trees(c));
                    let walking = &self.walking[..if long { 1 } else { self.walking.len() }];
                    let walked = heat.run(plan.stage, &candidates, walking, &self.sizes, progress)?;
                    trials.extend(walked.iter().cloned());
                    let winner = candidates.first().ok_or_else(|| Error::data("no candidate to choose from"))?;
                    let view = Some(&views[winner.view]).filter(|view| !view.has.is_empty());
                    let terms = view.map(|view| view.text.clone());
                    let mut taken =
                        decide(winner, terms, std::mem::take(&mut trials), walked, options, self.validated)?;
                    taken.reasons.extend(rivals(&mut compared));
                    choice = Some(taken);
                }
                Stage::Cost => {
                    if let (Some(choice), Some(winner)) = (&mut choice, candidates.first()) {
                        set_cost(choice, winner, &heat, plan.stage, progress)?;
                    }
                }
            }
        }
        choice.ok_or_else(|| Error::data("no candidate to choose from"))
    }

    /// What is taken where nothing can be compared: the first classifier on all words.
    fn untried(&self) -> Result<Choice> {
        let Self { options, .. } = self;
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
            "{} labelled documents are too few to compare candidates on: {classifier} on {} is taken.",
            self.sample.len(),
            size.map_or("all terms".to_owned(), |size| format!("{size} terms of {selector}"))
        );
        Ok(Choice {
            terms: self.views.first().filter(|view| !view.has.is_empty()).map(|view| view.text.clone()),
            classifier,
            selector,
            size,
            trials: Vec::new(),
            frontier: Vec::new(),
            reasons: vec![reason],
        })
    }
}

/// Sets C once more, on more documents: the more there are, the smaller it should be.
fn set_cost(
    choice: &mut Choice,
    winner: &Candidate,
    heat: &Heat<'_>,
    stage: Stage,
    progress: &dyn Progress,
) -> Result<()> {
    let ClassifierSpec::Svm(svm) = &choice.classifier else { return Ok(()) };
    let lower = |share: f64| {
        let c = format!("{:.1e}", svm.c * share).parse().unwrap_or(svm.c);
        Candidate { view: winner.view, classifier: ClassifierSpec::Svm(SvmOptions { c, ..svm.clone() }) }
    };
    let costs = [0.3, 0.55, 1.0].map(lower);
    let size = choice.size.unwrap_or(usize::MAX);
    let found = heat.run(stage, &costs, std::slice::from_ref(&choice.selector), &[size], progress)?;
    let reached: Vec<String> = found.iter().map(|t| format!("{} {:.4}", t.classifier, t.mean)).collect();
    choice.reasons.push(format!("C was set on {} documents: {}.", found[0].documents, reached.join(", ")));
    choice.classifier = best_of(&costs, &found, 1).remove(0).classifier;
    choice.trials.extend(found);
    Ok(())
}

/// Chooses what was left open on (a sample of) the rows.
pub fn choose(counts: &Counts, rows: &[usize], options: &ChooseOptions, progress: &dyn Progress) -> Result<Choice> {
    let search = Search::new(counts, rows, options)?;
    if search.is_possible()? { search.run(progress) } else { search.untried() }
}

/// What [`choose`] would try. One candidate is tried, to tell how long it takes.
pub fn plan(counts: &Counts, rows: &[usize], options: &ChooseOptions) -> Result<SearchPlan> {
    let search = Search::new(counts, rows, options)?;
    let heats = if search.is_possible()? { search.heats() } else { Vec::new() };
    let mut seconds = 0.0;
    if let (Some(first), Some(candidate)) = (heats.first(), search.candidates.last()) {
        // Bayes costs nothing; the classifier before it on the widest terms is the dearest.
        let dearest =
            search.candidates.iter().rev().find(|c| c.classifier != candidate.classifier).unwrap_or(candidate);
        let heat = search.heat(first.stage, first.documents, options.folds);
        let start = std::time::Instant::now();
        heat.run(
            Stage::Choosing,
            std::slice::from_ref(dearest),
            &options.selectors[..1],
            &[search.fixed],
            &crate::Silent,
        )?;
        let one = start.elapsed().as_secs_f64() / (options.folds * first.documents) as f64;
        let fits = |heat: &HeatPlan| {
            // Smaller sizes are cheaper; nine of them together are about two and a half times all terms.
            let sizes = if heat.sizes > 1 { 3.5 } else { 1.0 };
            (heat.documents * heat.folds * heat.candidates * heat.selectors) as f64 * sizes
        };
        // Most candidates are cheaper: 25 s where this one, taken for all, would have made 74 (cr, 52 candidates).
        seconds = 0.35 * one * heats.iter().map(fits).sum::<f64>();
    }
    Ok(SearchPlan {
        heats,
        terms: search.views.iter().map(|view| view.text.to_string()).collect(),
        classifiers: search.classifiers(),
        selectors: search.walking.iter().map(ToString::to_string).collect(),
        seconds,
    })
}

/// Whether vectors have length 1, whatever they are of. Others take an SVM ten times as long (4.8 s instead of 0.4 on 8,000 documents
/// with 458 labels), and hardly ever win where labels are many.
fn is_scaled(classifier: &ClassifierSpec) -> bool {
    !matches!(classifier, ClassifierSpec::Svm(svm) if svm.vectors.weighting == Weighting::Binary)
}

/// The same as label trees: a quarter of the work where labels are thousands.
fn as_tree(classifier: ClassifierSpec) -> ClassifierSpec {
    match classifier {
        ClassifierSpec::Svm(base) => ClassifierSpec::Tree(TreeOptions { base: base.into(), ..TreeOptions::default() }),
        other => other,
    }
}

/// The same with one tree instead of several.
fn one_tree(candidates: &[Candidate]) -> Vec<Candidate> {
    let one = |candidate: &Candidate| match &candidate.classifier {
        ClassifierSpec::Tree(tree) => {
            let classifier = ClassifierSpec::Tree(TreeOptions { trees: 1, ..tree.clone() });
            Candidate { classifier, ..candidate.clone() }
        }
        _ => candidate.clone(),
    };
    candidates.iter().map(one).collect()
}

/// The finalists; and where label trees stood for labels side by side, the best of them as just that, too.
fn with_flat(mut finalists: Vec<Candidate>, candidates: &[Candidate], trials: &[Trial]) -> Vec<Candidate> {
    let tree = best_of_all(trials).into_iter().find_map(|at| match &candidates[at].classifier {
        ClassifierSpec::Tree(tree) => Some((candidates[at].view, tree.base.clone())),
        _ => None,
    });
    if let Some((view, base)) = tree {
        finalists.push(Candidate { view, classifier: base.into() });
    }
    finalists
}

/// Whether a classifier may win on pieces of words, which are ten times as many as words. Presence weighed by ratios and Bayes
/// count what overlaps again and again; they came last on mr, cr, mpqa, subj and trec. With many labels, those that do well nearly
/// everywhere stand for the rest.
fn suits_pieces(classifier: &ClassifierSpec, many: bool) -> bool {
    match classifier {
        ClassifierSpec::Svm(svm) => {
            let usual = svm.c == 1.0 && svm.vectors.by.is_none_or(|score| score.to_string() == "rf");
            svm.vectors.weighting == Weighting::TfIdf && (usual || !many)
        }
        _ => false,
    }
}

/// The same with blocks of terms scaled by themselves. In 5-fold cross-validation on training documents, words and characters
/// together gain by it with `tfidf` on mr (0.7827 to 0.7897), cr (0.8143 to 0.8196), mpqa (0.8661 to 0.8710), subj (0.9212 to 0.9252)
/// and trec (0.8612 to 0.8747), and with `tfidf*rf` on Reuters (0.9511 to 0.9517) and 20 Newsgroups (0.9396 to 0.9427). With
/// weights by log ratios it is the one on mr and cr, the other on subj and mpqa (`tfidf*lpr`): there both compete.
fn by_block(classifier: ClassifierSpec) -> Vec<ClassifierSpec> {
    match &classifier {
        ClassifierSpec::Svm(svm) if svm.vectors.weighting == Weighting::TfIdf => {
            let vectors = Vectors { weighting: Weighting::TfIdfByBlock, ..svm.vectors };
            let apart = ClassifierSpec::Svm(SvmOptions { vectors, ..svm.clone() });
            let both = svm.vectors.by.is_some_and(|score| score.to_string() == "slpr");
            if both { vec![apart, classifier] } else { vec![apart] }
        }
        _ => vec![classifier],
    }
}

/// The selectors to walk along: the first, and one more. Terms of one document are worth keeping where documents are few or
/// short (half a point on mpqa, in cross-validation on training documents); of many documents they are half of all terms, and
/// noise, and another score competes instead.
fn walking(options: &ChooseOptions, documents: usize) -> Vec<Selector> {
    let few = documents <= options.documents;
    let second = options.selectors.iter().skip(1).find(|selector| (selector.lowest_cut() == 0) == few);
    options.selectors.iter().take(1).chain(second.or(options.selectors.get(1))).cloned().collect()
}

/// The candidates with the best trials, in the order they had; of equals the earlier ones.
fn best_of(candidates: &[Candidate], trials: &[Trial], most: usize) -> Vec<Candidate> {
    let mut order = best_of_all(trials);
    order.truncate(most);
    order.sort_unstable();
    order.into_iter().map(|at| candidates[at].clone()).collect()
}

/// How a candidate weighs terms, whatever blocks they are of; nothing where it has its own way.
fn weighting(candidate: &Candidate) -> Option<Vectors> {
    match &candidate.classifier {
        ClassifierSpec::Svm(svm) if svm.vectors.weighting == Weighting::TfIdfByBlock => {
            Some(Vectors { weighting: Weighting::TfIdf, ..svm.vectors })
        }
        ClassifierSpec::Svm(svm) => Some(svm.vectors),
        ClassifierSpec::Tree(tree) => Some(*tree.base.vectors()),
        _ => None,
    }
}

/// Who runs again on more documents: the best, and where few of the documents were tried, also the best of every other weighting
/// that is not hopeless. Weightings by class need documents to be learned from: what comes fourth on 3,000 of them may be first on
/// all.
fn finalists(candidates: &[Candidate], trials: &[Trial], most: usize, few: bool) -> Vec<Candidate> {
    let mut chosen = best_of(candidates, trials, most);
    if few {
        let ranked = best_of_all(trials);
        let (best, folds) = ranked.first().map_or((0.0, 0), |&at| (trials[at].mean, trials[at].folds));
        for at in ranked.into_iter().filter(|&at| trials[at].folds == folds) {
            let new = chosen.iter().all(|other| weighting(other) != weighting(&candidates[at]));
            if new && trials[at].mean > best - HOPELESS {
                chosen.push(candidates[at].clone());
            }
        }
    }
    chosen
}
