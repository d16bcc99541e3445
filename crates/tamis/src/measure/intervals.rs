//! How far a number can be trusted: bootstrap intervals over documents, and two evaluations of the same documents
//! compared. Everything follows from the seed, with any number of threads: each replicate has its own random stream.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::assignment::{Decision, Tally};
use super::evaluation::{Evaluation, Kept};
use super::names::{Average, Measure};
use super::significance::{SignTest, quantile, sign_test, stream};
use super::totals::{Layout, Totals, of_event};
use crate::{Error, Result};

/// How documents are drawn again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resampling {
    /// How many times.
    pub replicates: u32,
    /// Coverage of the interval, such as 0.95.
    pub level: f64,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for Resampling {
    fn default() -> Self {
        Self { replicates: 1000, level: 0.95, seed: 1 }
    }
}

impl Resampling {
    pub(crate) fn check(&self) -> Result<()> {
        if self.replicates == 0 {
            return Err(Error::invalid("replicates", self.replicates, "must be at least 1"));
        }
        if !(self.level > 0.0 && self.level < 1.0) {
            return Err(Error::invalid("level", self.level, "must be between 0 and 1"));
        }
        Ok(())
    }

    /// The percentile interval of the replicates, and their standard deviation. Sorts.
    pub(super) fn interval(&self, replicates: &mut [f64]) -> (f64, f64, f64) {
        replicates.sort_unstable_by(f64::total_cmp);
        let tail = (1.0 - self.level) / 2.0;
        let n = replicates.len() as f64;
        let mean = replicates.iter().sum::<f64>() / n;
        let variance = replicates.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        (quantile(replicates, tail), quantile(replicates, 1.0 - tail), variance.sqrt())
    }
}

/// A measure with its percentile bootstrap interval (Efron & Tibshirani 1993, chapter 13); of means over labels smoothed and centred
/// (method 8).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The measure.
    pub measure: Measure,
    /// Its value on the documents as they are.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Standard deviation over the replicates.
    pub standard_error: f64,
}

/// Two evaluations of the same documents, by one measure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The measure.
    pub measure: Measure,
    /// Value of the first.
    pub a: f64,
    /// Value of the second.
    pub b: f64,
    /// `a − b`.
    pub difference: f64,
    /// Lower end of the paired bootstrap interval of the difference.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Two-sided p of the paired bootstrap: how often the difference, shifted to mean 0, is as large as the one seen.
    pub bootstrap_p: f64,
    /// Two-sided p of the randomisation test: how often the difference is as large when each document's two results
    /// change sides at random.
    pub randomisation_p: f64,
    /// Sign test over documents: wins of the first, in the sense of the measure; only for means over documents.
    pub sign: Option<SignTest>,
}

/// Draws `n` documents with replacement: how often each was drawn.
fn draw(n: usize, seed: u64, replicate: u64, times: &mut Vec<u32>) {
    times.clear();
    times.resize(n, 0);
    let mut rng = stream(seed, replicate);
    for _ in 0..n {
        times[rng.random_range(0..n as u32) as usize] += 1;
    }
}

fn add_drawn(totals: &mut Totals, layout: &Layout, kept: &Kept, times: &[u32]) {
    totals.clear();
    let width = layout.document_wise.len();
    for (document, &n) in times.iter().enumerate() {
        if n > 0 {
            totals.add(layout, kept.record(document, width), u64::from(n));
        }
    }
}

fn all_values(totals: &Totals, layout: &Layout, whole: &Totals, smoothing: &[Tally]) -> Vec<Option<f64>> {
    layout.measures.iter().map(|&m| totals.value_of_draw(layout, m, whole, smoothing).value).collect()
}

/// Decisions that are added to each label of a replicate, so that means over labels vary as they would from test part to test part.
///
/// A label without a document in the test part has none in any replicate, and one with a single document is found in all or
/// none, so replicates vary too little: with 90 labels of which most are rare, percentile intervals of macro-F1 held the mean of
/// all test parts in 72 of 100 simulated cases. So each label gets Poisson(½) true documents more, found as often as those of
/// all labels and with as many false ones (an empirical prior that weighs half a document); the same cases are then held in 95
/// (method 8).
struct Smoothing {
    found: f64,
    missed: f64,
    wrong: f64,
}

/// Documents added to a label, on average.
const HALF: f64 = 0.5;

