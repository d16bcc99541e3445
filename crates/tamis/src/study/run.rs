//! The run of a study: splits, selections, sweeps, rows.

use std::time::Instant;

use super::judge::{Decider, Holder, Judge, Places};
use super::pipelines::PipelineStudy;
use super::plan::{Decision, Grid, Method, Plan, Profile, Work};
use super::rows::{ProfileRow, ResultRow, Row, SetRow, SplitRow, Timing};
use super::select::{Chosen, Selecting};
use super::units::{Unit, UnitKind, units};
use crate::classify::ClassifierSpec;
use crate::classify::sweep::{Gather, Prefixes, Task, sweep};
use crate::counts::{Contingency, Counts, CrossValidation, Split, SplitPlan};
use crate::features::rank_all;
use crate::hierarchy::Taxonomy;
use crate::measure::simulation::{SimulationOptions, simulate};
use crate::threshold::HeldOut;
use crate::threshold::Thresholds;
use crate::{Error, Progress, Result, Stoppable};

/// Where rows go.
pub trait Sink {
    /// How many units are there already, from an earlier run; `sizes` are the numbers of rows of all units.
    fn resume(&mut self, sizes: &[usize]) -> Result<usize> {
        let _ = sizes;
        Ok(0)
    }

    /// Takes the rows of the next unit. When it returns they are safe.
    fn unit(&mut self, rows: &[Row]) -> Result<()>;

    /// Takes a time; it may be lost.
    fn time(&mut self, timing: &Timing) {
        let _ = timing;
    }
}

impl Sink for Vec<Row> {
    fn unit(&mut self, rows: &[Row]) -> Result<()> {
        self.extend_from_slice(rows);
        Ok(())
    }
}

/// How large a study is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    /// Splits of the corpus.
    pub splits: usize,
    /// Selectors, the baseline included.
    pub methods: usize,
    /// Pieces of work.
    pub units: usize,
    /// Rows that will be written.
    pub rows: usize,
    /// Ranked lists that will be made and judged; those that learn λ come on top.
    pub classifications: u64,
}

/// What a study runs on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Material<'a> {
    /// The corpus, of which the plan's choice has been taken (see [`Keep`](super::Keep)); a simulation needs none.
    pub counts: Option<&'a Counts>,
    /// The taxonomy, for pipelines.
    pub taxonomy: Option<&'a Taxonomy>,
}

impl<'a> From<Option<&'a Counts>> for Material<'a> {
    fn from(counts: Option<&'a Counts>) -> Self {
        Self { counts, taxonomy: None }
    }
}

impl<'a> Material<'a> {
    pub(super) fn counts(&self, plan: &Plan) -> Result<&'a Counts> {
        self.counts.ok_or_else(|| Error::data(format!("study {} needs a corpus", plan.name)))
    }

    fn taxonomy(&self, plan: &Plan) -> Result<&'a Taxonomy> {
        self.taxonomy.ok_or_else(|| Error::data(format!("study {} needs a taxonomy", plan.name)))
    }
}

/// Runs a study. Rows come in plan order and are the same for any number of threads; units that the sink has already are
/// not run again.
pub fn run<'a>(
    plan: &Plan,
    material: impl Into<Material<'a>>,
    seed: u64,
    sink: &mut dyn Sink,
    progress: &dyn Progress,
) -> Result<Extent> {
    let material = material.into();
    let grid = match &plan.work {
        Work::Simulation(options) => return run_simulation(options, seed, sink, progress),
        Work::Pipelines(pipelines) => {
            let (counts, taxonomy) = (material.counts(plan)?, material.taxonomy(plan)?);
            return PipelineStudy::new(pipelines, counts, taxonomy, seed)?.run(sink, progress);
        }
        Work::Grid(grid) => grid,
    };
    let counts = material.counts(plan)?;
    let study = Study::new(grid, counts, seed)?;
    let sizes: Vec<usize> = study.units.iter().map(|unit| unit.rows(grid, &study.methods)).collect();
    let done = sink.resume(&sizes)?;
    let left: u64 = study.units[done..].iter().map(|unit| study.classifications(unit)).sum();
    progress.start("classifying", Some(left));
    for (number, split) in study.splits.iter().enumerate() {
        let mut todo = study.units.iter().skip(done).filter(|unit| unit.split == number).peekable();
        if todo.peek().is_none() {
            continue;
        }
        let mut selecting = Selecting::new(grid, counts, &split.train, &study.methods, seed)?;
        for unit in todo {
            let rows = study.run_unit(unit, &mut selecting, sink, progress)?;
            sink.unit(&rows)?;
        }
    }
    progress.finish();
    Ok(study.extent())
}

fn run_simulation(
    options: &SimulationOptions,
    seed: u64,
    sink: &mut dyn Sink,
    progress: &dyn Progress,
) -> Result<Extent> {
    let extent = Extent { units: 1, rows: options.sets as usize, ..Extent::default() };
    if sink.resume(&[extent.rows])? == 0 {
        let run = simulate(&SimulationOptions { seed, ..*options }, progress)?;
        let rows: Vec<Row> = run.sets.iter().zip(1..).map(|(&[a, b], set)| Row::Set(SetRow { set, a, b })).collect();
        sink.unit(&rows)?;
    }
    Ok(extent)
}

