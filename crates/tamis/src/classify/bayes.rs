//! Multinomial naive Bayes (method 7, novovicova 5.3), alone and for many nested feature sets at once.

use std::fmt;
use std::str::FromStr;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::arguments::{arguments, number, spelled};
use super::linear::finish;
use super::{Linear, LinearParts, Outputs, Problem, Query, Scored, Scratch, Weighter, Weighting, Weights};
use crate::counts::{Contingency, Csr};
use crate::features::WordPrior;
use crate::{Error, Result};

/// What the classes are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BayesMulti {
    /// All labels compete; the scores are log posteriors that add up to probability 1.
    #[default]
    Joint,
    /// Each label against all documents without it; the score is the log probability of the label, so a document
    /// may have several likely labels, or none.
    Ovr,
}

/// Options of Bayes. Its name is `bayes`, `bayes(multi=ovr)` or `bayes(prior=100)`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BayesOptions {
    /// What the classes are.
    pub multi: BayesMulti,
    /// Weight `m` of word priors (method 5); without one, every word has one more occurrence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior: Option<f64>,
}

impl fmt::Display for BayesOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prior = self.prior.unwrap_or_default();
        let arguments: [(&str, &dyn fmt::Display, bool); 2] =
            [("multi", &"ovr", self.multi == BayesMulti::Joint), ("prior", &prior, self.prior.is_none())];
        f.write_str(&spelled("bayes", &arguments))
    }
}

impl FromStr for BayesOptions {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut options = Self::default();
        for (key, value) in arguments(text, "bayes", &["multi", "prior"])? {
            match (key, value) {
                ("multi", "joint") => options.multi = BayesMulti::Joint,
                ("multi", "ovr") => options.multi = BayesMulti::Ovr,
                ("multi", _) => return Err(Error::unknown("way of using classes", value, ["joint", "ovr"])),
                _ => options.prior = Some(number(key, value)?),
            }
        }
        options.check()?;
        Ok(options)
    }
}

impl BayesOptions {
    fn check(&self) -> Result<()> {
        self.prior.map_or(Ok(WordPrior::AddOne), |m| WordPrior::Weight(m).check()).map(|_| ())
    }

    /// Fits all features of a problem.
    ///
    /// `P(w|c) = (1 + N_wc)/(V + Σ_w N_wc)` over the `V` features, `P(c) = (1 + n_c)/Σ_c(1 + n_c)`; a document with several
    /// labels counts in each of them, and as often as its weight says. One-vs-rest: the same with the two classes "has the label" and "has not". Labels
    /// without a training document take no part. With word priors `P(w|c) = (N_wc + m·P(w)) / Σ_w (N_wc + m·P(w))`, `P(w)` being the share of `w` among all tokens of the
    /// training documents: what the estimate over all words is when only the selected ones are looked at.
    pub fn fit(&self, problem: &Problem) -> Result<Linear> {
        Self::linear(Tables::count(*self, problem)?, problem.labels())
    }

    /// The same from counts alone: what [`BayesOptions::fit`] learns from the documents that were counted, over the given terms,
    /// best first.
    pub fn fit_counts(&self, table: &Contingency, terms: &[u32]) -> Result<Linear> {
        Self::linear(Tables::of(*self, Sums::of_counts(table, terms)?)?, table.label_documents().len())
    }

    fn linear(tables: Tables, labels: usize) -> Result<Linear> {
        let features = tables.feature_totals.len();
        let every = tables.every(&tables.totals_at(&[features])[0]);
        Linear::from_parts(LinearParts {
            labels,
            weighter: tables.weighter,
            outputs: tables.outputs,
            weights: Weights::double(tables.weights),
            bias: tables.bias,
            every,
            common: tables.common,
        })
    }

    /// Fits every one of the given sizes, ascending: size `s` has the first `s` features.
    pub fn sweep(&self, problem: &Problem, sizes: &[usize]) -> Result<BayesSweep> {
        if let Some(at) = sizes.windows(2).position(|w| w[0] > w[1]) {
            return Err(Error::invalid("sizes", format!("{}, {}", sizes[at], sizes[at + 1]), "must ascend"));
        }
        let tables = Tables::count(*self, problem)?;
        let sizes: Vec<usize> = sizes.iter().map(|&s| s.min(problem.features())).collect();
        let every = tables.totals_at(&sizes).iter().map(|t| tables.every(t)).collect();
        Ok(BayesSweep { tables, sizes, every })
    }
}

/// Occurrences and logarithms, from which every size follows. The log of a smoothed probability is a sum of two: one of
/// the term's count, which no other term changes, and one of the class total, which grows from size to size. With `α_w` occurrences of a feature more (1, or
/// `m·P(w)`), `log(α_w + N) = log α_w + log(1 + N/α_w)`, of which the first part is the same for all classes and drops out.
#[derive(Debug, Clone)]
struct Tables {
    weighter: Weighter,
    outputs: Outputs,
    bias: Vec<f64>,
    /// Features × outputs, `N` in parts of `α_w`. Joint: `log(1 + N_wc)`. One-vs-rest: `log(1 + N_wc) − log(1 + N_w − N_wc) + log(1 + N_w)`.
    /// Both are 0 when term and label never meet.
    weights: Csr<f64>,
    /// One-vs-rest: `−log(1 + N_w)` for each feature. Joint: none.
    common: Vec<f64>,
    /// `α_w` of each feature.
    more: Vec<f64>,
    /// `N_wc`, features × outputs, and `N_w`: the class totals of a size are sums over its features.
    occurrences: Csr<f64>,
    feature_totals: Vec<f64>,
}

