//! The score of one label, for those who filter: what other labels score is left out where it does not matter.

use super::{Labeller, Model, Ranker};
use crate::classify::{Fitted, OneOutput, Query};
use crate::corpus::Body;
use crate::{Error, Result};

/// A label that is asked for alone. See [`Model::one_label`].
#[derive(Debug)]
pub struct OneLabel<'m> {
    label: u32,
    probability: bool,
    /// Its part of a linear classifier, where that is enough.
    alone: Option<OneOutput<'m>>,
}

impl OneLabel<'_> {
    /// Its number.
    pub fn label(&self) -> u32 {
        self.label
    }
}

/// What is known of one label in a document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OneScore {
    /// Its score; none where the classifier does not rank it, as neighbours without the label.
    pub score: Option<f64>,
    /// Its probability, where it was asked for.
    pub probability: Option<f64>,
    /// Whether the document has a word that the model knows.
    pub known: bool,
}

impl Model {
    /// Asks for the score of one label and, with `probability`, how probable it is.
    pub fn one_label(&self, name: &str, probability: bool) -> Result<OneLabel<'_>> {
        let label = self.labels.id(name).ok_or_else(|| Error::unknown("label", name, self.labels.iter()))?;
        if probability && !self.has_probabilities() {
            return Err(Error::data(
                "the model has no probabilities; fit it with the option `calibrate`, or ask for the score",
            ));
        }
        // Probabilities of labels that exclude each other, or lie along a taxonomy, take all scores.
        let one_by_one = match &self.calibration {
            Some(calibration) => calibration.one_by_one(),
            None => true,
        };
        let alone = match &self.ranker {
            Ranker::Flat(Fitted::Linear(linear)) if self.worth.is_none() && (!probability || one_by_one) => {
                linear.one(label)
            }
            _ => None,
        };
        Ok(OneLabel { label, probability, alone })
    }
}

impl Labeller<'_> {
    /// The score of one label of a document: the one that [`Labeller::label`] ranks it by.
    pub fn score(&mut self, body: &Body<'_>, one: &OneLabel<'_>) -> OneScore {
        let model = self.model();
        let OneLabel { label, probability, alone } = one;
        if let Some(alone) = alone {
            self.read(body);
            let query: Query<'_> = self.query();
            let score = alone.score(query);
            let probable = || match &model.calibration {
                Some(calibration) => calibration.probability(*label, score),
                None => score.exp().min(1.0),
            };
            let known = !query.features.is_empty();
            return OneScore { score: Some(score), probability: probability.then(probable), known };
        }
        let labelled = self.label(body);
        let score = labelled.ranked.iter().find(|s| s.label == *label).map(|s| s.score);
        let known = labelled.known;
        let mut probable = None;
        if *probability {
            let mut all = Vec::new();
            model.probabilities(labelled.ranked, &mut all);
            probable = all.get(*label as usize).copied();
        }
        OneScore { score, probability: probable, known }
    }
}
