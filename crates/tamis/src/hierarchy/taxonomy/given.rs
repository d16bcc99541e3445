//! Which taxonomy a user means: a file, the names of the labels, one at hand, or that of a built-in corpus.

use std::path::{Path, PathBuf};

use super::{NodeRecord, Separator, Taxonomy, TaxonomyOptions};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::corpus::synth::{self, Shape};
use crate::counts::Vocabulary;

/// A taxonomy as users give it, before the labels of the corpus are known.
#[derive(Debug, Clone, PartialEq)]
pub enum GivenTaxonomy {
    /// Labels are paths, such as `science/physics`: their names are the taxonomy.
    Names,
    /// Read from a file.
    File(PathBuf, Taxonomy),
    /// Made in memory.
    Tree(Taxonomy),
}

impl GivenTaxonomy {
    /// Reads the file, unless it is called `names`.
    pub fn open(path: impl AsRef<Path>, options: &TaxonomyOptions) -> Result<Self> {
        let path = path.as_ref();
        if path == Path::new("names") {
            return Ok(Self::Names);
        }
        Ok(Self::File(path.to_owned(), Taxonomy::open(path, options)?))
    }

    /// The taxonomy of these labels; all of them must be in it.
    pub fn of(&self, labels: &Vocabulary) -> Result<Taxonomy> {
        let taxonomy = match self {
            Self::Names => Taxonomy::from_names(labels.iter(), Separator::Auto)?,
            Self::File(_, taxonomy) | Self::Tree(taxonomy) => taxonomy.clone(),
        };
        taxonomy.align(labels)?;
        Ok(taxonomy)
    }

    /// What the user called it, where it has a name.
    pub fn name(&self) -> Option<String> {
        match self {
            Self::Names => Some("names".to_owned()),
            Self::File(path, _) => Some(path.display().to_string()),
            Self::Tree(_) => None,
        }
    }
}

/// As JSON: the word `names`, or the nodes.
impl Serialize for GivenTaxonomy {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Names => serializer.serialize_str("names"),
            Self::File(_, taxonomy) | Self::Tree(taxonomy) => taxonomy.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for GivenTaxonomy {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        // By hand: an untagged enumeration would not say what is wrong with a tree.
        let value = serde_json::Value::deserialize(deserializer)?;
        if value == "names" {
            return Ok(Self::Names);
        }
        serde_json::from_value(value).map(Self::Tree).map_err(serde::de::Error::custom)
    }
}

impl Taxonomy {
    /// The taxonomy of a built-in corpus.
    pub fn built_in(shape: Shape) -> Result<Self> {
        let record = |(id, parent, name)| NodeRecord { id, parent, further: Vec::new(), name: Some(name) };
        Self::try_from(synth::taxonomy(shape).into_iter().map(record).collect::<Vec<_>>())
    }
}
