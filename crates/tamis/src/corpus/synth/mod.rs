//! The built-in corpus: documents generated from word lists written for this project, as many as one likes.
//!
//! Two shapes. [`Shape::Topics`] is running English-like text about some sixty topics that a reader recognises, in a
//! taxonomy of four levels; it is what the demonstration and the examples use. [`Shape::Rcv1`] has the size and sparsity
//! of RCV1-v2 and is for tests of scale.
//!
//! What the topics are and which words they like is fixed; the seed draws documents. So two seeds give two samples of
//! one source, and a model trained on one can be tried on the other. A document depends on the seed and its number
//! alone: any range, in any order, on any number of threads, gives the same documents, and none has to be kept.
//!
//! ```
//! use tamis::corpus::synth::{self, SynthOptions};
//!
//! let document = synth::documents(&SynthOptions::default())?.next().expect("there are 2,000");
//! assert!(document.labels.len() <= 5);
//! # Ok::<(), tamis::Error>(())
//! ```

mod invent;
mod lists;
mod prose;
mod random;
mod rcv1;
mod topics;

use std::borrow::Cow;
use std::ops::{ControlFlow, Range};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use self::random::{Key, Stream};
use super::{Batch, Batches, Body, Document, Part};
use crate::named::named;
use crate::{Error, Result};

/// Documents in a batch: with about a kilobyte each, the size that readers cut too ([`super::BATCH_BYTES`]).
const BATCH: u64 = 512;

named! {
    /// What the documents look like.
    #[derive(Default)]
    pub enum Shape ("shape") {
        /// Running text of 40 to 250 words about some sixty topics such as `science/physics/astronomy`; one to five labels,
        /// the most specific only: a document of a topic is understood to be of those above it (method 10).
        #[default]
        Topics = "topics",
        /// Stemmed tokens with the size and sparsity of RCV1-v2: 103 topics, ancestors listed as labels as they are there,
        /// about 47,000 terms, about 75 distinct ones in a document.
        Rcv1 = "rcv1",
    }
}

impl Shape {
    /// The usual number of documents: 2,000, or the 804,414 of RCV1-v2.
    pub fn usual_documents(self) -> u64 {
        match self {
            Self::Topics => 2_000,
            Self::Rcv1 => 804_414,
        }
    }
}

/// What to generate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SynthOptions {
    /// How many documents. The first thousand of a larger corpus are the corpus of a thousand.
    pub documents: u64,
    /// What to draw them with.
    pub seed: u64,
    /// What they look like.
    pub shape: Shape,
    /// The share of documents in the test part of the given split, from 0 to 1; with 0 no split is given.
    pub test_share: f64,
}

impl Default for SynthOptions {
    fn default() -> Self {
        Self::of(Shape::default())
    }
}

impl SynthOptions {
    /// The usual options of a shape.
    pub fn of(shape: Shape) -> Self {
        Self { documents: shape.usual_documents(), seed: 1, shape, test_share: 0.3 }
    }

    /// The corpus of a name such as `topics` or `rcv1:3000`: a shape and, when not the usual, a number of documents.
    pub fn named(name: &str, seed: u64) -> Result<Self> {
        let (shape, documents) = name.split_once(':').map_or((name, None), |(shape, n)| (shape, Some(n)));
        let options = Self { seed, ..Self::of(shape.parse()?) };
        let Some(given) = documents else { return Ok(options) };
        let documents = given.replace(['_', ','], "").parse();
        let documents = documents.map_err(|_| Error::data(format!("{given:?} is not a number of documents")))?;
        Ok(Self { documents, ..options })
    }
}

/// Draws any document of a corpus by its number.
#[derive(Debug, Clone)]
pub struct Generator {
    shape: Shape,
    test_share: f64,
    key: Key,
}

impl Generator {
    /// Checks the options.
    pub fn new(options: &SynthOptions) -> Result<Self> {
        if options.documents == 0 {
            return Err(Error::invalid("documents", 0, "generate at least one document"));
        }
        if !(0.0..=1.0).contains(&options.test_share) {
            return Err(Error::invalid(
                "test_share",
                options.test_share,
                "give the share of test documents, from 0 to 1",
            ));
        }
        Ok(Self { shape: options.shape, test_share: options.test_share, key: Key::new(options.seed) })
    }

    /// The document with this number, counted from 0; its id counts from 1.
    pub fn document(&self, number: u64) -> Document<'static> {
        let mut text = String::new();
        let mut document = self.draw(number, &mut text);
        if self.shape == Shape::Topics {
            document.body = Body::Text(Cow::Owned(text));
        }
        document
    }

    /// Draws a document. Running text replaces what is in `text`, for the caller to put in the body as owned or borrowed.
    fn draw(&self, number: u64, text: &mut String) -> Document<'static> {
        let mut stream = self.key.stream(number);
        // Drawn first and always, so that another share moves documents between the parts and changes nothing else.
        let place = stream.unit();
        let part = (self.test_share > 0.0).then_some(if place < self.test_share { Part::Test } else { Part::Train });
        let date = Some(Cow::Borrowed(date(self.shape, &mut stream)));
        let mut labels = Vec::new();
        let body = match self.shape {
            Shape::Topics => {
                text.clear();
                topics::MODEL.draw(&mut stream, text, &mut labels);
                Body::Text(Cow::Borrowed(""))
            }
            Shape::Rcv1 => Body::Tokens(rcv1::MODEL.draw(&mut stream, &mut labels)),
        };
        Document { id: Cow::Owned((number + 1).to_string()), body, labels, part, date, weight: None }
    }
}

/// The documents of a corpus in order.
#[derive(Debug, Clone)]
pub struct Documents {
    generator: Generator,
    numbers: Range<u64>,
}

