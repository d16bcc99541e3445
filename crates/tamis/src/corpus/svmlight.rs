//! svmlight lines: label names separated by commas, then `term:value` pairs; `#` begins a comment.
//!
//! Values that are whole numbers from 1 are counts. Weights say only that a term is present, unless the reader is told what they are:
//! `ltc` weights (normalised log-tf·idf, as RCV1-v2 has) are turned back into counts, and any weights can be taken as they are, in parts of
//! [`WEIGHT_UNIT`].

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::blocks::{Block, FileContext, ParseLine};
use super::fields::{quoted, tidy_labels};
use super::ltc::Ltc;
use super::source::Source;
use super::{Body, Document, ReadOptions};
use crate::named::named;
use crate::{Error, Result};

named! {
    /// What the values of svmlight files mean.
    #[derive(Default)]
    pub enum Values ("meaning of values") {
        /// Counts when the values in the first block of the file are all whole numbers from 1, presence otherwise.
        #[default]
        Auto = "auto",
        /// Occurrences; a value that is no whole number is an error.
        Counts = "counts",
        /// A term with a value above 0 occurs once.
        Presence = "presence",
        /// Normalised log-tf·idf weights, from which the counts are recovered; needs a file that can be read twice.
        Ltc = "ltc",
        /// Weights as they are, in parts of 10,000 of an occurrence: `knn(unit=10000)` takes them so.
        Weights = "weights",
    }
}

/// What a weight of 1 counts, when values are taken as weights.
pub const WEIGHT_UNIT: u32 = 10_000;

/// What values become.
enum Meaning {
    Counts,
    Presence,
    Ltc(Ltc),
    Weights,
}

pub(crate) struct SvmLight {
    context: FileContext,
    meaning: Meaning,
    /// Names of the terms by number from 1, when there is a file of them.
    terms: Option<Arc<[String]>>,
}

/// The file that names the terms of an svmlight file: one in each line, the first is term 1.
pub(crate) fn terms_file(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".terms");
    name.into()
}

/// A vocabulary of a hundred million terms is shorter; anything longer is not a vocabulary.
const MAX_TERMS_BYTES: usize = 1 << 30;

/// How the line begins in which a file names its terms' file by a hash.
const TERMS_HASH: &str = "# terms: blake3 ";

/// The first line of a file whose terms have names: a hash of the file that holds them. Two files cannot be put into their
/// places at once; by the hash, one of them alone is never taken for the other's.
pub(crate) fn header(terms: &blake3::Hash) -> String {
    format!("{TERMS_HASH}{}\n", &terms.to_hex()[..32])
}

/// The hash in the first line, where there is one.
fn hash_of_terms(first: &[u8]) -> Option<&[u8]> {
    let line = first.split(|&b| b == b'\n').next()?.trim_ascii();
    line.strip_prefix(TERMS_HASH.as_bytes())
}

/// Reads the names of terms beside a file that begins so, if they are there.
pub(crate) fn read_terms(path: &Path, first: &[u8]) -> Result<Option<Arc<[String]>>> {
    let beside = terms_file(path);
    let expected = hash_of_terms(first);
    if !beside.is_file() {
        return match expected {
            None => Ok(None),
            Some(_) => Err(Error::malformed_file(
                path,
                format!(
                    "the names of its terms are missing: there is no {}; fetch or write both again, or delete the first line \
                     to read numbers as terms",
                    beside.display()
                ),
            )),
        };
    }
    let bytes = Source::open(&beside, None)?.read_all(MAX_TERMS_BYTES)?;
    if let Some(expected) = expected
        && *expected != blake3::hash(&bytes).to_hex().as_bytes()[..32]
    {
        let reason = format!(
            "the names of terms in {} are not those of this file: one of the two is older, or was changed; write both again",
            beside.display()
        );
        return Err(Error::malformed_file(path, reason));
    }
    let text = String::from_utf8(bytes).map_err(|_| Error::malformed_file(&beside, "not UTF-8"))?;
    Ok(Some(text.lines().map(str::to_owned).collect()))
}

impl SvmLight {
    pub(crate) fn new(
        context: FileContext,
        options: &ReadOptions,
        terms: Option<Arc<[String]>>,
        first: &Block,
    ) -> Result<Self> {
        let meaning = match options.values {
            Values::Counts => Meaning::Counts,
            Values::Presence => Meaning::Presence,
            Values::Weights => Meaning::Weights,
            Values::Ltc => Meaning::Ltc(solve(&context.path, options)?),
            Values::Auto => {
                let counts = all_counts(first.bytes());
                let meaning = if counts {
                    "counts (whole numbers)"
                } else {
                    "weights: each term counts once; the option `values=ltc` recovers counts from normalised log-tf·idf"
                };
                tracing::info!("{}: values are read as {meaning}", context.path.display());
                if counts { Meaning::Counts } else { Meaning::Presence }
            }
        };
        Ok(Self { context, meaning, terms })
    }

