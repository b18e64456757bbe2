//! Sparse resources: their tiles and mappings.

use std::collections::HashMap;
use std::sync::Arc;

use ash::vk;
use parking_lot::Mutex;
use tenure_core::device::{CallRule, DeviceError, TextureInfo, TileLayout, TileRegion, check};

use crate::loaded::TILE;
use crate::memory::Memory;

/// The memory of a tile.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) memory: Arc<Memory>,
    pub(crate) offset: u64,
}

/// The tiles of a reserved resource.
pub(crate) struct Sparse {
    pub(crate) tiling: Tiling,
    /// Bytes of the address space of sparse resources.
    pub(crate) bytes: u64,
    /// The mappings of the tiles, by number, after all submissions; unmapped tiles have no entry.
    pub(crate) table: Mutex<HashMap<u64, Target>>,
}

/// The mips that are packed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tail {
    /// Bytes; the offset of layer 0's tail in the image.
    offset: u64,
    /// The size in bytes.
    size: u64,
    /// Bytes from one layer's to the next; 0 when the layers share one.
    stride: u64,
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    /// The size in bytes, whole sparse blocks.
    Buffer(u64),
    Image {
        info: TextureInfo,
        tail: Option<Tail>,
    },
}

/// The tiles of a reserved resource: the tiles of each subresource in order, then the packed mips, layer by
/// layer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tiling {
    pub(crate) layout: TileLayout,
    shape: Shape,
    /// The number of the first tile of each subresource.
    bases: Vec<u64>,
    /// The number of the first packed tile.
    packed_base: u64,
}

/// The part of a resource covered by a tile, as described by Vulkan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TilePart {
    /// Bytes of a buffer.
    Bytes { offset: u64, size: u64 },
    /// Texels of a mip of a layer.
    Texels { mip: u32, layer: u32, origin: [u32; 3], extent: [u32; 3] },
    /// Bytes of the packed mips.
    Packed { offset: u64, size: u64 },
}

/// A tile by number, with its part of the resource. `None` for the tiles that only pad each layer to the same
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    pub(crate) number: u64,
    pub(crate) part: Option<TilePart>,
}

impl Tiling {
    /// The tiling of a buffer of `bytes` (its required size), with blocks of `block` bytes, in memory of these
    /// types.
    pub(crate) fn buffer(bytes: u64, block: u64, memory_types: u32) -> Self {
        let tile = TILE.max(block);
        let tiles = u32::try_from(bytes.div_ceil(tile)).unwrap_or(u32::MAX);
        let layout = TileLayout {
            tile_size: tile,
            tile_extent: [u32::try_from(tile).unwrap_or(u32::MAX), 1, 1],
            subresources: vec![[tiles, 1, 1]],
            first_packed_mip: 1,
            packed_tiles: 0,
            memory_types,
        };
        Self { layout, shape: Shape::Buffer(bytes), bases: vec![0], packed_base: u64::from(tiles) }
    }

    /// The tiling of an image with blocks of `block` bytes, in memory of these types.
    pub(crate) fn image(
        info: &TextureInfo,
        (block, memory_types): (u64, u32),
        found: &vk::SparseImageMemoryRequirements,
    ) -> Self {
        let block = block.max(1);
        let vk::Extent3D { width, height, depth } = found.format_properties.image_granularity;
        let tile_extent = [width.max(1), height.max(1), depth.max(1)];
        let first_packed_mip = found.image_mip_tail_first_lod.min(info.mips);
        let is_single = found.format_properties.flags.contains(vk::SparseImageFormatFlags::SINGLE_MIPTAIL);
        let tail = (first_packed_mip < info.mips).then_some(Tail {
            offset: found.image_mip_tail_offset,
            size: found.image_mip_tail_size,
            stride: if is_single { 0 } else { found.image_mip_tail_stride },
        });
        let tail_tiles = tail.map_or(0, |tail| tail.size.div_ceil(block));
        // The layers share a single tail: each gets its part, the last one possibly less.
        let per_layer =
            if is_single { tail_tiles.div_ceil(u64::from(info.layers().max(1))) } else { tail_tiles };
        let mut subresources = Vec::new();
        let (mut bases, mut next) = (Vec::new(), 0_u64);
        for index in 0..info.subresources() {
            let mip = index % info.mips.max(1);
            let mut tiles = [0; 3];
            if mip < first_packed_mip {
                let extent = info.mip_extent(mip);
                for (tiles, (texels, tile)) in tiles.iter_mut().zip(extent.into_iter().zip(tile_extent)) {
                    *tiles = texels.div_ceil(tile);
                }
            }
            bases.push(next);
            next = next.saturating_add(tiles.iter().map(|side| u64::from(*side)).product());
            subresources.push(tiles);
        }
        let layout = TileLayout {
            tile_size: block,
            tile_extent,
            subresources,
            first_packed_mip,
            packed_tiles: u32::try_from(per_layer).unwrap_or(u32::MAX),
            memory_types,
        };
        let shape = Shape::Image { info: info.clone(), tail };
        Self { layout, shape, bases, packed_base: next }
    }

