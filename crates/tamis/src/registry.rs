//! What can be named. One shape of row for everything that has a name, a meaning and a source; `tamis list`, the pages in
//! `docs/` and Python's `registry` all print the tables made here.

use serde::Serialize;

use crate::classify::ClassifierSpec;
use crate::corpus::Format;
use crate::features::search::Strategy;
use crate::features::{Combination, Formula, Pool, Score};
use crate::hierarchy::pipeline::Method;
use crate::measure::Measure;
use crate::named::named;
use crate::terms::{stemmers, stop_word_languages};
use crate::threshold::Threshold;

/// One row of a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The name, without parameters.
    pub name: &'static str,
    /// A full name that parses.
    pub example: &'static str,
    /// What it is or does, in words.
    pub what: &'static str,
    /// The formula in words or signs; empty where `what` says all.
    pub formula: &'static str,
    /// Where it comes from: keys of the bibliography of `docs/method.md`, each with its section, separated by `; `.
    pub source: &'static str,
}

/// A registry as a table: column names, and as many cells in each row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Names of the columns.
    pub columns: Vec<&'static str>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Listing {
    fn new<const N: usize>(columns: [&'static str; N], rows: impl IntoIterator<Item = [String; N]>) -> Self {
        Self { columns: columns.to_vec(), rows: rows.into_iter().map(Vec::from).collect() }
    }

    /// The usual columns.
    fn of_rows(rows: impl IntoIterator<Item = Row>) -> Self {
        let cells = |row: Row| [row.name, row.example, row.what, row.source].map(str::to_owned);
        Self::new(["name", "example", "what", "source"], rows.into_iter().map(cells))
    }
}

named! {
    /// The registries.
    pub enum List ("list") {
        /// Corpus formats.
        Formats = "formats",
        /// Scores of terms.
        Selectors = "selectors",
        /// Ways to combine selectors.
        Combinations = "combinations",
        /// Searches for subsets.
        Searches = "searches",
        /// Classifiers.
        Classifiers = "classifiers",
        /// Ways to decide labels.
        Thresholds = "thresholds",
        /// Ways to select thresholds along a pipeline.
        Methods = "methods",
        /// Measures of quality.
        Measures = "measures",
        /// Languages with a stop-word list.
        StopWords = "stop-words",
        /// Snowball stemmers.
        Stemmers = "stemmers",
    }
}

impl List {
    /// The registry as a table.
    pub fn table(self) -> Listing {
        match self {
            Self::Formats => Listing::new(
                ["name", "endings", "written", "what"],
                Format::ALL.map(Format::spec).map(|spec| {
                    let written = if spec.written { "yes" } else { "" };
                    [spec.name.to_owned(), spec.endings.join(" "), written.to_owned(), spec.description.to_owned()]
                }),
            ),
            Self::Selectors => Listing::new(
                ["name", "example", "what", "formula", "over labels", "source"],
                Score::all().map(|score| {
                    let row = score.formula().spec().row;
                    let (name, example) = match score.formula() {
                        // The only one with a parameter.
                        Formula::Wfo(_) => (format!("{}(λ)", score.name()), format!("{}(0.3)", score.name())),
                        _ => (score.name(), score.name()),
                    };
                    let pooled = score.pool().map_or("one score for all", Pool::rule);
                    [name, example, row.what.into(), row.formula.into(), pooled.into(), row.source.into()]
                }),
            ),
            Self::Combinations => Listing::of_rows(Combination::ALL.map(|c| c.spec().row)),
            Self::Searches => Listing::of_rows(Strategy::ALL.map(Strategy::spec)),
            Self::Classifiers => Listing::of_rows(ClassifierSpec::ROWS),
            Self::Thresholds => Listing::of_rows(Threshold::registry().iter().copied()),
            Self::Methods => Listing::of_rows(Method::ALL.map(Method::spec)),
            Self::Measures => Listing::new(
                ["name", "example", "what", "formula", "better", "source"],
                Measure::registry().iter().map(|spec| {
                    let better = if spec.higher_is_better { "higher" } else { "lower" };
                    [spec.name, spec.example, spec.what, spec.formula, better, spec.source].map(str::to_owned)
                }),
            ),
            Self::StopWords => Listing::new(["language"], stop_word_languages().map(|name| [name.to_owned()])),
            Self::Stemmers => Listing::new(["stemmer"], stemmers().map(|name| [name.to_owned()])),
        }
    }
}
