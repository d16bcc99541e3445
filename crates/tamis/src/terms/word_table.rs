//! Raw word → what was decided about it, once for each distinct spelling.

/// Two open-addressing tables from words to numbers, made for the one hot loop of ingestion.
///
/// Words of up to 12 bytes, nearly all, lie in slots of 16 bytes, spelling and number together: a hit touches one cache
/// line and no other memory, and the hot words of a language fit into the caches of a core. Slots of 32 bytes that hold
/// 16 took 1.2 times as long a token on 20 Newsgroups, slots of 24 bytes, every third of which lies on two lines, more
/// than that; fetching slots ahead of time, buckets of two, or a small table in front gained nothing.
#[derive(Debug)]
pub(crate) struct WordTable {
    short: Vec<Short>,
    short_used: usize,
    /// All other words.
    slots: Vec<Slot>,
    used: usize,
    /// Whether `A` and `a` are the same letter: then spellings that end in one decision anyhow take one slot.
    fold_case: bool,
    /// Words longer than 16 bytes, back to back.
    long: Vec<u8>,
}

/// Longest word in `WordTable::short`.
const SHORT: usize = 12;

/// A word whose last byte is not 0: so the zeros that fill it up are not part of it, and no length is needed.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(16))]
struct Short {
    /// First eight bytes; 0 is an empty slot.
    head: u64,
    tail: u32,
    value: u32,
}

#[derive(Debug, Clone, Copy, Default)]
#[repr(align(32))]
struct Slot {
    /// First bytes; for words of more than 16 bytes the hash.
    head: u64,
    /// Last bytes; for words of more than 16 bytes the offset in `long`.
    tail: u64,
    /// Length in bytes; 0 is an empty slot.
    length: u32,
    value: u32,
}

/// What [`WordTable::find_together`] says of words that must be looked up one by one.
pub(crate) const UNSURE: u32 = u32::MAX;

/// A place for a new word, valid until the table changes.
pub(crate) struct Vacant {
    at: usize,
    head: u64,
    tail: u64,
    short: bool,
}

/// Odd constants from the digits of √2 and √3.
const MIX: [u64; 2] = [0x6A09_E667_F3BC_C909, 0xBB67_AE85_84CA_A73B];

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

#[inline]
fn hash(head: u64, tail: u64) -> u64 {
    fold(head ^ MIX[0], tail ^ MIX[1])
}

fn u64_at(word: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&word[at..at + 8]);
    u64::from_le_bytes(bytes)
}

/// The bytes of a word of 1 to 16 bytes, the rest zero. What follows the word in the text is read along and masked
/// away: no branch depends on the length.
#[inline]
fn key(text: &[u8], start: usize, length: usize) -> (u64, u64) {
    let both = match text[start..].first_chunk::<16>() {
        Some(bytes) => u128::from_le_bytes(*bytes),
        None => {
            let mut bytes = [0; 16];
            bytes[..length].copy_from_slice(&text[start..start + length]);
            u128::from_le_bytes(bytes)
        }
    };
    const ONES: [(u64, u64); 17] = {
        let mut masks = [(0, 0); 17];
        let mut n = 1;
        while n <= 16 {
            let mask = u128::MAX >> (128 - 8 * n);
            masks[n] = (mask as u64, (mask >> 64) as u64);
            n += 1;
        }
        masks
    };
    let (head, tail) = ONES[length];
    (both as u64 & head, (both >> 64) as u64 & tail)
}

/// Eight bytes with `A` to `Z` made small, all others as they are.
#[inline]
fn lower(bytes: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let low = bytes & (0x7f * EACH);
    // The highest bit of each byte tells whether it is at least `A`, and whether it is beyond `Z`.
    let from_a = low + (0x80 - b'A' as u64) * EACH;
    let beyond_z = low + (0x7f - b'Z' as u64) * EACH;
    bytes | ((from_a & !beyond_z & !bytes & (0x80 * EACH)) >> 2)
}

