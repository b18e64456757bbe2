//! The transient heaps of a manager: acquisition of resources, and eviction of heaps.

use std::sync::Arc;

use parking_lot::Mutex;
use tenure_heap::MemoryCounter;

use super::TransientStats;
use super::claim::{Prepared, is_too_large};
use super::dedicated::Dedicated;
use super::desc_table::{Description, ResourceDescTable};
use super::graph::{PlanCache, PlanCacheConfig};
use super::heap::{Acquired, Heap, HeapKind};
use super::hints::{AcquisitionId, Hints};
use super::object::{Cached, Object};
use super::request::{Attempt, ResourceRequest, wrong_type};
use super::shortage::HeapClass;
use crate::Error;
use crate::context::Context;
use crate::device::{Device, HeapDesc};
use crate::memory::MakeRoom;
use crate::time::SyncPoint;

/// The cache entry of an acquired resource.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EntryRef {
    /// In a heap: the number of the heap, and the key of the entry.
    Heap {
        heap: u64,
        key: usize,
        /// The acquisition in the hints of the next frame; `None` for a graph, which has a plan.
        acquisition: Option<AcquisitionId>,
    },
    /// With dedicated memory.
    Dedicated { key: usize },
}

/// An acquired resource with its cache entry.
pub(crate) type CachedEntry<D, R> = (Arc<Cached<D, R>>, EntryRef);

/// All transient memory of one manager.
pub(crate) struct State<D: Device> {
    pub(crate) descriptions: ResourceDescTable,
    /// The heaps, in the order of their creation.
    pub(crate) heaps: Vec<Heap<D>>,
    /// Sync point after which the GPU has finished with all replaced heaps.
    pub(crate) replaced: SyncPoint,
    last_heap: u64,
    dedicated: Dedicated<D>,
    pub(crate) hints: Hints,
    /// The classes of resources of graphs that may share heaps.
    pub(crate) classes: Vec<HeapClass>,
    pub(crate) plans: PlanCache,
    /// One for each graph with a plan.
    pub(crate) prepared: Vec<Arc<Prepared>>,
    pub(crate) frame: u64,
    last_reclaim: LastReclaim,
    /// Bytes acquired since the last frame.
    requested: u64,
    /// The manager was shut down: nothing is acquired any more.
    is_closed: bool,
    pub(crate) stats: TransientStats,
}

/// The progress of the program at the last reclaim outside frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LastReclaim {
    /// The number of the frame that had begun last.
    frame: u64,
    submitted: SyncPoint,
}

/// The transient heaps of a manager.
pub(crate) struct Transients<D: Device> {
    pub(crate) state: Mutex<State<D>>,
    /// Declared last, as in every handle.
    pub(crate) context: Arc<Context<D>>,
}

impl<D: Device> Transients<D> {
    pub(crate) fn new(context: Arc<Context<D>>) -> Self {
        let improve_nodes = context.config.transient.improvement;
        let state = State {
            hints: Hints::default(),
            classes: Vec::new(),
            plans: PlanCache::new(PlanCacheConfig::default().improve_nodes(improve_nodes)),
            prepared: Vec::new(),
            descriptions: ResourceDescTable::default(),
            heaps: Vec::new(),
            replaced: SyncPoint::NONE,
            last_heap: 0,
            dedicated: Dedicated::default(),
            frame: 0,
            last_reclaim: LastReclaim { frame: 0, submitted: SyncPoint::NONE },
            requested: 0,
            is_closed: false,
            stats: TransientStats::default(),
        };
        Self { state: Mutex::new(state), context }
    }

    /// In a shortage, retries after all unused memory was freed, and after waiting for memory that the GPU uses. Other threads
    /// do not wait meanwhile: the lock is not held.
    pub(crate) fn try_twice<T>(
        &self,
        room: &dyn MakeRoom,
        request: impl Fn(Attempt) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match request(Attempt::First) {
            Err(Error::OutOfMemory(_)) => {
                self.trim();
                room.wait_for_room(None, room.reclaims());
                // The last attempt does not wait for a thread that pages.
                self.context.pools.residency.await_paging();
                request(Attempt::Last)
            }
            answer => answer,
        }
    }

