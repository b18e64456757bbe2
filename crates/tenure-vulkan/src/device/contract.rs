//! The contract, by calls of the parts.

use std::time::Duration;

use ash::vk;
use smallvec::SmallVec;
use tenure_core::device::{
    self, AccelerationStructureRange, CallRule, Descriptor, DescriptorDevice, DescriptorHeapDesc,
    DescriptorSource, DeviceError, DeviceFault, Format, HeapBudget, HeapDesc, MemoryBlock, MemoryDevice,
    MemoryTypeId, ObjectRef, Permit, Priority, Properties, QueryDevice, QueryHeapDesc, QueueDevice, QueueId,
    QueueSerial, RayDevice, Requirements, ResidencyDevice, ResourceDesc, SetBinding, SetDevice, SetWrite,
    SingleManager, State, SubmitSync, TextureInfo, TextureWrite, TileDevice, TileLayout, TileUpdate,
};

use super::Device;
use crate::descriptor::{DescriptorHeap, SetLayout, SetPool};
use crate::memory::{Heap, Mapping};
use crate::query::QueryHeap;
use crate::queue::{BUFFERS, ExternalSemaphore, Sync, Work};
use crate::record::List;
use crate::resource::Resource;
use crate::structure::AccelerationStructure;

/// Methods of the contract that a part or an object has.
macro_rules! forwarded {
    ($(fn $name:ident($this:ident $(, $argument:tt: $kind:ty)*) $(-> $answer:ty)? $call:block)*) => {$(
        fn $name(&$this $(, $argument: $kind)*) $(-> $answer)? $call
    )*};
}

impl MemoryDevice for Device {
    type Heap = Heap;
    type Resource = Resource;
    type Mapping = Mapping;

    forwarded! {
        fn requirements(self, desc: &ResourceDesc) -> Result<Requirements, DeviceError> { self.parts.resources.requirements(desc) }
        fn generates_mips(self, format: Format) -> bool { self.parts.resources.generates_mips(format) }
        fn create_heap(self, desc: &HeapDesc) -> Result<Heap, DeviceError> { self.parts.memory.create_heap(desc) }
        fn create_committed(self, desc: &ResourceDesc, memory: MemoryTypeId) -> Result<Resource, DeviceError> {
            self.parts.resources.create_committed(desc, memory, desc.usage().priority())
        }
        fn map(self, resource: &Resource) -> Result<Mapping, DeviceError> { resource.map() }
        fn texture_write_states(self, info: &TextureInfo) -> State { self.parts.resources.texture_write_states(info) }
        fn gpu_address(self, resource: &Resource) -> Option<u64> { resource.address }
        fn budget(self) -> Result<Vec<HeapBudget>, DeviceError> { self.parts.memory.budget() }
        fn destroy_heap(self, _: Permit<Self>, heap: Heap) { heap.memory.destroy() }
        fn create_placed(self, _: Permit<Self>, desc: &ResourceDesc, heap: &Heap, offset: u64) -> Result<Resource, DeviceError> {
            self.parts.resources.create_placed(desc, heap, offset)
        }
        fn destroy_resource(self, _: Permit<Self>, resource: Resource) { resource.destroy() }
        fn write_texture(self, _: Permit<Self>, texture: &Resource, states: (State, State), writes: &[TextureWrite<'_>]) -> Result<(), DeviceError> {
            self.parts.resources.write_texture(texture, states, writes)
        }
    }
}

impl ResidencyDevice for Device {
    forwarded! {
        fn create_committed_with_priority(self, _: Permit<Self>, desc: &ResourceDesc, memory: MemoryTypeId, priority: Priority) -> Result<Resource, DeviceError> {
            self.parts.resources.create_committed(desc, memory, priority)
        }
        fn set_priority(self, _: Permit<Self>, block: MemoryBlock<'_, Self>, priority: Priority) -> Result<(), DeviceError> {
            self.change_priority(&block, priority)
        }
    }
}

impl TileDevice for Device {
    forwarded! {
        fn create_reserved(self, desc: &ResourceDesc) -> Result<Resource, DeviceError> { self.parts.resources.create_reserved(desc) }
        fn tile_layout(self, resource: &Resource) -> Result<TileLayout, DeviceError> { resource.tile_layout() }
        fn update_tiles(self, _: Permit<Self>, queue: QueueId, updates: &[TileUpdate<'_, Self>], waits: &[QueueSerial], signal: u64) -> Result<(), DeviceError> {
            self.parts.tiles.update(queue, updates, waits, signal)
        }
    }
}

impl RayDevice for Device {
    type AccelerationStructure = AccelerationStructure;