fn long_hash(word: &[u8], fold_case: bool) -> u64 {
    let eight = |at| if fold_case { lower(u64_at(word, at)) } else { u64_at(word, at) };
    let mut hash = word.len() as u64;
    for chunk in 0..word.len() / 8 {
        hash = fold(hash ^ MIX[0], eight(chunk * 8) ^ MIX[1]);
    }
    fold(hash ^ MIX[0], eight(word.len() - 8) ^ MIX[1])
}

impl WordTable {
    /// An empty table; with `fold_case`, words that differ in the case of ASCII letters share what is decided for the
    /// first of them.
    pub(crate) fn new(fold_case: bool) -> Self {
        Self {
            short: vec![Short::default(); 1 << 12],
            short_used: 0,
            slots: vec![Slot::default(); 1 << 8],
            used: 0,
            fold_case,
            long: Vec::new(),
        }
    }

    /// The number stored for the word at `start..end` of a text, or else where it would be.
    ///
    /// The word must not be empty. This is the loop that ingestion spends its time in; whatever a long or a new word
    /// costs stays out of it.
    #[inline]
    pub(crate) fn find(&self, text: &[u8], start: usize, end: usize) -> Result<u32, Vacant> {
        let length = end - start;
        if length > SHORT || text[end - 1] == 0 {
            return self.find_other(text, start, end);
        }
        let (head, tail) = self.key(text, start, length);
        if head == 0 {
            return self.find_other(text, start, end);
        }
        let mask = self.short.len() - 1;
        let mut at = hash(head, tail) as usize & mask;
        loop {
            let slot = &self.short[at];
            if (slot.head ^ head) | (u64::from(slot.tail) ^ tail) == 0 {
                return Ok(slot.value);
            }
            if slot.head == 0 {
                return Err(Vacant { at, head, tail, short: true });
            }
            at = (at + 1) & mask;
        }
    }

    /// Looks up to eight words up at once, so that the processor waits for the memory of all of them together; `UNSURE` for those
    /// that are not in their first place.
    #[inline]
    pub(crate) fn find_together(&self, text: &[u8], spans: impl ExactSizeIterator<Item = (usize, usize)>) -> [u32; 8] {
        let mask = self.short.len() - 1;
        let mut wanted = [(0, 0); 8];
        let mut loaded = [Short::default(); 8];
        for (at, (start, end)) in spans.take(8).enumerate() {
            if end - start <= SHORT && text[end - 1] != 0 {
                wanted[at] = self.key(text, start, end - start);
                loaded[at] = self.short[hash(wanted[at].0, wanted[at].1) as usize & mask];
            }
        }
        let mut found = [UNSURE; 8];
        for ((found, (head, tail)), slot) in found.iter_mut().zip(wanted).zip(loaded) {
            if head != 0 && (slot.head ^ head) | (u64::from(slot.tail) ^ tail) == 0 {
                *found = slot.value;
            }
        }
        found
    }

    #[inline]
    fn key(&self, text: &[u8], start: usize, length: usize) -> (u64, u64) {
        let (head, tail) = key(text, start, length);
        if self.fold_case { (lower(head), lower(tail)) } else { (head, tail) }
    }

    #[cold]
    fn find_other(&self, text: &[u8], start: usize, end: usize) -> Result<u32, Vacant> {
        let length = end - start;
        if length > 16 {
            return self.find_long(&text[start..end]);
        }
        let (head, tail) = self.key(text, start, length);
        let mask = self.slots.len() - 1;
        let mut at = hash(head, tail) as usize & mask;
        loop {
            let slot = &self.slots[at];
            if (slot.head ^ head) | (slot.tail ^ tail) | u64::from(slot.length ^ length as u32) == 0 {
                return Ok(slot.value);
            }
            if slot.length == 0 {
                return Err(Vacant { at, head, tail, short: false });
            }
            at = (at + 1) & mask;
        }
    }

