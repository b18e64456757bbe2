//! Finding memory for resources.

use std::sync::Arc;

use smallvec::SmallVec;
use tenure_heap::Answer;

use super::Context;
use crate::Name;
use crate::device::{
    Device, DeviceError, HeapBudget, MAX_QUEUES, Permit, QueueId, QueueSerial, Requirements, ResourceDesc,
    TextureInfo, TileUpdate,
};
use crate::error::{Error, OutOfMemory};
use crate::memory::policy::PlacementKind;
use crate::memory::{
    AllocationFailure, AllocationFlags, Backing, Class, Engine, HeapBlock, Location, MakeRoom, MemoryUse,
    MovableBacking, RangeRequest, ResourceRequest, Suballocation, TileRequest, Wanted,
};
use crate::permit::OwnPermit as _;
use crate::time::SyncPoint;

/// The requirements of a texture, and its pool.
#[derive(Clone, Debug)]
pub(crate) struct TextureNeeds {
    pub(crate) needs: Requirements,
    /// The class to try first for a texture without special traits or flags.
    pub(crate) usual: Option<Class>,
}

/// Makes room for a move, by releasing unused memory alone.
struct RoomToMove<'a, D: Device>(&'a Context<D>);

impl<D: Device> MakeRoom for RoomToMove<'_, D> {
    fn make_room(&self, _: Option<Wanted>) {
        let context = self.0;
        context.reclaim_now();
        let _reclaiming = context.begin_reclaim();
        context.pools.free_empty(context.device());
    }

    fn release_completed(&self) {
        self.0.reclaim_now();
    }

    fn reclaims(&self) -> usize {
        self.0.reclaims()
    }

    fn wait_for_room(&self, _: Option<Wanted>, _: usize) -> bool {
        false
    }
}

