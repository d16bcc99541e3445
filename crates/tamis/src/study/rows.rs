//! What a study writes: one line of JSON for each result.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::counts::Counts;
use crate::counts::Split;
use crate::features::Size;
use crate::features::search::Ended;
use crate::measure::Measure;
use crate::measure::simulation::Judged;

/// Something for each measure, in the order of the plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Values<T>(pub Vec<(Measure, T)>);

impl<T> Values<T> {
    /// What there is for a measure.
    pub fn get(&self, measure: Measure) -> Option<&T> {
        self.0.iter().find(|(m, _)| *m == measure).map(|(_, value)| value)
    }
}

impl<T: Serialize> Serialize for Values<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (measure, value) in &self.0 {
            map.serialize_entry(measure, value)?;
        }
        map.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Values<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
            type Value = Values<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("values by measure")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Values<T>, A::Error> {
                let mut values = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    values.push(entry);
                }
                Ok(Values(values))
            }
        }
        deserializer.deserialize_map(InOrder(std::marker::PhantomData))
    }
}

/// One line of a study's rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "row", rename_all = "lowercase")]
pub enum Row {
    /// A split and what it leaves to learn from.
    Split(SplitRow),
    /// What terms a selector prefers on a split.
    Profile(ProfileRow),
    /// A classifier with so many terms of a selector on a split.
    Result(ResultRow),
    /// A simulated set.
    Set(SetRow),
    /// Thresholds of a pipeline.
    Pipeline(PipelineRow),
    /// Utilities of a pipeline against one threshold.
    Utilities(UtilityRow),
}

/// A split and what it leaves to learn from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SplitRow {
    /// Counted from 1.
    pub split: u32,
    /// Training documents.
    pub train: usize,
    /// Test documents.
    pub test: usize,
    /// Terms in training documents.
    pub terms: usize,
    /// Labels with a training document.
    pub labels: usize,
    /// Labels of test documents that no training document has: they cannot be found.
    pub untrained: Vec<String>,
    /// Test documents that carry one of those.
    pub untrained_documents: usize,
}

/// What terms a selector prefers: means over its first terms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileRow {
    /// Counted from 1.
    pub split: u32,
    /// The selector.
    pub selector: String,
    /// How many of its terms were looked at.
    pub terms: usize,
    /// For each score of the plan's profile its name and the mean, min-max normalised.
    pub means: Vec<(String, f64)>,
}

/// How a search went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchNote {
    /// The criterion's value of the subset found.
    pub value: f64,
    /// Swings made.
    pub swings: u64,
    /// Subsets compared.
    pub evaluations: u64,
    /// Why it ended.
    pub ended: Ended,
}

/// One result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultRow {
    /// Counted from 1.
    pub split: u32,
    /// The classifier.
    pub classifier: String,
    /// The selector, as in the plan.
    pub selector: String,
    /// The size asked for.
    pub size: Size,
    /// The features there were: fewer than asked for when the selector has no more.
    pub features: usize,
    /// The threshold.
    pub threshold: String,
    /// λ learned for `wfo(auto)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// n of `rcut(best)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u32>,
    /// How a search went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchNote>,
    /// Measures; null where one does not apply.
    pub values: Values<Option<f64>>,
    /// Quotients 0/0 that were taken as 0 (method 8).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub zero_divisions: u64,
    /// Each test document's values, on request; documents that take no part in a measure are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<Values<Vec<f64>>>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for a reference
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// A simulated set judged for two classifiers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetRow {
    /// Counted from 1.
    pub set: u32,
    /// The first classifier.
    pub a: Judged,
    /// The second.
    pub b: Judged,
}

/// Thresholds selected along a pipeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PipelineRow {
    /// Counted from 1.
    pub split: u32,
    /// Its labels, root first.
    pub pipeline: String,
    /// Documents that thresholds were selected on.
    pub documents: usize,
    /// Those of the pipeline's end among them.
    pub positives: usize,
    /// Positives to negatives.
    pub imbalance: String,
    /// How thresholds were selected.
    pub method: String,
    /// Thresholds, root first.
    pub thresholds: Vec<f64>,
    /// F1 on the documents they were selected on.
    pub utility: f64,
    /// F1 on other documents.
    pub check: f64,
    /// Utilities computed, as the method's pseudo-code counts them.
    pub evaluations: u64,
    /// The same for the deepest level, the deepest two and so on, on the balanced set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<u64>,
    /// tsa: share of the grid's steps that a repair of each level makes, root first (ρ of addis 4).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub visited: Vec<f64>,
    /// How many documents each negative stands for: 1 unless there were too few for the imbalance.
    pub negative_weight: f64,
    /// Whether nothing better exists.
    pub proven: bool,
}

