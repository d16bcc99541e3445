//! What formats with named fields (JSONL, CSV, TSV, Parquet) share: which names, and what the values may be.

use std::borrow::Cow;

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::{Body, DateOrder, Part};
use crate::terms::TEXT_FIELD;

/// Names of the fields (JSONL) or columns (CSV, TSV, Parquet) to read. `None` takes the usual names; an empty name
/// leaves the field unread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fields {
    /// Name of the document; usually `id`.
    pub id: Option<String>,
    /// Running text; usually `text`.
    pub text: Option<String>,
    /// Ready tokens, where there is no text; usually `tokens`.
    pub tokens: Option<String>,
    /// Labels; usually `labels` (a list) or `label` (one).
    pub labels: Option<String>,
    /// `train` or `test`; usually `split` or `part`.
    pub split: Option<String>,
    /// ISO 8601 date, or one such as 31.05.2024; usually `date`.
    pub date: Option<String>,
    /// What comes first in dates that are not ISO 8601.
    pub date_order: DateOrder,
    /// How often a document counts when a classifier learns: a number, 0 or more. Only read where it is named.
    pub weight: Option<String>,
    /// Fields that terms are made of, where they are named ([`crate::terms::TextOptions::fields`]); `text` among them is the
    /// field of the running text. Empty: only the text is read.
    pub texts: Vec<String>,
}

/// What a field is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Id,
    Text,
    Tokens,
    /// Terms with their counts: an object in JSONL, as this library writes bags of words.
    Counts,
    Labels,
    Split,
    Date,
    Weight,
    /// A text that the terms expression names, by its number in [`Fields::texts`].
    Field(usize),
}

impl Role {
    /// The option that names the field.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Self::Id => "id_field",
            Self::Text => "text_field",
            Self::Tokens | Self::Counts => "tokens_field",
            Self::Labels => "labels_field",
            Self::Split => "split_field",
            Self::Date => "date_field",
            Self::Weight => "weight_field",
            Self::Field(_) => "terms",
        }
    }
}

impl Fields {
    fn given(&self, role: Role) -> Option<&str> {
        match role {
            Role::Id => self.id.as_deref(),
            Role::Text => self.text.as_deref(),
            Role::Tokens => self.tokens.as_deref(),
            Role::Counts => None,
            Role::Labels => self.labels.as_deref(),
            Role::Split => self.split.as_deref(),
            Role::Date => self.date.as_deref(),
            Role::Weight => self.weight.as_deref(),
            Role::Field(at) => self.texts.get(at).map(String::as_str),
        }
    }

    /// The named texts other than the running text.
    fn named(&self) -> impl Iterator<Item = Role> {
        let other = |name: &str| name != TEXT_FIELD && Some(name) != self.named_text();
        self.texts.iter().enumerate().filter(move |(_, name)| other(name)).map(|(at, _)| Role::Field(at))
    }

    /// The name of the running text's field, where a block of terms reads it by that name and another without.
    fn named_text(&self) -> Option<&str> {
        self.text.as_deref().filter(|name| self.reads(Role::Text) && self.texts.iter().any(|text| text == name))
    }

    /// Whether a field is needed: where texts are named, no other one is read.
    fn reads(&self, role: Role) -> bool {
        match role {
            Role::Text => self.texts.is_empty() || self.texts.iter().any(|name| name == TEXT_FIELD),
            Role::Tokens | Role::Counts => self.texts.is_empty(),
            _ => true,
        }
    }

