//! Names by their numbers, back to back in one string.

use rayon::prelude::*;

use super::Vocabulary;

/// A list of names that only grows. All share one string, so a new name costs no allocation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    pub(super) text: String,
    pub(super) ends: Vec<usize>,
}

impl Names {
    /// Adds a name and returns its number.
    pub(crate) fn push(&mut self, name: &str) -> u32 {
        self.text.push_str(name);
        self.ends.push(self.text.len());
        self.ends.len() as u32 - 1
    }

    /// Makes room for so many bytes in so many names.
    pub(super) fn reserve(&mut self, bytes: usize, names: usize) {
        self.text.reserve(bytes);
        self.ends.reserve(names);
    }

    /// Adds all names of another list.
    pub(crate) fn append(&mut self, other: &Self) {
        let before = self.text.len();
        self.text.push_str(&other.text);
        self.ends.extend(other.ends.iter().map(|end| before + end));
    }

    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The name with a number.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> &str {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        &self.text[start..self.ends[id]]
    }

    /// Forgets everything and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// Bytes of the names from a number on.
    pub(crate) fn text_bytes(&self, from: usize) -> usize {
        self.text.len() - if from == 0 { 0 } else { self.ends[from - 1] }
    }

    /// Bytes held on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<usize>()
    }
}

/// A name on its way to its place: what decides nearly always lies in the list that is sorted, because looking names up
/// in their order, which is none, took longer than sorting.
#[derive(Clone, Copy)]
struct Entry {
    /// The first sixteen bytes as two integers that compare as they do, zeros after its end.
    head: [u64; 2],
    id: u32,
    list: u16,
    /// Length in bytes, or more than sixteen.
    length: u16,
}

/// Bytes in `Entry::head`.
const HEAD: usize = 16;

impl Entry {
    fn new(names: &Names, list: usize, id: u32) -> Self {
        let name = names.get(id).as_bytes();
        let mut head = [0; HEAD];
        let known = name.len().min(HEAD);
        head[..known].copy_from_slice(&name[..known]);
        let length = name.len().min(HEAD + 1) as u16;
        let head = u128::from_be_bytes(head);
        Self { head: [(head >> 64) as u64, head as u64], id, list: list as u16, length }
    }

    fn name<'a>(self, lists: &[(&'a Names, usize)]) -> &'a str {
        lists[usize::from(self.list)].0.get(self.id)
    }

    fn cmp(self, other: Self, lists: &[(&Names, usize)]) -> std::cmp::Ordering {
        // Of two that begin alike, one that ends there comes first.
        (self.head, self.length).cmp(&(other.head, other.length)).then_with(|| {
            if usize::from(self.length) <= HEAD {
                std::cmp::Ordering::Equal
            } else {
                self.name(lists).cmp(other.name(lists))
            }
        })
    }
}

/// The names of some lists, each from a number on, in byte order and without repetitions; and for each list the places of
/// those names.
pub(super) fn sorted(lists: &[(&Names, usize)]) -> (Vocabulary, Vec<Vec<u32>>) {
    assert!(lists.len() <= 1 << 16, "too many lists of names");
    let mut order: Vec<Entry> = Vec::with_capacity(lists.iter().map(|(names, from)| names.len() - from).sum());
    for (list, &(names, from)) in lists.iter().enumerate() {
        order.extend((from as u32..names.len() as u32).map(|id| Entry::new(names, list, id)));
    }
    // Which of equal names comes first does not show.
    order.par_sort_unstable_by(|a, b| a.cmp(*b, lists));
    let mut places: Vec<Vec<u32>> = lists.iter().map(|(names, from)| vec![0; names.len() - from]).collect();
    let mut vocabulary = Names::default();
    let mut last: Option<Entry> = None;
    for entry in order {
        if last.is_none_or(|last| last.cmp(entry, lists).is_ne()) {
            // A short name is all here: looking for it elsewhere was 3 % of the samples of a profile, on one thread alone.
            let head = [entry.head[0].to_be_bytes(), entry.head[1].to_be_bytes()];
            let here = head.as_flattened().get(..usize::from(entry.length)).map(std::str::from_utf8);
            vocabulary.push(match here {
                Some(Ok(name)) => name,
                _ => entry.name(lists),
            });
            last = Some(entry);
        }
        let list = usize::from(entry.list);
        places[list][entry.id as usize - lists[list].1] = vocabulary.len() as u32 - 1;
    }
    (Vocabulary::trusted(vocabulary.text, vocabulary.ends), places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn lists_become_one(
            lists in prop::collection::vec((prop::collection::vec("[ab\\x00]{0,3}|[aé]{6,12}|a{13,18}[bé]", 0..30), 0usize..5), 0..4),
        ) {
            let names: Vec<Names> = lists
                .iter()
                .map(|(list, _)| {
                    let mut names = Names::default();
                    list.iter().for_each(|name| _ = names.push(name));
                    names
                })
                .collect();
            let from: Vec<(&Names, usize)> = names.iter().zip(&lists).map(|(n, (_, from))| (n, n.len().min(*from))).collect();
            let (vocabulary, places) = sorted(&from);
            let expected: BTreeSet<&str> = lists.iter().flat_map(|(list, from)| list.iter().skip(*from)).map(String::as_str).collect();
            prop_assert!(vocabulary.iter().eq(expected));
            for ((list, from), places) in lists.iter().zip(&places) {
                let found: Vec<&str> = places.iter().map(|&place| vocabulary.name(place)).collect();
                prop_assert_eq!(found, list.iter().skip(*from).collect::<Vec<_>>());
            }
        }
    }
}
