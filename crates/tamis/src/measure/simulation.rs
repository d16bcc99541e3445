//! The Monte Carlo study of olsson section 2: does thresholding hide differences between ranked lists?
//!
//! Two classifiers rank the labels of the same simulated documents, many sets of them. `MAP`, `RPrec` and micro-averaged
//! `F1` judge both; `F1` takes the top n labels of every document, n being the one that maximises it on the set itself
//! (method 9). The result is the squared correlation of the measures over sets, and how often two measures disagree
//! about which classifier is better.
//!
//! **The generator is ours**: the paper says only that lists were "stochastically generated". A false label scores
//! standard logistic noise; a true one the same noise plus a shift, the quality of the classifier on that document:
//! `quality` + a normal draw for the set (`set_spread`, shared by both classifiers), one for the classifier (`gap`) and one
//! for the document and classifier (`document_spread`). A ranked list does not change under a monotone transformation
//! of its scores, so false labels may as well score uniformly between 0 and 1 and a true one `v·eˢ / (1 − v + v·eˢ)` with uniform
//! `v` and shift `s`: no quantile function, and false labels need one random integer each.
//!
//! By default both classifiers are equally good (`gap` 0): what the paper fears is that small differences drown, and its
//! shares of reversals (0.194, 0.314, 0.352) are near those of two equal classifiers; with a `gap`, all measures see the
//! same large difference and reversals vanish. Seen over 2,000 sets: 0.18, 0.27, 0.30 at quality 2, 0.16, 0.24, 0.28 at 3.5;
//! the order of the three pairs was the paper's at every quality from 1.5 to 4 and every spread tried. `set_spread` moves
//! both classifiers and so raises r² (0.72, 0.48, 0.38 at 0; 0.81, 0.74, 0.62 at the default) but not reversals.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::correlation::{Reversals, r_squared_matrix, reversals};
use super::ranking::{average_precision_of_places, r_precision_of_places};
use super::significance::stream;
use crate::{Error, Progress, Result};

/// What is simulated. The numbers of sets, documents and labels are the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SimulationOptions {
    /// Sets of documents.
    pub sets: u32,
    /// Documents in a set.
    pub documents: u32,
    /// Labels in all.
    pub labels: u32,
    /// Fewest true labels of a document.
    pub min_true: u32,
    /// Most true labels of a document; numbers between are equally likely.
    pub max_true: u32,
    /// Mean shift of a true label's score, in units of logistic noise.
    pub quality: f64,
    /// Standard deviation of the shift between sets; the same for both classifiers.
    pub set_spread: f64,
    /// Standard deviation of the shift between classifiers on a set.
    pub gap: f64,
    /// Standard deviation of the shift between documents.
    pub document_spread: f64,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for SimulationOptions {
    fn default() -> Self {
        Self {
            sets: 500,
            documents: 1000,
            labels: 100,
            min_true: 1,
            max_true: 5,
            quality: 2.0,
            set_spread: 0.05,
            gap: 0.0,
            document_spread: 0.0,
            seed: 1,
        }
    }
}

impl SimulationOptions {
    pub(crate) fn check(&self) -> Result<()> {
        let at_least_one = [("sets", self.sets), ("documents", self.documents), ("min_true", self.min_true)];
        for (option, value) in at_least_one {
            if value == 0 {
                return Err(Error::invalid(option, value, "must be at least 1"));
            }
        }
        if self.max_true < self.min_true {
            return Err(Error::invalid(
                "max_true",
                self.max_true,
                format!("is less than min_true = {}", self.min_true),
            ));
        }
        if self.labels < self.max_true {
            return Err(Error::invalid("labels", self.labels, format!("is less than max_true = {}", self.max_true)));
        }
        if !self.quality.is_finite() || self.quality.abs() > 500.0 {
            return Err(Error::invalid("quality", self.quality, "must be between -500 and 500"));
        }
        let spreads = [("set_spread", self.set_spread), ("gap", self.gap), ("document_spread", self.document_spread)];
        for (option, value) in spreads {
            if !(0.0..=20.0).contains(&value) {
                return Err(Error::invalid(option, value, "must be between 0 and 20"));
            }
        }
        Ok(())
    }
}

/// The measures, in the order of all tables here.
pub const MEASURES: [&str; 3] = ["MAP", "RPrec", "F1@micro"];

