//! Properties of thresholds, against trying everything.
#![allow(clippy::unwrap_used)]

use proptest::collection::vec;
use proptest::prelude::*;
use tamis::classify::Scored;
use tamis::measure::{Beta, Tally};
use tamis::threshold::{Calibration, CalibrationMethod, HeldOut, Threshold, ThresholdCurve, Thresholds};

/// A label's score and truth in a document of a fold; `None`: not in the list.
type Row = (usize, Option<i16>, bool);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    vec((0usize..3, proptest::option::weighted(0.9, -20i16..20), any::<bool>()), 1..40)
}

fn one_label(rows: &[Row]) -> HeldOut {
    let mut held_out = HeldOut::new(1);
    for &(fold, score, positive) in rows {
        let ranked: Vec<Scored> = score.iter().map(|&s| Scored { label: 0, score: f64::from(s) / 4.0 }).collect();
        held_out.add(fold, &ranked, if positive { &[0] } else { &[] });
    }
    held_out
}

/// The rows a label is tuned on: folds with a positive, whose classifier saw a positive of another fold.
fn tuned_on(rows: &[Row]) -> Vec<Row> {
    let positives = |fold: usize| rows.iter().filter(|r| r.0 == fold && r.2).count();
    let all: usize = (0..3).map(positives).sum();
    let folds = (0..3).filter(|f| rows.iter().any(|r| r.0 == *f)).count();
    let takes_part = |fold: usize| positives(fold) > 0 && (folds == 1 || all > positives(fold));
    rows.iter().copied().filter(|r| takes_part(r.0)).collect()
}

fn f_of(rows: &[Row], threshold: f64, beta: Beta) -> f64 {
    let mut tally = Tally::default();
    for &(_, score, positive) in rows {
        let decided = score.is_some_and(|s| f64::from(s) / 4.0 >= threshold);
        tally.right += u64::from(decided && positive);
        tally.wrong += u64::from(decided && !positive);
        tally.missed += u64::from(!decided && positive);
    }
    tally.f(beta).unwrap_or(0.0)
}

