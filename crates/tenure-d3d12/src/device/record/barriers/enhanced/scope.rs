//! The pipeline stages and kinds of access of a use.

use tenure_core::device::{QueueKind, State};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_BARRIER_ACCESS, D3D12_BARRIER_ACCESS_COMMON, D3D12_BARRIER_ACCESS_CONSTANT_BUFFER,
    D3D12_BARRIER_ACCESS_COPY_DEST, D3D12_BARRIER_ACCESS_COPY_SOURCE,
    D3D12_BARRIER_ACCESS_DEPTH_STENCIL_READ, D3D12_BARRIER_ACCESS_DEPTH_STENCIL_WRITE,
    D3D12_BARRIER_ACCESS_INDEX_BUFFER, D3D12_BARRIER_ACCESS_INDIRECT_ARGUMENT,
    D3D12_BARRIER_ACCESS_NO_ACCESS, D3D12_BARRIER_ACCESS_RAYTRACING_ACCELERATION_STRUCTURE_READ,
    D3D12_BARRIER_ACCESS_RAYTRACING_ACCELERATION_STRUCTURE_WRITE, D3D12_BARRIER_ACCESS_RENDER_TARGET,
    D3D12_BARRIER_ACCESS_RESOLVE_DEST, D3D12_BARRIER_ACCESS_RESOLVE_SOURCE,
    D3D12_BARRIER_ACCESS_SHADER_RESOURCE, D3D12_BARRIER_ACCESS_UNORDERED_ACCESS,
    D3D12_BARRIER_ACCESS_VERTEX_BUFFER, D3D12_BARRIER_SYNC, D3D12_BARRIER_SYNC_ALL,
    D3D12_BARRIER_SYNC_ALL_SHADING, D3D12_BARRIER_SYNC_BUILD_RAYTRACING_ACCELERATION_STRUCTURE,
    D3D12_BARRIER_SYNC_CLEAR_UNORDERED_ACCESS_VIEW, D3D12_BARRIER_SYNC_COMPUTE_SHADING,
    D3D12_BARRIER_SYNC_COPY, D3D12_BARRIER_SYNC_COPY_RAYTRACING_ACCELERATION_STRUCTURE,
    D3D12_BARRIER_SYNC_DEPTH_STENCIL,
    D3D12_BARRIER_SYNC_EMIT_RAYTRACING_ACCELERATION_STRUCTURE_POSTBUILD_INFO,
    D3D12_BARRIER_SYNC_EXECUTE_INDIRECT, D3D12_BARRIER_SYNC_INDEX_INPUT, D3D12_BARRIER_SYNC_NONE,
    D3D12_BARRIER_SYNC_PIXEL_SHADING, D3D12_BARRIER_SYNC_RAYTRACING, D3D12_BARRIER_SYNC_RENDER_TARGET,
    D3D12_BARRIER_SYNC_RESOLVE, D3D12_BARRIER_SYNC_VERTEX_SHADING,
};

/// The scope of a use: pipeline stages and kinds of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scope {
    pub(super) sync: D3D12_BARRIER_SYNC,
    pub(super) access: D3D12_BARRIER_ACCESS,
}

/// No use in the same submission.
pub(super) const NO_USE: Scope =
    Scope { sync: D3D12_BARRIER_SYNC_NONE, access: D3D12_BARRIER_ACCESS_NO_ACCESS };

/// The queue a barrier is recorded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stage {
    pub(super) kind: QueueKind,
    /// The device has ray tracing, whose shaders are a separate stage.
    pub(super) is_traced: bool,
}

impl Stage {
    /// Stages and accesses of one state. A union of states has the union of both: a barrier may
    /// therefore come after one that led to part of its `before`.
    pub(super) fn of(self, state: State) -> Scope {
        let (mut sync, mut access) = (D3D12_BARRIER_SYNC_NONE, D3D12_BARRIER_ACCESS_COMMON);
        let mut left = state.bits();
        while left != 0 {
            let one = self.of_one(State::from_bits_retain(left & left.wrapping_neg()));
            (sync, access) = (sync | one.0, access | one.1);
            left &= left - 1;
        }
        if state.is_empty() { NO_USE } else { Scope { sync, access } }
    }

