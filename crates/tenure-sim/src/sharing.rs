//! Memory and fences that several devices share, each as the device of a process of its own.

use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tenure_core::device::{Allowed, CallRule, DeviceError, MemoryTypeId, ResourceDesc, State, Usage};

use crate::bytes::Bytes;
use crate::device::Device;
use crate::external::{Fence, Progress};
use crate::resource::{Memory, Resource, Written};
use crate::shared::Shared;

/// Who may use a shared resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    /// The device of that number.
    Device(u64),
    /// Whoever takes it next: it was handed over in that state.
    Released(State),
    /// Its process has ended: whoever takes it next, in any state.
    Nobody,
}

/// What is wrong about who uses a shared resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handover {
    /// It was used or handed over by one that does not have it.
    NotHeld,
    /// It was taken while another had it.
    NotReleased,
    /// It was taken by the one that has it.
    AlreadyHeld,
    /// It was taken in another state than it was handed over in.
    OtherState { released: State },
}

impl fmt::Display for Handover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHeld => f.write_str("used while a peer has it, or before it was acquired from one"),
            Self::NotReleased => f.write_str("acquired before the peer that has it has handed it over"),
            Self::AlreadyHeld => {
                f.write_str("acquired by the device that has it, and that has not handed it over")
            }
            Self::OtherState { released } => {
                write!(f, "acquired in another state than {released}, in which it was handed over")
            }
        }
    }
}

/// Memory that resources of several devices have in common. It lives as long as one of them, or a handle.
pub(crate) struct SharedMemory {
    bytes: Arc<Bytes>,
    written: Arc<Written>,
    holder: Mutex<Holder>,
}

impl SharedMemory {
    pub(crate) fn new(bytes: &Arc<Bytes>, written: &Arc<Written>, device: u64) -> Arc<Self> {
        let (bytes, written) = (Arc::clone(bytes), Arc::clone(written));
        Arc::new(Self { bytes, written, holder: Mutex::new(Holder::Device(device)) })
    }

    pub(crate) fn check_use(&self, device: u64) -> Result<(), Handover> {
        match *self.holder.lock() {
            Holder::Device(holder) if holder == device => Ok(()),
            _ => Err(Handover::NotHeld),
        }
    }

    /// The device hands it over. What it does not have it takes from nobody, so that no peer is found to be wrong for it.
    pub(crate) fn release(&self, device: u64, state: State) -> Result<(), Handover> {
        let holder = &mut *self.holder.lock();
        if *holder != Holder::Device(device) {
            return Err(Handover::NotHeld);
        }
        *holder = Holder::Released(state);
        Ok(())
    }

    /// The device takes it.
    pub(crate) fn acquire(&self, device: u64, state: State) -> Result<(), Handover> {
        let holder = &mut *self.holder.lock();
        let found = match *holder {
            Holder::Nobody => Ok(()),
            Holder::Released(released) if released == state => Ok(()),
            Holder::Released(released) => Err(Handover::OtherState { released }),
            Holder::Device(holder) if holder == device => Err(Handover::AlreadyHeld),
            Holder::Device(_) => Err(Handover::NotReleased),
        };
        *holder = Holder::Device(device);
        found
    }

    /// The device's process has ended.
    fn abandon(&self, device: u64) {
        let holder = &mut *self.holder.lock();
        if *holder == Holder::Device(device) {
            *holder = Holder::Nobody;
        }
    }
}

/// What a device shares with others: what the end of its process leaves behind.
#[derive(Default)]
pub(crate) struct Shares {
    memory: Mutex<Vec<Weak<SharedMemory>>>,
    fences: Mutex<Vec<Weak<Mutex<Progress>>>>,
}

impl Shares {
    fn note_memory(&self, memory: &Arc<SharedMemory>) {
        let mut known = self.memory.lock();
        known.retain(|known| known.strong_count() > 0);
        known.push(Arc::downgrade(memory));
    }

    fn note_fence(&self, fence: &Arc<Mutex<Progress>>) {
        let mut known = self.fences.lock();
        known.retain(|known| known.strong_count() > 0);
        known.push(Arc::downgrade(fence));
    }

    /// True when others may signal what the device waits for.
    pub(crate) fn has_fences(&self) -> bool {
        !self.fences.lock().is_empty()
    }
}

/// A handle to the memory of a shared resource, as a file descriptor or an NT handle is one: it keeps the memory.
#[derive(Clone)]
pub struct SharedHandle {
    memory: Arc<SharedMemory>,
    adapter: String,
    desc: ResourceDesc,
    size: u64,
    kind: MemoryTypeId,
}

impl fmt::Debug for SharedHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedHandle").field("desc", &self.desc).finish_non_exhaustive()
    }
}

/// A handle to a fence that another device can open.
#[derive(Clone)]
pub struct SharedFence(Arc<Mutex<Progress>>);

impl fmt::Debug for SharedFence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedFence").finish_non_exhaustive()
    }
}

const SAME_ADAPTER: &str = "a handle is opened by a device of the same adapter";

