//! The pseudo-code of addis 3.2 word for word, brute force, and score tables to run them on. Slow and obvious on purpose.
#![allow(dead_code, unreachable_pub)]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tamis::hierarchy::pipeline::{ScoreTable, Utility};

#[derive(Clone, Copy, PartialEq)]
pub enum Dir {
    Up,
    Down,
}

/// The structure `p` of the pseudo-code; thresholds are `i·δ` (method 10).
pub struct Pipeline<'a> {
    pub table: &'a ScoreTable,
    pub utility: Utility,
    pub delta: f64,
    pub factor: f64,
    pub i: Vec<i64>,
    pub evaluations: u64,
}

impl Pipeline<'_> {
    fn threshold(&self, level: usize) -> f64 {
        self.i[level] as f64 * self.delta
    }

    pub fn thresholds(&self) -> Vec<f64> {
        (0..self.i.len()).map(|k| self.threshold(k)).collect()
    }

    fn utility_function(&mut self) -> f64 {
        self.evaluations += 1;
        utility_of(self.table, self.utility, &self.thresholds())
    }

    fn repair(&mut self, dir: Dir, level: usize) {
        let delta = if dir == Dir::Up { 1 } else { -1 };
        let mut best_threshold = self.i[level];
        let mut max_uf = self.utility_function();
        let mut uf = max_uf;
        while uf >= max_uf * self.factor {
            self.i[level] += delta;
            if self.threshold(level) < 0.0 || self.threshold(level) > 1.0 {
                break;
            }
            uf = self.utility_function();
            if uf < max_uf {
                continue;
            }
            max_uf = uf;
            best_threshold = self.i[level];
        }
        self.i[level] = best_threshold;
    }

    fn calibrate(&mut self, dir: Dir, level: usize) {
        self.repair(dir, level);
        if level + 1 < self.i.len() {
            self.calibrate(if dir == Dir::Up { Dir::Down } else { Dir::Up }, level + 1);
        }
    }
}

/// Counts with one look at each document, leaving it at the first level that rejects.
pub fn utility_of(table: &ScoreTable, utility: Utility, thresholds: &[f64]) -> f64 {
    let (mut tp, mut fp, mut missed) = (0u32, 0u32, 0u32);
    let columns: Vec<&[f64]> = (0..table.depth()).map(|k| table.level(k)).collect();
    for document in 0..table.documents() {
        let accepted = columns.iter().zip(thresholds).all(|(column, threshold)| column[document] >= *threshold);
        match (accepted, table.truth()[document]) {
            (true, true) => tp += 1,
            (true, false) => fp += 1,
            (false, true) => missed += 1,
            (false, false) => {}
        }
    }
    utility.value(f64::from(tp), f64::from(fp) * table.negative_weight(), f64::from(missed))
}

pub fn tsa(table: &ScoreTable, utility: Utility, delta: f64, factor: f64) -> (Vec<f64>, f64, u64) {
    let mut p = Pipeline { table, utility, delta, factor, i: vec![0; table.depth()], evaluations: 0 };
    for k in (0..table.depth()).rev() {
        p.calibrate(Dir::Up, k);
    }
    let thresholds = p.thresholds();
    let value = utility_of(table, utility, &thresholds);
    (thresholds, value, p.evaluations)
}

/// The first best of all combinations, in lexicographic order; candidates by level.
pub fn enumerate(table: &ScoreTable, utility: Utility, candidates: &[Vec<f64>]) -> (Vec<f64>, f64, u64) {
    let mut at = vec![0usize; candidates.len()];
    let mut best = (Vec::new(), -1.0);
    let mut evaluations = 0;
    loop {
        let thresholds: Vec<f64> = at.iter().zip(candidates).map(|(&i, c)| c[i]).collect();
        let value = utility_of(table, utility, &thresholds);
        evaluations += 1;
        if value > best.1 {
            best = (thresholds, value);
        }
        let Some(level) = (0..at.len()).rev().find(|&k| at[k] + 1 < candidates[k].len()) else {
            return (best.0, best.1, evaluations);
        };
        at[level] += 1;
        at[level + 1..].fill(0);
    }
}

pub fn rbf(table: &ScoreTable, utility: Utility, delta: f64) -> (Vec<f64>, f64, u64) {
    let mut grid = vec![0.0];
    while grid.len() as f64 * delta <= 1.0 {
        grid.push(grid.len() as f64 * delta);
    }
    enumerate(table, utility, &vec![grid; table.depth()])
}

/// The best over all real thresholds: every document's own score, and one above all of them, at each level.
pub fn best_of_all(table: &ScoreTable, utility: Utility) -> f64 {
    let candidates: Vec<Vec<f64>> = (0..table.depth())
        .map(|k| {
            let mut values = table.level(k).to_vec();
            values.extend([0.0, 2.0]);
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        })
        .collect();
    enumerate(table, utility, &candidates).1
}

/// How the scores of a generated table look.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub depth: usize,
    pub positives: usize,
    pub negatives: usize,
    /// 0: scores say nothing; 3: classes hardly overlap.
    pub separation: f64,
    /// Scores are means of this many votes (weighted kNN), so they crowd on a few values; 0 for smooth scores.
    pub votes: u32,
}

/// A pipeline's scores as progressive filtering gives them: a negative belongs to some of the upper nodes and fails from
/// one level on; a document's difficulty is shared by its levels, which correlates them.
pub fn generate(shape: Shape, seed: u64) -> ScoreTable {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = {
        let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0x5eed);
        move || {
            let (u, v): (f64, f64) = (random.random(), random.random());
            (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
        }
    };
    let rows: Vec<(Vec<f64>, bool)> = (0..shape.positives + shape.negatives)
        .map(|d| {
            let truth = d < shape.positives;
            let within = if truth { shape.depth } else { random.random_range(0..shape.depth) };
            let difficulty = normal();
            let scores = (0..shape.depth)
                .map(|k| {
                    let side = if k < within { 0.5 } else { -0.5 } * shape.separation;
                    let latent = side + 0.6 * difficulty + 0.8 * normal();
                    let p = 1.0 / (1.0 + (-1.7 * latent).exp());
                    if shape.votes == 0 {
                        return p;
                    }
                    // Votes of neighbours, weighted by similarities that differ a little unless all agree.
                    let (mut yes, mut all) = (0.0, 0.0);
                    for _ in 0..shape.votes {
                        let similarity = if random.random::<f64>() < 0.5 { 1.0 } else { random.random_range(0.5..1.0) };
                        all += similarity;
                        yes += if random.random::<f64>() < p { similarity } else { 0.0 };
                    }
                    f64::min(yes / all, 1.0)
                })
                .collect();
            (scores, truth)
        })
        .collect();
    ScoreTable::from_rows(&rows).unwrap()
}
