//! One evaluation: documents go in one at a time, every measure, table and interval comes out.

use serde::{Deserialize, Serialize};

use super::assignment::{CoOccurrence, Confusion, Tally, compare};
use super::document::{Judged, document_value};
use super::hierarchical::{Ancestry, HierarchicalTally};
use super::probability::{Confidence, Reliability};
use super::totals::{LAST_LABEL, Layout, MeasureValue, Record, Totals, event, is_document_wise, of_event, takes_part};
use super::{Beta, Family, Measure};
use crate::classify::Scored;
use crate::{Error, Result};

/// What an evaluation keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct EvaluationOptions {
    /// The measures to compute.
    pub measures: Vec<Measure>,
    /// How many labels the model knows. True labels with larger numbers are unseen ones: counted as missed.
    pub labels: usize,
    /// Whether each label has a training document; macro averages are over those. `None`: all have.
    pub trained: Option<Vec<bool>>,
    /// The taxonomy, for hierarchical measures.
    pub ancestry: Option<Ancestry>,
    /// Keep each document's values: needed for intervals and tests; about 8 bytes for each document and measure and
    /// 4 for each label of a document.
    pub keep_documents: bool,
    /// Count confusions and co-occurrences of labels.
    pub pairs: bool,
}

impl Default for EvaluationOptions {
    fn default() -> Self {
        Self {
            measures: [
                "RPrec",
                "MAP",
                "P@1",
                "P@5",
                "OneError",
                "Accuracy",
                "Precision@micro",
                "Recall@micro",
                "F1@micro",
                "F1@macro",
                "F1@samples",
            ]
            .iter()
            .map(|name| name.parse().expect("the names of the default are in the registry"))
            .collect(),
            labels: 0,
            trained: None,
            ancestry: None,
            keep_documents: true,
            pairs: false,
        }
    }
}

/// One row of the per-label table.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LabelRow {
    /// Label number.
    pub label: u32,
    /// Whether it has a training document.
    pub trained: bool,
    /// Right, wrong and missed decisions.
    pub tally: Tally,
    /// Precision, 0 for 0/0.
    pub precision: f64,
    /// Recall, 0 for 0/0.
    pub recall: f64,
    /// F1, 0 for 0/0.
    pub f1: f64,
}

/// Kept documents, flat: values by document × document-wise measure, decisions by document.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Kept {
    values: Vec<f64>,
    offsets: Vec<usize>,
    events: Vec<u32>,
    hierarchical: Vec<HierarchicalTally>,
    confidence: Vec<Option<Confidence>>,
}

impl Kept {
    pub(super) fn len(&self) -> usize {
        self.hierarchical.len()
    }

    pub(super) fn record(&self, document: usize, width: usize) -> Record<'_> {
        let begin = if document == 0 { 0 } else { self.offsets[document - 1] };
        Record {
            values: &self.values[document * width..(document + 1) * width],
            events: &self.events[begin..self.offsets[document]],
            hierarchical: self.hierarchical[document],
            confidence: self.confidence[document],
        }
    }

    fn push(&mut self, record: Record<'_>) {
        self.values.extend_from_slice(record.values);
        self.events.extend_from_slice(record.events);
        self.offsets.push(self.events.len());
        self.hierarchical.push(record.hierarchical);
        self.confidence.push(record.confidence);
    }

    fn append(&mut self, other: &Self) {
        let shift = self.events.len();
        self.values.extend_from_slice(&other.values);
        self.events.extend_from_slice(&other.events);
        self.offsets.extend(other.offsets.iter().map(|o| o + shift));
        self.hierarchical.extend_from_slice(&other.hierarchical);
        self.confidence.extend_from_slice(&other.confidence);
    }
}

/// Judges documents and adds up. Parts merge to exactly what one pass over all documents gives (kept documents stay
/// in the order in which they were added and merged), so it does not matter how documents were spread over threads.
#[derive(Debug, Clone)]
pub struct Evaluation {
    pub(super) layout: Layout,
    ancestry: Option<Ancestry>,
    pub(super) totals: Totals,
    pub(super) kept: Option<Kept>,
    pairs: Option<(Confusion, CoOccurrence)>,
    buffers: Buffers,
}

#[derive(Debug, Clone, Default)]
struct Buffers {
    values: Vec<f64>,
    events: Vec<u32>,
    decided: Vec<u32>,
    truth: Vec<u32>,
    closures: (Vec<u32>, Vec<u32>),
}

impl PartialEq for Evaluation {
    fn eq(&self, other: &Self) -> bool {
        self.layout == other.layout
            && self.totals == other.totals
            && self.kept == other.kept
            && self.pairs == other.pairs
    }
}

