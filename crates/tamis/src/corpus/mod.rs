//! Documents → tokens: readers for every format people really have, and text to terms.

mod batch;
mod document;

pub use batch::{BATCH_BYTES, Batch, Batches, InMemory};
pub use document::{Body, Document, Part};
