//! What the manager and all handles share.

use std::backtrace::Backtrace;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::garbage::UserObjects;
use super::{Garbage, KnownLinks};
use crate::command::Contexts;
use crate::descriptor::DescriptorStore;
use crate::device::{
    Device, DeviceError, HeapBudget, MAX_QUEUES, ManagerSeat, Permit, QueueId, QueueSerial, Requirements,
    ResourceDesc, TileUpdate,
};
use crate::memory::{
    Class, Fall, Home, MemoryUse, PoolKind, Pools, RangeRequest, ResourceRequest, Spot, Store,
};
use crate::record::RecorderSlot;
use crate::registry::{ObjectKind, Record, RecordKey, Registry};
use crate::resource::native::Native;
use crate::stats::FrameMeter;
use crate::time::{Clock, FramePacer, Recordings, ReleaseQueue, Stamp, SyncPoint};
use crate::transfer::Uploads;
use crate::transient::Transients;
use crate::upload::{PagePool, Readbacks, Rings};
use crate::{Config, Error, Name, OutOfMemory};

/// Alignments of the device that creation needs, at hand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alignments {
    pub(crate) constant: u64,
    pub(crate) storage: u64,
    pub(crate) acceleration_structure: u64,
    pub(crate) copy_pitch: u64,
    pub(crate) copy_offset: u64,
}

/// One manager's parts. Handles hold it, so that it lives as long as the last of them.
pub(crate) struct Shared<D: Device> {
    pub(crate) config: Config,
    pub(crate) alignments: Alignments,
    pub(crate) max_buffer_size: u64,
    pub(crate) clock: Clock,
    pub(crate) recordings: Recordings,
    pub(crate) releases: ReleaseQueue<Garbage<D>>,
    pub(crate) pools: Pools<D>,
    pub(crate) registry: Registry,
    pub(crate) recorder: RecorderSlot,
    pub(crate) contexts: Contexts<D>,
    /// Pages for constants, between recordings.
    pub(crate) constants: PagePool<D>,
    pub(crate) rings: Rings,
    pub(crate) uploads: Uploads<D>,
    pub(crate) readbacks: Readbacks<D>,
    pub(crate) descriptors: DescriptorStore<D>,
    /// The manager's own, which keeps handles, and so this.
    transients: OnceLock<Weak<Transients<D>>>,
    /// The manager's own, likewise.
    pub(super) links: KnownLinks<D>,
    pub(crate) pacer: Mutex<FramePacer>,
    pub(crate) frame: AtomicU64,
    pub(crate) waits: Waits,
    pub(crate) meter: Mutex<FrameMeter>,
    /// Set once the manager is gone: whatever is dropped then is released as soon as it can be.
    pub(crate) is_shut_down: AtomicBool,
    /// Objects of the program's own that are to go, until a call that may run its code.
    pub(super) users: UserObjects,
    /// The manager's place at its device, given back with the last handle.
    pub(super) seat: Option<ManagerSeat>,
    /// Declared last, because everything above belongs to it. Shared, so that it can be kept
    /// alive for good when the GPU does not finish.
    pub(crate) device: Arc<D>,
}

/// How often and how long the CPU waited for the GPU.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    pub(crate) frames: AtomicU64,
    pub(crate) nanoseconds: AtomicU64,
}

