//! Nearest neighbours, exactly, over an inverted index (method 6, 7; olsson 6.1; addis).
//!
//! **The arithmetic**, so that an obvious version gets the same bits: all numbers are `f64`. A similarity is the sum of
//! `factor(t)·weight(t)` over the features that query and document share, in ascending feature number (which is the
//! order of the ranking), started at 0, without fused multiply-add.
//! - okapi: `factor = w_T(t)·idf(t)`, `weight = w_i(t)`, each as method 6 writes it; each product is rounded to a multiple of
//!   2⁻⁴⁰, which nobody sees, and which makes sums below 2¹³ exact, whatever the order.
//! - cosine: `factor = (1 + log tf_T)·log(n/df)`, `weight` likewise for the training document; the sum is then
//!   multiplied by `1/‖q‖` and after that by `1/‖d‖`, with squares summed in ascending feature number.
//!
//! Scores of labels are sums of similarities over the neighbours in training order. Features that no training document
//! has, or with `idf = 0`, add nothing and are left out everywhere.
//!
//! Since weights are not negative and sums run in ranking order, the sum after the first `s` features *is* the similarity
//! of the problem of size `s`: [`KnnSweep`] evaluates every size of every ranking in one pass and gets the same bits
//! as [`Knn`] fitted for each.

mod best;
mod filter;
mod index;
mod lanes;
mod sums16;
mod sweep;
mod votes;
mod weights;

use serde::{Deserialize, Serialize};

use self::best::{Best, Sorter};
use self::filter::{Filter, FilterMemory};
use self::index::{Index, QueryTerm, inverse_norms, sums};
use self::votes::{Electorate, Votes};
use self::weights::inverse_norm;
use super::{Classifier, Problem, Query, Scored, Scratch};
use crate::{Error, Result};

pub use self::sweep::{KnnSweep, Nested, SweepPlace};

/// How alike two documents are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Similarity {
    /// `Σ_t w_T(t)·w_i(t)·idf(t)` on okapi weights; labels score the sum over neighbours that carry them (olsson 6.1).
    #[default]
    Okapi,
    /// Cosine of `tfidf` vectors; labels score their share of the neighbours' similarity, in `[0, 1]` (addis).
    Cosine,
}

/// Options of the neighbours classifiers `knn` and `wknn`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnnOptions {
    /// How many neighbours have a say; at least 1.
    pub k: usize,
    /// Which similarity, and with it which score.
    pub similarity: Similarity,
    /// `knn`: what counts as one occurrence. 1, but where a corpus was read as weights, whose parts are
    /// [`WEIGHT_UNIT`](crate::corpus::WEIGHT_UNIT).
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub unit: u32,
}

fn one() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for a reference
fn is_one(unit: &u32) -> bool {
    *unit == 1
}

impl KnnOptions {
    /// `knn`: okapi similarity, 100 neighbours (olsson 6.1).
    pub const KNN: Self = Self { k: 100, similarity: Similarity::Okapi, unit: 1 };
    /// `wknn`: cosine similarity, 20 neighbours (addis).
    pub const WKNN: Self = Self { k: 20, similarity: Similarity::Cosine, unit: 1 };

    fn checked_for(&self, problem: &Problem) -> Result<usize> {
        if self.k == 0 {
            return Err(Error::invalid("k", self.k, "at least one neighbour is needed"));
        }
        if self.unit == 0 {
            return Err(Error::invalid("unit", self.unit, "an occurrence counts at least 1"));
        }
        if problem.documents() == 0 {
            return Err(Error::data("no training documents: there is nothing to be a neighbour of"));
        }
        if u32::try_from(problem.documents()).is_err() {
            return Err(Error::data("more than 4,294,967,295 training documents"));
        }
        Ok(self.k.min(problem.documents()))
    }
}

impl Default for KnnOptions {
    fn default() -> Self {
        Self::KNN
    }
}

/// A fitted `knn` or `wknn`: the training documents, turned into postings.
#[derive(Debug, Clone)]
pub struct Knn {
    options: KnnOptions,
    /// `options.k`, or the number of documents when that is smaller.
    k: usize,
    index: Index,
    electorate: Electorate,
    /// `1/‖d‖` of each document, for the cosine.
    inverse_norms: Vec<f64>,
    filter: Filter,
}

