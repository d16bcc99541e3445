//! Thresholds to a goal: against slow and obvious versions, and which goal does best on training documents.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::*;
use tamis::classify::{ClassifierSpec, Problem, Scored, rank_documents};
use tamis::corpus::{ReadOptions, open};
use tamis::counts::{Contingency, CountOptions, Counts, CrossValidation, SplitPlan, count};
use tamis::measure::{Evaluation, EvaluationOptions, Measure};
use tamis::threshold::{HeldOut, Threshold, Tuned};

const FOLDS: usize = 3;

/// Documents: fold, a score for each label, whether each label is true.
type Documents = Vec<(usize, Vec<i16>, Vec<bool>)>;

fn documents(labels: usize) -> impl Strategy<Value = Documents> {
    vec((0..FOLDS, vec(-8i16..8, labels), vec(any::<bool>(), labels)), 1..25)
}

fn score(s: i16) -> f64 {
    f64::from(s) / 4.0
}

fn held_out(documents: &Documents, labels: usize) -> HeldOut {
    let mut held_out = HeldOut::new(labels);
    for (fold, scores, truth) in documents {
        let mut ranked: Vec<Scored> =
            (0u32..).zip(scores).map(|(label, &s)| Scored { label, score: score(s) }).collect();
        ranked.sort_by(Scored::better_first);
        let truth: Vec<u32> = (0u32..).zip(truth).filter(|(_, t)| **t).map(|(label, _)| label).collect();
        held_out.add(*fold, &ranked, &truth);
    }
    held_out
}

fn tune(policy: &str, documents: &Documents, labels: usize) -> Tuned {
    policy.parse::<Threshold>().unwrap().tune(&held_out(documents, labels)).unwrap()
}

/// Right, wrong and missed of a label at a threshold, over the given folds.
fn counted(documents: &Documents, label: usize, threshold: f64, folds: &[usize]) -> [f64; 3] {
    let mut counts = [0.0; 3];
    for (_, scores, truth) in documents.iter().filter(|d| folds.contains(&d.0)) {
        match (score(scores[label]) >= threshold, truth[label]) {
            (true, true) => counts[0] += 1.0,
            (true, false) => counts[1] += 1.0,
            (false, true) => counts[2] += 1.0,
            (false, false) => {}
        }
    }
    counts
}

fn f1([right, wrong, missed]: [f64; 3]) -> f64 {
    if right + wrong + missed == 0.0 { 0.0 } else { 2.0 * right / (2.0 * right + wrong + missed) }
}

fn plus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// Folds that tell something about a label: not those whose classifier saw none of its documents.
fn trained_folds(documents: &Documents, label: usize) -> Vec<usize> {
    let positives = |fold: usize| documents.iter().filter(|d| d.0 == fold && d.2[label]).count();
    let all: usize = (0..FOLDS).map(positives).sum();
    let used: Vec<usize> = (0..FOLDS).filter(|f| documents.iter().any(|d| d.0 == *f)).collect();
    used.iter().copied().filter(|&f| used.len() == 1 || all > positives(f)).collect()
}

