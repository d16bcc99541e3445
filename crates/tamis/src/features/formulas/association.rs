//! Statistics of dependence between term and label.

use super::{quotient, rates};
use crate::counts::Cell;

/// `(a+c)(b+d)(a+b)(c+d)`.
fn margins(Cell { a, b, c, d }: Cell) -> f64 {
    (a + c) * (b + d) * (a + b) * (c + d)
}

/// `χ² = n (ad − cb)² / ((a+c)(b+d)(a+b)(c+d))`. Method 2; olsson 3.3; li 3.4; Yang & Pedersen 1997.
pub fn chi2(cell: Cell) -> f64 {
    let Cell { a, b, c, d } = cell;
    let determinant = a * d - c * b;
    quotient(cell.n() * (determinant * determinant), margins(cell))
}

/// `√n (ad − cb) / √((a+c)(b+d)(a+b)(c+d))`: the signed root of χ², so that only terms that speak for the label score.
/// Ng, Goh & Low 1997, "Feature selection, perceptron learning, and a usability case study", section 3.
pub fn ngl(cell: Cell) -> f64 {
    let Cell { a, b, c, d } = cell;
    quotient(cell.n().sqrt() * (a * d - c * b), margins(cell).sqrt())
}

/// `P(t,c)P(t̄,c̄) − P(t,c̄)P(t̄,c) = (ad − bc) / n²`: χ² without the factors that favour rare terms and labels.
/// Galavotti, Sebastiani & Simi 2000, "Experiments on the use of feature selection and negative evidence", section 2.
pub fn gss(cell: Cell) -> f64 {
    let Cell { a, b, c, d } = cell;
    let n = cell.n();
    quotient(a * d - b * c, n * n)
}

/// `G² = 2 Σ O·log(O/E)` over the four fields, `E` what independence would give.
/// Dunning 1993, "Accurate methods for the statistics of surprise and coincidence". `G²/2n` is the information gain of
/// the two classes "label" and "not label".
pub fn g2(cell: Cell) -> f64 {
    let Cell { a, b, c, d } = cell;
    let n = cell.n();
    let part = |observed: f64, row: f64, column: f64| {
        // A field that is not empty has no empty margin, so the quotient exists.
        if observed == 0.0 { 0.0 } else { observed * (observed * n / (row * column)).ln() }
    };
    // The pairs (a,d) and (b,c) change places when label and complement do; adding pairs keeps the sum the same bits.
    let agreeing = part(a, a + b, a + c) + part(d, c + d, b + d);
    let differing = part(b, a + b, b + d) + part(c, c + d, a + c);
    2.0 * (agreeing + differing)
}

/// Fisher's discriminant of presence in the label against presence outside,
/// `J = (tpr − fpr)² / (tpr(1−tpr) + fpr(1−fpr))`, given as `J/(1+J)`: the same order, and perfect separation is 1
/// instead of a division by zero. Chakrabarti et al. 1998, for two classes and presence or absence of the term.
pub fn fisher(cell: Cell) -> f64 {
    let (tpr, fpr) = rates(cell);
    let between = (tpr - fpr) * (tpr - fpr);
    quotient(between, between + (tpr * (1.0 - tpr) + fpr * (1.0 - fpr)))
}
