//! Queues: several families, all of them on the one queue that there is.

use core::ffi::c_void;
use core::sync::atomic::Ordering;

use tenure_vulkan::ash::vk;

use super::barriers::Half;
use super::trace::Batch;
use super::{Hook, Stage, stage};

/// A command buffer.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    pub(super) family: u32,
    /// A copy to CPU-readable memory was recorded without a barrier after it.
    pub(super) is_unseen: bool,
    /// Halves of transfers between families, which take place when it is submitted.
    pub(super) halves: Vec<Half>,
}

pub(super) fn hooks() -> Vec<Hook> {
    vec![
        (c"vkCreateCommandPool", create_pool as *const c_void),
        (c"vkDestroyCommandPool", destroy_pool as *const c_void),
        (c"vkAllocateCommandBuffers", allocate_lists as *const c_void),
        (c"vkResetCommandPool", reset_pool as *const c_void),
        (c"vkQueueSubmit", submit as *const c_void),
        (c"vkQueueSubmit2", submit2 as *const c_void),
        (c"vkQueueBindSparse", bind_sparse as *const c_void),
        (c"vkGetSemaphoreCounterValue", semaphore_value as *const c_void),
        (c"vkGetFenceStatus", fence_status as *const c_void),
    ]
}

type Callbacks = *const vk::AllocationCallbacks<'static>;

unsafe extern "system" fn create_pool(
    device: vk::Device,
    info: *const vk::CommandPoolCreateInfo<'static>,
    callbacks: Callbacks,
    out: *mut vk::CommandPool,
) -> vk::Result {
    let stage = stage();
    if let Some(result) = stage.strike("vkCreateCommandPool") {
        return result;
    }
    // SAFETY: as the API has it.
    unsafe {
        let family = (*info).queue_family_index;
        let real = vk::CommandPoolCreateInfo { queue_family_index: 0, ..*info };
        let result = (stage.device.fp_v1_0().create_command_pool)(device, &raw const real, callbacks, out);
        stage.pools.lock().insert(*out, family);
        result
    }
}

unsafe extern "system" fn destroy_pool(device: vk::Device, pool: vk::CommandPool, callbacks: Callbacks) {
    let stage = stage();
    stage.pools.lock().remove(&pool);
    // SAFETY: as the API has it.
    unsafe { (stage.device.fp_v1_0().destroy_command_pool)(device, pool, callbacks) };
}

unsafe extern "system" fn allocate_lists(
    device: vk::Device,
    info: *const vk::CommandBufferAllocateInfo<'static>,
    out: *mut vk::CommandBuffer,
) -> vk::Result {
    let stage = stage();
    if let Some(result) = stage.strike("vkAllocateCommandBuffers") {
        return result;
    }
    // SAFETY: as the API has it.
    unsafe {
        let result = (stage.device.fp_v1_0().allocate_command_buffers)(device, info, out);
        let family = stage.pools.lock()[&(*info).command_pool];
        let made = core::slice::from_raw_parts(out, (*info).command_buffer_count as usize);
        let recorded = || Recorded { family, is_unseen: false, halves: Vec::new() };
        stage.lists.lock().extend(made.iter().map(|list| (*list, recorded())));
        result
    }
}

unsafe extern "system" fn reset_pool(
    device: vk::Device,
    pool: vk::CommandPool,
    flags: vk::CommandPoolResetFlags,
) -> vk::Result {
    let stage = stage();
    if let Some(result) = stage.strike("vkResetCommandPool") {
        return result;
    }
    // SAFETY: as the API has it.
    unsafe { (stage.device.fp_v1_0().reset_command_pool)(device, pool, flags) }
}

/// Checks that lists are submitted to queues of their own family.
fn check_lists(stage: &Stage, queue: vk::Queue, lists: impl Iterator<Item = vk::CommandBuffer>) {
    let family = stage.family_of(queue);
    let mut recorded = stage.lists.lock();
    for list in lists {
        if let Some(list) = recorded.get_mut(&list) {
            list.halves.drain(..).for_each(|half| stage.transfer(half));
        }
        let found = recorded.get(&list).map(|list| list.family);
        if found != Some(family) {
            stage.problem(format!("a list of family {found:?} on a queue of {family}"));
        }
        if recorded.get(&list).is_some_and(|list| list.is_unseen) {
            stage.problem("what was copied to mapped memory is not shown to the CPU".to_owned());
        }
    }
}