/// How large a study on a corpus is.
pub fn extent<'a>(plan: &Plan, material: impl Into<Material<'a>>, seed: u64) -> Result<Extent> {
    let material = material.into();
    match &plan.work {
        Work::Simulation(options) => Ok(Extent { units: 1, rows: options.sets as usize, ..Extent::default() }),
        Work::Grid(grid) => Ok(Study::new(grid, material.counts(plan)?, seed)?.extent()),
        Work::Pipelines(pipelines) => {
            let (counts, taxonomy) = (material.counts(plan)?, material.taxonomy(plan)?);
            Ok(PipelineStudy::new(pipelines, counts, taxonomy, seed)?.extent())
        }
    }
}

/// A grid over a corpus.
pub(super) struct Study<'a> {
    grid: &'a Grid,
    counts: &'a Counts,
    seed: u64,
    pub(super) methods: Vec<Method>,
    pub(super) splits: Vec<Split>,
    pub(super) units: Vec<Unit>,
}

impl<'a> Study<'a> {
    pub(super) fn new(grid: &'a Grid, counts: &'a Counts, seed: u64) -> Result<Self> {
        let splits = grid.splits.splits(counts, seed)?;
        let methods = grid.methods();
        let units = units(grid, &methods, &splits);
        Ok(Self { grid, counts, seed, methods, splits, units })
    }

    pub(super) fn classifications(&self, unit: &Unit) -> u64 {
        unit.classifications(self.grid, &self.methods, &self.splits[unit.split])
    }

    pub(super) fn extent(&self) -> Extent {
        Extent {
            splits: self.splits.len(),
            methods: self.methods.len(),
            units: self.units.len(),
            rows: self.units.iter().map(|unit| unit.rows(self.grid, &self.methods)).sum(),
            classifications: self.units.iter().map(|unit| self.classifications(unit)).sum(),
        }
    }

    pub(super) fn run_unit(
        &self,
        unit: &Unit,
        selecting: &mut Selecting<'_>,
        sink: &mut dyn Sink,
        progress: &dyn Progress,
    ) -> Result<Vec<Row>> {
        let number = unit.split as u32 + 1;
        let (classifier, methods) = match &unit.kind {
            UnitKind::Split => return self.describe(unit.split, &selecting.table),
            UnitKind::Methods { classifier, methods } => (&self.grid.classifiers[*classifier], methods.clone()),
        };
        let start = Instant::now();
        // Each method's selections, one after the other; all of them are swept in one pass where the classifier can.
        let mut chosen: Vec<(usize, Chosen)> = Vec::new();
        for method in methods.clone() {
            let mut time = |timing: Timing| sink.time(&Timing { split: number, ..timing });
            chosen.extend(selecting.choose(method, classifier, progress, &mut time)?.into_iter().map(|c| (method, c)));
        }
        let rows = self.run_methods(unit.split, classifier, selecting, &chosen, progress)?;
        sink.time(&Timing {
            split: number,
            what: "unit".into(),
            classifier: Some(classifier.to_string()),
            selector: (methods.len() == 1).then(|| self.methods[methods.start].selector.to_string()),
            classifications: Some(self.classifications(unit)),
            seconds: start.elapsed().as_secs_f64(),
            ..Timing::default()
        });
        Ok(rows)
    }

    fn run_methods(
        &self,
        split: usize,
        classifier: &ClassifierSpec,
        selecting: &Selecting<'_>,
        chosen: &[(usize, Chosen)],
        progress: &dyn Progress,
    ) -> Result<Vec<Row>> {
        let Split { train, test } = &self.splits[split];
        let selections: Vec<Prefixes> = chosen.iter().map(|(_, c)| c.selection.clone()).collect();
        let deciders = self.deciders(classifier, train, selecting, chosen, progress)?;
        let trained = selecting.table.label_documents().iter().map(|&n| n > 0).collect();
        let judge = Judge::new(self.grid, self.counts, test, trained, &selections, deciders)?;
        let task = Task { counts: self.counts, train, test };
        let mut judged = judge.part();
        sweep(classifier, task, &selections, &judge, progress, |part| Judge::merge(&mut judged, part))?;

        let mut rows = Vec::new();
        let mut place = 0;
        for (method, Chosen { selection, notes }) in chosen {
            for (&features, note) in selection.sizes.iter().zip(notes) {
                for (decision, verdict) in self.grid.thresholds.iter().zip(judge.verdicts(&judged, place)) {
                    rows.push(Row::Result(ResultRow {
                        split: split as u32 + 1,
                        classifier: classifier.to_string(),
                        selector: self.methods[*method].selector.to_string(),
                        size: note.size,
                        features,
                        threshold: decision.to_string(),
                        lambda: note.lambda,
                        n: verdict.n,
                        search: note.search.clone(),
                        values: verdict.values,
                        zero_divisions: verdict.zero_divisions,
                        documents: verdict.documents,
                    }));
                }
                place += 1;
            }
        }
        Ok(rows)
    }

