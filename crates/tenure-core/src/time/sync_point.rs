//! What must be complete before something may happen.

use crate::device::{MAX_QUEUES, QueueId, QueueSerial};

/// For each queue, the serial that must be complete.
///
/// Serial 0 is complete from the start, so the default sync point holds nothing back.
///
/// ```
/// use tenure_core::device::QueueId;
/// use tenure_core::time::SyncPoint;
///
/// let mut both = SyncPoint::at(QueueId(0), 7);
/// both.merge(&SyncPoint::at(QueueId(2), 3));
/// assert_eq!(both.serial(QueueId(0)), 7);
/// assert_eq!(both.serial(QueueId(2)), 3);
/// assert!(SyncPoint::at(QueueId(0), 6).is_covered_by(&both));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SyncPoint {
    serials: [u64; MAX_QUEUES],
}

impl SyncPoint {
    /// Nothing to wait for.
    pub const NONE: Self = Self { serials: [0; MAX_QUEUES] };

    /// One submission of one queue. A queue beyond [`MAX_QUEUES`] does not exist and is ignored.
    #[must_use]
    pub fn at(queue: QueueId, serial: u64) -> Self {
        let mut point = Self::NONE;
        point.require(queue, serial);
        point
    }

    /// The serial that must be complete on `queue`.
    #[must_use]
    pub fn serial(&self, queue: QueueId) -> u64 {
        self.serials.get(queue.index()).copied().unwrap_or(0)
    }

    /// Adds one submission to what must be complete.
    pub fn require(&mut self, queue: QueueId, serial: u64) {
        if let Some(slot) = self.serials.get_mut(queue.index()) {
            *slot = (*slot).max(serial);
        }
    }

    /// Requires all that `other` requires, too.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.serials.iter_mut().zip(other.serials) {
            *mine = (*mine).max(theirs);
        }
    }

    /// True when whoever waited for `other` need not wait for this.
    #[must_use]
    pub fn is_covered_by(&self, other: &Self) -> bool {
        self.serials.iter().zip(other.serials).all(|(mine, theirs)| *mine <= theirs)
    }

    /// The submissions to wait for, without those complete from the start.
    pub fn iter(&self) -> impl Iterator<Item = QueueSerial> + '_ {
        (0_u8..)
            .zip(self.serials)
            .filter(|(_, serial)| *serial > 0)
            .map(|(queue, serial)| QueueSerial { queue: QueueId(queue), serial })
    }
}

impl From<QueueSerial> for SyncPoint {
    fn from(at: QueueSerial) -> Self {
        Self::at(at.queue, at.serial)
    }
}
