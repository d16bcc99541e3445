//! What a corpus is like: what `tamis inspect` tells.

use rustc_hash::FxHashMap;
use serde::Serialize;
use std::hash::BuildHasher;

use super::Counts;
use super::written::{self, ScriptSize};
use crate::corpus::Part;

/// Five numbers about a list of numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Smallest.
    pub min: f64,
    /// Middle; of an even number of values the mean of both middle ones.
    pub median: f64,
    /// Mean.
    pub mean: f64,
    /// Largest.
    pub max: f64,
}

impl Spread {
    /// Of any numbers; all zero when there are none.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (values.first(), values.last()) else { return Self::default() };
        let n = values.len();
        let median = f64::midpoint(values[(n - 1) / 2], values[n / 2]);
        Self { min, median, mean: values.iter().sum::<f64>() / n as f64, max }
    }
}

/// A label and how many documents carry it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelSize {
    /// Its name.
    pub label: String,
    /// Documents that carry it.
    pub documents: u32,
}

/// Documents that say the same: the same words, each as often.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Duplicates {
    /// Groups of two documents or more.
    pub groups: usize,
    /// Documents beyond the first of their group.
    pub surplus: usize,
    /// Surplus documents whose labels differ from those of the first of their group.
    pub differently_labelled: usize,
    /// Groups with documents in both parts of the given split: test documents seen in training.
    pub across_parts: usize,
    /// Ids of the first groups.
    pub examples: Vec<Vec<String>>,
}

/// What a corpus is like.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// All documents.
    pub documents: usize,
    /// In the train part of the given split.
    pub train: usize,
    /// In its validation part.
    #[serde(default)]
    pub validation: usize,
    /// In the test part of the given split.
    pub test: usize,
    /// First and last date, where there are dates.
    pub dates: Option<(String, String)>,
    /// Distinct labels.
    pub labels: usize,
    /// Labels with a document in both parts of the given split.
    pub labels_in_both_parts: usize,
    /// Documents with at least one label.
    pub labelled: usize,
    /// Documents with two labels or more.
    pub multi_labelled: usize,
    /// Mean number of labels of a labelled document.
    pub cardinality: f64,
    /// Documents of a label.
    pub label_sizes: Spread,
    /// The most common labels.
    pub largest: Vec<LabelSize>,
    /// Labels of one document only: nothing can be learned and tested from them.
    pub single_document_labels: Vec<String>,
    /// Tokens of all documents.
    pub tokens: u64,
    /// Distinct terms.
    pub terms: usize,
    /// Terms that occur in one document only.
    pub single_document_terms: usize,
    /// Tokens of a document.
    pub lengths: Spread,
    /// Distinct terms of a document.
    pub distinct: Spread,
    /// Vocabulary growth: after how many documents, in corpus order, how many distinct terms.
    pub growth: Vec<(usize, usize)>,
    /// Scripts that terms are written in, by documents, most first.
    pub scripts: Vec<ScriptSize>,
    /// The documents without any term.
    pub empty: Vec<String>,
    /// Documents that say the same.
    pub duplicates: Duplicates,
}

impl Summary {
    /// Examples kept of each problem.
    const EXAMPLES: usize = 5;

    /// Looks at all documents.
    pub fn of(counts: &Counts) -> Self {
        let n = counts.len();
        let label_documents = {
            let mut sizes = vec![0u32; counts.labels.len()];
            counts.assignments.indices().iter().for_each(|&l| sizes[l as usize] += 1);
            sizes
        };
        let labels_of = |row: usize| counts.assignments.row_indices(row);
        let labelled = (0..n).filter(|&r| !labels_of(r).is_empty()).count();
        let mut largest: Vec<LabelSize> = counts
            .labels
            .iter()
            .zip(&label_documents)
            .map(|(label, &documents)| LabelSize { label: label.to_owned(), documents })
            .collect();
        largest.sort_by_key(|l| std::cmp::Reverse(l.documents));
        let single_document_labels = largest.iter().filter(|l| l.documents == 1).map(|l| l.label.clone()).collect();
        largest.truncate(10);
        let mut df = vec![0u32; counts.vocabulary.len()];
        counts.matrix.indices().iter().for_each(|&t| df[t as usize] += 1);
        let mut both = vec![[false; 2]; counts.labels.len()];
        for row in 0..n {
            if let Some(part @ (Part::Train | Part::Test)) = counts.parts[row] {
                labels_of(row).iter().for_each(|&l| both[l as usize][usize::from(part == Part::Test)] = true);
            }
        }
        let dates = || counts.dates.iter().flatten();
        Self {
            documents: n,
            train: counts.part(Part::Train).len(),
            validation: counts.part(Part::Validation).len(),
            test: counts.part(Part::Test).len(),
            dates: dates().min().cloned().zip(dates().max().cloned()),
            labels: counts.labels.len(),
            labels_in_both_parts: both.iter().filter(|b| **b == [true; 2]).count(),
            labelled,
            multi_labelled: (0..n).filter(|&r| labels_of(r).len() > 1).count(),
            cardinality: if labelled == 0 { 0.0 } else { counts.assignments.entries() as f64 / labelled as f64 },
            label_sizes: Spread::of(label_documents.iter().map(|&d| f64::from(d)).collect()),
            largest,
            single_document_labels,
            tokens: counts.lengths.iter().map(|&l| u64::from(l)).sum(),
            terms: counts.vocabulary.len(),
            single_document_terms: df.iter().filter(|&&d| d == 1).count(),
            lengths: Spread::of(counts.lengths.iter().map(|&l| f64::from(l)).collect()),
            distinct: Spread::of((0..n).map(|r| counts.matrix.range(r).len() as f64).collect()),
            growth: growth(counts),
            scripts: written::scripts(counts),
            empty: (0..n).filter(|&r| counts.matrix.range(r).is_empty()).map(|r| counts.ids[r].clone()).collect(),
            duplicates: duplicates(counts),
        }
    }
}

