//! Meshes in buffers of the small-buffer pool.

use glam::Vec3;
use tenure::device::Device;
use tenure::{Buffer, BufferDesc, Gpu, Recording, State, Subresource, Usage};

use super::Draw;
use crate::mesh::{ChunkMesh, VERTEX_STRIDE};
use crate::{Camera, Result};

/// Vertices and indices are read from one buffer.
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
    /// A range of a buffer that it shares with other meshes; no API call, most of the time.
    pub(super) fn new(gpu: &Gpu<D>, mesh: &ChunkMesh, name: &'static str) -> Result<Self> {
        let size = mesh.bytes().len() as u64;
        // Its offset is a multiple of the stride: that is what makes the base vertex whole.
        let desc = BufferDesc::new(size, Usage::VERTEX | Usage::INDEX).stride(VERTEX_STRIDE).name(name);
        let buffer = gpu.create_buffer(&desc)?;
        let first_vertex =
            buffer.first_element(VERTEX_STRIDE).ok_or("the offset is a multiple of the stride")?;
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

    /// The draw call, which the recording now knows of.
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
