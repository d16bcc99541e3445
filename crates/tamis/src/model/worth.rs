//! Labels along a taxonomy by what answers are worth: flat, along the taxonomy, or both, whichever does best on held-out
//! documents (method 10).

use std::sync::Arc;

use super::choice::Choice;
use super::costs::roughly;
use super::fit::{NodesSeen, Trained, sorted};
use super::flat::Pinned;
use super::form::{Form, close, most_specific};
use super::held::Held;
use super::members::{Candidate, Members};
use super::{FitOptions, Model, ModelParts, Ranker, SearchPlan, Seen, Shown, TrainingSummary, flat, plan};
use crate::classify::{Fitted, Problem};
use crate::counts::{Contingency, Counts, CrossValidation, Csr};
use crate::features::Size;
use crate::hierarchy::{CostTable, Goal, Taxonomy, Worth};
use crate::threshold::{Calibration, Threshold, Thresholds};
use crate::{Error, Progress, Result, Silent};

/// With more documents, one fold of five is enough to compare candidates on.
const MANY_DOCUMENTS: usize = 20_000;

/// By less than this nothing is better: the simpler candidate is taken.
const NOTHING: f64 = 5e-4;

/// Compares, takes the best, and fits it to all documents.
pub(super) fn fit(
    options: &FitOptions,
    counts: &Counts,
    rows: &[usize],
    taxonomy: Taxonomy,
    progress: &dyn Progress,
) -> Result<Trained> {
    let (mut search, form) = Search::begin(options, counts, rows, &taxonomy, progress)?;
    let Compared { members, best, held, choices } = search.compare(&form, progress)?;
    let Some((candidate, held)) = best.zip(held) else { return search.side_by_side(choices, progress) };
    let (calibration, least) = held.learn(&search.worth, search.taxonomy)?;
    search.worth.least = least;
    let quality = held.quality(&search.worth, search.taxonomy)?;
    drop(held);
    search.finish(&members, &candidate, Learned { calibration, quality, choices }, progress)
}

/// Compares, and says what is best as options that leave nothing to choose: for documents that are not all here.
pub(super) fn pinned(
    options: &FitOptions,
    counts: &Counts,
    rows: &[usize],
    taxonomy: &Taxonomy,
    progress: &dyn Progress,
) -> Result<Pinned> {
    let (mut search, form) = Search::begin(options, counts, rows, taxonomy, progress)?;
    let Compared { members, best, choices, .. } = search.compare(&form, progress)?;
    let Choice { classifier, selector, size, trials, frontier, .. } = search.choice;
    Ok(Pinned {
        options: FitOptions {
            by: Some(selector),
            features: Some(size.map_or(Size::All, Size::Top)),
            classifier: Some(best.as_ref().map_or(classifier, |candidate| members.spec(candidate))),
            threshold: best.is_none().then(|| Threshold::recommended().into()),
            terms_as_counted: true,
            ..options.clone()
        },
        text: (*search.counts.text).clone(),
        trials,
        frontier,
        reasons: choices,
    })
}

/// How answers are chosen for documents labelled like these.
pub(super) fn worth_of(options: &FitOptions, form: &Form, taxonomy: &Taxonomy) -> Result<Worth> {
    let goal = options.goal().unwrap_or(if form.one { Goal::Exact } else { Goal::Hf1 });
    if goal == Goal::Cost && options.hierarchy.costs.is_none() {
        return Err(Error::invalid("goal", goal, "needs a table of costs: the option `costs`"));
    }
    let costs = match (&options.hierarchy.costs, goal) {
        (Some(path), Goal::Cost) => Some(CostTable::open(path, taxonomy)?),
        _ => None,
    };
    if goal == Goal::Cost && !form.one {
        return Err(Error::invalid(
            "goal",
            goal,
            "costs are of one answer for each document, and these have several labels",
        ));
    }
    Ok(Worth { goal, one: form.one, closed: form.closed, least: 0.5, costs })
}

/// What the documents are like, and what they are given.
pub(super) fn about(worth: &Worth, form: &Form) -> String {
    let labels = if form.closed { "labels come with their ancestors" } else { "labels are the most specific ones" };
    let answers = match (worth.goal, form.one) {
        (Goal::Exact, true) => "the node where it most likely ends",
        (Goal::F1, true) => "the labels of the highest expected F1, possibly none",
        (Goal::Hf1, true) => "the path of the highest expected hierarchical F1",
        (Goal::Cost, _) => "the answer of the least expected cost",
        (Goal::Exact | Goal::F1, false) => "the labels of the highest expected F1",
        (Goal::Hf1, false) => "the paths of the highest expected hierarchical F1",
    };
    format!("Documents have {:.2} most specific labels on average, and {labels}; each is given {answers}.", form.mean)
}