/// LibMultiLabel's procedure, said slowly: every threshold between neighbouring scores and beyond both ends, from below, the
/// last of equals kept. (Its own code is compared with in tests/python/test_libmultilabel.py.)
fn micro_macro(documents: &Documents, labels: usize) -> Vec<Option<f64>> {
    let positives = |label: usize| documents.iter().filter(|d| d.2[label]).count();
    let mut order: Vec<usize> = (0..labels).filter(|&l| positives(l) > 0).collect();
    order.sort_by_key(|&l| std::cmp::Reverse((positives(l), l)));
    let mut thresholds = vec![None; labels];
    let mut pot = [0.0; 3];
    for (done, &label) in order.iter().enumerate() {
        let folds = trained_folds(documents, label);
        let (mut chosen, mut sum) = (pot, 0.0);
        for &fold in &folds {
            let mut scores: Vec<f64> = documents.iter().filter(|d| d.0 == fold).map(|d| score(d.1[label])).collect();
            scores.sort_by(f64::total_cmp);
            scores.dedup();
            let mut candidates = vec![scores[0].next_down()];
            candidates.extend(scores.windows(2).map(|w| f64::midpoint(w[0], w[1])));
            candidates.push(scores[scores.len() - 1].next_up());
            let (mut best, mut reached) = (candidates[0], -1.0);
            for &candidate in &candidates {
                let own = counted(documents, label, candidate, &[fold]);
                let value = f1(plus(pot, own)) + f1(own) / (done as f64 + 1.0);
                if value >= reached {
                    (best, reached) = (candidate, value);
                }
            }
            sum += best;
            chosen = plus(chosen, counted(documents, label, best, &[fold]));
        }
        pot = chosen;
        thresholds[label] = (!folds.is_empty()).then(|| sum / folds.len() as f64);
    }
    thresholds
}

proptest! {
    #[test]
    fn micro_and_macro_is_the_slow_version(documents in documents(4)) {
        let tuned = tune("scut(goal=micro+macro)", &documents, 4);
        let slow = micro_macro(&documents, 4);
        for (label, expected) in slow.into_iter().enumerate() {
            let folds = trained_folds(&documents, label);
            let tunable = documents.iter().any(|d| d.2[label] && folds.contains(&d.0));
            let Some(expected) = expected.filter(|_| tunable) else {
                prop_assert_eq!(tuned.thresholds.of(label as u32), None);
                continue;
            };
            let found = tuned.thresholds.of(label as u32).unwrap();
            // Below all scores of a fold, theirs is a hair lower and ours half a gap.
            let below = folds.iter().any(|&f| {
                let lowest = documents.iter().filter(|d| d.0 == f).map(|d| score(d.1[label])).fold(f64::MAX, f64::min);
                documents.iter().any(|d| d.0 == f && d.2[label] && score(d.1[label]) == lowest)
            });
            prop_assert!(below || (found - expected).abs() < 1e-6, "{label}: {found} and {expected}");
        }
    }

    /// No thresholds at all do better on the pot: every combination is tried.
    #[test]
    fn micro_is_the_best_of_all(documents in documents(3), beta in prop_oneof![Just(0.5), Just(1.0), Just(2.0)]) {
        let tuned = tune(&format!("scut(goal=micro,beta={beta})"), &documents, 3);
        let folds: Vec<Vec<usize>> = (0..3).map(|label| trained_folds(&documents, label)).collect();
        let missed = |label: usize| documents.iter().filter(|d| d.2[label] && !folds[label].contains(&d.0)).count() as f64;
        let f = |thresholds: [f64; 3]| {
            let mut pot = [0.0; 3];
            for (label, &t) in thresholds.iter().enumerate() {
                pot = plus(pot, counted(&documents, label, t, &folds[label]));
                pot[2] += missed(label);
            }
            let b2 = beta * beta;
            let all = (1.0 + b2) * pot[0] + pot[1] + b2 * pot[2];
            if all == 0.0 { 0.0 } else { (1.0 + b2) * pot[0] / all }
        };
        let found = f([0, 1, 2].map(|label| tuned.thresholds.of(label).unwrap_or(f64::INFINITY)));
        let steps = || (-9..=8).map(|i| f64::from(i) / 4.0 + 0.125);
        for a in steps() {
            for b in steps() {
                for c in steps() {
                    prop_assert!(f([a, b, c]) <= found + 1e-12, "{a} {b} {c}");
                }
            }
        }
    }

    #[test]
    fn a_goal_of_one_label_is_its_own_f(documents in documents(1)) {
        let f = |policy: &str| tune(policy, &documents, 1).report.f_micro;
        // Folds without a positive count for the pot, and not for the label alone.
        if (0..FOLDS).all(|fold| documents.iter().any(|d| d.0 == fold && d.2[0])) {
            prop_assert!((f("scut") - f("scut(goal=micro)")).abs() < 1e-12);
        }
    }

    #[test]
    fn rare_labels_share_with_every_goal(documents in documents(4)) {
        for goal in ["micro", "micro+macro"] {
            let tuned = tune(&format!("scut(goal={goal},rare=100)"), &documents, 4);
            let given: Vec<f64> = (0..4).filter_map(|label| tuned.thresholds.of(label)).collect();
            prop_assert!(given.windows(2).all(|w| w[0] == w[1]));
        }
    }
}

