//! Selection of a queue.

use crate::device::{Properties, QueueId, QueueKind};

/// A queue, by purpose or by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Queue {
    /// The first graphics (direct) queue.
    Graphics,
    /// The first compute queue; the graphics queue where there is none.
    Compute,
    /// The first copy queue; a compute or the graphics queue where there is none.
    Copy,
    /// A queue by its index in [`Properties::queues`].
    Id(QueueId),
}

impl Queue {
    /// The queue's number on a device.
    #[must_use]
    pub fn id(self, properties: &Properties) -> QueueId {
        match self {
            Self::Graphics => properties.queue(QueueKind::Graphics),
            Self::Compute => properties.queue(QueueKind::Compute),
            Self::Copy => properties.queue(QueueKind::Copy),
            Self::Id(id) => id,
        }
    }
}
