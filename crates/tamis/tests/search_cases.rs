//! Subset search on chosen cases: ends of the ranges, budgets, interruption, ties, threads.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicU64, Ordering};

use tamis::counts::{Contingency, Counts};
use tamis::features::Selector;
use tamis::features::search::{
    Bhattacharyya, Budget, Choice, Clock, Criterion, Direction, Ended, Found, Oscillating, Sequential, Strategy,
};
use tamis::{Error, Progress, Silent};

/// Three classes, words that tell them apart, and words that do not.
fn corpus() -> Counts {
    let mut documents = Vec::new();
    for i in 0..60usize {
        let class = i % 3;
        let mut words = vec![format!("noise{}", i % 7), format!("noise{}", (i * 5 + 1) % 11)];
        words.push(["wheat", "gold", "oil"][if i % 13 == 0 { (class + 1) % 3 } else { class }].to_owned());
        if i % 2 == 0 {
            words.push(["grain", "ore", "barrel"][class].to_owned());
        }
        documents.push((words, vec![["crops", "metal", "energy"][class].to_owned()]));
    }
    Counts::from_rows(&documents)
}

/// Noise first.
fn bad_order(counts: &Counts) -> Vec<u32> {
    let mut order: Vec<u32> = (0..counts.vocabulary.len() as u32).collect();
    order.sort_by_key(|&t| !counts.vocabulary.name(t).starts_with("noise"));
    order
}

/// Any function of a subset, its terms ascending.
struct OfSubset<F> {
    terms: usize,
    members: Vec<u32>,
    evaluate: F,
}

impl<F: Fn(&[u32]) -> f64 + Sync> OfSubset<F> {
    fn new(terms: usize, evaluate: F) -> Self {
        Self { terms, members: Vec::new(), evaluate }
    }
}

impl<F: Fn(&[u32]) -> f64 + Sync> Criterion for OfSubset<F> {
    fn accepts(&self, term: u32) -> bool {
        (term as usize) < self.terms
    }

    fn clear(&mut self) {
        self.members.clear();
    }

    fn add(&mut self, term: u32) {
        self.members.push(term);
        self.members.sort_unstable();
    }

    fn remove(&mut self, term: u32) {
        self.members.retain(|&t| t != term);
    }

    fn value(&self) -> f64 {
        (self.evaluate)(&self.members)
    }

    fn value_with(&self, term: u32) -> f64 {
        let mut members = self.members.clone();
        members.push(term);
        members.sort_unstable();
        (self.evaluate)(&members)
    }

    fn value_without(&self, term: u32) -> f64 {
        (self.evaluate)(&self.members.iter().copied().filter(|&t| t != term).collect::<Vec<_>>())
    }
}

fn filter(counts: &Counts) -> Bhattacharyya {
    Bhattacharyya::cut(&Contingency::of(counts), 0).unwrap()
}

fn names<'a>(counts: &'a Counts, found: &Found) -> Vec<&'a str> {
    found.terms.iter().map(|&t| counts.vocabulary.name(t)).collect()
}

/// Asks to stop at the n-th look.
struct StopAt(u64, AtomicU64);

impl Progress for StopAt {
    fn cancelled(&self) -> bool {
        self.1.fetch_add(1, Ordering::Relaxed) >= self.0
    }
}

fn stop_at(look: u64) -> StopAt {
    StopAt(look, AtomicU64::new(0))
}

/// Two classes of one document each, "a a b" and "b b b c". V = 3; p = (3, 2, 1)/6 and (1, 4, 2)/7 (method 5).
/// S = {a, b}: q = (3/5, 2/5) and (1/5, 4/5), Σ √(q q') = √3/5 + √8/5; P = ½ each; L = (2 + 4)/2 = 3.
#[test]
fn a_value_worked_by_hand() {
    let counts = Counts::from_rows(&[(vec!["a", "a", "b"], vec!["X"]), (vec!["b", "b", "b", "c"], vec!["Y"])]);
    let mut criterion = filter(&counts);
    criterion.set(&[0, 1]);
    let expected = 3.0 * 0.25 * -((3f64.sqrt() + 8f64.sqrt()) / 5.0).ln();
    assert!((criterion.value() - expected).abs() < 1e-15, "{} {expected}", criterion.value());
}

