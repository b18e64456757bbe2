//! A simulated device that tells when it is dropped, and lets a test step in where tiles change.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use tenure_core::device::{
    self, Barrier, BufferLayout, CommandList, Descriptor, DescriptorHeapDesc, DescriptorSource, Device,
    DeviceError, HeapBudget, HeapDesc, ManagerSlot, MemoryTypeId, ObjectRef, Permit, Properties, QueueId,
    QueueSerial, Requirements, ResourceDesc, SetBinding, SetWrite, State, Subresource, TextureRegion,
    TileLayout, TileSource, TileUpdate,
};
use tenure_sim as sim;

use super::Counted;

type Step = Box<dyn Fn(QueueId) + Send + Sync>;

/// Owns its simulated device as a program's device owns a driver's.
pub(crate) struct Watched {
    sim: sim::Device,
    after_tiles: Step,
    _dropped: Counted,
}

impl Watched {
    /// The device and how often it was dropped.
    pub(crate) fn new(sim: &sim::Device) -> (Self, Arc<AtomicUsize>) {
        let (dropped, count) = Counted::new();
        (Self { sim: sim.clone(), after_tiles: Box::new(|_| {}), _dropped: dropped }, count)
    }

    /// Calls `step` each time that mappings were submitted, before the caller learns of it.
    pub(crate) fn after_tiles(self, step: impl Fn(QueueId) + Send + Sync + 'static) -> Self {
        Self { after_tiles: Box::new(step), ..self }
    }
}

pub(crate) struct List(sim::List);

fn barrier<'a>(barrier: &Barrier<'a, Watched>) -> Barrier<'a, sim::Device> {
    match *barrier {
        Barrier::Transition { resource, subresource, before, after, transfer } => {
            Barrier::Transition { resource, subresource, before, after, transfer }
        }
        Barrier::Unordered { resource } => Barrier::Unordered { resource },
        Barrier::Aliasing { before, after, from, to } => Barrier::Aliasing { before, after, from, to },
    }
}

fn tile_update<'a>(update: &TileUpdate<'a, Watched>) -> TileUpdate<'a, sim::Device> {
    let source = match update.source {
        TileSource::Heap { heap, offset } => TileSource::Heap { heap, offset },
        TileSource::Unmapped => TileSource::Unmapped,
        TileSource::CopyOf { resource, region } => TileSource::CopyOf { resource, region },
    };
    TileUpdate { resource: update.resource, region: update.region, source }
}

fn source<'a>(source: DescriptorSource<'a, Watched>) -> DescriptorSource<'a, sim::Device> {
    match source {
        DescriptorSource::Copy { heap, index } => DescriptorSource::Copy { heap, index },
        DescriptorSource::Constants { resource, offset, size } => {
            DescriptorSource::Constants { resource, offset, size }
        }
    }
}

fn set_write<'a>(write: &SetWrite<'a, Watched>) -> SetWrite<'a, sim::Device> {
    SetWrite { binding: write.binding, element: write.element, source: source(write.source) }
}

impl CommandList<Watched> for List {
    fn begin(&mut self) -> Result<(), DeviceError> {
        self.0.begin()
    }

    fn close(&mut self) -> Result<(), DeviceError> {
        self.0.close()
    }

