//! The formulas of method 2 and further well-known ones, by family: each a pure, total function on a [`Cell`], or on the
//! row of cells of a term.
//!
//! All follow method 1: natural logarithms, `0·log 0 = 0`, a quotient with a zero denominator is 0, and where a
//! logarithm of a quotient of counts is taken, a count that is zero is replaced there by ½ (the half-count rule).
//! Short paper names (olsson, novovicova, li) are those of the specification.

pub mod association;
pub mod bhattacharyya;
pub mod frequency;
pub mod information;
pub mod odds;
pub mod separation;

use crate::counts::Cell;

/// `x / y`, and 0 when `y` is 0 (method 1).
fn quotient(x: f64, y: f64) -> f64 {
    if y == 0.0 { 0.0 } else { x / y }
}

/// A count under a logarithm: ½ in place of zero, any other count as it is (method 1, half-count rule).
fn half(count: f64) -> f64 {
    if count == 0.0 { 0.5 } else { count }
}

/// `a/n_c` and `b/(n − n_c)`: how often the term occurs in documents of the label, and in all others.
/// A label that every document has leaves no others: that rate is 0.
fn rates(Cell { a, b, c, d }: Cell) -> (f64, f64) {
    (quotient(a, a + c), quotient(b, b + d))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Formula;

    /// Manning, Raghavan & Schütze, Introduction to Information Retrieval (2008), example 13.3 and 13.4: term "export"
    /// and class "poultry" in Reuters-RCV1.
    const EXPORT_POULTRY: Cell = Cell { a: 49.0, b: 27_652.0, c: 141.0, d: 774_106.0 };

    #[test]
    fn the_textbook_example_of_chi2_and_mutual_information() {
        assert!((association::chi2(EXPORT_POULTRY) - 284.0).abs() < 0.5);
        let bits = association::g2(EXPORT_POULTRY) / (2.0 * EXPORT_POULTRY.n()) / std::f64::consts::LN_2;
        assert!((bits - 0.000_110_5).abs() < 5e-8, "{bits}");
    }

    /// Every formula by hand on one small table: n = 20, n_c = 8, df = 10.
    #[test]
    fn formulas_by_hand() {
        let cell = Cell { a: 6.0, b: 4.0, c: 2.0, d: 8.0 };
        let (tpr, fpr) = (0.75_f64, 1.0 / 3.0_f64);
        let cases: &[(&str, f64)] = &[
            ("chi2", 20.0 * (48.0_f64 - 8.0).powi(2) / (8.0 * 12.0 * 10.0 * 10.0)),
            // No count is zero, so the rewritten form is log( a·n / ((a+c)(a+b)) ).
            ("mi", (6.0_f64 * 20.0 / (8.0 * 10.0)).ln()),
            // F⁻¹(0.75) and F⁻¹(1/3) as tables of the normal distribution give them.
            ("bns", 0.674_489_750_196_081_7 + 0.430_727_299_295_457_5),
            ("wllr", tpr * (tpr / fpr).ln()),
            ("or", (6.0_f64 * 8.0 / (4.0 * 2.0)).ln()),
            ("slpr", ((tpr + 0.05) / (fpr + 0.05)).ln()),
            ("gini", (0.75_f64 * 0.6).powi(2)),
            ("acc", 2.0),
            ("acc2", tpr - fpr),
            ("f1", 2.0 * 0.75 * 0.6 / 1.35),
            ("ngl", 20.0_f64.sqrt() * 40.0 / (8.0_f64 * 12.0 * 10.0 * 10.0).sqrt()),
            ("gss", 0.3 * 0.4 - 0.2 * 0.1),
            (
                "g2",
                2.0 * (6.0 * (6.0_f64 / 4.0).ln()
                    + 4.0 * (4.0_f64 / 6.0).ln()
                    + 2.0 * (2.0_f64 / 4.0).ln()
                    + 8.0 * (8.0_f64 / 6.0).ln()),
            ),
            ("kl", tpr * (tpr / fpr).ln() + (1.0 - tpr) * ((1.0 - tpr) / (1.0 - fpr)).ln()),
            ("woe", 0.5 * (tpr / fpr).ln()),
            ("lpr", (tpr / fpr).ln()),
            ("rs", ((tpr + 1.0 / 6.0) / (fpr + 1.0 / 6.0)).ln()),
            ("dia", 0.6),
            ("dfs", 0.6 / (0.25 + fpr + 1.0)),
            ("rf", 3.5_f64.log2()),
            ("power", (2.0_f64 / 3.0).powi(5) - 0.25_f64.powi(5)),
            ("oddn", 0.75 * 2.0 / 3.0),
            ("fisher", {
                let between = (tpr - fpr).powi(2);
                between / (between + tpr * 0.25 + fpr * 2.0 / 3.0)
            }),
        ];
        for (name, expected) in cases {
            let formula = Formula::ALL.iter().find(|f| f.spec().name == *name).expect(name);
            let got = formula.of_cell(cell).expect("a cell formula");
            assert!((got - expected).abs() < 1e-12, "{name}: {got} instead of {expected}");
        }
        // Nothing registered for cells is missing above, except wfo, which has its own test.
        let cells = Formula::ALL.iter().filter(|f| f.of_cell(cell).is_some()).count();
        assert_eq!(cells, cases.len() + 1);
    }

    /// Empty margins, single documents, labels that cover all or nothing: finite everywhere.
    #[test]
    fn formulas_are_total() {
        let counts = [0.0, 1.0, 2.0, 7.0, 1e6];
        for formula in Formula::ALL {
            for a in counts {
                for b in counts {
                    for c in counts {
                        for d in counts {
                            if let Some(score) = formula.of_cell(Cell { a, b, c, d }) {
                                assert!(score.is_finite(), "{formula:?} of {a} {b} {c} {d} is {score}");
                            }
                        }
                    }
                }
            }
        }
    }
}
