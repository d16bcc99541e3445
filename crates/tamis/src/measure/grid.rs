//! Many evaluations of the same documents side by side, small enough for thousands of them.

use std::sync::Arc;

use super::assignment::{Tally, compare};
use super::document::{Judged, document_value};
use super::totals::{ExactSum, Layout, MeasureValue, Totals, is_document_wise, is_zero_by_zero, takes_part};
use super::{Average, Family, Measure};
use crate::classify::Scored;
use crate::{Error, Result};

/// What [`Evaluation`](super::Evaluation) computes, for many methods at once: a place for each. Memory is flat and only as
/// large as the measures need; per-label tallies are kept only when a macro average is asked for.
///
/// Parts merge to exactly what one pass over all documents gives.
#[derive(Debug, Clone)]
pub struct EvaluationGrid {
    layout: Arc<Layout>,
    /// Tallies at a place: none, one for all labels, or one for each.
    width: usize,
    /// Documents with no, one, several true labels, by place.
    by_truth: Vec<[u64; 3]>,
    /// By place, then document-wise measure.
    sums: Vec<ExactSum>,
    zero_divisions: Vec<u64>,
    /// By place, then label.
    tallies: Vec<Tally>,
    values: Vec<f64>,
}

impl EvaluationGrid {
    /// `places` evaluations of no document yet. `trained` says which labels have a training document (macro averages
    /// are over those); all true and decided labels must be among them.
    pub fn new(measures: &[Measure], trained: Vec<bool>, places: usize) -> Result<Self> {
        if let Some(m) = measures.iter().find(|m| m.family() == Family::Hierarchical) {
            return Err(Error::invalid("measures", m, "needs a taxonomy, and there is none"));
        }
        if let Some(m) = measures.iter().find(|m| m.family() == Family::Probable) {
            return Err(Error::invalid("measures", m, "needs probabilities, and there are none"));
        }
        let document_wise: Vec<Measure> = measures.iter().copied().filter(|&m| is_document_wise(m)).collect();
        let needs = |wanted: Average| measures.iter().any(|m| m.average() == Some(wanted));
        let width = if needs(Average::Macro) || needs(Average::Present) {
            trained.len()
        } else {
            usize::from(needs(Average::Micro))
        };
        let sums = places * document_wise.len();
        let labels = trained.len();
        let layout = Layout { measures: measures.to_vec(), document_wise, labels, trained, hierarchical: false };
        Ok(Self {
            layout: Arc::new(layout),
            width,
            by_truth: vec![[0; 3]; places],
            sums: vec![ExactSum::default(); sums],
            zero_divisions: vec![0; sums],
            tallies: vec![Tally::default(); places * width],
            values: Vec::new(),
        })
    }

    /// The same with no document.
    pub fn fresh(&self) -> Self {
        Self {
            layout: Arc::clone(&self.layout),
            width: self.width,
            by_truth: vec![[0; 3]; self.by_truth.len()],
            sums: vec![ExactSum::default(); self.sums.len()],
            zero_divisions: vec![0; self.sums.len()],
            tallies: vec![Tally::default(); self.tallies.len()],
            values: Vec::new(),
        }
    }

    /// The measures that are a mean over documents.
    pub fn document_wise(&self) -> &[Measure] {
        &self.layout.document_wise
    }

    /// Judges a document at a place: its ranked list, the decided labels and the true ones, both ascending. Returns its
    /// value of each document-wise measure; 0 for those in which it takes no part.
    pub fn add(&mut self, place: usize, ranked: &[Scored], decided: &[u32], truth: &[u32]) -> &[f64] {
        let mut own = Tally::default();
        let tallies = &mut self.tallies[place * self.width..][..self.width];
        compare(decided, truth, |label, decision| {
            own.add(decision, 1);
            let label = if tallies.len() > 1 { label as usize } else { 0 };
            if let Some(tally) = tallies.get_mut(label) {
                tally.add(decision, 1);
            }
        });
        self.by_truth[place][own.support().min(2) as usize] += 1;
        let Layout { document_wise, labels, .. } = &*self.layout;
        let judged = Judged { ranked, truth, own: &own, labels: *labels, probabilities: None };
        self.values.clear();
        for (i, &measure) in document_wise.iter().enumerate() {
            let mut value = 0.0;
            if takes_part(measure, own.support()) {
                value = document_value(measure, judged);
                let slot = place * document_wise.len() + i;
                self.sums[slot].add(value, 1);
                self.zero_divisions[slot] += u64::from(is_zero_by_zero(measure, &own));
            }
            self.values.push(value);
        }
        &self.values
    }

