//! A budget that follows the test's script, and the priorities that memory has.

use core::ffi::c_void;
use std::sync::atomic::Ordering;

use tenure_vulkan::ash::vk;

use super::{Disguise, Hook, Stage, stage};

/// The events for a driver that moves memory by priority, in the order of the calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Event {
    /// Memory was allocated, with a priority or without.
    Allocated(vk::DeviceMemory, Option<f32>),
    Priority(vk::DeviceMemory, f32),
    Submitted,
}

impl Disguise {
    /// Sets the budget of each memory heap; the usage is the allocated bytes.
    pub(crate) fn grant(&self, budgets: &[u64]) {
        *self.0.granted.lock() = budgets.to_vec();
    }

    /// Has the driver report `bytes` more as used of each heap whose budget was set.
    pub(crate) fn charge(&self, bytes: u64) {
        self.0.charged.store(bytes, Ordering::Relaxed);
    }

    /// The allocations, submissions and changes of priorities since the last call.
    pub(crate) fn take_paged(&self) -> Vec<Event> {
        std::mem::take(&mut *self.0.paged.lock())
    }
}

pub(super) fn instance_hooks() -> Vec<Hook> {
    vec![(c"vkGetPhysicalDeviceMemoryProperties2", properties as *const c_void)]
}

pub(super) fn device_hooks() -> Vec<Hook> {
    vec![(c"vkSetDeviceMemoryPriorityEXT", set_priority as *const c_void)]
}

/// A structure of a chain, by its type.
///
/// # Safety
/// The chain is valid, and `T` is the structure with this type.
pub(super) unsafe fn find<'a, T>(mut next: *const c_void, kind: vk::StructureType) -> Option<&'a mut T> {
    while !next.is_null() {
        // SAFETY: says the caller.
        unsafe {
            let header = &*next.cast::<vk::BaseInStructure<'_>>();
            if header.s_type == kind {
                return Some(&mut *next.cast_mut().cast());
            }
            next = header.p_next.cast();
        }
    }
    None
}

impl Stage {
    /// Notes an allocation.
    ///
    /// # Safety
    /// Its chain is valid.
    pub(super) unsafe fn note_priority(&self, memory: vk::DeviceMemory, info: &vk::MemoryAllocateInfo<'_>) {
        let kind = vk::StructureType::MEMORY_PRIORITY_ALLOCATE_INFO_EXT;
        // SAFETY: says the caller.
        let found = unsafe { find::<vk::MemoryPriorityAllocateInfoEXT<'_>>(info.p_next, kind) };
        self.paged.lock().push(Event::Allocated(memory, found.map(|found| found.priority)));
    }

    /// Bytes that are allocated of a memory heap.
    fn used(&self, heap: usize) -> u64 {
        let table = self.memory.lock();
        let types = &self.costume.types;
        let is_in = |kind: u32| types.get(kind as usize).is_none_or(|(_, of)| *of as usize == heap);
        table.values().filter(|block| is_in(block.kind)).map(|block| block.size).sum()
    }
}

unsafe extern "system" fn properties(
    physical: vk::PhysicalDevice,
    out: *mut vk::PhysicalDeviceMemoryProperties2<'_>,
) {
    let stage = stage();
    // SAFETY: as the API has it.
    let found = unsafe {
        (stage.instance.fp_v1_1().get_physical_device_memory_properties2)(physical, out.cast());
        let kind = vk::StructureType::PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
        find::<vk::PhysicalDeviceMemoryBudgetPropertiesEXT<'_>>((*out).p_next, kind)
    };
    let Some(found) = found else { return };
    for (heap, budget) in stage.granted.lock().iter().enumerate() {
        found.heap_budget[heap] = *budget;
        found.heap_usage[heap] = stage.used(heap).wrapping_add(stage.charged.load(Ordering::Relaxed));
    }
}

unsafe extern "system" fn set_priority(device: vk::Device, memory: vk::DeviceMemory, priority: f32) {
    let stage = stage();
    if !stage.memory.lock().contains_key(&memory) {
        stage.problem(format!("{memory:?} has a priority and is not allocated"));
    }
    stage.paged.lock().push(Event::Priority(memory, priority));
    // SAFETY: as the API has it; the name is a valid string, and the function has this type.
    unsafe {
        let name = c"vkSetDeviceMemoryPriorityEXT".as_ptr();
        let real = stage.instance.get_device_proc_addr(device, name).expect("the driver has it");
        core::mem::transmute::<unsafe extern "system" fn(), vk::PFN_vkSetDeviceMemoryPriorityEXT>(real)(
            device, memory, priority,
        );
    }
}
