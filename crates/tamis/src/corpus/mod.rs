//! Documents → tokens: readers for every format people really have, and text to terms.

mod batch;
mod document;
pub mod synth;

pub use batch::{BATCH_BYTES, Batch, Batches, InMemory};
pub use document::{Body, Document, Part};
