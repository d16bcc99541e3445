//! Scores that count documents, or say how pure a term's documents are.

use super::{quotient, rates};
use crate::counts::Cell;

/// `df(t)`, the documents that contain the term. Method 2; olsson 3.1; li 3.1.
pub fn df(Cell { a, b, .. }: Cell) -> f64 {
    a + b
}

/// `a − b`: right minus wrong when every document with the term gets the label.
/// Forman 2003, "An extensive empirical study of feature selection metrics", section 3 (Acc).
pub fn acc(Cell { a, b, .. }: Cell) -> f64 {
    a - b
}

/// `|a/n_c − b/(n−n_c)|`: accuracy with both sides weighted alike. Forman 2003, section 3 (Acc2).
pub fn acc2(cell: Cell) -> f64 {
    let (tpr, fpr) = rates(cell);
    (tpr - fpr).abs()
}

/// `2a / (n_c + df)`: F1 of the term taken as a classifier. Forman 2003, section 3 (F1).
pub fn f1(Cell { a, b, c, .. }: Cell) -> f64 {
    quotient(2.0 * a, (a + c) + (a + b))
}

/// `P(t|c)² · P(c|t)²`. Shang et al. 2007, "A novel feature selection algorithm for text categorization", eq. 10; there
/// summed over the labels.
pub fn gini(Cell { a, b, c, .. }: Cell) -> f64 {
    let product = quotient(a, a + c) * quotient(a, a + b);
    product * product
}

/// `P(c|t) = a / df`: the DIA association factor. Fuhr et al. 1991, "AIR/X"; Sebastiani 2002, "Machine learning in
/// automated text categorization", table I.
pub fn dia(Cell { a, b, .. }: Cell) -> f64 {
    quotient(a, a + b)
}

/// `P(c|t) / (P(t̄|c) + P(t|c̄) + 1)`: the distinguishing feature selector. Uysal & Gunal 2012, "A novel probabilistic
/// feature selection method for text classification"; there summed over the labels.
pub fn dfs(cell: Cell) -> f64 {
    let Cell { a, b, c, .. } = cell;
    let (_, fpr) = rates(cell);
    quotient(a, a + b) / (quotient(c, a + c) + fpr + 1.0)
}
