//! One short file for each subcommand.

mod bulk;
mod calibrate;
mod classify;
mod compare;
mod complete;
mod convert;
mod count;
mod demo;
mod doctor;
mod evaluate;
mod explain;
mod fit;
mod hierarchy;
mod init;
mod inspect;
mod list;
mod merge;
mod rank;
mod report;
mod serve;
mod split;
mod study;
mod synth;

pub(crate) use bulk::Incomplete;
use clap::Subcommand;

use crate::global::{Global, Logging};

#[derive(Subcommand)]
pub(crate) enum Command {
    Demo(demo::Args),
    Init(init::Args),
    Doctor(doctor::Args),
    Inspect(inspect::Args),
    Convert(convert::Args),
    Split(split::Args),
    Synth(synth::Args),
    Count(count::Args),
    Merge(merge::Args),
    Rank(rank::Args),
    Study(study::Args),
    Report(report::Args),
    Fit(fit::Args),
    Classify(classify::Args),
    Calibrate(calibrate::Args),
    Evaluate(evaluate::Args),
    Compare(compare::Args),
    Explain(explain::Args),
    Serve(serve::Args),
    List(list::Args),
    Completions(complete::CompletionArgs),
    Man(complete::ManArgs),
}

impl Command {
    /// How the command logs: a service says when something happened, and what changes while it runs.
    pub(crate) fn logging(&self) -> Logging {
        match self {
            Self::Serve(args) if args.json_log => Logging::ServiceJson,
            Self::Serve(_) => Logging::Service,
            _ => Logging::Command,
        }
    }

    pub(crate) fn run(self, global: &Global) -> anyhow::Result<()> {
        match self {
            Self::Demo(args) => demo::run(args, global),
            Self::Init(args) => init::run(args, global),
            Self::Doctor(args) => doctor::run(args, global),
            Self::Inspect(args) => inspect::run(args, global),
            Self::Convert(args) => convert::run(args, global),
            Self::Split(args) => split::run(args, global),
            Self::Synth(args) => synth::run(args, global),
            Self::Count(args) => count::run(args, global),
            Self::Merge(args) => merge::run(args),
            Self::Rank(args) => rank::run(args, global),
            Self::Study(args) => study::run(args, global),
            Self::Report(args) => report::run(args, global),
            Self::Fit(args) => fit::run(args, global),
            Self::Classify(args) => classify::run(args, global),
            Self::Calibrate(args) => calibrate::run(args, global),
            Self::Evaluate(args) => evaluate::run(args, global),
            Self::Compare(args) => compare::run(args, global),
            Self::Explain(args) => explain::run(args, global),
            Self::Serve(args) => serve::run(args, global),
            Self::List(args) => list::run(args, global),
            Self::Completions(args) => complete::completions(args),
            Self::Man(args) => complete::man(args),
        }
    }
}
