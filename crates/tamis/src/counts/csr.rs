//! The one sparse matrix: compressed rows.

use std::ops::Range;

use rayon::prelude::*;

/// Sparse rows: row `r` holds columns `indices[offsets[r]..offsets[r+1]]`, ascending and distinct,
/// with their `values`. `Csr<()>` is a list of column sets (documents × labels) and costs nothing for values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Csr<V> {
    columns: usize,
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<V>,
}

impl<V: Copy> Csr<V> {
    /// No rows yet, over `columns` columns.
    pub fn new(columns: usize) -> Self {
        Self { columns, offsets: vec![0], indices: Vec::new(), values: Vec::new() }
    }

    /// Takes ready parts.
    ///
    /// # Panics
    /// When the parts do not form a matrix: offsets not ascending from 0 to the number of entries, columns out of
    /// range or not strictly ascending in a row. Callers build the parts; untrusted parts go through
    /// [`Csr::try_from_parts`].
    pub fn from_parts(columns: usize, offsets: Vec<usize>, indices: Vec<u32>, values: Vec<V>) -> Self {
        match Self::try_from_parts(columns, offsets, indices, values) {
            Ok(matrix) => matrix,
            Err(reason) => panic!("not a sparse matrix: {reason}"),
        }
    }

    /// Takes parts whose maker keeps the rules by construction; checked in debug builds only.
    pub(crate) fn trusted(columns: usize, offsets: Vec<usize>, indices: Vec<u32>, values: Vec<V>) -> Self {
        if cfg!(debug_assertions) {
            Self::from_parts(columns, offsets, indices, values)
        } else {
            Self { columns, offsets, indices, values }
        }
    }

    /// Takes parts from outside (a file, Python) and says what is wrong with them.
    pub fn try_from_parts(
        columns: usize,
        offsets: Vec<usize>,
        indices: Vec<u32>,
        values: Vec<V>,
    ) -> std::result::Result<Self, String> {
        if offsets.first() != Some(&0) || offsets.last() != Some(&indices.len()) {
            return Err(format!("row offsets must run from 0 to {}", indices.len()));
        }
        if indices.len() != values.len() {
            return Err(format!("{} columns but {} values", indices.len(), values.len()));
        }
        if let Some(row) = offsets.windows(2).position(|w| w[0] > w[1]) {
            return Err(format!("row {row} ends before it begins"));
        }
        for (row, w) in offsets.windows(2).enumerate() {
            let columns_of_row = &indices[w[0]..w[1]];
            if columns_of_row.windows(2).any(|c| c[0] >= c[1]) {
                return Err(format!("row {row}: columns are not strictly ascending"));
            }
            if columns_of_row.last().is_some_and(|&c| c as usize >= columns) {
                return Err(format!("row {row}: a column is beyond {columns}"));
            }
        }
        Ok(Self { columns, offsets, indices, values })
    }

    /// Appends a row; `entries` must be ascending by column, without repetition.
    pub fn push_row(&mut self, entries: impl IntoIterator<Item = (u32, V)>) {
        let start = self.indices.len();
        for (column, value) in entries {
            debug_assert!((column as usize) < self.columns);
            debug_assert!(self.indices.len() == start || self.indices[self.indices.len() - 1] < column);
            self.indices.push(column);
            self.values.push(value);
        }
        self.offsets.push(self.indices.len());
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of stored entries.
    pub fn entries(&self) -> usize {
        self.indices.len()
    }

    /// Where the rows begin and end in [`Csr::indices`]; one more than rows.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// All columns, row after row.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// All values, row after row.
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// Its offsets, columns and values, without copying them.
    pub fn into_parts(self) -> (Vec<usize>, Vec<u32>, Vec<V>) {
        (self.offsets, self.indices, self.values)
    }

    /// The entry range of a row.
    pub fn range(&self, row: usize) -> Range<usize> {
        self.offsets[row]..self.offsets[row + 1]
    }

    /// Columns of a row.
    pub fn row_indices(&self, row: usize) -> &[u32] {
        &self.indices[self.range(row)]
    }

    /// Values of a row.
    pub fn row_values(&self, row: usize) -> &[V] {
        &self.values[self.range(row)]
    }

    /// Columns and values of a row.
    pub fn row(&self, row: usize) -> impl ExactSizeIterator<Item = (u32, V)> + Clone + '_ {
        let range = self.range(row);
        self.indices[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }

    /// The value at a place, or `None` when it is not stored.
    pub fn get(&self, row: usize, column: u32) -> Option<V> {
        let at = self.row_indices(row).binary_search(&column).ok()?;
        Some(self.row_values(row)[at])
    }

    /// The given rows, in the given order.
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let entries = rows.iter().map(|&r| self.range(r).len()).sum();
        let mut out = Self {
            columns: self.columns,
            offsets: Vec::with_capacity(rows.len() + 1),
            indices: Vec::with_capacity(entries),
            values: Vec::with_capacity(entries),
        };
        out.offsets.push(0);
        for &row in rows {
            out.indices.extend_from_slice(self.row_indices(row));
            out.values.extend_from_slice(self.row_values(row));
            out.offsets.push(out.indices.len());
        }
        out
    }

