//! The device contract, call by call, and the objects' debug names.

use std::convert::Infallible;
use std::time::Duration;

use tenure_core::device::{
    AccelerationStructureRange, Descriptor, DescriptorHeapDesc, DescriptorSource, DeviceError, HeapBudget,
    HeapDesc, ManagerSlot, MemoryBlock, MemoryTypeId, ObjectRef, PagingPoint, Permit, Priority, Properties,
    QueryHeapDesc, QueueId, QueueSerial, Requirements, ResourceDesc, SetBinding, SetWrite, SubmitSync,
    TileLayout, TileUpdate, TrimRequest,
};
use tenure_core::emit;
use windows::Win32::Graphics::Direct3D::WKPDID_D3DDebugObjectNameW;
use windows::Win32::Graphics::Direct3D12::{ID3D12CommandQueue, ID3D12Object};
use windows::core::{HSTRING, Interface};

use crate::device::query::Storage;
use crate::{
    AccelerationStructure, DescriptorHeap, Device, ExternalFence, Heap, List, Mapping, QueryHeap, Resource,
};

impl tenure_core::device::Device for Device {
    type Heap = Heap;
    type Resource = Resource;
    type Mapping = Mapping;
    type List = List;
    type DescriptorHeap = DescriptorHeap;
    type SetLayout = Infallible;
    type SetBlock = Infallible;
    type QueryHeap = QueryHeap;
    type AccelerationStructure = AccelerationStructure;
    type ExternalPoint = ExternalFence;
    type NativeQueue<'a> = &'a ID3D12CommandQueue;

    fn properties(&self) -> &Properties {
        &self.inner.properties
    }

    fn manager_slot(&self) -> &ManagerSlot {
        &self.inner.manager_slot
    }

    fn requirements(&self, desc: &ResourceDesc) -> Result<Requirements, DeviceError> {
        self.inner.look()?;
        self.inner.requirements(desc)
    }

    fn create_heap(&self, desc: &HeapDesc) -> Result<Heap, DeviceError> {
        self.inner.create_heap(desc)
    }

    fn destroy_heap(&self, _: Permit<Self>, heap: Heap) {
        let residents = heap.core.residents();
        if residents > 0 {
            self.inner.counters.heap_destroyed_early();
            emit(move || {
                tracing::error!(target: "tenure_d3d12", residents, "a heap is destroyed before what is placed in it");
            });
        }
        drop(heap);
    }

    fn create_committed(&self, desc: &ResourceDesc, memory: MemoryTypeId) -> Result<Resource, DeviceError> {
        self.inner.create_committed(desc, memory)
    }

    fn create_placed(
        &self,
        _: Permit<Self>,
        desc: &ResourceDesc,
        heap: &Heap,
        offset: u64,
    ) -> Result<Resource, DeviceError> {
        self.inner.create_placed(desc, heap, offset)
    }

    fn create_reserved(&self, desc: &ResourceDesc) -> Result<Resource, DeviceError> {
        self.inner.create_reserved(desc)
    }

    fn destroy_resource(&self, _: Permit<Self>, resource: Resource) {
        drop(resource);
    }

    fn map(&self, resource: &Resource) -> Result<Mapping, DeviceError> {
        self.inner.map(resource)
    }

    fn gpu_address(&self, resource: &Resource) -> Option<u64> {
        (resource.address != 0).then_some(resource.address)
    }

    fn tile_layout(&self, resource: &Resource) -> Result<TileLayout, DeviceError> {
        self.inner.tile_layout(resource)
    }

    fn set_name(&self, _: Permit<Self>, object: ObjectRef<'_, Self>, name: &str) {
        name_object(&object, name);
    }

    fn create_list(&self, _: Permit<Self>, queue: QueueId) -> Result<List, DeviceError> {
        self.inner.create_list(queue)
    }

    fn destroy_list(&self, _: Permit<Self>, list: List) {
        drop(list);
    }

    fn create_descriptor_heap(&self, desc: &DescriptorHeapDesc) -> Result<DescriptorHeap, DeviceError> {
        self.inner.create_descriptor_heap(desc)
    }

    fn destroy_descriptor_heap(&self, _: Permit<Self>, heap: DescriptorHeap) {
        drop(heap);
    }

    fn write_descriptor(
        &self,
        _: Permit<Self>,
        heap: &DescriptorHeap,
        index: u32,
        descriptor: &Descriptor<'_, Self>,
    ) -> Result<(), DeviceError> {
        self.inner.write_descriptor(heap, index, descriptor)
    }

