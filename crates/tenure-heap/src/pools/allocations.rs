//! The table of live ranges.

use std::num::NonZeroU64;

use slab::Slab;
use tenure_suballoc::{BlockAllocation, BlockId, Handle};

use super::{HeapBlock, MemoryError, MemoryRange};
use crate::{MemoryTypeId, Name};

/// A range of a block.
#[derive(Clone, Copy)]
pub(super) struct Suballocation {
    /// Index of the pool's key.
    pub(super) pool: u16,
    pub(super) block: BlockId,
    pub(super) handle: Handle,
    /// Offset in the heap, in bytes.
    pub(super) offset: u64,
}

impl Suballocation {
    #[inline(always)]
    pub(super) fn new(pool: u16, found: &BlockAllocation) -> Self {
        Self { pool, block: found.block, handle: found.handle, offset: found.offset }
    }
}

/// The memory of a range.
pub(super) enum Backing<H> {
    Pooled(Suballocation),
    Dedicated(HeapBlock<H>),
}

/// The part of a [`Backing`] that an entry stores.
#[derive(Clone, Copy)]
enum Location {
    /// No range; has the key of the next vacant entry.
    Vacant(usize),
    Pooled(Suballocation),
    /// Key of the heap.
    Dedicated(usize),
}

struct Entry {
    /// `None` for a vacant entry.
    serial: Option<NonZeroU64>,
    name: Name,
    size: u64,
    memory: MemoryTypeId,
    location: Location,
}

/// All live ranges.
pub(super) struct AllocationTable<H> {
    /// The id of its pools, stored in each range.
    pools: u64,
    /// The entries by key.
    entries: Vec<Entry>,
    /// Key of the first vacant entry; past the end if there is none.
    vacant: usize,
    dedicated: Slab<HeapBlock<H>>,
    /// Requested bytes of ranges with a dedicated heap.
    dedicated_requested: u64,
    last_serial: u64,
    /// The lookup of ranges by block, if enabled: by pool, then by handle index.
    places: Option<Vec<Vec<RangeEntry>>>,
}

/// Lookup entry of a range of a block.
#[derive(Clone, Copy, Default)]
struct RangeEntry {
    key: u32,
    alignment_log2: u8,
}

/// Number of entries created at the beginning, so that later calls need no memory from the program's heap for them.
const ROOM: usize = 256;
/// Number of vacant entries added at once later; small, because one call waits for it.
const AT_ONCE: usize = 16;

/// A live range, for reports.
#[derive(Clone, Debug)]
pub struct LiveMemory {
    /// Its name.
    pub name: Name,
    /// Serial number of the allocation, from 1.
    pub serial: NonZeroU64,
    /// See [`MemoryRange::index`].
    pub index: usize,
    /// Bytes from the start of its heap.
    pub offset: u64,
    /// Requested bytes.
    pub size: u64,
    /// The memory type.
    pub memory: MemoryTypeId,
    /// Bytes of the heap, if it is dedicated to this range.
    pub(super) heap_size: u64,
    /// The pool and block.
    pub(super) block: Option<(u16, BlockId)>,
}

impl LiveMemory {
    pub(super) fn block_id(&self) -> MemoryBlockId {
        let of_pool = |(pool, block)| MemoryBlockId::Pool(pool, block);
        self.block.map_or(MemoryBlockId::Dedicated(self.serial), of_pool)
    }
}

/// Id of a live heap of [`HeapPools`](super::HeapPools). A later heap may have the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryBlockId {
    /// A block, by indices of the pool and the block.
    Pool(u16, BlockId),
    /// A dedicated heap, by the [serial](LiveMemory::serial) of its range.
    Dedicated(NonZeroU64),
}

/// A heap, for reports.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MemoryBlock {
    /// The id.
    pub id: MemoryBlockId,
    /// The memory type.
    pub memory: MemoryTypeId,
    /// Bytes.
    pub size: u64,
    /// Whether it is dedicated to one range.
    pub is_dedicated: bool,
    /// The live ranges, in order of allocation.
    pub allocations: Vec<LiveMemory>,
}

/// Totals of [`HeapPools`](super::HeapPools).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryTotals {
    /// Bytes of all heaps.
    pub reserved: u64,
    /// The peak of `reserved`.
    pub peak_reserved: u64,
    /// Requested bytes of live ranges.
    pub requested: u64,
    /// The number of live ranges.
    pub allocations: u64,
    /// The number of live heaps.
    pub heaps: u64,
    /// The total number of heaps created.
    pub heaps_made: u64,
    /// The total number of ranges in memory not [alike](crate::HeapProperties::is_alike) the preferred type, after a
    /// refusal.
    pub spilled: u64,
    /// Requested bytes of these ranges.
    pub spilled_bytes: u64,
}

impl Entry {
    fn vacant(next: usize) -> Self {
        let location = Location::Vacant(next);
        Self { serial: None, name: Name::default(), size: 0, memory: MemoryTypeId(0), location }
    }
}

