//! Subset search against obvious transcriptions: everything from scratch, every candidate evaluated.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tamis::Silent;
use tamis::counts::{Contingency, Counts};
use tamis::features::WordPrior;
use tamis::features::search::{
    BETTER_BY, Bhattacharyya, Budget, Clock, Criterion, Direction, Ended, Found, Oscillating, Sequential, is_better,
};

type Documents = Vec<(Vec<String>, Vec<String>)>;

/// Up to 8 terms, up to 4 labels, none to two labels a document.
fn documents() -> impl Strategy<Value = Documents> {
    prop::collection::vec((prop::collection::vec("[a-h]", 1..8), prop::collection::vec("[W-Z]", 0..3)), 2..14)
}

/// Estimates of probabilities, from next to no prior to one that outweighs the documents.
fn prior() -> impl Strategy<Value = WordPrior> {
    prop_oneof![
        Just(WordPrior::AddOne),
        Just(WordPrior::Weight(0.01)),
        Just(WordPrior::Weight(3.0)),
        Just(WordPrior::Weight(200.0))
    ]
}

fn classes(table: &Contingency) -> usize {
    table.label_documents().iter().filter(|n| **n > 0).count()
}

/// The cut vocabulary in an order other than that of numbers.
fn shuffled(table: &Contingency, cut: u32, seed: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..table.terms() as u32).filter(|&t| table.df()[t as usize] > cut).collect();
    let len = order.len().max(1);
    order.rotate_left(seed % len);
    if seed % 2 == 1 {
        order.reverse();
    }
    order
}

/// Method 5, word for word, from the documents.
fn spec_value(counts: &Counts, vocabulary: &[u32], subset: &[u32]) -> f64 {
    spec_value_with(counts, vocabulary, subset, WordPrior::AddOne)
}

fn spec_value_with(counts: &Counts, vocabulary: &[u32], subset: &[u32], prior: WordPrior) -> f64 {
    let occurrences =
        |v: u32, rows: &[usize]| -> f64 { rows.iter().map(|&r| f64::from(counts.matrix.get(r, v).unwrap_or(0))).sum() };
    let all: Vec<usize> = (0..counts.len()).collect();
    let members: Vec<Vec<usize>> = (0..counts.labels.len() as u32)
        .map(|c| all.iter().copied().filter(|&r| counts.assignments.get(r, c).is_some()).collect::<Vec<_>>())
        .filter(|rows| !rows.is_empty())
        .collect();
    let total: usize = members.iter().map(Vec::len).sum();
    let q: Vec<Vec<f64>> = members
        .iter()
        .map(|rows| {
            let tokens: f64 = vocabulary.iter().map(|&v| occurrences(v, rows)).sum();
            let everywhere: f64 = vocabulary.iter().map(|&v| occurrences(v, &all)).sum();
            let p = |&v: &u32| match prior {
                WordPrior::AddOne => (1.0 + occurrences(v, rows)) / (vocabulary.len() as f64 + tokens),
                WordPrior::Weight(m) => (occurrences(v, rows) + m * occurrences(v, &all) / everywhere) / (tokens + m),
            };
            let p: Vec<f64> = subset.iter().map(p).collect();
            let sum: f64 = p.iter().sum();
            p.into_iter().map(|p| p / sum).collect()
        })
        .collect();
    if subset.is_empty() {
        return 0.0;
    }
    let mut distance = 0.0;
    for j in 0..members.len() {
        for k in j + 1..members.len() {
            let prior = |c: usize| members[c].len() as f64 / total as f64;
            let overlap: f64 = (0..subset.len()).map(|v| (q[j][v] * q[k][v]).sqrt()).sum();
            distance -= prior(j) * prior(k) * overlap.ln();
        }
    }
    let length = subset.iter().map(|&v| occurrences(v, &all)).sum::<f64>() / counts.len() as f64;
    length * distance
}

