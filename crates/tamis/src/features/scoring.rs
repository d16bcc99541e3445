//! Scores of all terms in one walk over the contingency, without looping over all labels for each term.
//!
//! For a label that a term does not meet, `a = 0` and the cell depends only on the term's df and the label's size. So
//! terms are grouped by df; for each df the scores of such empty cells are computed once for each label size, and a
//! term starts from the group's total and corrects it for the labels it meets: a term costs the labels it meets.
//! Sums carry a second double for what rounding loses, so taking a number out of a total again leaves nothing behind,
//! and the order in which labels are added does not show: equal cells in any order give equal bits, ties stay ties.

use rayon::prelude::*;

use super::formulas::bhattacharyya::{Angles, Bhattacharyya};
use super::formulas::odds;
use super::registry::{Formula, Function, Lambda, Needs, Pool, Score};
use crate::counts::{Cell, Contingency};
use crate::{Error, Result};

/// A score and the level its vocabulary is cut at (which matters to `ib`; others only skip the terms).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Leaf {
    pub(crate) score: Score,
    pub(crate) cut: u32,
}

/// A score for each term, by term number; terms cut by the lowest cut of the request have 0.
#[derive(Debug, Clone, Default)]
pub(crate) struct Column {
    pub(crate) scores: Vec<f64>,
    /// For scores pooled by max: the label that gave the maximum, the lowest number among equals.
    pub(crate) labels: Option<Vec<u32>>,
}

/// Refuses scores that could say nothing about these documents, and says why.
pub(crate) fn check(table: &Contingency, scores: impl IntoIterator<Item = Score>) -> Result<()> {
    let n = table.documents();
    let sizes = || table.label_documents().iter().map(|&n| u64::from(n)).filter(|&n| n > 0);
    for score in scores {
        let spec = score.formula().spec();
        if score.formula() == Formula::Wfo(Lambda::Auto) {
            return Err(Error::data(format!(
                "{score}: λ is not learned yet; learn it on the training documents, or give it, as in {}(0.5)",
                score.name()
            )));
        }
        if spec.needs == Needs::Documents {
            continue;
        }
        let reason = if sizes().next().is_none() {
            Some("no training document has a label".to_owned())
        } else if spec.needs == Needs::Contrast && !sizes().any(|size| size < n) {
            Some("every training document has the same labels, so there is nothing to tell apart".to_owned())
        } else if spec.needs == Needs::TwoLabels && sizes().nth(1).is_none() {
            Some("it compares pairs of classes, and only one label has training documents".to_owned())
        } else {
            None
        };
        if let Some(reason) = reason {
            return Err(Error::data(format!(
                "{score} ({}) cannot be computed: {reason}. Give documents of at least two classes; df needs no labels",
                spec.title
            )));
        }
    }
    Ok(())
}

/// The columns of all leaves, in one walk.
pub(crate) fn columns(table: &Contingency, leaves: &[Leaf]) -> Result<Vec<Column>> {
    check(table, leaves.iter().map(|leaf| leaf.score))?;
    let Some(cut) = leaves.iter().map(|leaf| leaf.cut).min() else { return Ok(Vec::new()) };
    let frame = Frame::new(table);
    let plan = Plan::new(table, leaves);
    let order = by_df(table, cut);
    let chunks = chunks(table, &order, frame.sizes.len());
    let parts: Vec<Vec<Part>> = chunks.par_iter().map(|terms| plan.score(&frame, terms)).collect();
    let mut columns: Vec<Column> = leaves
        .iter()
        .map(|leaf| Column {
            scores: vec![0.0; table.terms()],
            labels: (leaf.score.pool() == Some(Pool::Max)).then(|| vec![0; table.terms()]),
        })
        .collect();
    columns.par_iter_mut().enumerate().for_each(|(leaf, column)| {
        for (terms, part) in chunks.iter().zip(&parts) {
            for (&term, &score) in terms.iter().zip(&part[leaf].scores) {
                column.scores[term as usize] = score;
            }
            if let Some(labels) = &mut column.labels {
                for (&term, &label) in terms.iter().zip(&part[leaf].labels) {
                    labels[term as usize] = label;
                }
            }
        }
    });
    Ok(columns)
}

