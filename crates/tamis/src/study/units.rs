//! A study cut into units of work, in plan order: what is finished is known by the unit.

use std::ops::Range;

use super::plan::{Grid, Method};
use crate::classify::ClassifierSpec;
use crate::counts::Split;

/// A piece of work whose rows are written together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    /// Which split, counted from 0.
    pub(super) split: usize,
    pub(super) kind: UnitKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UnitKind {
    /// The split itself, and the profile of its selectors.
    Split,
    /// Methods with a classifier, both by number.
    Methods { classifier: usize, methods: Range<usize> },
}

/// Classifications in a unit: some seconds of work, so that little is lost when a study is killed.
const CLASSIFICATIONS: usize = 16_000_000;

/// All units of a study. They depend on the plan and the corpus alone.
pub(super) fn units(grid: &Grid, methods: &[Method], splits: &[Split]) -> Vec<Unit> {
    let mut units = Vec::new();
    for (number, split) in splits.iter().enumerate() {
        units.push(Unit { split: number, kind: UnitKind::Split });
        for (classifier, spec) in grid.classifiers.iter().enumerate() {
            let mut first = 0;
            while first < methods.len() {
                let last = first + group(spec, &methods[first..], split.test.len());
                units.push(Unit { split: number, kind: UnitKind::Methods { classifier, methods: first..last } });
                first = last;
            }
        }
    }
    units
}

/// How many of the methods go together: neighbours of many rankings are found in one pass; a search, and a λ to learn,
/// take long enough alone.
fn group(classifier: &ClassifierSpec, methods: &[Method], documents: usize) -> usize {
    if !matches!(classifier, ClassifierSpec::Knn(_)) || !methods[0].is_ranked() {
        return 1;
    }
    let mut classifications = 0;
    let fits = |method: &&Method| {
        classifications += documents * method.sizes.len();
        method.is_ranked() && classifications <= CLASSIFICATIONS
    };
    methods.iter().take_while(fits).count().max(1)
}

impl Unit {
    /// How many rows it gives.
    pub(super) fn rows(&self, grid: &Grid, methods: &[Method]) -> usize {
        match &self.kind {
            UnitKind::Split => 1 + grid.profiled().count(),
            UnitKind::Methods { methods: range, .. } => {
                methods[range.clone()].iter().map(|m| m.sizes.len()).sum::<usize>() * grid.thresholds.len()
            }
        }
    }

    /// Ranked lists it makes of its test documents, and of training documents to tune thresholds.
    pub(super) fn classifications(&self, grid: &Grid, methods: &[Method], split: &Split) -> u64 {
        let UnitKind::Methods { methods: range, .. } = &self.kind else { return 0 };
        let sizes: usize = methods[range.clone()].iter().map(|m| m.sizes.len()).sum();
        let tuning = if grid.needs_tuning() { split.train.len() } else { 0 };
        (sizes * (split.test.len() + tuning)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::BuiltIn;

    #[test]
    fn every_method_is_in_one_unit() {
        let plan = BuiltIn::find("olsson-preliminary").unwrap().plan().unwrap();
        let grid = plan.grid().unwrap();
        let methods = grid.methods();
        let split = |n: usize| Split { train: (0..n).collect(), test: (0..4 * n).collect() };
        for documents in [10, 4630] {
            let units = units(grid, &methods, &[split(documents), split(documents)]);
            let mut next = 0;
            for unit in units.iter().filter(|u| u.split == 1) {
                if let UnitKind::Methods { methods, .. } = &unit.kind {
                    assert_eq!(methods.start, next);
                    next = methods.end;
                }
            }
            assert_eq!(next, methods.len());
            let all: u64 = units.iter().map(|u| u.classifications(grid, &methods, &split(documents))).sum();
            assert_eq!(all, 2 * 177 * 13 * 4 * documents as u64);
            let rows: usize = units.iter().map(|u| u.rows(grid, &methods)).sum();
            assert_eq!(rows, 2 * (1 + 177 * 13));
        }
    }
}
