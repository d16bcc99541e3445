//! The lowest threshold whose precision can be trusted (method 9).

use super::held_out::Sample;
use super::policy::Precision;
use crate::measure::significance::binomial_at_least;

/// How much lower each threshold that is tested reaches than the one before, in documents.
const STEP: f64 = 1.1;

/// The lowest threshold of a label at which precision is at least what is asked for, on documents like the held-out ones, with the
/// confidence asked for; `None` where none can be trusted so far.
///
/// Above the (k+1)-th highest score, k documents are a sample of those that will get the label, so the right ones among
/// them are binomial, and Clopper & Pearson's (1934) test tells whether the precision is too low. Testing one threshold after
/// another from above would find a good one by luck; so each test may err only with a part of 1 − confidence (the fallback
/// procedure, Wiens 2003): doublings of the first number of documents that can pass share it equally, and a test that is passed
/// hands its share on to the next.
pub(super) fn trusted(sample: &Sample, asked: &Precision) -> Option<f64> {
    let mut scores: Vec<(f32, bool)> = sample.positives.iter().map(|&s| (s, true)).collect();
    scores.extend(sample.negatives.iter().map(|&s| (s, false)));
    scores.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let risk = 1.0 - asked.confidence;
    // All of k documents are right with probability pᵏ where precision is p.
    let first = |risk: f64| (risk.ln() / asked.least.ln()).ceil().max(1.0);
    let all = scores.len() as f64;
    let starts = ((all / first(risk)).log2().floor() + 1.0).max(1.0);
    let share = risk / starts;
    let mut next_start = first(share);
    let mut next = next_start;
    let (mut right, mut carried, mut lowest) = (0u64, 0.0, None);
    for (k, &(score, positive)) in (1u64..).zip(&scores) {
        right += u64::from(positive);
        // Documents with equal scores are not told apart.
        let below = scores.get(k as usize).map(|s| s.0);
        if (k as f64) < next || below == Some(score) {
            continue;
        }
        let mut may_err = carried;
        while next_start <= k as f64 {
            may_err += share;
            next_start *= 2.0;
        }
        if may_err > 0.0 && binomial_at_least(right, k, asked.least) <= may_err {
            // All above the next score: exactly what was tested.
            lowest = Some(below.map_or(f64::NEG_INFINITY, |s| f64::from(s).next_up()));
            carried = may_err;
        } else {
            carried = 0.0;
        }
        next = (k as f64 * STEP).ceil();
    }
    lowest.map(|threshold| if threshold.is_finite() { threshold } else { f64::MIN })
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// A label whose probability is known at every score: the precision of a threshold is an integral.
    fn draw(documents: u32, slope: f64, rng: &mut ChaCha8Rng) -> Sample {
        let mut sample = Sample::default();
        for _ in 0..documents {
            let score: f32 = rng.random();
            let positive = rng.random::<f64>() < f64::from(score).powf(slope);
            (if positive { &mut sample.positives } else { &mut sample.negatives }).push(score);
        }
        sample
    }

    /// Mean of `s^slope` over scores from t to 1.
    fn precision(threshold: f64, slope: f64) -> f64 {
        let t = threshold.clamp(0.0, 1.0 - 1e-9);
        (1.0 - t.powf(slope + 1.0)) / ((slope + 1.0) * (1.0 - t))
    }

    /// The promise, kept over 200 draws for every shape and size: thresholds below the precision come no more often than was
    /// agreed (with three standard errors of the simulation), and thresholds are found where there are documents enough.
    #[test]
    fn the_promise_is_kept_over_200_draws() {
        for (documents, slope, least, confidence) in [
            (300, 1.0, 0.8, 0.9),
            (2000, 1.0, 0.9, 0.9),
            (2000, 3.0, 0.8, 0.8),
            (500, 0.2, 0.8, 0.9),
            (400, 0.3, 0.9, 0.5),
        ] {
            let mut rng = ChaCha8Rng::seed_from_u64(7);
            let (mut broken, mut found) = (0.0, 0.0);
            for _ in 0..200 {
                let sample = draw(documents, slope, &mut rng);
                if let Some(threshold) = trusted(&sample, &Precision { least, confidence }) {
                    found += 1.0;
                    broken += f64::from(u8::from(precision(threshold, slope) < least));
                }
            }
            let agreed = 200.0 * (1.0 - confidence);
            let error = (agreed * confidence).sqrt();
            assert!(broken <= agreed + 3.0 * error, "{documents} {slope} {least}: {broken} of 200");
            assert!(found > 100.0, "{documents} {slope} {least}: found in {found}");
        }
    }

    /// Where no threshold is good enough, finding one is an error, and errors are as rare as agreed.
    #[test]
    fn nothing_is_promised_where_nothing_can_be() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut found = 0;
        for _ in 0..200 {
            let mut sample = Sample::default();
            for _ in 0..1000 {
                let score: f32 = rng.random();
                let positive = rng.random::<f64>() < 0.88;
                (if positive { &mut sample.positives } else { &mut sample.negatives }).push(score);
            }
            found += u32::from(trusted(&sample, &Precision { least: 0.9, confidence: 0.9 }).is_some());
        }
        assert!(found <= 20 + 13, "{found} of 200");
    }

    #[test]
    fn few_or_equal_scores() {
        let asked = Precision { least: 0.9, confidence: 0.9 };
        let right = |n: usize| Sample { positives: (0..n).map(|i| i as f32).collect(), ..Sample::default() };
        // 0.9²² < 0.1 < 0.9²¹: so many must be right, and be all.
        assert_eq!(trusted(&right(21), &asked), None);
        assert_eq!(trusted(&right(22), &asked), Some(f64::MIN));
        let same = Sample { positives: vec![1.0; 500], negatives: vec![1.0; 100], ..Sample::default() };
        assert_eq!(trusted(&same, &asked), None);
        let apart = Sample { positives: vec![1.0; 500], negatives: vec![0.0; 900], ..Sample::default() };
        assert_eq!(trusted(&apart, &asked), Some(0f64.next_up()));
        assert_eq!(trusted(&Sample::default(), &asked), None);
    }
}
