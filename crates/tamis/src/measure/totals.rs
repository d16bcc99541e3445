//! The sums behind every measure of an evaluation: integers only, so parts add up to the whole in any order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::assignment::{Decision, Tally};
use super::hierarchical::HierarchicalTally;
use super::probability::{Confidence, Reliability};
use super::{Average, Family, Measure};

/// A sum of non-negative numbers that does not depend on the order of adding: fixed point with 80 binary places.
///
/// Each number is rounded to 2⁻⁸⁰, finer than an `f64` of that size in all cases that matter; the sum may reach 2⁴⁸.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExactSum(u128);

impl ExactSum {
    const UNIT: f64 = (1u128 << 80) as f64;

    /// Adds `times` times `value`; a negative value counts as 0.
    pub fn add(&mut self, value: f64, times: u64) {
        self.0 += (value * Self::UNIT) as u128 * u128::from(times);
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: Self) {
        self.0 += other.0;
    }

    /// The sum.
    pub fn value(self) -> f64 {
        self.0 as f64 / Self::UNIT
    }
}

/// A measure with its value, and how many quotients 0/0 were taken as 0 for it (method 8).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MeasureValue {
    /// The measure.
    pub measure: Measure,
    /// Its value; `None` when it does not apply: no document took part, `Accuracy` on multi-label documents, a
    /// hierarchical measure without a taxonomy.
    pub value: Option<f64>,
    /// How often 0/0 was taken as 0.
    pub zero_divisions: u64,
}

/// Which measures are asked for, and where the document-wise ones keep their sums.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layout {
    pub(super) measures: Vec<Measure>,
    /// Measures that are a mean over documents.
    pub(super) document_wise: Vec<Measure>,
    /// Labels the model knows.
    pub(super) labels: usize,
    /// Whether a label has a training document (macro averages).
    pub(super) trained: Vec<bool>,
    /// Whether there is a taxonomy.
    pub(super) hierarchical: bool,
}

/// Whether a measure is a mean of one value a document.
pub(super) fn is_document_wise(measure: Measure) -> bool {
    match measure {
        Measure::Accuracy
        | Measure::SubsetAccuracy
        | Measure::HammingLoss
        | Measure::Answered
        | Measure::Brier
        | Measure::LogLoss => true,
        other => other.average().map_or_else(|| other.family() == Family::Ranked, Average::is_over_documents),
    }
}

/// Whether a document with so many true labels takes part in a document-wise measure.
pub(super) fn takes_part(measure: Measure, true_labels: u64) -> bool {
    match measure {
        Measure::Accuracy => true_labels == 1,
        other => other.family() != Family::Ranked || true_labels > 0,
    }
}

/// One document as it was judged. `events` are its decisions, `label · 4 + kind`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    /// One value for each document-wise measure; 0 where the document does not take part.
    pub(super) values: &'a [f64],
    pub(super) events: &'a [u32],
    pub(super) hierarchical: HierarchicalTally,
    /// Where there are probabilities.
    pub(super) confidence: Option<Confidence>,
}

/// Largest label number told apart: two bits of an event are taken.
pub(super) const LAST_LABEL: u32 = (1 << 30) - 1;

pub(super) fn event(label: u32, decision: Decision) -> u32 {
    label.min(LAST_LABEL) << 2 | decision as u32
}

pub(super) fn of_event(event: u32) -> (u32, Decision) {
    let decision = match event & 3 {
        0 => Decision::Right,
        1 => Decision::Wrong,
        _ => Decision::Missed,
    };
    (event >> 2, decision)
}

impl Record<'_> {
    pub(super) fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for &e in self.events {
            tally.add(of_event(e).1, 1);
        }
        tally
    }
}

/// All sums. Adding documents in any order, or adding parts, gives the same.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Totals {
    pub(super) documents: u64,
    /// Documents with no, one, several true labels.
    pub(super) by_truth: [u64; 3],
    sums: Vec<ExactSum>,
    zero_divisions: Vec<u64>,
    pub(super) tallies: Vec<Tally>,
    /// True (or decided) labels the model does not know.
    pub(super) unseen: BTreeMap<u32, Tally>,
    hierarchical: HierarchicalTally,
    /// Documents with probabilities.
    pub(super) reliability: Reliability,
}

