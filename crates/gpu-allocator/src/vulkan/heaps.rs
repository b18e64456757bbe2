//! Heaps: `vkAllocateMemory` with its extension structures.

use core::ptr::NonNull;
use std::sync::Arc;

use ash::vk;
use tenure_heap::{
    HeapBudget, HeapDesc, HeapDevice, HeapError, HeapProperties, MemoryFlags, MemoryHeap, MemoryType,
    MemoryTypeId,
};

use super::AllocatorCreateDesc;
use super::allocation::MappedPtr;
use super::choose::Chooser;
use crate::engine::MemoryCount;

/// Memory, permanently mapped if it is host-visible.
#[derive(Debug)]
pub(super) struct Heap {
    address: Address,
    kind: MemoryTypeId,
    size: u64,
}

/// The driver's handle and the CPU address of a heap.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) memory: vk::DeviceMemory,
    pub(super) mapped: Option<Mapping>,
}

/// The mapping of a heap's memory, referenced by the heap and each of its allocations. Slices of the memory borrow
/// the allocation, not the allocator, so memory must not be freed while an allocation has a reference.
#[derive(Clone, Debug)]
pub(super) struct Mapping {
    pub(super) base: MappedPtr,
    users: Arc<()>,
}

impl Mapping {
    /// Drops the reference; true if it was the last one. All accesses through others have happened before.
    fn release(self) -> bool {
        Arc::into_inner(self.users).is_some()
    }
}

impl Heap {
    #[inline]
    pub(super) fn address(&self) -> Address {
        self.address.clone()
    }
}

/// The resource of dedicated memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Dedicated {
    No,
    Buffer(vk::Buffer),
    Image(vk::Image),
}

/// A device's memory.
pub(super) struct Heaps {
    instance: ash::Instance,
    device: ash::Device,
    physical_device: vk::PhysicalDevice,
    properties: HeapProperties,
    memory: vk::PhysicalDeviceMemoryProperties,
    /// Bytes; a power of two.
    granularity: u64,
    has_addresses: bool,
    /// Whether the driver reports the OS budget.
    has_budget: bool,
    count: MemoryCount,
}

impl Heaps {
    pub(super) fn new(desc: &AllocatorCreateDesc) -> Self {
        let AllocatorCreateDesc { instance, device, physical_device, buffer_device_address, .. } = desc;
        let physical_device = *physical_device;
        // SAFETY: the caller guarantees that the adapter belongs to the instance.
        let (memory, adapter) = unsafe {
            (
                instance.get_physical_device_memory_properties(physical_device),
                instance.get_physical_device_properties(physical_device),
            )
        };
        let heaps: Vec<_> = memory.memory_heaps_as_slice().iter().map(memory_heap).collect();
        let power_of_two = |value: u64| value.checked_next_power_of_two().unwrap_or(1 << 63);
        let properties = HeapProperties {
            memory_types: memory.memory_types_as_slice().iter().map(memory_type).collect(),
            // New memory is aligned for every resource.
            heap_alignment: 1,
            msaa_heap_alignment: 1,
            non_coherent_atom: power_of_two(adapter.limits.non_coherent_atom_size),
            max_heap_size: heaps.iter().map(|heap| heap.size).max().unwrap_or(0),
            max_allocations: u64::from(adapter.limits.max_memory_allocation_count),
            memory_heaps: heaps,
        };
        Self {
            has_budget: has_budget(instance, physical_device, adapter.api_version),
            count: MemoryCount::new(properties.memory_heaps.len()),
            properties,
            instance: instance.clone(),
            device: device.clone(),
            physical_device,
            memory,
            granularity: power_of_two(adapter.limits.buffer_image_granularity),
            has_addresses: *buffer_device_address,
        }
    }

    /// Required distance between a buffer and a non-linear image in bytes.
    #[cfg(feature = "visualizer")]
    pub(super) const fn granularity(&self) -> u64 {
        self.granularity
    }

