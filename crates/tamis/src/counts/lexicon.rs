//! Terms while they are being collected: spelled ones, and n-grams that are grown from them.
//!
//! An n-gram is two numbers, the n-gram before its last word and that word, until its name is needed. Most n-grams of a corpus
//! occur once or twice: spelling each of them, hashing the spelling and sorting spellings made pairs of words twice as slow to
//! count (docs/benchmarks.md, terms).

use rayon::prelude::*;

use super::interner::Interner;
use super::names::{Names, sorted};
use super::vocabulary::Vocabulary;

/// What a term is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The term that it grew from, or `SPELLED`.
    from: u32,
    /// The word that it ends in, with `UNMARKED` where the first byte of that word's name is left out; of a spelled term its
    /// number among those.
    last: u32,
}

const SPELLED: u32 = u32::MAX;
/// Numbers of terms have 31 bits (rows are packed so).
const UNMARKED: u32 = 1 << 31;

/// Terms by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    spelled: Names,
    parts: Vec<Parts>,
    /// Bytes of all names.
    bytes: usize,
}

/// Writes the name of a term.
fn write(spelled: &Names, parts: &[Parts], id: u32, out: &mut String) {
    let Parts { from, last } = parts[id as usize];
    if from == SPELLED {
        return out.push_str(spelled.get(last));
    }
    write(spelled, parts, from, out);
    out.push(' ');
    let before = out.len();
    write(spelled, parts, last & !UNMARKED, out);
    if last & UNMARKED != 0 {
        // A mark has one byte.
        out.remove(before);
    }
}

impl Terms {
    /// Names as terms.
    pub(super) fn of(names: &Names) -> Self {
        let parts = (0..names.len() as u32).map(|last| Parts { from: SPELLED, last }).collect();
        Self { spelled: names.clone(), parts, bytes: names.text_bytes(0) }
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    /// Appends the name of a term to a string.
    pub(super) fn write(&self, id: u32, out: &mut String) {
        write(&self.spelled, &self.parts, id, out);
    }

    /// Adds terms that were announced after those here.
    pub(super) fn append(&mut self, other: &Self) {
        self.spelled.append(&other.spelled);
        self.parts.extend_from_slice(&other.parts);
        self.bytes += other.bytes;
    }

    /// Bytes of all names.
    pub(super) fn text_bytes(&self) -> usize {
        self.bytes
    }
}

/// Numbers terms from 0 in the order they come.
#[derive(Debug, Default)]
pub(crate) struct Lexicon {
    spelled: Interner,
    /// The term of each spelled name.
    numbers: Vec<u32>,
    parts: Vec<Parts>,
    lengths: Vec<u32>,
}

impl Lexicon {
    /// The number of a spelled term, new or old.
    pub(crate) fn intern(&mut self, name: &str) -> u32 {
        let place = self.spelled.intern(name);
        self.numbers.get(place as usize).copied().unwrap_or_else(|| self.enter(place, name.len()))
    }

    /// The number of an ASCII name that the caller knows to be new; see [`Interner::push_new`].
    pub(crate) fn push_new(&mut self, name: &str) -> u32 {
        let place = self.spelled.push_new(name);
        self.enter(place, name.len())
    }

    fn enter(&mut self, place: u32, length: usize) -> u32 {
        let id = self.parts.len() as u32;
        self.numbers.push(id);
        self.parts.push(Parts { from: SPELLED, last: place });
        self.lengths.push(length as u32);
        id
    }

    /// The number of a new n-gram: a term, a blank, and a word, whose mark is left out where it has one. The caller knows that it
    /// has not been grown before.
    pub(crate) fn grow(&mut self, from: u32, word: u32, marked: bool) -> u32 {
        let id = self.parts.len() as u32;
        let last = if marked { word | UNMARKED } else { word };
        self.parts.push(Parts { from, last });
        let length = |id: u32| self.lengths[id as usize];
        self.lengths.push(length(from) + length(word) + u32::from(!marked));
        id
    }

    /// How many terms.
    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    /// Appends the name of a term to a string.
    pub(crate) fn write(&self, id: u32, out: &mut String) {
        write(self.spelled.names(), &self.parts, id, out);
    }

