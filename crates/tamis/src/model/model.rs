//! A model: everything from raw text to decided labels, in one value.

use std::ops::{Deref, Range};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::classify::{Classifier, ClassifierSpec, Fitted, Query, Scored, Scratch};
use crate::corpus::Body;
use crate::counts::Vocabulary;
use crate::hierarchy::Taxonomy;
use crate::hierarchy::progressive::Answers;
use crate::terms::{Analyzer, TextOptions};
use crate::threshold::{Calibration, ThresholdCurve, Thresholds};
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
    /// Folds of that cross-validation; 0 when there was none.
    pub folds: usize,
}

/// A fitted model, ready to label documents.
#[derive(Debug, Clone)]
pub struct Model {
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
    pub classifier: Fitted,
    /// Decides.
    pub thresholds: Thresholds,
    /// Precision, recall and F against threshold on held-out documents, for reports and the server: one for each label,
    /// along a taxonomy one for each node that can be accepted; none without cross-validation.
    pub curves: Vec<ThresholdCurve>,
    /// Scores to probabilities, if asked for.
    pub calibration: Option<Calibration>,
    /// How it came about.
    pub summary: TrainingSummary,
}

impl Model {
    /// Checks that the parts belong together.
    pub fn validate(&self) -> Result<()> {
        let n = self.terms.len();
        let mut seen = vec![false; n];
        for &feature in &self.feature_of {
            match seen.get_mut(feature as usize) {
                Some(place) if !*place => *place = true,
                _ => return Err(Error::data("the features of the model are not numbered from 0 without gaps")),
            }
        }
        if self.feature_of.len() != n || self.classifier.labels() != self.labels.len() {
            return Err(Error::data("the parts of the model do not belong together"));
        }
        if self.summary.label_documents.len() != self.labels.len() {
            return Err(Error::data("the summary of the model is about other labels"));
        }
        Ok(())
    }

    /// Names of the features, best first.
    pub fn features(&self) -> Vec<&str> {
        let mut names = vec![""; self.terms.len()];
        for (term, &feature) in self.feature_of.iter().enumerate() {
            names[feature as usize] = self.terms.name(term as u32);
        }
        names
    }

    /// Ranks the labels of a document and decides them.
    pub fn rank_and_decide(
        &self,
        document: Query<'_>,
        scratch: &mut Scratch,
        ranked: &mut Vec<Scored>,
        decided: &mut Vec<u32>,
    ) {
        if let Fitted::Progressive(filter) = &self.classifier {
            filter.rank_and_decide(document, scratch, ranked, decided);
        } else {
            self.classifier.rank(document, scratch, ranked);
            self.thresholds.decide_into(ranked, decided);
        }
    }

    /// How labels are decided, for people.
    pub fn deciding(&self) -> String {
        match &self.classifier {
            Fitted::Progressive(filter) if filter.options().answers == Answers::Best => {
                format!("none: the best path ({} along the taxonomy is stored)", filter.options().method)
            }
            Fitted::Progressive(filter) => format!("{} along the taxonomy", filter.options().method),
            _ => self.thresholds.policy().to_string(),
        }
    }

    /// The path to a label in the taxonomy, root first; none without a taxonomy, or for a label outside it.
    pub fn path(&self, label: u32) -> Option<Vec<&str>> {
        let taxonomy = self.taxonomy.as_ref()?;
        let node = taxonomy.node(self.labels.name(label))?;
        Some(taxonomy.pipeline(node).into_iter().map(|n| taxonomy.id(n)).collect())
    }

    /// Something that labels documents; one for each thread.
    pub fn labeller(&self) -> Result<Labeller<'_>> {
        Labeller::new(Held::Borrowed(self))
    }

    /// The same, for those who keep labellers longer than they could borrow the model: servers, bindings.
    pub fn shared_labeller(self: &Arc<Self>) -> Result<Labeller<'static>> {
        Labeller::new(Held::Shared(Arc::clone(self)))
    }
}

/// A document's labels. Borrows from the labeller until the next document.
#[derive(Debug, Clone, Copy)]
pub struct Labelled<'a> {
    /// All labels the classifier ranks, best first.
    pub ranked: &'a [Scored],
    /// The labels it gets, ascending by number.
    pub decided: &'a [u32],
    /// Whether the document has a word that the model knows.
    pub known: bool,
}

/// How a labeller holds its model.
enum Held<'m> {
    Borrowed(&'m Model),
    Shared(Arc<Model>),
}

impl Deref for Held<'_> {
    type Target = Model;

    fn deref(&self) -> &Model {
        match self {
            Self::Borrowed(model) => model,
            Self::Shared(model) => model,
        }
    }
}

