//! Frames in flight (spec T6).

use std::collections::VecDeque;

use super::SyncPoint;

/// The submissions of frames that have ended, to tell how far the GPU is behind.
///
/// Pure bookkeeping: who waits and how is the caller's business. All calls are O(1) amortised.
#[derive(Debug, Default)]
pub struct FramePacer {
    in_flight: VecDeque<SyncPoint>,
    limit: usize,
    current: u64,
}

impl FramePacer {
    /// Lets at most `limit` frames be in flight, the one being recorded included; at least 1.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        let limit = usize::try_from(limit.max(1)).unwrap_or(usize::MAX);
        Self { in_flight: VecDeque::new(), limit, current: 0 }
    }

    /// The number of the frame that began last; 0 before the first.
    #[must_use]
    pub const fn current(&self) -> u64 {
        self.current
    }

    /// Frames that have ended and are not known to be complete.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Forgets the frames that are complete.
    pub fn note_completed(&mut self, completed: &SyncPoint) {
        while self.in_flight.front().is_some_and(|frame| frame.is_covered_by(completed)) {
            self.in_flight.pop_front();
        }
    }

    /// What must be complete before another frame may begin; `None` when one may begin now.
    #[must_use]
    pub fn back_pressure(&self) -> Option<SyncPoint> {
        let excess = (self.in_flight.len() + 1).checked_sub(self.limit)?;
        excess.checked_sub(1).and_then(|last| self.in_flight.get(last)).copied()
    }

    /// Begins a frame and gives its number, from 1.
    pub fn begin(&mut self) -> u64 {
        self.current += 1;
        self.current
    }

    /// Ends a frame whose submissions are all covered by `submitted`.
    pub fn end(&mut self, submitted: SyncPoint) {
        self.in_flight.push_back(submitted);
    }
}
