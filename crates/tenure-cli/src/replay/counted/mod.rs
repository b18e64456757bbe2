//! A wrapper around any device that counts the calls to the driver.

mod counters;
mod list;

use std::sync::Arc;
use std::time::{Duration, Instant};

use smallvec::SmallVec;
use tenure::device::{
    AccelerationStructureRange, Checked, Descriptor, DescriptorHeapDesc, DescriptorSource, Device,
    HeapBudget, HeapDesc, ManagerSlot, MemoryBlock, MemoryTypeId, ObjectRef, PagingPoint, Permit, Priority,
    Properties, QueryHeapDesc, QueueSerial, Requirements, ResourceDesc, SetWrite, SubmitSync, TextureInfo,
    TextureWrite, TileLayout, TileUpdate, TrimRequest,
};
use tenure::{DeviceError, Format, QueueId, SetBinding, State, Usage};

use counters::{Counters, Kind};
pub use counters::{DriverMemory, Gauge, Live, MemoryCall};
pub use list::List;

/// A wrapper around any device that counts the memory allocations, the objects and the time of the driver.
///
/// Every call is passed to the inner device unchanged. A heap counts with its size, a committed resource with its
/// required size. The time covers the calls about memory: creating, destroying and mapping heaps and resources,
/// and querying requirements. Counting costs two readings of the clock and some relaxed atomic additions a call;
/// any thread may call. Clones share the counters.
///
/// ```
/// use tenure::device::{Device, HeapCategory, HeapDesc, MemoryTypeId, Permit, Priority};
/// use tenure::sim;
/// use tenure_cli::replay::Counted;
///
/// let device = Counted::new(sim::Device::new(sim::Profile::DISCRETE));
/// let gauge = device.gauge();
/// let (memory, category, priority) = (MemoryTypeId(0), HeapCategory::Any, Priority::Normal);
/// let desc = HeapDesc { size: 1 << 20, alignment: 1 << 16, memory, category, priority };
/// let heap = device.create_heap(&desc)?;
/// assert_eq!((gauge.meter().reserved_bytes, gauge.live().heaps), (1 << 20, 1));
/// device.destroy_heap(Permit::checked(), heap);
/// assert_eq!((gauge.meter().reserved_bytes, gauge.meter().allocations), (0, 1));
/// # Ok::<(), tenure::DeviceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Counted<D> {
    inner: D,
    counters: Arc<Counters>,
}

/// A heap of a [`Counted`] device.
pub struct Heap<D: Device> {
    inner: D::Heap,
    memory: DriverMemory,
}

/// A resource of a [`Counted`] device.
pub struct Resource<D: Device> {
    inner: D::Resource,
    /// Its memory, and the offset there; `None` for a reserved or uncounted resource.
    place: Option<(DriverMemory, u64)>,
    /// It has that memory for itself.
    is_committed: bool,
    is_counted: bool,
}

impl<D: Device> Resource<D> {
    /// The inner resource.
    pub const fn inner(&self) -> &D::Resource {
        &self.inner
    }

    /// Its memory, and the offset there; `None` for a reserved resource, and for an adopted one.
    pub const fn place(&self) -> Option<(DriverMemory, u64)> {
        self.place
    }
}

impl<D: Device> Counted<D> {
    /// Wraps `inner`, with all counters at 0.
    pub fn new(inner: D) -> Self {
        Self { inner, counters: Arc::default() }
    }

    /// As [`new`](Self::new); in addition the calls that take memory or give it back are kept until
    /// [`Gauge::take_calls`], without a bound.
    pub fn with_calls(inner: D) -> Self {
        Self { inner, counters: Arc::new(Counters::with_calls()) }
    }

    /// The inner device.
    pub const fn inner(&self) -> &D {
        &self.inner
    }

    /// The counters, which can be read after the device was dropped, too.
    pub fn gauge(&self) -> Gauge {
        Gauge::new(Arc::clone(&self.counters))
    }

