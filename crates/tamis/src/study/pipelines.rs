//! Threshold selection along pipelines: TSA against RBF, and both against what is possible (addis 4).

use std::time::Instant;

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::rows::{PipelineRow, Row, SplitRow, Timing, UtilityRow};
use super::run::{Extent, Sink};
use crate::classify::{ClassifierSpec, KnnOptions};
use crate::counts::Counts;
use crate::counts::{Split, SplitPlan};
use crate::features::Selector;
use crate::hierarchy::Taxonomy;
use crate::hierarchy::pipeline;
use crate::hierarchy::pipeline::{Imbalance, Method, ScoreTable, Utility, select};
use crate::hierarchy::progressive::{ProgressiveOptions, score_tables};
use crate::measure::significance::stream;
use crate::{Error, Progress, Result, Stoppable};

/// What is run along pipelines. The numbers are the paper's (addis 4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pipelines {
    /// Splits: nodes are trained on one part; half of the other selects thresholds, half checks them.
    pub splits: SplitPlan,
    /// Pipelines of so many levels that end at a leaf.
    pub depth: usize,
    /// Fewest pipelines: where a taxonomy has not so many of the depth asked for, those a level shorter are taken.
    pub fewest: usize,
    /// At most so many of them, those with most documents; 0 for all.
    pub most: usize,
    /// Fewest documents of a pipeline's end in each half.
    pub least: usize,
    /// The classifier of every node; its scores must lie in `[0,1]`.
    pub classifier: ClassifierSpec,
    /// The selector of every node.
    pub selector: Selector,
    /// Features of every node.
    pub features: usize,
    /// Training documents of a node, half of them positive.
    pub per_node: usize,
    /// Half of this is the most positives that thresholds are selected on; negatives follow from the imbalance.
    pub documents: usize,
    /// How thresholds are selected.
    pub methods: Vec<Method>,
    /// TSA's step.
    pub tsa_step: f64,
    /// RBF's step.
    pub rbf_step: f64,
    /// Boxes after which `exact` gives up.
    pub boxes: u64,
    /// Exponents i of the imbalances 2^-i. At 0, steps are timed.
    pub imbalance: Vec<i32>,
}

impl Default for Pipelines {
    fn default() -> Self {
        Self {
            splits: SplitPlan::Random { test: 0.5, times: 1 },
            depth: 4,
            fewest: 5,
            most: 24,
            least: 20,
            classifier: ClassifierSpec::Knn(KnnOptions::WKNN),
            selector: ProgressiveOptions::default().selector,
            features: 200,
            per_node: 1000,
            documents: 2000,
            methods: vec![Method::Rbf, Method::Tsa],
            tsa_step: pipeline::TSA_STEP,
            rbf_step: pipeline::RBF_STEP,
            boxes: 20_000,
            imbalance: (0..=7).collect(),
        }
    }
}

impl Pipelines {
    /// What cannot be, as the key at fault and the reason.
    pub(super) fn check(&self) -> std::result::Result<(), (&'static str, String)> {
        let step = |key, step: f64| {
            let fits = step > 0.0 && step <= 1.0;
            if fits { Ok(()) } else { Err((key, "a step is above 0 and at most 1".to_owned())) }
        };
        step("pipelines.tsa_step", self.tsa_step)?;
        step("pipelines.rbf_step", self.rbf_step)?;
        if self.methods.is_empty() {
            return Err(("pipelines.methods", "at least one is needed".into()));
        }
        if self.imbalance.is_empty() || self.imbalance.iter().any(|i| !(0..=30).contains(i)) {
            return Err(("pipelines.imbalance", "exponents from 0 to 30, at least one".into()));
        }
        if matches!(self.classifier, ClassifierSpec::Svm(_)) {
            return Err(("pipelines.classifier", "the scores of svm have no bounds; take wknn, knn or bayes".into()));
        }
        let counts = [
            ("pipelines.depth", self.depth, 1),
            ("pipelines.features", self.features, 1),
            ("pipelines.per_node", self.per_node, 2),
            ("pipelines.documents", self.documents, 2),
        ];
        if let Some((key, _, least)) = counts.into_iter().find(|(_, value, least)| value < least) {
            return Err((key, format!("at least {least}")));
        }
        Ok(())
    }

    fn nodes(&self, seed: u64) -> ProgressiveOptions {
        ProgressiveOptions {
            classifier: self.classifier.clone(),
            selector: self.selector.clone(),
            features: Some(self.features),
            per_node: Some(self.per_node),
            rare: Some(0),
            seed,
            ..ProgressiveOptions::default()
        }
    }

