//! How fast the other side is while we wait for it, in either direction.

use std::time::Duration;

/// A client must move so many bytes a second, on average over a window of waiting. Time in which the server is busy does not
/// count.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Bytes a second.
    least: u64,
    window: Duration,
    waited: Duration,
    moved: u64,
}

impl Pace {
    pub(crate) fn new(least: u64, window: Duration) -> Self {
        Self { least, window, waited: Duration::ZERO, moved: 0 }
    }

    /// How long may be waited before it is judged again.
    pub(crate) fn left(&self) -> Duration {
        self.window.saturating_sub(self.waited)
    }

    /// Something moved, or nothing, while we waited. False when the client is too slow.
    pub(crate) fn went(&mut self, waited: Duration, bytes: usize) -> bool {
        self.waited += waited;
        self.moved += bytes as u64;
        if self.waited < self.window {
            return true;
        }
        let wanted = (self.least as f64 * self.waited.as_secs_f64()).max(1.0);
        let fast = self.moved as f64 >= wanted;
        (self.waited, self.moved) = (Duration::ZERO, 0);
        fast
    }

    /// What to say to a client that is too slow.
    pub(crate) fn asked(&self) -> String {
        format!("less than {} bytes a second came for {:?}", self.least.max(1), self.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_a_second_is_too_slow_and_pauses_of_the_server_do_not_count() {
        let second = Duration::from_secs(1);
        let mut pace = Pace::new(100, 10 * second);
        assert!((0..9).all(|_| pace.went(second, 1)));
        assert!(!pace.went(second, 1));
        let mut pace = Pace::new(100, 10 * second);
        assert!((0..100).all(|_| pace.went(second, 100)));
        assert!((0..1000).all(|_| pace.went(Duration::ZERO, 1)));
        // Without a least rate only standstill is cut.
        let mut pace = Pace::new(0, 10 * second);
        assert!((0..9).all(|_| pace.went(second, 0)) && pace.went(second, 1));
        assert!(!(0..10).all(|_| pace.went(second, 0)));
    }
}
