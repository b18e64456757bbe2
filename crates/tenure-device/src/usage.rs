//! Usages and states of resources.

use std::fmt;

use bitflags::bitflags;

bitflags! {
    /// All uses of a resource during its lifetime. Fixed at creation.
    ///
    /// The usage determines the memory pool of a resource, and the states that it may enter.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct Usage: u32 {
        /// Vertex buffer.
        const VERTEX = 1 << 0;
        /// Index buffer.
        const INDEX = 1 << 1;
        /// Uniform (constant) buffer.
        const CONSTANT = 1 << 2;
        /// Read by shaders: sampled texture, structured or raw read-only buffer. Also by builds of acceleration
        /// structures: vertices, indices, transforms and instances.
        const SHADER_READ = 1 << 3;
        /// Read and written by shaders: storage buffer or image, unordered access view.
        const UNORDERED_ACCESS = 1 << 4;
        /// Arguments of indirect draws and dispatches.
        const INDIRECT = 1 << 5;
        /// Contains a ray-tracing acceleration structure.
        const ACCELERATION_STRUCTURE = 1 << 6;
        /// Source of copies.
        const COPY_SRC = 1 << 7;
        /// Destination of copies.
        const COPY_DST = 1 << 8;
        /// Colour render target. Textures only.
        const RENDER_TARGET = 1 << 9;
        /// Depth-stencil target. Textures only.
        const DEPTH_STENCIL = 1 << 10;
        /// Presented by a swap chain. Only for adopted textures of a swap chain (`Gpu::adopt_texture`); none can be created
        /// with it.
        const PRESENT = 1 << 11;
        /// Contains the shader records of ray dispatches. Read in [`State::RAY_TRACING_SHADER`], also as a part of
        /// [`State::NON_PIXEL_SHADER`]. Such a buffer never shares an API buffer with buffers for other uses.
        const SHADER_BINDING_TABLE = 1 << 12;
        /// Read by pixel shaders as an input attachment: each reads the texel at its own position, in the state
        /// [`PIXEL_SHADER`](State::PIXEL_SHADER). Textures only, and only on Vulkan.
        const INPUT_ATTACHMENT = 1 << 13;
        /// A target whose contents never leave the render pass that draws to it: the pass begins by clearing or discarding it,
        /// and ends without storing it. Typical examples are depth, multisampled colour that the pass resolves, and input
        /// attachments of later subpasses. Textures only, beside `RENDER_TARGET` or `DEPTH_STENCIL`, and `INPUT_ATTACHMENT`,
        /// but no other use. In a graph only one pass may use it.
        ///
        /// With lazily allocated memory (Vulkan), tile-based GPUs keep it on the chip: the texture takes no memory,
        /// `Stats::memoryless` counts it, and `Stats::reserved` does not. Contents that are stored all the same are kept, in
        /// memory that the driver allocates on demand without being counted. Elsewhere it is an ordinary target, in ordinary
        /// memory.
        const TRANSIENT_ATTACHMENT = 1 << 14;
        /// The memory is shared with other devices, processes or APIs: exported by this one, or imported. Such a resource has
        /// memory of its own, never moves, and is never evicted by tenure. Only beside other uses, and only where the device
        /// has [`Features::SHARED_MEMORY`](super::Features::SHARED_MEMORY).
        const SHARED = 1 << 15;
        /// Texels can be written by the CPU in place, by [`write_texture`](super::MemoryDevice::write_texture). Colour
        /// textures of one sample only, and only where the device has
        /// [`Features::TEXTURE_WRITES`](super::Features::TEXTURE_WRITES). A GPU may have to keep such a texture uncompressed,
        /// so use it only for textures with such writes: a manager adds it to filled textures (`TextureDesc::filled`), where it
        /// costs nothing.
        const CPU_WRITE = 1 << 16;
        /// Beside [`SHARED`](Self::SHARED): the peer has another driver or another GPU, or is not a GPU (a display, a camera, a
        /// video decoder). Vulkan transfers such a resource to the queue family `FOREIGN` and back. Only where the device has
        /// [`Features::SHARED_ACROSS_DRIVERS`](super::Features::SHARED_ACROSS_DRIVERS).
        const SHARED_ACROSS_DRIVERS = 1 << 17;
        /// Queues of all families use the texture without transfers of ownership: on Vulkan it is created with concurrent
        /// sharing, which may keep a GPU from compressing a target. `TextureDesc::read_only` adds it. No effect on buffers,
        /// which all families share, on Direct3D 12, and on devices with one family. Only beside other uses. Textures that are
        /// only sampled and copied need no such flag: see [`is_of_all_queues`](Self::is_of_all_queues).
        const ALL_QUEUES = 1 << 18;
        /// A texture that is only sampled and copied belongs to one queue family at a time, as other textures do: on Vulkan it
        /// is created with exclusive sharing. For devices that store such textures better then. No effect on other resources,
        /// and beside [`ALL_QUEUES`](Self::ALL_QUEUES). Only beside other uses.
        const EXCLUSIVE = 1 << 19;
    }
}

