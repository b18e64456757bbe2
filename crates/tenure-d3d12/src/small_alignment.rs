//! The textures that allow the small alignment.
//!
//! Direct3D 12 allows an alignment of 4 KiB instead of 64 KiB for a texture, or 64 KiB instead of 4 MiB if it is
//! multisampled, if its most detailed mip takes no more than the larger of the two. It estimates that by an
//! architecture-independent rule: whole tiles of the smaller size, in the shapes of standard swizzle. A request
//! for more gives an error and a message of the debug layer, so it is estimated here first; the driver's
//! result decides.

use tenure_core::device::{Dimension, TextureInfo, Usage};

/// `D3D12_SMALL_RESOURCE_PLACEMENT_ALIGNMENT`.
pub(crate) const SMALL: u64 = 4 << 10;
/// `D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT`, and the small one of multisampled textures.
pub(crate) const DEFAULT: u64 = 64 << 10;
/// `D3D12_DEFAULT_MSAA_RESOURCE_PLACEMENT_ALIGNMENT`.
pub(crate) const MULTISAMPLED: u64 = 4 << 20;

/// Extent of a tile of `bytes` in blocks of texels: as near to a square or cube as a power of two
/// gets, wider than high, higher than deep.
fn tile_blocks(dimension: Dimension, block_bytes: u64, bytes: u64) -> [u64; 3] {
    let log = (bytes / block_bytes.max(1)).max(1).ilog2();
    let axes = match dimension {
        Dimension::D3 => 3,
        _ => 2,
    };
    let side = |axis: u32| 1_u64 << (log.saturating_sub(axis)).div_ceil(axes);
    match dimension {
        Dimension::D3 => [side(0), side(1), side(2)],
        _ => [side(0), side(1), 1],
    }
}

/// Width and height in texels of a tile of a 2D texture of one sample.
#[cfg(all(windows, feature = "device"))]
pub(crate) fn tile_texels(info: &TextureInfo, tile: u64) -> [u64; 2] {
    let block = info.format.block();
    let [across, down, _] = tile_blocks(Dimension::D2, u64::from(block.bytes), tile);
    [across.saturating_mul(u64::from(block.width)), down.saturating_mul(u64::from(block.height))]
}

/// Bytes of the most detailed mip of one layer in whole tiles; `None` when that overflows.
fn estimate(info: &TextureInfo, tile: u64) -> Option<u64> {
    let block = info.format.block();
    let samples = u64::from(info.samples);
    let tiles = tile_blocks(info.dimension, u64::from(block.bytes).checked_mul(samples)?, tile);
    let [width, height, depth] = info.mip_extent(0);
    let blocks = [width.div_ceil(block.width), height.div_ceil(block.height), depth];
    blocks
        .into_iter()
        .zip(tiles)
        .try_fold(tile, |bytes, (blocks, side)| bytes.checked_mul(u64::from(blocks).div_ceil(side)))
}

/// The small alignment to request, if any.
pub(crate) fn small_alignment(info: &TextureInfo) -> Option<u64> {
    let (small, large) = if info.samples > 1 { (DEFAULT, MULTISAMPLED) } else { (SMALL, DEFAULT) };
    // Multisampled textures are targets, always; the others must not be.
    let is_excluded = info.samples == 1 && info.usage.intersects(Usage::TEXTURE_ONLY);
    let fits = || estimate(info, small).is_some_and(|bytes| bytes <= large);
    (!is_excluded && fits()).then_some(small)
}

#[cfg(test)]
mod tests {
    use tenure_core::TextureDesc;
    use tenure_core::device::{Dimension, Format, TextureInfo, Usage};

    use super::{DEFAULT, SMALL, small_alignment, tile_blocks};

    fn d2(width: u32, height: u32, format: Format, usage: Usage) -> TextureInfo {
        TextureDesc::d2(width, height, format, usage).info
    }

    #[test]
    fn tiles_have_the_shapes_of_standard_swizzle() {
        let d2 = |bytes, tile| tile_blocks(Dimension::D2, bytes, tile);
        assert_eq!([d2(1, SMALL), d2(2, SMALL), d2(4, SMALL)], [[64, 64, 1], [64, 32, 1], [32, 32, 1]]);
        assert_eq!([d2(8, DEFAULT), d2(16, DEFAULT)], [[128, 64, 1], [64, 64, 1]]);
        let d3 = |bytes| tile_blocks(Dimension::D3, bytes, SMALL);
        assert_eq!([d3(1), d3(2), d3(4)], [[16, 16, 16], [16, 16, 8], [16, 8, 8]]);
        assert_eq!([d3(8), d3(16)], [[8, 8, 8], [8, 8, 4]]);
    }

    #[test]
    fn sixteen_tiles_are_small_and_seventeen_are_not() {
        let sampled = Usage::SHADER_READ;
        let rgba = |width, height| small_alignment(&d2(width, height, Format::Rgba8Unorm, sampled));
        assert_eq!(rgba(1, 1), Some(SMALL));
        assert_eq!(rgba(128, 128), Some(SMALL));
        assert_eq!(rgba(16 * 32, 32), Some(SMALL), "long and thin");
        assert_eq!(rgba(129, 128), None, "20 tiles, though it would fit 64 KiB");
        assert_eq!(rgba(16 * 32 + 1, 1), None);
        let bc1 = |side| small_alignment(&d2(side, side, Format::Bc1Unorm, sampled));
        assert_eq!((bc1(256), bc1(512)), (Some(SMALL), None), "a tile is 32 x 16 blocks of 4 x 4");
        let volume = |depth| small_alignment(&TextureDesc::d3(32, 32, depth, Format::R8Unorm, sampled).info);
        assert_eq!((volume(64), volume(65)), (Some(SMALL), None));
        let huge = d2(1, 1, Format::Rgba32Float, sampled).width(u32::MAX).height(u32::MAX);
        assert_eq!(small_alignment(&huge), None, "no overflow");
    }

    #[test]
    fn targets_are_small_only_when_multisampled() {
        let target = |side, samples| {
            let info = d2(side, side, Format::Rgba8Unorm, Usage::RENDER_TARGET);
            small_alignment(&info.samples(samples))
        };
        assert_eq!(target(16, 1), None);
        assert_eq!(target(512, 4), Some(DEFAULT), "64 tiles of 64 x 64 texels");
        assert_eq!(target(513, 4), None);
        assert_eq!(small_alignment(&d2(16, 16, Format::D32Float, Usage::DEPTH_STENCIL)), None);
    }
}
