//! The pools, made on demand.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::{BlockSizes, MemoryPoolsConfig};
use crate::device::{Device, HeapCategory, MemoryFlags, MemoryTypeId, Properties, Usage};
use crate::memory::class::MAX_MEMORY_TYPES;
use crate::memory::growth::{BlockShape, Growth};
use crate::memory::make::share_of_memory;
use crate::memory::pool::{HeapBlock, Pool, PoolId};
use crate::memory::ranges::Ranges;
use crate::memory::types::flush_atom;
use crate::memory::{Class, PoolKind};

/// Block sizes are multiples of this many bytes.
const BLOCK_ALIGNMENT: u64 = 64 << 10;
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
    fn index(self) -> usize {
        (usize::from(self.memory.0) * HeapCategory::ALL.len() + self.category as usize) * 2
            + usize::from(self.is_coarse)
    }

    /// Bytes; the alignment of its heaps.
    pub(super) fn heap_alignment(self, properties: &Properties) -> u64 {
        if self.is_coarse { properties.msaa_heap_alignment } else { properties.heap_alignment }
    }

    /// What a pool of such ranges is called in reports and by debuggers, and its heaps' priority.
    const fn kind(self) -> PoolKind {
        match self.category {
            HeapCategory::Any | HeapCategory::Buffers => PoolKind::PlacedBuffers,
            HeapCategory::Targets => PoolKind::Targets,
            HeapCategory::Textures => PoolKind::Textures,
        }
    }
}

/// One pool for each [`Sort`], and the heaps on their way out.
pub(super) struct Slots<D: Device> {
    config: MemoryPoolsConfig,
    table: Box<[OnceLock<Pool<D>>]>,
    /// Heaps that left their pool while another thread was just looking at them.
    leaving: Mutex<Vec<Arc<HeapBlock<D>>>>,
}

impl<D: Device> Slots<D> {
    pub(super) fn new(config: MemoryPoolsConfig) -> Self {
        let count = MAX_MEMORY_TYPES * HeapCategory::ALL.len() * 2;
        let table = (0..count).map(|_| OnceLock::new()).collect();
        Self { config, table, leaving: Mutex::new(Vec::new()) }
    }

    pub(super) fn get(&self, id: PoolId) -> Option<&Pool<D>> {
        self.table.get(usize::from(id.0))?.get()
    }

    /// The pool of a sort, made if there is none; `None` for what no device has.
    pub(super) fn find_or_make(&self, properties: &Properties, sort: Sort) -> Option<&Pool<D>> {
        let index = sort.index();
        let slot = self.table.get(index)?;
        if let Some(pool) = slot.get() {
            return Some(pool);
        }
        let pool = self.make(properties, sort, PoolId(u16::try_from(index).ok()?))?;
        Some(slot.get_or_init(|| pool))
    }

    /// In order of memory type.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Pool<D>> {
        self.table.iter().filter_map(OnceLock::get)
    }

    fn make(&self, properties: &Properties, sort: Sort, id: PoolId) -> Option<Pool<D>> {
        let Sort { memory, category, .. } = sort;
        let flags = properties.memory_types.get(usize::from(memory.0))?.flags;
        let is_host = flags.contains(MemoryFlags::HOST_VISIBLE);
        let BlockSizes { min, max } =
            if is_host { self.config.host_blocks } else { self.config.device_blocks };
        let granule = self.config.granule.max(flush_atom(properties, memory));
        let heap_alignment = sort.heap_alignment(properties);
        let alignment = heap_alignment.max(BLOCK_ALIGNMENT).max(granule);
        let share = share_of_memory(properties, memory).max(alignment);
        let growth = Growth {
            min: min.min(share),
            max: max.min(share),
            limit: properties.max_heap_size - properties.max_heap_size % alignment,
            divisor: self.config.growth_divisor,
            alignment,
            shape: BlockShape::Multiple,
            halvings: HALVINGS,
        };
        let class = Class { memory, category, kind: sort.kind() };
        let ranges = Ranges::general(granule).ok()?;
        Some(Pool::new(id, class, growth, heap_alignment, Usage::empty(), ranges, self.config.idle_grace))
    }

    pub(super) fn keep_leaving(&self, heap: Arc<HeapBlock<D>>) {
        self.leaving.lock().push(heap);
    }

    /// The heaps on their way out that nobody looks at any more.
    pub(super) fn take_left(&self) -> Vec<HeapBlock<D>> {
        let mut leaving = self.leaving.lock();
        let all = std::mem::take(&mut *leaving);
        let mut left = Vec::new();
        for heap in all {
            match Arc::try_unwrap(heap) {
                Ok(heap) => left.push(heap),
                Err(heap) => leaving.push(heap),
            }
        }
        left
    }
}
