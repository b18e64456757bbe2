//! Queues: command lists, submissions, and waits.

use std::fmt;
use std::time::Duration;

#[cfg(doc)]
use super::ResidencyDevice;
use super::{CommandList, DescriptorDevice, QueryDevice};
use crate::{DeviceError, PagingPoint, Permit, QueueId, QueueSerial};

/// A device with queues. Its lists record copies, barriers, and commands on descriptors, queries and acceleration structures.
///
/// Any thread may call the methods at any time; calls on one queue are made under one lock.
pub trait QueueDevice: DescriptorDevice + QueryDevice {
    /// A command allocator with its list.
    type List: CommandList<Self> + 'static;
    /// A point of an external semaphore or fence: `VkSemaphore`, with a value if it is a timeline; `ID3D12Fence` with a value.
    type ExternalPoint: Clone + fmt::Debug + Send + Sync + 'static;
    /// The API's queue, for submissions by the program itself (`VkQueue`, `ID3D12CommandQueue`).
    type NativeQueue<'a>;

    /// Creates a closed command list for one queue: see [`CommandList::begin`].
    ///
    /// # Errors
    /// A shortage, [`DeviceError::Lost`].
    fn create_list(&self, permit: Permit<Self>, queue: QueueId) -> Result<Self::List, DeviceError>;

    /// Destroys a list. The GPU must have finished with it.
    fn destroy_list(&self, permit: Permit<Self>, list: Self::List);

    /// Submits closed lists in order, each only once before its next `begin`, and signals [`SubmitSync::signal`] on the queue's
    /// fence when all are complete. Serials increase by one per submission.
    ///
    /// # Errors
    /// [`DeviceError::Lost`], [`DeviceError::InvalidCall`], a shortage; then nothing was submitted, and no external point is
    /// waited for or signalled.
    fn submit_with(
        &self,
        permit: Permit<Self>,
        queue: QueueId,
        lists: &[&Self::List],
        sync: SubmitSync<'_, Self>,
    ) -> Result<(), DeviceError>;

    /// [`submit_with`](Self::submit_with) without external points: after the given serials, as submission `signal`.
    ///
    /// # Errors
    /// As [`submit_with`](Self::submit_with).
    #[inline]
    fn submit(
        &self,
        permit: Permit<Self>,
        queue: QueueId,
        lists: &[&Self::List],
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        self.submit_with(permit, queue, lists, SubmitSync::new(waits, signal))
    }

    /// Lets the program submit to a queue itself: after the given serials, as submission `signal`, regardless of the
    /// submissions and the result of `run`. No other call may use the queue meanwhile.
    ///
    /// `run` must not panic, and must not submit to the same queue through this contract.
    ///
    /// # Errors
    /// [`DeviceError::Lost`], [`DeviceError::InvalidCall`], a shortage; then `run` was not called. After the call of `run` only
    /// [`DeviceError::Lost`]: if the fence cannot be signalled, the device counts as lost.
    fn submit_external<T>(
        &self,
        permit: Permit<Self>,
        queue: QueueId,
        waits: &[QueueSerial],
        signal: u64,
        run: impl FnOnce(Self::NativeQueue<'_>) -> T,
    ) -> Result<T, DeviceError>;

    /// The newest completed serial of a queue. Never blocks.
    ///
    /// # Errors
    /// [`DeviceError::Lost`].
    fn completed(&self, queue: QueueId) -> Result<u64, DeviceError>;

    /// Blocks until a serial is complete or the timeout expires; true when it is complete.
    ///
    /// # Errors
    /// [`DeviceError::Lost`].
    fn wait(&self, target: QueueSerial, timeout: Duration) -> Result<bool, DeviceError>;
}

/// Waits and signals of a submission: see [`QueueDevice::submit_with`].
///
/// ```
/// use tenure::device::SubmitSync;
///
/// let sync: SubmitSync<'_, tenure::sim::Device> = SubmitSync::new(&[], 1);
/// assert!(sync.external_waits.is_empty() && sync.external_signals.is_empty());
/// ```
pub struct SubmitSync<'a, D: QueueDevice> {
    /// Serials that must be complete before it begins; for its own queue only earlier ones.
    pub waits: &'a [QueueSerial],
    /// Points of external semaphores or fences that must be reached before it begins, or before the stages that such a point
    /// names.
    pub external_waits: &'a [D::ExternalPoint],
    /// Points of external semaphores or fences that are signalled when it is complete.
    pub external_signals: &'a [D::ExternalPoint],
    /// The last result of [`ResidencyDevice::make_resident`] for the blocks it uses; reached before it begins.
    pub paging: PagingPoint,
    /// The serial, which the queue's fence reaches when it is complete.
    pub signal: u64,
}

impl<'a, D: QueueDevice> SubmitSync<'a, D> {
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

impl<D: QueueDevice> fmt::Debug for SubmitSync<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubmitSync")
            .field("waits", &self.waits)
            .field("external_waits", &self.external_waits)
            .field("external_signals", &self.external_signals)
            .field("paging", &self.paging)
            .field("signal", &self.signal)
            .finish()
    }
}
