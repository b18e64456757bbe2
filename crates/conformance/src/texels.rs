//! Copies of texels to a texture and back, with the row pitch and the alignment that the device needs.

use tenure_core::device::Device;
use tenure_core::{
    Buffer, BufferLayout, Format, Queue, ReadbackTexture, Texture, TextureDesc, TextureInfo, TextureRegion,
    Usage,
};

use crate::Harness;
use crate::bench::{Bench, assert_bytes};
use test_random::Rng;

/// The tightly packed texels of each subresource.
pub(crate) type Texels = Vec<Vec<u8>>;

/// The region of a whole subresource.
pub(crate) fn whole(info: &TextureInfo, mip: u32, layer: u32) -> TextureRegion {
    info.region(mip, layer)
}

/// The number of rows of blocks, and the bytes of a row, in a region of texels.
pub(crate) fn rows(info: &TextureInfo, extent: [u32; 3]) -> (u32, u64) {
    let block = info.format.block();
    let bytes = u64::from(extent[0].div_ceil(block.width)) * u64::from(block.bytes);
    (extent[1].div_ceil(block.height), bytes)
}

/// Two formats with blocks of 4 by 4 texels, of 8 and of 16 bytes, of a family that the device has.
pub(crate) fn compressed(device: &impl Device) -> [Format; 2] {
    let desktop = [Format::Bc1Unorm, Format::Bc7Unorm];
    let is_desktop = desktop.iter().all(|format| device.supports_format(*format, Usage::SHADER_READ));
    if is_desktop { desktop } else { [Format::Etc2Rgb8Unorm, Format::Astc4x4Unorm] }
}

/// Random texels for each subresource.
pub(crate) fn random(info: &TextureInfo, rng: &mut Rng) -> Texels {
    let mips = (0..info.layers()).flat_map(|_| 0..info.mips);
    mips.map(|mip| rng.bytes(info.mip_bytes(mip).unwrap())).collect()
}

impl<H: Harness> Bench<'_, H> {
    /// A staging buffer with tightly packed texels, copied to rows with the device's pitch.
    pub(crate) fn staged_rows(
        &self,
        info: &TextureInfo,
        extent: [u32; 3],
        packed: &[u8],
    ) -> (Buffer<H::Device>, BufferLayout) {
        let (down, row) = rows(info, extent);
        let pitch = row.next_multiple_of(self.properties().copy_pitch_alignment);
        let count = u64::from(down) * u64::from(extent[2]);
        let mut padded = vec![0xee; usize::try_from(pitch * count).unwrap()];
        for (to, from) in padded
            .chunks_mut(usize::try_from(pitch).unwrap())
            .zip(packed.chunks(usize::try_from(row).unwrap()))
        {
            to[..from.len()].copy_from_slice(from);
        }
        (self.staging(&padded), BufferLayout { offset: 0, row_pitch: pitch, rows: down })
    }

    /// Fills a region of texels.
    pub(crate) fn upload_region(&self, texture: &Texture<H::Device>, region: TextureRegion, packed: &[u8]) {
        let (staging, layout) = self.staged_rows(texture.info(), region.extent, packed);
        self.submit(Queue::Graphics, |recording| {
            recording.copy_buffer_to_texture(&staging, layout, texture, region).unwrap();
            drop(staging);
        });
    }

    /// Fills every subresource.
    pub(crate) fn upload_texels(&self, texture: &Texture<H::Device>, texels: &Texels) {
        let info = texture.info();
        let indices = (0..info.layers()).flat_map(|layer| (0..info.mips).map(move |mip| (mip, layer)));
        for ((mip, layer), packed) in indices.zip(texels) {
            self.upload_region(texture, whole(info, mip, layer), packed);
        }
    }

    /// Copies every subresource to a readback texture and waits.
    pub(crate) fn download_texels(&self, texture: &Texture<H::Device>) -> Texels {
        let info = texture.info();
        let desc = TextureDesc::from(info.clone()).name("texels");
        let readback = self.gpu.create_readback_texture(&desc).unwrap();
        let done = self.submit(Queue::Graphics, |recording| {
            for subresource in 0..info.subresources() {
                let (mip, layer) = (subresource % info.mips, subresource / info.mips);
                let at = readback.layout(subresource).unwrap();
                let layout = BufferLayout { offset: at.offset, row_pitch: at.row_pitch, rows: at.rows };
                let region = whole(info, mip, layer);
                recording.copy_texture_to_buffer(texture, region, readback.buffer(), layout).unwrap();
            }
        });
        self.wait(&done);
        (0..info.subresources()).map(|subresource| packed(info, &readback, subresource)).collect()
    }

    /// Creates, fills and reads back a texture.
    pub(crate) fn check_texture(&self, desc: &TextureDesc, rng: &mut Rng) -> Texture<H::Device> {
        let texture = self.gpu.create_texture(desc).unwrap();
        let texels = random(&desc.info, rng);
        self.upload_texels(&texture, &texels);
        assert_texels(&self.download_texels(&texture), &texels, &format!("{:?}", desc.info));
        texture
    }
}

#[track_caller]
pub(crate) fn assert_texels(found: &Texels, expected: &Texels, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}: subresources");
    for (subresource, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_bytes(found, expected, &format!("{what}, subresource {subresource}"));
    }
}

fn packed<D: Device>(info: &TextureInfo, readback: &ReadbackTexture<D>, subresource: u32) -> Vec<u8> {
    let at = readback.layout(subresource).unwrap();
    let (down, row) = rows(info, info.mip_extent(subresource % info.mips));
    assert_eq!(at.rows, down);
    let mut texels = Vec::new();
    for index in 0..u64::from(at.rows) * u64::from(at.depth) {
        let mut line = vec![0; usize::try_from(row).unwrap()];
        readback.buffer().read(at.offset + index * at.row_pitch, &mut line).unwrap();
        texels.extend(line);
    }
    texels
}
