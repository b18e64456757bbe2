//! Residency of evictable blocks: makes the blocks of submissions resident, and evicts others when memory is
//! short.
//!
//! # Algorithm
//! A recording notes each block that it uses once, in a bit set. Before its submission all of them are made
//! resident; the queue waits for that, not the CPU. When the budget is exceeded, the idle blocks with the latest
//! predicted use are evicted first. The next use is predicted from the last interval between uses; once that has
//! passed, from the last two long pauses, or from those of other blocks. In a cyclic working set this evicts the
//! newest blocks first, which is optimal for such sets (an estimate of L. Belady, "A study of replacement
//! algorithms for a virtual-storage computer", 1966), whereas evicting the least recently used blocks first is
//! the worst choice.
//! first is the worst choice.
//!
//! # Efficiency
//! A submission whose blocks are all resident takes a short lock twice, and a few nanoseconds per block. The
//! O(blocks) search for candidates runs only when blocks must be evicted.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use slab::Slab;

use super::api_objects::{MemorySize, Objects};
use super::block::HeapBlock;
use crate::api_resource::ApiResource;
use crate::block_set::{BlockKey, BlockSet};
use crate::device::{Device, Priority, QueueSerial, Residency};
use crate::time::SyncPoint;

mod candidates;
mod paging;
mod state;

pub use paging::Paging;
use state::State;

/// The unit of residency. Its destruction does not wait for this reference.
enum WeakBlock<D: Device> {
    Heap(Weak<HeapBlock<D>>),
    Resource(Weak<ApiResource<D>>),
}

/// An evictable block, without the state that each submission changes.
struct Node<D: Device> {
    object: WeakBlock<D>,
    own: MemorySize,
    priority: Priority,
    /// The submissions that used it, except those in its state.
    used: SyncPoint,
    uses: candidates::Uses,
}

struct Blocks<D: Device> {
    nodes: Slab<Node<D>>,
    /// Parallel to the nodes. A submission reads and writes these twice for each of its blocks; they are separate
    /// because the nodes of a few hundred blocks would fill the first-level cache.
    states: Vec<State>,
    frame: u64,
    /// The operating system considers blocks unused that were not used since this frame.
    unused_since: u64,
    typical: candidates::TypicalPause,
}

/// The last reservation reported to the operating system.
#[derive(Default)]
struct Reserved {
    /// The reserved bytes of each memory heap; empty if they must be reported again.
    bytes: Vec<u64>,
    /// The number of budget changes at that time.
    changes: u64,
}

/// The evictable blocks of a device.
pub struct ResidentBlocks<D: Device> {
    mode: Residency,
    /// Whether there ever was a block.
    has_some: AtomicBool,
    blocks: Mutex<Blocks<D>>,
    /// The index of the heap of each memory type.
    heap_of_type: Box<[u8]>,
    /// Bytes of the blocks, by memory heap.
    evictable: Box<[AtomicU64]>,
    /// The evicted part of these bytes.
    evicted: Box<[AtomicU64]>,
    reserved: Mutex<Reserved>,
    /// Whether more was resident at the end of the last frame than the budget allows, even after idle blocks were
    /// evicted.
    is_over: AtomicBool,
    /// Held while the driver makes blocks resident or evicts them; taken before the lock above, never after it.
    paging: Mutex<()>,
    evictions: AtomicU64,
    returns: AtomicU64,
    spare_sets: Mutex<Vec<BlockSet>>,
}

impl<D: Device> ResidentBlocks<D> {
    pub(crate) fn new(device: &D) -> Self {
        let properties = device.properties();
        Self {
            mode: properties.residency,
            has_some: AtomicBool::new(false),
            blocks: Mutex::new(Blocks {
                nodes: Slab::new(),
                states: Vec::new(),
                frame: 0,
                unused_since: 0,
                typical: candidates::TypicalPause::default(),
            }),
            heap_of_type: properties.memory_types.iter().map(|found| found.heap).collect(),
            evictable: properties.memory_heaps.iter().map(|_| AtomicU64::new(0)).collect(),
            evicted: properties.memory_heaps.iter().map(|_| AtomicU64::new(0)).collect(),
            reserved: Mutex::default(),
            is_over: AtomicBool::new(false),
            paging: Mutex::new(()),
            evictions: AtomicU64::new(0),
            returns: AtomicU64::new(0),
            spare_sets: Mutex::new(Vec::new()),
        }
    }

    /// Shares a new committed resource, as an evictable block if requested.
    pub(super) fn share(
        &self,
        mut made: ApiResource<D>,
        own: MemorySize,
        priority: Priority,
        is_evictable: bool,
    ) -> Arc<ApiResource<D>> {
        if !is_evictable {
            return Arc::new(made);
        }
        Arc::new_cyclic(|weak| {
            made.block = self.add(WeakBlock::Resource(weak.clone()), own, priority);
            made
        })
    }

