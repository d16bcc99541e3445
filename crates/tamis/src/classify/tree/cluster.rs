//! Labels with like documents together: balanced two-means over the mean vectors of labels (Prabhu et al. 2018).

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::super::rows::{Rows, below};
use super::shape::Shape;
use crate::counts::Csr;

/// Rounds of two-means at most.
const ROUNDS: usize = 50;

/// Two-means ends when a round gains less than this for each label, in cosine.
const GAIN: f32 = 1e-4;

/// The mean vectors of labels, scaled to length 1. `members` are labels × rows.
pub(super) fn centroids(rows: &Rows, members: &Csr<()>) -> Csr<f32> {
    let label = |(sums, touched): &mut (Vec<f32>, Vec<u32>), label: usize| {
        sums.resize(rows.features(), 0.0);
        touched.clear();
        for &row in members.row_indices(label) {
            for (feature, value) in rows.matrix.row(row as usize) {
                if sums[feature as usize] == 0.0 {
                    touched.push(feature);
                }
                sums[feature as usize] += value;
            }
        }
        touched.sort_unstable();
        touched.dedup();
        let mut entries: Vec<(u32, f32)> =
            touched.iter().map(|&f| (f, std::mem::take(&mut sums[f as usize]))).filter(|(_, x)| *x != 0.0).collect();
        let length = entries.iter().map(|(_, x)| x * x).sum::<f32>().sqrt();
        entries.iter_mut().for_each(|(_, x)| *x /= length);
        entries
    };
    let all: Vec<Vec<(u32, f32)>> =
        (0..members.rows()).into_par_iter().map_init(|| (Vec::new(), Vec::new()), label).collect();
    let mut centroids = Csr::new(rows.features());
    all.into_iter().for_each(|entries| centroids.push_row(entries));
    centroids
}

/// Halves the labels until at most `leaf` are left in a part.
pub(super) fn halved(centroids: &Csr<f32>, labels: &[u32], leaf: usize, seed: u64) -> Shape {
    let mut shape = Shape::default();
    let root = shape.add();
    let mut level = vec![(root, labels.to_vec())];
    // Parts of a level do not know of each other; nodes are numbered level by level.
    while !level.is_empty() {
        let parted: Vec<Option<[Vec<u32>; 2]>> = level
            .par_iter()
            .map_init(
                || vec![0.0; centroids.columns()],
                |direction, (node, labels)| {
                    let mut rng = ChaCha8Rng::seed_from_u64(seed);
                    rng.set_stream(u64::from(*node));
                    (labels.len() > leaf).then(|| halve(centroids, labels, direction, &mut rng))
                },
            )
            .collect();
        let mut next = Vec::new();
        for ((node, labels), parts) in level.into_iter().zip(parted) {
            let Some(parts) = parts else {
                shape.labels[node as usize] = labels;
                continue;
            };
            for part in parts {
                let kid = shape.add();
                shape.kids[node as usize].push(kid);
                next.push((kid, part));
            }
        }
        level = next;
    }
    shape
}

/// Two halves, each ascending. `direction` is zero before and after: the difference of the two means.
fn halve(centroids: &Csr<f32>, labels: &[u32], direction: &mut [f32], rng: &mut ChaCha8Rng) -> [Vec<u32>; 2] {
    let half = labels.len() / 2;
    let first = below(rng, labels.len());
    let second = (first + 1 + below(rng, labels.len() - 1)) % labels.len();
    let add = |direction: &mut [f32], label: u32, times: f32| {
        for (feature, value) in centroids.row(label as usize) {
            direction[feature as usize] += times * value;
        }
    };
    add(direction, labels[first], 1.0);
    add(direction, labels[second], -1.0);
    let mut sides: Vec<(f32, u32)> = Vec::new();
    let mut before = f32::NEG_INFINITY;
    let mut sums = (vec![0.0; direction.len()], vec![0.0; direction.len()]);
    for _ in 0..ROUNDS {
        sides = labels
            .iter()
            .map(|&label| (centroids.row(label as usize).map(|(f, v)| direction[f as usize] * v).sum(), label))
            .collect();
        sides.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let (one, other) = sides.split_at(half);
        let reached = one.iter().map(|s| s.0).sum::<f32>() - other.iter().map(|s| s.0).sum::<f32>();
        one.iter().for_each(|s| add(&mut sums.0, s.1, 1.0));
        other.iter().for_each(|s| add(&mut sums.1, s.1, 1.0));
        let mut lengths = [0.0f32; 2];
        for_each_feature(centroids, labels, |f| {
            // Each feature is met often and counts once.
            if direction[f].to_bits() != SEEN {
                direction[f] = f32::from_bits(SEEN);
                lengths[0] += sums.0[f] * sums.0[f];
                lengths[1] += sums.1[f] * sums.1[f];
            }
        });
        let [one, other] = lengths.map(|square| if square > 0.0 { square.sqrt().recip() } else { 0.0 });
        for_each_feature(centroids, labels, |f| {
            if direction[f].to_bits() == SEEN {
                direction[f] = std::mem::take(&mut sums.0[f]) * one - std::mem::take(&mut sums.1[f]) * other;
            }
        });
        if reached - before < GAIN * labels.len() as f32 {
            break;
        }
        before = reached;
    }
    for_each_feature(centroids, labels, |f| direction[f] = 0.0);
    let side = |part: &[(f32, u32)]| {
        let mut part: Vec<u32> = part.iter().map(|s| s.1).collect();
        part.sort_unstable();
        part
    };
    let (one, other) = sides.split_at(half);
    [side(one), side(other)]
}

/// A mark that no sum of weights has: a NaN of its own.
const SEEN: u32 = 0x7fc0_5ee1;

fn for_each_feature(centroids: &Csr<f32>, labels: &[u32], mut each: impl FnMut(usize)) {
    for &label in labels {
        centroids.row_indices(label as usize).iter().for_each(|&f| each(f as usize));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Labels of two kinds of words fall apart by kind, unless both starts were of one kind: three times in seven. The same seed
    /// gives the same halves.
    #[test]
    fn like_labels_stay_together() {
        let mut centroids = Csr::new(6);
        for label in 0..8u32 {
            let first = if label % 2 == 0 { 0 } else { 3 };
            centroids.push_row([(first, 0.8), (first + 1 + label / 4, 0.6)]);
        }
        let labels: Vec<u32> = (0..8).collect();
        let mut by_kind = 0;
        for seed in 0..20 {
            let shape = halved(&centroids, &labels, 4, seed);
            assert_eq!(shape.len(), 3);
            assert_eq!((shape.labels[1].len(), shape.labels[2].len()), (4, 4));
            let mut parts = [shape.labels[1].clone(), shape.labels[2].clone()];
            parts.sort();
            by_kind += usize::from(parts == [vec![0, 2, 4, 6], vec![1, 3, 5, 7]]);
            assert_eq!(halved(&centroids, &labels, 4, seed), shape);
        }
        assert!(by_kind >= 5, "{by_kind} of 20");
    }

    #[test]
    fn every_label_is_in_one_part() {
        let mut centroids = Csr::new(3);
        (0..23u32).for_each(|label| centroids.push_row([(label % 3, 1.0)]));
        let labels: Vec<u32> = (0..23).collect();
        let shape = halved(&centroids, &labels, 3, 1);
        let mut found: Vec<u32> = shape.labels.iter().flatten().copied().collect();
        found.sort_unstable();
        assert_eq!(found, labels);
        assert!(shape.labels.iter().all(|part| part.len() <= 3));
    }
}
