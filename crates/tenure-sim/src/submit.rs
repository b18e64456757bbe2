//! From closed lists to work on a queue.

use std::sync::Arc;
use std::time::{Duration, Instant};

use smallvec::SmallVec;
use tenure_core::device::{
    BufferInfo, CallRule, DeviceError, MemoryFlags, QueueId, QueueSerial, ResourceDesc, SubmitSync,
    TileSource, TileUpdate, check,
};

use crate::calls::CallKind;
use crate::command::Command;
use crate::descriptors::At;
use crate::device::Device;
use crate::execute::{TileChange, TileOrigin};
use crate::external::{ExternalBatch, NativeQueue};
use crate::hazard::{Checks, HazardKind};
use crate::heap::HeapState;
use crate::history::Access;
use crate::list::List;
use crate::resource::{Memory, ResourceState};
use crate::shared::{Request, Shared};
use crate::tiles::{TILE, region_tiles};
use crate::timeline::{Job, Recorded, Work};

/// How often a wait looks at the fences that other devices may have signalled.
const PEER_SLICE: Duration = Duration::from_millis(1);

impl Shared {
    pub(crate) fn submit(
        &self,
        queue: QueueId,
        lists: &[&List],
        sync: SubmitSync<'_, Device>,
    ) -> Result<(), DeviceError> {
        self.call(CallKind::Submit, Request::default(), || {
            let recorded = self.check_lists(queue, lists)?;
            let at = QueueSerial { queue, serial: sync.signal };
            let mut timeline = self.timeline.lock();
            timeline.check(self, queue, sync.waits, sync.signal)?;
            self.check_paging_point(sync.paging)?;
            self.note_lists(at, lists);
            let batch = Work {
                uses: self.note_block_uses(lists),
                paging: sync.paging.0,
                job: Job::Lists(recorded),
                waits: sync.waits.into(),
                external_waits: self.note_external_waits(at, sync.external_waits, "submit"),
                external_signals: self.note_external_signals(at, sync.external_signals, "submit"),
                is_last: true,
            };
            timeline.push(self, queue, batch);
            drop(timeline);
            self.changed.notify_all();
            Ok(())
        })
    }

