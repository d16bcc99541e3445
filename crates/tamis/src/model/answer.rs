//! The answer to a document: one shape, printed the same by the command, over HTTP and in Python.

use std::borrow::Cow;

use serde::Serialize;

use super::{Labeller, Model, Neighbour, Ranker, Span, Why};
use crate::classify::{Fitted, Scored};
use crate::corpus::Body;
use crate::hierarchy::ProgressiveMemory;
use crate::hierarchy::progressive::Step;

/// What to say about a document beside its labels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct How {
    /// Answer with so many of the best labels, whatever the thresholds say; what these say of each stays in
    /// [`RankedLabel::decided`].
    pub best: Option<usize>,
    /// Give so many of the best labels with their scores; 0 for none.
    pub ranked: usize,
    /// Say why.
    pub reasons: Option<WhyAsked>,
}

/// How much to say why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhyAsked {
    /// For this label; when not given for the labels of the answer, or the best one where there is none.
    pub label: Option<u32>,
    /// At most so many words and neighbours for each label.
    pub top: usize,
    /// Also where in the text the words are.
    pub spans: bool,
}

impl Default for WhyAsked {
    fn default() -> Self {
        Self { label: None, top: 10, spans: false }
    }
}

/// The labels of a document, and whatever else was asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Answer<'m> {
    /// As it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = String))]
    pub id: Option<Cow<'m, str>>,
    /// The labels it gets, best first.
    pub labels: Vec<&'m str>,
    /// With a taxonomy: the path to each of them, root first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub paths: Option<Vec<Vec<&'m str>>>,
    /// The best labels with their scores, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub ranked: Option<Vec<RankedLabel<'m>>>,
    /// Why, where it was asked for: one for each label that is explained, best first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub reasons: Option<Vec<Reason<'m>>>,
    /// Whether it has a word that the model knows. If not, the labels are not about this text.
    pub known: bool,
}

/// A label and its score.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RankedLabel<'m> {
    /// The label.
    pub label: &'m str,
    /// Its score; what it means depends on the classifier.
    pub score: f64,
    /// What the score must reach. Null where labels are not decided by thresholds of their own, or this one is never
    /// given.
    pub threshold: Option<f64>,
    /// How probable it is, where the model has learned that.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub probability: Option<f64>,
    /// Whether the document gets it, by what decides labels.
    pub decided: bool,
    /// With a classifier for each node of a taxonomy: the way to the label, root first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub steps: Option<Vec<NodeStep<'m>>>,
}

/// A node on the way to a label.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NodeStep<'m> {
    /// The node.
    pub label: &'m str,
    /// Its score, from 0 to 1.
    pub score: f64,
    /// What the score must reach here on the way to the label; null when nothing reaches it.
    pub threshold: Option<f64>,
}

/// Why a document has its score for a label.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Reason<'m> {
    /// The label.
    pub label: &'m str,
    /// Its score, along a taxonomy that of the node itself; null when the classifier gives none (no neighbour carries the
    /// label).
    pub score: Option<f64>,
    /// What the score must reach.
    pub threshold: Option<f64>,
    /// Whether the document gets it.
    pub decided: bool,
    /// What the label has without any word; null for neighbours.
    pub bias: Option<f64>,
    /// What that and all words of the document add up to; null for neighbours. For svm it is the score; where scores come from probabilities
    /// (logistic, bayes, trees, along a taxonomy) it is the margin that stands behind the label's probability, of the label or node itself.
    pub sum: Option<f64>,
    /// Words by how much they say, most first.
    pub words: Vec<Word<'m>>,
    /// Where they are in the text, or in the texts of the fields, where that was asked for: the first 100,000. Spans of
    /// n-grams may overlap: what they add sums up ([`Span::summed`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub spans: Option<Vec<Span<'m>>>,
    /// For neighbours: the training documents that voted for the label, nearest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub neighbours: Option<Vec<NamedNeighbour<'m>>>,
}

/// A word and what it adds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Word<'m> {
    /// The word, as the model knows it.
    pub word: &'m str,
    /// How often the document has it.
    pub count: u32,
    /// What it adds to the score; below 0 when it speaks against the label.
    pub adds: f64,
}

/// A training document that voted.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NamedNeighbour<'m> {
    /// Its id.
    pub document: &'m str,
    /// Its share of the score.
    pub adds: f64,
    /// How it begins, where the model keeps that.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub opening: Option<&'m str>,
}