/// Occurrences of the features of a size in each class, and in all documents, and `Σ α_w`.
struct Totals {
    classes: Vec<f64>,
    all: f64,
    more: f64,
}

/// What Bayes learns from: numbers that add up.
struct Sums {
    /// Labels with documents.
    labels: Vec<u32>,
    /// Features × outputs: `N_wc`.
    occurrences: Csr<f64>,
    /// `N_w`.
    feature_totals: Vec<f64>,
    /// Documents, and those of each label.
    n: f64,
    n_c: Vec<f64>,
    /// Tokens of all documents.
    tokens: f64,
    mean_length: f64,
}

impl Sums {
    fn of_documents(problem: &Problem) -> Result<Self> {
        let members = problem.assignments.transpose();
        let labels: Vec<u32> =
            (0..problem.labels() as u32).filter(|&l| !members.row_indices(l as usize).is_empty()).collect();
        if labels.is_empty() {
            return Err(Error::data("no training document has a label, so there is nothing to learn"));
        }
        let features = problem.features();
        let rows: Vec<Vec<(u32, f64)>> = labels
            .par_iter()
            .map_init(|| vec![0.0; features], |dense, &l| occurrences(problem, members.row_indices(l as usize), dense))
            .collect();
        let mut by_label = Csr::new(features);
        for row in rows {
            by_label.push_row(row);
        }
        let occurrences = by_label.transpose();
        let mut feature_totals = vec![0.0; features];
        for row in 0..problem.documents() {
            let weight = problem.weight(row);
            for (feature, count) in problem.matrix.row(row) {
                feature_totals[feature as usize] += weight * f64::from(count);
            }
        }
        let weight = |rows: &mut dyn Iterator<Item = usize>| rows.map(|row| problem.weight(row)).sum::<f64>();
        let n = weight(&mut (0..problem.documents()));
        let of_label = |&l: &u32| weight(&mut members.row_indices(l as usize).iter().map(|&row| row as usize));
        let n_c: Vec<f64> = labels.iter().map(of_label).collect();
        let tokens: f64 =
            (0..problem.documents()).map(|row| problem.weight(row) * f64::from(problem.lengths[row])).sum();
        let mean_length = Weighter::fit(Weighting::Tf, problem).mean_length();
        Ok(Self { labels, occurrences, feature_totals, n, n_c, tokens, mean_length })
    }

    /// The same from counts alone, over the given terms.
    fn of_counts(table: &Contingency, terms: &[u32]) -> Result<Self> {
        let documents = table.label_documents();
        let labels: Vec<u32> = (0..documents.len() as u32).filter(|&l| documents[l as usize] > 0).collect();
        if labels.is_empty() {
            return Err(Error::data("no training document has a label, so there is nothing to learn"));
        }
        let mut occurrences = Csr::new(labels.len());
        for &term in terms {
            let row = table.meetings().row(term as usize);
            let output = |label: u32| labels.binary_search(&label).ok().map(|output| output as u32);
            occurrences.push_row(row.filter_map(|(label, m)| Some((output(label)?, f64::from(m.occurrences)))));
        }
        Ok(Self {
            occurrences,
            feature_totals: terms.iter().map(|&term| table.occurrences()[term as usize] as f64).collect(),
            n: table.documents() as f64,
            n_c: labels.iter().map(|&l| f64::from(documents[l as usize])).collect(),
            tokens: table.tokens() as f64,
            mean_length: Weighter::fit_counts(Weighting::Tf, table, terms).mean_length(),
            labels,
        })
    }
}

impl Tables {
    fn count(options: BayesOptions, problem: &Problem) -> Result<Self> {
        Self::of(options, Sums::of_documents(&*problem.counted()?)?)
    }

