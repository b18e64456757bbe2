//! A simulated Vulkan driver with tables and counters behind real `ash` objects, without a loader or a GPU.
//!
//! Each test thread has its own driver.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};

use ash::vk::{self, Handle as _};

/// A call with injectable failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Allocate,
    Map,
}

/// An injected failure: after a number of calls, once or from then on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) call: Call,
    pub(crate) after: u64,
    pub(crate) onwards: bool,
    pub(crate) result: vk::Result,
}

/// Live memory of the driver.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) size: u64,
    pub(crate) kind: u32,
    pub(crate) dedicated: bool,
    pub(crate) has_address: bool,
    bytes: Vec<u8>,
}

/// The driver's properties and allocations.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) types: Vec<(vk::MemoryPropertyFlags, u32)>,
    /// Bytes of each heap, device-local heaps first.
    pub(crate) heaps: Vec<u64>,
    /// The budget of each heap, if the driver reports it.
    pub(crate) budget: Option<Vec<u64>>,
    pub(crate) granularity: u64,
    pub(crate) max_allocations: u32,
    pub(crate) fault: Option<Fault>,
    pub(crate) live: BTreeMap<u64, Memory>,
    pub(crate) allocations_made: u64,
    /// Live bytes, and their peak.
    pub(crate) all: u64,
    pub(crate) peak: u64,
    /// Invalid calls, which would crash a real driver.
    pub(crate) violations: Vec<String>,
}

const LOCAL: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::DEVICE_LOCAL;
const MAPPED: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::from_raw(
    vk::MemoryPropertyFlags::HOST_VISIBLE.as_raw() | vk::MemoryPropertyFlags::HOST_COHERENT.as_raw(),
);
const CACHED: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::HOST_CACHED;

impl Driver {
    /// A discrete card: device-local, mapped, mapped and cached memory, and a BAR window.
    pub(crate) fn discrete(local: u64, system: u64) -> Self {
        Self {
            types: vec![(LOCAL, 0), (MAPPED, 1), (MAPPED | CACHED, 1), (LOCAL | MAPPED, 2)],
            heaps: vec![local, system, 256 << 20],
            budget: None,
            granularity: 1024,
            max_allocations: 4096,
            fault: None,
            live: BTreeMap::new(),
            allocations_made: 0,
            all: 0,
            peak: 0,
            violations: Vec::new(),
        }
    }

    /// Used bytes of a heap.
    pub(crate) fn taken(&self, heap: u32) -> u64 {
        let is_there = |memory: &&Memory| self.types[memory.kind as usize].1 == heap;
        self.live.values().filter(is_there).map(|memory| memory.size).sum()
    }

    fn fails(&mut self, call: Call) -> Option<vk::Result> {
        let fault = self.fault.as_mut().filter(|fault| fault.call == call)?;
        if fault.after > 0 {
            fault.after -= 1;
            return None;
        }
        let result = fault.result;
        if !fault.onwards {
            self.fault = None;
        }
        Some(result)
    }
}

thread_local! {
    static DRIVER: RefCell<Driver> = RefCell::new(Driver::discrete(1 << 30, 1 << 30));
}

/// Reads or changes the driver.
pub(crate) fn with<R>(look: impl FnOnce(&mut Driver) -> R) -> R {
    DRIVER.with(|driver| look(&mut driver.borrow_mut()))
}

/// Installs a driver, and creates the objects that a program uses.
pub(crate) fn install(driver: Driver) -> (ash::Instance, ash::Device, vk::PhysicalDevice) {
    with(|slot| *slot = driver);
    objects()
}

/// The objects that a program uses.
pub(crate) fn objects() -> (ash::Instance, ash::Device, vk::PhysicalDevice) {
    // SAFETY: the functions have the signatures of those that they replace.
    let instance = unsafe { ash::Instance::load_with(function, vk::Instance::from_raw(1)) };
    // SAFETY: as above.
    let device = unsafe { ash::Device::load_with(function, vk::Device::from_raw(2)) };
    (instance, device, vk::PhysicalDevice::from_raw(3))
}

