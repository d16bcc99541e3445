//! A policy's name: it parses and prints back the same.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::policy::{Goal, Pcut, Precision, REGISTRY, Rcut, Scut, Threshold};
use crate::measure::Beta;
use crate::{Error, Result};

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parameters: Vec<String> = Vec::new();
        let mut push = |differs: bool, text: String| {
            if differs {
                parameters.push(text);
            }
        };
        match self {
            Self::None => {}
            Self::Fixed(x) => push(true, x.to_string()),
            Self::Rcut(Rcut { n, beta }) => {
                push(n.is_some(), n.unwrap_or(0).to_string());
                push(*beta != Beta::ONE, format!("beta={beta}"));
            }
            Self::Scut(Scut { goal, beta, rare, fbr, min }) => {
                push(*goal != Goal::Macro, format!("goal={goal}"));
                push(*beta != Beta::ONE, format!("beta={beta}"));
                push(*rare != 0, format!("rare={rare}"));
                push(*fbr != 0.0, format!("fbr={fbr}"));
                push(*min != 0, format!("min={min}"));
            }
            Self::Pcut(Pcut { x, min }) => {
                push(*x != 1.0, x.to_string());
                push(*min != 0, format!("min={min}"));
            }
            Self::Precision(Precision { least, confidence }) => {
                push(true, least.to_string());
                push(*confidence != Precision::CONFIDENCE, format!("confidence={confidence}"));
            }
        }
        f.write_str(self.spec().name)?;
        if parameters.is_empty() { Ok(()) } else { write!(f, "({})", parameters.join(",")) }
    }
}

/// The parameters between the brackets, taken out one by one.
struct Parameters<'a> {
    whole: &'a str,
    policy: &'static str,
    left: Vec<(Option<&'a str>, &'a str)>,
}

impl<'a> Parameters<'a> {
    /// The parameter of that key; when `first` is true, the one without a key as well.
    fn take<T: FromStr>(&mut self, key: &str, first: bool, default: T) -> Result<T> {
        let Some(value) = self.text(key, first) else { return Ok(default) };
        value.parse().map_err(|_| {
            Error::invalid(format!("{}: {key}", self.whole), value, format!("is not a number that {key} can be"))
        })
    }

    fn text(&mut self, key: &str, first: bool) -> Option<&'a str> {
        let place = self.left.iter().position(|(k, _)| k.map_or(first, |k| k == key))?;
        Some(self.left.remove(place).1)
    }

    /// Nothing may be left.
    fn end(self, known: &[&str]) -> Result<()> {
        match self.left.first() {
            None => Ok(()),
            Some((Some(key), _)) if known.contains(key) => {
                Err(Error::invalid("threshold", self.whole, format!("{key} is given twice")))
            }
            Some((Some(key), _)) if !known.is_empty() => {
                Err(Error::unknown("parameter of a threshold", key, known.iter().copied()))
            }
            Some((_, value)) => {
                Err(Error::invalid("threshold", self.whole, format!("{} does not take {value:?}", self.policy)))
            }
        }
    }
}

