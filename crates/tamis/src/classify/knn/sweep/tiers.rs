//! One test document's view of the training documents, shared by all rankings: its postings, sorted into tiers.
//!
//! A similarity over some of the features never exceeds the one over all of them, the *total*. Documents are put into
//! tiers by their total, the first holding the few with the largest. Once k documents with a known similarity are at
//! hand, every tier whose totals are smaller is out, for this size and all larger ones of the ranking. The large
//! sizes, which have most of the terms, end in the first tier.

use super::Folded;
use crate::classify::knn::index::{Index, QueryTerm, Sums, add_to, product};

/// No tier is larger: its sums take 128 KiB.
const LARGEST: usize = 1 << 14;

/// How many totals are sorted to find where tiers begin.
const SAMPLE: usize = 512;

/// A total and a sum of the same numbers in another order differ by less than this, relatively.
const ROUNDING: f64 = 1e-9;

/// Training documents with totals in one range, in training order, and their postings for one test document.
#[derive(Debug, Default)]
struct Tier {
    bound: f64,
    /// Training documents, ascending.
    documents: Vec<u32>,
    /// Postings of query term `i` are `starts[i]..starts[i+1]`.
    starts: Vec<u32>,
    places: Vec<u16>,
    /// What the query term adds to the similarity.
    values: Vec<f64>,
    /// How many postings there are.
    len: usize,
}

/// All tiers of one test document, best first; memory is reused from document to document.
#[derive(Debug, Default)]
pub(super) struct Tiers {
    all: Vec<Tier>,
    used: usize,
    totals: Vec<f64>,
    sample: Vec<f64>,
    /// Least total of each tier, descending.
    cuts: Vec<f64>,
    /// Tier and place in it of each training document.
    homes: Vec<Home>,
    counts: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Home {
    tier: u16,
    place: u16,
}

impl Tiers {
    /// Sorts the postings of a query; the first tier is to hold a few times `k` documents.
    pub(super) fn fill(&mut self, index: &Index, terms: &[QueryTerm], k: usize, sums: &mut Sums) {
        self.add_totals(index, terms, sums);
        self.cut(k);
        self.assign();
        self.copy_postings(index, terms);
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = impl Folded> {
        self.all[..self.used].iter()
    }

    fn add_totals(&mut self, index: &Index, terms: &[QueryTerm], sums: &mut Sums) {
        self.totals.clear();
        for block in &index.blocks {
            let sums = block.clear(sums);
            for &term in terms {
                block.add(term, sums);
            }
            self.totals.extend_from_slice(&sums[..block.len()]);
        }
    }

    /// Where tiers begin: the first holds about max(256, 2k) documents, each further one as many as all before it, up
    /// to the largest. Sizes are guesses from a sample; nothing but speed depends on them.
    fn cut(&mut self, k: usize) {
        let n = self.totals.len();
        let stride = n.div_ceil(SAMPLE).max(1);
        self.sample.clear();
        self.sample.extend(self.totals.iter().step_by(stride).filter(|&&total| total > 0.0));
        self.sample.sort_unstable_by(|a, b| b.total_cmp(a));
        self.cuts.clear();
        let mut end = (2 * k).max(256);
        while let Some(&cut) = self.sample.get(end / stride) {
            if self.cuts.last() != Some(&cut) {
                self.cuts.push(cut);
            }
            end += end.min(LARGEST / 2);
        }
        self.cuts.push(f64::from_bits(1));
    }

    /// Gives every document with a positive total its tier and place. A range that holds more documents than a tier may
    /// (the sample was wrong, or totals are equal) becomes several tiers with the same bound.
    fn assign(&mut self) {
        let ranges = self.cuts.len();
        self.counts.clear();
        self.counts.resize(ranges + 1, 0);
        // First the range of each document, without a branch, one comparison for each range.
        self.homes.clear();
        self.homes.resize(self.totals.len(), Home { tier: 0, place: 0 });
        for &cut in &self.cuts {
            for (home, &total) in self.homes.iter_mut().zip(&self.totals) {
                home.tier += u16::from(total < cut);
            }
        }
        self.homes.iter().for_each(|home| self.counts[home.tier as usize] += 1);
        // From here on `counts[range]` is the next place, counted through the tiers of all ranges.
        self.used = 0;
        for range in 0..ranges {
            let tiers = self.counts[range].div_ceil(LARGEST);
            self.counts[range] = self.used * LARGEST;
            self.used += tiers;
            self.all.resize_with(self.all.len().max(self.used), Tier::default);
            let bound = if range == 0 { f64::INFINITY } else { self.cuts[range - 1] * (1.0 + ROUNDING) };
            for tier in &mut self.all[self.used - tiers..self.used] {
                tier.bound = bound;
                tier.documents.clear();
            }
        }
        for (document, home) in (0u32..).zip(&mut self.homes) {
            let range = home.tier as usize;
            if range < ranges {
                let at = self.counts[range];
                self.counts[range] += 1;
                *home = Home { tier: (at / LARGEST) as u16, place: (at % LARGEST) as u16 };
                self.all[at / LARGEST].documents.push(document);
            }
        }
    }

    fn copy_postings(&mut self, index: &Index, terms: &[QueryTerm]) {
        let tiers = &mut self.all[..self.used];
        for tier in tiers.iter_mut() {
            tier.starts.clear();
            tier.len = 0;
        }
        let coarse = index.weights.coarse();
        for &QueryTerm { feature, factor } in terms {
            for tier in tiers.iter_mut() {
                tier.starts.push(tier.len as u32);
                // Room for as many postings as the tier has documents, so that the loop below need not ask.
                let room = tier.len + tier.documents.len();
                if tier.places.len() < room {
                    tier.places.resize(2 * room, 0);
                    tier.values.resize(2 * room, 0.0);
                }
            }
            for block in &index.blocks {
                let homes = &self.homes[block.first as usize..][..block.len()];
                for (document, value) in block.postings(feature) {
                    let home = homes[document as usize];
                    let tier = &mut tiers[home.tier as usize];
                    tier.places[tier.len] = home.place;
                    tier.values[tier.len] = product(factor, value, coarse);
                    tier.len += 1;
                }
            }
        }
        for tier in tiers.iter_mut() {
            tier.starts.push(tier.len as u32);
        }
    }
}

impl Folded for &Tier {
    fn bound(&self) -> f64 {
        self.bound
    }

    fn documents(&self) -> &[u32] {
        &self.documents
    }

    #[inline]
    fn add(&self, number: usize, _: QueryTerm, sums: &mut Sums) -> usize {
        let range = self.starts[number] as usize..self.starts[number + 1] as usize;
        add_to(sums, &self.places[range.clone()], &self.values[range.clone()], |value| value);
        range.len()
    }
}
