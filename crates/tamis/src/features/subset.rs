//! Expressions that search: `os(ib)`, `sfs(ib)` … run for a size.

use super::search::{Bhattacharyya, Budget, Found};
use super::{Formula, Kind, Ranking, Selector, WordPrior};
use crate::counts::Contingency;
use crate::{Error, Progress, Result};

impl Selector {
    /// The terms to use at a size: the subset that a search finds, or the first terms of the ranking. A subset is listed
    /// in the order of its start selector and with its scores (method 4); with it comes how the search went.
    pub fn subset(
        &self,
        table: &Contingency,
        size: usize,
        budget: &Budget,
        progress: &dyn Progress,
    ) -> Result<(Ranking, Option<Found>)> {
        let Some(search) = self.as_search() else {
            return Ok((self.rank(table)?.first(size), None));
        };
        if size == 0 {
            return Err(Error::invalid("size", size, "a subset has at least one term"));
        }
        let start = search.start().clone().under_cut(self.cut()).rank(table)?;
        // The criterion estimates probabilities as the start does.
        let prior = match search.start().kind() {
            Kind::Score(score) => match score.formula() {
                Formula::Ib(prior) => prior,
                _ => WordPrior::AddOne,
            },
            _ => WordPrior::AddOne,
        };
        let mut criterion = Bhattacharyya::cut_with(table, self.lowest_cut(), prior)?;
        let found = search.strategy().search(&mut criterion, start.terms(), size, *budget, progress)?;
        let mut member = vec![false; table.terms()];
        found.terms.iter().for_each(|&t| member[t as usize] = true);
        Ok((start.filtered(|term| member[term as usize]), Some(found)))
    }
}