proptest! {
    #[test]
    fn scut_is_never_worse_than_any_threshold(rows in rows(), beta in prop_oneof![Just(0.5), Just(1.0), Just(2.0)]) {
        let beta = Beta::new(beta).unwrap();
        let policy: Threshold = format!("scut(beta={beta})").parse().unwrap();
        let tuned = policy.tune(&one_label(&rows)).unwrap();
        let own = tuned.thresholds.values().unwrap()[0];
        let used = tuned_on(&rows);
        let reached = f_of(&used, own, beta);
        // Every threshold that tells documents apart, and a bit beyond both ends.
        for i in -45..=45 {
            let other = f64::from(i) / 8.0;
            let f = f_of(&used, other, beta);
            prop_assert!(f <= reached + 1e-12, "{other}: {f} > {reached} at {own}");
            if f > reached - 1e-12 && reached > 0.0 {
                // Ties go to the higher threshold: a higher one that is as good decides the same documents.
                let same = |s: f64| (s >= other) == (s >= own);
                prop_assert!(other <= own || used.iter().filter_map(|r| r.1).all(|s| same(f64::from(s) / 4.0)));
            }
        }
        if used.iter().all(|r| !r.2 || r.1.is_none()) {
            prop_assert_eq!(own, f64::INFINITY);
        }
    }

    #[test]
    fn a_threshold_is_halfway_between_scores(rows in rows()) {
        let own = Threshold::scut().tune(&one_label(&rows)).unwrap().thresholds.values().unwrap()[0];
        let scores: Vec<f64> = tuned_on(&rows).iter().filter_map(|r| r.1).map(|s| f64::from(s) / 4.0).collect();
        let above = scores.iter().copied().filter(|s| *s >= own).fold(f64::INFINITY, f64::min);
        let below = scores.iter().copied().filter(|s| *s < own).fold(f64::NEG_INFINITY, f64::max);
        if above.is_finite() && below.is_finite() {
            prop_assert_eq!(own, f64::midpoint(above, below));
        }
    }

    #[test]
    fn merged_parts_tune_alike(rows in rows(), at in 0usize..40) {
        let at = at.min(rows.len());
        let mut merged = one_label(&rows[at..]);
        merged.merge(one_label(&rows[..at]));
        let whole = one_label(&rows);
        for policy in ["scut", "scut(rare=50)", "pcut", "rcut", "scut(fbr=0.5)"] {
            let policy: Threshold = policy.parse().unwrap();
            prop_assert_eq!(policy.tune(&merged).unwrap(), policy.tune(&whole).unwrap());
        }
        for method in [CalibrationMethod::Isotonic, CalibrationMethod::Platt] {
            let (a, b) = (Calibration::fit(method, &merged).unwrap(), Calibration::fit(method, &whole).unwrap());
            prop_assert_eq!(a, b);
        }
    }

    #[test]
    fn probabilities_rise_with_scores(rows in rows()) {
        for method in [CalibrationMethod::Isotonic, CalibrationMethod::Platt] {
            let calibration = Calibration::fit(method, &one_label(&rows)).unwrap();
            let values: Vec<f64> = (-60..60).map(|i| calibration.probability(0, f64::from(i) / 8.0)).collect();
            prop_assert!(values.iter().all(|p| (0.0..=1.0).contains(p)));
            prop_assert!(values.is_sorted());
            prop_assert!((0.0..=1.0).contains(&calibration.missing(0)));
            let stored = serde_json::to_string(&calibration).unwrap();
            let back: Calibration = serde_json::from_str(&stored).unwrap();
            prop_assert_eq!(back.probability(0, 0.7), calibration.probability(0, 0.7));
        }
    }

    #[test]
    fn pcut_gives_each_label_its_share(scores in vec(-1000i32..1000, 1..80), positives in vec(any::<bool>(), 80)) {
        // Distinct scores in one fold: as many documents as positives must get the label.
        let mut scores = scores;
        scores.sort_unstable();
        scores.dedup();
        let rows: Vec<Row> = scores.iter().enumerate().map(|(i, s)| (0, Some(*s as i16), positives[i])).collect();
        let tuned = "pcut".parse::<Threshold>().unwrap().tune(&one_label(&rows)).unwrap();
        let threshold = tuned.thresholds.values().unwrap()[0];
        let assigned = rows.iter().filter(|r| f64::from(r.1.unwrap()) / 4.0 >= threshold).count();
        prop_assert_eq!(assigned, rows.iter().filter(|r| r.2).count());
    }

    #[test]
    fn rcut_takes_the_best_n(lists in vec((vec(0u32..6, 0..6), vec(0u32..6, 0..4)), 1..15)) {
        let mut held_out = HeldOut::new(6);
        let mut cases = Vec::new();
        for (order, mut truth) in lists {
            let mut ranked: Vec<Scored> = Vec::new();
            for label in order {
                if ranked.iter().all(|s| s.label != label) {
                    ranked.push(Scored { label, score: -(ranked.len() as f64) });
                }
            }
            truth.sort_unstable();
            truth.dedup();
            held_out.add(0, &ranked, &truth);
            cases.push((ranked, truth));
        }
        let f = |n: u32| {
            let rule = Thresholds::untuned(Threshold::rcut(n)).unwrap();
            let mut tally = Tally::default();
            for (ranked, truth) in &cases {
                tally.merge(&Tally::of(&rule.decide(ranked), truth));
            }
            tally.f(Beta::ONE).unwrap_or(0.0)
        };
        let tuned = "rcut".parse::<Threshold>().unwrap().tune(&held_out).unwrap();
        let n = tuned.thresholds.n().unwrap();
        prop_assert!((tuned.report.f_micro - f(n)).abs() < 1e-12);
        for other in 1..=6 {
            prop_assert!(f(other) <= f(n) + 1e-12);
            prop_assert!(other >= n || f(other) < f(n));
        }
    }

    /// What is shown of a label is what its own threshold does, whatever policy found it and however many points there are.
    #[test]
    fn the_curve_says_what_the_own_threshold_does(
        documents in vec((0usize..3, vec((-2000i16..2000, any::<bool>()), 3)), 4..250),
        policy in prop_oneof![
            Just("scut"), Just("scut(goal=micro)"), Just("scut(goal=micro+macro,rare=5)"), Just("scut(fbr=0.3)"),
            Just("pcut"), Just("precision(0.6,confidence=0.5)"),
        ],
    ) {
        let mut held_out = HeldOut::new(3);
        let score = |raw: i16, truth: bool| f64::from(raw) / 1024.0 + f64::from(u8::from(truth));
        for (fold, labels) in &documents {
            let mut ranked: Vec<Scored> =
                (0u32..).zip(labels).map(|(label, &(raw, truth))| Scored { label, score: score(raw, truth) }).collect();
            ranked.sort_by(Scored::better_first);
            let truth: Vec<u32> = (0u32..).zip(labels).filter(|(_, (_, truth))| *truth).map(|(label, _)| label).collect();
            held_out.add(*fold, &ranked, &truth);
        }
        let tuned = policy.parse::<Threshold>().unwrap().tune(&held_out).unwrap();
        for curve in &tuned.curves {
            let label = curve.label as usize;
            prop_assert!(curve.points.len() <= ThresholdCurve::POINTS);
            prop_assert!(curve.points.is_sorted_by(|a, b| a.threshold > b.threshold && a.recall <= b.recall));
            let Some(threshold) = tuned.thresholds.of(curve.label) else { continue };
            if curve.points.is_empty() { continue }
            let rows: Vec<Row> = documents.iter().map(|(fold, labels)| (*fold, Some(0), labels[label].1)).collect();
            let (mut tally, used) = (Tally::default(), tuned_on(&rows));
            for (_, labels) in documents.iter().filter(|(fold, _)| used.iter().any(|r| r.0 == *fold)) {
                let (raw, truth) = labels[label];
                let decided = score(raw, truth) >= threshold;
                tally.right += u64::from(decided && truth);
                tally.wrong += u64::from(decided && !truth);
                tally.missed += u64::from(!decided && truth);
            }
            let shown = curve.at(threshold).unwrap();
            let close = |shown: f32, own: Option<f64>| (f64::from(shown) - own.unwrap_or(0.0)).abs() < 1e-6;
            prop_assert!(close(shown.precision, tally.precision()), "{policy}: {shown:?}, {tally:?} at {threshold}");
            prop_assert!(close(shown.recall, tally.recall()), "{policy}: {shown:?}, {tally:?} at {threshold}");
            prop_assert!(close(shown.f, tally.f(Beta::ONE)), "{policy}: {shown:?}, {tally:?} at {threshold}");
        }
    }

    #[test]
    fn stored_thresholds_decide_the_same(values in vec(proptest::option::of(-3.0..3.0f64), 1..6), min in 0u32..3) {
        let policy: Threshold = format!("scut(min={min})").parse().unwrap();
        let values: Vec<f64> = values.into_iter().map(|v| v.unwrap_or(f64::INFINITY)).collect();
        let thresholds = Thresholds::by_label(policy, values).unwrap();
        let back: Thresholds = serde_json::from_str(&serde_json::to_string(&thresholds).unwrap()).unwrap();
        prop_assert_eq!(back, thresholds);
    }
}

