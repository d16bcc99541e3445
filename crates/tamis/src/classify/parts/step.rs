//! A round on one part.

use rustc_hash::FxHashMap;

use super::local::{Ask, Done, Local, pressure, relaxation, resistance};
use super::pack::{Part, fold_of};
use super::plan::{Plan, PlannedModel};
use super::wire::{Reader, Writer, damaged};
use crate::classify::logistic::PartLogistic;
use crate::classify::rows::Rows;
use crate::classify::svm::PartSvm;
use crate::classify::{ClassifierSpec, Query};
use crate::counts::Csr;
use crate::{Error, Progress, Result};

/// What a round asks of every part about a problem.
struct Asked {
    question: u32,
    /// How hard the documents of all parts press, on average.
    stiffness: f64,
    floor: f64,
    bias: f64,
    weights: Vec<f32>,
}

/// What a part keeps of a problem from round to round.
pub(super) struct Kept {
    /// The stiffness of the round before.
    stiffness: f64,
    /// Dual variables above 0, by row; none where the solver needs none.
    pub(super) alphas: Vec<(u32, f32)>,
    /// `p + R·w` for the multipliers of the next round, whatever `w` will be then.
    push: Vec<f32>,
    push_bias: f64,
}

impl Plan {
    /// A round on a part: what the part kept from the round before (nothing at first) and what is asked come in, what it keeps for the next one and
    /// what it answers go out. The same input gives the same bytes on any machine.
    pub fn step(
        &self,
        part: &Part,
        kept: &[u8],
        message: &[u8],
        progress: &dyn Progress,
    ) -> Result<(Vec<u8>, Vec<u8>)> {
        if part.matrix.columns() != self.features || part.assignments.columns() != self.labels {
            return Err(damaged());
        }
        let mut reader = Reader(message);
        let (round, parts) = (reader.number()?, reader.below(u32::MAX as usize)?);
        if round == 0 || parts == 0 {
            return Err(damaged());
        }
        let mut pressures = FxHashMap::default();
        for _ in 0..reader.length()? {
            let model = reader.below(self.models.len())? as u32;
            let bias = reader.double()?;
            pressures.insert(model, places(&reader.vector(self.features)?, bias));
        }
        let mut asked = Vec::new();
        while !reader.is_empty() {
            let question = reader.below(self.questions.len())? as u32;
            let [stiffness, floor, bias] = [reader.double()?, reader.double()?, reader.double()?];
            if !(stiffness.is_finite() && stiffness >= 0.0) {
                return Err(damaged());
            }
            asked.push(Asked { question, stiffness, floor, bias, weights: reader.vector(self.features)? });
        }
        let mut kept = self.kept(kept)?;
        let mut out = Out::default();
        let mut asked = asked.into_iter().peekable();
        while let Some(first) = asked.peek() {
            let model = self.questions[first.question as usize].model;
            let own: Vec<Asked> =
                std::iter::from_fn(|| asked.next_if(|ask| self.questions[ask.question as usize].model == model))
                    .collect();
            let (rows, members) = rows_of(part, &self.models[model as usize], self.folds);
            if round == 1 {
                let (pressure, bias) = pressure(&rows);
                out.answers.number(u64::from(model));
                out.answers.double(bias);
                out.answers.vector(&pressure);
            }
            let pressure = pressures.remove(&model).unwrap_or_else(|| vec![0.0; self.features + 1]);
            let round = Round { plan: self, round, parts, rows: rows.len(), pressure };
            match &self.classifier {
                ClassifierSpec::Svm(options) => {
                    let local = PartSvm { options, rows: &rows, members: &members };
                    round.run(local, own, &mut kept, &mut out, progress)?;
                }
                ClassifierSpec::Logistic(options) => {
                    round.run(PartLogistic::new(options, &rows, &members), own, &mut kept, &mut out, progress)?;
                }
                _ => return Err(damaged()),
            }
        }
        Ok((out.keeps.0, out.answers.0))
    }

    pub(super) fn kept(&self, bytes: &[u8]) -> Result<FxHashMap<u32, Kept>> {
        let mut reader = Reader(bytes);
        let mut kept = FxHashMap::default();
        while !reader.is_empty() {
            let question = reader.below(self.questions.len())? as u32;
            let [stiffness, push_bias] = [reader.double()?, reader.double()?];
            let mut rows = Vec::new();
            reader.ascending(u32::MAX as usize, &mut rows)?;
            let alphas = rows.into_iter().map(|row| Ok((row, reader.single()?))).collect::<Result<Vec<_>>>()?;
            let push = reader.vector(self.features)?;
            kept.insert(question, Kept { stiffness, alphas, push, push_bias });
        }
        Ok(kept)
    }
}

/// A vector with the bias behind it.
fn places(features: &[f32], bias: f64) -> Vec<f64> {
    features.iter().map(|&x| f64::from(x)).chain([bias]).collect()
}

/// What goes out.
#[derive(Default)]
struct Out {
    keeps: Writer,
    answers: Writer,
}

