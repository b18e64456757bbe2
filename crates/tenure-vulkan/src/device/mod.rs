//! The device itself: the contract, and the way to the API beneath it.

mod list;
mod objects;

use core::fmt;
use std::ffi::CString;
use std::sync::Arc;
use std::time::Duration;

use ash::vk;
use smallvec::SmallVec;
use tenure_core::device::{
    AccelerationStructureRange, CallRule, Descriptor, DescriptorHeapDesc, DescriptorSource, DeviceError,
    HeapBudget, HeapDesc, ManagerSlot, MemoryBlock, MemoryTypeId, ObjectRef, Permit, Priority, Properties,
    QueryHeapDesc, QueueId, QueueSerial, Requirements, ResourceDesc, SetBinding, SetWrite, State, SubmitSync,
    TextureInfo, TextureWrite, TileLayout, TileUpdate, Usage,
};

use crate::descriptor::{DescriptorHeap, DescriptorTables, Descriptors, SetBlock, SetLayout};
use crate::features::{ApiVersion, OptionalFeatures};
use crate::loaded::Loaded;
use crate::memory::{Heap, Mapping, Memories};
use crate::query::QueryHeap;
use crate::queue::{ExternalSemaphore, OwnQueue, Queues, Sync, Work};
use crate::record::List;
use crate::resource::{Resource, Resources};
use crate::stages::StateUse;
use crate::structure::AccelerationStructure;
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
    manager_slot: ManagerSlot,
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
        let (manager_slot, tiles) = (ManagerSlot::default(), Tiles::new(queues.clone()));
        let parts = Parts { manager_slot, loaded, memory, resources, descriptors, queues, tiles };
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

    /// The version of Vulkan that is used.
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

    /// The queues made for the program's own use ([`Options::own_queues`](crate::Options::own_queues)), by family
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
    /// [`Resource::layout_in`].
    #[must_use]
    pub fn stage_access_layout(&self, queue: QueueId, state: State) -> Option<StateUse> {
        let stages = &self.parts.queues.list.get(queue.index())?.stages;
        Some(stages.of(state, Usage::all().difference(Usage::DEPTH_STENCIL)))
    }
}

/// Methods of the contract that a part or an object has.
macro_rules! forwarded {
    ($(fn $name:ident($this:ident $(, $argument:ident: $kind:ty)*) $(-> $answer:ty)? $call:block)*) => {$(
        fn $name(&$this $(, $argument: $kind)*) $(-> $answer)? $call
    )*};
}

/// As `forwarded`, for functions that take a permit.
macro_rules! permitted {
    ($(fn $name:ident($this:ident $(, $argument:ident: $kind:ty)*) $(-> $answer:ty)? $call:block)*) => {$(
        fn $name(&$this, _: Permit<Self> $(, $argument: $kind)*) $(-> $answer)? $call
    )*};
}

impl tenure_core::device::Device for Device {
    type Heap = Heap;
    type Resource = Resource;
    type Mapping = Mapping;
    type List = List;
    type DescriptorHeap = DescriptorHeap;
    type SetLayout = SetLayout;
    type SetBlock = SetBlock;
    type QueryHeap = QueryHeap;
    type AccelerationStructure = AccelerationStructure;
    type ExternalPoint = ExternalSemaphore;
    type NativeQueue<'a> = vk::Queue;

    fn properties(&self) -> &Properties {
        &self.parts.loaded.tables.properties
    }

    fn manager_slot(&self) -> &ManagerSlot {
        &self.parts.manager_slot
    }

    forwarded! {
        fn requirements(self, desc: &ResourceDesc) -> Result<Requirements, DeviceError> { self.parts.resources.requirements(desc) }
        fn create_heap(self, desc: &HeapDesc) -> Result<Heap, DeviceError> { self.parts.memory.create_heap(desc) }
        fn create_committed(self, desc: &ResourceDesc, memory: MemoryTypeId) -> Result<Resource, DeviceError> {
            self.parts.resources.create_committed(desc, memory, desc.usage().priority())
        }
        fn create_reserved(self, desc: &ResourceDesc) -> Result<Resource, DeviceError> { self.parts.resources.create_reserved(desc) }
        fn map(self, resource: &Resource) -> Result<Mapping, DeviceError> { resource.map() }
        fn texture_write_states(self, info: &TextureInfo) -> State { self.parts.resources.texture_write_states(info) }
        fn gpu_address(self, resource: &Resource) -> Option<u64> { resource.address }
        fn tile_layout(self, resource: &Resource) -> Result<TileLayout, DeviceError> { resource.tile_layout() }
        fn create_descriptor_heap(self, desc: &DescriptorHeapDesc) -> Result<DescriptorHeap, DeviceError> {
            self.parts.descriptors.create_descriptor_heap(desc)
        }
        fn create_set_layout(self, bindings: &[SetBinding]) -> Result<SetLayout, DeviceError> {
            self.parts.descriptors.create_set_layout(bindings)
        }
        fn create_query_heap(self, desc: &QueryHeapDesc) -> Result<QueryHeap, DeviceError> { QueryHeap::create(&self.parts.loaded, desc) }
        fn acceleration_structure_address(self, structure: &AccelerationStructure) -> u64 { structure.address() }
        fn completed(self, queue: QueueId) -> Result<u64, DeviceError> { self.parts.queues.completed(queue) }
        fn wait(self, target: QueueSerial, timeout: Duration) -> Result<bool, DeviceError> { self.parts.queues.wait(target, timeout) }
        fn budget(self) -> Result<Vec<HeapBudget>, DeviceError> { self.parts.memory.budget() }
        fn status(self) -> Result<(), DeviceError> { self.parts.loaded.alive() }
    }