    /// The terms from a number on.
    pub(super) fn since(&self, from: usize) -> Terms {
        let mut terms = Terms::default();
        // Spelled terms are numbered in the order of their names.
        let first = self.numbers.partition_point(|&id| (id as usize) < from);
        for place in first..self.spelled.len() {
            terms.spelled.push(self.spelled.name(place as u32));
        }
        terms.parts.extend_from_slice(&self.parts[from..]);
        terms.bytes = self.lengths[from..].iter().map(|&length| length as usize).sum();
        terms
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Bytes held on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.spelled.heap_bytes() + (self.numbers.capacity() + self.lengths.capacity()) * 4 + self.parts.capacity() * 8
    }
}

/// Where the terms of some lists stand when all are in byte order.
pub(super) struct Sorted {
    pub(super) vocabulary: Vocabulary,
    /// For each list the places of its terms.
    pub(super) places: Vec<Vec<u32>>,
    /// Whether two terms of one list have the same name: tokens with blanks look like n-grams.
    pub(super) collided: bool,
}

/// An n-gram on its way to its place.
#[derive(Clone, Copy)]
struct Entry {
    /// The rank of what it grew from among terms of that length, above the place of its word among spelled names.
    key: u64,
    id: u32,
    list: u32,
}

/// The n-grams of one length, in order.
#[derive(Default)]
struct Level {
    /// The rank of what each grew from, one level below.
    from: Vec<u32>,
    /// The place of each one's last word among spelled names, with `UNMARKED`.
    last: Vec<u32>,
}

/// A term whose name has a blank or another sign that sorts before letters: its place must be looked for by its name.
const ODD: u8 = 0;

/// Whether n-grams of a name stand directly behind it in byte order: whatever name begins with it goes on with a byte above the
/// blank. The first byte may be a mark.
fn is_plain(name: &str) -> bool {
    name.bytes().skip(1).all(|b| b > b' ')
}

/// All terms in byte order without repetitions.
///
/// Behind a word stand the pairs that begin with it, in the order of their second words, and behind each of those its triples: so
/// ranks decide, and of n-grams only numbers are sorted. Names that this is not true of are sorted apart and merged in.
pub(super) fn sorted_terms(lists: &[&Terms]) -> Sorted {
    let spelled: Vec<(&Names, usize)> = lists.iter().map(|terms| (&terms.spelled, 0)).collect();
    let (words, word_places) = sorted(&spelled);
    if lists.iter().all(|terms| terms.len() == terms.spelled.len()) {
        return Sorted { vocabulary: words, places: word_places, collided: false };
    }
    let plain: Vec<bool> = words.iter().map(is_plain).collect();
    // The level of each term (1 for words), and its rank there.
    let mut levels: Vec<Vec<u8>> = Vec::with_capacity(lists.len());
    let mut ranks: Vec<Vec<u32>> = Vec::with_capacity(lists.len());
    let mut deepest = 1;
    for (terms, places) in lists.iter().zip(&word_places) {
        let mut level = vec![ODD; terms.len()];
        let mut rank = vec![0; terms.len()];
        for (id, parts) in terms.parts.iter().enumerate() {
            if parts.from == SPELLED {
                rank[id] = places[parts.last as usize];
                level[id] = u8::from(plain[rank[id] as usize]);
            } else {
                let (from, word) = (level[parts.from as usize], level[(parts.last & !UNMARKED) as usize]);
                level[id] = if from == ODD || word == ODD { ODD } else { from + 1 };
                deepest = deepest.max(level[id]);
            }
        }
        levels.push(level);
        ranks.push(rank);
    }
    let mut grams: Vec<Level> = Vec::new();
    for depth in 2..=deepest {
        grams.push(rank_level(lists, &levels, &mut ranks, depth));
    }
    let (vocabulary, positions) = spell(&words, &plain, &grams);
    let mut places: Vec<Vec<u32>> = (levels.iter().zip(&ranks))
        .map(|(levels, ranks)| {
            let place = |(&level, &rank): (&u8, &u32)| match level {
                ODD => u32::MAX,
                _ => positions[usize::from(level) - 1][rank as usize],
            };
            levels.iter().zip(ranks).map(place).collect()
        })
        .collect();
    drop((levels, ranks, positions));
    if places.iter().flatten().all(|&place| place != u32::MAX) {
        return Sorted { vocabulary: Vocabulary::trusted(vocabulary.text, vocabulary.ends), places, collided: false };
    }
    let vocabulary = merge_odd(lists, &vocabulary, &mut places);
    let collided = places.iter().any(|places| {
        let mut seen = vec![false; vocabulary.len()];
        places.iter().any(|&place| std::mem::replace(&mut seen[place as usize], true))
    });
    Sorted { vocabulary, places, collided }
}

/// Ranks the n-grams of one length.
fn rank_level(lists: &[&Terms], levels: &[Vec<u8>], ranks: &mut [Vec<u32>], depth: u8) -> Level {
    let mut entries = Vec::new();
    for (list, terms) in lists.iter().enumerate() {
        for (id, &parts) in terms.parts.iter().enumerate().filter(|(id, _)| levels[list][*id] == depth) {
            let rank = |id: u32| u64::from(ranks[list][id as usize]);
            // The mark of a word is that of its first word, so that it needs no place in the key.
            let key = rank(parts.from) << 32 | rank(parts.last & !UNMARKED);
            entries.push(Entry { key, id: id as u32, list: list as u32 });
        }
    }
    entries.par_sort_unstable_by_key(|entry| entry.key);
    let mut level = Level::default();
    let mut last = None;
    for Entry { key, id, list } in entries {
        if last != Some(key) {
            let unmarked = lists[list as usize].parts[id as usize].last & UNMARKED;
            level.from.push((key >> 32) as u32);
            level.last.push(key as u32 | unmarked);
            last = Some(key);
        }
        ranks[list as usize][id as usize] = level.from.len() as u32 - 1;
    }
    level
}

/// The names of plain words and their n-grams in order, and the place of each by length and rank.
fn spell(words: &Vocabulary, plain: &[bool], grams: &[Level]) -> (Names, Vec<Vec<u32>>) {
    // How many names stand from each one on to the next of its length, from the longest n-grams up.
    let mut sizes: Vec<Vec<u32>> = grams.iter().map(|level| vec![1; level.from.len()]).collect();
    sizes.insert(0, plain.iter().map(|&plain| u32::from(plain)).collect());
    for (at, level) in grams.iter().enumerate().rev() {
        let (above, below) = sizes.split_at_mut(at + 1);
        for (rank, &from) in level.from.iter().enumerate() {
            above[at][from as usize] += below[0][rank];
        }
    }
    let mut positions: Vec<Vec<u32>> = Vec::with_capacity(sizes.len());
    let before = sizes[0].iter().scan(0, |next, &size| {
        let place = *next;
        *next += size;
        Some(place)
    });
    positions.push(before.collect());
    for (at, level) in grams.iter().enumerate() {
        let mut place = Vec::with_capacity(level.from.len());
        let mut family = (u32::MAX, 0);
        for (&from, &size) in level.from.iter().zip(&sizes[at + 1]) {
            if family.0 != from {
                family = (from, positions[at][from as usize] + 1);
            }
            place.push(family.1);
            family.1 += size;
        }
        positions.push(place);
    }
    // Each share of the words spells its own n-grams.
    let shares = 4 * rayon::current_num_threads();
    let bounds: Vec<usize> = (0..=shares).map(|share| words.len() * share / shares).collect();
    let spelled: Vec<Names> = bounds
        .par_windows(2)
        .map(|share| {
            let mut names = Names::default();
            // Where the n-grams of each length that begin in this share are.
            let mut cursors: Vec<usize> = Vec::with_capacity(grams.len());
            let mut first = share[0];
            for level in grams {
                first = level.from.partition_point(|&from| (from as usize) < first);
                cursors.push(first);
            }
            for word in share[0]..share[1] {
                if plain[word] {
                    names.push(words.name(word as u32));
                    spell_below(&mut names, words, grams, &mut cursors, word as u32);
                }
            }
            names
        })
        .collect();
    let mut names = Names::default();
    names.reserve(spelled.iter().map(|share| share.text.len()).sum(), spelled.iter().map(Names::len).sum());
    spelled.iter().for_each(|share| names.append(share));
    (names, positions)
}

/// Spells the n-grams that grow from the name spelled last.
fn spell_below(names: &mut Names, words: &Vocabulary, grams: &[Level], cursors: &mut [usize], from: u32) {
    let ([level, deeper @ ..], [cursor, below @ ..]) = (grams, cursors) else { return };
    let end = names.text.len();
    let start = end - names.get(names.len() as u32 - 1).len();
    while level.from.get(*cursor) == Some(&from) {
        let last = level.last[*cursor];
        let word = words.name(last & !UNMARKED);
        names.text.extend_from_within(start..end);
        names.text.push(' ');
        names.text.push_str(&word[usize::from(last & UNMARKED != 0)..]);
        names.ends.push(names.text.len());
        let rank = *cursor as u32;
        *cursor += 1;
        spell_below(names, words, deeper, below, rank);
    }
}

/// Merges the names without a place into those that have one.
fn merge_odd(lists: &[&Terms], plain: &Names, places: &mut [Vec<u32>]) -> Vocabulary {
    let mut odd = Names::default();
    let mut whose = Vec::new();
    for (list, terms) in lists.iter().enumerate() {
        for id in (0..terms.len()).filter(|&id| places[list][id] == u32::MAX) {
            terms.write(id as u32, &mut odd.text);
            odd.ends.push(odd.text.len());
            whose.push((list, id));
        }
    }
    let (odd, odd_places) = sorted(&[(&odd, 0)]);
    let mut names = Names::default();
    names.reserve(plain.text.len() + odd.iter().map(str::len).sum::<usize>(), plain.len() + odd.len());
    let (mut plain_to, mut odd_to) = (Vec::with_capacity(plain.len()), Vec::with_capacity(odd.len()));
    let mut others = odd.iter().peekable();
    for id in 0..plain.len() as u32 {
        let name = plain.get(id);
        while let Some(other) = others.next_if(|other| *other < name) {
            odd_to.push(names.push(other));
        }
        let place = names.push(name);
        plain_to.push(place);
        if others.next_if_eq(&name).is_some() {
            odd_to.push(place);
        }
    }
    others.for_each(|other| odd_to.push(names.push(other)));
    for place in places.iter_mut().flatten().filter(|place| **place != u32::MAX) {
        *place = plain_to[*place as usize];
    }
    for (&(list, id), &at) in whose.iter().zip(&odd_places[0]) {
        places[list][id] = odd_to[at as usize];
    }
    Vocabulary::trusted(names.text, names.ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Words of which some begin with others, some hold blanks or control characters.
    fn word() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec!["a", "ab", "a'b", "abc", "b", "é", "éa", "a b", "b\u{1}", "zz"])
    }

