//! The plans that come with the program, one for each paper's experiment.

use std::path::{Path, PathBuf};

use super::Plan;
use crate::whole::{MAX_PLAN, read_text};
use crate::{Error, Result};

/// A plan that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// Its text, TOML.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$(BuiltIn { name: $name, text: include_str!(concat!("../../../../studies/", $name, ".toml")) }),*]
    };
}

/// All of them.
pub const BUILT_IN: &[BuiltIn] = built_in![
    "olsson-simulation",
    "olsson-preliminary",
    "olsson-validation",
    "novovicova",
    "li",
    "addis",
    "nbsvm",
    "forman",
];

impl BuiltIn {
    /// The plan of a name.
    pub fn find(name: &str) -> Result<&'static Self> {
        let found = BUILT_IN.iter().find(|plan| plan.name == name);
        found.ok_or_else(|| Error::unknown("study (or plan file)", name, BUILT_IN.iter().map(|plan| plan.name)))
    }

    /// The text of a study by the name of a built-in one, or by its file, and the path that messages name.
    pub fn or_file(name: &str) -> Result<(PathBuf, String)> {
        let unknown = match Self::find(name) {
            Ok(built_in) => return Ok((PathBuf::from(format!("{name}.toml")), built_in.text.to_owned())),
            Err(unknown) => unknown,
        };
        let path = Path::new(name);
        match read_text(path, "a plan", MAX_PLAN) {
            Ok(text) => Ok((path.to_owned(), text)),
            Err(Error::Io { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound && path.extension().is_none() =>
            {
                Err(unknown)
            }
            Err(error) => Err(error),
        }
    }

    /// The plan.
    pub fn plan(&self) -> Result<Plan> {
        Plan::parse(self.text, format!("{}.toml", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_is_right_and_has_a_corpus() {
        for built_in in BUILT_IN {
            let plan = built_in.plan().unwrap_or_else(|e| panic!("{}: {e}", built_in.name));
            assert_eq!(plan.name, built_in.name);
            assert!(!plan.needs_corpus() || plan.corpus.default.is_some(), "{}", plan.name);
            assert!(plan.paper.is_some() && !plan.about.is_empty());
        }
        assert!(BuiltIn::find("olsson").unwrap_err().to_string().contains("olsson-preliminary"));
    }
}
