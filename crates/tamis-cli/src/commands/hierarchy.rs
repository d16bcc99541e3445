//! How commands are given a taxonomy, and how models are trained along it.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tamis::hierarchy::pipeline::{Imbalance, Utility};
use tamis::hierarchy::progressive::{Answers, NegativePolicy};
use tamis::hierarchy::{GivenTaxonomy, Goal, ParentPolicy, TaxonomyOptions};
use tamis::model::HierarchyOptions;

/// Options for taxonomies.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Taxonomy")]
pub(crate) struct HierarchyArgs {
    /// Taxonomy file (child, parent and name by line, or RCV1's), or `names`: labels are paths such as rec.sport.hockey
    /// or a/b/c. Classifiers along it and side by side are compared on held-out documents, and the better is taken.
    #[arg(long, value_name = "FILE|names")]
    taxonomy: Option<PathBuf>,
    /// What answers are to be good at: exact (the right node), hf1 (hierarchical F1), f1 (of the labels as they are given) or cost
    /// (by --costs); exact when not given where documents have one label, else hf1.
    #[arg(long, value_name = "exact|hf1|f1|cost", requires = "taxonomy", value_parser = str::parse::<Goal>)]
    goal: Option<Goal>,
    /// Table of costs for --goal cost: answer, truth and cost by line, separated by tabs; * for every label, an answer - for none.
    #[arg(long, value_name = "FILE", requires = "taxonomy")]
    costs: Option<PathBuf>,
    /// What to do with a node that has several parents.
    #[arg(long, value_enum, default_value_t)]
    parent: Parent,
    /// Positives to negatives where the model will be used, such as 2^-4 or prior(0.05); as in the training documents
    /// when not given.
    #[arg(long, value_name = "RATIO", requires = "taxonomy", value_parser = str::parse::<Imbalance>)]
    imbalance: Option<Imbalance>,
    /// What thresholds along the taxonomy maximise: f1, f(β), precision or recall.
    #[arg(long, value_name = "NAME", default_value = "f1", value_parser = str::parse::<Utility>)]
    utility: Utility,
    /// Step of the grid of tsa and rbf.
    #[arg(long, value_name = "δ", requires = "taxonomy", allow_negative_numbers = true)]
    step: Option<f64>,
    /// Most training documents of a node, half of them positive, drawn at random; all when not given. Addis takes 1000,
    /// with --by ig --features 200: faster, smaller, less accurate.
    #[arg(long, value_name = "N", requires = "taxonomy")]
    per_node: Option<usize>,
    /// A node whose thresholds reach less than this utility on held-out documents is never accepted; 0.1 when not given.
    #[arg(long, value_name = "U", requires = "taxonomy", allow_negative_numbers = true)]
    least_utility: Option<f64>,
    /// How many paths a document is given: all accepted ones, at-least-one, the best of the accepted (one), or the best
    /// whatever the thresholds (best); as the training documents suggest when not given.
    #[arg(long, value_name = "all|at-least-one|one|best", requires = "taxonomy", value_parser = str::parse::<Answers>)]
    answers: Option<Answers>,
    /// Which documents are negative at a node: parent-minus-node, siblings or all-minus-node.
    #[arg(long, value_name = "POLICY", default_value_t, value_parser = str::parse::<NegativePolicy>)]
    negatives: NegativePolicy,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum Parent {
    /// It has all of them, and the ancestors of all.
    #[default]
    All,
    /// Refuse it, naming the node and its parents.
    Refuse,
    /// Take the first that the file names.
    First,
}

impl HierarchyArgs {
    /// Reads the taxonomy, or says that it is in the names of the labels.
    pub(crate) fn taxonomy(&self) -> tamis::Result<Option<GivenTaxonomy>> {
        self.taxonomy.as_ref().map(|path| taxonomy(path, self.parent)).transpose()
    }

    /// How a model is trained along it.
    pub(crate) fn options(&self) -> HierarchyOptions {
        HierarchyOptions {
            negatives: self.negatives,
            per_node: self.per_node,
            utility: self.utility,
            step: self.step,
            least_utility: self.least_utility,
            imbalance: self.imbalance,
            answers: self.answers,
            // A table of costs is there to be used.
            goal: self.goal.or(self.costs.as_ref().map(|_| Goal::Cost)),
            costs: self.costs.clone(),
        }
    }
}

/// A taxonomy file, or `names`.
pub(crate) fn taxonomy(path: &Path, parent: Parent) -> tamis::Result<GivenTaxonomy> {
    let parents = match parent {
        Parent::All => ParentPolicy::All,
        Parent::Refuse => ParentPolicy::Refuse,
        Parent::First => ParentPolicy::First,
    };
    GivenTaxonomy::open(path, &TaxonomyOptions { parents, ..TaxonomyOptions::default() })
}
