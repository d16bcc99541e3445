//! Progressive filtering with somebody else's classifiers at the nodes: their scores come in, thresholds and answers go
//! out.

use serde::{Deserialize, Serialize};

use super::held_out::Scores;
use super::{NodeState, ProgressiveMemory, ProgressiveModel, ProgressiveOptions, Tuned};
use crate::classify::Scored;
use crate::hierarchy::Taxonomy;
use crate::threshold::Calibration;
use crate::{Error, Progress, Result};

/// Scores of training documents by node classifiers that have not seen them.
#[derive(Debug, Clone)]
pub struct NodeScores<'a> {
    /// Documents × nodes, row after row; −∞ for a node without documents, +∞ for one without negatives.
    pub scores: &'a [f64],
    /// Whether scores are margins without bounds, which a sigmoid learned at each node makes probabilities; otherwise they
    /// are in `[0,1]` already.
    pub margins: bool,
    /// The fold each document was held out in.
    pub folds: Vec<u32>,
    /// The nodes of each document, ancestors included, ascending.
    pub truth: Vec<Vec<u32>>,
}

/// Thresholds along the pipelines of a taxonomy, for classifiers that live elsewhere.
///
/// Classifier and features in the options are not looked at; method, utility, imbalance and answers are.
#[derive(Debug, Clone)]
pub struct ScoreFilter {
    model: ProgressiveModel,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    taxonomy: Taxonomy,
    options: ProgressiveOptions,
    states: Vec<NodeState>,
    calibration: Option<Calibration>,
    tuned: Vec<Option<Tuned>>,
}

impl ScoreFilter {
    /// Tunes thresholds for every pipeline as [`fit`](super::fit) does.
    pub fn tune(
        taxonomy: Taxonomy,
        states: Vec<NodeState>,
        options: ProgressiveOptions,
        held_out: NodeScores<'_>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let (nodes, documents) = (taxonomy.len(), held_out.truth.len());
        if held_out.scores.len() != nodes * documents || held_out.folds.len() != documents {
            return Err(Error::data(format!(
                "{documents} documents and {nodes} nodes, but {} scores and {} folds",
                held_out.scores.len(),
                held_out.folds.len()
            )));
        }
        if held_out.scores.iter().any(|s| s.is_nan()) {
            return Err(Error::data("a classifier gave the score NaN"));
        }
        let mut model = ProgressiveModel::new(taxonomy, options, states, Vec::new(), 0)?;
        let scores = Scores::given(nodes, held_out.scores, held_out.folds, held_out.truth);
        if held_out.margins {
            model.calibration = Some(scores.sigmoids(&model)?);
        }
        model.tuned = scores.tune(&model, progress)?;
        model.validate()?;
        Ok(Self { model })
    }

    /// The taxonomy.
    pub fn taxonomy(&self) -> &Taxonomy {
        self.model.taxonomy()
    }

    /// The thresholds of the pipeline that a node ends; none when it never accepts.
    pub fn tuned(&self, node: u32) -> Option<&Tuned> {
        self.model.tuned(node)
    }

    /// Ranks the nodes of documents by scores as in [`NodeScores::scores`], and decides; see
    /// [`ProgressiveModel::rank_and_decide`].
    pub fn rank_and_decide(&self, scores: &[f64], mut each: impl FnMut(&[Scored], &[u32])) -> Result<()> {
        let nodes = self.model.taxonomy().len();
        if !scores.len().is_multiple_of(nodes) || scores.iter().any(|s| s.is_nan()) {
            return Err(Error::data(format!("scores must be numbers, one for each of the {nodes} nodes")));
        }
        let mut memory = ProgressiveMemory::default();
        let (mut ranked, mut decided) = (Vec::new(), Vec::new());
        for raw in scores.chunks(nodes) {
            self.model.rank_and_decide_raw(raw, &mut memory, &mut ranked, &mut decided);
            each(&ranked, &decided);
        }
        Ok(())
    }

    /// As text, for those who keep it.
    pub fn to_json(&self) -> Result<String> {
        let ProgressiveModel { taxonomy, options, states, calibration, tuned, .. } = self.model.clone();
        let stored = Stored { taxonomy, options, states, calibration, tuned };
        serde_json::to_string(&stored).map_err(|e| Error::data(e.to_string()))
    }

    /// From the text that [`ScoreFilter::to_json`] gave.
    pub fn from_json(text: &str) -> Result<Self> {
        let Stored { taxonomy, options, states, calibration, tuned } =
            serde_json::from_str(text).map_err(|e| Error::data(format!("not a stored filter: {e}")))?;
        let mut model = ProgressiveModel::new(taxonomy, options, states, Vec::new(), 0)?;
        (model.calibration, model.tuned) = (calibration, tuned);
        model.validate()?;
        Ok(Self { model })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;
    use crate::hierarchy::Separator;
    use crate::hierarchy::pipeline::Method;

    /// Nodes a, a/b, c; scores that tell the truth, but for a document of a/b that looks like a alone.
    #[test]
    fn follows_scores_from_elsewhere() {
        let taxonomy = Taxonomy::from_names(["a/b", "c"], Separator::Auto).unwrap();
        assert_eq!(taxonomy.ids().iter().collect::<Vec<_>>(), ["a", "a/b", "c"]);
        let kinds: [(&[f64], &[u32]); 3] =
            [(&[0.9, 0.8, 0.1], &[0, 1]), (&[0.9, 0.2, 0.1], &[0]), (&[0.1, 0.3, 0.9], &[2])];
        let documents: Vec<_> = kinds.iter().cycle().take(30).collect();
        let scores: Vec<f64> = documents.iter().flat_map(|(s, _)| s.iter().copied()).collect();
        let options = ProgressiveOptions { method: Method::Tsa, ..ProgressiveOptions::default() };
        let filter = ScoreFilter::tune(
            taxonomy,
            vec![NodeState::Trained; 3],
            options,
            NodeScores {
                scores: &scores,
                margins: false,
                folds: (0..30).map(|d| d % 3).collect(),
                truth: documents.iter().map(|(_, t)| t.to_vec()).collect(),
            },
            &Silent,
        )
        .unwrap();
        let again = ScoreFilter::from_json(&filter.to_json().unwrap()).unwrap();
        for filter in [filter, again] {
            let mut answers = Vec::new();
            filter
                .rank_and_decide(&scores[..9], |ranked, decided| answers.push((ranked[0].label, decided.to_vec())))
                .unwrap();
            assert_eq!(answers, [(1, vec![1]), (0, vec![0]), (2, vec![2])]);
            assert!(filter.rank_and_decide(&scores[..8], |_, _| ()).is_err());
        }
    }
}