/// The pairs of measures, in the paper's order, with the share of reversals it prints (olsson table 1).
pub const PAPER_REVERSALS: [(&str, &str, f64); 3] =
    [("MAP", "RPrec", 0.194), ("MAP", "F1@micro", 0.314), ("RPrec", "F1@micro", 0.352)];

/// One classifier on one simulated set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// `MAP`.
    pub map: f64,
    /// `RPrec`.
    pub rprec: f64,
    /// The largest micro-averaged F1 over all n.
    pub f1: f64,
    /// The n that reaches it; the smallest one when several do.
    pub n: u32,
}

impl Judged {
    /// In the order of [`MEASURES`].
    fn values(&self) -> [f64; 3] {
        [self.map, self.rprec, self.f1]
    }
}

/// The result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Simulation {
    /// What was simulated.
    pub options: SimulationOptions,
    /// Both classifiers on every set: the points of olsson figure 1.
    pub sets: Vec<[Judged; 2]>,
    /// r² of the first classifier's values over sets, by [`MEASURES`].
    pub r_squared: Vec<Vec<f64>>,
    /// Reversals of the pairs of [`PAPER_REVERSALS`].
    pub reversals: [Reversals; 3],
}

/// Runs the simulation. Sets are independent random streams of the seed, so threads do not matter.
pub fn simulate(options: &SimulationOptions, progress: &dyn Progress) -> Result<Simulation> {
    options.check()?;
    progress.start("simulating sets", Some(u64::from(options.sets)));
    let sets: Vec<[Judged; 2]> = (0..u64::from(options.sets))
        .into_par_iter()
        .map(|set| {
            if progress.cancelled() {
                return Err(Error::Interrupted);
            }
            let judged = simulate_set(options, &mut stream(options.seed, set));
            progress.add(1);
            Ok(judged)
        })
        .collect::<Result<_>>()?;
    progress.finish();

    let series = |of: &dyn Fn(&[Judged; 2]) -> [f64; 3]| -> Vec<Vec<f64>> {
        (0..MEASURES.len()).map(|m| sets.iter().map(|set| of(set)[m]).collect()).collect()
    };
    let first = series(&|set| set[0].values());
    let differences = series(&|[a, b]| std::array::from_fn(|m| a.values()[m] - b.values()[m]));
    let pair = |x: usize, y: usize| reversals(&differences[x], &differences[y]);
    Ok(Simulation {
        options: *options,
        r_squared: r_squared_matrix(&first),
        reversals: [pair(0, 1), pair(0, 2), pair(1, 2)],
        sets,
    })
}

fn simulate_set(options: &SimulationOptions, rng: &mut ChaCha8Rng) -> [Judged; 2] {
    let shared = options.quality + options.set_spread * normal(rng);
    let true_labels: Vec<u32> =
        (0..options.documents).map(|_| rng.random_range(options.min_true..=options.max_true)).collect();
    std::array::from_fn(|_| {
        let quality = shared + options.gap * normal(rng);
        judge_set(options, &true_labels, quality, rng)
    })
}

/// Ranks and judges all documents of a set by one classifier.
fn judge_set(options: &SimulationOptions, true_labels: &[u32], quality: f64, rng: &mut ChaCha8Rng) -> Judged {
    let labels = options.labels as usize;
    // True labels found at each place; F1 of any n follows from them.
    let mut hits_at = vec![0u64; labels + 1];
    let (mut map, mut rprec) = (0.0, 0.0);
    let mut scores: Vec<u32> = Vec::new();
    let mut places: Vec<u32> = Vec::new();
    let mut false_scores = vec![0u32; labels];
    for &r in true_labels {
        let odds = if options.document_spread > 0.0 {
            (quality + options.document_spread * normal(rng)).exp()
        } else {
            quality.exp()
        };
        scores.clear();
        scores.extend((0..r).map(|_| {
            let v: f64 = rng.random();
            // Odds beyond the range of f64 make the label as good as it can be.
            let score = if odds.is_finite() { v * odds / (1.0 - v + v * odds) } else { 1.0 };
            (score * (1u64 << 32) as f64) as u32
        }));
        scores.sort_unstable_by(|a, b| b.cmp(a));
        // A true label's place: true labels above it, false labels above it, itself.
        places.clear();
        places.extend(1..=r);
        // Drawn first and compared label by label: both loops are straight runs over memory.
        let others = &mut false_scores[r as usize..];
        rng.fill(others);
        for (place, &own) in places.iter_mut().zip(&scores) {
            *place += others.iter().map(|&score| u32::from(score > own)).sum::<u32>();
        }
        for &place in &places {
            hits_at[place as usize] += 1;
        }
        map += average_precision_of_places(&places, r as usize);
        rprec += r_precision_of_places(&places, r as usize);
    }
    let documents = true_labels.len() as f64;
    let all_true: u64 = true_labels.iter().map(|&r| u64::from(r)).sum();
    let (mut f1, mut best_n, mut hits) = (0.0, 0, 0);
    for (n, &more) in hits_at.iter().enumerate().skip(1) {
        hits += more;
        let f = 2.0 * hits as f64 / (n as f64 * documents + all_true as f64);
        if f > f1 {
            (f1, best_n) = (f, n as u32);
        }
    }
    Judged { map: map / documents, rprec: rprec / documents, f1, n: best_n }
}

