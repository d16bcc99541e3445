//! Dual variables of a fit, to start a similar one from.

use rustc_hash::FxHashMap;

use super::objective::{Member, Objective};
use super::{Multi, Solution};
use crate::classify::Problem;
use crate::classify::rows::Rows;
use crate::{Error, Result};

/// For documents, ascending: dual variable divided by cost.
pub(super) type Shares = Vec<(u32, f64)>;

/// A label and, for one-vs-one, the label it is told apart from.
type Key = (u32, Option<u32>);

/// The dual variables of every binary problem, each divided by the cost of its document: so they serve for another `C`, and,
/// as any dual variables within the bounds are allowed, for other features of the same documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Duals {
    multi: Multi,
    documents: usize,
    labels: usize,
    /// Documents and their shares, ascending.
    shares: FxHashMap<Key, Shares>,
}

impl Duals {
    pub(super) fn new(multi: Multi, problem: &Problem) -> Self {
        let (documents, labels) = (problem.documents(), problem.labels());
        Self { multi, documents, labels, shares: FxHashMap::default() }
    }

    pub(super) fn push(&mut self, solution: &Solution, shares: Shares) {
        self.shares.insert((solution.label, solution.against), shares);
    }

    /// Refuses dual variables of other documents.
    pub(super) fn check(&self, multi: Multi, problem: &Problem) -> Result<()> {
        if (self.multi, self.documents, self.labels) == (multi, problem.documents(), problem.labels()) {
            return Ok(());
        }
        Err(Error::data(format!(
            "a warm start needs the same documents and labels: the duals are of {} documents and {} labels, the problem has {} and {}",
            self.documents,
            self.labels,
            problem.documents(),
            problem.labels()
        )))
    }

    /// The members of a problem to start from, ascending by row. `positive_of` tells the side of a row, or `None` when the row
    /// takes no part.
    pub(super) fn members(
        &self,
        key: Key,
        objective: &Objective,
        rows: &Rows,
        row_of: &[u32],
        positive_of: impl Fn(u32) -> Option<bool>,
    ) -> Vec<Member> {
        let Some(shares) = self.shares.get(&key) else { return Vec::new() };
        let mut members: Vec<Member> = shares
            .iter()
            .filter_map(|&(document, share)| {
                let row = row_of[document as usize];
                let positive = positive_of(row)?;
                let cost = objective.cost(positive, rows.weights[row as usize]);
                let alpha = (share * cost).clamp(0.0, objective.bound(cost));
                (alpha > 0.0).then_some(Member { row, positive, alpha })
            })
            .collect();
        members.sort_unstable_by_key(|m| m.row);
        members
    }
}

/// Shares of the members with a dual variable above 0, by document.
pub(super) fn shares(rows: &Rows, objective: &Objective, members: &[Member]) -> Shares {
    let above = members.iter().filter(|m| m.alpha > 0.0);
    let share = |m: &Member| m.alpha / objective.cost(m.positive, rows.weights[m.row as usize]);
    let mut shares: Shares = above.map(|m| (rows.documents[m.row as usize], share(m))).collect();
    shares.sort_unstable_by_key(|(document, _)| *document);
    shares
}

/// The row of each document.
pub(super) fn rows_of(rows: &Rows) -> Vec<u32> {
    let mut row_of = vec![0u32; rows.len()];
    for (row, &document) in rows.documents.iter().enumerate() {
        row_of[document as usize] = row as u32;
    }
    row_of
}
