//! Numbers → tables, SVG plots, one self-contained HTML page.

mod axis;
mod corpus_section;
mod model_section;
mod page;
mod pipeline_section;
mod plot;
#[cfg(feature = "png")]
mod png;
mod save;
mod selection_section;
mod svg;

pub use axis::Axis;
pub use page::{Page, TreeNode};
pub use plot::{Bar, HeatMap, Point, Series, bars, lines, scatter};
#[cfg(feature = "png")]
pub use png::png;
pub use save::save_figures;
pub use svg::{escape, short};