    /// Wraps a resource that was created on the inner device. It counts as a live object, and in no
    /// other counter.
    pub fn adopt(&self, inner: D::Resource) -> Resource<D> {
        self.counters.live(Kind::Resource);
        Resource { inner, place: None, is_committed: false, is_counted: false }
    }

    fn timed<T>(&self, call: impl FnOnce(&D) -> T) -> T {
        let start = Instant::now();
        let answer = call(&self.inner);
        self.counters.took(start.elapsed());
        answer
    }

    fn resource(&self, inner: D::Resource, place: Option<(DriverMemory, u64)>) -> Resource<D> {
        self.counters.live(Kind::Resource);
        Resource { inner, place, is_committed: false, is_counted: true }
    }

    fn committed(&self, inner: D::Resource, bytes: u64, memory: MemoryTypeId) -> Resource<D> {
        self.counters.created();
        let memory = self.counters.allocated(bytes, memory, false);
        Resource { is_committed: true, ..self.resource(inner, Some((memory, 0))) }
    }
}

/// The permit for the inner device.
const fn inner_permit<D: Device>(_: Permit<Counted<D>>) -> Permit<D> {
    // SAFETY: each call is passed on unchanged, and its caller had a permit for it.
    unsafe { Permit::new() }
}

impl<D: Checked> Checked for Counted<D> {}

fn inner_block<'a, D: Device>(block: &MemoryBlock<'a, Counted<D>>) -> MemoryBlock<'a, D> {
    match *block {
        MemoryBlock::Heap(heap) => MemoryBlock::Heap(&heap.inner),
        MemoryBlock::Resource(resource) => MemoryBlock::Resource(&resource.inner),
    }
}

// A default here would hide the method of the inner device.
#[deny(clippy::missing_trait_methods)]
impl<D: Device> Device for Counted<D> {
    type Heap = Heap<D>;
    type Resource = Resource<D>;
    type Mapping = D::Mapping;
    type List = List<D>;
    type DescriptorHeap = D::DescriptorHeap;
    type SetLayout = D::SetLayout;
    type SetBlock = D::SetBlock;
    type QueryHeap = D::QueryHeap;
    type AccelerationStructure = D::AccelerationStructure;
    type ExternalPoint = D::ExternalPoint;
    type NativeQueue<'a> = D::NativeQueue<'a>;

    fn properties(&self) -> &Properties {
        self.inner.properties()
    }

    fn manager_slot(&self) -> &ManagerSlot {
        self.inner.manager_slot()
    }

    fn requirements(&self, desc: &ResourceDesc) -> Result<Requirements, DeviceError> {
        self.timed(|inner| inner.requirements(desc))
    }

    fn supports_format(&self, format: Format, usage: Usage) -> bool {
        self.timed(|inner| inner.supports_format(format, usage))
    }

    fn create_heap(&self, desc: &HeapDesc) -> Result<Heap<D>, DeviceError> {
        let inner = self.timed(|inner| inner.create_heap(desc))?;
        self.counters.created();
        let memory = self.counters.allocated(desc.size, desc.memory, true);
        self.counters.live(Kind::Heap);
        Ok(Heap { inner, memory })
    }

    fn destroy_heap(&self, permit: Permit<Self>, heap: Heap<D>) {
        self.timed(|inner| inner.destroy_heap(inner_permit(permit), heap.inner));
        self.counters.destroyed();
        self.counters.given_back(heap.memory);
        self.counters.gone(Kind::Heap);
    }

    fn create_committed(
        &self,
        desc: &ResourceDesc,
        memory: MemoryTypeId,
    ) -> Result<Resource<D>, DeviceError> {
        // This query is made by the counter, not by the program: it is not timed.
        let bytes = self.inner.requirements(desc)?.size;
        let inner = self.timed(|inner| inner.create_committed(desc, memory))?;
        Ok(self.committed(inner, bytes, memory))
    }