impl Evaluation {
    /// An evaluation of no document yet.
    pub fn new(options: EvaluationOptions) -> Result<Self> {
        let EvaluationOptions { mut measures, labels, trained, ancestry, keep_documents, pairs } = options;
        if labels > LAST_LABEL as usize {
            return Err(Error::invalid("labels", labels, "must be less than 2^30"));
        }
        let trained = trained.unwrap_or_else(|| vec![true; labels]);
        if trained.len() != labels {
            return Err(Error::invalid("trained", trained.len(), format!("there are {labels} labels")));
        }
        let mut seen = Vec::new();
        measures.retain(|m| {
            !seen.contains(m) && {
                seen.push(*m);
                true
            }
        });
        if let Some(m) = measures.iter().find(|m| m.family() == Family::Hierarchical)
            && ancestry.is_none()
        {
            return Err(Error::invalid("measures", m, "needs a taxonomy, and there is none"));
        }
        let document_wise = measures.iter().copied().filter(|&m| is_document_wise(m)).collect();
        let layout = Layout { measures, document_wise, labels, trained, hierarchical: ancestry.is_some() };
        Ok(Self {
            totals: Totals::new(&layout),
            layout,
            ancestry,
            kept: keep_documents.then(Kept::default),
            pairs: pairs.then(Default::default),
            buffers: Buffers::default(),
        })
    }

    /// An evaluation of no document with the same options: for another thread, to be merged later.
    pub fn fresh(&self) -> Self {
        Self {
            totals: Totals::new(&self.layout),
            layout: self.layout.clone(),
            ancestry: self.ancestry.clone(),
            kept: self.kept.as_ref().map(|_| Kept::default()),
            pairs: self.pairs.as_ref().map(|_| Default::default()),
            buffers: Buffers::default(),
        }
    }

    /// Judges a document: its ranked list, the decided labels and the true ones (in any order).
    pub fn add(&mut self, ranked: &[Scored], decided: &[u32], truth: &[u32]) {
        self.add_with(ranked, decided, truth, None);
    }

    /// The same, with the probability of every label the model knows, where there are any.
    pub fn add_with(&mut self, ranked: &[Scored], decided: &[u32], truth: &[u32], probabilities: Option<&[f64]>) {
        let mut buffers = std::mem::take(&mut self.buffers);
        let Buffers { values, events, decided: decided_buffer, truth: truth_buffer, closures } = &mut buffers;
        let decided = ascending(decided, decided_buffer);
        let truth = ascending(truth, truth_buffer);

        events.clear();
        let mut own = Tally::default();
        compare(decided, truth, |label, decision| {
            events.push(event(label, decision));
            own.add(decision, 1);
        });
        let judged = Judged { ranked, truth, own: &own, labels: self.layout.labels, probabilities };
        values.clear();
        values.extend(
            self.layout
                .document_wise
                .iter()
                .map(|&measure| if takes_part(measure, own.support()) { document_value(measure, judged) } else { 0.0 }),
        );
        let hierarchical = match &self.ancestry {
            Some(ancestry) => HierarchicalTally::of(ancestry, decided, truth, closures),
            None => HierarchicalTally::default(),
        };
        let confidence = probabilities.map(|p| {
            let first = ranked.first().map(|scored| scored.label);
            let probability = first.and_then(|label| p.get(label as usize)).copied().unwrap_or(0.0);
            Confidence { probability, right: first.is_some_and(|label| truth.binary_search(&label).is_ok()) }
        });
        let record = Record { values, events, hierarchical, confidence };
        self.totals.add(&self.layout, record, 1);
        if let Some(kept) = &mut self.kept {
            kept.push(record);
        }
        if let Some((confusion, together)) = &mut self.pairs {
            confusion.add(decided, truth);
            together.add(truth);
        }
        self.buffers = buffers;
    }

