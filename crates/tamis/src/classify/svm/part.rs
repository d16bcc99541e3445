//! The SVM on one part of all documents, while others have theirs: the local problem of [`parts::local`](crate::classify::parts), in the dual.
//!
//! `u = w + (v − p)/R`, `v = Σ α_i y_i x_i`: a step of a dual variable moves the weights by `1/R` times as much as it would alone, and
//! coordinate descent on a working set does the rest.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::SvmOptions;
use super::lanes::{self, LANES, Lane};
use super::objective::{Member, Objective, Plane};
use super::ovr::single_suffices;
use super::working::{Stop, WorkingSet};
use crate::classify::parts::{Ask, Done, Local};
use crate::classify::rows::Rows;
use crate::counts::Csr;
use crate::{Error, Progress, Result};

/// How often a part looks at all its documents in a round for some that its working set lacks.
const LOOKS: usize = 3;

/// A part has done enough when the gap of its problem is this share of what it was: the others move too.
const SHARE: f64 = 0.1;

/// Most passes of a descent.
const PASSES: usize = 100;

/// The SVM on the rows of a part; `members` are labels × rows.
pub(in crate::classify) struct PartSvm<'a> {
    pub(in crate::classify) options: &'a SvmOptions,
    pub(in crate::classify) rows: &'a Rows,
    pub(in crate::classify) members: &'a Csr<()>,
}

/// A label on its way: its lane, where it stands, and what it began with.
struct Way<'a> {
    ask: &'a Ask,
    lane: Lane,
    /// `u`.
    at: Vec<f64>,
    roots: Vec<f64>,
    loss: f64,
    first_gap: f64,
    open: bool,
}

impl Local for PartSvm<'_> {
    const TOGETHER: usize = LANES;

    fn solve(&mut self, asks: &[Ask], progress: &dyn Progress) -> Result<Vec<Done>> {
        let mut ways: Vec<Way<'_>> = asks.iter().map(|ask| self.way(ask)).collect();
        // The loss is that at the weights of all. Nobody has a dual variable here, so it is all that a check finds.
        self.check(&mut ways);
        for way in &mut ways {
            way.loss = way.lane.primal;
            way.lane.members = self.kept(way);
        }
        let (mut cold, give): (Vec<&mut Lane>, f64) = (
            ways.iter_mut().filter(|way| way.ask.first).map(|way| &mut way.lane).collect(),
            asks.first().and_then(|ask| ask.give.first()).copied().unwrap_or(1.0),
        );
        if !cold.is_empty() {
            cold.iter_mut().for_each(|lane| lane.members.clear());
            lanes::first_pass(self.rows, &mut cold, give);
        }
        for way in &mut ways {
            way.at = self.start(way);
            way.lane.plane = plane(&way.at);
        }
        let mut set = WorkingSet::default();
        for look in 0..LOOKS {
            if progress.cancelled() {
                return Err(Error::Interrupted);
            }
            self.check(&mut ways);
            for way in ways.iter_mut().filter(|way| way.open) {
                if look == 0 {
                    way.first_gap = way.lane.gap;
                }
                if way.lane.gap <= way.ask.floor || look > 0 && way.lane.gap <= SHARE * way.first_gap {
                    way.open = false;
                    continue;
                }
                let mut rng = ChaCha8Rng::seed_from_u64(self.options.seed);
                rng.set_stream(way.ask.stream.wrapping_mul(LOOKS as u64).wrapping_add(look as u64));
                set.load_part(self.rows, &way.lane.objective, &way.lane.members, &way.at, &way.roots);
                let stop = Stop { gap: 0.0, share: SHARE, floor: way.ask.floor, epochs: PASSES };
                way.lane.epochs += set.descend(&way.lane.objective, stop, &mut rng).epochs;
                set.store(&mut way.lane.members);
                set.spread(&mut way.at);
                way.lane.plane = plane(&way.at);
            }
        }
        Ok(ways.into_iter().map(|way| self.finished(way)).collect())
    }
}

