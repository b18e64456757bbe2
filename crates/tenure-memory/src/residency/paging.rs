//! Making blocks resident, and evicting others for them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use smallvec::SmallVec;

use super::{Blocks, Node, Reserved, ResidentBlocks, State, WeakBlock};
use crate::api_objects::{MemorySize, Objects};
use crate::api_resource::ApiResource;
use crate::block::HeapBlock;
use crate::block_set::{BlockKey, BlockSet};
use crate::device::{Device, DeviceError, MemoryBlock, PagingPoint, Priority, Residency, TrimRequest};
use crate::shortage::Wanted;
use crate::time::{Clock, SyncPoint};

/// The parts of the manager needed for paging.
pub struct Paging<'a, D: Device> {
    pub device: &'a D,
    pub clock: &'a Clock,
    pub objects: &'a Objects<D>,
    /// The maximum time that the CPU waits for the GPU when the driver has no memory.
    pub max_wait: Duration,
}

/// A block that cannot be destroyed during the life of this value.
enum HeldBlock<D: Device> {
    Heap(Arc<HeapBlock<D>>),
    Resource(Arc<ApiResource<D>>),
}

impl<D: Device> WeakBlock<D> {
    /// `None` if the block is being made or destroyed.
    fn hold(&self) -> Option<HeldBlock<D>> {
        match self {
            Self::Heap(heap) => heap.upgrade().map(HeldBlock::Heap),
            Self::Resource(resource) => resource.upgrade().map(HeldBlock::Resource),
        }
    }
}

impl<D: Device> HeldBlock<D> {
    fn block(&self) -> MemoryBlock<'_, D> {
        match self {
            Self::Heap(heap) => MemoryBlock::Heap(&heap.heap),
            Self::Resource(resource) => MemoryBlock::Resource(&resource.object),
        }
    }
}

/// A block that is being paged in or out.
struct Moved<D: Device> {
    key: BlockKey,
    held: HeldBlock<D>,
    own: MemorySize,
    priority: Priority,
}

impl<D: Device> Moved<D> {
    fn of(index: usize, node: &Node<D>) -> Option<Self> {
        let (key, held) = (BlockKey::new(index)?, node.object.hold()?);
        Some(Self { key, held, own: node.own, priority: node.priority })
    }
}

/// Whether to evict blocks that may be used in the next frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hot {
    Stays,
    Leaves,
}

impl Hot {
    /// The choice for an allocation. Such blocks are evicted only after a refusal of the driver, because they are paged in
    /// again immediately.
    const fn of(wanted: Wanted) -> Self {
        if wanted.is_refused { Self::Leaves } else { Self::Stays }
    }

    /// Minimum of the predicted frames until the next use of an evicted block.
    const fn soonest(self) -> u64 {
        match self {
            Self::Stays => 2,
            Self::Leaves => 0,
        }
    }
}

impl<D: Device> Node<D> {
    /// Whether the block is resident, and no submission uses it or is about to.
    fn is_idle(&self, state: &State, completed: &SyncPoint) -> bool {
        state.is_idle(completed) && self.used.is_covered_by(completed)
    }
}

impl<D: Device> Blocks<D> {
    fn each(&self) -> impl Iterator<Item = (usize, &Node<D>, &State)> {
        self.nodes.iter().filter_map(|(index, node)| Some((index, node, self.states.get(index)?)))
    }

    /// Predicted frames until the next use of a block.
    fn expected(&self, node: &Node<D>, state: &State) -> u64 {
        node.uses.expected(state.age(self.frame), self.typical)
    }

    /// Picks evictable blocks, latest predicted use first, until `bytes` are covered, and marks them evicted.
    fn take_idle(
        &mut self,
        wanted: u64,
        hot: Hot,
        completed: &SyncPoint,
        may_leave: impl Fn(&Node<D>, &State) -> bool,
    ) -> Vec<Moved<D>> {
        let mut idle: Vec<(u64, usize)> = self
            .each()
            .filter(|(_, node, state)| may_leave(node, state) && node.is_idle(state, completed))
            .map(|(index, node, state)| (self.expected(node, state), index))
            .filter(|(expected, _)| *expected >= hot.soonest())
            .collect();
        // Among equal predictions the newest comes first, except blocks created or used in this frame: their upload may be
        // pending.
        let order = |index: usize| {
            let is_fresh = self.states.get(index).is_some_and(|state| state.age(self.frame) == 0);
            (is_fresh, if is_fresh { index } else { usize::MAX - index })
        };
        idle.sort_unstable_by_key(|(expected, index)| (std::cmp::Reverse(*expected), order(*index)));
        let (mut taken, mut bytes) = (Vec::new(), 0);
        for (_, index) in idle {
            if bytes >= wanted {
                break;
            }
            let Some(moved) = self.nodes.get(index).and_then(|node| Moved::of(index, node)) else { continue };
            bytes += moved.own.size;
            taken.push(moved);
        }
        // The last blocks may be large enough that others, with an earlier predicted use, can be kept.
        for number in (0..taken.len()).rev() {
            let size = taken[number].own.size;
            if bytes - size >= wanted {
                bytes -= size;
                taken.remove(number);
            }
        }
        for moved in &taken {
            if let Some(state) = self.states.get_mut(moved.key.index()) {
                state.is_resident = false;
            }
        }
        taken
    }

