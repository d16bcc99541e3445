//! The rounds, seen from the one machine that adds up.

use serde::Serialize;

use super::local::{relaxation, resistance};
use super::plan::Plan;
use super::wire::{Reader, Writer, damaged};
use crate::classify::svm::Solution;
use crate::classify::{ClassifierSpec, Linear, LinearParts, Outputs, Weighter, Weights};
use crate::counts::Csr;
use crate::{Error, Result};

/// A local problem need not be solved better than this share of the gap that all parts together aim at.
const FLOOR: f64 = 0.1;

/// A problem on its way.
#[derive(Debug, Clone)]
struct State {
    weights: Vec<f32>,
    bias: f64,
    /// The largest dual value so far.
    dual: f64,
    /// How hard the documents press on average, as they did after the first round.
    stiffness: f64,
    primal: f64,
    gap: f64,
    passes: usize,
    supports: usize,
    open: bool,
}

/// How a round went.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RoundReport {
    /// Its number, from 1.
    pub round: usize,
    /// Problems that took part.
    pub problems: usize,
    /// Problems that are still open.
    pub open: usize,
    /// The largest gap at the beginning of the round, as a share of the problem's value.
    pub gap: f64,
    /// Bytes that went to every part.
    pub sent: usize,
    /// Bytes that came from all parts.
    pub received: usize,
}

impl State {
    /// The next weights: what all parts agree on, and a little beyond (method 7).
    fn step(&mut self, sums: &Sums, (pressure, bias_pressure): &(Vec<f32>, f64), parts: usize) {
        let (relaxation, stiffness) = (relaxation(parts), self.stiffness);
        let next = |old: f64, sum: f64, pressure: f64| {
            let resistance = parts as f64 * resistance(parts as f64, stiffness * pressure);
            ((1.0 - relaxation + resistance) * old + relaxation * sum) / (1.0 + resistance)
        };
        for ((weight, &sum), &pressure) in self.weights.iter_mut().zip(&sums.weights).zip(pressure) {
            *weight = next(f64::from(*weight), sum, f64::from(pressure)) as f32;
        }
        self.bias = next(self.bias, sums.bias, *bias_pressure);
    }
}

/// What the parts answered about a problem, added up in their order.
struct Sums {
    loss: f64,
    value: f64,
    curvature: f64,
    bias: f64,
    weights: Vec<f64>,
    passes: usize,
    supports: usize,
}