    /// The tiles of a box, in the order x, y, z.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] when it leaves the subresource.
    pub(crate) fn tiles(&self, region: &TileRegion) -> Result<Vec<Tile>, DeviceError> {
        let (base, size, packed_layer) = self.subresource(region.subresource)?;
        check::tile_region(region, size)?;
        let [x, y, z] = region.origin;
        let [width, height, depth] = region.extent;
        let [across, down, _] = size.map(u64::from);
        let mut tiles = Vec::new();
        // These sums cannot overflow: all are within the limits checked above.
        for z in z..z + depth {
            for y in y..y + height {
                for x in x..x + width {
                    let index = (u64::from(z) * down + u64::from(y)) * across + u64::from(x);
                    let part = match packed_layer {
                        Some(layer) => self.packed_part(layer, u64::from(x)),
                        None => self.part(region.subresource, [x, y, z]),
                    };
                    tiles.push(Tile { number: base.saturating_add(index), part });
                }
            }
        }
        Ok(tiles)
    }

    /// The number of a subresource's first tile, its tiles, and the layer of its packed mips.
    fn subresource(&self, subresource: u32) -> Result<(u64, [u32; 3], Option<u32>), DeviceError> {
        let count = self.layout.subresources.len() as u64;
        let unknown = DeviceError::invalid_call(CallRule::SubresourceExists, u64::from(subresource), count);
        let index = usize::try_from(subresource).unwrap_or(usize::MAX);
        let (Some(base), Some(tiles)) = (self.bases.get(index), self.layout.subresources.get(index)) else {
            return Err(unknown);
        };
        let Shape::Image { info, tail } = &self.shape else { return Ok((*base, *tiles, None)) };
        let (mip, layer) = (subresource % info.mips.max(1), subresource / info.mips.max(1));
        if mip < self.layout.first_packed_mip {
            return Ok((*base, *tiles, None));
        }
        if mip > self.layout.first_packed_mip || tail.is_none() {
            return Err(unknown);
        }
        let packed = u64::from(self.layout.packed_tiles);
        let base = self.packed_base.saturating_add(packed.saturating_mul(u64::from(layer)));
        Ok((base, [self.layout.packed_tiles, 1, 1], Some(layer)))
    }

    fn part(&self, subresource: u32, tile: [u32; 3]) -> Option<TilePart> {
        let size = self.layout.tile_size;
        match &self.shape {
            Shape::Buffer(bytes) => {
                let offset = u64::from(tile[0]).checked_mul(size)?;
                Some(TilePart::Bytes { offset, size: size.min(bytes.checked_sub(offset)?) })
            }
            Shape::Image { info, .. } => {
                let (mip, layer) = (subresource % info.mips, subresource / info.mips);
                let whole = info.mip_extent(mip);
                let (mut origin, mut extent) = ([0; 3], [0; 3]);
                for axis in 0..3 {
                    origin[axis] = tile[axis].checked_mul(self.layout.tile_extent[axis])?;
                    extent[axis] = self.layout.tile_extent[axis].min(whole[axis].checked_sub(origin[axis])?);
                }
                Some(TilePart::Texels { mip, layer, origin, extent })
            }
        }
    }

