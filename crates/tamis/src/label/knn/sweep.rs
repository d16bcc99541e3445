//! Every size of every ranking over one training set, in one pass over the test documents.
//!
//! What is shared: postings and weights do not depend on a ranking (SPEC 6), so they are built once and, as the
//! rankings are the inner loop, a test document finds its postings in the cache for all of them. From size to size the
//! sums are carried, and two bounds save most of the search for the k best:
//! - the k documents that were nearest at the size before have known sums now, so the least of these is a floor;
//! - no sum ever exceeds the one over all features, so documents whose total is below the floor are out for good.

use std::ops::Range;

use rayon::prelude::*;

use super::index::{Block, Index, QueryTerm, Sums, inverse_norms, sums};
use super::nearest::Nearest;
use super::votes::Votes;
use super::weights::inverse_norm;
use super::{KnnOptions, Similarity, scale};
use crate::counts::Csr;
use crate::label::{Problem, Query, Scored};
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

/// Share of the documents below which a list of candidates is scanned faster than all sums.
const LIST_PAYS: f64 = 0.25;

/// How many totals are looked at to guess that share.
const SAMPLE: usize = 128;

/// Sums of the same numbers in two orders differ by far less than this, relatively.
const ROUNDING: f64 = 1e-9;

/// `knn` or `wknn` at many nested selections.
#[derive(Debug, Clone)]
pub struct KnnSweep {
    similarity: Similarity,
    k: usize,
    index: Index,
    assignments: Csr<()>,
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
        let index = Index::of(train, options.similarity);
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
            assignments: train.assignments.clone(),
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
        self.index.query_terms(query, &mut memory.terms);
        if self.similarity == Similarity::Okapi {
            self.add_totals(memory);
        }
        for (ranking, sizes) in self.sizes.iter().enumerate() {
            memory.order_terms(&self.places, self.rankings(), ranking, sizes);
            if memory.nearest.len() < sizes.len() {
                memory.nearest.resize_with(sizes.len(), Nearest::default);
            }
            memory.nearest[..sizes.len()].iter_mut().for_each(|nearest| nearest.reset(self.k));
            for block in &self.index.blocks {
                match self.similarity {
                    Similarity::Okapi => sweep_okapi(block, memory),
                    Similarity::Cosine => sweep_cosine(block, memory, &self.inverse_norms[ranking]),
                }
            }
            for size in 0..sizes.len() {
                // Without a new term the okapi list stays; cosines change with the documents' norms.
                if self.similarity == Similarity::Cosine || memory.is_new(size) {
                    memory.votes.rank(&memory.nearest[size], &self.assignments, self.similarity, &mut memory.ranked);
                }
                visit(ranking, size, &memory.ranked);
            }
        }
    }

    /// Similarities over all features, and a sorted sample of them.
    fn add_totals(&self, memory: &mut Memory) {
        memory.totals.clear();
        let sums = sums(&mut memory.sums);
        for block in &self.index.blocks {
            let sums = block.clear(sums);
            for &term in &memory.terms {
                block.add(term, sums);
            }
            memory.totals.extend_from_slice(&sums[..block.len]);
        }
        let stride = (memory.totals.len() / SAMPLE).max(1);
        memory.sample.clear();
        memory.sample.extend(memory.totals.iter().step_by(stride));
        memory.sample.sort_unstable_by(f64::total_cmp);
    }
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
    totals: Vec<f64>,
    sample: Vec<f64>,
    /// Query terms of the current ranking in its order: place, number in `terms`.
    order: Vec<(u32, u32)>,
    /// For each size, where its terms end in `order`.
    ends: Vec<usize>,
    nearest: Vec<Nearest>,
    list: Vec<u16>,
    values: Vec<f64>,
    votes: Votes,
    ranked: Vec<Scored>,
}

