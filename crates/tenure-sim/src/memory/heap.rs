//! Heaps: memory, the resources placed in it, and the last user of each byte.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use smallvec::SmallVec;
use tenure_core::device::{HeapDesc, MemoryTypeId, ResourceDesc, Usage};

use super::Bytes;
use super::History;
use crate::clock::SharedClock;
use crate::interval::IntervalSet;
use crate::object::{Label, debug_by_label};
use crate::states::States;

/// Memory with the history of its accesses: that of a heap or of one committed resource.
pub(crate) struct Store {
    /// Shared with other devices if the memory is.
    pub(crate) bytes: Arc<Bytes>,
    pub(crate) history: Mutex<History>,
    /// The accesses to CPU-visible bytes of submissions not yet seen complete.
    pub(crate) submitted: Mutex<History>,
}

impl Store {
    /// The bytes of memory that was not zeroed.
    const UNDEFINED: u8 = 0xCD;

    pub(crate) fn new(size: u64, zeroed: bool) -> Self {
        let fill = if zeroed { 0 } else { Self::UNDEFINED };
        Self::over(Arc::new(Bytes::new(size, fill)))
    }

    /// Existing memory that this device has not accessed yet.
    pub(crate) fn over(bytes: Arc<Bytes>) -> Self {
        Self { bytes, history: Mutex::default(), submitted: Mutex::default() }
    }
}

/// A placed resource from the point of view of its heap.
pub(crate) struct Tenant {
    pub(crate) label: Arc<Label>,
    pub(crate) states: Arc<Mutex<States>>,
    /// True while it was the last to use each of its bytes: no lookup needed.
    owns_all: AtomicBool,
}

impl Tenant {
    pub(crate) const fn new(label: Arc<Label>, states: Arc<Mutex<States>>) -> Self {
        Self { label, states, owns_all: AtomicBool::new(false) }
    }
}

/// The last user of each range of bytes.
#[derive(Default)]
struct Owners(BTreeMap<u64, (u64, Arc<Tenant>)>);

impl Owners {
    fn overlapping(&self, range: &Range<u64>) -> SmallVec<[(u64, u64, Arc<Tenant>); 2]> {
        let before = self.0.range(..range.start).next_back();
        before
            .into_iter()
            .chain(self.0.range(range.clone()))
            .filter(|(_, (end, _))| *end > range.start)
            .map(|(start, (end, tenant))| (*start, *end, Arc::clone(tenant)))
            .collect()
    }

    /// Assigns the bytes to `tenant` and returns the live resources that owned some of them before.
    fn claim(&mut self, range: Range<u64>, tenant: &Arc<Tenant>) -> SmallVec<[Arc<Tenant>; 1]> {
        let mut previous_owners = SmallVec::new();
        for (start, end, owner) in self.overlapping(&range) {
            self.0.remove(&start);
            if start < range.start {
                self.0.insert(start, (range.start, Arc::clone(&owner)));
            }
            if end > range.end {
                self.0.insert(range.end, (end, Arc::clone(&owner)));
            }
            if owner.label.id != tenant.label.id {
                owner.owns_all.store(false, Ordering::Relaxed);
                if !owner.label.is_destroyed() {
                    previous_owners.push(owner);
                }
            }
        }
        self.0.insert(range.start, (range.end, Arc::clone(tenant)));
        tenant.owns_all.store(true, Ordering::Relaxed);
        previous_owners
    }

    fn forget(&mut self, range: Range<u64>, tenant: &Tenant) {
        for (start, _, owner) in self.overlapping(&range) {
            if owner.label.id == tenant.label.id {
                self.0.remove(&start);
            }
        }
    }
}

/// A resource in a heap.
struct Placed {
    label: Arc<Label>,
    range: Range<u64>,
    /// Whether it is a buffer of acceleration structures; `None` for a texture.
    is_structure: Option<bool>,
}

