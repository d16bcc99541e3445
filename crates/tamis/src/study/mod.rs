//! Plan → run (resumable) → rows → statistics → report.

mod arena;
mod built_in;
mod difference;
mod estimate;
mod evidence;
mod export;
mod figures;
mod findings;
mod folder;
mod generate;
mod given;
mod judge;
mod keep;
mod numbers;
mod page;
pub mod papers;
mod parse;
mod part;
mod pipelines;
mod plan;
mod rows;
mod run;
mod select;
mod simulated;
mod statistics;
mod units;

pub use arena::{Arena, Curve, Over, arenas};
pub use built_in::{BUILT_IN, BuiltIn};
pub use estimate::{Estimate, estimate};
pub use evidence::{Claim, Estimated, Rule, Units, Verdict};
pub use export::write_csv;
#[cfg(feature = "parquet")]
pub use export::write_parquet;
pub use findings::{Finding, claims, findings, winners};
pub use folder::{CorpusNote, Folder, Record};
pub use given::StudyCorpus;
pub use keep::Keep;
pub use numbers::Numbers;
pub use page::{Digest, report};
pub use part::run_unit;
pub use pipelines::Pipelines;
pub use plan::{Baseline, CorpusPlan, Decision, Grid, Method, Plan, Profile, TestPlan, Work};
pub use rows::{PipelineRow, ProfileRow, ResultRow, Row, SearchNote, SetRow, SplitRow, Timing, UtilityRow, Values};
pub use run::{Extent, Material, Sink, extent, run};
pub use simulated::Simulated;
pub use statistics::{
    Pair, Summary, best_by_size, measure_reversals, pairs, summaries, wins_by_size, wins_of_cut, wins_over_reference,
};
