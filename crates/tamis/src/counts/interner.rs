//! Names ↔ numbers while they are still being collected, in order of first sight.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::names::Names;

/// Numbers names from 0 in the order they come.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    names: Names,
    /// Each number with half of its name's hash, so that neither growing nor passing over a stranger reads names:
    /// they were a tenth of the time of counting.
    table: HashTable<(u32, u32)>,
    /// ASCII names from this number on may be missing in the table.
    entered: usize,
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
        if self.entered < self.len() && name.is_ascii() {
            self.enter_all();
        }
        let Self { names, table, .. } = self;
        let hash = short_hash(name);
        if let Some(&(_, id)) = table.find(spread(hash), |&(other, id)| other == hash && names.get(id) == name) {
            return id;
        }
        table.insert_unique(spread(hash), (hash, names.len() as u32), |&(hash, _)| spread(hash));
        if self.entered == names.len() {
            self.entered += 1;
        }
        names.push(name)
    }

    /// The number of an ASCII name that the caller knows to be new. It is looked at no further until somebody asks for a
    /// name of its kind: where nobody does, its hash and two places of memory are saved.
    pub(crate) fn push_new(&mut self, name: &str) -> u32 {
        debug_assert!(name.is_ascii());
        self.names.push(name)
    }

    #[cold]
    fn enter_all(&mut self) {
        let Self { names, table, entered } = self;
        for id in *entered as u32..names.len() as u32 {
            // Others were entered when they came.
            if names.get(id).is_ascii() {
                let hash = short_hash(names.get(id));
                table.insert_unique(spread(hash), (hash, id), |&(hash, _)| spread(hash));
            }
        }
        *entered = names.len();
    }

    /// How many names.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// The name with a number.
    pub(crate) fn name(&self, id: u32) -> &str {
        self.names.get(id)
    }

    /// All names by their numbers.
    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    /// Forgets everything and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.names.clear();
        self.table.clear();
        self.entered = 0;
    }

    /// Bytes held on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.names.heap_bytes() + self.table.capacity() * 9
    }
}
