//! The state of an evictable block that each submission reads and writes.

use super::Blocks;
use crate::block_set::BlockSet;
use crate::device::{Device, PagingPoint, QueueId, QueueSerial};
use crate::time::SyncPoint;

/// The state of an evictable block: half a cache line.
#[derive(Debug)]
pub(super) struct State {
    /// The point from which the block is resident for the GPU.
    pub(super) ready: PagingPoint,
    /// The frame of its last use.
    pub(super) frame: u64,
    /// The latest submission of one queue that used the block; 0: none.
    serial: u64,
    queue: QueueId,
    pub(super) is_resident: bool,
    /// Submissions that use the block and have no serial yet.
    submitting: u32,
}

const _: () = assert!(size_of::<State>() <= 32, "two states a cache line");

impl State {
    /// The state of a block created in this frame.
    pub(super) const fn new(frame: u64) -> Self {
        let (ready, queue) = (PagingPoint::RESIDENT, QueueId(0));
        Self { ready, frame, serial: 0, queue, is_resident: true, submitting: 0 }
    }

    /// Frames since the block's last use.
    pub(super) const fn age(&self, frame: u64) -> u64 {
        frame.saturating_sub(self.frame)
    }

    /// Records a use by another queue; returns the replaced one.
    const fn replace_use(&mut self, QueueSerial { queue, serial }: QueueSerial) -> QueueSerial {
        let former = QueueSerial { queue: self.queue, serial: self.serial };
        (self.queue, self.serial) = (queue, serial);
        former
    }

    /// Whether the block is resident, and no submission recorded here uses it or is about to.
    pub(super) fn is_idle(&self, completed: &SyncPoint) -> bool {
        self.is_resident && self.submitting == 0 && self.serial <= completed.serial(self.queue)
    }
}

impl<D: Device> Blocks<D> {
    /// Begins a submission that uses the blocks: none can be evicted before the submission is made. Returns the
    /// point from which all are resident; `None` if some are not. A move does not count as a use.
    pub(super) fn begin(&mut self, set: &BlockSet, is_move: bool) -> Option<PagingPoint> {
        let (mut point, mut is_complete) = (PagingPoint::RESIDENT, true);
        for key in set.keys() {
            let Some(state) = self.states.get_mut(key.index()) else { continue };
            state.submitting += 1;
            point = point.max(state.ready);
            is_complete &= state.is_resident;
            if state.frame != self.frame && !is_move {
                let pause = self.frame.saturating_sub(state.frame);
                state.frame = self.frame;
                if let Some(node) = self.nodes.get_mut(key.index()) {
                    node.uses.note(pause, &mut self.typical);
                }
            }
        }
        is_complete.then_some(point)
    }

    /// Ends a submission, which was made, or failed after everything submitted at that point.
    pub(super) fn end(&mut self, set: &BlockSet, at: Result<QueueSerial, SyncPoint>) {
        for key in set.keys() {
            let Some(state) = self.states.get_mut(key.index()) else { continue };
            state.submitting = state.submitting.saturating_sub(1);
            let others = match at {
                Ok(QueueSerial { queue, serial }) if queue == state.queue => {
                    state.serial = state.serial.max(serial);
                    continue;
                }
                Ok(now) => state.replace_use(now).into(),
                Err(submitted) => submitted,
            };
            if let Some(node) = self.nodes.get_mut(key.index()) {
                node.used.merge(&others);
            }
        }
    }
}
