//! Plan → run (resumable) → rows → statistics → report.

mod built_in;
mod difference;
mod export;
mod folder;
mod generate;
mod judge;
mod keep;
mod parse;
mod plan;
mod rows;
mod run;
mod select;
mod stop;
mod sweep;
mod units;

pub use built_in::{BUILT_IN, BuiltIn};
pub use export::write_csv;
#[cfg(feature = "parquet")]
pub use export::write_parquet;
pub use folder::{CorpusNote, Folder, Record};
pub use keep::Keep;
pub use plan::{Baseline, CorpusPlan, Decision, Grid, Method, Plan, Profile, Size, TestPlan, TextPlan, Work};
pub use rows::{ProfileRow, ResultRow, Row, SearchNote, SetRow, SplitRow, Timing, Values};
pub use run::{Extent, Sink, extent, run};