impl Smoothing {
    /// None where no measure is a mean over labels.
    fn of(layout: &Layout, whole: &Totals) -> Option<Self> {
        layout.measures.iter().any(|&m| is_over_labels(m)).then(|| {
            let all = whole.micro();
            let share = |part: u64| if all.support() == 0 { 0.0 } else { HALF * part as f64 / all.support() as f64 };
            Self { found: share(all.right), missed: share(all.missed), wrong: share(all.wrong) }
        })
    }

    fn draw(&self, labels: usize, rng: &mut ChaCha8Rng, tallies: &mut Vec<Tally>) {
        tallies.clear();
        tallies.extend((0..labels).map(|_| Tally {
            right: poisson(self.found, rng),
            wrong: poisson(self.wrong, rng),
            missed: poisson(self.missed, rng),
        }));
    }
}

/// A mean over labels.
fn is_over_labels(measure: Measure) -> bool {
    matches!(measure.average(), Some(Average::Macro | Average::Present))
}

/// A Poisson number (Knuth's product of uniform numbers; means are small here).
fn poisson(mean: f64, rng: &mut ChaCha8Rng) -> u64 {
    let (bound, mut product, mut n) = ((-mean.min(20.0)).exp(), rng.random::<f64>(), 0);
    while product > bound {
        product *= rng.random::<f64>();
        n += 1;
    }
    n
}

/// The replicates' values of one measure, without those where it does not apply.
fn column(rows: &[Vec<Option<f64>>], measure: usize) -> Vec<f64> {
    rows.iter().filter_map(|row| row[measure]).collect()
}

impl Evaluation {
    /// Bootstrap intervals of all measures that have a value. Needs kept documents.
    pub fn intervals(&self, resampling: &Resampling) -> Result<Vec<Interval>> {
        resampling.check()?;
        let kept = self.kept()?;
        let layout = &self.layout;
        let smoothing = Smoothing::of(layout, &self.totals);
        let rows: Vec<Vec<Option<f64>>> = (0..u64::from(resampling.replicates))
            .into_par_iter()
            .map_init(
                || (Totals::new(layout), Vec::new(), Vec::new()),
                |(totals, times, more), replicate| {
                    draw(kept.len(), resampling.seed, replicate, times);
                    add_drawn(totals, layout, kept, times);
                    if let Some(smoothing) = &smoothing {
                        // Streams of their own, so that other measures stay as they are without it.
                        smoothing.draw(layout.labels, &mut stream(resampling.seed, replicate | 1 << 62), more);
                    }
                    all_values(totals, layout, &self.totals, more)
                },
            )
            .collect();
        let mut intervals = Vec::new();
        for (i, measured) in self.values().into_iter().enumerate() {
            let mut replicates = column(&rows, i);
            if let Some(value) = measured.value
                && !replicates.is_empty()
            {
                let (mut low, mut high, standard_error) = resampling.interval(&mut replicates);
                if is_over_labels(measured.measure) {
                    // Replicates have fewer of the rare labels than the whole, and smoothing adds some: only their spread is of use.
                    let shift = value - replicates.iter().sum::<f64>() / replicates.len() as f64;
                    (low, high) = ((low + shift).clamp(0.0, 1.0), (high + shift).clamp(0.0, 1.0));
                }
                intervals.push(Interval { measure: measured.measure, value, low, high, standard_error });
            }
        }
        Ok(intervals)
    }

