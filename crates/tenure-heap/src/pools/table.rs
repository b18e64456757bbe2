//! The pools, created on demand.

use tenure_suballoc::GeneralBlocks;

use super::{BlockSizes, HeapBlock, HeapPoolsConfig};
use crate::{
    Growth, HeapCategory, HeapProperties, MAX_MEMORY_TYPES, MemoryFlags, MemoryTypeId, Pool, Priority,
};

/// Block sizes are multiples of this many bytes.
const BLOCK_ALIGNMENT: u64 = 64 << 10;
/// Number of allocations for which a pool's suballocator reserves metadata initially.
const ROOM: usize = 128;

/// Properties that all ranges of a heap share.
#[derive(Clone, Copy, Debug)]
pub(super) struct PoolKey {
    pub(super) memory: MemoryTypeId,
    pub(super) category: HeapCategory,
    /// Whether the heap is aligned for multisampled textures.
    pub(super) is_coarse: bool,
}

impl PoolKey {
    /// A unique index.
    #[inline]
    pub(super) fn index(self) -> u16 {
        (u16::from(self.memory.0) * HeapCategory::ALL.len() as u16 + self.category as u16) * 2
            + u16::from(self.is_coarse)
    }

    /// Bytes; the alignment of its heaps.
    pub(super) fn heap_alignment(self, properties: &HeapProperties) -> u64 {
        if self.is_coarse { properties.msaa_heap_alignment } else { properties.heap_alignment }
    }

    /// The debug name of its heaps.
    pub(super) const fn name(self) -> &'static str {
        match self.category {
            HeapCategory::Any | HeapCategory::Buffers => "placed buffers",
            HeapCategory::Targets => "targets",
            HeapCategory::Textures => "textures",
        }
    }

    /// The residency priority of its heaps.
    pub(super) const fn priority(self) -> Priority {
        match self.category {
            HeapCategory::Targets => Priority::High,
            HeapCategory::Any | HeapCategory::Buffers | HeapCategory::Textures => Priority::Normal,
        }
    }
}

/// The pool of a key.
pub(super) struct KeyedPool<H> {
    pub(super) key: PoolKey,
    pub(super) growth: Growth,
    pub(super) pool: Pool<HeapBlock<H>, GeneralBlocks>,
}

/// One pool for each [`PoolKey`].
pub(super) struct PoolTable<H> {
    config: HeapPoolsConfig,
    /// Bytes; requests with a coarser alignment have separate pools.
    coarse_above: u64,
    table: Box<[Option<Box<KeyedPool<H>>>]>,
}

impl<H> PoolTable<H> {
    pub(super) fn new(config: HeapPoolsConfig, properties: &HeapProperties) -> Self {
        let HeapProperties { heap_alignment, msaa_heap_alignment, .. } = *properties;
        let has_coarse = msaa_heap_alignment > heap_alignment;
        let coarse_above = if has_coarse { heap_alignment } else { u64::MAX };
        let count = MAX_MEMORY_TYPES * HeapCategory::ALL.len() * 2;
        Self { config, coarse_above, table: (0..count).map(|_| None).collect() }
    }

    /// The pool key of a request in a memory type.
    #[inline(always)]
    pub(super) fn key(&self, memory: MemoryTypeId, category: HeapCategory, alignment: u64) -> PoolKey {
        PoolKey { memory, category, is_coarse: alignment > self.coarse_above }
    }

    /// The pool with this [index](PoolKey::index), if it exists.
    #[inline]
    pub(super) fn get(&self, index: u16) -> Option<&KeyedPool<H>> {
        self.table.get(usize::from(index))?.as_deref()
    }

    /// Like [`get`](Self::get), mutable.
    #[inline]
    pub(super) fn get_mut(&mut self, index: u16) -> Option<&mut KeyedPool<H>> {
        self.table.get_mut(usize::from(index))?.as_deref_mut()
    }

    /// The pool of a key, created on demand; `None` if no device can have such a key.
    pub(super) fn find_or_make(
        &mut self,
        properties: &HeapProperties,
        key: PoolKey,
    ) -> Option<&mut KeyedPool<H>> {
        let slot = self.table.get_mut(usize::from(key.index()))?;
        if slot.is_none() {
            *slot = Some(Box::new(make(&self.config, properties, key)?));
        }
        slot.as_deref_mut()
    }

    /// The pools, in the order of their memory types.
    pub(super) fn iter(&self) -> impl Iterator<Item = &KeyedPool<H>> {
        self.table.iter().filter_map(Option::as_deref)
    }

    /// Like [`iter`](Self::iter), mutable.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut KeyedPool<H>> {
        self.table.iter_mut().filter_map(Option::as_deref_mut)
    }
}

fn make<H>(config: &HeapPoolsConfig, properties: &HeapProperties, key: PoolKey) -> Option<KeyedPool<H>> {
    let memory = key.memory;
    let flags = properties.memory_types.get(usize::from(memory.0))?.flags;
    let is_host = flags.contains(MemoryFlags::HOST_VISIBLE);
    let BlockSizes { min, max } = if is_host { config.host_blocks } else { config.device_blocks };
    let granule = config.granule.max(properties.flush_atom(memory));
    let alignment = key.heap_alignment(properties).max(BLOCK_ALIGNMENT).max(granule);
    let growth = Growth::new(properties, memory, [min, max], alignment, config.growth_divisor);
    let mut ranges = GeneralBlocks::new(granule).ok()?;
    ranges.reserve(ROOM);
    Some(KeyedPool { key, growth, pool: Pool::new(ranges, config.empty_blocks) })
}
