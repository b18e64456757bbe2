//! Location of a resource's bytes: a range, a heap, a page, or a part of a heap that is aliased over time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use smallvec::SmallVec;
use tenure_suballoc::{BlockId, Linear};

use super::api_objects::{MemoryOwner, MemorySize};
use super::block::{PoolId, Suballocation};
use crate::api_resource::ApiResource;
use crate::device::{Device, HeapCategory, HeapDesc, MemoryTypeId, State};
use crate::time::SyncPoint;

/// Kind of location of a resource's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum LocationKind {
    /// An API resource with dedicated memory.
    Committed,
    /// An API resource with dedicated, lazily allocated memory of a tile-based GPU: the driver allocates it at
    /// the first store.
    Memoryless,
    /// An API resource in a shared heap.
    Placed,
    /// A range of a shared buffer.
    Range,
    /// An API resource in a page that is reset as a whole.
    Page,
    /// An API resource in bytes of a heap that other resources use before and after it.
    Transient,
    /// An address range with individually mapped tiles.
    Reserved,
    /// An API resource that the program created, in memory of the program.
    Adopted,
}

/// The location of a resource, for reports. Kept compact: every live object has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedLocation {
    /// No memory.
    None,
    /// A view of a resource, given by the key of the resource's registry entry.
    ViewOf(u64),
    /// In a block of a pool, at an offset in the block's API object.
    Pool { kind: LocationKind, pool: PoolId, block: BlockId, offset: u64 },
    /// In memory outside the pools, at an offset if known.
    Memory { kind: LocationKind, memory: MemoryTypeId, offset: Option<u32> },
    /// In memory not owned by the manager, or mapped tile by tile.
    Elsewhere(LocationKind),
}

/// The location, with everything to be freed when the resource is released.
pub enum Location<D: Device> {
    Range(Suballocation),
    Placed(Suballocation),
    Committed {
        own: MemorySize,
        owner: MemoryOwner,
        is_memoryless: bool,
    },
    Page(PageRange<D>),
    Structure(Box<StructureLocation<D>>),
    Transient(Arc<AliasedRange<D>>),
    Reserved,
    /// With the owner of the program's memory, if tenure should drop it.
    Adopted(Option<AdoptedOwner>),
}

/// The owner of an adopted resource's memory, a value of the program; it is dropped only where the program's
/// code may run.
pub type AdoptedOwner = Box<dyn Send + Sync>;

impl<D: Device> Location<D> {
    /// A number that is unique until the backing is freed: see
    /// `RecordedPlace::key`.
    pub fn key(&self, api_resource: &ApiResource<D>) -> u64 {
        match self {
            Self::Range(suballocation) => suballocation.free_token().key(),
            Self::Structure(structure) => structure.place.key(api_resource),
            // Without the highest bit, which is set in the keys of ranges.
            _ => api_resource.serial,
        }
    }

    pub fn kind(&self) -> LocationKind {
        match self {
            Self::Range(_) => LocationKind::Range,
            Self::Placed(_) => LocationKind::Placed,
            Self::Committed { is_memoryless: false, .. } => LocationKind::Committed,
            Self::Committed { .. } => LocationKind::Memoryless,
            Self::Page(_) => LocationKind::Page,
            Self::Structure(structure) => structure.place.kind(),
            Self::Transient(_) => LocationKind::Transient,
            Self::Reserved => LocationKind::Reserved,
            Self::Adopted(_) => LocationKind::Adopted,
        }
    }

