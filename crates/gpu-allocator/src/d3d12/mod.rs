//! Direct3D 12, through `windows`.

mod allocation;
mod budget;
mod desc;
mod device;
mod faults;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod faulty;
mod heaps;
mod resource;
#[cfg(feature = "visualizer")]
mod visualizer;

use std::fmt;
use std::sync::Arc;

use tenure_heap::{HeapDevice as _, MemoryRequest, Name};
use windows::Win32::Graphics::Direct3D12::ID3D12Device;

pub use self::allocation::Allocation;
pub use self::desc::{
    AllocationCreateDesc, AllocatorCreateDesc, ResourceCategory, ResourceCreateDesc,
    ResourceStateOrBarrierLayout, ResourceType,
};
pub use self::device::ID3D12DeviceVersion;
pub use self::resource::{CommittedAllocationStatistics, Resource};
#[cfg(feature = "visualizer")]
pub use self::visualizer::AllocatorVisualizer;

use self::faults::Faults;
use self::heaps::Heaps;
use crate::engine::Engine;
use crate::recording::Told;
use crate::{AllocationError, AllocatorReport, Result};

/// The granularity of ranges in bytes. Buffers are aligned to 64 KiB, and small textures to 4 KiB.
const GRANULE: u64 = 256;

/// Allocates memory for placed resources. See the [crate's documentation](crate).
///
/// Dropping it releases all heaps and logs live allocations. Heaps are reference-counted: a heap is freed with its
/// last [`Allocation`] and the last resource placed in it.
pub struct Allocator {
    engine: Engine<Heaps>,
    committed: CommittedAllocationStatistics,
    /// Declared last: the device outlives the heaps.
    device: ID3D12DeviceVersion,
}

impl fmt::Debug for Allocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.engine.fmt(f)
    }
}

impl Allocator {
    /// The device.
    pub fn device(&self) -> &ID3D12DeviceVersion {
        &self.device
    }

    /// Queries the device. Allocates no memory yet.
    ///
    /// # Errors
    /// [`AllocationError::Internal`] if the device does not answer.
    pub fn new(desc: &AllocatorCreateDesc) -> Result<Self> {
        Self::with_faults(desc, Faults::of(&desc.device))
    }

    /// An allocator that works around these driver faults.
    fn with_faults(desc: &AllocatorCreateDesc, faults: Faults) -> Result<Self> {
        let device = desc.device.clone();
        let base: &ID3D12Device = &device;
        let heaps = Heaps::new(base.clone(), faults)?;
        let engine = Engine::new(heaps, &desc.allocation_sizes, GRANULE, desc.debug_settings)?;
        Ok(Self {
            engine,
            committed: CommittedAllocationStatistics { num_allocations: 0, total_size: 0 },
            device,
        })
    }

    /// Allocates memory.
    ///
    /// # Errors
    /// [`AllocationError::OutOfMemory`] for every kind of shortage, after all steps failed;
    /// [`AllocationError::InvalidAllocationCreateDesc`], also for the sizes of a resource that the runtime does not
    /// accept; [`AllocationError::Internal`] for a removed device.
    pub fn allocate(&mut self, desc: &AllocationCreateDesc<'_>) -> Result<Allocation> {
        let AllocationCreateDesc { name, location, size, alignment, resource_category } = *desc;
        if size == 0 || !alignment.is_power_of_two() {
            return Err(AllocationError::InvalidAllocationCreateDesc);
        }
        let category = self.engine.device().category(resource_category);
        let name = Name::from(Arc::from(name));
        // As on Vulkan, each path builds its own request.
        let memory = heaps::order(location);
        let request = || {
            let mut request = MemoryRequest::new(size, alignment, memory, category);
            request.name = name;
            request
        };
        let is_linear = resource_category == ResourceCategory::Buffer;
        let told = Told { size, alignment, location, is_linear };
        let inspect = |heap: &heaps::Heap| heap.raw.clone();
        let (range, heap) = if self.engine.device().faults().wants_alone(resource_category) {
            self.engine.allocate_dedicated(request(), told, Heaps::create_heap, inspect)?
        } else {
            self.engine.allocate(request(), told, inspect)?
        };
        Ok(Allocation::new(range, heap))
    }

    /// Frees memory immediately. Resources placed in it must no longer be in use.
    ///
    /// # Errors
    /// [`AllocationError::Internal`] if the allocation belongs to another allocator; nothing is changed then.
    #[allow(clippy::needless_pass_by_value, reason = "freeing consumes it")]
    pub fn free(&mut self, allocation: Allocation) -> Result<()> {
        self.engine.free(Some(allocation.range()))
    }

    /// Renames an allocation.
    ///
    /// # Errors
    /// [`AllocationError::Internal`] if the allocation belongs to another allocator.
    pub fn rename_allocation(&mut self, allocation: &mut Allocation, name: &str) -> Result<()> {
        self.engine.rename(Some(allocation.range()), Name::from(Arc::from(name)))
    }

    /// Logs live allocations.
    pub fn report_memory_leaks(&self, log_level: log::Level) {
        self.engine.report_leaks(log_level);
        let CommittedAllocationStatistics { num_allocations, total_size } = self.committed;
        if num_allocations > 0 {
            log::log!(log_level, "leak: {num_allocations} committed resources of {total_size} B");
        }
    }

    /// All allocations except committed resources.
    pub fn generate_report(&self) -> AllocatorReport {
        self.engine.report()
    }

    /// Bytes of all blocks.
    pub fn capacity(&self) -> u64 {
        self.engine.capacity()
    }

    /// The total number of allocations outside the preferred memory because the driver refused it, for example in
    /// system memory instead of video memory, which the GPU reads more slowly. The original returns an error in this
    /// case, and has no such method.
    pub fn spilled_allocations(&self) -> u64 {
        self.engine.totals().spilled
    }

    /// The bytes of [`spilled_allocations`](Self::spilled_allocations).
    pub fn spilled_bytes(&self) -> u64 {
        self.engine.totals().spilled_bytes
    }
}
