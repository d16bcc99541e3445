//! A trained filter: which nodes accept a document, and the ranked list of nodes.

use serde::{Deserialize, Serialize};

use super::node::{NodeModel, ScoreKind};
use super::{Answers, ProgressiveOptions};
use crate::classify::{Explanation, Fitted, Query, Scored, Scratch};
use crate::counts::Csr;
use crate::hierarchy::Taxonomy;
use crate::hierarchy::pipeline::Outcome;
use crate::threshold::Calibration;
use crate::{Error, Result};

/// What a node does with a document that reaches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeState {
    /// Its classifier decides.
    Trained,
    /// It has no training document: its score is 0 and it accepts nothing.
    WithoutDocuments,
    /// All documents of its parent are its own: its score is 1, the levels above decide.
    WithoutNegatives,
}

/// The thresholds of a pipeline and what is known about them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// One for each level, root first: those the method selects, moved to the middle of their gap between held-out
    /// documents, which accepts the same of them.
    pub thresholds: Vec<f64>,
    /// Their utility on held-out documents.
    pub utility: f64,
    /// No thresholds have a higher one, where that is known.
    pub bound: Option<f64>,
    /// Whether no thresholds are better.
    pub proven: bool,
    /// What they get right and wrong on held-out documents.
    pub outcome: Outcome,
    /// Held-out documents of the node.
    pub positives: usize,
}

/// A fitted filter over a taxonomy; labels are node numbers.
///
/// A node's score (CSV) is in `[0,1]`. For svm it is a sigmoid of the margin, learned node by node on held-out documents of
/// the parent, so it estimates the probability of the node given its parent. A node is accepted when every CSV on its
/// pipeline reaches the threshold that this pipeline has for that level.
///
/// In ranked lists the score of a node is `Π CSV(pipeline) · Π (1 − CSV(child))`: how likely a document comes this far
/// and no further. A product alone would rank every parent above its children.
#[derive(Debug, Clone)]
pub struct ProgressiveModel {
    pub(crate) taxonomy: Taxonomy,
    pub(crate) options: ProgressiveOptions,
    pub(crate) states: Vec<NodeState>,
    /// Classifiers, by their first node.
    pub(crate) locals: Vec<NodeModel>,
    /// For each trained node its classifier and its label there.
    local_of: Vec<Option<(u32, u32)>>,
    pub(crate) calibration: Option<Calibration>,
    /// By node; none where the pipeline never accepts.
    pub(crate) tuned: Vec<Option<Tuned>>,
    reading: ScoreKind,
    /// Features × classifiers: the number of the feature there.
    postings: Csr<u32>,
}

/// Reusable memory, one for each thread.
#[derive(Debug, Default)]
pub struct ProgressiveMemory {
    scratch: Scratch,
    /// Features and counts of the document for each classifier.
    local: Vec<(Vec<u32>, Vec<u32>)>,
    csv: Vec<f64>,
    product: Vec<f64>,
    ranked: Vec<Scored>,
}

impl ProgressiveModel {
    pub(crate) fn new(
        taxonomy: Taxonomy,
        options: ProgressiveOptions,
        states: Vec<NodeState>,
        locals: Vec<NodeModel>,
        features: usize,
    ) -> Result<Self> {
        if states.len() != taxonomy.len() {
            return Err(Error::data("the nodes of the model are not those of its taxonomy"));
        }
        let mut local_of = vec![None; taxonomy.len()];
        let mut by_node = Csr::new(features);
        for (at, local) in locals.iter().enumerate() {
            for (label, &node) in local.members.iter().enumerate() {
                match local_of.get_mut(node as usize) {
                    Some(free @ None) => *free = Some((at as u32, label as u32)),
                    _ => return Err(Error::data("each node of the taxonomy can have one classifier")),
                }
            }
            let own = &local.features;
            if own.windows(2).any(|w| w[0] >= w[1]) || own.last().is_some_and(|&f| f as usize >= features) {
                return Err(Error::data("the features of a node must ascend and be features of the model"));
            }
            by_node.push_row(own.iter().enumerate().map(|(local, &f)| (f, local as u32)));
        }
        Ok(Self {
            tuned: vec![None; taxonomy.len()],
            reading: ScoreKind::of(&options.classifier),
            postings: by_node.transpose(),
            calibration: None,
            taxonomy,
            options,
            states,
            locals,
            local_of,
        })
    }

