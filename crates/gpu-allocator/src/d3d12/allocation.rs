//! A piece of a heap.

use core::num::NonZeroU64;

use tenure_heap::MemoryRange;
use windows::Win32::Graphics::Direct3D12::ID3D12Heap;

/// A range of a heap, freed by [`Allocator::free`](super::Allocator::free). Dropping it instead leaves it
/// allocated, and it is reported as a leak.
#[derive(Debug)]
pub struct Allocation {
    range: MemoryRange,
    heap: ID3D12Heap,
}

impl Allocation {
    pub(super) fn new(range: MemoryRange, heap: ID3D12Heap) -> Self {
        Self { range, heap }
    }

    pub(super) const fn range(&self) -> &MemoryRange {
        &self.range
    }

    /// A number that is unique among all allocations of the allocator, past ones included.
    pub fn chunk_id(&self) -> Option<NonZeroU64> {
        Some(self.range.serial())
    }

    /// The heap it lies in, perhaps with others.
    ///
    /// # Safety
    /// Resources are placed in it within [`offset`](Self::offset) and [`size`](Self::size), and released
    /// before the allocation is freed.
    pub unsafe fn heap(&self) -> &ID3D12Heap {
        &self.heap
    }

    /// Bytes from the start of the heap.
    pub fn offset(&self) -> u64 {
        self.range.offset()
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        self.range.size()
    }

    /// Never: there are no null allocations on Direct3D 12.
    pub fn is_null(&self) -> bool {
        false
    }
}