    /// How labels are decided, by place and decision; thresholds are tuned by cross-validation on training documents,
    /// selection included.
    fn deciders(
        &self,
        classifier: &ClassifierSpec,
        train: &[usize],
        selecting: &Selecting<'_>,
        chosen: &[(usize, Chosen)],
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<Decider>>> {
        let places: usize = chosen.iter().map(|(_, c)| c.selection.sizes.len()).sum();
        let held_out = if self.grid.needs_tuning() {
            self.hold_out(classifier, train, selecting, chosen, progress)?
        } else {
            vec![HeldOut::default(); places]
        };
        let decider = |decision: &Decision, held_out: &HeldOut| match decision {
            Decision::BestRcut => Ok(Decider::Best),
            Decision::Policy(policy) if policy.needs_held_out() => Ok(Decider::By(policy.tune(held_out)?.thresholds)),
            Decision::Policy(policy) => Ok(Decider::By(Thresholds::untuned(*policy)?)),
        };
        let of_place =
            |held_out: &HeldOut| self.grid.thresholds.iter().map(|d| decider(d, held_out)).collect::<Result<_>>();
        held_out.iter().map(of_place).collect()
    }

    /// Scores of every training document by classifiers that have not seen it, by place.
    fn hold_out(
        &self,
        classifier: &ClassifierSpec,
        train: &[usize],
        selecting: &Selecting<'_>,
        chosen: &[(usize, Chosen)],
        progress: &dyn Progress,
    ) -> Result<Vec<HeldOut>> {
        let counts = self.counts;
        let mut methods = Vec::new();
        for part in chosen.chunk_by(|a, b| a.0 == b.0) {
            let of_method: Vec<Chosen> = part.iter().map(|(_, c)| c.clone()).collect();
            methods.extend(selecting.inner_methods(part[0].0, &of_method)?);
        }
        let mut whole: Vec<HeldOut> = Vec::new();
        let folds = CrossValidation {
            counts,
            rows: train,
            plan: SplitPlan::Stratified(self.grid.folds as u32),
            seed: self.seed,
        };
        folds.run("tuning", 0, &Stoppable(progress), |fold, Split { train, test }| {
            let mut inner = Selecting::new(self.grid, counts, train, &methods, self.seed)?;
            let mut selections = Vec::new();
            for method in 0..methods.len() {
                let found = inner.choose(method, classifier, &Stoppable(progress), &mut |_| {})?;
                selections.extend(found.into_iter().map(|c| c.selection));
            }
            let holder = Holder { counts, test, fold, places: Places::of(&selections) };
            whole.resize_with(holder.places.len(), || HeldOut::new(counts.labels.len()));
            let task = Task { counts, train, test };
            sweep(classifier, task, &selections, &holder, progress, |part| {
                whole.iter_mut().zip(part).for_each(|(whole, part)| whole.merge(part));
            })
        })?;
        Ok(whole)
    }

    /// The row of a split, and the profile of its selectors.
    fn describe(&self, split: usize, table: &Contingency) -> Result<Vec<Row>> {
        let mut rows = vec![Row::Split(SplitRow::of(split as u32 + 1, &self.splits[split], self.counts))];
        if let Some(profile) = &self.grid.profile {
            rows.extend(self.profile(profile, split, table)?);
        }
        Ok(rows)
    }

    /// For each selector the mean of other scores over its first terms (li 4.2).
    fn profile(&self, profile: &Profile, split: usize, table: &Contingency) -> Result<Vec<Row>> {
        let columns: Vec<(String, Vec<Option<f64>>)> = profile
            .scores
            .iter()
            .zip(rank_all(&profile.scores, table)?)
            .map(|(score, ranking)| {
                let low = ranking.scores().last().copied().unwrap_or(0.0);
                let range = ranking.scores().first().copied().unwrap_or(0.0) - low;
                let mut column = vec![None; table.terms()];
                for (&term, &value) in ranking.terms().iter().zip(ranking.scores()) {
                    column[term as usize] = Some(if range > 0.0 { (value - low) / range } else { 0.0 });
                }
                (score.to_string(), column)
            })
            .collect();
        let selectors: Vec<_> = self.grid.profiled().cloned().collect();
        let rankings = rank_all(&selectors, table)?;
        let row = |(selector, ranking): (&crate::features::Selector, &crate::features::Ranking)| {
            let terms = ranking.top((profile.top * ranking.len() as f64).ceil() as usize);
            let mean = |column: &[Option<f64>]| {
                let known: Vec<f64> = terms.iter().filter_map(|&t| column[t as usize]).collect();
                if known.is_empty() { 0.0 } else { known.iter().sum::<f64>() / known.len() as f64 }
            };
            Row::Profile(ProfileRow {
                split: split as u32 + 1,
                selector: selector.to_string(),
                terms: terms.len(),
                means: columns.iter().map(|(name, column)| (name.clone(), mean(column))).collect(),
            })
        };
        Ok(selectors.iter().zip(&rankings).map(row).collect())
    }
}
