//! From a contingency to rankings: leaves are scored in one walk, then combined.

use rayon::prelude::*;

use super::combine::combine;
use super::ranking::Ranking;
use super::registry::Score;
use super::scoring::{self, CellFunction, Column, Leaf};
use super::selector::{Kind, SEARCH_HAS_NO_RANKING, Selector};
use crate::counts::{Cell, Contingency, Meeting};
use crate::{Error, Result};

impl Selector {
    /// All terms that it does not cut, best first.
    ///
    /// Scores are those of method 2; combinations of ranks (`hr lr ar rr wr`) give points, the number of candidates plus
    /// one minus the rank, so that larger is better everywhere. Terms that no document contains are never candidates.
    ///
    /// Refused: a search (it has no ranking), a λ that is not learned, and scores that could say nothing because the
    /// documents have no labels or all the same ones.
    pub fn rank(&self, table: &Contingency) -> Result<Ranking> {
        let mut rankings = rank_all(std::slice::from_ref(self), table)?;
        rankings.pop().ok_or_else(|| Error::data("no selector was given"))
    }

    /// All terms ranked for one label (local selection): by the score of the term and that label, whatever pool is
    /// asked for. Formulas over the whole row have no such score and are refused, except `df`, which needs no label.
    pub fn rank_label(&self, table: &Contingency, label: u32) -> Result<Ranking> {
        let local = Local::new(std::slice::from_ref(self), table)?;
        if label as usize >= table.label_documents().len() {
            return Err(Error::invalid("label", label, format!("there are {}", table.label_documents().len())));
        }
        let meetings: Vec<(u32, Meeting)> =
            (0..table.terms()).filter_map(|t| table.meetings().get(t, label).map(|m| (t as u32, m))).collect();
        local.rank(self, label, meetings.into_iter(), usize::MAX)
    }

    /// [`Selector::rank_label`] for every label, each cut off after `top` terms; labels without documents have an empty
    /// list.
    pub fn rank_per_label(&self, table: &Contingency, top: usize) -> Result<Vec<Ranking>> {
        let local = Local::new(std::slice::from_ref(self), table)?;
        let by_label = table.meetings().transpose();
        (0..by_label.rows())
            .into_par_iter()
            .map(|label| local.rank(self, label as u32, by_label.row(label), top))
            .collect()
    }

    /// The scores it is made of, each with the cut that applies to it; a cut inside wins over one outside.
    fn leaves(&self, outer: u32, leaves: &mut Vec<Leaf>) -> Result<()> {
        let cut = self.cut().unwrap_or(outer);
        match self.kind() {
            Kind::Score(score) => {
                let leaf = Leaf { score: *score, cut };
                if !leaves.contains(&leaf) {
                    leaves.push(leaf);
                }
                Ok(())
            }
            Kind::Combine(combine) => combine.inputs().iter().try_for_each(|input| input.leaves(cut, leaves)),
            Kind::Search(_) => Err(Error::data(format!("{self}: {SEARCH_HAS_NO_RANKING}"))),
        }
    }

    /// The ranking, given those of its leaves.
    fn assemble(&self, outer: u32, leaves: &[Leaf], rankings: &[Ranking], df: &[u32]) -> Result<Ranking> {
        let cut = self.cut().unwrap_or(outer);
        match self.kind() {
            Kind::Score(score) => {
                let leaf = Leaf { score: *score, cut };
                let at = leaves.iter().position(|l| *l == leaf).expect("every score was listed as a leaf");
                Ok(rankings[at].clone())
            }
            Kind::Combine(how) => {
                let inputs: Vec<Ranking> = how
                    .inputs()
                    .iter()
                    .map(|input| input.assemble(cut, leaves, rankings, df))
                    .collect::<Result<_>>()?;
                Ok(combine(how, &inputs.iter().collect::<Vec<_>>(), df))
            }
            Kind::Search(_) => Err(Error::data(format!("{self}: {SEARCH_HAS_NO_RANKING}"))),
        }
    }
}