/// Precision, recall and F1 of a pipeline against the threshold of its last level, the others at 0, on the balanced set
/// (addis figure 2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UtilityRow {
    /// Counted from 1.
    pub split: u32,
    /// Its labels, root first.
    pub pipeline: String,
    /// The thresholds.
    pub at: Vec<f64>,
    /// Precision at each.
    pub precision: Vec<f64>,
    /// Recall at each.
    pub recall: Vec<f64>,
    /// F1 at each.
    pub f1: Vec<f64>,
    /// F1 that TSA reaches by raising this threshold alone.
    pub reached: f64,
    /// The best F1 that this threshold alone can give.
    pub best: f64,
}

impl SplitRow {
    /// Describes a split, counted from 1.
    pub(super) fn of(number: u32, split: &Split, counts: &Counts) -> Self {
        let mut trained = vec![false; counts.labels.len()];
        let mut terms = vec![false; counts.vocabulary.len()];
        for &row in &split.train {
            counts.assignments.row_indices(row).iter().for_each(|&l| trained[l as usize] = true);
            counts.matrix.row_indices(row).iter().for_each(|&t| terms[t as usize] = true);
        }
        let mut missing = vec![false; trained.len()];
        let mut untrained_documents = 0;
        for &row in &split.test {
            let labels = counts.assignments.row_indices(row);
            labels.iter().filter(|l| !trained[**l as usize]).for_each(|&l| missing[l as usize] = true);
            untrained_documents += usize::from(labels.iter().any(|&l| !trained[l as usize]));
        }
        let count = |flags: &[bool]| flags.iter().filter(|f| **f).count();
        let name = |(label, _): (usize, &bool)| counts.labels.name(label as u32).to_owned();
        Self {
            split: number,
            train: split.train.len(),
            test: split.test.len(),
            terms: count(&terms),
            labels: count(&trained),
            untrained: missing.iter().enumerate().filter(|(_, missing)| **missing).map(name).collect(),
            untrained_documents,
        }
    }
}

impl Row {
    /// The line, with its end.
    pub(super) fn line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("names and finite numbers can be written as JSON");
        line.push('\n');
        line
    }
}

/// How long something took. Times are kept apart from rows, which are the same on every machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Timing {
    /// Split, counted from 1.
    pub split: u32,
    /// `unit`, `search`, `lambda`, or a method that selects thresholds.
    pub what: String,
    /// Classifier, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classifier: Option<String>,
    /// Selector, or pipeline, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Levels of a pipeline, from the deepest up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// Size, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// Classifications, where there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classifications: Option<u64>,
    /// Seconds.
    pub seconds: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back_the_same() {
        let measures = |names: &[&str]| names.iter().map(|n| n.parse().unwrap()).collect::<Vec<Measure>>();
        let [f1, rprec] = measures(&["F1@micro", "RPrec"])[..] else { panic!() };
        let row = Row::Result(ResultRow {
            split: 2,
            classifier: "knn".into(),
            selector: "lr(chi2max,chi2avg)@1".into(),
            size: Size::All,
            features: 17,
            threshold: "rcut(best)".into(),
            lambda: None,
            n: Some(3),
            search: None,
            values: Values(vec![(rprec, Some(0.1 + 0.2)), (f1, None)]),
            zero_divisions: 0,
            documents: None,
        });
        let line = row.line();
        assert_eq!(
            line,
            "{\"row\":\"result\",\"split\":2,\"classifier\":\"knn\",\"selector\":\"lr(chi2max,chi2avg)@1\",\
             \"size\":\"all\",\"features\":17,\"threshold\":\"rcut(best)\",\"n\":3,\
             \"values\":{\"RPrec\":0.30000000000000004,\"F1@micro\":null}}\n"
        );
        assert_eq!(serde_json::from_str::<Row>(&line).unwrap(), row);
    }
}
