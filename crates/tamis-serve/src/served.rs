//! One loaded model: answers in the form of [`crate::wire`], one library call each.

use rayon::prelude::*;
use tamis::classify::Fitted;
use tamis::corpus::Body;
use tamis::model::{How, LabelFacts, Model, Ranker, WhyAsked};

use crate::gate::Deadline;
use crate::problem::Problem;
use crate::wire::{
    AnsweredMany, AnsweredOne, DocumentIn, Features, LabelDetails, LabelLine, LabelList, ModelDetails, ModelLine, Node,
    QualityLine, TaxonomyOut, Weight,
};

/// A model in service. Replaced as a whole when its file changes; requests that began with it end with it.
pub(crate) struct Served {
    pub(crate) name: String,
    pub(crate) generation: u64,
    pub(crate) bytes: u64,
    model: Model,
}

impl Served {
    pub(crate) fn new(name: String, model: Model, bytes: u64, generation: u64) -> Self {
        Self { name, generation, bytes, model }
    }

    /// Looks a word up, which builds what look-ups need: the first request should not pay for it.
    pub(crate) fn warm(&self) {
        let _ = self.model.terms.id("");
        self.model.labeller().label(&Body::Text("".into()));
    }

    /// Whether a text takes microseconds, so that it is not worth another thread.
    pub(crate) fn is_quick(&self) -> bool {
        matches!(self.model.ranker, Ranker::Flat(Fitted::Linear(_)))
    }

    /// How many labels there are.
    pub(crate) fn label_count(&self) -> usize {
        self.model.labels.len()
    }

    /// One document as JSON.
    pub(crate) fn answer(&self, id: Option<&str>, body: &Body<'_>, how: &How) -> Result<Vec<u8>, Problem> {
        let answer = self.model.labeller().answer(id.map(Into::into), body, how);
        json(&AnsweredOne { model: &self.name, answer })
    }

    /// Many documents as JSON, on all threads, in order.
    pub(crate) fn answer_many(
        &self,
        documents: &[DocumentIn],
        how: &How,
        deadline: Deadline,
    ) -> Result<Vec<u8>, Problem> {
        let documents = documents
            .par_iter()
            .enumerate()
            .with_min_len(PART)
            .map_init(
                || self.model.labeller(),
                |labeller, (at, document)| {
                    deadline.check()?;
                    let wrong = |detail| Problem::invalid(format!("document {} of the batch: {detail}", at + 1));
                    let body = body_of(document).map_err(wrong)?;
                    Ok(labeller.answer(document.id.as_deref().map(Into::into), &body, how))
                },
            )
            .collect::<Result<_, Problem>>()?;
        json(&AnsweredMany { model: &self.name, documents })
    }

    /// Lines of a stream, in order: what is wrong with a line is said in its place.
    pub(crate) fn answer_lines(&self, lines: &[u8], first: u64, how: &How, done: &mut Vec<u8>) -> Result<u64, Problem> {
        let mut labeller = self.model.labeller();
        let mut count = 0;
        for (line, number) in lines.split(|&b| b == b'\n').zip(first..) {
            if line.trim_ascii().is_empty() {
                continue;
            }
            count += 1;
            let parsed: Result<DocumentIn, String> = serde_json::from_slice(line).map_err(|e| e.to_string());
            let written = match parsed.as_ref().map_err(Clone::clone).and_then(|d| Ok((d, body_of(d)?))) {
                Ok((document, body)) => {
                    let answer = labeller.answer(document.id.as_deref().map(Into::into), &body, how);
                    serde_json::to_writer(&mut *done, &answer)
                }
                Err(error) => serde_json::to_writer(&mut *done, &serde_json::json!({ "line": number, "error": error })),
            };
            written.map_err(|e| Problem::invalid(e.to_string()))?;
            done.push(b'\n');
        }
        Ok(count)
    }

    /// Why a text has its labels.
    pub(crate) fn explain(&self, text: &str, label: Option<&str>, top: u32, spans: bool) -> Result<Vec<u8>, Problem> {
        let label = label.map(|name| self.model.find_label(name)).transpose()?;
        let asked = WhyAsked { label, top: top as usize, spans };
        self.answer(None, &Body::Text(text.into()), &How { reasons: Some(asked), ..How::default() })
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
        let weight = |(feature, weight): (u32, f64)| Weight { word: self.model.word(feature), weight };
        let words = self.model.label_words(&[label], top as usize)?.pop().unwrap_or_default();
        Ok((words.for_it.into_iter().map(weight).collect(), words.against.into_iter().map(weight).collect()))
    }

    pub(crate) fn label(&self, name: &str, top: u32) -> Result<Vec<u8>, Problem> {
        let label = self.model.find_label(name)?;
        let curve = self.model.curve(label);
        let (for_it, against) = match self.model.ranker {
            Ranker::Flat(Fitted::Knn { .. }) => (Vec::new(), Vec::new()),
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
            let features = (0..self.model.terms.len().min(top as usize) as u32).map(|f| self.model.word(f)).collect();
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
            kind: match self.model.ranker {
                Ranker::Flat(Fitted::Linear(_)) => "linear",
                Ranker::Along(_) => "taxonomy",
                Ranker::Flat(Fitted::Knn { .. }) => "neighbours",
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