/// Reusable memory of one thread.
#[derive(Debug, Default)]
pub(crate) struct KnnMemory {
    sums: Vec<f64>,
    terms: Vec<QueryTerm>,
    best: Best,
    sorter: Sorter,
    votes: Votes,
    filter: FilterMemory,
}

impl Knn {
    /// Turns the training documents into an index. Cost: one pass over the counts.
    pub fn fit(problem: &Problem, options: &KnnOptions) -> Result<Self> {
        let k = options.checked_for(problem)?;
        let index = Index::of(problem, *options);
        let inverse_norms = match options.similarity {
            Similarity::Okapi => Vec::new(),
            Similarity::Cosine => {
                inverse_norms(&index, 0..problem.features() as u32, &[problem.features()]).swap_remove(0)
            }
        };
        let scale = |document: u32| inverse_norms.get(document as usize).copied().unwrap_or(1.0);
        let filter = Filter::new(problem, &index, scale);
        Ok(Self {
            options: *options,
            k,
            index,
            electorate: Electorate::new(&problem.assignments, options.similarity),
            inverse_norms,
            filter,
        })
    }

    /// What it was fitted with.
    pub fn options(&self) -> &KnnOptions {
        &self.options
    }

    /// The neighbours of a document with their similarities, best first, ties by training order: at most k, all with a
    /// positive similarity. Numbers are rows of the [`Problem`] it was fitted on.
    pub fn neighbours(&self, document: Query<'_>) -> Vec<(u32, f64)> {
        let mut memory = KnnMemory::default();
        self.find(document, &mut memory);
        let (documents, similarities) = (memory.best.documents(), memory.best.similarities());
        let mut neighbours: Vec<(u32, f64)> = documents.iter().copied().zip(similarities.iter().copied()).collect();
        neighbours.sort_by(|a, b| b.1.total_cmp(&a.1));
        neighbours
    }

    /// Labels of a training document.
    pub fn labels_of(&self, document: u32) -> &[u32] {
        self.electorate.labels_of(document)
    }

    /// Fills `memory.best` with the k nearest in training order.
    fn find(&self, document: Query<'_>, memory: &mut KnnMemory) {
        let KnnMemory { sums: sums_memory, terms, best, sorter, filter, .. } = memory;
        best.reset(self.k);
        self.index.query_terms(document, terms);
        if terms.is_empty() {
            return;
        }
        let query_scale = inverse_norm(terms.iter().map(|t| t.factor * t.factor).sum());
        if self.filter.pays(&self.index, terms, self.k) && self.filter.find(terms, self.k, filter) {
            self.filter.sum(&self.index, terms, filter);
            if self.options.similarity == Similarity::Cosine {
                for (value, &d) in filter.similarities.iter_mut().zip(&filter.documents) {
                    *value = *value * query_scale * self.inverse_norms[d as usize];
                }
            }
            best.take(&filter.documents, &filter.similarities);
        } else {
            let sums = sums(sums_memory);
            for block in &self.index.blocks {
                let sums = block.clear(sums);
                for &term in terms.iter() {
                    block.add(term, sums);
                }
                let values = &mut sums[..block.len()];
                if self.options.similarity == Similarity::Cosine {
                    scale(values, query_scale, &self.inverse_norms[block.first as usize..]);
                }
                best.take(&block.documents, values);
            }
        }
        best.finish(sorter);
    }
}

/// Sums to cosines.
fn scale(values: &mut [f64], query: f64, documents: &[f64]) {
    for (value, &document) in values.iter_mut().zip(documents) {
        *value = *value * query * document;
    }
}

impl Classifier for Knn {
    fn labels(&self) -> usize {
        self.electorate.labels()
    }

    fn rank(&self, document: Query<'_>, scratch: &mut Scratch, ranked: &mut Vec<Scored>) {
        ranked.clear();
        self.find(document, &mut scratch.knn);
        let KnnMemory { best, votes, .. } = &mut scratch.knn;
        self.electorate.rank(best.documents(), best.similarities(), votes, ranked);
    }
}
