//! `TextureRegion::check` and `BufferLayout::bytes` against oracles that look at every texel.

use proptest::prelude::*;
use tenure_core::{BufferLayout, DeviceError, Dimension, Format, Plane, TextureInfo, TextureRegion, Usage};

fn format() -> impl Strategy<Value = Format> {
    prop::sample::select(Format::ALL)
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn small_texture() -> impl Strategy<Value = TextureInfo> {
    let sides = (1_u32..12, 1_u32..12, 1_u32..4);
    (format(), sides, any::<bool>(), 1_u32..5).prop_map(|(format, (width, height, depth), is_flat, mips)| {
        let dimension = if is_flat { Dimension::D2 } else { Dimension::D3 };
        let longest = if is_flat { width.max(height) } else { width.max(height).max(depth) };
        TextureInfo::new(dimension, width, height, format, Usage::SHADER_READ)
            .depth_or_layers(depth)
            .mips(mips.min(longest.ilog2() + 1))
    })
}

/// Near the small textures' sides, near the blocks' sides, and far away from everything.
fn near() -> impl Strategy<Value = u32> {
    prop_oneof![20 => 0_u32..13, 4 => (0_u32..4).prop_map(|blocks| blocks * 4), 1 => u32::MAX - 3..=u32::MAX]
}

fn extreme() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(1), 0..9_u32, Just(1 << 31), u32::MAX - 4..=u32::MAX, any::<u32>()]
}

fn extreme_bytes() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..64_u64,
        any::<u32>().prop_map(u64::from),
        (0..64_u32, -1..2_i64).prop_map(|(bit, off)| (1_u64 << bit).wrapping_add_signed(off)),
        u64::MAX - 4..=u64::MAX,
        any::<u64>(),
    ]
}

/// Whether every texel of the region is in the mip, and every block in the region is whole, as far as the mip has it.
fn is_right(info: &TextureInfo, region: &TextureRegion) -> bool {
    if region.mip >= info.mips || region.layer >= info.layers() || region.extent.contains(&0) {
        return false;
    }
    let block = info.format.block();
    let sides = info.mip_extent(region.mip);
    let blocks = [block.width, block.height, 1];
    (0..3).all(|axis| {
        let (first, size, side) = (region.origin[axis], region.extent[axis], sides[axis]);
        let contains = |texel: u32| texel >= first && texel - first < size;
        // Sizes this small overflow only from invalid origins.
        let Some(last) = first.checked_add(size - 1).filter(|last| *last < side) else { return false };
        (first..=last).all(|texel| {
            let begin = texel / blocks[axis] * blocks[axis];
            (begin..begin + blocks[axis]).filter(|of_block| *of_block < side).all(contains)
        })
    })
}

/// The bytes of each block of texels, first and one past the last.
fn every_block(layout: &BufferLayout, format: Format, extent: [u32; 3]) -> Vec<(u128, u128)> {
    let block = format.block();
    let (across, down) = (extent[0].div_ceil(block.width), extent[1].div_ceil(block.height));
    let mut blocks = Vec::new();
    for slice in 0..extent[2] {
        for row in 0..down {
            for column in 0..across {
                let rows = u128::from(slice) * u128::from(layout.rows) + u128::from(row);
                let begin = rows * u128::from(layout.row_pitch) + u128::from(column * block.bytes);
                blocks.push((begin, begin + u128::from(block.bytes)));
            }
        }
    }
    blocks
}

/// The first requirement on the layout: rows in pitches, and slices in theirs.
fn holds(layout: &BufferLayout, format: Format, extent: [u32; 3]) -> bool {
    let block = format.block();
    let row = u128::from(extent[0].div_ceil(block.width)) * u128::from(block.bytes);
    let down = extent[1].div_ceil(block.height);
    u128::from(layout.row_pitch) >= row && (extent[2] <= 1 || layout.rows >= down)
}

