//! Which blocks of memory the GPU can use, on devices where a program decides that.

use std::fmt;

use super::Device;

/// Who decides which blocks of memory are resident: see [`Properties::residency`](super::Properties::residency).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Residency {
    /// The driver alone.
    #[default]
    None,
    /// The driver, by priorities that may change after the allocation
    /// (`VK_EXT_pageable_device_local_memory`): [`Device::set_priority`].
    Priorities,
    /// The program, which has to (`ID3D12Device::MakeResident`, `Evict`): [`Device::make_resident`],
    /// [`Device::evict`].
    Explicit,
}

/// What is resident, or not, as a whole.
pub enum MemoryBlock<'a, D: Device> {
    /// A heap, with all that is placed in it.
    Heap(&'a D::Heap),
    /// A committed resource.
    Resource(&'a D::Resource),
}

impl<D: Device> Clone for MemoryBlock<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for MemoryBlock<'_, D> {}

impl<D: Device> fmt::Debug for MemoryBlock<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Heap(_) => "Heap",
            Self::Resource(_) => "Resource",
        })
    }
}

/// A value of the device's fence for paging, which it reaches when blocks are resident: see
/// [`Device::make_resident`].
///
/// Later calls have larger points, and the fence reaches them in order, so the largest stands for all.
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
    /// Reached from the start: there is nothing to wait for.
    pub const RESIDENT: Self = Self(0);
}

/// What the operating system asks a program to evict: see [`Device::take_trim_request`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TrimRequest {
    /// Bytes by which the program exceeds what is granted to it.
    pub bytes: u64,
    /// What was not used since the last request of this kind is to be evicted, too, however much there is granted.
    pub unused: bool,
    /// What is not used from now on is what the next request of that kind means.
    pub restarts: bool,
}

impl TrimRequest {
    /// Both, as one.
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
