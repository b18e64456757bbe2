//! The meaning of a state for a barrier: pipeline stages, accesses, an image layout.
//!
//! Only flags that exist since Vulkan 1.0, or came with the extension that makes them valid, are
//! used: the same numbers mean the same in `vkCmdPipelineBarrier` and `vkCmdPipelineBarrier2`. Only mesh shaders have
//! a stage that exists only in the latter, on devices with it.

use ash::vk;
use tenure_core::device::{State, Usage};
use tenure_core::state::Layout;

use crate::features::OptionalFeatures;
use crate::loaded::Api;

type Stages = vk::PipelineStageFlags2;
type Access = vk::AccessFlags2;

/// One half of a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Half {
    pub(crate) stages: Stages,
    pub(crate) access: Access,
}

impl Half {
    /// An execution dependency without memory accesses. The chain to a semaphore includes all commands: it is
    /// signalled after, and waited for before, all of them.
    pub(crate) const CHAIN: Self = Self { stages: Stages::ALL_COMMANDS, access: Access::empty() };

    pub(crate) const EVERYTHING: Self = Self {
        stages: Stages::ALL_COMMANDS,
        access: Access::from_raw(Access::MEMORY_READ.as_raw() | Access::MEMORY_WRITE.as_raw()),
    };

    pub(crate) const fn of(found: StateUse) -> Self {
        Self { stages: found.stages, access: found.access }
    }

    /// For the first half of a split barrier: only writes are made available.
    pub(crate) fn writes(self) -> Self {
        Self { access: self.access & WRITES_OF_ANY, ..self }
    }

    /// Both at once.
    pub(crate) fn or(self, other: Self) -> Self {
        Self { stages: self.stages | other.stages, access: self.access | other.access }
    }
}

/// The write accesses, and the one that includes all of them.
const WRITES_OF_ANY: Access = Access::from_raw(WRITES.as_raw() | Access::MEMORY_WRITE.as_raw());

/// The shader stages of a device, except fragment and compute shaders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShaderStages {
    /// Vertex, tessellation and geometry shaders.
    geometry: Stages,
    /// Mesh and task shaders; empty without them.
    mesh: Stages,
    ray_tracing: bool,
    /// All shaders may read acceleration structures.
    ray_queries: bool,
    structures: bool,
}

impl ShaderStages {
    pub(crate) fn of(api: &Api) -> Self {
        let on = |feature: vk::Bool32, stage| if feature == vk::TRUE { stage } else { Stages::empty() };
        let tessellation = Stages::TESSELLATION_CONTROL_SHADER | Stages::TESSELLATION_EVALUATION_SHADER;
        let geometry = Stages::VERTEX_SHADER
            | on(api.features.tessellation_shader, tessellation)
            | on(api.features.geometry_shader, Stages::GEOMETRY_SHADER);
        let names = [ash::ext::mesh_shader::NAME, ash::nv::mesh_shader::NAME];
        let mesh = match names.iter().any(|name| api.has_extension(name)) {
            // Which of the two features are enabled is unknown; these include both stages.
            true if api.synchronization2.is_some() => Stages::PRE_RASTERIZATION_SHADERS,
            true => Stages::ALL_GRAPHICS,
            false => Stages::empty(),
        };
        Self {
            geometry,
            mesh,
            ray_tracing: api.has_extension(ash::khr::ray_tracing_pipeline::NAME),
            ray_queries: api.has_extension(ash::khr::ray_query::NAME),
            structures: api.uses(OptionalFeatures::ACCELERATION_STRUCTURES),
        }
    }
}

/// A use of a resource in the terms of a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateUse {
    /// The stages of the use.
    pub stages: vk::PipelineStageFlags2,
    /// The kinds of memory accesses.
    pub access: vk::AccessFlags2,
    /// The layout of an image meanwhile.
    pub layout: vk::ImageLayout,
}