    /// The memory types to choose from.
    pub(super) fn chooser(&self) -> Chooser {
        Chooser::new(self.memory.memory_types_as_slice(), self.granularity)
    }

    /// The flags of a memory type.
    pub(super) fn flags(&self, memory: MemoryTypeId) -> vk::MemoryPropertyFlags {
        let found = self.memory.memory_types_as_slice().get(usize::from(memory.0));
        found.map_or(vk::MemoryPropertyFlags::empty(), |found| found.property_flags)
    }

    /// Allocates memory from the driver, and maps it if it is host-visible.
    pub(super) fn allocate(&self, desc: &HeapDesc, dedicated: Dedicated) -> Result<Heap, HeapError> {
        let HeapDesc { size, memory, .. } = *desc;
        self.count.add(&self.properties, memory, size)?;
        let made = self.take(size, memory, dedicated).and_then(|taken| self.map(taken, size, memory));
        made.inspect_err(|_| self.count.remove(&self.properties, memory, size))
    }

    fn take(
        &self,
        size: u64,
        memory: MemoryTypeId,
        dedicated: Dedicated,
    ) -> Result<vk::DeviceMemory, HeapError> {
        let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let mut owner = match dedicated {
            Dedicated::No => None,
            Dedicated::Buffer(buffer) => Some(vk::MemoryDedicatedAllocateInfo::default().buffer(buffer)),
            Dedicated::Image(image) => Some(vk::MemoryDedicatedAllocateInfo::default().image(image)),
        };
        let mut info =
            vk::MemoryAllocateInfo::default().allocation_size(size).memory_type_index(u32::from(memory.0));
        if self.has_addresses {
            info = info.push_next(&mut flags);
        }
        if let Some(owner) = &mut owner {
            info = info.push_next(owner);
        }
        // SAFETY: the memory type is one of the device's, and the chained structures outlive the call.
        unsafe { self.device.allocate_memory(&info, None) }
            .map_err(|result| refusal("vkAllocateMemory", result, size, memory))
    }

    fn map(&self, taken: vk::DeviceMemory, size: u64, kind: MemoryTypeId) -> Result<Heap, HeapError> {
        if !self.flags(kind).contains(vk::MemoryPropertyFlags::HOST_VISIBLE) {
            return Ok(Heap { address: Address { memory: taken, mapped: None }, kind, size });
        }
        // SAFETY: the memory is new, host-visible and not mapped.
        let mapped = unsafe { self.device.map_memory(taken, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()) };
        let address =
            mapped.map_err(|result| refusal("vkMapMemory", result, size, kind)).and_then(|address| {
                NonNull::new(address).ok_or(HeapError::OutOfHostMemory { what: "vkMapMemory" })
            });
        match address {
            Ok(address) => {
                let mapping = Mapping { base: MappedPtr(address), users: Arc::default() };
                Ok(Heap { address: Address { memory: taken, mapped: Some(mapping) }, kind, size })
            }
            Err(error) => {
                // SAFETY: the memory has not been used yet. Freeing it unmaps it.
                unsafe { self.device.free_memory(taken, None) };
                Err(error)
            }
        }
    }

    /// The OS budgets and usages.
    fn granted(&self) -> Vec<HeapBudget> {
        let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        let mut memory = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
        // SAFETY: the adapter supports Vulkan 1.1 and the extension, and the chained structures outlive the call.
        unsafe { self.instance.get_physical_device_memory_properties2(self.physical_device, &mut memory) };
        let counted = self.count.budget(&self.properties);
        let reported = budget.heap_budget.into_iter().zip(budget.heap_usage);
        let budgets = counted.into_iter().zip(reported).map(|(counted, (budget, usage))| {
            // The structure is unchanged if the driver does not support it: on a Vulkan 1.0 instance the loader calls
            // the older function.
            if budget == 0 { counted } else { HeapBudget { budget, usage } }
        });
        budgets.collect()
    }
}