impl Usage {
    /// Uses without GPU writes: resources with only these uses and [`COPY_DST`](Self::COPY_DST) may share one API buffer and
    /// its state.
    pub const READ_ONLY: Self = Self::VERTEX
        .union(Self::INDEX)
        .union(Self::CONSTANT)
        .union(Self::SHADER_READ)
        .union(Self::INDIRECT)
        .union(Self::COPY_SRC);

    /// Usages of textures only.
    pub const TEXTURE_ONLY: Self = Self::RENDER_TARGET
        .union(Self::DEPTH_STENCIL)
        .union(Self::PRESENT)
        .union(Self::INPUT_ATTACHMENT)
        .union(Self::TRANSIENT_ATTACHMENT);

    /// Usages of buffers only.
    pub const BUFFER_ONLY: Self = Self::VERTEX
        .union(Self::INDEX)
        .union(Self::CONSTANT)
        .union(Self::INDIRECT)
        .union(Self::ACCELERATION_STRUCTURE)
        .union(Self::SHADER_BINDING_TABLE);

    /// All flags for sharing. They allow no use on their own.
    pub const SHARING: Self = Self::SHARED.union(Self::SHARED_ACROSS_DRIVERS);

    /// All flags for the queue families that own a texture. They allow no use on their own.
    pub const QUEUES: Self = Self::ALL_QUEUES.union(Self::EXCLUSIVE);

    /// True for a target with no other usages than a transient attachment may have.
    pub(super) const fn is_of_transient_attachment(self) -> bool {
        let targets = Self::RENDER_TARGET.union(Self::DEPTH_STENCIL);
        let others = Self::INPUT_ATTACHMENT.union(Self::TRANSIENT_ATTACHMENT);
        self.intersects(targets) && targets.union(others).contains(self)
    }

    /// True when the GPU only reads, apart from copies to the resource.
    #[inline]
    #[must_use]
    pub const fn is_read_only(self) -> bool {
        Self::READ_ONLY.union(Self::COPY_DST).union(Self::QUEUES).contains(self)
    }

    /// True when queues of all families use a texture of this usage without transfers of ownership: it has
    /// [`ALL_QUEUES`](Self::ALL_QUEUES), or shaders and copies only read it, apart from copies to it, and it is not
    /// [`EXCLUSIVE`](Self::EXCLUSIVE).
    ///
    /// ```
    /// use tenure::Usage;
    /// let sampled = Usage::SHADER_READ | Usage::COPY_DST;
    /// assert!(sampled.is_of_all_queues());
    /// assert!(!(sampled | Usage::EXCLUSIVE).is_of_all_queues());
    /// assert!(!(sampled | Usage::RENDER_TARGET).is_of_all_queues());
    /// ```
    #[inline]
    #[must_use]
    pub const fn is_of_all_queues(self) -> bool {
        const SAMPLED: Usage =
            Usage::SHADER_READ.union(Usage::COPY_SRC).union(Usage::COPY_DST).union(Usage::CPU_WRITE);
        self.contains(Self::ALL_QUEUES) || SAMPLED.contains(self)
    }
}

