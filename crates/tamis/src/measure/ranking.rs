//! Measures of one ranked list against the true labels (method 8).
//!
//! All are pure, allocate nothing and take the list best first and the true labels ascending without repetition. A
//! document without a true label has no value: `None`, and it takes no part in a mean. Only the order of the list
//! counts; ties were decided when it was ranked (method 7).

use std::sync::LazyLock;

use crate::classify::Scored;

/// A place of a ranked list: anything that carries a label number.
pub trait HasLabel: Copy {
    /// The label number.
    fn label(self) -> u32;
}

impl HasLabel for u32 {
    fn label(self) -> u32 {
        self
    }
}

impl HasLabel for Scored {
    fn label(self) -> u32 {
        self.label
    }
}

/// Documents have few true labels: looking at each in turn beats bisection for short lists, and `contains`, which is
/// made for long ones.
#[inline]
#[allow(clippy::manual_contains)]
fn is_true(truth: &[u32], label: u32) -> bool {
    if truth.len() <= 16 { truth.iter().any(|&t| t == label) } else { truth.binary_search(&label).is_ok() }
}

/// True labels in the first `k` places.
#[inline]
fn hits<L: HasLabel>(ranked: &[L], truth: &[u32], k: usize) -> usize {
    ranked.iter().take(k).filter(|place| is_true(truth, place.label())).count()
}

/// `RPrec`: precision in the top R, R = number of true labels; places not filled count as wrong. olsson 2.
pub fn r_precision<L: HasLabel>(ranked: &[L], truth: &[u32]) -> Option<f64> {
    let r = truth.len();
    (r > 0).then(|| hits(ranked, truth, r) as f64 / r as f64)
}

/// `AP`: the mean over true labels of the precision at their place; a true label not in the list contributes 0.
/// olsson 2.
pub fn average_precision<L: HasLabel>(ranked: &[L], truth: &[u32]) -> Option<f64> {
    let r = truth.len();
    if r == 0 {
        return None;
    }
    let (mut found, mut sum) = (0usize, 0.0);
    for (i, place) in ranked.iter().enumerate() {
        if is_true(truth, place.label()) {
            found += 1;
            sum += found as f64 / (i + 1) as f64;
            if found == r {
                break;
            }
        }
    }
    Some(sum / r as f64)
}

/// `P@k`: true labels in the first `k` places, divided by `k`.
pub fn precision_at<L: HasLabel>(ranked: &[L], truth: &[u32], k: usize) -> Option<f64> {
    if truth.is_empty() {
        None
    } else if k == 0 {
        Some(0.0)
    } else {
        Some(hits(ranked, truth, k) as f64 / k as f64)
    }
}

/// `R@k`: true labels in the first `k` places, divided by R.
pub fn recall_at<L: HasLabel>(ranked: &[L], truth: &[u32], k: usize) -> Option<f64> {
    (!truth.is_empty()).then(|| hits(ranked, truth, k) as f64 / truth.len() as f64)
}

/// `1 / log₂(i + 2)` for the first places, counted from 0: nearly every list ends within them.
static DISCOUNTS: LazyLock<[f64; 256]> = LazyLock::new(|| std::array::from_fn(|i| ((i + 2) as f64).log2().recip()));

#[inline]
fn discount(table: &[f64; 256], i: usize) -> f64 {
    table.get(i).copied().unwrap_or_else(|| ((i + 2) as f64).log2().recip())
}

/// `nDCG@k` with gain 1 for a true label; `None` for `k` means the whole list. Järvelin & Kekäläinen 2002.
pub fn ndcg<L: HasLabel>(ranked: &[L], truth: &[u32], k: Option<usize>) -> Option<f64> {
    let r = truth.len();
    if r == 0 {
        return None;
    }
    let k = k.unwrap_or(usize::MAX);
    if k == 0 {
        return Some(0.0);
    }
    let table = &*DISCOUNTS;
    let (mut found, mut gain) = (0usize, 0.0);
    for (i, place) in ranked.iter().take(k).enumerate() {
        if is_true(truth, place.label()) {
            gain += discount(table, i);
            found += 1;
            if found == r {
                break;
            }
        }
    }
    let ideal: f64 = (0..r.min(k)).map(|i| discount(table, i)).sum();
    Some(gain / ideal)
}

/// `MRR` of one document: one over the place of the first true label; 0 when none is listed.
pub fn reciprocal_rank<L: HasLabel>(ranked: &[L], truth: &[u32]) -> Option<f64> {
    if truth.is_empty() {
        return None;
    }
    let first = ranked.iter().position(|place| is_true(truth, place.label()));
    Some(first.map_or(0.0, |i| 1.0 / (i + 1) as f64))
}

/// `OneError`: 1 when the first place is wrong or empty, else 0. Schapire & Singer 2000.
pub fn one_error<L: HasLabel>(ranked: &[L], truth: &[u32]) -> Option<f64> {
    (!truth.is_empty()).then(|| f64::from(u8::from(hits(ranked, truth, 1) == 0)))
}

/// `Coverage`: place of the last true label − 1, so 0 is possible only for one true label in the first place.
///
/// A true label that is not in the list takes the last place of all `labels` (those the model knows and the unseen
/// true ones), as an unfilled place counts as wrong. scikit-learn's `coverage_error` does not subtract 1.
pub fn coverage<L: HasLabel>(ranked: &[L], truth: &[u32], labels: usize) -> Option<f64> {
    let r = truth.len();
    if r == 0 {
        return None;
    }
    let mut found = 0;
    for (i, place) in ranked.iter().enumerate() {
        if is_true(truth, place.label()) {
            found += 1;
            if found == r {
                return Some(i as f64);
            }
        }
    }
    let unseen = r - seen(truth, labels);
    Some((labels + unseen).saturating_sub(1) as f64)
}

