//! Thresholds on the move: which documents pass, and what happens along one level while the others stand still.

use super::utility::{Units, when};

/// Current thresholds, as places on each level's list of thresholds, and who passes them.
pub(super) struct State<'a> {
    /// For each level the place of each document: it passes threshold `i` when its place is at least `i`.
    places: &'a [Vec<u32>],
    units: &'a [Units],
    at: Vec<u32>,
    /// How many levels reject each document.
    failed: Vec<u16>,
    accepted: Units,
    /// Of the last level looked along: the documents that pass all other levels, by place.
    along: Vec<Units>,
}

impl<'a> State<'a> {
    /// All thresholds at place 0, which every document passes.
    pub(super) fn new(places: &'a [Vec<u32>], units: &'a [Units]) -> Self {
        Self {
            places,
            units,
            at: vec![0; places.len()],
            failed: vec![0; units.len()],
            accepted: units.iter().sum(),
            along: Vec::new(),
        }
    }

    /// The places of the thresholds.
    pub(super) fn at(&self) -> &[u32] {
        &self.at
    }

    /// The documents that pass all levels.
    pub(super) fn accepted(&self) -> Units {
        self.accepted
    }

    /// The documents that pass all other levels, counted by their place at this one, which has `thresholds` places.
    pub(super) fn look_along(&mut self, level: usize, thresholds: usize) -> &[Units] {
        self.along.clear();
        self.along.resize(thresholds, 0);
        let at = self.at[level];
        for ((&place, &failed), &unit) in self.places[level].iter().zip(&self.failed).zip(self.units) {
            let passes_others = failed == u16::from(place < at);
            self.along[place as usize] += when(passes_others, unit);
        }
        &self.along
    }

    /// Moves a threshold to a place where `accepted` pass all levels.
    pub(super) fn move_to(&mut self, level: usize, to: u32, accepted: Units) {
        let from = std::mem::replace(&mut self.at[level], to);
        self.accepted = accepted;
        if from != to {
            for (&place, failed) in self.places[level].iter().zip(&mut self.failed) {
                *failed = *failed + u16::from(place < to) - u16::from(place < from);
            }
        }
    }
}
