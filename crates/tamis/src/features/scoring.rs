//! Scores of all terms in one walk over the contingency, without looping over all labels for each term.
//!
//! For a label that a term does not meet, `a = 0` and the cell depends only on the term's df and the label's size. So
//! terms are grouped by df; for each df the scores of such empty cells are computed once for each label size, and a
//! term starts from the group's total and corrects it for the labels it meets: a term costs the labels it meets.
//! Sums carry a second double for what rounding loses, so taking a number out of a total again leaves nothing behind,
//! and the order in which labels are added does not show: equal cells in any order give equal bits, ties stay ties.

use rayon::prelude::*;

use super::empty_cells::{Empty, Sum};
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

/// A score for each term, by term number; terms not asked for have 0.
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
                spec.what
            )));
        }
    }
    Ok(())
}

/// The columns of all leaves, in one walk; [`check`] comes first.
/// `order` has the terms to score, as [`by_df`] gives them.
pub(crate) fn columns(table: &Contingency, leaves: &[Leaf], order: &[u32]) -> Vec<Column> {
    let frame = Frame::new(table);
    let plan = ScoringPlan::new(table, leaves);
    let chunks = chunks(table, order, frame.sizes.len());
    let parts: Vec<Vec<ScoredPart>> = chunks.par_iter().map(|terms| plan.score(&frame, terms)).collect();
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
    columns
}

/// Terms with `df > cut`, by df descending, then by term: the order of ties (method 2), and equal df side by side.
pub(crate) fn by_df(table: &Contingency, cut: u32) -> Vec<u32> {
    let df = table.df();
    // Counting sort: places of a df start where those of higher ones end.
    let highest = df.iter().copied().max().unwrap_or(0) as usize;
    let mut next = vec![0u32; highest + 2];
    for &df in df.iter().filter(|&&df| df > cut) {
        next[df as usize] += 1;
    }
    let mut place = 0;
    for count in next.iter_mut().rev() {
        place += std::mem::replace(count, place);
    }
    let mut order = vec![0u32; place as usize];
    for (term, &df) in (0u32..).zip(df).filter(|(_, df)| **df > cut) {
        let at = &mut next[df as usize];
        order[*at as usize] = term;
        *at += 1;
    }
    order
}

/// Those of [`by_df`] with `df > cut`.
pub(crate) fn above<'a>(table: &Contingency, order: &'a [u32], cut: u32) -> &'a [u32] {
    &order[..order.partition_point(|&term| table.df()[term as usize] > cut)]
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
pub(super) struct Frame<'a> {
    pub(super) table: &'a Contingency,
    pub(super) n: f64,
    /// `n_c` by label.
    pub(super) label_documents: Vec<f64>,
    /// `P(c)` by label.
    pub(super) priors: Vec<f64>,
    /// Sum of `n_c` over all labels.
    pub(super) all_label_documents: f64,
    /// Distinct `n_c` above 0, ascending.
    pub(super) sizes: Vec<f64>,
    /// Place in `sizes` by label; meaningless for labels without documents.
    pub(super) size_of: Vec<u32>,
    /// Labels with documents, by size, then by number.
    pub(super) labels: Vec<u32>,
    /// Where in `labels` each size begins; one more than sizes.
    pub(super) starts: Vec<usize>,
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
struct ScoringPlan {
    leaves: usize,
    cells: Vec<CellPlan>,
    parts: Vec<PartsPlan>,
    frequency: Vec<usize>,
    pairs: Vec<(usize, u32, Bhattacharyya)>,
}

/// A sum over labels; see [`Function::Parts`].
struct PartsPlan {
    leaf: usize,
    met: fn(Cell) -> f64,
    unmet: fn(f64, f64, f64) -> f64,
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
struct ScoredPart {
    scores: Vec<f64>,
    labels: Vec<u32>,
}

impl ScoringPlan {
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
                Function::Parts { met, unmet } => plan.parts.push(PartsPlan { leaf: at, met, unmet }),
                Function::Pairs(prior) => plan.pairs.push((at, leaf.cut, Bhattacharyya::new(table, leaf.cut, prior))),
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

    /// The scores of some terms; those of equal df stand together.
    fn score(&self, frame: &Frame, terms: &[u32]) -> Vec<ScoredPart> {
        let mut out: Vec<ScoredPart> = (0..self.leaves).map(|_| ScoredPart::default()).collect();
        let mut empty: Vec<Empty> = self.cells.iter().map(|_| Empty::default()).collect();
        let (mut cells, mut scores, mut angles) = (Vec::new(), Vec::new(), Angles::default());
        let mut group_df = None;
        for &term in terms {
            let df = frame.table.df()[term as usize];
            if group_df != Some(df) && !self.cells.is_empty() {
                group_df = Some(df);
                frame.empty_cells(f64::from(df), &mut cells);
                for (plan, empty) in self.cells.iter().zip(&mut empty) {
                    empty.prepare(frame, plan.function, &cells, plan.outputs.iter().any(|o| o.1 != Pool::Max));
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
            for &PartsPlan { leaf, met, unmet } in &self.parts {
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
                let score = if df > *cut {
                    distance.score(frame.table.occurrences()[term as usize], labels, meetings, &mut angles)
                } else {
                    0.0
                };
                out[*leaf].scores.push(score);
            }
        }
        out
    }
}
