//! Ctrl-C and SIGTERM: both end a command alike, and leave no half-written file.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Listens to signals. With `gently`, the first one only asks the work to stop and keep what it has, as a study does with
/// finished rows; otherwise, and at the second one, temporary files are removed and the process ends.
#[allow(clippy::print_stderr)]
pub(crate) fn listen(gently: bool) {
    let installed = ctrlc::set_handler(move || {
        if gently && !INTERRUPTED.swap(true, Ordering::SeqCst) {
            return;
        }
        tamis::atomic::remove_unfinished();
        eprintln!("tamis: interrupted");
        std::process::exit(i32::from(super::FAILED));
    });
    if let Err(error) = installed {
        tracing::debug!("no handler of signals: {error}");
    }
}

/// Whether the work was asked to stop.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
