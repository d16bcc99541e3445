//! One row a measure: all that help texts and docs say about it.

use std::ops::Deref;

use crate::registry::Row;

/// What a measure needs to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// The ranked list, before any threshold.
    Ranked,
    /// The decided labels.
    Decided,
    /// The decided labels and the taxonomy.
    Hierarchical,
    /// Probabilities.
    Probable,
}

/// One row of the registry: what `--help`, the docs page, the server and Python show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasureSpec {
    /// Name with its parameters as letters, such as `P@k`; a name that parses; what it says; formula, in which T are the
    /// true labels, D the decided ones and R = |T|; source.
    pub row: Row,
    /// What it needs to see.
    pub family: Family,
    /// Whether a larger value is better; false for losses.
    pub higher_is_better: bool,
}

impl Deref for MeasureSpec {
    type Target = Row;

    fn deref(&self) -> &Row {
        &self.row
    }
}

const fn row(
    name: &'static str,
    example: &'static str,
    family: Family,
    higher_is_better: bool,
    what: &'static str,
    formula: &'static str,
    source: &'static str,
) -> MeasureSpec {
    MeasureSpec { row: Row { name, example, what, formula, source }, family, higher_is_better }
}

/// All measures, one row each. [`Measure::spec`](super::Measure::spec) points into it.
pub(super) static REGISTRY: [MeasureSpec; 24] = [
    row(
        "RPrec",
        "RPrec",
        Family::Ranked,
        true,
        "R-precision: share of true labels among the first R places, R being the number of true labels.",
        "hits in the first R places / R; places not filled count as wrong",
        "olsson 2; method 8; trec_eval Rprec",
    ),
    row(
        "AP",
        "AP",
        Family::Ranked,
        true,
        "Average precision of a document; over several documents its mean, the same number as MAP.",
        "1/R Σ over true labels of the precision at their place; a true label not in the list adds 0",
        "olsson 2; method 8; trec_eval map",
    ),
    row(
        "MAP",
        "MAP",
        Family::Ranked,
        true,
        "Mean average precision over documents.",
        "mean of AP",
        "olsson 2; method 8; trec_eval map",
    ),
    row(
        "P@k",
        "P@5",
        Family::Ranked,
        true,
        "Precision in the first k places.",
        "hits in the first k places / k; places not filled count as wrong",
        "method 8; trec_eval P_k",
    ),
    row(
        "R@k",
        "R@5",
        Family::Ranked,
        true,
        "Share of the true labels that are in the first k places.",
        "hits in the first k places / R",
        "trec_eval recall_k",
    ),
    row(
        "nDCG@k",
        "nDCG@10",
        Family::Ranked,
        true,
        "Discounted cumulative gain of the first k places (nDCG: of all), divided by the best possible one.",
        "Σ_{places i ≤ k with a true label} 1/log₂(i+1), divided by Σ_{i ≤ min(R,k)} 1/log₂(i+1)",
        "Järvelin & Kekäläinen 2002; trec_eval ndcg_cut_k",
    ),
    row(
        "MRR",
        "MRR",
        Family::Ranked,
        true,
        "Mean of one over the place of the first true label.",
        "1 / place of the first true label; 0 when none is listed",
        "trec_eval recip_rank",
    ),
    row(
        "OneError",
        "OneError",
        Family::Ranked,
        false,
        "Share of documents whose first label is wrong.",
        "1 when the first place is wrong or empty, else 0",
        "Schapire & Singer 2000",
    ),
    row(
        "Coverage",
        "Coverage",
        Family::Ranked,
        false,
        "How far down the list one must go to meet all true labels.",
        "place of the last true label − 1 (scikit-learn's coverage_error does not subtract 1); a true label not in the \
         list takes the last place of all labels",
        "Schapire & Singer 2000",
    ),
    row(
        "RankingLoss",
        "RankingLoss",
        Family::Ranked,
        false,
        "Share of pairs of a true and a false label in which the false one is placed higher.",
        "pairs in the wrong order / (R · false labels); of two labels not in the list none is placed higher: wrong",
        "Schapire & Singer 2000; scikit-learn label_ranking_loss",
    ),
    row(
        "Accuracy",
        "Accuracy",
        Family::Decided,
        true,
        "Single-label: share of documents with the right label. No value when a document has several true labels.",
        "documents with D = T / documents with one true label",
        "novovicova 5; method 8",
    ),
    row(
        "SubsetAccuracy",
        "SubsetAccuracy",
        Family::Decided,
        true,
        "Share of documents whose decided labels are exactly the true ones.",
        "documents with D = T / documents",
        "scikit-learn accuracy_score",
    ),
    row(
        "HammingLoss",
        "HammingLoss",
        Family::Decided,
        false,
        "Share of wrong decisions among all pairs of a document and a label.",
        "(fp + fn) / (documents · labels); labels are those the model knows and those it does not that a document has",
        "scikit-learn hamming_loss",
    ),
    row(
        "Precision@average",
        "Precision@micro",
        Family::Decided,
        true,
        "Share of decided labels that are true; average is micro (all decisions), macro (mean over labels with a \
         training document), present (mean over labels that a judged document has or was given), samples (mean over \
         documents) or documents (the same, no label answered with none counting 1).",
        "tp / (tp + fp); 0/0 = 0",
        "method 8; scikit-learn precision_score",
    ),
    row(
        "Recall@average",
        "Recall@micro",
        Family::Decided,
        true,
        "Share of true labels that are decided; averages as for precision.",
        "tp / (tp + fn); 0/0 = 0",
        "method 8; scikit-learn recall_score",
    ),
    row(
        "Fβ@average",
        "F1@micro",
        Family::Decided,
        true,
        "Weighted harmonic mean of precision and recall, β > 1 favours recall; averages as for precision.",
        "(1+β²)·tp / ((1+β²)·tp + β²·fn + fp); 0/0 = 0; macro is the mean of the labels' F",
        "olsson 2; method 8; scikit-learn fbeta_score",
    ),
    row(
        "Jaccard@average",
        "Jaccard@samples",
        Family::Decided,
        true,
        "Common labels among those decided or true; averages as for precision.",
        "tp / (tp + fp + fn); 0/0 = 0",
        "scikit-learn jaccard_score",
    ),
    row(
        "hP",
        "hP",
        Family::Hierarchical,
        true,
        "Precision after all ancestors are added to decided and true labels.",
        "Σ |D̂ ∩ T̂| / Σ |D̂| over documents",
        "Kiritchenko, Matwin & Famili 2005; method 8",
    ),
    row(
        "hR",
        "hR",
        Family::Hierarchical,
        true,
        "Recall after all ancestors are added to decided and true labels.",
        "Σ |D̂ ∩ T̂| / Σ |T̂| over documents",
        "Kiritchenko, Matwin & Famili 2005; method 8",
    ),
    row(
        "hFβ",
        "hF1",
        Family::Hierarchical,
        true,
        "F_β of hP and hR.",
        "(1+β²)·hP·hR / (β²·hP + hR)",
        "Kiritchenko, Matwin & Famili 2005; method 8",
    ),
    row(
        "Answered",
        "Answered",
        Family::Decided,
        true,
        "Share of documents that are given any label: the coverage of a model that may say none of these.",
        "documents with D ≠ ∅ / documents",
        "El-Yaniv & Wiener 2010; method 8",
    ),
    row(
        "ECE",
        "ECE",
        Family::Probable,
        false,
        "Expected calibration error: how far the probability of the first label and the share of documents in which it is \
         true are apart, in 15 bins.",
        "Σ over bins of |documents whose first label is true − Σ its probability| / documents",
        "Guo et al. 2017; method 8",
    ),
    row(
        "Brier",
        "Brier",
        Family::Probable,
        false,
        "Squared distance of probability and truth, over all pairs of a document and a label the model knows.",
        "mean of (p − 1)² for true labels and p² for others",
        "Brier 1950; scikit-learn brier_score_loss",
    ),
    row(
        "LogLoss",
        "LogLoss",
        Family::Probable,
        false,
        "Surprise at the truth, over all pairs of a document and a label the model knows.",
        "mean of −ln p for true labels and −ln(1 − p) for others",
        "scikit-learn log_loss",
    ),
];
