//! The inverted index: feature → postings (training document, weight), in blocks of documents.

use super::KnnOptions;
use super::weights::{Weights, inverse_norm};
use crate::classify::{Problem, Query};

/// Documents in a block. Their sums take 128 KiB, which a core's L2 cache holds beside the postings that stream by.
const BLOCK: usize = 1 << 14;

/// The sums of a block. There are as many as a `u16` can name, though a block has fewer documents: the compiler then
/// knows that a posting never points outside, and the innermost loop carries no bounds check.
pub(super) type Sums = [f64; 1 << 16];

/// Memory for the sums of a block; pages that no block uses cost nothing.
pub(super) fn sums(memory: &mut Vec<f64>) -> &mut Sums {
    if memory.len() < 1 << 16 {
        *memory = vec![0.0; 1 << 16];
    }
    memory.first_chunk_mut().expect("the line above made it long enough")
}

#[derive(Debug, Clone)]
pub(super) struct Index {
    pub(super) weights: Weights,
    pub(super) blocks: Vec<Block>,
}

/// Some consecutive training documents, feature by feature.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// Number of the first document.
    pub(super) first: u32,
    /// Numbers of all.
    pub(super) documents: Vec<u32>,
    /// Postings of feature `f` are `starts[f]..starts[f+1]`.
    starts: Vec<u32>,
    /// Document of each posting, counted from `first`, ascending within a feature.
    places: Vec<u16>,
    values: Vec<f64>,
    coarse: f64,
}

/// A feature of a query with what it multiplies postings by.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueryTerm {
    pub(super) feature: u32,
    pub(super) factor: f64,
}

impl Index {
    pub(super) fn of(problem: &Problem, options: KnnOptions) -> Self {
        Self::with_block(problem, options, BLOCK)
    }

    fn with_block(problem: &Problem, options: KnnOptions, block: usize) -> Self {
        let weights = Weights::of(problem, options);
        let documents = problem.documents();
        let blocks = (0..documents)
            .step_by(block)
            .map(|first| Block::of(problem, &weights, first, block.min(documents - first)))
            .collect();
        Self { weights, blocks }
    }

    /// How many documents have a feature; 0 for one that cannot add to a similarity.
    pub(super) fn df(&self, feature: u32) -> usize {
        self.blocks.iter().map(|block| block.postings(feature).len()).sum()
    }

    /// The weight of a feature in a document that has it.
    pub(super) fn value(&self, feature: u32, document: u32) -> f64 {
        let block = &self.blocks[self.blocks.partition_point(|block| block.first <= document) - 1];
        let (places, values) = block.lists(feature);
        values[places.partition_point(|&place| u32::from(place) < document - block.first)]
    }

    /// The features of a query that can add to a similarity, ascending.
    pub(super) fn query_terms(&self, query: Query<'_>, terms: &mut Vec<QueryTerm>) {
        terms.clear();
        let length_part = self.weights.length_part(query.length);
        let known = query.features.iter().zip(query.counts).filter(|&(&feature, &count)| {
            (feature as usize) < self.weights.features() && count > 0 && self.weights.counts(feature)
        });
        terms.extend(known.map(|(&feature, &count)| QueryTerm {
            feature,
            factor: self.weights.of_query(feature, count, length_part),
        }));
    }
}

impl Block {
    fn of(problem: &Problem, weights: &Weights, first: usize, len: usize) -> Self {
        let rows = first..first + len;
        let kept = |row: usize| problem.matrix.row(row).filter(|&(f, count)| count > 0 && weights.counts(f));
        let mut starts = vec![0u32; weights.features() + 1];
        for row in rows.clone() {
            for (feature, _) in kept(row) {
                starts[feature as usize + 1] += 1;
            }
        }
        for feature in 0..weights.features() {
            starts[feature + 1] += starts[feature];
        }
        let total = starts[weights.features()] as usize;
        let (mut places, mut values) = (vec![0u16; total], vec![0.0; total]);
        let mut next = starts.clone();
        for row in rows {
            let length_part = weights.length_part(problem.lengths[row]);
            for (feature, count) in kept(row) {
                let at = next[feature as usize] as usize;
                next[feature as usize] += 1;
                places[at] = (row - first) as u16;
                values[at] = weights.of_document(feature, count, length_part);
            }
        }
        let first = first as u32;
        Self {
            first,
            documents: (first..first + len as u32).collect(),
            starts,
            places,
            values,
            coarse: weights.coarse(),
        }
    }

