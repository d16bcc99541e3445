//! A fitted model: everything from raw text to decided labels, in one value.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::labeller::Desk;
use super::{Labeller, Seen, Shown, Target};
use crate::classify::{Classifier, ClassifierSpec, Fitted, Query, Scored, Scratch};
use crate::counts::Vocabulary;
use crate::hierarchy::progressive::Answers;
use crate::hierarchy::{ProgressiveMemory, ProgressiveModel, Taxonomy, Worth};
use crate::terms::{Analyzer, TextOptions, Unit};
use crate::threshold::{Calibration, Threshold, ThresholdCurve, Thresholds};
use crate::{Error, Result};

/// What is remembered about a training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainingSummary {
    /// Version of the program.
    pub program: String,
    /// Training documents.
    pub documents: u64,
    /// Training documents of each label.
    pub label_documents: Vec<u32>,
    /// Distinct terms of the training documents, before selection.
    pub vocabulary: usize,
    /// Whether every labelled training document has exactly one label.
    pub single_label: bool,
    /// Selector expression.
    pub selector: String,
    /// The classifier.
    pub classifier: ClassifierSpec,
    /// Seed.
    pub seed: u64,
    /// Why these were chosen, in sentences.
    pub choices: Vec<String>,
    /// Quality measured by cross-validation on the training documents: measure and value.
    pub quality: Vec<(String, f64)>,
    /// Folds of that cross-validation; 0 when there was none, [`TrainingSummary::VALIDATED`] where the corpus's validation part
    /// stood for it.
    pub folds: usize,
}

impl TrainingSummary {
    /// The number of folds that says that quality was measured on the validation part.
    pub const VALIDATED: usize = 1;

    /// What quality was measured on.
    pub fn measured_by(&self) -> String {
        match self.folds {
            Self::VALIDATED => "validation part".to_owned(),
            folds => format!("{folds}-fold cross-validation"),
        }
    }

    /// The name and version of this program.
    pub(super) fn this_program() -> String {
        format!("tamis {}", env!("CARGO_PKG_VERSION"))
    }
}

/// What ranks labels.
#[derive(Debug, Clone)]
pub enum Ranker {
    /// One classifier for all labels.
    Flat(Fitted),
    /// A classifier for each node of a taxonomy.
    Along(Box<ProgressiveModel>),
}

impl Ranker {
    /// How many labels it knows.
    pub fn labels(&self) -> usize {
        match self {
            Self::Flat(classifier) => classifier.labels(),
            Self::Along(filter) => filter.labels(),
        }
    }
}

/// Reusable memory for ranking, one for each thread.
#[derive(Debug, Default)]
pub struct Memory {
    pub(super) scratch: Scratch,
    pub(super) progressive: ProgressiveMemory,
    pub(super) labels: Vec<f64>,
    pub(super) nodes: Vec<f64>,
}

/// The parts of a model.
#[derive(Debug, Clone)]
pub struct ModelParts {
    /// Text to terms, exactly as in training.
    pub text: TextOptions,
    /// Selected terms, in byte order.
    pub terms: Arc<Vocabulary>,
    /// Feature number (rank) of each term.
    pub feature_of: Vec<u32>,
    /// Labels.
    pub labels: Arc<Vocabulary>,
    /// The taxonomy, if there is one.
    pub taxonomy: Option<Taxonomy>,
    /// Ranks.
    pub ranker: Ranker,
    /// For neighbours: the names of the training documents, in order.
    pub neighbours: Vec<String>,
    /// Decides, where there is one classifier for all labels.
    pub thresholds: Thresholds,
    /// Precision, recall and F against threshold on held-out documents, for reports and the server: one for each label,
    /// along a taxonomy one for each node that can be accepted; none without cross-validation.
    pub curves: Vec<ThresholdCurve>,
    /// Scores to probabilities, if asked for.
    pub calibration: Option<Calibration>,
    /// What decides instead of thresholds, where labels lie along a taxonomy and answers are chosen by what they are worth.
    pub worth: Option<Worth>,
    /// How it came about.
    pub summary: TrainingSummary,
    /// Some of the documents it was trained on; empty in files of older programs.
    pub seen: Seen,
    /// What labels are to whoever fitted it, where that is more than text.
    pub target: Option<Target>,
    /// What it shows of itself to people.
    pub shown: Shown,
}

/// A fitted model, ready to label documents. Its parts were checked and do not change; copies share them.
#[derive(Clone)]
pub struct Model(Arc<Checked>);

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Model").field(&self.0.parts).finish()
    }
}

struct Checked {
    parts: ModelParts,
    /// Term of each feature.
    term_of: Vec<u32>,
    /// Names of the features for people, where they are not the terms themselves.
    shown: Option<Vec<String>>,
    /// What labellers worked with and left: they know the words they have seen.
    idle: Mutex<Vec<Desk>>,
}

