//! How fast nearest neighbours are, on generated documents of RCV1's shape:
//! `cargo bench -p tamis --bench knn_speed -- [TRAIN [TEST [RANKINGS]]]`.
//!
//! Prints documents a second for `knn(100)` and `wknn(20)`, and for the sweep over the 13 sizes of olsson's preliminary
//! study classifications a second: one is one test document at one size of one ranking.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stdout)]

use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use tamis::classify::{Classifier, Knn, KnnOptions, KnnSweep, Nested, Problem, Scored, Scratch};
use tamis::counts::Csr;
use tamis::{Result, Silent};

const SIZES: [usize; 13] = [50, 250, 500, 750, 1000, 1500, 2000, 2500, 3000, 4000, 5000, 10_000, usize::MAX];
const TERMS: usize = 47_000;
const LABELS: usize = 103;

fn main() -> Result<()> {
    let arguments: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let argument = |i: usize, default: usize| arguments.get(i).copied().unwrap_or(default);
    let (train, test) = (generate(argument(0, 4630), 1), generate(argument(1, 2000), 2));
    println!(
        "{} training documents with {:.1} distinct terms each, {} test documents, {} threads",
        train.documents(),
        train.matrix.entries() as f64 / train.documents() as f64,
        test.documents(),
        rayon::current_num_threads()
    );
    for (name, options) in [("knn(100)", KnnOptions::KNN), ("wknn(20)", KnnOptions::WKNN)] {
        let start = Instant::now();
        let knn = Knn::fit(&train, &options)?;
        let fitted = start.elapsed();
        let start = Instant::now();
        let hits: usize = (0..test.documents())
            .into_par_iter()
            .map_init(
                || (Scratch::default(), Vec::new()),
                |(scratch, ranked), document| {
                    knn.rank(test.query(document), scratch, ranked);
                    correct(&test, document, ranked)
                },
            )
            .sum();
        report(&format!("{name} fitted in {fitted:.1?}"), "documents", test.documents(), start, hits);
    }
    for rankings in [1, 10, argument(2, 59)] {
        for (name, options) in [("knn(100)", KnnOptions::KNN), ("wknn(20)", KnnOptions::WKNN)] {
            let nested: Vec<Nested> = (0..rankings).map(|r| nested(&train, r)).collect();
            let sweep = KnnSweep::over(&train, &nested, &options)?;
            let start = Instant::now();
            let hits = sweep.fold(
                &test,
                &Silent,
                |_| 0,
                |hits: &mut usize, place, ranked| *hits += correct(&test, place.document, ranked),
            )?;
            let lists = test.documents() * sweep.classifications();
            let what = format!("{name} sweep, {rankings} rankings");
            report(&what, "classifications", lists, start, hits.iter().sum());
        }
    }
    Ok(())
}

fn report(what: &str, unit: &str, number: usize, start: Instant, hits: usize) {
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{what}: {number} {unit} in {seconds:.2} s, {:.0} a second; first label right in {:.1} %",
        number as f64 / seconds,
        100.0 * hits as f64 / number as f64
    );
}

fn correct(test: &Problem, document: usize, ranked: &[Scored]) -> usize {
    usize::from(ranked.first().is_some_and(|s| test.assignments.row_indices(document).contains(&s.label)))
}

/// Terms by document frequency, blurred differently for each ranking: between what `df` and what χ² prefer.
fn nested(train: &Problem, ranking: usize) -> Nested {
    let mut rng = ChaCha8Rng::seed_from_u64(100 + ranking as u64);
    let df = train.df();
    let power = [1.0, 0.6, 0.3][ranking % 3];
    let mut scored: Vec<(f64, u32)> = (0..)
        .zip(&df)
        .filter(|&(_, &df)| df > 0)
        .map(|(term, &df)| (f64::from(df).powf(power) * rng.random_range(0.05..1.0), term))
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    Nested { features: scored.into_iter().map(|(_, term)| term).collect(), sizes: SIZES.to_vec() }
}

/// Each document has one to five labels; half of its words come from its labels' own vocabularies, the others from the
/// language, all with frequencies falling off as in text.
fn generate(documents: usize, seed: u64) -> Problem {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut matrix, mut assignments, mut lengths) = (Csr::new(TERMS), Csr::new(LABELS), Vec::new());
    for _ in 0..documents {
        let mut labels: Vec<u32> =
            (0..rng.random_range(1..6)).map(|_| (skewed(&mut rng, 1.7) * LABELS as f64) as u32).collect();
        labels.sort_unstable();
        labels.dedup();
        let length = (30.0 + 250.0 * skewed(&mut rng, 2.0)) as u32;
        let mut terms: Vec<u32> = (0..length)
            .map(|i| {
                let label = labels[rng.random_range(0..labels.len())];
                if i % 2 == 0 {
                    (skewed(&mut rng, 6.0) * TERMS as f64) as u32
                } else {
                    (150 + label * 397 + (skewed(&mut rng, 5.0) * 3000.0) as u32) % TERMS as u32
                }
            })
            .collect();
        terms.sort_unstable();
        matrix.push_row(terms.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)));
        assignments.push_row(labels.into_iter().map(|label| (label, ())));
        lengths.push(length);
    }
    Problem::of(matrix, lengths, assignments)
}

/// In [0, 1), the nearer to 0 the larger the power.
fn skewed(rng: &mut ChaCha8Rng, power: f64) -> f64 {
    rng.random::<f64>().powf(power)
}
