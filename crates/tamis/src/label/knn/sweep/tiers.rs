//! One test document's view of the training documents, shared by all rankings: its postings, sorted into tiers.
//!
//! A similarity over some of the features never exceeds the one over all of them, the *total*. Documents are put into
//! tiers by their total, the first holding the few with the largest. Once k documents with a known similarity are at
//! hand, every tier whose totals are smaller is out, for this size and all larger ones of the ranking. The large
//! sizes, which have most of the terms, end in the first tier.

use crate::label::Query;
use crate::label::knn::index::{Index, QueryTerm, Sums};

/// No tier is larger: its sums take 128 KiB.
const LARGEST: usize = 1 << 14;

/// How many totals are sorted to find where tiers begin.
const SAMPLE: usize = 512;

/// A total and a sum of the same numbers in another order differ by less than this, relatively.
const ROUNDING: f64 = 1e-9;

/// Training documents with totals in one range, in training order, and their postings for one test document.
#[derive(Debug, Default)]
pub(super) struct Tier {
    /// No similarity in this tier exceeds it, rounding included.
    pub(super) bound: f64,
    /// Training documents, ascending.
    pub(super) documents: Vec<u32>,
    /// Postings of query term `i` are `starts[i]..starts[i+1]`.
    starts: Vec<u32>,
    places: Vec<u16>,
    values: Vec<f64>,
}

impl Tier {
    fn clear(&mut self, bound: f64) {
        self.bound = bound;
        self.documents.clear();
        self.starts.clear();
        self.places.clear();
        self.values.clear();
    }

    /// Adds to each sum what a query term adds to that document's similarity.
    pub(super) fn add(&self, term: usize, sums: &mut Sums) {
        let range = self.starts[term] as usize..self.starts[term + 1] as usize;
        let (places, last_places) = self.places[range.clone()].as_chunks::<4>();
        let (values, last_values) = self.values[range].as_chunks::<4>();
        for (p, v) in places.iter().zip(values) {
            sums[p[0] as usize] += v[0];
            sums[p[1] as usize] += v[1];
            sums[p[2] as usize] += v[2];
            sums[p[3] as usize] += v[3];
        }
        for (&p, &v) in last_places.iter().zip(last_values) {
            sums[p as usize] += v;
        }
    }
}

/// All tiers of one test document, best first; memory is reused from document to document.
#[derive(Debug, Default)]
pub(super) struct Tiers {
    pub(super) terms: Vec<QueryTerm>,
    tiers: Vec<Tier>,
    used: usize,
    totals: Vec<f64>,
    sample: Vec<f64>,
    /// Least total of each tier, descending.
    cuts: Vec<f64>,
    /// Tier and place in it of each training document.
    homes: Vec<(u32, u16)>,
    counts: Vec<usize>,
}

impl Tiers {
    /// Sorts the postings of a query; the first tier is to hold a few times `k` documents.
    pub(super) fn of(&mut self, index: &Index, query: Query<'_>, k: usize, sums: &mut Sums) {
        index.query_terms(query, &mut self.terms);
        self.add_totals(index, sums);
        self.cut(k);
        self.assign();
        self.copy_postings(index);
    }

    pub(super) fn tiers(&self) -> &[Tier] {
        &self.tiers[..self.used]
    }

    fn add_totals(&mut self, index: &Index, sums: &mut Sums) {
        self.totals.clear();
        for block in &index.blocks {
            let sums = block.clear(sums);
            for &term in &self.terms {
                block.add(term, sums);
            }
            self.totals.extend_from_slice(&sums[..block.len]);
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
        self.homes.clear();
        self.counts.clear();
        self.counts.resize(ranges + 1, 0);
        for &total in &self.totals {
            let range = self.cuts.iter().map(|&cut| usize::from(total < cut)).sum::<usize>();
            self.counts[range] += 1;
            self.homes.push((range as u32, 0));
        }
        // From here on `counts[range]` is the number of places given out, counted from the range's first tier.
        self.used = 0;
        for range in 0..ranges {
            let tiers = self.counts[range].div_ceil(LARGEST);
            self.counts[range] = self.used * LARGEST;
            self.used += tiers;
            self.tiers.resize_with(self.tiers.len().max(self.used), Tier::default);
            let bound = if range == 0 { f64::INFINITY } else { self.cuts[range - 1] * (1.0 + ROUNDING) };
            self.tiers[self.used - tiers..self.used].iter_mut().for_each(|tier| tier.clear(bound));
        }
        for (document, home) in (0u32..).zip(&mut self.homes) {
            let range = home.0 as usize;
            if range < ranges {
                let at = self.counts[range];
                self.counts[range] += 1;
                *home = ((at / LARGEST) as u32, (at % LARGEST) as u16);
                self.tiers[at / LARGEST].documents.push(document);
            }
        }
    }

    fn copy_postings(&mut self, index: &Index) {
        let tiers = &mut self.tiers[..self.used];
        for term in &self.terms {
            tiers.iter_mut().for_each(|tier| tier.starts.push(tier.places.len() as u32));
            for block in &index.blocks {
                let homes = &self.homes[block.first as usize..][..block.len];
                for (document, value) in block.postings(term.feature) {
                    let (tier, place) = homes[document as usize];
                    let tier = &mut tiers[tier as usize];
                    tier.places.push(place);
                    tier.values.push(term.factor * value);
                }
            }
        }
        tiers.iter_mut().for_each(|tier| tier.starts.push(tier.places.len() as u32));
    }
}