impl<'m> Labeller<'m> {
    /// Labels a document, and says what was asked for.
    pub fn answer<'a>(&mut self, id: Option<Cow<'a, str>>, body: &Body<'_>, how: &How) -> Answer<'a>
    where
        'm: 'a,
    {
        let model = self.model();
        let labelled = self.label(body);
        let known = labelled.known;
        let is_decided = |label: u32| labelled.decided.binary_search(&label).is_ok();
        let place = |s: &Scored| (*s, is_decided(s.label));
        // Labels in the order of their scores; a decided label that is not ranked cannot be.
        let given: Vec<Scored> = match how.best {
            Some(best) => labelled.ranked.iter().take(best).copied().collect(),
            None => {
                let decided = labelled.ranked.iter().filter(|s| is_decided(s.label));
                decided.take(labelled.decided.len()).copied().collect()
            }
        };
        let mut probabilities = Vec::new();
        if how.ranked > 0 {
            model.probabilities(labelled.ranked, &mut probabilities);
        }
        let best: Vec<(Scored, bool)> = labelled.ranked.iter().take(how.ranked).map(place).collect();
        let explained: Vec<(u32, Option<f64>, bool)> = match &how.reasons {
            None => Vec::new(),
            Some(asked) => {
                let found = |label: u32| labelled.ranked.iter().find(|s| s.label == label).map(|s| s.score);
                let labels: Vec<u32> = match asked.label {
                    Some(label) => vec![label],
                    None if given.is_empty() => labelled.ranked.first().map(|s| s.label).into_iter().collect(),
                    None => given.iter().map(|s| s.label).collect(),
                };
                labels.into_iter().map(|label| (label, found(label), is_decided(label))).collect()
            }
        };
        let along = match &model.ranker {
            Ranker::Along(filter) if how.ranked > 0 || how.reasons.is_some() => {
                Some((filter, filter.node_scores(self.query(), &mut ProgressiveMemory::default())))
            }
            _ => None,
        };
        let ranked = |(Scored { label, score }, decided): (Scored, bool)| RankedLabel {
            label: model.labels.name(label),
            score,
            threshold: model.thresholds.of(label),
            probability: probabilities.get(label as usize).copied(),
            decided,
            steps: along.as_ref().map(|(filter, scores)| {
                let step =
                    |Step { node, score, threshold }| NodeStep { label: model.labels.name(node), score, threshold };
                filter.steps(label, scores).into_iter().map(step).collect()
            }),
        };
        let answer = Answer {
            id,
            paths: model.taxonomy.as_ref().map(|_| given.iter().filter_map(|s| model.path(s.label)).collect()),
            labels: given.into_iter().map(|s| model.labels.name(s.label)).collect(),
            ranked: (how.ranked > 0).then(|| best.into_iter().map(ranked).collect()),
            reasons: None,
            known,
        };
        let Some(asked) = &how.reasons else { return answer };
        let whys: Vec<Why> = explained.iter().map(|(label, ..)| self.why(*label)).collect();
        let places = if asked.spans { self.places_of(body) } else { Vec::new() };
        let reasons = explained.into_iter().zip(whys).map(|((label, score, decided), why)| Reason {
            label: model.labels.name(label),
            score: along.as_ref().map_or(score, |(_, scores)| scores.get(label as usize).copied()),
            threshold: model.label_facts(label).threshold,
            decided,
            bias: why.bias,
            sum: why.bias.map(|bias| why.words.iter().map(|word| word.adds).sum::<f64>() + bias),
            spans: asked.spans.then(|| Span::of(&places, &why)),
            neighbours: matches!(model.ranker, Ranker::Flat(Fitted::Knn { .. })).then(|| named(model, &why, asked.top)),
            words: why
                .words
                .iter()
                .take(asked.top)
                .map(|w| Word { word: model.word(w.feature), count: w.count, adds: w.adds })
                .collect(),
        });
        Answer { reasons: Some(reasons.collect()), ..answer }
    }
}

fn named<'m>(model: &'m Model, why: &Why, top: usize) -> Vec<NamedNeighbour<'m>> {
    let name = |document: u32| model.neighbours[document as usize].as_str();
    let opening = |document: u32| {
        model.shown.openings.get(document as usize).map(String::as_str).filter(|opening| !opening.is_empty())
    };
    let neighbour =
        |n: &Neighbour| NamedNeighbour { document: name(n.document), adds: n.adds, opening: opening(n.document) };
    why.neighbours.iter().take(top).map(neighbour).collect()
}
