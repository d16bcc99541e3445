//! Somebody else's sparse matrix, read where it lies.

use super::Csr;
use crate::{Error, Result};

/// Documents × terms wherever the numbers are: all that counting needs to know of a matrix.
pub trait Documents: Sync {
    /// Number of documents.
    fn documents(&self) -> usize;

    /// Number of terms.
    fn terms(&self) -> usize;

    /// Hands the terms that a document has to `each`, once, with their occurrences, 1 or more.
    fn for_each_term(&self, document: usize, each: impl FnMut(u32, u32));
}

impl Documents for Csr<u32> {
    fn documents(&self) -> usize {
        self.rows()
    }

    fn terms(&self) -> usize {
        self.columns()
    }

    fn for_each_term(&self, document: usize, mut each: impl FnMut(u32, u32)) {
        self.row(document).for_each(|(term, count)| each(term, count));
    }
}

/// A whole number of 32 or 64 bits, as index arrays have them.
pub trait Offset: Copy + Send + Sync {
    /// As a place; a negative number is beyond every place.
    fn place(self) -> usize;
}

impl Offset for i32 {
    fn place(self) -> usize {
        usize::try_from(self).unwrap_or(usize::MAX)
    }
}

impl Offset for i64 {
    fn place(self) -> usize {
        usize::try_from(self).unwrap_or(usize::MAX)
    }
}

/// A number of any kind that a matrix may hold.
pub trait Number: Copy + Send + Sync {
    /// Its value.
    fn value(self) -> f64;
}

macro_rules! numbers {
    ($($kind:ty),*) => {$(
        impl Number for $kind {
            fn value(self) -> f64 {
                self as f64
            }
        }
    )*};
}
numbers!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

impl Number for bool {
    fn value(self) -> f64 {
        f64::from(u8::from(self))
    }
}

/// What the numbers of a matrix may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entries {
    /// Occurrences: 0, 1, 2 …
    Whole,
    /// Any number of 0 or more, of which only matters whether it is above 0; it counts as one occurrence at least.
    Weights,
}

/// Compressed rows in borrowed arrays, checked once and then read in place: nothing is copied, whatever the types.
#[derive(Debug, Clone, Copy)]
pub struct CsrView<'a, I, V> {
    columns: usize,
    offsets: &'a [I],
    indices: &'a [I],
    values: &'a [V],
}

impl<'a, I: Offset, V: Number> CsrView<'a, I, V> {
    /// Checks the arrays: offsets that ascend from 0 to the number of entries, columns strictly ascending in each row and
    /// below `columns`, values as `entries` says. NaN and infinities are refused.
    pub fn new(columns: usize, offsets: &'a [I], indices: &'a [I], values: &'a [V], entries: Entries) -> Result<Self> {
        Self::checked(columns, offsets, indices, values, entries, true)
    }

    fn checked(
        columns: usize,
        offsets: &'a [I],
        indices: &'a [I],
        values: &'a [V],
        entries: Entries,
        ordered: bool,
    ) -> Result<Self> {
        let wrong = |reason: String| Error::data(format!("not a sparse matrix: {reason}"));
        if u32::try_from(columns).is_err() {
            return Err(wrong(format!("{columns} columns; at most 4,294,967,295 can be counted")));
        }
        if indices.len() != values.len() {
            return Err(wrong(format!("{} columns but {} values", indices.len(), values.len())));
        }
        if offsets.first().map(|o| o.place()) != Some(0) || offsets.last().map(|o| o.place()) != Some(indices.len()) {
            return Err(wrong(format!("row offsets must run from 0 to {}", indices.len())));
        }
        for (row, w) in offsets.windows(2).enumerate() {
            let (start, end) = (w[0].place(), w[1].place());
            let own = indices.get(start..end).ok_or_else(|| wrong(format!("row {row} has no proper end")))?;
            if ordered && own.windows(2).any(|c| c[0].place() >= c[1].place()) {
                return Err(wrong(format!("row {row}: columns are not strictly ascending")));
            }
            let last = if ordered { own.last().map(|c| c.place()) } else { own.iter().map(|c| c.place()).max() };
            if last.is_some_and(|column| column >= columns) {
                return Err(wrong(format!("row {row}: a column is beyond {columns}")));
            }
        }
        let fits = |v: f64| match entries {
            Entries::Whole => v >= 0.0 && v <= f64::from(u32::MAX) && v.fract() == 0.0,
            Entries::Weights => v >= 0.0 && v.is_finite(),
        };
        if let Some(value) = values.iter().map(|v| v.value()).find(|&v| !fits(v)) {
            return Err(Error::data(if value.is_nan() {
                "Input contains NaN.".to_owned()
            } else if value.is_infinite() {
                "Input contains infinity.".to_owned()
            } else if value < 0.0 {
                format!("Negative values in data: {value}; counts are 0 or more")
            } else {
                format!(
                    "{value} is not a count: whole numbers of occurrences are expected (weights such as tf-idf are \
                     computed inside, where they are needed)"
                )
            }));
        }
        Ok(Self { columns, offsets, indices, values })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// All columns, row after row, where they lie.
    pub fn indices(&self) -> &'a [I] {
        self.indices
    }

    /// All values, row after row, where they lie.
    pub fn values(&self) -> &'a [V] {
        self.values
    }

    /// The sum of a row: the length of a document, when all its terms are in the matrix.
    pub fn row_sum(&self, row: usize) -> f64 {
        self.values[self.offsets[row].place()..self.offsets[row + 1].place()].iter().map(|v| v.value()).sum()
    }

    /// A matrix of our own, without the zeros that the arrays may store.
    pub fn to_csr(&self) -> Csr<u32> {
        let mut matrix = Csr::new(self.columns);
        let mut row: Vec<(u32, u32)> = Vec::new();
        for document in 0..self.rows() {
            row.clear();
            self.for_each_term(document, |term, count| row.push((term, count)));
            matrix.push_row(row.iter().copied());
        }
        matrix
    }
}

