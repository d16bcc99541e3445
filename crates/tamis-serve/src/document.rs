//! Documents and requests as they are read from JSON: known keys, and the fields that a model may name.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeOwned, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use tamis::corpus::Body;
use tamis::terms::TextOptions;
use utoipa::ToSchema;

use crate::wire::{ClassifyRequest, ExplainRequest};

/// A document of a batch or a line of a stream: `text` or `tokens`, or the fields that the terms of the model name, each a
/// string, as a JSONL corpus has them.
#[derive(Debug, Default, ToSchema)]
pub(crate) struct DocumentIn {
    /// Comes back with the labels; a whole number comes back as a string.
    #[schema(nullable = false)]
    pub(crate) id: Option<String>,
    /// Running text.
    #[schema(nullable = false)]
    pub(crate) text: Option<String>,
    /// Words that are separated already, in order.
    #[schema(nullable = false)]
    pub(crate) tokens: Option<Vec<String>>,
    /// Everything else, by name.
    #[schema(ignore)]
    pub(crate) others: Vec<(String, Other)>,
}

/// What a key that only some models know has for a value.
#[derive(Debug, PartialEq)]
pub(crate) enum Other {
    Text(String),
    Null,
    /// Something that is no text.
    Wrong(&'static str),
}

/// A whole number. In JSON, and so in the description of the API, `32.0` is one.
struct Whole;

impl Visitor<'_> for Whole {
    type Value = u32;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a whole number from 0 to 4294967295")
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<u32, E> {
        u32::try_from(value).map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<u32, E> {
        u32::try_from(value).map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<u32, E> {
        let whole = value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value);
        if whole { Ok(value as u32) } else { Err(E::invalid_value(Unexpected::Float(value), &self)) }
    }

    /// In a query everything is text.
    fn visit_str<E: de::Error>(self, value: &str) -> Result<u32, E> {
        match value.parse::<u32>() {
            Ok(number) => Ok(number),
            Err(_) => match value.parse::<f64>() {
                Ok(number) => self.visit_f64(number),
                Err(_) => Err(E::invalid_value(Unexpected::Str(value), &self)),
            },
        }
    }
}

pub(crate) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    deserializer.deserialize_any(Whole)
}

pub(crate) fn whole_given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    whole(deserializer).map(Some)
}

/// Strings and whole numbers are ids, as in a JSONL corpus; null and nothing are none.
struct Id(Option<String>);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl Visitor<'_> for Visit {
            type Value = Option<String>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a string or a whole number")
            }

            fn visit_str<E>(self, id: &str) -> Result<Option<String>, E> {
                Ok(Some(id.to_owned()).filter(|id| !id.is_empty()))
            }

            fn visit_u64<E>(self, id: u64) -> Result<Option<String>, E> {
                Ok(Some(id.to_string()))
            }

            fn visit_i64<E>(self, id: i64) -> Result<Option<String>, E> {
                Ok(Some(id.to_string()))
            }

            /// In JSON, and so in the description of the API, `32.0` is a whole number.
            fn visit_f64<E: de::Error>(self, id: f64) -> Result<Option<String>, E> {
                let whole = id.fract() == 0.0 && (i64::MIN as f64..=u64::MAX as f64).contains(&id);
                if whole {
                    Ok(Some((id as i128).to_string()))
                } else {
                    Err(E::invalid_value(Unexpected::Float(id), &self))
                }
            }

            fn visit_unit<E>(self) -> Result<Option<String>, E> {
                Ok(None)
            }
        }
        deserializer.deserialize_any(Visit).map(Self)
    }
}

impl<'de> Deserialize<'de> for Other {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Other;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("anything")
            }

            fn visit_str<E>(self, text: &str) -> Result<Other, E> {
                Ok(Other::Text(text.to_owned()))
            }

            fn visit_unit<E>(self) -> Result<Other, E> {
                Ok(Other::Null)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Other, E> {
                Ok(Other::Wrong("true or false"))
            }

            fn visit_u64<E>(self, _: u64) -> Result<Other, E> {
                Ok(Other::Wrong("a number"))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Other, E> {
                Ok(Other::Wrong("a number"))
            }

            fn visit_f64<E>(self, _: f64) -> Result<Other, E> {
                Ok(Other::Wrong("a number"))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Other, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Other::Wrong("a list"))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Other, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Other::Wrong("an object"))
            }
        }
        deserializer.deserialize_any(Visit)
    }
}

/// Reads the value of a key that must not stand twice.
fn once<'de, A: MapAccess<'de>, T: DeserializeOwned>(
    map: &mut A,
    key: &str,
    place: &mut Option<T>,
) -> Result<(), A::Error> {
    let value = map.next_value()?;
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(de::Error::custom(format_args!("duplicate field `{key}`"))),
    }
}

