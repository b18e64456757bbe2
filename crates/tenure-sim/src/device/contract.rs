//! The contract of devices. Each call is counted here, costs what the model says, and may fail on order.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::device::{
    AccelerationStructureRange, CallRule, Checked, Descriptor, DescriptorHeapDesc, DescriptorSource,
    DeviceError, HeapBudget, HeapDesc, ManagerSlot, MemoryBlock, MemoryTypeId, ObjectRef, PagingPoint,
    Permit, Priority, Properties, QueryHeapDesc, QueueId, QueueSerial, Requirements, ResourceDesc,
    SetBinding, SetWrite, State, SubmitSync, TextureInfo, TextureWrite, TileLayout, TileUpdate, TrimRequest,
};

use super::Device;
use super::mapping::Mapping;
use crate::calls::CallKind;
use crate::calls::Request;
use crate::descriptors::{DescriptorHeap, SetBlock, SetLayout};
use crate::hazard::HazardKind;
use crate::layout::Layout;
use crate::list::List;
use crate::memory::{Heap, Memory};
use crate::object::ObjectKind;
use crate::points::ExternalPoint;
use crate::queries::QueryHeap;
use crate::requirements::tiles::buffer_tiles;
use crate::resource::Resource;
use crate::structures::AccelerationStructure;
use crate::submit::NativeQueue;

impl Device {
    /// Creates what is described by `created`, and has it be what is described by `desc`.
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
}

