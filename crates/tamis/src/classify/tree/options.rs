//! What a user may ask of label trees, and their name: `tree(svm,trees=3,leaf=100)`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::super::arguments::{arguments, number, parted};
use super::super::logistic::Form;
use super::super::svm::Multi;
use super::super::{ClassWeights, ClassifierSpec, LogisticOptions, SvmOptions, Vectors};
use crate::named::named;
use crate::{Error, Result};

named! {
    /// How the labels of a tree are laid out.
    pub enum Layout ("layout of a label tree") {
        /// All labels below the root: the flat classifier.
        Flat = "flat",
        /// As the taxonomy has them.
        Taxonomy = "taxonomy",
        /// Labels with like documents together, halved until few are left (Prabhu et al. 2018).
        Means = "means",
    }
}

/// What every node of a tree learns with: one class against the others.
#[derive(Debug, Clone, PartialEq)]
pub enum TreeBase {
    /// Linear SVMs.
    Svm(SvmOptions),
    /// Logistic regression: what its classes say are probabilities, and those along a path are multiplied as they are.
    Logistic(LogisticOptions),
}

impl From<SvmOptions> for TreeBase {
    fn from(options: SvmOptions) -> Self {
        Self::Svm(options)
    }
}

impl From<LogisticOptions> for TreeBase {
    fn from(options: LogisticOptions) -> Self {
        Self::Logistic(options)
    }
}

impl From<TreeBase> for ClassifierSpec {
    fn from(base: TreeBase) -> Self {
        match base {
            TreeBase::Svm(options) => Self::Svm(options),
            TreeBase::Logistic(options) => Self::Logistic(options),
        }
    }
}

impl fmt::Display for TreeBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Svm(options) => options.fmt(f),
            Self::Logistic(options) => options.fmt(f),
        }
    }
}

impl FromStr for TreeBase {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.trim_start().starts_with("logistic") {
            text.parse().map(Self::Logistic)
        } else {
            text.parse().map(Self::Svm)
        }
    }
}

impl TreeBase {
    /// How documents become vectors.
    pub fn vectors(&self) -> &Vectors {
        match self {
            Self::Svm(options) => &options.vectors,
            Self::Logistic(options) => &options.vectors,
        }
    }

    /// Costs of classes.
    pub(super) fn classes(&self) -> &ClassWeights {
        match self {
            Self::Svm(options) => &options.classes,
            Self::Logistic(options) => &options.classes,
        }
    }

    /// Seed of the order in which documents are met.
    pub(super) fn seed(&self) -> u64 {
        match self {
            Self::Svm(options) => options.seed,
            Self::Logistic(_) => 0,
        }
    }

    fn validate(&self) -> Result<()> {
        match self {
            Self::Svm(options) => options.validate()?,
            Self::Logistic(options) => options.validate()?,
        }
        match self {
            Self::Svm(SvmOptions { multi: Multi::Ovo, .. }) => {
                Err(Error::invalid("multi", "ovo", "a node tells each class from the rest: take multi=ovr"))
            }
            Self::Logistic(LogisticOptions { form: Some(Form::Multinomial), .. }) => {
                Err(Error::invalid("form", "multinomial", "a node tells each class from the rest: take form=ovr"))
            }
            _ if self.vectors().per_label => {
                let reason = "labels of a tree share their vectors; take them without (per=label)";
                Err(Error::invalid("vectors", self.vectors(), reason))
            }
            _ => Ok(()),
        }
    }
}

/// Options of label trees (method 7). What is at its default is left out of the name.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeOptions {
    /// The classifier of every node: one class against the others.
    pub base: TreeBase,
    /// The trees whose probabilities are averaged; [`Layout::Means`] stands for [`TreeOptions::trees`] of them.
    pub by: Vec<Layout>,
    /// Trees that halve the labels.
    pub trees: usize,
    /// Most labels below a node that is not divided further.
    pub leaf: usize,
    /// Nodes of a level that are looked into for a document.
    pub beam: usize,
    /// Weights below this are left out. Vectors of length 1 are what it is meant for.
    pub prune: f64,
    /// Seed of the halving.
    pub seed: u64,
    /// The parent of each label, where labels lie in a taxonomy; not part of the name.
    pub parents: Option<Arc<Vec<Option<u32>>>>,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self {
            base: SvmOptions::default().into(),
            by: vec![Layout::Means],
            trees: 3,
            leaf: 100,
            beam: 10,
            prune: 0.1,
            seed: 0,
            parents: None,
        }
    }
}

impl TreeOptions {
    /// The gap to which nodes are solved where the classifier has its default: a node's weights are pruned, and
    /// trees are averaged, so the last digits do not show.
    pub const GAP: f64 = 1e-2;

    /// The options of the node classifiers.
    pub(crate) fn node(&self) -> TreeBase {
        match &self.base {
            TreeBase::Svm(svm) => TreeBase::Svm(SvmOptions { gap: Some(svm.gap.unwrap_or(Self::GAP)), ..svm.clone() }),
            TreeBase::Logistic(logistic) => {
                let usual = LogisticOptions::default().gap;
                let gap = if logistic.gap == usual { Self::GAP } else { logistic.gap };
                TreeBase::Logistic(LogisticOptions { gap, ..logistic.clone() })
            }
        }
    }