/// A standard normal number (Box & Muller 1958).
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (rng.random(), rng.random());
    // 1 − u is in (0, 1], so the logarithm is finite.
    (-2.0 * (1.0 - u).ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;

    fn small() -> SimulationOptions {
        SimulationOptions { sets: 40, documents: 200, ..SimulationOptions::default() }
    }

    #[test]
    fn same_seed_same_numbers_with_any_threads() {
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let three = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let a = one.install(|| simulate(&small(), &Silent)).unwrap();
        let b = three.install(|| simulate(&small(), &Silent)).unwrap();
        assert_eq!(a, b);
        let other = simulate(&SimulationOptions { seed: 2, ..small() }, &Silent).unwrap();
        assert_ne!(a.sets, other.sets);
    }

    #[test]
    fn quality_decides() {
        let at = |quality| {
            let run = simulate(&SimulationOptions { quality, ..small() }, &Silent).unwrap();
            run.sets.iter().map(|s| s[0].map).sum::<f64>() / run.sets.len() as f64
        };
        let (chance, good, perfect) = (at(0.0), at(4.0), at(300.0));
        assert!(chance < 0.12, "{chance}");
        assert!(good > 0.4 && good < 0.8, "{good}");
        assert!((perfect - 1.0).abs() < 1e-12, "{perfect}");
    }

    /// At quality 0 all labels are alike: expected RPrec is the mean of R/labels.
    #[test]
    fn chance_is_chance() {
        let options = SimulationOptions { quality: 0.0, set_spread: 0.0, sets: 20, ..SimulationOptions::default() };
        let run = simulate(&options, &Silent).unwrap();
        let mean = run.sets.iter().flatten().map(|j| j.rprec).sum::<f64>() / 40.0;
        assert!((mean - 0.03).abs() < 0.002, "{mean}");
    }

    #[test]
    fn a_large_gap_leaves_nothing_to_reverse() {
        let run = simulate(&SimulationOptions { gap: 3.0, ..small() }, &Silent).unwrap();
        assert!(run.reversals.iter().all(|r| r.share() < 0.1), "{:?}", run.reversals);
    }

    /// The paper's finding: the two ranked measures contradict each other least (0.194 against 0.314 and 0.352), and
    /// correlate most.
    #[test]
    fn ranked_measures_agree_most() {
        let run = simulate(&SimulationOptions::default(), &Silent).unwrap();
        let [ranked, map_f1, rprec_f1] = run.reversals.map(|r| r.share());
        assert!(ranked + 0.03 < map_f1 && map_f1 < rprec_f1, "{ranked} {map_f1} {rprec_f1}");
        for ((_, _, paper), ours) in PAPER_REVERSALS.iter().zip([ranked, map_f1, rprec_f1]) {
            assert!((paper - ours).abs() < 0.08, "{ours}, paper {paper}");
        }
        let r2 = &run.r_squared;
        assert!(r2[0][1] > r2[0][2] && r2[0][1] > r2[1][2], "{r2:?}");
    }

    #[test]
    fn bad_options() {
        let bad = |change: fn(&mut SimulationOptions)| {
            let mut options = small();
            change(&mut options);
            assert!(matches!(simulate(&options, &Silent), Err(Error::Invalid { .. })));
        };
        bad(|o| o.sets = 0);
        bad(|o| o.min_true = 0);
        bad(|o| o.max_true = 0);
        bad(|o| o.labels = 4);
        bad(|o| o.quality = f64::NAN);
        bad(|o| o.gap = -1.0);
    }
}