/// The meaning of a state on a queue that supports everything, on a device without tessellation, geometry, mesh
/// and ray tracing shaders. `COMMON` has no stages: there was no earlier use.
///
/// ```
/// use ash::vk;
/// use tenure_core::device::State;
/// let target = tenure_vulkan::vk_stage_access_layout(State::RENDER_TARGET);
/// assert_eq!(target.stages, vk::PipelineStageFlags2::COLOR_ATTACHMENT_OUTPUT);
/// assert_eq!(target.layout, vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL);
/// ```
#[must_use]
pub fn vk_stage_access_layout(state: State) -> StateUse {
    let shaders = ShaderStages { geometry: Stages::VERTEX_SHADER, ..ShaderStages::default() };
    QueueStages::new(shaders, vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE).of(state, Usage::empty())
}

/// The layout of an image of that usage in a state.
///
/// Shaders read depth targets in one layout, whether they are tested against at the same time or not:
/// descriptors name it before either is known.
pub(crate) const fn image_layout(state: State, usage: Usage) -> vk::ImageLayout {
    match Layout::of(state) {
        Layout::ShaderRead if usage.contains(Usage::DEPTH_STENCIL) => {
            vk::ImageLayout::DEPTH_STENCIL_READ_ONLY_OPTIMAL
        }
        Layout::Undefined => vk::ImageLayout::UNDEFINED,
        Layout::General => vk::ImageLayout::GENERAL,
        Layout::ShaderRead => vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL,
        Layout::CopySrc => vk::ImageLayout::TRANSFER_SRC_OPTIMAL,
        Layout::CopyDst => vk::ImageLayout::TRANSFER_DST_OPTIMAL,
        Layout::RenderTarget => vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL,
        Layout::DepthWrite => vk::ImageLayout::DEPTH_STENCIL_ATTACHMENT_OPTIMAL,
        Layout::DepthRead => vk::ImageLayout::DEPTH_STENCIL_READ_ONLY_OPTIMAL,
        Layout::Present => vk::ImageLayout::PRESENT_SRC_KHR,
    }
}

/// The write accesses: in the first half of a barrier all others are meaningless.
pub(crate) const WRITES: Access = Access::from_raw(
    Access::SHADER_WRITE.as_raw()
        | Access::COLOR_ATTACHMENT_WRITE.as_raw()
        | Access::DEPTH_STENCIL_ATTACHMENT_WRITE.as_raw()
        | Access::TRANSFER_WRITE.as_raw()
        | Access::ACCELERATION_STRUCTURE_WRITE_KHR.as_raw(),
);

/// The stages that draw to images of a swap chain, or copy to them.
pub(crate) const PRESENT_STAGES: Stages = Stages::from_raw(
    Stages::COLOR_ATTACHMENT_OUTPUT.as_raw() | Stages::COMPUTE_SHADER.as_raw() | Stages::TRANSFER.as_raw(),
);

/// Stages that read acceleration structures by ray queries only.
const SHADERS: Stages = Stages::from_raw(
    Stages::ALL_GRAPHICS.as_raw()
        | Stages::PRE_RASTERIZATION_SHADERS.as_raw()
        | Stages::VERTEX_SHADER.as_raw()
        | Stages::TESSELLATION_CONTROL_SHADER.as_raw()
        | Stages::TESSELLATION_EVALUATION_SHADER.as_raw()
        | Stages::GEOMETRY_SHADER.as_raw()
        | Stages::FRAGMENT_SHADER.as_raw()
        | Stages::COMPUTE_SHADER.as_raw(),
);

/// The meaning of each bit of a state, in the order of the bits.
type Meanings = [(Stages, Access); State::all().bits().count_ones() as usize];

/// The index of one bit's meaning.
const fn index(bit: State) -> usize {
    bit.bits().trailing_zeros() as usize
}

