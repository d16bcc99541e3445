//! The names of threshold selection methods.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::registry::Row;
use crate::{Error, Result};

/// How thresholds of a pipeline are found; [`Method::spec`] describes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The greedy search of addis 3.2 on a fine grid.
    Tsa,
    /// Every combination on a coarse grid.
    Rbf,
    /// The best utility over all real thresholds.
    Exact,
    /// TSA's moves with exact repairs.
    GreedyExact,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 4] = [Self::Tsa, Self::Rbf, Self::Exact, Self::GreedyExact];

    /// Name, meaning and source.
    pub fn spec(self) -> Row {
        let (name, what, source) = match self {
            Self::Tsa => ("tsa", "raises and lowers one threshold after the other on a fine grid", "addis 3.2"),
            Self::Rbf => ("rbf", "tries every combination of thresholds on a coarse grid", "addis 3.1"),
            Self::Exact => {
                ("exact", "finds the best of all real thresholds and proves it, or says how far it may be", "method 10")
            }
            Self::GreedyExact => (
                "greedy-exact",
                "tsa's moves, each to the best threshold of its level; no grid",
                "addis 3.2, changed; method 10",
            ),
        };
        Row { name, example: name, what, formula: "", source }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spec().name)
    }
}

impl FromStr for Method {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|m| m.spec().name == text)
            .ok_or_else(|| Error::unknown("threshold method", text, Self::ALL.map(|m| m.spec().name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_prints_back_and_has_a_source() {
        for method in Method::ALL {
            assert_eq!(method.to_string().parse::<Method>().unwrap(), method);
            assert_eq!(serde_json::to_string(&method).unwrap(), format!("\"{method}\""));
            assert!(!method.spec().source.is_empty() && !method.spec().what.is_empty());
        }
        assert!("tas".parse::<Method>().unwrap_err().to_string().contains("did you mean tsa"));
    }
}
