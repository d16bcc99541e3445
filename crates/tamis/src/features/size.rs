//! How many features.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A number of features: `500`, `10,000` or `all`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Size {
    /// The best so many.
    Top(usize),
    /// All that the selector does not cut.
    All,
}

impl Size {
    /// How many that is when there are `features`.
    pub fn of(self, features: usize) -> usize {
        match self {
            Self::Top(size) => size.min(features),
            Self::All => features,
        }
    }

    /// A size, or `auto`: left to be chosen.
    pub fn or_auto(text: &str) -> Result<Option<Self>> {
        match text.parse() {
            _ if text == "auto" => Ok(None),
            Err(_) if !text.starts_with(|c: char| c.is_ascii_digit()) => {
                Err(Error::invalid("features", format!("{text:?}"), "expected a number, all or auto"))
            }
            size => size.map(Some),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top(size) => write!(f, "{size}"),
            Self::All => f.write_str("all"),
        }
    }
}

impl FromStr for Size {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "all" {
            return Ok(Self::All);
        }
        match text.replace([',', '_'], "").parse() {
            Ok(0) => Err(Error::invalid("features", 0, "a size is at least 1")),
            Ok(size) => Ok(Self::Top(size)),
            Err(_) => Err(Error::invalid("features", format!("{text:?}"), "expected a number or \"all\"")),
        }
    }
}

impl Serialize for Size {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Top(size) => serializer.serialize_u64(*size as u64),
            Self::All => serializer.serialize_str("all"),
        }
    }
}

/// A number, or text that parses.
struct Written;

impl serde::de::Visitor<'_> for Written {
    type Value = Size;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of features from 1, or \"all\"")
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> std::result::Result<Size, E> {
        if number == 0 { Err(E::custom("a size is at least 1")) } else { Ok(Size::Top(number as usize)) }
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> std::result::Result<Size, E> {
        self.visit_u64(u64::try_from(number).unwrap_or(0))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<Size, E> {
        text.parse().map_err(|_| E::custom(format!("{text:?} is no size: expected a number or \"all\"")))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}