#[test]
fn words_that_tell_classes_apart_are_found() {
    let counts = corpus();
    let order = bad_order(&counts);
    let mut criterion = filter(&counts);
    let sequential = |direction, floating| Sequential { direction, floating, ..Sequential::default() };
    for found in [
        Oscillating::default().search(&mut criterion, &order, 6, &Silent).unwrap(),
        sequential(Direction::Backward, false).search(&mut criterion, &order, 6, &Silent).unwrap(),
        sequential(Direction::Backward, true).search(&mut criterion, &order, 6, &Silent).unwrap(),
    ] {
        assert_eq!(names(&counts, &found), ["barrel", "gold", "grain", "oil", "ore", "wheat"]);
        assert_eq!(found.value, found.history[found.history.len() - 1]);
    }
    // One word has no distance between classes, so a forward search begins with the first of the order, and without
    // floating never gives it up again.
    let [straight, floating] = [false, true]
        .map(|floating| sequential(Direction::Forward, floating).search(&mut criterion, &order, 6, &Silent).unwrap());
    assert_eq!(names(&counts, &straight), ["noise0", "gold", "grain", "oil", "ore", "wheat"]);
    assert_eq!(names(&counts, &floating), ["barrel", "gold", "grain", "oil", "ore", "wheat"]);
}

#[test]
fn a_budget_of_nothing_returns_the_start() {
    let counts = corpus();
    let order = bad_order(&counts);
    let mut criterion = filter(&counts);
    for (budget, ended) in [
        (Budget { steps: Some(0), seconds: None }, Ended::Steps),
        (Budget { steps: None, seconds: Some(0.0) }, Ended::Seconds),
    ] {
        let search = Oscillating { budget, ..Oscillating::default() };
        let found = search.search(&mut criterion, &order, 5, &Silent).unwrap();
        assert_eq!((&found.terms[..], found.ended, found.steps), (&order[..5], ended, 0));
        assert_eq!(found.history, [found.value]);
        for direction in [Direction::Forward, Direction::Backward] {
            let search = Sequential { direction, floating: true, budget };
            let found = search.search(&mut criterion, &order, 5, &Silent).unwrap();
            assert_eq!((&found.terms[..], found.ended), (&order[..5], ended), "{direction:?}");
        }
    }
}

#[test]
fn a_budget_of_swings_is_a_beginning_of_the_whole() {
    let counts = corpus();
    let order = bad_order(&counts);
    let mut criterion = filter(&counts);
    let whole = Oscillating::default().search(&mut criterion, &order, 6, &Silent).unwrap();
    assert!(whole.steps > 5);
    for steps in 0..whole.steps {
        let budget = Budget { steps: Some(steps), seconds: None };
        let search = Oscillating { budget, ..Oscillating::default() };
        let found = search.search(&mut criterion, &order, 6, &Silent).unwrap();
        assert_eq!((found.steps, found.ended), (steps, Ended::Steps));
        assert_eq!(found.history[..], whole.history[..found.history.len()]);
    }
}

#[test]
fn cancelled_anywhere_it_returns_a_whole_subset_at_least_as_good_as_the_start() {
    let counts = corpus();
    let order = bad_order(&counts);
    let mut criterion = filter(&counts);
    let search = Oscillating { depth: 3, ..Oscillating::default() };
    let end = search.search(&mut criterion, &order, 6, &Silent).unwrap();
    let (mut last, mut interrupted) = (end.history[0], 0);
    for look in 0.. {
        let found = search.search(&mut criterion, &order, 6, &stop_at(look)).unwrap();
        // The state is that of the subset handed back, also after a swing was broken off.
        assert_eq!(found.terms.len(), 6);
        assert_eq!(found.value, criterion.value());
        criterion.set(&found.terms);
        assert!((criterion.value() - found.value).abs() < 1e-14);
        assert!(found.value >= last);
        last = found.value;
        if found.ended == Ended::Converged {
            assert_eq!(found.terms, end.terms);
            break;
        }
        assert_eq!(found.ended, Ended::Cancelled);
        interrupted += 1;
    }
    assert!(interrupted > 10, "{interrupted}");
}

#[test]
fn a_sequential_search_broken_off_is_completed_by_the_order() {
    let counts = corpus();
    let order = bad_order(&counts);
    let mut criterion = filter(&counts);
    let steps = Budget { steps: Some(3), seconds: None };
    let forward = Sequential { budget: steps, ..Sequential::default() };
    let found = forward.search(&mut criterion, &order, 6, &Silent).unwrap();
    let begun = Sequential::default().search(&mut criterion, &order, 3, &Silent).unwrap().terms;
    let rest: Vec<u32> = order.iter().copied().filter(|t| !begun.contains(t)).take(3).collect();
    let expected: Vec<u32> = order.iter().copied().filter(|t| begun.contains(t) || rest.contains(t)).collect();
    assert_eq!((&found.terms, found.ended), (&expected, Ended::Steps));

    let backward = Sequential { direction: Direction::Backward, budget: steps, ..Sequential::default() };
    let found = backward.search(&mut criterion, &order, 6, &Silent).unwrap();
    let unlimited = Sequential { direction: Direction::Backward, ..Sequential::default() };
    let begun = unlimited.search(&mut criterion, &order, order.len() - 3, &Silent).unwrap().terms;
    assert_eq!((&found.terms[..], found.ended), (&begun[..6], Ended::Steps));

    let found = forward.search(&mut criterion, &order, 6, &stop_at(2)).unwrap();
    assert_eq!((found.terms.len(), found.ended), (6, Ended::Cancelled));
    assert_eq!(found.value, criterion.value());
}

