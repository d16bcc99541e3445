//! Scores of documents that a model was not trained on, made where the documents are.

use super::pack::{Part, draw_of, fold_of};
use super::plan::{put_weighter, weighter};
use super::wire::{Reader, Writer, damaged};
use crate::classify::tree::{LabelTrees, Node, Tree, TreeParts};
use crate::classify::{Classifier, Fitted, Linear, LinearParts, Outputs, Query, Scored, Scratch, Weights};
use crate::counts::Csr;
use crate::{Error, Result};

/// One model for each fold, over the features of all: each scores the documents of its fold.
#[derive(Debug, Clone)]
pub struct Scorers {
    /// By fold: linear models or label trees.
    pub models: Vec<Fitted>,
    /// How many of its labels a document is scored for, the best first; the others are as if they were not ranked.
    pub most: usize,
    /// The share of the documents that is scored, chosen by their fingerprints.
    pub share: f64,
}

impl Scorers {
    /// As bytes for other machines.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = Writer::default();
        out.double(self.share);
        out.number(self.most as u64);
        out.number(self.models.len() as u64);
        for model in &self.models {
            match model {
                Fitted::Linear(linear) => {
                    out.number(0);
                    put_linear(&mut out, linear)?;
                }
                Fitted::Trees(trees) => {
                    out.number(1);
                    put_trees(&mut out, trees);
                }
                Fitted::Knn { .. } => return Err(Error::data("neighbours are not found in parts")),
            }
        }
        Ok(out.0)
    }

    /// From [`Scorers::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let share = reader.double()?;
        let most = usize::try_from(reader.number()?).map_err(|_| damaged())?;
        let length = reader.length()?;
        let model = |_| match reader.number()? {
            0 => linear(&mut reader).map(Fitted::Linear),
            1 => trees(&mut reader).map(Fitted::Trees),
            _ => Err(damaged()),
        };
        Ok(Self { models: (0..length).map(model).collect::<Result<Vec<_>>>()?, most, share })
    }

    /// Scores a part: for each document its fold, its labels, and labels that are ranked with their scores.
    pub fn score(&self, part: &Part) -> Vec<u8> {
        let mut out = Writer::default();
        let (mut scratch, mut ranked) = (Scratch::default(), Vec::new());
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
            ranked.truncate(self.most);
            ranked.sort_unstable_by_key(|place| place.label);
            out.number(fold as u64);
            out.ascending(part.assignments.row_indices(document).iter().copied());
            out.ascending(ranked.iter().map(|place| place.label));
            ranked.iter().for_each(|place| out.single(place.score as f32));
        }
        out.0
    }
}

/// Reads what [`Scorers::score`] wrote for so many labels: `each` gets fold, ranked list and true labels of a document.
pub fn scored(bytes: &[u8], labels: usize, mut each: impl FnMut(usize, &[Scored], &[u32])) -> Result<()> {
    let mut reader = Reader(bytes);
    let (mut truth, mut ranked, mut places) = (Vec::new(), Vec::new(), Vec::new());
    while !reader.is_empty() {
        let fold = reader.below(u32::MAX as usize)?;
        truth.clear();
        reader.ascending(labels, &mut truth)?;
        ranked.clear();
        places.clear();
        reader.ascending(labels, &mut places)?;
        for &label in &places {
            let score = f64::from(reader.single()?);
            if score.is_nan() {
                return Err(damaged());
            }
            ranked.push(Scored { label, score });
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

fn put_trees(out: &mut Writer, model: &LabelTrees) {
    let TreeParts { labels, weighter, link, beam, trees } = model.parts();
    [*labels, *beam].iter().for_each(|&number| out.number(number as u64));
    out.text(&link.to_string());
    put_weighter(out, weighter);
    out.number(trees.len() as u64);
    for tree in trees {
        out.number(tree.nodes.len() as u64);
        for Node { kids, labels, bias, features, weights } in &tree.nodes {
            for numbers in [kids, labels] {
                out.number(numbers.len() as u64);
                numbers.iter().for_each(|&number| out.number(u64::from(number)));
            }
            bias.iter().for_each(|&bias| out.single(bias));
            out.ascending(features.iter().copied());
            for row in 0..weights.rows() {
                out.ascending(weights.row_indices(row).iter().copied());
                weights.row_values(row).iter().for_each(|&weight| out.single(weight));
            }
        }
    }
}

fn trees(reader: &mut Reader<'_>) -> Result<LabelTrees> {
    let labels = usize::try_from(reader.number()?).map_err(|_| damaged())?;
    let beam = usize::try_from(reader.number()?).map_err(|_| damaged())?;
    let link = reader.text()?.parse()?;
    let weighter = weighter(reader)?;
    let mut trees = Vec::new();
    for _ in 0..reader.length()? {
        let mut nodes = Vec::new();
        let count = reader.length()?;
        for _ in 0..count {
            let mut list = |limit: usize| -> Result<Vec<u32>> {
                let length = reader.length()?;
                (0..length).map(|_| Ok(reader.below(limit)? as u32)).collect()
            };
            let (kids, labels) = (list(count)?, list(labels)?);
            let classes = kids.len() + labels.len();
            let bias = (0..classes).map(|_| reader.single()).collect::<Result<Vec<_>>>()?;
            let mut features = Vec::new();
            reader.ascending(weighter.features(), &mut features)?;
            let mut weights = Csr::new(classes);
            let mut row = Vec::new();
            for _ in 0..features.len() {
                row.clear();
                reader.ascending(classes, &mut row)?;
                let values = row.iter().map(|&class| Ok((class, reader.single()?))).collect::<Result<Vec<_>>>()?;
                weights.push_row(values);
            }
            nodes.push(Node { kids, labels, bias, features, weights });
        }
        trees.push(Tree { nodes });
    }
    LabelTrees::from_parts(TreeParts { labels, weighter, link, beam, trees })
}
