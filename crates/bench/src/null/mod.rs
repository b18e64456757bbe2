//! The null device, whose calls do almost nothing, so that the measured time is that of tenure.

mod list;
mod memory;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure_core::device::{
    self, AccelerationStructureRange, Descriptor, DescriptorHeapDesc, DescriptorSource, HeapBudget, HeapDesc,
    MAX_QUEUES, ManagerSlot, MemoryBlock, MemoryFlags, MemoryTypeId, ObjectRef, PagingPoint, Permit,
    Properties, QueryHeapDesc, QueueSerial, Requirements, ResourceDesc, SetWrite, SubmitSync, TileLayout,
    TileUpdate,
};
use tenure_core::{DeviceError, QueueId, SetBinding};
use tenure_sim as sim;

pub use list::List;
use memory::Unused;
pub use memory::{Mapping, Memory};

type Result<T = ()> = std::result::Result<T, DeviceError>;

/// A device with the properties of a simulated one; submissions are complete at once.
///
/// It provides mapped memory, and no other functions.
pub struct Device {
    /// Provides the properties of the device and the requirements of resources.
    tables: sim::Device,
    completed: [AtomicU64; MAX_QUEUES],
    heaps_made: AtomicU64,
    unused: Arc<Unused>,
    /// Whether it names budgets.
    has_budgets: bool,
}

impl Device {
    /// A null device with the properties of a profile.
    #[must_use]
    pub fn new(profile: sim::Profile) -> Self {
        Self {
            tables: sim::Device::new(profile),
            completed: Default::default(),
            heaps_made: AtomicU64::new(0),
            unused: Arc::default(),
            has_budgets: true,
        }
    }

    /// A null device of which the program decides what is resident. It grants everything.
    #[must_use]
    pub fn with_residency(profile: sim::Profile) -> Self {
        let options = sim::Options::new(profile).paging(sim::Paging::PCIE4_X16);
        Self { tables: sim::Device::with_options(options), ..Self::new(profile) }
    }

    /// A null device that names no budgets: all memory is granted.
    #[must_use]
    pub fn without_budgets(profile: sim::Profile) -> Self {
        Self { has_budgets: false, ..Self::new(profile) }
    }

    fn is_mapped(&self, memory: MemoryTypeId) -> bool {
        let memory_type = self.properties().memory_types.get(usize::from(memory.0));
        memory_type.is_some_and(|memory_type| memory_type.flags.contains(MemoryFlags::HOST_VISIBLE))
    }

    fn resource(&self, desc: &ResourceDesc, is_mapped: bool) -> Resource {
        let size = match desc {
            ResourceDesc::Buffer(info) if is_mapped => info.size,
            _ => 0,
        };
        Resource(Arc::new(self.unused.take(size)))
    }

    fn unsupported<T>() -> Result<T> {
        Err(DeviceError::Unsupported { feature: "anything that is not measured" })
    }
}

/// A heap.
pub struct Heap {
    is_mapped: bool,
    number: u64,
}

impl Heap {
    /// The number of the heap, unique on its device.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }
}

/// A resource, with memory if it is mapped.
pub struct Resource(Arc<Memory>);

use device::Device as _;

impl device::Checked for Device {}

impl device::Device for Device {
    type Heap = Heap;
    type Resource = Resource;
    type Mapping = Mapping;
    type List = List;
    type DescriptorHeap = ();
    type SetLayout = ();
    type SetBlock = ();
    type QueryHeap = ();
    type AccelerationStructure = u64;
    type ExternalPoint = ();
    type NativeQueue<'a> = &'a Self;

    fn properties(&self) -> &Properties {
        self.tables.properties()
    }

    fn manager_slot(&self) -> &ManagerSlot {
        self.tables.manager_slot()
    }

    fn requirements(&self, desc: &ResourceDesc) -> Result<Requirements> {
        self.tables.requirements(desc)
    }

    fn create_heap(&self, desc: &HeapDesc) -> Result<Heap> {
        let number = self.heaps_made.fetch_add(1, Ordering::Relaxed);
        Ok(Heap { is_mapped: self.is_mapped(desc.memory), number })
    }

    fn destroy_heap(&self, _: Permit<Self>, _: Heap) {}

    fn create_committed(&self, desc: &ResourceDesc, memory: MemoryTypeId) -> Result<Resource> {
        Ok(self.resource(desc, self.is_mapped(memory)))
    }

    fn create_placed(&self, _: Permit<Self>, desc: &ResourceDesc, heap: &Heap, _: u64) -> Result<Resource> {
        Ok(self.resource(desc, heap.is_mapped))
    }

