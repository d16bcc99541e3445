//! The multinomial Bhattacharyya distance between classes, as a criterion with running sums (method 5).

use super::bounds::{Bounds, Shape, Term};
use super::contenders::contenders;
use super::criterion::{first_of_best, last_of_best};
use super::twofold::Sums;
use super::{Choice, Clock, Criterion};
use crate::counts::{Contingency, Csr};
use crate::features::WordPrior;
use crate::{Error, Result};

const NO_ROW: u32 = u32::MAX;

/// A class that a term occurs in.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Entry {
    /// `p_v|c`.
    pub(super) p: f64,
    /// `√p_v|c`.
    pub(super) root: f64,
    /// What `root` and `p` exceed those of an absent term by.
    pub(super) excess: [f64; 2],
}

/// `J(S) = L(S) · Σ_{j<k} P_j P_k · −log Σ_{v∈S} √(q_v|j · q_v|k)` (method 5; novovicova eq. 2 and 3 over the words of the
/// subset).
///
/// With `B_jk = Σ_S √(p_j p_k)` and `Q_c = Σ_S p_c` the renormalised distributions need not be formed:
/// `−log Σ √(q_j q_k) = −log B_jk + ½ log Q_j + ½ log Q_k`. The state is these sums, so a term comes or goes in O(m²).
/// The value of the empty subset, and of any single term, is 0.
///
/// A term has the same smoothed `√p = β_c` in every class it does not occur in, and most terms occur in few classes.
/// [`Criterion::best_addition`] and [`Criterion::worst_member`] use that: an upper bound of each candidate's value costs the
/// square of the classes the *term* occurs in, without a logarithm, and only the few candidates whose bound reaches
/// the best value are evaluated in full. The choice is the same as that of evaluating all.
#[derive(Debug, Clone)]
pub struct Bhattacharyya {
    /// By term of the contingency: its row, or [`NO_ROW`] when it is cut.
    row_of: Vec<u32>,
    /// By row: the classes it occurs in.
    entries: Csr<Entry>,
    /// By row: occurrences in all documents.
    tokens: Vec<u64>,
    /// By class: `√p` of a term that does not occur in it, but for `scale`.
    absent_root: Vec<f64>,
    /// By class: `p` of a term that does not occur in it, but for the square of `scale`.
    absent_p: Vec<f64>,
    /// Word priors, by row: `√P(v)`, what `√p` of an absent term is multiplied with. Empty for add-one, where it is 1.
    scale: Vec<f64>,
    /// By class: `½ Σ_{k≠c} P_c P_k`.
    class_weight: Vec<f64>,
    /// By pair: `P_j P_k`.
    pair_weight: Vec<f64>,
    documents: f64,
    members: usize,
    member_tokens: u64,
    /// By pair: `B_jk`.
    overlap: Sums,
    /// By class: `Q_c`.
    mass: Sums,
    value: f64,
    bounds: Bounds,
}

/// Pairs `j < k` lie row after row; `(j, k)` is at `pair_row(j) + k`.
pub(super) fn pair_row(classes: usize, j: usize) -> usize {
    // Wraps for j = 0, where the caller's `+ k` (k ≥ 1) brings it back.
    (j * (2 * classes - j - 1) / 2).wrapping_sub(j + 1)
}

impl Bhattacharyya {
    /// Over the terms with `df > level` (DF cutting of method 2).
    pub fn cut(contingency: &Contingency, level: u32) -> Result<Self> {
        Self::cut_with(contingency, level, WordPrior::AddOne)
    }

    /// The same with probabilities estimated another way.
    pub fn cut_with(contingency: &Contingency, level: u32, prior: WordPrior) -> Result<Self> {
        let df = contingency.df();
        let terms: Vec<u32> = (0..df.len() as u32).filter(|&t| df[t as usize] > level).collect();
        Self::new_with(contingency, &terms, prior)
    }

    /// Over the given terms (distinct), which are the vocabulary of size `V` that the probabilities are smoothed over.
    ///
    /// Labels without a training document take no part; at least two must be left. A document of several labels counts
    /// in each.
    pub fn new(contingency: &Contingency, terms: &[u32]) -> Result<Self> {
        Self::new_with(contingency, terms, WordPrior::AddOne)
    }