    /// Lets the program submit by itself; all that it submits is one submission to those that count.
    pub(crate) fn submit_external<T>(
        &self,
        queue: QueueId,
        waits: &[QueueSerial],
        signal: u64,
        run: impl FnOnce(NativeQueue<'_>) -> T,
    ) -> Result<T, DeviceError> {
        let begun = || self.timeline.lock().check(self, queue, waits, signal);
        self.call(CallKind::Submit, Request::default(), begun)?;
        let at = QueueSerial { queue, serial: signal };
        let mut batches = Vec::new();
        let answer = run(NativeQueue { shared: self, at, batches: &mut batches });
        let mut timeline = self.timeline.lock();
        let mut waits: SmallVec<[_; 4]> = waits.into();
        for ExternalBatch { lists, uses, waits: external_waits, signals } in batches {
            let batch = Work {
                uses,
                paging: 0,
                job: Job::Lists(lists),
                waits: std::mem::take(&mut waits),
                external_waits,
                external_signals: signals,
                is_last: false,
            };
            timeline.push(self, queue, batch);
        }
        timeline.push(self, queue, Work::new(Job::Lists(SmallVec::new()), waits));
        drop(timeline);
        self.changed.notify_all();
        Ok(answer)
    }

    /// What the lists hold, if they can be submitted to the queue.
    pub(crate) fn check_lists(
        &self,
        queue: QueueId,
        lists: &[&List],
    ) -> Result<SmallVec<[Recorded; 2]>, DeviceError> {
        if lists.iter().any(|list| !list.is_from(self)) {
            return Err(DeviceError::broken_rule(CallRule::SameDevice));
        }
        let recorded = lists.iter().map(|list| recorded(queue, list)).collect::<Result<_, _>>()?;
        check_once(lists)?;
        Ok(recorded)
    }

    /// Notes that a submission uses lists, and what they use.
    pub(crate) fn note_lists(&self, at: QueueSerial, lists: &[&List]) {
        for list in lists {
            list.note_submitted();
            list.state.last_use.raise(at.queue, at.serial);
            self.note_uses(at.queue, at.serial, list);
        }
    }

    /// Notes on each object that a submission uses it, for the checks when it is destroyed or mapped.
    fn note_uses(&self, queue: QueueId, serial: u64, list: &List) {
        if !self.checks.intersects(Checks::LIFETIME | Checks::MAPPING | Checks::DESCRIPTORS) {
            return;
        }
        for command in list.closed().iter().flat_map(|commands| commands.iter()) {
            if let Command::Query(query) = command {
                query.heap.last_use.raise(queue, serial);
            }
            command.structures(|structure| structure.last_use.raise(queue, serial));
            command.descriptors(|at| self.note_read(queue, serial, at));
            command.resources(|resource| {
                resource.last_use.raise(queue, serial);
                if let Some(heap) = resource.heap() {
                    heap.last_use.raise(queue, serial);
                }
            });
            if self.checks.contains(Checks::MAPPING) {
                command.accesses(|resource, span, write| {
                    if resource.is_host_visible() {
                        let ranges = resource.layout.ranges(&span);
                        self.note_submitted(resource, &ranges, Access { queue, serial, write });
                    }
                });
            }
        }
    }

    /// Notes that a submission reads a descriptor. A set is recorded as it is then: to change it
    /// makes void what was recorded with it.
    fn note_read(&self, queue: QueueId, serial: u64, at: &At) {
        if !at.note(queue, serial, &self.observed) {
            let detail = || format!("{at} is used by what was recorded before the set was changed");
            let objects = vec![at.label().to_string()];
            let kind = HazardKind::DescriptorInUse;
            self.report(Checks::DESCRIPTORS, kind, objects, detail, "submit");
        }
    }

    pub(crate) fn update_tiles(
        &self,
        queue: QueueId,
        updates: &[TileUpdate<'_, Device>],
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        self.call(CallKind::UpdateTiles, Request::default(), || {
            let changes =
                updates.iter().map(|update| self.tile_change(update)).collect::<Result<Vec<_>, _>>()?;
            let mut timeline = self.timeline.lock();
            timeline.check(self, queue, waits, signal)?;
            for change in &changes {
                change.note_use(queue, signal);
            }
            timeline.push(self, queue, Work::new(Job::Tiles(changes), waits.into()));
            drop(timeline);
            self.changed.notify_all();
            Ok(())
        })
    }

    fn tile_change(&self, update: &TileUpdate<'_, Device>) -> Result<TileChange, DeviceError> {
        let resource = reserved(&update.resource.state)?;
        let tiles = region_tiles(&resource.layout, &update.region)?;
        let origin = match &update.source {
            TileSource::Unmapped => TileOrigin::Unmapped,
            TileSource::Heap { heap, offset } => {
                self.check_tile_heap(resource, &heap.state, *offset, tiles.len() as u64)?;
                TileOrigin::Heap { heap: Arc::clone(&heap.state), offset: *offset }
            }
            TileSource::CopyOf { resource, region } => {
                let source = reserved(&resource.state)?;
                let from = region_tiles(&source.layout, region)?;
                if from.len() != tiles.len() {
                    let rule = CallRule::TileRegionsOfOneSize;
                    return Err(DeviceError::invalid_call(rule, from.len() as u64, tiles.len() as u64));
                }
                TileOrigin::CopyOf { resource: Arc::clone(source), tiles: from }
            }
        };
        Ok(TileChange { resource: Arc::clone(resource), tiles, origin })
    }

    fn check_tile_heap(
        &self,
        resource: &ResourceState,
        heap: &HeapState,
        offset: u64,
        tiles: u64,
    ) -> Result<(), DeviceError> {
        self.check_category(&resource.desc, heap)?;
        check::memory_type(self.tile_types(&resource.desc)?, heap.memory())?;
        check::tiles_in_heap(tiles, TILE, offset, heap.desc.size)
    }

    /// The memory types that tiles can be mapped to. Of those that a resource of the description can be placed in these
    /// are the device's own that the CPU does not see, as on Direct3D 12 and with NVIDIA's driver for Vulkan.
    pub(crate) fn tile_types(&self, desc: &ResourceDesc) -> Result<u32, DeviceError> {
        let placed = self.requirements_of(&least(desc))?.memory_types;
        let holds = |wanted: &dyn Fn(MemoryFlags) -> bool| {
            let types = self.properties.memory_types.iter().zip(0_u32..32);
            let found = types.filter(|(memory, _)| wanted(memory.flags));
            found.fold(0, |mask, (_, index)| mask | 1 << index) & placed
        };
        let is_local = |flags: MemoryFlags| flags.contains(MemoryFlags::DEVICE_LOCAL);
        let own = holds(&|flags| is_local(flags) && !flags.contains(MemoryFlags::HOST_VISIBLE));
        // On unified memory the CPU sees all of it.
        Ok(if own == 0 { holds(&is_local) } else { own })
    }

    pub(crate) fn completed(&self, queue: QueueId) -> Result<u64, DeviceError> {
        self.call(CallKind::Completed, Request::default(), || {
            self.check_queue(queue)?;
            let completed = self.timeline.lock().poll(self, queue);
            completed.ok_or_else(|| self.no_queue(queue))
        })
    }

    fn check_queue(&self, queue: QueueId) -> Result<(), DeviceError> {
        let exists = queue.index() < self.properties.queues.len();
        if exists { Ok(()) } else { Err(self.no_queue(queue)) }
    }

    fn no_queue(&self, queue: QueueId) -> DeviceError {
        DeviceError::invalid_call(
            CallRule::QueueExists,
            u64::from(queue.0),
            self.properties.queues.len() as u64,
        )
    }

    pub(crate) fn wait(&self, target: QueueSerial, timeout: Duration) -> Result<bool, DeviceError> {
        self.call(CallKind::Wait, Request::default(), || {
            // A deadline too far for the clock is none.
            let deadline = Instant::now().checked_add(timeout);
            self.check_queue(target.queue)?;
            let mut timeline = self.timeline.lock();
            loop {
                self.alive()?;
                let done = if timeout.is_zero() {
                    timeline.poll(self, target.queue).is_some_and(|completed| completed >= target.serial)
                } else {
                    timeline.advance_to(self, target)
                };
                if done {
                    timeline.observe(self, target.queue, target.serial);
                    return Ok(true);
                }
                if timeout.is_zero() {
                    return Ok(false);
                }
                let late = match (deadline, self.shares.has_fences()) {
                    // Nobody says here that another device has signalled a fence.
                    (deadline, true) => {
                        let slice = Instant::now() + PEER_SLICE;
                        let until = deadline.map_or(slice, |deadline| deadline.min(slice));
                        let timed_out = self.changed.wait_until(&mut timeline, until).timed_out();
                        timed_out && deadline.is_some_and(|deadline| deadline <= Instant::now())
                    }
                    (Some(deadline), false) => self.changed.wait_until(&mut timeline, deadline).timed_out(),
                    (None, false) => {
                        self.changed.wait(&mut timeline);
                        false
                    }
                };
                if late {
                    self.alive()?;
                    let done = timeline.completed(target.queue).is_some_and(|serial| serial >= target.serial);
                    if done {
                        timeline.observe(self, target.queue, target.serial);
                    }
                    return Ok(done);
                }
            }
        })
    }
}

/// A resource of the same kind that is not too large to be created otherwise: reserved buffers
/// may be.
fn least(desc: &ResourceDesc) -> ResourceDesc {
    match desc {
        ResourceDesc::Buffer(info) => ResourceDesc::Buffer(BufferInfo { size: 1, usage: info.usage }),
        ResourceDesc::Texture(_) => desc.clone(),
    }
}

/// Vulkan's command buffers are recorded for one submission.
fn check_once(lists: &[&List]) -> Result<(), DeviceError> {
    let is_again = |(index, list): (usize, &&List)| {
        list.is_submitted() || lists[..index].iter().any(|other| core::ptr::eq(*other, *list))
    };
    if lists.iter().enumerate().any(is_again) {
        return Err(DeviceError::broken_rule(CallRule::SubmittedOnce));
    }
    Ok(())
}

fn recorded(queue: QueueId, list: &List) -> Result<Recorded, DeviceError> {
    check::list_queue(queue, list.queue)?;
    let commands = list.closed().ok_or_else(|| DeviceError::broken_rule(CallRule::SubmittedClosed))?;
    Ok(Recorded { label: Arc::clone(&list.state.label), commands })
}

fn reserved(state: &Arc<ResourceState>) -> Result<&Arc<ResourceState>, DeviceError> {
    match &state.memory {
        Memory::Reserved(_) => Ok(state),
        _ => Err(DeviceError::broken_rule(CallRule::IsReserved)),
    }
}

impl TileChange {
    fn note_use(&self, queue: QueueId, serial: u64) {
        self.resource.last_use.raise(queue, serial);
        match &self.origin {
            TileOrigin::Heap { heap, .. } => heap.last_use.raise(queue, serial),
            TileOrigin::CopyOf { resource, .. } => resource.last_use.raise(queue, serial),
            TileOrigin::Unmapped => {}
        }
    }
}
