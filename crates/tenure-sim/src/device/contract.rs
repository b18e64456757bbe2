//! The device contract. Each call is counted here, has a modelled cost, and may fail by injection.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::device::{
    self, AccelerationStructureRange, CallRule, Checked, Descriptor, DescriptorDevice, DescriptorHeapDesc,
    DescriptorSource, DeviceError, DeviceFault, Format, HeapBudget, HeapDesc, MemoryDevice, MemoryTypeId,
    ObjectRef, Permit, Properties, QueryDevice, QueryHeapDesc, QueueDevice, QueueId, QueueSerial, RayDevice,
    Requirements, ResourceDesc, SetBinding, SetDevice, SetWrite, SingleManager, State, SubmitSync,
    TextureInfo, TextureWrite, TileDevice, TileLayout, TileUpdate,
};

use super::Device;
use super::mapping::Mapping;
use crate::calls::{CallKind, Request};
use crate::descriptors::{DescriptorHeap, SetLayout, SetPool};
use crate::layout::Layout;
use crate::list::List;
use crate::memory::{Heap, Memory};
use crate::points::ExternalPoint;
use crate::queries::QueryHeap;
use crate::requirements::tiles::buffer_tiles;
use crate::resource::{Resource, ResourceState};
use crate::structures::AccelerationStructure;
use crate::submit::NativeQueue;

impl Device {
    /// Creates a resource by the description `created`, and reports `desc` as its description.
    pub(crate) fn create_committed_as(
        &self,
        created: &ResourceDesc,
        desc: &ResourceDesc,
        memory: MemoryTypeId,
    ) -> Result<Resource, DeviceError> {
        let queues = &self.queues;
        let needs = queues.requirements_of(created);
        let size = needs.map_or(0, |needs| queues.properties.committed_size(&needs));
        let create = || queues.create_committed(created, desc, memory);
        queues.call(CallKind::CreateCommitted, Request::for_memory(size, memory, desc), create)
    }

    /// The request of a placement.
    fn placed(&self, desc: &ResourceDesc, heap: &Heap) -> Request {
        let size = self.queues.requirements_of(desc).map_or(0, |needs| needs.size);
        Request::for_memory(size, heap.state.memory(), desc)
    }
}

