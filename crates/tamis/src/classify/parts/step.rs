//! A round on one part.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::local::{self, Ask, Done, Local, relaxation, resistance};
use super::pack::{Part, fold_of};
use super::plan::{Plan, PlannedModel, Question};
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
    /// Of the features of its scope.
    weights: Vec<f32>,
}

/// What is asked of every part about the documents of a scope.
struct AskedScope {
    /// The features that some of them have, ascending, and how much the documents of all parts can press on the weight of each, the bias
    /// behind them; none in the first round.
    known: Option<(Vec<u32>, Vec<f64>)>,
    questions: Vec<Asked>,
}

/// What a part keeps of a problem from round to round.
pub(super) struct Kept {
    /// The stiffness of the round before.
    stiffness: f64,
    /// Dual variables above 0, by row; none where the solver needs none.
    pub(super) alphas: Vec<(u32, f32)>,
    /// `p + R·w` for the multipliers of the next round, whatever `w` will be then: features, ascending, and values.
    push: (Vec<u32>, Vec<f32>),
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
        let scope_of = self.scopes();
        let mut scopes: BTreeMap<u32, AskedScope> = BTreeMap::new();
        for _ in 0..reader.length()? {
            let scope = reader.below(scope_of.len())? as u32;
            let bias = reader.double()?;
            let (mut features, mut pressure) = (Vec::new(), Vec::new());
            reader.vector(self.features, |feature, x| {
                features.push(feature);
                pressure.push(f64::from(x));
            })?;
            pressure.push(bias);
            scopes.insert(scope, AskedScope { known: Some((features, pressure)), questions: Vec::new() });
        }
        while !reader.is_empty() {
            let question = reader.below(self.questions.len())? as u32;
            let [stiffness, floor, bias] = [reader.double()?, reader.double()?, reader.double()?];
            if !(stiffness.is_finite() && stiffness >= 0.0) {
                return Err(damaged());
            }
            let scope = scopes
                .entry(scope_of[question as usize])
                .or_insert_with(|| AskedScope { known: None, questions: Vec::new() });
            let places = scope.known.as_ref().map_or(&[][..], |(features, _)| features);
            let weights = reader.vector_at(places, self.features)?;
            scope.questions.push(Asked { question, stiffness, floor, bias, weights });
        }
        let mut kept = self.kept(kept)?;
        let mut out = Out::default();
        let mut of_model: Option<(u32, Rows, Csr<()>)> = None;
        for (number, AskedScope { known, questions }) in scopes {
            let Some(first) = questions.first() else { continue };
            if known.is_none() && round > 1 {
                return Err(damaged());
            }
            let Question { model, within, .. } = self.questions[first.question as usize];
            if of_model.as_ref().is_none_or(|(held, ..)| *held != model) {
                let (rows, labels) = rows_of(part, &self.models[model as usize], self.folds);
                of_model = Some((model, rows, labels));
            }
            let Some((_, rows, labels)) = &of_model else { return Err(damaged()) };
            let within = within.map(|group| self.documents(labels, self.labels as u32 + group));
            let (features, pressure) = match known {
                Some(known) => known,
                None => {
                    let features = features_of(rows, within.as_deref());
                    let pressure = vec![0.0; features.len() + 1];
                    (features, pressure)
                }
            };
            let rows = narrowed(rows, within.as_deref(), &features);
            let members = self.members(labels, &questions, within.as_deref(), rows.len());
            if round == 1 {
                let (pressure, bias) = local::pressure(&rows);
                out.answers.number(u64::from(number));
                out.answers.double(bias);
                out.answers.vector(&features, &pressure, self.features);
            }
            let round = Round { plan: self, round, parts, rows: rows.len(), features, pressure };
            match &self.classifier {
                ClassifierSpec::Svm(options) => {
                    let local = PartSvm { options, rows: &rows, members: &members };
                    round.run(local, questions, &mut kept, &mut out, progress)?;
                }
                ClassifierSpec::Logistic(options) => {
                    round.run(PartLogistic::new(options, &rows, &members), questions, &mut kept, &mut out, progress)?;
                }
                _ => return Err(damaged()),
            }
        }
        Ok((out.keeps.0, out.answers.0))
    }

    /// The rows that have a label, or one of a group; ascending.
    fn documents(&self, labels: &Csr<()>, of: u32) -> Vec<u32> {
        match (of as usize).checked_sub(self.labels) {
            None => labels.row_indices(of as usize).to_vec(),
            Some(group) => {
                let own = self.groups[group].iter().flat_map(|&label| labels.row_indices(label as usize));
                let mut rows: Vec<u32> = own.copied().collect();
                rows.sort_unstable();
                rows.dedup();
                rows
            }
        }
    }

    /// Questions × rows of their scope: the documents that are to be told from the others.
    fn members(&self, labels: &Csr<()>, asked: &[Asked], within: Option<&[u32]>, rows: usize) -> Csr<()> {
        let mut members = Csr::new(rows);
        for ask in asked {
            let own = self.documents(labels, self.questions[ask.question as usize].of);
            match within {
                None => members.push_row(own.into_iter().map(|row| (row, ()))),
                // Both ascend.
                Some(within) => {
                    let mut next = 0;
                    let place = |row: u32| {
                        next += within[next..].partition_point(|&other| other < row);
                        (within.get(next) == Some(&row)).then_some((next as u32, ()))
                    };
                    members.push_row(own.into_iter().filter_map(place));
                }
            }
        }
        members
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
            let mut push = (Vec::new(), Vec::new());
            reader.vector(self.features, |feature, x| {
                push.0.push(feature);
                push.1.push(x);
            })?;
            kept.insert(question, Kept { stiffness, alphas, push, push_bias });
        }
        Ok(kept)
    }
}