    /// Compares with another evaluation of the same documents in the same order, by every measure both have a value
    /// for. Needs kept documents.
    pub fn compare(&self, other: &Self, resampling: &Resampling) -> Result<Vec<Comparison>> {
        resampling.check()?;
        let (kept_a, kept_b) = (self.kept()?, other.kept()?);
        if self.layout.measures != other.layout.measures {
            return Err(Error::data("evaluations of different measures cannot be compared"));
        }
        same_truth(self, other)?;
        let (layout_a, layout_b) = (&self.layout, &other.layout);
        let (width_a, width_b) = (layout_a.document_wise.len(), layout_b.document_wise.len());
        let differences = |a: &Totals, b: &Totals| -> Vec<Option<f64>> {
            let (a, b) = (all_values(a, layout_a, &self.totals, &[]), all_values(b, layout_b, &other.totals, &[]));
            a.into_iter().zip(b).map(|(a, b)| Some(a? - b?)).collect()
        };
        let memory = || (Totals::new(layout_a), Totals::new(layout_b), Vec::new());
        let drawn: Vec<_> = (0..u64::from(resampling.replicates))
            .into_par_iter()
            .map_init(memory, |(a, b, times), replicate| {
                draw(kept_a.len(), resampling.seed, replicate, times);
                add_drawn(a, layout_a, kept_a, times);
                add_drawn(b, layout_b, kept_b, times);
                differences(a, b)
            })
            .collect();
        // Streams from 2⁶³ on, so that coins and draws never share one.
        let swapped: Vec<_> = (0..u64::from(resampling.replicates))
            .into_par_iter()
            .map_init(memory, |(a, b, _), replicate| {
                a.clear();
                b.clear();
                let mut rng = stream(resampling.seed, replicate | 1 << 63);
                for document in 0..kept_a.len() {
                    let (of_a, of_b) = (kept_a.record(document, width_a), kept_b.record(document, width_b));
                    let (to_a, to_b) = if rng.random::<bool>() { (of_b, of_a) } else { (of_a, of_b) };
                    a.add(layout_a, to_a, 1);
                    b.add(layout_b, to_b, 1);
                }
                differences(a, b)
            })
            .collect();

        let mut comparisons = Vec::new();
        for (i, (a, b)) in self.values().into_iter().zip(other.values()).enumerate() {
            let mut replicates = column(&drawn, i);
            let (Some(value_a), Some(value_b), false) = (a.value, b.value, replicates.is_empty()) else { continue };
            let difference = value_a - value_b;
            let (low, high, _) = resampling.interval(&mut replicates);
            let shifted = replicates.iter().map(|d| d - difference);
            let sign = match (self.per_document(a.measure), other.per_document(a.measure)) {
                (Ok(a_values), Ok(b_values)) => Some(sign_over_documents(a.measure, &a_values, &b_values)),
                _ => None,
            };
            comparisons.push(Comparison {
                measure: a.measure,
                a: value_a,
                b: value_b,
                difference,
                low,
                high,
                bootstrap_p: share_as_large(shifted, difference),
                randomisation_p: share_as_large(column(&swapped, i).into_iter(), difference),
                sign,
            });
        }
        Ok(comparisons)
    }
}

/// `(1 + #{|d*| ≥ |d|}) / (1 + #)`, never 0. A hair of tolerance keeps equal differences equal after rounding.
pub(super) fn share_as_large(differences: impl Iterator<Item = f64>, seen: f64) -> f64 {
    let bound = seen.abs() * (1.0 - 1e-12);
    let (mut all, mut as_large) = (1u64, 1u64);
    for d in differences {
        all += 1;
        as_large += u64::from(d.abs() >= bound);
    }
    as_large as f64 / all as f64
}

fn sign_over_documents(measure: Measure, a: &[Option<f64>], b: &[Option<f64>]) -> SignTest {
    let (mut wins, mut losses, mut ties) = (0, 0, 0);
    for (a, b) in a.iter().zip(b).filter_map(|(a, b)| Some(((*a)?, (*b)?))) {
        if a == b {
            ties += 1;
        } else if (a > b) == measure.higher_is_better() {
            wins += 1;
        } else {
            losses += 1;
        }
    }
    SignTest { ties, ..sign_test(wins, losses) }
}

/// Both must have judged the same documents: as many, with the same true labels.
fn same_truth(a: &Evaluation, b: &Evaluation) -> Result<()> {
    let (kept_a, kept_b) = (a.kept()?, b.kept()?);
    if kept_a.len() != kept_b.len() {
        let (n, m) = (kept_a.len(), kept_b.len());
        return Err(Error::data(format!("{n} documents cannot be compared with {m}: judge both on the same ones")));
    }
    let truth = |evaluation: &Evaluation, kept: &Kept, document| -> Vec<u32> {
        let record = kept.record(document, evaluation.layout.document_wise.len());
        let decisions = record.events.iter().map(|&e| of_event(e));
        decisions.filter(|(_, decision)| *decision != Decision::Wrong).map(|(label, _)| label).collect()
    };
    match (0..kept_a.len()).find(|&d| truth(a, kept_a, d) != truth(b, kept_b, d)) {
        Some(d) => Err(Error::data(format!("document {} has other true labels in the second evaluation", d + 1))),
        None => Ok(()),
    }
}