    fn barriers(&mut self, barriers: &[Barrier<'_, Watched>]) {
        self.0.barriers(&barriers.iter().map(barrier).collect::<Vec<_>>());
    }

    fn discard(&mut self, resource: &sim::Resource, subresource: Subresource) {
        self.0.discard(resource, subresource);
    }

    fn make_visible_to_cpu(&mut self, written: State) {
        self.0.make_visible_to_cpu(written);
    }

    fn set_descriptor_heaps(
        &mut self,
        resources: Option<&<sim::Device as Device>::DescriptorHeap>,
        samplers: Option<&<sim::Device as Device>::DescriptorHeap>,
    ) {
        self.0.set_descriptor_heaps(resources, samplers);
    }

    fn copy_buffer(
        &mut self,
        src: &sim::Resource,
        src_offset: u64,
        dst: &sim::Resource,
        dst_offset: u64,
        size: u64,
    ) {
        self.0.copy_buffer(src, src_offset, dst, dst_offset, size);
    }

    fn copy_buffer_to_texture(
        &mut self,
        src: &sim::Resource,
        layout: BufferLayout,
        dst: &sim::Resource,
        region: TextureRegion,
    ) {
        self.0.copy_buffer_to_texture(src, layout, dst, region);
    }

    fn copy_texture_to_buffer(
        &mut self,
        src: &sim::Resource,
        region: TextureRegion,
        dst: &sim::Resource,
        layout: BufferLayout,
    ) {
        self.0.copy_texture_to_buffer(src, region, dst, layout);
    }
}

impl device::Checked for Watched {}

impl Device for Watched {
    type Heap = sim::Heap;
    type Resource = sim::Resource;
    type Mapping = sim::Mapping;
    type List = List;
    type DescriptorHeap = <sim::Device as Device>::DescriptorHeap;
    type SetLayout = <sim::Device as Device>::SetLayout;
    type SetBlock = <sim::Device as Device>::SetBlock;

    fn properties(&self) -> &Properties {
        self.sim.properties()
    }

    fn manager_slot(&self) -> &ManagerSlot {
        self.sim.manager_slot()
    }

    fn requirements(&self, desc: &ResourceDesc) -> Result<Requirements, DeviceError> {
        self.sim.requirements(desc)
    }

    fn create_heap(&self, desc: &HeapDesc) -> Result<sim::Heap, DeviceError> {
        self.sim.create_heap(desc)
    }

    fn destroy_heap(&self, _: Permit<Self>, heap: sim::Heap) {
        self.sim.destroy_heap(Permit::checked(), heap);
    }

    fn create_committed(
        &self,
        desc: &ResourceDesc,
        memory: MemoryTypeId,
    ) -> Result<sim::Resource, DeviceError> {
        self.sim.create_committed(desc, memory)
    }

    fn create_placed(
        &self,
        _: Permit<Self>,
        desc: &ResourceDesc,
        heap: &sim::Heap,
        offset: u64,
    ) -> Result<sim::Resource, DeviceError> {
        self.sim.create_placed(Permit::checked(), desc, heap, offset)
    }

    fn create_reserved(&self, desc: &ResourceDesc) -> Result<sim::Resource, DeviceError> {
        self.sim.create_reserved(desc)
    }

    fn destroy_resource(&self, _: Permit<Self>, resource: sim::Resource) {
        self.sim.destroy_resource(Permit::checked(), resource);
    }

    fn map(&self, resource: &sim::Resource) -> Result<sim::Mapping, DeviceError> {
        self.sim.map(resource)
    }

    fn gpu_address(&self, resource: &sim::Resource) -> Option<u64> {
        self.sim.gpu_address(resource)
    }

    fn tile_layout(&self, resource: &sim::Resource) -> Result<TileLayout, DeviceError> {
        self.sim.tile_layout(resource)
    }

    fn set_name(&self, _: Permit<Self>, object: ObjectRef<'_, Self>, name: &str) {
        let object = match object {
            ObjectRef::Heap(heap) => ObjectRef::Heap(heap),
            ObjectRef::Resource(resource) => ObjectRef::Resource(resource),
            ObjectRef::List(list) => ObjectRef::List(&list.0),
            ObjectRef::DescriptorHeap(heap) => ObjectRef::DescriptorHeap(heap),
            ObjectRef::SetBlock(block) => ObjectRef::SetBlock(block),
        };
        self.sim.set_name(Permit::checked(), object, name);
    }

    fn create_list(&self, _: Permit<Self>, queue: QueueId) -> Result<List, DeviceError> {
        self.sim.create_list(Permit::checked(), queue).map(List)
    }

    fn destroy_list(&self, _: Permit<Self>, list: List) {
        self.sim.destroy_list(Permit::checked(), list.0);
    }