/// The request of writes of texels.
fn written(writes: &[TextureWrite<'_>]) -> Request {
    let bytes = writes.iter().map(|write| write.bytes.len() as u64).fold(0, u64::saturating_add);
    Request { texture: true, ..Request::of(bytes) }
}

/// The request of a resource's destruction, with the memory that it frees.
fn destroyed(resource: &ResourceState) -> Request {
    let bytes = resource.committed().map_or(0, |(_, size)| size);
    Request { texture: !resource.is_buffer(), ..Request::of(bytes) }
}

/// Calls forwarded to a part, with their requests.
macro_rules! called {
    ($($kind:ident($request:expr): fn $name:ident($this:ident $(, _: $permit:ty)? $(, $argument:ident: $type:ty)*) -> $answer:ty;)*) => {$(
        fn $name(&$this $(, _: $permit)? $(, $argument: $type)*) -> Result<$answer, DeviceError> {
            $this.queues.call(CallKind::$kind, $request, || $this.queues.$name($($argument),*))
        }
    )*};
}

/// As `called`, for functions that take a permit and cannot fail.
macro_rules! infallible {
    ($($kind:ident($request:expr): fn $name:ident($this:ident, $object:ident: $type:ty $(, $argument:ident: $more:ty)*);)*) => {$(
        fn $name(&$this, _: Permit<Self>, $object: $type $(, $argument: $more)*) {
            $this.queues.count(CallKind::$kind, $request);
            $this.queues.$name(&$object $(, $argument)*);
        }
    )*};
}

impl Checked for Device {}

impl MemoryDevice for Device {
    type Heap = Heap;
    type Resource = Resource;
    type Mapping = Mapping;

    fn requirements(&self, desc: &ResourceDesc) -> Result<Requirements, DeviceError> {
        let queues = &self.queues;
        queues.call(CallKind::Requirements, Request::default(), || queues.requirements_of(desc))
    }

    fn generates_mips(&self, format: Format) -> bool {
        self.queues.generates_mips(format)
    }

    fn create_committed(&self, desc: &ResourceDesc, memory: MemoryTypeId) -> Result<Resource, DeviceError> {
        self.create_committed_as(desc, desc, memory)
    }

    fn map(&self, resource: &Resource) -> Result<Mapping, DeviceError> {
        self.queues.call(CallKind::Map, Request::default(), || {
            let state = &resource.state;
            if !state.is_host_visible() {
                return Err(DeviceError::invalid_value(CallRule::HostVisible, u64::from(state.flags.bits())));
            }
            if !state.is_buffer() {
                return Err(DeviceError::invalid_value("only buffers are mapped", state.label.id));
            }
            Ok(Mapping::new(Arc::clone(&self.queues), Arc::clone(state)))
        })
    }

    fn texture_write_states(&self, info: &TextureInfo) -> State {
        self.queues.texture_write_states(info)
    }

    fn gpu_address(&self, resource: &Resource) -> Option<u64> {
        resource.state.address
    }

    fn name_range(&self, buffer: &Resource, offset: u64, size: u64, name: &str) {
        if !self.queues.checks.is_empty() {
            buffer.state.owners.set(offset..offset.saturating_add(size), name);
        }
    }

    fn budget(&self) -> Result<Vec<HeapBudget>, DeviceError> {
        self.queues.call(CallKind::Budget, Request::default(), || Ok(self.queues.budgets()))
    }

    called! {
        CreateHeap(Request { memory: desc.memory.0, ..Request::of(desc.size) }): fn create_heap(self, desc: &HeapDesc) -> Heap;
        CreatePlaced(self.placed(desc, heap)):
            fn create_placed(self, _: Permit<Self>, desc: &ResourceDesc, heap: &Heap, offset: u64) -> Resource;
        WriteTexture(written(writes)):
            fn write_texture(self, _: Permit<Self>, texture: &Resource, states: (State, State), writes: &[TextureWrite<'_>]) -> ();
    }

    infallible! {
        DestroyHeap(Request::of(heap.state.desc.size)): fn destroy_heap(self, heap: Heap);
        DestroyResource(destroyed(&resource.state)): fn destroy_resource(self, resource: Resource);
    }
}

impl TileDevice for Device {
    fn tile_layout(&self, resource: &Resource) -> Result<TileLayout, DeviceError> {
        self.queues.alive()?;
        let state = &resource.state;
        match (&state.memory, &state.desc, &state.layout) {
            (Memory::Reserved(_), ResourceDesc::Buffer(info), _) => {
                Ok(buffer_tiles(info, self.queues.tile_types(&state.desc)?))
            }
            (Memory::Reserved(_), _, Layout::Tiled { tiles, .. }) => Ok(tiles.clone()),
            _ => Err(DeviceError::broken_rule(CallRule::IsReserved)),
        }
    }

    called! {
        CreateReserved(Request::for_memory(0, MemoryTypeId(0), desc)): fn create_reserved(self, desc: &ResourceDesc) -> Resource;
        UpdateTiles(Request::default()):
            fn update_tiles(self, _: Permit<Self>, queue: QueueId, updates: &[TileUpdate<'_, Self>], waits: &[QueueSerial], signal: u64) -> ();
    }
}

impl RayDevice for Device {
    type AccelerationStructure = AccelerationStructure;

    fn acceleration_structure_address(&self, structure: &AccelerationStructure) -> u64 {
        structure.address()
    }

    called! {
        CreateAccelerationStructure(Request::of(range.size)):
            fn create_acceleration_structure(self, _: Permit<Self>, range: &AccelerationStructureRange<'_, Self>) -> AccelerationStructure;
    }

    infallible! {
        DestroyAccelerationStructure(Request::default()):
            fn destroy_acceleration_structure(self, structure: AccelerationStructure);
    }
}

impl DescriptorDevice for Device {
    type DescriptorHeap = DescriptorHeap;

    called! {
        CreateDescriptorHeap(Request::of(u64::from(desc.count))):
            fn create_descriptor_heap(self, desc: &DescriptorHeapDesc) -> DescriptorHeap;
        WriteDescriptor(Request::of(1)):
            fn write_descriptor(self, _: Permit<Self>, heap: &DescriptorHeap, index: u32, descriptor: &Descriptor<'_, Self>) -> ();
        FillDescriptors(Request::of(sources.len() as u64)):
            fn fill_descriptors(self, _: Permit<Self>, heap: &DescriptorHeap, first: u32, sources: &[DescriptorSource<'_, Self>]) -> ();
    }

    infallible! {
        DestroyDescriptorHeap(Request::of(u64::from(heap.state.desc.count))):
            fn destroy_descriptor_heap(self, heap: DescriptorHeap);
        ClearDescriptors(Request::of(u64::from(count))):
            fn clear_descriptors(self, heap: &DescriptorHeap, first: u32, count: u32, freed_by: Option<&str>);
    }
}

impl SetDevice for Device {
    type SetLayout = SetLayout;
    type SetPool = SetPool;

    called! {
        CreateSetLayout(Request::of(bindings.len() as u64)): fn create_set_layout(self, bindings: &[SetBinding]) -> SetLayout;
        CreateSetPool(Request::of(u64::from(sets))): fn create_set_pool(self, _: Permit<Self>, layout: &SetLayout, sets: u32) -> SetPool;
        WriteSet(Request::of(writes.len() as u64)):
            fn write_set(self, _: Permit<Self>, block: &SetPool, set: u32, writes: &[SetWrite<'_, Self>]) -> ();
    }

    infallible! {
        DestroySetLayout(Request::default()): fn destroy_set_layout(self, layout: SetLayout);
        DestroySetPool(Request::of(u64::from(block.state.count))): fn destroy_set_pool(self, block: SetPool);
        ClearSet(Request::of(1)): fn clear_set(self, block: &SetPool, set: u32, freed_by: Option<&str>);
    }
}

impl QueryDevice for Device {
    type QueryHeap = QueryHeap;

    called! {
        CreateQueryHeap(Request::of(u64::from(desc.count))): fn create_query_heap(self, desc: &QueryHeapDesc) -> QueryHeap;
    }

    infallible! {
        DestroyQueryHeap(Request::default()): fn destroy_query_heap(self, heap: QueryHeap);
    }
}

impl QueueDevice for Device {
    type List = List;
    type ExternalPoint = ExternalPoint;
    type NativeQueue<'a> = NativeQueue<'a>;

    fn submit_with(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        lists: &[&List],
        sync: SubmitSync<'_, Self>,
    ) -> Result<(), DeviceError> {
        self.queues.submit(queue, lists, sync)
    }

    fn submit_external<T>(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        waits: &[QueueSerial],
        signal: u64,
        run: impl FnOnce(NativeQueue<'_>) -> T,
    ) -> Result<T, DeviceError> {
        self.queues.submit_external(queue, waits, signal, run)
    }

    fn completed(&self, queue: QueueId) -> Result<u64, DeviceError> {
        self.queues.completed(queue)
    }

    fn wait(&self, target: QueueSerial, timeout: Duration) -> Result<bool, DeviceError> {
        self.queues.wait(target, timeout)
    }

    called! {
        CreateList(Request::default()): fn create_list(self, _: Permit<Self>, queue: QueueId) -> List;
    }

    infallible! {
        DestroyList(Request::default()): fn destroy_list(self, list: List);
    }
}

impl device::Device for Device {
    fn properties(&self) -> &Properties {
        &self.queues.properties
    }

    fn single_manager(&self) -> &SingleManager {
        &self.queues.single_manager
    }

    fn set_name(&self, _: Permit<Self>, object: ObjectRef<'_, Self>, name: &str) {
        match object {
            ObjectRef::Heap(heap) => heap.state.label.set_name(name),
            ObjectRef::Resource(resource) => resource.state.label.set_name(name),
            ObjectRef::List(list) => list.state.label.set_name(name),
            ObjectRef::DescriptorHeap(heap) => heap.state.label.set_name(name),
            ObjectRef::SetPool(block) => block.state.label.set_name(name),
            ObjectRef::QueryHeap(heap) => heap.state.label.set_name(name),
            ObjectRef::AccelerationStructure(structure) => structure.state.label.set_name(name),
        }
    }

    fn status(&self) -> Result<(), DeviceError> {
        self.queues.alive()
    }

    fn device_faults(&self) -> Vec<DeviceFault> {
        self.queues.faults()
    }

    fn marker(&self, word: u32) -> u32 {
        self.queues.marker(word)
    }
}
