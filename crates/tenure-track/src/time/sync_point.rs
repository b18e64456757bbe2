//! Sync points: sets of submissions to wait for.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::device::{MAX_QUEUES, QueueId, QueueSerial};

/// The clock that counted the serials of a sync point, if known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClockId(u32);

impl ClockId {
    /// The serials come from the program.
    const UNKNOWN: Self = Self(0);
    /// Several clocks have counted the serials.
    const SEVERAL: Self = Self(u32::MAX);

    /// A unique id.
    pub(super) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) const fn get(self) -> u32 {
        self.0
    }

    const fn merged(self, other: Self) -> Self {
        if self.0 == other.0 || other.0 == Self::UNKNOWN.0 {
            self
        } else if self.0 == Self::UNKNOWN.0 {
            other
        } else {
            Self::SEVERAL
        }
    }
}

/// The serial of each queue that must be complete.
///
/// Serial 0 is complete from the start, so the default sync point requires nothing. Serials are valid only for the clock
/// that counted them: a `Gpu` rejects a sync point that another `Gpu` has returned. It cannot check a sync point created by
/// the program with [`at`](Self::at).
///
/// ```
/// use tenure::{SyncPoint, device::QueueId};
///
/// let mut both = SyncPoint::at(QueueId(0), 7);
/// both.merge(&SyncPoint::at(QueueId(2), 3));
/// assert_eq!(both.serial(QueueId(0)), 7);
/// assert_eq!(both.serial(QueueId(2)), 3);
/// assert!(SyncPoint::at(QueueId(0), 6).is_covered_by(&both));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SyncPoint {
    serials: [u64; MAX_QUEUES],
    /// The clock that counted the serials. Ignored by equality.
    clock: ClockId,
}

impl Default for SyncPoint {
    fn default() -> Self {
        Self::NONE
    }
}

impl PartialEq for SyncPoint {
    fn eq(&self, other: &Self) -> bool {
        self.serials == other.serials
    }
}

impl Eq for SyncPoint {}

impl Hash for SyncPoint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.serials.hash(state);
    }
}

impl SyncPoint {
    /// No submission.
    pub const NONE: Self = Self { serials: [0; MAX_QUEUES], clock: ClockId::UNKNOWN };

    /// One submission of one queue. A queue beyond [`MAX_QUEUES`] does not exist and is ignored.
    #[inline]
    #[must_use]
    pub fn at(queue: QueueId, serial: u64) -> Self {
        let mut point = Self::NONE;
        point.require(queue, serial);
        point
    }

    /// The serial that must be complete on `queue`.
    #[inline]
    #[must_use]
    pub fn serial(&self, queue: QueueId) -> u64 {
        self.serials.get(queue.index()).copied().unwrap_or(0)
    }

    /// Adds one submission.
    #[inline]
    pub fn require(&mut self, queue: QueueId, serial: u64) {
        if let Some(slot) = self.serials.get_mut(queue.index()) {
            *slot = (*slot).max(serial);
        }
    }

    /// The same serials, marked as counted by `clock`.
    #[inline]
    pub(super) const fn by(self, clock: ClockId) -> Self {
        Self { clock, ..self }
    }

    /// True when another clock has counted any of the serials.
    #[inline]
    pub(super) fn is_foreign_to(&self, clock: ClockId) -> bool {
        self.clock != ClockId::UNKNOWN && self.clock != clock && self.serials != Self::NONE.serials
    }

    /// Adds all submissions of `other`.
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        if other.serials == Self::NONE.serials {
            return;
        }
        self.clock = self.clock.merged(other.clock);
        for (mine, theirs) in self.serials.iter_mut().zip(other.serials) {
            *mine = (*mine).max(theirs);
        }
    }

    /// True when a wait for `other` also waits for this.
    #[inline]
    #[must_use]
    pub fn is_covered_by(&self, other: &Self) -> bool {
        self.serials.iter().zip(other.serials).all(|(mine, theirs)| *mine <= theirs)
    }

    /// The serial of each queue, and the id of the clock that counted them: plain values for other languages. Pass both to
    /// [`from_raw`](Self::from_raw).
    #[must_use]
    pub const fn to_raw(&self) -> ([u64; MAX_QUEUES], u32) {
        (self.serials, self.clock.0)
    }

    /// A sync point from the values of [`to_raw`](Self::to_raw). Other values are safe: waiting for serials that were never
    /// submitted, or that another clock has counted, is an error.
    ///
    /// ```
    /// use tenure::{SyncPoint, device::QueueId};
    ///
    /// let point = SyncPoint::at(QueueId(1), 7);
    /// let (serials, clock) = point.to_raw();
    /// assert_eq!((serials[1], SyncPoint::from_raw(serials, clock)), (7, point));
    /// ```
    #[must_use]
    pub const fn from_raw(serials: [u64; MAX_QUEUES], clock: u32) -> Self {
        Self { serials, clock: ClockId(clock) }
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