    fn create_descriptor_heap(&self, desc: &DescriptorHeapDesc) -> Result<Self::DescriptorHeap, DeviceError> {
        self.sim.create_descriptor_heap(desc)
    }

    fn destroy_descriptor_heap(&self, _: Permit<Self>, heap: Self::DescriptorHeap) {
        self.sim.destroy_descriptor_heap(Permit::checked(), heap);
    }

    fn write_descriptor(
        &self,
        _: Permit<Self>,
        heap: &Self::DescriptorHeap,
        index: u32,
        descriptor: &Descriptor<'_, Self>,
    ) -> Result<(), DeviceError> {
        let descriptor = match *descriptor {
            Descriptor::Buffer { resource, view } => Descriptor::Buffer { resource, view },
            Descriptor::Texture { resource, view } => Descriptor::Texture { resource, view },
            Descriptor::Sampler(desc) => Descriptor::Sampler(desc),
        };
        Device::write_descriptor(&self.sim, Permit::checked(), heap, index, &descriptor)
    }

    fn fill_descriptors(
        &self,
        _: Permit<Self>,
        heap: &Self::DescriptorHeap,
        first: u32,
        sources: &[DescriptorSource<'_, Self>],
    ) -> Result<(), DeviceError> {
        let sources: Vec<_> = sources.iter().copied().map(source).collect();
        self.sim.fill_descriptors(Permit::checked(), heap, first, &sources)
    }

    fn clear_descriptors(
        &self,
        _: Permit<Self>,
        heap: &Self::DescriptorHeap,
        first: u32,
        count: u32,
        freed_by: Option<&str>,
    ) {
        self.sim.clear_descriptors(Permit::checked(), heap, first, count, freed_by);
    }

    fn create_set_layout(&self, bindings: &[SetBinding]) -> Result<Self::SetLayout, DeviceError> {
        self.sim.create_set_layout(bindings)
    }

    fn destroy_set_layout(&self, _: Permit<Self>, layout: Self::SetLayout) {
        self.sim.destroy_set_layout(Permit::checked(), layout);
    }

    fn create_set_block(
        &self,
        _: Permit<Self>,
        layout: &Self::SetLayout,
        sets: u32,
    ) -> Result<Self::SetBlock, DeviceError> {
        self.sim.create_set_block(Permit::checked(), layout, sets)
    }

    fn destroy_set_block(&self, _: Permit<Self>, block: Self::SetBlock) {
        self.sim.destroy_set_block(Permit::checked(), block);
    }

    fn write_set(
        &self,
        _: Permit<Self>,
        block: &Self::SetBlock,
        set: u32,
        writes: &[SetWrite<'_, Self>],
    ) -> Result<(), DeviceError> {
        let writes: Vec<_> = writes.iter().map(set_write).collect();
        self.sim.write_set(Permit::checked(), block, set, &writes)
    }

    fn clear_set(&self, _: Permit<Self>, block: &Self::SetBlock, set: u32, freed_by: Option<&str>) {
        self.sim.clear_set(Permit::checked(), block, set, freed_by);
    }

    fn submit(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        lists: &[&List],
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        let lists: Vec<_> = lists.iter().map(|list| &list.0).collect();
        self.sim.submit(Permit::checked(), queue, &lists, waits, signal)
    }

    fn update_tiles(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        updates: &[TileUpdate<'_, Self>],
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        let updates: Vec<_> = updates.iter().map(tile_update).collect();
        self.sim.update_tiles(Permit::checked(), queue, &updates, waits, signal)?;
        (self.after_tiles)(queue);
        Ok(())
    }

    fn completed(&self, queue: QueueId) -> Result<u64, DeviceError> {
        self.sim.completed(queue)
    }

    fn wait(&self, target: QueueSerial, timeout: Duration) -> Result<bool, DeviceError> {
        self.sim.wait(target, timeout)
    }

    fn budget(&self) -> Result<Vec<HeapBudget>, DeviceError> {
        self.sim.budget()
    }

    fn status(&self) -> Result<(), DeviceError> {
        self.sim.status()
    }
}
