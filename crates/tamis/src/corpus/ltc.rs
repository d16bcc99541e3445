//! Counts recovered from normalised log-tf·idf weights (`ltc`), as RCV1-v2 is distributed (Lewis, Yang, Rose & Li 2004).
//!
//! A weight is `(1 + ln tf)·idf(t) / norm(d)`, so `log w = s_d + g_t + log(1 + ln tf)`: a number of the document, one of the term, and
//! a point of the ladder `0, log(1 + ln 2), log(1 + ln 3), …`. `g_t` starts at the logarithm of the idf that the file itself suggests; then
//! documents and terms take turns: each `tf` is the nearest rung, each `s_d` and `g_t` the median of what is left. The median
//! does not mind the few rungs that are wrong at first. What is left in the end says how well the values are such weights: a file whose values
//! are something else is refused.

use std::collections::HashMap;
use std::path::Path;

use crate::{Error, Result};

/// Rungs of the ladder; no word of a story occurs more often.
const RUNGS: usize = 1000;
/// Turns at most.
const TURNS: usize = 12;
/// What is left, in the median, above which values are no such weights: a tenth of the way to the second rung.
const MOST_LEFT: f64 = 0.05;
/// Values of a document that are tried as its first rung: spread evenly over all of them.
const TRIED: usize = 40;

/// The numbers of the terms of one file.
#[derive(Debug)]
pub(crate) struct Ltc {
    ladder: Vec<f64>,
    /// `g_t` by the term as it is written.
    terms: HashMap<String, f64>,
    /// What is left, in the median.
    pub(crate) left: f64,
}

fn ladder() -> Vec<f64> {
    (1..=RUNGS).map(|tf| (1.0 + (tf as f64).ln()).ln()).collect()
}

/// The number of the nearest rung, from 0.
fn nearest(ladder: &[f64], x: f64) -> usize {
    let above = ladder.partition_point(|&rung| rung < x);
    if above == 0 || (above < ladder.len() && ladder[above] - x <= x - ladder[above - 1]) { above } else { above - 1 }
}

fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// `s_d` from what is left of a document's weights without `g_t`: the value that, as the first rung, leaves the least, then the
/// median of what is left.
fn place(ladder: &[f64], rest: &mut [f64], misfits: &mut Vec<f64>) -> f64 {
    rest.sort_unstable_by(f64::total_cmp);
    let step = rest.len().div_ceil(TRIED).max(1);
    let misfit = |s: f64| -> f64 {
        // A single value far off says as much as two that are a little off.
        rest.iter().map(|&x| (x - s - ladder[nearest(ladder, x - s)]).abs().min(0.15)).sum()
    };
    let mut best = (f64::INFINITY, 0.0);
    for &s in rest.iter().step_by(step) {
        let of = misfit(s);
        if of < best.0 {
            best = (of, s);
        }
    }
    settle(ladder, rest, best.1, misfits)
}

/// The median of what is left of the values at `s`.
fn settle(ladder: &[f64], rest: &[f64], s: f64, misfits: &mut Vec<f64>) -> f64 {
    misfits.clear();
    misfits.extend(rest.iter().map(|&x| x - ladder[nearest(ladder, x - s)]));
    median(misfits)
}

impl Ltc {
    /// Solves a file: lines of labels and `term:weight` pairs. Malformed pairs are left to the parser, which names them.
    pub(crate) fn solve(path: &Path, text: &str) -> Result<Self> {
        let mut names: HashMap<&str, u32> = HashMap::new();
        let mut documents: Vec<Vec<(u32, f64)>> = Vec::new();
        for line in text.lines() {
            let line = line.split_once('#').map_or(line, |(before, _)| before);
            let pairs = line.split_ascii_whitespace().filter_map(|word| word.rsplit_once(':'));
            let weights = pairs.filter_map(|(term, value)| Some((term, value.parse::<f64>().ok()?)));
            let mut document = Vec::new();
            for (term, weight) in weights.filter(|(term, w)| *term != "qid" && w.is_finite() && *w > 0.0) {
                let next = names.len() as u32;
                document.push((*names.entry(term).or_insert(next), weight.ln()));
            }
            if !document.is_empty() {
                documents.push(document);
            }
        }
        let ladder = ladder();
        let n = documents.len() as f64;
        let mut by_term: Vec<Vec<f64>> = vec![Vec::new(); names.len()];
        documents.iter().flatten().for_each(|&(term, _)| by_term[term as usize].push(0.0));
        // A term of nearly all documents has next to no idf; what it is shows in the turns.
        let mut of_term: Vec<f64> = by_term.iter().map(|of| ((n + 1.0) / of.len() as f64).ln().ln()).collect();
        let (mut rest, mut misfits) = (Vec::new(), Vec::new());
        let without = |document: &[(u32, f64)], of_term: &[f64], rest: &mut Vec<f64>| {
            rest.clear();
            rest.extend(document.iter().map(|&(term, log)| log - of_term[term as usize]));
        };
        let mut of_document: Vec<f64> = Vec::with_capacity(documents.len());
        for document in &documents {
            without(document, &of_term, &mut rest);
            of_document.push(place(&ladder, &mut rest, &mut misfits));
        }
        let mut left = f64::INFINITY;
        for _ in 0..TURNS {
            by_term.iter_mut().for_each(Vec::clear);
            let mut all = Vec::new();
            for (document, s) in documents.iter().zip(&mut of_document) {
                without(document, &of_term, &mut rest);
                *s = settle(&ladder, &rest, *s, &mut misfits);
                for (&(term, log), &x) in document.iter().zip(&rest) {
                    let rung = ladder[nearest(&ladder, x - *s)];
                    all.push((x - *s - rung).abs());
                    by_term[term as usize].push(log - *s - rung);
                }
            }
            of_term.iter_mut().zip(&mut by_term).for_each(|(g, of)| *g = median(of));
            let before = std::mem::replace(&mut left, median(&mut all));
            if before - left < 1e-6 {
                break;
            }
        }
        if !documents.is_empty() && left > MOST_LEFT {
            return Err(Error::malformed_file(
                path,
                format!(
                    "the values are no normalised log-tf·idf weights: whole counts leave {left:.3} of their logarithms in the median; the option \
                     `values=weights` takes weights as they are, `values=presence` only whether a term occurs"
                ),
            ));
        }
        let terms = names.into_iter().map(|(name, number)| (name.to_owned(), of_term[number as usize])).collect();
        Ok(Self { ladder, terms, left: if documents.is_empty() { 0.0 } else { left } })
    }

