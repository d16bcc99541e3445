//! Counts → document vectors: the weightings of method 6.

use std::fmt;
use std::str::FromStr;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Problem, Query};
use crate::counts::Contingency;
use crate::features::{Formula, Score, Selector};
use crate::named::named;
use crate::terms::MOST_BLOCKS;
use crate::{Error, Result};

named! {
    /// How occurrences become the components of a document vector (method 6).
    #[derive(Default)]
    pub enum Weighting ("weighting") {
        /// `tf / (0.5 + 1.5·dl/avdl + tf) · √idf(t)` with `idf(t) = max(0, log((n − df + 0.5)/(df + 0.5)))`. The root makes
        /// the inner product of two vectors the similarity of method 7, in which `idf` stands once.
        Okapi = "okapi",
        /// `(1 + log tf) · log(n/df)`, the vector then scaled to Euclidean length 1.
        #[default]
        TfIdf = "tfidf",
        /// The same, but the terms of each block of the terms expression are scaled to one length by themselves, and the whole then to
        /// Euclidean length 1: pieces of words are many times as many as words, and would drown them otherwise.
        TfIdfByBlock = "tfidf-by-block",
        /// 1 for every feature that occurs.
        Binary = "binary",
        /// Occurrences.
        Tf = "tf",
    }
}

impl Weighting {
    /// `idf` of a term that occurs in `df` of `n` documents, each counted as often as its weight says; 1 for weightings without one. A term that no training
    /// document contains has 0, as a quotient with a zero denominator (method 1): nothing is known of it.
    pub fn idf(self, df: f64, n: f64) -> f64 {
        match self {
            _ if df == 0.0 => 0.0,
            Self::Okapi => ((n - df + 0.5) / (df + 0.5)).ln().max(0.0),
            Self::TfIdf | Self::TfIdfByBlock => (n / df).ln(),
            Self::Binary | Self::Tf => 1.0,
        }
    }
}

/// How documents become vectors: a weighting, and optionally a selector score that each component is multiplied with, so that
/// words that tell labels apart count for more (Debole & Sebastiani 2003): `tfidf`, `tfidf*rf` (Lan, Tan, Su & Lu 2009), `binary*lpr`, which
/// for two labels is NBSVM (Wang & Manning 2012).
///
/// The score is pooled over labels, so that all labels share one vector; below 0 it counts as 0. With `(per=label)`, as in
/// `binary*lpr(per=label)`, every label that is told from the rest has its own: its problem sees the components times the score of term and label,
/// whatever its sign. The scale of `tfidf` is then that of the vector before it, so that the score is a factor of the label's weight, and
/// nothing is lost by storing the product of the two.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Vectors {
    /// What occurrences become.
    pub weighting: Weighting,
    /// What each term is weighed by.
    pub by: Option<Score>,
    /// Whether each label has its own score of a term.
    pub per_label: bool,
}

impl From<Weighting> for Vectors {
    fn from(weighting: Weighting) -> Self {
        Self { weighting, by: None, per_label: false }
    }
}

impl Vectors {
    /// The score that each label has by itself, if that is how terms are weighed.
    fn own_score(&self) -> Option<Score> {
        self.by.filter(|_| self.per_label)
    }

    /// What the components are multiplied with for a label of its own; `None` where all labels share one vector.
    pub(crate) fn factors(&self, problem: &Problem) -> Result<Option<Factors>> {
        let Some(score) = self.own_score() else { return Ok(None) };
        let table = Contingency::of_matrix(&problem.matrix, &problem.assignments)?;
        Ok(Some(Factors { table, formula: score.formula() }))
    }

    /// Learns from training documents: what all labels share.
    pub fn fit(&self, problem: &Problem) -> Result<Weighter> {
        let mut weighter = Weighter::fit(self.weighting, problem);
        if let Some(score) = self.by.filter(|_| !self.per_label) {
            let table = Contingency::of_matrix(&problem.matrix, &problem.assignments)?;
            let ranking = Selector::score(score).rank(&table)?;
            let mut weights = vec![0.0; weighter.factors.len()];
            for (&feature, &weight) in ranking.terms().iter().zip(ranking.scores()) {
                weights[feature as usize] = weight.max(0.0);
            }
            weighter.factors.iter_mut().zip(weights).for_each(|(factor, weight)| *factor *= weight);
        }
        Ok(weighter)
    }
}

