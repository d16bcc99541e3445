//! The progress bar.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on standard error. Silent in a pipe: indicatif hides itself when standard error is not a terminal.
pub(crate) struct Bar {
    visible: bool,
    bar: Mutex<ProgressBar>,
}

impl Bar {
    /// A bar that shows nothing until a stage starts.
    pub(crate) fn new(visible: bool) -> Self {
        Self { visible, bar: Mutex::new(ProgressBar::hidden()) }
    }

    fn bar(&self) -> ProgressBar {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl tamis::Progress for Bar {
    fn start(&self, stage: &str, total: Option<u64>) {
        if !self.visible {
            return;
        }
        let template = if total.is_some() {
            "{msg:>12} {bar:32} {human_pos}/{human_len}  {per_sec}  {eta} left"
        } else {
            "{msg:>12} {spinner} {human_pos}  {per_sec}  {elapsed}"
        };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr()).with_style(style);
        bar.set_message(stage.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        let old = std::mem::replace(&mut *self.bar.lock().unwrap_or_else(PoisonError::into_inner), bar);
        old.finish_and_clear();
    }

    fn add(&self, steps: u64) {
        self.bar().inc(steps);
    }

    fn finish(&self) {
        self.bar().finish_and_clear();
    }

    fn cancelled(&self) -> bool {
        crate::interrupt::interrupted()
    }
}