/// The searches as written, on lists of terms, with a function of a list as criterion.
struct Obvious<'a> {
    order: &'a [u32],
    value: &'a dyn Fn(&[u32]) -> f64,
}

impl Obvious<'_> {
    fn with_best(&self, subset: &[u32]) -> Vec<u32> {
        let tries: Vec<Vec<u32>> = self
            .order
            .iter()
            .filter(|t| !subset.contains(t))
            .map(|new| self.order.iter().copied().filter(|t| subset.contains(t) || t == new).collect())
            .collect();
        let values: Vec<f64> = tries.iter().map(|s| (self.value)(s)).collect();
        let at = values.iter().position(|v| values.iter().all(|w| *w <= v + BETTER_BY)).unwrap();
        tries[at].clone()
    }

    fn without_worst(&self, subset: &[u32]) -> Vec<u32> {
        let tries: Vec<Vec<u32>> = subset.iter().map(|t| subset.iter().copied().filter(|u| u != t).collect()).collect();
        let values: Vec<f64> = tries.iter().map(|s| (self.value)(s)).collect();
        let at = values.iter().rposition(|v| values.iter().all(|w| *w <= v + BETTER_BY)).unwrap();
        tries[at].clone()
    }

    fn better(&self, new: &[u32], old: &[u32]) -> bool {
        (self.value)(new) > (self.value)(old) + BETTER_BY
    }

    /// Steps 1 to 5 of novovicova 4.2.
    fn oscillate(&self, r: usize, delta: usize) -> Vec<u32> {
        // Step 1
        let mut subset = self.order[..r.min(self.order.len())].to_vec();
        let (mut c, mut o) = (0, 1);
        loop {
            // Step 2
            let mut found = false;
            if o <= subset.len() {
                let mut new = subset.clone();
                (0..o).for_each(|_| new = self.without_worst(&new));
                (0..o).for_each(|_| new = self.with_best(&new));
                found = self.better(&new, &subset);
                if found {
                    subset = new;
                    (c, o) = (0, 1);
                }
            }
            // Step 3
            if !found {
                c += 1;
                if c == 2 {
                    o += 1;
                    if o > delta {
                        return subset;
                    }
                    c = 0;
                }
            }
            // Step 4
            found = false;
            if o <= self.order.len() - subset.len() {
                let mut new = subset.clone();
                (0..o).for_each(|_| new = self.with_best(&new));
                (0..o).for_each(|_| new = self.without_worst(&new));
                found = self.better(&new, &subset);
                if found {
                    subset = new;
                    (c, o) = (0, 1);
                }
            }
            // Step 5
            if !found {
                c += 1;
                if c == 2 {
                    o += 1;
                    if o > delta {
                        return subset;
                    }
                    c = 0;
                }
            }
        }
    }

    /// After each step forth, steps back while they beat the best of that size (Pudil, Novovičová, Kittler 1994).
    fn float(&self, r: usize, forward: bool) -> Vec<u32> {
        let all = self.order.len();
        let mut subset = if forward && r < all { Vec::new() } else { self.order.to_vec() };
        let mut best = BTreeMap::from([(subset.len(), (self.value)(&subset))]);
        let step = |subset: &[u32], grow: bool| if grow { self.with_best(subset) } else { self.without_worst(subset) };
        while subset.len() != r {
            subset = step(&subset, forward);
            let value = (self.value)(&subset);
            let seen = best.entry(subset.len()).or_insert(value);
            *seen = seen.max(value);
            loop {
                let at_the_edge = if forward { subset.len() <= 1 } else { all - subset.len() <= 1 };
                if subset.len() == r || at_the_edge {
                    break;
                }
                let back = step(&subset, !forward);
                let value = (self.value)(&back);
                if !is_better(value, best[&back.len()]) {
                    break;
                }
                best.insert(back.len(), value);
                subset = back;
            }
        }
        subset
    }
}