impl Vectors {
    /// The same from counts alone: what [`Vectors::fit`] learns from the documents that were counted, over the given terms.
    pub(crate) fn fit_counts(&self, table: &Contingency, terms: &[u32]) -> Result<Weighter> {
        let mut weighter = Weighter::fit_counts(self.weighting, table, terms);
        if let Some(score) = self.by.filter(|_| !self.per_label) {
            let mut feature_of = vec![u32::MAX; table.terms()];
            terms.iter().zip(0..).for_each(|(&term, feature)| feature_of[term as usize] = feature);
            let kept: Vec<u32> = feature_of.iter().copied().filter(|f| *f != u32::MAX).collect();
            let ranking =
                Selector::score(score).rank(&table.retain_terms(|term| feature_of[term as usize] != u32::MAX))?;
            let mut weights = vec![0.0; terms.len()];
            for (&term, &weight) in ranking.terms().iter().zip(ranking.scores()) {
                weights[kept[term as usize] as usize] = weight.max(0.0);
            }
            weighter.factors.iter_mut().zip(weights).for_each(|(factor, weight)| *factor *= weight);
        }
        Ok(weighter)
    }
}

impl fmt::Display for Vectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.by {
            None => self.weighting.fmt(f),
            Some(score) if self.per_label => write!(f, "{}*{score}(per=label)", self.weighting),
            Some(score) => write!(f, "{}*{score}", self.weighting),
        }
    }
}

impl FromStr for Vectors {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let Some((weighting, score)) = text.split_once('*') else { return Ok(text.parse::<Weighting>()?.into()) };
        let (score, per_label) = match score.trim().strip_suffix("(per=label)") {
            Some(score) => (score, true),
            None => (score, false),
        };
        let by: Score = score.trim().parse()?;
        if per_label && !by.formula().is_per_label() {
            let reason =
                "it has no value for a label by itself; take one such as lpr, rf or chi2max, or leave (per=label) out";
            return Err(Error::invalid("vectors", text, reason));
        }
        Ok(Self { weighting: weighting.trim().parse()?, by: Some(by), per_label })
    }
}

impl Serialize for Vectors {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Vectors {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Scores of terms, label by label.
#[derive(Debug)]
pub(crate) struct Factors {
    table: Contingency,
    formula: Formula,
}

impl Factors {
    /// The scores of the first features for a label.
    pub(crate) fn of(&self, label: u32, features: usize) -> Vec<f64> {
        let of_term = |term: u32| self.formula.of_cell(self.table.cell(term, label)).unwrap_or(0.0);
        (0..features as u32).into_par_iter().with_min_len(1024).map(of_term).collect()
    }
}

/// A weighting with what it learned from training documents: one number for each feature, and `avdl`.
///
/// None of that depends on which features come after, so one weighter serves every size of a nested sweep. What does
/// depend on the size is the scale of `tfidf`: the length of a vector is taken over the features that are asked for,
/// so a prefix of a vector is that prefix divided by its own norm. The other weightings need no scale, and the vector of a
/// size is a plain prefix of the vector of all.
#[derive(Debug, Clone, PartialEq)]
pub struct Weighter {
    weighting: Weighting,
    /// What a component is multiplied with, feature by feature.
    factors: Vec<f64>,
    mean_length: f64,
    /// The block of each feature; empty where all are of one, or the weighting does not ask.
    blocks: Vec<u8>,
}

impl Weighter {
    /// Learns from training documents.
    pub fn fit(weighting: Weighting, problem: &Problem) -> Self {
        let (n, df) = problem.weighed_df();
        let factor = |df| match weighting {
            Weighting::Okapi => weighting.idf(df, n).sqrt(),
            _ => weighting.idf(df, n),
        };
        let factors = df.into_iter().map(factor).collect();
        let weighter = Self { weighting, factors, mean_length: problem.weighed_mean_length(), blocks: Vec::new() };
        weighter.with_blocks(problem.blocks.clone())
    }

