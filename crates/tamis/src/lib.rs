//! Text categorisation you can read: find the few words that matter, train small and fast classifiers, set their
//! thresholds well, and see why.
//!
//! ```
//! use tamis::Silent;
//! use tamis::corpus::{Body, ReadOptions, open};
//! use tamis::counts::{CountOptions, count};
//! use tamis::model::{FitOptions, How, WhyAsked};
//!
//! // Any format, plain or compressed; here the built-in corpus of 400 documents.
//! let corpus = open(&["synth:topics:400".into()], &ReadOptions::default())?;
//! let (counts, _) = count(corpus.batches()?, &CountOptions::default(), &Silent)?;
//! // Selector, size, classifier and thresholds are chosen on the training documents.
//! let model = FitOptions::default().fit(&counts, &counts.training(), &Silent)?.model;
//! // Documents are labelled in parallel, in order, in constant memory.
//! for answer in model.label(corpus.batches()?, &How::default()).take(3) {
//!     assert!(answer?.known);
//! }
//! // One text, with the words that decided.
//! let why = How { reasons: Some(WhyAsked::default()), ..How::default() };
//! let answer = model.labeller().answer(None, &Body::Text("The striker scored twice".into()), &why);
//! assert_eq!(answer.reasons.unwrap()[0].words[0].word, "striker");
//! # Ok::<(), tamis::Error>(())
//! ```
//!
//! The way data takes, one module a stage; nothing flows backwards:
//!
//! ```text
//! documents ─► terms ─► counts ─► contingency ─► scores ─► ranking ─► vectors ─► classifier ─► labels ─► measures ─► report
//!  corpus      terms    counts     counts        features  features   classify   classify      threshold  measure     report
//! ```
//!
//! [`hierarchy`] is the same along a taxonomy, [`model`] all of it as one thing, [`bulk`] a model over the shards of a crawl, [`study`]
//! all of it many times.

// In the order of the flow, which blank lines keep rustfmt from sorting.
pub mod corpus;

pub mod terms;

pub mod counts;

pub mod features;

pub mod classify;

pub mod threshold;

pub mod hierarchy;

pub mod measure;

pub mod model;

pub mod bulk;

pub mod report;

pub mod study;

pub mod atomic;
pub mod registry;
pub mod whole;

mod container;
mod cursor;
mod error;
mod named;
mod option;
mod progress;

pub use error::{Error, Place, Result};
pub use option::{OPTIONS, spell_options};
pub use progress::{NOT_CONVERGED, Progress, Silent, Stoppable};