/// The meaning of a union of bits.
fn union(meanings: &Meanings, state: State) -> (Stages, Access) {
    let mut found = (Stages::empty(), Access::empty());
    let mut left = state.bits() & State::all().bits();
    while left != 0 {
        let (stages, access) = meanings[left.trailing_zeros() as usize];
        found.0 |= stages;
        found.1 |= access;
        left &= left - 1;
    }
    found
}

/// The meanings of states on the queues of one family.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueStages {
    shaders: ShaderStages,
    supported: Stages,
    /// The meanings for resources that are not input attachments: without unordered accesses, and with them.
    usual: [Meanings; 2],
    /// The meanings of all unions of shader reads, by [`shader_reads`], for the same resources.
    reads: [(Stages, Access); shader_reads(State::SHADER_READ) + 1],
}

/// The bits below those of shader reads, which are next to each other.
const BELOW_SHADER_READS: u32 = State::SHADER_READ.bits().trailing_zeros();

/// The shader reads of a state, as the index of their union.
const fn shader_reads(state: State) -> usize {
    (state.intersection(State::SHADER_READ).bits() >> BELOW_SHADER_READS) as usize
}

impl QueueStages {
    pub(crate) fn new(shaders: ShaderStages, queue: vk::QueueFlags) -> Self {
        let compute = Stages::COMPUTE_SHADER
            | Stages::DRAW_INDIRECT
            | Stages::ACCELERATION_STRUCTURE_BUILD_KHR
            | Stages::RAY_TRACING_SHADER_KHR;
        let graphics = Stages::DRAW_INDIRECT
            | Stages::VERTEX_INPUT
            | Stages::VERTEX_SHADER
            | Stages::TESSELLATION_CONTROL_SHADER
            | Stages::TESSELLATION_EVALUATION_SHADER
            | Stages::GEOMETRY_SHADER
            | Stages::FRAGMENT_SHADER
            | Stages::EARLY_FRAGMENT_TESTS
            | Stages::LATE_FRAGMENT_TESTS
            | Stages::COLOR_ATTACHMENT_OUTPUT
            | Stages::PRE_RASTERIZATION_SHADERS
            | Stages::ALL_GRAPHICS;
        let mut supported = Stages::TRANSFER;
        if queue.contains(vk::QueueFlags::COMPUTE) {
            supported |= compute;
        }
        if queue.contains(vk::QueueFlags::GRAPHICS) {
            supported |= graphics;
        }
        let (usual, reads) = ([Meanings::default(); 2], Default::default());
        let mut stages = Self { shaders, supported, usual, reads };
        stages.usual = [Usage::empty(), Usage::UNORDERED_ACCESS].map(|usage| stages.meanings(usage));
        let [usual, _] = &stages.usual;
        let unions = (0..).map(|index: u32| State::from_bits_truncate(index << BELOW_SHADER_READS));
        stages.reads.iter_mut().zip(unions).for_each(|(read, state)| *read = union(usual, state));
        stages
    }

    /// The meaning of a state for a resource of that usage.
    pub(crate) fn of(&self, state: State, usage: Usage) -> StateUse {
        let Half { stages, access } = self.half(state, usage);
        StateUse { stages, access, layout: image_layout(state, usage) }
    }

    /// The meaning of a state without its layout.
    pub(crate) fn half(&self, state: State, usage: Usage) -> Half {
        let (stages, access) = if usage.contains(Usage::INPUT_ATTACHMENT) {
            union(&self.meanings(usage), state)
        } else {
            let [usual, unordered] = &self.usual;
            let meanings = if usage.contains(Usage::UNORDERED_ACCESS) { unordered } else { usual };
            let (mut stages, mut access) = union(meanings, state.difference(State::SHADER_READ));
            if state.intersects(State::SHADER_READ) {
                let (readers, reads) = self.reads[shader_reads(state)];
                stages |= readers;
                access |= reads;
            }
            (stages, access)
        };
        let mut found = Half { stages, access };
        let reads_structures = found.access.contains(Access::ACCELERATION_STRUCTURE_READ_KHR);
        if reads_structures && !self.shaders.ray_queries && found.stages.intersects(SHADERS) {
            // Stages of shaders without ray queries must not be combined with it; this covers both.
            found.access &= !Access::ACCELERATION_STRUCTURE_READ_KHR;
            found.access |= Access::MEMORY_READ;
        }
        found
    }

