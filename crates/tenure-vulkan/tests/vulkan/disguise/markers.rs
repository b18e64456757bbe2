//! Markers of `VK_AMD_buffer_marker`, written by fills beneath, and checkpoints of `VK_NV_device_diagnostic_checkpoints`.

use core::ffi::c_void;

use tenure_vulkan::ash::vk;

use super::{Disguise, Hook, stage};

pub(super) fn hooks() -> Vec<Hook> {
    vec![
        (c"vkCmdWriteBufferMarkerAMD", write as *const c_void),
        (c"vkCmdSetCheckpointNV", set_checkpoint as *const c_void),
        (c"vkGetQueueCheckpointDataNV", checkpoint_data as *const c_void),
    ]
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

/// The checkpoints of all lists, and the stages that report one: stages and indices in the order of recording.
#[derive(Default)]
pub(super) struct Checkpoints {
    set: Vec<usize>,
    reached: Vec<(vk::PipelineStageFlags, usize)>,
}

impl Disguise {
    /// The number of checkpoints so far.
    pub(crate) fn checkpoints(&self) -> usize {
        self.0.checkpoints.lock().set.len()
    }

    /// Stages of each queue have reached these checkpoints.
    pub(crate) fn reach(&self, reached: &[(vk::PipelineStageFlags, usize)]) {
        self.0.checkpoints.lock().reached = reached.to_vec();
    }
}

unsafe extern "system" fn set_checkpoint(_: vk::CommandBuffer, marker: *const c_void) {
    stage().checkpoints.lock().set.push(marker.addr());
}

unsafe extern "system" fn checkpoint_data(
    _: vk::Queue,
    count: *mut u32,
    out: *mut vk::CheckpointDataNV<'static>,
) {
    let stage = stage();
    let checkpoints = stage.checkpoints.lock();
    // SAFETY: as the API has it.
    unsafe {
        let room = (*count as usize).min(checkpoints.reached.len());
        for (index, (stage, checkpoint)) in checkpoints.reached.iter().take(room).enumerate() {
            let marker = checkpoints.set[*checkpoint] as *mut c_void;
            out.add(index).write(vk::CheckpointDataNV {
                stage: *stage,
                p_checkpoint_marker: marker,
                ..Default::default()
            });
        }
        // A broken driver counts more than there was room for.
        *count = u32::MAX;
    }
}
