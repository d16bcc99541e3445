//! Terms in order, best first; every size is a prefix.

use crate::counts::Contingency;

/// Terms best first with their scores: by score descending, then by document frequency descending, then by term
/// ascending (method 2). The order is total, so a selection is the same on every machine and with any number of threads.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    terms: Vec<u32>,
    scores: Vec<f64>,
    labels: Option<Vec<u32>>,
}

/// The first terms of a ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prefix<'a> {
    /// How many were asked for; more than [`Prefix::terms`] holds when there are not as many.
    pub asked: usize,
    /// Terms, best first.
    pub terms: &'a [u32],
    /// Their scores.
    pub scores: &'a [f64],
}

/// A number that sorts as scores rank: lower for higher scores.
fn score_key(score: f64) -> u64 {
    // Minus zero and zero are one score.
    let bits = (score + 0.0).to_bits();
    if bits >> 63 == 1 { bits } else { !(bits | (1 << 63)) }
}

/// The score a key stands for.
fn key_score(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key } else { !key & !(1 << 63) })
}

/// Sorts by key, keeping the order of equals: least significant digits first. Terms come by the tens of thousands with
/// the order of ties already known, where this takes a third of the time of sorting by comparison.
fn radix_sort(entries: &mut Vec<(u64, u32)>) {
    const BITS: u32 = 11;
    const DIGITS: usize = 1 << BITS;
    const PASSES: usize = 64usize.div_ceil(BITS as usize);
    let digit = |key: u64, pass: usize| (key >> (pass as u32 * BITS)) as usize & (DIGITS - 1);
    let mut counts = vec![[0u32; DIGITS]; PASSES];
    for &(key, _) in entries.iter() {
        for (pass, counts) in counts.iter_mut().enumerate() {
            counts[digit(key, pass)] += 1;
        }
    }
    let mut sorted = vec![(0u64, 0u32); entries.len()];
    for (pass, counts) in counts.iter_mut().enumerate() {
        // A digit that all keys share orders nothing.
        if entries.first().is_none_or(|&(key, _)| counts[digit(key, pass)] as usize == entries.len()) {
            continue;
        }
        let mut place = 0;
        for count in counts.iter_mut() {
            place += std::mem::replace(count, place);
        }
        for &entry in entries.iter() {
            let at = &mut counts[digit(entry.0, pass)];
            sorted[*at as usize] = entry;
            *at += 1;
        }
        std::mem::swap(entries, &mut sorted);
    }
}

impl Ranking {
    /// Ranks terms by score; `df` is by term number, and term numbers follow the order of terms. Scores are not NaN.
    pub fn from_scores(df: &[u32], scored: impl IntoIterator<Item = (u32, f64)>) -> Self {
        let mut scored: Vec<(u32, f64)> = scored.into_iter().collect();
        scored.sort_unstable_by_key(|&(term, _)| (std::cmp::Reverse(df[term as usize]), term));
        Self::from_ties(scored)
    }

    /// Ranks terms that come in the order of ties, by df descending, then by term.
    pub(crate) fn from_ties(scored: impl IntoIterator<Item = (u32, f64)>) -> Self {
        let mut entries: Vec<(u64, u32)> = scored.into_iter().map(|(term, score)| (score_key(score), term)).collect();
        // Below this the tables of the radix sort cost more than the sort.
        if entries.len() < 2048 {
            entries.sort_by_key(|(key, _)| *key);
        } else {
            radix_sort(&mut entries);
        }
        Self::from_sorted(entries.into_iter().map(|(key, term)| (term, key_score(key))))
    }

    /// The best `top` of terms that come in the order of ties.
    pub(crate) fn from_ties_top(scored: impl IntoIterator<Item = (u32, f64)>, top: usize) -> Self {
        let mut entries: Vec<(u64, u32, u32)> =
            (0u32..).zip(scored).map(|(place, (term, score))| (score_key(score), place, term)).collect();
        if top < entries.len() {
            if top > 0 {
                entries.select_nth_unstable(top - 1);
            }
            entries.truncate(top);
        }
        entries.sort_unstable();
        Self::from_sorted(entries.into_iter().map(|(key, _, term)| (term, key_score(key))))
    }

    /// Takes terms that are in order already.
    pub(crate) fn from_sorted(scored: impl Iterator<Item = (u32, f64)>) -> Self {
        let (terms, scores) = scored.unzip();
        Self { terms, scores, labels: None }
    }

    /// Adds the label that gave each term its maximum, from a list by term number.
    pub(crate) fn with_labels(mut self, of_term: &[u32]) -> Self {
        self.labels = Some(self.terms.iter().map(|&t| of_term[t as usize]).collect());
        self
    }

    /// Number of terms.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether there is no term.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Term numbers, best first.
    pub fn terms(&self) -> &[u32] {
        &self.terms
    }

    /// The score of each term, in the same order. Larger is better for every selector: combinations of ranks give
    /// points, see [`Selector::rank`](super::Selector::rank).
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// For a score pooled by max: the label that gave each term its maximum, the lowest number among equals.
    pub fn labels(&self) -> Option<&[u32]> {
        self.labels.as_deref()
    }

