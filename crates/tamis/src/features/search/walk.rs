//! The way a search takes through subsets: one term in or out at a time, by the criterion's answers.

use super::{Budget, Choice, Clock, Criterion, Ended, Found};
use crate::{Error, Progress, Result};

const NOWHERE: u32 = u32::MAX;

/// A subset of the start order, moved term by term, with the criterion's state alongside.
pub(super) struct Walk<'a, C: ?Sized> {
    criterion: &'a mut C,
    /// By term: its place in `order`.
    place: Vec<u32>,
    /// Members, in the order of `order`.
    inside: Vec<u32>,
    /// The other terms, in the order of `order`.
    outside: Vec<u32>,
    clock: Clock<'a>,
    step_budget: Option<u64>,
    steps: u64,
    evaluations: u64,
    history: Vec<f64>,
}

impl<'a, C: Criterion + ?Sized> Walk<'a, C> {
    /// Begins with the first `inside` terms of the order. `size` is what the caller of the search asked for.
    pub(super) fn start(
        criterion: &'a mut C,
        order: &'a [u32],
        size: usize,
        inside: usize,
        budget: &Budget,
        progress: &'a dyn Progress,
    ) -> Result<Self> {
        let clock = Clock::start(budget, progress)?;
        if size == 0 {
            return Err(Error::invalid("size", size, "a search looks for at least one term"));
        }
        let mut place = vec![NOWHERE; order.iter().max().map_or(0, |&t| t as usize + 1)];
        for (at, &term) in order.iter().enumerate() {
            if !criterion.accepts(term) {
                return Err(Error::data(format!(
                    "the start order has term {term}, which the search criterion does not know; \
                     make the criterion from the vocabulary that was ranked"
                )));
            }
            if place[term as usize] != NOWHERE {
                return Err(Error::data(format!("the start order has term {term} twice")));
            }
            place[term as usize] = at as u32;
        }
        let (inside, outside) = order.split_at(inside.min(order.len()));
        criterion.set(inside);
        let history = vec![criterion.value()];
        Ok(Self {
            criterion,
            place,
            inside: inside.to_vec(),
            outside: outside.to_vec(),
            clock,
            step_budget: budget.steps,
            steps: 0,
            evaluations: 0,
            history,
        })
    }

    /// Members.
    pub(super) fn size(&self) -> usize {
        self.inside.len()
    }

    /// Terms that could come in.
    pub(super) fn room(&self) -> usize {
        self.outside.len()
    }

    /// The value of the subset.
    pub(super) fn value(&self) -> f64 {
        self.criterion.value()
    }

    /// Begins a step, or says why there is none.
    pub(super) fn step(&mut self) -> std::result::Result<(), Ended> {
        if self.step_budget.is_some_and(|budget| self.steps >= budget) {
            return Err(Ended::Steps);
        }
        if self.clock.is_over() {
            return Err(self.clock.reason());
        }
        self.steps += 1;
        self.clock.progress().add(1);
        Ok(())
    }

    /// Notes the value after a step that changed the subset.
    pub(super) fn note(&mut self) {
        self.history.push(self.criterion.value());
    }

    /// The best term to add. There must be one; `Err` when the clock ran out.
    pub(super) fn best_addition(&mut self) -> std::result::Result<Choice, Ended> {
        self.evaluations += self.outside.len() as u64;
        self.criterion.best_addition(&self.outside, &self.clock).ok_or_else(|| self.clock.reason())
    }

    /// The best term to remove. There must be one; `Err` when the clock ran out.
    pub(super) fn worst_member(&mut self) -> std::result::Result<Choice, Ended> {
        self.evaluations += self.inside.len() as u64;
        self.criterion.worst_member(&self.inside, &self.clock).ok_or_else(|| self.clock.reason())
    }

    /// Moves a term in.
    pub(super) fn add(&mut self, term: u32) {
        transfer(&self.place, term, &mut self.outside, &mut self.inside);
        self.criterion.add(term);
    }

    /// Moves a term out.
    pub(super) fn remove(&mut self, term: u32) {
        transfer(&self.place, term, &mut self.inside, &mut self.outside);
        self.criterion.remove(term);
    }

    /// Brings the subset to `size` by the start order alone: its best terms come in, its worst go.
    pub(super) fn fill_by_order(&mut self, size: usize) {
        if self.inside.len() == size {
            return;
        }
        let (from, to, moved) = if self.inside.len() < size {
            let missing = (size - self.inside.len()).min(self.outside.len());
            (&mut self.outside, &mut self.inside, 0..missing)
        } else {
            let end = self.inside.len();
            (&mut self.inside, &mut self.outside, size..end)
        };
        to.extend(from.drain(moved));
        to.sort_unstable_by_key(|&t| self.place[t as usize]);
        self.criterion.set(&self.inside);
        self.note();
    }

    /// Ends the walk with the subset it stands at.
    pub(super) fn finish(self, asked: usize, ended: Ended) -> Found {
        self.clock.progress().finish();
        Found {
            value: self.criterion.value(),
            terms: self.inside,
            asked,
            steps: self.steps,
            evaluations: self.evaluations,
            history: self.history,
            seconds: self.clock.seconds(),
            ended,
        }
    }
}

/// Moves a term between two lists that are sorted by place.
fn transfer(place: &[u32], term: u32, from: &mut Vec<u32>, to: &mut Vec<u32>) {
    let before = |other: &u32| place[*other as usize] < place[term as usize];
    let at = from.partition_point(before);
    debug_assert_eq!(from.get(at), Some(&term));
    from.remove(at);
    to.insert(to.partition_point(before), term);
}
