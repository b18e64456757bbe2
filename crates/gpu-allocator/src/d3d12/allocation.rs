//! A piece of a heap.

use core::num::NonZeroU64;

use tenure_heap::MemoryRange;
use windows::Win32::Graphics::Direct3D12::ID3D12Heap;

/// A range of a heap, freed by [`Allocator::free`](super::Allocator::free). Dropping it instead leaks it; the range
/// is then reported.
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

    /// A number that is unique among all past and live allocations of the allocator.
    pub fn chunk_id(&self) -> Option<NonZeroU64> {
        Some(self.range.serial())
    }

    /// Its heap, possibly shared with other allocations.
    ///
    /// # Safety
    /// Resources must be placed within [`offset`](Self::offset) and [`size`](Self::size), and released before the
    /// allocation is freed.
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

    /// Always false: Direct3D 12 has no null allocations.
    pub fn is_null(&self) -> bool {
        false
    }
}