    /// The location, for reports.
    #[inline]
    pub fn place(&self) -> RecordedLocation {
        let kind = self.kind();
        match self {
            Self::Range(Suballocation { pool, block, offset, .. })
            | Self::Placed(Suballocation { pool, block, offset, .. }) => {
                RecordedLocation::Pool { kind, pool: *pool, block: *block, offset: *offset }
            }
            Self::Committed { own, .. } => {
                RecordedLocation::Memory { kind, memory: own.memory, offset: Some(0) }
            }
            Self::Page(PageRange { page, offset, .. }) => {
                // Pages are rarely larger than 4 GiB.
                RecordedLocation::Memory { kind, memory: page.memory, offset: u32::try_from(*offset).ok() }
            }
            Self::Structure(structure) => structure.place.place(),
            Self::Transient(aliased) => {
                RecordedLocation::Memory { kind, memory: aliased.share.own.memory, offset: None }
            }
            Self::Reserved | Self::Adopted(_) => RecordedLocation::Elsewhere(kind),
        }
    }

    /// Offset of the resource in the API resource.
    pub fn offset(&self) -> u64 {
        match self {
            Self::Range(suballocation) => suballocation.offset,
            Self::Structure(structure) => structure.place.offset(),
            _ => 0,
        }
    }

    /// Bytes that the resource takes from its heap.
    pub fn reserved(&self) -> u64 {
        match self {
            Self::Range(suballocation) | Self::Placed(suballocation) => suballocation.reserved,
            Self::Committed { own, .. } => own.size,
            Self::Page(aliased) => aliased.size,
            Self::Structure(structure) => structure.place.reserved(),
            // The bytes belong to the heap, and are shared with other resources.
            Self::Transient(_) => 0,
            Self::Reserved | Self::Adopted(_) => 0,
        }
    }
}

/// An acceleration structure and the location of its bytes, which are freed after the structure is destroyed.
pub struct StructureLocation<D: Device> {
    pub object: D::AccelerationStructure,
    pub place: Location<D>,
}

/// An API resource and its location: the whole resource, or for a range the buffer that contains it.
pub struct Backing<D: Device> {
    pub api_resource: Arc<ApiResource<D>>,
    pub location: Location<D>,
}

impl<D: Device> Backing<D> {
    /// See [`Location::key`].
    pub fn key(&self) -> u64 {
        self.location.key(&self.api_resource)
    }

    /// The GPU address of the resource's first byte; 0 without one.
    #[inline]
    pub fn address(&self) -> u64 {
        self.api_resource.address.map_or(0, |address| address.saturating_add(self.location.offset()))
    }
}

/// A page: a heap with a linear allocator, reset when its last resource is released.
pub struct Page<D: Device> {
    pub size: u64,
    pub memory: MemoryTypeId,
    pub category: HeapCategory,
    /// Alignment of the heap, in bytes.
    pub alignment: u64,
    fill: Mutex<Fill<D>>,
}

struct Fill<D: Device> {
    bytes: Linear,
    live: u64,
    /// Shared only while a resource is being placed, after its range was allocated. `None` once the page is
    /// destroyed.
    heap: Option<Arc<D::Heap>>,
    /// Whether the allocator was dropped: the page is destroyed with its last resource.
    is_closed: bool,
}

/// The bytes of a page used by one resource.
pub struct PageRange<D: Device> {
    pub page: Arc<Page<D>>,
    pub offset: u64,
    pub size: u64,
}

impl<D: Device> Page<D> {
    pub fn new(heap: D::Heap, desc: &HeapDesc) -> Self {
        let HeapDesc { size, alignment, memory, category, .. } = *desc;
        let heap = Some(Arc::new(heap));
        let fill = Fill { bytes: Linear::new(size), live: 0, heap, is_closed: false };
        Self { size, memory, category, alignment, fill: Mutex::new(fill) }
    }

    /// Allocates the next bytes, and returns them with the heap for a placed resource. The caller must drop its
    /// reference to the heap before it frees the range. `None` if the page is too full.
    pub fn take(self: &Arc<Self>, size: u64, align: u64) -> Option<(PageRange<D>, Arc<D::Heap>)> {
        let mut fill = self.fill.lock();
        let heap = fill.heap.clone()?;
        let offset = fill.bytes.allocate(size, align)?;
        fill.live += 1;
        Some((PageRange { page: self.clone(), offset, size }, heap))
    }

