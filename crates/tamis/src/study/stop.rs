//! Progress of a part of the work, seen from the whole.

use crate::Progress;

/// Lets work be stopped without showing its stages: the study has one bar of its own.
pub(super) struct Stoppable<'a>(pub(super) &'a dyn Progress);

impl Progress for Stoppable<'_> {
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}