impl Checked for Device {}

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
    type ExternalPoint = ExternalPoint;
    type NativeQueue<'a> = NativeQueue<'a>;

    fn properties(&self) -> &Properties {
        &self.queues.properties
    }

    fn manager_slot(&self) -> &ManagerSlot {
        &self.queues.manager_slot
    }

    fn requirements(&self, desc: &ResourceDesc) -> Result<Requirements, DeviceError> {
        let queues = &self.queues;
        queues.call(CallKind::Requirements, Request::default(), || queues.requirements_of(desc))
    }

    fn create_heap(&self, desc: &HeapDesc) -> Result<Heap, DeviceError> {
        let request = Request { memory: desc.memory.0, ..Request::of(desc.size) };
        self.queues.call(CallKind::CreateHeap, request, || self.queues.create_heap(desc))
    }

    fn destroy_heap(&self, _: Permit<Self>, heap: Heap) {
        self.queues.count(CallKind::DestroyHeap, Request::of(heap.state.desc.size));
        self.queues.destroy_heap(&heap);
    }

    fn create_committed(&self, desc: &ResourceDesc, memory: MemoryTypeId) -> Result<Resource, DeviceError> {
        self.create_committed_as(desc, desc, memory)
    }

    fn create_placed(
        &self,
        _: Permit<Self>,
        desc: &ResourceDesc,
        heap: &Heap,
        offset: u64,
    ) -> Result<Resource, DeviceError> {
        let (queues, memory) = (&self.queues, heap.state.memory());
        let size = queues.requirements_of(desc).map_or(0, |needs| needs.size);
        let request = Request::for_memory(size, memory, desc);
        queues.call(CallKind::CreatePlaced, request, || queues.create_placed(desc, heap, offset))
    }

    fn create_reserved(&self, desc: &ResourceDesc) -> Result<Resource, DeviceError> {
        let request = Request::for_memory(0, MemoryTypeId(0), desc);
        self.queues.call(CallKind::CreateReserved, request, || self.queues.create_reserved(desc))
    }

    fn destroy_resource(&self, _: Permit<Self>, resource: Resource) {
        let state = &resource.state;
        let bytes = state.committed().map_or(0, |(_, size)| size);
        let request = Request { texture: !state.is_buffer(), ..Request::of(bytes) };
        self.queues.count(CallKind::DestroyResource, request);
        self.queues.destroy_resource(&resource);
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

    fn write_texture(
        &self,
        _: Permit<Self>,
        texture: &Resource,
        states: (State, State),
        writes: &[TextureWrite<'_>],
    ) -> Result<(), DeviceError> {
        let bytes = writes.iter().map(|write| write.bytes.len() as u64).fold(0, u64::saturating_add);
        let request = Request { texture: true, ..Request::of(bytes) };
        let write = || self.queues.write_texture(texture, states, writes);
        self.queues.call(CallKind::WriteTexture, request, write)
    }

    fn gpu_address(&self, resource: &Resource) -> Option<u64> {
        resource.state.address
    }

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

    fn name_range(&self, buffer: &Resource, offset: u64, size: u64, name: &str) {
        if !self.queues.checks.is_empty() {
            buffer.state.owners.set(offset..offset.saturating_add(size), name);
        }
    }

    fn set_name(&self, _: Permit<Self>, object: ObjectRef<'_, Self>, name: &str) {
        match object {
            ObjectRef::Heap(heap) => heap.state.label.set_name(name),
            ObjectRef::Resource(resource) => resource.state.label.set_name(name),
            ObjectRef::List(list) => list.state.label.set_name(name),
            ObjectRef::DescriptorHeap(heap) => heap.state.label.set_name(name),
            ObjectRef::SetBlock(block) => block.state.label.set_name(name),
            ObjectRef::QueryHeap(heap) => heap.state.label.set_name(name),
            ObjectRef::AccelerationStructure(structure) => structure.state.label.set_name(name),
        }
    }

    fn create_list(&self, _: Permit<Self>, queue: QueueId) -> Result<List, DeviceError> {
        self.queues.call(CallKind::CreateList, Request::default(), || {
            let queues = &self.queues.properties.queues;
            let Some(properties) = queues.get(queue.index()) else {
                return Err(DeviceError::invalid_call(
                    CallRule::QueueExists,
                    u64::from(queue.0),
                    queues.len() as u64,
                ));
            };
            let label = self.queues.register.create(ObjectKind::List);
            Ok(List::new(&self.queues, label, queue, properties.kind))
        })
    }

    fn destroy_list(&self, _: Permit<Self>, list: List) {
        let (queues, state) = (&self.queues, &list.state);
        queues.count(CallKind::DestroyList, Request::default());
        queues.check_unused(&state.label, &state.last_use, HazardKind::DestroyedInUse, "destroy_list");
        queues.register.destroy(&state.label);
    }

    fn create_descriptor_heap(&self, desc: &DescriptorHeapDesc) -> Result<DescriptorHeap, DeviceError> {
        let request = Request::of(u64::from(desc.count));
        self.queues.call(CallKind::CreateDescriptorHeap, request, || self.queues.create_descriptor_heap(desc))
    }

    fn destroy_descriptor_heap(&self, _: Permit<Self>, heap: DescriptorHeap) {
        self.queues.count(CallKind::DestroyDescriptorHeap, Request::of(u64::from(heap.state.desc.count)));
        self.queues.destroy_descriptor_heap(&heap);
    }

    fn write_descriptor(
        &self,
        _: Permit<Self>,
        heap: &DescriptorHeap,
        index: u32,
        descriptor: &Descriptor<'_, Self>,
    ) -> Result<(), DeviceError> {
        let write = || self.queues.write_descriptor(heap, index, descriptor);
        self.queues.call(CallKind::WriteDescriptor, Request::of(1), write)
    }

    fn fill_descriptors(
        &self,
        _: Permit<Self>,
        heap: &DescriptorHeap,
        first: u32,
        sources: &[DescriptorSource<'_, Self>],
    ) -> Result<(), DeviceError> {
        let fill = || self.queues.fill_descriptors(heap, first, sources);
        self.queues.call(CallKind::FillDescriptors, Request::of(sources.len() as u64), fill)
    }

    fn clear_descriptors(
        &self,
        _: Permit<Self>,
        heap: &DescriptorHeap,
        first: u32,
        count: u32,
        freed_by: Option<&str>,
    ) {
        self.queues.count(CallKind::ClearDescriptors, Request::of(u64::from(count)));
        self.queues.clear_descriptors(heap, first, count, freed_by);
    }

    fn create_set_layout(&self, bindings: &[SetBinding]) -> Result<SetLayout, DeviceError> {
        let request = Request::of(bindings.len() as u64);
        self.queues.call(CallKind::CreateSetLayout, request, || self.queues.create_set_layout(bindings))
    }

    fn destroy_set_layout(&self, _: Permit<Self>, layout: SetLayout) {
        self.queues.count(CallKind::DestroySetLayout, Request::default());
        self.queues.destroy_set_layout(&layout);
    }

    fn create_set_block(
        &self,
        _: Permit<Self>,
        layout: &SetLayout,
        sets: u32,
    ) -> Result<SetBlock, DeviceError> {
        let request = Request::of(u64::from(sets));
        self.queues.call(CallKind::CreateSetBlock, request, || self.queues.create_set_block(layout, sets))
    }

    fn destroy_set_block(&self, _: Permit<Self>, block: SetBlock) {
        self.queues.count(CallKind::DestroySetBlock, Request::of(block.state.sets.lock().len() as u64));
        self.queues.destroy_set_block(&block);
    }

    fn write_set(
        &self,
        _: Permit<Self>,
        block: &SetBlock,
        set: u32,
        writes: &[SetWrite<'_, Self>],
    ) -> Result<(), DeviceError> {
        let request = Request::of(writes.len() as u64);
        self.queues.call(CallKind::WriteSet, request, || self.queues.write_set(block, set, writes))
    }

    fn clear_set(&self, _: Permit<Self>, block: &SetBlock, set: u32, freed_by: Option<&str>) {
        self.queues.count(CallKind::ClearSet, Request::of(1));
        self.queues.clear_set(block, set, freed_by);
    }

    fn create_query_heap(&self, desc: &QueryHeapDesc) -> Result<QueryHeap, DeviceError> {
        let request = Request::of(u64::from(desc.count));
        self.queues.call(CallKind::CreateQueryHeap, request, || self.queues.create_query_heap(desc))
    }

    fn destroy_query_heap(&self, _: Permit<Self>, heap: QueryHeap) {
        self.queues.count(CallKind::DestroyQueryHeap, Request::default());
        self.queues.destroy_query_heap(&heap);
    }

    fn create_acceleration_structure(
        &self,
        _: Permit<Self>,
        range: &AccelerationStructureRange<'_, Self>,
    ) -> Result<AccelerationStructure, DeviceError> {
        let create = || self.queues.create_acceleration_structure(range);
        self.queues.call(CallKind::CreateAccelerationStructure, Request::of(range.size), create)
    }

    fn destroy_acceleration_structure(&self, _: Permit<Self>, structure: AccelerationStructure) {
        self.queues.count(CallKind::DestroyAccelerationStructure, Request::default());
        self.queues.destroy_acceleration_structure(&structure);
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

    fn update_tiles(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        updates: &[TileUpdate<'_, Self>],
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        self.queues.update_tiles(queue, updates, waits, signal)
    }

    fn make_resident(
        &self,
        _: Permit<Self>,
        blocks: &[MemoryBlock<'_, Self>],
    ) -> Result<PagingPoint, DeviceError> {
        self.queues.make_resident(blocks)
    }

    fn evict(&self, _: Permit<Self>, blocks: &[MemoryBlock<'_, Self>]) -> Result<(), DeviceError> {
        self.queues.evict(blocks)
    }

    fn set_priority(
        &self,
        _: Permit<Self>,
        block: MemoryBlock<'_, Self>,
        priority: Priority,
    ) -> Result<(), DeviceError> {
        self.queues.set_priority(block, priority)
    }

    fn completed(&self, queue: QueueId) -> Result<u64, DeviceError> {
        self.queues.completed(queue)
    }

    fn wait(&self, target: QueueSerial, timeout: Duration) -> Result<bool, DeviceError> {
        self.queues.wait(target, timeout)
    }

    fn budget(&self) -> Result<Vec<HeapBudget>, DeviceError> {
        self.queues.call(CallKind::Budget, Request::default(), || Ok(self.queues.budgets()))
    }

    fn budget_changed(&self) -> bool {
        self.queues.budget_changed()
    }

    fn take_trim_request(&self) -> Option<TrimRequest> {
        self.queues.notices.take_trim()
    }

    fn reserve(&self, bytes: &[u64]) {
        self.queues.notices.reserve(bytes);
    }

    fn status(&self) -> Result<(), DeviceError> {
        self.queues.alive()
    }
}