    /// The classifier of a node and its label there.
    fn local(&self, node: u32) -> Option<(&NodeModel, u32)> {
        self.local_of[node as usize].map(|(local, label)| (&self.locals[local as usize], label))
    }

    /// Checks what was read from a file or tuned.
    pub(crate) fn validate(&self) -> Result<()> {
        let fits = |(node, tuned): (usize, &Option<Tuned>)| {
            tuned.as_ref().is_none_or(|t| t.thresholds.len() == self.taxonomy.depth(node as u32))
        };
        if self.tuned.len() != self.taxonomy.len() || !self.tuned.iter().enumerate().all(fits) {
            return Err(Error::data("the thresholds of the model do not belong to its pipelines"));
        }
        Ok(())
    }

    /// The taxonomy.
    pub fn taxonomy(&self) -> &Taxonomy {
        &self.taxonomy
    }

    /// How it was trained.
    pub fn options(&self) -> &ProgressiveOptions {
        &self.options
    }

    /// The same filter, answering in another way: classifiers and thresholds serve them all.
    pub fn with_answers(mut self, answers: Answers) -> Self {
        self.options.answers = answers;
        self
    }

    /// What a node does.
    pub fn state(&self, node: u32) -> NodeState {
        self.states[node as usize]
    }

    /// The thresholds of the pipeline that a node ends; none when it never accepts.
    pub fn tuned(&self, node: u32) -> Option<&Tuned> {
        self.tuned[node as usize].as_ref()
    }

    /// The words of a node, as feature numbers.
    pub fn node_features(&self, node: u32) -> &[u32] {
        self.local(node).map_or(&[], |(local, _)| &local.features)
    }

    /// What the words of a document add to the margin of a node, with the features of the whole model; none for
    /// neighbours and for nodes that were not trained.
    pub fn explain(&self, document: Query<'_>, node: u32) -> Option<Explanation> {
        let (own, label) = self.local(node)?;
        let Fitted::Linear(linear) = &own.classifier else { return None };
        let (mut features, mut counts) = (Vec::new(), Vec::new());
        for (&feature, &count) in document.features.iter().zip(document.counts) {
            if let Ok(local) = own.features.binary_search(&feature) {
                features.push(local as u32);
                counts.push(count);
            }
        }
        let query = Query { features: &features, counts: &counts, length: document.length };
        let mut explanation = linear.explain(query, label)?;
        explanation.features.iter_mut().for_each(|(f, _)| *f = own.features[*f as usize]);
        Some(explanation)
    }

