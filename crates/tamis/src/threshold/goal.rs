//! Thresholds that are good together: for all decisions in one pot, or for the pot and the mean of labels (method 9).

use rayon::prelude::*;

use super::curve::{Cut, cuts};
use super::held_out::Sample;
use crate::measure::Beta;

/// Labels with one threshold: a label, or all rare ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Unit {
    /// How many labels.
    pub(super) labels: u64,
    /// Documents that carry them, in all folds.
    pub(super) positives: u64,
    /// Their scores by fold.
    pub(super) folds: Vec<Sample>,
}

/// A threshold found for a unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Found {
    pub(super) threshold: f64,
    /// Whether nothing held out reaches it: giving the label at all would only have done harm.
    pub(super) silent: bool,
}

/// What a fold offers: the cuts worth taking, and what assigns nothing.
struct Offer {
    cuts: Vec<Cut>,
    positives: u64,
    nothing: Cut,
}

impl Offer {
    /// Only cuts just below a positive document are worth a look: every other one has a higher one with as many right and fewer
    /// wrong. So there are no more than positives.
    fn of(sample: &Sample) -> Option<Self> {
        let highest = sample.positives.iter().chain(&sample.negatives).copied().max_by(f32::total_cmp)?;
        let nothing = Cut { threshold: f64::from(highest).next_up(), right: 0, wrong: 0 };
        let mut right = 0;
        let mut worth = cuts(sample);
        worth.retain(|cut| std::mem::replace(&mut right, cut.right) < cut.right);
        Some(Self { cuts: worth, positives: sample.all_positives(), nothing })
    }

    /// The first cut from above with the largest value; nothing when no cut is better.
    fn best(&self, value: impl Fn(&Cut) -> f64) -> Cut {
        let (mut best, mut reached) = (self.nothing, value(&self.nothing));
        for cut in &self.cuts {
            let v = value(cut);
            if v > reached {
                (best, reached) = (*cut, v);
            }
        }
        best
    }
}

/// Right, wrong and carried by documents so far.
#[derive(Debug, Clone, Copy, Default)]
struct Pot {
    right: u64,
    wrong: u64,
    positives: u64,
}

impl Pot {
    fn add(&mut self, cut: &Cut, positives: u64) {
        self.right += cut.right;
        self.wrong += cut.wrong;
        self.positives += positives;
    }

    /// F_β; 0/0 = 0.
    fn f(&self, beta: Beta) -> f64 {
        let all = Cut { threshold: 0.0, right: self.right, wrong: self.wrong };
        all.f(self.positives, beta)
    }
}

/// The thresholds with the largest F_β of all decisions in one pot, and no others have a larger one.
///
/// F = (1+β²)·right / (β²·positives + right + wrong) is a quotient of sums over units, so `F ≥ λ` somewhere means that
/// `(1+β²−λ)·right − λ·wrong − λ·β²·positives ≥ 0` there; for a given λ every unit maximises its own part, and λ climbs to the F so
/// reached until it stays (Dinkelbach 1967). Cyclic optimisation (Fan & Lin 2007) climbs to a local optimum.
pub(super) fn micro(units: &[Unit], beta: Beta) -> Vec<Option<Found>> {
    let offers: Vec<Option<Offer>> = units
        .par_iter()
        .map(|unit| {
            let mut pooled = Sample::default();
            unit.folds.iter().for_each(|fold| pooled.append(fold.clone()));
            Offer::of(&pooled)
        })
        .collect();
    let b2 = beta.squared();
    let positives = units.iter().map(|unit| unit.positives).sum();
    let mut lambda = 0.0;
    loop {
        let worth = |cut: &Cut| (1.0 + b2 - lambda) * cut.right as f64 - lambda * cut.wrong as f64;
        let chosen: Vec<Option<Cut>> =
            offers.par_iter().map(|offer| offer.as_ref().map(|offer| offer.best(worth))).collect();
        let mut pot = Pot { positives, ..Pot::default() };
        chosen.iter().flatten().for_each(|cut| pot.add(cut, 0));
        let f = pot.f(beta);
        if f <= lambda {
            let found = |cut: Cut| Found { threshold: cut.threshold, silent: cut.right == 0 };
            return chosen.into_iter().map(|cut| cut.map(found)).collect();
        }
        lambda = f;
    }
}

/// Micro- and macro-averaged F_β together, as LibMultiLabel's `train_thresholding` has it (Lin & Lin 2023, section 4.3):
/// units by falling number of positives, of equals the last first; in each fold the threshold that maximises F of
/// the pot (the fold, and what all folds of earlier units chose) plus the unit's share of the mean; of these the mean.
pub(super) fn both(units: &[Unit], beta: Beta) -> Vec<Option<Found>> {
    let offers: Vec<Vec<Offer>> =
        units.par_iter().map(|unit| unit.folds.iter().filter_map(Offer::of).collect()).collect();
    let mut order: Vec<usize> = (0..units.len()).collect();
    order.sort_by_key(|&unit| std::cmp::Reverse((units[unit].positives, unit)));
    let mut found = vec![None; units.len()];
    let (mut pot, mut labels) = (Pot::default(), 0u64);
    for unit in order {
        labels += units[unit].labels;
        let share = units[unit].labels as f64 / labels as f64;
        let mut chosen = pot;
        let mut sum = 0.0;
        let mut silent = true;
        for offer in &offers[unit] {
            let cut = offer.best(|cut| {
                let mut all = pot;
                all.add(cut, offer.positives);
                all.f(beta) + cut.f(offer.positives, beta) * share
            });
            chosen.add(&cut, offer.positives);
            sum += cut.threshold;
            silent &= cut.right == 0;
        }
        pot = chosen;
        let folds = offers[unit].len() as f64;
        found[unit] = (folds > 0.0).then(|| Found { threshold: sum / folds, silent });
    }
    found
}