fn function(name: &CStr) -> *const c_void {
    match name.to_bytes() {
        b"vkGetPhysicalDeviceMemoryProperties" => memory_properties as *const c_void,
        b"vkGetPhysicalDeviceMemoryProperties2" => memory_properties2 as *const c_void,
        b"vkGetPhysicalDeviceProperties" => device_properties as *const c_void,
        b"vkEnumerateDeviceExtensionProperties" => extensions as *const c_void,
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
    let found = with(|driver| {
        let mut found = vk::PhysicalDeviceMemoryProperties {
            memory_type_count: driver.types.len() as u32,
            memory_heap_count: driver.heaps.len() as u32,
            ..Default::default()
        };
        for (slot, (property_flags, heap_index)) in found.memory_types.iter_mut().zip(&driver.types) {
            *slot = vk::MemoryType { property_flags: *property_flags, heap_index: *heap_index };
        }
        let is_local = |heap| driver.types.iter().any(|found| found.1 == heap && found.0.contains(LOCAL));
        for ((heap, slot), size) in (0..).zip(&mut found.memory_heaps).zip(&driver.heaps) {
            let local = vk::MemoryHeapFlags::DEVICE_LOCAL;
            let flags = if is_local(heap) { local } else { vk::MemoryHeapFlags::empty() };
            *slot = vk::MemoryHeap { size: *size, flags };
        }
        found
    });
    // SAFETY: the caller passes a valid pointer for the result.
    unsafe { *out = found };
}

unsafe extern "system" fn memory_properties2(
    device: vk::PhysicalDevice,
    out: *mut vk::PhysicalDeviceMemoryProperties2<'_>,
) {
    // SAFETY: the caller passes a valid pointer for the result, with a chained budget, as this crate does.
    let budget = unsafe {
        memory_properties(device, &raw mut (*out).memory_properties);
        (*out).p_next.cast::<vk::PhysicalDeviceMemoryBudgetPropertiesEXT<'_>>()
    };
    with(|driver| {
        for (heap, granted) in driver.budget.iter().flatten().enumerate() {
            // SAFETY: as above; there are no more than 16 heaps.
            unsafe {
                (*budget).heap_budget[heap] = *granted;
                (*budget).heap_usage[heap] = driver.taken(heap as u32);
            }
        }
    });
}

unsafe extern "system" fn device_properties(_: vk::PhysicalDevice, out: *mut vk::PhysicalDeviceProperties) {
    let mut found = vk::PhysicalDeviceProperties { api_version: vk::API_VERSION_1_1, ..Default::default() };
    with(|driver| {
        found.limits.buffer_image_granularity = driver.granularity;
        found.limits.max_memory_allocation_count = driver.max_allocations;
        found.limits.non_coherent_atom_size = 64;
    });
    // SAFETY: the caller passes a valid pointer for the result.
    unsafe { *out = found };
}

unsafe extern "system" fn extensions(
    _: vk::PhysicalDevice,
    _: *const c_char,
    count: *mut u32,
    out: *mut vk::ExtensionProperties,
) -> vk::Result {
    let offered = u32::from(with(|driver| driver.budget.is_some()));
    if !out.is_null() && offered == 1 {
        let found = vk::ExtensionProperties::default().extension_name(ash::ext::memory_budget::NAME).unwrap();
        // SAFETY: the caller passes room for the returned number of elements.
        unsafe { *out = found };
    }
    // SAFETY: the caller passes a valid pointer for the number.
    unsafe { *count = offered };
    vk::Result::SUCCESS
}

unsafe extern "system" fn allocate(
    _: vk::Device,
    info: *const vk::MemoryAllocateInfo<'_>,
    _: *const c_void,
    out: *mut vk::DeviceMemory,
) -> vk::Result {
    // SAFETY: the caller passes a valid description.
    let info = unsafe { &*info };
    let chained = chain(info.p_next);
    let (size, kind) = (info.allocation_size, info.memory_type_index);
    with(|driver| {
        if let Some(result) = driver.fails(Call::Allocate) {
            return result;
        }
        let Some((_, heap)) = driver.types.get(kind as usize).copied() else {
            driver.violations.push(format!("memory type {kind}"));
            return vk::Result::ERROR_UNKNOWN;
        };
        if size == 0 || size > driver.heaps[heap as usize] {
            driver.violations.push(format!("{size} B asked of heap {heap}"));
        }
        if driver.live.len() >= driver.max_allocations as usize {
            return vk::Result::ERROR_TOO_MANY_OBJECTS;
        }
        if driver.taken(heap) + size > driver.heaps[heap as usize] {
            return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        }
        driver.allocations_made += 1;
        let handle = driver.allocations_made;
        let dedicated = chained.contains(&vk::StructureType::MEMORY_DEDICATED_ALLOCATE_INFO);
        let has_address = chained.contains(&vk::StructureType::MEMORY_ALLOCATE_FLAGS_INFO);
        driver.all += size;
        driver.peak = driver.peak.max(driver.all);
        driver.live.insert(handle, Memory { size, kind, dedicated, has_address, bytes: Vec::new() });
        // SAFETY: the caller passes a valid pointer for the result.
        unsafe { *out = vk::DeviceMemory::from_raw(handle) };
        vk::Result::SUCCESS
    })
}

fn chain(mut next: *const c_void) -> Vec<vk::StructureType> {
    let mut found = Vec::new();
    while !next.is_null() {
        // SAFETY: every chained structure begins with these members.
        let base = unsafe { &*next.cast::<vk::BaseInStructure<'_>>() };
        found.push(base.s_type);
        next = base.p_next.cast();
    }
    found
}

unsafe extern "system" fn free(_: vk::Device, memory: vk::DeviceMemory, _: *const c_void) {
    with(|driver| match driver.live.remove(&memory.as_raw()) {
        Some(memory) => driver.all -= memory.size,
        None => driver.violations.push(format!("freed {memory:?}, which does not live")),
    });
}

unsafe extern "system" fn map(
    _: vk::Device,
    memory: vk::DeviceMemory,
    _: vk::DeviceSize,
    _: vk::DeviceSize,
    _: vk::MemoryMapFlags,
    out: *mut *mut c_void,
) -> vk::Result {
    with(|driver| {
        if let Some(result) = driver.fails(Call::Map) {
            return result;
        }
        let Some(found) = driver.live.get_mut(&memory.as_raw()) else {
            driver.violations.push(format!("mapped {memory:?}, which does not live"));
            return vk::Result::ERROR_MEMORY_MAP_FAILED;
        };
        found.bytes = vec![0; found.size as usize];
        // SAFETY: the caller passes a valid pointer for the result.
        unsafe { *out = found.bytes.as_mut_ptr().cast() };
        vk::Result::SUCCESS
    })
}

unsafe extern "system" fn unmap(_: vk::Device, _: vk::DeviceMemory) {}
