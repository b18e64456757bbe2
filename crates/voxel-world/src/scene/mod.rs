//! The resources of the world, and the frames that draw it.

mod live;
mod meshes;
mod perform;
mod show;
mod staging;
mod targets;

use tenure::device::Device;
use tenure::{Buffer, Gpu, Texture};

pub use crate::camera::CONSTANTS_SIZE;
pub use perform::perform;
pub(crate) use perform::{compare, give_back, load};
pub use show::{FrameLog, Show};
pub use targets::{SAMPLES, Targets};

use crate::Result;

/// One draw call: one mesh, with indices of 16 bits.
pub struct Draw<'a, D: Device> {
    /// The API buffer that contains the mesh. Other meshes may be in the same buffer, so bind it from its
    /// beginning, as vertex buffer and as index buffer.
    pub buffer: &'a D::Resource,
    /// The mesh's first index in the API buffer.
    pub first_index: u32,
    /// The number of indices.
    pub index_count: u32,
    /// The number that is added to each index.
    pub base_vertex: i32,
}

/// The draw calls of one frame, and their resources, which are in the states that drawing needs.
pub struct Pass<'a, D: Device> {
    /// The frame's number modulo the number of frames in flight. The GPU has finished the previous frame with
    /// this slot, so the painter can reuse the objects of that frame.
    pub slot: usize,
    /// The render targets.
    pub targets: &'a Targets<D>,
    /// The constants of the shader, from [`Buffer::offset`] on.
    pub constants: &'a Buffer<D>,
    /// The draw calls.
    pub draws: &'a [Draw<'a, D>],
}

/// The commands that an example records with its own API.
pub trait Painter<D: Device> {
    /// Clears the colour to transparent black and the depth to 0, and draws.
    ///
    /// # Errors
    /// The errors of the driver.
    fn draw(&mut self, list: &D::List, pass: &Pass<'_, D>) -> Result<()>;

    /// Resolves the samples of each pixel.
    ///
    /// # Errors
    /// The errors of the driver.
    fn resolve(&mut self, list: &D::List, samples: &Texture<D>, pixels: &Texture<D>) -> Result<()>;

    /// Copies the picture to an image of a swap chain, of the same size. On Direct3D 12 its format is the
    /// linear twin of the picture's.
    ///
    /// # Errors
    /// The errors of the driver.
    fn copy(&mut self, list: &D::List, pixels: &Texture<D>, image: &Texture<D>) -> Result<()>;

    /// Draws to other targets from now on. The GPU may still use the old ones.
    ///
    /// # Errors
    /// The errors of the driver.
    fn resize(&mut self, gpu: &Gpu<D>, targets: &Targets<D>) -> Result<()>;
}
