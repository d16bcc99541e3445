//! Threshold policies as values: a name that parses and prints back the same.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::measure::Beta;
use crate::registry::Row;
use crate::{Error, Result};

/// How labels are decided from a ranked list (method 9).
///
/// ```
/// use tamis::threshold::Threshold;
/// let policy: Threshold = "scut(beta=0.5,rare=3)".parse()?;
/// assert_eq!(policy.to_string(), "scut(beta=0.5,rare=3)");
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Threshold {
    /// `none`: ranked lists only, nothing is decided.
    None,
    /// `fixed(x)`: every label with a score of at least x; `fixed(0)` is the usual rule of an SVM.
    Fixed(f64),
    /// `rcut(n)`.
    Rcut(Rcut),
    /// `scut`.
    Scut(Scut),
    /// `pcut`.
    Pcut(Pcut),
}

/// `rcut(n)`: the top n labels; `rcut`: the n that maximises micro-averaged F_β on held-out lists.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rcut {
    /// How many labels; `None`: tuned.
    pub n: Option<u32>,
    /// β of the F that tuning maximises.
    pub beta: Beta,
}

/// `scut`: for each label the threshold that maximises F_β on held-out scores.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scut {
    /// β of the F that tuning maximises.
    pub beta: Beta,
    /// Labels with fewer held-out positives share one threshold, tuned on their scores together: a threshold of its
    /// own for a handful of positives is mostly noise. 0: every label has its own.
    pub rare: u32,
    /// A label whose best F_β stays below this is assigned only from its highest held-out score on (SCutFBR.1 of
    /// Yang 2001): it errs on the side of silence. 0: never.
    pub fbr: f64,
    /// A document gets at least so many labels: the best ones, whether or not they reach their thresholds.
    pub min: u32,
}

/// `pcut`: each label gets documents in proportion to its training prior.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pcut {
    /// The factor of proportion: 1 gives each label as many held-out documents as it has positives.
    pub x: f64,
    /// A document gets at least so many labels.
    pub min: u32,
}

impl Default for Pcut {
    fn default() -> Self {
        Self { x: 1.0, min: 0 }
    }
}

static REGISTRY: [Row; 5] = [
    Row { name: "none", example: "none", what: "Rank only; decide nothing.", formula: "", source: "method 8" },
    Row {
        name: "fixed",
        example: "fixed(0.5)",
        what: "Every label whose score is at least the number; 0 is the usual rule of an SVM.",
        formula: "",
        source: "method 7",
    },
    Row {
        name: "rcut",
        example: "rcut(3)",
        what: "The top n labels. Without n, the n that maximises micro-averaged F_β on held-out lists (beta=1).",
        formula: "",
        source: "Yang 2001; olsson 2; method 9",
    },
    Row {
        name: "scut",
        example: "scut(beta=0.5,rare=3,fbr=0.1,min=1)",
        what: "For each label the threshold that maximises F_β on held-out scores (beta=1). rare=n: labels with fewer \
               than n positives share one. fbr=f: a label that stays below F = f is assigned only from its highest \
               held-out score on. min=k: every document gets at least its best k labels.",
        formula: "",
        source: "Yang 2001; method 9",
    },
    Row {
        name: "pcut",
        example: "pcut(1.2,min=1)",
        what: "Each label gets documents in proportion to its training prior; the number is the factor (1). min=k: \
               every document gets at least its best k labels.",
        formula: "",
        source: "Yang 2001; method 9",
    },
];