    pub(crate) fn release(&self, entry_ref: EntryRef) {
        let recordings = &self.context.recordings;
        let state = &mut *self.state.lock();
        let frame = state.frame;
        match entry_ref {
            EntryRef::Heap { heap, key, acquisition } => {
                if let Some(acquisition) = acquisition {
                    state.hints.dropped(acquisition);
                }
                if let Some(heap) = state.heap_at(heap).and_then(|at| state.heaps.get_mut(at)) {
                    heap.release(key, recordings, frame);
                }
            }
            EntryRef::Dedicated { key } => state.dedicated.release(key, recordings.newest(), frame),
        }
    }

    /// In a program without frames, a reclaim ends a frame if there were submissions since the last reclaim. A reclaim without
    /// submissions in between is only a wait.
    pub(crate) fn end_reclaim(&self) {
        let (frame, is_open) = {
            let pacer = self.context.pacer.lock();
            (pacer.current(), pacer.open() > 0)
        };
        let now = LastReclaim { frame, submitted: self.context.clock.submitted() };
        let last = std::mem::replace(&mut self.state.lock().last_reclaim, now);
        if !is_open && last.frame == frame && last.submitted != now.submitted {
            self.end_frame();
        }
    }

    /// Ends a frame: destroys resources and heaps that were unused for long.
    pub(crate) fn end_frame(&self) {
        let config = &self.context.config;
        let state = &mut *self.state.lock();
        // All other state requires a description.
        if state.descriptions.is_unused() {
            state.frame += 1;
            return;
        }
        state.stats.requested = std::mem::take(&mut state.requested);
        let capacity = usize::try_from(config.transient.cache).unwrap_or(usize::MAX);
        let latency = u64::from(config.transient.latency.max(1));
        state.end_hints(&self.context, latency);
        let (frame, period) = (state.frame, latency.div_ceil(2));
        state.stats.footprint = state.heaps.iter_mut().map(|heap| heap.end_frame(frame, period)).sum();
        let retired = state.evict(&self.context, latency, capacity);
        state.frame += 1;
        retired.into_iter().for_each(|heap| heap.retire(&self.context));
    }

    /// Destroys all heaps and resources that are not in use.
    pub(crate) fn trim(&self) {
        let retired = {
            let state = &mut *self.state.lock();
            state.classes.iter_mut().for_each(HeapClass::retry_soon);
            state.trim(&self.context, IdleHeaps::All)
        };
        retired.into_iter().for_each(|heap| heap.retire(&self.context));
    }

    /// Destroys heaps and dedicated resources that are not in use, unless another thread acquires something. False when there
    /// were no such heaps.
    pub(crate) fn try_trim(&self, which: IdleHeaps) -> bool {
        let Some(mut state) = self.state.try_lock() else { return false };
        let retired = state.trim(&self.context, which);
        drop(state);
        let has_trimmed = !retired.is_empty();
        retired.into_iter().for_each(|heap| heap.retire(&self.context));
        has_trimmed
    }

    /// Ends the manager: destroys everything except acquired resources, which are kept until they are dropped. Later
    /// acquisitions fail, so that nothing is cached again.
    pub(crate) fn close(&self) {
        let (heaps, dedicated) = {
            let state = &mut *self.state.lock();
            state.is_closed = true;
            (std::mem::take(&mut state.heaps), std::mem::take(&mut state.dedicated))
        };
        heaps.into_iter().for_each(|heap| heap.retire(&self.context));
        drop(dedicated);
    }

    /// The number of cached resources that are not acquired, and of their views: handles that do not belong to the program.
    pub(crate) fn unused_objects(&self) -> u64 {
        let state = self.state.lock();
        let unused =
            state.heaps.iter().map(Heap::unused_objects).sum::<usize>() + state.dedicated.unused_objects();
        unused as u64
    }

    pub(crate) fn stats(&self) -> TransientStats {
        self.state.lock().totals(self.context.pools.objects.transient_memory.all())
    }
}

impl<D: Device> State<D> {
    /// Rejects acquisitions after the shutdown.
    pub(crate) fn check_open(&self) -> Result<(), Error> {
        if self.is_closed { Err(Error::ShutDown) } else { Ok(()) }
    }

    pub(crate) fn note_request(&mut self, bytes: u64) {
        self.stats.acquired += 1;
        self.requested = self.requested.saturating_add(bytes);
    }

    /// The index of the heap with this number.
    pub(crate) fn heap_at(&self, id: u64) -> Option<usize> {
        self.heaps.iter().position(|heap| heap.id == id)
    }

