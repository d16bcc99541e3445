//! Iterative stratification for documents with several labels: Sechidis, Tsoumakas, Vlahavas, "On the Stratification of
//! Multi-Label Data", ECML PKDD 2011, algorithm 1, for folds of equal size.

use std::collections::BTreeSet;

use crate::counts::Csr;

/// The fold of each of the documents `rows`; `order` holds places in `rows`.
///
/// The rarest label left is dealt out first, each of its documents to the fold that lacks the label most. With equal
/// shares that is the fold with the fewest documents of the label so far (the paper's `argmax c_j^l`), then the smallest
/// fold, then the first; so all is in integers. Documents are taken in the given order, and of equally rare labels the
/// first is taken: the paper leaves both to chance. Documents without labels fill up the smallest folds at the end.
pub(crate) fn stratified_folds(assignments: &Csr<()>, rows: &[usize], folds: usize, order: &[usize]) -> Vec<u32> {
    const NOWHERE: u32 = u32::MAX;
    let labels = assignments.columns();
    let mut fold_of = vec![NOWHERE; rows.len()];
    let mut size = vec![0usize; folds];
    // Documents of each label so far: [label × fold].
    let mut dealt = vec![0u32; labels * folds];
    let mut left: Vec<u32> = vec![0; labels];
    let labels_of = |place: usize| assignments.row_indices(rows[place]);
    (0..rows.len()).flat_map(labels_of).for_each(|&label| left[label as usize] += 1);
    let mut rarest: BTreeSet<(u32, u32)> =
        (0..labels as u32).filter(|&l| left[l as usize] > 0).map(|l| (left[l as usize], l)).collect();
    let documents_of = documents_by_label(assignments, rows, order);

    while let Some(&(_, label)) = rarest.first() {
        for &document in documents_of.row_indices(label as usize) {
            // Numbers in `documents_of` are places in the order.
            let document = order[document as usize];
            if fold_of[document] != NOWHERE {
                continue;
            }
            let of_label = &dealt[label as usize * folds..][..folds];
            let fold = (0..folds).min_by_key(|&fold| (of_label[fold], size[fold])).unwrap_or(0);
            fold_of[document] = fold as u32;
            size[fold] += 1;
            for &other in labels_of(document) {
                dealt[other as usize * folds + fold] += 1;
                let count = &mut left[other as usize];
                rarest.remove(&(*count, other));
                *count -= 1;
                if *count > 0 {
                    rarest.insert((*count, other));
                }
            }
        }
    }
    for &document in order {
        if fold_of[document] == NOWHERE {
            let fold = (0..folds).min_by_key(|&fold| size[fold]).unwrap_or(0);
            fold_of[document] = fold as u32;
            size[fold] += 1;
        }
    }
    fold_of
}

/// Labels × places in the order.
fn documents_by_label(assignments: &Csr<()>, rows: &[usize], order: &[usize]) -> Csr<()> {
    let ordered: Vec<usize> = order.iter().map(|&place| rows[place]).collect();
    assignments.select_rows(&ordered).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matrix(rows: &[Vec<u32>], labels: usize) -> Csr<()> {
        let mut m = Csr::new(labels);
        for row in rows {
            let set: BTreeSet<u32> = row.iter().copied().collect();
            m.push_row(set.into_iter().map(|l| (l, ())));
        }
        m
    }

    /// Algorithm 1 of the paper as it stands, with real-valued demands and any shares.
    fn by_the_book(rows: &[Vec<u32>], labels: usize, shares: &[f64], order: &[usize]) -> Vec<u32> {
        let has = |d: usize, l: u32| rows[d].contains(&l);
        let mut remaining: Vec<usize> = order.to_vec();
        let mut demand: Vec<f64> = shares.iter().map(|r| r * rows.len() as f64).collect();
        let mut demand_of: Vec<Vec<f64>> = shares
            .iter()
            .map(|r| (0..labels as u32).map(|l| r * (0..rows.len()).filter(|&d| has(d, l)).count() as f64).collect())
            .collect();
        let mut fold_of = vec![u32::MAX; rows.len()];
        // Sums of tenths are not exact; a real tie must count as one.
        let best = |scores: Vec<(f64, f64)>| {
            let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
            let top = scores.iter().map(|s| s.0).fold(f64::MIN, f64::max);
            let second = scores.iter().filter(|s| close(s.0, top)).map(|s| s.1).fold(f64::MIN, f64::max);
            scores.iter().position(|s| close(s.0, top) && close(s.1, second)).unwrap()
        };
        while !remaining.is_empty() {
            let count = |l: u32| remaining.iter().filter(|&&d| has(d, l)).count();
            let rarest = (0..labels as u32).filter(|&l| count(l) > 0).min_by_key(|&l| (count(l), l));
            let now: Vec<usize> = remaining.iter().copied().filter(|&d| rarest.is_none_or(|l| has(d, l))).collect();
            for d in now {
                let scores = (0..shares.len())
                    .map(|j| (rarest.map_or(demand[j], |l| demand_of[j][l as usize]), demand[j]))
                    .collect();
                let fold = best(scores);
                fold_of[d] = fold as u32;
                demand[fold] -= 1.0;
                (0..labels as u32).filter(|&l| has(d, l)).for_each(|l| demand_of[fold][l as usize] -= 1.0);
                remaining.retain(|&other| other != d);
            }
        }
        fold_of
    }

    proptest! {
        #[test]
        fn is_the_algorithm_of_the_paper(
            rows in prop::collection::vec(prop::collection::vec(0u32..6, 0..4), 2..40),
            folds in 2usize..6,
            turn in 0usize..40,
        ) {
            let n = rows.len();
            let order: Vec<usize> = (0..n).map(|i| (i * 7 + turn) % n).collect();
            // i·7 visits every document unless n is a multiple of 7.
            prop_assume!(!n.is_multiple_of(7));
            let shares = vec![1.0 / folds as f64; folds];
            let ours = stratified_folds(&matrix(&rows, 6), &(0..rows.len()).collect::<Vec<_>>(), folds, &order);
            prop_assert_eq!(ours, by_the_book(&rows, 6, &shares, &order));
        }

        #[test]
        fn one_label_each_is_spread_evenly(labels in prop::collection::vec(0u32..5, 4..80), folds in 2usize..5) {
            let rows: Vec<Vec<u32>> = labels.iter().map(|&l| vec![l]).collect();
            let order: Vec<usize> = (0..rows.len()).collect();
            let fold_of = stratified_folds(&matrix(&rows, 5), &(0..rows.len()).collect::<Vec<_>>(), folds, &order);
            for label in 0..5 {
                let count = |fold: u32| (0..rows.len()).filter(|&d| labels[d] == label && fold_of[d] == fold).count();
                let counts: Vec<usize> = (0..folds as u32).map(count).collect();
                prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{:?}", counts);
            }
        }
    }
}
