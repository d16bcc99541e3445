//! Properties of measures, evaluations and tests, against slow and obvious versions.
#![allow(clippy::unwrap_used)]

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use tamis::classify::Scored;
use tamis::measure::significance::{holm, randomisation, sign_test, wilcoxon};
use tamis::measure::{Ancestry, Evaluation, EvaluationOptions, Measure, Resampling, ranking};

const LABELS: u32 = 9;

#[derive(Debug, Clone)]
struct Document {
    ranked: Vec<Scored>,
    decided: Vec<u32>,
    truth: Vec<u32>,
}

/// Lists of some or all labels; truth may hold unseen labels (9, 10) and may be empty.
fn document() -> impl Strategy<Value = Document> {
    let scores = vec(0u8..40, LABELS as usize);
    (scores, 0..=LABELS as usize, btree_set(0..LABELS, 0..5), btree_set(0..LABELS + 2, 0..5)).prop_map(
        |(scores, listed, decided, truth)| {
            let mut ranked: Vec<Scored> =
                (0..LABELS).zip(scores).map(|(label, score)| Scored { label, score: f64::from(score) / 8.0 }).collect();
            ranked.sort_by(Scored::better_first);
            ranked.truncate(listed);
            Document { ranked, decided: decided.into_iter().collect(), truth: truth.into_iter().collect() }
        },
    )
}

fn options(pairs: bool) -> EvaluationOptions {
    let names = "RPrec AP MAP P@1 P@5 R@3 nDCG nDCG@4 MRR OneError Coverage RankingLoss Accuracy SubsetAccuracy \
                 HammingLoss Precision@micro Precision@macro Precision@samples Recall@micro Recall@macro \
                 Recall@samples F1@micro F1@macro F1@samples F0.5@micro F2@macro Jaccard@micro Jaccard@macro \
                 Jaccard@samples hP hR hF1";
    let parents = [None, Some(0), Some(0), Some(1), Some(1), None, Some(5), Some(6), Some(6)];
    EvaluationOptions {
        measures: names.split_whitespace().map(|n| n.parse().unwrap()).collect(),
        labels: LABELS as usize,
        trained: Some((0..LABELS).map(|l| l != 4).collect()),
        ancestry: Some(Ancestry::from_parents(&parents).unwrap()),
        keep_documents: true,
        pairs,
    }
}

fn judge(documents: &[Document], pairs: bool) -> Evaluation {
    let mut evaluation = Evaluation::new(options(pairs)).unwrap();
    for d in documents {
        evaluation.add(&d.ranked, &d.decided, &d.truth);
    }
    evaluation
}

/// Ranked measures as their definitions read.
mod obvious {
    use super::{LABELS, Scored};

    fn place(ranked: &[Scored], label: u32) -> Option<usize> {
        ranked.iter().position(|s| s.label == label).map(|i| i + 1)
    }

    pub(super) fn average_precision(ranked: &[Scored], truth: &[u32]) -> f64 {
        let precision_at_place = |p: usize| {
            let above = truth.iter().filter(|t| place(ranked, **t).is_some_and(|q| q <= p)).count();
            above as f64 / p as f64
        };
        truth.iter().filter_map(|&t| place(ranked, t)).map(precision_at_place).sum::<f64>() / truth.len() as f64
    }

    pub(super) fn ranking_loss(ranked: &[Scored], truth: &[u32]) -> f64 {
        let (mut wrong, mut pairs) = (0, 0);
        for &t in truth {
            for f in (0..LABELS).filter(|f| !truth.contains(f)) {
                pairs += 1;
                wrong += usize::from(match (place(ranked, t), place(ranked, f)) {
                    (Some(t), Some(f)) => f < t,
                    (Some(_), None) => false,
                    (None, _) => true,
                });
            }
        }
        if pairs == 0 { 0.0 } else { wrong as f64 / pairs as f64 }
    }