    /// The same with probabilities estimated another way. With word priors a term of no document has the probability 0 everywhere, and
    /// is refused.
    pub fn new_with(contingency: &Contingency, terms: &[u32], prior: WordPrior) -> Result<Self> {
        prior.check()?;
        let labels: Vec<u32> =
            (0..contingency.labels().len() as u32).filter(|&l| contingency.label_documents()[l as usize] > 0).collect();
        if labels.len() < 2 {
            let found = match labels.first() {
                Some(&only) => format!("only one label, {:?}, has training documents", contingency.labels().name(only)),
                None => "no label has training documents".to_owned(),
            };
            return Err(Error::data(format!(
                "the Bhattacharyya distance is one between classes, and {found}; \
                 search by it needs at least two labels"
            )));
        }
        let m = labels.len();
        let mut row_of = vec![NO_ROW; contingency.terms()];
        for (row, &term) in terms.iter().enumerate() {
            match row_of.get_mut(term as usize) {
                None => return Err(Error::data(format!("term {term} is not in the contingency"))),
                Some(known) if *known != NO_ROW => return Err(Error::data(format!("term {term} is given twice"))),
                Some(free) => *free = row as u32,
            }
        }
        let mut class_of = vec![u32::MAX; contingency.labels().len()];
        for (class, &label) in labels.iter().enumerate() {
            class_of[label as usize] = class as u32;
        }
        let mut class_tokens = vec![0u64; m];
        for &term in terms {
            for (label, meeting) in contingency.meetings().row(term as usize) {
                class_tokens[class_of[label as usize] as usize] += u64::from(meeting.occurrences);
            }
        }
        // `V` occurrences more, one of each term; or `m`, divided as all occurrences are.
        let (more, scale) = match prior {
            WordPrior::AddOne => (terms.len() as f64, Vec::new()),
            WordPrior::Weight(m) => (m, shares(contingency, terms)?),
        };
        let one = if scale.is_empty() { 1.0 } else { more };
        let denominator: Vec<f64> = class_tokens.iter().map(|&n| more + n as f64).collect();
        // Without terms the denominator is 0, and nothing will ever be divided by it.
        let absent_p: Vec<f64> = denominator.iter().map(|&d| if d == 0.0 { 0.0 } else { one / d }).collect();
        let absent_root: Vec<f64> = absent_p.iter().map(|p| p.sqrt()).collect();
        let mut entries = Csr::new(m);
        for (row, &term) in terms.iter().enumerate() {
            let scale = scale.get(row).copied().unwrap_or(1.0);
            entries.push_row(contingency.meetings().row(term as usize).map(|(label, meeting)| {
                let class = class_of[label as usize] as usize;
                let p = (one * scale * scale + f64::from(meeting.occurrences)) / denominator[class];
                let root = p.sqrt();
                let excess = [root - scale * absent_root[class], p - scale * scale * absent_p[class]];
                (class as u32, Entry { p, root, excess })
            }));
        }
        let label_documents = |l: u32| f64::from(contingency.label_documents()[l as usize]);
        let all: f64 = labels.iter().map(|&l| label_documents(l)).sum();
        let prior: Vec<f64> = labels.iter().map(|&l| label_documents(l) / all).collect();
        let mut pair_weight = Vec::with_capacity(m * (m - 1) / 2);
        let mut class_weight = vec![0.0; m];
        for j in 0..m {
            for k in j + 1..m {
                let weight = prior[j] * prior[k];
                pair_weight.push(weight);
                class_weight[j] += 0.5 * weight;
                class_weight[k] += 0.5 * weight;
            }
        }
        Ok(Self {
            row_of,
            entries,
            tokens: terms.iter().map(|&t| contingency.occurrences()[t as usize]).collect(),
            bounds: Bounds::new(m),
            overlap: Sums::zeros(pair_weight.len()),
            mass: Sums::zeros(m),
            absent_root,
            absent_p,
            scale,
            class_weight,
            pair_weight,
            documents: contingency.documents() as f64,
            members: 0,
            member_tokens: 0,
            value: 0.0,
        })
    }