    /// Adds a new heap, as [`add`](Self::add).
    pub(super) fn add_heap(
        &self,
        heap: &Weak<HeapBlock<D>>,
        own: MemorySize,
        priority: Priority,
    ) -> Option<BlockKey> {
        self.add(WeakBlock::Heap(heap.clone()), own, priority)
    }

    /// Adds a new block, which is resident. `None` if only the driver controls residency.
    fn add(&self, object: WeakBlock<D>, own: MemorySize, priority: Priority) -> Option<BlockKey> {
        if self.mode == Residency::None {
            return None;
        }
        let blocks = &mut *self.blocks.lock();
        let (used, uses) = (SyncPoint::NONE, candidates::Uses::new());
        let entry = blocks.nodes.vacant_entry();
        let (index, state) = (entry.key(), State::new(blocks.frame));
        let key = BlockKey::new(index)?;
        entry.insert(Node { object, own, priority, used, uses });
        match blocks.states.get_mut(index) {
            Some(former) => *former = state,
            None => blocks.states.push(state),
        }
        self.change(&self.evictable, own, |bytes| bytes.wrapping_add(own.size));
        self.has_some.store(true, Ordering::Release);
        Some(key)
    }

    /// Removes a block that is about to be destroyed; the GPU has finished with it. Its bytes count as allocated
    /// from the driver again, evicted or not.
    pub fn remove(&self, key: Option<BlockKey>, objects: &Objects<D>) {
        let Some(key) = key else { return };
        let mut blocks = self.blocks.lock();
        let Some(node) = blocks.nodes.try_remove(key.index()) else { return };
        let was_resident = blocks.states.get(key.index()).is_none_or(|state| state.is_resident);
        drop(blocks);
        if !was_resident {
            self.note_resident(objects, node.own);
        }
        self.change(&self.evictable, node.own, |bytes| bytes.saturating_sub(node.own.size));
    }

    /// An empty set for a recording.
    pub fn take_set(&self) -> BlockSet {
        let has_some = self.has_some.load(Ordering::Acquire);
        has_some.then(|| self.spare_sets.lock().pop()).flatten().unwrap_or_default()
    }

    /// Keeps a recording's set for a later one.
    pub fn return_set(&self, mut set: BlockSet) {
        if set.has_capacity() {
            set.clear();
            self.spare_sets.lock().push(set);
        }
    }

    /// Bytes of a memory heap that are evicted.
    pub fn evicted(&self, heap: usize) -> u64 {
        self.evicted.get(heap).map_or(0, |bytes| bytes.load(Ordering::Relaxed))
    }

    /// Ends a submission, which was made, or failed after everything submitted at that point: its blocks can be
    /// evicted once that is complete.
    pub fn end_submission(&self, set: &BlockSet, at: Result<QueueSerial, SyncPoint>) {
        if set.is_empty() {
            return;
        }
        self.blocks.lock().end(set, at);
    }

    /// Number of evictions and returns of blocks so far; a block evicted twice counts twice.
    #[cfg(feature = "metrics")]
    pub fn paged(&self) -> (u64, u64) {
        (self.evictions.load(Ordering::Relaxed), self.returns.load(Ordering::Relaxed))
    }

    /// Counts evicted blocks. The count is logged at each power of two: a program that needs more than its budget
    /// evicts in every frame.
    fn log_evicted(&self, blocks: usize, bytes: u64) {
        let before = self.evictions.fetch_add(blocks as u64, Ordering::Relaxed);
        let times = before.wrapping_add(blocks as u64);
        if before.checked_ilog2() != times.checked_ilog2() {
            event!(debug, blocks, bytes, times, "blocks of memory were evicted");
        }
    }

    /// Counts blocks made resident again. Logged in the same way.
    fn log_back(&self, blocks: usize) {
        let before = self.returns.fetch_add(blocks as u64, Ordering::Relaxed);
        let times = before.wrapping_add(blocks as u64);
        if before.checked_ilog2() != times.checked_ilog2() {
            event!(debug, blocks, times, "evicted blocks of memory came back");
        }
    }

    /// Counts a block as evicted.
    fn note_evicted(&self, objects: &Objects<D>, own: MemorySize) {
        self.change(&self.evicted, own, |evicted| evicted.wrapping_add(own.size));
        if self.mode == Residency::Explicit {
            objects.note_evicted(own);
        }
    }

    /// Counts a block as resident again.
    fn note_resident(&self, objects: &Objects<D>, own: MemorySize) {
        self.change(&self.evicted, own, |evicted| evicted.saturating_sub(own.size));
        if self.mode == Residency::Explicit {
            objects.note_resident(own);
        }
    }

    /// Changes the count of the block's heap.
    fn change(&self, counts: &[AtomicU64], own: MemorySize, change: impl Fn(u64) -> u64) {
        let heap = self.heap_of_type.get(usize::from(own.memory.0)).map(|heap| usize::from(*heap));
        if let Some(bytes) = heap.and_then(|heap| counts.get(heap)) {
            // Never fails: the closure always returns a value.
            let _ = bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| Some(change(now)));
        }
    }
}
