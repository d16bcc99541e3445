//! What the library warns of becomes a warning of Python's.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use tamis::NOT_CONVERGED;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::errors::spelled;

/// Warnings of one piece of work.
#[derive(Debug, Clone, Default)]
pub(crate) struct Warnings {
    /// In order: what was said, and whether it is that a solver did not converge.
    said: Arc<Mutex<Vec<(String, bool)>>>,
    /// Whether nothing else is heard.
    solvers_only: bool,
}

impl Warnings {
    /// Of solvers alone: rows of a matrix need not have words, and nobody wants to be told.
    pub(crate) fn of_solvers() -> Self {
        Self { solvers_only: true, ..Self::default() }
    }

    /// Runs work in this thread and keeps its warnings. Work that it hands to others warns by its results.
    pub(crate) fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        tracing::subscriber::with_default(self.clone(), work)
    }

    /// Shows them as warnings of Python's, with the argument names that Python has.
    pub(crate) fn show(&self, py: Python<'_>) -> PyResult<()> {
        let said = std::mem::take(&mut *self.said.lock().unwrap_or_else(PoisonError::into_inner));
        if said.is_empty() {
            return Ok(());
        }
        let show = py.import("tamis._warnings")?.getattr("show")?;
        for (text, not_converged) in said {
            // Raised where the user turned warnings into errors.
            show.call1((spelled(&text), not_converged))?;
        }
        Ok(())
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN && (!self.solvers_only || metadata.target() == NOT_CONVERGED)
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        let not_converged = event.metadata().target() == NOT_CONVERGED;
        self.said.lock().unwrap_or_else(PoisonError::into_inner).push((text.0, not_converged));
    }

    // Spans are not used.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The message of an event.
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            // Writing to a string does not fail.
            let _ = write!(self.0, "{value:?}");
        }
    }
}