    /// How many documents.
    pub(super) fn len(&self) -> usize {
        self.documents.len()
    }

    /// The sums of this block's documents, set to 0.
    pub(super) fn clear<'a>(&self, sums: &'a mut Sums) -> &'a mut Sums {
        sums[..self.len()].fill(0.0);
        sums
    }

    /// `sums[d] += factor·weight(d)` over the postings of a feature; gives their number.
    #[inline]
    pub(super) fn add(&self, term: QueryTerm, sums: &mut Sums) -> usize {
        let (places, values) = self.lists(term.feature);
        add_to(sums, places, values, |value| product(term.factor, value, self.coarse));
        places.len()
    }

    /// Documents, counted from the block's first, and weights of a feature.
    pub(super) fn postings(&self, feature: u32) -> impl ExactSizeIterator<Item = (u16, f64)> + '_ {
        let (places, values) = self.lists(feature);
        places.iter().copied().zip(values.iter().copied())
    }

    /// The same as slices.
    pub(super) fn lists(&self, feature: u32) -> (&[u16], &[f64]) {
        let range = self.starts[feature as usize] as usize..self.starts[feature as usize + 1] as usize;
        (&self.places[range.clone()], &self.values[range])
    }

    /// Adds to `squares[d]` the squared weights of one feature: norms, feature by feature in ascending order.
    pub(super) fn add_squares(&self, feature: u32, squares: &mut [f64]) {
        for (d, v) in self.postings(feature) {
            squares[d as usize] += v * v;
        }
    }
}

/// Below this, sums of multiples of 2⁻⁴⁰ are exact.
pub(super) const EXACT_BELOW: f64 = 8192.0;

/// What a shared feature adds to a similarity: the product, made as coarse as numbers of the size of `coarse` are
/// ([`Weights::coarse`]).
#[inline]
pub(super) fn product(factor: f64, weight: f64, coarse: f64) -> f64 {
    (factor * weight + coarse) - coarse
}

/// The innermost loop of all: adds to the sum at each place.
#[inline]
pub(super) fn add_to(sums: &mut Sums, places: &[u16], values: &[f64], amount: impl Fn(f64) -> f64) {
    let (four_places, last_places) = places.as_chunks::<4>();
    let (four_values, last_values) = values.as_chunks::<4>();
    for (p, v) in four_places.iter().zip(four_values) {
        sums[p[0] as usize] += amount(v[0]);
        sums[p[1] as usize] += amount(v[1]);
        sums[p[2] as usize] += amount(v[2]);
        sums[p[3] as usize] += amount(v[3]);
    }
    for (&p, &v) in last_places.iter().zip(last_values) {
        sums[p as usize] += amount(v);
    }
}

/// `1/‖d‖` of every training document over the features in the given order, after each of the given sizes.
pub(super) fn inverse_norms(index: &Index, order: impl Iterator<Item = u32> + Clone, sizes: &[usize]) -> Vec<Vec<f64>> {
    let mut norms = vec![Vec::new(); sizes.len()];
    for block in &index.blocks {
        let mut squares = vec![0.0; block.len()];
        let (mut features, mut done) = (order.clone(), 0);
        for (norms, &size) in norms.iter_mut().zip(sizes) {
            for feature in features.by_ref().take(size - done) {
                block.add_squares(feature, &mut squares);
            }
            done = size;
            norms.extend(squares.iter().map(|&s| inverse_norm(s)));
        }
    }
    norms
}
