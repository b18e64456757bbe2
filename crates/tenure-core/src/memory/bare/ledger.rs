//! What lives, and where.

use std::num::NonZeroU64;

use slab::Slab;
use tenure_suballoc::{BlockAllocation, BlockId, Handle};

use super::MemoryRange;
use crate::Name;
use crate::device::{Device, MemoryTypeId};
use crate::memory::pool::HeapBlock;

/// A range of a block.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    /// The index of the shelf's sort.
    pub(super) shelf: usize,
    pub(super) block: BlockId,
    pub(super) handle: Handle,
    /// Bytes from the start of the heap.
    pub(super) offset: u64,
}

impl Spot {
    pub(super) fn new(shelf: usize, found: &BlockAllocation) -> Self {
        Self { shelf, block: found.block, handle: found.handle, offset: found.offset }
    }
}

/// Where a range lies.
pub(super) enum Home<D: Device> {
    Pooled(Spot),
    Alone(HeapBlock<D>),
}

struct Record<D: Device> {
    serial: NonZeroU64,
    name: Name,
    size: u64,
    memory: MemoryTypeId,
    home: Home<D>,
}

/// Every live range.
pub(super) struct Ledger<D: Device> {
    records: Slab<Record<D>>,
    last_serial: u64,
    requested: u64,
}

impl<D: Device> Default for Ledger<D> {
    fn default() -> Self {
        Self { records: Slab::new(), last_serial: 0, requested: 0 }
    }
}

/// A live range, for reports.
#[derive(Clone, Debug)]
pub struct LiveMemory {
    /// The name it was given.
    pub name: Name,
    /// Counts allocations, from 1.
    pub serial: NonZeroU64,
    /// Bytes from the start of its heap.
    pub offset: u64,
    /// Bytes asked for.
    pub size: u64,
    /// The memory type.
    pub memory: MemoryTypeId,
    /// Bytes of the heap, if it is for this range alone.
    pub(super) heap_size: u64,
    /// The shelf and its block in which it lies.
    pub(super) block: Option<(usize, BlockId)>,
}

/// A heap, for reports.
#[derive(Clone, Debug)]
pub struct MemoryBlock {
    /// The memory type.
    pub memory: MemoryTypeId,
    /// Bytes.
    pub size: u64,
    /// It is for one range alone.
    pub is_dedicated: bool,
    /// What lives in it, in the order of allocation.
    pub allocations: Vec<LiveMemory>,
}

/// Totals of [`MemoryPools`](super::MemoryPools).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryTotals {
    /// Bytes of all heaps.
    pub reserved: u64,
    /// The most that `reserved` ever was.
    pub peak_reserved: u64,
    /// Bytes asked for by what lives.
    pub requested: u64,
    /// Ranges that live.
    pub allocations: u64,
    /// Heaps that live.
    pub heaps: u64,
    /// Heaps ever made.
    pub heaps_made: u64,
}

impl<D: Device> Record<D> {
    fn live(&self) -> LiveMemory {
        let (heap_size, block, offset) = match &self.home {
            Home::Pooled(spot) => (0, Some((spot.shelf, spot.block)), spot.offset),
            Home::Alone(heap) => (heap.size, None, 0),
        };
        LiveMemory {
            name: self.name.clone(),
            serial: self.serial,
            offset,
            size: self.size,
            memory: self.memory,
            heap_size,
            block,
        }
    }
}

impl<D: Device> Ledger<D> {
    /// Takes a range down; `size` bytes were asked for.
    #[inline]
    pub(super) fn insert(
        &mut self,
        pools: u64,
        name: Name,
        size: u64,
        memory: MemoryTypeId,
        home: Home<D>,
    ) -> MemoryRange {
        let (offset, is_dedicated) = match &home {
            Home::Pooled(spot) => (spot.offset, false),
            Home::Alone(_) => (0, true),
        };
        self.last_serial += 1;
        let serial = NonZeroU64::MIN.saturating_add(self.last_serial - 1);
        self.requested += size;
        let key = self.records.insert(Record { serial, name, size, memory, home });
        MemoryRange { pools, key, serial, offset, size, memory, is_dedicated }
    }

    /// Strikes a range out; `None` if it does not live.
    #[inline]
    pub(super) fn remove(&mut self, range: &MemoryRange) -> Option<Home<D>> {
        self.records.get(range.key).filter(|record| record.serial == range.serial)?;
        let record = self.records.try_remove(range.key)?;
        self.requested -= record.size;
        Some(record.home)
    }

    /// The name of a range, if it lives.
    pub(super) fn name(&self, range: &MemoryRange) -> Option<&Name> {
        let record = self.records.get(range.key).filter(|record| record.serial == range.serial);
        record.map(|record| &record.name)
    }

    /// False if the range does not live.
    pub(super) fn rename(&mut self, range: &MemoryRange, name: Name) -> bool {
        let record = self.records.get_mut(range.key).filter(|record| record.serial == range.serial);
        record.map(|record| record.name = name).is_some()
    }

    /// In no particular order.
    pub(super) fn live(&self) -> Vec<LiveMemory> {
        self.records.iter().map(|(_, record)| record.live()).collect()
    }

    /// Ranges, and bytes asked for.
    pub(super) fn totals(&self) -> (u64, u64) {
        (self.records.len() as u64, self.requested)
    }

    /// Forgets all ranges; returns the heaps that were for one alone.
    pub(super) fn take_alone(&mut self) -> Vec<HeapBlock<D>> {
        let heap_of = |record: Record<D>| match record.home {
            Home::Alone(heap) => Some(heap),
            Home::Pooled(_) => None,
        };
        self.records.drain().filter_map(heap_of).collect()
    }
}
