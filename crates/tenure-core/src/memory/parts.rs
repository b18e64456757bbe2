//! What memory is for, counted by memory type.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure_heap::{MAX_MEMORY_TYPES, MemoryCounter};

use crate::device::MemoryTypeId;

/// A count of the bytes that one part of tenure has from the driver.
pub(crate) trait Counts: fmt::Debug + Sync {
    /// The driver gave bytes of a memory type.
    fn add(&self, memory: MemoryTypeId, bytes: u64);

    /// They were given back.
    fn remove(&self, memory: MemoryTypeId, bytes: u64);
}

/// Pools count for themselves, each in one memory type.
impl Counts for MemoryCounter {
    fn add(&self, _: MemoryTypeId, bytes: u64) {
        Self::add(self, bytes);
    }

    fn remove(&self, _: MemoryTypeId, bytes: u64) {
        Self::remove(self, bytes);
    }
}

/// Bytes of one part, together and by memory type.
#[derive(Debug, Default)]
pub(crate) struct PartMemory {
    all: MemoryCounter,
    types: [AtomicU64; MAX_MEMORY_TYPES],
}

impl PartMemory {
    /// Of all memory types.
    pub(crate) const fn all(&self) -> &MemoryCounter {
        &self.all
    }

    /// Bytes of one memory type now; 0 for one that no device has.
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
