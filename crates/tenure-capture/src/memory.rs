//! Device memory.

use std::ffi::c_void;
use std::fmt::Write as _;

use ash::vk;

use crate::chain::find;
use crate::device::Device;
use crate::functions::next;
use crate::guard::quietly;
use crate::instance::Callbacks;

pub(crate) unsafe extern "system" fn allocate_memory(
    handle: vk::Device,
    info: *const vk::MemoryAllocateInfo<'_>,
    callbacks: Callbacks<'_>,
    out: *mut vk::DeviceMemory,
) -> vk::Result {
    // SAFETY: the program's own call, passed on; only the type is replaced, in a copy.
    unsafe {
        let (device, next) = next!(Device of handle, allocate_memory);
        let mut passed_on = *info;
        let (index, size) = (passed_on.memory_type_index, passed_on.allocation_size);
        let words = quietly(|| words(passed_on.p_next)).unwrap_or_default();
        let used = &device.instance.used;
        if let Some(disguise) = &device.disguise {
            passed_on.memory_type_index = disguise.real_type(index);
            if !disguise.take(used, index, size) {
                let result = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
                device.note(|log| log.refused(result, index, size, &words));
                return result;
            }
        }
        let result = next(handle, &raw const passed_on, callbacks, out);
        if result == vk::Result::SUCCESS {
            device.note(|log| log.allocated(*out, index, size, &words));
        } else {
            if let Some(disguise) = &device.disguise {
                disguise.give_back(used, index, size);
            }
            device.note(|log| log.refused(result, index, size, &words));
        }
        result
    }
}

/// The properties of an allocation, each with a space before it.
///
/// # Safety
///
/// `chain` is that of an allocation.
unsafe fn words(chain: *const c_void) -> String {
    let mut words = String::new();
    // SAFETY: as the caller promises.
    unsafe {
        if let Some(it) = find::<vk::MemoryDedicatedAllocateInfo<'_>>(chain)
            && (it.image != vk::Image::null() || it.buffer != vk::Buffer::null())
        {
            words.push_str(" dedicated");
        }
        if let Some(it) = find::<vk::MemoryAllocateFlagsInfo<'_>>(chain)
            && it.flags.contains(vk::MemoryAllocateFlags::DEVICE_ADDRESS)
        {
            words.push_str(" address");
        }
        if let Some(it) = find::<vk::MemoryPriorityAllocateInfoEXT<'_>>(chain) {
            // A string takes everything.
            let _never_fails = write!(words, " priority={}", it.priority);
        }
        if find::<vk::ExportMemoryAllocateInfo<'_>>(chain).is_some_and(|it| !it.handle_types.is_empty()) {
            words.push_str(" export");
        }
        let is_of_descriptor =
            find::<vk::ImportMemoryFdInfoKHR<'_>>(chain).is_some_and(|it| !it.handle_type.is_empty());
        let is_of_handle = find::<vk::ImportMemoryWin32HandleInfoKHR<'_>>(chain)
            .is_some_and(|it| !it.handle_type.is_empty());
        if is_of_descriptor || is_of_handle {
            words.push_str(" import");
        }
        if find::<vk::ImportMemoryHostPointerInfoEXT<'_>>(chain).is_some_and(|it| !it.handle_type.is_empty())
        {
            words.push_str(" import-host");
        }
    }
    words
}

pub(crate) unsafe extern "system" fn free_memory(
    handle: vk::Device,
    memory: vk::DeviceMemory,
    callbacks: Callbacks<'_>,
) {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, free_memory);
        // Before the call: afterwards another thread can get the same handle.
        let freed = device.note(|log| log.freed(memory)).flatten();
        if let (Some((index, size)), Some(disguise)) = (freed, &device.disguise) {
            disguise.give_back(&device.instance.used, index, size);
        }
        next(handle, memory, callbacks);
    }
}

pub(crate) unsafe extern "system" fn map_memory(
    handle: vk::Device,
    memory: vk::DeviceMemory,
    offset: u64,
    size: u64,
    flags: vk::MemoryMapFlags,
    out: *mut *mut c_void,
) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, map_memory);
        device.note(|log| log.mapped(memory));
        next(handle, memory, offset, size, flags, out)
    }
}

pub(crate) unsafe extern "system" fn map_memory2(
    handle: vk::Device,
    info: *const vk::MemoryMapInfoKHR<'_>,
    out: *mut *mut c_void,
) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, map_memory2);
        device.note(|log| log.mapped((*info).memory));
        next(handle, info, out)
    }
}

pub(crate) unsafe extern "system" fn unmap_memory(handle: vk::Device, memory: vk::DeviceMemory) {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, unmap_memory);
        device.note(|log| log.unmapped(memory));
        next(handle, memory);
    }
}

pub(crate) unsafe extern "system" fn unmap_memory2(
    handle: vk::Device,
    info: *const vk::MemoryUnmapInfoKHR<'_>,
) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, unmap_memory2);
        device.note(|log| log.unmapped((*info).memory));
        next(handle, info)
    }
}
