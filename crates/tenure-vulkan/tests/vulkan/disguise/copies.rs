//! Copies to CPU-readable memory: before their submission a barrier must make them visible to the CPU.

use core::ffi::c_void;

use tenure_vulkan::ash::vk;

use super::{Hook, Stage, stage};

pub(super) fn hooks() -> Vec<Hook> {
    vec![
        (c"vkCmdCopyBuffer", copy_buffer as *const c_void),
        (c"vkCmdCopyBufferToImage", copy_to_image as *const c_void),
        (c"vkCmdCopyImageToBuffer", copy_image as *const c_void),
        (c"vkBeginCommandBuffer", begin as *const c_void),
    ]
}

/// Notes a recorded barrier, which makes earlier writes visible to the CPU, or not.
pub(super) fn note_barrier(stage: &Stage, list: vk::CommandBuffer, shows: bool) {
    if let Some(recorded) = stage.lists.lock().get_mut(&list) {
        recorded.is_unseen &= !shows;
    }
}

fn note_copy(stage: &Stage, list: vk::CommandBuffer, to: vk::Buffer) {
    let is_mapped = stage.is_mapped(to);
    if let Some(recorded) = stage.lists.lock().get_mut(&list) {
        recorded.is_unseen |= is_mapped;
    }
}

unsafe extern "system" fn copy_buffer(
    list: vk::CommandBuffer,
    from: vk::Buffer,
    to: vk::Buffer,
    count: u32,
    regions: *const vk::BufferCopy,
) {
    let stage = stage();
    stage.strike("vkCmdCopyBuffer");
    note_copy(&stage, list, to);
    // SAFETY: as the API has it.
    unsafe { (stage.device.fp_v1_0().cmd_copy_buffer)(list, from, to, count, regions) };
}

unsafe extern "system" fn copy_to_image(
    list: vk::CommandBuffer,
    from: vk::Buffer,
    to: vk::Image,
    layout: vk::ImageLayout,
    count: u32,
    regions: *const vk::BufferImageCopy,
) {
    let stage = stage();
    stage.strike("vkCmdCopyBufferToImage");
    // SAFETY: as the API has it.
    unsafe { (stage.device.fp_v1_0().cmd_copy_buffer_to_image)(list, from, to, layout, count, regions) };
}

unsafe extern "system" fn copy_image(
    list: vk::CommandBuffer,
    from: vk::Image,
    layout: vk::ImageLayout,
    to: vk::Buffer,
    count: u32,
    regions: *const vk::BufferImageCopy,
) {
    let stage = stage();
    note_copy(&stage, list, to);
    // SAFETY: as the API has it.
    unsafe { (stage.device.fp_v1_0().cmd_copy_image_to_buffer)(list, from, layout, to, count, regions) };
}

unsafe extern "system" fn begin(
    list: vk::CommandBuffer,
    info: *const vk::CommandBufferBeginInfo<'static>,
) -> vk::Result {
    let stage = stage();
    if let Some(recorded) = stage.lists.lock().get_mut(&list) {
        recorded.is_unseen = false;
        recorded.halves.clear();
    }
    // SAFETY: as the API has it.
    unsafe { (stage.device.fp_v1_0().begin_command_buffer)(list, info) }
}
