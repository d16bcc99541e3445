//! A table of costs: what an answer costs where another label is right.

use std::path::Path;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::hierarchy::Taxonomy;
use crate::whole::{MAX_TAXONOMY, read_text};
use crate::{Error, Result};

/// What answers cost. A right answer costs 0 and a wrong one 1 where the table says nothing. Its file has lines of answer, truth and cost,
/// separated by tabs; `*` stands for every label, and an answer `-` for none. What names both labels wins over `answer *`,
/// and that over `* truth`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CostTable {
    /// Answer, truth, cost; [`CostTable::ANY`] for any, [`CostTable::NONE`] for no answer. Ascending, each pair once.
    rows: Vec<(u32, u32, f64)>,
}

impl CostTable {
    /// Stands for every label.
    pub const ANY: u32 = u32::MAX;
    /// Stands for no answer.
    pub const NONE: u32 = u32::MAX - 1;

    /// Reads a table whose labels are nodes of the taxonomy.
    pub fn open(path: &Path, taxonomy: &Taxonomy) -> Result<Self> {
        let text = read_text(path, "a table of costs", MAX_TAXONOMY)?;
        Self::read(&text, path, taxonomy)
    }

    /// The same from text; `path` is for messages.
    pub fn read(text: &str, path: &Path, taxonomy: &Taxonomy) -> Result<Self> {
        let mut rows = Vec::new();
        for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1u64..) {
            let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
            if line.trim().is_empty()
                || (line.starts_with('#') && fields.len() == 1)
                || fields == ["answer", "truth", "cost"]
            {
                continue;
            }
            let &[answer, truth, cost] = fields.as_slice() else {
                return Err(Error::malformed(path, number, "expected answer, truth and cost, separated by tabs"));
            };
            let node = |name: &str| match name {
                "*" => Ok(Self::ANY),
                _ => taxonomy.find(name).map_err(|e| Error::malformed(path, number, e.to_string())),
            };
            let answer = if answer == "-" { Self::NONE } else { node(answer)? };
            let cost: f64 =
                cost.parse().ok().filter(|c: &f64| c.is_finite() && *c >= 0.0).ok_or_else(|| {
                    Error::malformed(path, number, format!("{cost:?} is no cost: a number of 0 or more"))
                })?;
            rows.push((answer, node(truth)?, cost));
        }
        rows.sort_by_key(|&(answer, truth, _)| (answer, truth));
        if let Some(twice) = rows.windows(2).find(|w| (w[0].0, w[0].1) == (w[1].0, w[1].1)) {
            let name = |n: u32| {
                if n < Self::NONE {
                    taxonomy.id(n)
                } else if n == Self::ANY {
                    "*"
                } else {
                    "-"
                }
            };
            let reason = format!("the cost of {} where {} is right is given twice", name(twice[0].0), name(twice[0].1));
            return Err(Error::data(format!("{}: {reason}", path.display())));
        }
        Ok(Self { rows })
    }

    pub(super) fn validate(&self, nodes: usize) -> Result<()> {
        let known = |n: u32| (n as usize) < nodes || n >= Self::NONE;
        let ascends = self.rows.windows(2).all(|w| (w[0].0, w[0].1) < (w[1].0, w[1].1));
        if ascends && self.rows.iter().all(|&(a, t, c)| known(a) && known(t) && t != Self::NONE && c.is_finite()) {
            return Ok(());
        }
        Err(Error::data("the table of costs is about other labels"))
    }

    /// What an answer costs where a label is right; `None` is no answer.
    pub fn cost(&self, answer: Option<u32>, truth: u32) -> f64 {
        let answer = answer.unwrap_or(Self::NONE);
        let said = |a: u32, t: u32| {
            let at = self.rows.binary_search_by_key(&(a, t), |&(a, t, _)| (a, t)).ok()?;
            Some(self.rows[at].2)
        };
        said(answer, truth)
            .or_else(|| said(answer, Self::ANY))
            .or_else(|| said(Self::ANY, truth).filter(|_| answer != truth))
            .unwrap_or(f64::from(u8::from(answer != truth)))
    }

    /// The answer of the least expected cost, `labels` being the probabilities that a document ends there: a node that is possible,
    /// one that the table names, or none. Of equals the more probable node, then the first.
    pub(super) fn cheapest(&self, taxonomy: &Taxonomy, labels: &[f64], nodes: &[f64]) -> Option<u32> {
        let truths: Vec<(u32, f64)> =
            labels.iter().zip(0u32..).filter(|(p, _)| **p > 1e-9).map(|(&p, label)| (label, p)).collect();
        let mut candidates: Vec<u32> = taxonomy.closure(truths.iter().map(|t| t.0));
        candidates.extend(self.rows.iter().map(|row| row.0).filter(|&a| a < Self::NONE));
        candidates.sort_unstable();
        candidates.dedup();
        let mut memory: FxHashMap<Option<u32>, f64> = FxHashMap::default();
        let mut expected = |answer: Option<u32>| {
            *memory.entry(answer).or_insert_with(|| truths.iter().map(|&(t, p)| p * self.cost(answer, t)).sum::<f64>())
        };
        let silent = self.rows.iter().any(|row| row.0 == Self::NONE).then(|| expected(None));
        let mut best: Option<(f64, f64, u32)> = None;
        for node in candidates {
            let (cost, q) = (expected(Some(node)), nodes[node as usize]);
            if best.is_none_or(|(least, most, _)| cost < least || (cost == least && q > most)) {
                best = Some((cost, q, node));
            }
        }
        best.filter(|(cost, ..)| silent.is_none_or(|silent| *cost <= silent)).map(|(.., node)| node)
    }
}
