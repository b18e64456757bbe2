//! The world on one device: it is loaded over several frames, then drawn, and edited between the frames.

use std::num::NonZero;
use std::thread;
use std::time::Duration;

use tenure::device::Device;
use tenure::{
    BufferDesc, Format, Gpu, MemoryUse, Queue, Recording, State, Subresource, Texture, TextureDesc, Usage,
    stats::ShutdownReport,
};

use super::meshes::MeshBuffer;
use super::staging::{fill_buffers, fill_tiles};
use super::targets::Targets;
use super::{Draw, Painter, Pass};
use crate::camera::CONSTANTS_SIZE;
use crate::mesh::ChunkMesh;
use crate::tiles::Tiles;
use crate::{Camera, Picture, Result, Terrain};

/// The number of meshes that one frame loads.
const BATCH: usize = 250;

/// The world on one device: its landscape, its resources and its camera.
pub struct Show<D: Device> {
    /// The manager.
    pub gpu: Gpu<D>,
    /// The texture of all faces: `Rgba8Srgb`, an array with mips.
    pub tiles: Texture<D>,
    /// The render targets.
    pub targets: Targets<D>,
    terrain: Terrain,
    pub(super) camera: Camera,
    /// The mesh of the sky, then one mesh for each chunk.
    meshes: Vec<MeshBuffer<D>>,
    cull: bool,
}

/// Figures of one frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameLog {
    /// The number of meshes that were replaced.
    pub remeshed: usize,
    /// Bytes of dropped buffers that the GPU may still use.
    pub waiting_bytes: u64,
    /// The number of draw calls.
    pub draws: usize,
}

impl<D: Device> Show<D> {
    /// Creates the render targets, in this format, and loads the world, 250 meshes in each frame.
    ///
    /// # Errors
    /// The errors of tenure.
    pub fn load(gpu: Gpu<D>, terrain: Terrain, size: [u32; 2], format: Format, cull: bool) -> Result<Self> {
        let targets = Targets::new(&gpu, size, format)?;
        let camera = Camera::overlook(size[0] as f32 / size[1] as f32);
        let desc = TextureDesc::d2(Tiles::SIDE, Tiles::SIDE, Format::Rgba8Srgb, Usage::SHADER_READ)
            .layers(Tiles::LAYERS)
            .mips(Tiles::MIPS);
        let tiles = gpu.create_texture(&desc.name("tiles"))?;
        let mut show = Self { gpu, tiles, targets, terrain, camera, meshes: Vec::new(), cull };
        show.load_tiles_and_sky()?;
        show.load_chunks()?;
        show.wait()?;
        // Later frames upload far less: the empty blocks of staging memory go back to the driver now.
        show.gpu.trim();
        Ok(show)
    }

    fn load_tiles_and_sky(&mut self) -> Result<()> {
        let frame = self.gpu.begin_frame()?;
        let mut recording = frame.record(Queue::Graphics, "tiles and sky")?;
        fill_tiles(&self.gpu, &mut recording, &Tiles::new(), &self.tiles)?;
        let mut sky = upload(&self.gpu, &mut recording, &[ChunkMesh::sky(self.camera.eye)], "sky")?;
        frame.submit(recording)?;
        frame.end()?;
        self.meshes.append(&mut sky);
        Ok(())
    }

    fn load_chunks(&mut self) -> Result<()> {
        let chunks: Vec<usize> = (0..self.terrain.chunks()).collect();
        for batch in chunks.chunks(BATCH) {
            let meshes = self.mesh(batch);
            let frame = self.gpu.begin_frame()?;
            let mut recording = frame.record(Queue::Graphics, "load")?;
            self.meshes.append(&mut upload(&self.gpu, &mut recording, &meshes, "chunk")?);
            frame.submit(recording)?;
            frame.end()?;
        }
        Ok(())
    }

