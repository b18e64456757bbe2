//! The vertices of meshes.

use super::greedy::Quad;
use crate::terrain::Terrain;
use crate::tiles::SKY;

/// The size of a vertex in bytes.
pub const VERTEX_STRIDE: u32 = 20;

/// A vertex. Its fields are the shader's inputs 0 to 3, in order.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Vertex {
    /// x, y and z in blocks, and the layer of the texture.
    pub place: [i16; 4],
    /// The face's normal; 127 is 1.0.
    pub normal: [i8; 4],
    /// Texture coordinates in blocks.
    pub uv: [u16; 2],
    /// A colour to multiply the texture with; 255 is 1.0. Alpha is the share of sunlight that reaches the face.
    pub colour: [u8; 4],
}

const _: () = assert!(size_of::<Vertex>() == VERTEX_STRIDE as usize);

impl Quad {
    /// Its four corners, clockwise seen from outside.
    pub(super) fn vertices(&self, terrain: &Terrain) -> [Vertex; 4] {
        let up = self.normal[1];
        let layer = self.block.tile(up) as i16;
        let sun = if self.is_sunny { 255 } else { 0 };
        self.corners().map(|(place, uv)| {
            let [x, _, z] = place;
            let [red, green, blue] = if self.block.is_tinted() { terrain.tint(x, z) } else { [255; 3] };
            self.vertex(place, uv, layer, [red, green, blue, sun])
        })
    }

    /// Its four corners, for the sky, which has no texture.
    pub(super) fn sky_vertices(&self) -> [Vertex; 4] {
        self.corners().map(|(place, _)| self.vertex(place, [0, 0], SKY, [255; 4]))
    }

    fn vertex(&self, place: [i32; 3], uv: [i32; 2], layer: i16, colour: [u8; 4]) -> Vertex {
        let [x, y, z] = place.map(|side| side as i16);
        let [nx, ny, nz] = self.normal.map(|side| 127 * side as i8);
        let uv = uv.map(|side| side as u16);
        Vertex { place: [x, y, z, layer], normal: [nx, ny, nz, 0], uv, colour }
    }
}
