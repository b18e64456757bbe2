//! Buffers and textures.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tenure_core::device::{MemoryFlags, MemoryTypeId, ResourceDesc};

use crate::checks::state::States;
use crate::checks::unordered::Unordered;
use crate::checks::visible::Hidden;
use crate::clock::SharedClock;
use crate::heap::{HeapState, Store, Tenant};
use crate::interval::IntervalSet;
use crate::layout::Layout;
use crate::object::Label;
use crate::owners::Owners;
use crate::sharing::SharedMemory;
use crate::structures::StructureAccesses;
use crate::tiles::{TILE, TileTable};

/// Where a resource's bytes are.
pub(crate) enum Memory {
    /// Its own.
    Committed {
        store: Arc<Store>,
        memory: MemoryTypeId,
        size: u64,
        /// It was taken from this device, not from another that shares it.
        is_counted: bool,
    },
    /// A range of a heap.
    Placed { heap: Arc<HeapState>, tenant: Arc<Tenant>, offset: u64, size: u64 },
    /// Whatever its tiles are mapped to.
    Reserved(Mutex<TileTable>),
}

impl Memory {
    /// Calls `visit` with each piece of memory behind `range`, in order; no store: unmapped.
    pub(crate) fn pieces(&self, range: Range<u64>, mut visit: impl FnMut(Option<&Arc<Store>>, Range<u64>)) {
        match self {
            Self::Committed { store, .. } => visit(Some(store), range),
            Self::Placed { heap, offset, .. } => {
                visit(Some(&heap.store), range.start + offset..range.end + offset);
            }
            Self::Reserved(table) => {
                let mut at = range.start;
                while at < range.end {
                    let end = (at - at % TILE + TILE).min(range.end);
                    let target = table.lock().get(at / TILE).cloned();
                    match target {
                        Some(target) => {
                            let start = target.offset + at % TILE;
                            visit(Some(&target.heap.store), start..start + (end - at));
                        }
                        None => visit(None, 0..end - at),
                    }
                    at = end;
                }
            }
        }
    }

    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) {
        let mut rest = bytes;
        self.pieces(offset..offset + bytes.len() as u64, |store, range| {
            let (now, later) = rest.split_at((range.end - range.start) as usize);
            if let Some(store) = store {
                store.bytes.write(range.start, now);
            }
            rest = later;
        });
    }

    /// Unmapped tiles read as zero, as on every device with tiled resources tier 2.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) {
        let mut done = 0;
        self.pieces(offset..offset + out.len() as u64, |store, range| {
            let size = (range.end - range.start) as usize;
            let part = &mut out[done..done + size];
            match store {
                Some(store) => store.bytes.read(range.start, part),
                None => part.fill(0),
            }
            done += size;
        });
    }

    pub(crate) fn fill(&self, range: Range<u64>, byte: u8) {
        self.pieces(range, |store, range| {
            if let Some(store) = store {
                store.bytes.fill(range.start, range.end - range.start, byte);
            }
        });
    }
}

/// Which bytes were written.
pub(crate) struct Written {
    /// Set once all are: most resources are written whole once and then used for long.
    all: AtomicBool,
    size: u64,
    ranges: Mutex<IntervalSet>,
}

impl Written {
    pub(crate) fn new(size: u64) -> Self {
        Self { all: AtomicBool::new(false), size, ranges: Mutex::default() }
    }

    pub(crate) fn insert(&self, range: Range<u64>) {
        if self.all.load(Ordering::Acquire) {
            return;
        }
        let mut ranges = self.ranges.lock();
        ranges.insert(range);
        if ranges.first_gap(0..self.size).is_none() {
            self.all.store(true, Ordering::Release);
        }
    }

    pub(crate) fn remove(&self, range: Range<u64>) {
        let mut ranges = self.ranges.lock();
        self.all.store(false, Ordering::Release);
        ranges.remove(range);
    }

    pub(crate) fn clear(&self) {
        let mut ranges = self.ranges.lock();
        self.all.store(false, Ordering::Release);
        ranges.clear();
    }

    /// The first part of `range` that was never written.
    pub(crate) fn first_gap(&self, range: Range<u64>) -> Option<Range<u64>> {
        if self.all.load(Ordering::Acquire) {
            return None;
        }
        self.ranges.lock().first_gap(range)
    }

    /// The written parts of `range`.
    pub(crate) fn within(&self, range: Range<u64>) -> Vec<Range<u64>> {
        self.ranges.lock().within(range).collect()
    }
}

/// The state of a resource, shared with lists and mappings that use it.
pub(crate) struct ResourceState {
    pub(crate) label: Arc<Label>,
    pub(crate) desc: ResourceDesc,
    pub(crate) layout: Layout,
    pub(crate) memory: Memory,
    /// Of the memory it lives in; none for a reserved resource.
    pub(crate) flags: MemoryFlags,
    pub(crate) address: Option<u64>,
    pub(crate) mapped: AtomicBool,
    pub(crate) last_use: SharedClock,
    pub(crate) written: Arc<Written>,
    /// Which bytes of a target may be written, where that takes an initialisation.
    pub(crate) initialized: Option<Written>,
    /// What it shares with other devices.
    pub(crate) sharing: Option<Arc<SharedMemory>>,
    /// The number of the device that made it.
    pub(crate) device: u64,
    pub(crate) states: Arc<Mutex<States>>,
    pub(crate) unordered: Mutex<Unordered>,
    /// Accesses to the acceleration structures in it.
    pub(crate) structures: Mutex<StructureAccesses>,
    pub(crate) owners: Owners,
    /// What the GPU wrote to bytes that the CPU can map, and no barrier has made visible to it.
    pub(crate) hidden: Mutex<Hidden>,
}

impl ResourceState {
    pub(crate) fn is_buffer(&self) -> bool {
        matches!(self.desc, ResourceDesc::Buffer(_))
    }

    pub(crate) fn is_host_visible(&self) -> bool {
        self.flags.contains(MemoryFlags::HOST_VISIBLE)
    }

    /// Whether the CPU's writes have to be flushed, which takes whole atoms.
    pub(crate) fn needs_flushes(&self) -> bool {
        self.is_host_visible() && !self.flags.contains(MemoryFlags::HOST_COHERENT)
    }

    /// The object whose destruction took the bytes away, if any did.
    pub(crate) fn freed(&self) -> Option<&Label> {
        if self.label.is_destroyed() {
            return Some(&self.label);
        }
        match &self.memory {
            Memory::Placed { heap, .. } if heap.label.is_destroyed() => Some(&heap.label),
            _ => None,
        }
    }

    /// Its memory type and bytes, where it has memory of its own.
    pub(crate) fn committed(&self) -> Option<(MemoryTypeId, u64)> {
        match self.memory {
            Memory::Committed { memory, size, .. } => Some((memory, size)),
            Memory::Placed { .. } | Memory::Reserved(_) => None,
        }
    }

    pub(crate) fn heap(&self) -> Option<&Arc<HeapState>> {
        match &self.memory {
            Memory::Placed { heap, .. } => Some(heap),
            _ => None,
        }
    }
}

/// A buffer or texture: a handle for
/// [`Device::destroy_resource`](tenure_core::device::Device::destroy_resource). Dropping it
/// without that is a leak and is reported as one.
pub struct Resource {
    pub(crate) state: Arc<ResourceState>,
}

impl Resource {
    /// The number by which hazards and the journal call it.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.state.label.id
    }
}

impl std::fmt::Debug for Resource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Resource({})", self.state.label)
    }
}
