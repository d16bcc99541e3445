//! Scores from information theory.

use super::{half, odds::log_ratio, rates};
use crate::counts::Cell;

/// `−log(1 + b/a) − log P(c)`, pointwise mutual information: `log( P(t,c) / (P(t) P(c)) )` with the term's frequency taken
/// out of the quotient (li 3.2). The half-count rule applies to `a` and `b`, the two counts of the quotient: without it
/// on `b`, every term of one label only would score the same, whether one document has it or a hundred. Method 2;
/// Yang & Pedersen 1997. A label without documents has ½ for its count.
pub fn mi(cell: Cell) -> f64 {
    let Cell { a, b, c, .. } = cell;
    -(half(b) / half(a)).ln_1p() - (half(a + c) / half(cell.n())).ln()
}

/// What one label adds to `ig-presence`: `P(c,t)·log( P(c,t) / (P(c)P(t)) )`, 0 when term and label do not meet.
/// Method 2; novovicova eq. 1. Summed over the labels this is also the expected cross entropy for text of
/// Mladenić & Grobelnik 1999.
pub fn ig_presence_part(cell: Cell) -> f64 {
    let Cell { a, b, c, .. } = cell;
    let n = cell.n();
    if a == 0.0 { 0.0 } else { a / n * (a * n / ((a + c) * (a + b))).ln() }
}

/// What one label adds to `ig`: `P(c,t)·log( P(c|t)/P(c) ) + P(c,t̄)·log( P(c|t̄)/P(c) )`.
///
/// Method 2 (olsson 3.2, li 3.3) writes three sums; since `P(c) = P(c,t) + P(c,t̄)` they fall into these parts, one for
/// each label, which is also how a label that the term does not meet is left in closed form (see [`ig_absent`]).
pub fn ig_part(cell: Cell) -> f64 {
    let Cell { a, b, c, d } = cell;
    let (n, n_c) = (cell.n(), a + c);
    let part = |x: f64, given: f64| if x == 0.0 { 0.0 } else { x / n * (x * n / (given * n_c)).ln() };
    // The sum is P(c) times a divergence, so never negative; rounding must not make it so.
    (part(a, a + b) + part(c, c + d)).max(0.0)
}

/// What all labels that the term does not meet add to `ig` together: with `a = 0` each adds
/// `P(c)·log( n/(n−df) )`, so only the sum of their documents matters.
pub fn ig_absent(n: f64, df: f64, label_documents: f64) -> f64 {
    // A term in every document meets every label that has one, so the quotient exists where it is needed.
    if label_documents == 0.0 { 0.0 } else { label_documents / n * (n / (n - df)).ln() }
}

/// `D( P(·|c) ‖ P(·|c̄) )`: divergence between presence of the term in documents of the label and in all others,
/// `tpr·log(tpr/fpr) + (1−tpr)·log((1−tpr)/(1−fpr))`. Kullback & Leibler 1951, for two outcomes.
/// Half-count rule.
pub fn kl(cell: Cell) -> f64 {
    let Cell { a, b, c, d } = cell;
    let absence = Cell { a: c, b: d, c: a, d: b };
    let part = |cell: Cell| if cell.a == 0.0 { 0.0 } else { rates(cell).0 * log_ratio(cell) };
    part(cell) + part(absence)
}

/// `P(t) · |log( odds(c|t) / odds(c) )|`, weight of evidence for text. The odds quotient equals WLLR's ratio of rates.
/// Mladenić & Grobelnik 1999, "Feature selection for unbalanced class distribution and naive Bayes", section 2; there
/// the prior-weighted average over labels. Half-count rule.
pub fn woe(cell: Cell) -> f64 {
    super::quotient(cell.a + cell.b, cell.n()) * log_ratio(cell).abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two terms that only one label has, the one with more documents is worth more; and the order of terms that
    /// other labels have too is that of the plain quotient.
    #[test]
    fn a_pure_term_with_more_documents_is_worth_more() {
        let pure = |a: f64| Cell { a, b: 0.0, c: 50.0 - a, d: 50.0 };
        assert!(mi(pure(2.0)) > mi(pure(1.0)) && mi(pure(40.0)) > mi(pure(2.0)));
        // −log(1 + ½/2) − log ½.
        assert!((mi(pure(2.0)) - 1.6_f64.ln()).abs() < 1e-15);
        // Never met: −log(1 + 3/½) − log ½.
        assert!((mi(Cell { a: 0.0, b: 3.0, c: 50.0, d: 47.0 }) - (2.0_f64 / 7.0).ln()).abs() < 1e-15);
        let plain = |Cell { a, b, c, d }: Cell| (a * (a + b + c + d) / ((a + c) * (a + b))).ln();
        let met = Cell { a: 6.0, b: 4.0, c: 2.0, d: 8.0 };
        assert!((mi(met) - plain(met)).abs() < 1e-15);
    }
}
