//! Persistent resources: twenty buffers that change every frame, and one that the draws write.

use tenure::device::Device;
use tenure::{Buffer, BufferDesc, BufferViewDesc, Gpu, Usage, View};
use voxel_world::Result;

/// Threads that record.
pub(crate) const THREADS: usize = 4;
/// Draws of a frame.
pub(crate) const DRAWS: usize = 2000;
/// Dynamic tables of a frame.
pub(crate) const TABLES: usize = 200;
/// Buffers with an upload in each frame.
pub(crate) const MESHES: usize = 20;
/// Bytes of each of them.
pub(crate) const MESH_BYTES: usize = 1_000_000;
/// Words that a draw writes.
pub(crate) const WORDS: usize = 6;

/// Resources and views.
pub(crate) struct Scene<D: Device> {
    pub(crate) meshes: Vec<Buffer<D>>,
    pub(crate) views: Vec<View<D>>,
    pub(crate) output: Buffer<D>,
    pub(crate) output_view: View<D>,
    pub(crate) gpu: Gpu<D>,
}

impl<D: Device> Scene<D> {
    /// Creates them, with views of the meshes described by `mesh_view`.
    pub(crate) fn new(gpu: Gpu<D>, mesh_view: BufferViewDesc) -> Result<Self> {
        let desc = BufferDesc::new(MESH_BYTES as u64, Usage::SHADER_READ).alignment(256).name("mesh");
        let mesh_view = mesh_view.name("mesh");
        let meshes =
            (0..MESHES).map(|_| gpu.create_buffer(&desc)).collect::<std::result::Result<Vec<_>, _>>()?;
        let view = |mesh| gpu.create_buffer_view(mesh, &mesh_view);
        let views = meshes.iter().map(view).collect::<std::result::Result<Vec<_>, _>>()?;
        let bytes = (DRAWS * WORDS * 4) as u64;
        let desc = BufferDesc::new(bytes, Usage::UNORDERED_ACCESS | Usage::COPY_SRC).name("output");
        let output = gpu.create_buffer(&desc)?;
        let output_view = gpu.create_buffer_view(&output, &BufferViewDesc::raw_writable().name("output"))?;
        Ok(Self { meshes, views, output, output_view, gpu })
    }
}

impl<D: Device> Scene<D> {
    /// Drops everything except the manager.
    pub(crate) fn into_gpu(self) -> Gpu<D> {
        self.gpu
    }
}

/// The first word of a mesh in a frame.
pub(crate) fn mesh_word(frame: u64, mesh: usize) -> u32 {
    (frame as u32).wrapping_mul(0x9E37_79B9) ^ (mesh as u32).wrapping_mul(0x85EB_CA6B)
}

/// The meshes of a table.
pub(crate) fn table_meshes(table: usize) -> [usize; 4] {
    [0, 1, 2, 3].map(|slot| (table * 7 + slot * 5) % MESHES)
}

/// The second word of a draw's constants.
pub(crate) fn draw_word(frame: u64, draw: usize) -> u32 {
    (frame as u32).rotate_left(16) ^ (draw as u32).wrapping_mul(0xC2B2_AE35)
}

/// The words that the draws of a frame write.
pub(crate) fn expected(frame: u64) -> Vec<u32> {
    let words = (0..DRAWS).flat_map(|draw| {
        let [a, b, c, d] = table_meshes(draw * TABLES / DRAWS).map(|mesh| mesh_word(frame, mesh));
        [draw as u32, draw_word(frame, draw), a, b, c, d]
    });
    words.collect()
}