bitflags! {
    /// The current use of a resource, or of one subresource, at one point of a queue's work.
    ///
    /// Read states may be combined, write states may not. The empty set is [`COMMON`](Self::COMMON): D3D12's `COMMON`; on
    /// Vulkan the state of a resource that was never used, with the layout `UNDEFINED`.
    ///
    /// Shader reads are states by stage, and [`NON_PIXEL_SHADER`](Self::NON_PIXEL_SHADER) and
    /// [`SHADER_READ`](Self::SHADER_READ) are their unions. A barrier waits for the named stages only: draws need not wait for
    /// a dispatch whose results only later dispatches read. D3D12's resource states do not distinguish the stages.
    ///
    /// ```
    /// use tenure::{State, device::QueueKind};
    /// // Written by a dispatch, read by the next one: vertex shaders need not wait.
    /// let (write, read) = (State::COMPUTE_UNORDERED_ACCESS, State::COMPUTE_SHADER);
    /// assert!(State::UNORDERED.contains(write) && State::NON_PIXEL_SHADER.contains(read));
    /// assert!(State::allowed_on(QueueKind::Compute).contains(write | read));
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct State: u32 {
        /// Vertex or constant buffer read.
        const VERTEX_OR_CONSTANT = 1 << 0;
        /// Index buffer read.
        const INDEX = 1 << 1;
        /// Read by pixel (fragment) shaders.
        const PIXEL_SHADER = 1 << 2;
        /// Read by vertex, tessellation and geometry shaders.
        const VERTEX_SHADER = 1 << 3;
        /// Read by mesh and task (amplification) shaders.
        const MESH_SHADER = 1 << 4;
        /// Read by compute shaders.
        const COMPUTE_SHADER = 1 << 5;
        /// Read by the shaders of ray tracing pipelines, by builds of acceleration structures and, for a shader binding table,
        /// by traces of rays.
        const RAY_TRACING_SHADER = 1 << 6;
        /// Indirect argument read.
        const INDIRECT = 1 << 7;
        /// Source of a copy.
        const COPY_SRC = 1 << 8;
        /// Source of a multisample resolve.
        const RESOLVE_SRC = 1 << 9;
        /// Depth-stencil, read only.
        const DEPTH_READ = 1 << 10;
        /// Acceleration structure: D3D12 keeps it in this state permanently.
        const ACCELERATION_STRUCTURE = 1 << 11;
        /// Read and written by shaders of any stage. Write state.
        const UNORDERED_ACCESS = 1 << 12;
        /// Read and written only by mesh and task (amplification) shaders. Write state.
        const MESH_UNORDERED_ACCESS = 1 << 13;
        /// Read and written only by compute shaders, and cleared by `ClearUnorderedAccessView`. Write state.
        const COMPUTE_UNORDERED_ACCESS = 1 << 14;
        /// Read and written only by the shaders of ray tracing pipelines; scratch memory of builds. Write state.
        const RAY_TRACING_UNORDERED_ACCESS = 1 << 15;
        /// Colour render target. Write state.
        const RENDER_TARGET = 1 << 16;
        /// Depth-stencil, written. Write state.
        const DEPTH_WRITE = 1 << 17;
        /// Destination of a copy. Write state.
        const COPY_DST = 1 << 18;
        /// Destination of a multisample resolve. Write state.
        const RESOLVE_DST = 1 << 19;
        /// The state of a swap chain's images between `present` and `acquire`: Direct3D 12's `COMMON`, the layout
        /// `PRESENT_SRC_KHR` on Vulkan. Cannot be combined.
        const PRESENT = 1 << 20;
    }
}

impl State {
    /// No particular use; the state in which resources cross queues.
    pub const COMMON: Self = Self::empty();

    /// Read by every shader stage except pixel shaders, by builds of acceleration structures and, for a shader binding table,
    /// by traces of rays. On compute queues, which have no vertex and mesh shaders, these count as compute shaders.
    pub const NON_PIXEL_SHADER: Self = Self::VERTEX_SHADER
        .union(Self::MESH_SHADER)
        .union(Self::COMPUTE_SHADER)
        .union(Self::RAY_TRACING_SHADER);

    /// Read by any shader stage.
    pub const SHADER_READ: Self = Self::PIXEL_SHADER.union(Self::NON_PIXEL_SHADER);

    /// The states of unordered access, by shaders of any stage and of one kind only. They cannot be combined.
    pub const UNORDERED: Self = Self::UNORDERED_ACCESS
        .union(Self::MESH_UNORDERED_ACCESS)
        .union(Self::COMPUTE_UNORDERED_ACCESS)
        .union(Self::RAY_TRACING_UNORDERED_ACCESS);