    fn options(&self, method: Method) -> pipeline::Options {
        let step = match method {
            Method::Tsa => Some(self.tsa_step),
            Method::Rbf => Some(self.rbf_step),
            Method::Exact | Method::GreedyExact => None,
        };
        // No limit in seconds: rows must not depend on the machine.
        pipeline::Options { step, seconds: None, boxes: Some(self.boxes), ..pipeline::Options::default() }
    }
}

/// A study of pipelines over a corpus.
pub(super) struct PipelineStudy<'a> {
    plan: &'a Pipelines,
    counts: &'a Counts,
    taxonomy: &'a Taxonomy,
    seed: u64,
    splits: Vec<Split>,
    /// Ends of the pipelines.
    ends: Vec<u32>,
}

impl<'a> PipelineStudy<'a> {
    pub(super) fn new(plan: &'a Pipelines, counts: &'a Counts, taxonomy: &'a Taxonomy, seed: u64) -> Result<Self> {
        let splits = plan.splits.splits(counts, seed)?;
        let ends = ends(plan, counts, taxonomy, &splits)?;
        Ok(Self { plan, counts, taxonomy, seed, splits, ends })
    }

    fn rows_of_a_pipeline(&self) -> usize {
        1 + self.plan.methods.len() * self.plan.imbalance.len()
    }

    pub(super) fn extent(&self) -> Extent {
        Extent {
            splits: self.splits.len(),
            methods: self.plan.methods.len(),
            units: self.splits.len() * (1 + self.ends.len()),
            rows: self.splits.len() * (1 + self.ends.len() * self.rows_of_a_pipeline()),
            classifications: self.splits.iter().map(|s| (s.test.len() * self.ends.len()) as u64).sum(),
        }
    }

    pub(super) fn run(&self, sink: &mut dyn Sink, progress: &dyn Progress) -> Result<Extent> {
        let of_split = std::iter::once(1).chain(self.ends.iter().map(|_| self.rows_of_a_pipeline()));
        let sizes: Vec<usize> = self.splits.iter().flat_map(|_| of_split.clone()).collect();
        let mut done = sink.resume(&sizes)?;
        progress.start("pipelines", Some((sizes.len() - done) as u64));
        for (number, split) in self.splits.iter().enumerate() {
            let skip = done.min(1 + self.ends.len());
            done -= skip;
            if skip == 1 + self.ends.len() {
                continue;
            }
            if skip == 0 {
                sink.unit(&[Row::Split(SplitRow::of(number as u32 + 1, split, self.counts))])?;
                progress.add(1);
            }
            let ends = &self.ends[skip.saturating_sub(1)..];
            let nodes = self.plan.nodes(self.seed);
            let tables = score_tables(
                self.counts,
                &split.train,
                &split.test,
                self.taxonomy,
                ends,
                &nodes,
                &Stoppable(progress),
            )?;
            for table in &tables {
                if progress.cancelled() {
                    return Err(Error::Interrupted);
                }
                let rows = self.run_pipeline(number as u32 + 1, table, sink)?;
                sink.unit(&rows)?;
                progress.add(1);
            }
        }
        progress.finish();
        Ok(self.extent())
    }

    fn run_pipeline(&self, split: u32, table: &ScoreTable, sink: &mut dyn Sink) -> Result<Vec<Row>> {
        let name = table.levels().join(" > ");
        let halves = [0, 1].map(|half| (half..table.documents()).step_by(2).collect::<Vec<_>>());
        let check = table.select_rows(&halves[1]);
        let selecting = self.with_fewer_positives(&table.select_rows(&halves[0]));
        let mut rows = vec![Row::Utilities(self.utilities(split, &name, &selecting)?)];
        for &exponent in &self.plan.imbalance {
            let imbalance = Imbalance::power(exponent);
            let (table, check) = (selecting.held_to(imbalance, self.seed)?, check.held_to(imbalance, self.seed)?);
            for &method in &self.plan.methods {
                let options = self.plan.options(method);
                let mut steps = Vec::new();
                if exponent == 0 {
                    steps = self.time_steps(split, &name, &table, method, sink)?;
                }
                let found = select(&table, method, &options)?;
                rows.push(Row::Pipeline(PipelineRow {
                    split,
                    pipeline: name.clone(),
                    documents: table.documents(),
                    positives: table.positives(),
                    imbalance: imbalance.to_string(),
                    method: method.to_string(),
                    check: check.utility(options.utility, &found.thresholds),
                    thresholds: found.thresholds,
                    utility: found.utility,
                    evaluations: found.evaluations,
                    steps,
                    visited: found.visited,
                    negative_weight: table.negative_weight(),
                    proven: found.proven,
                }));
            }
        }
        Ok(rows)
    }

