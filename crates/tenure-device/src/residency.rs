//! Residency of memory blocks, on devices where the program controls it.

/// The party that controls the residency of memory blocks: see [`Properties::residency`](super::Properties::residency).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Residency {
    /// The driver alone.
    #[default]
    None,
    /// The driver, with priorities that may change after the allocation (`VK_EXT_pageable_device_local_memory`):
    /// [`set_priority`](super::ResidencyDevice::set_priority).
    Priorities,
    /// The program (`ID3D12Device::MakeResident`, `Evict`): [`make_resident`](super::ResidencyDevice::make_resident),
    /// [`evict`](super::ResidencyDevice::evict).
    Explicit,
}

/// A value of the device's paging fence, which it reaches when blocks are resident: see
/// [`make_resident`](super::ResidencyDevice::make_resident).
///
/// Later calls return larger points, and the fence reaches them in order, so that waiting for the largest covers all.
///
/// ```
/// use tenure::device::{PagingPoint, SubmitSync};
///
/// let newest = PagingPoint(3).max(PagingPoint::RESIDENT);
/// let sync: SubmitSync<'_, tenure::sim::Device> = SubmitSync::new(&[], 1).paging(newest);
/// assert_eq!(sync.paging, PagingPoint(3));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PagingPoint(pub u64);

impl PagingPoint {
    /// Resident from the start: no wait.
    pub const RESIDENT: Self = Self(0);
}

/// A request of the operating system for evictions: see [`take_trim_request`](super::ResidencyDevice::take_trim_request).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TrimRequest {
    /// Bytes by which the program exceeds its budget.
    pub bytes: u64,
    /// Whether blocks not used since the last request of this kind should be evicted, too, regardless of the budget.
    pub unused: bool,
    /// Whether the next request of that kind refers to the period that begins now.
    pub restarts: bool,
}

impl TrimRequest {
    /// Combines two requests.
    ///
    /// ```
    /// use tenure::device::TrimRequest;
    ///
    /// let (over, idle) = (TrimRequest { bytes: 64, ..Default::default() }, TrimRequest { unused: true, ..Default::default() });
    /// assert_eq!(over.and(idle), TrimRequest { bytes: 64, unused: true, restarts: false });
    /// ```
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.max(other.bytes),
            unused: self.unused || other.unused,
            restarts: self.restarts || other.restarts,
        }
    }
}
