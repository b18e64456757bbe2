//! The device itself: the contract, and the way to the API beneath it.

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

use crate::descriptor::{DescriptorHeap, SetBlock, SetLayout};
use crate::error::CreateError;
use crate::memory::{Heap, Mapping};
use crate::query::QueryHeap;
use crate::queue::{ExternalSemaphore, Work};
use crate::record::{List, QueueStages, StateUse};
use crate::resource::Resource;
use crate::setup::{self, Adapter, ApiVersion, OptionalFeatures, Options, OwnQueue, Raw};
use crate::shared::Shared;
use crate::structure::AccelerationStructure;

/// A Vulkan device behind tenure's contract. Clones are handles to the same device, which any
/// thread may use.
///
/// See the [crate documentation](crate).
#[derive(Clone)]
pub struct Device {
    shared: Arc<Shared>,
}

impl Device {
    /// Makes an instance, and a device on the adapter to prefer: a discrete GPU where there is one.
    ///
    /// ```no_run
    /// use tenure_core::{Config, Gpu};
    /// use tenure_vulkan::{Device, Options};
    /// let gpu = Gpu::new(Device::create(&Options::default())?, Config::default())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`CreateError`].
    pub fn create(options: &Options) -> Result<Self, CreateError> {
        Self::create_on(&setup::best(options)?, options)
    }

    /// Makes a device on an adapter: see [`Adapter::create`].
    ///
    /// # Errors
    /// [`CreateError`].
    pub fn create_on(adapter: &Adapter, options: &Options) -> Result<Self, CreateError> {
        // SAFETY: there is nothing in the chain.
        unsafe { Self::create_on_with(adapter, options, vk::PhysicalDeviceFeatures2::default()) }
    }

    /// As [`create`](Self::create), with features of the program's own enabled as well: all that are on in the
    /// chain, Vulkan 1.0's among them. The device must have them; those of [`Options::features`] it may lack.
    ///
    /// The chain is copied, and never written to. What tenure needs is switched on beside it: in the program's
    /// structure where the chain has one for the feature, also in that of a whole version of Vulkan, which may have
    /// no smaller one beside it.
    ///
    /// Structures that [`ash`] does not know are linked as they are. They are at the end of the chain, behind all
    /// others, as `push_next` leaves what was pushed first.
    ///
    /// What [`Options::without`] names and the chain switches on is enabled for the program, and not used by tenure:
    /// [`optional_features`](Self::optional_features) does not name it.
    ///
    /// ```no_run
    /// use ash::vk;
    /// use tenure_vulkan::{CreateError, Device, Options};
    ///
    /// fn create() -> Result<Device, CreateError> {
    ///     let mut newer = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true);
    ///     let features = vk::PhysicalDeviceFeatures2::default().push_next(&mut newer);
    ///     // SAFETY: the chain is valid.
    ///     unsafe { Device::create_with(&Options::default(), features) }
    /// }
    /// ```
    ///
    /// # Errors
    /// [`CreateError`]; [`CreateError::NoFeature`] names a feature that the device does not have, but for those of
    /// structures that `ash` does not know, where it is [`CreateError::Failed`];
    /// [`CreateError::InvalidFeatures`] for a chain that Vulkan forbids (a structure twice, or of a newer version than
    /// [`Options::api_version`] allows, or that of a whole version beside a part of it), or with an unknown structure
    /// before a known one.
    ///
    /// # Safety
    /// The pointers of the chain are valid during the call. What its features need is enabled: each other, and the
    /// extensions that they belong to, in [`Options::device_extensions`].
    pub unsafe fn create_with(
        options: &Options,
        features: vk::PhysicalDeviceFeatures2<'_>,
    ) -> Result<Self, CreateError> {
        // SAFETY: the caller promises just this.
        unsafe { Self::create_on_with(&setup::best(options)?, options, features) }
    }