    /// Number of classes `m`.
    pub fn classes(&self) -> usize {
        self.absent_p.len()
    }

    /// Size `V` of the vocabulary that the probabilities are smoothed over.
    pub fn terms(&self) -> usize {
        self.tokens.len()
    }

    fn row(&self, term: u32) -> usize {
        let row = self.row_of[term as usize];
        assert!(row != NO_ROW, "term {term} is not in the criterion's vocabulary");
        row as usize
    }

    /// `√p_v|c` and `p_v|c` in every class.
    fn dense(&self, row: usize) -> (Vec<f64>, Vec<f64>) {
        let (mut roots, mut ps) = (self.absent_root.clone(), self.absent_p.clone());
        if let Some(&scale) = self.scale.get(row) {
            roots.iter_mut().for_each(|root| *root *= scale);
            ps.iter_mut().for_each(|p| *p *= scale * scale);
        }
        for (class, entry) in self.entries.row(row) {
            roots[class as usize] = entry.root;
            ps[class as usize] = entry.p;
        }
        (roots, ps)
    }

    /// Adds the term's share to the sums, or with `sign` −1 takes exactly that out again.
    fn shift(&mut self, row: usize, sign: f64) {
        let (roots, ps) = self.dense(row);
        let mut start = 0;
        for (j, &root) in roots.iter().enumerate() {
            let others = &roots[j + 1..];
            self.overlap.add(start, others.iter().map(|&other| sign * (root * other)));
            start += others.len();
        }
        self.mass.add(0, ps.iter().map(|p| sign * p));
    }

    /// After the sums changed.
    fn refresh(&mut self) {
        if self.members == 0 {
            self.overlap.clear();
            self.mass.clear();
            self.value = 0.0;
            return;
        }
        let (overlap, mass) = (self.overlap.rounded(), self.mass.rounded());
        let log_overlap = weighted_logs(&self.pair_weight, overlap.iter().copied());
        self.value = if self.members == 1 {
            0.0
        } else {
            let log_mass = weighted_logs(&self.class_weight, mass.iter().copied());
            self.criterion(self.member_tokens, log_mass - log_overlap)
        };
        let shape = Shape {
            root: &self.absent_root,
            p: &self.absent_p,
            pair_weight: &self.pair_weight,
            class_weight: &self.class_weight,
        };
        self.bounds.refresh(shape, overlap, mass, log_overlap);
    }

    /// `L(S)` times the distance, for a subset with so many tokens. A distance is not negative, which rounding could
    /// make it.
    fn criterion(&self, tokens: u64, distance: f64) -> f64 {
        if tokens == 0 || self.documents == 0.0 { 0.0 } else { tokens as f64 / self.documents * distance.max(0.0) }
    }

    /// Full evaluations that are worth a task of their own: some thousand logarithms.
    fn least_share(&self) -> usize {
        1 + 4096 / self.pair_weight.len()
    }

    /// The value after a shift by the term.
    fn neighbour(&self, row: usize, sign: f64) -> f64 {
        let (roots, ps) = self.dense(row);
        let mut shares = Vec::with_capacity(self.pair_weight.len());
        for (j, &root) in roots.iter().enumerate() {
            shares.extend(roots[j + 1..].iter().map(|&other| sign * (root * other)));
        }
        let pairs = shares.iter().enumerate().map(|(pair, &share)| self.overlap.plus(pair, share));
        let classes = ps.iter().enumerate().map(|(class, p)| self.mass.plus(class, sign * p));
        let distance = weighted_logs(&self.class_weight, classes) - weighted_logs(&self.pair_weight, pairs);
        self.criterion(self.tokens_after(row, sign), distance)
    }

    /// Tokens of the subset after a shift by the term.
    fn tokens_after(&self, row: usize, sign: f64) -> u64 {
        if sign > 0.0 { self.member_tokens + self.tokens[row] } else { self.member_tokens - self.tokens[row] }
    }

