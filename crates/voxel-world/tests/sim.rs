//! The frames of the world on the simulated device, which checks states, races, lifetimes and bytes.

#![allow(clippy::unwrap_used, reason = "tests")]

use tenure::sim::{Device, DeviceConfig, Lag, List, Profile};
use tenure::{Config, Format, Gpu, State, Subresource, Texture};
use voxel_world::{ChunkMesh, Painter, Pass, Result, Show, Targets, Terrain, VERTEX_STRIDE};

/// A painter that draws nothing. It uses every resource as a draw call would, and has the device check the bytes
/// of one mesh in 16, of other meshes in each frame.
struct Checker {
    /// A second landscape with the same edits, from which the expected meshes are made.
    terrain: Terrain,
    edits: usize,
}

impl Painter<Device> for Checker {
    fn draw(&mut self, list: &List, pass: &Pass<'_, Device>) -> Result<()> {
        self.terrain.edit(self.edits);
        self.edits += 1;
        list.clear_texture(pass.targets.colour.raw(), Subresource::All, &[0; 4]);
        list.clear_texture(pass.targets.depth.raw(), Subresource::All, &[0; 4]);
        let (constants, size) = (pass.constants, pass.constants.size());
        list.use_buffer(constants.raw(), constants.offset(), size, State::VERTEX_OR_CONSTANT);
        assert_eq!(pass.draws.len(), 1 + self.terrain.chunks());
        for (chunk, draw) in pass.draws.iter().skip(1).enumerate() {
            let first = u64::try_from(draw.base_vertex)? * u64::from(VERTEX_STRIDE);
            let (middle, indices) = (u64::from(draw.first_index) * 2, u64::from(draw.index_count) * 2);
            list.use_buffer(draw.buffer, first, middle - first, State::VERTEX_OR_CONSTANT);
            list.use_buffer(draw.buffer, middle, indices, State::INDEX);
            if chunk % 16 == self.edits {
                let mesh = ChunkMesh::new(&self.terrain, chunk);
                assert_eq!(mesh.vertex_bytes() as u64, middle - first);
                assert_eq!(mesh.bytes().len() as u64, middle - first + indices);
                list.expect_bytes(draw.buffer, first, mesh.bytes());
            }
        }
        Ok(())
    }

    fn resolve(&mut self, list: &List, samples: &Texture<Device>, pixels: &Texture<Device>) -> Result<()> {
        list.use_texture(samples.raw(), Subresource::All, State::RESOLVE_SRC);
        list.use_texture(pixels.raw(), Subresource::All, State::RESOLVE_DST);
        Ok(())
    }

    fn copy(&mut self, list: &List, pixels: &Texture<Device>, image: &Texture<Device>) -> Result<()> {
        list.use_texture(pixels.raw(), Subresource::All, State::COPY_SRC);
        list.use_texture(image.raw(), Subresource::All, State::COPY_DST);
        Ok(())
    }

    fn resize(&mut self, _: &Gpu<Device>, _: &Targets<Device>) -> Result<()> {
        Ok(())
    }
}

fn perform(profile: Profile) {
    let options = DeviceConfig::new(profile).lag(Lag::Submissions(2));
    let device = Device::with_config(options);
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let mut show = Show::load(gpu, Terrain::new(), [64, 36], Format::Rgba8Srgb, false).unwrap();
    let mut checker = Checker { terrain: Terrain::new(), edits: 0 };
    let mut dropped_in_flight = 0;
    for edit in 0..show.edits() {
        dropped_in_flight =
            show.edit_and_draw(edit, &mut checker).unwrap().waiting_bytes.max(dropped_in_flight);
    }
    assert!(dropped_in_flight > 0, "no mesh was replaced while the GPU could still read it");
    show.picture().unwrap();
    let stats = show.gpu.stats();
    assert_eq!(stats.pending_bytes, 0, "replaced meshes were not freed");
    let live: u64 = show.gpu.report().objects.iter().map(|object| object.bytes).sum();
    assert!(stats.reserved < live + live / 8, "{} B are reserved for {live} B", stats.reserved);
    assert!(show.finish().is_clean());
    device.check_clean().unwrap();
}

#[test]
fn frames_have_no_hazards_with_explicit_states() {
    perform(Profile::VULKAN_AMD_SMALL_BAR);
}

#[test]
fn frames_have_no_hazards_with_promoted_states() {
    perform(Profile::D3D12_TIER1);
}
