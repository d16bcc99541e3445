//! JSONL: one object in each line. The format of the house, and the fast one.
//!
//! `{"id": "a", "text": "some words", "labels": ["x", "y"], "split": "train", "date": "2024-05-31"}`; `tokens` (a list)
//! or `counts` (an object from terms to whole numbers) may stand for `text`, and `label` (one) for `labels`; labels may
//! be strings, numbers or booleans.
//! Other fields are passed over.
//!
//! Lines are parsed by visitors that borrow from the batch. They only know right from wrong: when a line is wrong it is
//! parsed once more, slowly, to say exactly why.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::blocks::{FileContext, ParseLine};
use super::dates::date_of;
use super::fields::{Fields, Role, label_of_bool, label_of_number, part_of, some, tidy_labels, weight_of};
use super::{Body, DateOrder, Document, Part};
use crate::Result;

pub(crate) struct Jsonl {
    context: FileContext,
    fields: Fields,
    names: Vec<(String, Role)>,
}

impl Jsonl {
    pub(crate) fn new(context: FileContext, fields: &Fields) -> Self {
        Self { context, names: fields.names(), fields: fields.clone() }
    }
}

impl Jsonl {
    /// Whether a line is an object that says of its text that there is none: the field is null.
    pub(crate) fn has_null_text(&self, line: &str) -> bool {
        let Ok(Value::Object(object)) = serde_json::from_str(line) else { return false };
        let is_body = |role: &Role| matches!(role, Role::Text | Role::Tokens | Role::Counts | Role::Field(_));
        let mut bodies = self.names.iter().filter(|(_, role)| is_body(role)).filter_map(|(name, _)| object.get(name));
        bodies.next().is_some_and(Value::is_null) && bodies.all(Value::is_null)
    }
}

impl ParseLine for Jsonl {
    fn context(&self) -> &FileContext {
        &self.context
    }

    fn parse_line<'a>(&self, number: u64, line: &'a str) -> Result<Option<Document<'a>>> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let mut json = serde_json::Deserializer::from_str(line);
        let record = Object { names: &self.names, dates: self.fields.date_order }
            .deserialize(&mut json)
            .and_then(|record| json.end().map(|()| record));
        let why = || self.context.error(number, explain(line, &self.names, self.fields.date_order));
        let record: Record<'a> = record.map_err(|_| why())?;
        let body = match (self.fields.body(record.text, record.named), record.tokens, record.counts) {
            (Some(body), _, _) => body,
            (None, Some(tokens), _) => Body::Tokens(tokens),
            (None, None, Some(counts)) => Body::Counts(counts),
            (None, None, None) => return Err(why()),
        };
        let mut labels = record.labels;
        tidy_labels(&mut labels);
        let id = record.id.unwrap_or_else(|| self.context.id_of_line(number).into());
        let part = record.part.or(self.context.part);
        Ok(Some(Document { id, body, labels, part, date: record.date, weight: record.weight }))
    }
}

#[derive(Default)]
struct Record<'a> {
    id: Option<Cow<'a, str>>,
    text: Option<Cow<'a, str>>,
    named: Vec<(usize, Cow<'a, str>)>,
    tokens: Option<Vec<Cow<'a, str>>>,
    counts: Option<Vec<(Cow<'a, str>, u32)>>,
    labels: Vec<Cow<'a, str>>,
    part: Option<Part>,
    date: Option<Cow<'a, str>>,
    weight: Option<f64>,
}

/// An object with the named fields.
struct Object<'n> {
    names: &'n [(String, Role)],
    dates: DateOrder,
}

