//! The front door: counts are fitted to a model; a model labels, evaluates, explains itself, and is a file.

mod along;
mod answer;
mod choose;
mod costs;
mod evaluate;
mod file;
mod file_trees;
mod fit;
mod fitted;
mod flat;
mod heat;
mod held;
mod label;
mod labeller;
mod marks;
mod options;
mod seen;
mod shown;
mod table;
#[cfg(feature = "parquet")]
mod table_parquet;
mod target;
mod why;
mod worth;

pub use answer::{Answer, How, NamedNeighbour, NodeStep, RankedLabel, Reason, WhyAsked, Word};
pub use choose::{
    Choice, ChooseOptions, Effort, FrontierPoint, HeatPlan, Prefer, SearchPlan, Stage, Trial, choose, plan,
};
pub use evaluate::{Baseline, DecidedWell, EvaluateOptions, LabelQuality, LevelQuality, Quality, QualityReport};
pub use file::ModelFileInfo;
pub use fit::{NodesSeen, Trained};
pub use fitted::{Memory, Model, ModelParts, Ranker, TrainingSummary};
pub use label::{Answers, Worked};
pub use labeller::{Decided, Labeller};
pub use marks::{Span, marked};
pub use options::{Deciding, FitOptions, HierarchyOptions, Unlabelled};
pub use seen::Seen;
pub use shown::{Confusion, Example, Shown};
pub use table::{AnswerForm, AnswerWriter};
pub use target::{Target, TargetForm, TargetLabel};
pub use why::{LabelFacts, LabelWords, Neighbour, Why, WordShare};