    /// As [`create_with`](Self::create_with), on an adapter.
    ///
    /// # Errors
    /// As [`create_with`](Self::create_with).
    ///
    /// # Safety
    /// As [`create_with`](Self::create_with).
    pub unsafe fn create_on_with(
        adapter: &Adapter,
        options: &Options,
        features: vk::PhysicalDeviceFeatures2<'_>,
    ) -> Result<Self, CreateError> {
        // SAFETY: the caller promises just this.
        let shared = unsafe { setup::create(adapter, options, features) }?;
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Wraps a device that the program made, and destroys nothing of the program's.
    ///
    /// Its queues become tenure's to submit to: the program submits to them only inside
    /// [`Gpu::submit_external`](tenure_core::Gpu::submit_external), and uses them otherwise inside
    /// [`with_queue`](Self::with_queue).
    ///
    /// # Errors
    /// [`CreateError::TooOld`], [`CreateError::InvalidRaw`]; [`CreateError::ExtensionNotEnabled`] when something that
    /// `raw` calls enabled is of an extension which is neither in [`Raw::extensions`] nor part of
    /// [`Raw::api_version`], and [`CreateError::NoFunction`] when the device lacks a function of it, both unless
    /// [`Options::without`] names it; [`CreateError::Failed`] when semaphores cannot be made.
    ///
    /// # Safety
    /// What `raw` says is true: the objects belong together, and versions, features and extensions
    /// are those they were created with. They live until this device, its clones and all that was
    /// made with it are gone. Meanwhile the program uses the queues only inside
    /// [`Gpu::submit_external`](tenure_core::Gpu::submit_external) or [`with_queue`](Self::with_queue).
    /// `vkDeviceWaitIdle` uses all queues.
    pub unsafe fn from_raw(raw: Raw, options: &Options) -> Result<Self, CreateError> {
        // SAFETY: the caller promises just this.
        let shared = unsafe { setup::wrap(raw, options) }?;
        Ok(Self { shared: Arc::new(shared) })
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The loader; `None` where a wrapped device came without.
    #[must_use]
    pub fn entry(&self) -> Option<&ash::Entry> {
        self.shared.api.entry.as_ref()
    }

    /// The instance.
    #[must_use]
    pub fn instance(&self) -> &ash::Instance {
        &self.shared.api.instance
    }

    /// The physical device.
    #[must_use]
    pub fn physical_device(&self) -> vk::PhysicalDevice {
        self.shared.api.physical
    }

    /// The device, to make with it what tenure does not: pipelines, views, samplers.
    #[must_use]
    pub fn raw(&self) -> &ash::Device {
        &self.shared.api.device
    }

    /// The functions of `VK_EXT_descriptor_buffer`, with [descriptor buffers](crate#descriptor-buffers).
    #[must_use]
    pub fn descriptor_buffers(&self) -> Option<&ash::ext::descriptor_buffer::Device> {
        self.shared.api.descriptor_buffers.as_ref()
    }

    /// The version of Vulkan that is used.
    #[must_use]
    pub fn api_version(&self) -> ApiVersion {
        self.shared.api.version
    }

    /// What tenure uses of what is optional: all of it is enabled. What the program enabled for itself is not
    /// named here.
    #[must_use]
    pub fn optional_features(&self) -> OptionalFeatures {
        self.shared.api.enabled
    }

    /// The device extensions that are enabled, on a wrapped device those of [`Raw::extensions`].
    #[must_use]
    pub fn enabled_extensions(&self) -> &[CString] {
        &self.shared.api.extensions
    }

    /// What is enabled of Vulkan 1.0's features.
    pub fn enabled_features(&self) -> &vk::PhysicalDeviceFeatures {
        &self.shared.api.features
    }

    /// A queue, to know it by; to submit to it there is [`with_queue`](Self::with_queue). `None` when
    /// there is no such queue.
    #[must_use]
    pub fn queue(&self, queue: QueueId) -> Option<vk::Queue> {
        self.with_queue(queue, |queue| queue)
    }

    /// The family of a queue; `None` when there is no such queue.
    #[must_use]
    pub fn queue_family(&self, queue: QueueId) -> Option<u32> {
        self.shared.queues.get(queue.index()).map(|queue| queue.properties.family)
    }

    /// The families of all queues, each once: what buffers are shared among. Those of the program's
    /// [own queues](Self::own_queues), and on a wrapped device [others](Raw::other_families) of its, are among them.
    #[must_use]
    pub fn queue_families(&self) -> &[u32] {
        &self.shared.families
    }

    /// The queues made for the program's own use ([`Options::own_queues`]), by family in the order asked for, those of
    /// families that tenure uses first. None on a wrapped device.
    ///
    /// Tenure never submits to them. The program sees to it that one thread at a time uses each of them, and that its
    /// work there and tenure's are in order: with semaphores, for which there is
    /// [`ExternalSemaphore`](crate::ExternalSemaphore). What is submitted there is not counted: what it uses is kept
    /// until it is done. Buffers are shared with the families of these queues; textures are handed over to them by the
    /// program. `vkDeviceWaitIdle` uses all queues, also at the end of the device, which waits for what is submitted.
    #[must_use]
    pub fn own_queues(&self) -> &[OwnQueue] {
        &self.shared.own_queues
    }

    /// Calls `run` with a queue while tenure does not use it. `None` when there is no such queue.
    ///
    /// For calls that submit nothing: `vkQueueWaitIdle`, labels for debuggers, presentation of images that
    /// are not tenure's. What is submitted here is not counted, so that deferred release does not know of
    /// it: submit with [`Gpu::submit_external`](tenure_core::Gpu::submit_external). `run` must not submit
    /// through tenure, or it waits for itself.
    ///
    /// `vkDeviceWaitIdle` uses all queues: call it inside `with_queue` of each of them, in the order of their numbers.
    pub fn with_queue<T>(&self, queue: QueueId, run: impl FnOnce(vk::Queue) -> T) -> Option<T> {
        self.shared.queues.get(queue.index()).map(|queue| queue.with(run))
    }

    /// What a state means to a barrier on a queue of this device; `None` when there is no such
    /// queue. States that the queue does not know have no stages. The layout is that of textures that
    /// are no depth targets: see [`Resource::layout_in`].
    #[must_use]
    pub fn stage_access_layout(&self, queue: QueueId, state: State) -> Option<StateUse> {
        let family = &self.shared.queues.get(queue.index())?.family;
        let stages = QueueStages::new(self.shared.shader_stages, family.flags);
        Some(stages.of(state, Usage::all().difference(Usage::DEPTH_STENCIL)))
    }
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
        &self.shared.tables.properties
    }

    fn manager_slot(&self) -> &ManagerSlot {
        &self.shared.manager_slot
    }

    fn requirements(&self, desc: &ResourceDesc) -> Result<Requirements, DeviceError> {
        self.shared.requirements(desc)
    }

    fn create_heap(&self, desc: &HeapDesc) -> Result<Heap, DeviceError> {
        self.shared.create_heap(desc)
    }

    fn destroy_heap(&self, _: Permit<Self>, heap: Heap) {
        heap.memory.destroy();
    }

    fn create_committed(&self, desc: &ResourceDesc, memory: MemoryTypeId) -> Result<Resource, DeviceError> {
        self.shared.create_committed(desc, memory, desc.usage().priority())
    }

    fn create_committed_with_priority(
        &self,
        _: Permit<Self>,
        desc: &ResourceDesc,
        memory: MemoryTypeId,
        priority: Priority,
    ) -> Result<Resource, DeviceError> {
        self.shared.create_committed(desc, memory, priority)
    }

    fn create_placed(
        &self,
        _: Permit<Self>,
        desc: &ResourceDesc,
        heap: &Heap,
        offset: u64,
    ) -> Result<Resource, DeviceError> {
        self.shared.create_placed(desc, heap, offset)
    }

    fn create_reserved(&self, desc: &ResourceDesc) -> Result<Resource, DeviceError> {
        self.shared.create_reserved(desc)
    }

    fn destroy_resource(&self, _: Permit<Self>, resource: Resource) {
        resource.destroy();
    }

    fn map(&self, resource: &Resource) -> Result<Mapping, DeviceError> {
        resource.map()
    }

    fn texture_write_states(&self, info: &TextureInfo) -> State {
        self.shared.texture_write_states(info)
    }

    fn write_texture(
        &self,
        _: Permit<Self>,
        texture: &Resource,
        states: (State, State),
        writes: &[TextureWrite<'_>],
    ) -> Result<(), DeviceError> {
        self.shared.write_texture(texture, states, writes)
    }

    fn gpu_address(&self, resource: &Resource) -> Option<u64> {
        resource.address
    }

    fn tile_layout(&self, resource: &Resource) -> Result<TileLayout, DeviceError> {
        resource.tile_layout()
    }

    fn set_name(&self, _: Permit<Self>, object: ObjectRef<'_, Self>, name: &str) {
        self.shared.set_name(&object, name);
    }

    fn create_list(&self, _: Permit<Self>, queue: QueueId) -> Result<List, DeviceError> {
        List::create(&self.shared, queue)
    }

    fn destroy_list(&self, _: Permit<Self>, list: List) {
        list.destroy();
    }

    fn create_descriptor_heap(&self, desc: &DescriptorHeapDesc) -> Result<DescriptorHeap, DeviceError> {
        self.shared.create_descriptor_heap(desc)
    }

    fn destroy_descriptor_heap(&self, _: Permit<Self>, heap: DescriptorHeap) {
        heap.destroy();
    }

    fn write_descriptor(
        &self,
        _: Permit<Self>,
        heap: &DescriptorHeap,
        index: u32,
        descriptor: &Descriptor<'_, Self>,
    ) -> Result<(), DeviceError> {
        heap.write(&self.shared, index, descriptor)
    }

    fn fill_descriptors(
        &self,
        _: Permit<Self>,
        heap: &DescriptorHeap,
        first: u32,
        sources: &[DescriptorSource<'_, Self>],
    ) -> Result<(), DeviceError> {
        heap.fill(&self.shared, first, sources)
    }

    fn clear_descriptors(
        &self,
        _: Permit<Self>,
        heap: &DescriptorHeap,
        first: u32,
        count: u32,
        freed_by: Option<&str>,
    ) {
        heap.clear(first, count, freed_by.is_some());
    }

    fn create_set_layout(&self, bindings: &[SetBinding]) -> Result<SetLayout, DeviceError> {
        self.shared.create_set_layout(bindings)
    }

    fn destroy_set_layout(&self, _: Permit<Self>, layout: SetLayout) {
        layout.destroy();
    }

    fn create_set_block(
        &self,
        _: Permit<Self>,
        layout: &SetLayout,
        sets: u32,
    ) -> Result<SetBlock, DeviceError> {
        self.shared.create_set_block(layout, sets)
    }

    fn destroy_set_block(&self, _: Permit<Self>, block: SetBlock) {
        block.destroy();
    }

    fn write_set(
        &self,
        _: Permit<Self>,
        block: &SetBlock,
        set: u32,
        writes: &[SetWrite<'_, Self>],
    ) -> Result<(), DeviceError> {
        block.write(&self.shared, set, writes)
    }

    fn clear_set(&self, _: Permit<Self>, block: &SetBlock, set: u32, freed_by: Option<&str>) {
        if freed_by.is_some() {
            block.poison(set);
        }
    }

    fn create_query_heap(&self, desc: &QueryHeapDesc) -> Result<QueryHeap, DeviceError> {
        self.shared.create_query_heap(desc)
    }

    fn destroy_query_heap(&self, _: Permit<Self>, heap: QueryHeap) {
        heap.destroy();
    }

    fn create_acceleration_structure(
        &self,
        _: Permit<Self>,
        range: &AccelerationStructureRange<'_, Self>,
    ) -> Result<AccelerationStructure, DeviceError> {
        self.shared.create_acceleration_structure(range)
    }

    fn destroy_acceleration_structure(&self, _: Permit<Self>, structure: AccelerationStructure) {
        structure.destroy();
    }

    fn acceleration_structure_address(&self, structure: &AccelerationStructure) -> u64 {
        structure.address()
    }

    fn submit_with(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        lists: &[&List],
        sync: SubmitSync<'_, Self>,
    ) -> Result<(), DeviceError> {
        self.shared.alive()?;
        let buffers = lists.iter().map(|list| list.closed(&self.shared, queue));
        let buffers = buffers.collect::<Result<SmallVec<[_; 4]>, _>>()?;
        if (1..buffers.len()).any(|index| buffers[..index].contains(&buffers[index])) {
            return Err(DeviceError::broken_rule(CallRule::SubmittedOnce));
        }
        self.shared.execute(queue, Work::Lists(&buffers), sync)?;
        lists.iter().for_each(|list| list.note_submitted(sync.signal));
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
        self.shared.submit_external(queue, waits, signal, run)
    }

    fn update_tiles(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        updates: &[TileUpdate<'_, Self>],
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        self.shared.update_tiles(queue, updates, waits, signal)
    }

    fn set_priority(
        &self,
        _: Permit<Self>,
        block: MemoryBlock<'_, Self>,
        priority: Priority,
    ) -> Result<(), DeviceError> {
        self.shared.set_priority(&block, priority)
    }

    fn completed(&self, queue: QueueId) -> Result<u64, DeviceError> {
        self.shared.completed(queue)
    }

    fn wait(&self, target: QueueSerial, timeout: Duration) -> Result<bool, DeviceError> {
        self.shared.wait(target, timeout)
    }

    fn budget(&self) -> Result<Vec<HeapBudget>, DeviceError> {
        self.shared.budget()
    }

    fn status(&self) -> Result<(), DeviceError> {
        self.shared.alive()
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("name", &self.shared.tables.properties.name).finish_non_exhaustive()
    }
}