    fn term<'a>(&self, number: u64, term: &'a str) -> Result<Cow<'a, str>> {
        let Some(terms) = &self.terms else { return Ok(Cow::Borrowed(term)) };
        let name = term.parse::<usize>().ok().and_then(|n| terms.get(n.checked_sub(1)?));
        let unnamed = || {
            let reason = format!("term {} is not in {}", quoted(term), terms_file(&self.context.path).display());
            self.context.error(number, reason)
        };
        name.map(|name| Cow::Owned(name.clone())).ok_or_else(unnamed)
    }

    fn count(&self, number: u64, pair: &str, value: &str) -> Result<u32> {
        let counts = matches!(self.meaning, Meaning::Counts);
        if let (true, Ok(count)) = (counts, value.parse::<u32>()) {
            return Ok(count);
        }
        if matches!(self.meaning, Meaning::Presence) && is_plainly_positive(value) {
            return Ok(1);
        }
        let x = self.weight(number, pair, value)?;
        let error = |what: &str| Err(self.context.error(number, format!("{}: {what}", quoted(pair))));
        match self.meaning {
            Meaning::Presence | Meaning::Ltc(_) => Ok(u32::from(x > 0.0)),
            Meaning::Weights if x > f64::from(u32::MAX / WEIGHT_UNIT) => error("a weight is at most 429,496"),
            // A weight that is there is never lost by rounding.
            Meaning::Weights if x > 0.0 => Ok(((x * f64::from(WEIGHT_UNIT)).round() as u32).max(1)),
            Meaning::Weights => Ok(0),
            Meaning::Counts if x.fract() == 0.0 && x <= f64::from(u32::MAX) => Ok(x as u32),
            Meaning::Counts => error(
                "not a whole number, though the values are read as counts; weights need the option `values=presence`",
            ),
        }
    }

    fn weight(&self, number: u64, pair: &str, value: &str) -> Result<f64> {
        let error = |what: &str| Err(self.context.error(number, format!("{}: {what}", quoted(pair))));
        match value.parse::<f64>() {
            Err(_) => error("expected term:value with a number as value"),
            Ok(x) if !x.is_finite() || x < 0.0 => error("a value must be a finite number, 0 or more"),
            Ok(x) => Ok(x),
        }
    }
}

/// A file whose weights are solved is in memory once, as text, while that is done.
const MAX_SOLVED_BYTES: usize = 4 << 30;

fn solve(path: &Path, options: &ReadOptions) -> Result<Ltc> {
    if !path.is_file() {
        return Err(Error::malformed_file(
            path,
            "counts are recovered from all documents together, which needs a file and no stream (the option `values=ltc`)",
        ));
    }
    let bytes = Source::open(path, options.encoding)?.read_all(MAX_SOLVED_BYTES)?;
    let text = String::from_utf8(bytes).map_err(|_| Error::malformed_file(path, "not UTF-8"))?;
    let solved = Ltc::solve(path, &text)?;
    tracing::info!(
        "{}: counts recovered from ltc weights, which leave {:.1e} in the median",
        path.display(),
        solved.left
    );
    Ok(solved)
}

/// Whether a value is digits and at most one point, not all zero: most weights are, and need not be computed.
fn is_plainly_positive(value: &str) -> bool {
    let (mut points, mut positive) = (0, false);
    for byte in value.bytes() {
        match byte {
            b'1'..=b'9' => positive = true,
            b'0' => {}
            b'.' => points += 1,
            _ => return false,
        }
    }
    positive && points <= 1
}

/// Whether all values are whole numbers from 1.
fn all_counts(bytes: &[u8]) -> bool {
    bytes.split(|&b| b == b'\n').all(|line| {
        let line = &line[..memchr::memchr(b'#', line).unwrap_or(line.len())];
        line.split(u8::is_ascii_whitespace).all(|word| match memchr::memrchr(b':', word) {
            Some(at) if !word.starts_with(b"qid:") => {
                let value = std::str::from_utf8(&word[at + 1..]).ok().and_then(|v| v.parse::<f64>().ok());
                value.is_some_and(|v| v.fract() == 0.0 && v >= 1.0)
            }
            _ => true,
        })
    })
}

/// Whether a word is `number:value`, so that a line that begins with it has no labels.
pub(crate) fn is_pair(word: &str) -> bool {
    word.split_once(':').is_some_and(|(index, value)| {
        !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit()) && value.parse::<f64>().is_ok()
    })
}

impl ParseLine for SvmLight {
    fn context(&self) -> &FileContext {
        &self.context
    }

    fn parse_line<'a>(&self, number: u64, line: &'a str) -> Result<Option<Document<'a>>> {
        let line = line.split_once('#').map_or(line, |(before, _)| before);
        let begins_with_space = line.starts_with(|c: char| c.is_ascii_whitespace());
        let mut words = line.split_ascii_whitespace().peekable();
        let Some(first) = words.peek() else { return Ok(None) };
        let mut labels = Vec::new();
        if !begins_with_space && !is_pair(first) {
            labels.extend(first.split(',').map(Cow::Borrowed));
            tidy_labels(&mut labels);
            words.next();
        }
        let mut counts = Vec::new();
        let mut weights = Vec::new();
        for pair in words {
            let Some((term, value)) = pair.rsplit_once(':').filter(|(term, _)| !term.is_empty()) else {
                let reason = format!("{}: expected term:value; labels stand first, joined by commas", quoted(pair));
                return Err(self.context.error(number, reason));
            };
            if term == "qid" {
                continue;
            }
            if let Meaning::Ltc(_) = self.meaning {
                weights.push((term, self.weight(number, pair, value)?));
                continue;
            }
            let count = self.count(number, pair, value)?;
            if count > 0 {
                counts.push((self.term(number, term)?, count));
            }
        }
        if let Meaning::Ltc(ltc) = &self.meaning {
            for (&(term, _), count) in weights.iter().zip(ltc.counts(&weights)).filter(|(_, count)| *count > 0) {
                counts.push((self.term(number, term)?, count));
            }
        }
        let id = self.context.id_of_line(number).into();
        Ok(Some(Document { id, body: Body::Counts(counts), labels, part: self.context.part, date: None, weight: None }))
    }
}