impl<D: Device> Context<D> {
    /// The memory engine.
    #[inline]
    pub(crate) fn engine(&self) -> Engine<'_, D> {
        Engine { pools: &self.pools, device: self.device(), config: &self.config }
    }

    /// The requirements of a resource on its heap.
    #[inline]
    pub(crate) fn requirements(&self, name: &Name, desc: &ResourceDesc) -> Result<Requirements, Error> {
        match desc {
            ResourceDesc::Texture(info) => self.texture_needs(name, (desc, info)).map(|found| found.needs),
            ResourceDesc::Buffer(_) => {
                self.clock.check().map_err(|source| Error::device(name, source))?;
                self.ask_requirements(desc).map_err(|source| self.refused(name, source))
            }
        }
    }

    fn ask_requirements(&self, desc: &ResourceDesc) -> Result<Requirements, DeviceError> {
        desc.validate()?;
        self.device.requirements(desc)
    }

    /// The requirements of a texture, with the class that usually serves it.
    #[inline]
    pub(crate) fn texture_needs(
        &self,
        name: &Name,
        (desc, info): (&ResourceDesc, &TextureInfo),
    ) -> Result<TextureNeeds, Error> {
        self.clock.check().map_err(|source| Error::device(name, source))?;
        let ask = || {
            let needs = self.ask_requirements(desc)?;
            let usual = self.engine().usual_class(desc, &needs);
            Ok(TextureNeeds { needs, usual })
        };
        self.texture_needs.get_or_ask(info, ask).map_err(|source| self.refused(name, source))
    }

    /// A range of a shared buffer. In steady state without fallible steps.
    // Always, whatever the number of callers in a program: a call costs more than what the creation of a buffer has left.
    #[inline(always)]
    pub(crate) fn place_range(
        &self,
        room: &dyn MakeRoom,
        request: RangeRequest<'_>,
    ) -> Result<Backing<D>, Error> {
        let usual = if self.clock.loss().is_none() { self.engine().take_range(&request) } else { None };
        match usual {
            Some((range, api_resource)) => Ok(Backing { api_resource, location: Location::Range(range) }),
            None => self.place_new_range(room, request),
        }
    }

    #[cold]
    fn place_new_range(&self, room: &dyn MakeRoom, request: RangeRequest<'_>) -> Result<Backing<D>, Error> {
        self.clock.check().map_err(|source| Error::device(request.name, source))?;
        let found = self.engine().place_range(request, room);
        found.map_err(|fall| self.fallen(request.name, request.size, request.align, fall))
    }

    /// Memory for a resource.
    pub(crate) fn place_resource(
        &self,
        room: &dyn MakeRoom,
        request: ResourceRequest<'_>,
    ) -> Result<Backing<D>, Error> {
        self.place_resource_in(room, request, None)
    }

    /// As [`place_resource`](Self::place_resource). `usual`: the class to try first, if it is known.
    #[inline]
    pub(crate) fn place_resource_in(
        &self,
        room: &dyn MakeRoom,
        request: ResourceRequest<'_>,
        usual: Option<Class>,
    ) -> Result<Backing<D>, Error> {
        self.clock.check().map_err(|source| Error::device(request.name, source))?;
        let found = match usual {
            Some(class) => self.engine().place_usual(request, class, room),
            None => self.engine().place(request, room),
        };
        found.map_err(|fall| self.fallen(request.name, request.needs.size, request.needs.alignment, fall))
    }

    /// Another place for a movable resource, in its best memory and within the budget, without waiting or
    /// evicting anything; `flags` adds restrictions. `None` if there is none, which is not an error.
    pub(crate) fn place_again(
        &self,
        movable: &MovableBacking<D>,
        flags: AllocationFlags,
    ) -> Option<Backing<D>> {
        let flags = flags
            | AllocationFlags::WITHIN_BUDGET
            | AllocationFlags::DEVICE_LOCAL_ONLY
            | AllocationFlags::NEVER_WAIT;
        let (needs, name, traits) = (&movable.needs, &movable.name, movable.needs.traits);
        let room = &RoomToMove(self);
        let found = match (needs.placement, &needs.desc) {
            (PlacementKind::Range(kind), ResourceDesc::Buffer(alone)) => {
                let (memory_use, is_filled) = (MemoryUse::GpuOnly, false);
                let (size, align) = (needs.size, needs.alignment);
                let request =
                    RangeRequest { kind, memory_use, is_filled, size, align, alone, flags, traits, name };
                self.engine().place_range(request, room)
            }
            (placement, desc) => {
                let mut found = self.device.requirements(desc).ok()?;
                // The program may have requested a larger alignment.
                found.alignment = found.alignment.max(needs.alignment);
                let placement = if found.wants_dedicated() { PlacementKind::Committed } else { placement };
                let request = ResourceRequest::new(desc, &found, placement, name);
                self.engine().place(ResourceRequest { flags, traits, ..request }, room)
            }
        };
        found.ok()
    }

    /// Takes memory for tiles.
    pub(crate) fn place_tiles(
        &self,
        room: &dyn MakeRoom,
        name: &Name,
        request: TileRequest<'_>,
    ) -> Result<(Suballocation, Arc<HeapBlock<D>>), Error> {
        self.clock.check().map_err(|source| Error::device(name, source))?;
        let found = self.engine().place(request, room);
        found.map_err(|fall| self.fallen(name, request.size, request.tile, fall))
    }

    pub(crate) fn fallen(&self, name: &Name, size: u64, alignment: u64, fall: AllocationFailure) -> Error {
        match fall {
            AllocationFailure::Refused(source) => self.refused(name, source),
            AllocationFailure::Short { class, answers } => {
                let error = self.shortage(name, size, alignment, class, answers);
                if let Some(times) = self.pools.notices.failure(class) {
                    event!(warn, %error, times, "allocation failed");
                }
                Error::OutOfMemory(Box::new(error))
            }
        }
    }

    /// Details of a shortage of memory, for the error.
    pub(crate) fn shortage(
        &self,
        name: &Name,
        size: u64,
        alignment: u64,
        class: Class,
        answers: Vec<Answer<DeviceError>>,
    ) -> OutOfMemory {
        let largest_free = self.pools.find(class).map_or(0, |shards| shards.totals().pool.largest_free);
        let budget = self.budget_of(class);
        let open = self.recordings.list();
        OutOfMemory {
            name: name.clone(),
            size,
            alignment,
            class,
            budget,
            largest_free,
            answers,
            pending_bytes: self.releases.stats().pending_bytes,
            open_recordings: open
                .iter()
                .take(OutOfMemory::MOST_NAMED)
                .map(|recording| recording.name.clone())
                .collect(),
        }
    }

    fn budget_of(&self, class: Class) -> HeapBudget {
        let types = &self.device().properties().memory_types;
        let heap = types.get(usize::from(class.memory.0)).map(|memory_type| usize::from(memory_type.heap));
        let budgets = self.pools.objects.budgets.current(self.device());
        heap.and_then(|heap| budgets.get(heap)).copied().unwrap_or_default()
    }

    /// Changes tile mappings as a submission. It counts as a recording while it is being submitted, so that
    /// objects dropped meanwhile outlive it.
    pub(crate) fn submit_tiles(
        &self,
        queue: QueueId,
        updates: &[TileUpdate<'_, D>],
        after: &SyncPoint,
    ) -> Result<QueueSerial, DeviceError> {
        let recording = self.recordings.open("tile mappings", self.current_frame());
        let waits: SmallVec<[_; MAX_QUEUES]> = after.iter().filter(|wait| wait.queue != queue).collect();
        let submitted = self
            .clock
            .submit(queue, |serial| self.device.update_tiles(Permit::own(), queue, updates, &waits, serial));
        self.recordings.close(recording);
        submitted
    }
}