    /// The same for people: the label that a term speaks for. With two labels, χ² and its like are the same for both, and the one of
    /// the maximum may be the one that the term hardly ever meets; then it is the other.
    pub fn speaks_for(&self, at: usize, table: &Contingency) -> Option<u32> {
        let (label, term) = (self.labels.as_ref()?[at], self.terms[at]);
        let cell = table.cell(term, label);
        let mut others = table.label_documents().iter().zip(0u32..).filter(|&(&n, l)| n > 0 && l != label);
        match (others.next(), others.next()) {
            (Some((_, other)), None) if cell.a * cell.d < cell.b * cell.c => Some(other),
            _ => Some(label),
        }
    }

    /// The best `size` terms, or all when there are fewer.
    pub fn top(&self, size: usize) -> &[u32] {
        &self.terms[..size.min(self.len())]
    }

    /// The ranking of the first `size` terms alone.
    pub fn first(mut self, size: usize) -> Self {
        self.terms.truncate(size);
        self.scores.truncate(size);
        if let Some(labels) = &mut self.labels {
            labels.truncate(size);
        }
        self
    }

    /// Only the terms that `keep` accepts, in the same order.
    pub fn filtered(&self, mut keep: impl FnMut(u32) -> bool) -> Self {
        let kept: Vec<usize> = (0..self.len()).filter(|&at| keep(self.terms[at])).collect();
        Self {
            terms: kept.iter().map(|&at| self.terms[at]).collect(),
            scores: kept.iter().map(|&at| self.scores[at]).collect(),
            labels: self.labels.as_ref().map(|labels| kept.iter().map(|&at| labels[at]).collect()),
        }
    }

    /// Nested prefixes, one for each size, in the order of the sizes; nothing is copied.
    pub fn sweep<'a>(&'a self, sizes: &'a [usize]) -> impl ExactSizeIterator<Item = Prefix<'a>> + 'a {
        sizes.iter().map(|&asked| {
            let size = asked.min(self.len());
            Prefix { asked, terms: &self.terms[..size], scores: &self.scores[..size] }
        })
    }

    /// The rank of each term, in order; rank 1 is best, and equal scores share the average of the ranks they span
    /// (method 3).
    pub fn average_ranks(&self) -> Vec<f64> {
        let mut ranks = Vec::with_capacity(self.len());
        for tied in self.scores.chunk_by(|x, y| x == y) {
            let before = ranks.len() as f64;
            let rank = before + f64::midpoint(tied.len() as f64, 1.0);
            ranks.resize(ranks.len() + tied.len(), rank);
        }
        ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_score_then_frequency_then_term() {
        let df = [5, 9, 5, 1, 7, 2];
        let scores = [1.0, 0.0, 1.0, -3.0, -0.0, 2.5];
        let ranking = Ranking::from_scores(&df, (0u32..).zip(scores));
        assert_eq!(ranking.terms(), [5, 0, 2, 1, 4, 3]);
        assert_eq!(ranking.scores(), [2.5, 1.0, 1.0, 0.0, 0.0, -3.0]);
        assert_eq!(ranking.average_ranks(), [1.0, 2.5, 2.5, 4.5, 4.5, 6.0]);
        let ties = [1, 4, 0, 2, 5, 3].map(|t| (t, scores[t as usize]));
        assert_eq!(Ranking::from_ties(ties), ranking);
        for top in 0..8 {
            assert_eq!(Ranking::from_ties_top(ties, top).terms(), ranking.top(top));
        }
    }

    #[test]
    fn radix_sort_is_a_stable_sort() {
        use rand::{RngExt, SeedableRng};
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(3);
        for kind in 0..4 {
            let mut entries: Vec<(u64, u32)> = (0..5000)
                .map(|term| {
                    let x: f64 = random.random();
                    let score = [x, (x * 20.0).floor(), x - 0.5, -1e300 * x][kind];
                    assert_eq!(key_score(score_key(score)), score);
                    (score_key(score), term)
                })
                .collect();
            let mut expected = entries.clone();
            expected.sort_by(|x, y| key_score(y.0).total_cmp(&key_score(x.0)));
            radix_sort(&mut entries);
            assert_eq!(entries, expected);
        }
    }

    #[test]
    fn infinities_have_a_place() {
        let ranking = Ranking::from_scores(&[1, 1, 1], [(0, f64::NEG_INFINITY), (1, f64::INFINITY), (2, f64::MAX)]);
        assert_eq!(ranking.terms(), [1, 2, 0]);
    }

    #[test]
    fn sizes_are_prefixes_of_one_list() {
        let ranking = Ranking::from_scores(&[1; 4], (0u32..4).map(|t| (t, f64::from(t))));
        let sizes = [1, 3, 9];
        let prefixes: Vec<Prefix> = ranking.sweep(&sizes).collect();
        assert_eq!(prefixes[1].terms, [3, 2, 1]);
        assert_eq!((prefixes[2].asked, prefixes[2].terms.len()), (9, 4));
        assert!(prefixes.iter().all(|p| p.terms.as_ptr() == ranking.terms().as_ptr()));
    }
}