    fn list() -> impl Strategy<Value = (bool, Vec<Vec<&'static str>>)> {
        (any::<bool>(), prop::collection::vec(prop::collection::vec(word(), 1..5), 0..30))
    }

    /// Pairs, triples … of the words of each text, grown as the analyzer grows them.
    fn lexicon(marked: bool, texts: &[Vec<&str>]) -> Lexicon {
        let mut lexicon = Lexicon::default();
        let mut grown = std::collections::HashMap::new();
        for text in texts {
            let ids: Vec<u32> = text
                .iter()
                .map(|word| lexicon.intern(&if marked { format!("\u{2}{word}") } else { (*word).to_owned() }))
                .collect();
            for start in 0..ids.len() {
                let mut from = ids[start];
                for &word in &ids[start + 1..] {
                    from = *grown.entry((from, word)).or_insert_with(|| lexicon.grow(from, word, marked));
                }
            }
        }
        lexicon
    }

    proptest! {
        /// Places are those of all names sorted as text, and names are as they are spelled.
        #[test]
        fn ranks_sort_as_names_do(lists in prop::collection::vec(list(), 0..4)) {
            let lexicons: Vec<Lexicon> = lists.iter().map(|(marked, texts)| lexicon(*marked, texts)).collect();
            let terms: Vec<Terms> = lexicons.iter().map(|lexicon| {
                // In two pieces, as batches announce them.
                let mut terms = Terms::default();
                let half = lexicon.since(lexicon.len() / 2);
                let mut all = lexicon.since(0);
                all.parts.truncate(lexicon.len() / 2);
                let spelled = all.parts.iter().filter(|p| p.from == SPELLED).count();
                (0..spelled as u32).for_each(|at| _ = terms.spelled.push(all.spelled.get(at)));
                terms.parts = all.parts;
                terms.append(&half);
                terms
            }).collect();
            let found = sorted_terms(&terms.iter().collect::<Vec<_>>());
            let name = |lexicon: &Lexicon, id: usize| {
                let mut name = String::new();
                lexicon.write(id as u32, &mut name);
                name
            };
            let names: Vec<Vec<String>> = lexicons.iter().map(|l| (0..l.len()).map(|id| name(l, id)).collect()).collect();
            let expected: BTreeSet<&str> = names.iter().flatten().map(String::as_str).collect();
            prop_assert!(found.vocabulary.iter().eq(expected));
            for (names, places) in names.iter().zip(&found.places) {
                let placed: Vec<&str> = places.iter().map(|&place| found.vocabulary.name(place)).collect();
                prop_assert_eq!(placed, names.iter().map(String::as_str).collect::<Vec<_>>());
            }
            let twice = names.iter().any(|names| names.iter().collect::<BTreeSet<_>>().len() < names.len());
            prop_assert_eq!(found.collided, twice);
            for lexicon in &lexicons {
                let bytes = (0..lexicon.len()).map(|id| name(lexicon, id).len()).sum::<usize>();
                prop_assert_eq!(lexicon.since(0).text_bytes(), bytes);
            }
        }
    }
}
