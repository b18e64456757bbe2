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
    pub(super) shelf: u16,
    pub(super) block: BlockId,
    pub(super) handle: Handle,
    /// Bytes from the start of the heap.
    pub(super) offset: u64,
}

impl Spot {
    #[inline(always)]
    pub(super) fn new(shelf: u16, found: &BlockAllocation) -> Self {
        Self { shelf, block: found.block, handle: found.handle, offset: found.offset }
    }
}

/// Where a range lies.
pub(super) enum Home<D: Device> {
    Pooled(Spot),
    Alone(HeapBlock<D>),
}

/// As much of a [`Home`] as a record has.
#[derive(Clone, Copy)]
enum Place {
    /// Nothing lives here; the key of the next such record.
    Vacant(usize),
    Pooled(Spot),
    /// The key of its heap.
    Alone(usize),
}

struct Record {
    /// `None` when nothing lives here.
    serial: Option<NonZeroU64>,
    name: Name,
    size: u64,
    memory: MemoryTypeId,
    place: Place,
}

/// Every live range.
pub(super) struct Ledger<D: Device> {
    /// By key.
    records: Vec<Record>,
    /// The key of the first vacant record; beyond the last when there is none.
    vacant: usize,
    alone: Slab<HeapBlock<D>>,
    last_serial: u64,
    /// Ranges that were struck out so far.
    freed: u64,
    requested: u64,
}

/// Records that there are from the beginning, so that neither the program's heap nor the operating system has
/// to find memory for one of them later.
const ROOM: usize = 256;
/// So many new records are made vacant at once later: no more, because one call waits for it.
const AT_ONCE: usize = 16;

impl<D: Device> Default for Ledger<D> {
    fn default() -> Self {
        Self {
            records: (0..ROOM).map(|key| Record::vacant(key + 1)).collect(),
            vacant: 0,
            alone: Slab::new(),
            last_serial: 0,
            freed: 0,
            requested: 0,
        }
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
    pub(super) block: Option<(u16, BlockId)>,
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

impl Record {
    fn vacant(next: usize) -> Self {
        let place = Place::Vacant(next);
        Self { serial: None, name: Name::default(), size: 0, memory: MemoryTypeId(0), place }
    }
}

impl<D: Device> Ledger<D> {
    /// Takes a range down; `size` bytes were asked for.
    pub(super) fn insert(
        &mut self,
        pools: u64,
        name: Name,
        size: u64,
        memory: MemoryTypeId,
        home: Home<D>,
    ) -> MemoryRange {
        match home {
            Home::Pooled(spot) => self.insert_pooled(pools, name, size, memory, spot),
            Home::Alone(heap) => {
                let place = Place::Alone(self.alone.insert(heap));
                let (key, serial) = self.write(name, size, memory, place);
                MemoryRange { pools, key, serial, offset: 0, size, memory, is_dedicated: true }
            }
        }
    }

    /// Takes a range of a block down; `size` bytes were asked for.
    #[inline(always)]
    pub(super) fn insert_pooled(
        &mut self,
        pools: u64,
        name: Name,
        size: u64,
        memory: MemoryTypeId,
        spot: Spot,
    ) -> MemoryRange {
        let (key, serial) = self.write(name, size, memory, Place::Pooled(spot));
        MemoryRange { pools, key, serial, offset: spot.offset, size, memory, is_dedicated: false }
    }

    /// Fills a vacant record, field by field where they stay: a record that is made elsewhere is written in
    /// parts and read as a whole to be copied, for which a processor waits.
    #[inline(always)]
    fn write(&mut self, name: Name, size: u64, memory: MemoryTypeId, place: Place) -> (usize, NonZeroU64) {
        if self.vacant >= self.records.len() {
            self.grow();
        }
        let key = self.vacant;
        let serial = NonZeroU64::MIN.saturating_add(self.last_serial);
        self.last_serial += 1;
        self.requested += size;
        let record = &mut self.records[key];
        if let Place::Vacant(next) = record.place {
            self.vacant = next;
        }
        record.serial = Some(serial);
        record.name = name;
        record.size = size;
        record.memory = memory;
        record.place = place;
        (key, serial)
    }

    /// Adds vacant records, of which there are none.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let first = self.records.len();
        if first == self.records.capacity() {
            self.records.reserve_exact(first / 2);
        }
        let last = (first + AT_ONCE).min(self.records.capacity());
        self.records.extend((first..last).map(|key| Record::vacant(key + 1)));
        self.vacant = first;
    }

    /// Strikes a range out; `None` if it does not live.
    #[inline(always)]
    pub(super) fn remove(&mut self, range: &MemoryRange) -> Option<Home<D>> {
        let record = self.records.get_mut(range.key).filter(|record| record.serial == Some(range.serial))?;
        record.serial = None;
        record.name = Name::default();
        self.requested -= record.size;
        self.freed += 1;
        let place = std::mem::replace(&mut record.place, Place::Vacant(self.vacant));
        self.vacant = range.key;
        match place {
            Place::Pooled(spot) => Some(Home::Pooled(spot)),
            Place::Alone(key) => self.alone.try_remove(key).map(Home::Alone),
            Place::Vacant(_) => None,
        }
    }

    /// The record of a range, if it lives.
    fn get(&self, range: &MemoryRange) -> Option<&Record> {
        self.records.get(range.key).filter(|record| record.serial == Some(range.serial))
    }

    /// The name of a range, if it lives.
    pub(super) fn name(&self, range: &MemoryRange) -> Option<&Name> {
        self.get(range).map(|record| &record.name)
    }

    /// False if the range does not live.
    pub(super) fn rename(&mut self, range: &MemoryRange, name: Name) -> bool {
        let record = self.records.get_mut(range.key).filter(|record| record.serial == Some(range.serial));
        record.map(|record| record.name = name).is_some()
    }

    /// In no particular order.
    pub(super) fn live(&self) -> Vec<LiveMemory> {
        self.records.iter().filter_map(|record| self.live_of(record)).collect()
    }

    fn live_of(&self, record: &Record) -> Option<LiveMemory> {
        let (heap_size, block, offset) = match record.place {
            Place::Pooled(spot) => (0, Some((spot.shelf, spot.block)), spot.offset),
            Place::Alone(key) => (self.alone.get(key)?.size, None, 0),
            Place::Vacant(_) => return None,
        };
        let Record { serial, ref name, size, memory, .. } = *record;
        Some(LiveMemory { name: name.clone(), serial: serial?, offset, size, memory, heap_size, block })
    }

    /// Ranges, and bytes asked for.
    pub(super) fn totals(&self) -> (u64, u64) {
        (self.last_serial - self.freed, self.requested)
    }

    /// Takes the heaps that were for one range alone. For shutting down.
    pub(super) fn take_alone(&mut self) -> impl Iterator<Item = HeapBlock<D>> + '_ {
        self.alone.drain()
    }
}
