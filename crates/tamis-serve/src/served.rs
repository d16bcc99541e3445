//! One loaded model: answers in the form of [`crate::wire`], one library call each.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use tamis::classify::Fitted;
use tamis::corpus::Body;
use tamis::model::{Confusion, FrontierPoint, How, LabelFacts, Labeller, Model, Ranker, WhyAsked};
use tamis::terms::TextOptions;

use crate::gate::Deadline;
use crate::incoming::without_mark;
use crate::lines::Piece;
use crate::problem::Problem;
use crate::wire::{
    AnsweredOne, ConfusionLine, DocumentIn, Features, FrontierLine, LabelDetails, LabelLine, LabelList, ModelDetails,
    ModelLine, Node, QualityLine, TaxonomyOut, Weight,
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

    /// The same under another name.
    pub(crate) fn renamed(&self, name: String) -> Self {
        Self { name, generation: self.generation, bytes: self.bytes, model: self.model.clone() }
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

    /// What a term is for it.
    pub(crate) fn terms(&self) -> &TextOptions {
        &self.model.text
    }

    /// One document as JSON of at most so many bytes.
    pub(crate) fn answer(&self, id: Option<&str>, body: &Body<'_>, how: &How, most: usize) -> Result<Vec<u8>, Problem> {
        let answer = self.model.labeller().answer(id.map(Into::into), body, how);
        bounded_json(&AnsweredOne { model: &self.name, answer }, most)
    }

    /// Many documents as JSON of at most so many bytes, on all threads, in order.
    pub(crate) fn answer_many(
        &self,
        documents: &[DocumentIn],
        how: &How,
        most: usize,
        deadline: Deadline,
    ) -> Result<Vec<u8>, Problem> {
        let sum = AtomicUsize::new(0);
        let answers: Vec<Vec<u8>> = documents
            .par_iter()
            .enumerate()
            .with_min_len(PART)
            .map_init(
                || self.model.labeller(),
                |labeller, (at, document)| {
                    deadline.check()?;
                    let wrong = |detail| Problem::invalid(format!("document {} of the batch: {detail}", at + 1));
                    let body = document.body(self.terms()).map_err(wrong)?;
                    let answer = json(&labeller.answer(document.id.as_deref().map(Into::into), &body, how))?;
                    // Answers become bytes at once, so that no more is held than may be sent.
                    if sum.fetch_add(answer.len() + 1, Ordering::Relaxed) + answer.len() > most {
                        return Err(Problem::too_much(most));
                    }
                    Ok(answer)
                },
            )
            .collect::<Result<_, Problem>>()?;
        // As `wire::AnsweredMany` would be written.
        let mut all = Vec::with_capacity(sum.into_inner() + self.name.len() + 64);
        all.extend_from_slice(b"{\"model\":");
        all.extend_from_slice(&json(&self.name)?);
        all.extend_from_slice(b",\"documents\":[");
        for (at, answer) in answers.into_iter().enumerate() {
            if at > 0 {
                all.push(b',');
            }
            all.extend_from_slice(&answer);
        }
        all.extend_from_slice(b"]}");
        Ok(all)
    }

    /// Lines of a stream, in order, until the answers have about so many bytes: the answers, how many there are, and the
    /// lines that are left. What is wrong with a line is said in its place.
    pub(crate) fn answer_lines(&self, piece: &Piece, how: &How, most: usize) -> (Vec<u8>, u64, Option<Piece>) {
        let mut labeller = self.model.labeller();
        let (mut done, mut count) = (Vec::new(), 0);
        let (mut at, mut number) = (0, piece.first);
        while at < piece.lines.len() && done.len() < most {
            let rest = &piece.lines[at..];
            let line = &rest[..rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len())];
            at += line.len() + 1;
            let line = if number == 1 { without_mark(line) } else { line };
            if !line.trim_ascii().is_empty() {
                count += 1;
                match self.answer_line(&mut labeller, line, how) {
                    Ok(answer) => {
                        done.extend_from_slice(&answer);
                        done.push(b'\n');
                    }
                    Err(detail) => done.extend_from_slice(&wrong_line(number, &detail)),
                }
            }
            number += 1;
        }
        let rest = (at < piece.lines.len()).then(|| Piece { lines: piece.lines.slice(at..), first: number });
        (done, count, rest)
    }

    fn answer_line(&self, labeller: &mut Labeller<'_>, line: &[u8], how: &How) -> Result<Vec<u8>, String> {
        let document: DocumentIn = serde_json::from_slice(line).map_err(|e| e.to_string())?;
        let body = document.body(self.terms())?;
        let answer = labeller.answer(document.id.as_deref().map(Into::into), &body, how);
        serde_json::to_vec(&answer).map_err(|e| e.to_string())
    }

    /// Why a document has its labels, in at most so many bytes. Label by label: a text of megabytes has many places for each.
    pub(crate) fn explain(
        &self,
        document: &DocumentIn,
        label: Option<&str>,
        top: u32,
        spans: bool,
        most: usize,
    ) -> Result<Vec<u8>, Problem> {
        let label = label.map(|name| self.model.find_label(name)).transpose()?;
        let body = document.body(self.terms()).map_err(Problem::invalid)?;
        let id = document.id.as_deref();
        let how = |label| How { reasons: Some(WhyAsked { label, top: top as usize, spans }), ..How::default() };
        let mut labeller = self.model.labeller();
        let mut answer = labeller.answer(id.map(Into::into), &body, &How::default());
        if label.is_some() || answer.labels.len() <= 1 {
            return self.answer(id, &body, &how(label), most);
        }
        let (mut reasons, mut size) = (Vec::new(), 0);
        for name in &answer.labels {
            let label = self.model.find_label(name)?;
            for reason in labeller.answer(None, &body, &how(Some(label))).reasons.into_iter().flatten() {
                size += LEAST_BYTES * (reason.words.len() + reason.spans.as_ref().map_or(0, Vec::len));
                if size > most {
                    return Err(Problem::too_much(most));
                }
                reasons.push(reason);
            }
        }
        answer.reasons = Some(reasons);
        bounded_json(&AnsweredOne { model: &self.name, answer }, most)
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
            fields: self.terms().fields().into_iter().map(str::to_owned).collect(),
        }
    }

    pub(crate) fn details(&self) -> Result<Vec<u8>, Problem> {
        let summary = &self.model.summary;
        let quality = |(measure, value): &(String, f64)| QualityLine { measure: measure.clone(), value: *value };
        let shown = &self.model.shown;
        let frontier =
            |p: &FrontierPoint| FrontierLine { features: p.size, quality: p.mean, error: p.error, all: p.all };
        let name = |label: u32| self.model.labels.name(label).to_owned();
        let confusion = |c: &Confusion| ConfusionLine {
            label: name(c.truth),
            taken_for: name(c.taken_for),
            documents: c.documents,
        };
        json(&ModelDetails {
            line: self.line(),
            vocabulary: summary.vocabulary,
            selector: summary.selector.clone(),
            deciding: self.model.deciding(),
            kind: match self.model.ranker {
                Ranker::Flat(Fitted::Linear(_)) => "linear",
                Ranker::Flat(Fitted::Trees(_)) => "trees",
                Ranker::Along(_) => "taxonomy",
                Ranker::Flat(Fitted::Knn { .. }) => "neighbours",
            },
            single_label: summary.single_label,
            probabilities: self.model.has_probabilities(),
            quality: summary.quality.iter().map(quality).collect(),
            folds: summary.folds,
            choices: summary.choices.clone(),
            program: summary.program.clone(),
            bytes: self.bytes,
            by_thresholds: self.model.by_thresholds(),
            examples: shown.examples.clone(),
            frontier: shown.frontier.iter().map(frontier).collect(),
            confusions: shown.confusions.iter().map(confusion).collect(),
        })
    }
}

/// Documents that one thread takes at a time.
const PART: usize = 32;

/// A word or a place takes at least so many bytes in an answer.
const LEAST_BYTES: usize = 24;

/// What stands in place of an answer.
pub(crate) fn wrong_line(number: u64, detail: &str) -> Vec<u8> {
    format!("{}\n", serde_json::json!({ "line": number, "error": detail })).into_bytes()
}

pub(crate) fn json(value: &impl serde::Serialize) -> Result<Vec<u8>, Problem> {
    bounded_json(value, usize::MAX)
}

/// JSON of at most so many bytes.
fn bounded_json(value: &impl serde::Serialize, most: usize) -> Result<Vec<u8>, Problem> {
    struct Bounded(Vec<u8>, usize);
    impl std::io::Write for Bounded {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.0.len() + bytes.len() > self.1 {
                return Err(std::io::ErrorKind::FileTooLarge.into());
            }
            self.0.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut out = Bounded(Vec::new(), most);
    match serde_json::to_writer(&mut out, value) {
        Ok(()) => Ok(out.0),
        Err(error) if error.is_io() => Err(Problem::too_much(most)),
        Err(error) => Err(Problem::invalid(format!("the answer cannot be written as JSON: {error}"))),
    }
}
