//! Images on Vulkan: what each queue did since its last barrier, for the aliasing barrier by which
//! others get the bytes.
//!
//! Buffers have [`Scopes`](super::scopes::Scopes), which answer the same. What a queue did before
//! another one used the image is done: that one has waited.

use tenure_core::device::{MAX_QUEUES, QueueId, State};

/// One queue's part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Done {
    /// The uses since the last barrier.
    open: State,
    /// Where that barrier leads.
    led: State,
}

/// The uses of one subresource on all queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Order([Done; MAX_QUEUES]);

impl Order {
    /// A use on a queue.
    pub(crate) fn use_as(&mut self, queue: QueueId, wanted: State) {
        for (index, done) in self.0.iter_mut().enumerate() {
            if index == queue.index() {
                done.open |= wanted;
                continue;
            }
            // Reads beside reads are in no order.
            let stays = !wanted.is_write() && !done.open.is_write();
            done.open = if stays { done.open } else { State::COMMON };
            done.led = State::COMMON;
        }
    }

    /// A barrier on a queue; it leads nowhere when the image is released.
    pub(crate) fn barrier(&mut self, queue: QueueId, led: State) {
        *self = Self::default();
        if let Some(done) = self.0.get_mut(queue.index()) {
            done.led = led;
        }
    }

    /// Where the queue's last barrier leads, while nothing was used since.
    pub(crate) fn led_to(&self, queue: QueueId) -> State {
        let done = self.0.get(queue.index()).filter(|done| done.open.is_empty());
        done.map_or(State::COMMON, |done| done.led)
    }

    /// What the queue has done that a barrier after `from` does not come after, if anything.
    pub(crate) fn left_open(&self, queue: QueueId, from: State) -> Option<State> {
        let Done { open, led } = *self.0.get(queue.index())?;
        let missing = if open.is_empty() && !led.intersects(from) { led } else { open.difference(from) };
        (!missing.is_empty()).then_some(missing)
    }
}
