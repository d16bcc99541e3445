//! Numbers → tables, SVG plots, one self-contained HTML page.

mod axis;
mod corpus_section;
mod fit_section;
mod frontier;
mod model_section;
mod page;
mod pipeline_section;
mod plot;
#[cfg(feature = "png")]
mod png;
mod save;
mod selection_section;
mod svg;
mod trust_section;

pub use axis::Axis;
pub use frontier::Frontier;
pub use page::{Page, TreeNode};
pub use plot::{Bar, HeatMap, Point, Series, bars, lines, scatter};
#[cfg(feature = "png")]
pub use png::png;
pub use save::save_figures;
pub use svg::{escape, short};