impl FromStr for Threshold {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let (name, inside) = match text.split_once('(') {
            None => (text, ""),
            Some((name, rest)) => {
                let Some(inside) = rest.strip_suffix(')') else {
                    let reason = "expected a closing bracket at the end".to_owned();
                    return Err(Error::Expression { text: text.to_owned(), at: text.len(), reason });
                };
                (name, inside)
            }
        };
        let Some(spec) = REGISTRY.iter().find(|spec| spec.name == name.trim()) else {
            return Err(Error::unknown("threshold", name.trim(), REGISTRY.iter().map(|spec| spec.name)));
        };
        let pieces = inside.split(',').map(str::trim).filter(|piece| !piece.is_empty());
        let left = pieces.map(|piece| match piece.split_once('=') {
            Some((key, value)) => (Some(key.trim()), value.trim()),
            None => (None, piece),
        });
        let mut given = Parameters { whole: text, policy: spec.name, left: left.collect() };
        let policy = match spec.name {
            "none" => {
                given.end(&[])?;
                Self::None
            }
            "fixed" => {
                let x = given.take("x", true, f64::NAN)?;
                given.end(&["x"])?;
                Self::Fixed(x)
            }
            "rcut" => {
                let n = given.take("n", true, 0u32)?;
                // `rcut(0)` is a mistake, not a request for tuning.
                let zero = n == 0 && !inside.trim().is_empty() && !inside.trim().starts_with("beta");
                let beta = given.take("beta", false, Beta::ONE)?;
                given.end(&["n", "beta"])?;
                Self::Rcut(Rcut { n: (n > 0 || zero).then_some(n), beta })
            }
            "scut" => {
                let goal = given.text("goal", false).map_or(Ok(Goal::Macro), str::parse)?;
                let beta = given.take("beta", false, Beta::ONE)?;
                let rare = given.take("rare", false, 0)?;
                let fbr = given.take("fbr", false, 0.0)?;
                let min = given.take("min", false, 0)?;
                given.end(&["goal", "beta", "rare", "fbr", "min"])?;
                Self::Scut(Scut { goal, beta, rare, fbr, min })
            }
            "precision" => {
                let least = given.take("p", true, f64::NAN)?;
                let confidence = given.take("confidence", false, Precision::CONFIDENCE)?;
                given.end(&["p", "confidence"])?;
                Self::Precision(Precision { least, confidence })
            }
            _ => {
                let x = given.take("x", true, 1.0)?;
                let min = given.take("min", false, 0)?;
                given.end(&["x", "min"])?;
                Self::Pcut(Pcut { x, min })
            }
        };
        policy.check()?;
        Ok(policy)
    }
}

impl Serialize for Threshold {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Threshold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        let names = [
            "none",
            "fixed(0)",
            "fixed(-0.25)",
            "rcut",
            "rcut(3)",
            "rcut(beta=2)",
            "scut",
            "scut(beta=0.5)",
            "scut(rare=4)",
            "scut(goal=micro,rare=4)",
            "scut(goal=micro+macro)",
            "precision(0.9)",
            "precision(0.95,confidence=0.5)",
            "scut(fbr=0.1,min=1)",
            "pcut",
            "pcut(0.8)",
            "pcut(min=1)",
        ];
        for name in names.into_iter().chain(Threshold::registry().iter().map(|spec| spec.example)) {
            let policy: Threshold = name.parse().unwrap();
            assert_eq!(policy.to_string(), name);
            assert_eq!(serde_json::from_str::<Threshold>(&serde_json::to_string(&policy).unwrap()).unwrap(), policy);
        }
        assert_eq!(" rcut( n = 3 ) ".parse::<Threshold>().unwrap(), Threshold::rcut(3));
        assert_eq!("pcut(x=1)".parse::<Threshold>().unwrap().to_string(), "pcut");
    }

    #[test]
    fn mistakes_are_explained() {
        let message = |name: &str| name.parse::<Threshold>().unwrap_err().to_string();
        assert!(message("scutt").contains("did you mean scut"), "{}", message("scutt"));
        assert!(message("scut(goal=micr)").contains("did you mean micro"), "{}", message("scut(goal=micr)"));
        assert!(message("scut(bet=1)").contains("did you mean beta"), "{}", message("scut(bet=1)"));
        for bad in [
            "",
            "rcut(0)",
            "rcut(n=0)",
            "rcut(-1)",
            "rcut(2",
            "rcut(2)x",
            "rcut(1,2)",
            "scut(0.5)",
            "scut(beta=0)",
            "scut(fbr=2)",
            "scut(min=1,min=2)",
            "pcut(0)",
            "precision",
            "precision(1)",
            "precision(0.9,confidence=1)",
            "precision(0.9,0.8)",
            "pcut(inf)",
            "none(1)",
            "fixed",
            "fixed(nan)",
            "fixed(x)",
        ] {
            assert!(bad.parse::<Threshold>().is_err(), "{bad}");
        }
    }
}
