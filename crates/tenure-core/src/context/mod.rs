//! The state shared by all modules above: the device, its clock, its memory, and the release queue.
//!
//! Handles hold an `Arc` of the [`Context`], which is dropped with the last of them. It does not depend on
//! staging memory, command lists or uploads: a function that may need new memory gets a
//! [`MakeRoom`](crate::memory::MakeRoom) from its caller.

mod divided;
mod placing;
mod reclaim;
mod ref_shard;
mod retired;

use std::backtrace::Backtrace;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tenure_heap::InvalidProperties;

use divided::DividedTransfers;
pub(crate) use divided::{DividedTransfer, PieceWaits};
pub(crate) use placing::TextureNeeds;
pub(crate) use reclaim::Panicked;
use ref_shard::RefShardTable;
pub(crate) use ref_shard::{RefShard, RefShards};
pub(crate) use retired::Retired;
use retired::UserObjects;

use crate::Name;
use crate::callback::InCall;
use crate::config::Config;
use crate::descriptor_store::{DescriptorStore, RetiredDescriptor};
use crate::device::{
    Device, DeviceError, MAX_QUEUES, ManagerClaim, Permit, QueueId, QueueSerial, TextureCache,
};
use crate::error::{ContractRule, Error};
use crate::held_objects::HeldObjectsPool;
use crate::markers::Markers;
use crate::memory::{Backing, Location, Paging, Pools, RecordedLocation};
use crate::permit::OwnPermit as _;
use crate::record::{RecordedPlace, RecordedPlacement, RecorderSlot, TraceId};
use crate::registry::{DropTime, ObjectKind, Registry, RegistryEntry, RegistryKey};
use crate::repeated::Repeated;
use crate::ticket::AwaitedTickets;
use crate::time::{Clock, FramePacer, HeldItems, Recordings, ReleaseQueue, ReleaseStats, Stamp, SyncPoint};
use crate::unnamed::UnnamedUses;
use crate::whose::{LossReport, SubmittedRecordings};

/// Alignments of the device that the creation of resources needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alignments {
    pub(crate) constant: u64,
    pub(crate) storage: u64,
    pub(crate) acceleration_structure: u64,
    /// The alignment of scratch memory for builds.
    pub(crate) build_scratch: u64,
    pub(crate) shader_binding_table: u64,
    pub(crate) copy_pitch: u64,
    pub(crate) copy_offset: u64,
}

/// The state that all handles of one manager share. Each handle holds a reference.
pub(crate) struct Context<D: Device> {
    pub(crate) config: Config,
    pub(crate) alignments: Alignments,
    pub(crate) max_buffer_size: u64,
    pub(crate) clock: Clock,
    pub(crate) recordings: Recordings,
    pub(crate) releases: ReleaseQueue<Retired<D>>,
    pub(crate) pools: Pools<D>,
    pub(crate) descriptors: DescriptorStore<D>,
    /// The requirements of textures, by description: a program creates many textures of few descriptions.
    texture_needs: TextureCache<TextureNeeds>,
    pub(crate) held_objects: HeldObjectsPool<D>,
    pub(crate) registry: Registry,
    pub(crate) submitted: SubmittedRecordings,
    pub(crate) markers: Markers,
    loss: OnceLock<LossReport>,
    is_loss_begun: AtomicBool,
    pub(crate) recorder: RecorderSlot,
    ref_shards: RefShardTable<D>,
    pub(crate) pacer: Mutex<FramePacer>,
    pub(crate) frame: AtomicU64,
    pub(crate) waits: Waits,
    pub(crate) unnamed_uses: UnnamedUses,
    /// The tasks that await readbacks.
    pub(crate) awaited: AwaitedTickets,
    pub(crate) divided: DividedTransfers,
    /// Read-locked while the program submits work of its own, and write-locked while resources move: the
    /// program may wait there for a moving resource, whose copy would wait for the program.
    pub(crate) external_work: RwLock<()>,
    /// Set by the first call of `shutdown`: from then on nothing is created, begun or recorded.
    pub(crate) is_closed: AtomicBool,
    /// Set once the manager is dropped: objects dropped later are released as early as possible.
    pub(crate) is_shut_down: AtomicBool,
    /// Set if the GPU did not finish in time: API objects are leaked from then on.
    pub(crate) is_abandoned: AtomicBool,
    /// The number of threads that are reclaiming objects taken out of `releases`.
    reclaiming: AtomicUsize,
    /// The number of finished reclaims. It may overflow: only its changes matter.
    reclaims: AtomicUsize,
    /// Dropped objects of the program that nothing uses any more. A call that may run the program's code drops
    /// them.
    users: UserObjects,
    /// The claim to the device's manager slot, which is free again after the last handle.
    manager_claim: Option<ManagerClaim>,
    /// Declared last, so that it is dropped last: it owns everything above. Shared, so that it can be leaked
    /// when the GPU does not finish.
    device: Arc<D>,
}