impl Memory {
    fn order_terms(&mut self, places: &[u32], rankings: usize, ranking: usize, sizes: &[usize]) {
        self.order.clear();
        let place = |term: &QueryTerm| places[term.feature as usize * rankings + ranking];
        self.order.extend(self.terms.iter().map(place).zip(0..).filter(|&(place, _)| place != u32::MAX));
        self.order.sort_unstable();
        self.ends.clear();
        let mut end = 0;
        for &size in sizes {
            end += self.order[end..].iter().take_while(|&&(place, _)| (place as usize) < size).count();
            self.ends.push(end);
        }
    }

    /// The terms that a size adds to the one before.
    fn added(&self, size: usize) -> Range<usize> {
        (if size == 0 { 0 } else { self.ends[size - 1] })..self.ends[size]
    }

    /// Whether a size differs from the one before.
    fn is_new(&self, size: usize) -> bool {
        size == 0 || !self.added(size).is_empty()
    }
}

/// One block at every size, okapi. Sizes that add no term keep an empty list of neighbours; they are never read.
fn sweep_okapi(block: &Block, memory: &mut Memory) {
    let sums = block.clear(sums(&mut memory.sums));
    let totals = &memory.totals[block.first as usize..][..block.len];
    // Whether `memory.list` holds the only documents of the block that still matter.
    let mut listed = false;
    let mut before: Option<usize> = None;
    for size in 0..memory.ends.len() {
        let start = if size == 0 { 0 } else { memory.ends[size - 1] };
        let added = &memory.order[start..memory.ends[size]];
        if size > 0 && added.is_empty() {
            continue;
        }
        for &(_, term) in added {
            block.add(memory.terms[term as usize], sums);
        }
        let (earlier, rest) = memory.nearest.split_at_mut(size);
        let nearest = &mut rest[0];
        // The floor of the size before holds only where its documents are all at hand, which is in the first block.
        let known = before.map(|b| &earlier[b]).filter(|known| block.first == 0 && known.full());
        let entry = known.map_or_else(|| nearest.entry(), |known| floor(known, sums));
        let hopeless_below = entry * (1.0 - ROUNDING);
        if !listed && share(&memory.sample, hopeless_below) < LIST_PAYS {
            listed = true;
            list_all(totals, hopeless_below, &mut memory.list);
        }
        if listed {
            nearest.scan_list(&mut memory.list, sums, totals, hopeless_below, block.first, entry);
        } else {
            nearest.scan(&sums[..block.len], block.first, entry);
        }
        before = Some(size);
    }
}

/// One block at every size, cosine: sums are carried as well, but norms are not, so every size is scanned.
fn sweep_cosine(block: &Block, memory: &mut Memory, norms: &[Vec<f64>]) {
    let sums = block.clear(sums(&mut memory.sums));
    let mut squares = 0.0;
    for (size, norms) in norms.iter().enumerate() {
        let start = if size == 0 { 0 } else { memory.ends[size - 1] };
        let added = &memory.order[start..memory.ends[size]];
        for &(_, term) in added {
            let term = memory.terms[term as usize];
            block.add(term, sums);
            squares += term.factor * term.factor;
        }
        memory.values.clear();
        memory.values.extend_from_slice(&sums[..block.len]);
        scale(&mut memory.values, inverse_norm(squares), &norms[block.first as usize..]);
        let nearest = &mut memory.nearest[size];
        nearest.scan(&memory.values, block.first, nearest.entry());
    }
}

/// The least sum, now, of documents that were the nearest before: k documents have at least that.
fn floor(known: &Nearest, sums: &Sums) -> f64 {
    known.documents().iter().map(|&d| sums[d as usize & 0xffff]).fold(f64::INFINITY, f64::min)
}

/// About which share of the documents has a total of at least `least`.
fn share(sample: &[f64], least: f64) -> f64 {
    (sample.len() - sample.partition_point(|&total| total < least)) as f64 / sample.len() as f64
}

/// The documents with a total of at least `least`.
fn list_all(totals: &[f64], least: f64, list: &mut Vec<u16>) {
    list.resize(totals.len(), 0);
    let mut len = 0;
    for (d, &total) in totals.iter().enumerate() {
        list[len] = d as u16;
        len += usize::from(total >= least);
    }
    list.truncate(len);
}