/// A vector with the bias behind it.
fn places(features: &[f32], bias: f64) -> Vec<f64> {
    features.iter().map(|&x| f64::from(x)).chain([bias]).collect()
}

/// The values of some features, which ascend as those that have a value do.
fn gathered((features, values): &(Vec<u32>, Vec<f32>), wanted: &[u32]) -> Vec<f32> {
    let mut next = 0;
    let value = |&feature: &u32| {
        next += features[next..].partition_point(|&other| other < feature);
        if features.get(next) == Some(&feature) { values[next] } else { 0.0 }
    };
    wanted.iter().map(value).collect()
}

/// The features that some of the rows have, ascending.
fn features_of(rows: &Rows, within: Option<&[u32]>) -> Vec<u32> {
    let mut has = vec![false; rows.features()];
    let mut take = |row: usize| rows.matrix.row_indices(row).iter().for_each(|&f| has[f as usize] = true);
    match within {
        None => (0..rows.len()).for_each(take),
        Some(within) => within.iter().for_each(|&row| take(row as usize)),
    }
    (0..has.len() as u32).filter(|&feature| has[feature as usize]).collect()
}

/// Some of the rows, over some features.
fn narrowed(rows: &Rows, within: Option<&[u32]>, features: &[u32]) -> Rows {
    let mut number = vec![u32::MAX; rows.features()];
    features.iter().zip(0..).for_each(|(&feature, at)| number[feature as usize] = at);
    let all: Vec<u32> = if within.is_none() { (0..rows.len() as u32).collect() } else { Vec::new() };
    let within = within.unwrap_or(&all);
    let mut matrix = Csr::new(features.len());
    for &row in within {
        let entries = rows.matrix.row(row as usize).map(|(feature, x)| (number[feature as usize], x));
        matrix.push_row(entries.filter(|(feature, _)| *feature != u32::MAX));
    }
    Rows {
        matrix,
        squares: within.iter().map(|&row| rows.squares[row as usize]).collect(),
        documents: within.iter().map(|&row| rows.documents[row as usize]).collect(),
        weights: within.iter().map(|&row| rows.weights[row as usize]).collect(),
    }
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
    /// The features of the scope.
    features: Vec<u32>,
    /// How much the documents of all parts can press on the weight of each, and on the bias.
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
        let mut next = 0;
        for group in asked.chunks(L::TOGETHER) {
            if progress.cancelled() {
                return Err(Error::Interrupted);
            }
            let asks = group
                .iter()
                .map(|ask| {
                    let place = next;
                    next += 1;
                    self.ask(ask, place, kept.remove(&ask.question))
                })
                .collect::<Result<Vec<_>>>()?;
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

    /// What the question at a place of the scope asks of the solver.
    fn ask(&self, asked: &Asked, place: u32, kept: Option<Kept>) -> Result<Ask> {
        let question = self.plan.questions[asked.question as usize];
        // In the first round nobody has a weight yet.
        let mut weights = places(&asked.weights, asked.bias);
        if asked.weights.is_empty() {
            weights = vec![0.0; self.features.len() + 1];
        }
        let (alphas, pull) = match kept {
            Some(kept) => {
                let push = places(&gathered(&kept.push, &self.features), kept.push_bias);
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
            label: place,
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
        let (features, length) = (&self.features, self.plan.features);
        keeps.vector(features, &push[..own.len()].iter().map(|&x| x as f32).collect::<Vec<_>>(), length);
        answers.number(u64::from(asked.question));
        [loss, value, curvature, bias].iter().for_each(|&x| answers.double(x));
        [passes, alphas.len()].iter().for_each(|&n| answers.number(n as u64));
        answers.vector(features, &own, length);
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
