//! Thresholds over the documents' own scores, and the places of documents among them.

use super::ScoreTable;

/// Cells that spread scores before they are compared; about as many as a table has positives.
const CELLS: usize = 1 << 10;

/// For each level the thresholds that matter: 0, and the distinct scores of positives. A threshold between two of them
/// can be raised to the next one: no positive is lost, and negatives only go. So utilities, which grow with true and
/// fall with false positives, are best at one of these.
pub(super) struct Ranks {
    /// Ascending; the first is 0.
    pub thresholds: Vec<Vec<f64>>,
    /// For each level and document the last threshold it reaches.
    pub places: Vec<Vec<u32>>,
}

impl Ranks {
    pub(super) fn of(table: &ScoreTable) -> Self {
        let (mut thresholds, mut places) = (Vec::new(), Vec::new());
        for level in 0..table.depth() {
            let scores = table.level(level);
            let sorted = Sorted::new(scores.iter().zip(table.truth()).filter(|(_, t)| **t).map(|(&s, _)| s));
            places.push(scores.iter().map(|&s| sorted.place(s)).collect());
            thresholds.push(sorted.values);
        }
        Self { thresholds, places }
    }
}

/// Distinct values in order, found again through the cell they lie in: scores spread over `[0,1]`, so this beats sorting
/// by comparison and binary search, and ends in both where values crowd.
struct Sorted {
    values: Vec<f64>,
    /// For each cell how many values lie in cells before it; one more than cells.
    starts: Vec<u32>,
}

fn cell(value: f64) -> usize {
    (value * CELLS as f64) as usize
}

impl Sorted {
    fn new(scores: impl Iterator<Item = f64> + Clone) -> Self {
        // A score of exactly 1 has a cell of its own.
        let mut ends = vec![0u32; CELLS + 2];
        ends[0] = 1;
        let mut count = 1;
        for score in scores.clone() {
            ends[cell(score)] += 1;
            count += 1;
        }
        let mut total = 0;
        for end in &mut ends {
            total += *end;
            *end = total;
        }
        let mut spread = vec![0.0; count];
        let mut next = ends.clone();
        for score in std::iter::once(0.0).chain(scores) {
            let at = &mut next[cell(score)];
            *at -= 1;
            spread[*at as usize] = score;
        }
        let mut values = Vec::with_capacity(count);
        let mut starts = Vec::with_capacity(CELLS + 2);
        let mut from = 0;
        for end in ends {
            starts.push(values.len() as u32);
            let crowd = &mut spread[from..end as usize];
            if crowd.len() > 1 {
                crowd.sort_unstable_by(f64::total_cmp);
            }
            for &mut value in crowd {
                if values.last().is_none_or(|&last| last < value) {
                    values.push(value);
                }
            }
            from = end as usize;
        }
        Self { values, starts }
    }

    /// The number of the last value that is at most `score`, for a score that is not negative.
    fn place(&self, score: f64) -> u32 {
        let cell = cell(score);
        let (from, to) = (self.starts[cell] as usize, self.starts[cell + 1] as usize);
        let crowd = &self.values[from..to];
        let within = if crowd.len() < 8 {
            crowd.iter().filter(|&&v| v <= score).count()
        } else {
            crowd.partition_point(|&v| v <= score)
        };
        (from + within) as u32 - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn places_are_counts_of_distinct_values(
            rows in prop::collection::vec((prop_oneof![0.0..=1.0, Just(0.0), Just(1.0), (0u32..21).prop_map(|i| f64::from(i) / 20.0)], any::<bool>()), 1..60)
        ) {
            let table = ScoreTable::from_rows(&rows.iter().map(|&(s, t)| (vec![s], t)).collect::<Vec<_>>()).unwrap();
            let ranks = Ranks::of(&table);
            let mut expected: Vec<f64> = rows.iter().filter(|r| r.1).map(|r| r.0).chain([0.0]).collect();
            expected.sort_by(f64::total_cmp);
            expected.dedup();
            prop_assert_eq!(&ranks.thresholds[0], &expected);
            for (place, (score, _)) in ranks.places[0].iter().zip(&rows) {
                let slow = expected.iter().filter(|&v| v <= score).count() as u32 - 1;
                prop_assert_eq!(*place, slow);
            }
        }
    }
}