#[test]
fn more_terms_asked_for_than_there_are_takes_all() {
    let counts = corpus();
    let order = bad_order(&counts);
    let mut criterion = filter(&counts);
    for size in [order.len(), order.len() + 1, usize::MAX] {
        let found = Oscillating::default().search(&mut criterion, &order, size, &Silent).unwrap();
        assert_eq!((&found.terms, found.asked, found.ended), (&order, size, Ended::Converged));
        for direction in [Direction::Forward, Direction::Backward] {
            let search = Sequential { direction, ..Sequential::default() };
            let found = search.search(&mut criterion, &order, size, &Silent).unwrap();
            assert_eq!((&found.terms, found.asked, found.ended), (&order, size, Ended::Converged));
        }
    }
    let none = Oscillating::default().search(&mut criterion, &[], 3, &Silent).unwrap();
    assert_eq!((none.terms.len(), none.value, none.ended), (0, 0.0, Ended::Converged));
}

#[test]
fn threads_do_not_matter() {
    let counts = corpus();
    let order = bad_order(&counts);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            Strategy::ALL.map(|strategy| {
                let found = strategy.search(&mut filter(&counts), &order, 5, Budget::default(), &Silent).unwrap();
                (found.terms, found.history, found.steps, found.evaluations)
            })
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(5));
}

/// A search knows its criterion only by its answers: one that starts from scratch every time gives the same way.
#[test]
fn running_sums_do_not_show() {
    let counts = corpus();
    let order = bad_order(&counts);
    let mut sums = filter(&counts);
    let mut scratch = OfSubset::new(counts.vocabulary.len(), |subset: &[u32]| {
        let mut fresh = filter(&counts);
        fresh.set(subset);
        fresh.value()
    });
    for strategy in Strategy::ALL {
        let criteria: [&mut dyn Criterion; 2] = [&mut sums, &mut scratch];
        let [first, second] = criteria.map(|c| strategy.search(c, &order, 4, Budget::default(), &Silent).unwrap());
        assert_eq!(first.terms, second.terms, "{strategy:?}");
        assert_eq!((first.steps, first.evaluations), (second.steps, second.evaluations), "{strategy:?}");
    }
}

/// What an expression finds is what the search finds from the ranking of its start selector, listed in that order; its cut
/// is the vocabulary of the criterion, and a budget applies.
#[test]
fn expressions_run_the_search_they_name() {
    let counts = corpus();
    let table = Contingency::of(&counts);
    let start: Selector = "chi2max@2".parse().unwrap();
    let order = start.rank(&table).unwrap();
    for strategy in Strategy::ALL {
        let selector: Selector = format!("{}(chi2max)@2", strategy.spec().name).parse().unwrap();
        for budget in [Budget::default(), Budget { seconds: None, steps: Some(1) }] {
            let (ranking, found) = selector.subset(&table, 4, &budget, &Silent).unwrap();
            let mut criterion = Bhattacharyya::cut(&table, 2).unwrap();
            let direct = strategy.search(&mut criterion, order.terms(), 4, budget, &Silent).unwrap();
            let found = found.unwrap();
            assert_eq!((ranking.terms(), &found.terms), (&direct.terms[..], &direct.terms), "{selector}");
            assert_eq!((found.value, found.ended), (direct.value, direct.ended), "{selector}");
            assert_eq!(found.ended == Ended::Steps, budget.steps.is_some(), "{selector}");
        }
    }
    let error = "sfs(ib)".parse::<Selector>().unwrap().subset(&table, 0, &Budget::default(), &Silent).unwrap_err();
    assert!(error.to_string().contains("at least one term"), "{error}");
}

#[test]
fn deep_swings_find_what_shallow_ones_cannot() {
    // 4 and 5 are worth a lot, but only together; from {0, 1} no single exchange gains.
    let value = |s: &[u32]| -> f64 {
        let pair = s.contains(&4) && s.contains(&5);
        s.iter().map(|t| if *t < 2 { 1.0 } else { 0.5 }).sum::<f64>() + if pair { 10.0 } else { 0.0 }
    };
    let order = [0, 1, 4, 5, 2, 3];
    let run = |depth| {
        let search = Oscillating { depth, ..Oscillating::default() };
        search.search(&mut OfSubset::new(6, value), &order, 2, &Silent).unwrap()
    };
    assert_eq!(run(1).terms, [0, 1]);
    assert_eq!((run(2).terms, run(2).value), (vec![4, 5], 11.0));
    // Swings deeper than the subset end the search instead of breaking it.
    assert_eq!((run(50).terms, run(50).ended), (vec![4, 5], Ended::Converged));
}

