//! One loaded model: answers in the form of [`crate::wire`], one library call each.

use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use tamis::classify::{Fitted, Scratch};
use tamis::corpus::Body;
use tamis::model::{LabelFacts, Labeller, Model, Reason, Reasons};

use crate::gate::Deadline;
use crate::problem::Problem;
use crate::wire::{
    ClassifiedMany, ClassifiedOne, DocumentIn, Explained, ExplainedLabel, Features, LabelDetails, LabelLine, LabelList,
    Labelled, ModelDetails, ModelLine, NeighbourOut, Node, QualityLine, Ranked, Span, StepOut, TaxonomyOut, Weight,
    Word,
};

/// A model in service. Replaced as a whole when its file changes; requests that began with it end with it.
pub(crate) struct Served {
    pub(crate) name: String,
    pub(crate) generation: u64,
    pub(crate) bytes: u64,
    model: Arc<Model>,
    /// Term of each feature.
    term_of: Vec<u32>,
    /// Labellers that wait for work: they remember the words they have seen.
    idle: Mutex<Vec<Labeller<'static>>>,
}

impl Served {
    pub(crate) fn new(name: String, model: Model, bytes: u64, generation: u64) -> Self {
        let mut term_of = vec![0; model.feature_of.len()];
        model.feature_of.iter().zip(0u32..).for_each(|(&feature, term)| term_of[feature as usize] = term);
        Self { name, generation, bytes, model: Arc::new(model), term_of, idle: Mutex::new(Vec::new()) }
    }

    /// Looks a word up, which builds what look-ups need: the first request should not pay for it.
    pub(crate) fn warm(&self) {
        let _ = self.model.terms.id("");
        let _ = self.with_labeller(|labeller| labeller.label(&Body::Text("".into())).known);
    }

    /// Whether a text takes microseconds, so that it is not worth another thread.
    pub(crate) fn is_quick(&self) -> bool {
        matches!(self.model.classifier, Fitted::Linear(_))
    }

    /// How many labels there are.
    pub(crate) fn label_count(&self) -> usize {
        self.model.labels.len()
    }

    fn with_labeller<T>(&self, work: impl FnOnce(&mut Labeller<'static>) -> T) -> Result<T, Problem> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut labeller = match idle {
            Some(labeller) => labeller,
            None => self.model.shared_labeller()?,
        };
        let done = work(&mut labeller);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(labeller);
        Ok(done)
    }

    fn word(&self, feature: u32) -> &str {
        self.model.terms.name(self.term_of[feature as usize])
    }

