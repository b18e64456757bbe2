//! Meshes in buffers of the small-buffer pool.

use glam::Vec3;
use tenure::device::Device;
use tenure::{Buffer, BufferDesc, Gpu, Recording, State, Subresource, Usage};

use super::Draw;
use crate::mesh::{ChunkMesh, VERTEX_STRIDE};
use crate::{Camera, Result};

/// The state of a mesh for drawing: vertices and indices are in one buffer.
const DRAWN: State = State::VERTEX_OR_CONSTANT.union(State::INDEX);

/// One mesh: a buffer with vertices, then indices.
pub(super) struct MeshBuffer<D: Device> {
    buffer: Buffer<D>,
    first_index: u32,
    index_count: u32,
    base_vertex: i32,
    bounds: [Vec3; 2],
}

impl<D: Device> MeshBuffer<D> {
    /// Creates the buffer of a mesh. It is a range of an API buffer that many meshes share, so most calls make no
    /// API call.
    pub(super) fn new(gpu: &Gpu<D>, mesh: &ChunkMesh, name: &'static str) -> Result<Self> {
        let size = mesh.bytes().len() as u64;
        // The stride makes the buffer's offset a multiple of it, so that the base vertex is a whole number.
        let desc = BufferDesc::new(size, Usage::VERTEX | Usage::INDEX).stride(VERTEX_STRIDE).name(name);
        let buffer = gpu.create_buffer(&desc)?;
        let first_vertex =
            buffer.first_element(VERTEX_STRIDE).ok_or("the offset is not a multiple of the stride")?;
        let index_offset = buffer.offset() + mesh.vertex_bytes() as u64;
        Ok(Self {
            first_index: u32::try_from(index_offset / 2)?,
            index_count: u32::try_from(mesh.index_count())?,
            base_vertex: i32::try_from(first_vertex)?,
            bounds: mesh.bounds(),
            buffer,
        })
    }

    pub(super) const fn buffer(&self) -> &Buffer<D> {
        &self.buffer
    }

    pub(super) fn is_visible(&self, camera: &Camera) -> bool {
        camera.may_see(self.bounds)
    }

    /// The draw call. The recording tracks the buffer's state and keeps it alive.
    pub(super) fn draw<'a>(&'a self, recording: &mut Recording<D>) -> Result<Draw<'a, D>> {
        recording.use_resource(&self.buffer, Subresource::All, DRAWN)?;
        Ok(Draw {
            buffer: self.buffer.raw(),
            first_index: self.first_index,
            index_count: self.index_count,
            base_vertex: self.base_vertex,
        })
    }
}
