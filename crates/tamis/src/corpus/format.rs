//! The formats a corpus can have: one table that options, help and detection read.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A format of corpora.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// One JSON object in each line.
    Jsonl,
    /// Comma-separated values with a header.
    Csv,
    /// Tab-separated values with a header.
    Tsv,
    /// Apache Parquet (cargo feature `parquet`).
    Parquet,
    /// A folder for each label.
    Folders,
    /// Plain text: a file is a document without labels.
    Text,
    /// Plain text: a line is a document without labels.
    Lines,
    /// Reuters-21578 SGML.
    Reuters,
    /// RCV1-v2 (LYRL2004) token files with qrels.
    Lyrl,
    /// svmlight, multi-label.
    SvmLight,
    /// fastText `__label__` lines.
    FastText,
    /// Multi-domain sentiment reviews.
    Review,
    /// Annif's: a text and `<uri>` subjects in each line, or texts with their subjects beside them.
    Annif,
}

/// What is known of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatSpec {
    /// Its name in options.
    pub name: &'static str,
    /// Endings of its files, the usual one first; none when it is told by the content alone.
    pub endings: &'static [&'static str],
    /// What it looks like, in a line.
    pub description: &'static str,
    /// Whether `convert` writes it.
    pub written: bool,
}

impl Format {
    /// All formats, in the order they are listed to people.
    pub const ALL: [Self; 13] = [
        Self::Jsonl,
        Self::Csv,
        Self::Tsv,
        Self::Parquet,
        Self::Folders,
        Self::Text,
        Self::Lines,
        Self::Reuters,
        Self::Lyrl,
        Self::SvmLight,
        Self::FastText,
        Self::Review,
        Self::Annif,
    ];

    /// The row of the format in the table.
    pub const fn spec(self) -> FormatSpec {
        let (name, endings, description, written): (_, &[&str], _, _) = match self {
            Self::Jsonl => (
                "jsonl",
                &["jsonl", "ndjson", "json"],
                "one JSON object in each line: id, text or tokens, labels or label, split, date",
                true,
            ),
            Self::Csv => (
                "csv",
                &["csv"],
                "fields separated by commas, semicolons, tabs or bars, with a header or columns that are named; labels separated by ; in one column",
                true,
            ),
            Self::Tsv => (
                "tsv",
                &["tsv", "tab"],
                "tab-separated, with a header or columns that are named; labels separated by ; in one column",
                true,
            ),
            Self::Parquet => (
                "parquet",
                &["parquet", "pq"],
                "Apache Parquet: a text column, labels as strings, numbers, booleans or lists of them",
                true,
            ),
            Self::Folders => {
                ("folders", &[], "a folder for each label with a file for each document; train/ and test/ above", true)
            }
            Self::Text => (
                "text",
                &["txt", "text", "md"],
                "plain text: a file is a document without labels, also a folder of files",
                false,
            ),
            Self::Lines => ("lines", &[], "plain text: a line is a document without labels", false),
            Self::Reuters => ("reuters", &["sgm", "sgml"], "Reuters-21578 SGML, with its splits", false),
            Self::Lyrl => ("lyrl", &[], "RCV1-v2 token files (.I id, .W, tokens) with topics in *.qrels", false),
            Self::SvmLight => (
                "svmlight",
                &["svm", "svmlight", "libsvm"],
                "labels joined by commas, then term:count; names of the terms in FILE.terms",
                true,
            ),
            Self::FastText => ("fasttext", &["ft", "fasttext"], "labels as __label__x words, then the text", true),
            Self::Annif => (
                "annif",
                &[],
                "Annif's: a text, a tab and <uri> subjects in each line; or a folder of .txt files with .key or .tsv files of subjects",
                true,
            ),
            Self::Review => ("review", &["review"], "multi-domain sentiment reviews (pseudo-XML)", false),
        };
        FormatSpec { name, endings, description, written }
    }

    /// The format that the ending of a file's name says, compression aside.
    pub fn of_path(path: &std::path::Path) -> Option<Self> {
        super::detect::by_name(path)
    }

    /// The format whose files end so (in lower case, without the dot).
    pub(crate) fn of_ending(ending: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.spec().endings.contains(&ending))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.spec().name)
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|format| format.spec().name == name);
        found.ok_or_else(|| Error::unknown("format", name, Self::ALL.map(|format| format.spec().name)))
    }
}

impl Serialize for Format {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.spec().name)
    }
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        let mut endings: Vec<&str> = Vec::new();
        for format in Format::ALL {
            assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
            let json = serde_json::to_string(&format).unwrap();
            assert_eq!(serde_json::from_str::<Format>(&json).unwrap(), format);
            assert!(!format.spec().description.is_empty());
            endings.extend(format.spec().endings);
        }
        let count = endings.len();
        endings.sort_unstable();
        endings.dedup();
        assert_eq!(endings.len(), count, "an ending belongs to one format");
        let error = "jsnl".parse::<Format>().unwrap_err().to_string();
        assert!(error.starts_with("unknown format \"jsnl\"; did you mean jsonl?"), "{error}");
    }
}
