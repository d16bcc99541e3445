//! How long work tells its caller where it is, and how the caller stops it.
//!
//! The library prints nothing. The CLI draws a bar, Python forwards to `verbose`, tests stay silent.

/// Receives progress and can ask for a stop. All methods may be called from any thread.
pub trait Progress: Sync {
    /// A stage begins; `total` is the number of steps when known.
    fn start(&self, stage: &str, total: Option<u64>) {
        let _ = (stage, total);
    }
    /// `steps` more are done.
    fn add(&self, steps: u64) {
        let _ = steps;
    }
    /// The stage is over.
    fn finish(&self) {}
    /// Whether the user asked to stop; long loops look at it and return what they have,
    /// or [`Error::Interrupted`](crate::Error::Interrupted) when a part is worthless.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Lets a part of some work be stopped without showing its stages: the whole has one bar of its own.
pub struct Stoppable<'a>(pub &'a dyn Progress);

impl Progress for Stoppable<'_> {
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}

/// The `target` of the warning that a solver gave up before it was as near to the optimum as was asked: those who tell kinds of
/// warnings apart know it by this.
pub const NOT_CONVERGED: &str = "tamis::not_converged";

/// No progress shown, never cancelled.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {}
