//! Scores of documents that a model was not trained on, made where the documents are.

use super::pack::{Part, draw_of, fold_of};
use super::plan::{put_weighter, weighter};
use super::wire::{Reader, Writer, damaged};
use crate::classify::{Classifier, Linear, LinearParts, Outputs, Query, Scored, Scratch, Weights};
use crate::counts::Csr;
use crate::{Error, Result};

/// One model for each fold, over the features of all: each scores the documents of its fold.
#[derive(Debug, Clone, PartialEq)]
pub struct Scorers {
    /// By fold.
    pub models: Vec<Linear>,
    /// The share of the documents that is scored, chosen by their fingerprints.
    pub share: f64,
}

impl Scorers {
    /// As bytes for other machines.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = Writer::default();
        out.double(self.share);
        out.number(self.models.len() as u64);
        for model in &self.models {
            put_linear(&mut out, model)?;
        }
        Ok(out.0)
    }

    /// From [`Scorers::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let share = reader.double()?;
        let length = reader.length()?;
        let models = (0..length).map(|_| linear(&mut reader)).collect::<Result<Vec<_>>>()?;
        Ok(Self { models, share })
    }

    /// Scores a part: for each document its fold, its labels, and a score for each label (none where it is not ranked).
    pub fn score(&self, part: &Part) -> Vec<u8> {
        let mut out = Writer::default();
        let (mut scratch, mut ranked) = (Scratch::default(), Vec::new());
        let mut scores = Vec::new();
        for document in 0..part.documents() {
            let fingerprint = part.fingerprints[document];
            let fold = fold_of(fingerprint, self.models.len());
            if draw_of(fingerprint) >= self.share {
                continue;
            }
            let Some(model) = self.models.get(fold) else { continue };
            let query = Query {
                features: part.matrix.row_indices(document),
                counts: part.matrix.row_values(document),
                length: part.lengths[document],
            };
            model.rank(query, &mut scratch, &mut ranked);
            scores.clear();
            scores.resize(model.labels(), f32::NAN);
            for place in &ranked {
                scores[place.label as usize] = place.score as f32;
            }
            out.number(fold as u64);
            out.ascending(part.assignments.row_indices(document).iter().copied());
            scores.iter().for_each(|&score| out.single(score));
        }
        out.0
    }
}

/// Reads what [`Scorers::score`] wrote for so many labels: `each` gets fold, ranked list and true labels of a document.
pub fn scored(bytes: &[u8], labels: usize, mut each: impl FnMut(usize, &[Scored], &[u32])) -> Result<()> {
    let mut reader = Reader(bytes);
    let (mut truth, mut ranked) = (Vec::new(), Vec::new());
    while !reader.is_empty() {
        let fold = reader.below(u32::MAX as usize)?;
        truth.clear();
        reader.ascending(labels, &mut truth)?;
        ranked.clear();
        for label in 0..labels as u32 {
            let score = f64::from(reader.single()?);
            if !score.is_nan() {
                ranked.push(Scored { label, score });
            }
        }
        ranked.sort_unstable_by(Scored::better_first);
        each(fold, &ranked, &truth);
    }
    Ok(())
}

fn put_linear(out: &mut Writer, model: &Linear) -> Result<()> {
    let parts = model.parts();
    let kind = match &parts.outputs {
        Outputs::Values(_) => 0,
        Outputs::Posteriors(_) => 1,
        Outputs::Odds(_) => 2,
        Outputs::Votes { .. } => return Err(Error::data("pairs of labels are not trained in parts")),
    };
    let single = matches!(parts.weights, Weights::Single(_));
    out.number(parts.labels as u64);
    out.number(kind);
    out.ascending(parts.outputs.labels().iter().copied());
    put_weighter(out, &parts.weighter);
    out.number(u64::from(single));
    for feature in 0..model.features() {
        let row: Vec<(usize, f64)> = parts.weights.row(feature).collect();
        out.ascending(row.iter().map(|(output, _)| *output as u32));
        row.iter().for_each(|(_, w)| if single { out.single(*w as f32) } else { out.double(*w) });
    }
    [&parts.bias, &parts.every, &parts.common].into_iter().for_each(|numbers| out.doubles(numbers));
    Ok(())
}

fn linear(reader: &mut Reader<'_>) -> Result<Linear> {
    let labels = reader.number()? as usize;
    let kind = reader.number()?;
    let mut own = Vec::new();
    reader.ascending(labels, &mut own)?;
    let outputs = own.len();
    let weighter = weighter(reader)?;
    let single = reader.number()? == 1;
    let mut weights = Csr::<f64>::new(outputs);
    for _ in 0..weighter.features() {
        let mut row = Vec::new();
        reader.ascending(outputs, &mut row)?;
        let values = row
            .into_iter()
            .map(|output| Ok((output, if single { f64::from(reader.single()?) } else { reader.double()? })))
            .collect::<Result<Vec<_>>>()?;
        weights.push_row(values);
    }
    Linear::from_parts(LinearParts {
        labels,
        weighter,
        outputs: match kind {
            0 => Outputs::Values(own),
            1 => Outputs::Posteriors(own),
            2 => Outputs::Odds(own),
            _ => return Err(damaged()),
        },
        weights: if single { Weights::single(weights.map_values(|w| w as f32)) } else { Weights::double(weights) },
        bias: reader.doubles()?,
        every: reader.doubles()?,
        common: reader.doubles()?,
    })
}
