//! The device: the contract, and access to the underlying API.

mod contract;
mod list;
mod names_and_priorities;

use core::fmt;
use std::ffi::CString;
use std::sync::Arc;

use ash::vk;
use tenure_core::device::{QueueId, SingleManager, State, Usage};

use crate::descriptor::{DescriptorTables, Descriptors};
use crate::features::{ApiVersion, OptionalFeatures};
use crate::loaded::Loaded;
use crate::memory::Memories;
use crate::queue::{OwnQueue, Queues};
use crate::resource::Resources;
use crate::stages::StateUse;
use crate::tiles::Tiles;

/// A Vulkan device behind tenure's contract. Clones are handles to the same device, which any
/// thread may use.
///
/// See the [crate documentation](crate).
#[derive(Clone)]
pub struct Device {
    parts: Arc<Parts>,
}

/// The parts of a device. Each owns its state, and does not refer to later parts.
struct Parts {
    single_manager: SingleManager,
    loaded: Arc<Loaded>,
    memory: Arc<Memories>,
    resources: Arc<Resources>,
    descriptors: Arc<Descriptors>,
    queues: Arc<Queues>,
    tiles: Tiles,
}

impl Device {
    pub(crate) fn new(queues: Queues, limits: DescriptorTables) -> Self {
        let queues = Arc::new(queues);
        let loaded = queues.loaded().clone();
        let memory = Arc::new(Memories::new(loaded.clone()));
        let resources = Arc::new(Resources::new(memory.clone()));
        let descriptors = Arc::new(Descriptors::new(resources.clone(), limits));
        let (single_manager, tiles) = (SingleManager::default(), Tiles::new(queues.clone()));
        let parts = Parts { single_manager, loaded, memory, resources, descriptors, queues, tiles };
        Self { parts: Arc::new(parts) }
    }

    pub(crate) fn loaded(&self) -> &Arc<Loaded> {
        &self.parts.loaded
    }

    pub(crate) fn queues(&self) -> &Arc<Queues> {
        &self.parts.queues
    }

    pub(crate) fn resources(&self) -> &Arc<Resources> {
        &self.parts.resources
    }

    pub(crate) fn descriptors(&self) -> &Arc<Descriptors> {
        &self.parts.descriptors
    }

    /// The loader; `None` if a wrapped device was given without one.
    #[must_use]
    pub fn entry(&self) -> Option<&ash::Entry> {
        self.parts.loaded.api.entry.as_ref()
    }

    /// The instance.
    #[must_use]
    pub fn instance(&self) -> &ash::Instance {
        &self.parts.loaded.api.instance
    }

    /// The physical device.
    #[must_use]
    pub fn physical_device(&self) -> vk::PhysicalDevice {
        self.parts.loaded.api.physical
    }

    /// The device, for creating objects that tenure does not manage: pipelines, views, samplers.
    #[must_use]
    pub fn raw(&self) -> &ash::Device {
        &self.parts.loaded.api.device
    }

    /// The functions of `VK_EXT_descriptor_buffer`, with [descriptor buffers](crate#descriptor-buffers).
    #[must_use]
    pub fn descriptor_buffers(&self) -> Option<&ash::ext::descriptor_buffer::Device> {
        self.parts.loaded.api.descriptor_buffers.as_ref()
    }

    /// The Vulkan version in use.
    #[must_use]
    pub fn api_version(&self) -> ApiVersion {
        self.parts.loaded.api.version
    }

    /// The optional features that tenure uses; all are enabled. Features that the program enabled for itself are
    /// not included.
    #[must_use]
    pub fn optional_features(&self) -> OptionalFeatures {
        self.parts.loaded.api.enabled
    }

    /// The enabled device extensions; on a wrapped device, [`Raw::extensions`](crate::Raw::extensions).
    #[must_use]
    pub fn enabled_extensions(&self) -> &[CString] {
        &self.parts.loaded.api.extensions
    }

    /// The enabled features of Vulkan 1.0.
    pub fn enabled_features(&self) -> &vk::PhysicalDeviceFeatures {
        &self.parts.loaded.api.features
    }

    /// The handle of a queue, for identification; to submit to it use [`with_queue`](Self::with_queue). `None` if
    /// there is no such queue.
    #[must_use]
    pub fn queue(&self, queue: QueueId) -> Option<vk::Queue> {
        self.with_queue(queue, |queue| queue)
    }

    /// The family of a queue; `None` if there is no such queue.
    #[must_use]
    pub fn queue_family(&self, queue: QueueId) -> Option<u32> {
        self.parts.queues.list.get(queue.index()).map(|queue| queue.properties.family)
    }

    /// The families of all queues, each once: buffers are shared among them. They include the families of the
    /// program's [own queues](Self::own_queues), and on a wrapped device its [other
    /// families](crate::Raw::other_families).
    #[must_use]
    pub fn queue_families(&self) -> &[u32] {
        &self.parts.loaded.families
    }

    /// The queues created for the program's own use ([`DeviceConfig::own_queues`](crate::DeviceConfig::own_queues)), by family
    /// in the order of the options, after tenure's own families. None on a wrapped device.
    ///
    /// Tenure never submits to them. The program must use each of them from one thread at a time, and must order
    /// its work there and tenure's: with semaphores, for which there is
    /// [`ExternalSemaphore`](crate::ExternalSemaphore). Submissions there are not counted: the program must keep
    /// their resources until they are complete. Buffers are shared with the families of these queues; the program
    /// transfers textures to them itself. `vkDeviceWaitIdle` uses all queues, also when the device is dropped,
    /// which waits for these submissions.
    #[must_use]
    pub fn own_queues(&self) -> &[OwnQueue] {
        &self.parts.queues.own
    }

    /// Calls `run` with a queue while tenure does not use it. `None` if there is no such queue.
    ///
    /// For calls that submit nothing: `vkQueueWaitIdle`, labels for debuggers, presentation of images that are
    /// not tenure's. Submissions made here are not counted, so deferred release does not know of them: submit
    /// with [`Gpu::submit_external`](tenure_core::Gpu::submit_external). `run` must not submit through tenure,
    /// because it would deadlock.
    ///
    /// `vkDeviceWaitIdle` uses all queues: call it inside `with_queue` of each of them, in the order of their numbers.
    pub fn with_queue<T>(&self, queue: QueueId, run: impl FnOnce(vk::Queue) -> T) -> Option<T> {
        self.parts.queues.list.get(queue.index()).map(|queue| queue.with(run))
    }

    /// The meaning of a state for a barrier on a queue of this device; `None` if there is no such queue. States
    /// that the queue does not know have no stages. The layout is that of textures without depth: see
    /// [`Resource::layout_in`](crate::Resource::layout_in).
    #[must_use]
    pub fn stage_access_layout(&self, queue: QueueId, state: State) -> Option<StateUse> {
        let stages = &self.parts.queues.list.get(queue.index())?.stages;
        Some(stages.of(state, Usage::all().difference(Usage::DEPTH_STENCIL)))
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("name", &self.parts.loaded.tables.properties.name)
            .finish_non_exhaustive()
    }
}
