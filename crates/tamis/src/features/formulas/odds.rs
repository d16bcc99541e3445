//! Ratios between a label and the rest.

use super::{half, rates};
use crate::counts::Cell;

/// `log( (a/n_c) / (b/(n−n_c)) )`, the log probability ratio, half-count rule. A label without documents, or with all of
/// them, has ½ for the empty side. Mladenić & Grobelnik 1999 (LogProbRatio); Forman 2003, section 3, has it without the
/// logarithm; the ratio measurement of li, section 3.
pub fn log_ratio(Cell { a, b, c, d }: Cell) -> f64 {
    (half(a) * half(b + d) / (half(b) * half(a + c))).ln()
}

/// `log( (a/n_c + 1/n) / (b/(n−n_c) + 1/n) )`, the log probability ratio as if one more document had the term, and each side a share of it by its
/// size: what hardly any document has says little, for whichever side is smaller. The relevancy score of Wiener, Pedersen & Weigend 1995
/// with 1/n for their 1/6; Wang & Manning 2012 add one to all counts of occurrences.
pub fn smoothed_ratio(cell: Cell) -> f64 {
    let Cell { a, b, c, d } = cell;
    if a + c == 0.0 || b + d == 0.0 {
        return 0.0;
    }
    let ((own, rest), one) = (rates(cell), (a + b + c + d).recip());
    ((own + one) / (rest + one)).ln()
}

/// `(a/n_c) · log( (a/n_c) / (b/(n−n_c)) )`, half-count rule inside the logarithm only. Method 2; li 3.6; Nigam et al. 2000.
pub fn wllr(cell: Cell) -> f64 {
    if cell.a == 0.0 { 0.0 } else { rates(cell).0 * log_ratio(cell) }
}

/// `(a/n_c)^λ · (log ratio)^(1−λ)` where the ratio is WLLR's and exceeds 1, and `a > 0`; otherwise 0. Method 2; li 3.7.
pub fn wfo(lambda: f64, cell: Cell) -> f64 {
    if cell.a == 0.0 {
        return 0.0;
    }
    let ratio = log_ratio(cell);
    if ratio > 0.0 { rates(cell).0.powf(lambda) * ratio.powf(1.0 - lambda) } else { 0.0 }
}

/// `log( a·d / (b·c) )`, the log odds ratio, half-count rule. Method 2; Forman 2003, section 3; Mladenić & Grobelnik 1999.
pub fn or(Cell { a, b, c, d }: Cell) -> f64 {
    (half(a) * half(d) / (half(b) * half(c))).ln()
}

/// `tpr · (1 − fpr)`, the numerator of the odds ratio. Forman 2003, section 3 (OddN).
pub fn oddn(cell: Cell) -> f64 {
    let (tpr, fpr) = rates(cell);
    tpr * (1.0 - fpr)
}

/// `log( (a/n_c + 1/6) / (b/(n−n_c) + 1/6) )`, the relevancy score. Wiener, Pedersen & Weigend 1995; Sebastiani 2002, table 1,
/// where the damping is any constant; 1/6 is ours (method 2). No half counts are needed.
pub fn rs(cell: Cell) -> f64 {
    const DAMPING: f64 = 1.0 / 6.0;
    let (tpr, fpr) = rates(cell);
    ((tpr + DAMPING) / (fpr + DAMPING)).ln()
}

/// `log₂( 2 + a / max(1, b) )`, relevance frequency: 1 for a term that the label never has, however common it is
/// elsewhere. Lan, Tan, Su & Lu 2009.
pub fn rf(Cell { a, b, .. }: Cell) -> f64 {
    (2.0 + a / b.max(1.0)).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wfo_spans_frequency_and_ratio() {
        let cell = Cell { a: 6.0, b: 4.0, c: 2.0, d: 8.0 };
        assert_eq!(wfo(1.0, cell), 0.75);
        assert_eq!(wfo(0.0, cell), log_ratio(cell));
        // li 3.7: at ½ it orders as WLLR does, being its root.
        assert!((wfo(0.5, cell).powi(2) - wllr(cell)).abs() < 1e-15);
        // No more frequent in the label than outside, or not in the label: nothing.
        assert_eq!(wfo(0.3, Cell { a: 2.0, b: 3.0, c: 6.0, d: 9.0 }), 0.0);
        assert_eq!(wfo(0.0, Cell { a: 0.0, b: 0.0, c: 6.0, d: 9.0 }), 0.0);
    }

    #[test]
    fn one_more_document_is_shared_by_both_sides() {
        // (3/4 + 1/10) / (0 + 1/10), and 8.5 the other way round.
        let cell = Cell { a: 3.0, b: 0.0, c: 1.0, d: 6.0 };
        assert!((smoothed_ratio(cell) - 8.5_f64.ln()).abs() < 1e-14);
        assert!((smoothed_ratio(Cell { a: 0.0, b: 3.0, c: 6.0, d: 1.0 }) + 8.5_f64.ln()).abs() < 1e-14);
        // Of a term of one document the smaller side says no more than its size does.
        assert_eq!(smoothed_ratio(Cell { a: 0.0, b: 0.0, c: 1.0, d: 99.0 }), 0.0);
        assert_eq!(smoothed_ratio(Cell { a: 2.0, b: 0.0, c: 3.0, d: 0.0 }), 0.0);
    }

    #[test]
    fn half_counts_only_where_a_count_is_zero() {
        // b = 0: ½ in its place, (3/4) / (½/6).
        assert!((log_ratio(Cell { a: 3.0, b: 0.0, c: 1.0, d: 6.0 }) - 9.0_f64.ln()).abs() < 1e-15);
        assert!((or(Cell { a: 3.0, b: 0.0, c: 0.0, d: 6.0 }) - (18.0_f64 / 0.25).ln()).abs() < 1e-15);
        // A label that covers every document never looks characteristic.
        assert!(log_ratio(Cell { a: 5.0, b: 0.0, c: 5.0, d: 0.0 }) < 0.0);
    }
}