    fn term(&self, row: usize) -> Term<'_> {
        Term {
            classes: self.entries.row_indices(row),
            entries: self.entries.row_values(row),
            scale: self.scale.get(row).copied(),
        }
    }

    /// At least the value with the term.
    fn bound_with(&self, row: usize) -> f64 {
        // The bounds divide by the sums, which an empty subset does not have.
        if self.members == 0 {
            return 0.0;
        }
        let distance = self.bounds.distance_with(self.term(row));
        self.criterion(self.tokens_after(row, 1.0), distance)
    }

    /// At least the value without the term, a member.
    fn bound_without(&self, row: usize) -> f64 {
        if self.members <= 2 {
            return 0.0;
        }
        let distance = self.bounds.distance_without(self.term(row));
        self.criterion(self.tokens_after(row, -1.0), distance)
    }
}

/// `√P(v)` of each term: the share of all terms' occurrences that is its own.
fn shares(contingency: &Contingency, terms: &[u32]) -> Result<Vec<f64>> {
    let all: u64 = terms.iter().map(|&t| contingency.occurrences()[t as usize]).sum();
    let share = |&term: &u32| match contingency.occurrences()[term as usize] {
        0 => Err(Error::data(format!("term {term} occurs in no document, so it has no word prior; cut it"))),
        own => Ok((own as f64 / all as f64).sqrt()),
    };
    terms.iter().map(share).collect()
}

/// `Σ w log x`, in order.
fn weighted_logs(weights: &[f64], numbers: impl Iterator<Item = f64>) -> f64 {
    weights.iter().zip(numbers).map(|(w, x)| w * x.ln()).sum()
}

impl Criterion for Bhattacharyya {
    fn accepts(&self, term: u32) -> bool {
        self.row_of.get(term as usize).is_some_and(|&row| row != NO_ROW)
    }

    fn clear(&mut self) {
        self.members = 0;
        self.member_tokens = 0;
        self.refresh();
    }

    fn add(&mut self, term: u32) {
        let row = self.row(term);
        self.shift(row, 1.0);
        self.members += 1;
        self.member_tokens += self.tokens[row];
        self.refresh();
    }

    fn remove(&mut self, term: u32) {
        let row = self.row(term);
        self.shift(row, -1.0);
        self.members -= 1;
        self.member_tokens -= self.tokens[row];
        self.refresh();
    }

    fn value(&self) -> f64 {
        self.value
    }

    fn value_with(&self, term: u32) -> f64 {
        if self.members == 0 { 0.0 } else { self.neighbour(self.row(term), 1.0) }
    }

    fn value_without(&self, term: u32) -> f64 {
        if self.members <= 2 { 0.0 } else { self.neighbour(self.row(term), -1.0) }
    }

    fn set(&mut self, terms: &[u32]) {
        self.clear();
        for &term in terms {
            let row = self.row(term);
            self.shift(row, 1.0);
            self.member_tokens += self.tokens[row];
        }
        self.members = terms.len();
        self.refresh();
    }

    fn best_addition(&self, candidates: &[u32], clock: &Clock<'_>) -> Option<Choice> {
        let bound = |term| self.bound_with(self.row(term));
        let values = contenders(candidates, clock, self.least_share(), bound, |term| self.value_with(term))?;
        first_of_best(&values).map(|at| Choice { term: candidates[at], value: values[at] })
    }

