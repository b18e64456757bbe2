//! Queues: their indices, their kinds, and the families that share resources.

/// Maximum number of a device's queues. Sync points are arrays of this length.
pub const MAX_QUEUES: usize = 8;

/// Index of a queue in [`Properties::queues`](super::Properties::queues).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u8);

impl QueueId {
    /// Not a queue of the device: another device, process or API, as one side of a [`QueueTransfer`](super::QueueTransfer).
    pub const PEER: Self = Self(u8::MAX);

    /// As an index.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The capability of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueueKind {
    /// All work (D3D12: direct).
    Graphics,
    /// Dispatches and copies.
    Compute,
    /// Copies.
    Copy,
}

/// A queue available for submissions by tenure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueProperties {
    /// The capability.
    pub kind: QueueKind,
    /// Queues of the same family share textures without an ownership transfer (Vulkan). On D3D12 all queues have the same
    /// family. Buffers are created for all families (Vulkan's concurrent sharing, which is free for buffers).
    pub family: u32,
}

/// A queue, by purpose or by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Queue {
    /// The first graphics (direct) queue.
    Graphics,
    /// The first compute queue; the graphics queue if there is none.
    Compute,
    /// The first copy queue; a compute or the graphics queue if there is none.
    Copy,
    /// A queue by its index in [`Properties::queues`](super::Properties::queues).
    Id(QueueId),
}

impl Queue {
    /// The index among the queues of a device; the first one supports all kinds of work.
    #[must_use]
    pub fn among(self, queues: &[QueueProperties]) -> QueueId {
        let find = |wanted| queues.iter().position(|queue| queue.kind == wanted);
        let index = match self {
            Self::Graphics => find(QueueKind::Graphics),
            Self::Compute => find(QueueKind::Compute),
            Self::Copy => find(QueueKind::Copy).or_else(|| find(QueueKind::Compute)),
            Self::Id(id) => return id,
        };
        QueueId(index.and_then(|index| u8::try_from(index).ok()).unwrap_or(0))
    }
}

impl From<QueueKind> for Queue {
    fn from(kind: QueueKind) -> Self {
        match kind {
            QueueKind::Graphics => Self::Graphics,
            QueueKind::Compute => Self::Compute,
            QueueKind::Copy => Self::Copy,
        }
    }
}

/// A submission, identified by its queue and its serial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueSerial {
    /// The queue.
    pub queue: QueueId,
    /// The submission; 0 is complete from the start.
    pub serial: u64,
}
