//! The expected contents of textures, block by block.

use tenure_core::{
    Dimension, Format, Gpu, Plane, Queue, State, Subresource, Texture, TextureDesc, TextureInfo,
    TextureRegion, Usage,
};
use tenure_sim::Device;

use test_random::Rng;

pub(crate) const SAMPLED: Usage = Usage::SHADER_READ.union(Usage::COPY_SRC);

/// The tightly packed texels of every subresource, one after the other.
pub(crate) struct Model {
    pub(crate) info: TextureInfo,
    pub(crate) bytes: Vec<u8>,
}

impl Model {
    pub(crate) fn random(info: &TextureInfo, rng: &mut Rng) -> Self {
        let size = info.packed_bytes().unwrap();
        Self { info: info.clone(), bytes: (0..size).map(|_| rng.next() as u8).collect() }
    }

    /// The first byte of a subresource.
    fn start(&self, mip: u32, layer: u32) -> usize {
        let of_mips = |mips: u32| (0..mips).map(|mip| self.info.mip_bytes(mip).unwrap()).sum::<u64>();
        usize::try_from(u64::from(layer) * of_mips(self.info.mips) + of_mips(mip)).unwrap()
    }

    pub(crate) fn parts(&self) -> Vec<&[u8]> {
        let parts =
            (0..self.info.layers()).flat_map(|layer| (0..self.info.mips).map(move |mip| (mip, layer)));
        let part = |(mip, layer)| {
            let start = self.start(mip, layer);
            &self.bytes[start..start + usize::try_from(self.info.mip_bytes(mip).unwrap()).unwrap()]
        };
        parts.map(part).collect()
    }

    /// Visits each block of a region, with its position here and in data with a row pitch of `pitch` bytes and
    /// `rows` rows of blocks per slice.
    fn blocks(&self, region: TextureRegion, pitch: usize, rows: usize, mut visit: impl FnMut(usize, usize)) {
        let block = self.info.format.block();
        let across = |texels: u32| usize::try_from(texels.div_ceil(block.width)).unwrap();
        let down = |texels: u32| usize::try_from(texels.div_ceil(block.height)).unwrap();
        let bytes = block.bytes as usize;
        let [width, height, _] = self.info.mip_extent(region.mip);
        let start = self.start(region.mip, region.layer);
        for z in 0..region.extent[2] as usize {
            for y in 0..down(region.extent[1]) {
                for x in 0..across(region.extent[0]) {
                    let (to_x, to_y) = (across(region.origin[0]) + x, down(region.origin[1]) + y);
                    let to_z = region.origin[2] as usize + z;
                    let here = start + ((to_z * down(height) + to_y) * across(width) + to_x) * bytes;
                    visit(here, (z * rows + y) * pitch + x * bytes);
                }
            }
        }
    }

    /// Sets a region, block by block.
    pub(crate) fn set(&mut self, region: TextureRegion, data: &[u8], pitch: usize, rows: usize) {
        let bytes = self.info.format.block().bytes as usize;
        let mut copies = Vec::new();
        self.blocks(region, pitch, rows, |here, there| copies.push((here, there)));
        for (here, there) in copies {
            self.bytes[here..here + bytes].copy_from_slice(&data[there..there + bytes]);
        }
    }

    /// A region without padding.
    pub(crate) fn get(&self, region: TextureRegion) -> Vec<u8> {
        let block = self.info.format.block();
        let pitch = (region.extent[0].div_ceil(block.width) * block.bytes) as usize;
        let rows = region.extent[1].div_ceil(block.height) as usize;
        let mut found = vec![0; pitch * rows * region.extent[2] as usize];
        let bytes = block.bytes as usize;
        self.blocks(region, pitch, rows, |here, there| {
            found[there..there + bytes].copy_from_slice(&self.bytes[here..here + bytes]);
        });
        found
    }

    pub(crate) fn expect_on(&self, gpu: &Gpu<Device>, queue: Queue, texture: &Texture<Device>) {
        let mut recording = gpu.record(queue, "expect").unwrap();
        recording.use_resource(texture, Subresource::All, State::COPY_SRC).unwrap();
        recording.barriers();
        recording.raw().use_texture(texture.raw(), Subresource::All, State::COPY_SRC);
        recording.raw().expect_bytes(texture.raw(), 0, &self.bytes);
        recording.submit().unwrap();
    }

    pub(crate) fn expect(&self, gpu: &Gpu<Device>, texture: &Texture<Device>) {
        self.expect_on(gpu, Queue::Graphics, texture);
    }
}

/// A region within a mip, along whole blocks.
pub(crate) fn random_region(info: &TextureInfo, rng: &mut Rng) -> TextureRegion {
    let pick = |rng: &mut Rng, limit: u32| u32::try_from(rng.below(limit.into())).unwrap();
    let (mip, layer) = (pick(rng, info.mips), pick(rng, info.layers()));
    let block = info.format.block();
    let (mut origin, mut extent) = ([0; 3], [1; 3]);
    let sides = info.mip_extent(mip).into_iter().zip([block.width, block.height, 1]);
    for (axis, (side, step)) in sides.enumerate() {
        let blocks = side.div_ceil(step);
        let first = pick(rng, blocks);
        let last = first + pick(rng, blocks - first);
        origin[axis] = first * step;
        extent[axis] = ((last + 1) * step).min(side) - origin[axis];
    }
    TextureRegion { mip, layer, plane: Plane::First, origin, extent }
}

/// Formats with blocks of 4 by 4 texels that the device has, of 8 and of 16 bytes.
pub(crate) fn blocks(gpu: &Gpu<Device>) -> [Format; 2] {
    let has_bc = gpu.supports_format(Format::Bc7Unorm, Usage::SHADER_READ);
    if has_bc { [Format::Bc1Unorm, Format::Bc7Unorm] } else { [Format::Etc2Rgb8Unorm, Format::Astc4x4Unorm] }
}

pub(crate) fn random_desc(gpu: &Gpu<Device>, rng: &mut Rng) -> TextureDesc {
    let [small, large] = blocks(gpu);
    let formats = [Format::Rgba8Unorm, Format::R8Unorm, Format::Rgba32Float, small, large];
    let format = formats[usize::try_from(rng.below(5)).unwrap()];
    let side = |rng: &mut Rng| {
        let side = u32::try_from(1 + rng.below(40)).unwrap();
        // Textures of blocks have whole blocks at mip 0.
        if format.block().width > 1 { side.next_multiple_of(4) } else { side }
    };
    let (width, height) = (side(rng), side(rng));
    let usage = if rng.below(3) == 0 { SAMPLED | Usage::UNORDERED_ACCESS } else { SAMPLED };
    let usage = if format.block().width > 1 { SAMPLED } else { usage };
    let desc = if rng.below(4) == 0 && format.block().width == 1 {
        TextureDesc::d3(width, height, u32::try_from(1 + rng.below(9)).unwrap(), format, usage)
    } else {
        TextureDesc::d2(width, height, format, usage).layers(u32::try_from(1 + rng.below(4)).unwrap())
    };
    let deepest = if desc.info.dimension == Dimension::D3 { desc.info.depth_or_layers } else { 1 };
    let most = width.max(height).max(deepest).ilog2() + 1;
    desc.mips(1 + u32::try_from(rng.below(most.into())).unwrap()).name("random")
}
