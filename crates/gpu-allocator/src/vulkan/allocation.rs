//! A range of device memory.

use core::ffi::c_void;
use core::marker::PhantomData;
use core::num::NonZeroU64;
use core::ptr::NonNull;

use ash::vk;
use tenure_heap::MemoryRange;

use super::heaps::{Address, Mapping};

/// The address of mapped memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct MappedPtr(pub(super) NonNull<c_void>);

// SAFETY: it is an address. Concurrent access to the memory requires unsafe code or a unique reference to the
// allocation, whose users must synchronise it.
unsafe impl Send for MappedPtr {}
// SAFETY: as above; sharing the address makes no difference.
unsafe impl Sync for MappedPtr {}

/// A range of device memory, freed by [`Allocator::free`](super::Allocator::free). Dropping it instead leaks it; the
/// range is then reported.
///
/// If an allocation outlives its allocator, its mapped bytes stay valid: the driver frees their memory when the
/// device is destroyed. (The original frees it, so slices dangle.)
///
/// [`Default`] is the null allocation.
#[derive(Debug)]
pub struct Allocation {
    range: Option<MemoryRange>,
    size: u64,
    memory: vk::DeviceMemory,
    mapped: Option<Mapped>,
    properties: vk::MemoryPropertyFlags,
}

/// The address of the allocation's bytes, and the mapping that keeps it valid.
#[derive(Debug)]
struct Mapped {
    address: MappedPtr,
    _mapping: Mapping,
}

impl Default for Allocation {
    fn default() -> Self {
        Self {
            range: None,
            size: 0,
            memory: vk::DeviceMemory::null(),
            mapped: None,
            properties: vk::MemoryPropertyFlags::empty(),
        }
    }
}

impl Allocation {
    #[inline(always)]
    pub(super) fn new(
        range: MemoryRange,
        address: Address,
        size: u64,
        properties: vk::MemoryPropertyFlags,
    ) -> Self {
        let at_offset = |mapping: Mapping| {
            let offset = usize::try_from(range.offset()).ok()?;
            // SAFETY: the range lies within the heap, which is mapped completely from `base` on.
            let address = unsafe { mapping.base.0.as_ptr().cast::<u8>().add(offset) };
            let address = NonNull::new(address.cast()).map(MappedPtr)?;
            Some(Mapped { address, _mapping: mapping })
        };
        let mapped = address.mapped.and_then(at_offset);
        Self { range: Some(range), size, memory: address.memory, mapped, properties }
    }

    pub(super) fn range(&self) -> Option<&MemoryRange> {
        self.range.as_ref()
    }

    /// The range alone, without the mapping, so that the memory may be freed.
    #[inline]
    pub(super) fn into_range(self) -> Option<MemoryRange> {
        self.range
    }

    /// The address of its bytes; `None` for memory that is not host-visible.
    fn address(&self) -> Option<NonNull<c_void>> {
        self.mapped.as_ref().map(|mapped| mapped.address.0)
    }

    /// The mapped memory as a [`presser::Slab`]; `None` for memory that is not mapped.
    ///
    /// # Safety of its uses
    /// The caller must ensure that the GPU does not use the memory at the same time.
    pub fn try_as_mapped_slab<'a>(&'a mut self) -> Option<MappedAllocationSlab<'a>> {
        let size = usize::try_from(self.size).ok().filter(|size| isize::try_from(*size).is_ok())?;
        Some(MappedAllocationSlab { base: self.address()?.as_ptr().cast(), size, borrowed: PhantomData })
    }

    /// A number that is unique among all past and live allocations of the allocator; `None` for null.
    pub fn chunk_id(&self) -> Option<NonZeroU64> {
        self.range.as_ref().map(MemoryRange::serial)
    }

    /// The flags of its memory type.
    pub fn memory_properties(&self) -> vk::MemoryPropertyFlags {
        self.properties
    }

    /// Its memory, possibly shared with other allocations.
    ///
    /// # Safety
    /// The memory must not be freed, mapped or unmapped. Resources must be bound within [`offset`](Self::offset) and
    /// [`size`](Self::size), and destroyed before the allocation is freed.
    pub unsafe fn memory(&self) -> vk::DeviceMemory {
        self.memory
    }

    /// True if the memory is dedicated to this allocation.
    pub fn is_dedicated(&self) -> bool {
        self.range.as_ref().is_some_and(MemoryRange::is_dedicated)
    }

    /// Bytes from the start of the memory.
    pub fn offset(&self) -> u64 {
        self.range.as_ref().map_or(0, MemoryRange::offset)
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The address of the allocation's first byte; `None` for memory that is not host-visible.
    pub fn mapped_ptr(&self) -> Option<NonNull<c_void>> {
        self.address()
    }

    /// The allocation's bytes; `None` for memory that is not host-visible.
    pub fn mapped_slice(&self) -> Option<&[u8]> {
        let size = usize::try_from(self.size).ok()?;
        // SAFETY: this number of bytes is mapped from there on for the lifetime of the allocation, which the slice
        // borrows and which keeps them mapped even if the allocator is dropped. As in the original, the caller must
        // synchronise with writes of the GPU.
        self.address().map(|address| unsafe { core::slice::from_raw_parts(address.as_ptr().cast(), size) })
    }

    /// The allocation's bytes, for writing; `None` for memory that is not host-visible.
    pub fn mapped_slice_mut(&mut self) -> Option<&mut [u8]> {
        let size = usize::try_from(self.size).ok()?;
        // SAFETY: as in `mapped_slice`, and the borrow is unique.
        self.address()
            .map(|address| unsafe { core::slice::from_raw_parts_mut(address.as_ptr().cast(), size) })
    }

    /// True for the null allocation.
    pub fn is_null(&self) -> bool {
        self.range.is_none()
    }
}

/// Mapped memory of an [`Allocation`], for the helpers of `presser`.
pub struct MappedAllocationSlab<'a> {
    base: *mut u8,
    size: usize,
    borrowed: PhantomData<&'a mut Allocation>,
}

// SAFETY: `size` bytes from `base` on are mapped memory of an allocation that is borrowed uniquely, and
// there are no more than `isize::MAX`.
unsafe impl presser::Slab for MappedAllocationSlab<'_> {
    fn base_ptr(&self) -> *const u8 {
        self.base
    }

    fn base_ptr_mut(&mut self) -> *mut u8 {
        self.base
    }

    fn size(&self) -> usize {
        self.size
    }
}

/// # Panics
/// For unmapped memory: see [`Allocation::try_as_mapped_slab`].
// SAFETY: `size` bytes from the mapped address on belong to the allocation; allocations that are not mapped, or
// larger than `isize::MAX`, panic instead of answering.
unsafe impl presser::Slab for Allocation {
    fn base_ptr(&self) -> *const u8 {
        self.slab_base()
    }

    fn base_ptr_mut(&mut self) -> *mut u8 {
        self.slab_base()
    }

    fn size(&self) -> usize {
        let size = usize::try_from(self.size).ok().filter(|size| isize::try_from(*size).is_ok());
        size.unwrap_or_else(|| panic!("an allocation of {} B is too large for a slab", self.size))
    }
}

impl Allocation {
    fn slab_base(&self) -> *mut u8 {
        let Some(address) = self.address() else { panic!("an unmapped allocation cannot be a slab") };
        address.as_ptr().cast()
    }
}
