//! Memory by purpose, counted by memory type.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure_heap::{MAX_MEMORY_TYPES, MemoryCounter};

use crate::device::MemoryTypeId;

/// A count of the driver memory of one part of tenure.
pub(crate) trait Counts: fmt::Debug + Sync {
    /// Adds bytes allocated from the driver.
    fn add(&self, memory: MemoryTypeId, bytes: u64);

    /// Subtracts bytes given back.
    fn remove(&self, memory: MemoryTypeId, bytes: u64);
}

/// Pools have their own counters, each in one memory type.
impl Counts for MemoryCounter {
    fn add(&self, _: MemoryTypeId, bytes: u64) {
        Self::add(self, bytes);
    }

    fn remove(&self, _: MemoryTypeId, bytes: u64) {
        Self::remove(self, bytes);
    }
}

/// Bytes of one part, in total and by memory type.
#[derive(Debug, Default)]
pub(crate) struct PartMemory {
    all: MemoryCounter,
    types: [AtomicU64; MAX_MEMORY_TYPES],
}

impl PartMemory {
    /// The counter over all memory types.
    pub(crate) const fn all(&self) -> &MemoryCounter {
        &self.all
    }

    /// Current bytes of one memory type; 0 for a type that no device has.
    pub(crate) fn of_type(&self, memory: MemoryTypeId) -> u64 {
        self.count(memory).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    fn count(&self, memory: MemoryTypeId) -> Option<&AtomicU64> {
        self.types.get(usize::from(memory.0))
    }
}

impl Counts for PartMemory {
    fn add(&self, memory: MemoryTypeId, bytes: u64) {
        self.all.add(bytes);
        if let Some(count) = self.count(memory) {
            count.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    fn remove(&self, memory: MemoryTypeId, bytes: u64) {
        self.all.remove(bytes);
        if let Some(count) = self.count(memory) {
            count.fetch_sub(bytes, Ordering::Relaxed);
        }
    }
}
