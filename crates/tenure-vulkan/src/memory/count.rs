//! What tenure itself took of each memory heap.

use core::sync::atomic::{AtomicU64, Ordering};

use ash::vk;
use tenure_core::device::{DeviceError, HeapBudget, MemoryFlags, MemoryTypeId, Properties};

/// Without `VK_EXT_memory_budget` so much of a heap is taken to be granted: four fifths.
const fn granted(size: u64) -> u64 {
    size - size / 5
}

/// Live allocations, and their bytes by memory heap.
#[derive(Debug, Default)]
pub(crate) struct MemoryCount {
    allocations: AtomicU64,
    bytes: [AtomicU64; vk::MAX_MEMORY_HEAPS],
}

impl MemoryCount {
    /// Counts an allocation about to be made.
    ///
    /// # Errors
    /// When the device's limit is reached, or no heap is that large.
    pub(crate) fn take(
        &self,
        properties: &Properties,
        memory: MemoryTypeId,
        size: u64,
    ) -> Result<(), DeviceError> {
        let heap = heap_of(properties, memory);
        let limit = heap.and_then(|heap| properties.memory_heaps.get(heap)).map_or(0, |heap| heap.size);
        if size > limit {
            return Err(DeviceError::OutOfMemory { requested: size, memory });
        }
        let most = properties.max_allocations;
        let more = |count: u64| (count < most).then_some(count.saturating_add(1));
        if self.allocations.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_err() {
            return Err(DeviceError::TooManyAllocations { limit: most });
        }
        if let Some(bytes) = heap.and_then(|heap| self.bytes.get(heap)) {
            bytes.fetch_add(taken(properties, memory, size), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Gives back what [`take`](Self::take) counted.
    pub(crate) fn give(&self, properties: &Properties, memory: MemoryTypeId, size: u64) {
        self.allocations.fetch_sub(1, Ordering::Relaxed);
        if let Some(bytes) = heap_of(properties, memory).and_then(|heap| self.bytes.get(heap)) {
            bytes.fetch_sub(taken(properties, memory, size), Ordering::Relaxed);
        }
    }

    /// A budget for each heap when the OS names none.
    pub(crate) fn budgets(&self, properties: &Properties) -> Vec<HeapBudget> {
        let budget = |(heap, bytes): (&tenure_core::device::MemoryHeap, &AtomicU64)| HeapBudget {
            budget: granted(heap.size),
            usage: bytes.load(Ordering::Relaxed),
        };
        properties.memory_heaps.iter().zip(&self.bytes).map(budget).collect()
    }
}

/// Bytes that memory of a type is taken to be: none where the driver allocates it lazily.
fn taken(properties: &Properties, memory: MemoryTypeId, size: u64) -> u64 {
    let found = properties.memory_types.get(usize::from(memory.0));
    let is_lazy = found.is_some_and(|found| found.flags.contains(MemoryFlags::LAZILY_ALLOCATED));
    if is_lazy { 0 } else { size }
}

fn heap_of(properties: &Properties, memory: MemoryTypeId) -> Option<usize> {
    properties.memory_types.get(usize::from(memory.0)).map(|found| usize::from(found.heap))
}
