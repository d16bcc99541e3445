//! Ranked lists that one test document has had already.
//!
//! A similarity does not depend on the order of its terms ([`product`](super::super::index::product)), so neither does a
//! ranked list: it belongs to the *set* of the document's words that a selection has. A document has some dozens of
//! words, rankings resemble each other, and among hundreds of selections the same set comes again and again.

use rustc_hash::FxHashMap;

use super::Order;
use crate::classify::Scored;
use crate::classify::knn::index::{EXACT_BELOW, QueryTerm};

/// Entries of lists that are kept: 4 MiB.
const ROOM: usize = 1 << 18;

/// A list that was made, and what the k-th neighbour had.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    start: usize,
    len: usize,
    /// At least k documents reach it.
    pub(super) floor: f64,
}

/// The lists of one test document; memory is reused from document to document.
#[derive(Debug, Default)]
pub(super) struct Memo {
    /// A number for each query term. The sum over a set of terms stands for the set: with 128 bits, two sets in a lifetime
    /// of documents do not share one.
    keys: Vec<u128>,
    known: FxHashMap<u128, Known>,
    lists: Vec<Scored>,
    /// Of the ranking at hand, by size.
    sets: Vec<u128>,
    found: Vec<Option<Known>>,
    /// Whether sums of this document are exact.
    usable: bool,
}

/// Splitmix64's finaliser: spreads consecutive numbers over all.
fn spread(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Memo {
    /// Begins a document.
    pub(super) fn begin(&mut self, terms: &[QueryTerm], wanted: bool) {
        self.known.clear();
        self.lists.clear();
        self.keys.clear();
        let key = |term: &QueryTerm| {
            let low = spread(term.feature.into());
            u128::from(spread(low)) << 64 | u128::from(low)
        };
        self.keys.extend(terms.iter().map(key));
        self.usable = wanted && terms.iter().map(|term| term.factor).sum::<f64>() < EXACT_BELOW;
    }

    /// Looks up the sizes of a ranking; says how many are to be made, counted up to the last of them.
    pub(super) fn look_up(&mut self, order: &mut Order) -> usize {
        let Self { keys, known, sets, found, .. } = self;
        sets.clear();
        found.clear();
        let mut set = 0u128;
        let mut wanted = 0;
        for size in 0..order.ends.len() {
            set = order.added(size).fold(set, |set, number| set.wrapping_add(keys[number]));
            sets.push(set);
            let list = if self.usable { known.get(&set).copied() } else { None };
            if list.is_none() {
                // What the smaller size gathered is not there to be copied.
                order.changed[size] |= found.last().is_some_and(Option::is_some);
                wanted = size + 1;
            }
            found.push(list);
        }
        wanted
    }

    /// What is known of each size of the ranking.
    pub(super) fn found(&self) -> &[Option<Known>] {
        &self.found
    }

    pub(super) fn list(&self, Known { start, len, .. }: Known) -> &[Scored] {
        &self.lists[start..start + len]
    }

    /// Keeps the list of a size of the ranking.
    pub(super) fn keep(&mut self, size: usize, floor: f64, ranked: &[Scored]) {
        if self.usable && self.lists.len() + ranked.len() <= ROOM {
            let start = self.lists.len();
            self.lists.extend_from_slice(ranked);
            self.known.insert(self.sets[size], Known { start, len: ranked.len(), floor });
        }
    }
}
