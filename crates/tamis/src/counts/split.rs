//! Splits of a corpus into what is trained on and what is kept for evaluation.

use std::fmt;
use std::str::FromStr;

use rand::Rng as _;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use serde::{Deserialize, Serialize};

use super::stratify::stratified_folds;
use crate::corpus::Part;
use crate::counts::Counts;
use crate::{Error, Result};

/// Document numbers for training and for evaluation, each ascending; a document is in at most one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Trained on.
    pub train: Vec<usize>,
    /// Kept for evaluation.
    pub test: Vec<usize>,
}

/// How a corpus is split. The written form parses and prints: `given`, `random(0.2)`, `random(0.2,5)`, `kfold(10)`,
/// `stratified(10)`, `newest(0.2)`, `disjoint(20)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SplitPlan {
    /// As the corpus says (`split` fields, `train` and `test` folders, Reuters splits).
    Given,
    /// A share of the documents, drawn at random, is the test part; so many times.
    Random {
        /// Share of the test part, between 0 and 1.
        test: f64,
        /// How many splits.
        times: u32,
    },
    /// Every document is in the test part of one of so many folds; folds differ by at most one document.
    KFold(u32),
    /// The same, and every label is spread over the folds as evenly as iterative stratification can.
    Stratified(u32),
    /// The newest share of the documents by date, ties by id, is the test part: no knowledge of the future.
    Newest(f64),
    /// The corpus is cut at random into so many equal pieces, and each piece into halves for training and evaluation:
    /// splits that share no document, as sign tests want them (olsson, validation).
    Disjoint(u32),
}

impl SplitPlan {
    /// The splits of a corpus. Equal seeds give equal splits.
    pub fn splits(self, counts: &Counts, seed: u64) -> Result<Vec<Split>> {
        self.splits_of(counts, &counts.rows(), seed)
    }

    /// The splits of some documents of a corpus, as numbers of the whole corpus: what the splits of those documents
    /// alone would be.
    pub fn splits_of(self, counts: &Counts, rows: &[usize], seed: u64) -> Result<Vec<Split>> {
        let mut splits = self.places(counts, rows, seed)?;
        for split in &mut splits {
            split.train.iter_mut().chain(&mut split.test).for_each(|place| *place = rows[*place]);
        }
        Ok(splits)
    }

    /// The splits as places in `rows`.
    fn places(self, counts: &Counts, rows: &[usize], seed: u64) -> Result<Vec<Split>> {
        let n = rows.len();
        if n < 2 {
            return Err(Error::data(format!("a split needs at least two documents, and there are {n}")));
        }
        match self {
            Self::Given => given(counts, rows).map(|split| vec![split]),
            Self::Random { test, times } => {
                let size = self.test_size(test, n)?;
                if times == 0 {
                    return Err(self.invalid("at least one split is needed"));
                }
                Ok((0..times).map(|time| Split::of_test(n, &shuffled(n, seed, u64::from(time))[..size])).collect())
            }
            Self::KFold(folds) => {
                let folds = self.folds(folds, n)?;
                let order = shuffled(n, seed, 0);
                let fold = |f: usize| order.iter().skip(f).step_by(folds).copied().collect::<Vec<_>>();
                Ok((0..folds).map(|f| Split::of_test(n, &fold(f))).collect())
            }
            Self::Stratified(folds) => {
                let folds = self.folds(folds, n)?;
                let of_document = stratified_folds(&counts.assignments, rows, folds, &shuffled(n, seed, 0));
                let fold = |f: usize| (0..n).filter(|&d| of_document[d] as usize == f).collect::<Vec<_>>();
                Ok((0..folds).map(|f| Split::of_test(n, &fold(f))).collect())
            }
            Self::Newest(share) => {
                let size = self.test_size(share, n)?;
                let undated = rows.iter().filter(|&&row| counts.dates[row].is_none()).count();
                if undated > 0 {
                    return Err(Error::data(format!(
                        "{self} needs a date for each document, and {undated} of {n} have none; name the field with \
                         the option `date_field`, or choose another split such as random({share})"
                    )));
                }
                let mut order: Vec<usize> = (0..n).collect();
                let age = |place: usize| (&counts.dates[rows[place]], &counts.ids[rows[place]], place);
                order.sort_by(|&a, &b| age(a).cmp(&age(b)));
                Ok(vec![Split::of_test(n, &order[n - size..])])
            }
            Self::Disjoint(pieces) => {
                if pieces == 0 || n / (pieces as usize) < 2 {
                    return Err(
                        self.invalid(format!("from 1 to {} pieces: each needs two of the {n} documents", n / 2))
                    );
                }
                let order = shuffled(n, seed, 0);
                let bound = |piece: usize| n * piece / pieces as usize;
                let sorted = |rows: &[usize]| {
                    let mut rows = rows.to_vec();
                    rows.sort_unstable();
                    rows
                };
                let split = |piece: usize| {
                    let rows = &order[bound(piece)..bound(piece + 1)];
                    let (train, test) = rows.split_at(rows.len().div_ceil(2));
                    Split { train: sorted(train), test: sorted(test) }
                };
                Ok((0..pieces as usize).map(split).collect())
            }
        }
    }

