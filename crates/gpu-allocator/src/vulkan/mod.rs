//! Vulkan, through `ash`.

mod allocation;
mod choose;
mod heaps;
#[cfg(feature = "visualizer")]
mod visualizer;

use std::fmt;
use std::sync::Arc;

use ash::vk;
use tenure_heap::{MemoryRange, MemoryRequest, Name};

pub use self::allocation::{Allocation, MappedAllocationSlab};
use self::choose::{Choice, Chooser, Types};
use self::heaps::{Address, Dedicated, Heap, Heaps};
#[cfg(feature = "visualizer")]
pub use self::visualizer::AllocatorVisualizer;
use crate::engine::Engine;
use crate::recording::Told;
use crate::{
    AllocationError, AllocationSizes, AllocatorDebugSettings, AllocatorReport, MemoryLocation, Result,
};

/// The granularity of ranges in bytes.
const GRANULE: u64 = 16;

/// Whether a resource shares its memory.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum AllocationScheme {
    /// Memory dedicated to this buffer, by Vulkan's dedicated allocation.
    DedicatedBuffer(vk::Buffer),
    /// Memory dedicated to this image, by Vulkan's dedicated allocation.
    DedicatedImage(vk::Image),
    /// Memory of the allocator's choice.
    GpuAllocatorManaged,
}

/// The description of an allocation.
#[derive(Clone, Debug)]
pub struct AllocationCreateDesc<'a> {
    /// A name for reports and leaks.
    pub name: &'a str,
    /// The resource's requirements, as Vulkan reports them.
    pub requirements: vk::MemoryRequirements,
    /// The access by CPU and GPU.
    pub location: MemoryLocation,
    /// True for buffers and linear images, false for images with optimal tiling.
    pub linear: bool,
    /// Whether it shares its memory.
    pub allocation_scheme: AllocationScheme,
}

/// The description of an allocator. Its handles must outlive the allocator.
pub struct AllocatorCreateDesc {
    /// The instance.
    pub instance: ash::Instance,
    /// The device.
    pub device: ash::Device,
    /// The device's adapter.
    pub physical_device: vk::PhysicalDevice,
    /// The log settings.
    pub debug_settings: AllocatorDebugSettings,
    /// Whether the device has the feature `bufferDeviceAddress`, so that buffers may have addresses.
    pub buffer_device_address: bool,
    /// Sizes of blocks.
    pub allocation_sizes: AllocationSizes,
}

/// Allocates memory for buffers and images. See the [crate's documentation](crate).
///
/// Dropping it frees all memory and logs live allocations. Mapped memory with live [`Allocation`]s stays mapped, so
/// that their slices stay valid, and is freed when the device is destroyed.
pub struct Allocator {
    chooser: Chooser,
    engine: Engine<Heaps>,
}

impl fmt::Debug for Allocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.engine.fmt(f)
    }
}

impl Allocator {
    /// Queries the driver's tables. Allocates no memory yet.
    ///
    /// # Errors
    /// [`AllocationError::InvalidAllocatorCreateDesc`] for a null adapter, or inconsistent tables.
    pub fn new(desc: &AllocatorCreateDesc) -> Result<Self> {
        if desc.physical_device == vk::PhysicalDevice::null() {
            let reason = "`physical_device` is null".to_owned();
            return Err(AllocationError::InvalidAllocatorCreateDesc(reason));
        }
        let heaps = Heaps::new(desc);
        let chooser = heaps.chooser();
        let engine = Engine::new(heaps, &desc.allocation_sizes, GRANULE, desc.debug_settings)?;
        Ok(Self { chooser, engine })
    }

    /// Allocates memory.
    ///
    /// # Errors
    /// [`AllocationError::OutOfMemory`] for every kind of shortage, after all steps failed;
    /// [`AllocationError::InvalidAllocationCreateDesc`], [`AllocationError::NoCompatibleMemoryTypeFound`];
    /// [`AllocationError::Internal`] for a lost device.
    pub fn allocate(&mut self, desc: &AllocationCreateDesc<'_>) -> Result<Allocation> {
        let mut room = Types::new();
        let Choice { memory, category, size, alignment } = self.chooser.choose(desc, &mut room)?;
        let name = Name::from(Arc::from(desc.name));
        // Each path builds its own request: a shared one is built in memory and copied as a whole, which stalls the
        // processor.
        let request = || {
            let mut request = MemoryRequest::new(size, alignment, memory, category);
            request.name = name;
            request
        };
        let vk::MemoryRequirements { size, alignment, .. } = desc.requirements;
        let told = Told { size, alignment, location: desc.location, is_linear: desc.linear };
        let (range, address) = match desc.allocation_scheme {
            AllocationScheme::GpuAllocatorManaged => self.engine.allocate(request(), told, Heap::address)?,
            AllocationScheme::DedicatedBuffer(buffer) => {
                allocate_dedicated(&mut self.engine, request(), told, Dedicated::Buffer(buffer))?
            }
            AllocationScheme::DedicatedImage(image) => {
                allocate_dedicated(&mut self.engine, request(), told, Dedicated::Image(image))?
            }
        };
        let properties = self.engine.device().flags(range.memory());
        Ok(Allocation::new(range, address, size, properties))
    }

    /// Frees memory immediately. Resources bound to it must no longer be in use. Does nothing for a null allocation.
    ///
    /// # Errors
    /// [`AllocationError::Internal`] if the allocation belongs to another allocator; nothing is changed then.
    pub fn free(&mut self, allocation: Allocation) -> Result<()> {
        self.engine.free(allocation.into_range().as_ref())
    }

    /// Renames an allocation.
    ///
    /// # Errors
    /// [`AllocationError::Internal`] if the allocation belongs to another allocator.
    pub fn rename_allocation(&mut self, allocation: &mut Allocation, name: &str) -> Result<()> {
        self.engine.rename(allocation.range(), Name::from(Arc::from(name)))
    }

    /// Logs live allocations.
    pub fn report_memory_leaks(&self, log_level: log::Level) {
        self.engine.report_leaks(log_level);
    }

    /// All allocations.
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

/// Allocates dedicated memory of exactly the required size.
#[cold]
fn allocate_dedicated(
    engine: &mut Engine<Heaps>,
    mut request: MemoryRequest<'_>,
    told: Told,
    dedicated: Dedicated,
) -> Result<(MemoryRange, Address)> {
    request.size = told.size;
    let make = |heaps: &Heaps, heap: &_| heaps.allocate(heap, dedicated);
    engine.allocate_dedicated(request, told, make, Heap::address)
}
