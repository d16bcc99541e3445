//! Which documents and labels of a corpus take part in a study.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::corpus::Part;
use crate::counts::{Counts, Vocabulary};
use crate::measure::significance::stream;
use crate::{Error, Result};

/// What is kept of a corpus, in the order of the fields. By default everything.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Keep {
    /// Only these labels; empty for all.
    pub labels: Vec<String>,
    /// Only documents with exactly one label (of those in `labels`).
    pub single_label: bool,
    /// Only labels with at least so many documents.
    pub min_documents: u32,
    /// Only documents with a label.
    pub labelled: bool,
    /// At most so many documents of each label, drawn at random; 0 for all. A document counts for its rarest label.
    pub per_label: u32,
    /// Only terms with at least so many occurrences in the whole corpus.
    pub min_occurrences: u64,
}

impl Keep {
    /// The part of a corpus that takes part.
    pub fn apply(&self, mut counts: Counts, seed: u64) -> Result<Counts> {
        // A study draws its own splits and tunes inside them: a validation part would be tuned on across all of them.
        counts.parts.iter_mut().filter(|part| **part == Some(Part::Validation)).for_each(|part| *part = None);
        if !self.labels.is_empty() {
            for name in &self.labels {
                if counts.labels.id(name).is_none() {
                    return Err(unknown_label(name, &counts));
                }
            }
            let wanted: Vec<bool> = counts.labels.iter().map(|l| self.labels.iter().any(|w| w == l)).collect();
            counts = only_labels(counts, &wanted);
        }
        if self.single_label {
            counts = only_rows(counts, |c, row| c.assignments.row_indices(row).len() == 1);
        }
        if self.min_documents > 0 {
            let enough: Vec<bool> = sizes(&counts).iter().map(|&n| n >= self.min_documents).collect();
            counts = only_labels(counts, &enough);
        }
        // After labels were dropped, documents without any are no longer of one label.
        if self.labelled || self.single_label {
            counts = only_rows(counts, |c, row| !c.assignments.row_indices(row).is_empty());
        }
        if self.per_label > 0 {
            counts = thinned(counts, self.per_label, seed);
        }
        if self.min_occurrences > 1 {
            counts = only_frequent(counts, self.min_occurrences);
        }
        if counts.is_empty() {
            return Err(Error::data("no document of the corpus is left after [corpus] of the plan took its choice"));
        }
        Ok(counts)
    }
}

fn sizes(counts: &Counts) -> Vec<u32> {
    let mut sizes = vec![0; counts.labels.len()];
    counts.assignments.indices().iter().for_each(|&label| sizes[label as usize] += 1);
    sizes
}

fn only_rows(counts: Counts, keep: impl Fn(&Counts, usize) -> bool) -> Counts {
    let rows: Vec<usize> = (0..counts.len()).filter(|&row| keep(&counts, row)).collect();
    if rows.len() == counts.len() { counts } else { counts.select(&rows) }
}

fn renumbered(names: &Vocabulary, keep: &[bool]) -> (Vocabulary, Vec<Option<u32>>) {
    let mut next = 0;
    let numbers = keep.iter().map(|&keep| {
        keep.then(|| {
            next += 1;
            next - 1
        })
    });
    let numbers = numbers.collect();
    (Vocabulary::from_sorted(names.iter().zip(keep).filter(|(_, keep)| **keep).map(|(name, _)| name)), numbers)
}

fn only_labels(counts: Counts, keep: &[bool]) -> Counts {
    let (labels, numbers) = renumbered(&counts.labels, keep);
    let assignments = counts.assignments.map_columns(labels.len(), &numbers);
    Counts { labels: Arc::new(labels), assignments, ..counts }
}

fn only_frequent(counts: Counts, least: u64) -> Counts {
    let mut occurrences = vec![0u64; counts.vocabulary.len()];
    for (&term, &count) in counts.matrix.indices().iter().zip(counts.matrix.values()) {
        occurrences[term as usize] += u64::from(count);
    }
    let keep: Vec<bool> = occurrences.iter().map(|&n| n >= least).collect();
    let (vocabulary, numbers) = renumbered(&counts.vocabulary, &keep);
    let matrix = counts.matrix.map_columns(vocabulary.len(), &numbers);
    Counts { vocabulary: Arc::new(vocabulary), matrix, ..counts }
}

