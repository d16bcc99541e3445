//! Giving a corpus the split it lacks: which documents are trained on, which are kept apart.

use rustc_hash::FxHashMap;

use super::split::shuffled;
use super::stratify::stratified_folds;
use super::{Counts, SplitPlan};
use crate::corpus::Part;
use crate::{Error, Result};

/// How a corpus is parted.
#[derive(Debug, Clone, PartialEq)]
pub struct Parting {
    /// Share of the test part.
    pub test: f64,
    /// Share of the validation part; 0 for none.
    pub validation: f64,
    /// What decides which documents go where.
    pub by: PartBy,
    /// Seed of what is drawn.
    pub seed: u64,
}

/// What decides which documents go where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartBy {
    /// Every label is spread over the parts by their shares; one that has a document only is trained on.
    Labels,
    /// The newest documents are the test part, those before them the validation part.
    Date,
    /// Documents of a group (a thread, an author) stay together: one name for each document.
    Group(Vec<String>),
}

impl Parting {
    /// The part of each document.
    pub fn parts(&self, counts: &Counts) -> Result<Vec<Part>> {
        let n = counts.len();
        let good = |share: f64| (0.0..1.0).contains(&share);
        if !good(self.test) || !good(self.validation) || self.test == 0.0 || self.test + self.validation >= 1.0 {
            let shares = format!("{} and {}", self.test, self.validation);
            let reason = "shares lie between 0 and 1, and leave something to train on, such as 0.2 for the test part";
            return Err(Error::invalid("shares of the test and validation parts", shares, reason));
        }
        if n < 2 {
            return Err(Error::data(format!("a split needs at least two documents, and there are {n}")));
        }
        match &self.by {
            PartBy::Labels => Ok(self.by_labels(counts)),
            PartBy::Date => {
                let all = counts.rows();
                let split = SplitPlan::Newest(self.test).splits_of(counts, &all, self.seed)?.swap_remove(0);
                let mut parts = marked(n, &split.test, Part::Test);
                if self.validation > 0.0 && split.train.len() > 1 {
                    let share = self.validation / (1.0 - self.test);
                    let before = SplitPlan::Newest(share).splits_of(counts, &split.train, self.seed)?.swap_remove(0);
                    before.test.iter().for_each(|&row| parts[row] = Part::Validation);
                }
                Ok(parts)
            }
            PartBy::Group(names) => self.by_group(names, n),
        }
    }

    fn by_labels(&self, counts: &Counts) -> Vec<Part> {
        let rows = counts.rows();
        // As many equal folds as both shares are whole numbers of, nearly.
        let near =
            |share: f64, folds: usize| (share * folds as f64 - (share * folds as f64).round()).abs() / folds as f64;
        let fits = |folds: &usize| near(self.test, *folds) < 0.005 && near(self.validation, *folds) < 0.005;
        let folds = (2..=100).find(fits).unwrap_or(100).min(rows.len());
        let of = stratified_folds(&counts.assignments, &rows, folds, &shuffled(rows.len(), self.seed, 0));
        let wanted = |share: f64| if share > 0.0 { ((share * folds as f64).round() as u32).max(1) } else { 0 };
        // Folds fill from the first, which gets what is left over: the test part is at the other end.
        let test_from = folds as u32 - wanted(self.test);
        let validation_from = test_from.saturating_sub(wanted(self.validation)).max(1);
        let part = |fold: u32| match fold {
            f if f >= test_from => Part::Test,
            f if f >= validation_from => Part::Validation,
            _ => Part::Train,
        };
        let mut parts: Vec<Part> = of.into_iter().map(part).collect();
        let mut trained = vec![false; counts.labels.len()];
        let labels = |row: usize| counts.assignments.row_indices(row);
        let train = |parts: &[Part], row: usize| parts[row] == Part::Train;
        rows.iter().filter(|&&r| train(&parts, r)).flat_map(|&r| labels(r)).for_each(|&l| trained[l as usize] = true);
        for &row in &rows {
            if labels(row).iter().any(|&l| !trained[l as usize]) {
                parts[row] = Part::Train;
                labels(row).iter().for_each(|&l| trained[l as usize] = true);
            }
        }
        parts
    }

