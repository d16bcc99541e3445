//! Names ↔ numbers while they are still being collected, in order of first sight.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

use super::Vocabulary;

/// Numbers names from 0 in the order they come. All names share one string, so a new name costs no allocation.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    text: String,
    ends: Vec<usize>,
    /// Each number with half of its name's hash, so that neither growing nor passing over a stranger reads names:
    /// they were a tenth of the time of counting.
    table: HashTable<(u32, u32)>,
}

fn short_hash(name: &str) -> u32 {
    (FxBuildHasher.hash_one(name) >> 32) as u32
}

/// The table takes its place from the low bits and its tag from the high ones.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Interner {
    /// The number of a name, new or old.
    pub(crate) fn intern(&mut self, name: &str) -> u32 {
        let Self { text, ends, table } = self;
        let hash = short_hash(name);
        if let Some(&(_, id)) = table.find(spread(hash), |&(other, id)| other == hash && span(text, ends, id) == name) {
            return id;
        }
        let id = ends.len() as u32;
        table.insert_unique(spread(hash), (hash, id), |&(hash, _)| spread(hash));
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

    /// The names in byte order, and for each number its place there.
    pub(crate) fn sorted(&self) -> (Vocabulary, Vec<u32>) {
        // The first eight bytes decide nearly always, and compare as one integer that lies in the list itself.
        let mut order: Vec<(u64, u32)> = (0..self.len() as u32)
            .map(|id| {
                let name = self.name(id).as_bytes();
                let mut first = [0; 8];
                let known = name.len().min(8);
                first[..known].copy_from_slice(&name[..known]);
                (u64::from_be_bytes(first), id)
            })
            .collect();
        order.par_sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.name(a.1).cmp(self.name(b.1))));
        let mut place = vec![0; self.len()];
        for (new, &(_, old)) in order.iter().enumerate() {
            place[old as usize] = new as u32;
        }
        (Vocabulary::trusted(order.iter().map(|&(_, id)| self.name(id))), place)
    }

    /// Bytes that the names need, whatever was allocated: the same for the same names in any order.
    pub(crate) fn bytes_needed(&self) -> usize {
        self.text.len() + self.ends.len() * (size_of::<usize>() + 9)
    }

    /// Bytes held on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<usize>() + self.table.capacity() * 9
    }
}

#[inline]
fn span<'a>(text: &'a str, ends: &[usize], id: u32) -> &'a str {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] };
    &text[start..ends[id]]
}