    permitted! {
        fn destroy_heap(self, heap: Heap) { heap.memory.destroy() }
        fn create_committed_with_priority(self, desc: &ResourceDesc, memory: MemoryTypeId, priority: Priority) -> Result<Resource, DeviceError> {
            self.parts.resources.create_committed(desc, memory, priority)
        }
        fn create_placed(self, desc: &ResourceDesc, heap: &Heap, offset: u64) -> Result<Resource, DeviceError> {
            self.parts.resources.create_placed(desc, heap, offset)
        }
        fn destroy_resource(self, resource: Resource) { resource.destroy() }
        fn write_texture(self, texture: &Resource, states: (State, State), writes: &[TextureWrite<'_>]) -> Result<(), DeviceError> {
            self.parts.resources.write_texture(texture, states, writes)
        }
        fn set_name(self, object: ObjectRef<'_, Self>, name: &str) { self.name_object(&object, name) }
        fn create_list(self, queue: QueueId) -> Result<List, DeviceError> { List::create(&self.parts.queues, &self.parts.resources, queue) }
        fn destroy_list(self, list: List) { list.destroy() }
        fn destroy_descriptor_heap(self, heap: DescriptorHeap) { heap.destroy() }
        fn write_descriptor(self, heap: &DescriptorHeap, index: u32, descriptor: &Descriptor<'_, Self>) -> Result<(), DeviceError> {
            heap.write(&self.parts.descriptors, index, descriptor)
        }
        fn fill_descriptors(self, heap: &DescriptorHeap, first: u32, sources: &[DescriptorSource<'_, Self>]) -> Result<(), DeviceError> {
            heap.fill(&self.parts.descriptors, first, sources)
        }
        fn clear_descriptors(self, heap: &DescriptorHeap, first: u32, count: u32, freed_by: Option<&str>) {
            heap.clear(first, count, freed_by.is_some())
        }
        fn destroy_set_layout(self, layout: SetLayout) { layout.destroy() }
        fn create_set_block(self, layout: &SetLayout, sets: u32) -> Result<SetBlock, DeviceError> {
            self.parts.descriptors.create_set_block(layout, sets)
        }
        fn destroy_set_block(self, block: SetBlock) { block.destroy() }
        fn write_set(self, block: &SetBlock, set: u32, writes: &[SetWrite<'_, Self>]) -> Result<(), DeviceError> {
            block.write(&self.parts.descriptors, set, writes)
        }
        fn clear_set(self, block: &SetBlock, set: u32, freed_by: Option<&str>) {
            if freed_by.is_some() {
                block.poison(set);
            }
        }
        fn destroy_query_heap(self, heap: QueryHeap) { heap.destroy() }
        fn create_acceleration_structure(self, range: &AccelerationStructureRange<'_, Self>) -> Result<AccelerationStructure, DeviceError> {
            AccelerationStructure::create(&self.parts.loaded, range)
        }
        fn destroy_acceleration_structure(self, structure: AccelerationStructure) { structure.destroy() }
        fn update_tiles(self, queue: QueueId, updates: &[TileUpdate<'_, Self>], waits: &[QueueSerial], signal: u64) -> Result<(), DeviceError> {
            self.parts.tiles.update(queue, updates, waits, signal)
        }
        fn set_priority(self, block: MemoryBlock<'_, Self>, priority: Priority) -> Result<(), DeviceError> {
            self.change_priority(&block, priority)
        }
    }

    fn submit_with(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        lists: &[&List],
        sync: SubmitSync<'_, Self>,
    ) -> Result<(), DeviceError> {
        self.parts.loaded.alive()?;
        let buffers = lists.iter().map(|list| list.closed(&self.parts.loaded, queue));
        let buffers = buffers.collect::<Result<SmallVec<[_; 4]>, _>>()?;
        if (1..buffers.len()).any(|index| buffers[..index].contains(&buffers[index])) {
            return Err(DeviceError::broken_rule(CallRule::SubmittedOnce));
        }
        let SubmitSync { waits, external_waits, external_signals, signal, .. } = sync;
        let points = Sync { waits, external_waits, external_signals, signal };
        self.parts.queues.execute(queue, Work::Lists(&buffers), points)?;
        lists.iter().for_each(|list| list.note_submitted(signal));
        Ok(())
    }

    fn submit_external<T>(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        waits: &[QueueSerial],
        signal: u64,
        run: impl FnOnce(vk::Queue) -> T,
    ) -> Result<T, DeviceError> {
        self.parts.queues.submit_external(queue, waits, signal, run)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("name", &self.parts.loaded.tables.properties.name)
            .finish_non_exhaustive()
    }
}