    /// The words of a node with their weights; empty for neighbours and for nodes that were not trained.
    pub fn node_weights(&self, node: u32) -> Vec<(u32, f64)> {
        match self.local(node) {
            Some((NodeModel { features, classifier: Fitted::Linear(linear), .. }, label)) => {
                features.iter().enumerate().map(|(local, &f)| (f, linear.weight(label, local as u32))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// How many labels it ranks: all nodes.
    pub fn labels(&self) -> usize {
        self.taxonomy.len()
    }

    /// How many features all nodes together have.
    pub fn features(&self) -> usize {
        self.postings.rows()
    }

    /// Raw scores of all nodes; −∞ and +∞ where a node never or always accepts.
    pub(super) fn raw(&self, document: Query<'_>, memory: &mut ProgressiveMemory) {
        memory.local.resize_with(self.locals.len(), Default::default);
        for (&feature, &count) in document.features.iter().zip(document.counts) {
            for (local, number) in self.postings.row(feature as usize) {
                let (features, counts) = &mut memory.local[local as usize];
                features.push(number);
                counts.push(count);
            }
        }
        memory.csv.clear();
        memory.csv.extend(self.states.iter().map(|state| match state {
            NodeState::WithoutNegatives => f64::INFINITY,
            NodeState::Trained | NodeState::WithoutDocuments => f64::NEG_INFINITY,
        }));
        for (local, (features, counts)) in self.locals.iter().zip(&mut memory.local) {
            let csv = &mut memory.csv;
            if features.is_empty() {
                local.members.iter().zip(&local.empty).for_each(|(&n, &score)| csv[n as usize] = score);
                continue;
            }
            let query = Query { features, counts, length: document.length };
            let mut put = |label: usize, score| csv[local.members[label] as usize] = score;
            local.score(query, self.reading, &mut memory.scratch, &mut memory.ranked, &mut put);
            features.clear();
            counts.clear();
        }
    }

    pub(super) fn raw_scores(&self, memory: &ProgressiveMemory) -> impl Iterator<Item = f64> {
        memory.csv.clone().into_iter()
    }

    /// A raw score as CSV, in `[0,1]`.
    pub(super) fn csv(&self, node: u32, raw: f64) -> f64 {
        if raw.is_infinite() {
            return if raw > 0.0 { 1.0 } else { 0.0 };
        }
        match &self.calibration {
            Some(calibration) => calibration.probability(node, raw),
            None => raw,
        }
        .clamp(0.0, 1.0)
    }

    /// Whether raw scores become CSVs by a learned sigmoid.
    pub(super) fn has_margins(&self) -> bool {
        self.reading == ScoreKind::Margin
    }

    /// Writes the ranked list of all nodes that have documents into `ranked`, replacing what was there.
    pub fn rank(&self, document: Query<'_>, memory: &mut ProgressiveMemory, ranked: &mut Vec<Scored>) {
        self.raw(document, memory);
        self.rank_raw(memory, ranked);
    }

    /// Ranks by the raw scores in `memory.csv`, which become CSVs.
    fn rank_raw(&self, memory: &mut ProgressiveMemory, ranked: &mut Vec<Scored>) {
        for (node, score) in memory.csv.iter_mut().enumerate() {
            *score = self.csv(node as u32, *score);
        }
        memory.product.clear();
        memory.product.resize(self.states.len(), 0.0);
        ranked.clear();
        for &node in self.taxonomy.top_down() {
            let above = self.taxonomy.parent(node).map_or(1.0, |parent| memory.product[parent as usize]);
            let here = above * memory.csv[node as usize];
            memory.product[node as usize] = here;
            if self.states[node as usize] != NodeState::WithoutDocuments {
                let children = self.taxonomy.children(node);
                let no_further: f64 = children.iter().map(|&c| 1.0 - memory.csv[c as usize]).product();
                ranked.push(Scored { label: node, score: here * no_further });
            }
        }
        ranked.sort_unstable_by(Scored::better_first);
    }

    /// Ranks all nodes that have documents, and decides: `decided` gets the answers, ascending by node.
    pub fn rank_and_decide(
        &self,
        document: Query<'_>,
        memory: &mut ProgressiveMemory,
        ranked: &mut Vec<Scored>,
        decided: &mut Vec<u32>,
    ) {
        self.rank(document, memory, ranked);
        self.answer(&memory.csv, ranked, decided);
    }

    /// The same for raw scores of the nodes that somebody else computed.
    pub(super) fn rank_and_decide_raw(
        &self,
        raw: &[f64],
        memory: &mut ProgressiveMemory,
        ranked: &mut Vec<Scored>,
        decided: &mut Vec<u32>,
    ) {
        memory.csv.clear();
        memory.csv.extend_from_slice(raw);
        self.rank_raw(memory, ranked);
        self.answer(&memory.csv, ranked, decided);
    }

    /// The accepted nodes, reduced to answers.
    fn answer(&self, csv: &[f64], ranked: &[Scored], decided: &mut Vec<u32>) {
        decided.clear();
        if self.options.answers != Answers::Best {
            decided.extend(self.taxonomy.nodes().filter(|&n| self.passes(n, csv)));
        }
        match self.options.answers {
            Answers::All | Answers::AtLeastOne => self.taxonomy.most_specific(decided),
            Answers::One => {
                let possible = self.taxonomy.closure(decided.drain(..));
                decided.extend(ranked.iter().map(|s| s.label).find(|l| possible.binary_search(l).is_ok()));
            }
            Answers::Best => {}
        }
        if decided.is_empty() && self.options.answers != Answers::All {
            decided.extend(ranked.first().map(|s| s.label));
        }
    }

    /// The nodes that accept a document, with all their ancestors, ascending; the answers are the most specific of them.
    pub fn decide(&self, document: Query<'_>, memory: &mut ProgressiveMemory) -> Vec<u32> {
        let (mut ranked, mut decided) = (Vec::new(), Vec::new());
        self.rank_and_decide(document, memory, &mut ranked, &mut decided);
        self.taxonomy.closure(decided)
    }

    fn passes(&self, node: u32, csv: &[f64]) -> bool {
        let Some(tuned) = &self.tuned[node as usize] else { return false };
        let from_below = std::iter::once(node).chain(self.taxonomy.ancestors(node));
        from_below.zip(tuned.thresholds.iter().rev()).all(|(n, &threshold)| csv[n as usize] >= threshold)
    }
}
