//! Barriers: stages that the family has, and images that change owners by pairs of halves.

use core::ffi::c_void;

use tenure_vulkan::ash::vk;

use super::{Hook, Stage, stage};

/// The first half of a change of owner, waiting for the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Release {
    pub(super) image: vk::Image,
    range: [u32; 4],
    layouts: [vk::ImageLayout; 2],
    families: [u32; 2],
}

/// The families of other devices and processes.
const PEERS: [u32; 2] = [vk::QUEUE_FAMILY_EXTERNAL, vk::QUEUE_FAMILY_FOREIGN_EXT];

/// Stages and accesses, before and after.
pub(crate) type Scopes = [(vk::PipelineStageFlags2, vk::AccessFlags2); 2];

/// The barriers of one call, of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) memory: Vec<Scopes>,
    pub(crate) buffers: Vec<Scopes>,
    pub(crate) images: Vec<Scopes>,
    /// The families of buffers and images that go to others or come from there.
    pub(crate) peers: Vec<[u32; 2]>,
}

impl Call {
    fn note_peers(&mut self, families: [u32; 2]) {
        if PEERS.iter().any(|peer| families.contains(peer)) {
            self.peers.push(families);
        }
    }
}

pub(super) fn hooks() -> Vec<Hook> {
    vec![
        (c"vkCmdPipelineBarrier", barrier as *const c_void),
        (c"vkCmdPipelineBarrier2", barrier2 as *const c_void),
    ]
}

/// The stages that a family may name.
fn allowed(flags: vk::QueueFlags) -> vk::PipelineStageFlags2 {
    use vk::PipelineStageFlags2 as Stages;
    let mut stages =
        Stages::TOP_OF_PIPE | Stages::BOTTOM_OF_PIPE | Stages::TRANSFER | Stages::HOST | Stages::ALL_COMMANDS;
    if flags.contains(vk::QueueFlags::COMPUTE) {
        stages |= Stages::COMPUTE_SHADER
            | Stages::DRAW_INDIRECT
            | Stages::ACCELERATION_STRUCTURE_BUILD_KHR
            | Stages::RAY_TRACING_SHADER_KHR;
    }
    if flags.contains(vk::QueueFlags::GRAPHICS) {
        stages = Stages::from_raw(u64::MAX);
    }
    stages
}

impl Stage {
    fn check_stages(&self, family: u32, stages: [vk::PipelineStageFlags2; 2]) {
        let allowed = allowed(self.costume.families[family as usize].0);
        for stages in stages {
            if !allowed.contains(stages) {
                self.problem(format!("family {family} does not have all of {stages:?}"));
            }
        }
    }

    /// A barrier of an image on the real device, which has one family: layouts to go from and to. The half of a
    /// transfer takes place when the list is submitted.
    fn layouts(&self, list: vk::CommandBuffer, family: u32, half: Release) -> [vk::ImageLayout; 2] {
        let [from, to] = half.families;
        if (from, to) == (vk::QUEUE_FAMILY_IGNORED, vk::QUEUE_FAMILY_IGNORED) {
            return half.layouts;
        }
        if PEERS.iter().any(|peer| half.families.contains(peer)) {
            let is_own = half.families.contains(&family) && half.layouts[0] == half.layouts[1];
            if !is_own {
                self.problem(format!("family {family} hands to a peer, or takes from one, {half:?}"));
            }
            return half.layouts;
        }
        if from == to || (family != from && family != to) {
            self.problem(format!("family {family} records a transfer from {from} to {to}"));
            return half.layouts;
        }
        let is_release = family == from;
        let layouts = if is_release { [half.layouts[0]; 2] } else { half.layouts };
        let recorded = if is_release { Half::Release(half) } else { Half::Acquire(half) };
        if let Some(list) = self.lists.lock().get_mut(&list) {
            list.halves.push(recorded);
        }
        layouts
    }

    /// Notes the submission of one half of a transfer.
    pub(super) fn transfer(&self, half: Half) {
        let mut releases = self.releases.lock();
        match half {
            Half::Release(half) => releases.push(half),
            Half::Acquire(half) => match releases.iter().position(|release| *release == half) {
                Some(index) => drop(releases.swap_remove(index)),
                None => {
                    drop(releases);
                    self.problem(format!("an acquire without its release: {half:?}"));
                }
            },
        }
    }
}

/// The part of a list in a transfer between families.
#[derive(Clone, Copy, Debug)]
pub(super) enum Half {
    Release(Release),
    Acquire(Release),
}

fn range_of(range: &vk::ImageSubresourceRange) -> [u32; 4] {
    [range.base_mip_level, range.level_count, range.base_array_layer, range.layer_count]
}

/// Several families share all buffers, which go to other devices and come from them, and change no owner here.
fn check_buffer(stage: &Stage, families: [u32; 2]) {
    let has = |family| families.contains(&family);
    let own = if stage.costume.families.len() > 1 { vk::QUEUE_FAMILY_IGNORED } else { 0 };
    let is_peers = PEERS.into_iter().any(has) && has(own);
    if families != [vk::QUEUE_FAMILY_IGNORED; 2] && !is_peers {
        stage.problem("a buffer changes its owner".to_owned());
    }
}

/// # Safety
/// `first` is null or points to that many.
unsafe fn slice<'a, T>(first: *const T, count: u32) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: says the caller.
    unsafe { core::slice::from_raw_parts(first, count as usize) }
}