/// The state of a heap, shared with its placed resources.
pub(crate) struct HeapState {
    pub(crate) label: Arc<Label>,
    pub(crate) desc: HeapDesc,
    pub(crate) store: Arc<Store>,
    pub(crate) address: u64,
    pub(crate) last_use: SharedClock,
    owners: Mutex<Owners>,
    placed: Mutex<BTreeMap<u64, Placed>>,
    /// True once a buffer of acceleration structures was placed in it.
    has_structures: AtomicBool,
    /// Bytes that some resource has covered since the heap was made.
    touched: Mutex<IntervalSet>,
}

impl HeapState {
    pub(crate) fn new(label: Arc<Label>, desc: HeapDesc, address: u64, zeroed: bool) -> Self {
        let store = Arc::new(Store::new(desc.size, zeroed));
        Self {
            label,
            desc,
            store,
            address,
            last_use: SharedClock::default(),
            owners: Mutex::default(),
            placed: Mutex::default(),
            has_structures: AtomicBool::new(false),
            touched: Mutex::default(),
        }
    }

    pub(crate) fn memory(&self) -> MemoryTypeId {
        self.desc.memory
    }

    /// A live buffer that shares some of these bytes, if exactly one of the two is for acceleration structures.
    pub(crate) fn buffer_apart(&self, desc: &ResourceDesc, range: &Range<u64>) -> Option<Arc<Label>> {
        let is_structure = is_structure(desc)?;
        if !is_structure && !self.has_structures.load(Ordering::Acquire) {
            return None;
        }
        let is_apart = |placed: &&Placed| {
            let overlaps = placed.range.start < range.end && range.start < placed.range.end;
            overlaps && placed.is_structure == Some(!is_structure)
        };
        self.placed.lock().values().find(is_apart).map(|placed| Arc::clone(&placed.label))
    }

    /// Adds a new resource; returns the parts of `range` that no resource had before.
    pub(crate) fn place(
        &self,
        label: &Arc<Label>,
        desc: &ResourceDesc,
        range: Range<u64>,
    ) -> Vec<Range<u64>> {
        let is_structure = is_structure(desc);
        self.has_structures.fetch_or(is_structure == Some(true), Ordering::AcqRel);
        let placed = Placed { label: Arc::clone(label), range: range.clone(), is_structure };
        self.placed.lock().insert(label.id, placed);
        let mut touched = self.touched.lock();
        let mut fresh = Vec::new();
        let mut at = range.start;
        while let Some(gap) = touched.first_gap(at..range.end) {
            at = gap.end;
            fresh.push(gap);
        }
        touched.insert(range);
        fresh
    }

    pub(crate) fn free(&self, tenant: &Tenant, range: Range<u64>) {
        self.placed.lock().remove(&tenant.label.id);
        self.owners.lock().forget(range, tenant);
    }

    /// The first resource still placed here, and the number of all.
    pub(crate) fn tenants(&self) -> Option<(Arc<Label>, usize)> {
        let placed = self.placed.lock();
        placed.values().next().map(|first| (Arc::clone(&first.label), placed.len()))
    }

    /// Makes `tenant` the last user of `range`; returns the live resources that were before it.
    pub(crate) fn claim(&self, range: Range<u64>, tenant: &Arc<Tenant>) -> SmallVec<[Arc<Tenant>; 1]> {
        if tenant.owns_all.load(Ordering::Relaxed) {
            return SmallVec::new();
        }
        self.owners.lock().claim(range, tenant)
    }
}

/// Whether a buffer is for acceleration structures; `None` for a texture.
fn is_structure(desc: &ResourceDesc) -> Option<bool> {
    match desc {
        ResourceDesc::Buffer(info) => Some(info.usage.contains(Usage::ACCELERATION_STRUCTURE)),
        ResourceDesc::Texture(_) => None,
    }
}

/// A heap: a handle for [`Device::destroy_heap`](tenure_core::device::MemoryDevice::destroy_heap).
/// Dropping it without that is a leak and is reported as one.
pub struct Heap {
    pub(crate) state: Arc<HeapState>,
}

debug_by_label!(Heap);