/// A call into the manager. Its end, with no lock held, wakes the tasks whose readbacks have become complete.
#[must_use = "the call ends when it is dropped"]
pub(crate) struct Call<'a, D: Device> {
    context: &'a Context<D>,
    _events: InCall,
}

impl<D: Device> Drop for Call<'_, D> {
    #[inline]
    fn drop(&mut self) {
        self.context.tell_news();
    }
}

/// Number and duration of the CPU's waits for the GPU.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    pub(crate) frames: AtomicU64,
    pub(crate) nanoseconds: AtomicU64,
    /// Allocations that waited.
    pub(crate) allocations: Repeated,
}

/// The error of each call after the shutdown.
#[cold]
fn shut_down() -> Error {
    Error::ShutDown
}

impl<D: Device> Context<D> {
    pub(crate) fn new(device: D, config: Config) -> Result<Arc<Self>, Error> {
        config.validate()?;
        let properties = device.properties();
        let queues = properties.queues.len();
        if queues == 0 || queues > MAX_QUEUES {
            let rule = ContractRule::Queues { queues, max: MAX_QUEUES };
            return Err(Error::Contract { rule });
        }
        let alignments = Alignments {
            constant: checked_alignment("constant_alignment", properties.constant_alignment)?,
            // Shaders may read a storage buffer through a typed view.
            storage: checked_alignment("storage_alignment", properties.storage_alignment)?
                .max(checked_alignment("typed_alignment", properties.descriptors.typed_alignment)?),
            acceleration_structure: checked_alignment(
                "acceleration_structure_alignment",
                properties.acceleration_structure_alignment,
            )?,
            build_scratch: checked_alignment("scratch_alignment", properties.rays.scratch_alignment)?,
            shader_binding_table: checked_alignment(
                "group_base_alignment",
                properties.rays.group_base_alignment,
            )?,
            copy_pitch: checked_alignment("copy_pitch_alignment", properties.copy_pitch_alignment)?,
            copy_offset: checked_alignment("copy_offset_alignment", properties.copy_offset_alignment)?,
        };
        let max_buffer_size = properties.max_buffer_size;
        let manager_claim = device.single_manager().take().ok_or(Error::DeviceInUse)?;
        // The device may have been in use before.
        let completed: Result<Vec<u64>, DeviceError> =
            (0_u8..).map(QueueId).take(queues).map(|queue| device.completed(queue)).collect();
        let pools = Pools::new(&device, &config, Permit::own())?;
        let descriptors = DescriptorStore::new(&config, &properties.descriptors)?;
        Ok(Arc::new(Self {
            pacer: Mutex::new(FramePacer::new(config.frames.in_flight)),
            alignments,
            max_buffer_size,
            clock: Clock::starting_at(&completed?),
            recordings: Recordings::new(),
            releases: ReleaseQueue::new(),
            pools,
            descriptors,
            texture_needs: TextureCache::new(),
            held_objects: HeldObjectsPool::default(),
            registry: Registry::new(config.released_history),
            submitted: SubmittedRecordings::default(),
            markers: Markers::new(&device),
            loss: OnceLock::new(),
            is_loss_begun: AtomicBool::new(false),
            recorder: RecorderSlot::default(),
            ref_shards: RefShardTable::new(),
            frame: AtomicU64::new(0),
            waits: Waits::default(),
            unnamed_uses: UnnamedUses::default(),
            awaited: AwaitedTickets::default(),
            divided: DividedTransfers::default(),
            external_work: RwLock::default(),
            is_closed: AtomicBool::new(false),
            is_shut_down: AtomicBool::new(false),
            is_abandoned: AtomicBool::new(false),
            reclaiming: AtomicUsize::new(0),
            reclaims: AtomicUsize::new(0),
            users: UserObjects::default(),
            config,
            manager_claim: Some(manager_claim),
            device: Arc::new(device),
        }))
    }

    /// Returns an error after the shutdown.
    #[inline]
    pub(crate) fn check_open(&self) -> Result<(), Error> {
        if self.is_closed.load(Ordering::Acquire) { Err(shut_down()) } else { Ok(()) }
    }

    /// The device.
    #[inline]
    pub(crate) fn device(&self) -> &D {
        &self.device
    }

