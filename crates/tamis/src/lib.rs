//! Text categorisation you can read.
//!
//! The way data takes, one module a stage:
//!
//! ```text
//! documents ─► tokens ─► counts ─► contingency ─► scores ─► ranking ─► vectors ─► classifier ─► labels ─► measures ─► report
//!  corpus      corpus    counts     counts        features  features   label      label         label     measure     report
//! ```

pub mod corpus;
pub mod counts;
pub mod features;
pub mod label;
pub mod measure;
pub mod report;
pub mod study;

pub mod atomic;
mod container;
mod error;
mod progress;

pub use error::{Error, Place, Result};
pub use progress::{Progress, Silent};
