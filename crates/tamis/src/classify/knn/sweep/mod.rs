//! Every size of every ranking over one training set, in one pass over the test documents.
//!
//! Postings and weights do not depend on a ranking (method 6), so they are built once, and a test document's postings are
//! sorted into [`tiers`] once for all rankings. From size to size the sums are carried.

mod memo;
mod tiers;

use std::ops::Range;

use rayon::prelude::*;

use self::memo::{Known, Memo};
use self::tiers::Tiers;
use super::best::{Best, Sorter};
use super::index::{Block, Index, QueryTerm, Sums, inverse_norms, sums};
use super::votes::{Electorate, Votes};
use super::weights::inverse_norm;
use super::{KnnOptions, Similarity, scale};
use crate::classify::{Problem, Query, Scored};
use crate::{Error, Progress, Result};

/// A ranking and the sizes at which it is cut: nested selections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nested {
    /// Features, best first, without repetition. They need not be all.
    pub features: Vec<u32>,
    /// How many of them, ascending; a size beyond the end means all of them.
    pub sizes: Vec<usize>,
}

/// Which classification a ranked list belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepPlace {
    /// Row of the test problem.
    pub document: usize,
    /// Which [`Nested`].
    pub ranking: usize,
    /// Which of its sizes, counted from 0.
    pub size: usize,
}

/// Test documents that one thread handles at a time: the unit in which [`KnnSweep::fold`] gives its results, the same
/// for any number of threads.
const TOGETHER: usize = 32;

/// How many rankings it takes for tiers to pay for themselves.
const TIERS_PAY: usize = 6;

/// `knn` or `wknn` at many nested selections.
#[derive(Debug, Clone)]
pub struct KnnSweep {
    similarity: Similarity,
    k: usize,
    index: Index,
    electorate: Electorate,
    sizes: Vec<Vec<usize>>,
    /// Place of each feature in each ranking, feature by feature, `u32::MAX` where a ranking leaves it out or cuts
    /// it off at every size.
    places: Vec<u32>,
    /// For the cosine: `1/‖d‖` by ranking, size, document.
    inverse_norms: Vec<Vec<Vec<f64>>>,
}

impl KnnSweep {
    /// Prefixes of the problem's own features: they are numbered by rank.
    pub fn new(train: &Problem, sizes: &[usize], options: &KnnOptions) -> Result<Self> {
        let features = (0..train.features() as u32).collect();
        Self::over(train, &[Nested { features, sizes: sizes.to_vec() }], options)
    }

    /// Several rankings of the problem's features, which may be numbered in any way. Needs four bytes for each feature
    /// and ranking; the cosine eight more for each document, ranking and size.
    pub fn over(train: &Problem, rankings: &[Nested], options: &KnnOptions) -> Result<Self> {
        let k = options.checked_for(train)?;
        let mut places = vec![u32::MAX; train.features() * rankings.len()];
        let mut sizes = Vec::with_capacity(rankings.len());
        for (r, ranking) in rankings.iter().enumerate() {
            let clipped = ranking.clipped_sizes()?;
            let last = *clipped.last().expect("clipped_sizes refuses an empty list");
            for (place, &feature) in ranking.features.iter().enumerate() {
                if feature as usize >= train.features() {
                    return Err(Error::data(format!(
                        "a ranking names feature {feature}, but there are only {}",
                        train.features()
                    )));
                }
                let slot = &mut places[feature as usize * rankings.len() + r];
                if *slot != u32::MAX {
                    return Err(Error::data(format!("a ranking names feature {feature} twice")));
                }
                *slot = place as u32;
            }
            for place in &mut places[r..].iter_mut().step_by(rankings.len()) {
                if *place as usize >= last {
                    *place = u32::MAX;
                }
            }
            sizes.push(clipped);
        }
        let index = Index::of(train, *options);
        let inverse_norms = match options.similarity {
            Similarity::Okapi => Vec::new(),
            Similarity::Cosine => rankings
                .par_iter()
                .zip(&sizes)
                .map(|(ranking, sizes)| inverse_norms(&index, ranking.features.iter().copied(), sizes))
                .collect(),
        };
        Ok(Self {
            similarity: options.similarity,
            k,
            index,
            electorate: Electorate::new(&train.assignments, options.similarity),
            sizes,
            places,
            inverse_norms,
        })
    }

    /// How many rankings.
    pub fn rankings(&self) -> usize {
        self.sizes.len()
    }

    /// The sizes of a ranking, none beyond its end.
    pub fn sizes(&self, ranking: usize) -> &[usize] {
        &self.sizes[ranking]
    }

    /// How many ranked lists one test document gives.
    pub fn classifications(&self) -> usize {
        self.sizes.iter().map(Vec::len).sum()
    }