    /// The parameters of paging.
    pub(crate) fn paging(&self) -> Paging<'_, D> {
        let (clock, objects) = (&self.clock, &self.pools.objects);
        Paging { device: self.device(), clock, objects, max_wait: self.config.pools.max_wait }
    }

    /// The number of the latest frame.
    pub(crate) fn current_frame(&self) -> u64 {
        self.frame.load(Ordering::Relaxed)
    }

    /// Registers a new object.
    pub(crate) fn register(&self, name: &Name, kind: ObjectKind, bytes: u64) -> RegistryKey {
        self.register_resource(name, Name::default(), kind, bytes, (RecordedLocation::None, 0))
    }

    /// Registers a new view of a resource; `of` is the key of the resource's registry entry.
    pub(crate) fn register_view(&self, name: &Name, of: u64) -> RegistryKey {
        self.register_resource(name, Name::default(), ObjectKind::View, 0, (RecordedLocation::ViewOf(of), 0))
    }

    /// Registers a new resource at a GPU address, which is 0 for none.
    #[inline(always)]
    pub(crate) fn register_resource(
        &self,
        name: &Name,
        tag: Name,
        kind: ObjectKind,
        bytes: u64,
        (place, address): (RecordedLocation, u64),
    ) -> RegistryKey {
        let backtrace = self.config.leak_backtraces.then(|| Box::new(Backtrace::force_capture()));
        let frame = self.current_frame();
        let entry = RegistryEntry::new(name.clone(), kind, bytes, frame);
        let entry = RegistryEntry { backtrace, tag, place, address, ..entry };
        self.registry.insert(crate::thread_slot::current(), entry)
    }

    /// Removes the entry of an object that is being dropped.
    #[inline]
    pub(crate) fn unregister(&self, key: RegistryKey) {
        self.registry.remove(key, self.drop_time());
    }

    /// Notes the new place and GPU address of an object that has moved.
    pub(crate) fn note_move(&self, key: RegistryKey, to: (RecordedLocation, u64)) {
        self.registry.set_place(key, to, self.drop_time());
    }

    #[inline]
    fn drop_time(&self) -> DropTime {
        DropTime { frame: self.current_frame(), submissions: self.clock.stamp() }
    }

    /// Reports the place of a resource to the recorder, if there is one.
    #[inline]
    pub(crate) fn record_placement(
        &self,
        trace: TraceId,
        labels: (&Name, &Name),
        kind: ObjectKind,
        backing: &Backing<D>,
    ) {
        if let Some(id) = trace.get() {
            self.recorder.tell_with(|recorder| recorder.placed(&self.placement(id, labels, kind, backing)));
        }
    }

    #[cold]
    fn placement<'a>(
        &self,
        id: u64,
        (name, tag): (&'a Name, &'a Name),
        kind: ObjectKind,
        backing: &Backing<D>,
    ) -> RecordedPlacement<'a> {
        let place = self.recorded_place(backing.key(), &backing.location);
        RecordedPlacement { id, name: name.as_str(), tag: tag.as_str(), kind, place }
    }

    /// A place in memory, by the key of its backing, for the recorder.
    pub(crate) fn recorded_place(&self, key: u64, location: &Location<D>) -> RecordedPlace {
        let mut place = RecordedPlace {
            key,
            location: location.kind(),
            memory_type: None,
            pool: None,
            block: None,
            offset: None,
            reserved: location.reserved(),
        };
        match location.place() {
            RecordedLocation::None | RecordedLocation::ViewOf(_) | RecordedLocation::Elsewhere(_) => {}
            RecordedLocation::Memory { memory, offset, .. } => {
                place.memory_type = Some(memory.0);
                place.offset = offset.map(u64::from);
            }
            RecordedLocation::Pool { pool, block, offset, .. } => {
                if let Some((class, block)) = self.pools.block_of(pool, block) {
                    place.memory_type = Some(class.memory.0);
                    place.pool = Some(self.pools.order_of(pool));
                    place.block = Some(block);
                    place.offset = Some(offset);
                }
            }
        }
        place
    }

    /// Queues a dropped object for release.
    #[inline]
    pub(crate) fn release(&self, retired: Retired<D>, born: Stamp, bytes: u64) {
        self.releases.push(&self.recordings, retired, born, bytes);
        self.settle();
    }

    /// Queues an object for release that was dropped before the GPU could use it.
    #[inline]
    pub(crate) fn release_unused(&self, retired: Retired<D>, bytes: u64) {
        self.releases.push_unused(retired, bytes);
        self.settle();
    }

    /// Queues an object for release after `point` alone: the caller knows all its uses.
    pub(crate) fn release_after(&self, retired: Retired<D>, point: SyncPoint, bytes: u64) {
        self.releases.push_after(retired, point, bytes);
        self.settle();
    }

    /// Queues dropped descriptors for release.
    #[inline]
    pub(crate) fn release_descriptors(&self, retired: RetiredDescriptor<D>, born: Stamp) {
        self.descriptors.releases.push(&self.recordings, retired, born, 0);
        self.settle();
    }

    /// Counts of dropped objects: resources and descriptors.
    pub(crate) fn release_stats(&self) -> ReleaseStats {
        let (mut stats, descriptors) = (self.releases.stats(), self.descriptors.releases.stats());
        stats.pushed += descriptors.pushed;
        stats.released += descriptors.released;
        stats
    }

    /// The dropped objects that await release, by holder.
    pub(crate) fn held(&self) -> Vec<HeldItems> {
        let mut held = self.releases.held(&self.recordings);
        held.extend(self.descriptors.releases.held(&self.recordings));
        held.sort_by_key(|items| items.holder);
        held.dedup_by(|next, first| {
            let is_same = next.holder == first.holder;
            if is_same {
                first.count += next.count;
                first.bytes += next.bytes;
            }
            is_same
        });
        held
    }

    /// Checks that a sync point was submitted, and by this manager.
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

    /// Adds the name of the object to an error, and notes a loss of the device.
    pub(crate) fn refused(&self, name: &Name, source: DeviceError) -> Error {
        let answer: Result<(), _> = self.clock.note_loss(Err(source.clone()));
        debug_assert!(answer.is_err());
        Error::device(name, self.explained(source))
    }

    /// An error, with all that is known about it in case of a loss of the device.
    fn explained(&self, error: DeviceError) -> DeviceError {
        match (&error, self.loss()) {
            (DeviceError::Lost { .. }, Some(loss)) => DeviceError::Lost { reason: loss.to_string() },
            _ => error,
        }
    }

    /// The report of the loss of the device, made and logged by the first call after it; `None` meanwhile for others.
    pub(crate) fn loss(&self) -> Option<&LossReport> {
        let reason = self.clock.loss()?;
        // The messages of the driver and the log are for the program, which may ask for the report.
        if self.loss.get().is_none() && !self.is_loss_begun.swap(true, Ordering::AcqRel) {
            let report = LossReport::collect(
                reason.to_owned(),
                self.device(),
                &self.clock,
                (&self.registry, &self.submitted),
            );
            self.clock.explain_loss(report.to_string());
            for fault in &self.loss.get_or_init(|| report).faults {
                event!(error, fault = %fault, "a fault of the GPU caused the loss of the device");
            }
            for (queue, recording, progress) in self.loss.get().into_iter().flat_map(LossReport::running) {
                let name = &recording.name;
                event!(error, recording = %name, queue, progress = %progress, "the GPU had begun a recording and not completed it");
            }
        }
        self.loss.get()
    }

    /// Polls the clock, and wakes the tasks whose readbacks are complete.
    pub(crate) fn poll(&self) -> Result<SyncPoint, DeviceError> {
        let polled = self.clock.poll(self.device());
        self.tell_news();
        polled.map_err(|error| self.explained(error))
    }

    /// Blocks until `point` is complete or the time is over; true when it is complete. Also releases objects
    /// that the GPU has finished with on any queue, because a program may make no other call than waits.
    ///
    /// # Errors
    /// [`DeviceError::Lost`].
    pub(crate) fn wait(&self, point: &SyncPoint, timeout: Duration) -> Result<bool, DeviceError> {
        let waited = self.clock.wait(self.device(), point, timeout);
        self.reclaim_now();
        self.tell_news();
        waited.map_err(|error| self.explained(error))
    }

    /// Begins a call into the manager.
    #[inline]
    pub(crate) fn call(&self) -> Call<'_, D> {
        Call { context: self, _events: InCall::begin() }
    }

    /// Tells the recorder, and wakes the tasks whose readbacks are complete as far as the clock knows; all tasks, once the device is
    /// lost. Must be called without locks, because wakers are the program's code. One atomic load when nothing
    /// is new.
    #[inline]
    pub(crate) fn tell_news(&self) {
        if self.clock.take_news() {
            self.tell_found_news();
        }
    }

    #[cold]
    fn tell_found_news(&self) {
        let _logged = self.loss();
        self.recorder.tell_with(|recorder| recorder.completed(&self.clock.completed()));
        self.awaited.wake(&self.clock);
    }

    /// Releases the objects that the GPU has finished with, except the program's own.
    pub(crate) fn reclaim_now(&self) {
        self.poll_clock();
        self.reclaim_memory();
    }

    /// Like [`reclaim_now`](Self::reclaim_now), before a driver allocation while no frame is open: a program that loads
    /// between frames may make no other call that releases objects.
    pub(crate) fn reclaim_without_frames(&self) {
        if self.pacer.lock().open() == 0 {
            self.reclaim_now();
        }
    }

    /// Polls the clock.
    pub(crate) fn poll_clock(&self) {
        // The next call reports a loss of the device, which the clock notes.
        let _noted = self.clock.poll(self.device());
    }
}

fn checked_alignment(property: &'static str, value: u64) -> Result<u64, Error> {
    if value.is_power_of_two() {
        Ok(value)
    } else {
        Err(InvalidProperties::NotPowerOfTwo { property, value }.into())
    }
}
