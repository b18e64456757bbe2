//! Descriptions of textures, compared.

use core::hash::Hash;

use super::{ClearValue, TextureInfo};

/// A clear value as numbers that are equal if all bits are.
pub(super) fn clear_bits(clear: Option<ClearValue>) -> [u32; 5] {
    match clear {
        None => [0; 5],
        Some(ClearValue::Color([red, green, blue, alpha])) => {
            [1, red.to_bits(), green.to_bits(), blue.to_bits(), alpha.to_bits()]
        }
        Some(ClearValue::DepthStencil(depth, stencil)) => [2, depth.to_bits(), u32::from(stencil), 0, 0],
    }
}

/// All that is numbers in a texture's description. Naming each field makes sure that none is forgotten.
pub(crate) fn texture_key(info: &TextureInfo) -> impl Hash + Eq + '_ {
    let TextureInfo {
        dimension,
        width,
        height,
        depth_or_layers,
        mips,
        samples,
        format,
        usage,
        clear,
        view_formats,
    } = info;
    let extent = [*width, *height, *depth_or_layers, *mips, *samples];
    (*dimension, extent, *format, *usage, clear_bits(*clear), view_formats)
}