impl<I: Offset, V: Number> Documents for CsrView<'_, I, V> {
    fn documents(&self) -> usize {
        self.rows()
    }

    fn terms(&self) -> usize {
        self.columns
    }

    fn for_each_term(&self, document: usize, mut each: impl FnMut(u32, u32)) {
        let range = self.offsets[document].place()..self.offsets[document + 1].place();
        for (column, value) in self.indices[range.clone()].iter().zip(&self.values[range]) {
            let value = value.value();
            if value > 0.0 {
                each(column.place() as u32, value.ceil() as u32);
            }
        }
    }
}

/// Rows whose columns come in any order, once each: enough for counting, and what scikit-learn's `CountVectorizer` makes.
#[derive(Debug, Clone, Copy)]
pub struct UnorderedView<'a, I, V>(CsrView<'a, I, V>);

impl<'a, I: Offset, V: Number> UnorderedView<'a, I, V> {
    /// Checks the arrays as [`CsrView::new`] does, but for the order of columns; `None` when a column comes twice in a row.
    pub fn new(
        columns: usize,
        offsets: &'a [I],
        indices: &'a [I],
        values: &'a [V],
        entries: Entries,
    ) -> Result<Option<Self>> {
        let view = CsrView::checked(columns, offsets, indices, values, entries, false)?;
        // The row in which a column was seen last, plus one. A row that ascends needs no such look.
        let mut seen = Vec::new();
        for (row, w) in offsets.windows(2).enumerate() {
            let own = &indices[w[0].place()..w[1].place()];
            if own.windows(2).all(|c| c[0].place() < c[1].place()) {
                continue;
            }
            seen.resize(columns, 0u32);
            for column in own {
                let seen = &mut seen[column.place()];
                if *seen == row as u32 + 1 {
                    return Ok(None);
                }
                *seen = row as u32 + 1;
            }
        }
        Ok(Some(Self(view)))
    }
}

impl<I: Offset, V: Number> Documents for UnorderedView<'_, I, V> {
    fn documents(&self) -> usize {
        self.0.rows()
    }

    fn terms(&self) -> usize {
        self.0.columns
    }

    fn for_each_term(&self, document: usize, each: impl FnMut(u32, u32)) {
        self.0.for_each_term(document, each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_matter_to_counting() {
        let labels = Csr::try_from_parts(2, vec![0, 1, 2, 3], vec![0, 1, 0], vec![(); 3]).unwrap();
        let ordered =
            CsrView::new(4, &[0i32, 2, 3, 6], &[0, 3, 1, 0, 1, 2], &[2i64, 1, 1, 1, 5, 3], Entries::Whole).unwrap();
        let other =
            UnorderedView::new(4, &[0i32, 2, 3, 6], &[3, 0, 1, 2, 0, 1], &[1i64, 2, 1, 3, 1, 5], Entries::Whole);
        let other = other.unwrap().unwrap();
        let table = super::super::Contingency::of_matrix(&ordered, &labels).unwrap();
        assert_eq!(table, super::super::Contingency::of_matrix(&other, &labels).unwrap());
        let twice = UnorderedView::new(4, &[0i32, 1, 4], &[1, 2, 0, 2], &[1u8; 4], Entries::Whole).unwrap();
        assert!(twice.is_none());
        let beyond = UnorderedView::new(4, &[0i32, 2], &[4, 0], &[1u8; 2], Entries::Whole).unwrap_err();
        assert!(beyond.to_string().contains("beyond 4"));
    }

    #[test]
    fn reads_in_place_what_is_above_zero() {
        let view =
            CsrView::new(4, &[0i64, 2, 2, 4], &[0i64, 3, 1, 2], &[2.0f32, 1.0, 0.0, 3.0], Entries::Whole).unwrap();
        let matrix = view.to_csr();
        assert_eq!(matrix.offsets(), [0, 2, 2, 3]);
        assert_eq!(matrix.indices(), [0, 3, 2]);
        assert_eq!(matrix.values(), [2, 1, 3]);
        assert_eq!((view.row_sum(0), view.row_sum(1)), (3.0, 0.0));
    }

    #[test]
    fn refuses_what_is_no_matrix_or_no_count() {
        let message = |offsets: &[i32], indices: &[i32], values: &[f64], entries| {
            CsrView::new(3, offsets, indices, values, entries).unwrap_err().to_string()
        };
        let whole = |value: f64| message(&[0, 1], &[0], &[value], Entries::Whole);
        assert!(whole(f64::NAN).contains("NaN") && whole(f64::INFINITY).contains("infinity"));
        assert!(whole(-1.0).contains("Negative values") && whole(0.5).contains("not a count"));
        assert!(whole(5e9).contains("not a count"));
        assert!(CsrView::new(3, &[0i32, 1], &[0], &[0.5], Entries::Weights).is_ok());
        assert!(message(&[0, 2], &[1, 1], &[1.0, 1.0], Entries::Whole).contains("strictly ascending"));
        assert!(message(&[0, 1], &[3], &[1.0], Entries::Whole).contains("beyond 3"));
        assert!(message(&[0, 1], &[-1], &[1.0], Entries::Whole).contains("beyond 3"));
        assert!(message(&[0, 2, 1], &[0], &[1.0], Entries::Whole).contains("no proper end"));
        assert!(message(&[1, 1], &[0], &[1.0], Entries::Whole).contains("from 0 to 1"));
        assert!(message(&[0, 1], &[0], &[], Entries::Whole).contains("0 values"));
    }
}
