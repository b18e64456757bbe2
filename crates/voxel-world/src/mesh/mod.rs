//! The meshes of chunks.

mod greedy;
mod vertex;
mod volume;

pub use vertex::{VERTEX_STRIDE, Vertex};

use glam::Vec3;

use crate::terrain::{CHUNK, Terrain};
use greedy::Quad;
use volume::Volume;

/// Vertices and indices of one chunk, and their bounding box.
#[derive(Clone, Debug)]
pub struct ChunkMesh {
    bytes: Vec<u8>,
    vertex_bytes: usize,
    bounds: [Vec3; 2],
}

impl ChunkMesh {
    /// The mesh of one chunk of the landscape.
    #[must_use]
    pub fn new(terrain: &Terrain, chunk: usize) -> Self {
        let corner = Terrain::corner(chunk);
        let volume = Volume::new(terrain, corner);
        let quads = greedy::quads(&volume, |[x, y, z]| terrain.is_sunny(x, y, z));
        let vertices: Vec<Vertex> = quads.iter().flat_map(|quad| quad.vertices(terrain)).collect();
        let [low, high] = volume.heights();
        let far = [corner[0] + CHUNK as i32, high, corner[1] + CHUNK as i32];
        Self::from_vertices(&vertices, [[corner[0], low, corner[1]], far])
    }

    /// The mesh of the sky: a box seen from inside.
    #[must_use]
    pub fn sky(around: Vec3) -> Self {
        const HALF: i32 = 4000;
        let low = around.as_ivec3().to_array().map(|centre| centre - HALF);
        let inside_out = Quad::cube(low, 2 * HALF);
        let vertices: Vec<Vertex> = inside_out.iter().flat_map(Quad::sky_vertices).collect();
        Self::from_vertices(&vertices, [low, low.map(|side| side + 2 * HALF)])
    }

    fn from_vertices(vertices: &[Vertex], bounds: [[i32; 3]; 2]) -> Self {
        let mut bytes = bytemuck::cast_slice(vertices).to_vec();
        let vertex_bytes = bytes.len();
        for first in (0..vertices.len()).step_by(4) {
            // The four corners of a quad are in winding order.
            for corner in [0, 1, 2, 0, 2, 3] {
                bytes.extend_from_slice(&((first + corner) as u16).to_le_bytes());
            }
        }
        let bounds = bounds.map(|corner| Vec3::from_array(corner.map(|side| side as f32)));
        Self { bytes, vertex_bytes, bounds }
    }

    /// The vertices, then the indices.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The size of the vertices in bytes.
    #[must_use]
    pub const fn vertex_bytes(&self) -> usize {
        self.vertex_bytes
    }

    /// The number of indices, of 16 bits each.
    #[must_use]
    pub const fn index_count(&self) -> usize {
        (self.bytes.len() - self.vertex_bytes) / 2
    }

    /// The lowest and the highest corner of the bounding box.
    #[must_use]
    pub const fn bounds(&self) -> [Vec3; 2] {
        self.bounds
    }
}
