//! Threshold selection against the pseudo-code of addis 3.2 and against full enumeration.
#![allow(clippy::unwrap_used)]

mod literal;

use literal::{Shape, generate};
use proptest::prelude::*;
use tamis::hierarchy::pipeline::{Imbalance, Method, Options, ScoreTable, Selection, Utility, select, select_all};

const UTILITIES: [Utility; 5] = [Utility::F1, Utility::F(0.5), Utility::F(2.0), Utility::Precision, Utility::Recall];

fn run(table: &ScoreTable, method: Method, options: &Options) -> Selection {
    let selection = select(table, method, options).unwrap();
    assert_eq!(selection.utility, literal::utility_of(table, options.utility, &selection.thresholds));
    assert_eq!(selection.thresholds.len(), table.depth());
    assert!(selection.thresholds.iter().all(|t| (0.0..=1.0).contains(t)));
    selection
}

/// Scores with many ties, on and between the places of usual grids.
fn score() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => (0u32..=20).prop_map(|i| f64::from(i) / 20.0),
        2 => (0u32..=10).prop_map(|i| f64::from(i) * 0.1),
        2 => 0.0..=1.0f64,
        1 => Just(0.0),
        1 => Just(1.0),
    ]
}

fn table(depth: std::ops::RangeInclusive<usize>, documents: usize) -> impl Strategy<Value = ScoreTable> {
    depth.prop_flat_map(move |depth| {
        let row = (prop::collection::vec(score(), depth), any::<bool>());
        (prop::collection::vec(row, 1..=documents), prop_oneof![Just(1.0), Just(0.25), Just(7.3)]).prop_filter_map(
            "needs a positive",
            |(rows, weight)| {
                let table = ScoreTable::from_rows(&rows).unwrap().with_negative_weight(weight).unwrap();
                (table.positives() > 0).then_some(table)
            },
        )
    })
}