    /// The states with GPU writes.
    pub const WRITES: Self = Self::UNORDERED
        .union(Self::RENDER_TARGET)
        .union(Self::DEPTH_WRITE)
        .union(Self::COPY_DST)
        .union(Self::RESOLVE_DST);

    /// True when the GPU may write in this state.
    #[inline]
    #[must_use]
    pub const fn is_write(self) -> bool {
        self.intersects(Self::WRITES)
    }

    /// True for `COMMON`, any combination of read states, `PRESENT`, or exactly one write state.
    #[inline]
    #[must_use]
    pub const fn is_valid(self) -> bool {
        !self.intersects(Self::WRITES.union(Self::PRESENT)) || self.bits().count_ones() == 1
    }

    /// The state in which a queue of that kind discards a texture: as a target if it is one, else for unordered access. `None`
    /// if the queue cannot.
    ///
    /// ```
    /// use tenure::{State, Usage, device::QueueKind};
    /// let usage = Usage::RENDER_TARGET | Usage::UNORDERED_ACCESS;
    /// assert_eq!(State::to_discard(usage, QueueKind::Graphics), Some(State::RENDER_TARGET));
    /// assert_eq!(State::to_discard(usage, QueueKind::Compute), Some(State::UNORDERED_ACCESS));
    /// assert_eq!(State::to_discard(usage, QueueKind::Copy), None);
    /// ```
    #[must_use]
    pub fn to_discard(usage: Usage, queue: super::QueueKind) -> Option<Self> {
        Self::discarded_in(Self::allowed_for(usage), queue)
    }

    /// As [`to_discard`](Self::to_discard), for a texture that may enter these states.
    #[inline]
    #[doc(hidden)]
    #[must_use]
    pub fn discarded_in(allowed: Self, queue: super::QueueKind) -> Option<Self> {
        let states = [Self::RENDER_TARGET, Self::DEPTH_WRITE, Self::UNORDERED_ACCESS];
        let possible = allowed & Self::allowed_on(queue);
        states.into_iter().find(|state| possible.contains(*state))
    }

    /// The states that a queue of the given kind can transition resources into and out of.
    #[inline]
    #[must_use]
    pub const fn allowed_on(queue: super::QueueKind) -> Self {
        match queue {
            super::QueueKind::Graphics => Self::all(),
            super::QueueKind::Compute => Self::VERTEX_OR_CONSTANT
                .union(Self::NON_PIXEL_SHADER)
                .union(Self::INDIRECT)
                .union(Self::COPY_SRC)
                .union(Self::COPY_DST)
                .union(Self::UNORDERED.difference(Self::MESH_UNORDERED_ACCESS))
                .union(Self::ACCELERATION_STRUCTURE)
                .union(Self::PRESENT),
            super::QueueKind::Copy => Self::COPY_SRC.union(Self::COPY_DST),
        }
    }

    /// The states that a resource created with `usage` may enter.
    #[inline]
    #[must_use]
    pub const fn allowed_for(usage: Usage) -> Self {
        let (mut states, mut left) = (Self::COMMON, usage.bits() & Usage::all().bits());
        while left != 0 {
            states = states.union(STATES_OF_USAGES[left.trailing_zeros() as usize]);
            left &= left - 1;
        }
        states
    }
}

