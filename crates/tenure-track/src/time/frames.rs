//! Frames in flight.

use std::collections::VecDeque;

use super::SyncPoint;

/// The reason why a frame cannot begin yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackPressure {
    /// The GPU is too far behind: this sync point must be complete first.
    Behind(SyncPoint),
    /// This number of frames have begun and not ended. Waiting for the GPU does not help: one of them must end first.
    Open(u32),
}

/// Counts the frames in flight, and determines the wait before a new frame.
///
/// It only counts: the caller polls and waits. All calls are O(1) amortised.
#[derive(Debug, Default)]
pub struct FramePacer {
    in_flight: VecDeque<SyncPoint>,
    /// Frames that have begun and not ended.
    open: u32,
    limit: u32,
    current: u64,
}

impl FramePacer {
    /// Allows `limit` frames in flight, including those being recorded; at least 1.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        Self { in_flight: VecDeque::new(), open: 0, limit: limit.max(1), current: 0 }
    }

    /// The number of the last begun frame; 0 before the first.
    #[must_use]
    pub const fn current(&self) -> u64 {
        self.current
    }

    /// Frames that have begun and not ended.
    #[must_use]
    pub const fn open(&self) -> u32 {
        self.open
    }

    /// Frames that have ended and are not known to be complete.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Removes the complete frames.
    pub fn note_completed(&mut self, completed: &SyncPoint) {
        while self.in_flight.front().is_some_and(|frame| frame.is_covered_by(completed)) {
            self.in_flight.pop_front();
        }
    }

    /// Begins a frame. Returns its number, from 1.
    ///
    /// # Errors
    /// The reason why no frame can begin yet; then none has begun.
    pub fn try_begin(&mut self) -> Result<u64, BackPressure> {
        let spare = self.limit.checked_sub(self.open + 1).ok_or(BackPressure::Open(self.open))?;
        let excess = self.in_flight.len().saturating_sub(spare as usize);
        if let Some(point) = excess.checked_sub(1).and_then(|last| self.in_flight.get(last)) {
            return Err(BackPressure::Behind(*point));
        }
        self.open += 1;
        self.current += 1;
        Ok(self.current)
    }

    /// Ends a frame whose submissions are all covered by `submitted`.
    pub fn end(&mut self, submitted: SyncPoint) {
        self.open = self.open.saturating_sub(1);
        self.in_flight.push_back(submitted);
    }
}
