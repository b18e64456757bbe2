//! Synchronisation of a submission.

use super::{Device, PagingPoint, QueueSerial};

/// Waits and signals of a submission: see [`Device::submit_with`].
///
/// ```
/// use tenure::device::SubmitSync;
///
/// let sync: SubmitSync<'_, tenure::sim::Device> = SubmitSync::new(&[], 1);
/// assert!(sync.external_waits.is_empty() && sync.external_signals.is_empty());
/// ```
pub struct SubmitSync<'a, D: Device> {
    /// Serials that must be complete before it begins; for its own queue only earlier ones.
    pub waits: &'a [QueueSerial],
    /// Points of external semaphores or fences that must be reached before it begins, or before the stages that such a point
    /// names.
    pub external_waits: &'a [D::ExternalPoint],
    /// Points of external semaphores or fences that are signalled when it is complete.
    pub external_signals: &'a [D::ExternalPoint],
    /// The last result of [`Device::make_resident`] for the blocks it uses; reached before it begins.
    pub paging: PagingPoint,
    /// Its serial, which the queue's fence reaches when it is complete.
    pub signal: u64,
}

impl<'a, D: Device> SubmitSync<'a, D> {
    /// Synchronisation by serials only.
    #[inline]
    #[must_use]
    pub const fn new(waits: &'a [QueueSerial], signal: u64) -> Self {
        Self { waits, external_waits: &[], external_signals: &[], paging: PagingPoint::RESIDENT, signal }
    }

    /// Sets [`paging`](Self::paging).
    #[inline]
    #[must_use]
    pub const fn paging(mut self, point: PagingPoint) -> Self {
        self.paging = point;
        self
    }
}

impl<D: Device> Clone for SubmitSync<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for SubmitSync<'_, D> {}

impl<D: Device> std::fmt::Debug for SubmitSync<'_, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SubmitSync")
            .field("waits", &self.waits)
            .field("external_waits", &self.external_waits)
            .field("external_signals", &self.external_signals)
            .field("paging", &self.paging)
            .field("signal", &self.signal)
            .finish()
    }
}