/// Documents in random order, each taken when its rarest label still has room; the rest keep corpus order.
fn thinned(counts: Counts, per_label: u32, seed: u64) -> Counts {
    use rand::seq::SliceRandom;
    // A stream of its own: splits draw from the first ones.
    let mut rng = stream(seed, u64::MAX);
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.shuffle(&mut rng);
    let sizes = sizes(&counts);
    let mut taken = vec![0u32; counts.labels.len()];
    let mut keep = vec![false; counts.len()];
    for row in order {
        let rarest = counts.assignments.row_indices(row).iter().copied().min_by_key(|&l| (sizes[l as usize], l));
        keep[row] = match rarest {
            None => true,
            Some(label) => {
                taken[label as usize] += 1;
                taken[label as usize] <= per_label
            }
        };
    }
    only_rows(counts, |_, row| keep[row])
}

/// Plans name labels of their own corpus; whoever brings another one names others.
fn unknown_label(name: &str, counts: &Counts) -> Error {
    let largest = sizes(counts).into_iter().zip(counts.labels.iter()).max_by_key(|(documents, _)| *documents);
    let likely = largest.map_or("…", |(_, label)| label);
    let known = Error::unknown("label of corpus.labels", name, counts.labels.iter());
    Error::data(format!("{known}; to take a label of this corpus: the option `set=corpus.labels=[{likely:?}]`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus() -> Counts {
        Counts::from_rows(&[
            (vec!["a", "b"], vec!["X"]),
            (vec!["a"], vec!["X", "Y"]),
            (vec!["b", "c"], vec!["Y"]),
            (vec!["a", "d"], vec![]),
            (vec!["d"], vec!["Z"]),
            (vec!["e"], vec!["X"]),
        ])
    }

    fn kept(keep: Keep) -> (Vec<String>, Vec<String>, Vec<String>) {
        let counts = keep.apply(corpus(), 1).unwrap();
        let names = |v: &Vocabulary| v.iter().map(str::to_owned).collect();
        (counts.ids.clone(), names(&counts.labels), names(&counts.vocabulary))
    }

    #[test]
    fn nothing_is_dropped_by_default() {
        assert_eq!(Keep::default().apply(corpus(), 1).unwrap(), corpus());
    }

    #[test]
    fn labels_and_documents() {
        let (ids, labels, _) = kept(Keep { labels: vec!["X".into(), "Z".into()], ..Keep::default() });
        assert_eq!((ids.len(), labels), (6, vec!["X".to_owned(), "Z".into()]));
        let (ids, ..) = kept(Keep { labelled: true, ..Keep::default() });
        assert_eq!(ids, ["1", "2", "3", "5", "6"]);
        let (ids, labels, _) = kept(Keep { single_label: true, min_documents: 2, ..Keep::default() });
        assert_eq!((ids, labels), (vec!["1".to_owned(), "6".into()], vec!["X".to_owned()]));
        // With only X of interest, document 2 has one label.
        let (ids, ..) = kept(Keep { labels: vec!["X".into()], single_label: true, ..Keep::default() });
        assert_eq!(ids, ["1", "2", "6"]);
    }

    #[test]
    fn terms_and_numbers() {
        let (_, _, terms) = kept(Keep { min_occurrences: 2, ..Keep::default() });
        assert_eq!(terms, ["a", "b", "d"]);
        let counts = Keep { per_label: 1, labelled: true, ..Keep::default() }.apply(corpus(), 3).unwrap();
        assert!(counts.len() <= 3 && counts.len() >= 2);
    }

    #[test]
    fn mistakes_are_named() {
        let error = Keep { labels: vec!["W".into()], ..Keep::default() }.apply(corpus(), 1).unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with("unknown label of corpus.labels \"W\""), "{said}");
        assert!(said.contains("the option `set=corpus.labels=[\"X\"]`"), "{said}");
        assert!(Keep { min_documents: 9, labelled: true, ..Keep::default() }.apply(corpus(), 1).is_err());
    }
}