    /// The same from counts alone, over the given terms.
    pub(crate) fn fit_counts(weighting: Weighting, table: &Contingency, terms: &[u32]) -> Self {
        let n = table.documents() as f64;
        let factor = |&term: &u32| {
            let idf = weighting.idf(f64::from(table.df()[term as usize]), n);
            if weighting == Weighting::Okapi { idf.sqrt() } else { idf }
        };
        let mean_length = if n > 0.0 { table.tokens() as f64 / n } else { 0.0 };
        Self { weighting, factors: terms.iter().map(factor).collect(), mean_length, blocks: Vec::new() }
    }

    /// With the block of each feature, where the weighting asks for it; none where all are of one.
    pub(crate) fn with_blocks(mut self, blocks: Vec<u8>) -> Self {
        let asks = self.weighting == Weighting::TfIdfByBlock && blocks.windows(2).any(|w| w[0] != w[1]);
        self.blocks = if asks { blocks } else { Vec::new() };
        self
    }

    /// The same over other features: `places` says where each of its own is among so many; those that are not its own weigh 0.
    pub(crate) fn spread(&self, places: &[u32], features: usize) -> Self {
        let mut factors = vec![0.0; features];
        places.iter().zip(&self.factors).for_each(|(&place, &factor)| factors[place as usize] = factor);
        let mut blocks = vec![0; if self.blocks.is_empty() { 0 } else { features }];
        places.iter().zip(&self.blocks).for_each(|(&place, &block)| blocks[place as usize] = block);
        Self { factors, blocks, ..self.clone() }
    }

    /// The same for some of its features alone.
    pub(crate) fn select(&self, features: &[u32]) -> Self {
        let factors = features.iter().filter_map(|&f| self.factors.get(f as usize).copied()).collect();
        let blocks = features.iter().filter_map(|&f| self.blocks.get(f as usize).copied()).collect();
        Self { factors, blocks, ..self.clone() }
    }

    /// From stored numbers; see [`Weighter::factors`] and [`Weighter::blocks`].
    pub fn from_parts(weighting: Weighting, factors: Vec<f64>, mean_length: f64, blocks: Vec<u8>) -> Result<Self> {
        if !blocks.is_empty() && blocks.len() != factors.len() {
            return Err(Error::data(format!("{} blocks for {} features", blocks.len(), factors.len())));
        }
        if let Some(block) = blocks.iter().find(|&&block| usize::from(block) >= MOST_BLOCKS) {
            return Err(Error::invalid("block", block, format!("must be below {MOST_BLOCKS}")));
        }
        if let Some(factor) = factors.iter().find(|f| !f.is_finite()) {
            return Err(Error::invalid("factor", factor, "must be a finite number"));
        }
        if !(mean_length.is_finite() && mean_length >= 0.0) {
            return Err(Error::invalid("mean length", mean_length, "must be a finite number, 0 or more"));
        }
        Ok(Self { weighting, factors, mean_length, blocks })
    }

    /// The first `size` features of the same.
    pub fn prefix(&self, size: usize) -> Self {
        let first = |all: usize| size.min(all);
        let factors = self.factors[..first(self.factors.len())].to_vec();
        let blocks = self.blocks[..first(self.blocks.len())].to_vec();
        Self { weighting: self.weighting, factors, mean_length: self.mean_length, blocks }
    }

    /// The weighting.
    pub fn weighting(&self) -> Weighting {
        self.weighting
    }

    /// What a component is multiplied with, feature by feature: `log(n/df)`, `√idf`, or 1.
    pub fn factors(&self) -> &[f64] {
        &self.factors
    }

    /// The block of each feature; empty where that does not matter.
    pub fn blocks(&self) -> &[u8] {
        &self.blocks
    }

    /// `avdl`.
    pub fn mean_length(&self) -> f64 {
        self.mean_length
    }

