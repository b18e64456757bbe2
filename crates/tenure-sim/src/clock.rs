//! Vector clocks of the completed submissions of each queue, and the clock of timestamps.
//!
//! Vector time of Mattern and Fidge (1988), one component per queue. Within a queue submissions run in order, so
//! one number includes all submissions up to it.

use std::sync::atomic::{AtomicU64, Ordering};

use tenure_core::device::{MAX_QUEUES, QueueId};

/// A vector clock: for each queue, the newest serial that comes before a given point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock([u64; MAX_QUEUES]);

impl Clock {
    pub(crate) fn get(&self, queue: QueueId) -> u64 {
        self.0[queue.index()]
    }

    pub(crate) fn raise(&mut self, queue: QueueId, serial: u64) {
        let component = &mut self.0[queue.index()];
        *component = (*component).max(serial);
    }

    /// The first queue with a serial here that is not in `done`.
    pub(crate) fn first_after(&self, done: &Self) -> Option<(QueueId, u64)> {
        self.0
            .iter()
            .zip(&done.0)
            .zip(0_u8..)
            .find_map(|((mine, done), queue)| (mine > done).then_some((QueueId(queue), *mine)))
    }

    /// The union of both.
    pub(crate) fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// The intersection of both; `except` is not changed.
    pub(crate) fn meet(&mut self, other: &Self, except: QueueId) {
        for (queue, (mine, theirs)) in self.0.iter_mut().zip(&other.0).enumerate() {
            if queue != except.index() {
                *mine = (*mine).min(*theirs);
            }
        }
    }
}

/// A clock that any thread reads and raises: the submissions that the CPU has seen complete, or the last serials
/// that use an object.
#[derive(Default)]
pub(crate) struct SharedClock([AtomicU64; MAX_QUEUES]);

impl SharedClock {
    pub(crate) fn load(&self) -> Clock {
        Clock(std::array::from_fn(|queue| self.0[queue].load(Ordering::Acquire)))
    }

    pub(crate) fn raise(&self, queue: QueueId, serial: u64) {
        self.0[queue.index()].fetch_max(serial, Ordering::AcqRel);
    }

    pub(crate) fn join(&self, clock: &Clock) {
        for (mine, theirs) in self.0.iter().zip(&clock.0) {
            mine.fetch_max(*theirs, Ordering::AcqRel);
        }
    }

    /// The first queue with a serial here that is not in `done`.
    pub(crate) fn first_after(&self, done: &Self) -> Option<(QueueId, u64)> {
        self.0.iter().zip(&done.0).zip(0_u8..).find_map(|((mine, done), queue)| {
            let serial = mine.load(Ordering::Acquire);
            (serial > done.load(Ordering::Acquire)).then_some((QueueId(queue), serial))
        })
    }
}

/// Ticks that a command takes.
const COMMAND_TICKS: u64 = 10;

/// The first value of the counter of ticks: a clock of 36 bits soon wraps, as on a device that has been running
/// for an hour.
const FIRST_TICK: u64 = (1 << 36) - 500;

/// The GPU's clock, which all queues share.
pub(crate) struct QueryClock(AtomicU64);

impl Default for QueryClock {
    fn default() -> Self {
        Self(AtomicU64::new(FIRST_TICK))
    }
}

impl QueryClock {
    /// Advances the clock by the time of one command.
    pub(crate) fn advance(&self) {
        self.0.fetch_add(COMMAND_TICKS, Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
