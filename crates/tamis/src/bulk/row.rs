//! What is asked of the model for each row, and what it answers.

use super::{Added, BulkOptions, Keep};
use crate::corpus::Body;
use crate::model::{Labeller, Model, OneLabel, OneScore};
use crate::{Error, Result};

/// A column that is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Labels,
    Known,
    Ranked,
    Scores,
    Probabilities,
    Score,
    Probability,
}

impl Column {
    fn name(self) -> &'static str {
        match self {
            Self::Labels => "labels",
            Self::Known => "known",
            Self::Ranked => "ranked",
            Self::Scores => "scores",
            Self::Probabilities => "probabilities",
            Self::Score => "score",
            Self::Probability => "probability",
        }
    }
}

/// What is asked of the model.
pub(super) struct Asked<'m> {
    pub(super) model: &'m Model,
    added: Added,
    pub(super) keep: Option<Keep>,
    /// The label whose score is written or decides about rows.
    one: Option<(u32, OneLabel<'m>)>,
    /// The columns that are added, with their names.
    pub(super) columns: Vec<(Column, String)>,
}

impl<'m> Asked<'m> {
    pub(super) fn new(model: &'m Model, options: &BulkOptions) -> Result<Self> {
        let keep = options.keep.clone();
        let of_keep = keep.as_ref().and_then(Keep::label);
        let kept_by_probability = keep.as_ref().is_some_and(Keep::needs_probability);
        let mut columns = Vec::new();
        let one = match &options.added {
            Added::Labels { ranked, .. } => {
                columns.extend([Column::Labels, Column::Known]);
                if ranked.is_some() {
                    columns.extend([Column::Ranked, Column::Scores]);
                    columns.extend(model.has_probabilities().then_some(Column::Probabilities));
                }
                match (&keep, of_keep) {
                    (Some(keep), None) => {
                        let reason =
                            "of which label? Name it, as in score(label) > 0.7, or with the option `only_score`";
                        return Err(Error::invalid("keep", keep, reason));
                    }
                    (_, label) => label.map(|label| (label, kept_by_probability)),
                }
            }
            Added::Score { label, probability } => {
                columns.push(Column::Score);
                columns.extend(probability.then_some(Column::Probability));
                if let (Some(keep), Some(other)) = (&keep, of_keep.filter(|other| other != label)) {
                    let reason = format!("rows are kept by the label that is scored, {label:?}, not by {other:?}");
                    return Err(Error::invalid("keep", keep, reason));
                }
                Some((label.as_str(), *probability || kept_by_probability))
            }
        };
        let one = match one {
            Some((label, probability)) => {
                let asked = model.one_label(label, probability)?;
                Some((asked.label(), asked))
            }
            None => None,
        };
        let columns = columns.into_iter().map(|column| (column, format!("{}{}", options.prefix, column.name())));
        Ok(Self { model, added: options.added.clone(), keep, one, columns: columns.collect() })
    }

    /// Something that answers, one for each thread.
    pub(super) fn asker(&self) -> Asker<'_> {
        Asker { asked: self, labeller: self.model.labeller(), row: Row::default(), probabilities: Vec::new() }
    }
}

/// What is added to one row.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// Whether it has a text; without, everything is null.
    pub(super) has_text: bool,
    pub(super) known: bool,
    /// The labels it gets, best first.
    pub(super) labels: Vec<u32>,
    /// The best labels with score and probability.
    pub(super) ranked: Vec<(u32, f64, f64)>,
    pub(super) score: Option<f64>,
    pub(super) probability: Option<f64>,
    pub(super) kept: bool,
}

/// Asks for one row after the other.
pub(super) struct Asker<'a> {
    asked: &'a Asked<'a>,
    labeller: Labeller<'a>,
    row: Row,
    probabilities: Vec<f64>,
}

impl Asker<'_> {
    /// What is added to a row with this text.
    pub(super) fn row(&mut self, body: Option<&Body<'_>>) -> &Row {
        let Self { asked, labeller, row, probabilities } = self;
        row.labels.clear();
        row.ranked.clear();
        row.has_text = body.is_some();
        let nothing = OneScore { score: None, probability: None, known: false };
        let one = match (body, &asked.added, &asked.one) {
            (None, _, _) => nothing,
            (Some(body), Added::Score { .. }, Some((_, one))) => labeller.score(body, one),
            (Some(body), added, one) => {
                let labelled = labeller.label(body);
                let (best, ranked) = match added {
                    Added::Labels { best, ranked } => (*best, ranked.unwrap_or(0)),
                    Added::Score { .. } => (None, 0),
                };
                let is_decided = |label: u32| labelled.decided.binary_search(&label).is_ok();
                match best {
                    Some(best) => row.labels.extend(labelled.ranked.iter().take(best).map(|s| s.label)),
                    None => {
                        let decided = labelled.ranked.iter().map(|s| s.label).filter(|&label| is_decided(label));
                        row.labels.extend(decided.take(labelled.decided.len()));
                    }
                }
                probabilities.clear();
                if ranked > 0 || asked.keep.as_ref().is_some_and(Keep::needs_probability) {
                    asked.model.probabilities(labelled.ranked, probabilities);
                }
                let probability = |label: u32| probabilities.get(label as usize).copied();
                let with = |s: &crate::classify::Scored| (s.label, s.score, probability(s.label).unwrap_or_default());
                row.ranked.extend(labelled.ranked.iter().take(ranked).map(with));
                let of = |label: u32| labelled.ranked.iter().find(|s| s.label == label).map(|s| s.score);
                OneScore {
                    score: one.as_ref().and_then(|(label, _)| of(*label)),
                    probability: one.as_ref().and_then(|(label, _)| probability(*label)),
                    known: labelled.known,
                }
            }
        };
        (row.score, row.probability, row.known) = (one.score, one.probability, one.known);
        row.kept = asked.keep.as_ref().is_none_or(|keep| keep.keeps(&one));
        row
    }
}
