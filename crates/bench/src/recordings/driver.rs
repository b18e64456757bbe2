//! A Vulkan driver that has memory types and counts bytes, behind real `ash` objects: no loader, no GPU.
//!
//! Memory is a number: its bytes above, a count below, so that the driver keeps no table of it. The count
//! is the thread's own.

use std::cell::Cell;
use std::ffi::{CStr, c_void};

use ash::vk::{self, Handle as _};

use crate::script::Request;

/// Bytes taken now, the most that ever were, and heaps made.
#[derive(Clone, Copy, Default)]
struct Count {
    taken: u64,
    peak: u64,
    made: u64,
}

thread_local! {
    static COUNT: Cell<Count> = const { Cell::new(Count { taken: 0, peak: 0, made: 0 }) };
}

/// Bits of the number of a memory that count.
const COUNTED: u32 = 20;
/// Bytes of each heap: more than any recording needs.
const HEAP: u64 = 64 << 30;

/// The objects through which programs see the driver, with no memory allocated yet.
pub(crate) fn install() -> (ash::Instance, ash::Device, vk::PhysicalDevice) {
    COUNT.set(Count::default());
    // SAFETY: the functions have the signatures of the functions that they replace.
    let instance = unsafe { ash::Instance::load_with(function, vk::Instance::from_raw(1)) };
    // SAFETY: as above.
    let device = unsafe { ash::Device::load_with(function, vk::Device::from_raw(2)) };
    (instance, device, vk::PhysicalDevice::from_raw(3))
}

/// The peak of allocated bytes since [`install`].
pub(crate) fn peak() -> u64 {
    COUNT.get().peak
}

/// The number of allocations since [`install`].
pub(crate) fn made() -> u64 {
    COUNT.get().made
}

/// The allocated bytes.
#[cfg(not(windows))]
pub(crate) fn taken() -> u64 {
    COUNT.get().taken
}

/// A request as a driver would have answered it.
pub(crate) fn requirements(request: &Request) -> vk::MemoryRequirements {
    vk::MemoryRequirements { size: request.size, alignment: request.align, memory_type_bits: u32::MAX }
}

fn function(name: &CStr) -> *const c_void {
    match name.to_bytes() {
        b"vkGetPhysicalDeviceMemoryProperties" => memory_properties as *const c_void,
        b"vkGetPhysicalDeviceProperties" => device_properties as *const c_void,
        b"vkAllocateMemory" => allocate as *const c_void,
        b"vkFreeMemory" => free as *const c_void,
        b"vkMapMemory" => map as *const c_void,
        b"vkUnmapMemory" => unmap as *const c_void,
        _ => std::ptr::null(),
    }
}

unsafe extern "system" fn memory_properties(
    _: vk::PhysicalDevice,
    out: *mut vk::PhysicalDeviceMemoryProperties,
) {
    // Those of a discrete card: device-local, mapped, mapped and cached.
    let mapped = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
    let types = [
        (vk::MemoryPropertyFlags::DEVICE_LOCAL, 0),
        (mapped, 1),
        (mapped | vk::MemoryPropertyFlags::HOST_CACHED, 1),
    ];
    let mut found = vk::PhysicalDeviceMemoryProperties::default();
    (found.memory_type_count, found.memory_heap_count) = (types.len() as u32, 2);
    for (slot, (property_flags, heap_index)) in found.memory_types.iter_mut().zip(types) {
        *slot = vk::MemoryType { property_flags, heap_index };
    }
    let local = vk::MemoryHeapFlags::DEVICE_LOCAL;
    found.memory_heaps[0] = vk::MemoryHeap { size: HEAP, flags: local };
    found.memory_heaps[1] = vk::MemoryHeap { size: HEAP, flags: vk::MemoryHeapFlags::empty() };
    // SAFETY: the caller passes a place for the answer.
    unsafe { *out = found };
}

unsafe extern "system" fn device_properties(_: vk::PhysicalDevice, out: *mut vk::PhysicalDeviceProperties) {
    // One that has no extensions to be asked about.
    let mut found = vk::PhysicalDeviceProperties { api_version: vk::API_VERSION_1_0, ..Default::default() };
    found.limits.buffer_image_granularity = 1;
    found.limits.max_memory_allocation_count = 4096;
    found.limits.non_coherent_atom_size = 64;
    // SAFETY: the caller passes a place for the answer.
    unsafe { *out = found };
}

unsafe extern "system" fn allocate(
    _: vk::Device,
    info: *const vk::MemoryAllocateInfo<'_>,
    _: *const c_void,
    out: *mut vk::DeviceMemory,
) -> vk::Result {
    // SAFETY: the caller passes a description.
    let size = unsafe { (*info).allocation_size };
    let Count { taken, peak, made } = COUNT.get();
    let taken = taken + size;
    let made = made + 1;
    COUNT.set(Count { taken, peak: peak.max(taken), made });
    // SAFETY: the caller passes a place for the answer.
    unsafe { *out = vk::DeviceMemory::from_raw(size << COUNTED | made & ((1 << COUNTED) - 1)) };
    vk::Result::SUCCESS
}

unsafe extern "system" fn free(_: vk::Device, memory: vk::DeviceMemory, _: *const c_void) {
    let count = COUNT.get();
    COUNT.set(Count { taken: count.taken.saturating_sub(memory.as_raw() >> COUNTED), ..count });
}

unsafe extern "system" fn map(
    _: vk::Device,
    _: vk::DeviceMemory,
    _: vk::DeviceSize,
    _: vk::DeviceSize,
    _: vk::MemoryMapFlags,
    out: *mut *mut c_void,
) -> vk::Result {
    // SAFETY: the caller passes a place for the answer. The memory behind it is never read or written.
    unsafe { *out = std::ptr::dangling_mut::<u128>().cast() };
    vk::Result::SUCCESS
}

unsafe extern "system" fn unmap(_: vk::Device, _: vk::DeviceMemory) {}
