//! The size, budget and usage of each memory heap.

use parking_lot::Mutex;
use tenure_core::device::{DeviceError, HeapBudget, MemoryFlags, MemoryTypeId, Properties};

/// The default budget: nine tenths of the heap.
const fn granted(size: u64) -> u64 {
    size - size / 10
}

#[derive(Default)]
struct State {
    heaps: Vec<HeapBudget>,
    allocations: u64,
    reserved: u64,
    peak: u64,
    /// Blocks that do not fit are elsewhere: all heaps together are the limit.
    overcommits: bool,
}

/// Bytes and allocations at one moment.
pub(crate) struct Totals {
    pub(crate) allocations: u64,
    pub(crate) reserved: u64,
    pub(crate) peak: u64,
}

/// The driver memory granted and taken.
pub(crate) struct DriverMemory(Mutex<State>);

impl DriverMemory {
    pub(crate) fn new(properties: &Properties, budgets: &[u64], overcommits: bool) -> Self {
        let granted = properties.memory_heaps.iter().enumerate().map(|(index, heap)| HeapBudget {
            budget: budgets.get(index).copied().unwrap_or(granted(heap.size)),
            usage: 0,
        });
        Self(Mutex::new(State { heaps: granted.collect(), overcommits, ..State::default() }))
    }

    /// Allocates memory. Beyond the budget the OS pages, beyond the size of the heap it refuses.
    pub(crate) fn take(
        &self,
        properties: &Properties,
        memory: MemoryTypeId,
        size: u64,
    ) -> Result<(), DeviceError> {
        let mut state = self.0.lock();
        if state.allocations >= properties.max_allocations {
            return Err(DeviceError::TooManyAllocations { limit: properties.max_allocations });
        }
        let refused = DeviceError::OutOfMemory { requested: size, memory };
        let size = taken(properties, memory, size);
        let heap = properties.memory_types.get(usize::from(memory.0)).map(|kind| usize::from(kind.heap));
        let Some((heap, whole)) = heap.and_then(|heap| Some((heap, properties.memory_heaps.get(heap)?.size)))
        else {
            return Err(refused);
        };
        let all = properties.memory_heaps.iter().fold(0_u64, |sum, heap| sum.saturating_add(heap.size));
        let (whole, most) = if state.overcommits { (all, all) } else { (whole, u64::MAX) };
        let usage = state.heaps[heap].usage.checked_add(size).filter(|usage| *usage <= whole);
        let reserved = state.reserved.checked_add(size).filter(|reserved| *reserved <= most);
        let (Some(usage), Some(reserved)) = (usage, reserved) else { return Err(refused) };
        state.heaps[heap].usage = usage;
        state.allocations += 1;
        state.reserved = reserved;
        state.peak = state.peak.max(reserved);
        Ok(())
    }

    /// Returns the bytes taken by [`take`](Self::take).
    pub(crate) fn release(&self, properties: &Properties, memory: MemoryTypeId, size: u64) {
        let size = taken(properties, memory, size);
        let mut state = self.0.lock();
        if let Some(kind) = properties.memory_types.get(usize::from(memory.0)) {
            let usage = &mut state.heaps[usize::from(kind.heap)].usage;
            *usage = usage.saturating_sub(size);
        }
        state.allocations = state.allocations.saturating_sub(1);
        state.reserved = state.reserved.saturating_sub(size);
    }

    pub(crate) fn budgets(&self) -> Vec<HeapBudget> {
        self.0.lock().heaps.clone()
    }

    /// False if there is no such heap.
    pub(crate) fn set_budget(&self, heap: usize, bytes: u64) -> bool {
        let mut state = self.0.lock();
        state.heaps.get_mut(heap).map(|heap| heap.budget = bytes).is_some()
    }

    pub(crate) fn totals(&self) -> Totals {
        let state = self.0.lock();
        Totals { allocations: state.allocations, reserved: state.reserved, peak: state.peak }
    }
}

/// Bytes that memory of a type allocates before it is used: none if it is allocated lazily.
fn taken(properties: &Properties, memory: MemoryTypeId, size: u64) -> u64 {
    let found = properties.memory_types.get(usize::from(memory.0));
    let is_lazy = found.is_some_and(|found| found.flags.contains(MemoryFlags::LAZILY_ALLOCATED));
    if is_lazy { 0 } else { size }
}