    forwarded! {
        fn acceleration_structure_address(self, structure: &AccelerationStructure) -> u64 { structure.address() }
        fn create_acceleration_structure(self, _: Permit<Self>, range: &AccelerationStructureRange<'_, Self>) -> Result<AccelerationStructure, DeviceError> {
            AccelerationStructure::create(&self.parts.loaded, range)
        }
        fn destroy_acceleration_structure(self, _: Permit<Self>, structure: AccelerationStructure) { structure.destroy() }
    }
}

impl DescriptorDevice for Device {
    type DescriptorHeap = DescriptorHeap;

    forwarded! {
        fn create_descriptor_heap(self, desc: &DescriptorHeapDesc) -> Result<DescriptorHeap, DeviceError> {
            self.parts.descriptors.create_descriptor_heap(desc)
        }
        fn destroy_descriptor_heap(self, _: Permit<Self>, heap: DescriptorHeap) { heap.destroy() }
        fn write_descriptor(self, _: Permit<Self>, heap: &DescriptorHeap, index: u32, descriptor: &Descriptor<'_, Self>) -> Result<(), DeviceError> {
            heap.write(&self.parts.descriptors, index, descriptor)
        }
        fn fill_descriptors(self, _: Permit<Self>, heap: &DescriptorHeap, first: u32, sources: &[DescriptorSource<'_, Self>]) -> Result<(), DeviceError> {
            heap.fill(&self.parts.descriptors, first, sources)
        }
        fn clear_descriptors(self, _: Permit<Self>, heap: &DescriptorHeap, first: u32, count: u32, freed_by: Option<&str>) {
            heap.clear(first, count, freed_by.is_some())
        }
    }
}

impl SetDevice for Device {
    type SetLayout = SetLayout;
    type SetPool = SetPool;

    forwarded! {
        fn create_set_layout(self, bindings: &[SetBinding]) -> Result<SetLayout, DeviceError> {
            self.parts.descriptors.create_set_layout(bindings)
        }
        fn destroy_set_layout(self, _: Permit<Self>, layout: SetLayout) { layout.destroy() }
        fn create_set_pool(self, _: Permit<Self>, layout: &SetLayout, sets: u32) -> Result<SetPool, DeviceError> {
            self.parts.descriptors.create_set_pool(layout, sets)
        }
        fn destroy_set_pool(self, _: Permit<Self>, block: SetPool) { block.destroy() }
        fn write_set(self, _: Permit<Self>, block: &SetPool, set: u32, writes: &[SetWrite<'_, Self>]) -> Result<(), DeviceError> {
            block.write(&self.parts.descriptors, set, writes)
        }
        fn clear_set(self, _: Permit<Self>, block: &SetPool, set: u32, freed_by: Option<&str>) {
            if freed_by.is_some() {
                block.poison(set);
            }
        }
    }
}

impl QueryDevice for Device {
    type QueryHeap = QueryHeap;

    forwarded! {
        fn create_query_heap(self, desc: &QueryHeapDesc) -> Result<QueryHeap, DeviceError> { QueryHeap::create(&self.parts.loaded, desc) }
        fn destroy_query_heap(self, _: Permit<Self>, heap: QueryHeap) { heap.destroy() }
    }
}

impl QueueDevice for Device {
    type List = List;
    type ExternalPoint = ExternalSemaphore;
    type NativeQueue<'a> = vk::Queue;

    forwarded! {
        fn completed(self, queue: QueueId) -> Result<u64, DeviceError> { self.parts.queues.completed(queue) }
        fn wait(self, target: QueueSerial, timeout: Duration) -> Result<bool, DeviceError> { self.parts.queues.wait(target, timeout) }
        fn create_list(self, _: Permit<Self>, queue: QueueId) -> Result<List, DeviceError> { List::create(&self.parts.queues, &self.parts.resources, queue) }
        fn destroy_list(self, _: Permit<Self>, list: List) { list.destroy() }
    }

    fn submit_with(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        lists: &[&List],
        sync: SubmitSync<'_, Self>,
    ) -> Result<(), DeviceError> {
        self.parts.loaded.alive()?;
        let mut buffers: SmallVec<[vk::CommandBuffer; BUFFERS]> = SmallVec::new();
        for list in lists {
            let (front, buffer) = list.closed(&self.parts.loaded, queue)?;
            buffers.extend(front.into_iter().chain([buffer]));
        }
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

impl device::Device for Device {
    fn properties(&self) -> &Properties {
        &self.parts.loaded.tables.properties
    }

    fn single_manager(&self) -> &SingleManager {
        &self.parts.single_manager
    }

    forwarded! {
        fn status(self) -> Result<(), DeviceError> { self.parts.loaded.alive() }
        fn device_faults(self) -> Vec<DeviceFault> { self.parts.loaded.faults() }
        fn marker(self, word: u32) -> u32 { self.parts.loaded.marker(word) }
        fn set_name(self, _: Permit<Self>, object: ObjectRef<'_, Self>, name: &str) { self.name_object(&object, name) }
    }
}