impl<D: Device> Shared<D> {
    pub(crate) fn new(device: D, config: Config) -> Result<Arc<Self>, Error> {
        config.validate()?;
        let properties = device.properties();
        let queues = properties.queues.len();
        if queues == 0 || queues > MAX_QUEUES {
            return Err(Error::Contract { rule: "1 to 8 queues", value: queues as u64 });
        }
        let alignments = Alignments {
            constant: checked_alignment("constant_alignment", properties.constant_alignment)?,
            // Of what shaders read, some is seen as texels.
            storage: checked_alignment("storage_alignment", properties.storage_alignment)?
                .max(checked_alignment("typed_alignment", properties.descriptors.typed_alignment)?),
            acceleration_structure: checked_alignment(
                "acceleration_structure_alignment",
                properties.acceleration_structure_alignment,
            )?,
            copy_pitch: checked_alignment("copy_pitch_alignment", properties.copy_pitch_alignment)?,
            copy_offset: checked_alignment("copy_offset_alignment", properties.copy_offset_alignment)?,
        };
        let max_buffer_size = properties.max_buffer_size;
        let seat = device.manager_slot().take().ok_or(Error::DeviceInUse)?;
        // A device may have been in use before.
        let completed: Result<Vec<u64>, DeviceError> =
            (0_u8..).map(QueueId).take(queues).map(|queue| device.completed(queue)).collect();
        let contexts = Contexts::new(properties);
        let uploads = Uploads::new(properties);
        let pools = Pools::new(&device)?;
        let descriptors = DescriptorStore::new(&config, &properties.descriptors)?;
        Ok(Arc::new(Self {
            pacer: Mutex::new(FramePacer::new(config.frames_in_flight)),
            alignments,
            max_buffer_size,
            clock: Clock::starting_at(&completed?),
            recordings: Recordings::new(),
            releases: ReleaseQueue::new(),
            pools,
            registry: Registry::default(),
            recorder: RecorderSlot::default(),
            contexts,
            constants: PagePool::default(),
            rings: Rings::default(),
            uploads,
            readbacks: Readbacks::new(),
            descriptors,
            transients: OnceLock::new(),
            links: KnownLinks::new(),
            frame: AtomicU64::new(0),
            waits: Waits::default(),
            meter: Mutex::new(FrameMeter::default()),
            is_shut_down: AtomicBool::new(false),
            users: UserObjects::default(),
            config,
            seat: Some(seat),
            device: Arc::new(device),
        }))
    }

    pub(super) fn link_transients(&self, transients: &Arc<Transients<D>>) {
        // Once, by the manager that made both.
        let _was_empty = self.transients.set(Arc::downgrade(transients));
    }

    /// The transient heaps; `None` when the manager is gone, and all that was transient.
    pub(crate) fn transients(&self) -> Option<Arc<Transients<D>>> {
        let is_over = self.is_shut_down.load(Ordering::Acquire);
        self.transients.get().filter(|_| !is_over).and_then(Weak::upgrade)
    }

    /// The device.
    #[inline]
    pub(crate) fn device(&self) -> &D {
        &self.device
    }

    /// The frame that began last.
    pub(crate) fn current_frame(&self) -> u64 {
        self.frame.load(Ordering::Relaxed)
    }

    /// Takes note of a new object.
    #[inline]
    pub(crate) fn register(&self, name: &Name, kind: ObjectKind, bytes: u64) -> RecordKey {
        let backtrace = self.config.leak_backtraces.then(|| Box::new(Backtrace::force_capture()));
        self.registry.insert(Record {
            name: name.clone(),
            kind,
            bytes,
            frame: self.current_frame(),
            backtrace,
        })
    }

    /// Queues what was dropped.
    #[inline]
    pub(crate) fn release(&self, garbage: Garbage<D>, born: Stamp, bytes: u64) {
        self.releases.push(&self.recordings, garbage, born, bytes);
        self.settle();
    }

    /// Queues what was dropped before anything on the GPU could use it.
    #[inline]
    pub(crate) fn release_unused(&self, garbage: Garbage<D>, bytes: u64) {
        self.releases.push_unused(garbage, bytes);
        self.settle();
    }

    /// Refuses to wait for what was never submitted, or elsewhere.
    pub(crate) fn check_submitted(&self, point: &SyncPoint) -> Result<(), Error> {
        if self.clock.is_foreign(point) {
            return Err(Error::Foreign { name: "sync point".into() });
        }
        let submitted = self.clock.submitted();
        let never = point.iter().find(|at| at.serial > submitted.serial(at.queue));
        never.map_or(Ok(()), |QueueSerial { queue, serial }| {
            Err(Error::NeverSubmitted { queue, serial, newest: submitted.serial(queue) })
        })
    }

    /// Names the object in an error, and remembers a loss of the device.
    pub(crate) fn refused(&self, name: &Name, source: DeviceError) -> Error {
        let answer: Result<(), _> = self.clock.note_loss(Err(source.clone()));
        debug_assert!(answer.is_err());
        Error::device(name, source)
    }

    /// What a resource needs from its heap.
    #[inline]
    pub(crate) fn requirements(&self, name: &Name, desc: &ResourceDesc) -> Result<Requirements, Error> {
        self.clock.check().map_err(|source| Error::device(name, source))?;
        desc.validate().map_err(|source| Error::device(name, source))?;
        self.device.requirements(desc).map_err(|source| self.refused(name, source))
    }