impl<H> AllocationTable<H> {
    /// A table. With `finds_ranges`, ranges can be looked up by block.
    pub(super) fn new(pools: u64, finds_ranges: bool) -> Self {
        Self {
            pools,
            entries: (0..ROOM).map(|key| Entry::vacant(key + 1)).collect(),
            vacant: 0,
            dedicated: Slab::new(),
            dedicated_requested: 0,
            last_serial: 0,
            places: finds_ranges.then(Vec::new),
        }
    }

    /// Whether a range, live or not, belongs to these pools.
    #[inline]
    pub(super) const fn has_made(&self, range: &MemoryRange) -> bool {
        range.pools == self.pools
    }

    /// Adds a range with `size` requested bytes.
    pub(super) fn insert(
        &mut self,
        name: Name,
        size: u64,
        alignment: u64,
        memory: MemoryTypeId,
        backing: Backing<H>,
    ) -> MemoryRange {
        match backing {
            Backing::Pooled(suballocation) => {
                self.insert_pooled(name, size, alignment, memory, suballocation)
            }
            Backing::Dedicated(heap) => {
                self.dedicated_requested = self.dedicated_requested.wrapping_add(size);
                let location = Location::Dedicated(self.dedicated.insert(heap));
                let (key, serial) = self.write(name, size, memory, location);
                MemoryRange { pools: self.pools, key, serial, offset: 0, size, memory, is_dedicated: true }
            }
        }
    }

    /// Adds a range of a block, with `size` requested bytes.
    #[inline(always)]
    pub(super) fn insert_pooled(
        &mut self,
        name: Name,
        size: u64,
        alignment: u64,
        memory: MemoryTypeId,
        suballocation: Suballocation,
    ) -> MemoryRange {
        let (key, serial) = self.write(name, size, memory, Location::Pooled(suballocation));
        if let Some(places) = &mut self.places {
            note_place(places, &suballocation, key, alignment);
        }
        let (pools, offset) = (self.pools, suballocation.offset);
        MemoryRange { pools, key, serial, offset, size, memory, is_dedicated: false }
    }

    /// Fills a vacant entry in place, field by field: an entry constructed elsewhere is written in parts and copied
    /// as a whole, which stalls the processor.
    #[inline(always)]
    fn write(
        &mut self,
        name: Name,
        size: u64,
        memory: MemoryTypeId,
        location: Location,
    ) -> (usize, NonZeroU64) {
        if self.vacant >= self.entries.len() {
            self.grow();
        }
        let key = self.vacant;
        let serial = NonZeroU64::MIN.saturating_add(self.last_serial);
        self.last_serial += 1;
        let entry = &mut self.entries[key];
        if let Location::Vacant(next) = entry.location {
            self.vacant = next;
        }
        entry.serial = Some(serial);
        entry.name = name;
        entry.size = size;
        entry.memory = memory;
        entry.location = location;
        (key, serial)
    }