/// Terms with `df > cut`, by df.
pub(crate) fn by_df(table: &Contingency, cut: u32) -> Vec<u32> {
    let df = table.df();
    let mut order: Vec<u32> = (0..table.terms() as u32).filter(|&t| df[t as usize] > cut).collect();
    order.sort_unstable_by_key(|&t| (df[t as usize], t));
    order
}

/// Cuts the terms into pieces of about equal work. Where they are cut changes no result.
fn chunks<'a>(table: &Contingency, order: &'a [u32], sizes: usize) -> Vec<&'a [u32]> {
    const WORK: usize = 1 << 14;
    let (mut chunks, mut start, mut work, mut last_df) = (Vec::new(), 0, 0, u32::MAX);
    for (at, &term) in order.iter().enumerate() {
        let df = table.df()[term as usize];
        work += 4 + table.meetings().range(term as usize).len() + if df == last_df { 0 } else { sizes };
        last_df = df;
        if work >= WORK {
            chunks.push(&order[start..=at]);
            (start, work, last_df) = (at + 1, 0, u32::MAX);
        }
    }
    chunks.push(&order[start..]);
    chunks
}

/// The labels, as the walk needs them.
struct Frame<'a> {
    table: &'a Contingency,
    n: f64,
    /// `n_c` by label.
    label_documents: Vec<f64>,
    /// `P(c)` by label.
    priors: Vec<f64>,
    /// Sum of `n_c` over all labels.
    all_label_documents: f64,
    /// Distinct `n_c` above 0, ascending.
    sizes: Vec<f64>,
    /// Place in `sizes` by label; meaningless for labels without documents.
    size_of: Vec<u32>,
    /// Labels with documents, by size, then by number.
    labels: Vec<u32>,
    /// Where in `labels` each size begins; one more than sizes.
    starts: Vec<usize>,
}

impl<'a> Frame<'a> {
    fn new(table: &'a Contingency) -> Self {
        let n = table.documents() as f64;
        let label_documents: Vec<f64> = table.label_documents().iter().map(|&n| f64::from(n)).collect();
        let mut labels: Vec<u32> =
            (0..label_documents.len() as u32).filter(|&l| label_documents[l as usize] > 0.0).collect();
        labels.sort_by_key(|&l| (table.label_documents()[l as usize], l));
        let (mut sizes, mut starts, mut size_of) = (Vec::new(), Vec::new(), vec![0; label_documents.len()]);
        for (at, &label) in labels.iter().enumerate() {
            let size = label_documents[label as usize];
            if sizes.last() != Some(&size) {
                sizes.push(size);
                starts.push(at);
            }
            size_of[label as usize] = sizes.len() as u32 - 1;
        }
        starts.push(labels.len());
        Self {
            table,
            n,
            priors: label_documents.iter().map(|size| size / n).collect(),
            all_label_documents: label_documents.iter().sum(),
            label_documents,
            sizes,
            size_of,
            labels,
            starts,
        }
    }

    /// Empty cells of a df, one for each size that leaves room for them: a label with more documents than lack the
    /// term meets it in any case.
    fn empty_cells(&self, df: f64, cells: &mut Vec<Cell>) {
        let lacking = self.n - df;
        cells.clear();
        cells.extend(self.sizes.iter().take_while(|&&size| size <= lacking).map(|&size| Cell {
            a: 0.0,
            b: df,
            c: size,
            d: lacking - size,
        }));
    }
}

/// What a request asks for, each formula on cells once, however many pools it is asked in.
struct Plan {
    leaves: usize,
    cells: Vec<CellPlan>,
    /// Leaf, what met labels add, what the others add together.
    parts: Vec<(usize, fn(Cell) -> f64, fn(f64, f64, f64) -> f64)>,
    frequency: Vec<usize>,
    pairs: Vec<(usize, u32, Bhattacharyya)>,
}

struct CellPlan {
    function: CellFunction,
    /// Leaves and their pools.
    outputs: Vec<(usize, Pool)>,
}

/// A formula on cells, ready to run over a row.
#[derive(Clone, Copy)]
pub(crate) enum CellFunction {
    Row(fn(&[Cell], &mut Vec<f64>)),
    Wfo(f64),
}