    /// Rows become columns. Rows of the result are ascending because the input is walked in row order.
    pub fn transpose(&self) -> Self
    where
        V: Default,
    {
        let mut offsets = vec![0usize; self.columns + 1];
        for &c in &self.indices {
            offsets[c as usize + 1] += 1;
        }
        for c in 0..self.columns {
            offsets[c + 1] += offsets[c];
        }
        let mut next = offsets.clone();
        let mut indices = vec![0u32; self.indices.len()];
        let mut values = vec![V::default(); self.values.len()];
        for row in 0..self.rows() {
            for (c, v) in self.row(row) {
                let at = next[c as usize];
                next[c as usize] += 1;
                indices[at] = row as u32;
                values[at] = v;
            }
        }
        Self { columns: self.rows(), offsets, indices, values }
    }

    /// Keeps the columns that `new_column` maps to `Some`, renumbered; the mapping must be strictly ascending
    /// on the columns it keeps, so that rows stay sorted.
    pub fn map_columns(&self, columns: usize, new_column: &[Option<u32>]) -> Self {
        let mut out = Self::new(columns);
        out.offsets.reserve(self.rows());
        for row in 0..self.rows() {
            out.push_row(self.row(row).filter_map(|(c, v)| new_column[c as usize].map(|c| (c, v))));
        }
        out
    }

    /// The same places with other values.
    pub fn map_values<W: Copy + Send>(&self, f: impl Fn(V) -> W + Sync) -> Csr<W>
    where
        V: Sync,
    {
        Csr {
            columns: self.columns,
            offsets: self.offsets.clone(),
            indices: self.indices.clone(),
            values: self.values.par_iter().map(|&v| f(v)).collect(),
        }
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.offsets.capacity() * size_of::<usize>()
            + self.indices.capacity() * size_of::<u32>()
            + self.values.capacity() * size_of::<V>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dense(m: &Csr<u32>) -> Vec<Vec<u32>> {
        (0..m.rows())
            .map(|r| {
                let mut row = vec![0; m.columns()];
                m.row(r).for_each(|(c, v)| row[c as usize] = v);
                row
            })
            .collect()
    }

    fn sparse(rows: &[Vec<u32>]) -> Csr<u32> {
        let mut m = Csr::new(rows.first().map_or(0, Vec::len));
        for row in rows {
            m.push_row(row.iter().enumerate().filter(|(_, v)| **v > 0).map(|(c, v)| (c as u32, *v)));
        }
        m
    }

    proptest! {
        #[test]
        fn transpose_is_the_dense_transpose(rows in prop::collection::vec(prop::collection::vec(0u32..3, 7), 0..9)) {
            let m = sparse(&rows);
            let t = m.transpose();
            let expected: Vec<Vec<u32>> =
                (0..m.columns()).map(|c| rows.iter().map(|r| r[c]).collect()).collect();
            prop_assert_eq!(dense(&t), expected);
            prop_assert_eq!(t.transpose(), m);
        }
    }

    #[test]
    fn refuses_parts_that_are_not_a_matrix() {
        let bad = |offsets: &[usize], indices: &[u32]| {
            Csr::try_from_parts(3, offsets.to_vec(), indices.to_vec(), vec![1u32; indices.len()]).unwrap_err()
        };
        assert!(bad(&[0, 2], &[1, 1]).contains("ascending"));
        assert!(bad(&[0, 1], &[3]).contains("beyond 3"));
        assert!(bad(&[0, 2, 1], &[1]).contains("ends before"));
        assert!(bad(&[1], &[]).contains("offsets"));
    }
}