    /// Utilities up to each calibrate step, and the seconds they take: of the deepest level, the deepest two, and so on.
    fn time_steps(
        &self,
        split: u32,
        pipeline: &str,
        table: &ScoreTable,
        method: Method,
        sink: &mut dyn Sink,
    ) -> Result<Vec<u64>> {
        let mut evaluations = Vec::new();
        for levels in 1..=table.depth() {
            let part = table.deepest(levels);
            let start = Instant::now();
            evaluations.push(select(&part, method, &self.plan.options(method))?.evaluations);
            sink.time(&Timing {
                split,
                what: method.to_string(),
                selector: Some(pipeline.to_owned()),
                step: Some(levels as u32),
                seconds: start.elapsed().as_secs_f64(),
                ..Timing::default()
            });
        }
        Ok(evaluations)
    }

    /// Positives up to half of the wanted documents, drawn by the seed, and every negative.
    fn with_fewer_positives(&self, table: &ScoreTable) -> ScoreTable {
        let mut positives: Vec<usize> = (0..table.documents()).filter(|&d| table.truth()[d]).collect();
        positives.shuffle(&mut stream(self.seed, 1));
        positives.truncate((self.plan.documents / 2).max(1));
        let mut rows: Vec<usize> = (0..table.documents()).filter(|&d| !table.truth()[d]).collect();
        rows.extend_from_slice(&positives);
        rows.sort_unstable();
        table.select_rows(&rows)
    }

    /// Precision, recall and F1 against the threshold of the last level, all others 0, on the balanced set.
    fn utilities(&self, split: u32, pipeline: &str, table: &ScoreTable) -> Result<UtilityRow> {
        let table = table.held_to(Imbalance::power(0), self.seed)?.deepest(1);
        let points = (1.0 / self.plan.rbf_step).round() as u32;
        let at: Vec<f64> = (0..=points).map(|i| f64::from(i) / f64::from(points)).collect();
        let along = |utility: Utility| at.iter().map(|&t| table.utility(utility, &[t])).collect();
        let best = |method: Method| Ok::<_, Error>(select(&table, method, &self.plan.options(method))?.utility);
        Ok(UtilityRow {
            split,
            pipeline: pipeline.to_owned(),
            precision: along(Utility::Precision),
            recall: along(Utility::Recall),
            f1: along(Utility::F1),
            at,
            reached: best(Method::Tsa)?,
            best: best(Method::Exact)?,
        })
    }
}

/// The ends of the pipelines that are run: leaves at the depth asked for with enough documents on either side in every
/// split, those with most documents first.
fn ends(plan: &Pipelines, counts: &Counts, taxonomy: &Taxonomy, splits: &[Split]) -> Result<Vec<u32>> {
    let node_of = taxonomy.align(&counts.labels)?;
    let closed = taxonomy.close(&counts.assignments, &node_of);
    let mut fewest = vec![usize::MAX; taxonomy.len()];
    for split in splits {
        for half in 0..2 {
            let mut documents = vec![0usize; taxonomy.len()];
            for &row in split.test.iter().skip(half).step_by(2) {
                closed.row_indices(row).iter().for_each(|&n| documents[n as usize] += 1);
            }
            fewest.iter_mut().zip(documents).for_each(|(fewest, n)| *fewest = (*fewest).min(n));
        }
    }
    let enough = |&node: &u32| fewest[node as usize] >= plan.least.max(1);
    let leaves: Vec<u32> = taxonomy.leaves().filter(enough).collect();
    let of = |depth: usize| leaves.iter().filter(|&&n| taxonomy.depth(n) == depth).count();
    let depths = || (1..=plan.depth).rev();
    let depth =
        depths().find(|&depth| of(depth) >= plan.fewest.max(1)).or_else(|| depths().find(|&depth| of(depth) > 0));
    let mut ends: Vec<u32> = leaves.iter().copied().filter(|&n| Some(taxonomy.depth(n)) == depth).collect();
    if ends.is_empty() {
        return Err(Error::data(format!(
            "no leaf of the taxonomy at most {} levels deep has {} documents in each half of the test documents: take a larger \
             corpus, or lower pipelines.least",
            plan.depth, plan.least
        )));
    }
    ends.sort_by_key(|&n| (std::cmp::Reverse(fewest[n as usize]), n));
    if plan.most > 0 {
        ends.truncate(plan.most);
    }
    Ok(ends)
}