#[test]
fn curves_are_short_and_hold_the_best() {
    let mut held_out = HeldOut::new(2);
    for i in 0..5000u32 {
        let score = f64::from(i.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
        let positive = score > 0.8 || i % 7 == 0;
        held_out.add(i as usize % 5, &[Scored { label: 0, score }], if positive { &[0] } else { &[] });
    }
    let tuned = Threshold::scut().tune(&held_out).unwrap();
    let curve = &tuned.curves[0];
    assert!(curve.points.len() > 60 && curve.points.len() <= ThresholdCurve::POINTS, "{}", curve.points.len());
    let best = curve.best.unwrap();
    assert!(curve.points.contains(&best));
    assert!(curve.points.iter().all(|p| p.f <= best.f));
    assert!(curve.points.is_sorted_by(|a, b| a.threshold > b.threshold && a.recall <= b.recall));
    assert_eq!(tuned.thresholds.of(0), Some(best.threshold));
    assert_eq!(tuned.report.without_positives, [1]);
    assert_eq!(tuned.thresholds.of(1), None);
    assert!(tuned.thresholds.decide(&[Scored { label: 1, score: f64::MAX }]).is_empty());
}

/// All positives in one fold: the classifier of that fold never saw the label, its scores there mean nothing.
#[test]
fn a_label_seen_in_one_fold_only_is_not_tuned_on_noise() {
    let mut held_out = HeldOut::new(3);
    for i in 0..40usize {
        let fold = i % 4;
        let score = |label: u32| f64::from((i as u32 * 7 + label * 3) % 11);
        let mut ranked: Vec<Scored> = (0..3).map(|label| Scored { label, score: score(label) }).collect();
        ranked.sort_by(Scored::better_first);
        let mut truth = vec![];
        if score(0) > 7.0 {
            truth.push(0);
        }
        if i == 5 {
            truth.push(1);
        }
        if i == 5 || i == 6 {
            truth.push(2);
        }
        held_out.add(fold, &ranked, &truth);
    }
    let plain = Threshold::scut().tune(&held_out).unwrap();
    assert_eq!(plain.report.untunable, [1]);
    assert_eq!(plain.thresholds.of(1), None);
    assert!(plain.thresholds.of(2).is_some());
    let shared = "scut(rare=5)".parse::<Threshold>().unwrap().tune(&held_out).unwrap();
    assert_eq!(shared.report.shared, [1, 2]);
    assert_eq!(shared.thresholds.of(1), shared.thresholds.of(2));
    assert_eq!(shared.thresholds.of(0), plain.thresholds.of(0));
}

#[test]
fn at_least_so_many_labels() {
    let policy: Threshold = "scut(min=2)".parse().unwrap();
    let thresholds = Thresholds::by_label(policy, vec![5.0, 0.0, f64::INFINITY]).unwrap();
    let list = |s: [f64; 3]| -> Vec<Scored> {
        let mut ranked: Vec<Scored> = (0..3).zip(s).map(|(label, score)| Scored { label, score }).collect();
        ranked.sort_by(Scored::better_first);
        ranked
    };
    assert_eq!(thresholds.decide(&list([6.0, 1.0, 9.0])), [0, 1]);
    assert_eq!(thresholds.decide(&list([1.0, 0.5, 9.0])), [1, 2]);
    assert_eq!(thresholds.decide(&list([1.0, -0.5, -9.0])), [0, 1]);
    assert_eq!(thresholds.decide(&[Scored { label: 1, score: -1.0 }]), [1]);
    assert!(thresholds.decide(&[]).is_empty());
}

#[test]
fn nothing_to_tune_on_is_an_error() {
    let empty = HeldOut::new(3);
    for policy in ["scut", "pcut", "rcut"] {
        assert!(policy.parse::<Threshold>().unwrap().tune(&empty).is_err());
    }
    assert!(Threshold::rcut(2).tune(&empty).is_ok());
    assert!(Thresholds::untuned(Threshold::scut()).is_err());
    assert!(Calibration::fit(CalibrationMethod::Platt, &empty).is_err());
    let bad = ["{\"policy\":\"scut\"}", "{\"policy\":\"rcut\",\"n\":0}", "{\"policy\":\"none\",\"values\":[1.0]}"];
    for stored in bad {
        assert!(serde_json::from_str::<Thresholds>(stored).is_err(), "{stored}");
    }
}