impl Deref for Model {
    type Target = ModelParts;

    fn deref(&self) -> &ModelParts {
        &self.0.parts
    }
}

impl Model {
    /// Whether scores become probabilities: by what was learned on held-out documents, or because the classifier scores with them.
    pub fn has_probabilities(&self) -> bool {
        self.calibration.is_some() || self.worth.is_some() || self.scores_are_probabilities()
    }

    /// How probable each label is in a document with this ranked list, by the numbers of the labels; false where the model cannot
    /// tell.
    pub fn probabilities(&self, ranked: &[Scored], probabilities: &mut Vec<f64>) -> bool {
        match &self.calibration {
            // Scores have become probabilities already.
            _ if self.worth.is_some() => {
                probabilities.clear();
                probabilities.resize(self.labels.len(), 0.0);
                for s in ranked {
                    probabilities[s.label as usize] = s.score;
                }
            }
            Some(calibration) => calibration.all(ranked, self.labels.len(), probabilities),
            None if self.scores_are_probabilities() => {
                probabilities.clear();
                probabilities.resize(self.labels.len(), 0.0);
                for s in ranked {
                    probabilities[s.label as usize] = s.score.exp().min(1.0);
                }
            }
            None => return false,
        }
        true
    }

    fn scores_are_probabilities(&self) -> bool {
        matches!(self.ranker, Ranker::Flat(_)) && self.summary.classifier.gives_probabilities()
    }

    /// The label of most training documents, of equals the first; along a taxonomy of the nodes without others below.
    pub fn majority(&self) -> Option<u32> {
        let is_inner = |label: u32| match (&self.ranker, &self.taxonomy) {
            (Ranker::Along(_), Some(taxonomy)) => !taxonomy.children(label).is_empty(),
            _ => false,
        };
        let documents = self.summary.label_documents.iter().zip(0u32..).filter(|&(_, label)| !is_inner(label));
        documents
            .filter(|(n, _)| **n > 0)
            .max_by_key(|&(n, label)| (n, std::cmp::Reverse(label)))
            .map(|(_, label)| label)
    }

    /// A model of parts that belong together, or an error that says why they do not.
    pub fn new(parts: ModelParts) -> Result<Self> {
        let n = parts.terms.len();
        let mut term_of = vec![u32::MAX; n];
        for (&feature, term) in parts.feature_of.iter().zip(0u32..) {
            match term_of.get_mut(feature as usize) {
                Some(place @ &mut u32::MAX) => *place = term,
                _ => return Err(Error::data("the features of the model are not numbered from 0 without gaps")),
            }
        }
        if parts.feature_of.len() != n || parts.ranker.labels() != parts.labels.len() {
            return Err(Error::data("the parts of the model do not belong together"));
        }
        if parts.summary.label_documents.len() != parts.labels.len() {
            return Err(Error::data("the summary of the model is about other labels"));
        }
        if let Some(worth) = &parts.worth {
            let taxonomy = parts.taxonomy.as_ref().filter(|taxonomy| *taxonomy.ids() == *parts.labels);
            if taxonomy.is_none() || matches!(parts.ranker, Ranker::Along(_)) {
                return Err(Error::data("answers by what they are worth need the taxonomy of the labels"));
            }
            worth.validate(parts.labels.len())?;
        }
        if let Ranker::Flat(Fitted::Knn { problem, .. }) = &parts.ranker
            && problem.documents() != parts.neighbours.len()
        {
            return Err(Error::data("the names of the neighbours are not those of the training documents"));
        }
        // Whoever labels makes one of these, and must not fail.
        Analyzer::new(&parts.text)?;
        let shown = |&term: &u32| parts.text.shown(parts.terms.name(term)).into_owned();
        let plain = !parts.text.marks_terms() && parts.text.blocks().iter().all(|block| block.unit == Unit::Words);
        let shown = (!plain).then(|| term_of.iter().map(shown).collect());
        Ok(Self(Arc::new(Checked { parts, term_of, shown, idle: Mutex::default() })))
    }

    /// The same model with what its labels are to the caller. A target that says nothing more than the model does is left out, so
    /// that whoever fits the same documents writes the same file.
    #[must_use]
    pub fn with_target(self, target: Target) -> Self {
        let one_each = self.summary.single_label && self.deciding() == Threshold::rcut(1).to_string();
        let target = (!target.is_plain(one_each)).then_some(target);
        self.with_parts(|parts| parts.target = target)
    }

    /// The same model with parts changed that nothing else depends on.
    pub(super) fn with_parts(self, change: impl FnOnce(&mut ModelParts)) -> Self {
        let mut checked = Arc::try_unwrap(self.0).unwrap_or_else(|shared| Checked {
            parts: shared.parts.clone(),
            term_of: shared.term_of.clone(),
            shown: shared.shown.clone(),
            idle: Mutex::default(),
        });
        change(&mut checked.parts);
        Self(Arc::new(checked))
    }