proptest! {
    #![proptest_config(config(20_000))]

    #[test]
    fn only_regions_of_whole_blocks_of_the_mip_are_accepted(
        info in small_texture(),
        mip in 0_u32..6,
        layer in 0_u32..4,
        origin in prop::array::uniform3(near()),
        extent in prop::array::uniform3(near()),
    ) {
        let region = TextureRegion { mip, layer, plane: Plane::First, origin, extent };
        let answer = region.check(&info);
        prop_assert_eq!(answer.is_ok(), is_right(&info, &region), "{:?}: {:?}", answer, region);
    }

    #[test]
    fn a_region_made_of_whole_blocks_is_accepted(
        info in small_texture(),
        mip in 0_u32..4,
        layer in 0_u32..3,
        corners in prop::array::uniform3((0_u32..12, 1_u32..12)),
    ) {
        let (mip, layer) = (mip % info.mips, layer % info.layers());
        let block = info.format.block();
        let blocks = [block.width, block.height, 1];
        let sides = info.mip_extent(mip);
        let mut region = TextureRegion { mip, layer, plane: Plane::First, origin: [0; 3], extent: [0; 3] };
        for axis in 0..3 {
            let count = sides[axis].div_ceil(blocks[axis]);
            let first = corners[axis].0 % count;
            let end = (first + 1 + corners[axis].1 % (count - first)) * blocks[axis];
            region.origin[axis] = first * blocks[axis];
            region.extent[axis] = end.min(sides[axis]) - region.origin[axis];
        }
        prop_assert!(is_right(&info, &region), "the oracle agrees");
        prop_assert_eq!(region.check(&info), Ok(()));
    }

    /// Nothing overflows, and accepted boxes are within the mip.
    #[test]
    fn no_region_is_too_large_to_be_checked(
        texture in (format(), prop::array::uniform3(extreme()), any::<bool>(), extreme()),
        mip in extreme(),
        layer in extreme(),
        origin in prop::array::uniform3(extreme()),
        extent in prop::array::uniform3(extreme()),
    ) {
        let (format, [width, height, depth_or_layers], is_flat, mips) = texture;
        let dimension = if is_flat { Dimension::D2 } else { Dimension::D3 };
        let (usage, clear) = (Usage::SHADER_READ, None);
        let info = TextureInfo::new(dimension, width, height, format, usage).depth_or_layers(depth_or_layers).mips(mips).clear(clear);
        let region = TextureRegion { mip, layer, plane: Plane::First, origin, extent };
        match region.check(&info) {
            Ok(()) => {
                let sides = info.mip_extent(mip);
                for axis in 0..3 {
                    prop_assert!(extent[axis] > 0);
                    prop_assert!(u64::from(origin[axis]) + u64::from(extent[axis]) <= u64::from(sides[axis]));
                }
            }
            Err(error) => prop_assert!(matches!(error, DeviceError::InvalidCall { .. }), "{error}"),
        }
    }

    #[test]
    fn the_bytes_of_a_box_end_with_its_last_texel(
        format in format(),
        extent in (1_u32..12, 1_u32..12, 1_u32..4).prop_map(<[u32; 3]>::from),
        row_pitch in 0_u64..200,
        rows in 0_u32..14,
    ) {
        let layout = BufferLayout { offset: 0, row_pitch, rows };
        let mut blocks = every_block(&layout, format, extent);
        let end = blocks.iter().map(|(_, end)| *end).max();
        let expected = end.filter(|_| holds(&layout, format, extent));
        prop_assert_eq!(layout.bytes(format.block(), extent).map(u128::from), expected);
        if expected.is_some() {
            blocks.sort_unstable();
            prop_assert!(blocks.windows(2).all(|pair| pair[0].1 <= pair[1].0), "texels overlap");
        }
    }

    /// The last block is the farthest, so only that is checked if there are too many.
    #[test]
    fn the_bytes_of_a_box_never_overflow(
        format in format(),
        extent in prop::array::uniform3(extreme()),
        row_pitch in extreme_bytes(),
        rows in extreme(),
        offset in extreme_bytes(),
    ) {
        let layout = BufferLayout { offset, row_pitch, rows };
        let bytes = layout.bytes(format.block(), extent);
        if extent.contains(&0) {
            return Ok(());
        }
        let block = format.block();
        let (across, down) = (extent[0].div_ceil(block.width), extent[1].div_ceil(block.height));
        let last_row = u128::from(extent[2] - 1) * u128::from(rows) + u128::from(down - 1);
        // A row number below 2^65 times a pitch below 2^64 may overflow 128 bits; then it overflows 64 bits,
        // too.
        let begin = last_row.checked_mul(u128::from(row_pitch));
        let end = begin.and_then(|begin| begin.checked_add(u128::from(across) * u128::from(block.bytes)));
        let end = end.and_then(|end| u64::try_from(end).ok());
        prop_assert_eq!(bytes, end.filter(|_| holds(&layout, format, extent)));
    }
}