    /// Notes that a resource was released. After the last one, resets the page, or, if the allocator was
    /// dropped, too, returns the heap to be destroyed.
    #[must_use]
    pub fn remove_resource(&self) -> Option<D::Heap> {
        let mut fill = self.fill.lock();
        fill.live -= 1;
        if fill.live == 0 {
            fill.bytes.reset();
        }
        fill.take_heap()
    }

    /// Notes that the allocator was dropped. Returns the heap to be destroyed if it is empty.
    #[must_use]
    pub fn close(&self) -> Option<D::Heap> {
        let mut fill = self.fill.lock();
        fill.is_closed = true;
        fill.take_heap()
    }

    /// Bytes of its heap.
    pub const fn own(&self) -> MemorySize {
        MemorySize { memory: self.memory, size: self.size }
    }

    /// Bytes used since the last reset, and the number of live resources.
    pub fn usage(&self) -> (u64, u64) {
        let fill = self.fill.lock();
        (fill.bytes.used(), fill.live)
    }
}

impl<D: Device> Fill<D> {
    fn take_heap(&mut self) -> Option<D::Heap> {
        let is_over = self.is_closed && self.live == 0;
        self.heap.take_if(|_| is_over).and_then(Arc::into_inner)
    }
}

/// A heap shared by aliased ranges; destroyed with the last of them.
pub struct SharedHeap<D: Device> {
    pub heap: D::Heap,
    pub own: MemorySize,
}

/// Earlier work that must precede the first use of a resource, because other resources had its bytes.
pub struct AliasingHandoff<D: Device> {
    /// The resources that had some of the bytes.
    pub previous_owners: SmallVec<[Arc<ApiResource<D>>; 2]>,
    /// The aliased ranges of the previous owners. Recordings that used them may be discarded until the bytes
    /// are handed over.
    aliased_ranges: SmallVec<[Arc<AliasedRange<D>>; 2]>,
    /// The states in which earlier owners left the bytes, if the owner itself is no longer known.
    pub others: State,
    /// The submissions of these earlier owners.
    pub waits: SyncPoint,
}

impl<D: Device> Default for AliasingHandoff<D> {
    /// The handoff of bytes without a previous owner.
    fn default() -> Self {
        Self {
            previous_owners: SmallVec::new(),
            aliased_ranges: SmallVec::new(),
            others: State::COMMON,
            waits: SyncPoint::NONE,
        }
    }
}

impl<D: Device> AliasingHandoff<D> {
    pub fn is_first(&self) -> bool {
        self.previous_owners.is_empty() && self.others.is_empty()
    }

    pub fn add_previous_owner(
        &mut self,
        api_resource: &Arc<ApiResource<D>>,
        aliased: Option<&Arc<AliasedRange<D>>>,
    ) {
        if self.previous_owners.iter().all(|known| !Arc::ptr_eq(known, api_resource)) {
            self.previous_owners.push(api_resource.clone());
            self.aliased_ranges.extend(aliased.cloned());
        }
    }

    /// Hands the bytes over. Discarded recordings of previous owners do not order anything, so the first use
    /// comes after everything submitted by then.
    fn begin(mut self) -> Self {
        for aliased in std::mem::take(&mut self.aliased_ranges) {
            aliased.pass_on(&mut self);
        }
        self
    }
}

/// A resource's range of a heap, whose bytes it owns only between two other resources.
pub struct AliasedRange<D: Device> {
    pub share: Arc<SharedHeap<D>>,
    /// Whether the next use must be ordered after earlier work.
    is_pending: AtomicBool,
    /// The recording that acquired the resource, or that records the current pass of a graph: no other
    /// recording may use the resource until that one is submitted.
    acquired_by: AtomicU64,
    pending: Mutex<Pending<D>>,
}