/// The states allowed by each bit of a usage, in the order of the bits.
const STATES_OF_USAGES: [State; Usage::all().bits().count_ones() as usize] = {
    const TABLE: [(Usage, State); 14] = [
        (Usage::VERTEX, State::VERTEX_OR_CONSTANT),
        (Usage::CONSTANT, State::VERTEX_OR_CONSTANT),
        (Usage::INDEX, State::INDEX),
        (Usage::SHADER_READ, State::SHADER_READ),
        (Usage::UNORDERED_ACCESS, State::UNORDERED),
        (Usage::INDIRECT, State::INDIRECT),
        (Usage::ACCELERATION_STRUCTURE, State::ACCELERATION_STRUCTURE),
        (Usage::SHADER_BINDING_TABLE, State::NON_PIXEL_SHADER),
        (Usage::COPY_SRC, State::COPY_SRC.union(State::RESOLVE_SRC)),
        (Usage::COPY_DST, State::COPY_DST.union(State::RESOLVE_DST)),
        (Usage::RENDER_TARGET, State::RENDER_TARGET),
        (Usage::DEPTH_STENCIL, State::DEPTH_READ.union(State::DEPTH_WRITE)),
        (Usage::PRESENT, State::PRESENT),
        (Usage::INPUT_ATTACHMENT, State::PIXEL_SHADER),
    ];
    let bits = Usage::all().bits();
    assert!(bits & (bits + 1) == 0, "the bits of a usage leave no gap");
    let mut states = [State::COMMON; Usage::all().bits().count_ones() as usize];
    let mut row = 0;
    while row < TABLE.len() {
        states[TABLE[row].0.bits().trailing_zeros() as usize] = TABLE[row].1;
        row += 1;
    }
    states
};

impl Usage {
    /// Default residency priority of a resource of this usage, used for committed resources.
    ///
    /// ```
    /// use tenure::Usage;
    /// use tenure::device::Priority;
    /// assert_eq!((Usage::RENDER_TARGET | Usage::SHADER_READ).priority(), Priority::High);
    /// assert_eq!(Usage::VERTEX.priority(), Priority::Normal);
    /// ```
    #[inline]
    #[must_use]
    pub const fn priority(self) -> super::Priority {
        if self.intersects(Self::TEXTURE_ONLY.union(Self::UNORDERED_ACCESS)) {
            super::Priority::High
        } else {
            super::Priority::Normal
        }
    }
}

/// `VERTEX | COPY_DST`; `none` for the empty set.
impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() { f.write_str("none") } else { bitflags::parser::to_writer(self, f) }
    }
}

/// `PIXEL_SHADER | COPY_SRC`; `COMMON` for the empty set. Unions have their names: `NON_PIXEL_SHADER`.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("COMMON");
        }
        let (has_all, mut separator) = (self.contains(Self::NON_PIXEL_SHADER), "");
        for bit in self.iter() {
            let name = match bit {
                // The first of them stands for all.
                Self::VERTEX_SHADER if has_all => "NON_PIXEL_SHADER",
                _ if has_all && Self::NON_PIXEL_SHADER.contains(bit) => continue,
                _ => bit.iter_names().next().map_or("", |(name, _)| name),
            };
            write!(f, "{separator}{name}")?;
            separator = " | ";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QueueKind;

    #[test]
    fn unions_of_states_are_shown_by_name() {
        let graphics = State::VERTEX_SHADER | State::MESH_SHADER;
        for (state, text) in [
            (State::COMMON, "COMMON"),
            (State::SHADER_READ, "PIXEL_SHADER | NON_PIXEL_SHADER"),
            (State::NON_PIXEL_SHADER | State::COPY_SRC, "NON_PIXEL_SHADER | COPY_SRC"),
            (State::PIXEL_SHADER | graphics, "PIXEL_SHADER | VERTEX_SHADER | MESH_SHADER"),
            (State::COMPUTE_UNORDERED_ACCESS, "COMPUTE_UNORDERED_ACCESS"),
        ] {
            assert_eq!(state.to_string(), text);
        }
    }

    /// Each shader read is a part of a union, each unordered access a write that stands alone.
    #[test]
    fn stages_have_states_of_their_own() {
        assert_eq!(State::NON_PIXEL_SHADER.iter().count(), 4);
        assert_eq!(State::allowed_for(Usage::SHADER_READ), State::SHADER_READ);
        assert_eq!(State::allowed_for(Usage::UNORDERED_ACCESS), State::UNORDERED);
        for state in State::UNORDERED.iter() {
            assert!(state.is_write() && state.is_valid(), "{state}");
            assert!(!(state | State::COMPUTE_SHADER).is_valid(), "{state}");
            assert!(State::allowed_on(QueueKind::Graphics).contains(state), "{state}");
            let is_of_compute = State::allowed_on(QueueKind::Compute).contains(state);
            assert_eq!(is_of_compute, state != State::MESH_UNORDERED_ACCESS);
        }
        assert!(State::NON_PIXEL_SHADER.is_valid() && !State::UNORDERED.is_valid());
    }
}
