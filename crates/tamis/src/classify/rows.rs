//! The vectors of training documents, shared by all labels and by the solvers.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::vector::prefix;
use super::{Problem, Weighter};
use crate::counts::Csr;

/// Documents that one thread weighs at a time.
const CHUNK: usize = 4096;

/// The vectors of training documents.
#[derive(Debug)]
pub(super) struct Rows {
    /// Single precision suffices for the data (sums over it are in double precision), and rows are what is read most.
    pub(super) matrix: Csr<f32>,
    /// `‖x‖² + 1`: the squared norm with the constant feature of the bias.
    pub(super) squares: Vec<f64>,
    /// The document of each row.
    pub(super) documents: Vec<u32>,
    /// How often each row counts.
    pub(super) weights: Vec<f64>,
}

impl Rows {
    /// The vectors of a problem over its first `size` features, in the order of its documents.
    pub(super) fn in_order(problem: &Problem, weighter: &Weighter, size: usize) -> Self {
        Self::new(problem, weighter, size, (0..problem.documents() as u32).collect())
    }

    /// The same in a random order drawn once: passes that must meet documents in random order then read memory front to
    /// back.
    pub(super) fn shuffled(problem: &Problem, weighter: &Weighter, size: usize, seed: u64) -> Self {
        Self::new(problem, weighter, size, in_random_order(problem.documents(), seed))
    }

    fn new(problem: &Problem, weighter: &Weighter, size: usize, documents: Vec<u32>) -> Self {
        let parts: Vec<(Csr<f32>, Vec<f64>)> =
            documents.par_chunks(CHUNK).map(|documents| vectors(problem, weighter, size, documents)).collect();
        let entries = parts.iter().map(|(m, _)| m.entries()).sum();
        let mut offsets = Vec::with_capacity(documents.len() + 1);
        let (mut indices, mut values) = (Vec::with_capacity(entries), Vec::with_capacity(entries));
        let mut squares = Vec::with_capacity(documents.len());
        offsets.push(0);
        for (part, part_squares) in parts {
            let start = indices.len();
            offsets.extend(part.offsets()[1..].iter().map(|o| start + o));
            indices.extend_from_slice(part.indices());
            values.extend_from_slice(part.values());
            squares.extend(part_squares);
        }
        let matrix = Csr::from_parts(size.min(problem.features()), offsets, indices, values);
        let weights = documents.iter().map(|&d| problem.weight(d as usize)).collect();
        Self { matrix, squares, documents, weights }
    }

    /// Vectors as they are, in a random order; `weights` say how often each counts (empty: once).
    pub(super) fn given(vectors: &Csr<f32>, weights: &[f64], seed: u64) -> Self {
        let documents = in_random_order(vectors.rows(), seed);
        let order: Vec<usize> = documents.iter().map(|&d| d as usize).collect();
        let matrix = vectors.select_rows(&order);
        let square = |row| 1.0 + matrix.row_values(row).iter().map(|&w| f64::from(w) * f64::from(w)).sum::<f64>();
        let squares = (0..matrix.rows()).map(square).collect();
        let weights = order.iter().map(|&row| weights.get(row).copied().unwrap_or(1.0)).collect();
        Self { matrix, squares, documents, weights }
    }

    /// Number of documents.
    pub(super) fn len(&self) -> usize {
        self.matrix.rows()
    }

    /// Number of features.
    pub(super) fn features(&self) -> usize {
        self.matrix.columns()
    }
}

/// So many documents, shuffled.
fn in_random_order(documents: usize, seed: u64) -> Vec<u32> {
    let mut documents: Vec<u32> = (0..documents as u32).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for at in 0..documents.len() {
        let other = at + below(&mut rng, documents.len() - at);
        documents.swap(at, other);
    }
    documents
}

/// The vectors of some documents, and `‖x‖² + 1` of each.
fn vectors(problem: &Problem, weighter: &Weighter, size: usize, documents: &[u32]) -> (Csr<f32>, Vec<f64>) {
    let mut matrix = Csr::new(size.min(problem.features()));
    let mut squares = Vec::with_capacity(documents.len());
    let mut weights = Vec::new();
    for &document in documents {
        let document = prefix(problem.query(document as usize), size);
        weighter.weigh(document, &mut weights);
        let entries = document.features.iter().zip(&weights).map(|(&f, &w)| (f, w as f32));
        let entries = entries.filter(|(_, w)| *w != 0.0);
        matrix.push_row(entries.clone());
        squares.push(1.0 + entries.map(|(_, w)| f64::from(w) * f64::from(w)).sum::<f64>());
    }
    (matrix, squares)
}

/// A random number below `n`, for `n` up to 2³². The bias of the product method is at most `n/2³²`: nothing for a shuffle.
#[inline]
pub(super) fn below(rng: &mut ChaCha8Rng, n: usize) -> usize {
    ((u64::from(rng.next_u32()) * n as u64) >> 32) as usize
}