    /// Number of features it knows.
    pub fn features(&self) -> usize {
        self.factors.len()
    }

    /// Writes the components of a document's vector, one for each of its features, into `weights`, replacing what was
    /// there. Features beyond those known weigh 0.
    pub fn weigh(&self, document: Query<'_>, weights: &mut Vec<f64>) {
        weights.clear();
        weights.resize(document.features.len(), 0.0);
        // Known features are a prefix, because features ascend.
        let mut next = weights.iter_mut();
        let scale = self.visit(document, |_, weight| {
            if let Some(place) = next.next() {
                *place = weight;
            }
        });
        for weight in weights {
            *weight *= scale;
        }
    }

    /// Calls `each` with the known features and their components before scaling, in order, and returns the scale: who
    /// only needs sums over the vector scales them once and needs no memory for the vector.
    #[inline]
    pub(crate) fn visit(&self, document: Query<'_>, mut each: impl FnMut(usize, f64)) -> f64 {
        let known = document.features.partition_point(|&f| (f as usize) < self.factors.len());
        let entries = document.features[..known].iter().map(|&f| f as usize).zip(document.counts.iter().copied());
        match self.weighting {
            Weighting::Okapi => {
                let saturation = okapi_saturation(document.length, self.mean_length);
                for (feature, tf) in entries {
                    let tf = f64::from(tf);
                    each(feature, tf / (saturation + tf) * self.factors[feature]);
                }
                1.0
            }
            Weighting::TfIdfByBlock if !self.blocks.is_empty() => {
                let mut squares = [0.0; MOST_BLOCKS];
                for (feature, tf) in entries.clone() {
                    let weight = dampened(tf) * self.factors[feature];
                    squares[usize::from(self.blocks[feature])] += weight * weight;
                }
                let scales = squares.map(|square: f64| if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 });
                for (feature, tf) in entries {
                    let scale = scales[usize::from(self.blocks[feature])];
                    each(feature, dampened(tf) * self.factors[feature] * scale);
                }
                let there = squares.iter().filter(|&&square| square > 0.0).count();
                1.0 / (there.max(1) as f64).sqrt()
            }
            Weighting::TfIdf | Weighting::TfIdfByBlock => {
                let mut square = 0.0;
                for (feature, tf) in entries {
                    let weight = dampened(tf) * self.factors[feature];
                    square += weight * weight;
                    each(feature, weight);
                }
                if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 }
            }
            Weighting::Binary => {
                entries.for_each(|(feature, _)| each(feature, self.factors[feature]));
                1.0
            }
            Weighting::Tf => {
                entries.for_each(|(feature, tf)| each(feature, f64::from(tf) * self.factors[feature]));
                1.0
            }
        }
    }
}

/// `1 + log tf`. Most words occur once, and a logarithm costs more than a branch.
#[inline]
fn dampened(tf: u32) -> f64 {
    if tf == 1 { 1.0 } else { 1.0 + f64::from(tf).ln() }
}

/// `0.5 + 1.5·dl/avdl`, what a document's length adds to the denominator of okapi (method 6); a quotient with a zero
/// denominator is 0.
pub fn okapi_saturation(length: u32, mean_length: f64) -> f64 {
    if mean_length > 0.0 { 0.5 + 1.5 * f64::from(length) / mean_length } else { 0.5 }
}

