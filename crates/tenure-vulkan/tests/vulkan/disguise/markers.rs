//! Markers of `VK_AMD_buffer_marker`, written by fills beneath.

use core::ffi::c_void;

use tenure_vulkan::ash::vk;

use super::{Hook, stage};

pub(super) fn hooks() -> Vec<Hook> {
    vec![(c"vkCmdWriteBufferMarkerAMD", write as *const c_void)]
}

/// A marker: its stage, its offset in bytes, and its value.
pub(crate) type Marker = (vk::PipelineStageFlags, u64, u32);

unsafe extern "system" fn write(
    list: vk::CommandBuffer,
    at: vk::PipelineStageFlags,
    buffer: vk::Buffer,
    offset: vk::DeviceSize,
    value: u32,
) {
    let stage = stage();
    stage.markers.lock().push((at, offset, value));
    let all = vk::PipelineStageFlags::ALL_COMMANDS;
    let order = [vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
        .dst_access_mask(vk::AccessFlags::TRANSFER_WRITE)];
    // SAFETY: as the API has it; outside of render passes.
    unsafe {
        let flags = vk::DependencyFlags::empty();
        stage.device.cmd_pipeline_barrier(
            list,
            all,
            vk::PipelineStageFlags::TRANSFER,
            flags,
            &order,
            &[],
            &[],
        );
        stage.device.cmd_fill_buffer(list, buffer, offset, 4, value);
    }
}
