//! One-vs-rest: rounds of working-set descent and checks over all documents.

use std::cmp::Reverse;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::duals;
use super::duals::rows_of;
use super::lanes;
use super::lanes::{LANES, Lane};
use super::objective::Plane;
use super::working::{Stop, WorkingSet};
use super::{Data, Duals, Loss, Outputs, Solution, Solved, SvmOptions};
use crate::classify::rows::Rows;
use crate::{Error, Progress, Result};

/// Labels on their way at the same time; bounds the memory for working sets.
const GROUP: usize = 256;

/// Whether checks in single precision can tell so small a gap: rounding adds to the gap in proportion to itself for hinge,
/// in proportion to its square for squared hinge.
pub(super) fn single_suffices(options: &SvmOptions) -> bool {
    options.gap()
        >= match options.loss {
            Loss::Hinge => 1e-5,
            Loss::Squared => 1e-7,
        }
}

/// The first descent only reduces the gap by half: its working set is what the first pass moved, most of it by accident.
const FIRST_SHARE: f64 = 0.5;

/// A later descent reduces the gap to this share before documents outside the working set are looked at again. What a look at all
/// documents costs follows how many they are, not how many have the label, so with squared hinge, where descents converge fast,
/// looks are few. With hinge a close descent on a set that lacks documents costs more than it saves.
fn share(loss: Loss, round: u64) -> f64 {
    match (loss, round) {
        (Loss::Hinge, _) => 0.1,
        (Loss::Squared, 0 | 1) => 0.01,
        (Loss::Squared, _) => 0.001,
    }
}

/// A descent aims a little below the gap that the check must find, and at half of that each time it fails.
const AIM: f64 = 0.8;

pub(super) fn solve(
    options: &SvmOptions,
    data: &Data<'_>,
    mirrored: bool,
    warm: Option<&Duals>,
    progress: &dyn Progress,
) -> Result<(Outputs, Vec<Solved>)> {
    let Data { rows, members, labels, told, .. } = data;
    // Where either label is what the other is not, the plane of one is the other's, turned round.
    let asked = if mirrored { &labels[..1] } else { &labels[..] };
    let all: f64 = rows.weights.iter().sum();
    progress.start("svm", Some(asked.len() as u64));
    let row_of = if warm.is_some() { rows_of(rows) } else { Vec::new() };
    let mut solved = Vec::with_capacity(labels.len());
    for group in asked.chunks(GROUP) {
        let mut lanes: Vec<Lane> = group
            .iter()
            .map(|&label| {
                let positives = members.row_indices(label as usize).to_vec();
                let sum: f64 = positives.iter().map(|&row| rows.weights[row as usize]).sum();
                let others = if mirrored { told[labels[1] as usize] } else { 1.0 };
                let objective = options.objective([all - sum, sum], [others, told[label as usize]]);
                let side = |row| Some(positives.binary_search(&row).is_ok());
                let members =
                    warm.map(|w| w.members((label, None), &objective, rows, &row_of, side)).unwrap_or_default();
                Lane {
                    label,
                    objective,
                    factors: data.factors.map(|factors| factors.of(label, rows.features())),
                    positives,
                    members,
                    plane: Plane::default(),
                    gap: f64::INFINITY,
                    primal: 0.0,
                    epochs: 0,
                    aim: AIM * options.gap(),
                }
            })
            .collect();
        solve_group(options, rows, &mut lanes, progress)?;
        solved.extend(lanes.into_iter().map(|lane| Solved {
            solution: Solution {
                label: lane.label,
                against: None,
                primal: lane.primal,
                gap: lane.gap,
                iterations: lane.epochs,
                supports: lane.members.iter().filter(|m| m.alpha > 0.0).count(),
                converged: lane.gap <= options.gap() * lane.primal,
            },
            shares: duals::shares(rows, &lane.objective, &lane.members),
            plane: lane.plane,
        }));
    }
    if mirrored && let Some(first) = solved.first() {
        let turned = first.turned(labels[1]);
        solved.push(turned);
    }
    progress.finish();
    Ok((Outputs::Values(labels.clone()), solved))
}

fn solve_group(options: &SvmOptions, rows: &Rows, lanes: &mut [Lane], progress: &dyn Progress) -> Result<()> {
    let mut open: Vec<&mut Lane> = lanes.iter_mut().collect();
    let (mut cold, mut warm): (Vec<&mut Lane>, Vec<&mut Lane>) = open.drain(..).partition(|l| l.members.is_empty());
    // Labels have vectors of their own all alike, or share them.
    if cold.first().is_some_and(|lane| lane.factors.is_some()) {
        cold.par_iter_mut().with_max_len(1).for_each(|lane| {
            let factors = lane.factors.take().unwrap_or_default();
            lanes::first_pass_alone(rows, lane, &factors);
            lane.factors = Some(factors);
        });
    } else {
        cold.par_chunks_mut(LANES).for_each(|lanes| lanes::first_pass(rows, lanes, 1.0));
    }
    // A warm start knows its planes: what it lacks is the documents that ask to join.
    warm.par_iter_mut().for_each_init(WorkingSet::default, |set, lane| {
        set.load(rows, &lane.objective, lane.factors.as_deref(), &lane.members);
        lane.plane = set.plane();
    });
    check(options, rows, &mut warm);
    let done = |lane: &Lane| lane.gap <= options.gap() * lane.primal || lane.epochs >= options.iterations;
    progress.add(warm.iter().filter(|l| done(l)).count() as u64);
    warm.retain(|l| !done(l));
    open.append(&mut cold);
    open.append(&mut warm);
    for round in 0u64.. {
        if open.is_empty() {
            break;
        }
        if progress.cancelled() {
            return Err(Error::Interrupted);
        }
        // Large ones first, so that no thread is left with one at the end.
        open.sort_unstable_by_key(|l| (Reverse(l.members.len()), l.label));
        open.par_iter_mut().with_max_len(1).for_each_init(WorkingSet::default, |set, lane| {
            let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
            rng.set_stream((u64::from(lane.label) << 32) | (round + 1));
            set.load(rows, &lane.objective, lane.factors.as_deref(), &lane.members);
            let stop = Stop {
                gap: lane.aim,
                floor: 0.0,
                share: if lane.epochs == 1 { FIRST_SHARE } else { share(options.loss, round) },
                epochs: options.iterations.saturating_sub(lane.epochs).max(1),
            };
            let descent = set.descend(&lane.objective, stop, &mut rng);
            lane.epochs += descent.epochs;
            if descent.reached {
                lane.aim *= 0.5;
            }
            set.store(&mut lane.members);
            lane.plane = set.plane();
        });
        check(options, rows, &mut open);
        let before = open.len();
        open.retain(|l| !done(l));
        progress.add((before - open.len()) as u64);
    }
    Ok(())
}

fn check(options: &SvmOptions, rows: &Rows, lanes: &mut [&mut Lane]) {
    lanes.par_chunks_mut(LANES).for_each(|lanes| {
        if single_suffices(options) {
            lanes::check::<f32>(rows, lanes);
        } else {
            lanes::check::<f64>(rows, lanes);
        }
    });
}
