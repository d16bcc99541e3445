//! Rows → curves: methods that can be compared, because they were judged alike on the same documents.

use std::collections::BTreeMap;

use super::plan::{Decision, Grid};
use super::rows::{ResultRow, Row};
use crate::features::{Kind, Selector, Size};
use crate::measure::curve::SizeCurve;
use crate::measure::{Family, Measure};

/// What the values of a curve are over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// One value a split.
    Splits,
    /// One value a test document, of the only split.
    Documents,
}

/// A selector's quality by size.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The selector.
    pub selector: String,
    /// The sizes it was run at.
    pub sizes: Vec<Size>,
    /// Mean number of features at each size.
    pub features: Vec<f64>,
    /// By size, then split or document. Turned around for losses, so that larger is better.
    pub values: Vec<Vec<f64>>,
}

impl Curve {
    /// Mean at a size.
    pub fn mean(&self, size: usize) -> f64 {
        self.values[size].iter().sum::<f64>() / self.values[size].len().max(1) as f64
    }

    /// Number of the size with the best mean, the smallest among equals.
    pub fn peak(&self) -> usize {
        (1..self.sizes.len()).fold(0, |best, i| if self.mean(i) > self.mean(best) { i } else { best })
    }

    /// The curve over numbers of features, without sizes that are no larger than the one before (there were no more
    /// terms).
    pub fn by_features(&self) -> Option<SizeCurve> {
        let mut kept: Vec<usize> = Vec::new();
        for i in 0..self.sizes.len() {
            if self.features[i].round() >= 1.0
                && kept.last().is_none_or(|&last| self.features[i].round() > self.features[last].round())
            {
                kept.push(i);
            }
        }
        let sizes = kept.iter().map(|&i| self.features[i].round() as u64).collect();
        SizeCurve::new(sizes, kept.iter().map(|&i| self.values[i].clone()).collect()).ok()
    }

    /// What is compared when methods are compared as wholes: the best value of each split (olsson figure 8), or each
    /// document's value at the best size.
    pub fn bests(&self, over: Over) -> Vec<f64> {
        match over {
            Over::Documents => self.values[self.peak()].clone(),
            Over::Splits => {
                let splits = self.values.first().map_or(0, Vec::len);
                let best = |s: usize| self.values.iter().map(|v| v[s]).fold(f64::NEG_INFINITY, f64::max);
                (0..splits).map(best).collect()
            }
        }
    }

    /// Whether it is a combination of selectors.
    pub fn is_combination(&self) -> bool {
        self.selector.parse::<Selector>().is_ok_and(|s| matches!(s.kind(), Kind::Combine(_)))
    }

    /// The cut written on the selector, and the selector without it.
    pub fn without_cut(&self) -> (Option<u32>, String) {
        match self.selector.parse::<Selector>() {
            Ok(selector) => (selector.cut(), selector.with_cut(None).to_string()),
            Err(_) => (None, self.selector.clone()),
        }
    }
}

/// Methods judged alike: one classifier, one threshold, one measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Arena {
    /// The classifier.
    pub classifier: String,
    /// The threshold.
    pub threshold: String,
    /// The measure.
    pub measure: Measure,
    /// What values are over.
    pub over: Over,
    /// The methods, in plan order, without the baseline.
    pub curves: Vec<Curve>,
    /// The plan's baseline.
    pub baseline: Option<Curve>,
}

impl Arena {
    /// A heading.
    pub fn title(&self) -> String {
        if self.threshold == "none" || self.measure.family() == Family::Ranked {
            format!("{} with {}", self.measure, self.classifier)
        } else {
            format!("{} with {} and {}", self.measure, self.classifier, self.threshold)
        }
    }

    /// A short name for files.
    pub fn slug(&self) -> String {
        let name = format!("{}-{}", self.classifier, self.measure);
        name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect::<String>().replace("--", "-")
    }

    /// Numbers of the curves, best peak first.
    pub fn ranking(&self) -> Vec<usize> {
        let peaks: Vec<f64> = self.curves.iter().map(|c| c.mean(c.peak())).collect();
        let mut order: Vec<usize> = (0..self.curves.len()).collect();
        order.sort_by(|&a, &b| peaks[b].total_cmp(&peaks[a]));
        order
    }

    /// Numbers of the best curves, at most so many, in plan order.
    pub fn best(&self, most: usize) -> Vec<usize> {
        let mut best: Vec<usize> = self.ranking().into_iter().take(most).collect();
        best.sort_unstable();
        best
    }

