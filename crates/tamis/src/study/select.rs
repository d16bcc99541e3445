//! Selectors → selections of terms on the training documents of a split.

use std::time::Instant;

use super::plan::{Grid, Method};
use super::rows::{SearchNote, Timing};
use crate::classify::sweep::{Gather, Prefixes, Task, sweep};
use crate::classify::{ClassifierSpec, Scored, SweepPlace};
use crate::counts::{Contingency, Counts};
use crate::features::search::{Budget, Ended};
use crate::features::{LambdaOptions, Selector, Size, learn_lambda, rank_all};
use crate::measure::{EvaluationGrid, Family, Measure};
use crate::study::Decision;
use crate::threshold::Thresholds;
use crate::{Error, Progress, Result, Stoppable};

/// The terms of a method at one or more sizes.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    pub(super) selection: Prefixes,
    /// For each size of the selection: the size asked for, and what there is to say about it.
    pub(super) notes: Vec<Note>,
}

#[derive(Debug, Clone)]
pub(super) struct Note {
    pub(super) size: Size,
    pub(super) lambda: Option<f64>,
    pub(super) search: Option<SearchNote>,
}

impl Method {
    /// Whether its sizes are prefixes of one ranking that needs nothing but counts.
    pub(super) fn is_ranked(&self) -> bool {
        self.selector.as_search().is_none() && !self.selector.has_auto()
    }
}

/// The training documents of a split, with everything that selection derives from them once for all methods.
pub(super) struct Selecting<'a> {
    grid: &'a Grid,
    counts: &'a Counts,
    train: &'a [usize],
    methods: &'a [Method],
    seed: u64,
    pub(super) table: Contingency,
    /// By method: the ranking, or the subsets of a search once it has run.
    ranked: Vec<Option<Vec<u32>>>,
    searched: Vec<Option<Vec<Chosen>>>,
}

impl<'a> Selecting<'a> {
    /// Counts the training documents and ranks by every method that needs no more than counts.
    pub(super) fn new(
        grid: &'a Grid,
        counts: &'a Counts,
        train: &'a [usize],
        methods: &'a [Method],
        seed: u64,
    ) -> Result<Self> {
        let table = Contingency::of_rows(counts, train);
        let mut ranked = vec![None; methods.len()];
        let at: Vec<usize> = (0..methods.len()).filter(|&m| methods[m].is_ranked()).collect();
        // Some at a time: a ranking has its scores with it, and hundreds of them would fill the memory.
        for some in at.chunks(64) {
            let selectors: Vec<Selector> = some.iter().map(|&m| methods[m].selector.clone()).collect();
            for (&m, ranking) in some.iter().zip(rank_all(&selectors, &table)?) {
                ranked[m] = Some(ranking.top(largest(&methods[m].sizes)).to_vec());
            }
        }
        let searched = vec![None; methods.len()];
        Ok(Self { grid, counts, train, methods, seed, table, ranked, searched })
    }

    /// The selections of a method. λ is learned with the given classifier.
    pub(super) fn choose(
        &mut self,
        method: usize,
        classifier: &ClassifierSpec,
        progress: &dyn Progress,
        time: &mut dyn FnMut(Timing),
    ) -> Result<Vec<Chosen>> {
        if let Some(terms) = &self.ranked[method] {
            return Ok(vec![chosen(terms.clone(), &self.methods[method].sizes)]);
        }
        if self.methods[method].selector.has_auto() {
            return self.learn(method, classifier, progress, time);
        }
        if let Some(found) = &self.searched[method] {
            return Ok(found.clone());
        }
        let found = self.search(method, progress, time)?;
        self.searched[method] = Some(found.clone());
        Ok(found)
    }

    /// Searches a subset for each size; it does not depend on the classifier, so it is done once.
    fn search(&self, method: usize, progress: &dyn Progress, time: &mut dyn FnMut(Timing)) -> Result<Vec<Chosen>> {
        let Method { selector, sizes } = &self.methods[method];
        let budget = Budget { seconds: None, steps: self.grid.swings };
        let mut all = Vec::new();
        for &size in sizes {
            let start = Instant::now();
            let (ranking, found) = selector.subset(&self.table, size.of(usize::MAX), &budget, &Stoppable(progress))?;
            if progress.cancelled() {
                return Err(Error::Interrupted);
            }
            let search = found.map(|found| {
                debug_assert_ne!(found.ended, Ended::Cancelled, "the study was interrupted");
                let (value, swings, evaluations, ended) = (found.value, found.steps, found.evaluations, found.ended);
                SearchNote { value, swings, evaluations, ended }
            });
            time(timing("search", selector, Some(size), start));
            let terms = ranking.terms().to_vec();
            let selection = Prefixes { sizes: vec![terms.len()], terms };
            all.push(Chosen { selection, notes: vec![Note { size, lambda: None, search }] });
        }
        Ok(all)
    }

