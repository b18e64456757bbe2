//! The texels of textures.

use tenure_core::device::FieldValue;
use tenure_core::{
    ClearValue, Config, DeviceError, Error, Format, LocationKind, Plane, PoolConfig, TextureDesc,
    TextureRegion, Usage,
};

use crate::Harness;
use crate::bench::Bench;
use crate::texels::{assert_texels, compressed, random, rows};
use test_random::Rng;

const SAMPLED: Usage = Usage::SHADER_READ.union(Usage::COPY_SRC);

/// Each mip of each layer keeps its own texels.
pub fn mips_and_layers_keep_their_texels<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(32);
    for (width, height, mips, layers) in [(64, 64, 7, 1), (40, 24, 3, 5), (1, 1, 1, 7), (100, 3, 7, 2)] {
        let desc = TextureDesc::d2(width, height, Format::Rgba8Unorm, SAMPLED).mips(mips).layers(layers);
        bench.check_texture(&desc, &mut rng);
    }
    bench.end();
}

/// 3D textures and their mips keep their texels.
pub fn volumes_keep_their_texels<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(33);
    for (extent, mips) in [([20, 12, 7], 1), ([16, 8, 4], 4), ([3, 5, 33], 2)] {
        let [width, height, depth] = extent;
        let desc = TextureDesc::d3(width, height, depth, Format::Rg8Unorm, SAMPLED).mips(mips);
        bench.check_texture(&desc, &mut rng);
    }
    bench.end();
}

/// Block-compressed textures keep their texels, also in mips smaller than a block.
pub fn block_compressed_mips_keep_their_texels<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(34);
    for format in compressed(bench.gpu.device()) {
        bench.check_texture(&TextureDesc::d2(64, 32, format, SAMPLED).mips(7).layers(2), &mut rng);
    }
    bench.end();
}

/// A copy of a region changes no texel outside it.
pub fn regions_are_copied_exactly<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(35);
    let desc = TextureDesc::d2(61, 47, Format::R32Uint, SAMPLED).layers(2);
    let texture = bench.gpu.create_texture(&desc).unwrap();
    let mut texels = random(&desc.info, &mut rng);
    bench.upload_texels(&texture, &texels);
    for _ in 0..8 {
        let pick = |rng: &mut Rng, limit: u32| u32::try_from(rng.below(u64::from(limit))).unwrap();
        let (x, y, layer) = (pick(&mut rng, 61), pick(&mut rng, 47), pick(&mut rng, 2));
        let extent = [1 + pick(&mut rng, 61 - x), 1 + pick(&mut rng, 47 - y), 1];
        let region = TextureRegion { mip: 0, layer, plane: Plane::First, origin: [x, y, 0], extent };
        let (down, row) = rows(&desc.info, extent);
        let packed = rng.bytes(u64::from(down) * row);
        bench.upload_region(&texture, region, &packed);
        let row = usize::try_from(row).unwrap();
        for (line, bytes) in packed.chunks(row).enumerate() {
            let start = ((y as usize + line) * 61 + x as usize) * 4;
            texels[layer as usize][start..start + row].copy_from_slice(bytes);
        }
    }
    assert_texels(&bench.download_texels(&texture), &texels, "regions");
    drop(texture);
    bench.end();
}

/// A texture larger than the largest block has memory of its own; a smaller one shares a heap.
pub fn large_textures_have_memory_of_their_own<H: Harness>(harness: &H) {
    let config = Config::from(PoolConfig::default().max_texture_block(256 << 10));
    let bench = Bench::with(harness, config);
    let mut rng = Rng::new(36);
    let small = bench.check_texture(&TextureDesc::d2(64, 64, Format::Rgba8Unorm, SAMPLED), &mut rng);
    assert_eq!(small.location(), LocationKind::Placed);
    let large = bench.check_texture(&TextureDesc::d2(300, 300, Format::Rgba8Unorm, SAMPLED), &mut rng);
    assert_eq!(large.location(), LocationKind::Committed);
    assert!(large.size() >= 300 * 300 * 4 && small.size() >= 64 * 64 * 4);
    drop((small, large));
    bench.end();
}

/// Render targets and depth targets are created with clear values, also multisampled ones.
pub fn targets_are_created<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let target = |format, usage| TextureDesc::d2(128, 96, format, usage).name("target");
    let color = ClearValue::Color([0.0, 0.5, 1.0, 1.0]);
    let descs = [
        target(Format::Rgba8Unorm, Usage::RENDER_TARGET | Usage::SHADER_READ).clear(color),
        target(Format::Rgba16Float, Usage::RENDER_TARGET | Usage::SHADER_READ).mips(4),
        target(Format::D32Float, Usage::DEPTH_STENCIL).clear(ClearValue::DepthStencil(0.0, 0)),
        target(Format::D32Float, Usage::DEPTH_STENCIL | Usage::SHADER_READ).layers(4),
        target(Format::Rgba8Unorm, Usage::RENDER_TARGET).samples(4).clear(color),
        target(Format::D32Float, Usage::DEPTH_STENCIL).samples(4),
        target(Format::Rgba8Unorm, Usage::UNORDERED_ACCESS | Usage::SHADER_READ),
    ];
    let alive: Vec<_> = descs.iter().map(|desc| bench.gpu.create_texture(desc).unwrap()).collect();
    for (texture, desc) in alive.iter().zip(&descs) {
        assert_eq!(texture.info(), &desc.info);
        assert!(texture.size() >= desc.info.packed_bytes().unwrap());
    }
    drop(alive);
    bench.end();
}

/// A texture may have views in a format that differs in its encoding only. Formats with texels of another size are
/// refused; other formats of the same texel size are accepted or refused as unsupported.
pub fn views_in_other_formats_are_supported_or_refused<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(27);
    let usage = Usage::SHADER_READ | Usage::COPY_SRC;
    let desc = TextureDesc::d2(40, 30, Format::Rgba8Unorm, usage).mips(2);
    bench.check_texture(&desc.clone().view_formats([Format::Rgba8Srgb]), &mut rng);
    match bench.gpu.create_texture(&desc.clone().view_formats([Format::R32Uint])) {
        Ok(_) | Err(Error::Device { source: DeviceError::Unsupported { .. }, .. }) => {}
        Err(error) => panic!("not refused as unsupported: {error}"),
    }
    let narrow = bench.gpu.create_texture(&desc.view_formats([Format::Rgba8Srgb, Format::R8Unorm])).err();
    let Some(Error::Device { source: DeviceError::InvalidDesc { field, value, .. }, .. }) = narrow else {
        panic!("{narrow:?}");
    };
    assert_eq!((field, value), ("view_formats", FieldValue::Format(Format::R8Unorm)));
    bench.end();
}