impl Iterator for Documents {
    type Item = Document<'static>;

    fn next(&mut self) -> Option<Self::Item> {
        self.numbers.next().map(|number| self.generator.document(number))
    }

    /// Skips without drawing what is skipped.
    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        self.numbers.nth(n).map(|number| self.generator.document(number))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.numbers.size_hint()
    }
}

/// Generates the documents one by one.
pub fn documents(options: &SynthOptions) -> Result<Documents> {
    Ok(Documents { generator: Generator::new(options)?, numbers: 0..options.documents })
}

/// The same documents in batches: a batch is a range of numbers until a thread visits it.
pub fn batches(options: &SynthOptions) -> Result<Box<dyn Batches>> {
    Ok(Box::new(Cuts(documents(options)?)))
}

/// The taxonomy of a shape as child, parent (none for a root) and name, parents first.
pub fn taxonomy(shape: Shape) -> Vec<(String, Option<String>, String)> {
    match shape {
        Shape::Topics => lists::TOPICS
            .iter()
            .map(|t| (t.path.to_owned(), t.parent.map(|p| lists::TOPICS[p].path.to_owned()), t.name.to_owned()))
            .collect(),
        Shape::Rcv1 => rcv1::MODEL
            .taxonomy()
            .map(|(code, parent)| (code.to_owned(), parent.map(str::to_owned), format!("Topic {code}")))
            .collect(),
    }
}

struct Cuts(Documents);

impl Batches for Cuts {
    fn next_batch(&mut self) -> Result<Option<Box<dyn Batch>>> {
        let Range { start, end } = self.0.numbers;
        if start == end {
            return Ok(None);
        }
        let cut = end.min(start + BATCH);
        self.0.numbers.start = cut;
        Ok(Some(Box::new(Documents { generator: self.0.generator.clone(), numbers: start..cut })))
    }
}

impl Batch for Documents {
    fn visit(&self, visit: &mut dyn FnMut(Result<Document<'_>>) -> ControlFlow<()>) {
        let mut text = String::new();
        for number in self.numbers.clone() {
            let mut document: Document<'_> = self.generator.draw(number, &mut text);
            if self.generator.shape == Shape::Topics {
                document.body = Body::Text(Cow::Borrowed(&text));
            }
            if visit(Ok(document)).is_break() {
                return;
            }
        }
    }
}

/// A day of the years 2015 to 2024, or of the year that RCV1 covers.
fn date(shape: Shape, stream: &mut Stream) -> &'static str {
    static DAYS: LazyLock<Vec<String>> = LazyLock::new(|| days(2015, 2024));
    static RCV1_DAYS: LazyLock<Vec<String>> = LazyLock::new(|| {
        days(1996, 1997).into_iter().filter(|d| ("1996-08-20".."1997-08-20").contains(&d.as_str())).collect()
    });
    let days = match shape {
        Shape::Topics => &DAYS,
        Shape::Rcv1 => &RCV1_DAYS,
    };
    &days[stream.below(days.len())]
}

/// Every day from the first of January of a year to the end of another, as ISO 8601.
fn days(first: u32, last: u32) -> Vec<String> {
    let leap = |year: u32| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let length = move |year: u32, month: u32| match month {
        2 => 28 + u32::from(leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    (first..=last)
        .flat_map(|year| (1..=12).map(move |month| (year, month)))
        .flat_map(|(year, month)| (1..=length(year, month)).map(move |day| format!("{year}-{month:02}-{day:02}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let ten_years = days(2015, 2024);
        assert_eq!(ten_years.len(), 3_653);
        assert!(ten_years.is_sorted());
        assert!(ten_years.iter().any(|d| d == "2024-02-29") && !ten_years.iter().any(|d| d == "2023-02-29"));
        assert_eq!(days(1900, 1900).len(), 365);
        assert_eq!(days(2000, 2000).len(), 366);
    }

    #[test]
    fn stems_are_stems_and_no_stop_words() {
        let stemmer = frostem::Stemmer::new(frostem::Algorithm::English);
        let stems: Vec<Document> =
            documents(&SynthOptions { documents: 300, ..SynthOptions::of(Shape::Rcv1) }).expect("valid").collect();
        let stop: std::collections::HashSet<&str> = stop_words::get("en").iter().copied().collect();
        for document in stems {
            let Body::Tokens(tokens) = document.body else { panic!("not tokens") };
            for token in tokens {
                assert_eq!(stemmer.stem(&token), *token);
                assert!(!stop.contains(&*token), "{token}");
            }
        }
    }

    #[test]
    fn names_round_trip_and_options_are_checked() {
        for &shape in Shape::ALL {
            assert_eq!(shape.to_string().parse::<Shape>().expect("known"), shape);
            assert_eq!(serde_json::to_string(&shape).expect("plain"), format!("\"{shape}\""));
        }
        assert_eq!(
            "rcv".parse::<Shape>().expect_err("not allowed").to_string(),
            "unknown shape \"rcv\"; did you mean rcv1? Known: topics rcv1"
        );
        for bad in [-0.1, 1.5, f64::NAN] {
            let error =
                Generator::new(&SynthOptions { test_share: bad, ..SynthOptions::default() }).expect_err("not allowed");
            assert!(error.to_string().starts_with("test_share = "), "{error}");
        }
        assert!(documents(&SynthOptions { documents: 0, ..SynthOptions::default() }).is_err());
        let json: SynthOptions = serde_json::from_str(r#"{"documents": 5, "shape": "rcv1"}"#).expect("valid");
        assert_eq!(json, SynthOptions { documents: 5, shape: Shape::Rcv1, ..SynthOptions::default() });
    }
}
