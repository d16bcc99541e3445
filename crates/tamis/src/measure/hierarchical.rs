//! Hierarchical precision, recall and F_β: ancestors are added to decided and true labels before they are compared.
//!
//! Kiritchenko, Matwin & Famili 2005; method 8 and 10 (a document of a node is also a document of its ancestors).

use serde::{Deserialize, Serialize};

use super::{Beta, assignment::Tally};
use crate::{Error, Result};

/// The ancestors of every label, ready for quick union. Built once from a taxonomy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ancestry {
    offsets: Vec<usize>,
    ancestors: Vec<u32>,
}

impl Ancestry {
    /// From the parent of each label; roots have none. Fails on a parent out of range and on a cycle.
    pub fn from_parents(parents: &[Option<u32>]) -> Result<Self> {
        let bad = |label: usize, reason: String| Error::data(format!("taxonomy: label number {label} {reason}"));
        for (label, parent) in parents.iter().enumerate() {
            if let Some(p) = parent
                && *p as usize >= parents.len()
            {
                return Err(bad(label, format!("has the parent {p}, but there are {} labels", parents.len())));
            }
        }
        let mut ancestry = Self { offsets: vec![0], ancestors: Vec::new() };
        for label in 0..parents.len() {
            let begin = ancestry.ancestors.len();
            let mut at = parents[label];
            while let Some(p) = at {
                if ancestry.ancestors.len() - begin >= parents.len() {
                    return Err(bad(label, "is its own ancestor".into()));
                }
                ancestry.ancestors.push(p);
                at = parents[p as usize];
            }
            ancestry.close(begin);
        }
        Ok(ancestry)
    }

    /// From any function that lists the ancestors of a label, in any order.
    pub fn from_fn<I: IntoIterator<Item = u32>>(labels: usize, mut ancestors_of: impl FnMut(u32) -> I) -> Self {
        let mut ancestry = Self { offsets: vec![0], ancestors: Vec::new() };
        for label in 0..labels {
            let begin = ancestry.ancestors.len();
            ancestry.ancestors.extend(ancestors_of(label as u32));
            ancestry.close(begin);
        }
        ancestry
    }

    fn close(&mut self, begin: usize) {
        self.ancestors[begin..].sort_unstable();
        self.offsets.push(self.ancestors.len());
    }

    /// Ancestors of a label, ascending; none for a label the taxonomy does not know.
    pub fn of(&self, label: u32) -> &[u32] {
        match (self.offsets.get(label as usize), self.offsets.get(label as usize + 1)) {
            (Some(&from), Some(&to)) => &self.ancestors[from..to],
            _ => &[],
        }
    }

    /// Writes the labels and all their ancestors into `out`, ascending without repetition.
    pub fn close_under(&self, labels: &[u32], out: &mut Vec<u32>) {
        out.clear();
        for &label in labels {
            out.push(label);
            out.extend_from_slice(self.of(label));
        }
        out.sort_unstable();
        out.dedup();
    }
}

/// Sums over documents for `hP`, `hR` and `hF_β`. Sums add.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HierarchicalTally(pub Tally);

impl HierarchicalTally {
    /// Counts one document; `buffers` are reused memory.
    pub fn of(ancestry: &Ancestry, decided: &[u32], truth: &[u32], buffers: &mut (Vec<u32>, Vec<u32>)) -> Self {
        ancestry.close_under(decided, &mut buffers.0);
        ancestry.close_under(truth, &mut buffers.1);
        Self(Tally::of(&buffers.0, &buffers.1))
    }

    /// `hP = Σ|D̂∩T̂| / Σ|D̂|`; `None` for 0/0.
    pub fn precision(&self) -> Option<f64> {
        self.0.precision()
    }

    /// `hR = Σ|D̂∩T̂| / Σ|T̂|`; `None` for 0/0.
    pub fn recall(&self) -> Option<f64> {
        self.0.recall()
    }

    /// `hF_β`; `None` for 0/0.
    pub fn f(&self, beta: Beta) -> Option<f64> {
        self.0.f(beta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Root 0 with children 1, 2; 3 below 1; 4 below 2. The document is of 3, decided is its sibling's branch 4 or
    /// its parent: nearer mistakes cost less.
    #[test]
    fn near_misses_cost_less() {
        let ancestry = Ancestry::from_parents(&[None, Some(0), Some(0), Some(1), Some(2)]).unwrap();
        assert_eq!(ancestry.of(3), [0, 1]);
        let mut buffers = Default::default();
        let mut f = |decided: &[u32]| HierarchicalTally::of(&ancestry, decided, &[3], &mut buffers);
        assert_eq!(f(&[3]).f(Beta::ONE), Some(1.0));
        assert_eq!((f(&[1]).precision(), f(&[1]).recall()), (Some(1.0), Some(2.0 / 3.0)));
        assert_eq!((f(&[4]).precision(), f(&[4]).recall()), (Some(1.0 / 3.0), Some(1.0 / 3.0)));
        assert_eq!(f(&[]).precision(), None);
    }

    #[test]
    fn closures_and_parents_agree() {
        let parents = [None, Some(0), Some(1), None, Some(3)];
        let listed = [vec![], vec![0], vec![1, 0], vec![], vec![3]];
        let by_fn = Ancestry::from_fn(5, |label| listed[label as usize].clone());
        assert_eq!(Ancestry::from_parents(&parents).unwrap(), by_fn);
        assert_eq!(by_fn.of(77), [0u32; 0]);
    }

    #[test]
    fn cycles_and_strange_parents_are_refused() {
        assert!(Ancestry::from_parents(&[Some(1), Some(0)]).is_err());
        assert!(Ancestry::from_parents(&[Some(0)]).is_err());
        assert!(Ancestry::from_parents(&[Some(5)]).is_err());
    }
}
