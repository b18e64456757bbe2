//! As `gpu_allocator::vulkan`.

use std::env;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use ash::vk;
pub use original::vulkan::{AllocationCreateDesc, AllocationScheme};

use crate::figures::{self, Share};
use crate::{AllocationError, AllocationSizes, AllocatorDebugSettings, AllocatorReport, Result, convert};

/// The variable that selects the allocator.
const CHOICE: &str = "TENURE_ALLOCATOR";

/// The description of an allocator.
pub struct AllocatorCreateDesc {
    /// The instance.
    pub instance: ash::Instance,
    /// The device.
    pub device: ash::Device,
    /// The device's adapter.
    pub physical_device: vk::PhysicalDevice,
    /// The logged events.
    pub debug_settings: AllocatorDebugSettings,
    /// Buffers have addresses.
    pub buffer_device_address: bool,
    /// Sizes of blocks.
    pub allocation_sizes: AllocationSizes,
}

#[derive(Debug)]
enum Either<O, T> {
    Original(O),
    Tenure(T),
}

/// Calls the same on either allocator.
macro_rules! of_either {
    ($either:expr, $it:ident => $value:expr) => {
        match $either {
            Either::Original($it) => $value,
            Either::Tenure($it) => $value,
        }
    };
}

type Inner = Either<original::vulkan::Allocator, tenure::vulkan::Allocator>;

/// One of the two allocators, with a clock.
#[derive(Debug)]
pub struct Allocator {
    inner: Inner,
    share: Share,
}

impl Allocator {
    /// Creates the selected allocator.
    ///
    /// # Errors
    /// Its own; and [`AllocationError::InvalidAllocatorCreateDesc`] if the variable names none.
    pub fn new(desc: &AllocatorCreateDesc) -> Result<Self> {
        let chosen = env::var(CHOICE);
        let inner = match chosen.as_deref() {
            Ok("original") => Either::Original(new_original(desc)?),
            Ok("tenure") => Either::Tenure(new_tenure(desc).map_err(convert::error)?),
            _ => {
                let reason = format!("{CHOICE} is `original` or `tenure`, not {chosen:?}");
                return Err(AllocationError::InvalidAllocatorCreateDesc(reason));
            }
        };
        Ok(Self { inner, share: Share::default() })
    }

    /// Allocates memory, and records the time.
    ///
    /// # Errors
    /// The allocator's.
    pub fn allocate(&mut self, desc: &AllocationCreateDesc<'_>) -> Result<Allocation> {
        let (made, took) = match &mut self.inner {
            Either::Original(inner) => {
                let (made, took) = timed(|| inner.allocate(desc));
                (made.map(Either::Original), took)
            }
            Either::Tenure(inner) => {
                let desc = convert::desc(desc);
                let (made, took) = timed(|| inner.allocate(&desc));
                (made.map(Either::Tenure).map_err(convert::error), took)
            }
        };
        self.share.allocated(took, made.as_ref().map_or(0, |_| desc.requirements.size));
        self.note_blocks();
        made.map(|inner| Allocation { inner: Some(inner) })
    }

    /// Frees memory, and records the time.
    ///
    /// # Errors
    /// The allocator's.
    pub fn free(&mut self, allocation: Allocation) -> Result<()> {
        let size = allocation.size();
        let (freed, took) = match (&mut self.inner, allocation.inner) {
            (_, None) => return Ok(()),
            (Either::Original(inner), Some(Either::Original(it))) => timed(|| inner.free(it)),
            (Either::Tenure(inner), Some(Either::Tenure(it))) => {
                let (freed, took) = timed(|| inner.free(it));
                (freed.map_err(convert::error), took)
            }
            _ => return Err(AllocationError::Internal("it is of the other allocator".to_owned())),
        };
        self.share.freed(took, size);
        self.note_blocks();
        freed
    }

    /// Everything that it holds.
    pub fn generate_report(&self) -> AllocatorReport {
        match &self.inner {
            Either::Original(inner) => inner.generate_report(),
            Either::Tenure(inner) => convert::report(inner.generate_report()),
        }
    }

    /// Bytes of all blocks.
    pub fn capacity(&self) -> u64 {
        of_either!(&self.inner, inner => inner.capacity())
    }

    fn note_blocks(&mut self) {
        let reserved = self.capacity();
        if reserved != self.share.reserved() {
            let blocks = of_either!(&self.inner, inner => inner.generate_report().blocks.len());
            self.share.reserves(reserved, blocks);
        }
    }
}

impl Drop for Allocator {
    fn drop(&mut self) {
        self.share.end();
        figures::write();
    }
}

fn timed<R>(call: impl FnOnce() -> R) -> (R, Duration) {
    let start = Instant::now();
    let result = call();
    (result, start.elapsed())
}

fn new_original(desc: &AllocatorCreateDesc) -> Result<original::vulkan::Allocator> {
    original::vulkan::Allocator::new(&original::vulkan::AllocatorCreateDesc {
        instance: desc.instance.clone(),
        device: desc.device.clone(),
        physical_device: desc.physical_device,
        debug_settings: desc.debug_settings,
        buffer_device_address: desc.buffer_device_address,
        allocation_sizes: desc.allocation_sizes.into(),
    })
}

fn new_tenure(desc: &AllocatorCreateDesc) -> tenure::Result<tenure::vulkan::Allocator> {
    tenure::vulkan::Allocator::new(&tenure::vulkan::AllocatorCreateDesc {
        instance: desc.instance.clone(),
        device: desc.device.clone(),
        physical_device: desc.physical_device,
        debug_settings: convert::settings(desc.debug_settings),
        buffer_device_address: desc.buffer_device_address,
        allocation_sizes: desc.allocation_sizes.into(),
    })
}

/// A piece of device memory, of whichever allocator. Null ([`Default`]) is none.
#[derive(Debug, Default)]
pub struct Allocation {
    inner: Option<Either<original::vulkan::Allocation, tenure::vulkan::Allocation>>,
}

impl Allocation {
    /// The memory it lies in.
    ///
    /// # Safety
    /// That of the allocators.
    pub unsafe fn memory(&self) -> vk::DeviceMemory {
        match &self.inner {
            None => vk::DeviceMemory::null(),
            // SAFETY: the caller vouches for it.
            Some(Either::Original(it)) => unsafe { it.memory() },
            // SAFETY: as above.
            Some(Either::Tenure(it)) => unsafe { it.memory() },
        }
    }

    /// Bytes from the start of the memory.
    pub fn offset(&self) -> u64 {
        self.inner.as_ref().map_or(0, |it| of_either!(it, it => it.offset()))
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        self.inner.as_ref().map_or(0, |it| of_either!(it, it => it.size()))
    }

    /// The flags of its memory type.
    pub fn memory_properties(&self) -> vk::MemoryPropertyFlags {
        let inner = self.inner.as_ref();
        inner.map_or(vk::MemoryPropertyFlags::empty(), |it| of_either!(it, it => it.memory_properties()))
    }

    /// The address of the first byte; `None` for memory that is not CPU-visible.
    pub fn mapped_ptr(&self) -> Option<NonNull<c_void>> {
        self.inner.as_ref().and_then(|it| of_either!(it, it => it.mapped_ptr()))
    }
}