    /// Adds vacant entries if there are none.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let first = self.entries.len();
        if first == self.entries.capacity() {
            self.entries.reserve_exact(first / 2);
        }
        let last = (first + AT_ONCE).min(self.entries.capacity());
        self.entries.extend((first..last).map(|key| Entry::vacant(key + 1)));
        self.vacant = first;
    }

    /// Removes a range; `None` if it is not live.
    #[inline(always)]
    pub(super) fn remove(&mut self, range: &MemoryRange) -> Option<Backing<H>> {
        let entry = self.entries.get_mut(range.key).filter(|entry| entry.serial == Some(range.serial))?;
        entry.serial = None;
        entry.name = Name::default();
        let size = entry.size;
        let location = std::mem::replace(&mut entry.location, Location::Vacant(self.vacant));
        self.vacant = range.key;
        match location {
            Location::Pooled(suballocation) => Some(Backing::Pooled(suballocation)),
            Location::Dedicated(key) => {
                self.dedicated_requested = self.dedicated_requested.wrapping_sub(size);
                self.dedicated.try_remove(key).map(Backing::Dedicated)
            }
            Location::Vacant(_) => None,
        }
    }

    /// The live range that a pool allocated as `found`, with its alignment; `None` if there is none, or the lookup is
    /// disabled.
    pub(super) fn find(&self, pool: u16, found: &BlockAllocation) -> Option<(MemoryRange, u64)> {
        let place = self.places.as_ref()?.get(usize::from(pool))?.get(found.handle.index())?;
        let key = place.key as usize;
        let &Entry { serial, size, memory, location, .. } = self.entries.get(key)?;
        let Location::Pooled(suballocation) = location else { return None };
        let is_it = suballocation.pool == pool && suballocation.handle == found.handle;
        let range = MemoryRange {
            pools: self.pools,
            key,
            serial: serial?,
            offset: found.offset,
            size,
            memory,
            is_dedicated: false,
        };
        is_it.then_some((range, 1 << place.alignment_log2))
    }

    /// Notes that a range of a block is being moved, so that it is no longer [found](Self::find).
    pub(super) fn note_moved(&mut self, pool: u16, found: &BlockAllocation) {
        let of_pool = self.places.as_mut().and_then(|places| places.get_mut(usize::from(pool)));
        if let Some(place) = of_pool.and_then(|of_pool| of_pool.get_mut(found.handle.index())) {
            place.key = u32::MAX;
        }
    }

    /// The live range with this pools' id, key and serial number.
    pub(super) fn live_range<E>(
        &self,
        [pools, key, serial]: [u64; 3],
    ) -> Result<MemoryRange, MemoryError<E>> {
        if pools != self.pools {
            return Err(MemoryError::Foreign);
        }
        let key = usize::try_from(key).unwrap_or(usize::MAX);
        let entry = self.entries.get(key).filter(|entry| entry.serial.map(NonZeroU64::get) == Some(serial));
        let &Entry { serial: Some(serial), size, memory, location, .. } =
            entry.ok_or(MemoryError::DoubleFree)?
        else {
            return Err(MemoryError::DoubleFree);
        };
        let (offset, is_dedicated) = match location {
            Location::Pooled(suballocation) => (suballocation.offset, false),
            Location::Dedicated(_) => (0, true),
            Location::Vacant(_) => return Err(MemoryError::DoubleFree),
        };
        Ok(MemoryRange { pools, key, serial, offset, size, memory, is_dedicated })
    }

    /// The pool and block of a live range; `None` if it is not live or not in a block.
    pub(super) fn pooled(&self, range: &MemoryRange) -> Option<Suballocation> {
        match self.get(range)?.location {
            Location::Pooled(suballocation) => Some(suballocation),
            Location::Dedicated(_) | Location::Vacant(_) => None,
        }
    }

    /// The entry of a live range.
    fn get(&self, range: &MemoryRange) -> Option<&Entry> {
        let is_it = |entry: &&Entry| self.has_made(range) && entry.serial == Some(range.serial);
        self.entries.get(range.key).filter(is_it)
    }

    /// The dedicated heap of a live range, if it has one.
    pub(super) fn dedicated(&self, range: &MemoryRange) -> Option<&HeapBlock<H>> {
        match self.get(range)?.location {
            Location::Dedicated(key) => self.dedicated.get(key),
            Location::Pooled(_) | Location::Vacant(_) => None,
        }
    }

    /// The name of a live range.
    pub(super) fn name(&self, range: &MemoryRange) -> Option<&Name> {
        self.get(range).map(|entry| &entry.name)
    }

    /// False if the range is not live.
    pub(super) fn rename(&mut self, range: &MemoryRange, name: Name) -> bool {
        let entry = self.entries.get_mut(range.key).filter(|entry| entry.serial == Some(range.serial));
        entry.map(|entry| entry.name = name).is_some()
    }

    /// The live allocations, in no particular order.
    pub(super) fn live(&self) -> Vec<LiveMemory> {
        self.entries.iter().enumerate().filter_map(|(index, entry)| self.live_of(index, entry)).collect()
    }

    fn live_of(&self, index: usize, entry: &Entry) -> Option<LiveMemory> {
        let (heap_size, block, offset) = match entry.location {
            Location::Pooled(suballocation) => {
                (0, Some((suballocation.pool, suballocation.block)), suballocation.offset)
            }
            Location::Dedicated(key) => (self.dedicated.get(key)?.size, None, 0),
            Location::Vacant(_) => return None,
        };
        let Entry { serial, ref name, size, memory, .. } = *entry;
        Some(LiveMemory {
            name: name.clone(),
            serial: serial?,
            index,
            offset,
            size,
            memory,
            heap_size,
            block,
        })
    }

    /// The number of ranges with a dedicated heap, and their requested bytes.
    pub(super) fn dedicated_totals(&self) -> (u64, u64) {
        (self.dedicated.len() as u64, self.dedicated_requested)
    }

    /// Removes all dedicated heaps. For shutdown.
    pub(super) fn take_dedicated(&mut self) -> impl Iterator<Item = HeapBlock<H>> + '_ {
        self.dedicated.drain()
    }
}

/// Adds a range of a block to the lookup.
fn note_place(places: &mut Vec<Vec<RangeEntry>>, range: &Suballocation, key: usize, alignment: u64) {
    let (pool, index) = (usize::from(range.pool), range.handle.index());
    if places.len() <= pool {
        places.resize_with(pool + 1, Vec::new);
    }
    let of_pool = &mut places[pool];
    if of_pool.len() <= index {
        of_pool.resize(index + 1, RangeEntry::default());
    }
    // No memory can hold more ranges than that.
    let key = u32::try_from(key).unwrap_or(u32::MAX);
    of_pool[index] = RangeEntry { key, alignment_log2: alignment.trailing_zeros() as u8 };
}
