//! Classifiers as text: `name(key=value,…)`, read and printed the same way for all of them.

use std::fmt::Display;
use std::str::FromStr;

use crate::{Error, Result};

/// The words of an enum of options, for parsing and printing.
pub(super) trait Words: Copy + PartialEq + 'static {
    const WORDS: &'static [(Self, &'static str)];

    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(v, _)| *v == self).map_or("", |(_, w)| w)
    }

    fn parse(kind: &'static str, text: &str) -> Result<Self> {
        let found = Self::WORDS.iter().find(|(_, w)| *w == text).map(|(v, _)| *v);
        found.ok_or_else(|| Error::unknown(kind, text, Self::WORDS.iter().map(|(_, w)| *w)))
    }
}

/// `name`, or `name(key=value,…)` with the arguments that are not at their default.
pub(super) fn spelled(name: &str, arguments: &[(&str, &dyn Display, bool)]) -> String {
    let said = arguments.iter().filter(|(_, _, is_default)| !is_default);
    let said: Vec<String> = said.map(|(key, value, _)| format!("{key}={value}")).collect();
    if said.is_empty() { name.to_owned() } else { format!("{name}({})", said.join(",")) }
}

pub(super) fn number<T: FromStr>(key: &str, value: &str) -> Result<T> {
    value.parse().map_err(|_| Error::invalid(key, value, "must be a number"))
}

/// The arguments of `name` or `name(key=value,…)`, each key known and given once. Commas inside brackets and quotes belong to the
/// value.
pub(super) fn arguments<'a>(text: &'a str, name: &str, keys: &[&str]) -> Result<Vec<(&'a str, &'a str)>> {
    let at_end = |reason: String| Error::Expression { text: text.to_owned(), at: text.len(), reason };
    let trimmed = text.trim();
    let Some(rest) = trimmed.strip_prefix(name) else {
        return Err(Error::Expression { text: text.to_owned(), at: 0, reason: format!("expected {name}") });
    };
    let rest = rest.trim();
    if rest.is_empty() {
        return Ok(Vec::new());
    }
    let inner = rest.strip_prefix('(').ok_or_else(|| Error::Expression {
        text: text.to_owned(),
        at: place(text, rest),
        reason: format!("expected ( or the end after {name}"),
    })?;
    let inner = inner.strip_suffix(')').ok_or_else(|| at_end("expected )".to_owned()))?;
    let mut found: Vec<(&str, &str)> = Vec::new();
    if inner.trim().is_empty() {
        return Ok(found);
    }
    for argument in parted(inner, ',') {
        let Some((key, value)) = argument.split_once('=') else {
            return Err(Error::Expression {
                text: text.to_owned(),
                at: place(text, argument),
                reason: format!("expected key=value; keys are {}", keys.join(" ")),
            });
        };
        let (key, value) = (key.trim(), value.trim());
        if !keys.contains(&key) {
            return Err(Error::unknown("option", key, keys.iter().copied()));
        }
        if found.iter().any(|(k, _)| *k == key) {
            return Err(Error::Expression {
                text: text.to_owned(),
                at: place(text, argument),
                reason: format!("{key} is given twice"),
            });
        }
        found.push((key, value));
    }
    Ok(found)
}

/// The parts of a text between separators that are neither in brackets nor in double quotes.
pub(super) fn parted(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0u32, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if c == separator && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Byte offset of a part of `text` in it.
fn place(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_brackets_and_quotes_part_nothing() {
        assert_eq!(parted(r#"a=f(x,y),b="1,2",c"#, ','), ["a=f(x,y)", r#"b="1,2""#, "c"]);
        assert_eq!(parted("", ','), [""]);
    }
}
