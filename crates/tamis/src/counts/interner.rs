//! Names ↔ numbers while they are still being collected, in order of first sight.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::Vocabulary;

/// Numbers names from 0 in the order they come. All names share one string, so a new name costs no allocation.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    text: String,
    ends: Vec<usize>,
    table: HashTable<u32>,
}

fn hash(name: &str) -> u64 {
    FxBuildHasher.hash_one(name)
}

impl Interner {
    /// The number of a name, new or old.
    pub(crate) fn intern(&mut self, name: &str) -> u32 {
        let Self { text, ends, table } = self;
        let at = |id: u32| span(text, ends, id);
        let key = hash(name);
        if let Some(&id) = table.find(key, |&id| at(id) == name) {
            return id;
        }
        let id = ends.len() as u32;
        table.insert_unique(key, id, |&id| hash(at(id)));
        text.push_str(name);
        ends.push(text.len());
        id
    }

    /// How many names.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The name with a number.
    pub(crate) fn name(&self, id: u32) -> &str {
        span(&self.text, &self.ends, id)
    }

    /// Forgets everything and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.table.clear();
    }

    /// The names that `keep` accepts in byte order, and for each number its place there (`u32::MAX`: not kept).
    pub(crate) fn sorted(&self, keep: impl Fn(u32) -> bool) -> (Vocabulary, Vec<u32>) {
        let mut order: Vec<u32> = (0..self.len() as u32).filter(|&id| keep(id)).collect();
        order.sort_unstable_by(|&a, &b| self.name(a).cmp(self.name(b)));
        let mut place = vec![u32::MAX; self.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old as usize] = new as u32;
        }
        (Vocabulary::from_sorted(order.iter().map(|&id| self.name(id))), place)
    }

    /// Bytes that the names need, whatever was allocated: the same for the same names in any order.
    pub(crate) fn bytes_needed(&self) -> usize {
        self.text.len() + self.ends.len() * (size_of::<usize>() + 5)
    }

    /// Bytes held on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<usize>() + self.table.capacity() * 5
    }
}

fn span<'a>(text: &'a str, ends: &[usize], id: u32) -> &'a str {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] };
    &text[start..ends[id]]
}
