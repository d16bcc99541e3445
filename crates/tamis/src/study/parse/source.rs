//! The text of a plan: errors that name key and line.

use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;

use toml::Spanned;

use super::raw::Strings;
use crate::{Error, Result};

/// A plan file, so that errors can say where.
pub(super) struct PlanText<'a> {
    pub(super) path: PathBuf,
    pub(super) text: &'a str,
}

impl PlanText<'_> {
    /// An error at a place of the text; `key` is what the user wrote there.
    pub(super) fn error(&self, span: Range<usize>, key: &str, reason: impl std::fmt::Display) -> Error {
        Error::malformed(&self.path, self.line(span.start), format!("{key}: {reason}"))
    }

    fn line(&self, at: usize) -> u64 {
        1 + self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|b| **b == b'\n').count() as u64
    }

    /// What the TOML reader says, with the key it is about: the one written before the place, under its heading.
    pub(super) fn of_toml(&self, error: &toml::de::Error) -> Error {
        let Some(span) = error.span() else { return Error::malformed_file(&self.path, error.message()) };
        match self.key_at(span.start) {
            Some(key) => self.error(span, &key, error.message()),
            None => Error::malformed(&self.path, self.line(span.start), error.message()),
        }
    }

    fn key_at(&self, at: usize) -> Option<String> {
        // The line of the place belongs to it as a whole, so that an unknown key is found as well as a bad value.
        let end = self.text[at.min(self.text.len())..].find('\n').map_or(self.text.len(), |n| at + n);
        let mut key = None;
        for line in self.text[..end].lines().rev() {
            let line = line.trim();
            if let Some(heading) = line.strip_prefix('[').and_then(|l| l.split(']').next()) {
                return Some(key.map_or_else(|| heading.to_owned(), |key: &str| format!("{heading}.{key}")));
            }
            if let (None, Some((before, _))) = (key, line.split_once('='))
                && !before.starts_with('#')
            {
                key = Some(before.trim());
            }
        }
        key.map(str::to_owned)
    }

    pub(super) fn parse<T: FromStr<Err = Error>>(&self, key: &str, value: &Spanned<String>) -> Result<T> {
        value.get_ref().parse().map_err(|e| self.error(value.span(), key, e))
    }

    /// A list of names, not empty and without repetition.
    pub(super) fn list<T: FromStr<Err = Error> + PartialEq>(&self, key: &str, values: &Strings) -> Result<Vec<T>> {
        let mut list: Vec<T> = Vec::new();
        for value in values.get_ref() {
            let item = self.parse(key, value)?;
            if list.contains(&item) {
                return Err(self.error(value.span(), key, format!("{:?} is listed twice", value.get_ref())));
            }
            list.push(item);
        }
        if list.is_empty() {
            return Err(self.error(values.span(), key, "at least one is needed"));
        }
        Ok(list)
    }

    /// Where a key stands in the section that begins at a place; the section where the key is not written.
    pub(super) fn key_in(&self, section: Range<usize>, key: &str) -> Range<usize> {
        let name = key.rsplit('.').next().unwrap_or(key);
        let mut at = section.start;
        for (number, line) in self.text[section.start..].split_inclusive('\n').enumerate() {
            let trimmed = line.trim_start();
            if number > 0 && trimmed.starts_with('[') {
                break;
            }
            if trimmed.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with('=')) {
                return at..at + line.len();
            }
            at += line.len();
        }
        section
    }

    pub(super) fn missing(&self, section: &str) -> Error {
        Error::malformed_file(
            &self.path,
            format!("there is no [{section}]; a plan needs it, unless it has [simulation] or [pipelines]"),
        )
    }
}