    fn worst_member(&self, members: &[u32], clock: &Clock<'_>) -> Option<Choice> {
        let bound = |term| self.bound_without(self.row(term));
        let values = contenders(members, clock, self.least_share(), bound, |term| self.value_without(term))?;
        last_of_best(&values).map(|at| Choice { term: members[at], value: values[at] })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::Silent;
    use crate::counts::Counts;
    use crate::features::search::{Budget, is_better};

    /// Words as skewed as in text: most in few classes, some in all; most documents of the first classes.
    fn table(seed: u64, classes: usize, terms: usize) -> Contingency {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let documents: Vec<(Vec<String>, Vec<String>)> = (0..classes * 20)
            .map(|_| {
                let class = (rng.random::<f64>().powi(2) * classes as f64) as usize;
                let words = (0..rng.random_range(5..60)).map(|_| {
                    let word = (rng.random::<f64>().powi(3) * terms as f64) as usize;
                    // Half of the words keep to their class, but for a slip now and then.
                    let kept = if word.is_multiple_of(2) || rng.random_range(0..10) == 0 {
                        word
                    } else {
                        word / classes * classes + class
                    };
                    format!("w{kept}")
                });
                (words.collect(), vec![format!("c{class}")])
            })
            .collect();
        Contingency::of(&Counts::from_rows(&documents))
    }

    /// The candidates' values all come from `value_with` and `value_without`, which other tests compare with the definition.
    #[test]
    fn bounds_are_above_the_values_and_near() {
        for (seed, classes, terms) in [(1, 2, 60), (2, 5, 200), (3, 12, 400), (4, 33, 800)] {
            let table = table(seed, classes, terms);
            let mut criterion = Bhattacharyya::cut(&table, 0).unwrap();
            let all: Vec<u32> = (0..table.terms() as u32).collect();
            for size in [0, 1, 2, 3, 5, 10, 40, all.len() - 1] {
                // A subset without a pattern: every term whose multiple falls low.
                let (inside, outside): (Vec<u32>, Vec<u32>) =
                    all.iter().partition(|&&t| (t as usize * 7919) % all.len() < size);
                criterion.set(&inside);
                for (terms, with) in [(&outside, true), (&inside, false)] {
                    let mut pairs: Vec<(f64, f64)> = Vec::new();
                    for &term in terms {
                        let row = criterion.row(term);
                        pairs.push(if with {
                            (criterion.bound_with(row), criterion.value_with(term))
                        } else {
                            (criterion.bound_without(row), criterion.value_without(term))
                        });
                    }
                    assert!(pairs.iter().all(|(bound, value)| bound >= value), "{pairs:?}");
                    let largest = pairs.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
                    let open = pairs.iter().filter(|p| !is_better(largest, p.0)).count();
                    assert!(size < 40 || open <= 2 + terms.len() / 10, "{classes} classes: {open} of {}", terms.len());
                }
            }
        }
    }

    #[test]
    fn few_candidates_are_evaluated_in_full() {
        let table = table(5, 20, 1500);
        let mut criterion = Bhattacharyya::cut(&table, 0).unwrap();
        let order: Vec<u32> = (0..table.terms() as u32).collect();
        criterion.set(&order[..100]);
        let clock = Clock::start(&Budget::default(), &Silent).unwrap();
        let evaluated = AtomicUsize::new(0);
        let value = |term| {
            evaluated.fetch_add(1, Ordering::Relaxed);
            criterion.value_with(term)
        };
        let bound = |term| criterion.bound_with(criterion.row(term));
        contenders(&order[100..], &clock, 1, bound, value).unwrap();
        let evaluated = evaluated.into_inner();
        assert!(evaluated * 20 < order.len(), "{evaluated} of {}", order.len() - 100);
    }

    /// A row of 100,000 moves, then the sums against those of the subset from scratch.
    #[test]
    fn sums_do_not_drift() {
        let table = table(6, 4, 50);
        let mut criterion = Bhattacharyya::cut(&table, 0).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut inside = vec![false; table.terms()];
        for _ in 0..100_000 {
            let term = rng.random_range(0..inside.len());
            let shift = if inside[term] { Bhattacharyya::remove } else { Bhattacharyya::add };
            shift(&mut criterion, term as u32);
            inside[term] = !inside[term];
        }
        let members: Vec<u32> = (0..inside.len() as u32).filter(|&t| inside[t as usize]).collect();
        let mut fresh = criterion.clone();
        fresh.set(&members);
        assert!(members.len() > 3);
        assert_eq!(criterion.overlap.rounded(), fresh.overlap.rounded());
        assert_eq!(criterion.mass.rounded(), fresh.mass.rounded());
        assert_eq!(criterion.value(), fresh.value());
    }
}