/// Distinct terms after 1, 2, 5, 10, 20, 50 … documents, and after all.
fn growth(counts: &Counts) -> Vec<(usize, usize)> {
    let n = counts.len();
    let mut stops: Vec<usize> = (0..12)
        .flat_map(|power| [1, 2, 5].map(|step| step * 10usize.pow(power)))
        .take_while(|&stop| stop < n)
        .chain((n > 0).then_some(n))
        .collect();
    stops.reverse();
    let mut seen = vec![false; counts.vocabulary.len()];
    let (mut distinct, mut curve) = (0, Vec::new());
    for row in 0..n {
        for &term in counts.matrix.row_indices(row) {
            distinct += usize::from(!std::mem::replace(&mut seen[term as usize], true));
        }
        if stops.last() == Some(&(row + 1)) {
            stops.pop();
            curve.push((row + 1, distinct));
        }
    }
    curve
}

fn duplicates(counts: &Counts) -> Duplicates {
    let mut groups: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
    for row in (0..counts.len()).filter(|&r| !counts.matrix.range(r).is_empty()) {
        let hash = rustc_hash::FxBuildHasher.hash_one((counts.matrix.row_indices(row), counts.matrix.row_values(row)));
        groups.entry(hash).or_default().push(row);
    }
    let mut found: Vec<Vec<usize>> = Vec::new();
    for rows in groups.into_values().filter(|rows| rows.len() > 1) {
        // Equal hashes are nearly always equal documents; compare to be sure.
        let mut rest = rows;
        while let Some((&first, others)) = rest.split_first() {
            let same = |&row: &usize| counts.matrix.row(row).eq(counts.matrix.row(first));
            let (equal, unequal): (Vec<usize>, Vec<usize>) = others.iter().partition(|row| same(row));
            if !equal.is_empty() {
                found.push(std::iter::once(first).chain(equal).collect());
            }
            rest = unequal;
        }
    }
    found.sort_unstable();
    let labels = |row: usize| counts.assignments.row_indices(row);
    Duplicates {
        groups: found.len(),
        surplus: found.iter().map(|g| g.len() - 1).sum(),
        differently_labelled: found.iter().flat_map(|g| g[1..].iter().filter(|&&r| labels(r) != labels(g[0]))).count(),
        across_parts: found
            .iter()
            .filter(|g| [Part::Train, Part::Test].iter().all(|&p| g.iter().any(|&r| counts.parts[r] == Some(p))))
            .count(),
        examples: found
            .iter()
            .take(Summary::EXAMPLES)
            .map(|g| g.iter().take(Summary::EXAMPLES).map(|&r| counts.ids[r].clone()).collect())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_a_small_corpus_is_like() {
        let counts = Counts::from_rows(&[
            (vec!["a", "b", "b"], vec!["x"]),
            (vec!["a"], vec!["x", "y"]),
            (vec!["b", "a", "b"], vec!["y"]),
            (vec![], vec![]),
        ]);
        let summary = Summary::of(&counts);
        assert_eq!((summary.documents, summary.labelled, summary.multi_labelled), (4, 3, 1));
        assert!((summary.cardinality - 4.0 / 3.0).abs() < 1e-12);
        assert_eq!(summary.lengths, Spread { min: 0.0, median: 2.0, mean: 1.75, max: 3.0 });
        assert_eq!(summary.growth, [(1, 2), (2, 2), (4, 2)]);
        assert_eq!(summary.empty, ["4"]);
        assert_eq!(summary.duplicates.examples, [["1", "3"]]);
        assert_eq!(summary.duplicates.differently_labelled, 1);
    }
}