    fn label_one<'a>(
        &'a self,
        labeller: &mut Labeller<'static>,
        id: Option<&'a str>,
        body: &Body<'_>,
        top: u32,
    ) -> Labelled<'a> {
        let model = &*self.model;
        let labelled = labeller.label(body);
        let known = labelled.known;
        let ranked = labelled.ranked;
        let is_decided = |label: u32| labelled.decided.binary_search(&label).is_ok();
        // Labels in the order of their scores; a decided label that is not ranked cannot be.
        let decided = ranked.iter().filter(|s| is_decided(s.label)).map(|s| s.label);
        let decided: Vec<u32> = decided.take(labelled.decided.len()).collect();
        let best: Option<Vec<(u32, f64, bool)>> = (top > 0)
            .then(|| ranked.iter().take(top as usize).map(|s| (s.label, s.score, is_decided(s.label))).collect());
        let node_scores = match (&model.classifier, &best) {
            (Fitted::Progressive(filter), Some(_)) => {
                Some((filter, filter.node_scores(labeller.query(), &mut Scratch::default())))
            }
            _ => None,
        };
        let steps = |label: u32| {
            let (filter, scores) = node_scores.as_ref()?;
            let step = |s: tamis::hierarchy::progressive::Step| StepOut {
                label: model.labels.name(s.node),
                score: s.score,
                threshold: s.threshold,
            };
            Some(filter.steps(label, scores).into_iter().map(step).collect())
        };
        let rank = |(label, score, decided): (u32, f64, bool)| Ranked {
            label: model.labels.name(label),
            score,
            threshold: model.thresholds.of(label),
            probability: model.calibration.as_ref().map(|c| c.probability(label, score)),
            decided,
            steps: steps(label),
        };
        Labelled {
            id,
            paths: model.taxonomy.as_ref().map(|_| decided.iter().filter_map(|&l| model.path(l)).collect()),
            labels: decided.into_iter().map(|l| model.labels.name(l)).collect(),
            ranked: best.map(|list| list.into_iter().map(rank).collect()),
            known,
        }
    }

    /// One document as JSON.
    pub(crate) fn classify_one(&self, id: Option<&str>, body: &Body<'_>, top: u32) -> Result<Vec<u8>, Problem> {
        self.with_labeller(|labeller| {
            let document = self.label_one(labeller, id, body, top);
            json(&ClassifiedOne { model: &self.name, document })
        })?
    }

    /// Many documents as JSON, on all threads, in order.
    pub(crate) fn classify_many(
        &self,
        documents: &[DocumentIn],
        top: u32,
        deadline: Deadline,
    ) -> Result<Vec<u8>, Problem> {
        let parts: Vec<Vec<Labelled<'_>>> = documents
            .par_chunks(PART)
            .enumerate()
            .map(|(at, part)| self.classify_part(at * PART, part, top, deadline))
            .collect::<Result<_, Problem>>()?;
        json(&ClassifiedMany { model: &self.name, documents: parts.into_iter().flatten().collect() })
    }

    fn classify_part<'a>(
        &'a self,
        before: usize,
        part: &'a [DocumentIn],
        top: u32,
        deadline: Deadline,
    ) -> Result<Vec<Labelled<'a>>, Problem> {
        self.with_labeller(|labeller| {
            let mut labelled = Vec::with_capacity(part.len());
            for (document, number) in part.iter().zip(before + 1..) {
                deadline.check()?;
                let wrong = |detail| Problem::invalid(format!("document {number} of the batch: {detail}"));
                let body = body_of(document).map_err(wrong)?;
                labelled.push(self.label_one(labeller, document.id.as_deref(), &body, top));
            }
            Ok(labelled)
        })?
    }

    /// Lines of a stream, in order: what is wrong with a line is said in its place.
    pub(crate) fn classify_lines(
        &self,
        lines: &[u8],
        first: u64,
        top: u32,
        done: &mut Vec<u8>,
    ) -> Result<u64, Problem> {
        self.with_labeller(|labeller| {
            let mut count = 0;
            for (line, number) in lines.split(|&b| b == b'\n').zip(first..) {
                if line.trim_ascii().is_empty() {
                    continue;
                }
                count += 1;
                let parsed: Result<DocumentIn, String> = serde_json::from_slice(line).map_err(|e| e.to_string());
                let written = match parsed.as_ref().map_err(Clone::clone).and_then(|d| Ok((d, body_of(d)?))) {
                    Ok((document, body)) => {
                        let labelled = self.label_one(labeller, document.id.as_deref(), &body, top);
                        serde_json::to_writer(&mut *done, &labelled)
                    }
                    Err(error) => {
                        let said = serde_json::json!({ "line": number, "error": error });
                        serde_json::to_writer(&mut *done, &said)
                    }
                };
                written.map_err(|e| Problem::invalid(e.to_string()))?;
                done.push(b'\n');
            }
            Ok(count)
        })?
    }

    /// Why a text has its labels.
    pub(crate) fn explain(&self, text: &str, label: Option<&str>, top: u32, spans: bool) -> Result<Vec<u8>, Problem> {
        let model = &*self.model;
        let wanted = label.map(|name| model.find_label(name)).transpose()?;
        self.with_labeller(|labeller| {
            let Reasons { decided, known, reasons } = labeller.reasons(&Body::Text(text.into()), wanted);
            let places = if spans { labeller.places(text) } else { Vec::new() };
            let mut explained = Vec::with_capacity(reasons.len());
            for Reason { label, score, threshold, decided, why } in reasons {
                let spans = spans.then(|| {
                    let mut each = vec![0.0; self.term_of.len()];
                    why.words.iter().for_each(|w| each[w.feature as usize] = w.adds / f64::from(w.count.max(1)));
                    let found = places.iter().map(|(range, feature)| (range.clone(), each[*feature as usize]));
                    characters(text, found.filter(|(_, adds)| *adds != 0.0).take(MOST_SPANS))
                });
                let neighbours = matches!(model.classifier, Fitted::Knn { .. }).then(|| {
                    let out = |n: &tamis::model::Neighbour| NeighbourOut { document: n.document + 1, adds: n.adds };
                    why.neighbours.iter().take(top as usize).map(out).collect()
                });
                let word =
                    |w: &tamis::model::WordShare| Word { word: self.word(w.feature), count: w.count, adds: w.adds };
                explained.push(ExplainedLabel {
                    label: model.labels.name(label),
                    score,
                    threshold,
                    decided,
                    bias: why.bias,
                    words: why.words.iter().take(top as usize).map(word).collect(),
                    spans,
                    neighbours,
                });
            }
            let labels = decided.iter().map(|&l| model.labels.name(l)).collect();
            json(&Explained { model: &self.name, labels, known, explained })
        })?
    }

    fn label_line(facts: LabelFacts<'_>) -> LabelLine<'_> {
        LabelLine {
            label: facts.id,
            name: facts.name,
            documents: facts.documents,
            threshold: facts.threshold,
            quality: facts.quality.map(Into::into),
        }
    }

    pub(crate) fn labels(&self) -> Result<Vec<u8>, Problem> {
        let labels = (0..self.model.labels.len() as u32).map(|l| Self::label_line(self.model.label_facts(l))).collect();
        json(&LabelList { model: &self.name, labels })
    }

    fn weights(&self, label: u32, top: u32) -> Result<(Vec<Weight<'_>>, Vec<Weight<'_>>), Problem> {
        let weight = |(feature, weight): (u32, f64)| Weight { word: self.word(feature), weight };
        let words = self.model.label_words(&[label], top as usize)?.pop().unwrap_or_default();
        Ok((words.for_it.into_iter().map(weight).collect(), words.against.into_iter().map(weight).collect()))
    }

    pub(crate) fn label(&self, name: &str, top: u32) -> Result<Vec<u8>, Problem> {
        let label = self.model.find_label(name)?;
        let curve = self.model.curve(label);
        let (for_it, against) = match self.model.classifier {
            Fitted::Knn { .. } => (Vec::new(), Vec::new()),
            _ => self.weights(label, top)?,
        };
        json(&LabelDetails {
            model: &self.name,
            line: Self::label_line(self.model.label_facts(label)),
            path: self.model.path(label),
            positives: curve.map_or(0, |c| c.positives),
            curve: curve.map_or_else(Vec::new, |c| c.points.iter().copied().map(Into::into).collect()),
            for_it,
            against,
        })
    }

    pub(crate) fn features(&self, label: Option<&str>, top: u32) -> Result<Vec<u8>, Problem> {
        let Some(name) = label else {
            let features = (0..self.term_of.len().min(top as usize) as u32).map(|f| self.word(f)).collect();
            return json(&Features::OfModel { model: &self.name, features });
        };
        let label = self.model.find_label(name)?;
        let (for_it, against) = self.weights(label, top)?;
        json(&Features::OfLabel { model: &self.name, label: self.model.labels.name(label), for_it, against })
    }

    pub(crate) fn taxonomy(&self) -> Result<Vec<u8>, Problem> {
        let Some(taxonomy) = &self.model.taxonomy else {
            return Err(Problem::not_found(format!("the model {:?} has no taxonomy", self.name)));
        };
        let documents = |id: &str| {
            let label = self.model.labels.id(id)?;
            self.model.summary.label_documents.get(label as usize).copied()
        };
        let node = |&n: &u32| Node {
            label: taxonomy.id(n),
            name: taxonomy.name(n),
            parent: taxonomy.parent(n).map(|p| taxonomy.id(p)),
            depth: taxonomy.depth(n),
            documents: documents(taxonomy.id(n)),
        };
        json(&TaxonomyOut { model: &self.name, nodes: taxonomy.top_down().iter().map(node).collect() })
    }

    pub(crate) fn line(&self) -> ModelLine {
        ModelLine {
            name: self.name.clone(),
            labels: self.model.labels.len(),
            documents: self.model.summary.documents,
            features: self.model.terms.len(),
            classifier: self.model.summary.classifier.to_string(),
            taxonomy: self.model.taxonomy.is_some(),
            generation: self.generation,
        }
    }

    pub(crate) fn details(&self) -> Result<Vec<u8>, Problem> {
        let summary = &self.model.summary;
        let quality = |(measure, value): &(String, f64)| QualityLine { measure: measure.clone(), value: *value };
        json(&ModelDetails {
            line: self.line(),
            vocabulary: summary.vocabulary,
            selector: summary.selector.clone(),
            deciding: self.model.deciding(),
            kind: match self.model.classifier {
                Fitted::Linear(_) => "linear",
                Fitted::Progressive(_) => "taxonomy",
                Fitted::Knn { .. } => "neighbours",
            },
            single_label: summary.single_label,
            probabilities: self.model.calibration.is_some(),
            quality: summary.quality.iter().map(quality).collect(),
            folds: summary.folds,
            choices: summary.choices.clone(),
            program: summary.program.clone(),
            bytes: self.bytes,
        })
    }
}