/// A criterion with the trait's own batch answers, to hold the fast ones against.
struct Plain(Bhattacharyya);

impl Criterion for Plain {
    fn accepts(&self, term: u32) -> bool {
        self.0.accepts(term)
    }
    fn clear(&mut self) {
        self.0.clear();
    }
    fn add(&mut self, term: u32) {
        self.0.add(term);
    }
    fn remove(&mut self, term: u32) {
        self.0.remove(term);
    }
    fn value(&self) -> f64 {
        self.0.value()
    }
    fn value_with(&self, term: u32) -> f64 {
        self.0.value_with(term)
    }
    fn value_without(&self, term: u32) -> f64 {
        self.0.value_without(term)
    }
}

fn subsets(order: &[u32], size: usize) -> Vec<Vec<u32>> {
    (0u32..1 << order.len())
        .filter(|bits| bits.count_ones() as usize == size)
        .map(|bits| (0..order.len()).filter(|i| bits >> i & 1 == 1).map(|i| order[i]).collect())
        .collect()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-10 * (1.0 + a.abs())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn oscillating_search_is_the_transcription(
        documents in documents(), seed in 0usize..1000, r in 1usize..9, delta in 1usize..4, cut in 0u32..2,
    ) {
        let counts = Counts::from_rows(&documents);
        let table = Contingency::of(&counts);
        prop_assume!(classes(&table) >= 2);
        let order = shuffled(&table, cut, seed);
        let value = |s: &[u32]| spec_value(&counts, &order, s);
        let start = &order[..r.min(order.len())];
        let expected = if start.len() == order.len() {
            order.clone()
        } else {
            Obvious { order: &order, value: &value }.oscillate(r, delta)
        };

        let mut criterion = Bhattacharyya::cut(&table, cut).unwrap();
        let search = Oscillating { depth: delta, ..Oscillating::default() };
        let found = search.search(&mut criterion, &order, r, &Silent).unwrap();
        prop_assert_eq!(&found.terms, &expected);
        prop_assert!(close(found.value, value(&expected)), "{} {}", found.value, value(&expected));
        prop_assert_eq!(found.ended, Ended::Converged);
        // Best of all ≥ found ≥ start, and each step better than the last.
        let best = subsets(&order, start.len()).iter().map(|s| value(s)).fold(f64::NEG_INFINITY, f64::max);
        prop_assert!(best >= found.value - 1e-10);
        prop_assert!(close(found.history[0], value(start)));
        prop_assert!(found.history.windows(2).all(|w| is_better(w[1], w[0])));
        prop_assert_eq!(found.history.last().copied(), Some(found.value));
    }

    #[test]
    fn running_value_is_that_of_the_definition(
        documents in documents(), moves in prop::collection::vec(0usize..8, 0..40), prior in prior(),
    ) {
        let counts = Counts::from_rows(&documents);
        let table = Contingency::of(&counts);
        prop_assume!(classes(&table) >= 2);
        let order = shuffled(&table, 0, 0);
        let mut criterion = Bhattacharyya::cut_with(&table, 0, prior).unwrap();
        let mut subset: Vec<u32> = Vec::new();
        for at in moves {
            let term = order[at % order.len()];
            let predicted = if let Some(at) = subset.iter().position(|t| *t == term) {
                subset.remove(at);
                let predicted = criterion.value_without(term);
                criterion.remove(term);
                predicted
            } else {
                subset.push(term);
                let predicted = criterion.value_with(term);
                criterion.add(term);
                predicted
            };
            let expected = spec_value_with(&counts, &order, &subset, prior);
            prop_assert!(close(criterion.value(), expected), "{subset:?}: {} {expected}", criterion.value());
            prop_assert!(close(predicted, expected), "{subset:?}: {predicted} {expected}");
            // The way here leaves no trace.
            let mut fresh = criterion.clone();
            fresh.set(&subset);
            prop_assert!((fresh.value() - criterion.value()).abs() <= 1e-14 * (1.0 + fresh.value()));
        }
    }

    #[test]
    fn bounds_never_change_the_choice(
        documents in documents(), seed in 0usize..1000, inside in 0usize..9, prior in prior(),
    ) {
        let table = Contingency::of(&Counts::from_rows(&documents));
        prop_assume!(classes(&table) >= 2);
        let order = shuffled(&table, 0, seed);
        let (members, others) = order.split_at(inside.min(order.len()));
        let mut fast = Bhattacharyya::cut_with(&table, 0, prior).unwrap();
        fast.set(members);
        let plain = Plain(fast.clone());
        let clock = Clock::start(&Budget::default(), &Silent).unwrap();
        prop_assert_eq!(fast.best_addition(others, &clock), plain.best_addition(others, &clock));
        prop_assert_eq!(fast.worst_member(members, &clock), plain.worst_member(members, &clock));
    }

    #[test]
    fn sequential_searches_take_the_obvious_steps(documents in documents(), seed in 0usize..1000, r in 1usize..9) {
        let counts = Counts::from_rows(&documents);
        let table = Contingency::of(&counts);
        prop_assume!(classes(&table) >= 2);
        let order = shuffled(&table, 0, seed);
        let value = |s: &[u32]| spec_value(&counts, &order, s);
        let obvious = Obvious { order: &order, value: &value };
        let r = r.min(order.len());
        let mut criterion = Bhattacharyya::cut(&table, 0).unwrap();
        let mut run = |direction, floating| -> Found {
            let search = Sequential { direction, floating, ..Sequential::default() };
            search.search(&mut criterion, &order, r, &Silent).unwrap()
        };
        let mut forward = Vec::new();
        (0..r).for_each(|_| forward = obvious.with_best(&forward));
        prop_assert_eq!(&run(Direction::Forward, false).terms, &forward);
        let mut backward = order.clone();
        (r..order.len()).for_each(|_| backward = obvious.without_worst(&backward));
        prop_assert_eq!(&run(Direction::Backward, false).terms, &backward);
        prop_assert_eq!(&run(Direction::Forward, true).terms, &obvious.float(r, true));
        prop_assert_eq!(&run(Direction::Backward, true).terms, &obvious.float(r, false));
    }
}