/// What LibMultiLabel's own code finds on the same scores; tests/python/test_libmultilabel.py asks it again. No two scores of a label
/// are equal: LibMultiLabel also cuts between equal ones, where no threshold can.
#[test]
fn micro_and_macro_as_in_libmultilabel() {
    let stored: serde_json::Value = serde_json::from_str(include_str!("data/libmultilabel.json")).unwrap();
    for case in stored["cases"].as_array().unwrap() {
        let scores: Vec<Vec<f64>> = serde_json::from_value(case["scores"].clone()).unwrap();
        let truth: Vec<Vec<u32>> = serde_json::from_value(case["truth"].clone()).unwrap();
        let expected: Vec<f64> = serde_json::from_value(case["thresholds"].clone()).unwrap();
        let mut held_out = HeldOut::new(expected.len());
        for (i, (scores, truth)) in scores.iter().zip(&truth).enumerate() {
            let mut ranked: Vec<Scored> = (0u32..).zip(scores).map(|(label, &score)| Scored { label, score }).collect();
            ranked.sort_by(Scored::better_first);
            held_out.add(i * 3 / 75, &ranked, truth);
        }
        let tuned = "scut(goal=micro+macro)".parse::<Threshold>().unwrap().tune(&held_out).unwrap();
        for (found, expected) in tuned.thresholds.values().unwrap().iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-12, "{found} and {expected}");
        }
    }
}

/// `precision(p)`: what cannot be trusted is never given, and is named.
#[test]
fn precision_names_what_it_cannot_trust() {
    let mut held_out = HeldOut::new(3);
    for i in 0..600u32 {
        let score =
            |label: u32| f64::from(i.wrapping_mul(2_654_435_761).rotate_left(label * 7) >> 8) / f64::from(1 << 24);
        let mut ranked: Vec<Scored> = (0..3).map(|label| Scored { label, score: score(label) }).collect();
        ranked.sort_by(Scored::better_first);
        let mut truth = Vec::new();
        truth.extend((score(0) > 0.5).then_some(0));
        truth.extend((i % 2 == 0).then_some(1));
        held_out.add(i as usize % 5, &ranked, &truth);
    }
    let tuned = "precision(0.9)".parse::<Threshold>().unwrap().tune(&held_out).unwrap();
    assert_eq!((tuned.report.distrusted.as_slice(), tuned.report.without_positives.as_slice()), (&[1][..], &[2][..]));
    let lowest = tuned.thresholds.of(0).unwrap();
    assert!((0.4..0.55).contains(&lowest), "{lowest}");
    let stored = serde_json::to_string(&tuned.thresholds).unwrap();
    assert_eq!(serde_json::from_str::<tamis::threshold::Thresholds>(&stored).unwrap(), tuned.thresholds);
}

