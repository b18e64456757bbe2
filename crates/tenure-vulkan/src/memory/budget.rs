//! The OS budget and the usage of memory.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ash::vk;
use tenure_core::device::{DeviceError, HeapBudget, MemoryFlags, MemoryTypeId, Properties};

use super::Memories;
use crate::features::OptionalFeatures;

impl Memories {
    pub(crate) fn budget(&self) -> Result<Vec<HeapBudget>, DeviceError> {
        self.alive()?;
        let counted = self.count.budgets(&self.tables.largest_budgets);
        if !self.api.uses(OptionalFeatures::MEMORY_BUDGET) {
            return Ok(counted);
        }
        let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        let mut memory = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
        // SAFETY: the extension is enabled, the physical device one of the instance's.
        unsafe {
            self.api.instance.get_physical_device_memory_properties2(self.api.physical, &mut memory);
        }
        let reported = budget.heap_budget.into_iter().zip(budget.heap_usage);
        let reported = reported.map(|(budget, usage)| HeapBudget { budget, usage });
        let counts = self.tables.counts_after_imports && self.count.has_imported.load(Ordering::Relaxed);
        let budgets = self.tables.largest_budgets.iter().zip(counted).zip(reported);
        Ok(budgets.map(|((most, counted), reported)| believed(reported, counted, *most, counts)).collect())
    }
}

/// The driver's report on a heap of at most `most` bytes, corrected by the table of [`drivers`](crate::drivers).
/// `counts`: the reported usage is wrong.
fn believed(reported: HeapBudget, counted: HeapBudget, most: u64, counts: bool) -> HeapBudget {
    // A driver without a budget for a heap does not report its usage either.
    if reported.budget == 0 {
        return counted;
    }
    let is_negative = reported.usage > u64::MAX / 2;
    let usage = if is_negative || counts { counted.usage } else { reported.usage };
    HeapBudget { budget: reported.budget.min(most), usage }
}

/// The assumed budget without `VK_EXT_memory_budget`: four fifths of the heap.
const fn granted(size: u64) -> u64 {
    size - size / 5
}

/// Live allocations, and their bytes by memory heap.
#[derive(Debug, Default)]
pub(crate) struct MemoryCount {
    allocations: AtomicU64,
    bytes: [AtomicU64; vk::MAX_MEMORY_HEAPS],
    /// Memory of others was imported by a file descriptor.
    has_imported: AtomicBool,
}

impl MemoryCount {
    /// Counts an allocation of `size` bytes, before it is made, with `counted` bytes.
    ///
    /// # Errors
    /// If the device's limit is reached, or no heap is that large.
    pub(crate) fn take(
        &self,
        properties: &Properties,
        memory: MemoryTypeId,
        [size, counted]: [u64; 2],
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
            bytes.fetch_add(taken(properties, memory, counted), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Returns the bytes counted by [`take`](Self::take).
    pub(crate) fn release(&self, properties: &Properties, memory: MemoryTypeId, size: u64) {
        self.allocations.fetch_sub(1, Ordering::Relaxed);
        if let Some(bytes) = heap_of(properties, memory).and_then(|heap| self.bytes.get(heap)) {
            bytes.fetch_sub(taken(properties, memory, size), Ordering::Relaxed);
        }
    }

    /// Notes an import by a file descriptor.
    #[cfg(unix)]
    pub(crate) fn note_import(&self) {
        self.has_imported.store(true, Ordering::Relaxed);
    }

    /// A budget for each heap if the OS reports none, by the most that each heap grants.
    fn budgets(&self, most: &[u64]) -> Vec<HeapBudget> {
        let budget = |(most, bytes): (&u64, &AtomicU64)| HeapBudget {
            budget: granted(*most),
            usage: bytes.load(Ordering::Relaxed),
        };
        most.iter().zip(&self.bytes).map(budget).collect()
    }
}

/// Bytes counted for memory of a type: 0 if the driver allocates it lazily.
fn taken(properties: &Properties, memory: MemoryTypeId, size: u64) -> u64 {
    let found = properties.memory_types.get(usize::from(memory.0));
    let is_lazy = found.is_some_and(|found| found.flags.contains(MemoryFlags::LAZILY_ALLOCATED));
    if is_lazy { 0 } else { size }
}

fn heap_of(properties: &Properties, memory: MemoryTypeId) -> Option<usize> {
    properties.memory_types.get(usize::from(memory.0)).map(|found| usize::from(found.heap))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_budgets_are_not_believed() {
        let counted = HeapBudget { budget: 800, usage: 70 };
        let answer = |budget, usage, counts| {
            let HeapBudget { budget, usage } = believed(HeapBudget { budget, usage }, counted, 1000, counts);
            (budget, usage)
        };
        let believed = |budget, usage| answer(budget, usage, false);
        assert_eq!(believed(900, 80), (900, 80));
        assert_eq!(believed(1300, 80), (1000, 80), "no more than there is");
        assert_eq!(believed(u64::MAX - 40, 80), (1000, 80));
        assert_eq!(believed(0, 80), (800, 70), "the driver has not looked");
        assert_eq!(believed(900, 0_u64.wrapping_sub(30)), (900, 70), "below 0");
        assert_eq!(believed(900, 1100), (900, 1100), "more than there is was paged out");
        assert_eq!(answer(900, 500, true), (900, 70), "imports are charged to the wrong heap");
    }
}
