//! A taxonomy from the labels themselves: `rec.sport.hockey`, `a/b/c`.

use serde::{Deserialize, Serialize};

use super::Taxonomy;
use super::build::{Origin, ParentPolicy, Statement, build};
use crate::{Error, Result};

/// What separates the parts of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Separator {
    /// `/` when a label contains one, else `.`.
    #[default]
    Auto,
    /// `rec.sport.hockey`
    Dot,
    /// `a/b/c`; a `/` at the beginning belongs to the first part.
    Slash,
}

impl Taxonomy {
    /// From labels whose names are paths; nodes between are created, so `rec.sport.hockey` gives `rec`, `rec.sport`
    /// and `rec.sport.hockey`. Labels without a separator are roots.
    pub fn from_names<S: AsRef<str>>(names: impl IntoIterator<Item = S>, separator: Separator) -> Result<Self> {
        let names: Vec<S> = names.into_iter().collect();
        let separator = match separator {
            Separator::Slash => '/',
            Separator::Auto if names.iter().any(|n| n.as_ref().contains('/')) => '/',
            Separator::Dot | Separator::Auto => '.',
        };
        let mut statements = Vec::new();
        for name in &names {
            let name = name.as_ref();
            let first = usize::from(separator == '/' && name.starts_with('/'));
            if name[first..].split(separator).any(str::is_empty) {
                return Err(Error::data(format!(
                    "the label {name:?} has an empty part between its separators {separator:?}, \
                     so its place in the taxonomy is unclear"
                )));
            }
            let mut parent: Option<String> = None;
            let ends = name[first..].match_indices(separator).map(|(at, _)| first + at).chain([name.len()]);
            for end in ends {
                let id = name[..end].to_owned();
                statements.push(Statement { id: id.clone(), parent: parent.into(), ..Statement::default() });
                parent = Some(id);
            }
        }
        build(statements, Origin { path: None, parents: ParentPolicy::All })
    }
}