    fn create_committed_with_priority(
        &self,
        permit: Permit<Self>,
        desc: &ResourceDesc,
        memory: MemoryTypeId,
        priority: Priority,
    ) -> Result<Resource<D>, DeviceError> {
        let bytes = self.inner.requirements(desc)?.size;
        let permit = inner_permit(permit);
        let inner =
            self.timed(|inner| inner.create_committed_with_priority(permit, desc, memory, priority))?;
        Ok(self.committed(inner, bytes, memory))
    }

    fn create_placed(
        &self,
        permit: Permit<Self>,
        desc: &ResourceDesc,
        heap: &Heap<D>,
        offset: u64,
    ) -> Result<Resource<D>, DeviceError> {
        let inner =
            self.timed(|inner| inner.create_placed(inner_permit(permit), desc, &heap.inner, offset))?;
        self.counters.created();
        Ok(self.resource(inner, Some((heap.memory, offset))))
    }

    fn create_reserved(&self, desc: &ResourceDesc) -> Result<Resource<D>, DeviceError> {
        let inner = self.timed(|inner| inner.create_reserved(desc))?;
        self.counters.created();
        Ok(self.resource(inner, None))
    }

    fn destroy_resource(&self, permit: Permit<Self>, resource: Resource<D>) {
        let Resource { inner: object, place, is_committed, is_counted } = resource;
        if is_counted {
            self.timed(|inner| inner.destroy_resource(inner_permit(permit), object));
            self.counters.destroyed();
            if let Some((memory, _)) = place.filter(|_| is_committed) {
                self.counters.given_back(memory);
            }
        } else {
            self.inner.destroy_resource(inner_permit(permit), object);
        }
        self.counters.gone(Kind::Resource);
    }

    fn map(&self, resource: &Resource<D>) -> Result<D::Mapping, DeviceError> {
        if resource.is_counted {
            self.timed(|inner| inner.map(&resource.inner))
        } else {
            self.inner.map(&resource.inner)
        }
    }

    fn texture_write_states(&self, info: &TextureInfo) -> State {
        self.timed(|inner| inner.texture_write_states(info))
    }