/// Raw text to labels. Reuses its memory from document to document, and remembers every spelling it has seen, up to a
/// bound.
pub struct Labeller<'m> {
    model: Held<'m>,
    analyzer: Analyzer,
    /// Feature of each term the analyzer numbered; the number of features for a term that is not selected.
    feature_of_unit: Vec<u32>,
    /// The terms of the current document, and those that come with a count.
    units: Vec<u32>,
    counted: Vec<(u32, u32)>,
    /// Occurrences of each feature in the current document, and one place more; zero between documents.
    dense: Vec<u32>,
    features: Vec<u32>,
    counts: Vec<u32>,
    length: u32,
    scratch: Scratch,
    ranked: Vec<Scored>,
    decided: Vec<u32>,
}

/// Spellings remembered before a labeller starts afresh: streams of any length take constant memory.
const REMEMBERED_BYTES: usize = 64 << 20;

impl<'m> Labeller<'m> {
    fn new(model: Held<'m>) -> Result<Self> {
        Ok(Self {
            analyzer: Analyzer::new(&model.text)?,
            feature_of_unit: Vec::new(),
            units: Vec::new(),
            counted: Vec::new(),
            dense: vec![0; model.terms.len() + 1],
            features: Vec::new(),
            counts: Vec::new(),
            length: 0,
            scratch: Scratch::default(),
            ranked: Vec::new(),
            decided: Vec::new(),
            model,
        })
    }

    /// The model it labels with.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Turns a body into features, available by [`Labeller::query`].
    pub fn read(&mut self, body: &Body<'_>) {
        self.forget_when_full();
        let Self { analyzer, units, counted, .. } = self;
        units.clear();
        counted.clear();
        let mut length = 0u32;
        analyzer.analyze(body, |unit, count| {
            length = length.saturating_add(count);
            if count == 1 {
                units.push(unit);
            } else {
                counted.push((unit, count));
            }
        });
        self.length = length;
        self.number_units();
        let Self { units, counted, feature_of_unit, dense, features, counts, .. } = self;
        features.clear();
        features.resize(units.len() + counted.len(), 0);
        // Every word is written, only a new one moves on: whether a word is new, or selected, is hard to guess.
        // Words not selected are counted in the last place, which no feature has.
        let mut distinct = 0;
        let mut add = |unit: u32, count: u32| {
            let feature = feature_of_unit[unit as usize];
            let seen = &mut dense[feature as usize];
            features[distinct] = feature;
            distinct += usize::from(*seen == 0);
            *seen = seen.saturating_add(count);
        };
        units.iter().for_each(|&unit| add(unit, 1));
        counted.iter().filter(|(_, count)| *count > 0).for_each(|&(unit, count)| add(unit, count));
        features.truncate(distinct);
        let not_selected = dense.len() as u32 - 1;
        if std::mem::take(&mut dense[not_selected as usize]) > 0
            && let Some(at) = features.iter().position(|&f| f == not_selected)
        {
            features.swap_remove(at);
        }
        features.sort_unstable();
        counts.clear();
        counts.extend(features.iter().map(|&f| std::mem::take(&mut dense[f as usize])));
    }

    /// Every occurrence of a feature in a text, in the order of the text: which bytes, which feature.
    pub fn places(&mut self, text: &str) -> Vec<(Range<usize>, u32)> {
        self.forget_when_full();
        let mut units: Vec<(Range<usize>, u32)> = Vec::new();
        self.analyzer.places(text, |range, unit| units.push((range, unit)));
        self.number_units();
        units.iter_mut().for_each(|(_, unit)| *unit = self.feature_of_unit[*unit as usize]);
        units.retain(|&(_, feature)| (feature as usize) < self.model.terms.len());
        units
    }

    fn forget_when_full(&mut self) {
        if self.analyzer.heap_bytes() > REMEMBERED_BYTES {
            self.analyzer.clear();
            self.feature_of_unit.clear();
        }
    }

    /// Looks up the features of the terms seen for the first time.
    fn number_units(&mut self) {
        let not_selected = self.model.terms.len() as u32;
        for unit in self.feature_of_unit.len()..self.analyzer.terms() {
            let term = self.model.terms.id(self.analyzer.term(unit as u32));
            self.feature_of_unit.push(term.map_or(not_selected, |t| self.model.feature_of[t as usize]));
        }
    }

    /// The document read last, as the classifier sees it.
    pub fn query(&self) -> Query<'_> {
        Query { features: &self.features, counts: &self.counts, length: self.length }
    }

    /// Ranks and decides the labels of a document.
    pub fn label(&mut self, body: &Body<'_>) -> Labelled<'_> {
        self.read(body);
        let Self { model, features, counts, length, scratch, ranked, decided, .. } = self;
        let query = Query { features, counts, length: *length };
        model.rank_and_decide(query, scratch, ranked, decided);
        Labelled { ranked, decided, known: !features.is_empty() }
    }
}
