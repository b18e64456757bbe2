//! Copies of depth and of stencil, one at a time.

use tenure_core::device::{CallRule, Features};
use tenure_core::{
    BufferLayout, DeviceError, Error, Format, Plane, Queue, Subresource, TexelData, Texture, TextureDesc,
    TextureInfo, TextureRegion, Usage,
};

use crate::Harness;
use crate::bench::{Bench, LONG, assert_bytes};
use crate::texels::whole;
use test_random::Rng;

const USAGE: Usage = Usage::DEPTH_STENCIL.union(Usage::COPY_SRC).union(Usage::COPY_DST);

/// The formats with depth that the device can copy.
fn formats<H: Harness>(bench: &Bench<'_, H>) -> impl Iterator<Item = Format> {
    let depth = Format::ALL.iter().copied().filter(|format| format.is_depth());
    depth.filter(|format| bench.gpu.supports_format(*format, USAGE))
}

/// Texels of a plane, as they lie in a buffer: floats from 0 to 1, 24 bits with 8 of zeros, or any bits.
fn random(format: Format, region: &TextureRegion, rng: &mut Rng) -> Vec<u8> {
    let texels = u64::from(region.extent[0]) * u64::from(region.extent[1]);
    let word = |_| match format {
        Format::D24UnormS8Uint => (rng.next() as u32) & 0x00ff_ffff,
        _ => (rng.below(1 << 16) as f32 / 65_536.0).to_bits(),
    };
    match region.block(format).bytes {
        4 => (0..texels).map(word).flat_map(u32::to_le_bytes).collect(),
        bytes => rng.bytes(texels * u64::from(bytes)),
    }
}

/// All texels of a mip of a layer, in one plane.
fn part(info: &TextureInfo, (mip, layer, plane): (u32, u32, Plane)) -> TextureRegion {
    TextureRegion { plane, ..whole(info, mip, layer) }
}

/// Every mip of every layer of every plane, planes outermost.
fn parts(info: &TextureInfo) -> Vec<TextureRegion> {
    let planes = info.format.planes().iter().copied();
    let layers = planes.flat_map(|plane| (0..info.layers()).map(move |layer| (layer, plane)));
    layers.flat_map(|(layer, plane)| (0..info.mips).map(move |mip| part(info, (mip, layer, plane)))).collect()
}

/// Depth and stencil are uploaded, copied and read back apart; neither changes the other.
pub fn planes_keep_their_texels<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(72);
    let mut count = [0, 0];
    for format in formats(&bench) {
        let desc = TextureDesc::d2(37, 21, format, USAGE).mips(5).layers(2).name(format!("{format:?}"));
        let regions = parts(&desc.info);
        let mut texels: Vec<_> = regions.iter().map(|region| random(format, region, &mut rng)).collect();
        let data: Vec<_> = texels.iter().map(|texels| TexelData::new(texels)).collect();
        if format.has_stencil() && !bench.copies_stencil() {
            let error = bench.gpu.create_texture_with(&desc, &data).err().unwrap();
            assert!(is_unsupported(&error), "{format:?}: {error}");
            continue;
        }
        let texture = bench.gpu.create_texture_with(&desc, &data).unwrap();
        bench.check_parts(&texture, &regions, &texels);
        // One plane alone, by the last to the first, so that whatever else is written shows.
        for (region, texels) in regions.iter().zip(&mut texels).rev() {
            *texels = random(format, region, &mut rng);
            bench.gpu.upload_texture(&texture, *region, TexelData::new(texels)).unwrap();
        }
        bench.check_parts(&texture, &regions, &texels);
        let copy = bench.gpu.create_texture(&desc).unwrap();
        bench.copy_parts(&texture, &copy, &regions);
        bench.check_parts(&copy, &regions, &texels);
        drop((texture, copy));
        bench.gpu.reclaim().unwrap();
        count[usize::from(format.has_stencil())] += 1;
    }
    println!("{} formats of depth, {} of depth and stencil", count[0], count[1]);
    assert!(count[0] > 0 && (count[1] > 0 || !bench.copies_stencil()), "few formats: {count:?}");
    bench.end();
}

