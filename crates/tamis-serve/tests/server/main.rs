//! A real server on loopback, and clients that are polite, wrong, slow or gone.
#![allow(clippy::unwrap_used, clippy::format_push_string, clippy::format_collect)]

mod answers;
mod changes;
mod client;
mod fields;
mod limits;
mod models;
mod safety;
mod streams;