    /// Acquires a resource at a free offset of a heap, by the heap's index.
    pub(crate) fn acquire_in(
        &mut self,
        wanted: &ResourceRequest<'_, D>,
        at: usize,
        offset: u64,
    ) -> Result<(Object<D>, EntryRef), Error> {
        let Some(heap) = self.heaps.get_mut(at) else { return Err(wrong_type(wanted.request.name)) };
        if !heap.suits(wanted.description) {
            return Err(Error::Internal {
                what: "a transient heap does not suit a resource planned into it",
            });
        }
        let Acquired { key, object, is_new } = heap.acquire(wanted, offset)?;
        heap.last_used = self.frame;
        let heap = heap.id;
        self.note_created(is_new, wanted.description);
        Ok((object, EntryRef::Heap { heap, key, acquisition: None }))
    }

    pub(crate) fn acquire_dedicated(
        &mut self,
        wanted: &ResourceRequest<'_, D>,
    ) -> Result<(Object<D>, EntryRef), Error> {
        let Acquired { key, object, is_new } = self.dedicated.acquire(wanted, self.frame)?;
        self.note_created(is_new, wanted.description);
        Ok((object, EntryRef::Dedicated { key }))
    }

    fn note_created(&mut self, is_new: bool, description: &Description) {
        if is_new {
            self.stats.created += 1;
            self.stats.remade +=
                u64::from(self.heaps.iter().any(|heap| heap.has_idle(description.id, self.frame)));
        }
    }

    /// Adds a new heap, and returns its index.
    pub(crate) fn push_heap(&mut self, heap: D::Heap, desc: &HeapDesc, kind: HeapKind) -> usize {
        self.last_heap += 1;
        self.heaps.push(Heap::new(self.last_heap, heap, desc, kind, self.frame));
        self.stats.heaps_created += 1;
        self.heaps.len() - 1
    }

    /// Destroys resources that were unused for `latency` frames. Returns the heaps unused for that long, and heaps of graphs
    /// much larger than the graphs needed.
    fn evict(&mut self, context: &Context<D>, latency: u64, capacity: usize) -> Vec<Heap<D>> {
        let frame = self.frame;
        let retired = self.take_idle(context, |heap| {
            frame.saturating_sub(heap.last_used) >= latency || is_too_large(context, heap)
        });
        let evicted: u64 = self.heaps.iter_mut().map(|heap| heap.evict(frame, latency, capacity)).sum();
        self.stats.evicted += evicted + self.dedicated.evict(frame, latency);
        retired
    }

    /// Removes and returns idle heaps, and destroys idle dedicated resources.
    pub(crate) fn trim(&mut self, context: &Context<D>, which: IdleHeaps) -> Vec<Heap<D>> {
        let latency = match which {
            IdleHeaps::NotUsedLately => 2,
            IdleHeaps::All => 0,
        };
        let frame = self.frame;
        self.stats.evicted += self.dedicated.evict(frame, latency);
        self.take_idle(context, |heap| frame.saturating_sub(heap.last_used) >= latency)
    }

    /// Removes and returns the idle heaps for which `goes` is true.
    pub(crate) fn take_idle(
        &mut self,
        context: &Context<D>,
        mut goes: impl FnMut(&Heap<D>) -> bool,
    ) -> Vec<Heap<D>> {
        let goes = |heap: &mut Heap<D>| heap.is_idle(&context.recordings) && goes(heap);
        let taken: Vec<_> = self.heaps.extract_if(.., goes).collect();
        self.stats.evicted += taken.iter().map(|heap| heap.cached() as u64).sum::<u64>();
        taken
    }

    /// Destroys replaced heaps; heaps that the GPU has finished with are freed at once.
    pub(crate) fn replace(&mut self, context: &Context<D>, heaps: Vec<Heap<D>>) {
        if !heaps.is_empty() {
            heaps.into_iter().for_each(|heap| heap.retire(context));
            context.reclaim_now();
            self.replaced = context.clock.submitted();
        }
    }

    fn totals(&self, memory: &MemoryCounter) -> TransientStats {
        TransientStats {
            heaps: self.heaps.len() as u64,
            reserved: memory.now(),
            peak_reserved: memory.peak(),
            cached: self.heaps.iter().map(|heap| heap.cached() as u64).sum::<u64>() + self.dedicated.len(),
            ..self.stats
        }
    }
}

/// Selects which idle heaps and dedicated resources a shortage may free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdleHeaps {
    /// Those that were used neither in this frame nor in the previous one. If others were freed, a program short of memory
    /// would recreate them in each frame.
    NotUsedLately,
    /// All of them, if a request would fail otherwise.
    All,
}