impl PartSvm<'_> {
    fn way<'a>(&self, ask: &'a Ask) -> Way<'a> {
        let lane = Lane {
            label: ask.label,
            objective: Objective { loss: self.options.loss, costs: ask.costs },
            factors: None,
            members: Vec::new(),
            positives: self.members.row_indices(ask.label as usize).to_vec(),
            plane: plane(&ask.weights),
            gap: 0.0,
            primal: 0.0,
            epochs: 0,
            aim: 0.0,
        };
        let roots = ask.give.iter().map(|give| give.sqrt()).collect();
        Way { ask, lane, at: Vec::new(), roots, loss: 0.0, first_gap: 0.0, open: true }
    }

    fn kept(&self, way: &Way<'_>) -> Vec<Member> {
        let positive = |row: u32| way.lane.positives.binary_search(&row).is_ok();
        let alphas = way.ask.alphas.iter();
        alphas.map(|&(row, alpha)| Member { row, positive: positive(row), alpha: f64::from(alpha) }).collect()
    }

    fn check(&self, ways: &mut [Way<'_>]) {
        let mut open: Vec<&mut Lane> = ways.iter_mut().filter(|way| way.open).map(|way| &mut way.lane).collect();
        if open.is_empty() {
            return;
        }
        if single_suffices(self.options) {
            lanes::check::<f32>(self.rows, &mut open);
        } else {
            lanes::check::<f64>(self.rows, &mut open);
        }
    }

    /// `v`, the bias behind it.
    fn own(&self, members: &[Member]) -> Vec<f64> {
        let mut own = vec![0.0; self.rows.features() + 1];
        for member in members {
            let step = if member.positive { member.alpha } else { -member.alpha };
            for (feature, x) in self.rows.matrix.row(member.row as usize) {
                own[feature as usize] += step * f64::from(x);
            }
            own[self.rows.features()] += step;
        }
        own
    }

    /// `u = w + (v − p)/R`.
    fn start(&self, way: &Way<'_>) -> Vec<f64> {
        let own = self.own(&way.lane.members);
        let Ask { weights, pull, give, .. } = way.ask;
        own.iter().zip(weights).zip(pull).zip(give).map(|(((v, w), p), give)| w + (v - p) * give).collect()
    }

    /// Dual variables in single precision, and all else of these very numbers: what is kept and what is sent belong together.
    fn finished(&self, way: Way<'_>) -> Done {
        let Way { mut lane, loss, .. } = way;
        let (mut value, mut curvature) = (0.0, 0.0);
        lane.members.retain_mut(|member| {
            let cost = lane.objective.cost(member.positive, self.rows.weights[member.row as usize]);
            let mut alpha = member.alpha as f32;
            if f64::from(alpha) > lane.objective.bound(cost) {
                alpha = alpha.next_down();
            }
            member.alpha = f64::from(alpha);
            if alpha > 0.0 {
                value += member.alpha - 0.5 * lane.objective.diagonal(cost) * member.alpha * member.alpha;
                // Hinge has none; its slope goes from 0 to the cost within the margin, as that of its square does twice.
                curvature += 2.0 * cost;
            }
            alpha > 0.0
        });
        let alphas = lane.members.iter().map(|member| (member.row, member.alpha as f32)).collect();
        Done { loss, value, curvature, own: self.own(&lane.members), alphas, passes: lane.epochs }
    }
}

/// The weights that are not 0. Its square is nobody's business here: what a check adds it to is then the loss alone.
fn plane(weights: &[f64]) -> Plane {
    let (bias, weights) = weights.split_last().map_or((0.0, &[][..]), |(bias, rest)| (*bias, rest));
    let set = || weights.iter().enumerate().filter(|(_, w)| **w != 0.0);
    Plane {
        features: set().map(|(feature, _)| feature as u32).collect(),
        weights: set().map(|(_, w)| *w).collect(),
        bias,
        half_square: 0.0,
    }
}