    /// Adds a part judged elsewhere, made by [`EvaluationGrid::fresh`].
    ///
    /// # Panics
    /// When it was not.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.by_truth.len(), other.by_truth.len(), "parts of one grid have the same places");
        assert_eq!(self.layout.measures, other.layout.measures, "parts of one grid have the same measures");
        for (a, b) in self.by_truth.iter_mut().zip(&other.by_truth) {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        }
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| a.merge(*b));
        self.zero_divisions.iter_mut().zip(&other.zero_divisions).for_each(|(a, b)| *a += b);
        self.tallies.iter_mut().zip(&other.tallies).for_each(|(a, b)| a.merge(b));
    }

    /// Every measure at a place, in the order asked for.
    pub fn values(&self, place: usize) -> Vec<MeasureValue> {
        let n = self.layout.document_wise.len();
        let by_truth = self.by_truth[place];
        let totals = Totals::from_sums(
            by_truth,
            self.sums[place * n..][..n].to_vec(),
            self.zero_divisions[place * n..][..n].to_vec(),
            self.tallies[place * self.width..][..self.width].to_vec(),
        );
        self.layout.measures.iter().map(|&m| totals.value(&self.layout, m)).collect()
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.by_truth.len() * 24 + self.sums.len() * 24 + self.tallies.len() * size_of::<Tally>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Evaluation, EvaluationOptions};
    use proptest::prelude::*;

    const LABELS: usize = 5;

    /// A document: ranked labels, decided ones, true ones.
    type Document = (Vec<u32>, Vec<u32>, Vec<u32>);

    fn documents() -> impl Strategy<Value = Vec<Document>> {
        let set = || prop::collection::btree_set(0..LABELS as u32, 0..4).prop_map(|s| s.into_iter().collect());
        let ranked = Just((0..LABELS as u32).collect::<Vec<_>>()).prop_shuffle();
        prop::collection::vec((ranked, set(), set()), 0..12)
    }

    fn scored(labels: &[u32]) -> Vec<Scored> {
        labels.iter().zip((0..9).rev()).map(|(&label, s)| Scored { label, score: f64::from(s) }).collect()
    }

    proptest! {
        #[test]
        fn every_place_is_an_evaluation(documents in documents(), which in 0usize..3, at in 0usize..12) {
            let lists = [
                vec!["RPrec", "MAP"],
                vec!["RPrec", "F1@micro", "Precision@micro", "F1@samples", "nDCG@3"],
                vec!["F1@macro", "F1@micro", "Accuracy", "RankingLoss", "Jaccard@macro"],
            ];
            let measures: Vec<Measure> = lists[which].iter().map(|m| m.parse().unwrap()).collect();
            let trained = vec![true, true, false, true, true];
            let whole = EvaluationGrid::new(&measures, trained.clone(), 2).unwrap();
            let options = EvaluationOptions {
                measures, labels: LABELS, trained: Some(trained), keep_documents: false, ..EvaluationOptions::default()
            };
            let mut expected = [Evaluation::new(options.clone()).unwrap(), Evaluation::new(options).unwrap()];
            let mut parts = [whole.fresh(), whole.fresh()];
            for (i, (ranked, decided, truth)) in documents.iter().enumerate() {
                let part = &mut parts[usize::from(i >= at)];
                // The second place sees the list reversed and the decisions of nobody.
                let reversed: Vec<u32> = ranked.iter().rev().copied().collect();
                part.add(0, &scored(ranked), decided, truth);
                part.add(1, &scored(&reversed), &[], truth);
                expected[0].add(&scored(ranked), decided, truth);
                expected[1].add(&scored(&reversed), &[], truth);
            }
            let mut merged = whole.fresh();
            parts.iter().for_each(|p| merged.merge(p));
            for place in 0..2 {
                prop_assert_eq!(merged.values(place), expected[place].values());
            }
        }
    }
}
