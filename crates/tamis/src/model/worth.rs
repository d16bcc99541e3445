//! Labels along a taxonomy by what answers are worth: flat, along the taxonomy, or both, whichever does best on held-out
//! documents (method 10).

use std::sync::Arc;

use super::costs::roughly;
use super::fit::{NodesSeen, Trained, sorted};
use super::held::{Candidate, Held, Members};
use super::{FitOptions, Model, ModelParts, Ranker, Seen, Shown, TrainingSummary, flat};
use crate::classify::tree::Layout;
use crate::classify::{ClassifierSpec, Problem, SvmOptions, TreeOptions};
use crate::counts::{Contingency, Counts, CrossValidation, Csr};
use crate::features::{Selector, Size};
use crate::hierarchy::{CostTable, Goal, Taxonomy, Worth};
use crate::threshold::{Threshold, Thresholds};
use crate::{Error, Progress, Result, Silent};

/// With more documents, one fold of five is enough to compare candidates on.
const MANY_DOCUMENTS: usize = 20_000;

/// With more labels than this, trees that halve the labels take part.
const MANY_LABELS: usize = 500;

/// By less than this nothing is better: the simpler candidate is taken.
const NOTHING: f64 = 5e-4;

/// How the documents are labelled.
pub(super) struct Form {
    /// Whether labels come with their ancestors.
    pub(super) closed: bool,
    /// Whether hardly any document has several most specific labels, and none has none.
    pub(super) one: bool,
    /// Mean number of most specific labels.
    pub(super) mean: f64,
}

/// Documents × nodes, each with its most specific nodes only; and the form they came in.
pub(super) fn most_specific(taxonomy: &Taxonomy, counts: &Counts, rows: &[usize]) -> Result<(Csr<()>, Form)> {
    let node_of = taxonomy.align(&counts.labels)?;
    let mut specific = Csr::new(taxonomy.len());
    let mut nodes: Vec<u32> = Vec::new();
    let mut with_ancestors = vec![None; counts.len()];
    for row in 0..counts.len() {
        nodes.clear();
        nodes.extend(counts.assignments.row_indices(row).iter().map(|&label| node_of[label as usize]));
        nodes.sort_unstable();
        let given = nodes.len();
        taxonomy.most_specific(&mut nodes);
        let all = taxonomy.closure(nodes.iter().copied()).len();
        with_ancestors[row] = (all > nodes.len()).then_some(given == all);
        specific.push_row(nodes.iter().map(|&n| (n, ())));
    }
    let labels = |&row: &usize| specific.row_indices(row).len();
    let sum: usize = rows.iter().map(labels).sum();
    let mean = sum as f64 / rows.len().max(1) as f64;
    let told: Vec<bool> = rows.iter().filter_map(|&row| with_ancestors[row]).collect();
    let closed = 2 * told.iter().filter(|&&closed| closed).count() > told.len();
    let one = rows.iter().map(labels).min().is_some_and(|least| least > 0) && mean <= 1.1;
    Ok((specific, Form { closed, one, mean }))
}

/// Compares, takes the best, and fits it to all documents.
pub(super) fn fit(
    options: &FitOptions,
    counts: &Counts,
    rows: &[usize],
    taxonomy: Taxonomy,
    progress: &dyn Progress,
) -> Result<Trained> {
    let (specific, form) = most_specific(&taxonomy, counts, rows)?;
    let goal = options.hierarchy.goal.unwrap_or(if form.one { Goal::Exact } else { Goal::Hf1 });
    if goal == Goal::Cost && options.hierarchy.costs.is_none() {
        return Err(Error::invalid("goal", goal, "needs a table of costs: the option `costs`"));
    }
    let costs = match (&options.hierarchy.costs, goal) {
        (Some(path), Goal::Cost) => Some(CostTable::open(path, &taxonomy)?),
        _ => None,
    };
    if goal == Goal::Cost && !form.one {
        return Err(Error::invalid(
            "goal",
            goal,
            "costs are of one answer for each document, and these have several labels",
        ));
    }
    // Where documents have several labels every node is asked about by itself; else nodes exclude each other.
    let assignments = if form.one { specific.clone() } else { close(&taxonomy, &specific) };
    let known = Counts { labels: Arc::new(taxonomy.ids().clone()), assignments, ..counts.clone() };
    let worth = Worth { goal, one: form.one, closed: form.closed, least: 0.5, costs };
    let search = Search { options, counts: &known, given: counts, rows, taxonomy: &taxonomy, truth: &specific, worth };
    search.run(&form, progress)
}