impl CellFunction {
    /// `None` for formulas that are not on cells, or have no λ yet.
    pub(crate) fn of(formula: Formula) -> Option<Self> {
        match formula.spec().function {
            Function::Cell { row, .. } => Some(Self::Row(row)),
            Function::Wfo(Lambda::Fixed(lambda)) => Some(Self::Wfo(lambda)),
            _ => None,
        }
    }

    /// Replaces `scores` by the scores of the cells.
    pub(crate) fn run(self, cells: &[Cell], scores: &mut Vec<f64>) {
        scores.clear();
        match self {
            Self::Row(row) => row(cells, scores),
            Self::Wfo(lambda) => scores.extend(cells.iter().map(|&cell| odds::wfo(lambda, cell))),
        }
    }
}

/// What a chunk of terms gives for one leaf.
#[derive(Default)]
struct Part {
    scores: Vec<f64>,
    labels: Vec<u32>,
}

impl Plan {
    fn new(table: &Contingency, leaves: &[Leaf]) -> Self {
        let mut plan = Self {
            leaves: leaves.len(),
            cells: Vec::new(),
            parts: Vec::new(),
            frequency: Vec::new(),
            pairs: Vec::new(),
        };
        let mut formulas: Vec<Formula> = Vec::new();
        for (at, leaf) in leaves.iter().enumerate() {
            let formula = leaf.score.formula();
            match formula.spec().function {
                Function::Frequency => plan.frequency.push(at),
                Function::Parts { met, unmet } => plan.parts.push((at, met, unmet)),
                Function::Pairs => plan.pairs.push((at, leaf.cut, Bhattacharyya::new(table, leaf.cut))),
                Function::Cell { .. } | Function::Wfo(_) => {
                    let pool = leaf.score.pool().unwrap_or(Pool::Max);
                    if let Some(same) = formulas.iter().position(|f| *f == formula) {
                        plan.cells[same].outputs.push((at, pool));
                    } else if let Some(function) = CellFunction::of(formula) {
                        formulas.push(formula);
                        plan.cells.push(CellPlan { function, outputs: vec![(at, pool)] });
                    }
                }
            }
        }
        plan
    }

    /// The scores of some terms, which are ascending by df.
    fn score(&self, frame: &Frame, terms: &[u32]) -> Vec<Part> {
        let mut out: Vec<Part> = (0..self.leaves).map(|_| Part::default()).collect();
        let mut empty: Vec<Empty> = self.cells.iter().map(|_| Empty::default()).collect();
        let (mut cells, mut scores, mut angles) = (Vec::new(), Vec::new(), Angles::default());
        let mut group_df = None;
        for &term in terms {
            let df = frame.table.df()[term as usize];
            if group_df != Some(df) && !self.cells.is_empty() {
                group_df = Some(df);
                frame.empty_cells(f64::from(df), &mut cells);
                for (plan, empty) in self.cells.iter().zip(&mut empty) {
                    empty.prepare(frame, plan, &cells);
                }
            }
            let labels = frame.table.meetings().row_indices(term as usize);
            let meetings = frame.table.meetings().row_values(term as usize);
            cells.clear();
            cells.extend(labels.iter().zip(meetings).map(|(&l, m)| frame.table.cell_with(term, l, m.documents)));
            for (plan, empty) in self.cells.iter().zip(&mut empty) {
                plan.function.run(&cells, &mut scores);
                for &(leaf, pool) in &plan.outputs {
                    match pool {
                        Pool::Max => {
                            let (score, label) = empty.max(frame, labels, &scores);
                            out[leaf].scores.push(score);
                            out[leaf].labels.push(label);
                        }
                        Pool::Sum => out[leaf].scores.push(empty.sum(frame, labels, &scores)),
                        Pool::Avg => out[leaf].scores.push(empty.avg(frame, labels, &scores)),
                    }
                }
            }
            for &(leaf, met, unmet) in &self.parts {
                let met_documents: f64 = labels.iter().map(|&l| frame.label_documents[l as usize]).sum();
                let mut sum = Sum::default();
                for &cell in &cells {
                    sum.add(met(cell));
                }
                sum.add(unmet(frame.n, f64::from(df), frame.all_label_documents - met_documents));
                out[leaf].scores.push(sum.value());
            }
            for &leaf in &self.frequency {
                out[leaf].scores.push(f64::from(df));
            }
            for (leaf, cut, distance) in &self.pairs {
                let score = if df > *cut { distance.score(labels, meetings, &mut angles) } else { 0.0 };
                out[*leaf].scores.push(score);
            }
        }
        out
    }
}