/// Semaphores of the older structures, whose values may be elsewhere.
///
/// # Safety
/// The pointers are valid for `count` elements.
unsafe fn pairs(
    count: u32,
    semaphores: *const vk::Semaphore,
    value_count: u32,
    values: *const u64,
) -> Vec<(vk::Semaphore, u64)> {
    let index = 0..count as usize;
    // SAFETY: says the caller.
    let value = |index| if index < value_count as usize { unsafe { *values.add(index) } } else { 0 };
    // SAFETY: says the caller.
    index.map(|index| unsafe { (*semaphores.add(index), value(index)) }).collect()
}

/// Semaphores of the newer structures.
///
/// # Safety
/// The pointer is valid for `count` elements.
unsafe fn pairs2(count: u32, infos: *const vk::SemaphoreSubmitInfo<'_>) -> Vec<(vk::Semaphore, u64)> {
    // SAFETY: says the caller.
    let info = |index| unsafe { *infos.add(index) };
    (0..count as usize).map(|index| (info(index).semaphore, info(index).value)).collect()
}

/// The values of timeline semaphores in a chain.
///
/// # Safety
/// The chain is valid.
unsafe fn values(mut next: *const c_void) -> vk::TimelineSemaphoreSubmitInfo<'static> {
    while !next.is_null() {
        // SAFETY: says the caller.
        unsafe {
            let header = &*next.cast::<vk::BaseInStructure<'_>>();
            if header.s_type == vk::StructureType::TIMELINE_SEMAPHORE_SUBMIT_INFO {
                return *next.cast();
            }
            next = header.p_next.cast();
        }
    }
    vk::TimelineSemaphoreSubmitInfo::default()
}

impl Stage {
    /// Submits batches to the real queue and notes them. A wait for a binary semaphore whose signal waits for
    /// the CPU is not allowed, and drivers block in it: it is refused instead.
    fn send(&self, batches: Vec<Batch>, call: impl FnOnce(vk::Queue) -> vk::Result) -> vk::Result {
        let is_binary = |(_, value): &(vk::Semaphore, u64)| *value == 0;
        let waits_for_binary = batches.iter().any(|batch| batch.waits.iter().any(is_binary));
        if waits_for_binary && self.are_held.load(Ordering::Relaxed) {
            self.problem("a batch waits for a binary semaphore while the queues are held".to_owned());
            return vk::Result::ERROR_OUT_OF_HOST_MEMORY;
        }
        let real = self.queue.lock();
        self.paged.lock().push(super::paging::Event::Submitted);
        let result = call(*real);
        self.trace.lock().extend(batches);
        result
    }
}

unsafe extern "system" fn submit(
    queue: vk::Queue,
    count: u32,
    submits: *const vk::SubmitInfo<'static>,
    fence: vk::Fence,
) -> vk::Result {
    let stage = stage();
    if let Some(result) = stage.strike("vkQueueSubmit") {
        return result;
    }
    // SAFETY: as the API has it.
    unsafe {
        for submit in core::slice::from_raw_parts(submits, count as usize) {
            if submit.command_buffer_count > 0 {
                let lists = core::slice::from_raw_parts(
                    submit.p_command_buffers,
                    submit.command_buffer_count as usize,
                );
                check_lists(&stage, queue, lists.iter().copied());
            }
        }
        let batches = core::slice::from_raw_parts(submits, count as usize).iter().map(|info| {
            let values = values(info.p_next);
            let (waits, signals) = (info.wait_semaphore_count, info.signal_semaphore_count);
            let (wait_values, signal_values) =
                (values.wait_semaphore_value_count, values.signal_semaphore_value_count);
            Batch {
                family: stage.family_of(queue),
                binds: false,
                waits: pairs(waits, info.p_wait_semaphores, wait_values, values.p_wait_semaphore_values),
                signals: pairs(
                    signals,
                    info.p_signal_semaphores,
                    signal_values,
                    values.p_signal_semaphore_values,
                ),
            }
        });
        stage.send(batches.collect(), |queue| {
            (stage.device.fp_v1_0().queue_submit)(queue, count, submits, fence)
        })
    }
}