impl Totals {
    pub(super) fn new(layout: &Layout) -> Self {
        let n = layout.document_wise.len();
        Self {
            sums: vec![ExactSum::default(); n],
            zero_divisions: vec![0; n],
            tallies: vec![Tally::default(); layout.labels],
            ..Self::default()
        }
    }

    /// From sums taken elsewhere; `tallies` are by label, or one for all of them.
    pub(super) fn from_sums(
        by_truth: [u64; 3],
        sums: Vec<ExactSum>,
        zero_divisions: Vec<u64>,
        tallies: Vec<Tally>,
    ) -> Self {
        Self { documents: by_truth.iter().sum(), by_truth, sums, zero_divisions, tallies, ..Self::default() }
    }

    /// Back to nothing, keeping the memory.
    pub(super) fn clear(&mut self) {
        self.documents = 0;
        self.by_truth = [0; 3];
        self.sums.fill(ExactSum::default());
        self.zero_divisions.fill(0);
        self.tallies.fill(Tally::default());
        self.unseen.clear();
        self.hierarchical = HierarchicalTally::default();
        self.reliability = Reliability::default();
    }

    /// Counts a document `times` times.
    pub(super) fn add(&mut self, layout: &Layout, record: Record<'_>, times: u64) {
        self.documents += times;
        let mut own = Tally::default();
        for &e in record.events {
            let (label, decision) = of_event(e);
            own.add(decision, 1);
            match self.tallies.get_mut(label as usize) {
                Some(tally) => tally.add(decision, times),
                None => self.unseen.entry(label).or_default().add(decision, times),
            }
        }
        self.by_truth[own.support().min(2) as usize] += times;
        for (i, (&measure, &value)) in layout.document_wise.iter().zip(record.values).enumerate() {
            if takes_part(measure, own.support()) {
                self.sums[i].add(value, times);
                if is_zero_by_zero(measure, &own) {
                    self.zero_divisions[i] += times;
                }
            }
        }
        for (sum, own) in [
            (&mut self.hierarchical.0.right, record.hierarchical.0.right),
            (&mut self.hierarchical.0.wrong, record.hierarchical.0.wrong),
            (&mut self.hierarchical.0.missed, record.hierarchical.0.missed),
        ] {
            *sum += own * times;
        }
        if let Some(confidence) = record.confidence {
            self.reliability.add(confidence, times);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.documents += other.documents;
        for (a, b) in self.by_truth.iter_mut().zip(other.by_truth) {
            *a += b;
        }
        for (a, b) in self.sums.iter_mut().zip(&other.sums) {
            a.merge(*b);
        }
        for (a, b) in self.zero_divisions.iter_mut().zip(&other.zero_divisions) {
            *a += b;
        }
        for (a, b) in self.tallies.iter_mut().zip(&other.tallies) {
            a.merge(b);
        }
        for (label, b) in &other.unseen {
            self.unseen.entry(*label).or_default().merge(b);
        }
        self.hierarchical.0.merge(&other.hierarchical.0);
        self.reliability.merge(&other.reliability);
    }

    /// All decisions in one pot.
    pub(super) fn micro(&self) -> Tally {
        let mut all = Tally::default();
        for tally in self.tallies.iter().chain(self.unseen.values()) {
            all.merge(tally);
        }
        all
    }

    /// The value of a measure of the layout.
    pub(super) fn value(&self, layout: &Layout, measure: Measure) -> MeasureValue {
        self.value_of_draw(layout, measure, self, &[])
    }

    /// The value of a measure when these are documents drawn from `whole`, with some decisions more for each label where
    /// `smoothing` has them (see `Smoothing`).
    ///
    /// Without smoothing, a label that has true documents in the whole, but none among those drawn, takes its value in the whole: the
    /// draw says nothing about it.
    pub(super) fn value_of_draw(
        &self,
        layout: &Layout,
        measure: Measure,
        whole: &Self,
        smoothing: &[Tally],
    ) -> MeasureValue {
        let (value, zero_divisions) = match measure {
            _ if self.documents == 0 => (None, 0),
            // Nothing is said about probabilities that some documents lack.
            m if m.family() == Family::Probable && self.reliability.documents() < self.documents => (None, 0),
            Measure::CalibrationError => (self.reliability.error(), 0),
            Measure::HammingLoss => {
                let (mean, zero_divisions) = self.mean_over_documents(layout, measure);
                (mean.map(|mean| mean * whole.share_known(layout)), zero_divisions)
            }
            _ if is_document_wise(measure) => self.mean_over_documents(layout, measure),
            Measure::Precision(average) => self.over_labels(layout, average, (whole, smoothing), Tally::precision),
            Measure::Recall(average) => self.over_labels(layout, average, (whole, smoothing), Tally::recall),
            Measure::F(beta, average) => self.over_labels(layout, average, (whole, smoothing), |t| t.f(beta)),
            Measure::Jaccard(average) => self.over_labels(layout, average, (whole, smoothing), Tally::jaccard),
            Measure::HierarchicalPrecision => of_hierarchy(layout, self.hierarchical.precision()),
            Measure::HierarchicalRecall => of_hierarchy(layout, self.hierarchical.recall()),
            Measure::HierarchicalF(beta) => of_hierarchy(layout, self.hierarchical.f(beta)),
            // The ranked and the document-wise ones are answered above.
            _ => (None, 0),
        };
        MeasureValue { measure, value, zero_divisions }
    }

    /// The share of labels that the model knows, of these and those that documents have: what a share of the known ones is
    /// multiplied with to be one of all, since only the whole tells how many there are.
    pub(super) fn share_known(&self, layout: &Layout) -> f64 {
        layout.labels as f64 / (layout.labels + self.unseen.len()).max(1) as f64
    }

    fn mean_over_documents(&self, layout: &Layout, measure: Measure) -> (Option<f64>, u64) {
        let Some(slot) = layout.document_wise.iter().position(|&m| m == measure) else { return (None, 0) };
        let documents = match measure {
            Measure::Accuracy if self.by_truth[2] > 0 => 0,
            Measure::Accuracy => self.by_truth[1],
            m if m.family() == Family::Ranked => self.documents - self.by_truth[0],
            _ => self.documents,
        };
        let mean = (documents > 0).then(|| self.sums[slot].value() / documents as f64);
        (mean, self.zero_divisions[slot])
    }

    fn over_labels(
        &self,
        layout: &Layout,
        average: Average,
        (whole, smoothing): (&Self, &[Tally]),
        of: impl Fn(&Tally) -> Option<f64>,
    ) -> (Option<f64>, u64) {
        if average == Average::Micro {
            return zero_for_none(of(&self.micro()));
        }
        let (mut labels, mut sum, mut undefined) = (0u64, 0.0, 0);
        let nothing = Tally::default();
        let known = self.tallies.iter().zip(&whole.tallies).zip(&layout.trained);
        let unseen =
            whole.unseen.iter().map(|(label, of_whole)| (self.unseen.get(label).unwrap_or(&nothing), of_whole));
        let more = smoothing.iter().map(Some).chain(std::iter::repeat(None));
        for (((tally, of_whole), trained), more) in known.chain(unseen.map(|pair| (pair, &false))).zip(more) {
            let counts = match average {
                Average::Present => of_whole.support() + of_whole.decided() > 0,
                _ => *trained,
            };
            if !counts {
                continue;
            }
            let not_drawn = tally.support() == 0 && of_whole.support() > 0;
            let mut tally = if not_drawn && more.is_none() { *of_whole } else { *tally };
            more.iter().for_each(|more| tally.merge(more));
            let (value, zero) = zero_for_none(of(&tally));
            labels += 1;
            sum += value.unwrap_or(0.0);
            undefined += zero;
        }
        ((labels > 0).then(|| sum / labels as f64), undefined)
    }
}

fn of_hierarchy(layout: &Layout, value: Option<f64>) -> (Option<f64>, u64) {
    if layout.hierarchical { zero_for_none(value) } else { (None, 0) }
}

/// `0/0 = 0`, counted.
fn zero_for_none(value: Option<f64>) -> (Option<f64>, u64) {
    match value {
        Some(v) => (Some(v), 0),
        None => (Some(0.0), 1),
    }
}

/// Whether a document has no label and was given none, in an average that takes this for right.
pub(super) fn is_agreed_nothing(measure: Measure, own: &Tally) -> bool {
    measure.average() == Some(Average::Documents) && own.decided() + own.support() == 0
}

pub(super) fn is_zero_by_zero(measure: Measure, own: &Tally) -> bool {
    match measure {
        _ if is_agreed_nothing(measure, own) => false,
        Measure::Precision(_) => own.decided() == 0,
        Measure::Recall(_) => own.support() == 0,
        Measure::F(..) | Measure::Jaccard(_) => own.decided() + own.support() == 0,
        _ => false,
    }
}