    fn write_texture(
        &self,
        permit: Permit<Self>,
        texture: &Resource<D>,
        states: (State, State),
        writes: &[TextureWrite<'_>],
    ) -> Result<(), DeviceError> {
        self.timed(|inner| inner.write_texture(inner_permit(permit), &texture.inner, states, writes))
    }

    fn gpu_address(&self, resource: &Resource<D>) -> Option<u64> {
        self.inner.gpu_address(&resource.inner)
    }

    fn tile_layout(&self, resource: &Resource<D>) -> Result<TileLayout, DeviceError> {
        self.inner.tile_layout(&resource.inner)
    }

    fn set_name(&self, permit: Permit<Self>, object: ObjectRef<'_, Self>, name: &str) {
        let object = match object {
            ObjectRef::Heap(heap) => ObjectRef::Heap(&heap.inner),
            ObjectRef::Resource(resource) => ObjectRef::Resource(&resource.inner),
            ObjectRef::List(list) => ObjectRef::List(list.inner()),
            ObjectRef::DescriptorHeap(heap) => ObjectRef::DescriptorHeap(heap),
            ObjectRef::SetBlock(block) => ObjectRef::SetBlock(block),
            ObjectRef::QueryHeap(heap) => ObjectRef::QueryHeap(heap),
            ObjectRef::AccelerationStructure(structure) => ObjectRef::AccelerationStructure(structure),
        };
        self.inner.set_name(inner_permit(permit), object, name);
    }

    fn name_range(&self, buffer: &Resource<D>, offset: u64, size: u64, name: &str) {
        self.inner.name_range(&buffer.inner, offset, size, name);
    }

    fn create_list(&self, permit: Permit<Self>, queue: QueueId) -> Result<List<D>, DeviceError> {
        let list = self.inner.create_list(inner_permit(permit), queue)?;
        self.counters.live(Kind::List);
        Ok(List::new(list))
    }

    fn destroy_list(&self, permit: Permit<Self>, list: List<D>) {
        self.inner.destroy_list(inner_permit(permit), list.into_inner());
        self.counters.gone(Kind::List);
    }

    fn create_descriptor_heap(&self, desc: &DescriptorHeapDesc) -> Result<Self::DescriptorHeap, DeviceError> {
        self.inner.create_descriptor_heap(desc)
    }

    fn destroy_descriptor_heap(&self, permit: Permit<Self>, heap: Self::DescriptorHeap) {
        self.inner.destroy_descriptor_heap(inner_permit(permit), heap);
    }

    fn write_descriptor(
        &self,
        permit: Permit<Self>,
        heap: &Self::DescriptorHeap,
        index: u32,
        descriptor: &Descriptor<'_, Self>,
    ) -> Result<(), DeviceError> {
        let descriptor = match *descriptor {
            Descriptor::Buffer { resource, view } => Descriptor::Buffer { resource: &resource.inner, view },
            Descriptor::Texture { resource, view } => Descriptor::Texture { resource: &resource.inner, view },
            Descriptor::Sampler(desc) => Descriptor::Sampler(desc),
        };
        self.inner.write_descriptor(inner_permit(permit), heap, index, &descriptor)
    }

    fn fill_descriptors(
        &self,
        permit: Permit<Self>,
        heap: &Self::DescriptorHeap,
        first: u32,
        sources: &[DescriptorSource<'_, Self>],
    ) -> Result<(), DeviceError> {
        let sources: SmallVec<[_; 16]> = sources.iter().copied().map(source).collect();
        self.inner.fill_descriptors(inner_permit(permit), heap, first, &sources)
    }

    fn clear_descriptors(
        &self,
        permit: Permit<Self>,
        heap: &Self::DescriptorHeap,
        first: u32,
        count: u32,
        freed_by: Option<&str>,
    ) {
        self.inner.clear_descriptors(inner_permit(permit), heap, first, count, freed_by);
    }

    fn create_set_layout(&self, bindings: &[SetBinding]) -> Result<Self::SetLayout, DeviceError> {
        self.inner.create_set_layout(bindings)
    }

    fn destroy_set_layout(&self, permit: Permit<Self>, layout: Self::SetLayout) {
        self.inner.destroy_set_layout(inner_permit(permit), layout);
    }

    fn create_set_block(
        &self,
        permit: Permit<Self>,
        layout: &Self::SetLayout,
        sets: u32,
    ) -> Result<Self::SetBlock, DeviceError> {
        self.inner.create_set_block(inner_permit(permit), layout, sets)
    }

    fn destroy_set_block(&self, permit: Permit<Self>, block: Self::SetBlock) {
        self.inner.destroy_set_block(inner_permit(permit), block);
    }

    fn write_set(
        &self,
        permit: Permit<Self>,
        block: &Self::SetBlock,
        set: u32,
        writes: &[SetWrite<'_, Self>],
    ) -> Result<(), DeviceError> {
        let writes: SmallVec<[_; 16]> = writes.iter().map(set_write).collect();
        self.inner.write_set(inner_permit(permit), block, set, &writes)
    }

    fn clear_set(&self, permit: Permit<Self>, block: &Self::SetBlock, set: u32, freed_by: Option<&str>) {
        self.inner.clear_set(inner_permit(permit), block, set, freed_by);
    }

    fn create_query_heap(&self, desc: &QueryHeapDesc) -> Result<Self::QueryHeap, DeviceError> {
        self.inner.create_query_heap(desc)
    }

    fn destroy_query_heap(&self, permit: Permit<Self>, heap: Self::QueryHeap) {
        self.inner.destroy_query_heap(inner_permit(permit), heap);
    }

    fn create_acceleration_structure(
        &self,
        permit: Permit<Self>,
        range: &AccelerationStructureRange<'_, Self>,
    ) -> Result<Self::AccelerationStructure, DeviceError> {
        let AccelerationStructureRange { buffer, offset, size, kind } = *range;
        let range = AccelerationStructureRange { buffer: &buffer.inner, offset, size, kind };
        self.inner.create_acceleration_structure(inner_permit(permit), &range)
    }

    fn destroy_acceleration_structure(&self, permit: Permit<Self>, structure: Self::AccelerationStructure) {
        self.inner.destroy_acceleration_structure(inner_permit(permit), structure);
    }

    fn acceleration_structure_address(&self, structure: &Self::AccelerationStructure) -> u64 {
        self.inner.acceleration_structure_address(structure)
    }

    fn submit_with(
        &self,
        permit: Permit<Self>,
        queue: QueueId,
        lists: &[&List<D>],
        sync: SubmitSync<'_, Self>,
    ) -> Result<(), DeviceError> {
        let lists: SmallVec<[_; 4]> = lists.iter().map(|list| list.inner()).collect();
        let SubmitSync { waits, external_waits, external_signals, paging, signal } = sync;
        let sync = SubmitSync { waits, external_waits, external_signals, paging, signal };
        self.inner.submit_with(inner_permit(permit), queue, &lists, sync)
    }

    fn submit(
        &self,
        permit: Permit<Self>,
        queue: QueueId,
        lists: &[&List<D>],
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        self.submit_with(permit, queue, lists, SubmitSync::new(waits, signal))
    }

    fn submit_external<T>(
        &self,
        permit: Permit<Self>,
        queue: QueueId,
        waits: &[QueueSerial],
        signal: u64,
        run: impl FnOnce(Self::NativeQueue<'_>) -> T,
    ) -> Result<T, DeviceError> {
        self.inner.submit_external(inner_permit(permit), queue, waits, signal, run)
    }

    fn update_tiles(
        &self,
        permit: Permit<Self>,
        queue: QueueId,
        updates: &[TileUpdate<'_, Self>],
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        let updates: Vec<_> = updates.iter().map(list::inner_update).collect();
        self.inner.update_tiles(inner_permit(permit), queue, &updates, waits, signal)
    }

    fn make_resident(
        &self,
        permit: Permit<Self>,
        blocks: &[MemoryBlock<'_, Self>],
    ) -> Result<PagingPoint, DeviceError> {
        let blocks: Vec<_> = blocks.iter().map(inner_block).collect();
        self.inner.make_resident(inner_permit(permit), &blocks)
    }

    fn evict(&self, permit: Permit<Self>, blocks: &[MemoryBlock<'_, Self>]) -> Result<(), DeviceError> {
        let blocks: Vec<_> = blocks.iter().map(inner_block).collect();
        self.inner.evict(inner_permit(permit), &blocks)
    }

    fn set_priority(
        &self,
        permit: Permit<Self>,
        block: MemoryBlock<'_, Self>,
        priority: Priority,
    ) -> Result<(), DeviceError> {
        self.inner.set_priority(inner_permit(permit), inner_block(&block), priority)
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
        self.inner.status()
    }
}

fn source<'a, D: Device>(source: DescriptorSource<'a, Counted<D>>) -> DescriptorSource<'a, D> {
    match source {
        DescriptorSource::Copy { heap, index } => DescriptorSource::Copy { heap, index },
        DescriptorSource::Combined { views, view, samplers, sampler } => {
            DescriptorSource::Combined { views, view, samplers, sampler }
        }
        DescriptorSource::Structure(structure) => DescriptorSource::Structure(structure),
        DescriptorSource::Constants { resource, offset, size } => {
            DescriptorSource::Constants { resource: &resource.inner, offset, size }
        }
    }
}

fn set_write<'a, D: Device>(write: &SetWrite<'a, Counted<D>>) -> SetWrite<'a, D> {
    SetWrite { binding: write.binding, element: write.element, source: source(write.source) }
}