fn utility() -> impl Strategy<Value = Utility> {
    prop::sample::select(UTILITIES.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn tsa_is_the_pseudo_code(
        table in table(1..=4, 30), utility in utility(),
        step in prop::sample::select(vec![1.0, 0.7, 0.3, 0.1, 0.05, 0.01, 1.0 / 3.0]),
        keep in prop::sample::select(vec![0.8, 0.0, 1.0, 0.5]),
    ) {
        let found = run(&table, Method::Tsa, &Options { utility, step: Some(step), keep, ..Options::default() });
        let (thresholds, value, evaluations) = literal::tsa(&table, utility, step, keep);
        prop_assert_eq!((found.thresholds, found.utility, found.evaluations), (thresholds, value, evaluations));
        prop_assert_eq!(found.steps.iter().map(|s| s.level).collect::<Vec<_>>(), (1..=table.depth()).rev().collect::<Vec<_>>());
    }

    #[test]
    fn rbf_is_the_first_best_of_all_combinations(
        table in table(1..=4, 30), utility in utility(),
        step in prop::sample::select(vec![1.0, 0.7, 0.3, 0.25, 0.1]),
    ) {
        prop_assume!(step > 0.1 || table.depth() < 4);
        let found = run(&table, Method::Rbf, &Options { utility, step: Some(step), ..Options::default() });
        let expected = literal::rbf(&table, utility, step);
        prop_assert_eq!((found.thresholds, found.utility, found.evaluations), expected);
    }

    #[test]
    fn exact_is_the_best_of_all_thresholds(table in table(1..=4, 9), utility in utility()) {
        let found = run(&table, Method::Exact, &Options { utility, seconds: None, ..Options::default() });
        prop_assert!(found.proven);
        prop_assert_eq!(found.bound, Some(found.utility));
        prop_assert_eq!(found.utility, literal::best_of_all(&table, utility));
    }

    #[test]
    fn exact_is_never_below_the_others(table in table(1..=5, 60), utility in utility()) {
        let options = Options { utility, seconds: None, ..Options::default() };
        let exact = run(&table, Method::Exact, &options);
        prop_assert!(exact.proven);
        for method in [Method::Tsa, Method::Rbf, Method::GreedyExact] {
            let other = run(&table, method, &Options { step: Some(if method == Method::Rbf { 0.2 } else { 0.01 }), ..options.clone() });
            prop_assert!(other.utility <= exact.utility, "{} {} > {}", method, other.utility, exact.utility);
        }
        // Without time to search it is honest about what it does not know.
        for boxes in [1, 4, 20] {
            let hurried = run(&table, Method::Exact, &Options { boxes: Some(boxes), ..options.clone() });
            prop_assert!(hurried.utility <= exact.utility && hurried.bound.unwrap() >= exact.utility);
            prop_assert_eq!(hurried.proven, hurried.bound == Some(hurried.utility));
            prop_assert!(!hurried.proven || hurried.utility == exact.utility);
        }
    }

    #[test]
    fn exact_is_the_best_when_boxes_must_be_split(
        table in prop_oneof![table(3..=3, 30), table(4..=4, 14)], utility in utility(),
    ) {
        let found = run(&table, Method::Exact, &Options { utility, seconds: None, ..Options::default() });
        prop_assert!(found.proven);
        prop_assert_eq!(found.utility, literal::best_of_all(&table, utility));
    }

    /// A pass of greedy-exact ends no lower than any single threshold, and more passes never lose.
    #[test]
    fn greedy_exact_climbs(table in table(1..=4, 40), utility in utility()) {
        let options = Options { utility, ..Options::default() };
        let once = run(&table, Method::GreedyExact, &options);
        let stable = run(&table, Method::GreedyExact, &Options { until_stable: true, ..options });
        prop_assert!(once.utility <= stable.utility);
        for level in 0..table.depth() {
            for &candidate in table.level(level) {
                let mut alone = vec![0.0; table.depth()];
                alone[level] = candidate;
                if level + 1 == table.depth() {
                    prop_assert!(table.utility(utility, &alone) <= once.utility);
                }
                let mut moved = stable.thresholds.clone();
                moved[level] = candidate;
                prop_assert!(table.utility(utility, &moved) <= stable.utility, "one move is better");
            }
        }
    }

    #[test]
    fn acceptance_is_nested(table in table(1..=4, 20), thresholds in prop::collection::vec(score(), 4)) {
        let thresholds = &thresholds[..table.depth()];
        let accepted = table.accepted(thresholds);
        for (document, accepted) in accepted.into_iter().enumerate() {
            let reached = table.reached(document, thresholds);
            for level in 0..table.depth() {
                // Accepted by the pipeline that ends at this level, with the same thresholds.
                let here = (0..=level).all(|k| table.level(k)[document] >= thresholds[k]);
                prop_assert_eq!(here, reached > level);
            }
            prop_assert_eq!(accepted, reached == table.depth());
        }
        for (threshold, value) in table.curve(Utility::F1, thresholds, 0, 0.1).unwrap() {
            let mut moved = thresholds.to_vec();
            moved[0] = threshold;
            prop_assert_eq!(value, table.utility(Utility::F1, &moved));
        }
        let outcome = table.outcome(thresholds);
        prop_assert_eq!(outcome.true_positives + outcome.false_negatives, table.positives() as u64);
    }
}

/// Larger tables than enumeration can check: exact stays above everything and proves it.
#[test]
fn exact_on_tables_of_a_real_size() {
    for (seed, votes) in [(1, 20), (2, 0), (3, 5)] {
        for depth in 1..=4 {
            let shape = Shape { depth, positives: 120, negatives: 200, separation: 1.5, votes };
            let table = generate(shape, seed);
            let options = Options { seconds: None, ..Options::default() };
            let exact = run(&table, Method::Exact, &options);
            assert!(exact.proven);
            for method in [Method::Tsa, Method::Rbf, Method::GreedyExact] {
                assert!(run(&table, method, &options).utility <= exact.utility);
            }
        }
    }
}

/// One level: the threshold of the textbook, by hand. Scores 0.9+ 0.8− 0.7+ 0.6+ 0.2−: at 0.6, tp 3, fp 1, F1 6/7.
#[test]
fn one_level_by_hand() {
    let rows = [(0.9, true), (0.8, false), (0.7, true), (0.6, true), (0.2, false)].map(|(s, t)| (vec![s], t));
    let table = ScoreTable::from_rows(&rows).unwrap();
    for method in Method::ALL {
        let found = run(&table, method, &Options::default());
        assert_eq!(found.utility, 6.0 / 7.0, "{method}");
        let threshold = found.thresholds[0];
        assert!(threshold > 0.2 && threshold <= 0.6, "{method}: {threshold}");
    }
    assert_eq!(run(&table, Method::Exact, &Options::default()).thresholds, [0.6]);
    // Equal utility moves the best forward: the highest grid threshold that still accepts 0.6 by i·δ.
    assert_eq!(run(&table, Method::Tsa, &Options { step: Some(0.25), ..Options::default() }).thresholds, [0.5]);
    // First in lexicographic order: the lowest grid threshold with the best utility.
    assert_eq!(run(&table, Method::Rbf, &Options { step: Some(0.25), ..Options::default() }).thresholds, [0.25]);
}

#[test]
fn nonsense_is_refused_with_a_reason() {
    let table = ScoreTable::from_rows(&[(vec![0.5], true), (vec![0.4], false)]).unwrap();
    let message = |options: Options| select(&table, Method::Tsa, &options).unwrap_err().to_string();
    for step in [0.0, -0.5, 1.5, f64::NAN] {
        let text = message(Options { step: Some(step), ..Options::default() });
        assert!(text.starts_with("the option `step=") && text.contains("above 0 and at most 1"), "{text}");
    }
    assert!(message(Options { keep: 1.5, ..Options::default() }).contains("share kept = 1.5: must lie in [0,1]"));
    assert!(message(Options { utility: Utility::F(-1.0), ..Options::default() }).contains("positive number"));
    assert!(message(Options { seconds: Some(-1.0), ..Options::default() }).contains("seconds = -1"));
    let too_fine = select(
        &generate(Shape { depth: 6, positives: 300, negatives: 300, separation: 1.0, votes: 0 }, 1),
        Method::Rbf,
        &Options { step: Some(0.001), ..Options::default() },
    );
    assert!(too_fine.unwrap_err().to_string().contains("take a larger step, or tsa or exact"));
    let no_positives = ScoreTable::from_rows(&[(vec![0.5], false), (vec![0.4], false)]).unwrap();
    let nothing = ScoreTable::new(vec!["a".into()], vec![], vec![]).unwrap();
    for method in Method::ALL {
        let text = select(&no_positives, method, &Options::default()).unwrap_err().to_string();
        assert!(text.starts_with("none of the 2 documents is positive"), "{text}");
        assert!(select(&nothing, method, &Options::default()).unwrap_err().to_string().contains("no documents"));
    }
    let all = select_all(&[table, no_positives], Method::Exact, &Options::default(), &tamis::Silent);
    assert!(all[0].is_ok() && all[1].is_err());
}

#[test]
fn tables_are_checked() {
    let new = |levels: usize, csv: &[f64], documents: usize| {
        let names = (0..levels).map(|k| format!("n{k}")).collect();
        ScoreTable::new(names, csv.to_vec(), vec![true; documents]).unwrap_err().to_string()
    };
    assert!(new(0, &[], 1).contains("at least one level"));
    assert!(new(1, &[0.5], 2).contains("need 2 scores, found 1"));
    assert_eq!(new(2, &[0.5, 0.5, 0.5, 1.5], 2), "document 2 at level \"n1\": the score 1.5 is not in [0,1]");
    assert!(new(1, &[f64::NAN], 1).contains("the score NaN is not in [0,1]"));
    assert!(new(1, &[-0.1], 1).contains("-0.1"));
    let ragged = ScoreTable::from_rows(&[(vec![0.5], true), (vec![], false)]).unwrap_err();
    assert_eq!(ragged.to_string(), "document 2 has 0 scores, document 1 has 1");
}

#[test]
fn tables_are_read_from_text() {
    let read = |text: &str| ScoreTable::read(text.as_bytes(), "scores.tsv");
    let expected =
        ScoreTable::new(vec!["C15".into(), "C151".into()], vec![0.5, 1.0, 0.25, 0.0], vec![true, false]).unwrap();
    for text in [
        "truth\tC15\tC151\n1\t0.5\t0.25\n0\t1\t0\n",
        "C15,C151,truth\n.5,2.5e-1,1\n1.0,0,0",
        "id,C15,Truth,C151\r\nd1,0.5,1,0.25\r\nd2,1,0,0\r\n",
        "\u{feff}truth,\"C15\",C151\n\n1, 0.5, 0.25\n0,1,0\n",
    ] {
        assert_eq!(read(text).unwrap(), expected, "{text}");
    }
    let mut tsv = Vec::new();
    expected.write_tsv(&mut tsv).unwrap();
    assert_eq!(ScoreTable::read(&tsv[..], "-").unwrap(), expected);
    let message = |text: &str| read(text).unwrap_err().to_string();
    assert_eq!(
        message("truth\ta\n1\t0.5\n2\t0.5\n"),
        "scores.tsv:3: column 1 (truth): truth must be 0 or 1, found \"2\""
    );
    assert_eq!(message("a,truth\n0.5,1\n1.5,0\n"), "scores.tsv:3: column 1 (a): the score 1.5 is not in [0,1]");
    assert_eq!(message("truth,a\n1,NaN\n"), "scores.tsv:2: column 2 (a): the score NaN is not in [0,1]");
    assert_eq!(message("truth,a\n1,x\n"), "scores.tsv:2: column 2 (a): expected a score in [0,1], found \"x\"");
    assert_eq!(message("truth,a\n1,0.5,0.5\n"), "scores.tsv:2: 3 fields, but the header has 2");
    assert!(message("a,b\n1,0.5\n").starts_with("scores.tsv:1: no column is called \"truth\"; the header names a, b"));
    assert!(message("truth\n1\n").contains("at least one level"));
    assert!(message("").contains("no header"));
    assert!(message("truth,a,a\n1,0,0\n").contains("column 3 repeats the name \"a\""));
    assert!(message("truth,a,truth\n1,0,0\n").contains("column 3 is a second \"truth\""));
    let latin1 = ScoreTable::read(&b"truth,a\n1,\xe9\n"[..], "scores.csv").unwrap_err().to_string();
    assert_eq!(latin1, "scores.csv:2: column 2: not UTF-8");
}

#[test]
fn imbalance_by_weight_and_by_sample() {
    for (text, negatives, printed) in [
        ("2^-4", 16.0, "2^-4"),
        ("1:16", 16.0, "2^-4"),
        ("0.0625", 16.0, "2^-4"),
        ("1:3", 3.0, "1:3"),
        ("2^0", 1.0, "2^0"),
        ("prior(0.25)", 3.0, "1:3"),
        ("2^1", 0.5, "2^1"),
    ] {
        let imbalance: Imbalance = text.parse().unwrap();
        assert_eq!((imbalance.negatives(), imbalance.to_string().as_str()), (negatives, printed));
        assert_eq!(printed.parse::<Imbalance>().unwrap(), imbalance);
    }
    for bad in ["", "2^x", "2^-99", "0", "-1", "prior(0)", "prior(1)", "1:0", "nan", "1:2:3"] {
        assert!(
            bad.parse::<Imbalance>().unwrap_err().to_string().starts_with(&format!("the option `imbalance={bad}`")),
            "{bad}"
        );
    }
    let table = generate(Shape { depth: 3, positives: 200, negatives: 1000, separation: 1.5, votes: 20 }, 4);
    let eighth = Imbalance::power(3);
    let kinds = |t: &ScoreTable| (t.positives(), t.documents() - t.positives());
    assert_eq!(kinds(&table.sampled_to(eighth, 1).unwrap()), (125, 1000));
    assert_eq!(kinds(&table.sampled_to(Imbalance::power(1), 1).unwrap()), (200, 400));
    assert_eq!(table.sampled_to(eighth, 1).unwrap(), table.sampled_to(eighth, 1).unwrap());
    assert_ne!(table.sampled_to(eighth, 1).unwrap(), table.sampled_to(eighth, 2).unwrap());
    assert!(table.sampled_to(Imbalance::power(12), 1).unwrap_err().to_string().contains("2^-12"));
    // Each negative stands for 200·8/1000 documents.
    let weighted = table.weighted_to(eighth).unwrap();
    assert_eq!(kinds(&weighted), (200, 1000));
    assert!((weighted.negative_weight() - 1.6).abs() < 1e-12);
    let o = weighted.outcome(&[0.5; 3]);
    let (tp, fp, missed) = (o.true_positives as f64, o.false_positives as f64, o.false_negatives as f64);
    assert!((weighted.utility(Utility::F1, &[0.5; 3]) - 2.0 * tp / (2.0 * tp + 1.6 * fp + missed)).abs() < 1e-12);
    // Held: real negatives up to the ratio, and weights only for what is missing then.
    let half = table.held_to(Imbalance::power(1), 1).unwrap();
    assert_eq!((kinds(&half), half.negative_weight()), ((200, 400), 1.0));
    let held = table.held_to(eighth, 1).unwrap();
    assert_eq!((&held, kinds(&held)), (&weighted, (200, 1000)));
    // What is drawn for a ratio is among what is drawn for a larger one, and follows the seed.
    let drawn = |t: &ScoreTable| -> Vec<Vec<u64>> {
        let of = |d: usize| (0..3).map(|k| t.level(k)[d].to_bits()).collect();
        (0..t.documents()).filter(|&d| !t.truth()[d]).map(of).collect()
    };
    let twice = drawn(&table.held_to(Imbalance::power(2), 1).unwrap());
    assert!(drawn(&half).iter().all(|d| twice.contains(d)) && twice.len() == 800);
    assert_eq!(half, table.held_to(Imbalance::power(1), 1).unwrap());
    assert_ne!(half, table.held_to(Imbalance::power(1), 2).unwrap());
    // One negative for a thousand positives: there is one, and it counts as the fifth that is asked for.
    let one = table.held_to("1000:1".parse().unwrap(), 1).unwrap();
    assert_eq!((kinds(&one), one.negative_weight()), ((200, 1), 0.2));
    // Rarer positives: the best reachable F1 falls (addis, table 2).
    let f1 = |exponent| {
        let table = table.weighted_to(Imbalance::power(exponent)).unwrap();
        run(&table, Method::Exact, &Options { seconds: None, ..Options::default() }).utility
    };
    let falling: Vec<f64> = (1..=7).map(f1).collect();
    assert!(falling.windows(2).all(|w| w[0] > w[1]), "{falling:?}");
    let only_positives = ScoreTable::from_rows(&[(vec![0.5], true)]).unwrap();
    assert!(only_positives.weighted_to(eighth).unwrap_err().to_string().contains("all documents are positive"));
    assert!(only_positives.held_to(eighth, 1).is_err());
}

/// ρ of addis 4, from the pseudo-code by hand: on two documents at 0.65 and 0.45, the first of them positive, raising the threshold of the last level from 0 gives
/// F1 2/3 up to 0.4, 1 up to 0.6 and 0 above, where the repair ends: seven of ten steps.
#[test]
fn shares_of_the_grid() {
    let table = ScoreTable::from_rows(&[(vec![0.65], true), (vec![0.45], false)]).unwrap();
    let options = Options { step: Some(0.1), ..Options::default() };
    let found = run(&table, Method::Tsa, &options);
    assert_eq!(found.visited, [0.7]);
    // Two levels, the upper one useless: the root is repaired once, up to where nothing is accepted; the other comes down from its best and goes
    // no further than where F1 falls below 0.8 of it.
    let table = ScoreTable::from_rows(&[(vec![1.0, 0.6], true), (vec![1.0, 0.4], false)]).unwrap();
    let found = run(&table, Method::Tsa, &options);
    assert_eq!(found.visited.len(), 2);
    assert_eq!(found.visited[0], 1.0, "a useless level is raised to the end");
    assert!(found.visited.iter().all(|share| (0.0..=1.0).contains(share)), "{:?}", found.visited);
    assert!(run(&table, Method::Rbf, &Options::default()).visited.is_empty());
}

/// The same thresholds whatever the number of threads.
#[test]
fn threads_do_not_change_the_result() {
    let tables: Vec<ScoreTable> = (0..3)
        .map(|seed| generate(Shape { depth: 4, positives: 100, negatives: 150, separation: 1.2, votes: 20 }, seed))
        .collect();
    let options = Options { seconds: None, ..Options::default() };
    let with = |threads: usize| {
        let pool = rayon_pool(threads);
        pool.install(|| select_all(&tables, Method::Exact, &options, &tamis::Silent))
            .into_iter()
            .map(|s| s.map(|s| (s.thresholds, s.utility, s.evaluations)).unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(with(1), with(3));
}

fn rayon_pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}
