//! The same along a taxonomy: nodes and their ancestors, thresholds along pipelines, progressive filtering.

pub mod pipeline;
pub mod progressive;

mod taxonomy;
mod worth;

pub use progressive::{ProgressiveMemory, ProgressiveModel, ProgressiveOptions};
pub use taxonomy::{GivenTaxonomy, NodeRecord, ParentPolicy, Separator, Taxonomy, TaxonomyFormat, TaxonomyOptions};
pub use worth::{CostTable, Goal, Worth};
