//! Logistic regression on one part of all documents, while others have theirs: the local problem of
//! [`parts::local`](crate::classify::parts), in the primal.
//!
//! With `u = w + R^(−½)·s` it is what Newton's method solves already, for documents that have values before and weights that are pulled. The
//! dual variables are those that belong to `u`, so a part need not keep a number for each document and label.

use super::LogisticOptions;
use super::lanes::{Block, Design, LANES, Lanes, ZERO, sum};
use super::loss::Targets;
use super::newton::{Aim, Newton, Outside, Part};
use crate::classify::parts::{Ask, Done, Local};
use crate::classify::rows::Rows;
use crate::counts::Csr;
use crate::{Progress, Result};

/// A part has done enough when the gap of its problem is this share of what it was. Newton's method is there in a step or two more, and what it leaves is in
/// every direction, those too in which all parts must agree: at a hundredth, four parts took 13 to 23 rounds instead of 5.
const SHARE: f64 = 1e-5;

/// Logistic regression on the rows of a part.
pub(in crate::classify) struct PartLogistic<'a> {
    options: &'a LogisticOptions,
    design: Design<'a>,
    members: &'a Csr<()>,
}

impl<'a> PartLogistic<'a> {
    /// `members` are labels × rows.
    pub(in crate::classify) fn new(options: &'a LogisticOptions, rows: &'a Rows, members: &'a Csr<()>) -> Self {
        Self { options, design: Design::new(rows), members }
    }
}

impl Local for PartLogistic<'_> {
    const TOGETHER: usize = LANES;

    fn solve(&mut self, asks: &[Ask], progress: &dyn Progress) -> Result<Vec<Done>> {
        let design = &self.design;
        let (n, places) = (design.rows.len(), design.places());
        let mut targets = Targets {
            bits: vec![vec![0; n]],
            used: vec![0],
            costs: design.rows.weights.clone(),
            shares: vec![[ZERO; 2]],
            joint: false,
        };
        let mut weights: Block = vec![ZERO; places];
        let mut roots: Block = vec![[1.0; LANES]; places];
        let mut pull: Block = vec![ZERO; places];
        for (lane, ask) in asks.iter().enumerate() {
            targets.used[0] |= 1 << lane;
            for &row in self.members.row_indices(ask.label as usize) {
                targets.bits[0][row as usize] |= 1 << lane;
            }
            targets.shares[0][0][lane] = ask.costs[0];
            targets.shares[0][1][lane] = ask.costs[1];
            for at in 0..places {
                let root = ask.give[at].sqrt();
                weights[at][lane] = ask.weights[at];
                roots[at][lane] = root;
                pull[at][lane] = root * ask.pull[at];
            }
        }
        let mut values: Block = vec![ZERO; n];
        design.values(&weights, None, &mut values);
        let outside = Outside { values: vec![values], pull: vec![pull] };
        let losses = targets.losses(&outside.values, &[ZERO], &[]);
        let factors = vec![roots];
        let mut newton = Newton {
            design,
            targets: &targets,
            factors: Some(&factors),
            weights: vec![vec![ZERO; places]],
            outside: Some(&outside),
        };
        // The local gap divides by the resistance what the gap of all does not.
        let small = |ask: &Ask| ask.floor * ask.give.iter().copied().fold(1.0, f64::min);
        let floor = asks.iter().map(small).fold(f64::INFINITY, f64::min);
        let aim = Aim { gap: 0.0, iterations: self.options.iterations, part: Some(Part { share: SHARE, floor }) };
        let reached = newton.solve(aim, progress)?;
        let mut values = vec![vec![ZERO; n]];
        newton.reached(&mut values);
        let mut shape = targets.room();
        targets.shape(&values, &mut shape);
        // A loss and its conjugate meet at the dual variables of a value: loss(m) + loss*(−α) = −α·m, and the slope is −α·y.
        let met = targets.losses(&values, &[ZERO], &[])[0];
        let turned: Lanes = super::lanes::dot(&shape.slopes[0], &values[0]);
        let curvatures: Lanes = sum(&shape.curvatures[0], |row| *row);
        let mut own: Block = vec![ZERO; places];
        design.back(&shape.slopes[0], None, &mut own);
        let done = (0..asks.len()).map(|lane| Done {
            loss: losses[0][lane],
            value: met[lane] - turned[lane],
            curvature: curvatures[lane],
            own: own.iter().map(|place| -place[lane]).collect(),
            alphas: Vec::new(),
            passes: reached[0][lane].iterations,
        });
        Ok(done.collect())
    }
}
