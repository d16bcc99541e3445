//! Memory for what is on its way in and out, over all connections together.
//!
//! Every request has a little of its own, so that small ones are never turned away. What is larger takes from a common room of
//! fixed size, and gives back when it is dropped.

use std::sync::Arc;

use axum::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes that every request, and every answer, has of its own.
pub(crate) const OWN: usize = 64 << 10;

/// Room is handed out in pieces of this size.
const UNIT: usize = 1 << 10;

/// A number of bytes that may be held at the same time.
pub(crate) struct Room {
    free: Arc<Semaphore>,
    units: usize,
}

/// A part of a room; given back when dropped.
pub(crate) struct Taken {
    free: Arc<Semaphore>,
    permit: Option<OwnedSemaphorePermit>,
    most: usize,
}

impl Room {
    pub(crate) fn new(bytes: usize) -> Self {
        let units = (bytes / UNIT).clamp(1, u32::MAX as usize);
        Self { free: Arc::new(Semaphore::new(units)), units }
    }

    /// Bytes in use, without what requests have of their own.
    pub(crate) fn used(&self) -> usize {
        (self.units - self.free.available_permits()) * UNIT
    }

    /// Nothing yet.
    pub(crate) fn part(&self) -> Taken {
        Taken { free: Arc::clone(&self.free), permit: None, most: self.units }
    }
}

impl Taken {
    fn units(&self) -> usize {
        self.permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits)
    }

    /// What is missing for so many bytes; at most all there is, so that it can come.
    fn missing(&self, bytes: usize) -> u32 {
        bytes.saturating_sub(OWN).div_ceil(UNIT).min(self.most).saturating_sub(self.units()) as u32
    }

    fn add(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.permit {
            Some(permit) => permit.merge(more),
            None => self.permit = Some(more),
        }
    }

    /// Grows to so many bytes, if there is room.
    pub(crate) fn try_cover(&mut self, bytes: usize) -> bool {
        match self.missing(bytes) {
            0 => true,
            missing => match Arc::clone(&self.free).try_acquire_many_owned(missing) {
                Ok(more) => {
                    self.add(more);
                    true
                }
                Err(_) => false,
            },
        }
    }

    /// Grows to so many bytes, and waits until there is room.
    pub(crate) async fn cover(&mut self, bytes: usize) {
        let missing = self.missing(bytes);
        if missing > 0
            && let Ok(more) = Arc::clone(&self.free).acquire_many_owned(missing).await
        {
            self.add(more);
        }
    }

    /// Gives back what is not needed for so many bytes.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let needed = bytes.saturating_sub(OWN).div_ceil(UNIT);
        let spare = self.units().saturating_sub(needed);
        if let Some(permit) = &mut self.permit {
            drop(permit.split(spare));
        }
    }

    /// Bytes that hold this part of the room until the last of them is sent.
    pub(crate) fn around(mut self, bytes: Vec<u8>) -> Bytes {
        self.shrink(bytes.len());
        Bytes::from_owner(Holding { bytes, _taken: self })
    }
}

struct Holding {
    bytes: Vec<u8>,
    _taken: Taken,
}

impl AsRef<[u8]> for Holding {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_given_back_with_the_last_byte() {
        let room = Room::new(1 << 20);
        let (mut one, mut other) = (room.part(), room.part());
        assert!(one.try_cover(OWN) && room.used() == 0, "this much is its own");
        assert!(one.try_cover(OWN + (600 << 10)));
        assert!(!other.try_cover(OWN + (600 << 10)));
        assert!(other.try_cover(OWN + (400 << 10)));
        drop(other);
        let sent = one.around(vec![0; OWN + (100 << 10)]);
        assert_eq!(room.used(), 100 << 10);
        let last = sent.slice(10..11);
        drop(sent);
        assert_eq!(room.used(), 100 << 10);
        drop(last);
        assert_eq!(room.used(), 0);
        // More than there is can be had when nobody else has any.
        assert!(room.part().try_cover(5 << 20));
    }
}
