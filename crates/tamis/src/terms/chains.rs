//! (n-gram, next word) → the longer n-gram.

/// An open-addressing table from pairs of numbers to numbers.
///
/// Nearly every pair of words lies in memory that no cache holds. So pairs are looked up eight at a time: their slots are loaded
/// together and the processor waits for all of them at once.
#[derive(Debug)]
pub(super) struct Chains {
    slots: Vec<Slot>,
    used: usize,
}

#[derive(Debug, Clone, Copy)]
#[repr(align(16))]
struct Slot {
    /// `EMPTY` where nothing is.
    key: u64,
    value: u32,
}

const EMPTY: u64 = u64::MAX;
const VACANT: Slot = Slot { key: EMPTY, value: 0 };

/// How many are looked up together.
const TOGETHER: usize = 8;

fn key(from: u32, word: u32) -> u64 {
    u64::from(from) << 32 | u64::from(word)
}

/// Odd constants from the digits of √2 and the golden ratio.
const MIX: [u64; 2] = [0x6A09_E667_F3BC_C909, 0x9E37_79B9_7F4A_7C15];

#[inline]
fn hash(key: u64) -> usize {
    let product = u128::from(key ^ MIX[0]) * u128::from(MIX[1]);
    ((product >> 64) as u64 ^ product as u64) as usize
}

impl Default for Chains {
    fn default() -> Self {
        Self { slots: vec![VACANT; 1 << 10], used: 0 }
    }
}

impl Chains {
    /// Replaces each of `to` by the n-gram that it and the number at the same place of `from` make; `new` numbers those that
    /// were not seen before. Where `from` is `none`, so is the result.
    pub(super) fn grow(&mut self, from: &[u32], to: &mut [u32], none: u32, mut new: impl FnMut(u32, u32) -> u32) {
        for (from, to) in from.chunks(TOGETHER).zip(to.chunks_mut(TOGETHER)) {
            let mask = self.slots.len() - 1;
            let mut loaded = [VACANT; TOGETHER];
            for ((slot, &from), &word) in loaded.iter_mut().zip(from).zip(to.iter()) {
                *slot = self.slots[hash(key(from, word)) & mask];
            }
            for ((slot, &from), to) in loaded.iter().zip(from).zip(to) {
                let word = *to;
                *to = if from == none || word == none {
                    none
                } else if slot.key == key(from, word) {
                    slot.value
                } else {
                    self.find(key(from, word), || new(from, word))
                };
            }
        }
    }

    /// The number of a pair.
    fn find(&mut self, key: u64, new: impl FnOnce() -> u32) -> u32 {
        let mask = self.slots.len() - 1;
        let mut at = hash(key) & mask;
        loop {
            let slot = self.slots[at];
            if slot.key == key {
                return slot.value;
            }
            if slot.key == EMPTY {
                break;
            }
            at = (at + 1) & mask;
        }
        let value = new();
        self.slots[at] = Slot { key, value };
        self.used += 1;
        if self.used * 4 > self.slots.len() * 3 {
            self.enlarge();
        }
        value
    }

    #[cold]
    fn enlarge(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.slots = vec![VACANT; old.len() * 2];
        let mask = self.slots.len() - 1;
        for slot in old.into_iter().filter(|slot| slot.key != EMPTY) {
            let mut at = hash(slot.key) & mask;
            while self.slots[at].key != EMPTY {
                at = (at + 1) & mask;
            }
            self.slots[at] = slot;
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Bytes held on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn behaves_as_a_map(pairs in prop::collection::vec((0u32..60, 0u32..60), 0..4000), runs in 1usize..40) {
            const NONE: u32 = 7;
            let (mut chains, mut map, mut next) = (Chains::default(), HashMap::new(), 100);
            for run in pairs.chunks(runs) {
                let (from, mut to): (Vec<u32>, Vec<u32>) = run.iter().copied().unzip();
                let mut made = Vec::new();
                chains.grow(&from, &mut to, NONE, |a, b| {
                    made.push((a, b));
                    next += 1;
                    next
                });
                let mut made = made.into_iter();
                for (&(a, b), &found) in run.iter().zip(&to) {
                    if a == NONE || b == NONE {
                        prop_assert_eq!(found, NONE);
                    } else if let Some(&known) = map.get(&(a, b)) {
                        prop_assert_eq!(found, known);
                    } else {
                        prop_assert_eq!(made.next(), Some((a, b)));
                        map.insert((a, b), found);
                    }
                }
                prop_assert!(made.next().is_none());
            }
        }
    }
}
