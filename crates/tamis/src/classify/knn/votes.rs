//! Neighbours → ranked labels.

use super::Similarity;
use crate::classify::Scored;
use crate::counts::Csr;

/// Labels of a document that lie at hand; most documents have no more.
const AT_HAND: usize = 4;

/// Marks the last label at hand when the document has more of them.
const MORE: u32 = 1 << 31;

/// Who votes for what: the labels of the training documents, laid out so that counting votes hardly branches. A document
/// with fewer than [`AT_HAND`] labels votes for numbers beyond the last label with the rest.
#[derive(Debug, Clone)]
pub(super) struct Electorate {
    assignments: Csr<()>,
    at_hand: Vec<[u32; AT_HAND]>,
    similarity: Similarity,
}

/// Memory of one thread: sums of similarities by label, zero between two calls.
#[derive(Debug, Default, Clone)]
pub(super) struct Votes {
    sums: Vec<f64>,
}

impl Electorate {
    pub(super) fn new(assignments: &Csr<()>, similarity: Similarity) -> Self {
        let labels = assignments.columns() as u32;
        let at_hand = |row| {
            let all = assignments.row_indices(row);
            let mut at_hand = std::array::from_fn(|i| all.get(i).copied().unwrap_or(labels + i as u32));
            if all.len() > AT_HAND {
                at_hand[AT_HAND - 1] |= MORE;
            }
            at_hand
        };
        Self { at_hand: (0..assignments.rows()).map(at_hand).collect(), assignments: assignments.clone(), similarity }
    }

    pub(super) fn labels(&self) -> usize {
        self.assignments.columns()
    }

    pub(super) fn labels_of(&self, document: u32) -> &[u32] {
        self.assignments.row_indices(document as usize)
    }

    /// Ranks the labels of the neighbours (method 7), given in training order. `ranked` may hold an earlier list:
    /// neighbouring sizes rank labels nearly alike, so sorting starts from its order.
    pub(super) fn rank(&self, documents: &[u32], similarities: &[f64], votes: &mut Votes, ranked: &mut Vec<Scored>) {
        votes.sums.resize(self.labels() + AT_HAND, 0.0);
        let sums = &mut votes.sums[..];
        let mut total = 0.0;
        for (&document, &similarity) in documents.iter().zip(similarities) {
            total += similarity;
            let [a, b, c, d] = self.at_hand[document as usize];
            sums[a as usize] += similarity;
            sums[b as usize] += similarity;
            sums[c as usize] += similarity;
            sums[(d & !MORE) as usize] += similarity;
            if d & MORE != 0 {
                for &label in &self.labels_of(document)[AT_HAND..] {
                    sums[label as usize] += similarity;
                }
            }
        }
        let (sums, nobody) = sums.split_at_mut(self.labels());
        nobody.fill(0.0);
        self.collect(documents, sums, total, ranked);
    }

    /// Takes the sums, which are zero afterwards, into the ranked list.
    fn collect(&self, documents: &[u32], sums: &mut [f64], total: f64, ranked: &mut Vec<Scored>) {
        let share = |sum: f64| match self.similarity {
            Similarity::Okapi => sum,
            Similarity::Cosine => sum / total,
        };
        let mut kept = 0;
        for i in 0..ranked.len() {
            let label = ranked[i].label;
            let sum = sums.get_mut(label as usize).map_or(0.0, std::mem::take);
            ranked[kept] = Scored { label, score: share(sum) };
            kept += usize::from(sum > 0.0);
        }
        ranked.truncate(kept);
        let mut add = |label: u32, sum: &mut f64| {
            if *sum > 0.0 {
                ranked.push(Scored { label, score: share(std::mem::take(sum)) });
            }
        };
        if sums.len() <= 4 * documents.len() {
            sums.iter_mut().zip(0..).for_each(|(sum, label)| add(label, sum));
        } else {
            for &document in documents {
                self.labels_of(document).iter().for_each(|&label| add(label, &mut sums[label as usize]));
            }
        }
        sort(ranked);
    }
}

/// Insertion sort while it is cheap, since lists come nearly sorted; otherwise the general one. The order is total, so
/// both give the same.
fn sort(ranked: &mut [Scored]) {
    let mut moves = 0;
    for i in 1..ranked.len() {
        let place = ranked[i];
        let mut at = i;
        while at > 0 {
            let above = ranked[at - 1];
            // Scores are positive numbers, so these comparisons are the order of ranked lists.
            if above.score > place.score || (above.score == place.score && above.label < place.label) {
                break;
            }
            ranked[at] = above;
            at -= 1;
        }
        ranked[at] = place;
        moves += i - at;
        if moves > 16 * ranked.len() {
            ranked.sort_unstable_by(Scored::better_first);
            return;
        }
    }
}
