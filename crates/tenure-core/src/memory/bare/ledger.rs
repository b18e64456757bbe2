//! What lives, and where.

use std::num::NonZeroU64;

use parking_lot::Mutex;
use slab::Slab;
use tenure_suballoc::BlockId;

use super::MemoryRange;
use crate::Name;
use crate::device::{Device, MemoryTypeId};
use crate::memory::pool::{HeapBlock, PoolId, Spot};

/// Where a range lies.
pub(super) enum Home<D: Device> {
    Pooled(Spot),
    Alone(HeapBlock<D>),
}

struct Record<D: Device> {
    serial: NonZeroU64,
    name: Name,
    offset: u64,
    size: u64,
    memory: MemoryTypeId,
    home: Home<D>,
}

struct State<D: Device> {
    records: Slab<Record<D>>,
    last_serial: u64,
    requested: u64,
}

/// Every live range.
pub(super) struct Ledger<D: Device> {
    state: Mutex<State<D>>,
}

impl<D: Device> Default for Ledger<D> {
    fn default() -> Self {
        Self { state: Mutex::new(State { records: Slab::new(), last_serial: 0, requested: 0 }) }
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
    /// The block of a pool in which it lies.
    pub(super) block: Option<(PoolId, BlockId)>,
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
        let (heap_size, block) = match &self.home {
            Home::Pooled(spot) => (0, Some((spot.pool, spot.block))),
            Home::Alone(heap) => (heap.size, None),
        };
        LiveMemory {
            name: self.name.clone(),
            serial: self.serial,
            offset: self.offset,
            size: self.size,
            memory: self.memory,
            heap_size,
            block,
        }
    }
}

impl<D: Device> Ledger<D> {
    /// Takes a range down; `size` bytes were asked for.
    pub(super) fn insert(
        &self,
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
        let state = &mut *self.state.lock();
        state.last_serial += 1;
        let serial = NonZeroU64::MIN.saturating_add(state.last_serial - 1);
        state.requested += size;
        let key = state.records.insert(Record { serial, name, offset, size, memory, home });
        MemoryRange { pools, key, serial, offset, size, memory, is_dedicated }
    }

    /// Strikes a range out; `None` if it does not live.
    pub(super) fn remove(&self, range: &MemoryRange) -> Option<Home<D>> {
        let state = &mut *self.state.lock();
        state.records.get(range.key).filter(|record| record.serial == range.serial)?;
        let record = state.records.try_remove(range.key)?;
        state.requested -= record.size;
        Some(record.home)
    }

    /// False if the range does not live.
    pub(super) fn rename(&self, range: &MemoryRange, name: Name) -> bool {
        let state = &mut *self.state.lock();
        let record = state.records.get_mut(range.key).filter(|record| record.serial == range.serial);
        record.map(|record| record.name = name).is_some()
    }

    /// In no particular order.
    pub(super) fn live(&self) -> Vec<LiveMemory> {
        self.state.lock().records.iter().map(|(_, record)| record.live()).collect()
    }

    /// Ranges, and bytes asked for.
    pub(super) fn totals(&self) -> (u64, u64) {
        let state = self.state.lock();
        (state.records.len() as u64, state.requested)
    }

    /// Forgets all ranges; returns the heaps that were for one alone.
    pub(super) fn take_alone(&self) -> Vec<HeapBlock<D>> {
        let records = std::mem::take(&mut self.state.lock().records);
        let heap_of = |(_, record): (usize, Record<D>)| match record.home {
            Home::Alone(heap) => Some(heap),
            Home::Pooled(_) => None,
        };
        records.into_iter().filter_map(heap_of).collect()
    }
}
