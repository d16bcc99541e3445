//! Plan → run (resumable) → rows → statistics → report.

mod built_in;
mod classifier;
mod generate;
mod keep;
mod parse;
mod plan;

pub use built_in::{BUILT_IN, BuiltIn};
pub use classifier::ClassifierPlan;
pub use keep::Keep;
pub use plan::{Baseline, CorpusPlan, Decision, Grid, Method, Plan, Profile, Size, TestPlan, TextPlan, Work};