    fn create_reserved(&self, _: &ResourceDesc) -> Result<Resource> {
        Self::unsupported()
    }

    fn destroy_resource(&self, _: Permit<Self>, _: Resource) {}

    fn map(&self, resource: &Resource) -> Result<Mapping> {
        Ok(Mapping::new(Arc::clone(&resource.0)))
    }

    fn gpu_address(&self, _: &Resource) -> Option<u64> {
        Some(1 << 32)
    }

    fn tile_layout(&self, _: &Resource) -> Result<TileLayout> {
        Self::unsupported()
    }

    fn set_name(&self, _: Permit<Self>, _: ObjectRef<'_, Self>, _: &str) {}

    fn create_list(&self, _: Permit<Self>, _: QueueId) -> Result<List> {
        Ok(List)
    }

    fn destroy_list(&self, _: Permit<Self>, _: List) {}

    fn create_descriptor_heap(&self, _: &DescriptorHeapDesc) -> Result {
        Ok(())
    }

    fn destroy_descriptor_heap(&self, _: Permit<Self>, (): ()) {}

    fn write_descriptor(&self, _: Permit<Self>, (): &(), _: u32, _: &Descriptor<'_, Self>) -> Result {
        Ok(())
    }

    fn fill_descriptors(
        &self,
        _: Permit<Self>,
        (): &(),
        _: u32,
        sources: &[DescriptorSource<'_, Self>],
    ) -> Result {
        std::hint::black_box(sources);
        Ok(())
    }

    fn clear_descriptors(&self, _: Permit<Self>, (): &(), _: u32, _: u32, _: Option<&str>) {}

    fn create_set_layout(&self, _: &[SetBinding]) -> Result {
        Ok(())
    }

    fn destroy_set_layout(&self, _: Permit<Self>, (): ()) {}

    fn create_set_block(&self, _: Permit<Self>, (): &(), _: u32) -> Result {
        Ok(())
    }

    fn destroy_set_block(&self, _: Permit<Self>, (): ()) {}

    fn write_set(&self, _: Permit<Self>, (): &(), _: u32, writes: &[SetWrite<'_, Self>]) -> Result {
        std::hint::black_box(writes);
        Ok(())
    }

    fn clear_set(&self, _: Permit<Self>, (): &(), _: u32, _: Option<&str>) {}

    fn create_query_heap(&self, _: &QueryHeapDesc) -> Result {
        Ok(())
    }

    fn destroy_query_heap(&self, _: Permit<Self>, (): ()) {}

    fn create_acceleration_structure(
        &self,
        _: Permit<Self>,
        range: &AccelerationStructureRange<'_, Self>,
    ) -> Result<u64> {
        Ok((1 << 32) + range.offset)
    }

    fn destroy_acceleration_structure(&self, _: Permit<Self>, structure: u64) {
        std::hint::black_box(structure);
    }

    fn acceleration_structure_address(&self, structure: &u64) -> u64 {
        *structure
    }

    fn submit_with(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        _: &[&List],
        sync: SubmitSync<'_, Self>,
    ) -> Result {
        self.completed[queue.index()].store(sync.signal, Ordering::Release);
        Ok(())
    }

    fn submit_external<T>(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        _: &[QueueSerial],
        signal: u64,
        run: impl FnOnce(&Self) -> T,
    ) -> Result<T> {
        let answer = run(self);
        self.completed[queue.index()].store(signal, Ordering::Release);
        Ok(answer)
    }

    fn update_tiles(
        &self,
        _: Permit<Self>,
        _: QueueId,
        _: &[TileUpdate<'_, Self>],
        _: &[QueueSerial],
        _: u64,
    ) -> Result {
        Self::unsupported()
    }

    fn completed(&self, queue: QueueId) -> Result<u64> {
        Ok(self.completed[queue.index()].load(Ordering::Acquire))
    }

    fn wait(&self, target: QueueSerial, _: Duration) -> Result<bool> {
        Ok(self.completed(target.queue)? >= target.serial)
    }

    fn budget(&self) -> Result<Vec<HeapBudget>> {
        if self.has_budgets { self.tables.budget() } else { Ok(Vec::new()) }
    }

    fn make_resident(&self, _: Permit<Self>, _: &[MemoryBlock<'_, Self>]) -> Result<PagingPoint> {
        Ok(PagingPoint::RESIDENT)
    }

    fn evict(&self, _: Permit<Self>, _: &[MemoryBlock<'_, Self>]) -> Result {
        Ok(())
    }

    fn status(&self) -> Result {
        Ok(())
    }
}
