//! Recording of draws on one API.

use tenure::device::{Device, QueueDevice};
use tenure::{
    BufferViewDesc, Commands, Constant, Error, Scratch, View,
    descriptor::{Descriptors, Set},
};

use voxel_world::Result;

use crate::scene::Scene;

/// Draws that share a table.
pub(crate) const DRAWS_A_TABLE: usize = 10;

/// Constants of one draw: its number, a value to write, and typical data of a real draw.
pub(crate) type Constants = [u32; 16];

/// The dynamic descriptors of some draws, in a heap or a set.
#[derive(Clone, Copy)]
pub(crate) enum Table<'r, D: Device> {
    /// A range of a heap.
    Range(Descriptors<'r, D>),
    /// A set.
    Set(Set<'r, D>),
}

/// Constants and descriptors of some draws.
pub(crate) struct Prepared<'r, D: Device> {
    pub(crate) table: Table<'r, D>,
    pub(crate) constants: [Constant<'r, D>; DRAWS_A_TABLE],
    /// The set that binds each of the constants, if the API uses sets.
    pub(crate) bound: [Option<Set<'r, D>>; DRAWS_A_TABLE],
}

impl<'r, D: Device> Prepared<'r, D> {
    /// Pushes the constants of some draws.
    pub(crate) fn push(
        scratch: Scratch<'r, D>,
        constants: &[Constants; DRAWS_A_TABLE],
    ) -> std::result::Result<[Constant<'r, D>; DRAWS_A_TABLE], Error> {
        let first = scratch.constants(&constants[0])?;
        let mut pushed = [first; DRAWS_A_TABLE];
        for (pushed, constants) in pushed.iter_mut().zip(constants).skip(1) {
            *pushed = scratch.constants(constants)?;
        }
        Ok(pushed)
    }
}

/// Records draws. Each writes six words: the first two of its constants, and the first of each of the four
/// buffers in its table.
pub(crate) trait Painter: Sync + Sized {
    /// Its device.
    type Device: Device;

    /// The view of a mesh in its shader.
    fn mesh_view() -> BufferViewDesc;

    /// Creates the objects shared by all draws.
    fn new(scene: &Scene<Self::Device>) -> Result<Self>;

    /// Called before the first draw of a recording.
    fn begin(
        &self,
        scene: &Scene<Self::Device>,
        commands: &mut Commands<Self::Device>,
    ) -> std::result::Result<(), Error>;

    /// A dynamic table of four buffers, and the constants of the draws that share it.
    fn prepare<'r>(
        &self,
        scratch: Scratch<'r, Self::Device>,
        views: [&View<Self::Device>; 4],
        constants: &[Constants; DRAWS_A_TABLE],
    ) -> std::result::Result<Prepared<'r, Self::Device>, Error>;

    /// Records the draws from `first_draw` on.
    fn draw(
        &self,
        scene: &Scene<Self::Device>,
        list: &<Self::Device as QueueDevice>::List,
        first_draw: usize,
        prepared: &Prepared<'_, Self::Device>,
    );
}