/// Documents × nodes with all ancestors.
fn close(taxonomy: &Taxonomy, specific: &Csr<()>) -> Csr<()> {
    let all: Vec<u32> = taxonomy.nodes().collect();
    taxonomy.close(specific, &all)
}

struct Search<'a> {
    options: &'a FitOptions,
    /// The corpus with nodes for labels.
    counts: &'a Counts,
    /// The corpus as it came.
    given: &'a Counts,
    rows: &'a [usize],
    taxonomy: &'a Taxonomy,
    /// Documents × most specific nodes.
    truth: &'a Csr<()>,
    worth: Worth,
}

impl Search<'_> {
    /// What takes part.
    fn members(&self) -> Members {
        let parents: Vec<Option<u32>> = self.taxonomy.nodes().map(|n| self.taxonomy.parent(n)).collect();
        let parents = Some(Arc::new(parents));
        let trees = |base: SvmOptions, by: Vec<Layout>| TreeOptions {
            base,
            by,
            parents: parents.clone(),
            ..TreeOptions::default()
        };
        let along = |base: &SvmOptions| {
            let mut by = vec![Layout::Taxonomy];
            if self.counts.labels.len() > MANY_LABELS {
                by.push(Layout::Means);
            }
            trees(base.clone(), by)
        };
        match &self.options.classifier {
            None => Members {
                flat: Some(ClassifierSpec::Svm(SvmOptions::default())),
                trees: Some(along(&SvmOptions::default())),
            },
            Some(ClassifierSpec::Svm(svm))
                if !svm.vectors.per_label && svm.multi == crate::classify::svm::Multi::Ovr =>
            {
                Members { flat: Some(ClassifierSpec::Svm(svm.clone())), trees: Some(along(svm)) }
            }
            Some(ClassifierSpec::Tree(tree)) => {
                Members { flat: None, trees: Some(TreeOptions { parents: parents.clone(), ..tree.clone() }) }
            }
            Some(other) => Members { flat: Some(other.clone()), trees: None },
        }
    }

    /// The terms to learn from: those of the selector, or all that the documents have.
    fn terms(&self, rows: &[usize], progress: &dyn Progress) -> Result<Vec<u32>> {
        if self.options.by.is_none() && !matches!(self.options.features, Some(Size::Top(_))) {
            let mut seen = vec![false; self.counts.vocabulary.len()];
            rows.iter().flat_map(|&r| self.counts.matrix.row_indices(r)).for_each(|&t| seen[t as usize] = true);
            return Ok((0..seen.len() as u32).filter(|&t| seen[t as usize]).collect());
        }
        let selector = match &self.options.by {
            Some(selector) => selector.clone(),
            None => "chi2max@1".parse::<Selector>()?,
        };
        let size = match self.options.features {
            Some(Size::Top(n)) => Some(n),
            _ => None,
        };
        let table = Contingency::of_rows(self.counts, rows);
        let (mut terms, _) = flat::terms(&selector, &table, size, &self.options.budget, progress)?;
        terms.sort_unstable();
        Ok(terms)
    }

    fn run(mut self, form: &Form, progress: &dyn Progress) -> Result<Trained> {
        let members = self.members();
        let candidates = members.candidates();
        let mut held: Vec<Held> = candidates.iter().map(|_| Held::new(self.counts.labels.len())).collect();
        let folds = self.options.folds.unwrap_or(if self.rows.len() > MANY_DOCUMENTS { 5 } else { 3 });
        if folds < 2 {
            return Err(Error::invalid(
                "folds",
                folds,
                "probabilities are learned from documents that were held out: two folds or more",
            ));
        }
        // By the most specific labels or all of them, whatever came: both forms have the same folds.
        let all = CrossValidation::stratified(self.counts, self.rows, folds, self.options.seed);
        // Where documents have several labels, and these alone, the flat model is another one.
        let separate = !self.worth.one && !self.worth.closed;
        let mut as_given = Held::new(self.counts.labels.len());
        let alone = self.options.folds.is_none() && self.rows.len() > MANY_DOCUMENTS;
        all.run("comparing with flat", 1, progress, |fold, split| {
            if alone && fold > 0 {
                return Ok(());
            }
            let terms = self.terms(&split.train, &Silent)?;
            let fitted = members.fit(&Problem::new(self.counts, &split.train, &terms), true, progress)?;
            let blocks = || split.test.chunks(2048).map(|block| (block, Problem::new(self.counts, block, &terms)));
            for (candidate, held) in candidates.iter().zip(&mut held) {
                let classifier = fitted.of(candidate)?;
                blocks().for_each(|(block, part)| held.add(fold, &classifier, &part, block, self.truth));
            }
            if let Some(flat) = members.flat.as_ref().filter(|_| separate) {
                let mut problem = Problem::new(self.counts, &split.train, &terms);
                problem.assignments = self.truth.select_rows(&split.train);
                let classifier = roughly(flat).fit(&problem, progress)?;
                blocks().for_each(|(block, part)| as_given.add(fold, &classifier, &part, block, self.truth));
            }
            progress.add(1);
            Ok(())
        })?;
        // Every candidate as it would do: what it learns from one half of the held-out documents decides on the other.
        let mut reached = Vec::new();
        for held in &held {
            reached.push(held.cross_fitted(&self.worth, self.taxonomy)?);
        }
        let plain = match &members.flat {
            Some(_) if separate => Some(as_given.plain(&self.worth, self.taxonomy)?),
            Some(_) if !self.worth.one => Some(held[0].plain(&self.worth, self.taxonomy)?),
            _ => None,
        };
        let mut best = 0;
        for at in 1..reached.len() {
            if reached[at] > reached[best] + NOTHING {
                best = at;
            }
        }
        let mut choices = vec![self.about(form)];
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
            return self.side_by_side(choices, progress);
        }
        let with_plain =
            plain.map(|plain| format!(", thresholds for each label {:.4}", self.shown(plain))).unwrap_or_default();
        choices.push(format!(
            "On {documents} held-out documents, by {measure}: {}{with_plain}. {} is taken.",
            shown.join(", "),
            members.name(&candidates[best])
        ));
        let (calibration, least) = held[best].learn(&self.worth, self.taxonomy)?;
        self.worth.least = least;
        let quality = held[best].quality(&self.worth, self.taxonomy, calibration.as_ref())?;
        drop(held);
        self.finish(&members, &candidates[best], calibration, quality, choices, folds, progress)
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

    fn about(&self, form: &Form) -> String {
        let labels = if form.closed { "labels come with their ancestors" } else { "labels are the most specific ones" };
        let answers = match (self.worth.goal, form.one) {
            (Goal::Exact, true) => "the node where it most likely ends",
            (Goal::F1, true) => "its most likely label",
            (Goal::Hf1, true) => "the path of the highest expected hierarchical F1",
            (Goal::Cost, _) => "the answer of the least expected cost",
            (Goal::Exact | Goal::F1, false) => "the labels of the highest expected F1",
            (Goal::Hf1, false) => "the paths of the highest expected hierarchical F1",
        };
        format!(
            "Documents have {:.2} most specific labels on average, and {labels}; each is given {answers}.",
            form.mean
        )
    }

    /// Labels side by side, the taxonomy beside them.
    fn side_by_side(&self, choices: Vec<String>, progress: &dyn Progress) -> Result<Trained> {
        let options = FitOptions {
            by: Some(self.options.by.clone().map_or_else(|| "chi2max".parse(), Ok)?),
            features: Some(self.options.features.unwrap_or(Size::All)),
            classifier: Some(self.options.classifier.clone().unwrap_or(ClassifierSpec::Svm(SvmOptions::default()))),
            ..self.options.clone()
        };
        let single = super::fit::check(self.given, self.rows)?;
        let taxonomy = Some(self.taxonomy.clone());
        let threshold = Some(Threshold::recommended());
        let trained = flat::fit(&options, self.given, self.rows, single, taxonomy, threshold, progress)?;
        let mut parts = (*trained.model).clone();
        parts.summary.choices.splice(0..0, choices);
        Ok(Trained { model: Model::new(parts)?, ..trained })
    }

    #[allow(clippy::too_many_arguments)]
    fn finish(
        self,
        members: &Members,
        candidate: &Candidate,
        calibration: Option<crate::threshold::Calibration>,
        quality: Vec<(String, f64)>,
        mut choices: Vec<String>,
        folds: usize,
        progress: &dyn Progress,
    ) -> Result<Trained> {
        let Self { options, counts, given, rows, taxonomy, truth, worth } = self;
        let terms =
            Search { options, counts, given, rows, taxonomy, truth, worth: worth.clone() }.terms(rows, progress)?;
        progress.start("training", None);
        let problem = Problem::new(counts, rows, &terms);
        let fitted = members.only(candidate).fit(&problem, false, progress)?.of(candidate)?;
        progress.finish();
        let as_given = if worth.closed { close(taxonomy, truth) } else { truth.clone() };
        let mut documents = vec![0u32; taxonomy.len()];
        rows.iter().flat_map(|&r| as_given.row_indices(r)).for_each(|&n| documents[n as usize] += 1);
        let mut closed = vec![0u32; taxonomy.len()];
        let all = close(taxonomy, truth);
        rows.iter().flat_map(|&r| all.row_indices(r)).for_each(|&n| closed[n as usize] += 1);
        let without: Vec<u32> = taxonomy.nodes().filter(|&n| closed[n as usize] == 0).collect();
        if !without.is_empty() {
            let names: Vec<&str> = without.iter().take(5).map(|&n| taxonomy.id(n)).collect();
            let more = if without.len() > names.len() { ", …" } else { "" };
            let n = without.len();
            choices.push(format!(
                "{n} of {} nodes have no training document and are never answered: {}{more}.",
                taxonomy.len(),
                names.join(", ")
            ));
        }
        let (names, feature_of) = sorted(counts, &terms);
        let mut seen = vec![false; counts.vocabulary.len()];
        rows.iter().flat_map(|&r| counts.matrix.row_indices(r)).for_each(|&t| seen[t as usize] = true);
        let neighbours = match &fitted {
            crate::classify::Fitted::Knn { .. } => rows.iter().map(|&row| counts.ids[row].clone()).collect(),
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
                selector: options.by.as_ref().map_or("all words".to_owned(), ToString::to_string),
                classifier: members.spec(candidate),
                seed: options.seed,
                choices,
                quality,
                folds: if given.validation_for(rows).is_empty() { folds } else { TrainingSummary::VALIDATED },
            },
            seen: Seen::of(given, rows),
            target: None,
            shown: Shown::default(),
        })?;
        let nodes = Some(NodesSeen { without_documents: without, untunable: Vec::new(), example: None });
        Ok(Trained {
            model,
            trials: Vec::new(),
            frontier: Vec::new(),
            thresholds: None,
            unchanged: None,
            nodes,
            solutions: Vec::new(),
        })
    }
}
