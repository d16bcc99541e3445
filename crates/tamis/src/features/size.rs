//! How many features: `200`, `all` or `auto`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Error, Result};

/// A number of features, the same in options, plans and files. Smaller ones come first, then `all`, then `auto`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Size {
    /// The best so many; at least 1.
    Top(usize),
    /// All that the selector does not cut.
    All,
    /// Chosen by cross-validation.
    #[default]
    Auto,
}

impl Size {
    /// How many that is when there are `features`; while nothing is chosen, all of them.
    pub fn of(self, features: usize) -> usize {
        match self {
            Self::Top(size) => size.min(features),
            Self::All | Self::Auto => features,
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top(size) => f.pad(&size.to_string()),
            Self::All => f.pad("all"),
            Self::Auto => f.pad("auto"),
        }
    }
}

impl FromStr for Size {
    type Err = Error;

    /// Numbers may have `,` or `_` between their digits.
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "all" => Ok(Self::All),
            "auto" => Ok(Self::Auto),
            number => match number.replace([',', '_'], "").parse() {
                Ok(0) => Err(Error::invalid("features", text, "at least one feature is needed")),
                Ok(size) => Ok(Self::Top(size)),
                Err(_) => Err(Error::invalid("features", text, "expected a number, all or auto")),
            },
        }
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Top(size) => serializer.serialize_u64(*size as u64),
            word => serializer.collect_str(word),
        }
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(usize),
            Word(String),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::Number(number) => number.to_string(),
            Written::Word(word) => word,
        };
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_parses_and_what_is_stored_reads() {
        for (text, size, json) in
            [("200", Size::Top(200), "200"), ("all", Size::All, "\"all\""), ("auto", Size::Auto, "\"auto\"")]
        {
            assert_eq!((text.parse::<Size>().unwrap(), size.to_string()), (size, text.to_owned()));
            assert_eq!(serde_json::to_string(&size).unwrap(), json);
            assert_eq!(serde_json::from_str::<Size>(json).unwrap(), size);
        }
        assert_eq!("10,000".parse::<Size>().unwrap(), Size::Top(10_000));
        assert!("0".parse::<Size>().unwrap_err().to_string().contains("at least one feature"));
        for bad in ["", "-1", "1.5", "All", "some"] {
            assert!(bad.parse::<Size>().unwrap_err().to_string().contains("a number, all or auto"), "{bad}");
        }
        assert!(serde_json::from_str::<Size>("0").is_err());
        assert!(Size::Top(usize::MAX) < Size::All && Size::Top(2) < Size::Top(10));
        assert_eq!((Size::Top(5).of(3), Size::All.of(3), Size::Auto.of(3)), (3, 3, 3));
    }
}
