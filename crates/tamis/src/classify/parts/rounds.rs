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
    /// Of the features of its scope.
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
    fn step(&mut self, sums: &Sums, scope: &Scope, parts: usize) {
        let (relaxation, stiffness) = (relaxation(parts), self.stiffness);
        let next = |old: f64, sum: f64, pressure: f64| {
            let resistance = parts as f64 * resistance(parts as f64, stiffness * pressure);
            ((1.0 - relaxation + resistance) * old + relaxation * sum) / (1.0 + resistance)
        };
        for ((weight, &sum), &pressure) in self.weights.iter_mut().zip(&sums.weights).zip(&scope.pressure) {
            *weight = next(f64::from(*weight), sum, f64::from(pressure)) as f32;
        }
        self.bias = next(self.bias, sums.bias, scope.bias);
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
    fn read(readers: &mut [Reader<'_>], number: usize, places: &[u32], features: usize) -> Result<Self> {
        let (mut doubles, mut weights) = ([0.0; 4], vec![0.0f64; places.len()]);
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
            for (sum, weight) in weights.iter_mut().zip(reader.vector_at(places, features)?) {
                *sum += f64::from(weight);
            }
        }
        let [loss, value, curvature, bias] = doubles;
        Ok(Self { loss, value, curvature, bias, weights, passes, supports })
    }
}

/// What is known of the documents of some questions after the first round.
#[derive(Debug, Clone, Default)]
struct Scope {
    /// The features that some of them have, ascending: no other has a weight.
    places: Vec<u32>,
    /// How much the documents of all parts can press on the weight of each, and on the bias.
    pressure: Vec<f32>,
    bias: f64,
}

impl Scope {
    fn read(readers: &mut [Reader<'_>], number: u32, features: usize) -> Result<Self> {
        let (mut sums, mut bias) = (vec![0.0f64; features], 0.0);
        for reader in readers {
            if reader.number()? != u64::from(number) {
                return Err(damaged());
            }
            bias += reader.double()?;
            reader.vector(features, |feature, pressure| sums[feature as usize] += f64::from(pressure))?;
        }
        let set = sums.iter().zip(0..).map(|(&sum, place)| (place, sum as f32)).filter(|(_, sum)| *sum != 0.0);
        let (places, pressure) = set.unzip();
        Ok(Self { places, pressure, bias })
    }
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
    /// The scope of each question.
    scope_of: Vec<u32>,
    /// Scopes; empty before the first round.
    scopes: Vec<Scope>,
    sent: usize,
}

impl Rounds {
    /// Before the first round, on so many parts; given up after `most` rounds.
    pub fn new(plan: Plan, parts: usize, most: usize) -> Result<Self> {
        if parts == 0 || most == 0 {
            return Err(Error::invalid("parts", parts, "training needs a part and a round, or more"));
        }
        let state = State {
            weights: Vec::new(),
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
        let scope_of = plan.scopes();
        Ok(Self { plan, parts, most, round: 0, states, scope_of, scopes: Vec::new(), sent: 0 })
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
        let features = self.plan.features;
        let mut scopes: Vec<u32> = open().map(|(number, _)| self.scope_of[number]).collect();
        scopes.dedup();
        scopes.retain(|scope| self.scopes.len() > *scope as usize);
        out.number(scopes.len() as u64);
        for number in scopes {
            let Scope { places, pressure, bias } = &self.scopes[number as usize];
            out.number(u64::from(number));
            out.double(*bias);
            out.vector(places, pressure, features);
        }
        for (number, state) in open() {
            let places = self.scopes.get(self.scope_of[number] as usize).map_or(&[][..], |scope| &scope.places);
            out.number(number as u64);
            out.double(state.stiffness);
            out.double(FLOOR * self.plan.gap() * state.primal / self.parts as f64);
            out.double(state.bias);
            out.vector(places, &state.weights, features);
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
        let features = self.plan.features;
        let (mut problems, mut worst) = (0, 0.0f64);
        for (number, state) in self.states.iter_mut().enumerate().filter(|(_, state)| state.open) {
            let scope = self.scope_of[number];
            if first {
                // What is said of a scope comes before its first question.
                if self.scopes.len() == scope as usize {
                    self.scopes.push(Scope::read(&mut readers, scope, features)?);
                }
                state.weights = vec![0.0; self.scopes[scope as usize].places.len()];
            }
            let scope = &self.scopes[scope as usize];
            let sums = Sums::read(&mut readers, number, &scope.places, features)?;
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
                state.step(&sums, scope, self.parts);
                if first && self.parts > 1 {
                    state.stiffness = sums.curvature / scope.bias.max(1.0);
                }
            }
        }
        if readers.iter().any(|reader| !reader.is_empty()) {
            return Err(damaged());
        }
        let open = self.states.iter().filter(|state| state.open).count();
        Ok(RoundReport { round: self.round, problems, open, gap: worst, sent: self.sent, received })
    }

    /// The features with a weight in a problem, their weights, and the bias, as they are now.
    pub(crate) fn weights(&self, number: usize) -> (&[u32], &[f32], f64) {
        let places = self.scopes.get(self.scope_of[number] as usize).map_or(&[][..], |scope| &scope.places);
        (places, &self.states[number].weights, self.states[number].bias)
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
            label: question.of,
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
        let own: Vec<usize> =
            (0..self.states.len()).filter(|&number| self.plan.questions[number].model as usize == model).collect();
        let Some(&first) = own.first() else { return Err(damaged()) };
        let (known, _, _) = self.weights(first);
        let mut weights = Csr::new(with.len());
        for place in places {
            let at = known.binary_search(place).ok();
            let row = with.iter().enumerate().filter_map(|(output, _)| {
                let weight = match own.get(output) {
                    Some(&number) => self.states[number].weights[at?],
                    None => -self.states[first].weights[at?],
                };
                Some((output as u32, weight)).filter(|_| weight != 0.0)
            });
            weights.push_row(row);
        }
        let turned = -self.states[first].bias;
        let bias = (0..with.len()).map(|output| own.get(output).map_or(turned, |&n| self.states[n].bias)).collect();
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