/// Scores of the empty cells of one df for one formula.
#[derive(Default)]
struct Empty {
    /// By place in [`Frame::sizes`], as far as there is room for empty cells.
    scores: Vec<f64>,
    highest: f64,
    sum: Sum,
    avg: Sum,
    /// Labels by score descending, then number; filled when the first term asks.
    order: Vec<u32>,
    ordered: bool,
}

impl Empty {
    fn prepare(&mut self, frame: &Frame, plan: &CellPlan, cells: &[Cell]) {
        plan.function.run(cells, &mut self.scores);
        self.highest = self.scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.ordered = false;
        (self.sum, self.avg) = (Sum::default(), Sum::default());
        if plan.outputs.iter().any(|(_, pool)| *pool != Pool::Max) && self.scores.iter().any(|s| *s != 0.0) {
            for (place, &score) in self.scores.iter().enumerate() {
                let part = frame.sizes[place] / frame.n * score;
                for _ in frame.starts[place]..frame.starts[place + 1] {
                    self.sum.add(score);
                    self.avg.add(part);
                }
            }
        }
    }

    /// The score of a label's empty cell, 0 when there is no room for one (then it is in no total either).
    fn of(&self, frame: &Frame, label: u32) -> f64 {
        self.scores.get(frame.size_of[label as usize] as usize).copied().unwrap_or(0.0)
    }

    fn sum(&self, frame: &Frame, labels: &[u32], scores: &[f64]) -> f64 {
        let mut sum = self.sum;
        for (&label, score) in labels.iter().zip(scores) {
            sum.add(-self.of(frame, label));
            sum.add(*score);
        }
        sum.value()
    }

    fn avg(&self, frame: &Frame, labels: &[u32], scores: &[f64]) -> f64 {
        let mut sum = self.avg;
        for (&label, score) in labels.iter().zip(scores) {
            let prior = frame.priors[label as usize];
            sum.add(-(prior * self.of(frame, label)));
            sum.add(prior * score);
        }
        sum.value()
    }

    /// The largest score over all labels, and the label.
    fn max(&mut self, frame: &Frame, labels: &[u32], scores: &[f64]) -> (f64, u32) {
        let mut best = (f64::NEG_INFINITY, u32::MAX);
        for (&label, &score) in labels.iter().zip(scores) {
            if score > best.0 {
                best = (score, label);
            }
        }
        if self.highest >= best.0 {
            if !self.ordered {
                self.order(frame);
            }
            // At most as many are passed over as the term meets labels.
            if let Some(&label) = self.order.iter().find(|label| labels.binary_search(label).is_err()) {
                let score = self.of(frame, label);
                if score > best.0 || (score == best.0 && label < best.1) {
                    best = (score, label);
                }
            }
        }
        // Minus zero would print and compare unlike zero.
        (best.0 + 0.0, best.1)
    }

    fn order(&mut self, frame: &Frame) {
        self.ordered = true;
        self.order.clear();
        let scores = &self.scores;
        // Almost every formula rises or falls with the size of the label; then there is nothing to sort.
        if scores.is_sorted_by(|x, y| x > y) {
            self.order.extend(&frame.labels[..frame.starts[scores.len()]]);
        } else if scores.is_sorted_by(|x, y| x < y) {
            for place in (0..scores.len()).rev() {
                self.order.extend(&frame.labels[frame.starts[place]..frame.starts[place + 1]]);
            }
        } else {
            self.order.extend(&frame.labels[..frame.starts[scores.len()]]);
            let score = |label: u32| scores[frame.size_of[label as usize] as usize];
            self.order.sort_unstable_by(|&x, &y| score(y).total_cmp(&score(x)).then(x.cmp(&y)));
        }
    }
}

/// A sum that remembers what rounding took away (Knuth's exact addition), so that it is right to the last bit in any
/// order of its parts, for all but contrived inputs.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    fn add(&mut self, x: f64) {
        let sum = self.high + x;
        let of_x = sum - self.high;
        self.low += (self.high - (sum - of_x)) + (x - of_x);
        self.high = sum;
    }

    fn value(self) -> f64 {
        self.high + self.low + 0.0
    }
}
