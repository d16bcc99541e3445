//! Rows of simulated sets → correlations and reversals.

use super::rows::{Row, SetRow};
use crate::measure::correlation::{Reversals, r_squared_matrix, reversals};
use crate::measure::simulation::{Judged, MEASURES};

/// What simulated sets say about measures.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// The first classifier's values: by measure, then set.
    pub values: Vec<Vec<f64>>,
    /// r² of the measures over sets.
    pub r_squared: Vec<Vec<f64>>,
    /// Reversals of MAP/RPrec, MAP/F1 and RPrec/F1.
    pub reversals: [Reversals; 3],
}

impl Simulated {
    /// From a simulation's rows; `None` when there are none.
    pub fn of(rows: &[Row]) -> Option<Self> {
        let sets: Vec<&SetRow> =
            rows.iter().filter_map(|row| if let Row::Set(set) = row { Some(set) } else { None }).collect();
        if sets.is_empty() {
            return None;
        }
        let numbers = |judged: &Judged| [judged.map, judged.rprec, judged.f1];
        let series = |of: &dyn Fn(&SetRow) -> [f64; 3]| -> Vec<Vec<f64>> {
            (0..MEASURES.len()).map(|m| sets.iter().map(|set| of(set)[m]).collect()).collect()
        };
        let values = series(&|set| numbers(&set.a));
        let differences = series(&|set| std::array::from_fn(|m| numbers(&set.a)[m] - numbers(&set.b)[m]));
        let pair = |x: usize, y: usize| reversals(&differences[x], &differences[y]);
        let r_squared = r_squared_matrix(&values);
        Some(Self { values, r_squared, reversals: [pair(0, 1), pair(0, 2), pair(1, 2)] })
    }
}