    fn fill_descriptors(
        &self,
        _: Permit<Self>,
        heap: &DescriptorHeap,
        first: u32,
        sources: &[DescriptorSource<'_, Self>],
    ) -> Result<(), DeviceError> {
        self.inner.fill_descriptors(heap, first, sources)
    }

    fn clear_descriptors(
        &self,
        _: Permit<Self>,
        heap: &DescriptorHeap,
        first: u32,
        count: u32,
        freed_by: Option<&str>,
    ) {
        self.inner.clear_descriptors(heap, first, count, freed_by);
    }

    fn create_set_layout(&self, _: &[SetBinding]) -> Result<Infallible, DeviceError> {
        Err(DeviceError::Unsupported { feature: "descriptor sets" })
    }

    fn destroy_set_layout(&self, _: Permit<Self>, layout: Infallible) {
        match layout {}
    }

    fn create_set_block(
        &self,
        _: Permit<Self>,
        layout: &Infallible,
        _: u32,
    ) -> Result<Infallible, DeviceError> {
        match *layout {}
    }

    fn destroy_set_block(&self, _: Permit<Self>, block: Infallible) {
        match block {}
    }

    fn write_set(
        &self,
        _: Permit<Self>,
        block: &Infallible,
        _: u32,
        _: &[SetWrite<'_, Self>],
    ) -> Result<(), DeviceError> {
        match *block {}
    }

    fn clear_set(&self, _: Permit<Self>, block: &Infallible, _: u32, _: Option<&str>) {
        match *block {}
    }

    fn create_query_heap(&self, desc: &QueryHeapDesc) -> Result<QueryHeap, DeviceError> {
        self.inner.create_query_heap(desc)
    }

    fn destroy_query_heap(&self, _: Permit<Self>, heap: QueryHeap) {
        drop(heap);
    }

    fn create_acceleration_structure(
        &self,
        _: Permit<Self>,
        range: &AccelerationStructureRange<'_, Self>,
    ) -> Result<AccelerationStructure, DeviceError> {
        self.inner.create_acceleration_structure(range)
    }

    fn destroy_acceleration_structure(&self, _: Permit<Self>, structure: AccelerationStructure) {
        drop(structure);
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
        self.inner.submit(queue, lists, sync)
    }

    fn submit_external<T>(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        waits: &[QueueSerial],
        signal: u64,
        run: impl FnOnce(&ID3D12CommandQueue) -> T,
    ) -> Result<T, DeviceError> {
        self.inner.submit_external(queue, waits, signal, run)
    }

    fn update_tiles(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        updates: &[TileUpdate<'_, Self>],
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        self.inner.update_tiles(queue, updates, waits, signal)
    }

    fn make_resident(
        &self,
        _: Permit<Self>,
        blocks: &[MemoryBlock<'_, Self>],
    ) -> Result<PagingPoint, DeviceError> {
        self.inner.make_resident(blocks)
    }

    fn evict(&self, _: Permit<Self>, blocks: &[MemoryBlock<'_, Self>]) -> Result<(), DeviceError> {
        self.inner.evict(blocks)
    }

    fn set_priority(
        &self,
        _: Permit<Self>,
        block: MemoryBlock<'_, Self>,
        priority: Priority,
    ) -> Result<(), DeviceError> {
        self.inner.set_block_priority(&block, priority)
    }

    fn completed(&self, queue: QueueId) -> Result<u64, DeviceError> {
        self.inner.completed(queue)
    }

    fn wait(&self, target: QueueSerial, timeout: Duration) -> Result<bool, DeviceError> {
        self.inner.wait(target, timeout)
    }

    fn budget(&self) -> Result<Vec<HeapBudget>, DeviceError> {
        self.inner.budget()
    }

    fn budget_changed(&self) -> bool {
        self.inner.budget_changed()
    }

    fn take_trim_request(&self) -> Option<TrimRequest> {
        self.inner.take_trim_request()
    }

    fn reserve(&self, bytes: &[u64]) {
        self.inner.reserve(bytes);
    }

    fn status(&self) -> Result<(), DeviceError> {
        self.inner.look()
    }
}

/// Names an object; a failure is ignored, because names are only for debuggers.
fn set_name<T: Interface>(object: &T, name: &HSTRING) {
    let Ok(object) = object.cast::<ID3D12Object>() else { return };
    // SAFETY: the object is alive and the text ends in a NUL.
    let _named = unsafe { object.SetName(name) };
    // On Windows that was all. Other implementations hand the name on to their own API and do not
    // keep it where tools look for it.
    let Ok(bytes) = u32::try_from(size_of_val::<[u16]>(name)) else { return };
    // SAFETY: the object is alive and copies the given number of bytes of the text.
    let _kept =
        unsafe { object.SetPrivateData(&WKPDID_D3DDebugObjectNameW, bytes, Some(name.as_ptr().cast())) };
}

fn name_object(object: &ObjectRef<'_, Device>, name: &str) {
    // A NUL would end the name for some and not for others.
    let name = HSTRING::from(name.split('\0').next().unwrap_or_default());
    match object {
        ObjectRef::DescriptorHeap(heap) => set_name(&heap.raw, &name),
        // Its buffer has other names.
        ObjectRef::AccelerationStructure(_) => {}
        ObjectRef::QueryHeap(heap) => match &heap.storage {
            Storage::Heap(raw) => set_name(raw, &name),
            Storage::Sizes(buffer) => set_name(&buffer.raw, &name),
        },
        ObjectRef::SetBlock(none) => match **none {},
        ObjectRef::Heap(heap) => set_name(heap.raw(), &name),
        ObjectRef::Resource(resource) => set_name(&resource.raw, &name),
        ObjectRef::List(list) => {
            set_name(&list.raw, &name);
            set_name(&list.allocator, &name);
        }
    }
}
