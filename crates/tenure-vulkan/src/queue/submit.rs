//! From closed lists to work on a queue.

use smallvec::SmallVec;
use tenure_core::device::{CallRule, DeviceError, MAX_QUEUES, QueueId, QueueSerial};

use super::Queues;
use super::clock::Clock;
use super::external::ExternalSemaphore;
use super::send::Work;

/// What a submission waits for, and what it signals.
#[derive(Clone, Copy)]
pub(crate) struct Sync<'a> {
    pub(crate) waits: &'a [QueueSerial],
    pub(crate) external_waits: &'a [ExternalSemaphore],
    pub(crate) external_signals: &'a [ExternalSemaphore],
    pub(crate) signal: u64,
}

impl<'a> Sync<'a> {
    /// With serials alone.
    pub(crate) const fn new(waits: &'a [QueueSerial], signal: u64) -> Self {
        Self { waits, external_waits: &[], external_signals: &[], signal }
    }
}

/// At most one serial a queue.
pub(crate) type Waits = SmallVec<[QueueSerial; MAX_QUEUES]>;

/// The newest serial to wait for of each queue; 0 needs no waiting.
pub(crate) fn merge_waits(waits: impl Iterator<Item = QueueSerial>) -> Waits {
    let mut merged = Waits::new();
    for wait in waits.filter(|wait| wait.serial > 0) {
        match merged.iter_mut().find(|known| known.queue == wait.queue) {
            Some(known) => known.serial = known.serial.max(wait.serial),
            None => merged.push(wait),
        }
    }
    merged
}

impl Queues {
    /// Submits work to a queue.
    pub(crate) fn execute(&self, queue: QueueId, work: Work<'_>, sync: Sync<'_>) -> Result<(), DeviceError> {
        self.alive()?;
        self.check_waits(queue, sync.waits, sync.signal)?;
        self.check_external(&sync)?;
        match &self.queue(queue)?.clock {
            Clock::Timeline(timeline) => self.execute_on_timeline((queue, timeline), work, sync),
            Clock::Fences(fences) => self.execute_with_fence((queue, fences), work, sync),
        }
    }

    /// Checks that the queues exist and that the submission does not wait for itself.
    pub(super) fn check_waits(
        &self,
        queue: QueueId,
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        self.queue(queue)?;
        for wait in waits {
            self.queue(wait.queue)?;
            if wait.queue == queue && wait.serial >= signal {
                return Err(DeviceError::invalid_call(CallRule::WaitsForItself, wait.serial, signal));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(queue: u8, serial: u64) -> QueueSerial {
        QueueSerial { queue: QueueId(queue), serial }
    }

    #[test]
    fn waits_are_merged_by_queue() {
        let merged = merge_waits([at(0, 3), at(1, 0), at(2, 7), at(0, 5), at(2, 6)].into_iter());
        assert_eq!(merged.as_slice(), [at(0, 5), at(2, 7)]);
    }
}