macro_rules! scopes {
    ($barrier:expr) => {
        [
            ($barrier.src_stage_mask, $barrier.src_access_mask),
            ($barrier.dst_stage_mask, $barrier.dst_access_mask),
        ]
    };
}

unsafe extern "system" fn barrier2(list: vk::CommandBuffer, info: *const vk::DependencyInfo<'static>) {
    let stage = stage();
    stage.strike("vkCmdPipelineBarrier2");
    let family = stage.lists.lock()[&list].family;
    // SAFETY: as the API has it.
    unsafe {
        let info = &*info;
        let mut call = Call::default();
        for each in slice(info.p_memory_barriers, info.memory_barrier_count) {
            call.memory.push(scopes!(each));
            stage.check_stages(family, [each.src_stage_mask, each.dst_stage_mask]);
            let shows = each.dst_stage_mask.contains(vk::PipelineStageFlags2::HOST)
                && each.dst_access_mask.contains(vk::AccessFlags2::HOST_READ);
            super::copies::note_barrier(&stage, list, shows);
        }
        let mut buffers = Vec::new();
        for each in slice(info.p_buffer_memory_barriers, info.buffer_memory_barrier_count) {
            buffers.push(vk::BufferMemoryBarrier2 {
                src_queue_family_index: vk::QUEUE_FAMILY_IGNORED,
                dst_queue_family_index: vk::QUEUE_FAMILY_IGNORED,
                ..*each
            });
            call.buffers.push(scopes!(each));
            call.note_peers([each.src_queue_family_index, each.dst_queue_family_index]);
            stage.check_stages(family, [each.src_stage_mask, each.dst_stage_mask]);
            check_buffer(&stage, [each.src_queue_family_index, each.dst_queue_family_index]);
        }
        let mut images = Vec::new();
        for each in slice(info.p_image_memory_barriers, info.image_memory_barrier_count) {
            call.images.push(scopes!(each));
            call.note_peers([each.src_queue_family_index, each.dst_queue_family_index]);
            stage.check_stages(family, [each.src_stage_mask, each.dst_stage_mask]);
            let half = Release {
                image: each.image,
                range: range_of(&each.subresource_range),
                layouts: [each.old_layout, each.new_layout],
                families: [each.src_queue_family_index, each.dst_queue_family_index],
            };
            let [old_layout, new_layout] = stage.layouts(list, family, half);
            images.push(vk::ImageMemoryBarrier2 {
                old_layout,
                new_layout,
                src_queue_family_index: vk::QUEUE_FAMILY_IGNORED,
                dst_queue_family_index: vk::QUEUE_FAMILY_IGNORED,
                ..*each
            });
        }
        stage.barriers.lock().push(call);
        let real = vk::DependencyInfo {
            p_buffer_memory_barriers: buffers.as_ptr(),
            p_image_memory_barriers: images.as_ptr(),
            ..*info
        };
        (stage.device.fp_v1_3().cmd_pipeline_barrier2)(list, &raw const real);
    }
}

#[allow(clippy::too_many_arguments, reason = "the API's")]
unsafe extern "system" fn barrier(
    list: vk::CommandBuffer,
    from: vk::PipelineStageFlags,
    to: vk::PipelineStageFlags,
    flags: vk::DependencyFlags,
    memory_count: u32,
    memory: *const vk::MemoryBarrier<'static>,
    buffer_count: u32,
    buffers: *const vk::BufferMemoryBarrier<'static>,
    image_count: u32,
    images: *const vk::ImageMemoryBarrier<'static>,
) {
    let stage = stage();
    let family = stage.lists.lock()[&list].family;
    let newer = |stages: vk::PipelineStageFlags| vk::PipelineStageFlags2::from_raw(stages.as_raw().into());
    stage.check_stages(family, [newer(from), newer(to)]);
    // SAFETY: as the API has it.
    unsafe {
        for each in slice(memory, memory_count) {
            let shows = to.contains(vk::PipelineStageFlags::HOST)
                && each.dst_access_mask.contains(vk::AccessFlags::HOST_READ);
            super::copies::note_barrier(&stage, list, shows);
        }
        let mut real_buffers = Vec::new();
        for each in slice(buffers, buffer_count) {
            real_buffers.push(vk::BufferMemoryBarrier {
                src_queue_family_index: vk::QUEUE_FAMILY_IGNORED,
                dst_queue_family_index: vk::QUEUE_FAMILY_IGNORED,
                ..*each
            });
            check_buffer(&stage, [each.src_queue_family_index, each.dst_queue_family_index]);
        }
        let mut real_images = Vec::new();
        for each in slice(images, image_count) {
            let half = Release {
                image: each.image,
                range: range_of(&each.subresource_range),
                layouts: [each.old_layout, each.new_layout],
                families: [each.src_queue_family_index, each.dst_queue_family_index],
            };
            let [old_layout, new_layout] = stage.layouts(list, family, half);
            real_images.push(vk::ImageMemoryBarrier {
                old_layout,
                new_layout,
                src_queue_family_index: vk::QUEUE_FAMILY_IGNORED,
                dst_queue_family_index: vk::QUEUE_FAMILY_IGNORED,
                ..*each
            });
        }
        (stage.device.fp_v1_0().cmd_pipeline_barrier)(
            list,
            from,
            to,
            flags,
            memory_count,
            memory,
            buffer_count,
            real_buffers.as_ptr(),
            image_count,
            real_images.as_ptr(),
        );
    }
}
