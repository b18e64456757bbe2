//! The number of layers of a 2D array on drivers that reserve too little for its compression.
//!
//! Such a driver reserves 1/256 of the texture's size by its own calculation, in whole pages, in which each
//! layer's bytes are rounded up to 16 KiB; in truth the texture takes whole tiles of 64 KiB (Intel's manual of
//! Tiger Lake, volume 5, "Surface Memory Organizations"). If that size is too small, the array gets enough extra
//! layers that the driver's calculation reaches the true size.

use tenure_core::device::TextureInfo;

const PAGE: u64 = 4 << 10;
const TILE: u64 = 16 * PAGE;
const ROUNDED: u64 = 4 * PAGE;

/// Rows of blocks of one layer: the mips side by side and below each other.
fn rows(info: &TextureInfo) -> u64 {
    let block = info.format.block();
    let of_mip = |mip: u32| u64::from(info.mip_extent(mip)[1].div_ceil(block.height));
    let below_first = if info.mips > 1 { of_mip(1) } else { 0 };
    let beside: u64 = (2..info.mips).map(of_mip).sum();
    (of_mip(0) + below_first.max(beside)).next_multiple_of(4)
}

/// Bytes of the compression data of `bytes` bytes.
const fn compression(bytes: u64) -> u64 {
    (bytes >> 8).next_multiple_of(PAGE)
}

/// Layers to create an array with, so that the driver reserves enough for its real layers. Saturates.
pub(crate) fn with_spare_layers(info: &TextureInfo) -> u64 {
    let layers = u64::from(info.layers());
    let block = info.format.block();
    let tile_rows: u64 = match block.bytes {
        0 | 1 => 256,
        2..=4 => 128,
        _ => 64,
    };
    let row_bytes = u64::from(info.width.div_ceil(block.width)).saturating_mul(u64::from(block.bytes)).max(1);
    let across = row_bytes.div_ceil(TILE / tile_rows);
    let down = rows(info).saturating_mul(layers).div_ceil(tile_rows);
    let taken = across.saturating_mul(down).saturating_mul(TILE);
    let believed_of_one =
        rows(info).saturating_mul(row_bytes).checked_next_multiple_of(ROUNDED).unwrap_or(u64::MAX);
    let believed = believed_of_one.saturating_mul(layers);
    if layers <= 1 || compression(believed) >= compression(taken) {
        return layers;
    }
    taken.div_ceil(believed_of_one)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tenure_core::TextureDesc;
    use tenure_core::device::{Format, Usage};

    use super::*;

    fn array(width: u32, height: u32, layers: u32, format: Format) -> TextureInfo {
        TextureDesc::d2(width, height, format, Usage::SHADER_READ).layers(layers).info
    }

    #[test]
    fn narrow_arrays_need_more_and_wide_ones_do_not() {
        // 4 B a row: a column of tiles 512 B wide; the driver counts 16 KiB of it for 1024 rows.
        assert_eq!(with_spare_layers(&array(1, 1024, 64, Format::Rgba8Unorm)), 2048);
        assert_eq!(with_spare_layers(&array(1024, 1024, 64, Format::Rgba8Unorm)), 64);
        assert_eq!(with_spare_layers(&array(1, 1024, 1, Format::Rgba8Unorm)), 1, "no array");
        assert_eq!(with_spare_layers(&array(16, 16, 6, Format::R8Unorm)), 6, "fits a page either way");
    }

    proptest! {
        /// For any array the driver then reserves enough, and one layer less would be too few.
        #[test]
        fn the_driver_reserves_enough(
            width in 1_u32..=4096, height in 1_u32..=4096, layers in 1_u32..=64, mips in 1_u32..=13,
            format in prop::sample::select(Format::ALL),
        ) {
            prop_assume!(!format.is_depth());
            let info = array(width, height, layers, format).mips(mips);
            prop_assume!(info.validate().is_ok());
            let block = format.block();
            let row_bytes = u64::from(width.div_ceil(block.width)) * u64::from(block.bytes);
            let believed = |layers: u64| (rows(&info) * row_bytes).next_multiple_of(ROUNDED) * layers;
            let found = with_spare_layers(&info);
            prop_assert!(found >= u64::from(layers));
            let tile_rows = match block.bytes { 1 => 256, 2 | 4 => 128, _ => 64 };
            let tiles = row_bytes.div_ceil(TILE / tile_rows)
                * (rows(&info) * u64::from(layers)).div_ceil(tile_rows);
            if found > u64::from(layers) {
                prop_assert!(believed(found) >= tiles * TILE && believed(found - 1) < tiles * TILE);
            } else if layers > 1 {
                prop_assert!(compression(believed(found)) >= compression(tiles * TILE));
            }
        }
    }
}
