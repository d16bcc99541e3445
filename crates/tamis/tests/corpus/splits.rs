//! Splits: every document where it belongs, the same for the same seed.

use proptest::prelude::*;
use tamis::corpus::Part;
use tamis::counts::Counts;
use tamis::counts::{Split, SplitPlan};

fn counts(labels: &[Vec<u8>]) -> Counts {
    let rows: Vec<(Vec<&str>, Vec<String>)> =
        labels.iter().map(|labels| (vec![], labels.iter().map(u8::to_string).collect())).collect();
    Counts::from_rows(&rows)
}

fn plan(text: &str) -> SplitPlan {
    text.parse().unwrap()
}

fn corpus() -> impl Strategy<Value = Counts> {
    prop::collection::vec(prop::collection::vec(0u8..6, 0..4), 10..60).prop_map(|labels| counts(&labels))
}

fn is_partition(split: &Split, n: usize) -> bool {
    let mut all = [&split.train[..], &split.test[..]].concat();
    all.sort_unstable();
    all.into_iter().eq(0..n) && split.train.is_sorted() && split.test.is_sorted()
}

proptest! {
    #[test]
    fn folds_test_every_document_once(counts in corpus(), folds in 2u32..10, seed: u64) {
        for plan in [SplitPlan::KFold(folds), SplitPlan::Stratified(folds)] {
            let splits = plan.splits(&counts, seed).unwrap();
            prop_assert_eq!(splits.len(), plan.count());
            let mut tested = vec![0; counts.len()];
            for split in &splits {
                prop_assert!(is_partition(split, counts.len()));
                split.test.iter().for_each(|&row| tested[row] += 1);
            }
            prop_assert!(tested.iter().all(|&n| n == 1));
            if let SplitPlan::KFold(_) = plan {
                let sizes: Vec<usize> = splits.iter().map(|s| s.test.len()).collect();
                prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
            }
            prop_assert_eq!(&plan.splits(&counts, seed).unwrap(), &splits);
        }
    }

    #[test]
    fn random_splits_have_their_share(counts in corpus(), share in 0.01f64..0.99, seed: u64) {
        let n = counts.len();
        let splits = SplitPlan::Random { test: share, times: 3 }.splits(&counts, seed).unwrap();
        prop_assert_eq!(splits.len(), 3);
        for split in &splits {
            prop_assert!(is_partition(split, n));
            prop_assert!((split.test.len() as f64 - share * n as f64).abs() <= 1.0);
        }
        let once = SplitPlan::Random { test: share, times: 1 }.splits(&counts, seed).unwrap();
        prop_assert_eq!(&once[0], &splits[0], "more splits begin with the same ones");
    }

    #[test]
    fn disjoint_splits_share_nothing(counts in corpus(), pieces in 1u32..5, seed: u64) {
        let splits = SplitPlan::Disjoint(pieces).splits(&counts, seed).unwrap();
        let mut all: Vec<usize> = splits.iter().flat_map(|s| [&s.train[..], &s.test[..]].concat()).collect();
        all.sort_unstable();
        prop_assert!(all.into_iter().eq(0..counts.len()));
        prop_assert!(splits.iter().all(|s| s.train.len() - s.test.len() <= 1 && !s.test.is_empty()));
    }

    #[test]
    fn names_round_trip(share in 0.001f64..0.999, n in 2u32..100) {
        let plans = [
            SplitPlan::Given,
            SplitPlan::Random { test: share, times: 1 },
            SplitPlan::Random { test: share, times: n },
            SplitPlan::KFold(n),
            SplitPlan::Stratified(n),
            SplitPlan::Newest(share),
            SplitPlan::Disjoint(n),
        ];
        for plan in plans {
            prop_assert_eq!(plan.to_string().parse::<SplitPlan>().unwrap(), plan);
            let json = serde_json::to_string(&plan).unwrap();
            prop_assert_eq!(serde_json::from_str::<SplitPlan>(&json).unwrap(), plan);
        }
    }
}

#[test]
fn seeds_differ() {
    let counts = counts(&vec![vec![1]; 50]);
    for name in ["random(0.2)", "kfold(5)", "stratified(5)", "disjoint(2)"] {
        assert_ne!(plan(name).splits(&counts, 1).unwrap(), plan(name).splits(&counts, 2).unwrap(), "{name}");
    }
    let repeated = plan("random(0.5,2)").splits(&counts, 1).unwrap();
    assert_ne!(repeated[0], repeated[1]);
}