/// Nodes without a training document, by the documents of each with those below it, and what to say of them.
pub(super) fn without_documents(taxonomy: &Taxonomy, all: &[u32]) -> (Vec<u32>, Option<String>) {
    let without: Vec<u32> = taxonomy.nodes().filter(|&n| all[n as usize] == 0).collect();
    if without.is_empty() {
        return (without, None);
    }
    let names: Vec<&str> = without.iter().take(5).map(|&n| taxonomy.id(n)).collect();
    let more = if without.len() > names.len() { ", …" } else { "" };
    let remark = format!(
        "{} of {} nodes have no training document and are never answered: {}{more}.",
        without.len(),
        taxonomy.len(),
        names.join(", ")
    );
    (without, Some(remark))
}

/// What comparing came to.
struct Compared {
    members: Members,
    /// None where labels side by side with thresholds of their own are best.
    best: Option<Candidate>,
    /// What the best one said about held-out documents.
    held: Option<Held>,
    choices: Vec<String>,
}

impl<'a> Search<'a> {
    /// Looks for what labels side by side would be fitted with.
    fn begin(
        options: &'a FitOptions,
        counts: &'a Counts,
        rows: &'a [usize],
        taxonomy: &'a Taxonomy,
        progress: &dyn Progress,
    ) -> Result<(Self, Form)> {
        let folds = options.folds.unwrap_or(if rows.len() > MANY_DOCUMENTS { 5 } else { 3 });
        if folds < 2 {
            return Err(Error::invalid(
                "folds",
                folds,
                "probabilities are learned from documents that were held out: two folds or more",
            ));
        }
        let (truth, form) = most_specific(taxonomy, counts, rows)?;
        let worth = worth_of(options, &form, taxonomy)?;
        let mut known = as_searched(taxonomy, counts, &truth, &form);
        // What labels side by side would be fitted with is what they compete with, and trees have its terms.
        let mut choice = flat::settle(&known, rows, &options.of_labels(Some(taxonomy), taxonomy.ids()), progress)?;
        if let Some(narrow) = choice.terms.take().map(|text| known.narrowed(&text)).transpose()?.flatten() {
            flat::say_without_terms(&narrow, &known, rows);
            known = narrow;
        }
        if choice.selector.has_auto() {
            let (learned, reason) =
                flat::lambda(&known, rows, &choice.selector, choice.size, &choice.classifier, options, progress)?;
            choice.selector = learned;
            choice.reasons.push(reason);
        }
        // Where documents have several labels every node is asked about by itself; else nodes exclude each other.
        if !form.one && !form.closed {
            known.assignments = close(taxonomy, &truth);
        }
        Ok((Self { options, counts: known, given: counts, rows, taxonomy, truth, worth, choice, folds }, form))
    }
}

/// What [`fit`] would try before it compares with labels along the taxonomy.
pub(super) fn planned(
    options: &FitOptions,
    counts: &Counts,
    rows: &[usize],
    taxonomy: &Taxonomy,
) -> Result<Option<SearchPlan>> {
    let Some(candidates) = flat::open_choices(options)? else { return Ok(None) };
    let (specific, form) = most_specific(taxonomy, counts, rows)?;
    plan(&as_searched(taxonomy, counts, &specific, &form), rows, &candidates).map(Some)
}

/// The corpus with nodes for labels, as labels side by side would be looked for: most specific ones where documents have one, else as
/// they came.
fn as_searched(taxonomy: &Taxonomy, counts: &Counts, specific: &Csr<()>, form: &Form) -> Counts {
    let assignments = if form.one || !form.closed { specific.clone() } else { close(taxonomy, specific) };
    Counts { labels: Arc::new(taxonomy.ids().clone()), assignments, ..counts.clone() }
}

struct Search<'a> {
    options: &'a FitOptions,
    /// The corpus with nodes for labels and the terms that were chosen.
    counts: Counts,
    /// The corpus as it came.
    given: &'a Counts,
    rows: &'a [usize],
    taxonomy: &'a Taxonomy,
    /// Documents × most specific nodes.
    truth: Csr<()>,
    worth: Worth,
    /// What labels side by side would be fitted with.
    choice: Choice,
    folds: usize,
}

