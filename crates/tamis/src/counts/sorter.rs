//! Rows in the order of their terms' places.

use std::mem::MaybeUninit;

use super::tally::Rows;

/// Sorts rows; keeps its memory from row to row.
#[derive(Default)]
pub(super) struct Sorter {
    narrow: Vec<u32>,
    wide: Vec<u64>,
}

impl Sorter {
    /// Writes the entries of a row in order of their places. An entry is sorted as one integer, the place above the
    /// count; where both fit into 32 bits, as they nearly always do, into a half of the machine word.
    pub(super) fn sort(
        &mut self,
        rows: &Rows,
        row: usize,
        columns: usize,
        place: &[u32],
        indices: &mut [MaybeUninit<u32>],
        values: &mut [MaybeUninit<u32>],
    ) {
        let shift = u32::try_from(columns).map_or(0, u32::leading_zeros).min(31);
        let ones = (1u32 << shift) - 1;
        self.narrow.clear();
        let mut beyond = 0;
        rows.for_each(row, |term, count| {
            beyond |= count & !ones;
            self.narrow.push(place[term as usize] << shift | count & ones);
        });
        assert!(self.narrow.len() == indices.len() && indices.len() == values.len(), "a row's size is wrong");
        let to = indices.iter_mut().zip(values);
        if beyond == 0 {
            self.narrow.sort_unstable();
            for ((index, value), &entry) in to.zip(&self.narrow) {
                index.write(entry >> shift);
                value.write(entry & ones);
            }
        } else {
            self.wide.clear();
            rows.for_each(row, |term, count| {
                self.wide.push(u64::from(place[term as usize]) << 32 | u64::from(count));
            });
            self.wide.sort_unstable();
            for ((index, value), &entry) in to.zip(&self.wide) {
                index.write((entry >> 32) as u32);
                value.write(entry as u32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Both widths of integers sort as pairs do.
        #[test]
        fn rows_are_sorted_by_place(
            row in prop::collection::btree_map(0u32..1000, prop_oneof![1u32..5, 1u32.., Just(u32::MAX)], 0..60),
            columns in prop_oneof![1000usize..5000, Just(1 << 31), Just(u32::MAX as usize)],
        ) {
            let terms: Vec<u32> = row.keys().copied().collect();
            let mut rows = Rows::default();
            rows.push(&terms, |term| row[&term]);
            // Terms go to places in reverse, up to the last column.
            let place: Vec<u32> = (0..1000).map(|term| columns as u32 - 1 - term).collect();
            let (mut indices, mut values) = (vec![MaybeUninit::uninit(); row.len()], vec![MaybeUninit::uninit(); row.len()]);
            Sorter::default().sort(&rows, 0, columns, &place, &mut indices, &mut values);
            // SAFETY: `sort` writes every place of the row.
            let read = |v: &[MaybeUninit<u32>]| v.iter().map(|x| unsafe { x.assume_init() }).collect::<Vec<u32>>();
            let mut expected: Vec<(u32, u32)> = row.iter().map(|(&t, &c)| (place[t as usize], c)).collect();
            expected.sort_unstable();
            prop_assert_eq!(read(&indices).into_iter().zip(read(&values)).collect::<Vec<_>>(), expected);
        }
    }
}
