//! The shelves, made on demand.

use tenure_suballoc::GeneralBlocks;

use super::shelf::Shelf;
use super::{BlockSizes, MemoryPoolsConfig};
use crate::device::{Device, HeapCategory, MemoryFlags, MemoryTypeId, Properties};
use crate::memory::PoolKind;
use crate::memory::class::MAX_MEMORY_TYPES;
use crate::memory::growth::{BlockShape, Growth};
use crate::memory::make::share_of_memory;
use crate::memory::types::flush_atom;

/// Block sizes are multiples of this many bytes.
const BLOCK_ALIGNMENT: u64 = 64 << 10;
/// Allocations of a shelf for which its suballocator has room from the beginning, so that none of them has
/// to find memory for it.
const ROOM: usize = 128;
/// How often the size of a new block is halved when the driver refuses.
const HALVINGS: u32 = 3;

/// What ranges must have in common to share a heap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sort {
    pub(super) memory: MemoryTypeId,
    pub(super) category: HeapCategory,
    /// The heap is aligned for multisampled textures.
    pub(super) is_coarse: bool,
}

impl Sort {
    /// A number of its own.
    #[inline]
    pub(super) fn index(self) -> u16 {
        (u16::from(self.memory.0) * HeapCategory::ALL.len() as u16 + self.category as u16) * 2
            + u16::from(self.is_coarse)
    }

    /// Bytes; the alignment of its heaps.
    pub(super) fn heap_alignment(self, properties: &Properties) -> u64 {
        if self.is_coarse { properties.msaa_heap_alignment } else { properties.heap_alignment }
    }

    /// What heaps of such ranges are called by debuggers, and their priority.
    pub(super) const fn kind(self) -> PoolKind {
        match self.category {
            HeapCategory::Any | HeapCategory::Buffers => PoolKind::PlacedBuffers,
            HeapCategory::Targets => PoolKind::Targets,
            HeapCategory::Textures => PoolKind::Textures,
        }
    }
}

/// One shelf for each [`Sort`].
pub(super) struct Shelves<D: Device> {
    config: MemoryPoolsConfig,
    /// Bytes; requests of a coarser alignment have shelves of their own.
    coarse_above: u64,
    table: Box<[Option<Box<Shelf<D>>>]>,
}

impl<D: Device> Shelves<D> {
    pub(super) fn new(config: MemoryPoolsConfig, properties: &Properties) -> Self {
        let Properties { heap_alignment, msaa_heap_alignment, .. } = *properties;
        let has_coarse = msaa_heap_alignment > heap_alignment;
        let coarse_above = if has_coarse { heap_alignment } else { u64::MAX };
        let count = MAX_MEMORY_TYPES * HeapCategory::ALL.len() * 2;
        Self { config, coarse_above, table: (0..count).map(|_| None).collect() }
    }

    /// What a request shares with others of a memory type.
    #[inline(always)]
    pub(super) fn sort(&self, memory: MemoryTypeId, category: HeapCategory, alignment: u64) -> Sort {
        Sort { memory, category, is_coarse: alignment > self.coarse_above }
    }

    /// The shelf of a sort, by its [index](Sort::index), if there is one.
    #[inline]
    pub(super) fn get(&self, index: u16) -> Option<&Shelf<D>> {
        self.table.get(usize::from(index))?.as_deref()
    }

    /// As [`get`](Self::get), to change it.
    #[inline]
    pub(super) fn get_mut(&mut self, index: u16) -> Option<&mut Shelf<D>> {
        self.table.get_mut(usize::from(index))?.as_deref_mut()
    }

    /// The shelf of a sort, made if there is none; `None` for what no device has.
    pub(super) fn find_or_make(&mut self, properties: &Properties, sort: Sort) -> Option<&mut Shelf<D>> {
        let slot = self.table.get_mut(usize::from(sort.index()))?;
        if slot.is_none() {
            *slot = Some(Box::new(make(&self.config, properties, sort)?));
        }
        slot.as_deref_mut()
    }

    /// In order of memory type.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Shelf<D>> {
        self.table.iter().filter_map(Option::as_deref)
    }

    /// As [`iter`](Self::iter), to change them.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Shelf<D>> {
        self.table.iter_mut().filter_map(Option::as_deref_mut)
    }
}

fn make<D: Device>(config: &MemoryPoolsConfig, properties: &Properties, sort: Sort) -> Option<Shelf<D>> {
    let memory = sort.memory;
    let flags = properties.memory_types.get(usize::from(memory.0))?.flags;
    let is_host = flags.contains(MemoryFlags::HOST_VISIBLE);
    let BlockSizes { min, max } = if is_host { config.host_blocks } else { config.device_blocks };
    let granule = config.granule.max(flush_atom(properties, memory));
    let alignment = sort.heap_alignment(properties).max(BLOCK_ALIGNMENT).max(granule);
    let share = share_of_memory(properties, memory).max(alignment);
    let growth = Growth {
        min: min.min(share),
        max: max.min(share),
        limit: properties.max_heap_size - properties.max_heap_size % alignment,
        divisor: config.growth_divisor,
        alignment,
        shape: BlockShape::Multiple,
        halvings: HALVINGS,
    };
    let mut ranges = GeneralBlocks::new(granule).ok()?;
    ranges.reserve(ROOM);
    Some(Shelf::new(sort, growth, ranges, config.idle_grace))
}
