//! Tile layouts of reserved resources.

use tenure_core::device::{
    Allowed, Api, BufferInfo, CallRule, DeviceError, Dimension, Features, Properties, ResourceDesc,
    TextureInfo, TileLayout, TileRegion, Usage, check,
};

use super::{check_limits, tile_extent};
use crate::layout::{Layout, TILE, mip_bytes};

/// Bytes of the largest reserved resource, as D3D12's 40 bits of virtual address.
const MAX_RESERVED: u64 = 1 << 40;

/// The layout of a reserved resource with tiles in memory of these types, once the device is known to support it.
pub(crate) fn layout(
    properties: &Properties,
    desc: &ResourceDesc,
    memory_types: impl FnOnce() -> Result<u32, DeviceError>,
) -> Result<Layout, DeviceError> {
    match desc {
        ResourceDesc::Buffer(info) => {
            supported(properties, Features::RESERVED_BUFFERS, "reserved (sparse) buffers")?;
            desc.validate()?;
            if properties.api == Api::Direct3D12 && info.usage.contains(Usage::ACCELERATION_STRUCTURE) {
                return Err(DeviceError::Unsupported { feature: "reserved acceleration structures" });
            }
            if info.size > MAX_RESERVED {
                return Err(DeviceError::invalid_desc("size", info.size, Allowed::AtMost(MAX_RESERVED)));
            }
            Ok(Layout::Buffer { size: info.size })
        }
        ResourceDesc::Texture(info) => {
            supported(properties, Features::RESERVED_TEXTURES, "reserved (sparse) textures")?;
            if info.dimension != Dimension::D2 {
                return Err(DeviceError::Unsupported { feature: "reserved (sparse) 3D textures" });
            }
            if info.samples > 1 || info.usage.contains(Usage::DEPTH_STENCIL) {
                return Err(DeviceError::Unsupported {
                    feature: "reserved (sparse) depth-stencil or multisampled textures",
                });
            }
            check_limits(properties, desc)?;
            texture_layout(info, memory_types()?)
        }
    }
}

fn supported(properties: &Properties, feature: Features, name: &'static str) -> Result<(), DeviceError> {
    if properties.features.contains(feature) {
        return Ok(());
    }
    Err(DeviceError::Unsupported { feature: name })
}

/// The tiles of a reserved buffer.
pub(crate) fn buffer_tiles(info: &BufferInfo, memory_types: u32) -> TileLayout {
    let tiles = u32::try_from(info.size.div_ceil(TILE)).unwrap_or(u32::MAX);
    TileLayout {
        tile_size: TILE,
        tile_extent: [TILE as u32, 1, 1],
        subresources: vec![[tiles, 1, 1]],
        first_packed_mip: 1,
        packed_tiles: 0,
        memory_types,
    }
}

fn texture_layout(info: &TextureInfo, memory_types: u32) -> Result<Layout, DeviceError> {
    let [tile_width, tile_height] = tile_extent(info.format, TILE);
    let fills_a_tile = |mip: &u32| {
        let [width, height, _] = info.mip_extent(*mip);
        width >= tile_width && height >= tile_height
    };
    let first_packed_mip = (0..info.mips).take_while(fills_a_tile).count() as u32;
    let packed_bytes: u64 = (first_packed_mip..info.mips).map(|mip| mip_bytes(info, mip).unwrap_or(0)).sum();
    let packed_tiles = packed_bytes.div_ceil(TILE);
    let mut subresources = Vec::new();
    let mut bases = Vec::new();
    let mut total = 0_u64;
    for index in 0..info.subresources() {
        let mip = index % info.mips;
        bases.push(total);
        if mip < first_packed_mip {
            let [width, height, _] = info.mip_extent(mip);
            let tiles = [width.div_ceil(tile_width), height.div_ceil(tile_height), 1];
            total += u64::from(tiles[0]) * u64::from(tiles[1]);
            subresources.push(tiles);
        } else {
            subresources.push([0; 3]);
            if mip == info.mips - 1 {
                total += packed_tiles;
            }
        }
    }
    if total > MAX_RESERVED / TILE {
        return Err(DeviceError::invalid_desc(
            "size",
            total.saturating_mul(TILE),
            Allowed::AtMost(MAX_RESERVED),
        ));
    }
    let tiles = TileLayout {
        tile_size: TILE,
        tile_extent: [tile_width, tile_height, 1],
        subresources,
        first_packed_mip,
        packed_tiles: packed_tiles as u32,
        memory_types,
    };
    Ok(Layout::Tiled { info: info.clone(), tiles, bases, total })
}

/// The indices of a region's tiles, in the order x, y, z.
pub(crate) fn region_tiles(layout: &Layout, region: &TileRegion) -> Result<Vec<u64>, DeviceError> {
    let missing =
        |count: u64| DeviceError::invalid_call(CallRule::SubresourceExists, region.subresource, count);
    let (base, size) = match layout {
        Layout::Buffer { size } => {
            let tiles = u32::try_from(size.div_ceil(TILE)).unwrap_or(u32::MAX);
            if region.subresource != 0 {
                return Err(missing(1));
            }
            (0, [tiles, 1, 1])
        }
        Layout::Tiled { info, tiles, bases, .. } => {
            let index = region.subresource as usize;
            let base = bases.get(index).ok_or_else(|| missing(bases.len() as u64))?;
            let mip = region.subresource % info.mips;
            if mip == tiles.first_packed_mip {
                (*base, [tiles.packed_tiles, 1, 1])
            } else {
                (*base, tiles.subresources[index])
            }
        }
        Layout::Texture { .. } => return Err(DeviceError::broken_rule(CallRule::IsReserved)),
    };
    check::tile_region(region, size)?;
    let axis = |axis: usize| {
        let first = u64::from(region.origin[axis]);
        first..first + u64::from(region.extent[axis])
    };
    let (width, height) = (u64::from(size[0]), u64::from(size[1]));
    Ok(axis(2)
        .flat_map(|z| axis(1).flat_map(move |y| axis(0).map(move |x| base + (z * height + y) * width + x)))
        .collect())
}
