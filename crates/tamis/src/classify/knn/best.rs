//! The k nearest documents, gathered part by part; ties go to the earlier in training order.

use super::lanes::{SLACK, kth, retain, select};

/// Values that are looked at before surplus ones are thrown out.
const RUN: usize = 1024;

/// Documents that may be among the k nearest, with their similarities.
#[derive(Debug, Default)]
pub(super) struct Best {
    k: usize,
    len: usize,
    documents: Vec<u32>,
    similarities: Vec<f64>,
    /// At least k documents reach this; it is positive.
    pub(super) floor: f64,
    /// Whether parts did not come in training order.
    mixed: bool,
}

/// Memory for putting documents into training order.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    present: Vec<u64>,
    places: Vec<u32>,
    documents: Vec<u32>,
    similarities: Vec<f64>,
}

impl Best {
    pub(super) fn reset(&mut self, k: usize) {
        self.k = k;
        self.len = 0;
        self.floor = f64::from_bits(1);
        self.mixed = false;
    }

    /// Takes the state of another.
    pub(super) fn copy(&mut self, other: &Self) {
        let room = other.len + SLACK;
        if self.documents.len() < room {
            self.documents.resize(room, 0);
            self.similarities.resize(room, 0.0);
        }
        self.documents[..other.len].copy_from_slice(other.documents());
        self.similarities[..other.len].copy_from_slice(other.similarities());
        (self.k, self.len, self.floor, self.mixed) = (other.k, other.len, other.floor, other.mixed);
    }

    pub(super) fn documents(&self) -> &[u32] {
        &self.documents[..self.len]
    }

    pub(super) fn similarities(&self) -> &[f64] {
        &self.similarities[..self.len]
    }

    /// Takes what belongs to the best from a part: its documents in training order and their similarities.
    pub(super) fn take(&mut self, documents: &[u32], similarities: &[f64]) {
        let last = self.documents().last().copied();
        self.mixed |= documents.first().is_some_and(|&first| last.is_some_and(|last| last > first));
        for (documents, sums) in documents.chunks(RUN).zip(similarities.chunks(RUN)) {
            self.take_run(documents, sums);
            // A floor that only a few of them would raise is not worth the work.
            if self.len > self.k + self.k / 4 {
                self.raise_floor();
            }
        }
    }

    fn take_run(&mut self, documents: &[u32], sums: &[f64]) {
        let room = self.len + RUN + SLACK;
        if self.documents.len() < room {
            self.documents.resize(room, 0);
            self.similarities.resize(room, 0.0);
        }
        let (kept_documents, kept_similarities) = (&mut self.documents[self.len..], &mut self.similarities[self.len..]);
        self.len += select(documents, sums, self.floor, kept_documents, kept_similarities);
    }

    /// Raises the floor to where only k documents reach it, or more when they tie, and drops the others.
    fn raise_floor(&mut self) {
        let (documents, similarities) = (&mut self.documents[..self.len], &mut self.similarities[..self.len]);
        self.floor = kth(similarities, self.k).max(self.floor);
        self.len = retain(documents, similarities, self.floor);
    }

    /// Raises the floor to the least of what these documents, at least k of them, have now.
    pub(super) fn raise_floor_by(&mut self, known: Option<&Self>, similarities: &[f64]) {
        if let Some(known) = known.filter(|known| known.len >= known.k) {
            let now = known.documents().iter().map(|&document| similarities[document as usize]);
            self.floor = self.floor.max(now.fold(f64::INFINITY, f64::min));
        }
    }

    /// Puts documents into training order and keeps k: of those that tie at the floor, the earlier.
    pub(super) fn finish(&mut self, sorter: &mut Sorter) {
        if self.len > self.k {
            self.raise_floor();
        }
        if self.mixed {
            sorter.sort(&mut self.documents[..self.len], &mut self.similarities[..self.len]);
        }
        if self.len > self.k {
            let similarities = &self.similarities[..self.len];
            let mut ties = self.k - similarities.iter().filter(|&&s| s > self.floor).count();
            let mut kept = 0;
            for i in 0..self.len {
                let similarity = self.similarities[i];
                let tied = similarity == self.floor;
                if !tied || ties > 0 {
                    ties -= usize::from(tied);
                    self.documents[kept] = self.documents[i];
                    self.similarities[kept] = similarity;
                    kept += 1;
                }
            }
            self.len = kept;
        }
    }
}

impl Sorter {
    /// Sorts by document with a bit for each: cheaper than comparing, as documents are few and distinct.
    fn sort(&mut self, documents: &mut [u32], similarities: &mut [f64]) {
        let Some(&last) = documents.iter().max() else { return };
        let words = last as usize / 64 + 1;
        if self.present.len() < words {
            self.present.resize(words, 0);
            self.places.resize(words * 64, 0);
        }
        for (place, &document) in (0..).zip(documents.iter()) {
            self.present[document as usize / 64] |= 1 << (document % 64);
            self.places[document as usize] = place;
        }
        self.documents.clear();
        self.similarities.clear();
        for (word, present) in self.present[..words].iter_mut().enumerate() {
            let mut bits = std::mem::take(present);
            while bits != 0 {
                let document = word as u32 * 64 + bits.trailing_zeros();
                self.documents.push(document);
                self.similarities.push(similarities[self.places[document as usize] as usize]);
                bits &= bits - 1;
            }
        }
        documents.copy_from_slice(&self.documents);
        similarities.copy_from_slice(&self.similarities);
    }
}
