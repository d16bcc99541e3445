//! Names ↔ numbers: terms and labels, sorted by their UTF-8 bytes (method 1).

use std::hash::BuildHasher;
use std::sync::OnceLock;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::Result;
use crate::container::{Builder, Container};

/// Distinct names in byte order; the number of a name is its place. Sorting makes numbers independent of reading
/// order, threads and parts, so merging and saving are deterministic.
///
/// Names lie in one string with end offsets: two allocations whatever the size.
#[derive(Debug, Default)]
pub struct Vocabulary {
    text: String,
    ends: Vec<usize>,
    /// Filled on the first [`Vocabulary::id`]: many uses never look a name up.
    index: OnceLock<HashTable<u32>>,
}

impl Clone for Vocabulary {
    fn clone(&self) -> Self {
        Self { text: self.text.clone(), ends: self.ends.clone(), index: OnceLock::new() }
    }
}

impl PartialEq for Vocabulary {
    fn eq(&self, other: &Self) -> bool {
        self.ends == other.ends && self.text == other.text
    }
}

impl Eq for Vocabulary {}

impl Vocabulary {
    /// From names that are strictly ascending already.
    ///
    /// # Panics
    /// When they are not.
    pub fn from_sorted<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Self {
        let mut vocabulary = Self::default();
        for name in names {
            let name = name.as_ref();
            assert!(
                vocabulary.ends.is_empty() || vocabulary.name(vocabulary.len() as u32 - 1) < name,
                "names must be strictly ascending; {name:?} is not"
            );
            vocabulary.text.push_str(name);
            vocabulary.ends.push(vocabulary.text.len());
        }
        vocabulary
    }

    /// From names back to back and where each ends, whose maker has sorted them; checked in debug builds only.
    pub(crate) fn trusted(text: String, ends: Vec<usize>) -> Self {
        let vocabulary = Self { text, ends, index: OnceLock::new() };
        debug_assert!(vocabulary.iter().zip(vocabulary.iter().skip(1)).all(|(a, b)| a < b), "names must ascend");
        vocabulary
    }

    /// From names in any order, repetitions dropped.
    pub fn new<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Self {
        let mut names: Vec<S> = names.into_iter().collect();
        names.sort_unstable_by(|a, b| a.as_ref().cmp(b.as_ref()));
        names.dedup_by(|a, b| a.as_ref() == b.as_ref());
        Self::from_sorted(names)
    }

    /// The numbers below `n` as names, with zeros before them so that their order is that of the numbers.
    pub fn numbered(n: usize) -> Self {
        let width = n.saturating_sub(1).max(1).ilog10() as usize + 1;
        let mut names = Self { text: String::with_capacity(n * width), ..Self::default() };
        let mut digits = vec![b'0'; width];
        for _ in 0..n {
            names.text.extend(digits.iter().map(|&d| char::from(d)));
            names.ends.push(names.text.len());
            // One more: nines become noughts up to the first digit that can grow.
            for digit in digits.iter_mut().rev() {
                if *digit < b'9' {
                    *digit += 1;
                    break;
                }
                *digit = b'0';
            }
        }
        names
    }

    /// How many names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The name with a number below [`Vocabulary::len`].
    pub fn name(&self, id: u32) -> &str {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        &self.text[start..self.ends[id]]
    }

    /// The number of a name.
    pub fn id(&self, name: &str) -> Option<u32> {
        let hash = |name: &str| FxBuildHasher.hash_one(name);
        let index = self.index.get_or_init(|| {
            let mut table = HashTable::with_capacity(self.len());
            for id in 0..self.len() as u32 {
                table.insert_unique(hash(self.name(id)), id, |&other| hash(self.name(other)));
            }
            table
        });
        index.find(hash(name), |&id| self.name(id) == name).copied()
    }

    /// All names, ascending.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone + '_ {
        (0..self.len() as u32).map(|id| self.name(id))
    }

    /// Adds the names to a file as two sections, `NAME` and `NAME ends`.
    pub(crate) fn store(&self, file: &mut Builder, name: &str) {
        file.add(name, self.text.as_bytes().to_vec());
        file.add_slice(&format!("{name} ends"), &self.ends.iter().map(|&e| e as u64).collect::<Vec<_>>());
    }

    /// Reads the names that [`Vocabulary::store`] wrote.
    pub(crate) fn load(file: &Container, name: &str) -> Result<Self> {
        let text = file.text(name)?;
        let mut names = Self { text: text.to_owned(), ..Self::default() };
        let mut start = 0usize;
        for &end in file.slice::<u64>(&format!("{name} ends"))? {
            let end = end as usize;
            let next =
                text.get(start..end).ok_or_else(|| file.error(format!("section {name} is not a list of names")))?;
            if names.ends.last().is_some() && names.name(names.len() as u32 - 1) >= next {
                return Err(file.error(format!("section {name} is not in order")));
            }
            names.ends.push(end);
            start = end;
        }
        if start == text.len() { Ok(names) } else { Err(file.error(format!("section {name} is not a list of names"))) }
    }

    /// The union of two, and for each input the new number of each old one (ascending).
    pub fn union(&self, other: &Self) -> (Self, Vec<u32>, Vec<u32>) {
        let mut all = Self::default();
        let (mut of_self, mut of_other) = (Vec::with_capacity(self.len()), Vec::with_capacity(other.len()));
        let (mut a, mut b) = (self.iter().peekable(), other.iter().peekable());
        loop {
            let next = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(x), None) => *x,
                (None, Some(y)) => *y,
                (Some(x), Some(y)) => (*x).min(*y),
            };
            let id = all.len() as u32;
            if a.next_if(|x| *x == next).is_some() {
                of_self.push(id);
            }
            if b.next_if(|y| *y == next).is_some() {
                of_other.push(id);
            }
            all.text.push_str(next);
            all.ends.push(all.text.len());
        }
        (all, of_self, of_other)
    }

    /// Bytes held on the heap, without the lookup index.
    pub fn heap_bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_by_bytes_and_finds_names() {
        let v = Vocabulary::new(["éclair", "zebra", "apple", "Zebra", "apple"]);
        assert_eq!(v.iter().collect::<Vec<_>>(), ["Zebra", "apple", "zebra", "éclair"]);
        assert_eq!(v.id("zebra"), Some(2));
        assert_eq!(v.id("pear"), None);
    }

    #[test]
    fn numbers_are_names_in_their_order() {
        for n in [0, 1, 2, 10, 11, 100, 1234] {
            let numbered = Vocabulary::numbered(n);
            assert_eq!(numbered, Vocabulary::from_sorted(numbered.iter()));
            assert_eq!(numbered.len(), n);
            assert!(numbered.iter().enumerate().all(|(at, name)| name.parse() == Ok(at)));
        }
    }

    #[test]
    fn union_keeps_order_and_maps_both() {
        let (all, a, b) = Vocabulary::new(["b", "d"]).union(&Vocabulary::new(["a", "d", "e"]));
        assert_eq!(all, Vocabulary::new(["a", "b", "d", "e"]));
        assert_eq!((a, b), (vec![1, 2], vec![0, 2, 3]));
    }
}