    /// The blocks of a set that are not resident.
    fn missing(&self, set: &BlockSet) -> Vec<Moved<D>> {
        let missing = set.keys().filter_map(|key| {
            self.states.get(key.index()).filter(|state| !state.is_resident)?;
            Moved::of(key.index(), self.nodes.get(key.index())?)
        });
        missing.collect()
    }

    /// Marks blocks resident from a point on; `None`: from their old point, because they were never evicted.
    fn set_resident(&mut self, moved: &[Moved<D>], ready: Option<PagingPoint>) {
        for Moved { key, .. } in moved {
            if let Some(state) = self.states.get_mut(key.index()) {
                state.is_resident = true;
                state.ready = ready.unwrap_or(state.ready);
            }
        }
    }
}

impl<D: Device> ResidentBlocks<D> {
    /// Begins a submission that uses these blocks: makes them resident, and evicts others if memory is short. A move does
    /// not count as a use. Returns the points that the queue must wait for. The caller must call
    /// [`end_submission`](Self::end_submission) afterwards, also after an error.
    ///
    /// # Errors
    /// A shortage, when the blocks cannot all be resident at once; a lost device.
    pub fn begin_submission(
        &self,
        with: &Paging<'_, D>,
        set: &BlockSet,
        is_move: bool,
    ) -> Result<PagingPoint, DeviceError> {
        if set.is_empty() {
            return Ok(PagingPoint::RESIDENT);
        }
        let begun = self.blocks.lock().begin(set, is_move);
        if self.is_over.load(Ordering::Relaxed) {
            self.evict_excess(with);
        }
        begun.map_or_else(|| self.page_in(with, set), Ok)
    }

    /// Evicts the excess over the budget that was still in use by the GPU at the end of the frame. At most once per frame.
    #[cold]
    fn evict_excess(&self, with: &Paging<'_, D>) {
        // Another thread that pages makes room itself.
        let Some(_paging) = self.paging.try_lock() else { return };
        if self.is_over.swap(false, Ordering::Relaxed) {
            let _polled = with.clock.poll(with.device);
            for heap in 0..self.evicted.len() {
                let over = with.objects.over_budget(with.device, heap, 0);
                let _evicted = self.evict(with, heap, over, Hot::Leaves);
            }
        }
    }

    #[cold]
    fn page_in(&self, with: &Paging<'_, D>, set: &BlockSet) -> Result<PagingPoint, DeviceError> {
        let _paging = self.paging.lock();
        let missing = self.blocks.lock().missing(set);
        if !missing.is_empty() {
            self.make_room_for(with, &missing);
            self.bring_back(with, &missing)?;
        }
        let blocks = self.blocks.lock();
        let ready = set.keys().filter_map(|key| Some(blocks.states.get(key.index())?.ready));
        Ok(ready.max().unwrap_or(PagingPoint::RESIDENT))
    }

    /// Evicts idle blocks if the missing blocks would exceed the budget.
    fn make_room_for(&self, with: &Paging<'_, D>, missing: &[Moved<D>]) {
        if self.mode != Residency::Explicit {
            return;
        }
        let _polled = with.clock.poll(with.device);
        let objects = with.objects;
        for heap in 0..self.evicted.len() {
            let is_in = |own: MemorySize| objects.budgets.heap_index(own.memory) == Some(heap);
            let coming = missing.iter().filter(|moved| is_in(moved.own)).map(|moved| moved.own.size).sum();
            if coming > 0 {
                let over = objects.over_budget(with.device, heap, coming);
                let _evicted = self.evict(with, heap, over, Hot::Leaves);
            }
        }
    }

    /// Makes blocks resident. If the driver has no memory, evicts all idle blocks: first the current ones, then those idle
    /// after a wait for the GPU.
    fn bring_back(&self, with: &Paging<'_, D>, missing: &[Moved<D>]) -> Result<(), DeviceError> {
        let answer = self
            .try_bring_back(with, missing)
            .or_else(|error| self.after_shortage(with, missing, error, || {}));
        let answer = answer.or_else(|error| {
            self.after_shortage(with, missing, error, || {
                let submitted = with.clock.submitted();
                // The clock notes a loss of the device, and the next call reports it.
                let _noted = with.clock.wait(with.device, &submitted, with.max_wait);
            })
        });
        with.clock.note_loss(answer)
    }

