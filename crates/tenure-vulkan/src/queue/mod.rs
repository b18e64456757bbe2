//! Queues: submissions and their progress.

mod clock;
mod fences;
mod submit;

use std::sync::Arc;
use std::time::Duration;

use tenure_core::device::{CallRule, DeviceError, QueueId, QueueSerial};

pub use clock::OwnQueue;
pub(crate) use clock::{Clock, Family, Queue, SLICE, nanoseconds};
pub(crate) use clock::{Timeline, create_timeline};
pub(crate) use fences::Fences;
pub(crate) use fences::SyncPool;
pub use submit::ExternalSemaphore;
pub(crate) use submit::Sync;
pub(crate) use submit::{BUFFERS, Binds, Work};

use crate::loaded::{Loaded, part_of_device};

/// Timeout for the GPU when the queues are dropped. Unfinished work is left to the process.
const LAST_WAIT: Duration = Duration::from_secs(10);

/// The queues of a device, with the fences and semaphores that submissions and presentations use.
pub(crate) struct Queues {
    loaded: Arc<Loaded>,
    pub(crate) list: Vec<Queue>,
    /// Queues for the program's own use, which tenure does not use.
    pub(crate) own: Vec<OwnQueue>,
    pub(crate) sync: SyncPool,
}

impl Queues {
    pub(crate) fn new(loaded: Arc<Loaded>, list: Vec<Queue>, own: Vec<OwnQueue>) -> Self {
        Self { loaded, list, own, sync: SyncPool::default() }
    }

    pub(crate) const fn loaded(&self) -> &Arc<Loaded> {
        &self.loaded
    }

    /// The queue of that number.
    pub(crate) fn queue(&self, queue: QueueId) -> Result<&Queue, DeviceError> {
        let count = self.list.len() as u64;
        self.list.get(queue.index()).ok_or(DeviceError::invalid_call(
            CallRule::QueueExists,
            u64::from(queue.0),
            count,
        ))
    }

    fn wait_for_serials(&self) -> bool {
        (0_u8..).map(QueueId).zip(&self.list).all(|(queue, state)| {
            let waited = match &state.clock {
                Clock::Timeline(timeline) => {
                    self.wait(QueueSerial { queue, serial: timeline.submitted() }, LAST_WAIT)
                }
                Clock::Fences(fences) => self.drain_fences(fences, LAST_WAIT),
            };
            // A lost device is idle; one that reports a shortage may still be busy.
            waited.unwrap_or_else(|error| matches!(error, DeviceError::Lost { .. }))
        })
    }
}

impl Drop for Queues {
    /// Waits for all submissions, on a device of tenure also those of others
    /// ([`Device::with_queue`](crate::Device::with_queue)).
    fn drop(&mut self) {
        if !(self.wait_for_serials() && self.wait_idle()) {
            self.abandon();
            return;
        }
        for queue in &mut self.list {
            match &mut queue.clock {
                Clock::Timeline(timeline) => {
                    // SAFETY: all submissions are complete, so it is no longer in use.
                    unsafe { self.loaded.api.device.destroy_semaphore(timeline.semaphore, None) };
                }
                Clock::Fences(fences) => fences.recycle(&self.sync),
            }
        }
        self.sync.destroy(&self.loaded.api.device);
    }
}

part_of_device!(Queues);
