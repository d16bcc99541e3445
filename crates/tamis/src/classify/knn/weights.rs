//! Term weights for neighbours (method 6), split into what a query brings and what a training document holds.

use super::{KnnOptions, Similarity};
use crate::classify::Problem;

/// Everything about weights that is learned from the training documents.
#[derive(Debug, Clone)]
pub(super) struct Weights {
    similarity: Similarity,
    /// `idf` of each feature; 0 for a feature that cannot contribute.
    idf: Vec<f64>,
    mean_length: f64,
    /// What counts as one occurrence.
    unit: f64,
    /// `1 + log tf` for small `tf`.
    logs: [f64; 256],
}

impl Weights {
    pub(super) fn of(problem: &Problem, KnnOptions { similarity, unit, .. }: KnnOptions) -> Self {
        let n = problem.documents() as f64;
        let idf = |df: u32| {
            let df = f64::from(df);
            match similarity {
                // A feature of no training document has no postings; 0 keeps it out of the query as well.
                _ if df == 0.0 => 0.0,
                Similarity::Okapi => ((n - df + 0.5) / (df + 0.5)).ln().max(0.0),
                Similarity::Cosine => (n / df).ln(),
            }
        };
        Self {
            similarity,
            idf: problem.df().into_iter().map(idf).collect(),
            mean_length: problem.mean_length(),
            unit: f64::from(unit),
            logs: std::array::from_fn(|tf| if tf == 0 { 0.0 } else { 1.0 + (tf as f64).ln() }),
        }
    }

    /// Okapi: `1.5·2¹²`, beside which products become multiples of 2⁻⁴⁰, so that their sums are exact and the same in any
    /// order of the features. Cosine: 0, which leaves products alone, since they may be tiny and are normalised after.
    #[inline]
    pub(super) fn coarse(&self) -> f64 {
        match self.similarity {
            Similarity::Okapi => 6144.0,
            Similarity::Cosine => 0.0,
        }
    }

    pub(super) fn features(&self) -> usize {
        self.idf.len()
    }

    /// Whether a feature can add to any similarity.
    pub(super) fn counts(&self, feature: u32) -> bool {
        self.idf[feature as usize] > 0.0
    }

    /// What a document's length adds to the denominators of its okapi weights: `0.5 + 1.5·dl/avdl`, counted in units.
    pub(super) fn length_part(&self, length: u32) -> f64 {
        let relative_length = if self.mean_length == 0.0 { 0.0 } else { f64::from(length) / self.mean_length };
        self.unit * (0.5 + 1.5 * relative_length)
    }

    /// The weight that a posting stores: okapi `w_i(t)`, or `(1 + log tf)·idf(t)` before normalisation.
    #[inline]
    pub(super) fn of_document(&self, feature: u32, count: u32, length_part: f64) -> f64 {
        match self.similarity {
            Similarity::Okapi => f64::from(count) / (length_part + f64::from(count)),
            Similarity::Cosine => self.tfidf(feature, count),
        }
    }

    /// What the query multiplies postings by: okapi `w_T(t)·idf(t)`, or `(1 + log tf)·idf(t)` before normalisation.
    pub(super) fn of_query(&self, feature: u32, count: u32, length_part: f64) -> f64 {
        match self.similarity {
            Similarity::Okapi => self.of_document(feature, count, length_part) * self.idf[feature as usize],
            Similarity::Cosine => self.tfidf(feature, count),
        }
    }

    fn tfidf(&self, feature: u32, count: u32) -> f64 {
        let log = self.logs.get(count as usize).copied().unwrap_or_else(|| 1.0 + f64::from(count).ln());
        log * self.idf[feature as usize]
    }
}

/// `1/√x`, or 0 for an empty vector.
pub(super) fn inverse_norm(sum_of_squares: f64) -> f64 {
    if sum_of_squares > 0.0 { 1.0 / sum_of_squares.sqrt() } else { 0.0 }
}