unsafe extern "system" fn submit2(
    queue: vk::Queue,
    count: u32,
    submits: *const vk::SubmitInfo2<'static>,
    fence: vk::Fence,
) -> vk::Result {
    let stage = stage();
    if let Some(result) = stage.strike("vkQueueSubmit2") {
        return result;
    }
    // SAFETY: as the API has it.
    unsafe {
        for submit in core::slice::from_raw_parts(submits, count as usize) {
            if submit.command_buffer_info_count > 0 {
                let lists = core::slice::from_raw_parts(
                    submit.p_command_buffer_infos,
                    submit.command_buffer_info_count as usize,
                );
                check_lists(&stage, queue, lists.iter().map(|list| list.command_buffer));
            }
        }
        let batches = core::slice::from_raw_parts(submits, count as usize).iter().map(|info| Batch {
            family: stage.family_of(queue),
            binds: false,
            waits: pairs2(info.wait_semaphore_info_count, info.p_wait_semaphore_infos),
            signals: pairs2(info.signal_semaphore_info_count, info.p_signal_semaphore_infos),
        });
        stage.send(batches.collect(), |queue| {
            (stage.device.fp_v1_3().queue_submit2)(queue, count, submits, fence)
        })
    }
}

unsafe extern "system" fn bind_sparse(
    queue: vk::Queue,
    count: u32,
    binds: *const vk::BindSparseInfo<'static>,
    fence: vk::Fence,
) -> vk::Result {
    let stage = stage();
    if let Some(result) = stage.strike("vkQueueBindSparse") {
        return result;
    }
    let family = stage.family_of(queue);
    if !stage.costume.families[family as usize].0.contains(vk::QueueFlags::SPARSE_BINDING) {
        stage.problem(format!("family {family} does not bind sparse memory"));
    }
    // SAFETY: as the API has it.
    unsafe {
        let batches = core::slice::from_raw_parts(binds, count as usize).iter().map(|info| {
            let values = values(info.p_next);
            let (waits, signals) = (info.wait_semaphore_count, info.signal_semaphore_count);
            let (wait_values, signal_values) =
                (values.wait_semaphore_value_count, values.signal_semaphore_value_count);
            Batch {
                family,
                binds: true,
                waits: pairs(waits, info.p_wait_semaphores, wait_values, values.p_wait_semaphore_values),
                signals: pairs(
                    signals,
                    info.p_signal_semaphores,
                    signal_values,
                    values.p_signal_semaphore_values,
                ),
            }
        });
        stage.send(batches.collect(), |queue| {
            (stage.device.fp_v1_0().queue_bind_sparse)(queue, count, binds, fence)
        })
    }
}

unsafe extern "system" fn semaphore_value(
    device: vk::Device,
    semaphore: vk::Semaphore,
    out: *mut u64,
) -> vk::Result {
    let stage = stage();
    match stage.strike("vkGetSemaphoreCounterValue") {
        // The result of some drivers after a device loss.
        Some(vk::Result::SUCCESS) => {
            // SAFETY: as the API has it.
            unsafe { *out = u64::MAX };
            vk::Result::SUCCESS
        }
        Some(result) => result,
        // SAFETY: as the API has it.
        None => unsafe { (stage.device.fp_v1_2().get_semaphore_counter_value)(device, semaphore, out) },
    }
}

unsafe extern "system" fn fence_status(device: vk::Device, fence: vk::Fence) -> vk::Result {
    let stage = stage();
    match stage.strike("vkGetFenceStatus") {
        Some(result) => result,
        None if stage.seems_busy.load(Ordering::Relaxed) => vk::Result::NOT_READY,
        // SAFETY: as the API has it.
        None => unsafe { (stage.device.fp_v1_0().get_fence_status)(device, fence) },
    }
}