    pub(super) fn ndcg(ranked: &[Scored], truth: &[u32], k: usize) -> f64 {
        let gain = |p: usize| 1.0 / ((p + 1) as f64).log2();
        let own: f64 = truth.iter().filter_map(|&t| place(ranked, t)).filter(|p| *p <= k).map(gain).sum();
        own / (1..=truth.len().min(k)).map(gain).sum::<f64>()
    }

    pub(super) fn hits(ranked: &[Scored], truth: &[u32], k: usize) -> f64 {
        truth.iter().filter(|t| place(ranked, **t).is_some_and(|p| p <= k)).count() as f64
    }
}

proptest! {
    #[test]
    fn ranked_measures_follow_their_definitions(d in document()) {
        let (ranked, truth) = (&d.ranked, &d.truth);
        prop_assume!(!truth.is_empty());
        let r = truth.len();
        let close = |got: Option<f64>, expected: f64| (got.unwrap() - expected).abs() < 1e-12;
        prop_assert!(close(ranking::average_precision(ranked, truth), obvious::average_precision(ranked, truth)));
        prop_assert!(close(ranking::r_precision(ranked, truth), obvious::hits(ranked, truth, r) / r as f64));
        prop_assert!(close(ranking::precision_at(ranked, truth, 4), obvious::hits(ranked, truth, 4) / 4.0));
        prop_assert!(close(ranking::recall_at(ranked, truth, 4), obvious::hits(ranked, truth, 4) / r as f64));
        let loss = ranking::ranking_loss(ranked, truth, LABELS as usize);
        prop_assert!(close(loss, obvious::ranking_loss(ranked, truth)));
        prop_assert!(close(ranking::ndcg(ranked, truth, Some(3)), obvious::ndcg(ranked, truth, 3)));
        prop_assert!(close(ranking::ndcg(ranked, truth, None), obvious::ndcg(ranked, truth, usize::MAX)));
    }

    #[test]
    fn parts_merge_to_the_whole(documents in vec(document(), 0..30), cuts in vec(0usize..30, 3)) {
        let whole = judge(&documents, true);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(documents.len())).collect();
        cuts.sort_unstable();
        let mut merged = whole.fresh();
        let bounds = [vec![0], cuts, vec![documents.len()]].concat();
        for pair in bounds.windows(2) {
            merged.merge(&judge(&documents[pair[0]..pair[1]], true)).unwrap();
        }
        prop_assert_eq!(&merged, &whole);
        prop_assert_eq!(merged.values(), whole.values());
        prop_assert_eq!(merged.per_label(), whole.per_label());
        // Values do not depend on the order either.
        let mut reversed = documents.clone();
        reversed.reverse();
        prop_assert_eq!(judge(&reversed, true).values(), whole.values());
    }

    #[test]
    fn values_are_in_range_and_means_of_their_documents(documents in vec(document(), 1..30)) {
        let evaluation = judge(&documents, false);
        for value in evaluation.values() {
            let Some(v) = value.value else { continue };
            // Two unseen labels: coverage reaches 10.
            let most = if value.measure == Measure::Coverage { 10.0 } else { 1.0 };
            prop_assert!((0.0..=most + 1e-12).contains(&v), "{} = {}", value.measure, v);
            if value.measure == Measure::Accuracy { continue }
            if let Ok(per_document) = evaluation.per_document(value.measure) {
                let kept: Vec<f64> = per_document.into_iter().flatten().collect();
                prop_assert!((kept.iter().sum::<f64>() / kept.len() as f64 - v).abs() < 1e-12);
            }
        }
    }

    /// As scikit-learn has it over all labels that somebody knows: those of the model, and those that documents have.
    #[test]
    fn hamming_loss_is_over_all_labels(documents in vec(document(), 1..30)) {
        let evaluation = judge(&documents, false);
        let unseen = (LABELS..LABELS + 2).filter(|label| documents.iter().any(|d| d.truth.contains(label)));
        let labels: Vec<u32> = (0..LABELS).chain(unseen).collect();
        let wrong = |d: &Document| labels.iter().filter(|l| d.decided.contains(l) != d.truth.contains(l)).count();
        let expected = documents.iter().map(wrong).sum::<usize>() as f64 / (documents.len() * labels.len()) as f64;
        prop_assert!((evaluation.value(Measure::HammingLoss).unwrap() - expected).abs() < 1e-12);
    }

    #[test]
    fn perfect_lists_are_perfect(truths in vec(btree_set(0..LABELS, 1..5), 1..20)) {
        let documents: Vec<Document> = truths.into_iter().map(|truth| {
            let truth: Vec<u32> = truth.into_iter().collect();
            let mut ranked: Vec<Scored> = (0..LABELS)
                .map(|label| Scored { label, score: f64::from(u8::from(truth.contains(&label))) })
                .collect();
            ranked.sort_by(Scored::better_first);
            Document { ranked, decided: truth.clone(), truth }
        }).collect();
        let evaluation = judge(&documents, false);
        for name in ["RPrec", "MAP", "AP", "nDCG", "nDCG@4", "P@1", "MRR", "SubsetAccuracy", "F1@micro", "F1@samples",
                     "Jaccard@micro", "hF1", "hP"] {
            let value = evaluation.value(name.parse().unwrap()).unwrap();
            prop_assert!((value - 1.0).abs() < 1e-12, "{name} = {value}");
        }
        for name in ["OneError", "RankingLoss", "HammingLoss"] {
            prop_assert_eq!(evaluation.value(name.parse().unwrap()), Some(0.0));
        }
    }

    #[test]
    fn micro_and_macro_follow_their_definitions(documents in vec(document(), 1..20)) {
        let evaluation = judge(&documents, false);
        let count = |label: u32, decided: bool, truth: bool| documents.iter()
            .filter(|d| d.decided.contains(&label) == decided && d.truth.contains(&label) == truth)
            .count() as f64;
        let f1 = |tp: f64, fp: f64, fn_: f64| if tp + fp + fn_ == 0.0 { 0.0 } else { 2.0 * tp / (2.0 * tp + fp + fn_) };
        let of = |l: u32| (count(l, true, true), count(l, true, false), count(l, false, true));
        let all = (0..LABELS + 2).map(of).fold((0.0, 0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2));
        let micro = f1(all.0, all.1, all.2);
        prop_assert!((evaluation.value(Measure::F1_MICRO).unwrap() - micro).abs() < 1e-12);
        let trained: Vec<u32> = (0..LABELS).filter(|l| *l != 4).collect();
        let sum: f64 = trained.iter().map(|&l| { let (a, b, c) = of(l); f1(a, b, c) }).sum();
        prop_assert!((evaluation.value(Measure::F1_MACRO).unwrap() - sum / trained.len() as f64).abs() < 1e-12);
        let unseen: u64 = evaluation.unseen().iter().map(|(_, n)| n).sum();
        prop_assert_eq!(unseen as f64, count(9, false, true) + count(10, false, true));
    }

    #[test]
    fn intervals_are_reproducible_and_hold_their_mean(documents in vec(document(), 5..25), seed in 0u64..50) {
        let evaluation = judge(&documents, false);
        let resampling = Resampling { replicates: 60, seed, ..Resampling::default() };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let intervals = evaluation.intervals(&resampling).unwrap();
        prop_assert_eq!(&intervals, &pool.install(|| evaluation.intervals(&resampling)).unwrap());
        for i in intervals {
            prop_assert!(i.low <= i.high && i.standard_error >= 0.0, "{:?}", i);
        }
    }

    #[test]
    fn an_evaluation_compared_with_itself_does_not_differ(documents in vec(document(), 2..15)) {
        let evaluation = judge(&documents, false);
        let resampling = Resampling { replicates: 40, ..Resampling::default() };
        for c in evaluation.compare(&evaluation, &resampling).unwrap() {
            prop_assert_eq!((c.difference, c.low, c.high, c.bootstrap_p, c.randomisation_p), (0.0, 0.0, 0.0, 1.0, 1.0));
        }
    }

    #[test]
    fn holm_is_monotone_and_never_smaller(p in vec(0.0..1.0f64, 1..12)) {
        let adjusted = holm(&p);
        for i in 0..p.len() {
            prop_assert!(adjusted[i] >= p[i] && adjusted[i] <= 1.0);
            for j in 0..p.len() {
                prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
            }
        }
        let smallest = p.iter().copied().fold(f64::INFINITY, f64::min);
        let least = adjusted.iter().copied().fold(f64::INFINITY, f64::min);
        prop_assert!((least - (smallest * p.len() as f64).min(1.0)).abs() < 1e-15);
    }

    #[test]
    fn tests_turn_around_with_their_sides(pairs in vec((0i32..50, 0i32..50), 1..14)) {
        let a: Vec<f64> = pairs.iter().map(|p| f64::from(p.0)).collect();
        let b: Vec<f64> = pairs.iter().map(|p| f64::from(p.1)).collect();
        let (x, y) = (wilcoxon(&a, &b).unwrap(), wilcoxon(&b, &a).unwrap());
        prop_assert!((x.p_two_sided - y.p_two_sided).abs() < 1e-12);
        prop_assert!((0.0..=1.0).contains(&x.p_two_sided) && (0.0..=1.0).contains(&x.p_one_sided));
        let r = Resampling::default();
        let (x, y) = (randomisation(&a, &b, &r).unwrap(), randomisation(&b, &a, &r).unwrap());
        prop_assert!((x.p_two_sided - y.p_two_sided).abs() < 1e-12);
        let test = sign_test(pairs.len() as u64, 3);
        prop_assert!((test.p_two_sided - sign_test(3, pairs.len() as u64).p_two_sided).abs() < 1e-12);
    }
}