    fn packed_part(&self, layer: u32, tile: u64) -> Option<TilePart> {
        let Shape::Image { tail: Some(tail), .. } = &self.shape else { return None };
        let block = self.layout.tile_size;
        let (start, tile) = if tail.stride == 0 {
            let before = u64::from(layer).checked_mul(u64::from(self.layout.packed_tiles))?;
            (tail.offset, before.checked_add(tile)?)
        } else {
            (tail.offset.checked_add(tail.stride.checked_mul(u64::from(layer))?)?, tile)
        };
        let inside = tile.checked_mul(block).filter(|inside| *inside < tail.size)?;
        Some(TilePart::Packed { offset: start.checked_add(inside)?, size: block.min(tail.size - inside) })
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::device::{Dimension, Format, Usage};

    use super::*;

    const BLOCK: u64 = 64 << 10;

    fn info(width: u32, height: u32, layers: u32, mips: u32) -> TextureInfo {
        TextureInfo::new(Dimension::D2, width, height, Format::Rgba8Unorm, Usage::SHADER_READ)
            .depth_or_layers(layers)
            .mips(mips)
    }

    fn found(
        first: u32,
        size: u64,
        stride: u64,
        flags: vk::SparseImageFormatFlags,
    ) -> vk::SparseImageMemoryRequirements {
        vk::SparseImageMemoryRequirements {
            format_properties: vk::SparseImageFormatProperties {
                aspect_mask: vk::ImageAspectFlags::COLOR,
                image_granularity: vk::Extent3D { width: 128, height: 128, depth: 1 },
                flags,
            },
            image_mip_tail_first_lod: first,
            image_mip_tail_size: size,
            image_mip_tail_offset: 1 << 20,
            image_mip_tail_stride: stride,
        }
    }

    fn region(subresource: u32, origin: [u32; 3], extent: [u32; 3]) -> TileRegion {
        TileRegion { subresource, origin, extent }
    }

    #[test]
    fn a_buffers_last_tile_ends_with_it() {
        let tiling = Tiling::buffer(BLOCK * 2 + 4096, 4096, 1);
        assert_eq!(tiling.layout.subresources, [[3, 1, 1]]);
        let tiles = tiling.tiles(&TileRegion::buffer(1, 2)).unwrap();
        assert_eq!(tiles[0], Tile { number: 1, part: Some(TilePart::Bytes { offset: BLOCK, size: BLOCK }) });
        assert_eq!(tiles[1].part, Some(TilePart::Bytes { offset: 2 * BLOCK, size: 4096 }));
        assert_eq!(Tiling::buffer(1 << 20, 1 << 18, 1).layout.tile_size, 1 << 18, "no smaller than a block");
        for wrong in [TileRegion::buffer(3, 1), TileRegion::buffer(0, 0), TileRegion::buffer(u32::MAX, 2)] {
            assert!(tiling.tiles(&wrong).is_err(), "{wrong:?}");
        }
        assert!(tiling.tiles(&region(1, [0; 3], [1, 1, 1])).is_err());
    }

    #[test]
    fn tiles_at_the_edge_are_cut_off() {
        let tiling =
            Tiling::image(&info(300, 200, 2, 3), (BLOCK, 1), &found(2, BLOCK, 2 * BLOCK, Default::default()));
        let expected = [[3, 2, 1], [2, 1, 1], [0; 3], [3, 2, 1], [2, 1, 1], [0; 3]];
        assert_eq!(tiling.layout.subresources, expected);
        let tiles = tiling.tiles(&region(3, [1, 1, 0], [2, 1, 1])).unwrap();
        let texels = |origin, extent| Some(TilePart::Texels { mip: 0, layer: 1, origin, extent });
        assert_eq!(tiles[0].part, texels([128, 128, 0], [128, 72, 1]));
        assert_eq!(tiles[1].part, texels([256, 128, 0], [44, 72, 1]));
        assert_eq!((tiles[0].number, tiles[1].number), (8 + 4, 8 + 5));
    }

    #[test]
    fn each_layer_has_its_packed_mips() {
        let tiling = Tiling::image(
            &info(256, 256, 2, 9),
            (BLOCK, 1),
            &found(2, 2 * BLOCK, 4 * BLOCK, Default::default()),
        );
        assert_eq!((tiling.layout.first_packed_mip, tiling.layout.packed_tiles), (2, 2));
        let tiles = tiling.tiles(&region(9 + 2, [0; 3], [2, 1, 1])).unwrap();
        let packed = |offset| Some(TilePart::Packed { offset, size: BLOCK });
        assert_eq!(tiles[0].part, packed((1 << 20) + 4 * BLOCK));
        assert_eq!(tiles[1].part, packed((1 << 20) + 5 * BLOCK));
        assert!(tiling.tiles(&region(3, [0; 3], [1, 1, 1])).is_err(), "only the first packed mip names them");
    }

    /// Three tiles for two layers: two each, and the last one has no memory.
    #[test]
    fn layers_share_a_single_tail() {
        let single = vk::SparseImageFormatFlags::SINGLE_MIPTAIL;
        let tiling = Tiling::image(&info(256, 256, 2, 9), (BLOCK, 1), &found(2, 3 * BLOCK, 0, single));
        assert_eq!(tiling.layout.packed_tiles, 2);
        let mut offsets = Vec::new();
        for layer in 0..2 {
            for tile in tiling.tiles(&region(layer * 9 + 2, [0; 3], [2, 1, 1])).unwrap() {
                offsets.push(tile.part);
            }
        }
        let packed = |tile: u64| Some(TilePart::Packed { offset: (1 << 20) + tile * BLOCK, size: BLOCK });
        assert_eq!(offsets, [packed(0), packed(1), packed(2), None]);
    }

    #[test]
    fn every_tile_has_a_number_of_its_own() {
        let tiling = Tiling::image(
            &info(512, 300, 3, 10),
            (BLOCK, 1),
            &found(3, 2 * BLOCK, 2 * BLOCK, Default::default()),
        );
        let mut numbers = Vec::new();
        for subresource in 0..30 {
            let extent = match subresource % 10 {
                3 => [2, 1, 1],
                mip if mip < 3 => tiling.layout.subresources[subresource as usize],
                _ => continue,
            };
            numbers.extend(
                tiling.tiles(&region(subresource, [0; 3], extent)).unwrap().iter().map(|tile| tile.number),
            );
        }
        numbers.sort_unstable();
        assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
    }

    #[test]
    fn an_image_without_packed_mips_has_none() {
        let tiling = Tiling::image(&info(256, 256, 1, 2), (BLOCK, 1), &found(2, 0, 0, Default::default()));
        assert_eq!((tiling.layout.first_packed_mip, tiling.layout.packed_tiles), (2, 0));
        assert!(tiling.tiles(&region(2, [0; 3], [1, 1, 1])).is_err());
    }
}