/// How many true labels are among the `labels` the model knows.
fn seen(truth: &[u32], labels: usize) -> usize {
    truth.partition_point(|&t| (t as usize) < labels)
}

/// `RankingLoss`: share of pairs (true label, false label) in which the true one is not placed higher.
///
/// A true label that is not in the list loses against every false label, listed or not (tied at the end: wrong, as in
/// scikit-learn). 0 when every label is true. Schapire & Singer 2000.
pub fn ranking_loss<L: HasLabel>(ranked: &[L], truth: &[u32], labels: usize) -> Option<f64> {
    let r = truth.len();
    if r == 0 {
        return None;
    }
    let all_false = labels - seen(truth, labels).min(labels);
    if all_false == 0 {
        return Some(0.0);
    }
    let (mut found, mut wrong, mut false_above) = (0usize, 0u64, 0u64);
    for place in ranked {
        if is_true(truth, place.label()) {
            found += 1;
            wrong += false_above;
            if found == r {
                break;
            }
        } else {
            false_above += 1;
        }
    }
    wrong += (r - found) as u64 * all_false as u64;
    Some(wrong as f64 / (r as f64 * all_false as f64))
}

/// `RPrec` from the places (counted from 1) of the true labels that are in the list; `r` is the number of true labels.
pub fn r_precision_of_places(places: &[u32], r: usize) -> f64 {
    if r == 0 { 0.0 } else { places.iter().filter(|&&p| p as usize <= r).count() as f64 / r as f64 }
}

/// `AP` from the places (counted from 1, ascending) of the true labels that are in the list; `r` is the number of
/// true labels.
pub fn average_precision_of_places(places: &[u32], r: usize) -> f64 {
    if r == 0 {
        return 0.0;
    }
    places.iter().enumerate().map(|(i, &p)| (i + 1) as f64 / f64::from(p)).sum::<f64>() / r as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Manning, Raghavan & Schütze, Introduction to Information Retrieval, 8.4: places 1, 3 of two true labels have
    /// the average precision (1/1 + 2/3)/2.
    #[test]
    fn by_hand() {
        let ranked = [7u32, 1, 4, 2];
        let truth = [4, 7];
        assert_eq!(r_precision(&ranked, &truth), Some(0.5));
        assert_eq!(average_precision(&ranked, &truth), Some(f64::midpoint(1.0, 2.0 / 3.0)));
        assert_eq!(precision_at(&ranked, &truth, 3), Some(2.0 / 3.0));
        assert_eq!(precision_at(&ranked, &truth, 5), Some(0.4));
        assert_eq!(recall_at(&ranked, &truth, 1), Some(0.5));
        assert_eq!(reciprocal_rank(&ranked, &truth), Some(1.0));
        assert_eq!(one_error(&ranked, &truth), Some(0.0));
        assert_eq!(coverage(&ranked, &truth, 10), Some(2.0));
        // Of 2 × 8 pairs only (4, 1) is in the wrong order.
        assert_eq!(ranking_loss(&ranked, &truth, 10), Some(1.0 / 16.0));
        let ideal = 1.0 + 1.0 / 3f64.log2();
        assert!((ndcg(&ranked, &truth, None).unwrap() - 1.5 / ideal).abs() < 1e-15);
        assert!((ndcg(&ranked, &truth, Some(2)).unwrap() - 1.0 / ideal).abs() < 1e-15);
    }

    #[test]
    fn missing_labels_count_as_wrong() {
        let ranked = [3u32];
        let truth = [1, 3, 9];
        assert_eq!(r_precision(&ranked, &truth), Some(1.0 / 3.0));
        assert_eq!(average_precision(&ranked, &truth), Some(1.0 / 3.0));
        // Label 9 is unknown to a model of 5 labels: six labels in all, the last place is 6.
        assert_eq!(coverage(&ranked, &truth, 5), Some(5.0));
        // False labels 0, 2, 4: label 3 beats all, labels 1 and 9 none.
        assert_eq!(ranking_loss(&ranked, &truth, 5), Some(6.0 / 9.0));
        let empty: [u32; 0] = [];
        assert_eq!(one_error(&empty, &truth), Some(1.0));
        assert_eq!(reciprocal_rank(&empty, &truth), Some(0.0));
        assert_eq!(ndcg(&empty, &truth, Some(3)), Some(0.0));
    }

    #[test]
    fn a_document_without_a_true_label_has_no_value() {
        let ranked = [1u32, 2];
        assert_eq!(r_precision(&ranked, &[]), None);
        assert_eq!(average_precision(&ranked, &[]), None);
        assert_eq!(precision_at(&ranked, &[], 1), None);
        assert_eq!(recall_at(&ranked, &[], 1), None);
        assert_eq!(ndcg(&ranked, &[], None), None);
        assert_eq!(reciprocal_rank(&ranked, &[]), None);
        assert_eq!(one_error(&ranked, &[]), None);
        assert_eq!(coverage(&ranked, &[], 3), None);
        assert_eq!(ranking_loss(&ranked, &[], 3), None);
    }

    #[test]
    fn places_give_the_same() {
        let ranked = [5u32, 2, 8, 1, 0];
        let truth = [0, 2, 4];
        let places = [2, 5];
        assert_eq!(r_precision(&ranked, &truth), Some(r_precision_of_places(&places, 3)));
        assert_eq!(average_precision(&ranked, &truth), Some(average_precision_of_places(&places, 3)));
    }
}