    /// Learns λ for each size (li 4.3).
    fn learn(
        &self,
        method: usize,
        classifier: &ClassifierSpec,
        progress: &dyn Progress,
        time: &mut dyn FnMut(Timing),
    ) -> Result<Vec<Chosen>> {
        let start = Instant::now();
        let Method { selector, sizes } = &self.methods[method];
        let asked: Vec<usize> = sizes.iter().map(|s| s.of(self.table.terms())).collect();
        let evaluate = |train: &[usize], test: &[usize], terms: &[u32], sizes: &[usize]| {
            let sizes = sizes.iter().map(|&s| s.min(terms.len())).collect();
            let selection = Prefixes { terms: terms.to_vec(), sizes };
            let task = Task { counts: self.counts, train, test };
            quality(self.grid, classifier, task, &selection, progress)
        };
        let options = LambdaOptions { seed: self.seed, ..self.grid.lambda.clone() };
        let learned =
            learn_lambda(selector, self.counts, self.train, &asked, &options, &evaluate, &Stoppable(progress))?;
        let mut all = Vec::new();
        for (learned, &size) in learned.iter().zip(sizes) {
            let ranking = selector.with_lambda(learned.lambda)?.rank(&self.table)?;
            let mut chosen = chosen(ranking.top(learned.size).to_vec(), &[size]);
            chosen.notes[0].lambda = Some(learned.lambda);
            all.push(chosen);
        }
        time(timing("lambda", selector, None, start));
        Ok(all)
    }

    /// Selections of the same method on other training documents, to tune thresholds: λ is taken as learned, searches
    /// run again.
    pub(super) fn inner_methods(&self, method: usize, chosen: &[Chosen]) -> Result<Vec<Method>> {
        let Method { selector, sizes } = &self.methods[method];
        if !selector.has_auto() {
            return Ok(vec![Method { selector: selector.clone(), sizes: sizes.clone() }]);
        }
        let with_lambda = |chosen: &Chosen| {
            let Note { size, lambda, .. } = chosen.notes[0];
            Ok(Method { selector: selector.with_lambda(lambda.unwrap_or(0.5))?, sizes: vec![size] })
        };
        chosen.iter().map(with_lambda).collect()
    }
}

fn largest(sizes: &[Size]) -> usize {
    sizes.iter().map(|s| s.of(usize::MAX)).max().unwrap_or(0)
}

/// Prefixes of a ranking.
fn chosen(terms: Vec<u32>, sizes: &[Size]) -> Chosen {
    let notes = sizes.iter().map(|&size| Note { size, lambda: None, search: None }).collect();
    let sizes = sizes.iter().map(|s| s.of(terms.len())).collect();
    Chosen { selection: Prefixes { terms, sizes }, notes }
}

fn timing(what: &str, selector: &Selector, size: Option<Size>, start: Instant) -> Timing {
    let (what, selector) = (what.into(), Some(selector.to_string()));
    Timing { what, selector, size, seconds: start.elapsed().as_secs_f64(), ..Timing::default() }
}

/// The plan's first measure at each size of a selection; larger is better.
fn quality(
    grid: &Grid,
    classifier: &ClassifierSpec,
    task: Task<'_>,
    selection: &Prefixes,
    progress: &dyn Progress,
) -> Result<Vec<f64>> {
    let measure = grid.measures[0];
    let untuned = grid.thresholds.iter().find_map(|d| match d {
        Decision::Policy(policy) if d.decides() && !policy.needs_held_out() => Some(*policy),
        _ => None,
    });
    let thresholds = match untuned {
        Some(policy) if measure.family() == Family::Decided => Some(Thresholds::untuned(policy)?),
        _ => None,
    };
    let mut trained = vec![false; task.counts.labels.len()];
    for &row in task.train {
        task.counts.assignments.row_indices(row).iter().for_each(|&l| trained[l as usize] = true);
    }
    let empty = EvaluationGrid::new(&[measure], trained, selection.sizes.len())?;
    let scorer = Scorer { task, thresholds, empty };
    let mut whole = scorer.empty.fresh();
    sweep(classifier, task, std::slice::from_ref(selection), &scorer, &Stoppable(progress), |part| {
        whole.merge(&part.0);
    })?;
    Ok((0..selection.sizes.len()).map(|size| oriented(measure, whole.values(size)[0].value.unwrap_or(0.0))).collect())
}

fn oriented(measure: Measure, value: f64) -> f64 {
    if measure.higher_is_better() { value } else { -value }
}

/// Adds up one measure by size.
struct Scorer<'a> {
    task: Task<'a>,
    thresholds: Option<Thresholds>,
    empty: EvaluationGrid,
}

impl Gather for Scorer<'_> {
    type Part = (EvaluationGrid, Vec<u32>);

    fn part(&self) -> Self::Part {
        (self.empty.fresh(), Vec::new())
    }

    fn part_bytes(&self) -> usize {
        self.empty.heap_bytes()
    }

    fn visit(&self, (sums, decided): &mut Self::Part, place: SweepPlace, ranked: &[Scored]) {
        if let Some(thresholds) = &self.thresholds {
            thresholds.decide_into(ranked, decided);
        }
        let truth = self.task.counts.assignments.row_indices(self.task.test[place.document]);
        sums.add(place.size, ranked, decided, truth);
    }
}