    /// What [`place_range`](Self::place_range) comes to in steady state, without anything that may fail.
    #[inline]
    pub(crate) fn take_range(
        &self,
        kind: PoolKind,
        memory_use: MemoryUse,
        size: u64,
        align: u64,
    ) -> Option<(Spot, Arc<Native<D>>)> {
        if self.clock.loss().is_some() {
            return None;
        }
        self.pools.take_range(self.device(), &self.config, (kind, memory_use), size, align)
    }

    #[cold]
    pub(crate) fn place_range(&self, request: RangeRequest<'_>) -> Result<Home<D>, Error> {
        self.clock.check().map_err(|source| Error::device(request.name, source))?;
        let found = self.pools.place_range(self.device(), &self.config, request, || self.make_room());
        found.map_err(|fall| self.fallen(request.name, request.size, request.align, fall))
    }

    #[inline]
    pub(crate) fn place_resource(&self, request: ResourceRequest<'_>) -> Result<Home<D>, Error> {
        self.clock.check().map_err(|source| Error::device(request.name, source))?;
        let found = self.pools.place_resource(self.device(), &self.config, request, || self.make_room());
        found.map_err(|fall| self.fallen(request.name, request.needs.size, request.needs.alignment, fall))
    }

    /// Takes memory for tiles.
    pub(crate) fn place_tiles(
        &self,
        name: &Name,
        needs: &Requirements,
        size: u64,
        tile: u64,
    ) -> Result<(Spot, Store<D>), Error> {
        self.clock.check().map_err(|source| Error::device(name, source))?;
        let found =
            self.pools.place_tiles(self.device(), &self.config, needs, size, tile, || self.make_room());
        found.map_err(|fall| self.fallen(name, size, tile, fall))
    }

    /// Asks how far the GPU is, and wakes whoever waits for what is complete.
    pub(crate) fn poll(&self) -> Result<SyncPoint, DeviceError> {
        let polled = self.clock.poll(self.device());
        self.readbacks.wake(&self.clock);
        polled
    }

    /// What may be had back at once: what the GPU is done with, and idle blocks.
    pub(crate) fn make_room(&self) {
        self.poll_clock();
        self.constants.release_free(self);
        self.purge_memory();
        self.pools.reclaim(self.device());
    }

    /// Gives back what the GPU is done with, but for objects of the program's own.
    pub(crate) fn reclaim(&self) {
        self.poll_clock();
        self.purge_memory();
    }

    /// Asks how far the GPU is.
    fn poll_clock(&self) {
        // A lost device is noted by the clock, and the next attempt says so.
        let _noted = self.clock.poll(self.device());
    }

    /// Submits the uploads that are pending, so that whatever is submitted next finds them.
    #[inline]
    pub(crate) fn flush_pending_uploads(&self) -> Result<(), Error> {
        if self.uploads.is_pending() { self.uploads.flush(self).map(drop) } else { Ok(()) }
    }

    pub(crate) fn fallen(&self, name: &Name, size: u64, alignment: u64, fall: Fall) -> Error {
        match fall {
            Fall::Refused(source) => self.refused(name, source),
            Fall::Short { class, refusal } => {
                let error = self.shortage(name, size, alignment, class, refusal);
                if let Some(times) = self.pools.notices.failure(class) {
                    tracing::warn!(target: "tenure", %error, times, "allocation failed");
                }
                Error::OutOfMemory(Box::new(error))
            }
        }
    }

    /// What there is to say about memory that is short.
    pub(crate) fn shortage(
        &self,
        name: &Name,
        size: u64,
        alignment: u64,
        class: Class,
        refusal: DeviceError,
    ) -> OutOfMemory {
        let largest_free = self.pools.find(class).map_or(0, |shards| shards.totals().largest_free);
        let budget = self.budget_of(class);
        OutOfMemory { name: name.clone(), size, alignment, class, budget, largest_free, refusal }
    }

    fn budget_of(&self, class: Class) -> HeapBudget {
        let types = &self.device().properties().memory_types;
        let heap = types.get(usize::from(class.memory.0)).map(|memory_type| usize::from(memory_type.heap));
        let budgets = self.device.budget().unwrap_or_default();
        heap.and_then(|heap| budgets.get(heap)).copied().unwrap_or_default()
    }

    /// Changes tile mappings as a submission. It counts as a recording while it is being submitted,
    /// so that what is dropped meanwhile outlives it.
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

fn checked_alignment(rule: &'static str, value: u64) -> Result<u64, Error> {
    if value.is_power_of_two() { Ok(value) } else { Err(Error::Contract { rule, value }) }
}
