//! How far probabilities can be trusted: calibration error, Brier score, logarithmic loss; and what answering less would give.

use serde::{Deserialize, Serialize};

use super::totals::ExactSum;

/// The probability of a document's first label, and whether that label is true.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Confidence {
    /// Between 0 and 1.
    pub probability: f64,
    /// Whether it is true.
    pub right: bool,
}

/// Documents by the probability of their first label, in bins of equal width (Guo et al. 2017).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reliability {
    bins: Vec<Bin>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Bin {
    documents: u64,
    right: u64,
    sum: ExactSum,
}

/// One bin of documents with nearly the same probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReliabilityBin {
    /// Mean probability of the first labels.
    pub probability: f64,
    /// Share of the first labels that are true.
    pub right: f64,
    /// Documents.
    pub documents: u64,
}

impl Default for Reliability {
    fn default() -> Self {
        Self { bins: vec![Bin::default(); Self::BINS] }
    }
}

impl Reliability {
    /// Bins, as in Guo et al. 2017.
    pub const BINS: usize = 15;

    pub(super) fn add(&mut self, confidence: Confidence, times: u64) {
        let at = (confidence.probability * Self::BINS as f64) as usize;
        let bin = &mut self.bins[at.min(Self::BINS - 1)];
        bin.documents += times;
        bin.right += if confidence.right { times } else { 0 };
        bin.sum.add(confidence.probability, times);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (own, more) in self.bins.iter_mut().zip(&other.bins) {
            own.documents += more.documents;
            own.right += more.right;
            own.sum.merge(more.sum);
        }
    }

    /// Documents in all bins.
    pub fn documents(&self) -> u64 {
        self.bins.iter().map(|bin| bin.documents).sum()
    }

    /// Bins with a document, ascending.
    pub fn bins(&self) -> Vec<ReliabilityBin> {
        let bin = |bin: &Bin| {
            let n = bin.documents as f64;
            ReliabilityBin { probability: bin.sum.value() / n, right: bin.right as f64 / n, documents: bin.documents }
        };
        self.bins.iter().filter(|bin| bin.documents > 0).map(bin).collect()
    }

    /// The expected calibration error: how far probability and share of right answers are apart, over documents. `None` without
    /// any.
    pub fn error(&self) -> Option<f64> {
        let documents = self.documents() as f64;
        let apart = |bin: &Bin| (bin.right as f64 - bin.sum.value()).abs();
        (documents > 0.0).then(|| self.bins.iter().map(apart).sum::<f64>() / documents)
    }
}

/// The mean over labels of `(p − y)²`; 0 without a label.
pub(super) fn brier(probabilities: &[f64], truth: &[u32]) -> f64 {
    over_labels(probabilities, truth, |p, y| if y { (1.0 - p).powi(2) } else { p * p })
}

/// The mean over labels of `−ln p` where the label is true and `−ln(1 − p)` where it is not; probabilities are kept off 0 and 1 by
/// the precision of numbers, as scikit-learn does.
pub(super) fn log_loss(probabilities: &[f64], truth: &[u32]) -> f64 {
    over_labels(probabilities, truth, |p, y| {
        let p = p.clamp(f64::EPSILON, 1.0 - f64::EPSILON);
        if y { -p.ln() } else { -(1.0 - p).ln() }
    })
}

fn over_labels(probabilities: &[f64], truth: &[u32], loss: impl Fn(f64, bool) -> f64) -> f64 {
    let each = (0u32..).zip(probabilities).map(|(label, &p)| loss(p, truth.binary_search(&label).is_ok()));
    if probabilities.is_empty() { 0.0 } else { each.sum::<f64>() / probabilities.len() as f64 }
}

/// What answering only the surest documents gives.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RiskPoint {
    /// The probability from which on documents are answered.
    pub from: f64,
    /// Share of the documents that are.
    pub coverage: f64,
    /// Share of those answers that are wrong.
    pub risk: f64,
}

/// Risk against coverage, from the surest documents to all of them (El-Yaniv & Wiener 2010), in at most about 200 points.
pub fn risk_coverage(confidences: &[Confidence]) -> Vec<RiskPoint> {
    const POINTS: usize = 200;
    let mut surest: Vec<Confidence> = confidences.to_vec();
    surest.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    let all = surest.len();
    let mut points = Vec::new();
    let (mut wrong, mut next) = (0u64, 0.0);
    for (i, one) in surest.iter().enumerate() {
        wrong += u64::from(!one.right);
        let last_of_equals = surest.get(i + 1).is_none_or(|after| after.probability < one.probability);
        let answered = (i + 1) as f64;
        if last_of_equals && (answered >= next || i + 1 == all) {
            points.push(RiskPoint {
                from: one.probability,
                coverage: answered / all as f64,
                risk: wrong as f64 / answered,
            });
            next = answered + all as f64 / POINTS as f64;
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert!((brier(&[0.8, 0.1], &[0]) - 0.025).abs() < 1e-12);
        assert!((log_loss(&[0.8, 0.1], &[0]) - (-(0.8f64.ln()) - 0.9f64.ln()) / 2.0).abs() < 1e-12);
        assert!(log_loss(&[0.0], &[0]).is_finite() && brier(&[], &[]) == 0.0);
        let mut reliability = Reliability::default();
        for (probability, right) in [(0.9, true), (0.92, false), (0.1, false), (1.0, true)] {
            reliability.add(Confidence { probability, right }, 1);
        }
        // 0.9 and 0.92 share a bin: |1 − 1.82|; the others are off by 0.1 and 0.
        assert!((reliability.error().unwrap() - 0.92 / 4.0).abs() < 1e-12);
        assert_eq!(reliability.bins().len(), 3);
        assert_eq!(Reliability::default().error(), None);
    }

    #[test]
    fn risk_grows_as_it_was_drawn() {
        let one = |probability: f64, right: bool| Confidence { probability, right };
        let points = risk_coverage(&[one(0.5, false), one(0.9, true), one(0.5, true), one(0.7, true)]);
        let found: Vec<(f64, f64)> = points.iter().map(|p| (p.coverage, p.risk)).collect();
        assert_eq!(found, [(0.25, 0.0), (0.5, 0.0), (1.0, 0.25)]);
        assert!(risk_coverage(&[]).is_empty());
        let many: Vec<Confidence> = (0..5000).map(|i| one(f64::from(i) / 5000.0, i % 3 == 0)).collect();
        assert!(risk_coverage(&many).len() <= 201);
    }
}