    /// How many trees a layout stands for.
    pub(crate) fn trees_of(&self, layout: Layout) -> usize {
        if layout == Layout::Means { self.trees } else { 1 }
    }

    /// Refuses what no tree can be made of.
    pub fn validate(&self) -> Result<()> {
        self.base.validate()?;
        for (key, value) in [("trees", self.trees), ("beam", self.beam)] {
            if value == 0 {
                return Err(Error::invalid(key, value, "must be at least 1"));
            }
        }
        if self.leaf < 2 {
            return Err(Error::invalid("leaf", self.leaf, "must be at least 2"));
        }
        if !(0.0..=1e6).contains(&self.prune) {
            return Err(Error::invalid("prune", self.prune, "must be 0 or more"));
        }
        if self.by.is_empty() || self.by.iter().enumerate().any(|(at, layout)| self.by[..at].contains(layout)) {
            return Err(Error::invalid("by", self.layouts(), "name each layout once, such as flat+taxonomy"));
        }
        Ok(())
    }

    fn layouts(&self) -> String {
        self.by.iter().map(ToString::to_string).collect::<Vec<_>>().join("+")
    }
}

impl fmt::Display for TreeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        write!(f, "tree({}", self.base)?;
        if self.by != usual.by {
            write!(f, ",by={}", self.layouts())?;
        }
        let numbers: [(&str, &dyn fmt::Display, bool); 5] = [
            ("trees", &self.trees, self.trees == usual.trees),
            ("leaf", &self.leaf, self.leaf == usual.leaf),
            ("beam", &self.beam, self.beam == usual.beam),
            ("prune", &self.prune, self.prune == usual.prune),
            ("seed", &self.seed, self.seed == usual.seed),
        ];
        for (key, value, _) in numbers.iter().filter(|(_, _, usual)| !usual) {
            write!(f, ",{key}={value}")?;
        }
        f.write_str(")")
    }
}

impl FromStr for TreeOptions {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        const KEYS: [&str; 6] = ["by", "trees", "leaf", "beam", "prune", "seed"];
        let mut options = Self::default();
        let text = text.trim();
        // The first argument may be the classifier; what is left reads like any other.
        let inner = text.strip_prefix("tree(").and_then(|rest| rest.strip_suffix(')'));
        let mut rest = text.to_owned();
        if let Some(first) = inner.map(|inner| parted(inner, ',')[0]) {
            let name = first.trim().split('(').next().unwrap_or_default();
            if !name.contains('=') && !name.is_empty() {
                options.base = first.trim().parse()?;
                let after = inner.map_or("", |inner| inner[first.len()..].trim_start_matches(','));
                rest = format!("tree({after})");
            }
        }
        for (key, value) in arguments(&rest, "tree", &KEYS)? {
            match key {
                "by" => options.by = value.split('+').map(|part| part.trim().parse()).collect::<Result<_>>()?,
                "trees" => options.trees = number(key, value)?,
                "leaf" => options.leaf = number(key, value)?,
                "beam" => options.beam = number(key, value)?,
                "prune" => options.prune = number(key, value)?,
                _ => options.seed = number(key, value)?,
            }
        }
        options.validate()?;
        Ok(options)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in [
            "tree(svm)",
            "tree(svm(c=0.5,loss=hinge))",
            "tree(svm,by=flat+taxonomy)",
            "tree(logistic)",
            "tree(logistic(c=10),by=flat+means,trees=2)",
            "tree(svm(c=0.1),by=taxonomy+means,trees=2,leaf=50,beam=20,prune=0,seed=3)",
        ] {
            assert_eq!(name.parse::<TreeOptions>().unwrap().to_string(), name);
        }
        assert_eq!("tree".parse::<TreeOptions>().unwrap(), TreeOptions::default());
        assert_eq!("tree( leaf=7 )".parse::<TreeOptions>().unwrap().to_string(), "tree(svm,leaf=7)");
    }

    #[test]
    fn says_what_is_wrong() {
        let error = |text: &str| text.parse::<TreeOptions>().unwrap_err().to_string();
        assert!(error("tree(svm,trees=0)").contains("at least 1"));
        assert!(error("tree(svm,by=flat+flat)").contains("each layout once"));
        assert!(error("tree(svm,by=flta)").contains("did you mean flat"));
        assert!(error("tree(svm(multi=ovo))").contains("multi=ovr"));
        assert!(error("tree(bayes)").contains("expected svm"));
        assert!(error("tree(logistic(form=multinomial))").contains("form=ovr"));
        assert!(error("tree(logistic(vectors=binary*lpr(per=label)))").contains("per=label"));
        assert!(error("tree(svm,leav=3)").contains("did you mean leaf"));
        assert!(error("tree(svm(vectors=binary*lpr(per=label)))").contains("per=label"));
    }
}
