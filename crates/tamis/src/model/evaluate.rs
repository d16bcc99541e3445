//! A model × labelled documents → honest numbers.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::Model;
use super::label_form::{FormTally, LabelForm};
use super::seen::SeenTally;
use crate::corpus::{Batches, Document, Part, Peeked, Skipped};
use crate::counts::Vocabulary;
use crate::hierarchy::{GivenTaxonomy, Taxonomy};
use crate::measure::{
    Ancestry, Average, Beta, Evaluation, EvaluationOptions, Family, LabelRow, Measure, MeasureValue, Resampling, Tally,
};
use crate::{Error, Progress, Result};

/// How to evaluate a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EvaluateOptions {
    /// The measures; when none is given, the usual ones, with a taxonomy also hierarchical ones.
    pub measures: Vec<Measure>,
    /// All documents, whatever split the corpus gives; else its test part where it gives one.
    pub all_parts: bool,
    /// The taxonomy for hierarchical measures, where it is not to be the model's own: any model can be judged along any
    /// taxonomy that has its labels, so that flat and hierarchical models compare.
    pub taxonomy: Option<GivenTaxonomy>,
}

/// What an evaluation found.
#[derive(Debug, Clone)]
pub struct Quality {
    /// All measures, the per-label table, and what intervals and tests need.
    pub evaluation: Evaluation,
    /// Labels of the documents that the model does not know, with how often they came: they count as missed.
    pub unseen: Vec<(String, u64)>,
    /// Documents without any word that the model knows.
    pub without_known_word: u64,
    /// About which share of the documents the model was trained on: what it says about them is no news. None where that is not
    /// known.
    pub trained_on: Option<f64>,
    /// What answering the most frequent training label every time would reach.
    pub baseline: Option<Baseline>,
    /// With a taxonomy: right, wrong and missed nodes of each level, roots first, ancestors included.
    pub levels: Vec<Tally>,
    /// With a taxonomy: whether documents came with the ancestors of their labels. A model that was trained along a taxonomy judges
    /// all in the form that its training documents had, so that either form gives the same measures.
    pub label_form: Option<LabelForm>,
    /// Malformed records that were passed over.
    pub skipped: Skipped,
    /// Whether the model ranks labels and decides none.
    pub only_ranks: bool,
    /// Whether averages were taken by both conventions because nobody asked for one.
    both_conventions: bool,
    /// Names of all labels that numbers in the evaluation stand for.
    names: Vec<String>,
}

/// What answering one label every time would reach.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Baseline {
    /// The most frequent label of the training documents.
    pub label: String,
    /// The share of judged documents with any label that have it: its P@1.
    pub share: f64,
}

/// The figures of an evaluation, for people and programs: the command, HTTP and Python print this.
#[derive(Debug, Clone, Serialize)]
pub struct QualityReport {
    /// Each measure with its value; none where it does not apply.
    #[serde(flatten, serialize_with = "as_map")]
    pub measures: Vec<(String, Option<f64>)>,
    /// Documents judged.
    pub documents: u64,
    /// Those with a true label, which ranked measures and the baseline are about; none where all have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labelled: Option<u64>,
    /// Whether the model ranks labels and decides none, so that there are no measures of decisions.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub only_ranks: bool,
    /// How often 0/0 was taken as 0.
    pub zero_divisions: u64,
    /// 95 % intervals, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_optional_map")]
    pub intervals: Option<Vec<(String, [f64; 2])>>,
    /// What answering the most frequent training label every time would reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// Labels that judged documents have and the model knows, and that it gave to none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub never_decided: Vec<String>,
    /// About which share of the documents the model was trained on, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trained_on: Option<f64>,
    /// Labels unknown to the model, with how often they came.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    pub unseen_labels: Vec<(String, u64)>,
    /// Documents without any word that the model knows.
    pub without_known_word: u64,
    /// With a taxonomy: whether documents came with the ancestors of their labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_form: Option<LabelForm>,
    /// By level of the taxonomy, where there is one, ancestors included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<Vec<LevelQuality>>,
    /// By label, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<LabelQuality>>,
}

/// How well a label was decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelQuality {
    /// The label.
    pub label: String,
    /// How well.
    #[serde(flatten)]
    pub decided: DecidedWell,
}