    /// Classifies every test document at every size of every ranking, in parallel over documents.
    ///
    /// Documents are cut into runs of fixed length; `start` makes a value for a run, `visit` adds each ranked list to
    /// it, document by document, ranking by ranking, size by size; the values come back in order. Sums over them in that
    /// order are the same for any number of threads. `test` is over the same features as the training problem.
    ///
    /// `progress` counts classifications; the caller starts and finishes the stage.
    pub fn fold<A: Send>(
        &self,
        test: &Problem,
        progress: &dyn Progress,
        start: impl Fn(Range<usize>) -> A + Sync,
        visit: impl Fn(&mut A, SweepPlace, &[Scored]) + Sync,
    ) -> Result<Vec<A>> {
        if test.features() != self.index.weights.features() {
            return Err(Error::data(format!(
                "test documents over {} features, training documents over {}",
                test.features(),
                self.index.weights.features()
            )));
        }
        let runs: Vec<Range<usize>> = (0..test.documents())
            .step_by(TOGETHER)
            .map(|first| first..(first + TOGETHER).min(test.documents()))
            .collect();
        runs.into_par_iter()
            .map_init(Memory::default, |memory, run| {
                if progress.cancelled() {
                    return Err(Error::Interrupted);
                }
                let mut value = start(run.clone());
                for document in run.clone() {
                    self.classify(test.query(document), memory, &mut |ranking, size, ranked| {
                        visit(&mut value, SweepPlace { document, ranking, size }, ranked);
                    });
                }
                progress.add((run.len() * self.classifications()) as u64);
                Ok(value)
            })
            .collect()
    }

    /// All ranked lists of one document: `visit(ranking, size, list)`.
    fn classify(&self, query: Query<'_>, memory: &mut Memory, visit: &mut dyn FnMut(usize, usize, &[Scored])) {
        match self.similarity {
            Similarity::Okapi => self.classify_okapi(query, memory, visit),
            Similarity::Cosine => self.classify_cosine(query, memory, visit),
        }
    }

    fn classify_okapi(&self, query: Query<'_>, memory: &mut Memory, visit: &mut dyn FnMut(usize, usize, &[Scored])) {
        let Memory { sums: sums_memory, terms, tiers, memo, order, best, sorter, votes, ranked, .. } = memory;
        let sums = sums(sums_memory);
        self.index.query_terms(query, terms);
        let tiered = self.rankings() >= TIERS_PAY;
        memo.begin(terms, tiered);
        if tiered {
            tiers.fill(&self.index, terms, self.k, sums);
        }
        for (ranking, sizes) in self.sizes.iter().enumerate() {
            order.fill(terms, &self.places, self.rankings(), ranking, sizes);
            let wanted = memo.look_up(order);
            let best = reset(best, wanted, self.k);
            if tiered {
                gather_best(tiers.parts(), terms, order, sums, best, memo.found());
            } else {
                gather_best(self.index.blocks.iter(), terms, order, sums, best, memo.found());
            }
            for size in 0..sizes.len() {
                if let Some(known) = memo.found()[size] {
                    visit(ranking, size, memo.list(known));
                    continue;
                }
                let best = &mut best[size];
                if order.changed[size] {
                    best.finish(sorter);
                    self.electorate.rank(best.documents(), best.similarities(), votes, ranked);
                    memo.keep(size, best.floor, ranked);
                }
                visit(ranking, size, ranked);
            }
        }
    }

    /// Cosines do not grow with the size, so there are no tiers: sums are carried, and each size is scanned.
    fn classify_cosine(&self, query: Query<'_>, memory: &mut Memory, visit: &mut dyn FnMut(usize, usize, &[Scored])) {
        let Memory { sums: sums_memory, terms, order, best, sorter, values, votes, ranked, .. } = memory;
        let sums = sums(sums_memory);
        self.index.query_terms(query, terms);
        for (ranking, sizes) in self.sizes.iter().enumerate() {
            order.fill(terms, &self.places, self.rankings(), ranking, sizes);
            let best = reset(best, sizes.len(), self.k);
            for block in &self.index.blocks {
                let sums = block.clear(sums);
                let mut squares = 0.0;
                for (size, norms) in self.inverse_norms[ranking].iter().enumerate() {
                    for term in order.added(size).map(|number| terms[number]) {
                        block.add(term, sums);
                        squares += term.factor * term.factor;
                    }
                    values.clear();
                    values.extend_from_slice(&sums[..block.len()]);
                    scale(values, inverse_norm(squares), &norms[block.first as usize..]);
                    let (smaller, rest) = best.split_at_mut(size);
                    if block.first == 0 {
                        // What was nearest at the smaller size is at hand and gives a floor for this one.
                        rest[0].raise_floor_by(smaller.last(), values);
                    }
                    rest[0].take(&block.documents, values);
                }
            }
            for (best, size) in best.iter_mut().zip(0..) {
                best.finish(sorter);
                self.electorate.rank(best.documents(), best.similarities(), votes, ranked);
                visit(ranking, size, ranked);
            }
        }
    }
}

/// As many as there are sizes, all empty.
fn reset(best: &mut Vec<Best>, sizes: usize, k: usize) -> &mut [Best] {
    if best.len() < sizes {
        best.resize_with(sizes, Best::default);
    }
    best[..sizes].iter_mut().for_each(|best| best.reset(k));
    &mut best[..sizes]
}