    fn after_shortage(
        &self,
        with: &Paging<'_, D>,
        missing: &[Moved<D>],
        error: DeviceError,
        wait: impl FnOnce(),
    ) -> Result<(), DeviceError> {
        if !error.is_shortage() {
            return Err(error);
        }
        wait();
        for heap in 0..self.evicted.len() {
            let _evicted = self.evict(with, heap, u64::MAX, Hot::Leaves);
        }
        self.try_bring_back(with, missing)
    }

    fn try_bring_back(&self, with: &Paging<'_, D>, missing: &[Moved<D>]) -> Result<(), DeviceError> {
        let device = with.device;
        if self.mode == Residency::Explicit {
            let blocks: SmallVec<[_; 16]> = missing.iter().map(|moved| moved.held.block()).collect();
            let ready = device.make_resident(with.objects.permit, &blocks)?;
            self.note_back(with.objects, missing, ready);
            return Ok(());
        }
        for moved in missing {
            device.set_priority(with.objects.permit, moved.held.block(), moved.priority)?;
            self.note_back(with.objects, std::slice::from_ref(moved), PagingPoint::RESIDENT);
        }
        Ok(())
    }

    /// Marks blocks resident from a point on, unless they are already.
    fn note_back(&self, objects: &Objects<D>, moved: &[Moved<D>], ready: PagingPoint) {
        let mut blocks = self.blocks.lock();
        let is_away =
            |moved: &&Moved<D>| blocks.states.get(moved.key.index()).is_some_and(|state| !state.is_resident);
        let back =
            moved.iter().filter(is_away).inspect(|moved| self.note_resident(objects, moved.own)).count();
        blocks.set_resident(moved, Some(ready));
        drop(blocks);
        self.log_back(back);
    }

    /// Evicts idle blocks of a memory heap until `bytes` are covered, if there are enough. The caller holds
    /// [`paging`](Self::paging). Returns the evicted bytes.
    fn evict(&self, with: &Paging<'_, D>, heap: usize, bytes: u64, hot: Hot) -> u64 {
        let budgets = &with.objects.budgets;
        self.evict_if(with, bytes, hot, |node, _| budgets.heap_index(node.own.memory) == Some(heap))
    }

    /// Evicts the idle blocks that pass a filter, until `bytes` are covered, if there are enough; returns the
    /// evicted bytes.
    fn evict_if(
        &self,
        with: &Paging<'_, D>,
        bytes: u64,
        hot: Hot,
        may_leave: impl Fn(&Node<D>, &State) -> bool,
    ) -> u64 {
        if bytes == 0 {
            return 0;
        }
        let leaving = self.blocks.lock().take_idle(bytes, hot, &with.clock.completed(), may_leave);
        if leaving.is_empty() {
            return 0;
        }
        let (left, stayed) = leaving.split_at(self.evict_first(with, &leaving));
        // Blocks that are kept need no wait; the next call reports a loss of the device.
        self.blocks.lock().set_resident(stayed, None);
        left.iter().for_each(|moved| self.note_evicted(with.objects, moved.own));
        let bytes = left.iter().map(|moved| moved.own.size).sum();
        if !left.is_empty() {
            self.log_evicted(left.len(), bytes);
        }
        bytes
    }

    /// Evicts blocks, or sets them to the lowest priority, in order until the driver refuses; returns their number.
    fn evict_first(&self, with: &Paging<'_, D>, leaving: &[Moved<D>]) -> usize {
        let device = with.device;
        if self.mode == Residency::Explicit {
            let blocks: SmallVec<[_; 16]> = leaving.iter().map(|moved| moved.held.block()).collect();
            return if device.evict(with.objects.permit, &blocks).is_ok() { leaving.len() } else { 0 };
        }
        let lower = |moved: &&Moved<D>| {
            device.set_priority(with.objects.permit, moved.held.block(), Priority::Low).is_ok()
        };
        leaving.iter().take_while(lower).count()
    }