impl Device {
    /// A handle to the memory of a resource of [`Usage::SHARED`], for [`import`](Self::import) by another device that
    /// plays another process.
    ///
    /// ```
    /// use tenure::{BufferDesc, Config, Gpu, Queue, State, Usage, sim};
    ///
    /// let [one, other] = [(); 2].map(|()| sim::Device::new(sim::Profile::DISCRETE));
    /// let (exporter, importer) = (Gpu::new(one.clone(), Config::default())?, Gpu::new(other.clone(), Config::default())?);
    /// let desc = BufferDesc::new(4096, Usage::COPY_SRC).name("picture").shared();
    /// let picture = exporter.create_buffer_with(&desc, &[7; 4096])?;
    /// let mut recording = exporter.record(Queue::Graphics, "hand over")?;
    /// recording.release_to_peer(&picture, State::COPY_SRC)?;
    /// let point = recording.submit()?;
    /// exporter.wait(&point, std::time::Duration::from_secs(1))?;
    ///
    /// let handle = one.export(picture.raw())?;
    /// let imported = importer.adopt_buffer(other.import(&handle, &handle.desc())?, &desc, State::COMMON)?;
    /// let mut recording = importer.record(Queue::Graphics, "read")?;
    /// recording.acquire_from_peer(&imported, State::COPY_SRC)?;
    /// let bytes = recording.read_back(&imported, 0, 4096)?;
    /// recording.submit()?;
    /// assert_eq!(bytes.wait(std::time::Duration::from_secs(1))?, [7; 4096]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] for a resource of another device, one that is not shared, or one that was imported;
    /// [`DeviceError::Lost`].
    pub fn export(&self, resource: &Resource) -> Result<SharedHandle, DeviceError> {
        let (shared, state) = (self.shared(), &resource.state);
        shared.alive()?;
        if state.device != shared.number {
            return Err(DeviceError::broken_rule(CallRule::SameDevice));
        }
        let committed = state.sharing.as_ref().zip(state.committed());
        let Some((memory, (kind, size))) = committed else {
            return Err(DeviceError::broken_rule("what is exported was created to be shared"));
        };
        if matches!(state.memory, Memory::Committed { is_counted: false, .. }) {
            return Err(DeviceError::broken_rule(
                "what was imported is exported by the device that created it",
            ));
        }
        let adapter = shared.properties.name.clone();
        Ok(SharedHandle { memory: Arc::clone(memory), adapter, desc: state.desc.clone(), size, kind })
    }

    /// A resource in the memory of another device's, for [`Gpu::adopt_buffer`](tenure_core::Gpu::adopt_buffer) and
    /// [`adopt_texture`](tenure_core::Gpu::adopt_texture). It is no new memory: nothing of it counts in the budget.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] for a handle of another adapter, [`DeviceError::InvalidDesc`] unless the description is
    /// that of the exported resource; [`DeviceError::Lost`].
    pub fn import(&self, handle: &SharedHandle, desc: &ResourceDesc) -> Result<Resource, DeviceError> {
        let shared = self.shared();
        if handle.adapter != shared.properties.name {
            return Err(DeviceError::broken_rule(SAME_ADAPTER));
        }
        if *desc != handle.desc {
            let rule = Allowed::Rule("as the exported resource is described");
            return Err(DeviceError::invalid_desc("desc", desc.usage(), rule));
        }
        let made = shared.create_imported(desc, &handle.memory, (handle.kind, handle.size))?;
        shared.shares.note_memory(&handle.memory);
        Ok(made)
    }

    /// A fence that another device made, in this one's own words: both see its value rise, whoever signals it.
    #[must_use]
    pub fn import_fence(&self, fence: &SharedFence, name: &str) -> Fence {
        self.shared().shares.note_fence(&fence.0);
        Fence::over(self.shared(), name, &fence.0)
    }

    /// Plays the end of the device's process, at any moment: what is in flight never happens, its fences stay at the
    /// values they have, and the memory that it had acquired is anybody's. Its handles are gone: nothing that it made
    /// counts as a leak. What other devices share with it lives on.
    ///
    /// From here on each of its own calls answers [`DeviceError::Lost`].
    pub fn end_process(&self) {
        let shared = self.shared();
        shared.lose("its process has ended");
        for memory in shared.shares.memory.lock().drain(..).filter_map(|memory| memory.upgrade()) {
            memory.abandon(shared.number);
        }
        for fence in shared.shares.fences.lock().drain(..).filter_map(|fence| fence.upgrade()) {
            fence.lock().forget_promises();
        }
        shared.register.clear();
    }
}

impl SharedHandle {
    /// What the exported resource was created as.
    #[must_use]
    pub fn desc(&self) -> ResourceDesc {
        self.desc.clone()
    }

    /// Devices with a resource in this memory, and handles to it.
    #[must_use]
    pub fn holders(&self) -> usize {
        Arc::strong_count(&self.memory)
    }
}

impl Fence {
    /// A handle to it, for [`Device::import_fence`]. Of a binary semaphore only one device may use what is shared at a
    /// time.
    #[must_use]
    pub fn export(&self) -> SharedFence {
        self.note_shared();
        let progress = self.progress();
        self.shared().shares.note_fence(progress);
        SharedFence(Arc::clone(progress))
    }
}

impl SharedMemory {
    pub(crate) fn parts(&self) -> (Arc<Bytes>, Arc<Written>) {
        (Arc::clone(&self.bytes), Arc::clone(&self.written))
    }
}

impl Shared {
    /// The memory of a new resource that is to be shared.
    pub(crate) fn share(
        &self,
        desc: &ResourceDesc,
        bytes: &Arc<Bytes>,
        written: &Arc<Written>,
    ) -> Option<Arc<SharedMemory>> {
        desc.usage().contains(Usage::SHARED).then(|| {
            let memory = SharedMemory::new(bytes, written, self.number);
            self.shares.note_memory(&memory);
            memory
        })
    }
}