#[test]
fn equal_candidates_go_by_the_start_order() {
    let mut flat = OfSubset::new(5, |s: &[u32]| s.len() as f64);
    let clock = Clock::start(&Budget::default(), &Silent).unwrap();
    flat.set(&[1, 2, 3]);
    assert_eq!(flat.best_addition(&[4, 0], &clock), Some(Choice { term: 4, value: 4.0 }));
    assert_eq!(flat.worst_member(&[3, 1, 2], &clock), Some(Choice { term: 2, value: 2.0 }));
    assert_eq!(flat.best_addition(&[], &clock), None);
    // Two words that always come together are equal to the last bit.
    let counts = Counts::from_rows(&[(vec!["a", "b", "x"], vec!["X"]), (vec!["c", "x"], vec!["Y"])]);
    let mut criterion = filter(&counts);
    criterion.set(&[3]);
    for order in [[0, 1, 2], [1, 0, 2]] {
        let first = criterion.best_addition(&order[..2], &clock).unwrap();
        assert_eq!((first.term, first.value), (order[0], criterion.value_with(order[1])));
    }
}

#[test]
fn one_class_is_explained() {
    let counts = Counts::from_rows(&[(vec!["a"], vec!["X"]), (vec!["b"], vec!["X"]), (vec!["c"], vec![])]);
    let error = Bhattacharyya::cut(&Contingency::of(&counts), 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the Bhattacharyya distance is one between classes, and only one label, \"X\", has training documents; \
         search by it needs at least two labels"
    );
    let unlabelled = Counts::from_rows::<&str, &str>(&[(vec!["a"], vec![])]);
    let error = Bhattacharyya::cut(&Contingency::of(&unlabelled), 0).unwrap_err();
    assert!(error.to_string().contains("no label has training documents"));
}

#[test]
fn labels_without_training_documents_take_no_part() {
    let counts = corpus();
    let rows: Vec<usize> = (0..60).filter(|i| i % 3 != 2).collect();
    let part = Contingency::of_rows(&counts, &rows);
    let used: Vec<u32> = (0..part.terms() as u32).filter(|&t| part.df()[t as usize] > 0).collect();
    let mut among_three = Bhattacharyya::cut(&part, 0).unwrap();
    assert_eq!((among_three.classes(), among_three.terms()), (2, used.len()));

    // The same documents as a corpus of their own.
    let documents: Vec<(Vec<&str>, Vec<&str>)> = rows
        .iter()
        .map(|&r| {
            let words = counts.matrix.row(r).flat_map(|(t, n)| vec![counts.vocabulary.name(t); n as usize]);
            let labels = counts.assignments.row_indices(r).iter().map(|&l| counts.labels.name(l));
            (words.collect(), labels.collect())
        })
        .collect();
    let alone = Counts::from_rows(&documents);
    let mut among_two = filter(&alone);
    for &term in &used {
        among_three.add(term);
        among_two.add(alone.vocabulary.id(counts.vocabulary.name(term)).unwrap());
        assert_eq!(among_three.value(), among_two.value());
    }
    assert!(among_two.value() > 0.0);
}

#[test]
fn options_out_of_range_are_named() {
    let counts = corpus();
    let mut criterion = Bhattacharyya::cut(&Contingency::of(&counts), 1).unwrap();
    let order: Vec<u32> = (0..counts.vocabulary.len() as u32).filter(|&t| criterion.accepts(t)).collect();
    let mut run = |search: Oscillating, order: &[u32], size| {
        search.search(&mut criterion, order, size, &Silent).unwrap_err().to_string()
    };
    assert!(run(Oscillating { depth: 0, ..Oscillating::default() }, &order, 2).starts_with("depth = 0"));
    for seconds in [-1.0, f64::NAN] {
        let budget = Budget { seconds: Some(seconds), steps: None };
        assert!(run(Oscillating { budget, ..Oscillating::default() }, &order, 2).starts_with("seconds = "));
    }
    assert!(run(Oscillating::default(), &order, 0).starts_with("size = 0"));
    assert!(run(Oscillating::default(), &[order[0], order[0]], 1).contains("twice"));
    assert!(run(Oscillating::default(), &[order[0], 9999], 1).contains("9999"));
    let far = Budget { seconds: Some(f64::INFINITY), steps: None };
    assert!(Oscillating { budget: far, ..Oscillating::default() }.search(&mut criterion, &order, 2, &Silent).is_ok());
    let table = Contingency::of(&counts);
    assert!(matches!(Bhattacharyya::new(&table, &[0, 0]), Err(Error::Data { .. })));
    assert!(matches!(Bhattacharyya::new(&table, &[9999]), Err(Error::Data { .. })));
}
