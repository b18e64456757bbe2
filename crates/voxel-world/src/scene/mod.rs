//! The world in tenure's memory, and the frames that draw it.

mod meshes;
mod perform;
mod show;
mod staging;
mod targets;

use tenure::device::Device;
use tenure::{Buffer, Texture};

pub use crate::camera::CONSTANTS_SIZE;
pub use perform::perform;
pub use show::{FrameLog, Show};
pub use targets::{SAMPLES, Targets};

use crate::Result;

/// One draw call: 16-bit indices of one mesh.
pub struct Draw<'a, D: Device> {
    /// The API buffer that holds the mesh, perhaps with others: bind it from its beginning, as
    /// vertices and as indices.
    pub buffer: &'a D::Resource,
    /// The mesh's first index in it.
    pub first_index: u32,
    /// How many indices.
    pub index_count: u32,
    /// What is added to each index.
    pub base_vertex: i32,
}

/// All that is drawn in one frame. Every resource is in the state that drawing needs.
pub struct Pass<'a, D: Device> {
    /// The frame's number modulo the frames in flight: what the frame of this number used before is
    /// free again.
    pub slot: usize,
    /// What is drawn to.
    pub targets: &'a Targets<D>,
    /// The constants of the shader, from [`Buffer::offset`] on.
    pub constants: &'a Buffer<D>,
    /// The draw calls.
    pub draws: &'a [Draw<'a, D>],
}

/// What an API does itself.
pub trait Painter<D: Device> {
    /// Clears the targets, colour to nothing and depth to 0, and draws.
    ///
    /// # Errors
    /// As the driver reports.
    fn draw(&mut self, list: &D::List, pass: &Pass<'_, D>) -> Result<()>;

    /// Makes one pixel of the samples of each.
    ///
    /// # Errors
    /// As the driver reports.
    fn resolve(&mut self, list: &D::List, samples: &Texture<D>, pixels: &Texture<D>) -> Result<()>;
}