impl Sums {
    fn read(readers: &mut [Reader<'_>], number: usize, features: usize) -> Result<Self> {
        let (mut doubles, mut weights) = ([0.0; 4], vec![0.0f64; features]);
        let (mut passes, mut supports) = (0, 0);
        for reader in readers {
            if reader.number()? != number as u64 {
                return Err(damaged());
            }
            for sum in &mut doubles {
                *sum += reader.double()?;
            }
            passes = passes.max(reader.number()? as usize);
            supports += reader.number()? as usize;
            for (sum, weight) in weights.iter_mut().zip(reader.vector(features)?) {
                *sum += f64::from(weight);
            }
        }
        let [loss, value, curvature, bias] = doubles;
        Ok(Self { loss, value, curvature, bias, weights, passes, supports })
    }
}

/// How much the documents of all parts can press on the weights of a model, and on its bias.
fn pressures(readers: &mut [Reader<'_>], model: u32, features: usize) -> Result<(Vec<f32>, f64)> {
    let (mut sums, mut bias) = (vec![0.0f64; features], 0.0);
    for reader in readers {
        if reader.number()? != u64::from(model) {
            return Err(damaged());
        }
        bias += reader.double()?;
        for (sum, pressure) in sums.iter_mut().zip(reader.vector(features)?) {
            *sum += f64::from(pressure);
        }
    }
    Ok((sums.iter().map(|&sum| sum as f32).collect(), bias))
}

fn squared(bias: f64, weights: impl Iterator<Item = f64>) -> f64 {
    bias * bias + weights.map(|w| w * w).sum::<f64>()
}

/// Training in rounds.
#[derive(Debug, Clone)]
pub struct Rounds {
    plan: Plan,
    parts: usize,
    most: usize,
    round: usize,
    states: Vec<State>,
    /// For each model how much the documents of all parts can press on each weight, and on the bias; empty before the first round.
    pressures: Vec<(Vec<f32>, f64)>,
    sent: usize,
}

impl Rounds {
    /// Before the first round, on so many parts; given up after `most` rounds.
    pub fn new(plan: Plan, parts: usize, most: usize) -> Result<Self> {
        if parts == 0 || most == 0 {
            return Err(Error::invalid("parts", parts, "training needs a part and a round, or more"));
        }
        let state = State {
            weights: vec![0.0; plan.features],
            bias: 0.0,
            dual: 0.0,
            stiffness: 0.0,
            primal: 0.0,
            gap: f64::INFINITY,
            passes: 0,
            supports: 0,
            open: true,
        };
        let states = vec![state; plan.questions.len()];
        Ok(Self { plan, parts, most, round: 0, states, pressures: Vec::new(), sent: 0 })
    }

    /// Says how many parts there are, where it was not known before: some may turn out to be without documents.
    pub fn on_parts(&mut self, parts: usize) {
        self.parts = parts.max(1);
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether every problem is solved, or given up.
    pub fn is_done(&self) -> bool {
        self.round >= self.most || self.states.iter().all(|state| !state.open)
    }

    /// What the next round asks of every part.
    pub fn message(&mut self) -> Vec<u8> {
        let mut out = Writer::default();
        out.number(self.round as u64 + 1);
        out.number(self.parts as u64);
        let open = || self.states.iter().enumerate().filter(|(_, state)| state.open);
        let mut models: Vec<u32> = open().map(|(number, _)| self.plan.questions[number].model).collect();
        models.dedup();
        models.retain(|model| self.pressures.len() > *model as usize);
        out.number(models.len() as u64);
        for model in models {
            let (pressure, bias) = &self.pressures[model as usize];
            out.number(u64::from(model));
            out.double(*bias);
            out.vector(pressure);
        }
        for (number, state) in open() {
            out.number(number as u64);
            out.double(state.stiffness);
            out.double(FLOOR * self.plan.gap() * state.primal / self.parts as f64);
            out.double(state.bias);
            out.vector(&state.weights);
        }
        self.sent = out.0.len();
        out.0
    }

    /// Adds what the parts answered, in their order.
    pub fn add<B: AsRef<[u8]>>(&mut self, answers: &[B]) -> Result<RoundReport> {
        if answers.len() != self.parts {
            return Err(Error::data(format!("{} parts answered instead of {}", answers.len(), self.parts)));
        }
        let received = answers.iter().map(|answer| answer.as_ref().len()).sum();
        let mut readers: Vec<Reader<'_>> = answers.iter().map(|answer| Reader(answer.as_ref())).collect();
        let aim = self.plan.gap();
        self.round += 1;
        let (first, last) = (self.round == 1, self.round >= self.most);
        if first {
            self.pressures = vec![(Vec::new(), 0.0); self.plan.models.len()];
        }
        let (mut problems, mut worst) = (0, 0.0f64);
        let mut known = None;
        for (number, state) in self.states.iter_mut().enumerate().filter(|(_, state)| state.open) {
            let model = self.plan.questions[number].model;
            if first && known.replace(model) != Some(model) {
                self.pressures[model as usize] = pressures(&mut readers, model, self.plan.features)?;
            }
            let sums = Sums::read(&mut readers, number, self.plan.features)?;
            let square = squared(state.bias, state.weights.iter().map(|&w| f64::from(w)));
            state.primal = sums.loss + 0.5 * square;
            // The dual variables that the parts had before this round.
            state.gap = (state.primal - state.dual).max(0.0);
            if !(state.primal.is_finite() && state.gap.is_finite()) {
                return Err(damaged());
            }
            problems += 1;
            worst = worst.max(if state.primal > 0.0 { state.gap / state.primal } else { 0.0 });
            state.open = state.gap > aim * state.primal;
            state.passes += sums.passes;
            // What was just measured is what is kept; the answers of a last round are not needed any more.
            if state.open && !last {
                state.supports = sums.supports;
                state.dual = state.dual.max(sums.value - 0.5 * squared(sums.bias, sums.weights.iter().copied()));
                state.step(&sums, &self.pressures[model as usize], self.parts);
                if first && self.parts > 1 {
                    state.stiffness = sums.curvature / self.pressures[model as usize].1.max(1.0);
                }
            }
        }
        if readers.iter().any(|reader| !reader.is_empty()) {
            return Err(damaged());
        }
        let open = self.states.iter().filter(|state| state.open).count();
        Ok(RoundReport { round: self.round, problems, open, gap: worst, sent: self.sent, received })
    }

    /// The weights and the bias of a problem, as they are now.
    #[cfg(test)]
    pub(super) fn weights(&self, number: usize) -> (&[f32], f64) {
        (&self.states[number].weights, self.states[number].bias)
    }

    /// Forgets how hard documents press.
    #[cfg(test)]
    pub(super) fn slacken(&mut self) {
        self.states.iter_mut().for_each(|state| state.stiffness = 0.0);
    }

    /// How well the problems of a model are solved, as far as was measured.
    pub fn solutions(&self, model: usize) -> Vec<Solution> {
        let own = self.plan.questions.iter().zip(&self.states).filter(|(q, _)| q.model as usize == model);
        own.map(|(question, state)| Solution {
            label: question.label,
            against: None,
            primal: state.primal,
            gap: state.gap,
            iterations: state.passes,
            supports: state.supports,
            converged: !state.open,
        })
        .collect()
    }

    /// The machine of a model. `places` are the features of all models that it has, in its own order, `with` the labels that have documents;
    /// where one of two has no problem of its own, it has the other's, turned round.
    pub fn linear(&self, model: usize, places: &[u32], weighter: Weighter, with: &[u32]) -> Result<Linear> {
        let own: Vec<&State> = self
            .plan
            .questions
            .iter()
            .zip(&self.states)
            .filter(|(q, _)| q.model as usize == model)
            .map(|(_, s)| s)
            .collect();
        let mut weights = Csr::new(with.len());
        for &place in places {
            let row = with.iter().enumerate().map(|(output, _)| {
                let weight = match own.get(output) {
                    Some(state) => state.weights[place as usize],
                    None => -own[0].weights[place as usize],
                };
                (output as u32, weight)
            });
            weights.push_row(row.filter(|(_, weight)| *weight != 0.0));
        }
        let bias =
            (0..with.len()).map(|output| own.get(output).map_or_else(|| -own[0].bias, |state| state.bias)).collect();
        let outputs = match self.plan.classifier {
            ClassifierSpec::Logistic(_) => Outputs::Odds(with.to_vec()),
            _ => Outputs::Values(with.to_vec()),
        };
        Linear::from_parts(LinearParts {
            labels: self.plan.labels,
            weighter,
            outputs,
            weights: Weights::single(weights),
            bias,
            every: Vec::new(),
            common: Vec::new(),
        })
    }
}