    /// The name of a feature, for people.
    pub fn word(&self, feature: u32) -> &str {
        match &self.0.shown {
            Some(shown) => &shown[feature as usize],
            None => self.terms.name(self.0.term_of[feature as usize]),
        }
    }

    /// Names of the features for people, best first.
    pub fn words(&self) -> Vec<&str> {
        (0..self.terms.len() as u32).map(|feature| self.word(feature)).collect()
    }

    /// The features as the vocabulary has them, best first.
    pub fn features(&self) -> Vec<&str> {
        self.0.term_of.iter().map(|&term| self.terms.name(term)).collect()
    }

    /// Ranks the labels of a document and decides them.
    pub fn rank_and_decide(
        &self,
        document: Query<'_>,
        memory: &mut Memory,
        ranked: &mut Vec<Scored>,
        decided: &mut Vec<u32>,
    ) {
        match &self.ranker {
            Ranker::Along(filter) => filter.rank_and_decide(document, &mut memory.progressive, ranked, decided),
            Ranker::Flat(classifier) => {
                classifier.rank(document, &mut memory.scratch, ranked);
                if let (Some(worth), Some(taxonomy)) = (&self.worth, &self.taxonomy) {
                    return self.answer_by_worth(worth, taxonomy, memory, ranked, decided);
                }
                self.thresholds.decide_into(ranked, decided);
            }
        }
    }

    /// Scores become probabilities, and the best answer is decided. The list is of all nodes that are possible: by the
    /// probability that a document ends there, or has it where labels come with their ancestors.
    fn answer_by_worth(
        &self,
        worth: &Worth,
        taxonomy: &Taxonomy,
        memory: &mut Memory,
        ranked: &mut Vec<Scored>,
        decided: &mut Vec<u32>,
    ) {
        let Memory { labels, nodes, .. } = memory;
        ranked.truncate(Worth::PLACES);
        match &self.calibration {
            Some(calibration) => calibration.all(ranked, self.labels.len(), labels),
            None => {
                labels.clear();
                labels.resize(self.labels.len(), 0.0);
                ranked.iter().for_each(|s| labels[s.label as usize] = s.score.exp().min(1.0));
            }
        }
        worth.node_probabilities(taxonomy, labels, nodes);
        worth.decide(taxonomy, labels, nodes, decided);
        if !worth.one && !worth.closed {
            // Of several most specific labels: what a node has beyond the likeliest of those below it.
            for node in taxonomy.nodes() {
                let below = taxonomy.children(node).iter().map(|&child| nodes[child as usize]).fold(0.0, f64::max);
                labels[node as usize] = (nodes[node as usize] - below).max(0.0);
            }
        }
        let shown = if worth.closed { &*nodes } else { &*labels };
        ranked.clear();
        let possible = nodes.iter().zip(shown).zip(0u32..).filter(|((q, _), _)| **q > 0.0);
        ranked.extend(possible.map(|((_, &score), label)| Scored { label, score }));
        ranked.sort_unstable_by(Scored::better_first);
    }

    /// How labels are decided, for people.
    pub fn deciding(&self) -> String {
        match &self.ranker {
            Ranker::Along(filter) if filter.options().answers == Answers::Best => {
                format!("none: the best path ({} along the taxonomy is stored)", filter.options().method)
            }
            Ranker::Along(filter) => format!("{} along the taxonomy", filter.options().method),
            Ranker::Flat(_) => match &self.worth {
                Some(worth) => worth.to_string(),
                None => self.thresholds.policy().to_string(),
            },
        }
    }

    /// Whether it ranks labels and decides none.
    pub fn only_ranks(&self) -> bool {
        matches!(self.ranker, Ranker::Flat(_)) && self.worth.is_none() && *self.thresholds.policy() == Threshold::None
    }

    /// Whether labels are decided by thresholds of their scores, rather than by rank.
    pub fn by_thresholds(&self) -> bool {
        match &self.ranker {
            Ranker::Along(filter) => filter.options().answers != Answers::Best,
            Ranker::Flat(_) => !matches!(self.thresholds.policy(), Threshold::None | Threshold::Rcut(_)),
        }
    }

    /// The path to a label in the taxonomy, root first; none without a taxonomy, or for a label outside it.
    pub fn path(&self, label: u32) -> Option<Vec<&str>> {
        let taxonomy = self.taxonomy.as_ref()?;
        let node = taxonomy.node(self.labels.name(label))?;
        Some(taxonomy.pipeline(node).into_iter().map(|n| taxonomy.id(n)).collect())
    }

    /// Something that labels documents one at a time; one for each thread.
    pub fn labeller(&self) -> Labeller<'_> {
        Labeller::new(self)
    }

    pub(super) fn idle_desk(&self) -> Option<Desk> {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    pub(super) fn put_back(&self, desk: Desk) {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner).push(desk);
    }
}