    /// A value as the measure has it: losses are turned around inside.
    pub fn shown(&self, value: f64) -> f64 {
        if self.measure.higher_is_better() { value } else { -value }
    }

    /// The values that a method is held against at each size: the plan's baseline, or all features of the same method.
    pub fn reference<'a>(&'a self, curve: &'a Curve) -> Option<&'a [f64]> {
        match &self.baseline {
            Some(baseline) => baseline.values.first().map(Vec::as_slice),
            None => curve.sizes.iter().position(|s| *s == Size::All).map(|at| curve.values[at].as_slice()),
        }
    }
}

/// All arenas of a study. Sizes that not every split has (the study is not finished) are left out.
pub fn arenas(grid: &Grid, rows: &[Row]) -> Vec<Arena> {
    let results: Vec<&ResultRow> =
        rows.iter().filter_map(|row| if let Row::Result(result) = row { Some(result) } else { None }).collect();
    let splits = results.iter().map(|r| r.split).max().unwrap_or(0);
    let mut by_place: BTreeMap<(&str, &str, &str, Size), Vec<&ResultRow>> = BTreeMap::new();
    for row in results {
        by_place.entry((&row.classifier, &row.threshold, &row.selector, row.size)).or_default().push(row);
    }
    by_place.retain(|_, rows| rows.len() == splits as usize);
    let mut arenas = Vec::new();
    for classifier in grid.classifiers.iter().map(ToString::to_string) {
        for &measure in &grid.measures {
            // A ranked measure is the same under every threshold: once is enough.
            let first = usize::from(measure.family() == Family::Ranked);
            let thresholds = if first == 1 { &grid.thresholds[..1] } else { &grid.thresholds[..] };
            for decision in thresholds.iter().filter(|d| d.gives(measure)) {
                let place = Place { by_place: &by_place, classifier: &classifier, decision: *decision, measure };
                arenas.extend(place.arena(grid));
            }
        }
    }
    arenas
}

struct Place<'a> {
    by_place: &'a BTreeMap<(&'a str, &'a str, &'a str, Size), Vec<&'a ResultRow>>,
    classifier: &'a str,
    decision: Decision,
    measure: Measure,
}

impl Place<'_> {
    fn arena(&self, grid: &Grid) -> Option<Arena> {
        let threshold = self.decision.to_string();
        let over = if grid.splits.count() == 1 && grid.documents && self.has_documents() {
            Over::Documents
        } else {
            Over::Splits
        };
        let curve = |selector: &Selector, sizes: &[Size]| self.curve(&threshold, selector, sizes, over);
        let curves: Vec<Curve> = grid.selectors.iter().filter_map(|s| curve(s, &grid.sizes)).collect();
        let baseline = grid.baseline.as_ref().and_then(|b| curve(&b.selector, &[b.size]));
        (!curves.is_empty()).then(|| Arena {
            classifier: self.classifier.to_owned(),
            threshold: threshold.clone(),
            measure: self.measure,
            over,
            curves,
            baseline,
        })
    }

    fn has_documents(&self) -> bool {
        let given = |rows: &Vec<&ResultRow>| {
            rows[0].documents.as_ref().is_some_and(|documents| documents.get(self.measure).is_some())
        };
        self.by_place.values().any(given)
    }

    fn curve(&self, threshold: &str, selector: &Selector, sizes: &[Size], over: Over) -> Option<Curve> {
        let selector = selector.to_string();
        let mut curve = Curve { selector: selector.clone(), sizes: vec![], features: vec![], values: vec![] };
        let sign = if self.measure.higher_is_better() { 1.0 } else { -1.0 };
        for &size in sizes {
            let Some(rows) = self.by_place.get(&(self.classifier, threshold, selector.as_str(), size)) else {
                continue;
            };
            let values: Option<Vec<f64>> = match over {
                Over::Splits => rows.iter().map(|row| row.values.get(self.measure).copied().flatten()).collect(),
                Over::Documents => rows[0].documents.as_ref().and_then(|d| d.get(self.measure).cloned()),
            };
            if let Some(values) = values {
                curve.sizes.push(size);
                curve.features.push(rows.iter().map(|r| r.features as f64).sum::<f64>() / rows.len() as f64);
                curve.values.push(values.into_iter().map(|v| sign * v).collect());
            }
        }
        (!curve.sizes.is_empty()).then_some(curve)
    }
}