impl<'a> DeserializeSeed<'a> for Object<'_> {
    type Value = Record<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Record<'a>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for Object<'_> {
    type Value = Record<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Record<'a>, A::Error> {
        let mut record = Record::default();
        while let Some(role) = map.next_key_seed(Key { names: self.names })? {
            let Some(role) = role else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            match role {
                Role::Text => record.text = map.next_value::<Text<'a>>()?.0,
                Role::Field(at) => record.named.extend(map.next_value::<Text<'a>>()?.0.map(|text| (at, text))),
                Role::Id => record.id = map.next_value::<Name<'a>>()?.0,
                Role::Labels => record.labels.append(&mut map.next_value::<LabelList<'a>>()?.0.unwrap_or_default()),
                Role::Tokens => record.tokens = map.next_value_seed(StringList)?,
                Role::Counts => record.counts = map.next_value::<Counts<'a>>()?.0,
                Role::Split => {
                    if let Some(part) = map.next_value::<Text<'a>>()?.0 {
                        record.part = part_of(&part).map_err(A::Error::custom)?;
                    }
                }
                Role::Date => {
                    if let Some(date) = map.next_value::<Text<'a>>()?.0 {
                        record.date = date_of(date, self.dates).map_err(A::Error::custom)?;
                    }
                }
                Role::Weight => {
                    if let Some(weight) = map.next_value::<Option<f64>>()? {
                        record.weight = Some(weight_of(weight).map_err(A::Error::custom)?);
                    }
                }
            }
        }
        Ok(record)
    }
}

/// The role of a key, or `None` for a key to pass over.
struct Key<'n> {
    names: &'n [(String, Role)],
}

impl<'a> DeserializeSeed<'a> for Key<'_> {
    type Value = Option<Role>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Option<Role>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Option<Role>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Option<Role>, E> {
        Ok(self.names.iter().find(|(name, _)| name == key).map(|(_, role)| *role))
    }
}

/// Writes a type that is read by a visitor of the same shape: the methods given, and nothing else.
macro_rules! read_as {
    ($type:ident($inner:ty), $expected:literal, { $($methods:tt)* }) => {
        struct $type<'a>(Option<$inner>);

        impl<'de: 'a, 'a> serde::Deserialize<'de> for $type<'a> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct RecordVisitor;
                impl<'a> Visitor<'a> for RecordVisitor {
                    type Value = Option<$inner>;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }
                    fn visit_unit<E>(self) -> Result<Self::Value, E> {
                        Ok(None)
                    }
                    $($methods)*
                }
                deserializer.deserialize_any(RecordVisitor).map(Self)
            }
        }
    };
}

read_as!(Text(Cow<'a, str>), "a string", {
    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }
});

read_as!(Name(Cow<'a, str>), "a string or a whole number", {
    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)).filter(|id| !id.is_empty()))
    }
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(text).filter(|id| !id.is_empty()).map(|id| Cow::Owned(id.to_owned())))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }
});

/// A label: people number them and ask yes-or-no questions, so numbers and booleans are names too.
type Labels<'a> = Vec<Cow<'a, str>>;

read_as!(Label(Cow<'a, str>), "a string, a number or a boolean", {
    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }
    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(label_of_bool(value))))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(label_of_number(number).map(Cow::Owned))
    }
});

read_as!(LabelList(Labels<'a>), "a label or a list of labels", {
    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Self::Value, E> {
        Ok(Some(vec![Cow::Borrowed(text)]))
    }
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(vec![Cow::Owned(text.to_owned())]))
    }
    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(vec![Cow::Borrowed(label_of_bool(value))]))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(vec![Cow::Owned(number.to_string())]))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(vec![Cow::Owned(number.to_string())]))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Some(label_of_number(number).map(Cow::Owned).into_iter().collect()))
    }
    fn visit_seq<A: SeqAccess<'a>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut labels = Vec::new();
        while let Some(Label(label)) = seq.next_element::<Label<'a>>()? {
            labels.push(label.ok_or_else(|| A::Error::custom("null in a list"))?);
        }
        Ok(Some(labels))
    }
});

read_as!(Counts(Vec<(Cow<'a, str>, u32)>), "an object of whole numbers", {
    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut counts = Vec::new();
        while let Some((Text(term), count)) = map.next_entry::<Text<'a>, u32>()? {
            counts.extend(term.filter(|_| count > 0).map(|term| (term, count)));
        }
        Ok(Some(counts))
    }
});

/// A list of strings and nothing else: a string for `tokens` is more likely a mistake than one token.
struct StringList;

impl<'a> DeserializeSeed<'a> for StringList {
    type Value = Option<Vec<Cow<'a, str>>>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for StringList {
    type Value = Option<Vec<Cow<'a, str>>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of strings")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'a>>(self, seq: A) -> Result<Self::Value, A::Error> {
        strings(seq).map(Some)
    }
}