    /// Stages and accesses of one bit.
    fn of_one(self, bit: State) -> (D3D12_BARRIER_SYNC, D3D12_BARRIER_ACCESS) {
        use D3D12_BARRIER_ACCESS_SHADER_RESOURCE as READ;
        use D3D12_BARRIER_ACCESS_UNORDERED_ACCESS as UNORDERED;
        use D3D12_BARRIER_SYNC_CLEAR_UNORDERED_ACCESS_VIEW as CLEAR_UNORDERED;
        use D3D12_BARRIER_SYNC_COMPUTE_SHADING as COMPUTE;
        let is_graphics = self.kind == QueueKind::Graphics;
        // Builds and copies of acceleration structures, and queries of their sizes.
        let structure_work = D3D12_BARRIER_SYNC_BUILD_RAYTRACING_ACCELERATION_STRUCTURE
            | D3D12_BARRIER_SYNC_COPY_RAYTRACING_ACCELERATION_STRUCTURE
            | D3D12_BARRIER_SYNC_EMIT_RAYTRACING_ACCELERATION_STRUCTURE_POSTBUILD_INFO;
        // They read their inputs as shaders do, and write scratch memory, serialized structures and
        // sizes as unordered accesses.
        let (traced, traced_work) = match self.is_traced {
            true => (D3D12_BARRIER_SYNC_RAYTRACING, structure_work),
            false => (D3D12_BARRIER_SYNC_NONE, D3D12_BARRIER_SYNC_NONE),
        };
        let shaders = D3D12_BARRIER_SYNC_ALL_SHADING | traced;
        // A barrier without stages would order nothing: stages that the queue or the device lacks count as compute.
        // Vertex shading includes mesh and amplification shaders.
        let vertex = if is_graphics { D3D12_BARRIER_SYNC_VERTEX_SHADING } else { COMPUTE };
        let rays = if self.is_traced { traced | traced_work } else { COMPUTE };
        match bit {
            State::VERTEX_OR_CONSTANT if is_graphics => {
                (shaders, D3D12_BARRIER_ACCESS_CONSTANT_BUFFER | D3D12_BARRIER_ACCESS_VERTEX_BUFFER)
            }
            State::VERTEX_OR_CONSTANT => (shaders, D3D12_BARRIER_ACCESS_CONSTANT_BUFFER),
            State::INDEX => (D3D12_BARRIER_SYNC_INDEX_INPUT, D3D12_BARRIER_ACCESS_INDEX_BUFFER),
            State::PIXEL_SHADER => (D3D12_BARRIER_SYNC_PIXEL_SHADING, READ),
            State::VERTEX_SHADER | State::MESH_SHADER => (vertex, READ),
            State::COMPUTE_SHADER => (COMPUTE, READ),
            State::RAY_TRACING_SHADER => (rays, READ),
            State::INDIRECT => (D3D12_BARRIER_SYNC_EXECUTE_INDIRECT, D3D12_BARRIER_ACCESS_INDIRECT_ARGUMENT),
            State::COPY_SRC => (D3D12_BARRIER_SYNC_COPY, D3D12_BARRIER_ACCESS_COPY_SOURCE),
            State::RESOLVE_SRC => (D3D12_BARRIER_SYNC_RESOLVE, D3D12_BARRIER_ACCESS_RESOLVE_SOURCE),
            State::DEPTH_READ => (D3D12_BARRIER_SYNC_DEPTH_STENCIL, D3D12_BARRIER_ACCESS_DEPTH_STENCIL_READ),
            State::ACCELERATION_STRUCTURE => (
                shaders | structure_work,
                D3D12_BARRIER_ACCESS_RAYTRACING_ACCELERATION_STRUCTURE_READ
                    | D3D12_BARRIER_ACCESS_RAYTRACING_ACCELERATION_STRUCTURE_WRITE,
            ),
            State::UNORDERED_ACCESS => (shaders | traced_work | CLEAR_UNORDERED, UNORDERED),
            State::MESH_UNORDERED_ACCESS => (vertex, UNORDERED),
            State::COMPUTE_UNORDERED_ACCESS => (COMPUTE | CLEAR_UNORDERED, UNORDERED),
            State::RAY_TRACING_UNORDERED_ACCESS => (rays, UNORDERED),
            State::RENDER_TARGET => (D3D12_BARRIER_SYNC_RENDER_TARGET, D3D12_BARRIER_ACCESS_RENDER_TARGET),
            State::DEPTH_WRITE => {
                (D3D12_BARRIER_SYNC_DEPTH_STENCIL, D3D12_BARRIER_ACCESS_DEPTH_STENCIL_WRITE)
            }
            State::COPY_DST => (D3D12_BARRIER_SYNC_COPY, D3D12_BARRIER_ACCESS_COPY_DEST),
            State::RESOLVE_DST => (D3D12_BARRIER_SYNC_RESOLVE, D3D12_BARRIER_ACCESS_RESOLVE_DEST),
            // `PRESENT`: the layout serves copies; presentation itself comes after the submission.
            _ => (D3D12_BARRIER_SYNC_ALL, D3D12_BARRIER_ACCESS_COPY_SOURCE),
        }
    }

    /// Every write that the queue can make, at any stage. "Common" as the access before means the same, but the
    /// debug layer warns of it.
    pub(super) fn any_write(self) -> Scope {
        let writes = State::WRITES | State::ACCELERATION_STRUCTURE;
        let traced = if self.is_traced { writes } else { State::WRITES };
        let Scope { access, .. } = self.of(traced & State::allowed_on(self.kind));
        Scope { sync: D3D12_BARRIER_SYNC_ALL, access }
    }
}
