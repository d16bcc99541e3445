//! Text categorisation you can read.
//!
//! The way data takes, one module a stage:
//!
//! ```text
//! documents ─► terms ─► counts  ─► contingency ─► scores ─► ranking ─► vectors ─► classifier ─► labels ─► measures ─► report
//!  corpus      terms    counts      counts        features  features   label      label         label     measure     report
//! ```

pub mod classify;
pub mod corpus;
pub mod counts;
pub mod features;
pub mod hierarchy;
pub mod measure;
pub mod model;
pub mod registry;
pub mod report;
pub mod study;
pub mod terms;
pub mod threshold;

pub mod atomic;
mod container;
mod error;
mod named;
mod progress;

pub use error::{Error, Place, Result};
pub use progress::{Progress, Silent, Stoppable};
