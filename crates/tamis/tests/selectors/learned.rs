//! λ learned by cross-validation (li 4.3), and stability over resamples.

use std::cell::RefCell;
use std::collections::BTreeSet;

use tamis::counts::{Contingency, Counts};
use tamis::features::{LambdaOptions, learn_lambda, overlap};
use tamis::{Error, Silent};

use super::{rank, selector};

fn corpus() -> Counts {
    // Common words with a small ratio, rare words with a large one.
    let documents: Vec<(Vec<String>, Vec<&str>)> = (0..60)
        .map(|d| {
            let label = if d % 2 == 0 { "X" } else { "Y" };
            let mut terms = vec!["the".to_owned(), format!("{label}rare{}", d % 10)];
            if d % 2 == 0 || d % 3 == 0 {
                terms.push("common".to_owned());
            }
            (terms, vec![label])
        })
        .collect();
    Counts::from_rows(&documents)
}

#[test]
fn the_best_value_of_each_fold_is_averaged() {
    let counts = corpus();
    let rows: Vec<usize> = (0..60).filter(|r| r % 5 != 0).collect();
    let options = LambdaOptions { folds: 4, ..LambdaOptions::default() };
    let auto = selector("wfo(auto)");
    let seen: RefCell<Vec<Vec<usize>>> = RefCell::default();
    // A stand-in classifier that likes the first term to be frequent at size 1 and rare at size 2: it finds out
    // which λ selected only by what was selected.
    let evaluate = |train: &[usize], test: &[usize], terms: &[u32], sizes: &[usize]| {
        assert!(train.iter().all(|r| !test.contains(r)));
        seen.borrow_mut().push(test.to_vec());
        let df = Contingency::of_rows(&counts, train).df()[terms[0] as usize];
        Ok(sizes.iter().map(|&s| if s == 1 { f64::from(df) } else { -f64::from(df) }).collect())
    };
    let learned = learn_lambda(&auto, &counts, &rows, &[1, 2], &options, &evaluate, &Silent).unwrap();
    assert_eq!(learned.iter().map(|l| l.size).collect::<Vec<_>>(), [1, 2]);
    for learned in &learned {
        assert_eq!(learned.folds.len(), 4);
        let mean = learned.folds.iter().map(|f| f.lambda).sum::<f64>() / 4.0;
        assert!((learned.lambda - mean).abs() < 1e-15);
    }
    assert!(learned[0].lambda > learned[1].lambda, "{learned:?}");
    // The best of each fold, found again by trying every λ by hand.
    let seen = seen.take();
    let tests: Vec<&Vec<usize>> = seen.iter().step_by(11).collect();
    assert_eq!(seen.len(), 4 * 11);
    let held_out: BTreeSet<usize> = tests.iter().flat_map(|t| t.iter().copied()).collect();
    assert_eq!(held_out.into_iter().collect::<Vec<_>>(), rows, "every row is held out once");
    for (fold, test) in tests.iter().enumerate() {
        let train: Vec<usize> = rows.iter().copied().filter(|r| !test.contains(r)).collect();
        let table = Contingency::of_rows(&counts, &train);
        let first_df = |i: u32| table.df()[rank(&format!("wfo({})", f64::from(i) / 10.0), &table).terms()[0] as usize];
        let best = (0..=10).max_by_key(|&i| (first_df(i), std::cmp::Reverse(i))).unwrap();
        assert_eq!(learned[0].folds[fold].lambda, f64::from(best) / 10.0);
        assert_eq!(learned[0].folds[fold].value, f64::from(first_df(best)));
    }
    let again = learn_lambda(&auto, &counts, &rows, &[1, 2], &options, &evaluate, &Silent).unwrap();
    assert_eq!(again, learned);
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let counts = corpus();
    let rows: Vec<usize> = (0..60).collect();
    let learn = |expression: &str, options: LambdaOptions| {
        learn_lambda(&selector(expression), &counts, &rows, &[1], &options, &|_, _, _, _| Ok(vec![1.0]), &Silent)
    };
    let options = LambdaOptions::default;
    assert!(matches!(learn("wfo(0.3)", options()), Err(Error::Invalid { .. })));
    assert!(matches!(learn("wfo(auto)", LambdaOptions { folds: 1, ..options() }), Err(Error::Invalid { .. })));
    assert!(matches!(learn("wfo(auto)", LambdaOptions { folds: 61, ..options() }), Err(Error::Invalid { .. })));
    assert!(matches!(learn("wfo(auto)", LambdaOptions { grid: vec![], ..options() }), Err(Error::Invalid { .. })));
    assert!(matches!(learn("wfo(auto)", LambdaOptions { grid: vec![1.1], ..options() }), Err(Error::Invalid { .. })));
    // All values alike: the lowest λ.
    assert_eq!(learn("lr(wfo(auto),ig)", options()).unwrap()[0].lambda, 0.0);
}

#[test]
fn stability_is_one_when_nothing_changes() {
    let counts = corpus();
    let rows: Vec<usize> = (0..60).collect();
    let sizes = [2, 5];
    let of = |fraction: f64| {
        let options = overlap::ResampleOptions { fraction, ..Default::default() };
        let rankings = overlap::resample(&selector("chi2max"), &counts, &rows, &options, &Silent).unwrap();
        assert_eq!(rankings.len(), 10);
        overlap::mean_of_pairs(&rankings, &sizes)
    };
    for stable in of(1.0) {
        assert_eq!((stable.jaccard, stable.kuncheva), (1.0, 1.0));
    }
    let unstable = of(0.3);
    assert!(unstable.iter().all(|o| o.jaccard < 1.0 && o.kuncheva < 1.0 && o.kuncheva > -1.0), "{unstable:?}");
    let options = overlap::ResampleOptions { fraction: 0.0, ..Default::default() };
    assert!(overlap::resample(&selector("ig"), &counts, &rows, &options, &Silent).is_err());
}