    /// Ends a frame: if more is resident than the budget allows, or the operating system requests a trim, evicts idle
    /// blocks that are not predicted for the next frames, or lowers their priority.
    pub fn end_frame(&self, with: &Paging<'_, D>) {
        let mut blocks = self.blocks.lock();
        blocks.frame += 1;
        let is_empty = blocks.nodes.is_empty();
        drop(blocks);
        if self.mode == Residency::None || with.clock.loss().is_some() {
            return;
        }
        self.reserve(with);
        // Another thread that pages makes room itself.
        let Some(_paging) = self.paging.try_lock() else { return };
        let trim = self.take_trim_request(with);
        if is_empty {
            return;
        }
        // The excess over the budget is always evicted: the operating system would choose the least recently used blocks,
        // which are often the next to be used.
        let hot = if self.mode == Residency::Explicit { Hot::Leaves } else { Hot::Stays };
        let mut asked = trim.bytes;
        for heap in 0..self.evicted.len() {
            let over = with.objects.over_budget(with.device, heap, 0);
            let demoted = if self.mode == Residency::Explicit { 0 } else { self.evicted(heap) };
            let mut left = self.evict(with, heap, over.saturating_sub(demoted), hot);
            if hot == Hot::Leaves && left < over {
                self.is_over.store(true, Ordering::Relaxed);
            }
            left += self.evict(with, heap, asked.saturating_sub(left), Hot::Stays);
            asked = asked.saturating_sub(left);
        }
    }

    /// The trim request of the operating system. Blocks that it considers unused are evicted immediately.
    fn take_trim_request(&self, with: &Paging<'_, D>) -> TrimRequest {
        let found = (self.mode == Residency::Explicit).then(|| with.device.take_trim_request()).flatten();
        let mut trim = found.unwrap_or_default();
        if trim.unused {
            let since = self.blocks.lock().unused_since;
            let unused = self.evict_if(with, u64::MAX, Hot::Leaves, |_, state| state.frame < since);
            trim.bytes = trim.bytes.saturating_sub(unused);
        }
        if trim.unused || trim.restarts {
            let blocks = &mut *self.blocks.lock();
            blocks.unused_since = blocks.frame;
        }
        trim
    }

    /// Reports the program's minimum need to the operating system: all of its memory that cannot be evicted. Only after a
    /// change of more than an eighth, or after a change of the budget.
    fn reserve(&self, with: &Paging<'_, D>) {
        if self.mode != Residency::Explicit {
            return;
        }
        let (limits, changes) = (&with.objects.limits, with.objects.budgets.changes());
        let pinned = (0..self.evicted.len()).map(|heap| {
            let evictable = self.evictable.get(heap).map_or(0, |bytes| bytes.load(Ordering::Relaxed));
            limits.taken(heap).saturating_sub(evictable.saturating_sub(self.evicted(heap)))
        });
        let pinned: SmallVec<[u64; 16]> = pinned.collect();
        let reserved = &mut *self.reserved.lock();
        let is_near = |(before, now): (&u64, &u64)| before.abs_diff(*now) <= before / 8;
        let is_known = reserved.bytes.len() == pinned.len() && reserved.changes == changes;
        if !is_known || !reserved.bytes.iter().zip(&pinned).all(is_near) {
            with.device.reserve(&pinned);
            *reserved = Reserved { bytes: pinned.to_vec(), changes };
        }
    }

    /// Whether blocks could be evicted for an allocation once the GPU has finished with them.
    pub fn is_room_in_use(&self, with: &Paging<'_, D>, wanted: Wanted) -> bool {
        let budgets = &with.objects.budgets;
        let Some(heap) = budgets.heap_index(wanted.own.memory).filter(|_| self.mode == Residency::Explicit)
        else {
            return false;
        };
        let (blocks, completed, hot) = (self.blocks.lock(), with.clock.completed(), Hot::of(wanted));
        blocks.each().any(|(_, node, state)| {
            let is_in_use = state.is_resident && !node.is_idle(state, &completed);
            let may_leave = blocks.expected(node, state) >= hot.soonest();
            is_in_use && may_leave && budgets.heap_index(node.own.memory) == Some(heap)
        })
    }

    /// Waits for a thread that pages, for the time of its wait for the GPU.
    pub fn await_paging(&self) {
        drop(self.paging.lock());
    }

    /// Evicts idle blocks for an allocation that finds no room in its heap. If the driver refused it within the budget,
    /// the budget does not determine the bytes needed.
    pub fn make_room(&self, with: &Paging<'_, D>, request: Wanted) {
        let (objects, Wanted { own: wanted, is_refused, may_wait }) = (with.objects, request);
        let heap = objects.budgets.heap_index(wanted.memory);
        if let (Residency::Explicit, Some(heap)) = (self.mode, heap)
            && !self.blocks.lock().nodes.is_empty()
        {
            // A thread that pages in may wait for the GPU.
            let paging = if may_wait { Some(self.paging.lock()) } else { self.paging.try_lock() };
            let Some(_paging) = paging else { return };
            let over = objects.over_budget(with.device, heap, wanted.size);
            let bytes = if is_refused { over.max(wanted.size) } else { over };
            let _evicted = self.evict(with, heap, bytes, Hot::of(request));
        }
    }
}