impl Threshold {
    /// What to take unless told otherwise: `scut(rare=20)`. Chosen on training documents alone, a third of them held out;
    /// micro- and macro-averaged F1 there with `svm` on all words:
    ///
    /// | | Reuters ModApte | RCV1 | advisories |
    /// |---|---|---|---|
    /// | `scut(rare=20)` | 0.894 / 0.505 | 0.792 / 0.581 | 0.769 / 0.269 |
    /// | `scut(rare=5)` | 0.890 / 0.510 | 0.792 / 0.577 | 0.655 / 0.261 |
    /// | `scut` | 0.730 / 0.482 | 0.757 / 0.573 | |
    /// | `pcut` | 0.892 / 0.520 | 0.797 / 0.587 | 0.766 / 0.268 |
    /// | `fixed(0)` | 0.874 / 0.360 | 0.783 / 0.398 | |
    ///
    /// `pcut` does as well, but it tunes for no β and trusts the priors to stay as they are.
    pub fn recommended() -> Self {
        Self::Scut(Scut { rare: 20, ..Scut::default() })
    }

    /// `scut` with β = 1.
    pub fn scut() -> Self {
        Self::Scut(Scut::default())
    }

    /// `rcut(n)`.
    pub fn rcut(n: u32) -> Self {
        Self::Rcut(Rcut { n: Some(n), beta: Beta::ONE })
    }

    /// The registry: one row a policy.
    pub fn registry() -> &'static [Row] {
        &REGISTRY
    }

    /// Its row of the registry.
    pub fn spec(&self) -> &'static Row {
        let row = match self {
            Self::None => 0,
            Self::Fixed(_) => 1,
            Self::Rcut(_) => 2,
            Self::Scut(_) => 3,
            Self::Pcut(_) => 4,
        };
        &REGISTRY[row]
    }

    /// Whether it must be tuned on held-out scores before it can decide.
    pub fn needs_held_out(&self) -> bool {
        match self {
            Self::None | Self::Fixed(_) | Self::Rcut(Rcut { n: Some(_), .. }) => false,
            Self::Rcut(_) | Self::Scut(_) | Self::Pcut(_) => true,
        }
    }

    /// Checks the numbers in it.
    pub fn check(&self) -> Result<()> {
        let at = |what: &str| format!("{self}: {what}");
        match *self {
            Self::Fixed(x) if x.is_nan() => Err(Error::invalid(at("threshold"), x, "must be a number")),
            Self::Rcut(Rcut { n: Some(0), .. }) => Err(Error::invalid(at("n"), 0, "must be at least 1")),
            Self::Scut(Scut { fbr, .. }) if !(0.0..=1.0).contains(&fbr) => {
                Err(Error::invalid(at("fbr"), fbr, "must be between 0 and 1"))
            }
            Self::Pcut(Pcut { x, .. }) if !(x > 0.0 && x.is_finite()) => {
                Err(Error::invalid(at("x"), x, "must be a positive number"))
            }
            _ => Ok(()),
        }
    }
}

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
            Self::Scut(Scut { beta, rare, fbr, min }) => {
                push(*beta != Beta::ONE, format!("beta={beta}"));
                push(*rare != 0, format!("rare={rare}"));
                push(*fbr != 0.0, format!("fbr={fbr}"));
                push(*min != 0, format!("min={min}"));
            }
            Self::Pcut(Pcut { x, min }) => {
                push(*x != 1.0, x.to_string());
                push(*min != 0, format!("min={min}"));
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

impl Parameters<'_> {
    /// The parameter of that key; when `first` is true, the one without a key as well.
    fn take<T: FromStr>(&mut self, key: &str, first: bool, default: T) -> Result<T> {
        let place = self.left.iter().position(|(k, _)| k.map_or(first, |k| k == key));
        let Some(place) = place else { return Ok(default) };
        let (_, value) = self.left.remove(place);
        value.parse().map_err(|_| {
            Error::invalid(format!("{}: {key}", self.whole), value, format!("is not a number that {key} can be"))
        })
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
                let beta = given.take("beta", false, Beta::ONE)?;
                let rare = given.take("rare", false, 0)?;
                let fbr = given.take("fbr", false, 0.0)?;
                let min = given.take("min", false, 0)?;
                given.end(&["beta", "rare", "fbr", "min"])?;
                Self::Scut(Scut { beta, rare, fbr, min })
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