/// Hundreds of candidates, so that bounds exclude most: the whole search is the same as without them.
#[test]
fn whole_searches_are_the_same_without_bounds() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let documents: Documents = (0..200)
        .map(|_| {
            let class = (rng.random::<f64>().powi(2) * 9.0) as usize;
            let words = (0..rng.random_range(4..40)).map(|_| {
                let word = (rng.random::<f64>().powi(3) * 400.0) as usize;
                format!("w{}", if word.is_multiple_of(2) { word } else { word / 9 * 9 + class })
            });
            let labels = [Some(class), (class.is_multiple_of(4)).then_some(class / 2)];
            (words.collect(), labels.iter().flatten().map(|l| format!("c{l}")).collect())
        })
        .collect();
    let table = Contingency::of(&Counts::from_rows(&documents));
    assert!(table.terms() > 200);
    let order = shuffled(&table, 1, 77);
    let mut fast = Bhattacharyya::cut(&table, 1).unwrap();
    let mut plain = Plain(fast.clone());
    for (size, depth) in [(3, 1), (10, 3), (40, 1), (100, 2)] {
        let search = Oscillating { depth, ..Oscillating::default() };
        let [with, without]: [&mut dyn Criterion; 2] = [&mut fast, &mut plain];
        let [with, without] = [with, without].map(|c| search.search(c, &order, size, &Silent).unwrap());
        assert_eq!(with.terms, without.terms);
        assert_eq!(with.history, without.history);
        assert_eq!((with.steps, with.evaluations), (without.steps, without.evaluations));
        assert!(with.history.len() > 3);
    }
}
