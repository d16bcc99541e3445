//! Numbers → tables, SVG plots, one self-contained HTML page.

mod axis;
mod corpus_section;
mod model_section;
mod page;
mod pipeline_section;
mod plot;
mod selection_section;
mod svg;

pub use axis::Axis;
pub use page::{Page, TreeNode};
pub use plot::{Bar, HeatMap, Point, Series, bars, lines, scatter};
pub use svg::{escape, short};