/// The mean over labels of how far the share of a label in a fold is from its share in all (the "labels distribution" of
/// Sechidis et al. 2011, section 4): iterative stratification must beat random folds where labels are skewed.
#[test]
fn stratified_folds_are_more_even_than_random_ones() {
    let labels: Vec<Vec<u8>> = (0..2_000u32)
        .map(|i| {
            let x = i.wrapping_mul(2_654_435_761) >> 8;
            (0..20u32).filter(|l| x.rotate_left(*l) % (3 + l * l) == 0).map(|l| l as u8).collect()
        })
        .collect();
    let counts = counts(&labels);
    let unevenness = |splits: &[Split]| {
        let share = |rows: &[usize], label: u32| {
            let with = rows.iter().filter(|&&row| counts.assignments.get(row, label).is_some()).count() as f64;
            with / (rows.len() as f64 - with)
        };
        let all: Vec<usize> = (0..counts.len()).collect();
        let labels = counts.labels.len() as u32;
        let of_label = |l| splits.iter().map(|s| (share(&s.test, l) - share(&all, l)).abs()).sum::<f64>();
        (0..labels).map(of_label).sum::<f64>() / (labels as usize * splits.len()) as f64
    };
    let stratified = unevenness(&plan("stratified(10)").splits(&counts, 7).unwrap());
    let random = unevenness(&plan("kfold(10)").splits(&counts, 7).unwrap());
    assert!(stratified < random / 3.0, "{stratified} against {random}");
    let sizes: Vec<usize> =
        plan("stratified(10)").splits(&counts, 7).unwrap().iter().map(|split| split.test.len()).collect();
    assert!(sizes.iter().all(|size| size.abs_diff(200) <= 5), "{sizes:?}");
}

#[test]
fn newest_goes_by_date_then_id() {
    let mut counts = counts(&vec![vec![]; 5]);
    counts.dates = ["2020-01-02", "2019", "2020-01-02", "2021-05", "2018-12-31"].map(|d| Some(d.to_owned())).to_vec();
    counts.ids = ["b", "x", "a", "y", "z"].map(str::to_owned).to_vec();
    let split = &plan("newest(0.4)").splits(&counts, 0).unwrap()[0];
    assert_eq!((&split.train[..], &split.test[..]), (&[1, 2, 4][..], &[0, 3][..]));
    counts.dates[2] = None;
    assert_eq!(
        plan("newest(0.4)").splits(&counts, 0).unwrap_err().to_string(),
        "newest(0.4) needs a date for each document, and 1 of 5 have none; name the field with the option `date_field`, or choose \
         another split such as random(0.4)"
    );
}

#[test]
fn given_splits_must_be_given() {
    let mut counts = counts(&vec![vec![]; 4]);
    let message = |counts: &Counts| plan("given").splits(counts, 0).unwrap_err().to_string();
    let advice =
        "; name the field with the option `split_field`, or choose another split such as random(0.2) or stratified(10)";
    assert_eq!(message(&counts), format!("the corpus gives no split: no document says train or test{advice}"));
    counts.parts[1] = Some(Part::Train);
    assert_eq!(message(&counts), format!("the corpus gives no split: no document is in the test part{advice}"));
    counts.parts[3] = Some(Part::Test);
    let split = plan("given").splits(&counts, 0).unwrap();
    assert_eq!(split, [Split { train: vec![1], test: vec![3] }]);
}

#[test]
fn plans_that_cannot_be() {
    let parse = |text: &str| text.parse::<SplitPlan>().unwrap_err().to_string();
    assert_eq!(parse("kfold(1)"), "expected the number of folds, at least 2\n  kfold(1)\n        ^");
    assert_eq!(parse("kfold"), "expected the number of folds, at least 2\n  kfold\n       ^");
    assert_eq!(parse("random(2)"), "expected the share of the test part, such as 0.2\n  random(2)\n         ^");
    assert_eq!(parse("random(0.2,x)"), "expected how many splits, such as 5\n  random(0.2,x)\n             ^");
    assert_eq!(parse("newest(0.2,1)"), "one argument too many\n  newest(0.2,1)\n             ^");
    assert_eq!(parse("newest(0.2"), "expected )\n  newest(0.2\n            ^");
    assert_eq!(parse("given(1)"), "given takes no argument\n  given(1)\n        ^");
    assert!(parse("kfolds(3)").starts_with("unknown split \"kfolds\"; did you mean kfold?"));
    let counts = counts(&vec![vec![]; 4]);
    let fail = |plan: SplitPlan| plan.splits(&counts, 0).unwrap_err().to_string();
    assert_eq!(fail(SplitPlan::KFold(5)), "splits.how = kfold(5): from 2 to 4 folds: the corpus has 4 documents");
    assert_eq!(
        fail(SplitPlan::Disjoint(3)),
        "splits.how = disjoint(3): from 1 to 2 pieces: each needs two of the 4 documents"
    );
    assert_eq!(
        fail(SplitPlan::Random { test: 1.5, times: 1 }),
        "splits.how = random(1.5): the share of the test part must be between 0 and 1"
    );
    let one = Counts::from_rows::<&str, &str>(&[(vec![], vec![])]);
    assert_eq!(
        plan("given").splits(&one, 0).unwrap_err().to_string(),
        "a split needs at least two documents, and there are 1"
    );
}