impl Search<'_> {
    /// What takes part.
    fn members(&self) -> Members {
        let parents: Vec<Option<u32>> = self.taxonomy.nodes().map(|n| self.taxonomy.parent(n)).collect();
        let asked = self.options.classifier.is_some();
        Members::of(&self.choice, asked, self.counts.labels.len(), &Arc::new(parents))
    }

    /// The terms to learn from, best first.
    fn terms(&self, rows: &[usize], progress: &dyn Progress) -> Result<Vec<u32>> {
        let Choice { selector, size, .. } = &self.choice;
        let table = Contingency::of_rows(&self.counts, rows);
        let selector = if self.options.by.is_none() { flat::sparing(selector, &table) } else { selector.clone() };
        let (terms, _) = flat::terms(&selector, &table, *size, &self.options.budget, progress)?;
        Ok(terms)
    }

    fn compare(&mut self, form: &Form, progress: &dyn Progress) -> Result<Compared> {
        let members = self.members();
        let candidates = members.candidates();
        let mut held: Vec<Held> = candidates.iter().map(|_| Held::new(self.counts.labels.len())).collect();
        // By the most specific labels or all of them, whatever came: both forms have the same folds.
        let all = CrossValidation::stratified(&self.counts, self.rows, self.folds, self.options.seed);
        // Where documents have several labels, and these alone, the flat model is another one.
        let separate = !self.worth.one && !self.worth.closed;
        let mut as_given = Held::new(self.counts.labels.len());
        let alone = self.options.folds.is_none() && self.rows.len() > MANY_DOCUMENTS;
        all.run("comparing with flat", 1, progress, |fold, split| {
            if alone && fold > 0 {
                return Ok(());
            }
            let mut terms = self.terms(&split.train, &Silent)?;
            terms.sort_unstable();
            let problem = Problem::new(&self.counts, &split.train, &terms);
            let fitted = members.fit(&problem, true, progress)?;
            let blocks = || split.test.chunks(2048).map(|block| (block, Problem::new(&self.counts, block, &terms)));
            for (candidate, held) in candidates.iter().zip(&mut held).filter(|(candidate, _)| !candidate.is_of_trees())
            {
                let classifier = fitted.of(candidate)?;
                blocks().for_each(|(block, part)| held.add(fold, &classifier, &part, block, &self.truth));
            }
            if let Some(mixtures) = fitted.mixtures(&candidates)? {
                blocks().for_each(|(block, part)| Held::add_all(&mut held, fold, &mixtures, &part, block, &self.truth));
            }
            if separate {
                let assignments = self.truth.select_rows(&split.train);
                let classifier = roughly(&self.choice.classifier).fit(&Problem { assignments, ..problem }, progress)?;
                blocks().for_each(|(block, part)| as_given.add(fold, &classifier, &part, block, &self.truth));
            }
            progress.add(1);
            Ok(())
        })?;
        // Every candidate as it would do: what it learns from one half of the held-out documents decides on the other.
        let mut reached = Vec::new();
        for held in &held {
            reached.push(held.cross_fitted(&self.worth, self.taxonomy)?);
        }
        let several = self.rows.iter().any(|&row| self.truth.row_indices(row).len() != 1);
        // Whoever says all of it and what answers are to be good at gets these answers: else a model that won could not be named.
        let all_said = self.options.goal().is_some() && flat::open_choices(self.options)?.is_none();
        let plain = match members.side_by_side(&self.choice) {
            _ if all_said => None,
            _ if separate => Some(as_given.plain(&self.worth, self.taxonomy)?),
            Some(own) if !self.worth.one || (several && !self.worth.closed) => {
                Some(held[own].plain(&self.worth, self.taxonomy)?)
            }
            _ => None,
        };
        let mut best = 0;
        for at in 1..reached.len() {
            if reached[at] > reached[best] + NOTHING {
                best = at;
            }
        }
        let mut choices = std::mem::take(&mut self.choice.reasons);
        choices.push(about(&self.worth, form));
        let measure = self.measure();
        let shown: Vec<String> = candidates
            .iter()
            .zip(&reached)
            .map(|(candidate, value)| format!("{} {:.4}", members.name(candidate), self.shown(*value)))
            .collect();
        let documents = held[0].len();
        if let Some(plain) = plain.filter(|&plain| plain > reached[best]) {
            choices.push(format!(
                "Of {} on {documents} held-out documents by {measure}, labels side by side with thresholds of their own are best: {:.4}.",
                shown.join(", "),
                self.shown(plain)
            ));
            return Ok(Compared { members, best: None, held: None, choices });
        }
        let with_plain =
            plain.map(|plain| format!(", thresholds for each label {:.4}", self.shown(plain))).unwrap_or_default();
        choices.push(format!(
            "On {documents} held-out documents, by {measure}: {}{with_plain}. {} is taken.",
            shown.join(", "),
            members.name(&candidates[best])
        ));
        let best = (candidates[best].clone(), held.swap_remove(best));
        Ok(Compared { members, best: Some(best.0), held: Some(best.1), choices })
    }

    fn measure(&self) -> &'static str {
        match self.worth.goal {
            Goal::Exact => "exact answers",
            Goal::Hf1 => "hierarchical F1",
            Goal::F1 => "micro-averaged F1",
            Goal::Cost => "mean cost",
        }
    }

    /// Costs are the better the lower they are.
    fn shown(&self, value: f64) -> f64 {
        if self.worth.goal == Goal::Cost { -value } else { value }
    }

    /// Labels side by side, the taxonomy beside them.
    fn side_by_side(self, choices: Vec<String>, progress: &dyn Progress) -> Result<Trained> {
        let Self { options, given, rows, taxonomy, counts, choice, .. } = self;
        let options = FitOptions {
            by: Some(choice.selector),
            features: Some(choice.size.map_or(Size::All, Size::Top)),
            classifier: Some(choice.classifier),
            ..options.clone()
        };
        let counts = Counts { labels: Arc::clone(&given.labels), assignments: given.assignments.clone(), ..counts };
        let single = super::fit::check(&counts, rows)?;
        let taxonomy = Some(taxonomy.clone());
        let threshold = Some(Threshold::recommended());
        let trained = flat::fit(&options, &counts, rows, single, taxonomy, threshold, progress)?;
        let mut parts = (*trained.model).clone();
        parts.summary.choices.splice(0..0, choices);
        parts.shown.frontier.clone_from(&choice.frontier);
        Ok(Trained { model: Model::new(parts)?, trials: choice.trials, frontier: choice.frontier, ..trained })
    }

    fn finish(
        self,
        members: &Members,
        candidate: &Candidate,
        learned: Learned,
        progress: &dyn Progress,
    ) -> Result<Trained> {
        let ranked = self.terms(self.rows, progress)?;
        let mut terms = ranked.clone();
        terms.sort_unstable();
        let ranking = ranked.iter().filter_map(|term| terms.binary_search(term).ok()).map(|f| f as u32).collect();
        let Self { options, counts, given, rows, taxonomy, truth, worth, choice, folds } = self;
        let Learned { calibration, quality, mut choices } = learned;
        progress.start("training", None);
        let problem = Problem::new(&counts, rows, &terms);
        let fitted = members.only(candidate).fit(&problem, false, progress)?.of(candidate)?;
        progress.finish();
        let as_given = if worth.closed { close(taxonomy, &truth) } else { truth.clone() };
        let mut documents = vec![0u32; taxonomy.len()];
        rows.iter().flat_map(|&r| as_given.row_indices(r)).for_each(|&n| documents[n as usize] += 1);
        let mut closed = vec![0u32; taxonomy.len()];
        let all = close(taxonomy, &truth);
        rows.iter().flat_map(|&r| all.row_indices(r)).for_each(|&n| closed[n as usize] += 1);
        let (without, remark) = without_documents(taxonomy, &closed);
        choices.extend(remark);
        let (names, feature_of) = sorted(&counts, &terms);
        let mut seen = vec![false; counts.vocabulary.len()];
        rows.iter().flat_map(|&r| counts.matrix.row_indices(r)).for_each(|&t| seen[t as usize] = true);
        let neighbours = match &fitted {
            Fitted::Knn { .. } => rows.iter().map(|&row| counts.ids[row].clone()).collect(),
            _ => Vec::new(),
        };
        let model = Model::new(ModelParts {
            text: (*counts.text).clone(),
            terms: Arc::new(names),
            feature_of,
            labels: Arc::new(taxonomy.ids().clone()),
            taxonomy: Some(taxonomy.clone()),
            ranker: Ranker::Flat(fitted),
            neighbours,
            thresholds: Thresholds::untuned(Threshold::None)?,
            curves: Vec::new(),
            calibration,
            worth: Some(worth),
            summary: TrainingSummary {
                program: TrainingSummary::this_program(),
                documents: rows.len() as u64,
                label_documents: documents,
                vocabulary: seen.iter().filter(|&&s| s).count(),
                single_label: rows.iter().all(|&r| given.assignments.row_indices(r).len() <= 1),
                selector: choice.selector.to_string(),
                classifier: members.spec(candidate),
                seed: options.seed,
                choices,
                quality,
                folds: if given.validation_for(rows).is_empty() { folds } else { TrainingSummary::VALIDATED },
            },
            seen: Seen::of(given, rows),
            target: None,
            shown: Shown { frontier: choice.frontier.clone(), ..Shown::default() },
        })?;
        let nodes = Some(NodesSeen { without_documents: without, untunable: Vec::new(), example: None });
        Ok(Trained {
            model,
            trials: choice.trials,
            frontier: choice.frontier,
            ranking,
            thresholds: None,
            unchanged: None,
            nodes,
            solutions: Vec::new(),
        })
    }
}

/// What held-out documents taught.
struct Learned {
    calibration: Option<Calibration>,
    quality: Vec<(String, f64)>,
    choices: Vec<String>,
}