    /// Adds a part judged elsewhere. Fails when the parts were set up differently.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if self.layout != other.layout
            || self.kept.is_some() != other.kept.is_some()
            || self.pairs.is_some() != other.pairs.is_some()
        {
            return Err(Error::data("evaluations with different measures, labels or options cannot be merged"));
        }
        self.totals.merge(&other.totals);
        if let (Some(kept), Some(more)) = (&mut self.kept, &other.kept) {
            kept.append(more);
        }
        if let (Some(pairs), Some(more)) = (&mut self.pairs, &other.pairs) {
            pairs.0.merge(&more.0);
            pairs.1.merge(&more.1);
        }
        Ok(())
    }

    /// Gives other numbers to labels that the model does not know, before parts that numbered them apart are merged;
    /// known ones must stay. Two labels must not become one.
    pub fn renumber(&mut self, number: impl Fn(u32) -> u32) {
        self.totals.unseen = std::mem::take(&mut self.totals.unseen).into_iter().map(|(l, t)| (number(l), t)).collect();
        for e in self.kept.iter_mut().flat_map(|kept| &mut kept.events) {
            let (label, decision) = of_event(*e);
            *e = event(number(label), decision);
        }
        if let Some((confusion, together)) = &mut self.pairs {
            confusion.renumber(&number);
            together.renumber(&number);
        }
    }

    /// Number of documents judged.
    pub fn documents(&self) -> u64 {
        self.totals.documents
    }

    /// Documents without a true label: ranked measures leave them out.
    pub fn documents_without_truth(&self) -> u64 {
        self.totals.by_truth[0]
    }

    /// The measures asked for, each once.
    pub fn measures(&self) -> &[Measure] {
        &self.layout.measures
    }

    /// Every measure asked for, in that order.
    pub fn values(&self) -> Vec<MeasureValue> {
        self.layout.measures.iter().map(|&m| self.totals.value(&self.layout, m)).collect()
    }

    /// One measure; `None` when it was not asked for or does not apply.
    pub fn value(&self, measure: Measure) -> Option<f64> {
        self.totals.value(&self.layout, measure).value
    }

    /// How many quotients 0/0 were taken as 0, over all measures (method 8).
    pub fn zero_divisions(&self) -> u64 {
        self.values().iter().map(|v| v.zero_divisions).sum()
    }

    /// True labels the model does not know, with the number of documents that carry them: all counted as missed.
    pub fn unseen(&self) -> Vec<(u32, u64)> {
        let unseen = self.totals.unseen.iter();
        unseen.map(|(&label, tally)| (label, tally.support())).filter(|(_, support)| *support > 0).collect()
    }

    /// The per-label table: every known label, then the unseen ones that occurred.
    pub fn per_label(&self) -> Vec<LabelRow> {
        let row = |label: u32, tally: &Tally| LabelRow {
            label,
            trained: self.layout.trained.get(label as usize).copied().unwrap_or(false),
            tally: *tally,
            precision: tally.precision().unwrap_or(0.0),
            recall: tally.recall().unwrap_or(0.0),
            f1: tally.f(Beta::ONE).unwrap_or(0.0),
        };
        let known = self.totals.tallies.iter().enumerate().map(|(label, tally)| row(label as u32, tally));
        known.chain(self.totals.unseen.iter().map(|(&label, tally)| row(label, tally))).collect()
    }

    /// All decisions in one pot.
    pub fn micro(&self) -> Tally {
        self.totals.micro()
    }

    /// What was decided where something else was true; `None` unless `pairs` was asked for.
    pub fn confusion(&self) -> Option<&Confusion> {
        self.pairs.as_ref().map(|(confusion, _)| confusion)
    }

    /// Which labels are true together; `None` unless `pairs` was asked for.
    pub fn co_occurrence(&self) -> Option<&CoOccurrence> {
        self.pairs.as_ref().map(|(_, together)| together)
    }

    /// The value of a document-wise measure for each kept document, in order; `None` for documents that take no part.
    ///
    /// Fails when documents were not kept, or the measure is not a mean over documents (such as `F1@micro`).
    pub fn per_document(&self, measure: Measure) -> Result<Vec<Option<f64>>> {
        let kept = self.kept()?;
        let width = self.layout.document_wise.len();
        let slot = self.layout.document_wise.iter().position(|&m| m == measure).ok_or_else(|| {
            let reason = if is_document_wise(measure) { "was not asked for" } else { "is not a mean over documents" };
            Error::invalid("measure", measure, reason)
        })?;
        let share = if measure == Measure::HammingLoss { self.totals.share_known(&self.layout) } else { 1.0 };
        let value = |document| {
            let record = kept.record(document, width);
            takes_part(measure, record.tally().support()).then(|| record.values[slot] * share)
        };
        Ok((0..kept.len()).map(value).collect())
    }

    /// How sure of its first label each kept document is, in order, and whether rightly; none for documents without probabilities.
    pub fn confidences(&self) -> Result<Vec<Confidence>> {
        Ok(self.kept()?.confidence.iter().flatten().copied().collect())
    }

    /// Documents by the probability of their first label; empty without probabilities.
    pub fn reliability(&self) -> &Reliability {
        &self.totals.reliability
    }

    pub(super) fn kept(&self) -> Result<&Kept> {
        self.kept.as_ref().ok_or_else(|| Error::invalid("keep_documents", false, "must be true for this"))
    }
}

/// The list itself when it is ascending without repetition, else a sorted copy.
fn ascending<'a>(labels: &'a [u32], buffer: &'a mut Vec<u32>) -> &'a [u32] {
    if labels.is_sorted_by(|a, b| a < b) {
        return labels;
    }
    buffer.clear();
    buffer.extend_from_slice(labels);
    buffer.sort_unstable();
    buffer.dedup();
    buffer
}