    fn of(options: BayesOptions, sums: Sums) -> Result<Self> {
        options.check()?;
        let Sums { labels, occurrences, feature_totals, n, n_c, tokens, mean_length } = sums;
        let features = feature_totals.len();
        let more: Vec<f64> = match options.prior {
            None => vec![1.0; features],
            Some(m) => feature_totals.iter().map(|total| m * total / tokens.max(1.0)).collect(),
        };
        // Whole numbers stay exact; of weights that are none, rounding may leave a little less than nothing.
        let log1 = |feature: usize, count: f64| {
            // A feature that no document has is met nowhere.
            if more[feature] == 0.0 { 0.0 } else { (1.0 + count.max(0.0) / more[feature]).ln() }
        };
        let (outputs, bias, weights, common);
        match options.multi {
            BayesMulti::Joint => {
                let all = (n_c.iter().sum::<f64>() + labels.len() as f64).ln();
                bias = n_c.iter().map(|n_c| (1.0 + n_c).ln() - all).collect();
                let mut logs = Csr::new(labels.len());
                for feature in 0..features {
                    logs.push_row(occurrences.row(feature).map(|(o, count)| (o, log1(feature, count))));
                }
                weights = logs;
                common = Vec::new();
                outputs = Outputs::Posteriors(labels);
            }
            BayesMulti::Ovr => {
                bias = n_c.iter().map(|n_c| (1.0 + n_c).ln() - (1.0 + n - n_c).ln()).collect();
                let mut odds = Csr::new(labels.len());
                for (feature, &total) in feature_totals.iter().enumerate() {
                    let row = occurrences.row(feature);
                    odds.push_row(row.map(|(o, count)| {
                        (o, log1(feature, count) - log1(feature, total - count) + log1(feature, total))
                    }));
                }
                weights = odds;
                common = feature_totals.iter().enumerate().map(|(feature, &total)| -log1(feature, total)).collect();
                outputs = Outputs::Odds(labels);
            }
        }
        // A feature that no training document has still is one of the V: it weighs like any other that a class lacks. Word priors know nothing of
        // it, and leave it out.
        let factors = more.iter().map(|more| f64::from(u8::from(*more > 0.0))).collect();
        let weighter = Weighter::from_parts(Weighting::Tf, factors, mean_length, Vec::new())?;
        Ok(Self { weighter, outputs, bias, weights, common, more, occurrences, feature_totals })
    }

    /// The totals of each size; sizes ascend.
    fn totals_at(&self, sizes: &[usize]) -> Vec<Totals> {
        let mut classes = vec![0.0; self.outputs.len()];
        let (mut all, mut more, mut done) = (0.0, 0.0, 0);
        let mut found = Vec::with_capacity(sizes.len());
        for &size in sizes {
            for feature in done..size {
                self.occurrences.row(feature).for_each(|(o, count)| classes[o as usize] += count);
                all += self.feature_totals[feature];
                more += self.more[feature];
            }
            done = done.max(size);
            found.push(Totals { classes: classes.clone(), all, more });
        }
        found
    }

    /// What every token of a selected feature adds to each output: `−log(Σ α + Σ N)`, less that of the other class for
    /// one-vs-rest.
    fn every(&self, totals: &Totals) -> Vec<f64> {
        if totals.more == 0.0 {
            return vec![0.0; self.outputs.len()];
        }
        let log = |total: f64| (totals.more + total.max(0.0)).ln();
        let odds = matches!(self.outputs, Outputs::Odds(_));
        totals
            .classes
            .iter()
            .map(|&total| if odds { log(totals.all - total) - log(total) } else { -log(total) })
            .collect()
    }
}

/// Occurrences of each feature in the given documents. `dense` is all zeros before and after.
fn occurrences(problem: &Problem, documents: &[u32], dense: &mut [f64]) -> Vec<(u32, f64)> {
    let mut touched = Vec::new();
    for &document in documents {
        let weight = problem.weight(document as usize);
        for (feature, count) in problem.matrix.row(document as usize).filter(|(_, count)| *count > 0) {
            if dense[feature as usize] == 0.0 {
                touched.push(feature);
            }
            dense[feature as usize] += weight * f64::from(count);
        }
    }
    touched.sort_unstable();
    touched.into_iter().map(|feature| (feature, std::mem::take(&mut dense[feature as usize]))).collect()
}

/// Bayes for nested feature sets. A document is read once for all sizes: its sums are carried from one size to the
/// next, and the results are those of separate fits, to the last bit.
#[derive(Debug, Clone)]
pub struct BayesSweep {
    tables: Tables,
    sizes: Vec<usize>,
    /// For each size, one for each output.
    every: Vec<Vec<f64>>,
}

impl BayesSweep {
    /// The sizes, none larger than the number of features.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Ranks a document with every size: calls `each` with the place of the size and the ranked list.
    pub fn rank(
        &self,
        document: Query<'_>,
        scratch: &mut Scratch,
        ranked: &mut Vec<Scored>,
        mut each: impl FnMut(usize, &[Scored]),
    ) {
        let Tables { weights, outputs, bias, common, more, .. } = &self.tables;
        let mut sums = vec![0.0; outputs.len()];
        let (mut total, mut shared) = (0.0, 0.0);
        let mut entries = document.features.iter().zip(document.counts).peekable();
        for (place, (&size, every)) in self.sizes.iter().zip(&self.every).enumerate() {
            while let Some((&feature, &count)) = entries.next_if(|(f, _)| (**f as usize) < size) {
                if more[feature as usize] == 0.0 {
                    continue;
                }
                let value = f64::from(count);
                for (output, weight) in weights.row(feature as usize) {
                    sums[output as usize] += value * weight;
                }
                total += value;
                if let Some(weight) = common.get(feature as usize) {
                    shared += value * weight;
                }
            }
            scratch.sums.clear();
            scratch.sums.extend_from_slice(&sums);
            finish(&mut scratch.sums, 1.0, bias, every, total, shared);
            outputs.rank(&mut scratch.sums, ranked);
            each(place, ranked);
        }
    }
}