/// What is read from the keys of an object.
trait Keyed: Default {
    /// Reads the value of a key.
    fn read<'de, A: MapAccess<'de>>(&mut self, key: Cow<'de, str>, map: &mut A) -> Result<(), A::Error>;
}

impl Keyed for DocumentIn {
    fn read<'de, A: MapAccess<'de>>(&mut self, key: Cow<'de, str>, map: &mut A) -> Result<(), A::Error> {
        match &*key {
            "id" => self.id = map.next_value::<Id>()?.0,
            "text" => once(map, &key, &mut self.text)?,
            "tokens" => once(map, &key, &mut self.tokens)?,
            _ => {
                let value = map.next_value()?;
                self.others.push((key.into_owned(), value));
            }
        }
        Ok(())
    }
}

impl Keyed for ClassifyRequest {
    fn read<'de, A: MapAccess<'de>>(&mut self, key: Cow<'de, str>, map: &mut A) -> Result<(), A::Error> {
        match &*key {
            "model" => once(map, &key, &mut self.model),
            "documents" => once(map, &key, &mut self.documents),
            "top" => {
                self.top = map.next_value::<Number>()?.0;
                Ok(())
            }
            _ => self.document.read(key, map),
        }
    }
}

impl Keyed for ExplainRequest {
    fn read<'de, A: MapAccess<'de>>(&mut self, key: Cow<'de, str>, map: &mut A) -> Result<(), A::Error> {
        match &*key {
            "model" => once(map, &key, &mut self.model),
            "label" => once(map, &key, &mut self.label),
            "top" => {
                self.top = Some(map.next_value::<Number>()?.0);
                Ok(())
            }
            "spans" => {
                self.spans = map.next_value()?;
                Ok(())
            }
            _ => self.document.read(key, map),
        }
    }
}

/// A whole number, as a type.
struct Number(u32);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        whole(deserializer).map(Self)
    }
}

/// Borrows keys where they are plain.
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Cow<'de, str>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Cow<'de, str>, E> {
                Ok(Cow::Borrowed(key))
            }

            fn visit_str<E>(self, key: &str) -> Result<Cow<'de, str>, E> {
                Ok(Cow::Owned(key.to_owned()))
            }
        }
        deserializer.deserialize_str(Visit).map(Self)
    }
}

fn object<'de, D: Deserializer<'de>, T: Keyed>(deserializer: D) -> Result<T, D::Error> {
    struct Visit<T>(std::marker::PhantomData<T>);
    impl<'de, T: Keyed> Visitor<'de> for Visit<T> {
        type Value = T;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
            let mut read = T::default();
            while let Some(Key(key)) = map.next_key()? {
                read.read(key, &mut map)?;
            }
            Ok(read)
        }
    }
    deserializer.deserialize_map(Visit(std::marker::PhantomData))
}

/// Objects whose keys are read one by one.
macro_rules! read_keys {
    ($($type:ty),*) => {
        $(impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                object(deserializer)
            }
        })*
    };
}

read_keys!(DocumentIn, ClassifyRequest, ExplainRequest);

impl DocumentIn {
    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.id.is_none() && self.text.is_none() && self.tokens.is_none() && self.others.is_empty()
    }

    /// The running texts of it.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let others = self.others.iter().filter_map(|(_, other)| match other {
            Other::Text(text) => Some(text.as_str()),
            Other::Null | Other::Wrong(_) => None,
        });
        self.text.as_deref().into_iter().chain(others)
    }

    /// A key that a model with these terms does not know: in a request of one document it is a mistake, while lines and
    /// batches may have anything besides, as a corpus has.
    pub(crate) fn unknown(&self, terms: &TextOptions) -> Option<String> {
        let fields = terms.fields();
        let (name, _) = self.others.iter().find(|(name, _)| !fields.contains(&name.as_str()))?;
        let name: String = name.chars().take(100).collect();
        Some(format!(
            "unknown field {name:?}; /openapi.json lists those there are, and this model reads {}",
            named(&fields)
        ))
    }

    /// What the model reads of it, or what is wrong with it.
    pub(crate) fn body<'a>(&'a self, terms: &TextOptions) -> Result<Body<'a>, String> {
        if !terms.has_fields() {
            return match (&self.text, &self.tokens) {
                (Some(text), None) => Ok(Body::Text(text.into())),
                (None, Some(tokens)) => Ok(Body::Tokens(tokens.iter().map(|t| t.as_str().into()).collect())),
                (None, None) => Err("it needs \"text\" (a string) or \"tokens\" (a list of strings)".to_owned()),
                (Some(_), Some(_)) => Err("it has both \"text\" and \"tokens\"; give one of them".to_owned()),
            };
        }
        let wanted = terms.fields();
        let mut fields = Vec::new();
        for &name in &wanted {
            // A document's own name for its text is a field like others.
            let found = match name {
                "text" => self.text.as_deref(),
                _ => match self.others.iter().find(|(other, _)| other == name) {
                    Some((_, Other::Text(text))) => Some(text.as_str()),
                    Some((_, Other::Wrong(kind))) => return Err(format!("{name:?} must be a string, found {kind}")),
                    Some((_, Other::Null)) | None => None,
                },
            };
            fields.extend(found.map(|text| (Cow::Owned(name.to_owned()), Cow::Borrowed(text))));
        }
        if fields.is_empty() {
            let detail = format!(
                "this model reads {}, and the document has none of them; give each as a string",
                named(&wanted)
            );
            return Err(detail);
        }
        Ok(Body::Fields(fields))
    }
}

/// Names in a message.
fn named(fields: &[&str]) -> String {
    let quoted: Vec<String> = fields.iter().map(|f| format!("{f:?}")).collect();
    quoted.join(" and ")
}