/// Depth and stencil are copied to another texture together, all subresources or one.
pub fn planes_are_copied_together<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(73);
    if bench.properties().features.contains(Features::NO_DEPTH_LAYER_COPIES) {
        return bench.end();
    }
    for format in formats(&bench).filter(|format| bench.copies_stencil() || !format.has_stencil()) {
        let desc = TextureDesc::d2(37, 21, format, USAGE).mips(5).layers(2).name(format!("{format:?}"));
        let regions = parts(&desc.info);
        let [(first, mut texels), (second, others)] = [(); 2].map(|()| {
            let texels: Vec<_> = regions.iter().map(|region| random(format, region, &mut rng)).collect();
            let data: Vec<_> = texels.iter().map(|texels| TexelData::new(texels)).collect();
            (bench.gpu.create_texture_with(&desc, &data).unwrap(), texels)
        });
        let copy = bench.gpu.create_texture(&desc).unwrap();
        bench.submit(Queue::Graphics, |recording| {
            recording.copy_texture(&first, &copy, Subresource::All).unwrap();
            recording.copy_texture(&second, &copy, Subresource::One(6)).unwrap();
        });
        for (region, (texels, other)) in regions.iter().zip(texels.iter_mut().zip(others)) {
            if (region.mip, region.layer) == (1, 1) {
                *texels = other;
            }
        }
        bench.check_parts(&copy, &regions, &texels);
        drop((first, second, copy));
        bench.gpu.reclaim().unwrap();
    }
    bench.end();
}

/// A plane that a format lacks, and a part of a mip, are refused.
pub fn planes_that_do_not_exist_are_refused<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let wrong = |format, usage, extent| {
        let texture = bench.gpu.create_texture(&TextureDesc::d2(16, 16, format, usage)).unwrap();
        let stencil = TextureRegion { extent, ..part(texture.info(), (0, 0, Plane::Stencil)) };
        bench.gpu.upload_texture(&texture, stencil, TexelData::new(&[0; 4096])).unwrap_err()
    };
    let colour = Usage::SHADER_READ | Usage::COPY_DST;
    for (format, usage) in [(Format::Rgba8Unorm, colour), (Format::D32Float, USAGE)] {
        let error = wrong(format, usage, [16, 16, 1]);
        let is_named = matches!(
            error,
            Error::Device { source: DeviceError::InvalidCall { rule: CallRule::PlaneExists, .. }, .. }
        );
        assert!(is_named, "{error}");
    }
    if let Some(format) = formats(&bench).find(|format| format.has_stencil()) {
        let error = wrong(format, USAGE, [8, 16, 1]);
        let is_clear = error.to_string().contains("a whole mip") || is_unsupported(&error);
        assert!(is_clear, "{error}");
    }
    bench.end();
}

fn is_unsupported(error: &Error) -> bool {
    matches!(error, Error::Device { source: DeviceError::Unsupported { .. }, .. })
}

impl<H: Harness> Bench<'_, H> {
    /// The device copies stencil there and back; elsewhere such copies are refused.
    fn copies_stencil(&self) -> bool {
        let features = self.properties().features;
        features.contains(Features::STENCIL_COPIES) && !features.contains(Features::NO_STENCIL_UPLOADS)
    }

    fn check_parts(&self, texture: &Texture<H::Device>, regions: &[TextureRegion], expected: &[Vec<u8>]) {
        let mut readbacks = Vec::new();
        let done = self.submit(Queue::Graphics, |recording| {
            for region in regions {
                readbacks.push(recording.read_back_texture(texture, *region).unwrap());
            }
        });
        self.wait(&done);
        for ((region, readback), expected) in regions.iter().zip(&readbacks).zip(expected) {
            let mut found = readback.wait(LONG).unwrap();
            let format = texture.info().format;
            if format == Format::D24UnormS8Uint && region.plane == Plane::First {
                // The highest byte of each texel is undefined.
                found.iter_mut().skip(3).step_by(4).for_each(|byte| *byte = 0);
            }
            assert_bytes(&found, expected, &format!("{format:?}, {region:?}"));
        }
    }

    /// Copies all planes of a texture to another on the GPU, through a buffer.
    fn copy_parts(&self, from: &Texture<H::Device>, to: &Texture<H::Device>, regions: &[TextureRegion]) {
        let (info, mut size, mut layouts) = (from.info(), 0, Vec::new());
        for region in regions {
            let row = u64::from(region.extent[0]) * u64::from(region.block(info.format).bytes);
            let row_pitch = row.next_multiple_of(self.properties().copy_pitch_alignment.max(4));
            layouts.push(BufferLayout { offset: size, row_pitch, rows: region.extent[1] });
            size = (size + row_pitch * u64::from(region.extent[1])).next_multiple_of(512);
        }
        let between = self.between(size);
        self.submit(Queue::Graphics, |recording| {
            for (region, layout) in regions.iter().zip(&layouts) {
                recording.copy_texture_to_buffer(from, *region, &between, *layout).unwrap();
            }
            for (region, layout) in regions.iter().zip(&layouts) {
                recording.copy_buffer_to_texture(&between, *layout, to, *region).unwrap();
            }
        });
    }
}