    fn find_long(&self, word: &[u8]) -> Result<u32, Vacant> {
        let hash = long_hash(word, self.fold_case);
        let same = |stored: &[u8]| if self.fold_case { stored.eq_ignore_ascii_case(word) } else { stored == word };
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.length == word.len() as u32
                && slot.head == hash
                && same(&self.long[slot.tail as usize..][..word.len()])
            {
                return Ok(slot.value);
            }
            if slot.length == 0 {
                return Err(Vacant { at, head: hash, tail: self.long.len() as u64, short: false });
            }
            at = (at + 1) & mask;
        }
    }

    /// Stores a number for a word that [`WordTable::find`] has just not found.
    pub(crate) fn store(&mut self, vacant: Vacant, word: &str, value: u32) {
        if vacant.short {
            return self.insert_short(vacant.at, Short { head: vacant.head, tail: vacant.tail as u32, value });
        }
        if word.len() > 16 {
            self.long.extend_from_slice(word.as_bytes());
        }
        self.insert(vacant.at, Slot { head: vacant.head, tail: vacant.tail, length: word.len() as u32, value });
    }

    fn insert_short(&mut self, at: usize, slot: Short) {
        self.short[at] = slot;
        self.short_used += 1;
        if self.short_used * 3 <= self.short.len() * 2 {
            return;
        }
        let old = std::mem::take(&mut self.short);
        self.short = vec![Short::default(); old.len() * 2];
        let mask = self.short.len() - 1;
        for slot in old.into_iter().filter(|s| s.head != 0) {
            let mut at = hash(slot.head, u64::from(slot.tail)) as usize & mask;
            while self.short[at].head != 0 {
                at = (at + 1) & mask;
            }
            self.short[at] = slot;
        }
    }

    fn insert(&mut self, at: usize, slot: Slot) {
        self.slots[at] = slot;
        self.used += 1;
        if self.used * 3 <= self.slots.len() * 2 {
            return;
        }
        let old = std::mem::take(&mut self.slots);
        self.slots = vec![Slot::default(); old.len() * 2];
        let mask = self.slots.len() - 1;
        for slot in old.into_iter().filter(|s| s.length > 0) {
            let hash = if slot.length > 16 { slot.head } else { hash(slot.head, slot.tail) };
            let mut at = hash as usize & mask;
            while self.slots[at].length > 0 {
                at = (at + 1) & mask;
            }
            self.slots[at] = slot;
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.fold_case);
    }

    /// Bytes held on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.short.capacity() * size_of::<Short>() + self.slots.capacity() * size_of::<Slot>() + self.long.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn number(table: &mut WordTable, text: &str, start: usize, end: usize, next: u32) -> u32 {
        let [together, ..] = table.find_together(text.as_bytes(), [(start, end)].into_iter());
        let found = table.find(text.as_bytes(), start, end);
        assert!(together == UNSURE || found.as_ref().is_ok_and(|&found| found == together));
        found.unwrap_or_else(|vacant| {
            table.store(vacant, &text[start..end], next);
            next
        })
    }

    proptest! {
        #[test]
        fn behaves_as_a_map(
            words in prop::collection::vec("[ab]{1,3}|[a-z]{1,20}|[aé]{1,30}|a{1,3}\\x00{0,2}|\\x00{7,10}a{0,3}", 0..6000),
        ) {
            let mut table = WordTable::new(false);
            let mut map: HashMap<&str, u32> = HashMap::new();
            for word in &words {
                let next = map.len() as u32;
                let expected = *map.entry(word).or_insert(next);
                prop_assert_eq!(number(&mut table, word, 0, word.len(), next), expected);
            }
        }

        /// What stands before and after a word in its text does not matter.
        #[test]
        fn sees_the_word_alone(words in prop::collection::vec("[abAB@\\[`{éÀ]{1,24}", 1..40)) {
            let text = words.join(" ");
            for fold in [false, true] {
                let (mut table, mut map) = (WordTable::new(fold), HashMap::new());
                let mut start = 0;
                for word in &words {
                    let next = map.len() as u32;
                    let name = if fold { word.to_ascii_lowercase() } else { word.clone() };
                    let expected = *map.entry(name).or_insert(next);
                    let found = number(&mut table, &text, start, start + word.len(), next);
                    prop_assert_eq!(found, expected);
                    start += word.len() + 1;
                }
            }
        }
    }
}