/// Ranks by many selectors at once. Scores that occur in several of them are computed and sorted once, all in one walk
/// over the contingency.
pub fn rank_all(selectors: &[Selector], table: &Contingency) -> Result<Vec<Ranking>> {
    let mut leaves = Vec::new();
    selectors.iter().try_for_each(|selector| selector.leaves(0, &mut leaves))?;
    scoring::check(table, leaves.iter().map(|leaf| leaf.score))?;
    let lowest = leaves.iter().map(|leaf| leaf.cut).min().unwrap_or(0);
    let order = scoring::by_df(table, lowest);
    let columns = scoring::columns(table, &leaves, &order);
    let rankings: Vec<Ranking> = leaves
        .par_iter()
        .zip(&columns)
        .map(|(leaf, column)| rank_column(scoring::above(table, &order, leaf.cut), column))
        .collect();
    selectors.par_iter().map(|selector| selector.assemble(0, &leaves, &rankings, table.df())).collect()
}

fn rank_column(order: &[u32], column: &Column) -> Ranking {
    let ranking = Ranking::from_ties(order.iter().map(|&term| (term, column.scores[term as usize])));
    match &column.labels {
        Some(labels) => ranking.with_labels(labels),
        None => ranking,
    }
}

/// What local rankings of all labels share.
struct Local<'a> {
    table: &'a Contingency,
    leaves: Vec<Leaf>,
    /// Terms in the order of ties; by df, so that the score of an empty cell is computed once for each df.
    order: Vec<u32>,
}

impl<'a> Local<'a> {
    fn new(selectors: &[Selector], table: &'a Contingency) -> Result<Self> {
        let mut leaves = Vec::new();
        selectors.iter().try_for_each(|selector| selector.leaves(0, &mut leaves))?;
        scoring::check(table, leaves.iter().map(|leaf| leaf.score))?;
        for Leaf { score, .. } in &leaves {
            if !score.formula().is_per_label() && score.name() != "df" {
                return Err(Error::data(format!(
                    "{score} is one score over all labels and ranks no terms for a single one; g2 is the information \
                     gain of a label against the rest"
                )));
            }
        }
        let cut = leaves.iter().map(|leaf| leaf.cut).min().unwrap_or(0);
        Ok(Self { table, leaves, order: scoring::by_df(table, cut) })
    }

    fn rank(
        &self,
        selector: &Selector,
        label: u32,
        meetings: impl Iterator<Item = (u32, Meeting)>,
        top: usize,
    ) -> Result<Ranking> {
        let df = self.table.df();
        if self.table.label_documents()[label as usize] == 0 {
            return Ok(Ranking::from_scores(df, []));
        }
        let mut both = vec![0u32; self.table.terms()];
        for (term, meeting) in meetings {
            both[term as usize] = meeting.documents;
        }
        let whole = matches!(selector.kind(), Kind::Combine(_));
        let rankings: Vec<Ranking> = self
            .leaves
            .iter()
            .map(|leaf| {
                let order = scoring::above(self.table, &self.order, leaf.cut);
                let scores = self.scores(order, leaf.score, label, &both);
                // A combination needs its inputs whole.
                Ranking::from_ties_top(order.iter().copied().zip(scores), if whole { usize::MAX } else { top })
            })
            .collect();
        let ranking = selector.assemble(0, &self.leaves, &rankings, df)?;
        Ok(if ranking.len() > top {
            Ranking::from_sorted(ranking.terms().iter().copied().zip(ranking.scores().iter().copied()).take(top))
        } else {
            ranking
        })
    }

    /// Scores of the terms in order; those of equal df stand together.
    fn scores(&self, order: &[u32], score: Score, label: u32, both: &[u32]) -> Vec<f64> {
        let df = self.table.df();
        let Some(function) = CellFunction::of(score.formula()) else {
            return order.iter().map(|&t| f64::from(df[t as usize])).collect();
        };
        let mut one = Vec::with_capacity(1);
        let mut of_cell = |cell: Cell| {
            function.run(&[cell], &mut one);
            one[0]
        };
        let mut empty = (u32::MAX, 0.0);
        order
            .iter()
            .map(|&term| {
                let a = both[term as usize];
                if a > 0 {
                    return of_cell(self.table.cell_with(term, label, a));
                }
                let df = df[term as usize];
                if empty.0 != df {
                    empty = (df, of_cell(self.table.cell_with(term, label, 0)));
                }
                empty.1
            })
            .collect()
    }
}