    /// Makes the meshes of chunks, with a thread for each processor core.
    fn mesh(&self, chunks: &[usize]) -> Vec<ChunkMesh> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let mut meshes: Vec<Option<ChunkMesh>> = vec![None; chunks.len()];
        let share = chunks.len().div_ceil(threads).max(1);
        thread::scope(|scope| {
            for (chunks, meshes) in chunks.chunks(share).zip(meshes.chunks_mut(share)) {
                scope.spawn(|| {
                    for (chunk, mesh) in chunks.iter().zip(meshes) {
                        *mesh = Some(ChunkMesh::new(&self.terrain, *chunk));
                    }
                });
            }
        });
        meshes.into_iter().flatten().collect()
    }

    /// The number of edits; one frame is drawn after each.
    #[must_use]
    pub fn edits(&self) -> usize {
        self.terrain.edits()
    }

    /// Edits the world and draws a frame. The GPU may still read the buffers of the replaced meshes.
    ///
    /// # Errors
    /// The errors of tenure and the painter.
    pub fn edit_and_draw(&mut self, edit: usize, painter: &mut impl Painter<D>) -> Result<FrameLog> {
        let frame = self.gpu.begin_frame()?;
        let mut recording = frame.record(Queue::Graphics, "world")?;
        let remeshed = self.edit(edit, &mut recording)?;
        let draws = self.draw(&mut recording, frame.number(), painter)?;
        self.targets.read_back(&mut recording)?;
        frame.submit(recording)?;
        let waiting_bytes = self.gpu.stats().pending_bytes;
        frame.end()?;
        Ok(FrameLog { remeshed, waiting_bytes, draws })
    }

    /// Edits the world, and returns the number of meshes that were replaced.
    pub(super) fn edit(&mut self, edit: usize, recording: &mut Recording<D>) -> Result<usize> {
        let changed = self.terrain.edit(edit);
        let meshes = self.mesh(&changed);
        let new = upload(&self.gpu, recording, &meshes, "chunk")?;
        for (chunk, mesh) in changed.iter().zip(new) {
            // This drops the old buffer: tenure frees it when the GPU has finished with it. Mesh 0 is the sky.
            self.meshes[1 + chunk] = mesh;
        }
        Ok(changed.len())
    }

    /// Draws the world, and resolves the picture.
    pub(super) fn draw(
        &self,
        recording: &mut Recording<D>,
        frame: u64,
        painter: &mut impl Painter<D>,
    ) -> Result<usize> {
        let constants = BufferDesc::new(CONSTANTS_SIZE, Usage::CONSTANT).memory(MemoryUse::Upload);
        let constants = self.gpu.create_buffer(&constants.name("constants"))?;
        constants.write(0, &self.camera.constants())?;
        recording.use_resource(&constants, Subresource::All, State::VERTEX_OR_CONSTANT)?;
        recording.use_resource(&self.tiles, Subresource::All, State::PIXEL_SHADER)?;
        self.targets.use_for_drawing(recording)?;
        let visible = self.meshes.iter().filter(|mesh| !self.cull || mesh.is_visible(&self.camera));
        let draws: Result<Vec<Draw<'_, D>>> = visible.map(|mesh| mesh.draw(recording)).collect();
        let draws = draws?;
        recording.barriers();
        let slot = (frame % u64::from(self.gpu.config().frames.in_flight)) as usize;
        let pass = Pass { slot, targets: &self.targets, constants: &constants, draws: &draws };
        painter.draw(recording.raw(), &pass)?;
        self.targets.use_for_resolving(recording)?;
        recording.barriers();
        painter.resolve(recording.raw(), &self.targets.colour, &self.targets.pixels)?;
        Ok(draws.len())
    }

    /// Waits for the GPU and reads the last frame's picture.
    ///
    /// # Errors
    /// The errors of tenure.
    pub fn picture(&self) -> Result<Picture> {
        self.wait()?;
        self.targets.picture()
    }

    fn wait(&self) -> Result<()> {
        if !self.gpu.wait(&self.gpu.submitted(), Duration::from_secs(120))? {
            return Err("the GPU did not finish within two minutes".into());
        }
        Ok(self.gpu.reclaim()?)
    }

    /// Drops all resources and shuts the manager down.
    pub fn finish(self) -> ShutdownReport {
        let Self { gpu, tiles, targets, meshes, .. } = self;
        drop((tiles, targets, meshes));
        gpu.shutdown()
    }
}

/// Creates a buffer for each mesh, and records the copies that fill the buffers.
fn upload<D: Device>(
    gpu: &Gpu<D>,
    recording: &mut Recording<D>,
    meshes: &[ChunkMesh],
    name: &'static str,
) -> Result<Vec<MeshBuffer<D>>> {
    let buffers: Result<Vec<_>> = meshes.iter().map(|mesh| MeshBuffer::new(gpu, mesh, name)).collect();
    let buffers = buffers?;
    fill_buffers(
        gpu,
        recording,
        buffers.iter().map(MeshBuffer::buffer).zip(meshes.iter().map(ChunkMesh::bytes)),
    )?;
    Ok(buffers)
}