    /// The meaning of a state for resources of unknown usage. `are_inputs`: they may be input attachments, which
    /// render passes write when they store them.
    pub(crate) fn half_of_unknown(&self, state: State, are_inputs: bool) -> Half {
        let half = self.half(state, Usage::UNORDERED_ACCESS);
        let inputs =
            [Usage::RENDER_TARGET, Usage::DEPTH_STENCIL].map(|usage| usage | Usage::INPUT_ATTACHMENT);
        let inputs = inputs.into_iter().filter(|_| are_inputs);
        inputs.fold(half, |half, usage| half.or(self.half(state, usage)))
    }

    /// The stages of unordered accesses, builds of acceleration structures included.
    pub(crate) fn unordered(&self, usage: Usage) -> StateUse {
        self.of(State::UNORDERED_ACCESS | (State::ACCELERATION_STRUCTURE & State::allowed_for(usage)), usage)
    }

    /// The table, bit by bit, without the stages that the queue does not have.
    fn meanings(&self, usage: Usage) -> Meanings {
        let mut meanings = Meanings::default();
        for (bit, stages, access) in self.table(usage) {
            let stages = stages & self.supported;
            if let Some(meaning) = meanings.get_mut(index(bit)).filter(|_| !stages.is_empty()) {
                meaning.0 |= stages;
                meaning.1 |= access;
            }
        }
        meanings
    }