    /// The body of a document that has these texts; none where it has no text and no field is named. A document may lack any of
    /// the named ones: whoever counts says when nobody has one.
    pub(crate) fn body<'a>(&self, text: Option<Cow<'a, str>>, named: Vec<(usize, Cow<'a, str>)>) -> Option<Body<'a>> {
        if self.texts.is_empty() {
            return text.map(Body::Text);
        }
        let again = self.named_text().zip(text.clone()).map(|(name, text)| (Cow::Owned(name.to_owned()), text));
        let text = text.map(|text| (Cow::Borrowed(TEXT_FIELD), text));
        let named = named.into_iter().map(|(at, text)| (Cow::Owned(self.texts[at].clone()), text));
        Some(Body::Fields(text.into_iter().chain(again).chain(named).collect()))
    }

    /// The names to look for, by role.
    pub(crate) fn names(&self) -> Vec<(String, Role)> {
        const USUAL: [(Role, &[&str]); 8] = [
            (Role::Text, &["text"]),
            (Role::Labels, &["labels", "label"]),
            (Role::Id, &["id"]),
            (Role::Date, &["date"]),
            (Role::Tokens, &["tokens"]),
            (Role::Split, &["split", "part"]),
            (Role::Counts, &["counts"]),
            // A column of this kind is read when somebody asks for it, never by accident.
            (Role::Weight, &[]),
        ];
        let mut names: Vec<(String, Role)> = Vec::new();
        let mut add = |name: &str, role| {
            if !name.is_empty() && !names.iter().any(|(known, _)| known == name) {
                names.push((name.to_owned(), role));
            }
        };
        // Names given by the user come first: a text field called `labels` then takes that name from the labels.
        for role in USUAL.into_iter().map(|(role, _)| role).chain(self.named()) {
            if let Some(name) = self.given(role).filter(|_| self.reads(role)) {
                add(name, role);
            }
        }
        for (role, usual) in USUAL {
            if self.given(role).is_none() && self.reads(role) {
                for name in usual {
                    add(name, role);
                }
            }
        }
        names
    }

    /// The fields the user named, which must therefore exist.
    pub(crate) fn demanded(&self) -> impl Iterator<Item = (&str, Role)> {
        [Role::Id, Role::Text, Role::Tokens, Role::Labels, Role::Split, Role::Date, Role::Weight]
            .into_iter()
            .chain(self.named())
            .filter(|role| self.reads(*role))
            .filter_map(|role| self.given(role).filter(|name| !name.is_empty()).map(|name| (name, role)))
    }
}

impl Fields {
    /// The columns to read by role, where the names stand in a header; or what is missing.
    pub(crate) fn roles(&self, header: &[String]) -> Result<Vec<(usize, Role)>, String> {
        let columns = || format!("the columns are {}", some(header));
        let position = |name: &str| {
            let exact = header.iter().position(|column| column == name);
            exact.or_else(|| header.iter().position(|column| column.eq_ignore_ascii_case(name)))
        };
        if let Some((name, role)) = self.demanded().find(|(name, _)| position(name).is_none()) {
            return Err(format!("no column {name:?} (the option `{}`); {}", role.option(), columns()));
        }
        let mut roles: Vec<(usize, Role)> = Vec::new();
        for (name, role) in self.names() {
            let taken = |at: usize| roles.iter().any(|(column, _)| *column == at);
            if let Some(at) = position(&name).filter(|&at| !taken(at) && role != Role::Counts) {
                roles.push((at, role));
            }
        }
        let has_text = roles.iter().any(|(_, role)| *role == Role::Text);
        if !self.texts.is_empty() && self.reads(Role::Text) && !has_text {
            return Err(format!(
                "no column \"text\", which a block of the option `terms` reads that names no field; {}; name one, as in \
                 title:words, or the column of the text with the option `text_field`",
                columns()
            ));
        }
        if roles.iter().any(|(_, role)| matches!(role, Role::Text | Role::Tokens | Role::Field(_))) {
            Ok(roles)
        } else {
            Err(format!("no column \"text\"; {}; name the one with the text with the option `text_field`", columns()))
        }
    }
}

/// Labels as documents hold them: trimmed, without empty ones and repetitions, in the order given.
pub(crate) fn tidy_labels(labels: &mut Vec<Cow<'_, str>>) {
    for label in labels.iter_mut() {
        trim(label);
    }
    match labels.len() {
        0 => {}
        1 => {
            if labels[0].is_empty() {
                labels.clear();
            }
        }
        2..=16 => {
            let mut kept = 0;
            for next in 0..labels.len() {
                if !labels[next].is_empty() && !labels[..kept].contains(&labels[next]) {
                    labels.swap(kept, next);
                    kept += 1;
                }
            }
            labels.truncate(kept);
        }
        _ => {
            let mut seen = FxHashSet::default();
            labels.retain(|label| !label.is_empty() && seen.insert(label.clone()));
        }
    }
}

/// The label that a boolean is: as JSON writes it.
pub(crate) fn label_of_bool(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

/// The label that a number is; none for one that is missing (NaN). Programs that know only floats write whole numbers with
/// a point, so 2.0 is the label 2.
pub(crate) fn label_of_number(number: f64) -> Option<String> {
    // Adding 0 makes one zero of two.
    (!number.is_nan()).then(|| (number + 0.0).to_string())
}

fn trim(text: &mut Cow<'_, str>) {
    match text {
        Cow::Borrowed(borrowed) => *borrowed = borrowed.trim(),
        Cow::Owned(owned) => {
            let trimmed = owned.trim();
            if trimmed.len() != owned.len() {
                *owned = trimmed.to_owned();
            }
        }
    }
}

/// The part a value names. Validation documents are in neither part.
pub(crate) fn part_of(value: &str) -> Result<Option<Part>, String> {
    match value.trim().to_ascii_lowercase().as_str() {
        "train" | "training" => Ok(Some(Part::Train)),
        "test" | "testing" => Ok(Some(Part::Test)),
        "validation" | "val" | "valid" | "dev" | "development" => Ok(Some(Part::Validation)),
        "" | "none" | "unused" | "not-used" => Ok(None),
        _ => Err(format!("must be train, validation or test, found {}", quoted(value))),
    }
}

/// How often a document counts, as a field says it.
pub(crate) fn weight_of(weight: f64) -> Result<f64, String> {
    if (0.0..=MOST_WEIGHT).contains(&weight) {
        return Ok(weight);
    }
    Err(format!("must be a number between 0 and {MOST_WEIGHT:e}, found {weight}"))
}

/// The same from a column of text; nothing where it is empty.
pub(crate) fn weight_in(text: &str) -> Result<Option<f64>, String> {
    match text.trim() {
        "" => Ok(None),
        text => match text.parse::<f64>() {
            Ok(weight) => weight_of(weight).map(Some),
            Err(_) => Err(format!("must be a number, 0 or more, found {}", quoted(text))),
        },
    }
}

/// Sums of weights stay far from what numbers can hold.
const MOST_WEIGHT: f64 = 1e9;

/// Names in a message: the first ones, where there are many.
pub(crate) fn some<S: AsRef<str>>(names: &[S]) -> String {
    const SHOWN: usize = 30;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| short(name.as_ref())).collect();
    let more = names.len().saturating_sub(SHOWN);
    match (names.len(), more) {
        (0, _) => "none".to_owned(),
        (_, 0) => shown.join(", "),
        _ => format!("{}, … and {more} more", shown.join(", ")),
    }
}

/// A name, cut when long.
fn short(name: &str) -> String {
    match name.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name.to_owned(),
    }
}