impl Nested {
    fn clipped_sizes(&self) -> Result<Vec<usize>> {
        if self.sizes.is_empty() {
            return Err(Error::invalid("sizes", "[]", "at least one size is needed"));
        }
        if let Some(pair) = self.sizes.windows(2).find(|pair| pair[0] > pair[1]) {
            return Err(Error::invalid("sizes", pair[1], format!("sizes must ascend, but it follows {}", pair[0])));
        }
        if self.sizes[0] == 0 {
            return Err(Error::invalid("sizes", 0, "a selection needs at least one feature"));
        }
        Ok(self.sizes.iter().map(|&size| size.min(self.features.len())).collect())
    }
}

/// What one thread needs, reused from document to document.
#[derive(Default)]
struct Memory {
    sums: Vec<f64>,
    terms: Vec<QueryTerm>,
    tiers: Tiers,
    memo: Memo,
    order: Order,
    best: Vec<Best>,
    sorter: Sorter,
    values: Vec<f64>,
    votes: Votes,
    ranked: Vec<Scored>,
}

/// The terms of a test document in the order of one ranking.
#[derive(Default)]
struct Order {
    /// Place in the ranking (upper half) and number of the term.
    terms: Vec<u64>,
    /// Where the terms of each size end.
    ends: Vec<usize>,
    /// Whether a size can differ from the one before.
    changed: Vec<bool>,
}

impl Order {
    fn fill(&mut self, terms: &[QueryTerm], places: &[u32], rankings: usize, ranking: usize, sizes: &[usize]) {
        self.terms.clear();
        let place = |term: &QueryTerm| places[term.feature as usize * rankings + ranking];
        let places = terms.iter().map(place).zip(0u64..).filter(|&(place, _)| place != u32::MAX);
        self.terms.extend(places.map(|(place, number)| u64::from(place) << 32 | number));
        self.terms.sort_unstable();
        self.ends.clear();
        let mut end = 0;
        for &size in sizes {
            end += self.terms[end..].iter().take_while(|&&term| ((term >> 32) as usize) < size).count();
            self.ends.push(end);
        }
        self.changed.clear();
        self.changed.resize(sizes.len(), false);
        self.changed[0] = true;
    }

    /// Numbers of the terms that a size adds to the one before.
    fn added(&self, size: usize) -> impl Iterator<Item = usize> + '_ {
        let start = if size == 0 { 0 } else { self.ends[size - 1] };
        self.terms[start..self.ends[size]].iter().map(|&term| term as u32 as usize)
    }
}

/// Some training documents with their postings for a test document.
trait Folded {
    /// No similarity here exceeds it.
    fn bound(&self) -> f64;
    /// The documents, ascending.
    fn documents(&self) -> &[u32];
    /// Adds to each sum what a query term, given with its number, adds to that document's similarity; says to how many.
    fn add(&self, number: usize, term: QueryTerm, sums: &mut Sums) -> usize;
}

impl Folded for &Block {
    fn bound(&self) -> f64 {
        f64::INFINITY
    }

    fn documents(&self) -> &[u32] {
        &self.documents
    }

    fn add(&self, _: usize, term: QueryTerm, sums: &mut Sums) -> usize {
        Block::add(self, term, sums)
    }
}

/// Fills the best of each size, part by part, those with larger bounds first. Of sizes that are known already only the
/// floor is.
fn gather_best<P: Folded>(
    parts: impl Iterator<Item = P>,
    terms: &[QueryTerm],
    order: &mut Order,
    sums: &mut Sums,
    best: &mut [Best],
    known: &[Option<Known>],
) {
    let mut floor = 0.0f64;
    for (best, known) in best.iter_mut().zip(known) {
        floor = known.map_or(floor, |known| floor.max(known.floor));
        best.floor = best.floor.max(floor);
    }
    for part in parts {
        // Floors ascend with the size, so the sizes that this part matters to come first.
        let open = best.partition_point(|best| best.floor <= part.bound());
        if open == 0 {
            return;
        }
        let documents = part.documents();
        sums[..documents.len()].fill(0.0);
        for size in 0..open {
            let added: usize = order.added(size).map(|number| part.add(number, terms[number], sums)).sum();
            if known[size].is_some() {
                continue;
            }
            let (smaller, rest) = best.split_at_mut(size);
            let (best, smaller) = (&mut rest[0], smaller.last());
            order.changed[size] |= added > 0;
            match smaller {
                Some(smaller) if !order.changed[size] => best.copy(smaller),
                _ => {
                    // The k that reached the floor of the smaller size reach it here.
                    best.floor = best.floor.max(smaller.map_or(0.0, |smaller| smaller.floor));
                    best.take(documents, &sums[..documents.len()]);
                }
            }
        }
        for size in open.max(1)..best.len() {
            best[size].floor = best[size].floor.max(best[size - 1].floor);
        }
    }
}
