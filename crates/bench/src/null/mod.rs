//! The null device, whose calls do almost nothing, so that the measured time is that of tenure.

mod list;
mod memory;

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure_core::device::{
    self, AccelerationStructureRange, Descriptor, DescriptorDevice, DescriptorHeapDesc, DescriptorSource,
    Device as _, HeapBudget, HeapDesc, MAX_QUEUES, MemoryBlock, MemoryDevice, MemoryFlags, MemoryTypeId,
    ObjectRef, PagingPoint, Permit, Properties, QueryDevice, QueryHeapDesc, QueueDevice, QueueSerial,
    RayDevice, Requirements, ResidencyDevice, ResourceDesc, SetDevice, SetWrite, SingleManager, SubmitSync,
    TileDevice,
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
    /// The memory of resources without a mapping: none.
    none: Arc<Memory>,
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
            none: Arc::new(Memory::new(0)),
            has_budgets: true,
        }
    }

    /// A null device whose program decides about residency. It grants everything.
    #[must_use]
    pub fn with_residency(profile: sim::Profile) -> Self {
        let options = sim::DeviceConfig::new(profile).paging(sim::Paging::PCIE4_X16);
        Self { tables: sim::Device::with_config(options), ..Self::new(profile) }
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
        Resource(match desc {
            ResourceDesc::Buffer(info) if is_mapped => Arc::new(self.unused.take(info.size)),
            _ => Arc::clone(&self.none),
        })
    }
}

/// Calls without an effect, by their names, parameters and answers.
macro_rules! answered {
    ($($name:ident($($parameter:ty),*) -> $answer:ty = $value:expr;)*) => {
        $(fn $name(&self, $(_: $parameter),*) -> $answer { $value })*
    };
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

impl device::Checked for Device {}

impl MemoryDevice for Device {
    type Heap = Heap;
    type Resource = Resource;
    type Mapping = Mapping;

    fn requirements(&self, desc: &ResourceDesc) -> Result<Requirements> {
        self.tables.requirements(desc)
    }

    fn create_heap(&self, desc: &HeapDesc) -> Result<Heap> {
        let number = self.heaps_made.fetch_add(1, Ordering::Relaxed);
        Ok(Heap { is_mapped: self.is_mapped(desc.memory), number })
    }

    fn create_committed(&self, desc: &ResourceDesc, memory: MemoryTypeId) -> Result<Resource> {
        Ok(self.resource(desc, self.is_mapped(memory)))
    }

    fn create_placed(&self, _: Permit<Self>, desc: &ResourceDesc, heap: &Heap, _: u64) -> Result<Resource> {
        Ok(self.resource(desc, heap.is_mapped))
    }

    fn map(&self, resource: &Resource) -> Result<Mapping> {
        Ok(Mapping::new(Arc::clone(&resource.0)))
    }

    fn budget(&self) -> Result<Vec<HeapBudget>> {
        if self.has_budgets { self.tables.budget() } else { Ok(Vec::new()) }
    }

    answered! {
        destroy_heap(Permit<Self>, Heap) -> () = ();
        destroy_resource(Permit<Self>, Resource) -> () = ();
        gpu_address(&Resource) -> Option<u64> = Some(1 << 32);
    }
}

impl ResidencyDevice for Device {
    answered! {
        make_resident(Permit<Self>, &[MemoryBlock<'_, Self>]) -> Result<PagingPoint> = Ok(PagingPoint::RESIDENT);
        evict(Permit<Self>, &[MemoryBlock<'_, Self>]) -> Result = Ok(());
    }
}

impl TileDevice for Device {}

impl RayDevice for Device {
    type AccelerationStructure = u64;

    fn create_acceleration_structure(
        &self,
        _: Permit<Self>,
        range: &AccelerationStructureRange<'_, Self>,
    ) -> Result<u64> {
        Ok((1 << 32) + range.offset)
    }

    fn acceleration_structure_address(&self, structure: &u64) -> u64 {
        *structure
    }
}

impl DescriptorDevice for Device {
    type DescriptorHeap = ();

    fn fill_descriptors(
        &self,
        _: Permit<Self>,
        (): &(),
        _: u32,
        sources: &[DescriptorSource<'_, Self>],
    ) -> Result {
        black_box(sources);
        Ok(())
    }

    answered! {
        create_descriptor_heap(&DescriptorHeapDesc) -> Result = Ok(());
        destroy_descriptor_heap(Permit<Self>, ()) -> () = ();
        write_descriptor(Permit<Self>, &(), u32, &Descriptor<'_, Self>) -> Result = Ok(());
        clear_descriptors(Permit<Self>, &(), u32, u32, Option<&str>) -> () = ();
    }
}

impl SetDevice for Device {
    type SetLayout = ();
    type SetPool = ();

    fn write_set(&self, _: Permit<Self>, (): &(), _: u32, writes: &[SetWrite<'_, Self>]) -> Result {
        black_box(writes);
        Ok(())
    }

    answered! {
        create_set_layout(&[SetBinding]) -> Result = Ok(());
        create_set_pool(Permit<Self>, &(), u32) -> Result = Ok(());
    }
}

impl QueryDevice for Device {
    type QueryHeap = ();

    answered! {
        create_query_heap(&QueryHeapDesc) -> Result = Ok(());
    }
}

impl QueueDevice for Device {
    type List = List;
    type ExternalPoint = ();
    type NativeQueue<'a> = &'a Self;

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

    fn completed(&self, queue: QueueId) -> Result<u64> {
        Ok(self.completed[queue.index()].load(Ordering::Acquire))
    }

    fn wait(&self, target: QueueSerial, _: Duration) -> Result<bool> {
        Ok(self.completed(target.queue)? >= target.serial)
    }

    answered! {
        create_list(Permit<Self>, QueueId) -> Result<List> = Ok(List);
        destroy_list(Permit<Self>, List) -> () = ();
    }
}

impl device::Device for Device {
    fn properties(&self) -> &Properties {
        self.tables.properties()
    }

    fn single_manager(&self) -> &SingleManager {
        self.tables.single_manager()
    }

    answered! {
        set_name(Permit<Self>, ObjectRef<'_, Self>, &str) -> () = ();
        status() -> Result = Ok(());
    }
}