/// Places in an answer: megabytes of text would make hundreds of them.
const MOST_SPANS: usize = 100_000;

/// Documents that one thread takes at a time.
const PART: usize = 32;

/// The body of a document, or what is wrong with it.
pub(crate) fn body_of(document: &DocumentIn) -> Result<Body<'_>, String> {
    body(document.text.as_deref(), document.tokens.as_deref())
}

/// Text or tokens, and not both.
pub(crate) fn body<'a>(text: Option<&'a str>, tokens: Option<&'a [String]>) -> Result<Body<'a>, String> {
    match (text, tokens) {
        (Some(text), None) => Ok(Body::Text(text.into())),
        (None, Some(tokens)) => Ok(Body::Tokens(tokens.iter().map(|t| t.as_str().into()).collect())),
        (None, None) => Err("it needs \"text\" (a string) or \"tokens\" (a list of strings)".to_owned()),
        (Some(_), Some(_)) => Err("it has both \"text\" and \"tokens\"; give one of them".to_owned()),
    }
}

pub(crate) fn json(value: &impl serde::Serialize) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(value).map_err(|e| Problem::invalid(format!("the answer cannot be written as JSON: {e}")))
}

/// Places in bytes become places in characters, in one walk over the text. Ranges end in ascending order.
fn characters(text: &str, places: impl Iterator<Item = (std::ops::Range<usize>, f64)>) -> Vec<Span> {
    let places: Vec<_> = places.collect();
    let mut bounds: Vec<usize> = places.iter().flat_map(|(range, _)| [range.start, range.end]).collect();
    bounds.sort_unstable();
    bounds.dedup();
    let mut counted = Vec::with_capacity(bounds.len());
    let (mut at, mut characters) = (0, 0);
    for &bound in &bounds {
        characters += text.get(at..bound).map_or(0, |piece| piece.chars().count());
        at = bound;
        counted.push(characters);
    }
    let place = |byte: usize| bounds.binary_search(&byte).map_or(0, |i| counted[i]);
    places.iter().map(|(range, adds)| Span { start: place(range.start), end: place(range.end), adds: *adds }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_characters() {
        let text = "é🦊 ab";
        let spans = characters(text, [(0..2, 1.0), (2..6, 2.0), (0..6, 3.0), (7..9, 4.0)].into_iter());
        let found: Vec<(usize, usize)> = spans.iter().map(|s| (s.start, s.end)).collect();
        assert_eq!(found, [(0, 1), (1, 2), (0, 2), (3, 5)]);
    }
}
