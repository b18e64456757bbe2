//! Memory and fences that several devices share; each device simulates a process.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use tenure_core::device::{Allowed, CallRule, DeviceError, MemoryTypeId, ResourceDesc};

use crate::calls::{CallKind, Request};
use crate::device::Device;
use crate::fence::Fence;
use crate::memory::{Memory, SharedMemory};
use crate::points::Progress;
use crate::resource::Resource;

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
    /// A handle to the memory of a resource of [`Usage::SHARED`](tenure_core::Usage::SHARED), for
    /// [`import`](Self::import) by another device that plays another process.
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
        let (shared, state) = (self.queues(), &resource.state);
        shared.alive()?;
        if state.device != shared.number {
            return Err(DeviceError::broken_rule(CallRule::SameDevice));
        }
        let committed = state.sharing.as_ref().zip(state.committed());
        let Some((memory, (kind, size))) = committed else {
            return Err(DeviceError::broken_rule("an exported resource was created to be shared"));
        };
        if matches!(state.memory, Memory::Committed { is_counted: false, .. }) {
            return Err(DeviceError::broken_rule(
                "an imported resource is exported only by the device that created it",
            ));
        }
        let adapter = shared.properties.name.clone();
        Ok(SharedHandle { memory: Arc::clone(memory), adapter, desc: state.desc.clone(), size, kind })
    }

    /// A resource in the memory of another device's, for [`Gpu::adopt_buffer`](tenure_core::Gpu::adopt_buffer)
    /// and [`adopt_texture`](tenure_core::Gpu::adopt_texture). It is not new memory, and does not count in the
    /// budget.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] for a handle of another adapter, [`DeviceError::InvalidDesc`] unless the description is
    /// that of the exported resource; [`DeviceError::Lost`].
    pub fn import(&self, handle: &SharedHandle, desc: &ResourceDesc) -> Result<Resource, DeviceError> {
        let queues = self.queues();
        if handle.adapter != queues.properties.name {
            return Err(DeviceError::broken_rule(SAME_ADAPTER));
        }
        if *desc != handle.desc {
            let rule = Allowed::Rule("as the exported resource is described");
            return Err(DeviceError::invalid_desc("desc", desc.usage(), rule));
        }
        let (memory, size) = (handle.kind, handle.size);
        let request = Request::for_memory(size, memory, desc);
        let create = || queues.create_imported(desc, &handle.memory, (memory, size));
        let made = queues.call(CallKind::CreateCommitted, request, create)?;
        queues.shares.note(&handle.memory);
        Ok(made)
    }

    /// Imports a fence of another device: both see its value rise after a signal by either device.
    #[must_use]
    pub fn import_fence(&self, fence: &SharedFence, name: &str) -> Fence {
        self.queues().fences.note(&fence.0);
        Fence::new(self.queues(), name, &fence.0)
    }

    /// Simulates the end of the device's process, at any moment: work in flight never happens, its fences stay at
    /// their values, and the memory that it had acquired becomes available to every device. Its handles are
    /// closed: its objects do not count as leaks. Resources shared with other devices stay alive.
    ///
    /// From here on each of its own calls returns [`DeviceError::Lost`].
    pub fn end_process(&self) {
        let queues = self.queues();
        queues.lose("its process has ended");
        queues.shares.take().iter().for_each(|memory| memory.abandon(queues.number));
        queues.fences.take().iter().for_each(|fence| fence.lock().forget_promises());
        queues.register.clear();
    }
}

impl SharedHandle {
    /// The description of the exported resource.
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
    /// A handle to it, for [`Device::import_fence`]. A shared binary semaphore may be used by only one device at
    /// a time.
    #[must_use]
    pub fn export(&self) -> SharedFence {
        SharedFence(Arc::clone(self.share()))
    }
}