/// A difference that is there must be seen, and the same one with sides changed must be its mirror image.
#[test]
fn a_real_difference_is_found() {
    let options = EvaluationOptions { labels: 4, ..EvaluationOptions::default() };
    let (mut good, mut bad) = (Evaluation::new(options.clone()).unwrap(), Evaluation::new(options).unwrap());
    for i in 0..200u32 {
        let truth = i % 4;
        let list = |first: u32| -> Vec<Scored> {
            (0..4).map(|p| Scored { label: (first + p) % 4, score: f64::from(4 - p) }).collect()
        };
        let of_good = if i % 10 == 0 { truth + 1 } else { truth };
        let of_bad = if i % 4 == 0 { truth + 2 } else { truth };
        good.add(&list(of_good), &[of_good % 4], &[truth]);
        bad.add(&list(of_bad), &[of_bad % 4], &[truth]);
    }
    let resampling = Resampling { replicates: 500, ..Resampling::default() };
    let find = |list: &[tamis::measure::Comparison], measure| *list.iter().find(|c| c.measure == measure).unwrap();
    let ab = good.compare(&bad, &resampling).unwrap();
    let ba = bad.compare(&good, &resampling).unwrap();
    for measure in [Measure::F1_MICRO, Measure::Map, Measure::OneError, Measure::Accuracy] {
        let (x, y) = (find(&ab, measure), find(&ba, measure));
        assert!(x.bootstrap_p < 0.01 && x.randomisation_p < 0.01, "{x:?}");
        assert!((x.difference + y.difference).abs() < 1e-15);
        assert!(x.low.signum() == x.high.signum());
        if let (Some(s), Some(t)) = (x.sign, y.sign) {
            assert_eq!((s.wins, s.losses), (t.losses, t.wins));
            assert!(s.wins > s.losses, "a loss is turned around: {measure}");
        }
    }
    assert!(find(&ab, Measure::F1_MICRO).sign.is_none());
    assert!(find(&ab, Measure::Map).sign.is_some());

    let mut shorter = good.fresh();
    shorter.add(&[], &[], &[1]);
    assert!(good.compare(&shorter, &resampling).is_err());
}