/// A document reduced to its first `size` features.
pub(crate) fn prefix(document: Query<'_>, size: usize) -> Query<'_> {
    let end = document.features.partition_point(|&f| (f as usize) < size);
    Query { features: &document.features[..end], counts: &document.counts[..end], ..document }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::counts::Counts;

    /// Four documents; the features are a, b, c in that order.
    fn problem() -> Problem {
        let counts = Counts::from_rows(&[
            (vec!["a", "b", "b"], vec!["X"]),
            (vec!["a", "c", "c", "c", "c"], vec!["Y"]),
            (vec!["a"], vec!["X"]),
            (vec!["d", "d", "d"], vec![]),
        ]);
        Problem::new(&counts, &[0, 1, 2, 3], &[0, 1, 2])
    }

    fn weigh(weighting: Weighting, row: usize) -> Vec<f64> {
        let problem = problem();
        let mut weights = vec![7.0; 9];
        Weighter::fit(weighting, &problem).weigh(problem.query(row), &mut weights);
        weights
    }

    #[track_caller]
    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} is not {expected:?}");
    }

    /// By hand from method 6: n = 4, avdl = 12/4 = 3; df: a 3, b 1, c 1.
    #[test]
    fn follows_the_formulas() {
        let idf = (3.5f64 / 1.5).ln();
        // df(a) = 3 of 4: the logarithm is negative and the floor applies.
        close(&weigh(Weighting::Okapi, 0), &[0.0, 2.0 / (0.5 + 1.5 + 2.0) * idf.sqrt()]);
        close(&weigh(Weighting::Okapi, 1), &[0.0, 4.0 / (0.5 + 1.5 * 5.0 / 3.0 + 4.0) * idf.sqrt()]);
        let (a, c) = ((4.0f64 / 3.0).ln(), (1.0 + 4.0f64.ln()) * 4.0f64.ln());
        let norm = (a * a + c * c).sqrt();
        close(&weigh(Weighting::TfIdf, 1), &[a / norm, c / norm]);
        close(&weigh(Weighting::TfIdf, 2), &[1.0]);
        close(&weigh(Weighting::Binary, 1), &[1.0, 1.0]);
        close(&weigh(Weighting::Tf, 1), &[1.0, 4.0]);
        for &weighting in Weighting::ALL {
            close(&weigh(weighting, 3), &[]);
        }
    }

    /// Words and characters, each of length 1 before the whole is: by hand from the same vector without blocks.
    #[test]
    fn blocks_are_scaled_by_themselves() {
        let mut problem = problem();
        problem.blocks = vec![0, 0, 1];
        let plain = Weighter::fit(Weighting::Tf, &problem);
        assert!(plain.blocks().is_empty(), "only where the weighting asks");
        let weighter = Weighter::fit(Weighting::TfIdfByBlock, &problem);
        let mut weights = Vec::new();
        // Document 0 has a and b alone, one block: as if there were none.
        weighter.weigh(problem.query(0), &mut weights);
        close(&weights, &weigh(Weighting::TfIdf, 0));
        // Document 1 has a and c, of a block each.
        weighter.weigh(problem.query(1), &mut weights);
        close(&weights, &[0.5f64.sqrt(), 0.5f64.sqrt()]);
        let three = Query { features: &[0, 1, 2], counts: &[1, 2, 3], length: 6 };
        weighter.weigh(three, &mut weights);
        let (a, b) = ((4.0f64 / 3.0).ln(), (1.0 + 2.0f64.ln()) * 4.0f64.ln());
        let norm = (2.0 * (a * a + b * b)).sqrt();
        close(&weights, &[a / norm, b / norm, 0.5f64.sqrt()]);
        let stored = Weighter::from_parts(
            weighter.weighting(),
            weighter.factors().to_vec(),
            weighter.mean_length(),
            weighter.blocks().to_vec(),
        );
        assert_eq!(stored.unwrap(), weighter);
        assert!(Weighter::from_parts(Weighting::TfIdfByBlock, vec![1.0], 1.0, vec![200]).is_err());
        assert!(Weighter::from_parts(Weighting::TfIdfByBlock, vec![1.0], 1.0, vec![0, 1]).is_err());
    }

    #[test]
    fn a_prefix_is_weighed_as_a_problem_of_its_size() {
        let mut problem = problem();
        problem.blocks = vec![1, 0, 1];
        for &weighting in Weighting::ALL {
            let whole = Weighter::fit(weighting, &problem);
            let mut found = Vec::new();
            let mut expected = Vec::new();
            for size in 0..=3 {
                for row in 0..4 {
                    whole.weigh(prefix(problem.query(row), size), &mut found);
                    whole.prefix(size).weigh(problem.query(row), &mut expected);
                    // The second keeps a place for unknown features; they weigh 0.
                    assert_eq!(found[..], expected[..found.len()]);
                    assert!(expected[found.len()..].iter().all(|&w| w == 0.0));
                }
            }
        }
    }

    #[test]
    fn unknown_and_ubiquitous_features_weigh_nothing() {
        let problem = problem();
        let query = Query { features: &[0, 9], counts: &[1, 1], length: 2 };
        let mut weights = Vec::new();
        for &weighting in Weighting::ALL {
            Weighter::fit(weighting, &problem).weigh(query, &mut weights);
            assert_eq!(weights[1], 0.0);
            assert!(weights.iter().all(|w| w.is_finite()));
        }
        // Every document has the term: log(n/df) = 0, a vector of length 0 stays 0.
        let counts = Counts::from_rows(&[(vec!["a"], vec!["X"]), (vec!["a"], vec!["Y"])]);
        let everywhere = Problem::new(&counts, &[0, 1], &[0]);
        Weighter::fit(Weighting::TfIdf, &everywhere).weigh(everywhere.query(0), &mut weights);
        assert_eq!(weights, [0.0]);
    }

    #[test]
    fn a_score_weighs_terms() {
        let problem = problem();
        for (name, score) in [("binary*rf", "rf"), ("binary*lpr", "lpr"), ("tfidf*chi2max", "chi2max")] {
            let vectors: Vectors = name.parse().unwrap();
            assert_eq!(vectors.to_string(), name);
            let weighter = vectors.fit(&problem).unwrap();
            let table = Contingency::of_matrix(&problem.matrix, &problem.assignments).unwrap();
            let ranking = score.parse::<Selector>().unwrap().rank(&table).unwrap();
            for (&feature, &weight) in ranking.terms().iter().zip(ranking.scores()) {
                let base = Weighter::fit(vectors.weighting, &problem).factors()[feature as usize];
                assert_eq!(weighter.factors()[feature as usize], base * weight.max(0.0));
            }
        }
        // Two labels: the log ratio of either side, as NBSVM has it.
        let counts = Counts::from_rows(&[(vec!["a"], vec!["X"]), (vec!["a"], vec!["X"]), (vec!["b", "a"], vec!["Y"])]);
        let two = Problem::new(&counts, &[0, 1, 2], &[0, 1]);
        let weighter = "binary*lpr".parse::<Vectors>().unwrap().fit(&two).unwrap();
        close(weighter.factors(), &[0.0, (1.0f64 / (0.5 / 2.0)).ln()]);
        assert!("tfidf*nothing".parse::<Vectors>().unwrap_err().to_string().contains("unknown score"));
    }

    #[test]
    fn a_score_may_be_the_labels_own() {
        let problem = problem();
        let vectors: Vectors = "tfidf*lpr(per=label)".parse().unwrap();
        assert_eq!(vectors.to_string(), "tfidf*lpr(per=label)");
        // What all share is as if there were no score.
        assert_eq!(vectors.fit(&problem).unwrap(), Weighter::fit(Weighting::TfIdf, &problem));
        let factors = vectors.factors(&problem).unwrap().unwrap();
        // By hand: X has documents 0 and 2 of 4; a is in 0, 1, 2; b in 0; c in 1. Zeros count half.
        close(
            &factors.of(0, 3),
            &[2.0f64.ln(), ((1.0 / 2.0) / (0.5 / 2.0f64)).ln(), ((0.5 / 2.0) / (1.0 / 2.0f64)).ln()],
        );
        assert!("tfidf".parse::<Vectors>().unwrap().factors(&problem).unwrap().is_none());
        let error = "tfidf*df(per=label)".parse::<Vectors>().unwrap_err().to_string();
        assert!(error.contains("no value for a label by itself"), "{error}");
    }

    #[test]
    fn names_round_trip() {
        for &weighting in Weighting::ALL {
            assert_eq!(weighting.to_string().parse::<Weighting>().unwrap(), weighting);
        }
        let error = "tf-idf".parse::<Weighting>().unwrap_err().to_string();
        assert!(error.contains("did you mean tfidf"), "{error}");
    }
}