fn strings<'a, A: SeqAccess<'a>>(mut seq: A) -> Result<Vec<Cow<'a, str>>, A::Error> {
    let mut list = Vec::new();
    while let Some(Text(text)) = seq.next_element::<Text<'a>>()? {
        list.push(text.ok_or_else(|| A::Error::custom("null in a list"))?);
    }
    Ok(list)
}

/// Adds the keys of the first lines to those known, to name them where one is missed.
pub(crate) fn add_keys(block: &[u8], keys: &mut Vec<String>) {
    for line in block.split(|&b| b == b'\n').take(100) {
        if let Ok(Value::Object(object)) = serde_json::from_slice(line) {
            for key in object.into_iter().map(|(key, _)| key) {
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
    }
}

/// What is wrong with a line.
fn explain(line: &str, names: &[(String, Role)], dates: DateOrder) -> String {
    let value: Value = match serde_json::from_str(line) {
        Ok(value) => value,
        Err(error) => {
            let text = error.to_string();
            let text = text.strip_suffix(&format!(" at line {} column {}", error.line(), error.column()));
            let hint = if line.trim() == "{" || line.trim() == "[" {
                "; every line must hold one whole object (jq -c '.' or '.[]' writes them so)"
            } else {
                ""
            };
            return format!("not JSON: {} at column {}{hint}", text.unwrap_or("damaged"), error.column());
        }
    };
    let Value::Object(object) = &value else {
        return format!("expected an object with \"text\" and \"labels\", found {}", kind(&value));
    };
    for (name, role) in names {
        let Some(value) = object.get(name) else { continue };
        if let Some(reason) = wrong(value, *role, name, dates) {
            return format!("{name:?} {reason}");
        }
    }
    let bodies = || names.iter().filter(|(_, role)| matches!(role, Role::Text | Role::Tokens | Role::Field(_)));
    if bodies().any(|(name, _)| object.get(name).is_some_and(|value| !value.is_null())) {
        return "a field stands twice in the object".into();
    }
    let wanted: Vec<String> = bodies().map(|(name, _)| format!("{name:?}")).collect();
    let found: Vec<&str> = object.keys().map(String::as_str).collect();
    format!(
        "no {}; the fields are {}; name the one with the text with the option `text_field`",
        wanted.join(" or "),
        some(&found)
    )
}

fn wrong(value: &Value, role: Role, name: &str, dates: DateOrder) -> Option<String> {
    let must_be = |what: &str, value: &Value| Some(format!("must be {what}, found {}", kind(value)));
    let (list, labels) = ("a list of strings", "a list of labels (strings, numbers or booleans)");
    let is_label = |value: &Value| matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_));
    match (role, value) {
        (_, Value::Null) | (Role::Id | Role::Text | Role::Field(_), Value::String(_)) => None,
        (Role::Labels, value) if is_label(value) => None,
        (Role::Id, Value::Number(n)) if !n.is_f64() => None,
        (Role::Id, other) => must_be("a string or a whole number", other),
        (Role::Text | Role::Field(_), other) => must_be("a string", other),
        (Role::Tokens, Value::Array(items)) => items
            .iter()
            .find(|item| !item.is_string())
            .map(|item| format!("must be {list}, found {} in the list", kind(item))),
        (Role::Labels, Value::Array(items)) => items
            .iter()
            .find(|item| !is_label(item))
            .map(|item| format!("must be {labels}, found {} in the list", kind(item))),
        (Role::Labels, other) => {
            must_be(if name == "label" { "a string, a number or a boolean" } else { labels }, other)
        }
        (Role::Tokens, other) => must_be(list, other),
        (Role::Counts, Value::Object(terms)) => terms
            .values()
            .find(|count| count.as_u64().is_none_or(|n| n > u64::from(u32::MAX)))
            .map(|count| format!("must map terms to whole numbers, found {count}")),
        (Role::Counts, other) => must_be("an object of whole numbers", other),
        (Role::Split, Value::String(text)) => part_of(text).err(),
        (Role::Split, other) => must_be("train or test", other),
        (Role::Date, Value::String(text)) => date_of(text.into(), dates).err(),
        (Role::Date, other) => must_be("a string such as 2024-05-31", other),
        (Role::Weight, Value::Number(number)) => weight_of(number.as_f64().unwrap_or(f64::NAN)).err(),
        (Role::Weight, other) => must_be("a number, 0 or more", other),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