/// A value in a message: quoted, and cut when long.
pub(crate) fn quoted(value: &str) -> String {
    match value.char_indices().nth(40) {
        Some((at, _)) => format!("{:?}…", &value[..at]),
        None => format!("{value:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_trimmed_and_distinct() {
        for many in [0, 20] {
            let mut labels: Vec<Cow<'_, str>> = vec![" a ".into(), "".into(), "b".into(), "a".into(), " ".into()];
            labels.extend(std::iter::repeat_n(Cow::Borrowed("b"), many));
            labels.push(Cow::Owned(" c".into()));
            tidy_labels(&mut labels);
            assert_eq!(labels, ["a", "b", "c"]);
        }
        let mut blank = vec![Cow::Borrowed(" ")];
        tidy_labels(&mut blank);
        assert!(blank.is_empty());
    }

    #[test]
    fn given_names_take_precedence() {
        let fields = Fields { text: Some("label".into()), date: Some(String::new()), ..Fields::default() };
        let names = fields.names();
        assert_eq!(names[0], ("label".to_owned(), Role::Text));
        assert!(!names.iter().any(|(name, role)| *role == Role::Date || name == "text"));
        assert_eq!(names.iter().filter(|(_, role)| *role == Role::Labels).count(), 1);
        assert_eq!(fields.demanded().collect::<Vec<_>>(), [("label", Role::Text)]);
    }
}