impl HeapDevice for Heaps {
    type Heap = Heap;
    type Error = HeapError;

    fn properties(&self) -> HeapProperties {
        self.properties.clone()
    }

    fn create_heap(&self, desc: &HeapDesc) -> Result<Heap, HeapError> {
        self.allocate(desc, Dedicated::No)
    }

    /// Does not free mapped memory with live allocations, which exists only when the allocator is dropped. These
    /// allocations do not free it later either: the device may be destroyed by then, with all its memory.
    fn destroy_heap(&self, heap: Heap) {
        let Heap { address: Address { memory, mapped }, kind, size } = heap;
        if mapped.is_some_and(|mapping| !mapping.release()) {
            log::warn!(
                "{size} B of mapped memory stay until the device is destroyed: allocations in them outlive their allocator"
            );
            return;
        }
        // SAFETY: the pools have released it, and no copies of its address are left. Freeing memory unmaps it.
        unsafe { self.device.free_memory(memory, None) };
        self.count.remove(&self.properties, kind, size);
    }

    fn budget(&self) -> Vec<HeapBudget> {
        if self.has_budget { self.granted() } else { self.count.budget(&self.properties) }
    }
}

/// Whether the adapter reports the OS budget.
fn has_budget(instance: &ash::Instance, physical_device: vk::PhysicalDevice, api_version: u32) -> bool {
    if api_version < vk::API_VERSION_1_1 {
        return false;
    }
    // SAFETY: the adapter is one of the instance's.
    let extensions = unsafe { instance.enumerate_device_extension_properties(physical_device) };
    let is_it = |found: &vk::ExtensionProperties| {
        found.extension_name_as_c_str().is_ok_and(|name| name == ash::ext::memory_budget::NAME)
    };
    extensions.is_ok_and(|extensions| extensions.iter().any(is_it))
}

/// Converts an error of the driver.
fn refusal(call: &'static str, result: vk::Result, requested: u64, memory: MemoryTypeId) -> HeapError {
    match result {
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY => HeapError::OutOfMemory { requested, memory },
        vk::Result::ERROR_TOO_MANY_OBJECTS
        | vk::Result::ERROR_OUT_OF_HOST_MEMORY
        | vk::Result::ERROR_MEMORY_MAP_FAILED
        | vk::Result::ERROR_OUT_OF_POOL_MEMORY
        | vk::Result::ERROR_FRAGMENTED_POOL
        | vk::Result::ERROR_FRAGMENTATION
        | vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS => HeapError::OutOfHostMemory { what: call },
        vk::Result::ERROR_DEVICE_LOST => HeapError::Lost { reason: format!("{call}: {result}") },
        other => {
            let code = u64::from(other.as_raw().unsigned_abs());
            HeapError::Failed { call, code }
        }
    }
}

fn memory_type(found: &vk::MemoryType) -> MemoryType {
    use vk::MemoryPropertyFlags as Vk;
    const TABLE: [(Vk, MemoryFlags); 4] = [
        (Vk::DEVICE_LOCAL, MemoryFlags::DEVICE_LOCAL),
        (Vk::HOST_VISIBLE, MemoryFlags::HOST_VISIBLE),
        (Vk::HOST_COHERENT, MemoryFlags::HOST_COHERENT),
        (Vk::HOST_CACHED, MemoryFlags::HOST_CACHED),
    ];
    let flags = TABLE
        .into_iter()
        .filter(|(bit, _)| found.property_flags.contains(*bit))
        .fold(MemoryFlags::empty(), |flags, (_, flag)| flags | flag);
    MemoryType { flags, heap: u8::try_from(found.heap_index).unwrap_or(u8::MAX) }
}

fn memory_heap(found: &vk::MemoryHeap) -> MemoryHeap {
    let device_local = found.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL);
    MemoryHeap { size: found.size, device_local }
}