/// How well the nodes of a level of a taxonomy were decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelQuality {
    /// The level, 1 for roots.
    pub level: usize,
    /// How well.
    #[serde(flatten)]
    pub decided: DecidedWell,
}

/// How well something was decided; 0/0 is 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DecidedWell {
    /// How often it is true.
    pub support: u64,
    /// How often it was decided.
    pub decided: u64,
    /// Precision.
    pub precision: f64,
    /// Recall.
    pub recall: f64,
    /// F1.
    pub f1: f64,
}

impl From<&Tally> for DecidedWell {
    fn from(tally: &Tally) -> Self {
        Self {
            support: tally.support(),
            decided: tally.decided(),
            precision: tally.precision().unwrap_or(0.0),
            recall: tally.recall().unwrap_or(0.0),
            f1: tally.f(Beta::ONE).unwrap_or(0.0),
        }
    }
}

/// Pairs as a JSON object, in their order.
fn as_map<V: Serialize, S: serde::Serializer>(pairs: &[(String, V)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

// serde hands over what the field is.
#[allow(clippy::ref_option)]
fn as_optional_map<V: Serialize, S: serde::Serializer>(
    pairs: &Option<Vec<(String, V)>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    as_map(pairs.as_deref().unwrap_or_default(), serializer)
}

impl Quality {
    /// The name of a label of the evaluation.
    pub fn name(&self, label: u32) -> &str {
        &self.names[label as usize]
    }

    /// The measures asked for. Where none was asked for, the second convention of an average is there if it says something else.
    pub fn values(&self) -> Vec<MeasureValue> {
        let values = self.evaluation.values();
        let value_of = |measure| values.iter().find(|v| v.measure == measure).and_then(|v| v.value);
        let says_more = |v: &&MeasureValue| match v.measure.average() {
            _ if !self.both_conventions => true,
            Some(Average::Present | Average::Documents) => v.measure.other_convention().and_then(value_of) != v.value,
            // Where every document is answered, that goes without saying.
            _ => v.measure != Measure::Answered || v.value < Some(1.0),
        };
        values.iter().filter(says_more).copied().collect()
    }

    /// All figures, with intervals where a resampling is given. Documents without any label give none.
    pub fn report(&self, per_label: bool, intervals: Option<&Resampling>) -> Result<QualityReport> {
        let evaluation = &self.evaluation;
        if evaluation.documents_without_truth() == evaluation.documents() {
            return Err(Error::data("no document has a label, so there is nothing to compare with"));
        }
        let intervals = intervals.map(|resampling| evaluation.intervals(resampling)).transpose()?;
        let labels = || {
            let row = |r: &LabelRow| LabelQuality { label: self.name(r.label).to_owned(), decided: (&r.tally).into() };
            evaluation.per_label().iter().map(row).collect()
        };
        let decides = !self.only_ranks;
        let levels = || (1..).zip(&self.levels).map(|(level, t)| LevelQuality { level, decided: t.into() }).collect();
        let never = |r: &&LabelRow| decides && r.trained && r.tally.support() > 0 && r.tally.decided() == 0;
        let without = evaluation.documents_without_truth();
        Ok(QualityReport {
            measures: self.values().iter().map(|v| (v.measure.to_string(), v.value)).collect(),
            baseline: self.baseline.clone(),
            never_decided: evaluation.per_label().iter().filter(never).map(|r| self.name(r.label).to_owned()).collect(),
            trained_on: self.trained_on,
            documents: evaluation.documents(),
            labelled: (without > 0).then(|| evaluation.documents() - without),
            only_ranks: self.only_ranks,
            zero_divisions: evaluation.zero_divisions(),
            intervals: intervals.map(|all| all.iter().map(|i| (i.measure.to_string(), [i.low, i.high])).collect()),
            unseen_labels: self.unseen.clone(),
            without_known_word: self.without_known_word,
            label_form: self.label_form,
            levels: (decides && !self.levels.is_empty()).then(levels),
            labels: (decides && per_label).then(labels),
        })
    }
}

/// What the labels of documents and answers are numbered by: the labels of the model, then the other nodes of the taxonomy,
/// then whatever else the documents carry.
struct Numbering<'m> {
    model: &'m Model,
    /// Nodes that are no labels of the model.
    others: Vocabulary,
    /// Node of each label and of each other.
    node_of: Vec<u32>,
    /// The other way round.
    number_of: Vec<u32>,
    taxonomy: Option<Taxonomy>,
    /// The most frequent label of the training documents.
    majority: Option<u32>,
}

impl<'m> Numbering<'m> {
    fn new(model: &'m Model, given: Option<&GivenTaxonomy>) -> Result<Self> {
        let taxonomy = match given {
            None => model.taxonomy.clone(),
            Some(given) => Some(given.of(&model.labels)?),
        };
        let Some(taxonomy) = taxonomy else {
            let (others, node_of) = (Vocabulary::default(), Vec::new());
            let number_of = Vec::new();
            return Ok(Self { model, others, node_of, number_of, taxonomy: None, majority: model.majority() });
        };
        let mut node_of = taxonomy.align(&model.labels)?;
        let others: Vec<u32> = taxonomy.nodes().filter(|&n| model.labels.id(taxonomy.id(n)).is_none()).collect();
        node_of.extend(&others);
        // Nodes are numbered in the order of their names.
        let others = Vocabulary::from_sorted(others.iter().map(|&n| taxonomy.id(n)));
        let mut number_of = vec![0u32; taxonomy.len()];
        node_of.iter().zip(0u32..).for_each(|(&node, number)| number_of[node as usize] = number);
        Ok(Self { model, others, node_of, number_of, taxonomy: Some(taxonomy), majority: model.majority() })
    }

    /// How many numbers have a name from the start.
    fn known(&self) -> usize {
        self.model.labels.len() + self.others.len()
    }

    fn number(&self, label: &str) -> Option<u32> {
        let other = |label| Some(self.model.labels.len() as u32 + self.others.id(label)?);
        self.model.labels.id(label).or_else(|| other(label))
    }

    fn ancestry(&self) -> Option<Ancestry> {
        let taxonomy = self.taxonomy.as_ref()?;
        let above = |number: u32| {
            let ancestors = taxonomy.ancestors(self.node_of[number as usize]);
            ancestors.map(|n| self.number_of[n as usize]).collect::<Vec<_>>()
        };
        Some(Ancestry::from_fn(self.known(), above))
    }

    /// Looks at the form of true labels, and brings them into that of the model where it was trained along a taxonomy.
    fn in_form(&self, truth: &mut Vec<u32>, forms: &mut FormTally) {
        let Some(taxonomy) = &self.taxonomy else { return };
        let known = self.known() as u32;
        let mut nodes: Vec<u32> =
            truth.iter().filter(|&&label| label < known).map(|&label| self.node_of[label as usize]).collect();
        nodes.sort_unstable();
        let asked = self.model.worth.as_ref().map(|worth| worth.closed);
        forms.add(taxonomy, &mut nodes, asked);
        if asked.is_some() {
            truth.retain(|&label| label >= known);
            truth.extend(nodes.iter().map(|&node| self.number_of[node as usize]));
            truth.sort_unstable();
        }
    }

    /// Counts the nodes of a document by level.
    fn add_levels(&self, decided: &[u32], truth: &[u32], levels: &mut [Tally]) {
        let Some(taxonomy) = &self.taxonomy else { return };
        let closed =
            |labels: &[u32]| taxonomy.closure(labels.iter().filter_map(|&l| self.node_of.get(l as usize)).copied());
        let (decided, truth) = (closed(decided), closed(truth));
        for &node in &decided {
            let tally = &mut levels[taxonomy.depth(node) - 1];
            *(if truth.binary_search(&node).is_ok() { &mut tally.right } else { &mut tally.wrong }) += 1;
        }
        for &node in truth.iter().filter(|n| decided.binary_search(n).is_err()) {
            levels[taxonomy.depth(node) - 1].missed += 1;
        }
    }
}

/// Some documents, judged. Labels that nobody knows are numbered as they were met here.
struct JudgedPart {
    evaluation: Evaluation,
    levels: Vec<Tally>,
    unknown: Unknown,
    without_known_word: u64,
    /// Documents with the most frequent training label.
    with_majority: u64,
    trained_on: SeenTally,
    forms: FormTally,
    probabilities: Vec<f64>,
    /// A document that says which part it is in, where the first ones did not.
    late: Option<String>,
}

/// Names without a number, numbered as they come.
#[derive(Default)]
struct Unknown {
    first: u32,
    number_of: FxHashMap<String, u32>,
    names: Vec<(String, u64)>,
}

impl Unknown {
    fn from(first: usize) -> Self {
        Self { first: first as u32, ..Self::default() }
    }

    fn add(&mut self, name: &str, times: u64) -> u32 {
        let at = match self.number_of.get(name) {
            Some(&at) => at,
            None => {
                let at = self.names.len() as u32;
                self.number_of.insert(name.to_owned(), at);
                self.names.push((name.to_owned(), 0));
                at
            }
        };
        self.names[at as usize].1 += times;
        self.first + at
    }
}

impl Model {
    /// Judges the model on labelled documents, in parallel: the test part where the corpus gives a split.
    pub fn evaluate(
        &self,
        documents: Box<dyn Batches>,
        options: &EvaluateOptions,
        progress: &dyn Progress,
    ) -> Result<Quality> {
        let numbering = Numbering::new(self, options.taxonomy.as_ref())?;
        let mut set_up = EvaluationOptions {
            labels: self.labels.len(),
            trained: Some(self.summary.label_documents.iter().map(|&n| n > 0).collect()),
            pairs: true,
            ancestry: numbering.ancestry(),
            ..EvaluationOptions::default()
        };
        if options.measures.is_empty() {
            let averages = std::mem::take(&mut set_up.measures);
            set_up.measures = averages.into_iter().flat_map(|m| [Some(m), m.other_convention()]).flatten().collect();
            if numbering.taxonomy.is_some() {
                for name in ["hP", "hR", "hF1"] {
                    set_up.measures.push(name.parse()?);
                }
            }
            // Whether everything is answered belongs beside precision.
            let at = set_up.measures.iter().position(|m| matches!(m, Measure::Recall(_))).unwrap_or_default();
            set_up.measures.insert(at, Measure::Answered);
            if self.only_ranks() {
                set_up.measures.retain(|m| !is_of_decisions(*m));
            }
            if self.has_probabilities() {
                set_up.measures.extend([Measure::CalibrationError, Measure::Brier, Measure::LogLoss]);
            }
        } else {
            set_up.measures.clone_from(&options.measures);
        }
        if let Some(m) = set_up.measures.iter().find(|m| m.family() == Family::Probable)
            && !self.has_probabilities()
        {
            let reason = "needs probabilities, and the model has none: fit learns them where it makes folds";
            return Err(Error::invalid("measures", m, reason));
        }
        if let Some(m) = set_up.measures.iter().find(|m| self.only_ranks() && is_of_decisions(**m)) {
            let reason =
                "is of decisions, and the model only ranks: fit decides when the option `threshold` is not none";
            return Err(Error::invalid("measures", m, reason));
        }
        let levels = vec![Tally::default(); numbering.taxonomy.as_ref().map_or(0, Taxonomy::height)];
        let mut whole = JudgedPart {
            evaluation: Evaluation::new(set_up)?,
            levels: levels.clone(),
            unknown: Unknown::from(numbering.known()),
            without_known_word: 0,
            with_majority: 0,
            trained_on: SeenTally::default(),
            forms: FormTally::default(),
            probabilities: Vec::new(),
            late: None,
        };
        let fresh = whole.evaluation.fresh();
        let (documents, has_parts) = Peeked::new(documents)?;
        let only_test = has_parts && !options.all_parts;
        let mut skipped = Skipped::default();
        progress.start("evaluating", None);
        let start = || JudgedPart {
            evaluation: fresh.fresh(),
            levels: levels.clone(),
            unknown: Unknown::from(numbering.known()),
            without_known_word: 0,
            with_majority: 0,
            trained_on: SeenTally::default(),
            forms: FormTally::default(),
            probabilities: Vec::new(),
            late: None,
        };
        let parts = self.label_batches(Box::new(documents), start, |part: &mut JudgedPart, labeller, document| {
            if !has_parts && !options.all_parts && document.part.is_some() && part.late.is_none() {
                part.late = Some(document.id.to_string());
            }
            if !only_test || document.part == Some(Part::Test) {
                part.judge(&numbering, labeller, document);
            }
        });
        for part in parts {
            let part = part?;
            if progress.cancelled() {
                return Err(Error::Interrupted);
            }
            progress.add(part.value.evaluation.documents());
            if let Some(document) = part.value.late {
                return Err(Error::data(format!(
                    "document {document} says which part of a split it is in, and the first documents do not: say it of all, or ask for \
                     all parts"
                )));
            }
            whole.append(part.value)?;
            skipped.append(part.skipped);
            if let Some(error) = part.failure {
                return Err(error);
            }
        }
        progress.finish();
        if whole.evaluation.documents() == 0 {
            let reason = "no document to evaluate on: the corpus is empty, or its split has no test part (all parts can be \
                          asked for)";
            return Err(Error::data(reason));
        }
        let names = self.labels.iter().chain(numbering.others.iter()).map(str::to_owned);
        Ok(Quality {
            names: names.chain(whole.unknown.names.iter().map(|(name, _)| name.clone())).collect(),
            unseen: unseen(&whole, &numbering),
            trained_on: whole.trained_on.share(),
            baseline: numbering.majority.map(|label| Baseline {
                label: self.labels.name(label).to_owned(),
                share: whole.with_majority as f64
                    / (whole.evaluation.documents() - whole.evaluation.documents_without_truth()).max(1) as f64,
            }),
            only_ranks: self.only_ranks(),
            both_conventions: options.measures.is_empty(),
            evaluation: whole.evaluation,
            without_known_word: whole.without_known_word,
            levels: whole.levels,
            label_form: whole.forms.form(),
            skipped,
        })
    }
}

/// Whether a measure asks what was decided.
fn is_of_decisions(measure: Measure) -> bool {
    matches!(measure.family(), Family::Decided | Family::Hierarchical)
}

/// True labels that the model does not know: nodes of the taxonomy without a label in the model, and names from nowhere.
fn unseen(whole: &JudgedPart, numbering: &Numbering<'_>) -> Vec<(String, u64)> {
    let others = whole.evaluation.unseen().into_iter().filter_map(|(label, times)| {
        let other = (label as usize).checked_sub(numbering.model.labels.len())?;
        (other < numbering.others.len()).then(|| (numbering.others.name(other as u32).to_owned(), times))
    });
    others.chain(whole.unknown.names.iter().cloned()).collect()
}

impl JudgedPart {
    fn judge(&mut self, numbering: &Numbering<'_>, labeller: &mut super::Labeller<'_>, document: &Document<'_>) {
        let number = |label: &str| numbering.number(label).unwrap_or_else(|| self.unknown.add(label, 1));
        let mut truth: Vec<u32> = document.labels.iter().map(AsRef::as_ref).map(number).collect();
        truth.sort_unstable();
        truth.dedup();
        numbering.in_form(&mut truth, &mut self.forms);
        self.with_majority += u64::from(numbering.majority.is_some_and(|label| truth.binary_search(&label).is_ok()));
        numbering.model.seen.look(document.body.fingerprint(), &mut self.trained_on);
        let found = labeller.label(&document.body);
        self.without_known_word += u64::from(!found.known);
        let has = numbering.model.probabilities(found.ranked, &mut self.probabilities);
        let probabilities = has.then_some(self.probabilities.as_slice());
        self.evaluation.add_with(found.ranked, found.decided, &truth, probabilities);
        numbering.add_levels(found.decided, &truth, &mut self.levels);
    }

    /// Adds the part that comes next.
    fn append(&mut self, mut next: Self) -> Result<()> {
        let first = next.unknown.first;
        let number: Vec<u32> = next.unknown.names.iter().map(|(name, times)| self.unknown.add(name, *times)).collect();
        let moved = number.iter().zip(first..).any(|(&to, from)| to != from);
        if moved {
            next.evaluation.renumber(|label| label.checked_sub(first).map_or(label, |at| number[at as usize]));
        }
        self.evaluation.merge(&next.evaluation)?;
        self.levels.iter_mut().zip(&next.levels).for_each(|(sum, more)| sum.merge(more));
        self.without_known_word += next.without_known_word;
        self.with_majority += next.with_majority;
        self.trained_on.merge(next.trained_on);
        self.forms.merge(next.forms);
        Ok(())
    }
}
