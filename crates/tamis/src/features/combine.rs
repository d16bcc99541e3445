//! Several rankings made one (method 3).

use super::ranking::Ranking;
use super::selector::{Combination, Combine};

/// An input, spread out by term number.
struct Input {
    /// Rank, and for terms it has not the rank after its last.
    ranks: Vec<f64>,
    /// Score, and for terms it has not 0.
    scores: Vec<f64>,
    /// Size of the largest score.
    largest: f64,
    /// L2 norm of all scores.
    length: f64,
}

impl Input {
    fn new(ranking: &Ranking, terms: usize) -> Self {
        let mut ranks = vec![ranking.len() as f64 + 1.0; terms];
        let mut scores = vec![0.0; terms];
        for ((&term, &score), rank) in ranking.terms().iter().zip(ranking.scores()).zip(ranking.average_ranks()) {
            ranks[term as usize] = rank;
            scores[term as usize] = score;
        }
        Self {
            ranks,
            scores,
            largest: ranking.scores().first().map_or(0.0, |score| score.abs()),
            length: ranking.scores().iter().map(|s| s * s).sum::<f64>().sqrt(),
        }
    }

    /// The score divided by the largest; 0 when that is 0. A negative maximum (`mimax` where no term speaks for a
    /// label) divides by its size, so that the order stays.
    fn by_largest(&self, term: usize) -> f64 {
        if self.largest == 0.0 { 0.0 } else { self.scores[term] / self.largest }
    }

    /// The score divided by the L2 norm of all; 0 when that is 0.
    fn by_length(&self, term: usize) -> f64 {
        if self.length == 0.0 { 0.0 } else { self.scores[term] / self.length }
    }
}

/// Combines rankings of the same contingency; `df` is by term number. Candidates are the union of the inputs' terms.
///
/// Combinations of ranks give points, `candidates + 1 − rank`, so that larger is better as for every other score and a
/// term outside of an input has none. Ties: for combinations of ranks by mean rank, then df descending, then term
/// (method 3); for combinations of scores the order of method 2.
pub(crate) fn combine(how: &Combine, inputs: &[&Ranking], df: &[u32]) -> Ranking {
    let mut is_candidate = vec![false; df.len()];
    for &term in inputs.iter().flat_map(|ranking| ranking.terms()) {
        is_candidate[term as usize] = true;
    }
    let candidates: Vec<u32> = (0..df.len() as u32).filter(|&t| is_candidate[t as usize]).collect();
    if how.combination() == Combination::Rr {
        return round_robin(inputs, candidates.len(), df.len());
    }
    let spread: Vec<Input> = inputs.iter().map(|ranking| Input::new(ranking, df.len())).collect();
    let largest = |f: &dyn Fn(&Input) -> f64| spread.iter().map(f).fold(f64::NEG_INFINITY, f64::max);
    let smallest = |f: &dyn Fn(&Input) -> f64| spread.iter().map(f).fold(f64::INFINITY, f64::min);
    let weighted = |f: &dyn Fn(&Input) -> f64| how.weights().iter().zip(&spread).map(|(w, i)| w * f(i)).sum::<f64>();
    let mean_rank = |t: usize| spread.iter().map(|i| i.ranks[t]).sum::<f64>() / spread.len() as f64;
    let all_weights: f64 = how.weights().iter().sum();

    let combined = |term: u32| {
        let t = term as usize;
        match how.combination() {
            Combination::Hr => smallest(&|i| i.ranks[t]),
            Combination::Lr => largest(&|i| i.ranks[t]),
            Combination::Ar | Combination::Rr => mean_rank(t),
            Combination::Wr => weighted(&|i| i.ranks[t]) / all_weights,
            Combination::Dmor => largest(&|i| i.by_largest(t)),
            Combination::Dlor => largest(&|i| i.by_length(t)),
            Combination::Dmand => smallest(&|i| i.by_largest(t)),
            Combination::Dland => smallest(&|i| i.by_length(t)),
            Combination::Ws => weighted(&|i| i.by_largest(t)),
        }
    };
    if !matches!(how.combination(), Combination::Hr | Combination::Lr | Combination::Ar | Combination::Wr) {
        return Ranking::from_scores(df, candidates.iter().map(|&t| (t, combined(t))));
    }
    let points_of_none = candidates.len() as f64 + 1.0;
    let mut entries: Vec<(f64, f64, u32)> =
        candidates.iter().map(|&t| (points_of_none - combined(t), mean_rank(t as usize), t)).collect();
    entries.sort_unstable_by(|x, y| {
        let df = |entry: &(f64, f64, u32)| df[entry.2 as usize];
        y.0.total_cmp(&x.0).then(x.1.total_cmp(&y.1)).then(df(y).cmp(&df(x))).then(x.2.cmp(&y.2))
    });
    Ranking::from_sorted(entries.into_iter().map(|(points, _, term)| (term, points)))
}

/// The best term left of each input in turn, until none is left.
fn round_robin(inputs: &[&Ranking], candidates: usize, terms: usize) -> Ranking {
    let mut taken = vec![false; terms];
    let mut order = Vec::with_capacity(candidates);
    let mut left: Vec<_> = inputs.iter().map(|ranking| ranking.terms().iter()).collect();
    while order.len() < candidates {
        for input in &mut left {
            if let Some(&term) = input.find(|term| !taken[**term as usize]) {
                taken[term as usize] = true;
                order.push(term);
            }
        }
    }
    Ranking::from_sorted(order.into_iter().enumerate().map(|(place, term)| (term, (candidates - place) as f64)))
}