/// Policies on training documents alone: three folds of them, thresholds tuned inside the other two. Run it with `--run-ignored
/// all --no-capture` and `TAMIS_DATA`; `Threshold::recommended` has what came out.
#[test]
#[ignore = "minutes; chooses the default"]
fn policies_on_training_documents() {
    let Some(root) = std::env::var_os("TAMIS_DATA").map(PathBuf::from) else { panic!("set TAMIS_DATA") };
    let wanted = std::env::var("TAMIS_CORPUS").unwrap_or_default();
    for path in ["reuters21578", "rcv1/rcv1-15k-counts.svm", "advisories/advisories.jsonl"]
        .into_iter()
        .filter(|path| path.contains(&wanted))
    {
        let corpus = open(&[root.join(path)], &ReadOptions::default()).unwrap();
        let (counts, _) = count(corpus.batches().unwrap(), &CountOptions::default(), &tamis::Silent).unwrap();
        // A random fifth of RCV1 and the newest advisories are test documents elsewhere: of both, some others will do.
        let rows = match path.split_once('/').map(|(folder, _)| folder) {
            Some("rcv1") => {
                let plan = SplitPlan::Random { test: 0.2, times: 1 };
                plan.splits(&counts, 1).unwrap().remove(0).train.into_iter().step_by(2).collect()
            }
            Some(_) => {
                SplitPlan::Newest(0.2).splits(&counts, 1).unwrap().remove(0).train.into_iter().step_by(7).collect()
            }
            None => counts.training(),
        };
        for classifier in ["svm", "svm(vectors=tfidf*rf)"] {
            judge_policies(path, &counts, &rows, &classifier.parse().unwrap());
        }
    }
}

fn judge_policies(path: &str, counts: &Counts, rows: &[usize], classifier: &ClassifierSpec) {
    let mut policies: Vec<String> = ["fixed(0)", "pcut"].map(str::to_owned).to_vec();
    for rare in [0, 5, 10, 20, 40] {
        for goal in ["macro", "micro", "micro+macro"] {
            policies.push(format!("scut(goal={goal},rare={rare})"));
        }
    }
    let judged = ["F1@micro", "F1@macro", "F1@present"].map(|name| name.parse::<Measure>().unwrap());
    let mut sums = vec![[0.0; 3]; policies.len()];
    let terms: Vec<u32> = (0..counts.vocabulary.len() as u32).collect();
    let score = |train: &[usize], test: &[usize]| {
        let table = Contingency::of_rows(counts, train);
        let terms: Vec<u32> = terms.iter().copied().filter(|&t| table.df()[t as usize] > 1).collect();
        let fitted = classifier.fit(&Problem::new(counts, train, &terms), &tamis::Silent).unwrap();
        let part = Problem::new(counts, test, &terms);
        rank_documents(&fitted, &part, |_, ranked, truth| (ranked.to_vec(), truth.to_vec()))
    };
    for split in CrossValidation::stratified(counts, rows, 3, 1).splits().unwrap() {
        let mut held_out = HeldOut::new(counts.labels.len());
        let inner = CrossValidation::stratified(counts, &split.train, 5, 1).splits().unwrap();
        for (fold, inner) in inner.iter().enumerate() {
            score(&inner.train, &inner.test).iter().for_each(|(ranked, truth)| held_out.add(fold, ranked, truth));
        }
        let outer = score(&split.train, &split.test);
        let trained = Contingency::of_rows(counts, &split.train).label_documents().iter().map(|&n| n > 0).collect();
        let trained: Vec<bool> = trained;
        for (policy, sum) in policies.iter().zip(&mut sums) {
            let thresholds = policy.parse::<Threshold>().unwrap().tune(&held_out).unwrap().thresholds;
            let options = EvaluationOptions {
                measures: judged.to_vec(),
                labels: counts.labels.len(),
                trained: Some(trained.clone()),
                keep_documents: false,
                ..EvaluationOptions::default()
            };
            let mut evaluation = Evaluation::new(options).unwrap();
            outer.iter().for_each(|(ranked, truth)| evaluation.add(ranked, &thresholds.decide(ranked), truth));
            judged.iter().zip(sum).for_each(|(&m, sum)| *sum += evaluation.value(m).unwrap() / 3.0);
        }
    }
    println!("{path}, {classifier}: F1@micro, F1@macro, F1@present");
    for (policy, [micro, of_trained, present]) in policies.iter().zip(sums) {
        println!("  {policy:32} {micro:.4} {of_trained:.4} {present:.4}  sum {:.4}", micro + of_trained);
    }
}