    /// The counts of a document from its terms and weights, in order; a weight of 0 is a count of 0.
    pub(crate) fn counts(&self, weights: &[(&str, f64)]) -> Vec<u32> {
        let known = |term: &str| self.terms.get(term).copied().unwrap_or(0.0);
        let of: Vec<f64> = weights.iter().map(|&(term, weight)| weight.ln() - known(term)).collect();
        let mut rest: Vec<f64> = of.iter().copied().filter(|x| x.is_finite()).collect();
        let mut misfits = Vec::new();
        let s = place(&self.ladder, &mut rest, &mut misfits);
        let s = settle(&self.ladder, &rest, s, &mut misfits);
        of.iter().map(|&x| if x.is_finite() { nearest(&self.ladder, x - s) as u32 + 1 } else { 0 }).collect()
    }
}

#[cfg(test)]
#[allow(clippy::format_collect, clippy::format_push_string)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Counts → ltc weights with six digits, as files have them → counts.
    #[test]
    fn counts_come_back() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let documents: Vec<Vec<(usize, u32)>> = (0..400)
            .map(|_| {
                let mut terms: Vec<usize> = (0..60).map(|_| (rng.random::<f64>().powi(3) * 700.0) as usize).collect();
                terms.sort_unstable();
                terms.dedup();
                let count = |rng: &mut ChaCha8Rng| (1.0 / (1.0 - rng.random::<f64>()).powf(0.6)) as u32;
                terms.into_iter().map(|t| (t, count(&mut rng).clamp(1, 30))).collect()
            })
            .collect();
        let mut df = vec![0.0f64; 700];
        documents.iter().flatten().for_each(|&(t, _)| df[t] += 1.0);
        let mut text = String::new();
        for document in &documents {
            let weight = |&(t, count): &(usize, u32)| (1.0 + f64::from(count).ln()) * (401.0 / df[t]).ln();
            let norm = document.iter().map(|pair| weight(pair).powi(2)).sum::<f64>().sqrt();
            text.push('x');
            document.iter().for_each(|pair| text.push_str(&format!(" {}:{:.6}", pair.0 + 1, weight(pair) / norm)));
            text.push('\n');
        }
        let solved = Ltc::solve(Path::new("x.svm"), &text).unwrap();
        assert!(solved.left < 1e-3, "{}", solved.left);
        let (mut right, mut all) = (0, 0);
        for (document, line) in documents.iter().zip(text.lines()) {
            let pairs: Vec<(&str, f64)> = line
                .split(' ')
                .skip(1)
                .map(|word| word.split_once(':').map(|(t, w)| (t, w.parse().unwrap())).unwrap())
                .collect();
            let found = solved.counts(&pairs);
            right += found.iter().zip(document).filter(|(found, (_, count))| *found == count).count();
            all += document.len();
        }
        assert!(right as f64 >= 0.99 * all as f64, "{right} of {all}");
    }

    #[test]
    fn other_values_are_refused() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let line = |_| (1..40).map(|t| format!(" {t}:{}", rng.random::<f64>().powi(4))).collect::<String>();
        let text = (0..50).map(line).map(|line| format!("x{line}\n")).collect::<String>();
        let error = Ltc::solve(Path::new("x.svm"), &text).unwrap_err().to_string();
        assert!(error.contains("no normalised log-tf·idf weights") && error.contains("values=weights"), "{error}");
        assert_eq!(Ltc::solve(Path::new("x.svm"), "").unwrap().left, 0.0);
    }
}