    fn table(&self, usage: Usage) -> [(State, Stages, Access); 29] {
        let ShaderStages { geometry, mesh, ray_tracing, ray_queries, structures } = self.shaders;
        let when = |on: bool, stages| if on { stages } else { Stages::empty() };
        let rays = when(ray_tracing, Stages::RAY_TRACING_SHADER_KHR);
        let build = when(structures, Stages::ACCELERATION_STRUCTURE_BUILD_KHR);
        let fragment = Stages::FRAGMENT_SHADER;
        let compute = Stages::COMPUTE_SHADER;
        let others = geometry | mesh | compute | rays;
        // A barrier without stages would order nothing: stages that the queue or the device lacks count as another
        // stage.
        let or = |stages: Stages, other| if (stages & self.supported).is_empty() { other } else { stages };
        let vertex = or(geometry, compute);
        let (mesh, traced) = (or(mesh, vertex), or(rays | build, compute));
        let tests = Stages::EARLY_FRAGMENT_TESTS | Stages::LATE_FRAGMENT_TESTS;
        let (read, write) = (Access::SHADER_READ, Access::SHADER_WRITE);
        let is_input = usage.contains(Usage::INPUT_ATTACHMENT);
        let input = if is_input { Access::INPUT_ATTACHMENT_READ } else { Access::empty() };
        let structure_access =
            Access::ACCELERATION_STRUCTURE_READ_KHR | Access::ACCELERATION_STRUCTURE_WRITE_KHR;
        let output = Stages::COLOR_ATTACHMENT_OUTPUT;
        let target = Access::COLOR_ATTACHMENT_READ | Access::COLOR_ATTACHMENT_WRITE;
        let (depth_read, depth_write) =
            (Access::DEPTH_STENCIL_ATTACHMENT_READ, Access::DEPTH_STENCIL_ATTACHMENT_WRITE);
        let loads = if usage.contains(Usage::DEPTH_STENCIL) {
            (tests, depth_read | depth_write)
        } else {
            (output, target)
        };
        // Builds read geometry, and write to scratch buffers, which are for unordered access; old contents of
        // scratch buffers are never read.
        let scratch = when(usage.intersects(Usage::UNORDERED_ACCESS), build);
        [
            (State::VERTEX_OR_CONSTANT, Stages::VERTEX_INPUT, Access::VERTEX_ATTRIBUTE_READ),
            (State::VERTEX_OR_CONSTANT, others | fragment, Access::UNIFORM_READ),
            (State::INDEX, Stages::VERTEX_INPUT, Access::INDEX_READ),
            (State::PIXEL_SHADER, fragment, read | input),
            // Render passes load and store their input attachments as they do their targets.
            (State::PIXEL_SHADER, when(is_input, loads.0), loads.1),
            (State::VERTEX_SHADER, vertex, read),
            (State::MESH_SHADER, mesh, read),
            (State::COMPUTE_SHADER, compute, read),
            (State::RAY_TRACING_SHADER, traced, read),
            (State::INDIRECT, Stages::DRAW_INDIRECT, Access::INDIRECT_COMMAND_READ),
            (State::INDIRECT, build, Access::INDIRECT_COMMAND_READ),
            (State::COPY_SRC, Stages::TRANSFER, Access::TRANSFER_READ),
            (State::RESOLVE_SRC, Stages::TRANSFER, Access::TRANSFER_READ),
            // Store operations write attachments, even ones used for tests only.
            (State::DEPTH_READ, tests, depth_read | depth_write),
            // At the end of a render pass, depth and stencil are resolved where colours are.
            (State::DEPTH_READ, output, Access::COLOR_ATTACHMENT_READ),
            (State::ACCELERATION_STRUCTURE, build, structure_access),
            (
                State::ACCELERATION_STRUCTURE,
                when(structures, if ray_queries { others | fragment } else { rays }),
                Access::ACCELERATION_STRUCTURE_READ_KHR,
            ),
            (State::UNORDERED_ACCESS, others | fragment, read | write),
            (State::UNORDERED_ACCESS, scratch, Access::ACCELERATION_STRUCTURE_WRITE_KHR),
            (State::MESH_UNORDERED_ACCESS, mesh, read | write),
            (State::COMPUTE_UNORDERED_ACCESS, compute, read | write),
            (State::RAY_TRACING_UNORDERED_ACCESS, or(rays, compute), read | write),
            (State::RAY_TRACING_UNORDERED_ACCESS, scratch, Access::ACCELERATION_STRUCTURE_WRITE_KHR),
            (State::RENDER_TARGET, output, target),
            (State::DEPTH_WRITE, tests, depth_read | depth_write),
            (State::DEPTH_WRITE, output, target),
            (State::COPY_DST, Stages::TRANSFER, Access::TRANSFER_WRITE),
            (State::RESOLVE_DST, Stages::TRANSFER, Access::TRANSFER_WRITE),
            // The stages that wait for the image, so that its transition comes after that wait. Presentation
            // itself is ordered by semaphores, which need no access.
            (State::PRESENT, PRESENT_STAGES, Access::empty()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::device::QueueKind;

    /// The specification's table of the stages that support an access.
    const SUPPORTED: [(Access, u64); 13] = {
        const SHADERS: u64 = Stages::VERTEX_SHADER.as_raw()
            | Stages::TESSELLATION_CONTROL_SHADER.as_raw()
            | Stages::TESSELLATION_EVALUATION_SHADER.as_raw()
            | Stages::GEOMETRY_SHADER.as_raw()
            | Stages::FRAGMENT_SHADER.as_raw()
            | Stages::COMPUTE_SHADER.as_raw()
            | Stages::RAY_TRACING_SHADER_KHR.as_raw()
            | Stages::PRE_RASTERIZATION_SHADERS.as_raw()
            | Stages::ALL_GRAPHICS.as_raw();
        const BUILD: u64 = Stages::ACCELERATION_STRUCTURE_BUILD_KHR.as_raw();
        const TESTS: u64 = Stages::EARLY_FRAGMENT_TESTS.as_raw() | Stages::LATE_FRAGMENT_TESTS.as_raw();
        [
            (Access::INDIRECT_COMMAND_READ, Stages::DRAW_INDIRECT.as_raw() | BUILD),
            (Access::INDEX_READ, Stages::VERTEX_INPUT.as_raw()),
            (Access::VERTEX_ATTRIBUTE_READ, Stages::VERTEX_INPUT.as_raw()),
            (Access::UNIFORM_READ, SHADERS),
            (Access::SHADER_READ, SHADERS | BUILD),
            (Access::SHADER_WRITE, SHADERS),
            (Access::COLOR_ATTACHMENT_READ, Stages::COLOR_ATTACHMENT_OUTPUT.as_raw()),
            (Access::COLOR_ATTACHMENT_WRITE, Stages::COLOR_ATTACHMENT_OUTPUT.as_raw()),
            (Access::DEPTH_STENCIL_ATTACHMENT_READ, TESTS),
            (Access::DEPTH_STENCIL_ATTACHMENT_WRITE, TESTS),
            (Access::TRANSFER_READ, Stages::TRANSFER.as_raw() | BUILD),
            (Access::TRANSFER_WRITE, Stages::TRANSFER.as_raw() | BUILD),
            (Access::ACCELERATION_STRUCTURE_READ_KHR, SHADERS | BUILD),
        ]
    };

    /// The stages that a queue may name.
    fn allowed(queue: vk::QueueFlags) -> Stages {
        let mut stages = Stages::TRANSFER | Stages::ALL_COMMANDS;
        let compute = [
            Stages::COMPUTE_SHADER,
            Stages::DRAW_INDIRECT,
            Stages::ACCELERATION_STRUCTURE_BUILD_KHR,
            Stages::RAY_TRACING_SHADER_KHR,
        ];
        let graphics = [
            Stages::DRAW_INDIRECT,
            Stages::VERTEX_INPUT,
            Stages::VERTEX_SHADER,
            Stages::TESSELLATION_CONTROL_SHADER,
            Stages::TESSELLATION_EVALUATION_SHADER,
            Stages::GEOMETRY_SHADER,
            Stages::FRAGMENT_SHADER,
            Stages::EARLY_FRAGMENT_TESTS,
            Stages::LATE_FRAGMENT_TESTS,
            Stages::COLOR_ATTACHMENT_OUTPUT,
            Stages::PRE_RASTERIZATION_SHADERS,
            Stages::ALL_GRAPHICS,
        ];
        if queue.contains(vk::QueueFlags::COMPUTE) {
            stages = compute.into_iter().fold(stages, |all, stage| all | stage);
        }
        if queue.contains(vk::QueueFlags::GRAPHICS) {
            stages = graphics.into_iter().fold(stages, |all, stage| all | stage);
        }
        stages
    }

    const QUEUES: [(QueueKind, vk::QueueFlags); 3] = [
        (QueueKind::Graphics, vk::QueueFlags::from_raw(7)),
        (QueueKind::Compute, vk::QueueFlags::from_raw(6)),
        (QueueKind::Copy, vk::QueueFlags::from_raw(4)),
    ];

    fn devices() -> Vec<ShaderStages> {
        let plain = Stages::VERTEX_SHADER;
        let all = plain | Stages::GEOMETRY_SHADER | Stages::TESSELLATION_CONTROL_SHADER;
        let mut devices = Vec::new();
        let meshes = [Stages::empty(), Stages::ALL_GRAPHICS, Stages::PRE_RASTERIZATION_SHADERS];
        for (geometry, mesh) in meshes.into_iter().flat_map(|mesh| [(plain, mesh), (all, mesh)]) {
            for ray_tracing in [false, true] {
                for (structures, ray_queries) in [(false, false), (true, false), (true, true)] {
                    devices.push(ShaderStages { geometry, mesh, ray_tracing, ray_queries, structures });
                }
            }
        }
        devices
    }

    /// Every valid state on every kind of queue: stages that the queue has, and accesses that one
    /// of the stages supports.
    #[test]
    fn no_combination_is_invalid_for_its_queue() {
        let states = (0..=State::all().bits()).filter_map(State::from_bits).filter(|state| state.is_valid());
        let states: Vec<_> = states.collect();
        for device in devices() {
            for (kind, flags) in QUEUES {
                let queue = QueueStages::new(device, flags);
                for state in states.iter().filter(|state| State::allowed_on(kind).contains(**state)) {
                    let structures_missing =
                        state.contains(State::ACCELERATION_STRUCTURE) && !device.structures;
                    for usage in [Usage::empty(), Usage::UNORDERED_ACCESS] {
                        let found = queue.of(*state, usage);
                        let what = || format!("{state:?} on {kind:?}: {found:?}");
                        assert!(allowed(flags).contains(found.stages), "{}", what());
                        let is_known = state.is_empty() || structures_missing || !found.stages.is_empty();
                        assert!(is_known, "{}", what());
                        // Except for ray tracing shaders, only ray queries read structures in shaders.
                        let reads = found.access.contains(Access::ACCELERATION_STRUCTURE_READ_KHR);
                        let is_query = device.ray_queries || !found.stages.intersects(SHADERS);
                        assert!(!reads || is_query, "{}", what());
                        for (access, stages) in SUPPORTED {
                            let supported = found.stages.as_raw() & stages != 0;
                            let is_fine = !found.access.contains(access) || supported;
                            assert!(is_fine, "{access:?} of {}", what());
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn accesses_of_states_match_their_names() {
        let device = devices().into_iter().find(|device| device.structures).unwrap();
        let queue = QueueStages::new(device, QUEUES[0].1);
        for state in State::all().iter() {
            let found = queue.of(state, Usage::empty());
            let writes = state.is_write() || state == State::ACCELERATION_STRUCTURE;
            // Depth that is only tested is written if the render pass stores it.
            let writes = writes || state == State::DEPTH_READ;
            assert_eq!(found.access.intersects(WRITES), writes, "{state:?}: {found:?}");
            assert_ne!(found.layout, vk::ImageLayout::UNDEFINED, "{state:?}");
        }
        assert_eq!(queue.of(State::COMMON, Usage::empty()).layout, vk::ImageLayout::UNDEFINED);
        assert_eq!(queue.of(State::COMMON, Usage::empty()).stages, Stages::empty());
    }

    /// Exactly the stages of the named shaders, for reads and for writes.
    #[test]
    fn states_of_one_kind_of_shaders_name_their_stages_alone() {
        let mesh = Stages::PRE_RASTERIZATION_SHADERS;
        let device = ShaderStages { geometry: Stages::VERTEX_SHADER, mesh, ..ShaderStages::default() };
        let traced = ShaderStages { ray_tracing: true, structures: true, ..device };
        let rays = Stages::RAY_TRACING_SHADER_KHR;
        let build = Stages::ACCELERATION_STRUCTURE_BUILD_KHR;
        let (vertex, compute) = (Stages::VERTEX_SHADER, Stages::COMPUTE_SHADER);
        let (read, write) = (Access::SHADER_READ, Access::SHADER_READ | Access::SHADER_WRITE);
        let scratch = Access::ACCELERATION_STRUCTURE_WRITE_KHR;
        let [graphics, on_compute, _] = QUEUES.map(|(_, flags)| flags);
        for (device, queue, state, stages, access) in [
            (traced, graphics, State::VERTEX_SHADER, vertex, read),
            (traced, graphics, State::MESH_SHADER, mesh, read),
            (traced, graphics, State::COMPUTE_SHADER, compute, read),
            (traced, graphics, State::RAY_TRACING_SHADER, rays | build, read),
            (traced, graphics, State::NON_PIXEL_SHADER, vertex | mesh | compute | rays | build, read),
            (
                traced,
                graphics,
                State::COMPUTE_SHADER | State::PIXEL_SHADER,
                compute | Stages::FRAGMENT_SHADER,
                read,
            ),
            (traced, graphics, State::MESH_UNORDERED_ACCESS, mesh, write),
            (traced, graphics, State::COMPUTE_UNORDERED_ACCESS, compute, write),
            (traced, graphics, State::RAY_TRACING_UNORDERED_ACCESS, rays | build, write | scratch),
            (traced, on_compute, State::COMPUTE_UNORDERED_ACCESS, compute, write),
            (traced, on_compute, State::VERTEX_SHADER, compute, read),
            (traced, on_compute, State::NON_PIXEL_SHADER, compute | rays | build, read),
            (device, graphics, State::RAY_TRACING_SHADER, compute, read),
            (device, on_compute, State::NON_PIXEL_SHADER, compute, read),
        ] {
            let found = QueueStages::new(device, queue).half(state, Usage::UNORDERED_ACCESS);
            assert_eq!(found, Half { stages, access }, "{state:?} of {device:?}");
        }
    }

    /// Unions of shader reads are looked up; other states are added to them.
    #[test]
    fn unions_have_the_stages_of_their_parts() {
        let reads = || (0..=State::SHADER_READ.bits()).filter_map(State::from_bits);
        let reads = || reads().filter(|state| State::SHADER_READ.contains(*state));
        assert_eq!(reads().map(shader_reads).collect::<Vec<_>>(), (0..32).collect::<Vec<_>>());
        for queue in devices().into_iter().map(|device| QueueStages::new(device, QUEUES[0].1)) {
            for reads in reads().map(|reads| reads | State::INDIRECT) {
                let parts = reads.iter().map(|part| queue.half(part, Usage::empty()));
                assert_eq!(Some(queue.half(reads, Usage::empty())), parts.reduce(Half::or), "{reads:?}");
            }
        }
    }

    /// The specification's chapter on render passes: the operations on depth attachments.
    #[test]
    fn attachments_of_depth_are_tested_stored_and_resolved() {
        let tests = Stages::EARLY_FRAGMENT_TESTS | Stages::LATE_FRAGMENT_TESTS;
        let resolved = Access::COLOR_ATTACHMENT_READ | Access::COLOR_ATTACHMENT_WRITE;
        let tested = Access::DEPTH_STENCIL_ATTACHMENT_READ | Access::DEPTH_STENCIL_ATTACHMENT_WRITE;
        let written = vk_stage_access_layout(State::DEPTH_WRITE);
        assert_eq!(written.stages, tests | Stages::COLOR_ATTACHMENT_OUTPUT);
        assert_eq!(written.access, tested | resolved);
        let read = vk_stage_access_layout(State::DEPTH_READ);
        assert_eq!(read.stages, tests | Stages::COLOR_ATTACHMENT_OUTPUT);
        assert_eq!(read.access, tested | Access::COLOR_ATTACHMENT_READ);
    }

    /// Stages and accesses beyond bit 31 exist in synchronization2 only.
    #[test]
    fn flags_fit_the_older_barriers() {
        for device in devices().into_iter().filter(|device| device.mesh != Stages::PRE_RASTERIZATION_SHADERS)
        {
            for (_, flags) in QUEUES {
                let queue = QueueStages::new(device, flags);
                for state in State::all().iter() {
                    let found = queue.of(state, Usage::UNORDERED_ACCESS);
                    assert!(u32::try_from(found.stages.as_raw()).is_ok(), "{state:?}");
                    assert!(u32::try_from(found.access.as_raw()).is_ok(), "{state:?}");
                }
            }
        }
    }
}
