//! One-vs-one: a problem for each pair of labels, on the documents that have exactly one of the two.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::duals;
use super::duals::rows_of;
use super::objective::Member;
use super::working::{Stop, WorkingSet};
use super::{Data, Duals, Outputs, Solution, Solved, SvmOptions};
use crate::{Error, Progress, Result};

pub(super) fn solve(
    options: &SvmOptions,
    data: &Data<'_>,
    warm: Option<&Duals>,
    progress: &dyn Progress,
) -> Result<(Outputs, Vec<Solved>)> {
    let Data { rows, labels, .. } = data;
    let n = labels.len() as u32;
    let pairs: Vec<(u32, u32)> = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))).collect();
    progress.start("svm", Some(pairs.len() as u64));
    let row_of = if warm.is_some() { rows_of(rows) } else { Vec::new() };
    let solved: Vec<Option<Solved>> = pairs
        .par_iter()
        .map_init(WorkingSet::default, |set, &(a, b)| {
            if progress.cancelled() {
                return Err(Error::Interrupted);
            }
            let (first, second) = (labels[a as usize], labels[b as usize]);
            let solved = solve_pair(options, data, (first, second), (warm, &row_of), set);
            progress.add(1);
            Ok(solved)
        })
        .collect::<Result<_>>()?;
    progress.finish();
    // A pair with nothing to tell apart has no output and gives no vote.
    let (pairs, solved) = pairs.into_iter().zip(solved).filter_map(|(p, s)| s.map(|s| (p, s))).unzip();
    Ok((Outputs::Votes { labels: labels.clone(), pairs }, solved))
}

/// `None` when no document has exactly one of the two labels.
fn solve_pair(
    options: &SvmOptions,
    data: &Data<'_>,
    (first, second): (u32, u32),
    (warm, row_of): (Option<&Duals>, &[u32]),
    set: &mut WorkingSet,
) -> Option<Solved> {
    let Data { rows, members, told, .. } = data;
    let (firsts, seconds) = (members.row_indices(first as usize), members.row_indices(second as usize));
    let without = |these: &[u32], those: &[u32], positive: bool| -> Vec<Member> {
        let only = these.iter().filter(|row| those.binary_search(row).is_err());
        only.map(|&row| Member { row, positive, alpha: 0.0 }).collect()
    };
    let mut all = without(firsts, seconds, true);
    all.append(&mut without(seconds, firsts, false));
    if all.is_empty() {
        return None;
    }
    all.sort_unstable_by_key(|m| m.row);
    let mut sums = [0.0; 2];
    all.iter().for_each(|m| sums[usize::from(m.positive)] += rows.weights[m.row as usize]);
    let objective = options.objective(sums, [told[second as usize], told[first as usize]]);
    if let Some(warm) = warm {
        let side = |row| all.binary_search_by_key(&row, |m| m.row).ok().map(|at| all[at].positive);
        for member in warm.members((first, Some(second)), &objective, rows, row_of, side) {
            if let Ok(at) = all.binary_search_by_key(&member.row, |m| m.row) {
                all[at].alpha = member.alpha;
            }
        }
    }
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    rng.set_stream((u64::from(first) << 32) | u64::from(second));
    set.load(rows, &objective, None, &all);
    let mut iterations = 0;
    let mut aim = options.gap();
    let (mut gap, mut primal) = set.gap(&objective);
    while gap > options.gap() * primal && iterations < options.iterations {
        let stop = Stop { gap: aim, floor: 0.0, share: 0.0, epochs: options.iterations - iterations };
        iterations += set.descend(&objective, stop, &mut rng).epochs;
        (gap, primal) = set.gap(&objective);
        aim *= 0.5;
    }
    set.store(&mut all);
    Some(Solved {
        solution: Solution {
            label: first,
            against: Some(second),
            primal,
            gap,
            iterations,
            supports: all.len(),
            converged: gap <= options.gap() * primal,
        },
        shares: duals::shares(rows, &objective, &all),
        plane: set.plane(),
    })
}