    /// How many splits come out.
    pub fn count(self) -> usize {
        match self {
            Self::Given | Self::Newest(_) => 1,
            Self::Random { times: n, .. } | Self::KFold(n) | Self::Stratified(n) | Self::Disjoint(n) => n as usize,
        }
    }

    fn invalid(self, reason: impl Into<String>) -> Error {
        Error::invalid("splits.how", self, reason)
    }

    /// Documents in the test part: the share of all, rounded, with one left on each side.
    fn test_size(self, share: f64, n: usize) -> Result<usize> {
        if share > 0.0 && share < 1.0 {
            Ok(((share * n as f64).round() as usize).clamp(1, n - 1))
        } else {
            Err(self.invalid("the share of the test part must be between 0 and 1"))
        }
    }

    fn folds(self, folds: u32, n: usize) -> Result<usize> {
        if folds >= 2 && folds as usize <= n {
            Ok(folds as usize)
        } else {
            Err(self.invalid(format!("from 2 to {n} folds: the corpus has {n} documents")))
        }
    }
}

impl Split {
    /// The given documents are the test part, all others are trained on.
    fn of_test(n: usize, test: &[usize]) -> Self {
        let mut is_test = vec![false; n];
        for &row in test {
            is_test[row] = true;
        }
        let (test, train) = (0..n).partition(|&row| is_test[row]);
        Self { train, test }
    }
}

fn given(counts: &Counts, rows: &[usize]) -> Result<Split> {
    let part = |part| (0..rows.len()).filter(|&place| counts.parts[rows[place]] == Some(part)).collect::<Vec<_>>();
    let split = Split { train: part(Part::Train), test: part(Part::Test) };
    let missing = match (split.train.is_empty(), split.test.is_empty()) {
        (false, false) => return Ok(split),
        (true, true) => "no document says train or test",
        (true, false) => "no document is in the train part",
        (false, true) => "no document is in the test part",
    };
    Err(Error::data(format!(
        "the corpus gives no split: {missing}; name the field with the option `split_field`, or choose another split such as \
         random(0.2) or stratified(10)"
    )))
}

/// The numbers below `n` in random order (Fisher and Yates). Written out, so that no library update changes a split.
pub(super) fn shuffled(n: usize, seed: u64, stream: u64) -> Vec<usize> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    let mut order: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        // The high half of a 128-bit product is uniform to within n / 2^64.
        let at = ((u128::from(rng.next_u64()) * (last as u128 + 1)) >> 64) as usize;
        order.swap(at, last);
    }
    order
}

impl fmt::Display for SplitPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given => f.write_str("given"),
            Self::Random { test, times: 1 } => write!(f, "random({test})"),
            Self::Random { test, times } => write!(f, "random({test},{times})"),
            Self::KFold(folds) => write!(f, "kfold({folds})"),
            Self::Stratified(folds) => write!(f, "stratified({folds})"),
            Self::Newest(share) => write!(f, "newest({share})"),
            Self::Disjoint(pieces) => write!(f, "disjoint({pieces})"),
        }
    }
}

impl FromStr for SplitPlan {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        const NAMES: [&str; 6] = ["given", "random", "kfold", "stratified", "newest", "disjoint"];
        let error = |at: usize, reason: &str| Error::Expression { text: text.into(), at, reason: reason.into() };
        let (name, arguments) = match text.split_once('(') {
            None => (text.trim(), None),
            Some((name, rest)) => {
                let inner = rest.trim_end().strip_suffix(')');
                (name.trim(), Some((name.len() + 1, inner.ok_or_else(|| error(text.len(), "expected )"))?)))
            }
        };
        if !NAMES.contains(&name) {
            return Err(Error::unknown("split", name, NAMES));
        }
        let (begin, inner) = arguments.unwrap_or((text.len(), ""));
        let mut words = inner.split(',').map(|word| {
            let at = begin + (word.as_ptr() as usize).saturating_sub(inner.as_ptr() as usize);
            (if arguments.is_some() { at } else { text.len() }, word.trim())
        });
        let share = |(at, word): (usize, &str)| {
            let share = word.parse().ok().filter(|share| (0.0..1.0).contains(share) && *share > 0.0);
            share.ok_or_else(|| error(at, "expected the share of the test part, such as 0.2"))
        };
        let number = |(at, word): (usize, &str), least: u32, what: &str| {
            word.parse().ok().filter(|n: &u32| *n >= least).ok_or_else(|| error(at, what))
        };
        // `split` yields at least one, possibly empty, word.
        let first = words.next().unwrap_or((text.len(), ""));
        let plan = match name {
            "given" if first.1.is_empty() => Self::Given,
            "given" => return Err(error(first.0, "given takes no argument")),
            "random" => Self::Random {
                test: share(first)?,
                times: match words.next() {
                    Some(word) => number(word, 1, "expected how many splits, such as 5")?,
                    None => 1,
                },
            },
            "kfold" => Self::KFold(number(first, 2, "expected the number of folds, at least 2")?),
            "stratified" => Self::Stratified(number(first, 2, "expected the number of folds, at least 2")?),
            "newest" => Self::Newest(share(first)?),
            _ => Self::Disjoint(number(first, 1, "expected the number of pieces")?),
        };
        match words.next() {
            Some((at, _)) => Err(error(at, "one argument too many")),
            None => Ok(plan),
        }
    }
}

impl Serialize for SplitPlan {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SplitPlan {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
