//! Residency and priorities of memory.

use std::fmt;

use super::MemoryDevice;
use crate::{DeviceError, MemoryTypeId, PagingPoint, Permit, Priority, ResourceDesc, TrimRequest};
#[cfg(doc)]
use crate::{Properties, Residency, SubmitSync};

/// A device whose program, or whose operating system, moves memory in and out of video memory.
///
/// Every method has a default, for devices whose driver controls residency alone: priorities have no effect, nothing is
/// reported, and calls for single blocks are unsupported. Any thread may call the methods at any time.
pub trait ResidencyDevice: MemoryDevice {
    /// As [`create_committed`](MemoryDevice::create_committed), with a priority other than the default of its usage. By default
    /// it is [set](Self::set_priority) afterwards; APIs with a priority at allocation pass it there.
    ///
    /// # Errors
    /// As [`create_committed`](MemoryDevice::create_committed).
    fn create_committed_with_priority(
        &self,
        permit: Permit<Self>,
        desc: &ResourceDesc,
        memory: MemoryTypeId,
        priority: Priority,
    ) -> Result<Self::Resource, DeviceError> {
        let made = self.create_committed(desc, memory)?;
        // A hint: a loss of the device is reported by the next call.
        let _hinted = self.set_priority(permit, MemoryBlock::Resource(&made), priority);
        Ok(made)
    }

    /// Makes blocks resident. Residency is counted: a block is resident until it was [evicted](Self::evict) as often as it was
    /// made resident; a new block has a count of one. The CPU does not wait: only submissions with the returned
    /// [point](SubmitSync::paging), or a later one, may use the blocks. A block may be destroyed at any count.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where [`Properties::residency`] is not [`Residency::Explicit`], as by default; a shortage,
    /// [`DeviceError::InvalidCall`], [`DeviceError::Lost`].
    fn make_resident(
        &self,
        permit: Permit<Self>,
        blocks: &[MemoryBlock<'_, Self>],
    ) -> Result<PagingPoint, DeviceError> {
        let _unused = (permit, blocks);
        Err(DeviceError::Unsupported { feature: "residency" })
    }

    /// Decrements the residency count of each block. At 0 the operating system may take its memory: no work in flight may use
    /// it, and later work only after it is resident again. Its contents are kept.
    ///
    /// # Errors
    /// As [`make_resident`](Self::make_resident).
    fn evict(&self, permit: Permit<Self>, blocks: &[MemoryBlock<'_, Self>]) -> Result<(), DeviceError> {
        let _unused = (permit, blocks);
        Err(DeviceError::Unsupported { feature: "residency" })
    }

    /// Sets the residency priority of a block. A hint: no effect where [`Properties::residency`] is [`Residency::None`], as by
    /// default.
    ///
    /// # Errors
    /// [`DeviceError::Lost`].
    fn set_priority(
        &self,
        permit: Permit<Self>,
        block: MemoryBlock<'_, Self>,
        priority: Priority,
    ) -> Result<(), DeviceError> {
        let _unused = (permit, block, priority);
        Ok(())
    }

    /// Whether the operating system has reported a change of the budget since the last call. Cheap enough for several calls a
    /// frame. Always false on systems without such reports, as by default: query the [budget](MemoryDevice::budget) there.
    fn budget_changed(&self) -> bool {
        false
    }

    /// The operating system's request for evictions since the last call. Cheap. `None` without a request, as by default.
    fn take_trim_request(&self) -> Option<TrimRequest> {
        None
    }

    /// Reports the minimum number of bytes that the program needs in each memory heap to the operating system, until the next
    /// call. A hint, which may take as long as a [budget](MemoryDevice::budget) query. No effect by default.
    fn reserve(&self, bytes: &[u64]) {
        let _unused = bytes;
    }
}

/// A unit of residency.
pub enum MemoryBlock<'a, D: MemoryDevice> {
    /// A heap, with all resources placed in it.
    Heap(&'a D::Heap),
    /// A committed resource.
    Resource(&'a D::Resource),
}

impl<D: MemoryDevice> fmt::Debug for MemoryBlock<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Heap(_) => "Heap",
            Self::Resource(_) => "Resource",
        })
    }
}
