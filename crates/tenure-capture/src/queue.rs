//! Queues: submissions, presents, and the waits by which the program sees that submissions are complete.

use std::ffi::c_void;

use ash::vk;

use crate::chain::{find, list};
use crate::device::Device;
use crate::functions::next;
use crate::guard::quietly;
use crate::instance::Callbacks;

pub(crate) unsafe extern "system" fn queue_submit(
    handle: vk::Queue,
    count: u32,
    submits: *const vk::SubmitInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, queue_submit);
        let signals = quietly(|| {
            let batches = list(submits, count).iter();
            let signals = |it: &vk::SubmitInfo<'_>| {
                signals(it.p_next, list(it.p_signal_semaphores, it.signal_semaphore_count))
            };
            batches.flat_map(signals).collect::<Vec<_>>()
        });
        // Before the call: afterwards another thread can see the fence.
        device.note(|log| log.submitted(handle, fence, &signals.unwrap_or_default()));
        next(handle, count, submits, fence)
    }
}

/// The signalled semaphores of a batch with the values that they get.
///
/// # Safety
///
/// The chain is that of a program's batch.
unsafe fn signals(chain: *const c_void, semaphores: &[vk::Semaphore]) -> Vec<(vk::Semaphore, u64)> {
    // SAFETY: as the caller promises.
    unsafe {
        let Some(values) = find::<vk::TimelineSemaphoreSubmitInfo<'_>>(chain) else {
            return Vec::new();
        };
        let values = list(values.p_signal_semaphore_values, values.signal_semaphore_value_count);
        semaphores.iter().copied().zip(values.iter().copied()).collect()
    }
}

pub(crate) unsafe extern "system" fn queue_submit2(
    handle: vk::Queue,
    count: u32,
    submits: *const vk::SubmitInfo2<'_>,
    fence: vk::Fence,
) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, queue_submit2);
        let signals = quietly(|| {
            let batches = list(submits, count).iter();
            let infos =
                batches.flat_map(|it| list(it.p_signal_semaphore_infos, it.signal_semaphore_info_count));
            infos.map(|info| (info.semaphore, info.value)).collect::<Vec<_>>()
        });
        // Before the call: afterwards another thread can see the fence.
        device.note(|log| log.submitted(handle, fence, &signals.unwrap_or_default()));
        next(handle, count, submits, fence)
    }
}

pub(crate) unsafe extern "system" fn queue_bind_sparse(
    handle: vk::Queue,
    count: u32,
    infos: *const vk::BindSparseInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, queue_bind_sparse);
        let mut counts = [0_u32; 3];
        for info in list(infos, count) {
            let more = [info.buffer_bind_count, info.image_opaque_bind_count, info.image_bind_count];
            for (sum, more) in counts.iter_mut().zip(more) {
                *sum = sum.saturating_add(more);
            }
        }
        let signals = quietly(|| {
            let signals = |it: &vk::BindSparseInfo<'_>| {
                signals(it.p_next, list(it.p_signal_semaphores, it.signal_semaphore_count))
            };
            list(infos, count).iter().flat_map(signals).collect::<Vec<_>>()
        });
        device.note(|log| log.bound_sparsely(handle, fence, counts, &signals.unwrap_or_default()));
        next(handle, count, infos, fence)
    }
}

pub(crate) unsafe extern "system" fn queue_present(
    handle: vk::Queue,
    info: *const vk::PresentInfoKHR<'_>,
) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, queue_present);
        device.note(|log| log.presented(handle));
        next(handle, info)
    }
}

pub(crate) unsafe extern "system" fn create_swapchain(
    handle: vk::Device,
    info: *const vk::SwapchainCreateInfoKHR<'_>,
    callbacks: Callbacks<'_>,
    out: *mut vk::SwapchainKHR,
) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, create_swapchain);
        let result = next(handle, info, callbacks, out);
        if result == vk::Result::SUCCESS {
            device.note(|log| log.created_swapchain(&*info));
        }
        result
    }
}

pub(crate) unsafe extern "system" fn queue_wait_idle(handle: vk::Queue) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, queue_wait_idle);
        // Before the call: other threads may submit to internally synchronized queues meanwhile.
        let submitted = device.note(|log| log.submitted_to(Some(handle)));
        let result = next(handle);
        if result == vk::Result::SUCCESS {
            device.note(|log| log.saw(submitted.unwrap_or_default()));
        }
        result
    }
}

pub(crate) unsafe extern "system" fn device_wait_idle(handle: vk::Device) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, device_wait_idle);
        let submitted = device.note(|log| log.submitted_to(None));
        let result = next(handle);
        if result == vk::Result::SUCCESS {
            device.note(|log| log.saw(submitted.unwrap_or_default()));
        }
        result
    }
}

pub(crate) unsafe extern "system" fn wait_for_fences(
    handle: vk::Device,
    count: u32,
    fences: *const vk::Fence,
    all: vk::Bool32,
    timeout: u64,
) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, wait_for_fences);
        let result = next(handle, count, fences, all, timeout);
        // Of one of several nobody knows which.
        if result == vk::Result::SUCCESS && (all != vk::FALSE || count == 1) {
            device.note(|log| log.saw_fences(list(fences, count)));
        }
        result
    }
}

pub(crate) unsafe extern "system" fn get_fence_status(handle: vk::Device, fence: vk::Fence) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, get_fence_status);
        let result = next(handle, fence);
        if result == vk::Result::SUCCESS {
            device.note(|log| log.saw_fences(&[fence]));
        }
        result
    }
}

pub(crate) unsafe extern "system" fn wait_semaphores(
    handle: vk::Device,
    info: *const vk::SemaphoreWaitInfo<'_>,
    timeout: u64,
) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, wait_semaphores);
        let result = next(handle, info, timeout);
        let info = &*info;
        let is_any = info.flags.contains(vk::SemaphoreWaitFlags::ANY);
        if result == vk::Result::SUCCESS && (!is_any || info.semaphore_count == 1) {
            let semaphores = list(info.p_semaphores, info.semaphore_count);
            let values = list(info.p_values, info.semaphore_count);
            for (semaphore, value) in semaphores.iter().zip(values) {
                device.note(|log| log.saw_semaphore(*semaphore, *value));
            }
        }
        result
    }
}

pub(crate) unsafe extern "system" fn get_semaphore_counter_value(
    handle: vk::Device,
    semaphore: vk::Semaphore,
    out: *mut u64,
) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, get_semaphore_counter_value);
        let result = next(handle, semaphore, out);
        if result == vk::Result::SUCCESS {
            device.note(|log| log.saw_semaphore(semaphore, *out));
        }
        result
    }
}