/// A round for the problems of one model: the same for every loss.
struct Round<'a> {
    plan: &'a Plan,
    round: u64,
    parts: usize,
    rows: usize,
    /// How much the documents of all parts can press on each weight.
    pressure: Vec<f64>,
}

impl Round<'_> {
    fn run<L: Local>(
        &self,
        mut local: L,
        asked: Vec<Asked>,
        kept: &mut FxHashMap<u32, Kept>,
        out: &mut Out,
        progress: &dyn Progress,
    ) -> Result<()> {
        for group in asked.chunks(L::TOGETHER) {
            if progress.cancelled() {
                return Err(Error::Interrupted);
            }
            let asks = group.iter().map(|ask| self.ask(ask, kept.remove(&ask.question))).collect::<Result<Vec<_>>>()?;
            let done = local.solve(&asks, progress)?;
            for ((asked, ask), done) in group.iter().zip(&asks).zip(done) {
                self.finish(asked, ask, done, out);
            }
        }
        Ok(())
    }

    fn resistances(&self, stiffness: f64) -> impl Iterator<Item = f64> {
        self.pressure.iter().map(move |&pressure| resistance(self.parts as f64, stiffness * pressure))
    }

    fn ask(&self, asked: &Asked, kept: Option<Kept>) -> Result<Ask> {
        let question = self.plan.questions[asked.question as usize];
        let weights = places(&asked.weights, asked.bias);
        let (alphas, pull) = match kept {
            Some(kept) => {
                let push = places(&kept.push, kept.push_bias);
                let past = push.iter().zip(&weights).zip(self.resistances(kept.stiffness));
                (kept.alphas, past.map(|((push, w), r)| push - r * w).collect())
            }
            None if self.round == 1 => (Vec::new(), vec![0.0; weights.len()]),
            None => return Err(damaged()),
        };
        if alphas.last().is_some_and(|(row, _)| *row as usize >= self.rows) {
            return Err(damaged());
        }
        Ok(Ask {
            label: question.label,
            costs: question.costs,
            weights,
            pull,
            give: self.resistances(asked.stiffness).map(|r| 1.0 / r).collect(),
            alphas,
            first: self.round == 1,
            floor: asked.floor,
            stream: (u64::from(asked.question) << 32) | self.round,
        })
    }

    fn finish(&self, asked: &Asked, ask: &Ask, done: Done, out: &mut Out) {
        let Done { loss, value, curvature, own, alphas, passes } = done;
        let (bias, own) = own.split_last().map_or((0.0, &[][..]), |(bias, own)| (*bias, own));
        // What all hear is what is reckoned with here, too.
        let own: Vec<f32> = own.iter().map(|&v| v as f32).collect();
        let relaxation = relaxation(self.parts);
        let push: Vec<f64> = places(&own, bias)
            .iter()
            .zip(&ask.pull)
            .zip(&ask.weights)
            .zip(self.resistances(asked.stiffness))
            .map(|(((v, p), w), r)| (1.0 - relaxation) * p + relaxation * v + r * w)
            .collect();
        let Out { keeps, answers } = out;
        keeps.number(u64::from(asked.question));
        keeps.double(asked.stiffness);
        keeps.double(push.last().copied().unwrap_or(0.0));
        keeps.ascending(alphas.iter().map(|(row, _)| *row));
        alphas.iter().for_each(|(_, alpha)| keeps.single(*alpha));
        keeps.vector(&push[..own.len()].iter().map(|&x| x as f32).collect::<Vec<_>>());
        answers.number(u64::from(asked.question));
        [loss, value, curvature, bias].iter().for_each(|&x| answers.double(x));
        [passes, alphas.len()].iter().for_each(|&n| answers.number(n as u64));
        answers.vector(&own);
    }
}

/// The vectors of the documents that a model is trained on, and labels × rows. Documents lie by their fingerprints: in random order.
pub(super) fn rows_of(part: &Part, model: &PlannedModel, folds: usize) -> (Rows, Csr<()>) {
    let mut matrix = Csr::new(part.matrix.columns());
    let (mut squares, mut documents, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for document in 0..part.documents() {
        let held_out = model.held_out.is_some_and(|fold| fold_of(part.fingerprints[document], folds) == fold as usize);
        if held_out {
            continue;
        }
        let query = Query {
            features: part.matrix.row_indices(document),
            counts: part.matrix.row_values(document),
            length: part.lengths[document],
        };
        model.weighter.weigh(query, &mut weights);
        let entries = query.features.iter().zip(&weights).map(|(&f, &w)| (f, w as f32)).filter(|(_, w)| *w != 0.0);
        matrix.push_row(entries.clone());
        squares.push(1.0 + entries.map(|(_, w)| f64::from(w) * f64::from(w)).sum::<f64>());
        documents.push(document as u32);
    }
    let order: Vec<usize> = documents.iter().map(|&d| d as usize).collect();
    let members = part.assignments.select_rows(&order).transpose();
    let weights = vec![1.0; documents.len()];
    (Rows { matrix, squares, documents, weights }, members)
}
