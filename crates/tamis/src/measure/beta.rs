//! β, as a number that can be compared, hashed and printed.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Error, Result};

/// The weight of recall against precision in F_β: a positive, finite number.
#[derive(Debug, Clone, Copy)]
pub struct Beta(f64);

impl Beta {
    /// β = 1: precision and recall weigh the same.
    pub const ONE: Self = Self(1.0);

    /// Checks that `beta` is positive and finite.
    pub fn new(beta: f64) -> Result<Self> {
        if beta.is_finite() && beta > 0.0 {
            Ok(Self(beta))
        } else {
            Err(Error::invalid("beta", beta, "must be a positive number"))
        }
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }

    /// `β²`.
    pub fn squared(self) -> f64 {
        self.0 * self.0
    }
}

impl Default for Beta {
    fn default() -> Self {
        Self::ONE
    }
}

impl PartialEq for Beta {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Beta {}

impl Hash for Beta {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl PartialOrd for Beta {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Beta {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl fmt::Display for Beta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for Beta {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = text.parse().map_err(|_| Error::invalid("beta", text, "must be a positive number"))?;
        Self::new(number)
    }
}

impl Serialize for Beta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Beta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(f64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