    fn by_group(&self, names: &[String], n: usize) -> Result<Vec<Part>> {
        if names.len() != n {
            return Err(Error::data(format!("there are {n} documents, and groups of {}", names.len())));
        }
        // Groups are numbered as they come.
        let mut number = FxHashMap::default();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (row, name) in names.iter().enumerate() {
            let at = *number.entry(name.as_str()).or_insert(groups.len());
            if at == groups.len() {
                groups.push(Vec::new());
            }
            groups[at].push(row);
        }
        if groups.len() < 2 {
            return Err(Error::data("all documents are of one group, so there is nothing to split"));
        }
        let mut parts = vec![Part::Train; n];
        let mut order = shuffled(groups.len(), self.seed, 0).into_iter();
        for (part, share) in [(Part::Test, self.test), (Part::Validation, self.validation)] {
            let wanted = share * n as f64;
            let mut taken = 0;
            while (taken as f64) < wanted && order.len() > 1 {
                let Some(group) = order.next() else { break };
                taken += groups[group].len();
                groups[group].iter().for_each(|&row| parts[row] = part);
            }
        }
        Ok(parts)
    }
}

fn marked(n: usize, rows: &[usize], part: Part) -> Vec<Part> {
    let mut parts = vec![Part::Train; n];
    rows.iter().for_each(|&row| parts[row] = part);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus(labels: &[(&str, usize)]) -> Counts {
        let documents: Vec<(Vec<String>, Vec<&str>)> = labels
            .iter()
            .flat_map(|&(label, n)| (0..n).map(move |i| (vec![format!("{label}{i}")], vec![label])))
            .collect();
        let mut counts = Counts::from_rows(&documents);
        counts.dates = (0..counts.len()).map(|i| Some(format!("{:04}", (i * 37) % 1000))).collect();
        counts
    }

    fn of(counts: &Counts, parts: &[Part], part: Part, label: u32) -> usize {
        (0..counts.len()).filter(|&r| parts[r] == part && counts.assignments.row_indices(r) == [label]).count()
    }

    #[test]
    fn labels_are_spread_by_their_shares() {
        let counts = corpus(&[("a", 100), ("b", 40), ("c", 10), ("d", 1)]);
        let parting = Parting { test: 0.2, validation: 0.1, by: PartBy::Labels, seed: 1 };
        let parts = parting.parts(&counts).unwrap();
        for (label, [train, validation, test]) in [(0, [70, 10, 20]), (1, [28, 4, 8]), (2, [7, 1, 2]), (3, [1, 0, 0])] {
            let found = [Part::Train, Part::Validation, Part::Test].map(|part| of(&counts, &parts, part, label));
            assert_eq!(found, [train, validation, test], "label {label}");
        }
        assert_eq!(parting.parts(&counts).unwrap(), parts, "the same seed, the same parts");
        assert_ne!(Parting { seed: 2, ..parting }.parts(&counts).unwrap(), parts);
    }

    #[test]
    fn the_newest_are_the_test_part() {
        let counts = corpus(&[("a", 30), ("b", 20)]);
        let parts = Parting { test: 0.3, validation: 0.2, by: PartBy::Date, seed: 1 }.parts(&counts).unwrap();
        let dates = |part| {
            let of_part = counts.dates.iter().zip(&parts).filter(move |(_, p)| **p == part);
            of_part.map(|(date, _)| date.clone().unwrap()).collect::<Vec<_>>()
        };
        let [train, validation, test] = [Part::Train, Part::Validation, Part::Test].map(dates);
        assert_eq!([train.len(), validation.len(), test.len()], [25, 10, 15]);
        assert!(train.iter().max() < validation.iter().min() && validation.iter().max() < test.iter().min());
    }

    #[test]
    fn groups_stay_together() {
        let counts = corpus(&[("a", 60), ("b", 40)]);
        let names: Vec<String> = (0..100).map(|i| format!("author {}", i % 17)).collect();
        let by = PartBy::Group(names.clone());
        let parts = Parting { test: 0.2, validation: 0.2, by, seed: 3 }.parts(&counts).unwrap();
        for part in [Part::Train, Part::Validation, Part::Test] {
            let size = parts.iter().filter(|p| **p == part).count();
            assert!((10..70).contains(&size), "{part:?}: {size}");
        }
        for (a, b) in (0..100).flat_map(|a| (0..a).map(move |b| (a, b))) {
            assert!(names[a] != names[b] || parts[a] == parts[b]);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let counts = corpus(&[("a", 3)]);
        for (test, validation) in [(0.0, 0.1), (1.0, 0.0), (0.5, 0.5), (-0.1, 0.0), (f64::NAN, 0.0)] {
            assert!(Parting { test, validation, by: PartBy::Labels, seed: 1 }.parts(&counts).is_err());
        }
    }
}