/// Earlier work that must precede the next use of a resource.
struct Pending<D: Device> {
    /// The previous owners of the bytes in the current acquisition. Empty while the resource is not acquired,
    /// so that resources in a cache never keep each other alive.
    handoff: AliasingHandoff<D>,
    /// Everything that had been submitted when a recording that used the resource was discarded.
    discarded: Option<SyncPoint>,
}

impl<D: Device> Pending<D> {
    fn merge_discarded(&self, to: &mut AliasingHandoff<D>) {
        if let Some(submitted) = &self.discarded {
            to.others = State::all();
            to.waits.merge(submitted);
        }
    }
}

impl<D: Device> AliasedRange<D> {
    pub fn new(share: Arc<SharedHeap<D>>) -> Self {
        Self {
            share,
            is_pending: AtomicBool::new(false),
            acquired_by: AtomicU64::new(0),
            pending: Mutex::new(Pending { handoff: AliasingHandoff::default(), discarded: None }),
        }
    }

    /// The number of the recording that acquired the resource.
    pub fn acquired_by(&self) -> u64 {
        self.acquired_by.load(Ordering::Relaxed)
    }

    /// Passes the resource to the recording of the graph's next pass.
    pub fn pass_to(&self, recording: u64) {
        self.acquired_by.store(recording, Ordering::Relaxed);
    }

    /// Assigns the bytes to the resource.
    pub fn acquire(&self, by: u64, handoff: AliasingHandoff<D>) {
        self.acquired_by.store(by, Ordering::Relaxed);
        if handoff.is_first() {
            return;
        }
        let mut pending = self.pending.lock();
        pending.handoff = handoff;
        self.is_pending.store(true, Ordering::Relaxed);
    }

    /// The earlier work that must precede the first use since the acquisition; `None` for later uses.
    pub fn begin(&self) -> Option<AliasingHandoff<D>> {
        if !self.is_pending.load(Ordering::Relaxed) {
            return None;
        }
        let mut pending = self.pending.lock();
        if !self.is_pending.swap(false, Ordering::Relaxed) {
            return None;
        }
        let mut handoff = std::mem::take(&mut pending.handoff);
        pending.merge_discarded(&mut handoff);
        pending.discarded = None;
        // One lock at a time: the previous owners have their own locks.
        drop(pending);
        Some(handoff.begin())
    }

    /// Notes that the resource was dropped. True if it took bytes from other resources and never used them: the
    /// bytes still belong to those.
    pub fn release(&self) -> bool {
        if !self.is_pending.load(Ordering::Relaxed) {
            return false;
        }
        let mut pending = self.pending.lock();
        let handoff = std::mem::take(&mut pending.handoff);
        self.is_pending.store(pending.discarded.is_some(), Ordering::Relaxed);
        !handoff.is_first()
    }

    /// Notes that the recording of the first use was discarded: the next use becomes the first one, and comes
    /// after everything submitted.
    pub fn rewind(&self, submitted: &SyncPoint) {
        let mut pending = self.pending.lock();
        pending.discarded.get_or_insert(SyncPoint::NONE).merge(submitted);
        self.is_pending.store(true, Ordering::Relaxed);
    }

    /// Adds the earlier work, in addition to the resource's own uses, that must precede the next owner of the
    /// bytes.
    pub fn pass_on(&self, to: &mut AliasingHandoff<D>) {
        if self.is_pending.load(Ordering::Relaxed) {
            self.pending.lock().merge_discarded(to);
        }
    }

    /// Handles the release of the heap while the resource is acquired: its next use comes after everything that
    /// the previous owners submitted, and keeps none of them alive. Their aliased ranges are kept: an open
    /// recording may have used them, and may be discarded.
    pub fn forget_previous_owners(&self) {
        let AliasingHandoff { previous_owners, others, waits, .. } = &mut self.pending.lock().handoff;
        for previous_owner in previous_owners.drain(..) {
            *others = State::all();
            waits.merge(&previous_owner.states.used());
        }
    }
}
