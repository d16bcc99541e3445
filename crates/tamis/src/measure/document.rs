//! What a document-wise measure says about one document.

use super::assignment::Tally;
use super::totals::is_agreed_nothing;
use super::{Measure, probability, ranking};
use crate::classify::Scored;

/// One document as it is to be judged; labels ascending.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judged<'a> {
    pub(super) ranked: &'a [Scored],
    pub(super) truth: &'a [u32],
    /// Right, wrong and missed.
    pub(super) own: &'a Tally,
    /// How many labels there are.
    pub(super) labels: usize,
    /// Of each label, where they are known.
    pub(super) probabilities: Option<&'a [f64]>,
}

/// The value of a document-wise measure for a document that takes part; 0/0 = 0.
pub(super) fn document_value(measure: Measure, judged: Judged<'_>) -> f64 {
    let Judged { ranked, truth, own, labels, probabilities } = judged;
    let exact = || Some(f64::from(u8::from(own.wrong + own.missed == 0)));
    if is_agreed_nothing(measure, own) {
        return 1.0;
    }
    let value = match measure {
        Measure::RPrec => ranking::r_precision(ranked, truth),
        Measure::Ap | Measure::Map => ranking::average_precision(ranked, truth),
        Measure::PrecisionAt(k) => ranking::precision_at(ranked, truth, k as usize),
        Measure::RecallAt(k) => ranking::recall_at(ranked, truth, k as usize),
        Measure::Ndcg(k) => ranking::ndcg(ranked, truth, k.map(|k| k as usize)),
        Measure::ReciprocalRank => ranking::reciprocal_rank(ranked, truth),
        Measure::OneError => ranking::one_error(ranked, truth),
        Measure::Coverage => ranking::coverage(ranked, truth, labels),
        Measure::RankingLoss => ranking::ranking_loss(ranked, truth, labels),
        Measure::Accuracy | Measure::SubsetAccuracy => exact(),
        Measure::HammingLoss => {
            let mistakes = (own.wrong + own.missed) as f64;
            (labels > 0).then(|| mistakes / labels as f64)
        }
        Measure::Precision(_) => own.precision(),
        Measure::Recall(_) => own.recall(),
        Measure::F(beta, _) => own.f(beta),
        Measure::Jaccard(_) => own.jaccard(),
        Measure::Answered => Some(f64::from(u8::from(own.decided() > 0))),
        Measure::Brier => probabilities.map(|p| probability::brier(p, truth)),
        Measure::LogLoss => probabilities.map(|p| probability::log_loss(p, truth)),
        Measure::HierarchicalPrecision
        | Measure::HierarchicalRecall
        | Measure::HierarchicalF(_)
        | Measure::CalibrationError => None,
    };
    value.unwrap_or(0.0)
}
